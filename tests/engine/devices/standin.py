"""A stand-in for CuPy, made of NumPy: what code for the GPU does is proven on a machine that has
none.

Its arrays are no NumPy arrays, and nothing mixes the two: as with CuPy, `asarray` copies to the
device, `get` copies back, and anything else that is given an array of the other kind raises
TypeError. As with CuPy, too, there are no scalars (what NumPy gives as a scalar is an array of rank
0), no objects in arrays, functions on whole arrays take no bare numbers, and arrays of indices are
taken modulo the size.

`installed` puts it under CuPy's names, so that `--device cuda` finds it.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.special

from gradcli.engine.backends import backend as backends
from gradcli.engine.backends import cuda

from . import standin_cuda
from .standin_array import ndarray, on_device, on_host

# What NumPy has and CuPy lacks, of all that one could reach for here.
ABSENT = {
    "frompyfunc",
    "object_",
    "errstate",
    "seterr",
    "vectorize",
    "ndindex",
    "nditer",
    "float128",
    "longdouble",
}
# Functions that take numbers where others want arrays: making arrays, and what is elementwise there
# but no ufunc of NumPy's.
ANYTHING = {
    "arange",
    "eye",
    "full",
    "linspace",
    "zeros",
    "ones",
    "empty",
    "result_type",
    "tile",
    "real",
    "imag",
    "angle",
    "sinc",
}


# ---- the module ----------------------------------------------------------------------------------


class _Ufunc:
    """An elementwise function: of arrays on the device and numbers."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc

    def __call__(self, *operands: Any, **options: Any) -> Any:
        standin_cuda.launches.append(self._ufunc.__name__)
        return on_device(np.asarray(self._ufunc(*on_host(operands), **on_host(options))))

    def at(self, array: ndarray, index: Any, value: Any) -> None:
        if not isinstance(array, ndarray):
            raise TypeError(f"Unsupported type {type(array)}")
        if array.dtype.char not in "fdL":
            raise TypeError(
                "cupy.add.at only supports int32, float16, float32, float64, uint32, uint64 as data type"
            )
        standin_cuda.launches.append(self._ufunc.__name__)
        self._ufunc.at(array._host, on_host(index), on_host(value))


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any, **options: Any) -> Any:
        if name not in ANYTHING and not any(_is_array(o) for o in operands):
            raise TypeError(
                f"{name} takes arrays, not {', '.join(type(o).__name__ for o in operands)}"
            )
        found = function(*on_host(operands), **on_host(options))
        if name != "empty" and not _is_part(found, operands):
            standin_cuda.launches.append(name)
        result = on_device(found)
        return _with_base(result, operands) if isinstance(result, ndarray) else result

    return call


def _is_part(found: Any, operands: tuple[Any, ...]) -> bool:
    """Whether what NumPy gave needed no computation."""
    given = [each._host for each in operands if isinstance(each, ndarray)]
    is_one = isinstance(found, np.ndarray)
    return is_one and any(np.may_share_memory(found, each) for each in given)


def _with_base(result: ndarray, operands: tuple[Any, ...]) -> ndarray:
    if result._host.base is not None:
        result.base = next((o for o in operands if isinstance(o, ndarray)), None)
    return result


def _is_array(value: Any) -> bool:
    return isinstance(value, ndarray) or (
        isinstance(value, list | tuple) and bool(value) and all(map(_is_array, value))
    )


def asarray(value: Any, dtype: Any = None) -> ndarray:
    return (
        value
        if isinstance(value, ndarray) and dtype in (None, value.dtype)
        else array(value, dtype)
    )


def array(value: Any, dtype: Any = None) -> ndarray:
    if isinstance(value, np.ndarray) and value.ndim:
        standin_cuda.note("in", value.shape)
    made = np.array(value if isinstance(value, np.ndarray) else _nested(value), dtype=dtype)
    if made.dtype == object:
        raise ValueError(f"Unsupported dtype {made.dtype}")
    return ndarray(made)


def _nested(value: Any) -> Any:
    """Arrays in lists are joined, all of one kind."""
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        if any(isinstance(v, ndarray) for v in value):
            raise TypeError("arrays of the host and of the device in one list")
        return value
    return [_nested(v) for v in value] if isinstance(value, list | tuple) else on_host(value)


def where(condition: Any, a: Any, b: Any) -> ndarray:
    return ndarray(np.asarray(np.where(on_host(condition.astype("?")), on_host(a), on_host(b))))


def shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, ndarray) else np.shape(value)


class _Ogrid:
    def __getitem__(self, index: Any) -> Any:
        return on_device(np.ogrid[index])


class _Module(types.ModuleType):
    """NumPy's functions by name, wrapped; its types and constants as they are."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["source"], name)
        if name.startswith("_") or name in ABSENT:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if isinstance(found, type) or not callable(found):
            return found
        return _Ufunc(found) if isinstance(found, np.ufunc) else _function(name, found)


def _made(name: str, source: Any, **contents: Any) -> _Module:
    module = _Module(name)
    module.__dict__.update(source=source, **contents)
    return module


class _Linalg(types.ModuleType):
    """As CuPy's, it fails without a word until it is told to raise, in each thread."""

    own = threading.local()

    def __getattr__(self, name: str) -> Any:
        function = _function(name, getattr(np.linalg, name))

        def call(*operands: Any, **options: Any) -> Any:
            try:
                return function(*operands, **options)
            except np.linalg.LinAlgError:
                if getattr(self.own, "fails", "ignore") == "raise":
                    raise
                return ndarray(np.full(operands[0].shape, np.nan))

        return call

    def seterr(self, linalg: str) -> None:
        self.own.fails = linalg


def modules() -> dict[str, types.ModuleType]:
    """The stand-in under the names that CuPy's modules are imported by, for `sys.modules`."""
    standin_cuda.begin()
    _Linalg.own = threading.local()
    linalg, cupyx = _Linalg("cupy.linalg"), types.ModuleType("cupyx")
    cupyx.__dict__.update(seterr=linalg.seterr, empty_pinned=standin_cuda.empty_pinned)
    cupy = _made(
        "cupy",
        np,
        ndarray=ndarray,
        asarray=asarray,
        array=array,
        where=where,
        shape=shape,
        ogrid=_Ogrid(),
        cuda=standin_cuda.module(),
        RawKernel=standin_cuda.RawKernel,
        get_default_memory_pool=lambda: standin_cuda.pool,
        linalg=linalg,
        fft=_made("cupy.fft", np.fft),
        random=None,
    )
    special = _made("cupyx.scipy.special", scipy.special)
    return {
        "cupy": cupy,
        "cupyx": cupyx,
        "cupyx.scipy": types.ModuleType("cupyx.scipy"),
        special.__name__: special,
    }


@contextmanager
def installed(monkeypatch: pytest.MonkeyPatch, compiles: bool = False) -> Iterator[None]:
    """Inside it `cuda` is the stand-in, which may have a compiler."""
    monkeypatch.setattr(standin_cuda.RawKernel, "compiles", compiles)
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    _forget()
    yield
    _forget()


def _forget() -> None:
    cuda.backend_on.cache_clear()
    backends._module.cache_clear()
