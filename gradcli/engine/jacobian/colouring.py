"""Which rows of a sparse matrix a sweep can carry together: colours, so that a sum over a colour tells its entries apart.

Sets of colours are the bits of an int, so that a row with thousands of entries costs no more than a few of its words.
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
    """A colour for each row, from 0 on, so that no two rows of a colour have a column in common: greedily, in the order that
    they come in, and if that isn't as few as there can be, the longest first, too. Where there must be more than half as many
    as rows, each row has its own."""
    least = int(CPU.xp.bincount(pattern.columns, minlength=1).max())
    if 2 * least > len(pattern):
        return list(range(len(pattern)))
    found = _greedy(pattern, width, range(len(pattern)))
    if colours(found) > least:
        longest_first = CPU.xp.argsort(-pattern.lengths, kind="stable").tolist()
        found = min(found, _greedy(pattern, width, longest_first), key=colours)
    return found


def colours(found: list[int]) -> int:
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
    """A star colouring of a symmetric pattern, and for each row the colours that several of its columns have, as bits.

    Neighbours differ, and no path of four has two colours only. So of the two places of an entry, at `(i, j)` and at `(j, i)`,
    one at least is alone in its row with the colour of its column: the entry can be read from there. (Gebremedhin, Manne and
    Pothen, "What color is your Jacobian?", SIAM Review 47, 2005, section 4.)
    """
    starts, columns = pattern.starts.tolist(), pattern.columns.tolist()
    n = len(pattern)
    neighbours = [[j for j in columns[starts[i] : starts[i + 1]] if j != i] for i in range(n)]
    found = [-1] * n
    seen, several = [0] * n, [0] * n  # the colours of a vertex's neighbours, and those that several of them have
    ends = [0] * n  # the colours that would end a path of four with two colours which comes through the vertex
    of_colour: list[dict[int, list[int]]] = [{} for _ in range(n)]  # the neighbours by their colour
    for v in CPU.xp.argsort(-pattern.lengths, kind="stable").tolist():
        mine = neighbours[v]
        forbidden = seen[v]
        for w in mine:
            if found[w] >= 0:
                forbidden |= ends[w]
                if several[v] >> found[w] & 1:  # a path through v, whose neighbours w and another are alike
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
