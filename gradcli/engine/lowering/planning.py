"""Planning: which part of a program's text can be one function."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...lang import program
from ..analysis.frames import is_operation
from ..analysis.inlined_calls import INLINED, inline_call, may_inline
from ..analysis.inlined_derivatives import NotInlinedError
from ..analysis.inlining import Known, expression_of, inlined
from ..compilation.compiler import Closure, Compiler
from ..operations.overwriting import gives_new_array
from ..trace.tape import Site
from ..values.kinds import FRAME_HEAD
from .plan import Leaf, Operation, Plan

MAX_OPS = 40
_AT_HAND = frozenset((program.Read, program.Constant))
_LONGEST_CHAIN = 1000  # links; a longer one is walked, as plans of its parts would nest too deep


def plan_expression(
    c: Compiler, node: program.Expression, compile_value: Callable[[program.Expression], Closure]
) -> Plan | None:
    """The plan of an expression; None where nothing is gained. `compile_value` makes the closures
    of calls, elements and conditions that are not part of the plan."""
    if _is_single(node) or _leans_far(node):
        return None
    inlines = not c.counts  # an inlined function's statements would not be counted
    if not (is_operation(node) or (inlines and may_inline(node, c.functions))):
        return None
    if inlines:
        with suppress(NotInlinedError):
            found = Plan([], [])
            collect(node, found, None, c.functions, None, 0)
            worth = len(found.ops) > 1 or [op.site.op.name for op in found.ops] == [INLINED]
            return found if worth and found.leaves else None
    if not is_operation(node):
        return None
    found = Plan([], [])
    collect(node, found, compile_value, {}, None, 0)
    return found if len(found.ops) > 1 and found.leaves else None


def _is_single(node: program.Expression) -> bool:
    """Whether a node is one operation on names and numbers."""
    return isinstance(node, program.Apply) and _AT_HAND.issuperset(map(type, node.operands))


def _leans_far(node: program.Expression) -> bool:
    """Whether a node is a chain of very many operations, each the first operand of the next."""
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(node, program.Apply) or not node.operands or node.operands[0] is None:
            return False
        node = node.operands[0]
    return True


def plan_list(c: Compiler, node: program.Call) -> list[Plan] | None:
    """The plans of the numbers in a list that a call returns, as `grad(f, wrt = [0, 1])(x, y)`
    does; None if it can't be inlined. All plans share their leaves."""
    if c.counts or not may_inline(node, c.functions):
        return None
    with suppress(NotInlinedError):
        return plans_of_list(node, c.functions)
    return None


def plans_of_list(node: program.Call, functions: dict[int, Known]) -> list[Plan] | None:
    """The plans of the numbers in a list that a call returns; None where nothing is gained. Raises
    NotInlinedError where it can't be read."""
    call = inline_call(node, functions)
    leaves: list[Leaf] = []
    plans = [Plan([], leaves) for _ in call.formulas]
    for found, op in zip(plans, call.ops(), strict=True):
        refs = tuple(
            [collect(operand, found, None, functions, None, 1) for operand in call.operands]
        )
        found.ops.append(Operation(Site(op, node.span), refs))
    return plans if call.listed and leaves else None


def collect(
    node: program.Expression,
    found: Plan,
    compile_value: Callable[[program.Expression], Closure] | None,
    functions: dict[int, Known],
    arguments: dict[int, tuple[str, Any]] | None,
    depth: int,
) -> tuple[str, Any]:
    """Adds the operations below `node` to a plan, operands first, and the leaves that they read.
    Returns the reference to the value of the node.

    `arguments` are the references of a function's arguments, by slot, if the node is part of its
    body. Without `compile_value`, raises NotInlinedError for a node that isn't an operation, a
    name, a number, or a call of one of the `functions`.
    """
    if isinstance(node, program.Constant) and type(node.value) in (float, int):
        return "number", node.value
    room = max(len(found.ops), depth) < MAX_OPS
    if is_operation(node) and room:
        assert isinstance(node, program.Apply)
        operands = [
            collect(operand, found, compile_value, functions, arguments, depth + 1)
            for operand in node.operands
            if operand is not None
        ]
        found.ops.append(Operation(Site(node.op, node.span), tuple(operands)))
        return "op", len(found.ops) - 1
    if isinstance(node, program.Read) and not node.checked:
        if arguments is not None:
            return arguments[node.slot.index]
        leaf = Leaf("cell" if node.slot.cell else "slot", node.slot.index + FRAME_HEAD)
        if leaf not in found.leaves:
            found.leaves.append(leaf)
        return "leaf", found.leaves.index(leaf)
    if compile_value is not None:
        reads = _reads(node)
        known = [
            k for k, leaf in enumerate(found.leaves) if reads is not None and leaf.reads == reads
        ]
        if not known:
            found.leaves.append(Leaf("closure", compile_value(node), reads, gives_new_array(node)))
        return "leaf", known[0] if known else len(found.leaves) - 1
    if not isinstance(node, program.Call) or arguments is not None or not room:
        raise NotInlinedError
    function = inlined(node, functions)
    if function is not None and (value := expression_of(function)) is not None:
        before = len(found.ops), len(found.leaves)
        with suppress(NotInlinedError):
            given = [
                collect(a.value, found, compile_value, functions, arguments, depth + 1)
                for a in node.arguments
            ]
            inner = {p.slot.index: ref for p, ref in zip(function.parameters, given, strict=True)}
            return collect(value, found, compile_value, functions, inner, depth + 1)
        del found.ops[before[0] :], found.leaves[before[1] :]
    call = inline_call(node, functions)
    if call.listed:
        raise NotInlinedError
    (op,) = call.ops()
    refs = tuple(
        [
            collect(operand, found, compile_value, functions, arguments, depth + 1)
            for operand in call.operands
        ]
    )
    found.ops.append(Operation(Site(op, node.span), refs))
    return "op", len(found.ops) - 1


def _reads(node: Any, depth: int = 0) -> Any:
    """A key of a name, or of an element or slice of one, that is equal for nodes with the same
    value; None for any other node, and for one that nests deeper than a plan does."""
    if depth > MAX_OPS:
        return None
    if isinstance(node, program.Constant):
        return type(node.value).__name__, repr(node.value)
    if isinstance(node, program.EllipsisItem) or node is None:
        return type(node).__name__
    if isinstance(node, program.Read):
        return None if node.checked else ("slot", node.slot.index)
    parts: tuple[Any, ...] = ()
    if isinstance(node, program.Index):
        parts = ("index", node.object, *node.items)
    elif isinstance(node, program.Slice):
        parts = ("slice", node.start, node.stop, node.step)
    elif isinstance(node, program.Apply) and is_operation(node):
        parts = (node.op.name, *node.operands)
    found = tuple([part if type(part) is str else _reads(part, depth + 1) for part in parts])
    return found if found and None not in found else None
