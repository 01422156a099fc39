"""A region together with its derivatives from seeds of ones: a program and its gradients, or its
tangents."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.builder import Builder
from ...ir.instructions import Block, Region, Value
from ...ir.types import ArrayType, Type, element_of, has_tangents
from ..calls import Regions
from ..copying import inlined
from .jvp import jvp
from .vjp import vjp


def with_gradients(
    region: Region, targets: Sequence[Sequence[int]], wrt: Sequence[int], regions: Regions
) -> Region:
    """A region with the results of another one and gradients: for each target, and each parameter
    of `wrt`, the gradient of the target's sum, and whether there is one. A target is some of the
    results, by their positions. Raises NoRule."""
    kinds = [value.type for value in region.block.results]
    parts = [
        (
            vjp(region, wrt, regions, of=of),
            [kinds[k] for k in of if has_tangents(kinds[k])],
        )
        for of in targets
    ]
    return _joined(region, parts)


def with_tangents(region: Region, wrt: Sequence[int], regions: Regions) -> Region:
    """A region with the results of another one and tangents: for each parameter of `wrt`, and each
    float result, the tangent along the parameter, and whether there is one. Raises NoRule."""
    kinds = [value.type for value in region.block.parameters]
    return _joined(region, [(jvp(region, (k,), regions), [kinds[k]]) for k in wrt])


def _joined(region: Region, parts: Sequence[tuple[Region, Sequence[Type]]]) -> Region:
    """A region with the results of another one, and with further results of `parts`. A part takes
    the parameters of the region, then seeds of the given types, which are ones here; it gives the
    results of the region, then the further ones. The results themselves are computed by one part
    alone."""
    block = Block(tuple([Value(value.type) for value in region.block.parameters]))
    builder, n = Builder(block), len(region.block.results)
    results: list[Value] = []
    for part, ones in parts or [(region, ())]:
        seeds = [_ones(builder, kind) for kind in ones]
        instructions, found = inlined(part.block, [*block.parameters, *seeds])
        block.instructions += instructions
        results[:n] = found[:n]
        results += found[n:]
    block.results = tuple(results)
    return Region(region.name, block)


def _ones(builder: Builder, kind: Type) -> Value:
    one = builder.number(1.0, element_of(kind))
    return builder.filled(kind, one) if isinstance(kind, ArrayType) else one
