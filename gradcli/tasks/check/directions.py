"""The ways in which a variable is moved: element by element, or along random directions; weights,
directions and cotangents are numbers of size about 1, the same each time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, is_complex, shape_of
from ...engine.values.boxes import primal
from ...engine.values.kinds import read
from ..answer import Answer

# ---- numbers that nothing in a program lines up with ---------------------------------------------


# They are hashes of their positions (splitmix64; Steele, Lea and Flood, OOPSLA 2014), because
# loading NumPy's generators takes longer than many a check.
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MASK = 2**64 - 1
LIMIT = 2**32  # numbers of one stream


class Scatter:
    """A stream of such numbers; each request takes the next ones. A shape of () gives a float."""

    def __init__(self, stream: int, substream: int = 0) -> None:
        self.at = (stream * LIMIT + substream * (LIMIT // 16)) & MASK

    def sizes(self, shape: tuple[int, ...]) -> Any:
        """Numbers between 0.5 and 1.5."""
        return 0.5 + self._fractions(shape)

    def numbers(self, shape: tuple[int, ...]) -> Any:
        """Numbers between 0.5 and 1.5 in size, of either sign."""
        fractions = 2.0 * self._fractions(shape) - 1.0  # the sign, and then the size
        xp = CPU.xp
        return (
            xp.copysign(0.5 + abs(fractions), fractions)
            if shape
            else math.copysign(0.5 + abs(fractions), fractions)
        )

    def _fractions(self, shape: tuple[int, ...]) -> Any:
        n = math.prod(shape)
        begin, self.at = self.at + 1, self.at + n
        if not shape:
            return _mixed_number(begin * GOLDEN & MASK) / 2.0**64
        x = (CPU.xp.arange(n, dtype="uint64") + CPU.xp.uint64(begin & MASK)) * CPU.xp.uint64(GOLDEN)
        x = (x ^ (x >> 30)) * FIRST
        x = (x ^ (x >> 27)) * SECOND
        return ((x ^ (x >> 31)) / 2.0**64).reshape(shape)


def _mixed_number(x: int) -> int:
    x = (x ^ (x >> 30)) * FIRST & MASK
    x = (x ^ (x >> 27)) * SECOND & MASK
    return x ^ (x >> 31)


# ---- directions ----------------------------------------------------------------------------------


FEW = 4  # elements that are looked at one by one; of more, random directions are
DIRECTIONS = 2
TINY_SHARE = 1e-3  # of the largest element


class Direction(NamedTuple):
    """A way for one variable to move: a vector of its shape. `where` tells it from the others, and
    `number` random ones from each other."""

    variable: str
    vector: Any
    where: str
    number: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.variable, self.where, self.number


def directions(variable: str, value: Any) -> list[Direction]:
    """The ways in which a variable of this value is moved."""
    shape, xp = shape_of(value), CPU.xp
    turns: dict[str, Any] = {".re": 1.0, ".im": 1j} if is_complex(value) else {"": 1.0}
    if not shape:
        return [Direction(variable, turn, part) for part, turn in turns.items()]
    found = []
    if value.size * len(turns) <= FEW:
        for k in xp.ndindex(*shape):
            for part, turn in turns.items():
                vector = xp.zeros(shape, dtype=type(turn))
                vector[k] = turn
                found.append(Direction(variable, vector, f"[{','.join(map(str, k))}]{part}"))
        return found
    return random_directions(variable, value)


def random_directions(variable: str, value: Any, stream: int = 0) -> list[Direction]:
    """Directions in which all elements move; of variables of one size the same, unless they
    come from other streams."""
    shape, xp = shape_of(value), CPU.xp
    size = value.size if shape else 1
    scatter = Scatter(size, stream)
    sizes = xp.abs(value)
    largest = float(sizes.max(initial=0.0)) or 1.0
    # what is much smaller than the largest moves less: no step may change its sign
    share = sizes / largest
    share = xp.where((share > 0) & (share < TINY_SHARE), share, 1.0)
    found = []
    for k in range(DIRECTIONS if size else 0):
        vector = scatter.numbers(shape)
        if is_complex(value):
            vector = vector + 1j * scatter.numbers(shape)
        vector = vector * share
        vector = vector if shape else vector.item()
        found.append(Direction(variable, vector, " along a random direction", k))
    return found


def seeds(answer: Answer, moves: Sequence[tuple[Direction, float]]) -> dict[int, Any]:
    """How far each of these takes its variable, by the number of that on the trace."""
    found = {}
    for direction, h in moves:
        source = answer.sources[direction.variable]
        number = number_of(source)
        assert number is not None
        found[number] = seed_of(read(source), h * direction.vector)
    return found


def seed_of(value: Any, weight: Any) -> Any:
    """A weight of a value as its cotangent: of its dtype."""
    inner = primal(value)
    if shape_of(inner):
        return CPU.xp.asarray(weight).astype(inner.dtype)
    return weight if type(inner) is float else type(inner)(weight)
