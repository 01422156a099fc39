"""Colourings of the rows of a sparse matrix: one sweep carries all rows of a colour.

A sweep gives the sum of its rows, so rows of one colour must have no column in common. Sets of
colours are the bits of an int, so that a row with thousands of entries costs only a few words.
"""

from __future__ import annotations

from ..backends.backend import CPU
from .patterns import Pattern


def transposed(pattern: Pattern, width: int) -> Pattern:
    """The pattern with rows and columns exchanged; it had `width` columns."""
    xp = CPU.xp
    order = xp.argsort(pattern.columns, kind="stable")
    starts = xp.zeros(width + 1, int)
    xp.cumsum(xp.bincount(pattern.columns, minlength=width), out=starts[1:])
    return Pattern(starts, pattern.rows[order])


def distinct(pattern: Pattern, width: int) -> list[int]:
    """Returns a colour for each row, from 0 on, such that no two rows of a colour share a column.

    The colouring is greedy in the order of the rows, and also by decreasing length unless the first
    is already optimal. If more than half as many colours as rows are needed, each row has its own.
    """
    least = int(CPU.xp.bincount(pattern.columns, minlength=1).max())
    if 2 * least > len(pattern):
        return list(range(len(pattern)))
    found = _greedy(pattern, width, range(len(pattern)))
    if colours(found) > least:
        longest_first = CPU.xp.argsort(-pattern.lengths, kind="stable").tolist()
        found = min(found, _greedy(pattern, width, longest_first), key=colours)
    return found


def colours(found: list[int]) -> int:
    """Returns the number of colours."""
    return max(found, default=-1) + 1


def _greedy(pattern: Pattern, width: int, order: range | list[int]) -> list[int]:
    starts, columns = pattern.starts.tolist(), pattern.columns.tolist()
    taken = [0] * width  # the colours of the rows that have the column
    found = [0] * len(pattern)
    for row in order:
        mine = columns[starts[row] : starts[row + 1]]
        forbidden = 0
        for column in mine:
            forbidden |= taken[column]
        colour = found[row] = _first_free(forbidden)
        for column in mine:
            taken[column] |= 1 << colour
    return found


def _first_free(forbidden: int) -> int:
    return (~forbidden & (forbidden + 1)).bit_length() - 1


def star(pattern: Pattern) -> tuple[list[int], list[int]]:
    """Returns a star colouring of a symmetric pattern, and for each row the colours of several of
    its columns, as bits.

    Neighbours have different colours, and no path of four vertices has only two colours. So of the
    places `(i, j)` and `(j, i)` of an entry, at least one is the only one in its row whose column
    has that colour, and the entry can be read from there. (Gebremedhin, Manne and Pothen, "What
    color is your Jacobian?", SIAM Review 47, 2005, section 4.)
    """
    starts, columns = pattern.starts.tolist(), pattern.columns.tolist()
    n = len(pattern)
    neighbours = [[j for j in columns[starts[i] : starts[i + 1]] if j != i] for i in range(n)]
    found = [-1] * n
    # The colours of a vertex's neighbours, and those that several of them have.
    seen, several = [0] * n, [0] * n
    ends = [0] * n  # the colours that would complete a two-coloured path of four
    of_colour: list[dict[int, list[int]]] = [{} for _ in range(n)]  # the neighbours by their colour
    for v in CPU.xp.argsort(-pattern.lengths, kind="stable").tolist():
        mine = neighbours[v]
        forbidden = seen[v]
        for w in mine:
            if found[w] >= 0:
                forbidden |= ends[w]
                # A path through v, whose neighbours w and another are alike.
                if several[v] >> found[w] & 1:
                    forbidden |= seen[w]
        colour = found[v] = _first_free(forbidden)
        for w in mine:
            alike = of_colour[w].setdefault(colour, [])
            if seen[w] >> colour & 1 and not several[w] >> colour & 1:
                several[w] |= 1 << colour
                if found[w] >= 0:
                    for z in alike:
                        ends[z] |= 1 << found[w]
            alike.append(v)
            seen[w] |= 1 << colour
            if found[w] >= 0 and several[w] >> colour & 1:
                ends[v] |= 1 << found[w]
        for c, alike in of_colour[v].items():
            if several[v] >> c & 1:
                for z in alike:
                    ends[z] |= 1 << colour
    return found, several
