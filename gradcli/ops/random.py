"""Random arrays, from the run's seeded, counter-based `generator`."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, OpError
from .rules import Shape, broadcast_shape, shown, sizes, whole

_op = partial(Op, category="random", differentiable=False)


def _numbers(xp: Any, name: str, value: Any, what: str, shape: Shape) -> Any:
    """A parameter of a distribution: a number, or one for each number drawn."""
    if type(value) is float:
        return value
    found = (
        xp.asarray(value)
        if isinstance(value, (bool, int, float, list)) or hasattr(value, "dtype")
        else None
    )
    if found is None or found.dtype.kind not in "biuf":
        raise OpError(f"`{name}` needs numbers for `{what}`, not {shown(value)}")
    if broadcast_shape(name, found.shape, shape) != shape:
        raise OpError(
            f"`{name}` draws an array of shape {shape}, and `{what}` has shape {found.shape}"
        )
    return found


def _normal(xp: Any, shape: Any, mean: Any, std: Any, dtype: str, generator: Any) -> Any:
    size = _shape("normal", shape)
    mean, std = _numbers(xp, "normal", mean, "mean", size), _numbers(xp, "normal", std, "std", size)
    if std < 0 if type(std) is float else bool(xp.any(std < 0)):
        raise OpError(f"`normal` needs a standard deviation that isn't negative, not {xp.min(std)}")
    return xp.asarray(mean + std * xp.asarray(generator.standard_normal(size)), dtype=dtype)


def _uniform(xp: Any, shape: Any, low: Any, high: Any, dtype: str, generator: Any) -> Any:
    size = _shape("uniform", shape)
    low, high = (
        _numbers(xp, "uniform", low, "low", size),
        _numbers(xp, "uniform", high, "high", size),
    )
    return xp.asarray(low + (high - low) * xp.asarray(generator.random(size)), dtype=dtype)


def _randint(xp: Any, low: Any, high: Any, shape: Any, dtype: str, generator: Any) -> Any:
    low, high = whole("randint", low, "low"), whole("randint", high, "high")
    if low >= high:
        raise OpError(
            f"`randint` needs low < high: there is no int from {low} up to, not including, {high}"
        )
    return xp.asarray(
        generator.integers(low, high, _randint_shape(low, high, shape), dtype="int64")
    )


def _randint_shape(low: Any, high: Any, shape: Any) -> Shape:
    return _shape("randint", shape)


def _shape(name: str, shape: Any) -> Shape:
    """The shape of what is drawn; that of one number where none is given."""
    return () if shape is None else sizes(name, shape)


def _permutation(xp: Any, x: Any, dtype: str, generator: Any) -> Any:
    if isinstance(x, int) and not isinstance(x, bool):
        return xp.asarray(generator.permutation(*sizes("permutation", x)), dtype="int64")
    x = xp.asarray(x) if isinstance(x, list) else x
    if not getattr(x, "ndim", 0):
        raise OpError(f"`permutation` needs an int or an array, not {shown(x)}")
    return x[xp.asarray(generator.permutation(x.shape[0]))]


def _permutation_shape(x: Any) -> Shape:
    return sizes("permutation", x) if isinstance(x, int) else tuple(getattr(x, "shape", ()))


OPS = [
    _op(
        "normal",
        "; shape=none, *, mean=0.0, std=1.0",
        "Normally distributed numbers: an array of a shape, or one number.",
        compute=_normal,
        aliases=("randn", "standard_normal"),
        result_shape=lambda shape, mean, std: _shape("normal", shape),
        hint="the shape comes first: `normal([3], mean = 0, std = 2)`",
        note="no derivative: `mean + std * normal(shape)` has one",
    ),
    _op(
        "uniform",
        "; shape=none, *, low=0.0, high=1.0",
        "Numbers spread evenly from low up to high: an array of a shape, or one number.",
        compute=_uniform,
        aliases=("rand", "random"),
        result_shape=lambda shape, low, high: _shape("uniform", shape),
        hint="the shape comes first: `uniform([3], low = 0, high = 2)`",
        note="no derivative: `low + (high - low) * uniform(shape)` has one",
    ),
    _op(
        "randint",
        "; low, high, shape=none",
        "Ints from low up to, not including, high.",
        compute=_randint,
        aliases=("integers",),
        result_shape=_randint_shape,
    ),
    _op(
        "permutation",
        "; x",
        "The ints below x, or the rows of x, in random order.",
        compute=_permutation,
        aliases=("shuffle",),
        result_shape=_permutation_shape,
        note="no derivative: `x[permutation(len(x))]` has one",
    ),
]
