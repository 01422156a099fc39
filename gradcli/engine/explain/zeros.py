"""Reasons why a gradient is zero: the operation that stopped a cotangent, and how."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span
from ..ad.own_rules import OwnCall
from ..backends.backend import is_inexact, shape_of
from ..formulas.functions import array_partial
from ..trace.blanks import Blank
from ..trace.run import Run
from ..values.boxes import primal
from ..values.kinds import show
from ..values.lanes import Lanes
from .ancestry import Ancestor
from .reasons import Reason
from .walks import Edge, partial_by, size_of

_STEPS = frozenset(("floor", "ceil", "round", "trunc", "sign", "floordiv"))
_BOUNDS = frozenset(("clip", "minimum", "maximum"))
_CHOICES = frozenset(
    (
        "max",
        "min",
        "median",
        "where",
        "getitem",
        "take",
        "gather",
        "sort",
        "part",
        "tril",
        "triu",
        "diag",
    )
)
_PRODUCTS = frozenset(
    (
        "mul",
        "div",
        "matmul",
        "dot",
        "inner",
        "outer",
        "kron",
        "cross",
        "einsum",
        "prod",
        "cumprod",
        "xlogy",
    )
)
_KINKS = frozenset(("abs", "norm", "hypot", "atan2", "std", "sinc"))
# What flattens out so far that the slope is less than the smallest float.
_FLATTENING = frozenset(
    (
        "sigmoid",
        "expit",
        "tanh",
        "erf",
        "erfc",
        "ndtr",
        "softmax",
        "log_softmax",
        "logsumexp",
        "softplus",
        "gelu",
        "silu",
        "exp",
        "exp2",
        "expm1",
        "elu",
        "atan",
        "gammainc",
        "betainc",
        "logaddexp",
        "cross_entropy",
        "i0",
        "i1",
    )
)


def zero_reason(run: Run, record: Ancestor, n: int, edge: Edge, mask: Any = None) -> Reason:
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
    run: Run, record: Ancestor, n: int, edge: Edge, name: str, mask: Any
) -> tuple[str, str, str]:
    """Returns the reason code, its text, and the fix."""
    op = record.site.op.name
    positions = [k for k, m in record.traced_operands() if m == n]
    operand = None if type(record.b) is OwnCall else record.operands[positions[0]]
    at = _at(_within(operand, mask))
    if type(record.b) is OwnCall:
        return (
            "rule_gives_zero",
            f"the rule of {name} gives 0 here",
            "check the rule with `gradcli check`",
        )
    if len(positions) > 1 and _cancels_itself(run, record, positions):
        return (
            "cancelled",
            f"{name} takes it twice, and the two shares cancel",
            "the result doesn't move with it",
        )
    if op == "relu":
        return (
            "dead_relu",
            f"`relu` is 0{at}, and flat there",
            "`leaky_relu`, `softplus` or `gelu` pass something there, too",
        )
    if op in _STEPS:
        return (
            "flat",
            f"{name} is a step function, whose derivative is 0",
            "compute with the value itself",
        )
    if op in _BOUNDS:
        what = "a bound holds" if op == "clip" else "the other value is taken"
        return (
            "clipped",
            f"{name} doesn't move{at}: {what}",
            "inside the bounds it does; `softplus` is a smooth bound",
        )
    if op in _CHOICES:
        return (
            "not_chosen",
            f"{name} takes other values than this one",
            "at inputs where it is chosen there is a gradient",
        )
    if op in _PRODUCTS and not _underflows(run, record, n, edge, mask):
        other = _others(record, positions)
        return (
            "zero_factor",
            f"{name} multiplies it by 0{other}",
            "let the factor start at another value than 0",
        )
    if (
        op == "softmax"
        and type(record.y) is not Blank
        and bool(((record.y > 0) & (record.y < 1)).any())
    ):
        return (
            "cancelled",
            "the elements of `softmax` always add up to 1",
            "nothing is lost: their sum doesn't move",
        )
    if op in _FLATTENING:
        fix = (
            "keep its argument small: normalise it, or compute with logarithms (`log_softmax`, "
            "`logsumexp`)"
        )
        return "saturated", f"{name} is saturated{at}: its slope is 0 in floating point", fix
    if op in _KINKS:
        return (
            "kink",
            f"{name} has a kink{at}, where its derivative counts as 0",
            "`gradcli ops` has the conventions at kinks",
        )
    if op == "setitem" and positions == [0]:
        return "not_chosen", "other values are put in its place", "keep it under another name"
    if op == "pow" and (number := _zero_operand(record, positions)):
        return "zero_factor", f"the {number} of `**` is 0", "let it start at another value than 0"
    if record.site.op.linear:
        return (
            "not_chosen",
            f"the target doesn't depend on the elements of {name} that it is in",
            "at elements that the target depends on there is a gradient",
        )
    if _underflows(run, record, n, edge, mask):
        return (
            "vanished",
            f"the product of slopes is less than the smallest float from {name} on",
            "scale the values",
        )
    return (
        "stationary",
        f"the derivative of {name} is 0{at}",
        "start elsewhere: here it is at a minimum, a maximum or a saddle",
    )


def _zero_operand(record: Ancestor, positions: list[int]) -> str:
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


def _others(record: Ancestor, positions: list[int]) -> str:
    """Returns `, the value of `b`` in words, for the other operand."""
    names = {0: "left", 1: "right"}
    others = [k for k in range(len(record.operands)) if k not in positions]
    if len(record.operands) != 2 or len(others) != 1 or not record.site.op.infix:
        return ""
    value = record.operands[others[0]]
    zero = type(value) is not Blank and not size_of(value * 1.0 if not shape_of(value) else value)
    return f" on its {names[others[0]]}" if zero else ""


def _underflows(run: Run, record: Ancestor, n: int, edge: Edge, mask: Any) -> bool:
    """Returns whether a non-zero partial times the cotangent is zero by underflow."""
    partial = partial_by(run, record, n)
    if partial is None:
        return bool(abs(edge.cotangent) < 1e-150)
    return bool(size_of(_within(partial, mask)) != 0)


def _within(value: Any, mask: Any) -> Any:
    """Returns the elements of an array in a mask of its shape; any other value as it is."""
    fits = mask is not None and value is not None and type(value) not in (Blank, list, Lanes)
    return value[mask] if fits and shape_of(mask) == shape_of(value) != () else value


def _cancels_itself(run: Run, record: Ancestor, positions: list[int]) -> bool:
    """Returns whether non-zero partials cancel in an operation that takes one value in several
    positions.
    """
    op, operands = record.site.op, record.operands
    if not op.elementwise or type(record.y) is Lanes:
        return True
    partials = [array_partial(run.backend, op, k)(record.y, *operands) for k in positions]
    return any(size_of(p * 1.0) != 0 for p in partials)
