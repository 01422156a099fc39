"""Expressions as closures: each resolved node becomes one function of a frame.

The hot operations, one or two floats of which some are traced, are computed and recorded right here; everything else
goes through `apply`, which means the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang import program
from ..ops import OPS
from . import calls, indexing
from .apply import apply
from .backends import shape_of
from .compiler import Closure, Compiler
from .formulas import scalar_function
from .scalars import FAST
from .tape import STRIDE, Site, primal
from .values import FRAME_HEAD, UNSET, List, Variable, describe, read

assert STRIDE == 6  # the records appended below are written out


def compile_expression(c: Compiler, node: program.Expression) -> Closure:
    """The closure of an expression: `frame -> value`."""
    return _COMPILE[type(node)](c, node)


def compile_value(c: Compiler, node: program.Expression) -> Closure:
    """The same, but a variable is read: for operands, conditions and everything that wants its value."""
    closure = compile_expression(c, node)
    if not isinstance(node, program.Read | program.Call | program.MethodCall | program.Member | program.Index | program.Conditional):
        return closure

    def value(frame: list[Any]) -> Any:
        v = closure(frame)
        return v.box if type(v) is Variable else v

    return value


# ---- leaves ----------------------------------------------------------------------------------------------------------


def _constant(c: Compiler, node: program.Constant) -> Closure:
    value = node.value
    if type(value) is float and c.settings.dtype == "float32":
        return lambda frame: frame[0].real(value)
    return lambda frame: value


def _read(c: Compiler, node: program.Read) -> Closure:
    k, name, span = node.slot.index + FRAME_HEAD, node.slot.name, node.span

    def unassigned(frame: list[Any]) -> Any:
        frame[0].fail("E307", f"`{name}` has no value yet", span, help="no statement that assigns it has been executed on this path")

    if node.slot.cell:

        def read_cell(frame: list[Any]) -> Any:
            value = frame[k][0]
            return unassigned(frame) if value is UNSET else value

        return read_cell
    if node.checked:

        def read_checked(frame: list[Any]) -> Any:
            value = frame[k]
            return unassigned(frame) if value is UNSET else value

        return read_checked
    return lambda frame: frame[k]


def _builtin(c: Compiler, node: program.Builtin) -> Closure:
    return lambda frame: node.op


# ---- operations ------------------------------------------------------------------------------------------------------


def _apply(c: Compiler, node: program.Apply) -> Closure:
    if node.op.engine:
        return calls.compile_engine_call(c, node)
    if node.op.elementwise and len(node.operands) == 2 and not node.options and None not in node.operands:
        return _binary_chain(c, node)
    operands = [None if o is None else compile_value(c, o) for o in node.operands]
    site = Site(node.op, node.span)
    if node.op.elementwise and len(operands) == 1 and operands[0] is not None:
        return _unary(c, site, operands[0])
    return calls.compile_structural(c, node, site, operands)


def _unary(c: Compiler, site: Site, operand: Closure) -> Closure:
    fast = FAST.get(site.op.name) or (scalar_function(site.op) if not c.keeps_all else None)
    records = site.op.differentiable
    active = site.on((0,))
    if fast is None or c.slow or site.op.integers == "bool":
        return lambda frame: apply(frame[0], site, (operand(frame),))

    def unary(frame: list[Any]) -> Any:
        a = operand(frame)
        kind = type(a)
        try:
            if kind is float:
                return fast(a)
            if kind is tuple and records:
                x, n, origin = a
                if type(x) is float:
                    y = fast(x)
                    trace = origin.trace
                    segment = trace.segment
                    if segment is None:
                        return y
                    number = trace.number
                    if number >= trace.limit:
                        segment = trace.advance()
                    if origin is not segment:
                        segment.reads(origin)
                    trace.number = number + 1
                    segment.records.extend((active, n, None, x, None, y))
                    return y, number, segment
        except (ValueError, OverflowError, ZeroDivisionError):
            pass  # the safe function answers with IEEE's inf or nan
        return apply(frame[0], site, (a,))

    return unary


def _binary_chain(c: Compiler, node: program.Apply) -> Closure:
    """A binary operation. A long chain leans to the left: its spine is walked in a loop, never by recursion."""
    spine = [node]
    while True:
        left = spine[-1].operands[0]
        if not (isinstance(left, program.Apply) and left.op.elementwise and len(left.operands) == 2 and None not in left.operands):
            break
        spine.append(left)
    if len(spine) <= 16:
        left_closure = compile_value(c, spine[-1].operands[0])  # type: ignore[arg-type]
        for link in reversed(spine):
            left_closure = _binary(c, Site(link.op, link.span), left_closure, compile_value(c, link.operands[1]))  # type: ignore[arg-type]
        return left_closure
    first = compile_value(c, spine[-1].operands[0])  # type: ignore[arg-type]
    # Each link reads the value so far from a cell of its own, and the loop below hands it on.
    links = [_link(c, link) for link in reversed(spine)]

    def chain(frame: list[Any]) -> Any:
        value = first(frame)
        for run_link in links:
            value = run_link(frame, value)
        return value

    return chain


def _link(c: Compiler, link: program.Apply) -> Callable[[list[Any], Any], Any]:
    site = Site(link.op, link.span)
    right = compile_value(c, link.operands[1])  # type: ignore[arg-type]
    return lambda frame, value: apply(frame[0], site, (value, right(frame)))


def _binary(c: Compiler, site: Site, left: Closure, right: Closure) -> Closure:
    op = site.op
    fast = FAST.get(op.name)
    if op.integers == "bool":
        return _comparison(site, fast, left, right) if not c.keeps_all else lambda frame: compare(frame[0], site, left(frame), right(frame))
    if fast is None or c.slow:
        return lambda frame: apply(frame[0], site, (left(frame), right(frame)))
    first, second, both = site.on((0,)), site.on((1,)), site.on((0, 1))

    def binary(frame: list[Any]) -> Any:
        a = left(frame)
        b = right(frame)
        try:
            kind = type(a)
            if kind is float:
                other = type(b)
                if other is float or other is int:
                    return fast(a, b)
                if other is not tuple:
                    return apply(frame[0], site, (a, b))
                x2, m, origin = b
                if type(x2) is not float:
                    return apply(frame[0], site, (a, b))
                y = fast(a, x2)
                record = (second, m, None, a, x2, y)
            elif kind is tuple:
                x1, n, origin = a
                if type(x1) is not float:
                    return apply(frame[0], site, (a, b))
                other = type(b)
                if other is float or other is int:
                    y = fast(x1, b)
                    record = (first, n, None, x1, b, y)
                elif other is tuple and type(b[0]) is float:
                    x2, m, _ = b
                    y = fast(x1, x2)
                    record = (both, n, m, x1, x2, y)
                else:
                    return apply(frame[0], site, (a, b))
            elif kind is int:
                other = type(b)
                if other is float:
                    return fast(a, b)
                if other is not tuple or type(b[0]) is not float:
                    return apply(frame[0], site, (a, b))
                x2, m, origin = b
                y = fast(a, x2)
                record = (second, m, None, a, x2, y)
            else:
                return apply(frame[0], site, (a, b))
        except (ValueError, OverflowError, ZeroDivisionError):
            return apply(frame[0], site, (a, b))  # the safe function answers with IEEE's inf or nan
        trace = origin.trace
        segment = trace.segment
        if segment is None:
            return y
        number = trace.number
        if number >= trace.limit:
            segment = trace.advance()
        if origin is not segment:
            segment.reads(origin)
        if record[2] is not None and b[2] is not segment:
            segment.reads(b[2])
        trace.number = number + 1
        segment.records.extend(record)
        return y, number, segment

    return binary


_NUMBERS = frozenset((float, int, bool))


def _comparison(site: Site, fast: Callable[[Any, Any], Any], left: Closure, right: Closure) -> Closure:
    def comparison(frame: list[Any]) -> Any:
        a = left(frame)
        b = right(frame)
        if type(a) is tuple:
            a = a[0]
        if type(b) is tuple:
            b = b[0]
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return fast(a, b)
        return compare(frame[0], site, a, b)

    return comparison


def _is_thing(value: Any) -> bool:
    return value is None or type(value) in (str, dict, List)


def same(a: Any, b: Any) -> bool:
    """`==` where it is one bool: of lists, dicts, strings and none."""
    a, b = primal(read(a)), primal(read(b))
    if type(a) is List and type(b) is List:
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is dict and type(b) is dict:
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if _is_thing(a) or _is_thing(b):
        return type(a) is type(b) and bool(a == b)
    return shape_of(a) == shape_of(b) and bool((a == b).all() if shape_of(a) else a == b)


# ---- choice ----------------------------------------------------------------------------------------------------------


def compile_condition(c: Compiler, node: program.Expression) -> Callable[[list[Any]], bool]:
    """A condition: one bool. An array of more elements is an error that names `any` and `all`."""
    value, span = compile_value(c, node), node.span

    def condition(frame: list[Any]) -> bool:
        v = value(frame)
        return v if v is True or v is False else truth(frame[0], v, span)

    return condition


def truth(run: Any, value: Any, span: Any) -> bool:
    """The bool that a value stands for as a condition."""
    if type(value) is tuple:
        if run.trace.keeps_all:
            run.trace.record(Site(OPS["logical_not"], span).on((0,)), [value], (), {"condition": True}, None, None)
        value = primal(value)
    if type(value) in _NUMBERS:
        return bool(value)
    if hasattr(value, "dtype") and value.size == 1:
        return bool(value.item())
    if hasattr(value, "dtype"):
        run.fail(
            "E310", f"a condition needs one bool, and this is an array of shape {tuple(value.shape)}", span,
            help="reduce it with `any(…)` or `all(…)`",
        )  # fmt: skip
    run.fail("E310", f"a condition needs one bool, and this is {describe(value)}", span, help="compare it with something")
    raise AssertionError


def _conditional(c: Compiler, node: program.Conditional) -> Closure:
    condition = compile_condition(c, node.condition)
    then, otherwise = compile_expression(c, node.then), compile_expression(c, node.otherwise)
    return lambda frame: then(frame) if condition(frame) else otherwise(frame)


def _logical(c: Compiler, node: program.Logical) -> Closure:
    conditions = [compile_condition(c, o) for o in node.operands]
    stop = node.kind == "or"

    def logical(frame: list[Any]) -> bool:
        for condition in conditions:
            if condition(frame) is stop:
                return stop
        return not stop

    return logical


def _chain(c: Compiler, node: program.Chain) -> Closure:
    operands = [compile_value(c, o) for o in node.operands]
    sites = [Site(op, span) for op, span in zip(node.ops, node.spans, strict=True)]

    def chain(frame: list[Any]) -> Any:
        a = operands[0](frame)
        for site, operand in zip(sites, operands[1:], strict=True):
            b = operand(frame)
            if not truth(frame[0], compare(frame[0], site, a, b), site.span):
                return False
            a = b
        return True

    return chain


def compare(run: Any, site: Site, a: Any, b: Any) -> Any:
    """A comparison of any two values."""
    if site.op.name in ("eq", "ne") and (_is_thing(primal(a)) or _is_thing(primal(b))):
        return same(a, b) == (site.op.name == "eq")
    return apply(run, site, (a, b))


# ---- displays --------------------------------------------------------------------------------------------------------


def _list(c: Compiler, node: program.ListDisplay) -> Closure:
    items = [compile_expression(c, i) for i in node.items]
    return lambda frame: List([item(frame) for item in items])


def _dict(c: Compiler, node: program.DictDisplay) -> Closure:
    entries = [(key, compile_expression(c, v)) for key, v in zip(node.keys, node.values, strict=True)]
    return lambda frame: {key: value(frame) for key, value in entries}


def _function(c: Compiler, node: program.FunctionLiteral) -> Closure:
    return calls.compile_function(c, node.function)


_COMPILE: dict[type, Callable[[Compiler, Any], Closure]] = {
    program.Constant: _constant,
    program.Read: _read,
    program.Builtin: _builtin,
    program.Apply: _apply,
    program.Call: lambda c, node: calls.compile_call(c, node),
    program.MethodCall: lambda c, node: calls.compile_method_call(c, node),
    program.Member: lambda c, node: indexing.compile_member(c, node),
    program.Index: lambda c, node: indexing.compile_index(c, node),
    program.ListDisplay: _list,
    program.DictDisplay: _dict,
    program.Conditional: _conditional,
    program.Logical: _logical,
    program.Chain: _chain,
    program.FunctionLiteral: _function,
}
