"""Rows for tests: read back whole, in ranges of any size, each through a pickle as a cluster sends
it."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.rows.blocks import BadPart, Block
from gradcli.rows.sources import Source, open_source


@dataclass
class Read:
    """All rows of a source."""

    source: Source
    blocks: list[Block] = field(default_factory=list)
    bad: list[BadPart] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def rejected(self) -> dict[int, str]:
        return {
            block.start + row: reason
            for block in self.blocks
            for row, reason in block.rejected.items()
        }

    def column(self, name: str) -> list[Any]:
        """The values, None where they are missing, "!" where the row is rejected."""
        rows: list[Any] = []
        for block in self.blocks:
            values = block.columns[name].tolist()
            for row in np.flatnonzero(block.missing.get(name, np.zeros(block.size, bool))):
                values[row] = None
            for row in block.rejected:
                values[row] = "!"
            rows += [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        return rows

    def kept(self, name: str) -> list[Any]:
        return [value for block in self.blocks for value in block.kept[name].tolist()]


def read(
    data: object,
    numeric: Sequence[str] = (),
    keep: Sequence[str] = (),
    rows: int = 1000,
    **how: Any,
) -> Read:
    """Everything that a path has."""
    source = open_source(str(data), **how)
    result = Read(source)
    start = 0
    for where in source.ranges(rows, numeric=numeric, keep=keep):
        if isinstance(where, BadPart):
            assert where.start == start
            result.bad.append(where)
            continue
        assert (where.start, 0 < where.size <= rows) == (start, True)
        block = pickle.loads(pickle.dumps(where)).read(numeric, keep)
        assert (block.start, block.size) == (where.start, where.size)
        assert all(
            len(values) == block.size for values in [*block.columns.values(), *block.kept.values()]
        )
        result.blocks.append(block)
        start += block.size
    return result


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
