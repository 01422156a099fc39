"""Whether the rule of a function is linear in its cotangent. A derivative is: what a rule adds to
it, cuts off or takes the size of makes a gradient wrong for some other cotangent, even where
methods agree for this one.

Multiplying by a power of two rounds nothing, so rules that only multiply and add commute with it to
the last bit.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from ...diagnostics import GradcliError
from ...engine.ad.own_rules import Held
from ...engine.ad.reverse import sweep
from ...engine.backends.backend import CPU
from ...engine.execution import running
from ...engine.replay.history import History, Step
from ...engine.trace.records import record_in
from ...engine.values.kinds import show
from ...engine.values.lanes import Lanes
from .directions import Scatter
from .operation_slopes import like
from .point import Case
from .results import DISAGREE, Blame, Check, Finding

MANY_PLACES = 100  # calls that are tested, each place of the program once
CLOSE = {
    "float64": 1e-9,
    "float32": 1e-5,
}  # of the largest number that a rule gives: what its own rounding may come to
SCALES = (1024.0, 2.0**-10, -1.0)


def verify_linear(case: Case, found: Check) -> list[Finding]:
    """A finding for each gradient of an output that goes through a rule which isn't linear; the
    first such rule is blamed."""
    with running():
        fault = nonlinear_call(case.history)
    if fault is None:
        return []
    blamed = blame_rule(case.output, *fault)
    if blamed not in found.blamed:
        found.blamed.append(blamed)
    return [Finding(case.output, name, "linear", DISAGREE, blamed.fault) for name in case.gradients]


def blame_rule(output: str, step: Step, fault: str) -> Blame:
    """Converts a rule that isn't linear to the report's entry."""
    return Blame(output, step.site.op.name, step.site.span, 0.0, 0.0, "", step.calls, fault)


def nonlinear_call(history: History) -> tuple[Step, str] | None:
    """The first call whose rule isn't linear, and in what way it isn't; None where all are."""
    places = {step.site: step for step in reversed(history.own_rules)}
    for step in list(places.values())[:MANY_PLACES]:
        with suppress(GradcliError):  # what the sweep itself has to say, it says
            if fault := _fault(history, step):
                return (
                    step,
                    f"the rule of `{step.site.op.name}` isn't linear in its cotangent: {fault}",
                )
    return None


def _fault(history: History, step: Step) -> str:
    """The way in which the rule behind a call isn't linear; "" where it is, as far as finite
    numbers tell."""
    body = step.body or []
    if any(type(v) is Lanes for v in (*step.operands, *body)):
        return ""
    xp, scatter = CPU.xp, Scatter(step.number, 2)
    results = [part.primal if type(part) is Held else part for part in body]
    first, second = ([like(scatter, result) for result in results] for _ in range(2))
    pulled, is_close = _Pulled(history, step), partial(_is_close, CLOSE[history.run.settings.dtype])
    zero, once, other = pulled(_combined(0.0, first)), pulled(first), pulled(second)
    if not all(xp.isfinite(vector).all() for vector in (zero, once, other)):
        return ""
    if zero.any():
        return f"for a cotangent of 0 it gives {show(zero[xp.argmax(abs(zero))].item())}"
    for scale in SCALES:
        if not is_close(pulled(_combined(scale, first)), scale * once, abs(scale * once)):
            times = f"{scale:g} times" if scale > 0 else "the negative of"
            return f"for {times} a cotangent it doesn't give {times} what it gives for that"
    if not is_close(pulled(_combined(1.0, first, second)), once + other, abs(once) + abs(other)):
        return "for the sum of two cotangents it doesn't give the sum"
    return ""


class _Pulled:
    """The pullback of one call: what its rule makes of the cotangents of its results, as one
    vector."""

    def __init__(self, history: History, step: Step) -> None:
        self.run, self.numbers = history.run, record_in(step.segment, step.number).inputs
        self.whole: Any = (None, step.number, step.segment)
        self.is_single = step.options.outputs == 0

    def __call__(self, cotangents: list[Any]) -> Any:
        seed = cotangents[0] if self.is_single else cotangents
        found = sweep(self.run, [(self.whole, seed)], set(self.numbers), recorded=False)
        xp = CPU.xp
        parts = [xp.ravel(xp.asarray(found[n])) for n in self.numbers if n in found]
        return xp.concatenate(parts) if parts else xp.zeros(0)


def _combined(scale: float, first: list[Any], second: list[Any] | None = None) -> list[Any]:
    """Multiplies cotangents by a number and adds others; None stays None."""
    pairs = zip(first, second or [None] * len(first), strict=True)
    return [None if a is None else scale * a if b is None else scale * a + b for a, b in pairs]


def _is_close(rtol: float, a: Any, b: Any, sizes: Any) -> bool:
    """Whether two vectors are equal to rounding; what overflows says nothing."""
    if a.shape != b.shape:
        return False
    apart = abs(a - b)
    return bool(CPU.xp.all(~CPU.xp.isfinite(apart) | (apart <= rtol * sizes.max(initial=0.0))))
