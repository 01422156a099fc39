"""Jacobians of functions: `jacobian` and `batch_jacobian`.

In forward mode calls of the function carry tangents along, and record nothing. One call carries the
tangents of many elements, each as a row (`lanes/`), and computes the primal once for all of them.
Where there are few elements, or where a rule of the program may treat each of them differently,
they are carried one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ..ad.targets import unit, verify_target
from ..backends.backend import count, dtype_name, is_complex, is_inexact, shape_of
from ..jacobian.batches import joined, verify_batch, warn_of_mixing
from ..jacobian.compressed import zero_block
from ..jacobian.jacobians import gradient_by_complex
from ..jacobian.seeds import TOGETHER
from ..lanes.group_calls import on_rows
from ..lanes.mapping import open_rows
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import Transform, leaves, map_structure, read, show_shape
from ..values.lanes import Lanes
from ..values.sparse import entries
from .first_derivatives import gradient_or_zero, with_zeros
from .forward_level import along
from .recording import DifferentiatedCall, Recording
from .transform_arguments import Sources

# ---- forward mode --------------------------------------------------------------------------------


CONCATENATE, FOLD, STACK = OPS["concatenate"], OPS["fold_rows"], OPS["stack"]
FEW = 2  # elements

# Maps tangents of the arguments' numbers to tangents of the value's numbers.
Move = Callable[[list[Any]], list[Any]]


def columns(run: Run, move: Move, numbers: list[Any], site: Site) -> list[list[Any]]:
    """Returns the columns of the Jacobian, by argument and by number of the value.

    `numbers` are the numbers among the arguments. Each column has the derivatives by a number's
    elements along its last axis. The list of a number that is empty or not differentiable is empty.
    """
    found: list[list[Any]] = []
    for j, source in enumerate(numbers):
        like = primal(source)
        n = count(shape_of(like)) if is_inexact(like) else 0

        def along(seed: Any, j: int = j) -> list[Any]:
            return move([seed if i == j else None for i in range(len(numbers))])

        if shape_of(like) and n > FEW and not run.rules and not is_complex(like):
            step = max(TOGETHER // n, 1)
            parts = [
                _together(run, along, like, first, min(first + step, n), site)
                for first in range(0, n, step)
            ]
            op = CONCATENATE
        else:
            parts = [_alone(run, along, like, k, site) for k in range(n)]
            op = STACK
        if len(parts) > 1 or (parts and op is STACK and shape_of(like)):
            found.append(
                [
                    apply(run, site.in_derivative(op), row, {"axis": -1})
                    for row in zip(*parts, strict=True)
                ]
            )
        else:
            found.append(parts[0] if parts else [])
    return found


def _alone(run: Run, along: Callable[[Any], list[Any]], like: Any, k: int, site: Site) -> list[Any]:
    """Returns the column of one element; a complex one takes two calls, along 1 and along i."""
    seed = unit(run, like, k)
    column = along(seed)
    return (
        [
            gradient_by_complex(run, site, *pair)
            for pair in zip(column, along(seed * 1j), strict=True)
        ]
        if is_complex(like)
        else column
    )


def _together(
    run: Run, along: Callable[[Any], list[Any]], like: Any, first: int, last: int, site: Site
) -> list[Any]:
    """Returns the columns of the elements from `first` up to `last`, computed by one call with a
    row for each.
    """
    xp, shape, rows = run.backend.xp, shape_of(like), last - first
    ones = xp.zeros((rows, count(shape)), dtype_name(like))
    ones[xp.arange(rows), xp.arange(first, last)] = 1.0
    # A view: in memory each row stays contiguous.
    seed = ones.reshape(rows, *shape).transpose(*range(1, len(shape) + 1), 0)
    outside, group = run.group, open_rows(run, rows)
    seed = Lanes(seed if outside is None else xp.tile(seed, outside.size), group)
    column = on_rows(run, group, lambda: along(seed), site)
    return [
        apply(
            run, site.in_derivative(FOLD), (v,), {"axis": len(shape_of(primal(v))), "group": group}
        )
        for v in column
    ]


# ---- the transforms ------------------------------------------------------------------------------


RESHAPE = OPS["reshape"]


def jacobian(
    transform: Transform, call: DifferentiatedCall, vector: Any, symmetric: bool = False
) -> Any:
    """Implements `jacobian`: for each number of the value, blocks in the structure of the
    arguments.

    Each block has the shape value.shape + argument.shape. The function is called once, and as few
    sweeps as its sparsity allows go over the recording, backward or forward. If forward mode is
    asked for, calls carry tangents along instead, and record nothing.
    """
    run, site, sources = call.run, call.site, Sources(transform, call.arguments)
    if transform.mode == "forward" and (run.rules or not transform.sparse):
        return _columns(call, sources)
    recording = Recording(call)
    verify_target(run, recording.value, site.span, of=call.function)
    found = map_structure(
        lambda v: _blocks(run, transform, recording, sources, read(v), site, symmetric),
        recording.value,
    )
    recording.finish()
    return found


def _blocks(
    run: Run,
    transform: Transform,
    recording: Recording,
    sources: Sources,
    target: Any,
    site: Site,
    symmetric: bool,
) -> Any:
    """Returns the blocks of one number of the value; None for each if the number is an absent
    gradient.
    """
    if target is None:
        return sources.rebuild([None] * len(sources.numbers))
    shape, sparse = shape_of(primal(target)), transform.sparse
    if not sparse:
        _verify_size(run, shape, sources, site)
    found = recording.blocks(target, site, transform.mode, sparse, symmetric)
    blocks: list[Any] = []
    for source, block in zip(sources.numbers, found, strict=True):
        if not is_inexact(primal(source)):
            blocks.append(gradient_or_zero(run, target, source, None, site))
            continue
        block = zero_block(run, target, source, sparse) if block is None else block
        blocks.append(entries(block) if sparse else block)
    return sources.rebuild(blocks)


def _columns(call: DifferentiatedCall, sources: Sources) -> Any:
    """Returns all blocks of the Jacobian, computed by calls that carry tangents along."""
    run, site = call.run, call.site
    value: Any = None

    def move(tangents: list[Any]) -> list[Any]:
        nonlocal value
        value, tangent = along(call, tangents)
        verify_target(run, value, site.span, of=call.function)
        return [read(t) for t in leaves(with_zeros(run, value, tangent))]

    found = columns(run, move, sources.numbers, site)
    if value is None:
        value = run.call(call.function, call.arguments, call.keywords, site)
        verify_target(run, value, site.span, of=call.function)
    blocks = []
    for i, target in enumerate(map(read, leaves(value))):
        if target is None:
            blocks.append(sources.rebuild([None] * len(sources.numbers)))
            continue
        _verify_size(run, shape_of(primal(target)), sources, site)
        pairs = zip(sources.numbers, found, strict=True)
        row = [
            _block(run, site, target, source, moved[i] if moved else None)
            for source, moved in pairs
        ]
        blocks.append(sources.rebuild(row))
    rest = iter(blocks)
    return map_structure(lambda v: next(rest), value)


def _block(run: Run, site: Site, target: Any, source: Any, moved: Any) -> Any:
    """Returns the derivatives of a target by a source, of shape target.shape + source.shape.

    `moved` holds the tangents of the target along the source's elements. Returns None for a source
    that isn't differentiable.
    """
    if not is_inexact(primal(source)):
        return gradient_or_zero(run, target, source, None, site)
    if moved is None:
        return zero_block(run, target, source)
    shape, inner = shape_of(primal(target)), shape_of(primal(source))
    return (
        apply(run, site.in_derivative(RESHAPE), (moved,), {"shape": list(shape + inner)})
        if inner
        else moved
    )


def _verify_size(run: Run, shape: tuple[int, ...], sources: Sources, site: Site) -> None:
    for source in sources.numbers:
        whole = shape + shape_of(primal(source))
        run.verify_allocation(
            8 * count(whole), f"a Jacobian of shape {show_shape(whole)}", site.span
        )


def batch_jacobian(transform: Transform, call: DifferentiatedCall, vector: Any) -> Any:
    """Implements `batch_jacobian`: the Jacobian of each row of the value by the same row of the
    argument.

    Its shape is batch + value.shape[1:] + argument.shape[1:].
    """
    run, site, sources = call.run, call.site, Sources(transform, call.arguments)
    recording = Recording(call)
    target = read(recording.value)
    verify_target(run, target, site.span, of=call.function)
    shape = shape_of(primal(target))
    for source in sources.numbers:
        verify_batch(run, shape, shape_of(primal(source)), site)
    blocks = []
    for j, (source, rows) in enumerate(
        zip(sources.numbers, recording.batch_rows(target, site), strict=True)
    ):
        if not is_inexact(primal(source)):
            blocks.append(gradient_or_zero(run, target, source, None, site))
            continue
        inner = shape_of(primal(source))
        if rows is None:
            blocks.append(run.backend.xp.zeros(shape + inner[1:], dtype_name(primal(source))))
            continue

        def pull(seed: Any, j: int = j) -> Any:
            return recording.pull([(target, seed)])[j]

        warn_of_mixing(run, site, primal(target), rows, pull)
        blocks.append(joined(run, site, rows, shape, inner))
    recording.finish()
    return sources.rebuild(blocks)
