"""Jacobians of functions: `jacobian` and `batch_jacobian`."""

from __future__ import annotations

from typing import Any

from ...ops import OPS
from ..ad.targets import verify_target
from ..backends.backend import count, dtype_name, is_inexact, shape_of
from ..jacobian.batches import joined, verify_batch, warn_of_mixing
from ..jacobian.compressed import zero_block
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import Transform, leaves, map_structure, read, show_shape
from ..values.sparse import entries
from .first_derivatives import gradient_or_zero, with_zeros
from .forward_jacobian import columns
from .forward_level import along
from .recording import DifferentiatedCall, Recording
from .transform_arguments import Sources

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
