"""Python's operators as calls of entries of the table: for formulas, and for values in rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "mod",
    "floordiv": "floordiv", "matmul": "matmul",
}  # fmt: skip
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def give_operators(cls: type, apply: Callable[[Any, str, tuple[Any, ...]], Any]) -> None:
    """Gives a class Python's operators: `apply(self, name, operands)` is what an entry of this name
    gives, where one of the operands is `self`. The comparisons are entries, too, so instances are
    told apart by identity alone."""

    def binary(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
        if swapped:
            return lambda self, other: apply(self, name, (other, self))
        return lambda self, other: apply(self, name, (self, other))

    for operator, name in _BINARY.items():
        setattr(cls, f"__{operator}__", binary(name))
        setattr(cls, f"__r{operator}__", binary(name, swapped=True))
    for name in _COMPARISONS:
        setattr(cls, f"__{name}__", binary(name))
    setattr(cls, "__neg__", lambda self: apply(self, "neg", (self,)))  # noqa: B010
    setattr(cls, "__hash__", object.__hash__)  # noqa: B010
