"""Second derivatives: reverse over reverse, along a direction, against methods that know nothing of its rules."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...diagnostics import GradcliError
from ...engine.backends import CPU, is_complex
from ...engine.boxes import primal
from ...engine.continuation import NotAnalyticError
from ...engine.derivatives import gradients, seeing_itself
from ...engine.history import History
from ...engine.values import leaves, read
from . import closed_form
from .blame import Doubt, wrong_steps
from .closed_form import SkippedError
from .differences import Estimate, Samples, curvature, extrapolated
from .point import Case, seed_of
from .results import Finding
from .verdicts import FIRST_STEP, Judge, tiny_step


class SecondJudge(Judge):
    """The methods on one second derivative: of an output, twice along one direction."""

    order = 2

    def __init__(self, first: Judge) -> None:
        super().__init__(first.case, first.direction, first.options)
        self.on_trace, self._samples = first.on_trace, first._samples
        self.ours, self.size = _twice(self.case, self)

    @property
    def natural(self) -> float:
        return super().natural / self.reach

    def finding(self, method: str) -> Finding:
        found = super().finding(method)
        found.order = 2
        return found

    def apply(self, method: str, found: Finding) -> None:
        _METHODS[method](self, found)


def _twice(case: Case, judge: Judge) -> tuple[float, float]:
    """The second derivative as reverse mode over reverse mode has it, and the size of what goes into it."""
    point, direction = case.point, judge.direction
    run, source = point.run, point.answer.sources[direction.variable]
    seeds = [(p, seed_of(p, w)) for p, w in zip(case.parts, case.weights, strict=True) if type(p) is tuple]
    with seeing_itself(run) as window:
        (first,) = gradients(run, seeds, [source], recorded=True, window=window)
        if type(first) is not tuple:
            return 0.0, 0.0
        vector = seed_of(first, direction.vector)
        (second,) = gradients(run, [(first, vector)], [source], recorded=False, window=window)
    return (0.0, 0.0) if second is None else case.along(direction, second)


def wrong_derivatives(case: Case, variable: str) -> list[Doubt]:
    """The operations of the backward pass whose own rules are wrong."""
    run, answer = case.point.kept
    source = answer.sources[variable]
    parts = [read(v) for v in leaves(answer.targets[case.output])]
    seeds = [(p, seed_of(p, w)) for p, w in zip(parts, case.weights, strict=True) if type(p) is tuple]
    with seeing_itself(run) as window:
        (first,) = gradients(run, seeds, [source], recorded=True, window=window)
    return wrong_steps(History(run, [first], [source.number])) if type(first) is tuple else []


def _complex(judge: SecondJudge, found: Finding) -> None:
    """Differences of the complex step, whose values have all their digits."""
    case, direction = judge.case, judge.direction
    source = primal(read(case.point.answer.sources[direction.variable]))
    if case.point.program.options.dtype != "float64" or is_complex(source) or case.history.complex is not None:
        raise SkippedError("the complex step needs real numbers in float64")

    step = tiny_step(judge.reach)

    def slope(h: float) -> float:
        try:
            return float(CPU.xp.imag(case.replay(direction, h + step * 1j))) / step
        except (GradcliError, NotAnalyticError):
            return math.nan

    case.replay(direction, step * 1j)  # says why, where it can't be done
    samples = Samples(slope, slope(0.0), FIRST_STEP * max(judge.reach, 1e-2), case.point.eps)
    _compare(judge, found, extrapolated(samples))


def _differences(judge: SecondJudge, found: Finding) -> None:
    _compare(judge, found, curvature(judge.samples))


def _sympy(judge: SecondJudge, found: Finding) -> None:
    _compare(judge, found, Estimate(closed_form.second(judge.case, judge.direction), 0.0))


def _compare(judge: SecondJudge, found: Finding, estimate: Estimate) -> None:
    scale = max(judge.size, abs(estimate.value)) if math.isfinite(estimate.value) else judge.size
    judge.compare(found, estimate, scale)


_METHODS: dict[str, Callable[[SecondJudge, Finding], None]] = {
    "complex": _complex,
    "differences": _differences,
    "sympy": _sympy,
}
METHODS = tuple(_METHODS)
