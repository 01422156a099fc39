"""Whole scalar expressions as one function and one record, once they turn out to be hot.

`s*0.999 + sin(x*i)*0.01` on floats is five operations: five closures, five boxes, five records.
When such an expression is hot (`tiers.py`), one function is written for it and for the kinds of its
operands at hand (float, int, traced float, float with a tangent), which computes all of it at once
(`fused_source.py`). What depends on a traced operand becomes one compound op (`compound.py`), so
that there is one record, and one step of a sweep. Arrays and rows are left to `fused_arrays.py` and
`fused_rows.py`; operands of other kinds, and results that Python refuses, take the way of the
single operations. A trace that keeps everything is filled by these alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ...lang import program
from ..analysis.frames import COMPARISONS, is_operation
from ..analysis.inlining import Known, expression_of, inlined
from ..analysis.read_derivatives import NotPlainError
from ..analysis.readings import READ, is_readable, read_body, read_call
from ..backends.tiers import policy
from ..compilation.compiler import Closure, Compiler
from ..operations.overwriting import MAKES_NEW, WRITES_OVER, gives_new
from ..trace.tape import Site
from ..values.boxes import Dual, primal
from ..values.kinds import FRAME_HEAD, List, Variable
from .fused_arrays import FusedArrays
from .fused_rows import FusedRows
from .fused_source import MISS, Leaf, Operation, Plan, handed_on, write

MAX_OPS = 40
# functions for different kinds of operands; an expression that needs more stays with its closures
MAX_VARIANTS = 4


def plan(
    c: Compiler, node: program.Expression, compile_value: Callable[[program.Expression], Closure]
) -> Plan | None:
    """The plan of an expression; None where there is nothing to gain. `compile_value` makes the
    closures of what isn't part of it: calls, elements, conditions."""
    inlines = not c.counts  # each statement of a function counts
    if not (is_operation(node) or (inlines and is_readable(node, c.functions))):
        return None
    if inlines:
        with suppress(NotPlainError):
            found = Plan([], [])
            collect(node, found, None, c.functions, None, 0)
            worth = len(found.ops) > 1 or [op.site.op.name for op in found.ops] == [READ]
            return found if worth and found.leaves else None
    if not is_operation(node):
        return None
    found = Plan([], [])
    collect(node, found, compile_value, {}, None, 0)
    return found if len(found.ops) > 1 and found.leaves else None


def plan_list(c: Compiler, node: program.Call) -> list[Plan] | None:
    """The plans of the numbers in a list that a call gives, as `grad(f, wrt = [0, 1])(x, y)` does;
    None if it can't be read. They have their leaves in common."""
    if c.counts or not is_readable(node, c.functions):
        return None
    with suppress(NotPlainError):
        return plans_of_list(node, c.functions)
    return None


def plans_of_list(node: program.Call, functions: dict[int, Known]) -> list[Plan] | None:
    """The same where these functions are known. Raises NotPlainError."""
    reading = read_call(node, functions)
    leaves: list[Leaf] = []
    plans = [Plan([], leaves) for _ in reading.formulas]
    for found, op in zip(plans, reading.ops(), strict=True):
        refs = tuple(
            [collect(operand, found, None, functions, None, 1) for operand in reading.operands]
        )
        found.ops.append(Operation(Site(op, node.span), refs))
    return plans if reading.listed and leaves else None


def body_on_rows(c: Compiler, body: tuple[program.Statement, ...], cold: Closure) -> Closure:
    """The closure of a function's body for rows: one operation where all that it computes can be,
    else `cold`."""
    if c.slow or c.counts or not body or not isinstance(body[-1], program.Return):
        return cold
    functions, span = c.functions, body[-1].span
    closure: Closure | None = None

    def look() -> Closure:
        with suppress(NotPlainError):
            reading = read_body(body, functions, span)
            (op,) = reading.ops()
            slots = [
                operand.slot for operand in reading.operands if isinstance(operand, program.Read)
            ]
            leaves = [
                Leaf("cell" if slot.cell else "slot", slot.index + FRAME_HEAD) for slot in slots
            ]
            if leaves:
                refs = tuple([("leaf", k) for k in range(len(leaves))])
                return _on_rows(Plan([Operation(Site(op, span), refs)], leaves), cold)
        return cold

    def call(frame: list[Any]) -> Any:
        nonlocal closure
        if (found := closure) is None:  # as it stays in programs without rows
            found = closure = look()
        return found(frame)

    return call


