"""What rules see: values with Python's operators, and the functions of the language, `m`.

A rule is a function of Python. Whoever calls it chooses what its values are, and so what it makes:
`lambda m, y, x: 1 / m.cosh(x)**2` gives a number, a form of SymPy, instructions of a region or a
text, as `m` has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "mod",
    "floordiv": "floordiv", "matmul": "matmul",
}  # fmt: skip
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


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


class RuleValue:
    """An operand, result or cotangent inside a rule: `v` is what its language `m` has of it. The
    comparisons are entries, too, so instances are told apart by identity alone."""

    __slots__ = ("m", "v")

    def __init__(self, v: Any, m: RuleLanguage) -> None:
        self.v, self.m = v, m

    def __neg__(self) -> Any:
        return self.m.call("neg", (self,))

    __hash__ = object.__hash__


def _operator(name: str, swapped: bool = False) -> Callable[[RuleValue, Any], Any]:
    if swapped:
        return lambda self, other: self.m.call(name, (other, self))
    return lambda self, other: self.m.call(name, (self, other))


for _sign, _name in _BINARY.items():
    setattr(RuleValue, f"__{_sign}__", _operator(_name))
    setattr(RuleValue, f"__r{_sign}__", _operator(_name, swapped=True))
for _name in _COMPARISONS:
    setattr(RuleValue, f"__{_name}__", _operator(_name))


# ---- of elementwise entries ----------------------------------------------------------------------


class Number(RuleValue):
    """A number inside the rule of an elementwise entry, whatever stands for it."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's numbers leave their operators to it

    def __bool__(self) -> bool:
        raise TypeError("a formula is neither true nor false: `m.where(condition, a, b)` chooses")


class _Numbers(RuleLanguage):
    __slots__ = ("apply",)

    def __init__(self, apply: Callable[[str, list[Any]], Any]) -> None:
        self.apply = apply

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        if options:
            raise TypeError(f"`m.{name}` has no options in a formula")
        values = [a.v if type(a) is Number else a for a in arguments]
        return Number(self.apply(name, values), self)


def evaluate(
    rule: Callable[..., Any], values: Iterable[Any], call: Callable[[str, list[Any]], Any]
) -> Any:
    """What the rule of an elementwise entry gives of values, where `call(name, values)` applies an
    op to such values, and to the numbers that the rule has."""
    m = _Numbers(call)
    found = rule(m, *[Number(value, m) for value in values])
    return found.v if type(found) is Number else found


# ---- of structural entries -----------------------------------------------------------------------


class ArrayValue(RuleValue):
    """A number or an array inside the rule of a structural entry."""

    __slots__ = ()

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
