"""Hot calls of functions with loops whose number of iterations depends on the data, and of their
derivatives, on plain floats and ints.

A generated function runs such a call (`loop_source.py`). It records nothing, as no operand is
active; for active operands, and where the function can't go on, the interpreter makes the call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ...lang import program
from ...lang.program.walks import own_nodes
from ..analysis.frames import position_of
from ..analysis.inlined_derivatives import NotInlinedError
from ..analysis.inlining import Known
from ..analysis.loop_bodies import inline_looped
from ..analysis.loop_parts import Looped, unchanged_sources
from ..backends.tiers import policy
from ..compilation.compiler import Closure
from ..formulas.reading import returned_operands
from ..values.kinds import List
from .fused_source import write_call
from .fusion import MAX_VARIANTS, kinds_of
from .loop_source import LoopWriter
from .plan import MISS, Plan
from .planning import collect

DERIVATIVES = frozenset(("grad", "value_and_grad", "vjp", "jvp", "value_and_jvp"))
WEIGHED = frozenset(("vjp", "jvp", "value_and_jvp"))
Hot = Callable[[list[Any]], Any]


class _Asked(NamedTuple):
    """The request that a call makes: the value of a function if `kind` is "", or its derivative by
    the arguments at the positions. With `second` it is a derivative of the gradient."""

    kind: str
    positions: list[int]
    listed: bool
    second: bool
    function: program.Expression | None


class _Call(NamedTuple):
    """A call that was read: `plan` computes its operands, which are at `refs` in it."""

    asked: _Asked
    looped: Looped
    plan: Plan
    refs: list[tuple[str, Any]]


def by_loops(node: program.Call, known: dict[int, Known], cold: Closure) -> Closure:
    """The closure of a call whose function has loops, which uses a generated function once it is
    hot; `cold` for any other call."""
    if not _has_loops(node, known):
        return cold
    variants: dict[tuple[str, ...], Hot | None] = {}
    found: _Call | None = None
    hot: Hot | None = None
    readable = True
    hot_after, count = policy().heat.evaluations, 0

    def choose(frame: list[Any]) -> None:
        nonlocal found, hot, count, readable
        found = found or _plan(node, known)
        if found is None:
            readable = False
            return
        plan = found.plan
        kinds = kinds_of([leaf.of(frame) for leaf in plan.leaves])
        if not {"float", "int"}.issuperset(kinds):
            count = 0
        elif kinds not in variants and len(variants) < MAX_VARIANTS:
            variants[kinds] = _write(found, kinds)
        hot = variants.get(kinds)

    def call(frame: list[Any]) -> Any:
        nonlocal count
        if (function := hot) is not None:  # other threads may run the same program
            y = function(frame)
            if y is not MISS:
                return y
        if readable:
            count += 1
            if count >= hot_after and frame[0].group is None:
                choose(frame)
        return cold(frame)

    return call


def _asked(callee: program.Expression | None, known: dict[int, Known]) -> _Asked:
    """The request that a call of this callee makes. Raises NotInlinedError for any other kind."""
    held = None
    if isinstance(callee, program.Read) and not callee.checked and callee.slot.index in known:
        held = known[callee.slot.index]
    if isinstance(held.value if held else callee, program.Apply) and (
        held is None or held.home is None
    ):
        node: Any = held.value if held else callee
        options = dict(node.options)
        wrt = options.pop("wrt", None)
        items = wrt.items if isinstance(wrt, program.ListDisplay) else (wrt,)
        positions = [0 if item is None else position_of(item) for item in items]
        listed = isinstance(wrt, program.ListDisplay)
        distinct = positions and len(set(positions)) == len(positions)
        if (
            node.op.name not in DERIVATIVES
            or options
            or not distinct
            or (node.op.name in WEIGHED and (listed or positions != [0]))
        ):
            raise NotInlinedError
        below = _asked(node.operands[0], known)
        if not below.kind:
            return _Asked(node.op.name, positions, listed, False, node.operands[0])
        if (
            below.kind != "grad"
            or below.second
            or below.listed
            or listed
            or below.positions != positions
        ):
            raise NotInlinedError
        return _Asked(node.op.name, positions, False, True, below.function)
    return _Asked("", [], False, False, callee)


def _has_loops(node: program.Call, known: dict[int, Known]) -> bool:
    """Whether the called or differentiated function has loops or branches."""
    with suppress(NotInlinedError):
        function = _asked(node.callee, known).function
        code = function.function if isinstance(function, program.FunctionLiteral) else None
        if isinstance(function, program.Read) and function.slot.index in known:
            held = known[function.slot.index].value
            code = held if isinstance(held, program.Function) else None
        return code is not None and any(
            isinstance(n, program.While | program.For | program.If) for n in own_nodes(code.body)
        )
    return False


def _plan(node: program.Call, known: dict[int, Known]) -> _Call | None:
    """The call, or None if it can't be inlined."""
    asked = _asked(node.callee, known)
    plan = Plan([], [])
    with suppress(NotInlinedError):
        if any(argument.keyword for argument in node.arguments):
            raise NotInlinedError
        arguments = [argument.value for argument in node.arguments]
        if max(asked.positions, default=-1) >= len(arguments) or (
            asked.kind in WEIGHED and len(arguments) < 2
        ):
            raise NotInlinedError
        vector = arguments.pop(1) if asked.kind in WEIGHED else None
        looped = inline_looped(node, asked.function, arguments, vector, known)
        refs = [collect(operand, plan, None, known, None, 1) for _, operand in looped.operands]
        return _Call(asked, looped, plan, refs)
    return None


def _write(call: _Call, kinds: tuple[str, ...]) -> Hot | None:
    """The function for leaves of these kinds; None where there can be none."""
    with suppress(NotInlinedError):
        returned = [] if call.asked.kind else _returned(call.looped)
        return write_call(
            call.plan,
            call.refs,
            kinds,
            lambda given: _made(call.asked, call.looped, given),
            returned,
        )
    return None


def _returned(looped: Looped) -> list[int]:
    """The operands, by position, that the function may return unchanged."""
    numbers = unchanged_sources(looped, [looped.result])
    given = set[int]().union(
        *[returned_operands(f) for t, f in zip(*looped.begin, strict=True) if t in numbers]
    )
    return [k for k, (number, _) in enumerate(looped.operands) if number in given]


def _made(asked: _Asked, looped: Looped, kinds: list[str]) -> Callable[..., Any]:
    """The function that computes the requested value or derivative."""
    kind = asked.kind
    writer = LoopWriter(looped, kinds, asked.positions)
    if not kind:
        return _of_floats(writer.value())
    function = (
        writer.tangent()
        if kind in ("jvp", "value_and_jvp") and not asked.second
        else writer.gradient(asked.second)
    )
    with_value, listed = kind.startswith("value_and"), asked.listed

    def derivative(*operands: Any) -> Any:
        value, found = function(*operands)
        for d in found:
            if d - d != 0.0:  # products may have to be strict
                raise OverflowError
        if type(value) is not float:
            raise OverflowError
        slopes = List(found) if listed else found[0]
        return List([value, slopes]) if with_value else slopes

    return derivative


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, restricted to results that are floats."""

    def value(*operands: Any) -> float:
        y = function(*operands)
        if type(y) is not float:
            raise OverflowError
        return y

    return value