def condition_on_rows(c: Compiler, node: program.Expression, cold: Closure) -> Closure | None:
    """The closure of a comparison of plain expressions for rows, as one operation; None for any
    other condition. Nothing of it is recorded, as no gradient passes through a comparison."""
    if c.slow or c.counts or not isinstance(node, program.Apply) or node.op.name not in COMPARISONS:
        return None
    found = Plan([], [])
    with suppress(NotPlainError):
        refs = [
            collect(operand, found, None, c.functions, None, 1)
            for operand in node.operands
            if operand is not None
        ]
        if found.ops and found.leaves:
            found.ops.append(Operation(Site(node.op, node.span), tuple(refs)))
            return _on_rows(found, cold)
    return None


def _on_rows(found: Plan, cold: Closure) -> Closure:
    rows, leaves = FusedRows(found), found.leaves

    def call(frame: list[Any]) -> Any:
        y = rows.evaluate(frame[0], [leaf.of(frame) for leaf in leaves])
        return cold(frame) if y is MISS else y

    return call


def fuse_list(
    plans: list[Plan], cold: Closure, single: Callable[[Any, Site, tuple[Any, ...]], Any]
) -> Closure:
    """The closure of a call that gives a list, as `fuse` does it."""

    def write_all(kinds: tuple[str, ...]) -> Callable[[list[Any]], Any] | None:
        functions = [write(found, kinds) for found in plans]

        def hot(frame: list[Any]) -> Any:
            values = [function(frame) for function in functions if function is not None]
            return MISS if MISS in values else List(values)

        return None if None in functions else hot

    def all_of(kind: Callable[[Plan], Any]) -> Callable[[Any, list[Any]], Any]:
        parts = [kind(found) for found in plans]

        def evaluate(run: Any, values: list[Any]) -> Any:
            results: list[Any] = []
            for part in parts:
                y = part.evaluate(run, values)
                if y is MISS:
                    return MISS
                results.append(y)
            return List(results)

        return evaluate

    return _fuse(
        plans[0], cold, single, write_all, all_of, set[int]().union(*map(handed_on, plans))
    )


def fuse(
    found: Plan,
    cold: Closure,
    single: Callable[[Any, Site, tuple[Any, ...]], Any],
    scalars: bool = True,
) -> Closure:
    """The closure of an expression, `cold` at first, that turns to one function when it is hot; of
    Python's floats if these are the run's `scalars`.

    `single(run, site, operands)` is one operation on any values.
    """
    written = partial(write, found) if scalars else lambda kinds: None
    return _fuse(found, cold, single, written, lambda kind: kind(found).evaluate, handed_on(found))


def _fuse(
    found: Plan,
    cold: Closure,
    single: Callable[[Any, Site, tuple[Any, ...]], Any],
    write: Callable[[tuple[str, ...]], Callable[..., Any] | None],
    of: Callable[[Callable[[Plan], Any]], Callable[[Any, list[Any]], Any]],
    returned: set[int],
) -> Closure:
    leaves, steps = found.leaves, _steps(found, single)
    variants: dict[tuple[str, ...], Callable[..., Any] | None] = {}
    written: list[Callable[..., Any]] = []
    hot: Callable[..., Any] | None = None
    closures = [leaf.value for leaf in leaves if leaf.kind == "closure"]
    on_arrays, on_rows = of(FusedArrays), of(FusedRows)
    hot_after, count = policy().heat.evaluations, 0

    def choose(values: list[Any]) -> None:
        nonlocal hot, count, written
        kinds = kinds_of(values)
        if "" in kinds:
            count = 0  # arrays: no need to look each time
        if kinds not in variants and len(variants) < MAX_VARIANTS:
            variants[kinds] = None if "" in kinds else write(kinds)
            written = [function for function in variants.values() if function is not None]
        hot = variants.get(kinds)

    def by_another(frame: list[Any], tried: Callable[..., Any]) -> Any:
        """The value by another function than the one for the kinds of last time: a loop may begin
        with others than it goes on with."""
        nonlocal hot
        for function in written:
            if function is not tried and (y := function(frame)) is not MISS:
                hot = function
                return y
        return MISS

    def on_others(run: Any, values: list[Any]) -> Any:
        """The value for arrays or rows; MISS for what isn't that, of which the kinds are looked at
        once it is hot."""
        nonlocal count
        is_lost = returned and any([type(values[k]) is Variable for k in returned])  # noqa: C419 - which the value may be
        if run.group is not None:
            return MISS if is_lost else on_rows(run, values)
        y = MISS if is_lost else on_arrays(run, values)
        if y is MISS:
            count += 1
            if count >= hot_after:
                choose(values)
        return y

    def expression(frame: list[Any]) -> Any:
        if (function := hot) is not None:  # other threads may run the same program
            y = function(frame)
            if y is not MISS:
                return y
            if len(written) > 1 and (y := by_another(frame, function)) is not MISS:
                return y
        y = on_others(frame[0], [leaf.of(frame) for leaf in leaves])
        return cold(frame) if y is MISS else y

    def expression_with_parts(frame: list[Any]) -> Any:
        """The same where closures are among the leaves, which must be called once only."""
        given = [closure(frame) for closure in closures]
        if (function := hot) is not None:
            y = function(frame, *given)
            if y is not MISS:
                return y
        rest = iter(given)
        values = [next(rest) if leaf.kind == "closure" else leaf.of(frame) for leaf in leaves]
        y = on_others(frame[0], values)
        return _one_by_one(frame[0], steps, values) if y is MISS else y

    return expression_with_parts if closures else expression


