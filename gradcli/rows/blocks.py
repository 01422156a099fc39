"""What rows of data are made of on their way in: ranges that say where rows are, and blocks that
hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Block:
    """Rows that were read together.

    `columns` are for the program: by name, rows first, float64, int64, bool or complex128 of shape
    (n, …); where rows hold arrays of different shapes, an object array of arrays. Flat columns
    (`x.0`, `x.1`) come as one array (n, 2) whose rows lie last in memory, so that its transpose is
    contiguous. Arrays may be views of a file: not to be written to. `missing` has a mask for each
    of them that lacks values in some rows; there the value is nan, 0 or None.

    `kept` are key columns as they were: an Arrow array (CSV gives text), a NumPy array, or for JSON
    lines an object array of what the lines hold, None where a row has nothing.

    `rejected` says, by row within the block, why a row could not be read; its values mean nothing
    and it isn't called missing. Where the file failed under the whole block, every row is rejected,
    and `unreadable` is why.
    """

    start: int
    size: int
    columns: dict[str, Array] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, Mask] = field(default_factory=dict)
    rejected: dict[int, str] = field(default_factory=dict)
    unreadable: str = ""


class Range(Protocol):
    """Where the rows of a block are. It can be pickled, and is independent of all others: any
    thread, process or cluster worker can read it."""

    @property
    def start(self) -> int: ...

    @property
    def size(self) -> int: ...

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        """The rows: `numeric` columns for the program (`x` gathers `x.0`, `x.1`, …), `keep` as they
        are."""


class Arrived(Range, Protocol):
    """Rows that have come from a stream, which can't be asked for again."""

    def divided(self, rows: int) -> Iterator[Range]:
        """The same in ranges of at most `rows` rows."""


@dataclass(frozen=True, slots=True)
class BadPart:
    """A part, or the rest of one, that can't be read. `start` is the number that its first unread
    row would have."""

    path: str
    reason: str
    start: int


class PartError(Exception):
    """A part can't be read, or can't be read on; says why, without the name of the part."""


class Part(Protocol):
    """One file of the data, of one format."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def kinds(self) -> Mapping[str, str]:
        """The columns' types, where the format has types that a key column keeps."""

    @property
    def rows(self) -> int | None:
        """How many, where it is known without reading them."""

    @property
    def fixed(self) -> bool:
        """Whether each row has all columns; else a column that a part lacks is only missing in its
        rows."""

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        """The part in ranges of at most `rows` rows, of which the first is row `start`. Raises
        PartError."""


def verify_distinct(names: Iterable[str]) -> None:
    """Raises PartError where two columns have the same name; without one there may be several."""
    found: set[str] = set()
    for name in names:
        if name and name in found:
            raise PartError(f"two of its columns are named `{name}`")
        found.add(name)


def unreadable(
    start: int,
    size: int,
    numeric: Sequence[str],
    keep: Sequence[str],
    error: Exception,
    what: str = "it",
) -> Block:
    """The block of rows that are lost, as `error` says; `what` they are of the part."""
    reason = f"cannot read {what}: {error}"
    return Block(
        start,
        size,
        columns={name: np.full(size, np.nan) for name in numeric},
        kept={name: np.full(size, None, dtype=object) for name in keep},
        rejected=dict.fromkeys(range(size), reason),
        unreadable=reason,
    )
