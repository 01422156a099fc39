"""Random rounding errors, which show how many digits of a result can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, shape_of
from ..values.boxes import Dual
from ..values.kinds import List
from ..values.lanes import Lanes

ROUNDING = 2.0**-52
EXACT = ("neg", "pos", "abs", "part")  # these round nothing
LOGARITHMS = ("log_softmax", "logsumexp", "cross_entropy")  # of sums from 1 on: these add up

Disturb = Callable[..., Any]


def eps_of(value: Any) -> float:
    """The machine epsilon of a value's dtype."""
    return 2.0**-23 if getattr(value, "dtype", None) in ("float32", "complex64") else 2.0**-52


def smallest(eps: float) -> float:
    """The smallest number of a precision; what would be smaller is rounded to it, or to 0."""
    return 2.0**-1074 if eps < 1e-10 else 2.0**-149


def rounding(seed: int, eps: float = ROUNDING) -> Disturb:
    """A function that disturbs each number but 0 by up to about one unit in its last place, for
    numbers of this precision; with a `size` by up to one in the last place of that, if it is
    larger."""
    xp, least = CPU.xp, smallest(eps)
    random = xp.random.default_rng(seed)

    def disturb(value: Any, size: Any = None) -> Any:
        if type(value) in (list, List):
            return _each(disturb, value, size)
        if type(value) is Dual:
            sizes = (size.primal, size.tangent) if type(size) is Dual else (size, None)
            primal, tangent = map(disturb, (value.primal, value.tangent), sizes)
            return Dual(primal, tangent, value.level)
        if type(value) is Lanes:
            array = size.array if type(size) is Lanes else size
            return Lanes(disturb(value.array, array), value.group)
        kind = _kind(value)
        if kind not in ("f", "c"):
            return value
        shape = shape_of(value)
        by = random.uniform(-1.0, 1.0, shape)
        if kind == "f":
            moved = value * (1.0 + eps * by) + (value != 0) * (least * by)
            if size is not None:
                moved = moved + eps * by * xp.maximum(xp.real(size) - abs(value), 0.0)
            return moved if shape else float(moved)
        if size is not None:
            return disturb(value.real, xp.real(size)) + 1j * disturb(value.imag, xp.imag(size))
        up = 1.0 + eps * by
        across = 1.0 + eps * random.uniform(-1.0, 1.0, shape)
        return value.real * up + 1j * (value.imag * across)

    return disturb


def rounded(
    op: Op, evaluate: Callable[[list[Any]], Any], operands: list[Any], y: Any, disturb: Disturb
) -> Any:
    """The result `y` of an operation on these operands with another rounding error, as large as
    the errors inside of the operation make it. `evaluate` applies it to other operands."""
    if op.name in EXACT:
        return y
    if op.elementwise:
        return disturb(y)
    if op.linear or op.multilinear:  # what it adds up may cancel
        return disturb(y, evaluate([_sizes(v) for v in operands]))
    if op.name in LOGARITHMS:
        return disturb(y, 1.0)
    if op.category == "linear algebra" or op.name in ("var", "std"):
        y = evaluate([disturb(v) for v in operands])
    return disturb(y)


def _each(disturb: Disturb, values: Any, sizes: Any) -> Any:
    """A list of results, each disturbed."""
    inner = values.items if type(values) is List else values
    others = sizes.items if type(sizes) is List else sizes if type(sizes) is list else None
    moved = [disturb(v, s) for v, s in zip(inner, others or [sizes] * len(inner), strict=True)]
    return List(moved) if type(values) is List else moved


def _sizes(value: Any) -> Any:
    """The sizes of numbers, of complex ones those of their parts."""
    if type(value) is list:
        return [_sizes(part) for part in value]
    if type(value) is List:
        return List([_sizes(item) for item in value.items])
    if type(value) is Dual:
        return Dual(_sizes(value.primal), _sizes(value.tangent), value.level)
    if type(value) is Lanes:
        return Lanes(_sizes(value.array), value.group)
    kind = _kind(value)
    if kind == "c":
        return abs(value.real) + 1j * abs(value.imag)
    return abs(value) if kind == "f" else value


def _kind(value: Any) -> str:
    """The kind of a number's dtype: "f", "c" or another one."""
    python = "f" if type(value) is float else "c" if type(value) is complex else ""
    kind: str = getattr(getattr(value, "dtype", None), "kind", python)
    return kind
