"""The ways in which a variable is moved: element by element, or along random directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...engine.ad.targets import number_of
from ...engine.backends.backend import CPU, is_complex, shape_of
from ...engine.values.boxes import primal
from ...engine.values.kinds import read
from ..answer import Answer
from .scatter import Scatter

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
