"""Expressions as closures: each resolved node becomes one function of a frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...lang import program
from ..backends.backend import INT_MAX, INT_MIN
from ..calls import builtins, functions
from ..calls import closures as calls
from ..compilation import indexing
from ..compilation.compiler import Closure, Compiler
from ..compilation.conditions import compile_condition, truth
from ..compilation.paths import compile_part, inside, may_make
from ..formulas.formula_source import REFUSING
from ..formulas.functions import scalar_function
from ..formulas.scalars import FAST
from ..lanes.divergence import choose
from ..lanes.merging import MERGE
from ..operations.apply import apply
from ..operations.equality import compare
from ..trace.tape import Site
from ..values.boxes import Dual
from ..values.kinds import FRAME_HEAD, UNSET, List, Variable
from .texts import compile_text

# ---- leaves --------------------------------------------------------------------------------------


def _constant(c: Compiler, node: program.Constant) -> Closure:
    value = node.value
    if type(value) is float and c.settings.dtype == "float32":
        return lambda frame: frame[0].real(value)
    return lambda frame: value


def _read(c: Compiler, node: program.Read) -> Closure:
    k, name, span = node.slot.index + FRAME_HEAD, node.slot.name, node.span

    def unassigned(frame: list[Any]) -> Any:
        frame[0].fail(
            "E307",
            f"`{name}` has no value yet",
            span,
            help="no statement that assigns it has been executed on this path",
        )

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
    c.rules = c.rules or node.op.reverse_only
    c.asks = c.asks or builtins.asks_of_values(node.op)  # whoever calls it may be a function
    return lambda frame: node.op


# ---- operations ----------------------------------------------------------------------------------

_LONG_CHAIN = 16  # links; longer ones are walked in a loop, so that no chain nests closures deep


def _apply(c: Compiler, node: program.Apply) -> Closure:
    c.operations += 1
    if may_make(c, node):
        return calls.compile_append(c, node)
    if node.op.engine:
        return calls.compile_engine_call(c, node)
    if _is_binary(node):
        return _binary_chain(c, node)
    site = Site(node.op, node.span)
    if node.op.elementwise and len(node.operands) == 1 and node.operands[0] is not None:
        return _unary(c, site, c.value(node.operands[0]))
    return calls.compile_structural(
        c, node, site, [None if o is None else c.value(o) for o in node.operands]
    )


def _is_binary(node: program.Expression) -> bool:
    return (
        isinstance(node, program.Apply)
        and node.op.elementwise
        and len(node.operands) == 2
        and None not in node.operands
    )


def _binary_chain(c: Compiler, node: program.Apply) -> Closure:
    """The closure of a binary operation. A long chain leans to the left; its spine is compiled and
    run in a loop, without recursion."""
    spine: list[Any] = [node]
    while _is_binary(spine[-1].operands[0]):
        spine.append(spine[-1].operands[0])
    if len(spine) > _LONG_CHAIN:
        first = _read_at_once(c.value(spine[-1].operands[0]))
        links = [(Site(link.op, link.span), c.value(link.operands[1])) for link in reversed(spine)]

        def chain(frame: list[Any]) -> Any:
            run, value = frame[0], first(frame)
            for site, right in links:
                value = apply_any(run, site, value, right(frame))
            return value

        return chain
    left = c.value(spine[-1].operands[0])
    if not isinstance(spine[-1].operands[1], program.Constant | program.Read):
        left = _read_at_once(left)
    for link in reversed(spine):
        site = Site(link.op, link.span)
        left = _binary(c, site, left, c.value(link.operands[1]))
    return left


def _read_at_once(closure: Closure) -> Closure:
    """The closure of a left operand: a variable is read before the right operand, which may update
    it, is evaluated."""

    def read_value(frame: list[Any]) -> Any:
        value = closure(frame)
        return value.box if type(value) is Variable else value

    return read_value


def apply_any(run: Any, site: Site, a: Any, b: Any) -> Any:
    """Applies a binary operation to any two values; comparisons also take what isn't a number."""
    return compare(run, site, a, b) if site.op.integers == "bool" else apply(run, site, (a, b))


# ---- operations on Python's numbers, computed at once; `apply` does everything else --------------


_REALS = frozenset((float, int))
_EXACT_ON_INTS = frozenset(("add", "sub", "mul", "floordiv", "mod"))


def _unary(c: Compiler, site: Site, operand: Closure) -> Closure:
    """The closure of an operation on one operand."""
    if not (c.on_floats and site.op.differentiable):
        return lambda frame: apply(frame[0], site, (operand(frame),))
    function: Callable[[float], float] = FAST.get(site.op.name) or scalar_function(site.op)

    def closure(frame: list[Any]) -> Any:
        a = operand(frame)
        if type(a) is float:
            try:
                return function(a)
            except REFUSING:
                pass
        return apply(frame[0], site, (a,))

    return closure


