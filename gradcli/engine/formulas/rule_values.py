"""What derivative rules of structural entries see: values with Python's operators, and the
functions of the language, `m`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ops.operators import give_operators


class RuleValue:
    """An operand, result or cotangent inside a rule."""

    __slots__ = ("m", "v")

    def __init__(self, v: Any, m: RuleLanguage) -> None:
        self.v, self.m = v, m

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> str:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802 (the name that arrays give it)
        return self.m.transpose(self)

    def __getitem__(self, index: Any) -> Any:
        return self.m.getitem(self, index=index if isinstance(index, tuple) else (index,))


give_operators(RuleValue, lambda self, name, operands: self.m.call(name, operands))


class RuleLanguage:
    """The `m` of rules: `m.sin(x)` is a call of an entry of the table."""

    __slots__ = ()

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        """Applies the op `name` to values, with defaults for options that aren't given. Returns a
        list for an op with several results."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **options: self.call(name, arguments, options)
