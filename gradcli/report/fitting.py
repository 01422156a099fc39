"""Text that fits a screen: lines end between words, and what is too long for its column has a `…`.
Where nobody knows how wide the screen is (None), nothing is cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

GAP = 2  # blanks between the columns of a table
_LEAST = 8  # characters that a column keeps


def wrapped(text: str, width: int | None, indent: str = "", hanging: str = "    ") -> Iterator[str]:
    """A sentence in lines, those after the first further in. A word that is longer than a line
    stays whole."""
    if width is None or len(indent) + len(text) <= width:
        yield indent + text
        return
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shortened(text: str, width: int) -> str:
    """The text, with `…` at its end where it is longer."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide the columns of a table are."""
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def fit(
    rows: Sequence[Sequence[str]], width: int | None, elastic: Sequence[int]
) -> list[list[str]] | None:
    """The rows of a table with shorter cells in its `elastic` columns, the first of these first, so
    that it is no wider than this; None where that isn't enough."""
    widths = widths_of(rows)
    excess = 0 if width is None else sum(widths) + GAP * (len(widths) - 1) - width
    for column in elastic:
        if excess > 0:
            least = min(widths[column], max(_LEAST, widths[column] - excess))
            excess -= widths[column] - least
            widths[column] = least
    if excess > 0:
        return None
    return [
        [shortened(cell, widths[k]) if k in elastic else cell for k, cell in enumerate(row)]
        for row in rows
    ]
