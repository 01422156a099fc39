"""Regions for ints that are known: those that decide shapes, bounds of slices and powers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count

from ..ir.builder import Builder
from ..ir.instructions import Block
from ..ir.types import Scalar
from .entries import (
    ArrayEntry,
    Entry,
    FunctionEntry,
    KnownInt,
    ListEntry,
    MembersEntry,
    RecordEntry,
    Thing,
    TransformEntry,
    VariableEntry,
)
from .names import UnknownInt


@contextmanager
def naming_parameters(builder: Builder, block: Block) -> Iterator[None]:
    """Notes in an `UnknownInt` which parameters of a region decide the int."""
    try:
        yield
    except UnknownInt as unknown:
        sources = builder.sources(unknown.value)
        if sources <= set(block.parameters):
            unknown.parameters = {block.parameters.index(value) for value in sources}
        raise


def specialised(entries: Iterable[Entry], known: Mapping[int, int]) -> list[Entry]:
    """Entries with ints that are known in the places of some parameters."""
    positions = count()

    def of(entry: Entry) -> Entry:
        if isinstance(entry, Scalar | ArrayEntry | KnownInt):
            k = next(positions)
            return KnownInt(known[k]) if k in known else entry
        if isinstance(entry, ListEntry):
            return ListEntry(every(entry.items))
        if isinstance(entry, RecordEntry):
            return RecordEntry(entry.keys, every(entry.items))
        if isinstance(entry, VariableEntry) and entry.state is not None:
            state = of(entry.state)
            assert isinstance(state, Scalar | ArrayEntry | KnownInt)
            return VariableEntry(entry.number, entry.trainable, state)
        if isinstance(entry, MembersEntry):
            items = every(entry.items)
            variables = None if entry.variables is None else every(entry.variables)
            return MembersEntry(entry.slots, entry.names, items, variables)
        if isinstance(entry, FunctionEntry):
            captured = None if entry.captured is None else every(entry.captured)
            return FunctionEntry(entry.function, captured, every(entry.defaults), entry.identity)
        if isinstance(entry, TransformEntry):
            function = of(entry.function)
            assert isinstance(function, FunctionEntry | TransformEntry | Thing)
            return TransformEntry(entry.kind, function, entry.wrt, entry.listed)
        return entry

    def every(entries: Iterable[Entry]) -> tuple[Entry, ...]:
        return tuple([of(entry) for entry in entries])

    return list(every(entries))
