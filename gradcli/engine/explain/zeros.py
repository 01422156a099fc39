"""Reasons why a gradient is zero: the operation that stopped a cotangent, and how."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span
from ..ad.own_rules import OwnCall
from ..backends.backend import is_inexact, shape_of
from ..formulas.functions import array_partial
from ..trace.recording import Blank
from ..trace.records import Record
from ..trace.run import Run
from ..values.boxes import primal
from ..values.kinds import show
from ..values.lanes import Lanes
from .reasons import Reason
from .walks import Edge, partial_by, size_of

# Ops that give nothing on by what they are, each with the reason's code, its text, and the fix.
_STOPS = {
    op: reason
    for ops, *reason in (
        (
            "relu",
            "dead_relu",
            "{name} is 0{at}, and flat there",
            "`leaky_relu`, `softplus` or `gelu` pass something there, too",
        ),
        (
            "floor ceil round trunc sign floordiv",
            "flat",
            "{name} is a step function, whose derivative is 0",
            "compute with the value itself",
        ),
        (
            "clip",
            "clipped",
            "{name} doesn't move{at}: a bound holds",
            "inside the bounds it does; `softplus` is a smooth bound",
        ),
        (
            "minimum maximum",
            "clipped",
            "{name} doesn't move{at}: the other value is taken",
            "inside the bounds it does; `softplus` is a smooth bound",
        ),
        (
            "max min median where getitem take gather sort part tril triu diag",
            "not_chosen",
            "{name} takes other values than this one",
            "at inputs where it is chosen there is a gradient",
        ),
        (  # what flattens out so far that the slope is less than the smallest float
            "sigmoid expit tanh erf erfc ndtr softmax log_softmax logsumexp softplus gelu silu exp "
            "exp2 expm1 elu atan gammainc betainc logaddexp cross_entropy i0 i1",
            "saturated",
            "{name} is saturated{at}: its slope is 0 in floating point",
            "keep its argument small: normalise it, or compute with logarithms (`log_softmax`, "
            "`logsumexp`)",
        ),
        (
            "abs norm hypot atan2 std sinc",
            "kink",
            "{name} has a kink{at}, where its derivative counts as 0",
            "`gradcli ops` has the conventions at kinks",
        ),
    )
    for op in ops.split()
}
_PRODUCTS = frozenset(
    ("mul", "div", "matmul", "dot", "inner", "outer", "kron", "cross", "einsum", "prod", "cumprod",
     "xlogy")
)  # fmt: skip


def zero_reason(run: Run, record: Record, n: int, edge: Edge, mask: Any = None) -> Reason:
    """Returns why a record passes nothing to its input `n`, though its own cotangent isn't zero.

    Only the elements of a mask count, or those where the cotangent isn't zero.
    """
    op = record.site.op
    name = op.infix or op.name
    code, text, help = _judged(run, record, n, edge, f"`{name}`", mask)
    return Reason(code, text, record.site.span, help, record.calls)


def cancelled(span: Span | None) -> Reason:
    """Returns the reason where the shares of several paths add up to zero."""
    text = "its ways to the target cancel: their shares in the gradient add up to 0"
    return Reason("cancelled", text, span, "nothing is lost: the target doesn't move with it")


def _judged(
    run: Run, record: Record, n: int, edge: Edge, name: str, mask: Any
) -> tuple[str, str, str]:
    """Returns the reason code, its text, and the fix."""
    op = record.site.op.name
    if type(record.b) is OwnCall:
        text = f"the rule of {name} gives 0 here"
        return "rule_gives_zero", text, "check the rule with `gradcli check`"
    positions = [k for k, m in record.traced_operands() if m == n]
    at = _at(_within(record.operands[positions[0]], mask))
    if len(positions) > 1 and _cancels_itself(run, record, positions):
        text = f"{name} takes it twice, and the two shares cancel"
        return "cancelled", text, "the result doesn't move with it"
    if op in _PRODUCTS and not _underflows(run, record, n, edge, mask):
        text = f"{name} multiplies it by 0{_others(record, positions)}"
        return "zero_factor", text, "let the factor start at another value than 0"
    if op == "softmax" and type(y := record.y) is not Blank and bool(((y > 0) & (y < 1)).any()):
        text = "the elements of `softmax` always add up to 1"
        return "cancelled", text, "nothing is lost: their sum doesn't move"
    if op in _STOPS:
        code, text, fix = _STOPS[op]
        return code, text.format(name=name, at=at), fix
    if op == "setitem" and positions == [0]:
        return "not_chosen", "other values are put in its place", "keep it under another name"
    if op == "pow" and (number := _zero_operand(record, positions)):
        return "zero_factor", f"the {number} of `**` is 0", "let it start at another value than 0"
    if record.site.op.linear:
        text = f"the target doesn't depend on the elements of {name} that it is in"
        return "not_chosen", text, "at elements that the target depends on there is a gradient"
    if _underflows(run, record, n, edge, mask):
        text = f"the product of slopes is less than the smallest float from {name} on"
        return "vanished", text, "scale the values"
    text = f"the derivative of {name} is 0{at}"
    return "stationary", text, "start elsewhere: here it is at a minimum, a maximum or a saddle"


def _zero_operand(record: Record, positions: list[int]) -> str:
    """Returns what the other operand of a power is, where it is 0: a constant power."""
    (base, exponent), names = record.operands, ("base", "exponent")
    for k, other in ((0, exponent), (1, base)):
        if positions == [k] and type(other) is not Blank and not size_of(other * 1.0):
            return names[1 - k]
    return ""


def _at(operand: Any) -> str:
    """Returns ` at 2.0` or ` at values from -3.0 to 0.0`; "" if the values weren't kept."""
    if operand is None or type(operand) in (Blank, Lanes, list):
        return ""
    if not shape_of(operand):
        return f" at {show(primal(operand))}"
    if not operand.size or not is_inexact(operand) or operand.dtype.kind == "c":
        return ""
    low, high = float(operand.min()), float(operand.max())
    return f" at {show(low)}" if low == high else f" at values from {show(low)} to {show(high)}"


def _others(record: Record, positions: list[int]) -> str:
    """Returns `, the value of `b`` in words, for the other operand."""
    names = {0: "left", 1: "right"}
    others = [k for k in range(len(record.operands)) if k not in positions]
    if len(record.operands) != 2 or len(others) != 1 or not record.site.op.infix:
        return ""
    value = record.operands[others[0]]
    zero = type(value) is not Blank and not size_of(value * 1.0 if not shape_of(value) else value)
    return f" on its {names[others[0]]}" if zero else ""


def _underflows(run: Run, record: Record, n: int, edge: Edge, mask: Any) -> bool:
    """Returns whether a non-zero partial times the cotangent is zero by underflow."""
    partial = partial_by(run, record, n)
    if partial is None:
        return bool(abs(edge.cotangent) < 1e-150)
    return bool(size_of(_within(partial, mask)) != 0)


def _within(value: Any, mask: Any) -> Any:
    """Returns the elements of an array in a mask of its shape; any other value as it is."""
    fits = mask is not None and value is not None and type(value) not in (Blank, list, Lanes)
    return value[mask] if fits and shape_of(mask) == shape_of(value) != () else value


def _cancels_itself(run: Run, record: Record, positions: list[int]) -> bool:
    """Returns whether non-zero partials cancel in an operation that takes one value in several
    positions.
    """
    op, operands = record.site.op, record.operands
    if not op.elementwise or type(record.y) is Lanes:
        return True
    partials = [array_partial(run.backend, op, k)(record.y, *operands) for k in positions]
    return any(size_of(p * 1.0) != 0 for p in partials)
