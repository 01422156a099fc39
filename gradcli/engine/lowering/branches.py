"""Hot calls of functions with branches, specialised to each path.

`fn f(x) { if x < 0.0 { return -x }; return x*x }` is not one formula, and neither is `grad(f)(x)`,
but on each side of the branch both are. A hot call evaluates the conditions on plain floats first,
and then the formula of the path as one operation (`fusion.py`). On a path without a formula the
interpreter makes the call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ...lang import program
from ..analysis.inlined_calls import Path, inline_paths
from ..analysis.inlined_derivatives import NotInlinedError
from ..analysis.inlining import Known
from ..backends.tiers import policy
from ..compilation.compiler import Closure
from ..trace.tape import Site
from ..values.kinds import List
from .fused_source import write, write_choice
from .fusion import MAX_VARIANTS, kinds_of
from .plan import MISS, Choice, Leaf, Operation, Plan
from .planning import collect

MAX_PATHS = 16
Hot = Callable[[list[Any]], Any]


def by_path(node: program.Call, known: dict[int, Known], cold: Closure) -> Closure:
    """The closure of a call of a function with branches, specialised once it is hot; until then
    `cold`."""
    variants: dict[tuple[str, ...], Hot | None] = {}
    hot: Hot | None = None
    paths: _Paths | None = None
    hot_after, count = policy().heat.evaluations, 0

    def choose(frame: list[Any]) -> None:
        nonlocal hot, paths, count
        if paths is None:
            paths = _plan(node, known)
        kinds = kinds_of([leaf.of(frame) for leaf in paths.leaves])
        if "" in kinds or not paths.leaves:
            count = 0  # arrays: looking again soon is no use
        if kinds not in variants and len(variants) < MAX_VARIANTS:
            variants[kinds] = None if "" in kinds or not paths.leaves else _write(paths, kinds)
        hot = variants.get(kinds)

    def call(frame: list[Any]) -> Any:
        nonlocal count
        if hot is not None:
            y = hot(frame)
            if y is not MISS:
                return y
        count += 1
        if count >= hot_after and frame[0].group is None:
            choose(frame)
        return cold(frame)

    return call


class _Paths(NamedTuple):
    """The paths through a call. Each has a plan for each number that the call returns there, or
    none where the interpreter must make the call. All plans share their leaves; there are no leaves
    where nothing is gained."""

    leaves: list[Leaf]
    operands: Plan  # computes the operands of the call
    refs: tuple[tuple[str, Any], ...]  # where the operands are in it
    choice: Choice | int
    plans: list[list[Plan]]
    listed: list[bool]


def _plan(node: program.Call, known: dict[int, Known]) -> _Paths:
    leaves: list[Leaf] = []
    start = Plan([], leaves)
    with suppress(NotInlinedError):
        paths = inline_paths(node, known, MAX_PATHS)
        operands = next((path.call.operands for path in paths if path.call is not None), [])
        refs = tuple([collect(operand, start, None, known, None, 1) for operand in operands])
        plans = [_plans(path, start, refs, node) for path in paths]
        listed = [path.call is not None and path.call.listed for path in paths]
        return _Paths(
            leaves, start, refs, _choice(paths, list(range(len(paths))), 0), plans, listed
        )
    return _Paths([], start, (), 0, [], [])


def _plans(
    path: Path, start: Plan, refs: tuple[tuple[str, Any], ...], node: program.Call
) -> list[Plan]:
    if path.call is None:
        return []
    with suppress(NotInlinedError):
        return [
            Plan([*start.ops, Operation(Site(op, node.span), refs)], start.leaves)
            for op in path.call.ops()
        ]
    return []


def _choice(paths: list[Path], left: list[int], depth: int) -> Choice | int:
    """The decision between the paths in `left`, whose first `depth` conditions have the same
    outcomes."""
    first = paths[left[0]]
    if len(left) == 1 and len(first.conditions) == depth:
        return left[0]
    then = [k for k in left if paths[k].outcomes[depth]]
    otherwise = [k for k in left if not paths[k].outcomes[depth]]
    return Choice(
        first.conditions[depth],
        _choice(paths, then, depth + 1),
        _choice(paths, otherwise, depth + 1),
    )


def _write(paths: _Paths, kinds: tuple[str, ...]) -> Hot | None:
    """The function for leaves of these kinds. That of a path is generated when the path is first
    taken."""
    decide = write_choice(paths.operands, paths.refs, paths.choice, kinds)
    if decide is None:
        return None

    def unwritten(k: int) -> Hot:
        def first(frame: list[Any]) -> Any:
            functions[k] = _write_path(paths.plans[k], kinds, paths.listed[k])
            return functions[k](frame)

        return first

    functions = [unwritten(k) for k in range(len(paths.plans))]

    def hot(frame: list[Any]) -> Any:
        k = decide(frame)
        return MISS if k is MISS else functions[k](frame)

    return hot


def _write_path(plans: list[Plan], kinds: tuple[str, ...], listed: bool) -> Hot:
    written = [write(plan, kinds) for plan in plans]
    functions = [function for function in written if function is not None]
    if not functions or len(functions) < len(written):
        return lambda frame: MISS
    if not listed:
        return functions[0]

    def several(frame: list[Any]) -> Any:
        values = [function(frame) for function in functions]
        return MISS if MISS in values else List(values)

    return several
