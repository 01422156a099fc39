"""Closures for the hot path: one or two scalars, of which some are traced floats.

What they do is what `apply` does, for floats alone, written out: compute, and append the record.
Their source is made from a template, once for each kind of operation and of operand, so that a slot
is read and an operator applied without a call. Only names of this module and of the op table's
operators are in it, nothing of a program. Everything that isn't a float (and every result that
Python refuses: `1.0 / 0.0`) goes to `apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..backends.backend import INT_MAX, INT_MIN
from ..compilation.compiler import Closure
from ..formulas.formula_source import function_of
from ..formulas.scalars import FAST
from ..operations.apply import apply
from ..operations.scalar_calls import apply_to_scalars
from ..trace.tape import Site
from ..trace.windows import STRIDE
from ..values.boxes import Dual
from ..values.kinds import Variable

assert STRIDE == 6  # the records that the templates append are written out

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
EXACT = "exact"
EXACT_ON_INTS = frozenset(("add", "sub", "mul", "floordiv", "mod"))


class Operand(NamedTuple):
    """How an operand is obtained: kind "slot" (`value` is the frame index), "float" or "int" (a
    constant), or "closure"."""

    kind: str
    value: Any


def _source(name: str, operand: Operand) -> list[str]:
    """The lines that bring an operand into the local `name`, with a variable read."""
    if operand.kind == "slot":
        return [f"{name} = frame[{name}_from]", f"if type({name}) is Variable: {name} = {name}.box"]
    if operand.kind == "closure":
        return [f"{name} = {name}_from(frame)"]
    return [f"{name} = {name}_from"]


_RECORD = """
    trace = origin.trace
    segment = trace.segment
    if segment is None:
        return y
    number = trace.number
    if number >= trace.limit:
        segment = trace.advance()
    if origin is not segment:
        segment.reads(origin)
    {other}
    trace.number = number + 1
    segment.records.extend({record})
    return y, number, segment
"""


@cache
def _unary_factory(kind: str) -> Callable[..., Closure]:
    operand = "\n    ".join(_source("a", Operand(kind, None)))
    record = _RECORD.format(other="", record="(active, n, None, x, None, y)")
    return _factory(
        "run_op, a_from, fast, site, active",
        f"""
def closure(frame):
    {operand}
    try:
        if type(a) is float:
            return fast(a)
        if type(a) is not tuple or type(a[0]) is not float:
            return on_duals(frame[0], site, a) if moves(a) else run_op(frame[0], site, (a,))
        x, n, origin = a
        y = fast(x)
    except (ValueError, OverflowError, ZeroDivisionError):
        return run_op(frame[0], site, (a,))
{record}""",
    )


@cache
def _binary_factory(op: str, left: str, right: str) -> Callable[..., Closure]:
    def compute(x: str, y: str) -> str:
        return f"{x} {INFIX[op]} {y}" if op in INFIX else f"fast({x}, {y})"

    operands = "\n    ".join(_source("a", Operand(left, None)) + _source("b", Operand(right, None)))
    otherwise = "return run_op(frame[0], site, (a, b))"
    on_others = (
        "return on_duals(frame[0], site, a, b) if moves(a) or moves(b) else run_op(frame[0], "
        "site, (a, b))"
    )
    is_float = "True" if left == "float" else "False" if left == "int" else "type(a) is float"
    b_is_number = "True" if right in ("float", "int") else "type(b) is float or type(b) is int"
    on_ints = otherwise
    if op in EXACT_ON_INTS:
        on_ints = (
            f"y = {compute('a', 'b')}\n            return y if INT_MIN <= y <= INT_MAX else "
            "run_op(frame[0], site, (a, b))"
        )
    record = _RECORD.format(
        # Of another trace than the first operand's only where a transform is inside another:
        # `apply` knows what to do.
        other="""if m is not None and b[2] is not segment:
        if b[2].trace is not trace: return run_op(frame[0], site, (a, b))
        segment.reads(b[2])""",
        record="(active, n, m, x1, x2, y)",
    )
    return _factory(
        "run_op, a_from, b_from, fast, site, first, second, both",
        f"""
