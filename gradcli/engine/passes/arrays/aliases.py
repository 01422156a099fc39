"""Aliases: the parameters of a region that its results may be, unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ...ir.instructions import Call, Each, Region, Value, every, passed_on, reached


def returned_parameters(region: Region, results: Iterable[Value]) -> set[int]:
    """The positions of the parameters that some of the region's results may alias."""
    sources: defaultdict[Value, list[Value]] = defaultdict(list)
    for made in every(region.block):
        for value, name in passed_on(made):
            sources[name].append(value)
        if isinstance(made, Each):
            for value, name in zip(made.initial, made.results, strict=True):
                sources[name].append(value)
        elif isinstance(made, Call):  # which may return any of its operands
            for name in made.results:
                sources[name] += made.operands
    found = reached(results, sources)
    return {k for k, value in enumerate(region.block.parameters) if value in found}