def _one_by_one(
    run: Any, steps: list[tuple[Operation, Callable[..., Any]]], leaves: list[Any]
) -> Any:
    results: list[Any] = []
    for op, single in steps:
        operands = [
            (run.real(value) if type(value) is float else value)
            if kind == "number"
            else (leaves if kind == "leaf" else results)[value]
            for kind, value in op.operands
        ]
        results.append(single(run, op.site, tuple(operands)))
    return results[-1]


def _steps(found: Plan, single: Callable[..., Any]) -> list[tuple[Operation, Callable[..., Any]]]:
    """The operations, each with what does it: writing over the first operand, where that was
    computed for it alone."""
    uses = Counter(ref for op in found.ops for ref in op.operands if ref[0] != "number")
    steps = []
    for op in found.ops:
        kind, value = (
            op.operands[0] if op.operands else ("number", 0)
        )  # none, where a call was read as a number
        is_new = (
            found.leaves[value].is_new
            if kind == "leaf"
            else kind == "op" and found.ops[value].site.op.name in MAKES_NEW
        )
        over = is_new and op.site.op.name in WRITES_OVER and uses[kind, value] == 1
        steps.append((op, partial(single, over=True) if over else single))
    return steps


def collect(
    node: program.Expression,
    found: Plan,
    compile_value: Callable[[program.Expression], Closure] | None,
    functions: dict[int, Known],
    arguments: dict[int, tuple[str, Any]] | None,
    depth: int,
) -> tuple[str, Any]:
    """Lists the operations below `node`, operands first, and the leaves that they read.

    `arguments` are those of the function, by slot, whose expression the node is part of. Without
    `compile_value`, raises NotPlainError for what isn't an operation, a name, a number, or a call
    of one of the `functions`.
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
            found.leaves.append(Leaf("closure", compile_value(node), reads, gives_new(node)))
        return "leaf", known[0] if known else len(found.leaves) - 1
    if not isinstance(node, program.Call) or arguments is not None or not room:
        raise NotPlainError
    function = inlined(node, functions)
    if function is not None and (value := expression_of(function)) is not None:
        before = len(found.ops), len(found.leaves)
        with suppress(NotPlainError):
            given = [
                collect(a.value, found, compile_value, functions, arguments, depth + 1)
                for a in node.arguments
            ]
            inner = {p.slot.index: ref for p, ref in zip(function.parameters, given, strict=True)}
            return collect(value, found, compile_value, functions, inner, depth + 1)
        del found.ops[before[0] :], found.leaves[before[1] :]
    reading = read_call(node, functions)
    if reading.listed:
        raise NotPlainError
    (op,) = reading.ops()
    refs = tuple(
        [
            collect(operand, found, compile_value, functions, arguments, depth + 1)
            for operand in reading.operands
        ]
    )
    found.ops.append(Operation(Site(op, node.span), refs))
    return "op", len(found.ops) - 1


def kinds_of(values: list[Any]) -> tuple[str, ...]:
    """The kinds of leaves, as functions are written for."""
    return tuple(map(_kind, values))


def _reads(node: Any) -> Any:
    """What is read by a name, an element or a slice of one, such that it is equal for what gives
    the same; None for anything else."""
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
    found = tuple([part if type(part) is str else _reads(part) for part in parts])
    return found if found and None not in found else None


def _kind(value: Any) -> str:
    """ "float", "int", "traced" (a traced float), "dual" (a float with a float as its tangent),
    "boxed" (a float in other boxes), or "" for anything else."""
    if type(value) is Variable:
        value = value.box
    if type(value) is float or type(value) is int:
        return type(value).__name__
    if type(value) is tuple and type(value[0]) is float:
        return "traced"
    if type(value) is Dual and type(value.primal) is type(value.tangent) is float:
        return "dual"
    return "boxed" if type(value) in (tuple, Dual) and type(primal(value)) is float else ""
