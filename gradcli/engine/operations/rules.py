"""The interpretations of `m`, in whose functions the derivative rules of the table are written.

`Language` sends every call in a rule through `apply`, at the site of the operation that is
differentiated. So the work of a sweep is recorded wherever a window is open, and can be
differentiated again; rules then see operands as `Value`. `ArrayLanguage` computes directly on
arrays, for sweeps that are not differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...ops import OPS
from ...ops.rule_values import ArrayValue, RuleLanguage, evaluate
from ..backends.backend import Backend, dtype_name, shape_of
from ..formulas.functions import array_function, strict_product
from ..formulas.reading import per_op
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List
from .apply import apply

STRICT_MUL = OPS["strict_mul"]


class Value(ArrayValue):
    """An operand, result or cotangent inside a rule: a value of the language with Python's
    operators."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(primal(self.v))

    @property
    def dtype(self) -> str:
        return dtype_name(primal(self.v))


class Language(RuleLanguage):
    """The `m` of rules: `m.sin(x)` applies the op to values, at the site of the operation that is
    differentiated."""

    __slots__ = ("run", "site")

    def __init__(self, run: Run, site: Site) -> None:
        self.run, self.site = run, site

    def call(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> Any:
        op = OPS[name]
        operands = tuple([_unwrap(a) for a in arguments])
        given = op.signature.defaults | (options or {})
        n = len(op.signature.operands)
        if not op.signature.variadic and len(operands) < n:
            operands += tuple([p.default for p in op.signature.operands[len(operands) :]])
        y = apply(self.run, self.site.in_derivative(op), operands, given)
        return [Value(part, self) for part in y.items] if type(y) is List else Value(y, self)


def _unwrap(value: Any) -> Any:
    if type(value) is Value:
        return value.v
    return List([_unwrap(v) for v in value]) if type(value) is list else value


class ArrayLanguage:
    """The `m` of rules on plain arrays and NumPy scalars, which have Python's operators of their
    own."""

    def __init__(self, backend: Backend, dtype: str) -> None:
        self._backend, self._dtype = backend, dtype

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = self._function(name)
        setattr(self, name, function)  # found without `__getattr__` from now on
        return function

    def _function(self, name: str) -> Callable[..., Any]:
        op = OPS[name]
        if op is STRICT_MUL:
            return partial(strict_product, self._backend.xp)
        if op.elementwise:
            return array_function(self._backend, op)
        defaults = {**op.signature.defaults}
        if op.category == "making":
            defaults["dtype"] = self._dtype
        optional = [p.default for p in op.signature.operands]
        compute, xp = op.compute, self._backend.xp
        assert compute is not None
        if (
            not defaults
            and all(p.required for p in op.signature.operands)
            and not op.signature.variadic
        ):
            return partial(compute, xp)

        def call(*operands: Any, **options: Any) -> Any:
            if len(operands) < len(optional):
                operands += tuple(optional[len(operands) :])
            return compute(xp, *operands, **(defaults | options))

        return call


@per_op
def array_language(backend: Backend, dtype: str) -> ArrayLanguage:
    return ArrayLanguage(backend, dtype)


class Interpretation:
    """How the rules at a site compute: the `m` that they are called with, and the values that they
    take.

    is_array  whether these are plain arrays and numbers; otherwise they are values of the language
    """

    __slots__ = ("is_array", "m", "plain", "value")

    def __init__(self, run: Run, site: Site, recorded: bool, laned: bool) -> None:
        self.is_array = not (recorded or laned)
        if self.is_array:
            self.m: Any = array_language(run.backend, run.settings.dtype)
            self.value: Callable[[Any], Any] = run.backend.operand
            self.plain: Callable[[Any], Any] = lambda v: v
        else:
            m = self.m = Language(run, site)
            self.value = lambda v: Value(v, m)
            self.plain = lambda v: v.v

    def values(self, parts: Any) -> Any:
        """The parts of a result, or what belongs to them, as a list; anything else as one value."""
        if type(parts) is not list or self.is_array:
            return self.value(parts)
        return [None if part is None else self.value(part) for part in parts]


def replay(run: Run, site: Site, k: int, y: Any, operands: Sequence[Any]) -> Any:
    """The partial by an operand, evaluated through `apply` on values of the language."""

    def call(name: str, values: list[Any]) -> Any:
        if name == "where" and type(values[0]) is bool:  # the other branch stays out of the history
            return values[1] if values[0] else values[2]
        return apply(run, site.in_derivative(OPS[name]), tuple(values))

    rule = site.op.partials[k]
    assert rule is not None
    return evaluate(rule, (y, *operands), call)
