"""Which operation is wrong: the rule of each record tested at its actual operands, alone.

What a rule makes of a cotangent `g`, along a tangent `t`, has to be what the operation makes of
`t`, weighed by `g`. The one comes from a sweep over a trace of this operation alone, the other from
the operation itself: by the complex step where it is analytic, else by finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...diagnostics import GradcliError
from ...engine.ad.derivatives import recording_view
from ...engine.ad.own_rules import Held
from ...engine.ad.reverse import sweep
from ...engine.backends.backend import CPU, is_complex, is_inexact, shape_of
from ...engine.execution import new_run
from ...engine.operations.apply import apply
from ...engine.replay.continuation import in_double
from ...engine.replay.history import History, Step, compute
from ...engine.replay.rounding import eps_of, rounding
from ...engine.trace.recording import Blank
from ...engine.trace.records import record_in
from ...engine.trace.run import Run
from ...engine.trace.tape import Traced
from ...engine.trace.windows import Window
from ...engine.values.boxes import primal
from ...engine.values.kinds import List, show
from ...engine.values.lanes import Lanes
from .complex_step import TINIEST, tiny_step
from .differences import Samples
from .directions import Scatter
from .mean_value import CONTRADICTED, SAFETY, finest_level, held_against
from .operation_slopes import (
    BESIDE,
    Slopes,
    differ,
    filled,
    inner_product,
    is_smooth,
    like,
    samples_of,
    size_of,
    slope_of,
    weigh,
)
from .results import Blame

SHORT = 1e-6  # of a tangent: where the gradient is largest
FLAT = ("round", "floor", "ceil", "trunc", "sign", "floordiv")


class Doubt(NamedTuple):
    """A step whose rule gives `ours` where the operation itself says `theirs`. `surrogate`: the
    rule is no derivative, and isn't meant as one, for this reason."""

    step: Step
    ours: float
    theirs: float
    operand: int
    surrogate: str = ""
    is_cut: bool = False


def wrong_steps(history: History, seen: dict[Any, int] | None = None) -> list[Doubt]:
    """The steps whose rule is wrong at their operands, in execution order; of a place in the
    program the first. With `seen` only those places are tested that it doesn't have, and it gets
    them."""
    found: list[Doubt] = []
    once = seen is not None
    seen = {} if seen is None else seen
    called = {step.number for step in history.own_rules}
    for step in sorted(
        [*history.own_rules, *(s for s in history.steps if s.number not in called)],
        key=lambda s: s.number,
    ):
        if step.site in seen:
            continue
        if once:
            seen[step.site] = 1
        try:
            doubt = (
                _test_call(history.run, step) if step.body is not None else _test(history.run, step)
            )
        except GradcliError:
            continue  # what can't be evaluated again can't be told
        if doubt is not None:
            found.append(doubt)
            seen[step.site] = 1
    return found


def blame(output: str, doubt: Doubt) -> Blame:
    """Converts a doubt to the report's entry."""
    step = doubt.step
    op = step.site.op
    operands = ", ".join(
        show(v) if not shape_of(v) else f"an array of shape {shape_of(v)}" for v in _shown(step)
    )
    return Blame(
        output, op.infix or op.name, step.site.span, doubt.ours, doubt.theirs, operands, step.calls
    )


def _shown(step: Step) -> list[Any]:
    return [v for v in step.operands[:4] if type(v) in (int, float, complex) or hasattr(v, "shape")]


