"""Fusion: a hot scalar expression becomes one function and one record.

`s*0.999 + sin(x*i)*0.01` on floats is five operations: five closures, five boxes, five records.
When such an expression is hot (`tiers.py`), one function is generated for it, specialised to the
kinds of its operands: float, int, traced float, float with a tangent (`fused_source.py`). The part
that depends on traced operands becomes one compound op (`compound.py`), so that there is one
record, and one step of a sweep. Arrays and rows are handled by `fused_arrays.py` and
`fused_rows.py`. For other operands, for results that Python refuses, and on a trace that keeps
everything, the single operations run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from ..backends.tiers import policy
from ..compilation.compiler import Closure
from ..operations.overwriting import MAKES_NEW, WRITES_OVER
from ..trace.tape import Site
from ..values.boxes import Dual, primal
from ..values.kinds import List, Variable
from .fused_arrays import FusedArrays
from .fused_rows import FusedRows
from .fused_source import write
from .plan import MISS, Operation, Plan, returned_leaves

# Kinds of operands that an expression is specialised to; for others its closures run.
MAX_VARIANTS = 4


def fuse_list(
    plans: list[Plan], cold: Closure, single: Callable[[Any, Site, tuple[Any, ...]], Any]
) -> Closure:
    """The closure of a call that returns a list of numbers, fused once it is hot."""

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
        plans[0], cold, single, write_all, all_of, set[int]().union(*map(returned_leaves, plans))
    )


def fuse(
    found: Plan,
    cold: Closure,
    single: Callable[[Any, Site, tuple[Any, ...]], Any],
    scalars: bool = True,
) -> Closure:
    """The closure of an expression: `cold` at first, and one function once it is hot. There are
    functions on Python's floats only if these are the run's `scalars`.

    `single(run, site, operands)` applies one operation to any values.
    """
    written = partial(write, found) if scalars else lambda kinds: None
    return _fuse(
        found, cold, single, written, lambda kind: kind(found).evaluate, returned_leaves(found)
    )


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
            count = 0  # arrays: looking again soon is no use
        if kinds not in variants and len(variants) < MAX_VARIANTS:
            variants[kinds] = None if "" in kinds else write(kinds)
            written = [function for function in variants.values() if function is not None]
        hot = variants.get(kinds)

    def by_another(frame: list[Any], tried: Callable[..., Any]) -> Any:
        """The value by a function for other kinds than the last ones: the first iterations of a
        loop may have other kinds than the rest."""
        nonlocal hot
        for function in written:
            if function is not tried and (y := function(frame)) is not MISS:
                hot = function
                return y
        return MISS

    def on_others(run: Any, values: list[Any]) -> Any:
        """The value for arrays or rows; MISS for other leaves. Specialises the expression to their
        kinds once it is hot."""
        nonlocal count
        is_lost = returned and any([type(values[k]) is Variable for k in returned])  # noqa: C419 - the value may be a variable
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
        """The closure of an expression with closures among its leaves, which it calls only once."""
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
    """The value of an expression by its single operations, for the values of its leaves."""
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
    """The operations of a plan, each with the function that applies it; with `over` where the first
    operand is computed for this operation only and donates its array."""
    uses = Counter(ref for op in found.ops for ref in op.operands if ref[0] != "number")
    steps = []
    for op in found.ops:
        kind, value = (
            op.operands[0] if op.operands else ("number", 0)
        )  # a call that was inlined as a number has no operands
        is_new = (
            found.leaves[value].is_new
            if kind == "leaf"
            else kind == "op" and found.ops[value].site.op.name in MAKES_NEW
        )
        over = is_new and op.site.op.name in WRITES_OVER and uses[kind, value] == 1
        steps.append((op, partial(single, over=True) if over else single))
    return steps


def kinds_of(values: list[Any]) -> tuple[str, ...]:
    """The kinds of the values of leaves, to which functions are specialised."""
    return tuple(map(_kind, values))


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
