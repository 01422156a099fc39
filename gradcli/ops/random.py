"""Random arrays, from the run's seeded, counter-based `generator`."""

from __future__ import annotations

from typing import Any

from .op import Op, OpError
from .rules import Shape, sizes, whole


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="random", differentiable=False, **facts)


def _normal(xp: Any, shape: Any, mean: Any, std: Any, dtype: str, generator: Any) -> Any:
    return xp.asarray(mean + std * generator.standard_normal(sizes("normal", shape)), dtype=dtype)


def _uniform(xp: Any, shape: Any, low: Any, high: Any, dtype: str, generator: Any) -> Any:
    return xp.asarray(low + (high - low) * generator.random(sizes("uniform", shape)), dtype=dtype)


def _randint(xp: Any, low: Any, high: Any, shape: Any, dtype: str, generator: Any) -> Any:
    low, high = whole("randint", low, "low"), whole("randint", high, "high")
    if low >= high:
        raise OpError(f"`randint` needs low < high: there is no int from {low} up to, not including, {high}")
    return xp.asarray(generator.integers(low, high, _randint_shape(low, high, shape), dtype="int64"))


def _randint_shape(low: Any, high: Any, shape: Any) -> Shape:
    return () if shape is None else sizes("randint", shape)


def _permutation(xp: Any, x: Any, dtype: str, generator: Any) -> Any:
    if isinstance(x, int):
        return xp.asarray(generator.permutation(*sizes("permutation", x)), dtype="int64")
    x = xp.asarray(x)
    if not x.ndim:
        raise OpError(f"`permutation` needs an int or an array, not {x}")
    return x[xp.asarray(generator.permutation(x.shape[0]))]


OPS = [
    _op("normal", "; shape, mean=0.0, std=1.0", "Normally distributed numbers.", compute=_normal,
        aliases=("randn", "standard_normal"), result_shape=lambda shape, mean, std: sizes("normal", shape)),
    _op("uniform", "; shape, low=0.0, high=1.0", "Numbers spread evenly from low up to high.", compute=_uniform,
        aliases=("rand", "random"), result_shape=lambda shape, low, high: sizes("uniform", shape)),
    _op("randint", "; low, high, shape=none", "Ints from low up to, not including, high.", compute=_randint,
        aliases=("integers",), result_shape=_randint_shape),
    _op("permutation", "; x", "The ints below x, or the rows of x, in random order.", compute=_permutation,
        aliases=("shuffle",), result_shape=lambda x: sizes("permutation", x) if isinstance(x, int) else tuple(x.shape)),
]  # fmt: skip
