"""Which parameters of a region its results may be, unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.instructions import Block, Branch, Call, Each, For, Region, Value, While, blocks_of


def returned_parameters(region: Region, results: Iterable[Value]) -> set[int]:
    """The positions of the parameters that some of the region's results may be."""
    sources: dict[Value, list[Value]] = {}
    _block(region.block, sources)
    found: set[Value] = set()
    waiting = list(results)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += sources.get(value, ())
    return {k for k, value in enumerate(region.block.parameters) if value in found}


def _block(block: Block, sources: dict[Value, list[Value]]) -> None:
    for made in block.instructions:
        if isinstance(made, Branch):
            for side in (made.then, made.otherwise):
                _given(made.results, side.results, sources)
        elif isinstance(made, While | For):
            for to in (made.carried, made.results):
                _given(to, made.initial, sources)
                _given(to, made.body.results, sources)
        elif isinstance(made, Each):
            _given(made.results, made.initial, sources)
        elif isinstance(made, Call):  # which may return any of its operands
            for result in made.results:
                sources.setdefault(result, []).extend(made.operands)
        for inner in blocks_of(made):
            _block(inner, sources)


def _given(to: Iterable[Value], values: Iterable[Value], sources: dict[Value, list[Value]]) -> None:
    for a, b in zip(to, values, strict=True):
        sources.setdefault(a, []).append(b)
