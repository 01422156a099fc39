"""The arrays of the stand-in for CuPy: they aren't NumPy's, and nothing mixes the two."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import standin_cuda


class ndarray:  # noqa: N801
    """An array on the device: a NumPy array that nobody else may see."""

    __array_ufunc__ = None  # NumPy's arrays leave operators to us, who refuse them

    def __init__(self, host: Any, base: Any = None) -> None:
        standin_cuda.pool.verify(host.nbytes)
        self._own, self.base = host, base
        self._place = (standin_cuda.device(), standin_cuda.stream())

    @property
    def _host(self) -> Any:
        """Its elements, for a thread on its device and its stream."""
        if self._place != (standin_cuda.device(), standin_cuda.stream()):
            raise TypeError("an array of another device, or another stream")
        return self._own

    # ---- between the two -------------------------------------------------------------------------

    def get(self, out: Any = None, blocking: bool = True) -> Any:
        standin_cuda.note("out", self.shape)
        if blocking:
            assert out is None
            return self._host.copy()
        assert out.shape == self.shape
        assert out.dtype == self.dtype
        standin_cuda.stream().copy(self._host.copy(), out)
        return out

    def item(self) -> Any:  # of one element only, unlike NumPy's
        standin_cuda.note("one", ())
        return self._host.item()

    def tolist(self) -> Any:
        standin_cuda.note("out", self.shape)
        return self._host.tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct one explicitly."
        )

    def __float__(self) -> float:
        standin_cuda.note("one", ())
        return float(self._host)

    def __int__(self) -> int:
        standin_cuda.note("one", ())
        return int(self._host)

    def __index__(self) -> int:
        standin_cuda.note("one", ())
        return operator.index(self._host)

    def __complex__(self) -> complex:
        standin_cuda.note("one", ())
        return complex(self._host)

    def __bool__(self) -> bool:
        standin_cuda.note("one", ())
        return bool(self._host)

    def __len__(self) -> int:
        return len(self._own)

    def __str__(self) -> str:
        return str(self._host)

    def __repr__(self) -> str:
        return f"device {self._host!r}"

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'ndarray'")

    # ---- what it is ------------------------------------------------------------------------------

    dtype, shape = property(lambda self: self._own.dtype), property(lambda self: self._own.shape)
    ndim, size = property(lambda self: self._own.ndim), property(lambda self: self._own.size)
    strides = property(lambda self: self._own.strides)
    real, imag = (
        property(lambda self: on_device(self._host.real)),
        property(lambda self: on_device(self._host.imag)),
    )
    T = property(lambda self: on_device(self._host.T, base=self))

    @property
    def flags(self) -> Any:  # there is no `writeable`
        flags = self._own.flags
        return types.SimpleNamespace(
            c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=flags.owndata
        )

    # ---- elements --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> ndarray:
        found = self._host[_wrapped(self, index)]
        return on_device(found, base=self if getattr(found, "base", None) is not None else None)

    def __setitem__(self, index: Any, value: Any) -> None:
        standin_cuda.launches.append("put")
        self._host[_wrapped(self, index)] = on_host(value)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))


def _wrapped(array: ndarray, index: Any) -> Any:
    """The index for NumPy. Arrays of ints in it are taken modulo the size: what is out of range is
    no error here."""
    index = index if isinstance(index, tuple) else (index,)
    if any(
        i is None or i is Ellipsis or getattr(getattr(i, "dtype", None), "kind", "") == "b"
        for i in index
    ):
        return on_host(index)
    return tuple(
        on_host(i) % n if isinstance(i, ndarray) else on_host(i)
        for i, n in zip(index, array.shape + (0,) * len(index), strict=False)
    )


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *arguments: Any, **options: Any) -> Any:
        if name not in _VIEWS:
            standin_cuda.launches.append(name)
        return on_device(
            getattr(self._host, name)(*on_host(arguments), **on_host(options)),
            base=self if name in _VIEWS else None,
        )

    return method


def _operator(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *others: Any) -> Any:
        standin_cuda.launches.append(name)
        return on_device(getattr(np.ndarray, name)(self._host, *on_host(others)))

    return method


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: ndarray, other: Any) -> ndarray:
        standin_cuda.launches.append(name)
        getattr(np.ndarray, name)(self._host, on_host(other))
        return self

    return method


_VIEWS = {"reshape", "ravel", "transpose", "swapaxes", "squeeze", "view"}
for _name in [
    *_VIEWS,
    "sum",
    "prod",
    "min",
    "max",
    "all",
    "any",
    "mean",
    "astype",
    "copy",
    "conj",
    "conjugate",
    "argmax",
    "argmin",
    "take",
]:
    setattr(ndarray, _name, _method(_name))
for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
]:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(ndarray, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ["lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"]:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))


def on_device(value: Any, base: Any = None) -> Any:
    """What NumPy gave, on the device: arrays, scalars as arrays of rank 0, lists and tuples of
    these."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray(np.asarray(value), base)
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(on_device(v) for v in value)
    return value


def on_host(value: Any) -> Any:
    """What is on the device, for NumPy; numbers, slices and the like as they are. Raises TypeError
    for NumPy's arrays."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list | tuple):
        return type(value)(on_host(v) for v in value)
    if isinstance(value, dict):
        return {k: on_host(v) for k, v in value.items()}
    return value
