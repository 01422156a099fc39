"""What derivative rules of structural entries see: values with Python's operators, and the
functions of the language, `m`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


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


def _operator(name: str, swapped: bool = False) -> Callable[[RuleValue, Any], Any]:
    def method(self: RuleValue, other: Any) -> Any:
        return self.m.call(name, (other, self) if swapped else (self, other))

    return method


for _method, _name in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "mod": "mod",
    "floordiv": "floordiv",
    "matmul": "matmul",
}.items():
    setattr(RuleValue, f"__{_method}__", _operator(_name))
    setattr(RuleValue, f"__r{_method}__", _operator(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(RuleValue, f"__{_name}__", _operator(_name))
setattr(RuleValue, "__neg__", lambda self: self.m.call("neg", (self,)))  # noqa: B010
setattr(RuleValue, "__hash__", object.__hash__)  # noqa: B010


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