def _test(run: Run, step: Step) -> Doubt | None:
    site, op = step.site, step.site.op
    if op.name == "part" or any(type(v) in (list, Lanes) for v in step.operands):
        return None  # what is a part, or many rows at once
    options = {"index": step.options} if type(step.options) is tuple else step.options
    scatter = Scatter(step.number)
    operands = [filled(v) for v in step.operands]
    y = compute(run, step, operands)
    if type(y) is Lanes:
        return None
    real = not any(map(is_complex, [*operands, *(y if type(y) is list else [y])]))
    for k in site.operands:
        if not is_inexact(operands[k]):
            continue
        tangent = like(scatter, operands[k])
        cotangent = [like(scatter, part) for part in y] if type(y) is list else like(scatter, y)
        eps = max(map(eps_of, [operands[k], *(y if type(y) is list else [y])]))

        def moved(
            h: Any, at: list[Any] = operands, k: int = k, t: Any = tangent, g: Any = cotangent
        ) -> Any:
            return weigh(compute(run, step, _moved(at, k, h * t), real), g)

        def both(
            disturb: Callable[[Any], Any],
            k: int = k,
            t: Any = tangent,
            g: Any = cotangent,
            f: Any = moved,
            eps: float = eps,
        ) -> Slopes:
            at = [disturb(v) for v in operands]
            return Slopes(
                _pulled(run, step, at, options, k, g, t),
                *slope_of(lambda h: f(h, at), at[k], real, eps),
            )

        found = both(lambda v: v)

        def rule(h: float, k: int = k, t: Any = tangent, g: Any = cotangent) -> float:
            return _pulled(run, step, _moved(operands, k, h * t), options, k, g, t)

        vanishes = found.theirs == 0 and abs(found.ours) * tiny_step(size_of(operands[k])) < TINIEST
        if (
            not vanishes
            and differ(found, both, eps)
            and is_smooth(moved, operands[k], found.ours, eps)
        ):
            samples = samples_of(moved, operands[k], eps)
            others = ([rounding(seed, eps)(v) for v in operands] for seed in range(BESIDE))
            samples.floor = max(
                abs(float(CPU.xp.real(moved(0.0, other))) - samples.value) for other in others
            )
            if not found.error or _is_contradicted(found, samples, rule):
                return Doubt(step, found.ours, found.theirs, k)
    return None


def _is_contradicted(found: Slopes, samples: Samples, rule: Callable[[float], float]) -> bool:
    """Whether differences say that a rule is wrong at steps that are small enough for the
    operation, too."""
    gap = abs(found.ours - found.theirs)
    samples.allow_for_roughness(samples.level(finest_level(samples, gap)).step)
    return held_against(samples, finest_level(samples, gap), rule, found.ours, gap) == CONTRADICTED


def _moved(operands: list[Any], k: int, by: Any) -> list[Any]:
    """The operands, with one moved, in double precision, so that no rounding of these is taken for
    an error of a rule."""
    wide = [in_double(v) for v in operands]
    wide[k] = wide[k] + by
    return wide


def _pulled(
    run: Run, step: Step, operands: list[Any], options: Any, k: int, cotangent: Any, tangent: Any
) -> float:
    """<pullback of `cotangent`, tangent>, by a sweep over a trace of this operation alone."""
    alone = new_run(run.settings, {})
    leaf = alone.trace.leaf(operands[k])
    values = [leaf if j == k else v for j, v in enumerate(operands)]
    y = apply(alone, step.site, tuple(values), options)
    pairs = zip(y.items, cotangent, strict=True) if type(y) is List else [(y, cotangent)]
    seeds = [(part, g) for part, g in pairs if type(part) is tuple and g is not None]
    found = sweep(alone, seeds, {leaf[1]}, recorded=False)
    c = found.get(leaf[1])
    return 0.0 if c is None else inner_product(c, tangent)


# ---- functions with a rule of their own ----------------------------------------------------------


