"""Sparse Jacobians: the entries of a matrix that can differ from zero."""

from __future__ import annotations

from typing import Any, NamedTuple

from .kinds import List


class Sparse(NamedTuple):
    """The derivatives of a value's elements, in C order, by those of a source, as a sparse matrix.

    It lists the entries that aren't structurally zero, row by row.
    """

    rows: Any
    columns: Any
    values: Any
    shape: tuple[int, int]


def entries(block: Sparse) -> dict[str, Any]:
    """Returns a sparse block as the language represents it."""
    return {
        "rows": block.rows,
        "cols": block.columns,
        "values": block.values,
        "shape": List(list(block.shape)),
    }