def closure(frame):
    {operands}
    try:
        if {is_float}:
            if {b_is_number}:
                return {compute("a", "b")}
            if type(b) is not tuple or type(b[0]) is not float:
                {on_others}
            x1 = a
            x2, n, origin = b
            y = {compute("x1", "x2")}
            active, m = second, None
        elif type(a) is tuple and type(a[0]) is float:
            x1, n, origin = a
            if {b_is_number}:
                x2, active, m = b, first, None
                y = {compute("x1", "x2")}
            elif type(b) is tuple and type(b[0]) is float:
                x2, m = b[0], b[1]
                active = both
                y = {compute("x1", "x2")}
            else:
                {on_others}
        elif type(a) is int and type(b) is int:
            {on_ints}
        elif type(a) is int and type(b) is float:
            return {compute("a", "b")}
        elif type(a) is int and type(b) is tuple and type(b[0]) is float:
            x1 = a
            x2, n, origin = b
            y = {compute("x1", "x2")}
            active, m = second, None
        else:
            {on_others}
    except (ValueError, OverflowError, ZeroDivisionError):
        {otherwise}
{record}""",
    )


@cache
def _comparison_factory(op: str, left: str, right: str) -> Callable[..., Closure]:
    operands = "\n    ".join(_source("a", Operand(left, None)) + _source("b", Operand(right, None)))
    # Python compares an int and a float as they are; here an int that meets a float is one.
    alike = "type(a) is type(b)" if EXACT not in (left, right) else "True"
    return _factory(
        "run_op, a_from, b_from, site",
        f"""
def closure(frame):
    {operands}
    if type(a) is tuple:
        a = a[0]
    elif type(a) is Dual:
        a = a.primal
    if type(b) is tuple:
        b = b[0]
    elif type(b) is Dual:
        b = b.primal
    if (type(a) is float or type(a) is int) and (type(b) is float or type(b) is int):
        return a {INFIX[op]} b if {alike} else float(a) {INFIX[op]} float(b)
    return run_op(frame[0], site, a, b)
""",
    )


def _factory(parameters: str, body: str) -> Callable[..., Closure]:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return function_of(
        f"def make({parameters}):\n{indented}    return closure\n",
        "<scalar closure>",
        _NAMES.copy(),
    )


def _moves(value: Any) -> bool:
    """Whether a value has a tangent, be it traced or not."""
    return type(value) is Dual or (type(value) is tuple and type(value[0]) is Dual)


_NAMES: dict[str, Any] = {
    "Variable": Variable,
    "Dual": Dual,
    "moves": _moves,
    "on_duals": apply_to_scalars,
    "INT_MIN": INT_MIN,
    "INT_MAX": INT_MAX,
}


def unary(site: Site, operand: Operand, fast: Callable[[float], float]) -> Closure:
    """The closure of an operation on one operand; `fast` computes it on a float, and may raise what
    IEEE has a value for."""
    return _unary_factory(operand.kind)(apply, operand.value, fast, site, site.on((0,)))


def binary(site: Site, left: Operand, right: Operand, apply: Callable[..., Any] = apply) -> Closure:
    """The closure of an operation on two operands, for the ops in `scalars.FAST`; it leaves what
    isn't a float to `apply`."""
    make = _binary_factory(site.op.name, left.kind, right.kind)
    fast = FAST[site.op.name]
    return make(
        apply, left.value, right.value, fast, site, site.on((0,)), site.on((1,)), site.on((0, 1))
    )


def comparison(site: Site, left: Operand, right: Operand, compare: Callable[..., Any]) -> Closure:
    """The closure of a comparison: it compares numbers itself, and anything else by `compare(run,
    site, a, b)`."""
    left, right = _as_exact(left), _as_exact(right)
    return _comparison_factory(site.op.name, left.kind, right.kind)(
        compare, left.value, right.value, site
    )


def _as_exact(operand: Operand) -> Operand:
    """Gives an int literal that is exact as a float the kind EXACT: it compares with ints as with
    floats."""
    exact = operand.kind == "int" and abs(operand.value) <= 2**53
    return Operand(EXACT, operand.value) if exact else operand