class Call:
    """A call of a function with a rule of its own: the rule, and the body along the path that it
    took, along one tangent."""

    def __init__(self, run: Run, step: Step) -> None:
        self.run, self.step, body = run, step, step.body or []
        held = [part for part in body if type(part) is Held]
        parts: list[Traced] = [
            (part.primal, part.number, step.segment.holder(part.number)) for part in held
        ]
        self.numbers = record_in(step.segment, step.number).inputs
        self.inner = History(self.run, parts, self.numbers)
        self.scatter = Scatter(step.number)
        self.cotangents = [
            like(self.scatter, part.primal if type(part) is Held else part) for part in body
        ]
        self.is_held = [type(part) is Held for part in body]
        # The inputs by their numbers, those of which the call kept only the shape from the body.
        self.inputs = dict(zip(self.numbers, step.operands, strict=False))
        for inner in self.inner.steps:
            for place, n in inner.refs:
                if type(self.inputs.get(n)) is Blank:
                    self.inputs[n] = inner.operands[place]
        self.tangents = self.vectors()
        self.whole: Any = (None, step.number, step.segment)
        self.eps = max(map(eps_of, step.operands), default=2.0**-52)

    def vectors(self) -> dict[int, Any]:
        """A vector for each numeric input, by its number on the trace, of the size of that
        input."""
        return {
            n: vector * size_of(filled(v))
            for n, v in self.inputs.items()
            if (vector := like(self.scatter, v)) is not None
        }

    def evened(self, pulled: dict[int, Any]) -> dict[int, Any]:
        """The tangents, longer where a gradient is smaller."""
        found = dict(self.tangents)
        for n, vector in found.items():
            if n in pulled and shape_of(vector):
                sizes = abs(pulled[n])
                share = sizes / (float(sizes.max(initial=0.0)) or 1.0)
                found[n] = vector * SHORT / CPU.xp.maximum(share, SHORT)
        return found

    def along(self, pulled: dict[int, Any]) -> float:
        """The derivative along the tangent, as the rule has it."""
        return sum(inner_product(pulled[n], t) for n, t in self.tangents.items() if n in pulled)

    def wobble(self) -> float:
        """How far other rounding errors in the rule move the derivative along the tangent."""
        with recording_view(self.run) as window:
            pulled = self.pulled(self.cotangents, recorded=True, window=window)
        traced = {n: g for n, g in pulled.items() if n in self.tangents and type(g) is tuple}
        history = History(self.run, list(traced.values()), self.numbers)

        def along(disturb: Any = None) -> float:
            values = map(primal, history.values({}, disturb))
            return self.along(dict(zip(traced, values, strict=True)))

        first = along()
        return max(abs(along(rounding(seed, self.eps)) - first) for seed in range(BESIDE))

    def is_smooth(self, pulled: dict[int, Any]) -> bool:
        """Whether the body has no kink where each number moves by a part of its own size."""
        for n in self.tangents:
            v = filled(self.inputs[n])
            sizes = CPU.xp.where(v != 0, v, size_of(v)) if shape_of(v) else v or 1.0
            self.tangents[n] = sizes * self.scatter.numbers(shape_of(v))

        def moved(h: Any) -> Any:
            return self.weighed({n: h * t for n, t in self.tangents.items()}, self.cotangents)

        return is_smooth(moved, 1.0, self.along(pulled), self.eps)

    def pulled(
        self, cotangents: list[Any], recorded: bool = False, window: Window | None = None
    ) -> dict[int, Any]:
        """The cotangents of the inputs, by number, that the rule gives for those of the body's
        results."""
        seed = cotangents[0] if self.step.options.outputs == 0 else cotangents
        return sweep(
            self.run, [(self.whole, seed)], set(self.numbers), recorded=recorded, window=window
        )

    def weighed(
        self,
        shifts: dict[int, Any],
        cotangents: list[Any],
        disturb: Callable[[Any], Any] | None = None,
    ) -> Any:
        """The weighted sum of the body's results where its inputs have moved by these shifts; with
        `disturb` each intermediate result has another rounding error."""
        weights = [g for g, held in zip(cotangents, self.is_held, strict=True) if held]
        return weigh(self.inner.values(shifts, disturb), weights)

    def slope(
        self,
        shifts: dict[int, Any],
        cotangents: list[Any],
        disturb: Callable[[Any], Any] | None = None,
    ) -> tuple[float, float]:
        """The derivative of `weighed` along the tangent, by the body itself, and its error."""

        def along(h: Any) -> Any:
            return self.weighed(
                {n: shifts.get(n, 0.0) + h * t for n, t in self.tangents.items()},
                cotangents,
                disturb,
            )

        return slope_of(along, 1.0, self.inner.complex is None, self.eps)


def _test_call(run: Run, step: Step) -> Doubt | None:
    """Compares the rule of a function with its body, along the path that the body took: along a
    tangent, and along one in which all elements of the gradient count about the same. In a pause
    the main tape, which is asked here, sees no call."""
    if not run.trace.main.covers(step.number) or any(type(v) is Lanes for v in step.operands):
        return None
    call = Call(run, step)
    pulled, name = call.pulled(call.cotangents), step.site.op.name

    def both(disturb: Callable[[Any], Any]) -> Slopes:
        cotangents = [None if g is None else disturb(g) for g in call.cotangents]
        return Slopes(call.along(call.pulled(cotangents)), *call.slope({}, call.cotangents))

    for tangents in (call.tangents, call.evened(pulled)):
        call.tangents = tangents
        found = both(lambda g: g)
        if (
            differ(found, both, call.eps)
            and abs(found.ours - found.theirs) > SAFETY * call.wobble()
            and call.is_smooth(pulled)
        ):
            steps = call.inner.steps
            surrogate = ""
            if found.theirs == 0.0 and (not steps or any(s.site.op.name in FLAT for s in steps)):
                surrogate = (
                    f"`{name}` is flat wherever it is smooth, and its rule says otherwise on "
                    "purpose"
                )
            return Doubt(step, found.ours, found.theirs, 0, surrogate, call.inner.cut is not None)
    return None
