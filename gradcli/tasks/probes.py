"""Values for inputs that nobody gave, where any values do: forms are read from a run, and a run
needs a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..lang import program

_GOLDEN = (math.sqrt(5) - 1) / 2


def probes(node: program.Program, inputs: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A value for each declaration, of the program and its imports, that has none and isn't among
    the inputs. No two are alike, and none is special. A declaration of unknown shape gets none."""
    found: dict[str, Any] = {}
    for statement in node.body:
        if isinstance(statement, program.Import):
            found |= probes(statement.program, inputs, f"{prefix}{statement.slot.name}.")
        if (
            isinstance(statement, program.Declare)
            and statement.value is None
            and prefix + statement.slot.name not in inputs
        ):
            value = _probe(statement, len(found))
            if value is not None:
                found[prefix + statement.slot.name] = value
    return found


def _probe(node: program.Declare, k: int) -> Any:
    dtype = "float" if node.type is None else node.type.dtype
    shape: Any = () if node.type is None or node.type.shape is None else node.type.shape
    if shape is ... or not all(isinstance(size, int) for size in shape) or math.prod(shape) > 100:
        return None
    low, high = _domain(node)
    values = [_number(dtype, low, high, 17 * k + i) for i in range(math.prod(shape))]
    for size in reversed(shape[1:]):
        values = [values[i : i + size] for i in range(0, len(values), size)]
    return values if shape else values[0]


def _number(dtype: str, low: float, high: float, k: int) -> Any:
    if dtype == "bool":
        return True
    if dtype == "int64":
        return 2 + k
    x = low + (high - low) * ((k + 1) * _GOLDEN % 1)
    return complex(x, 1 - x) if dtype == "complex128" else x


def _domain(node: program.Declare) -> tuple[float, float]:
    ends = () if node.domain is None else (node.domain.low, node.domain.high)
    numbers = [
        end.value
        for end in ends
        if isinstance(end, program.Constant) and isinstance(end.value, int | float)
    ]
    return (
        (float(numbers[0]), float(numbers[1]))
        if len(numbers) == 2 and all(map(math.isfinite, numbers))
        else (0.5, 1.5)
    )