def _binary(c: Compiler, site: Site, left: Closure, right: Closure) -> Closure:
    """The closure of an operation on two operands."""
    if site.op.integers == "bool":
        return _comparison(c, site, left, right)
    function = FAST.get(site.op.name)
    if function is None or not c.on_floats:
        return lambda frame: apply(frame[0], site, (left(frame), right(frame)))
    is_exact = site.op.name in _EXACT_ON_INTS

    def closure(frame: list[Any]) -> Any:
        a, b = left(frame), right(frame)
        try:
            if type(a) is float:
                if type(b) is float or type(b) is int:
                    return function(a, b)
            elif type(a) is int:
                if type(b) is float:
                    return function(a, b)
                if is_exact and type(b) is int and INT_MIN <= (y := function(a, b)) <= INT_MAX:
                    return y
        except REFUSING:
            pass
        return apply(frame[0], site, (a, b))

    return closure


def _comparison(c: Compiler, site: Site, left: Closure, right: Closure) -> Closure:
    """The closure of a comparison, which records nothing: of a traced number it takes the
    primal."""
    function = FAST.get(site.op.name)
    if function is None or not c.on_floats:
        return lambda frame: compare(frame[0], site, left(frame), right(frame))

    def closure(frame: list[Any]) -> Any:
        a, b = left(frame), right(frame)
        x, y = _primal(a), _primal(b)
        if type(x) in _REALS and type(y) in _REALS:
            # Python compares an int and a float as they are; here the int becomes a float.
            return function(x, y) if type(x) is type(y) else function(float(x), float(y))
        return compare(frame[0], site, a, b)

    return closure


def _primal(value: Any) -> Any:
    if type(value) is tuple:
        return value[0]
    return value.primal if type(value) is Dual else value


# ---- choice --------------------------------------------------------------------------------------


def _conditional(c: Compiler, node: program.Conditional) -> Closure:
    condition = compile_condition(c, node.condition)
    compiled = compile_part if may_make(c, node) else Compiler.expression
    then, otherwise = compiled(c, node.then), compiled(c, node.otherwise)
    site = Site(MERGE, node.span)

    def conditional(frame: list[Any], *path: str | None) -> Any:
        holds = condition(frame)
        if holds is True:
            return then(frame, *path)
        if holds is False:
            return otherwise(frame, *path)
        return choose(frame, holds, lambda f: then(f, *path), lambda f: otherwise(f, *path), site)

    return conditional


def _logical(c: Compiler, node: program.Logical) -> Closure:
    conditions = [compile_condition(c, o) for o in node.operands]
    stop = node.kind == "or"
    site = Site(MERGE, node.span)

    def stopped(frame: list[Any]) -> bool:
        return stop

    def logical(frame: list[Any], first: int = 0) -> Any:
        for k, condition in enumerate(conditions[first:], first + 1):
            holds = condition(frame)
            if holds is stop:
                return stop
            if holds is not (not stop):
                rest = partial(logical, first=k)
                then, otherwise = (stopped, rest) if stop else (rest, stopped)
                return choose(frame, holds, then, otherwise, site)
        return not stop

    return logical


def _chain(c: Compiler, node: program.Chain) -> Closure:
    operands = [c.value(o) for o in node.operands]
    sites = [Site(op, span) for op, span in zip(node.ops, node.spans, strict=True)]

    merging = Site(MERGE, node.span)

    def chain(frame: list[Any], first: int = 0, a: Any = None) -> Any:
        a = a if first else operands[0](frame)
        for k, (site, operand) in enumerate(
            zip(sites[first:], operands[first + 1 :], strict=True), first + 1
        ):
            b = operand(frame)
            holds = truth(frame[0], compare(frame[0], site, a, b), site.span)
            if holds is False:
                return False
            if holds is not True:
                return choose(
                    frame, holds, partial(chain, first=k, a=b), lambda frame: False, merging
                )
            a = b
        return True

    return chain


# ---- displays ------------------------------------------------------------------------------------


def _list(c: Compiler, node: program.ListDisplay) -> Closure:
    if may_make(c, node):
        placed = [(compile_part(c, item), f"[{k}]") for k, item in enumerate(node.items)]
        return lambda frame, path=None: List(
            [item(frame, inside(path, suffix)) for item, suffix in placed]
        )
    items = [c.expression(i) for i in node.items]
    return lambda frame: List([item(frame) for item in items])


def _dict(c: Compiler, node: program.DictDisplay) -> Closure:
    given = list(zip(node.keys, node.values, strict=True))
    if may_make(c, node):
        placed = [(key, compile_part(c, value)) for key, value in given]
        return lambda frame, path=None: {
            key: value(frame, inside(path, f".{key}")) for key, value in placed
        }
    entries = [(key, c.expression(value)) for key, value in given]
    return lambda frame: {key: value(frame) for key, value in entries}


def _function(c: Compiler, node: program.FunctionLiteral) -> Closure:
    return functions.compile_function(c, node.function)


EXPRESSIONS: dict[type, Callable[[Compiler, Any], Closure]] = {
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
    program.Text: compile_text,
    program.Conditional: _conditional,
    program.Logical: _logical,
    program.Chain: _chain,
    program.FunctionLiteral: _function,
    program.ModuleLiteral: lambda c, node: functions.compile_module(c, node),
}
