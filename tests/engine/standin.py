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

import operator
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
        property(lambda self: _of(self._host.real)),
        property(lambda self: _of(self._host.imag)),
    )
    T = property(lambda self: _of(self._host.T, base=self))

    @property
    def flags(self) -> Any:  # there is no `writeable`
        flags = self._own.flags
        return types.SimpleNamespace(
            c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=flags.owndata
        )

    # ---- elements --------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> ndarray:
        found = self._host[_wrapped(self, index)]
        return _of(found, base=self if getattr(found, "base", None) is not None else None)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[_wrapped(self, index)] = _host(value)

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
        return _host(index)
    return tuple(
        _host(i) % n if isinstance(i, ndarray) else _host(i)
        for i, n in zip(index, array.shape + (0,) * len(index), strict=False)
    )


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *arguments: Any, **options: Any) -> Any:
        return _of(
            getattr(self._host, name)(*_host(arguments), **_host(options)),
            base=self if name in _VIEWS else None,
        )

    return method


def _operator(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *others: Any) -> Any:
        return _of(getattr(np.ndarray, name)(self._host, *_host(others)))

    return method


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: ndarray, other: Any) -> ndarray:
        getattr(np.ndarray, name)(self._host, _host(other))
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


def _of(value: Any, base: Any = None) -> Any:
    """What NumPy gave, on the device: arrays, scalars as arrays of rank 0, lists and tuples of
    these."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray(np.asarray(value), base)
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(_of(v) for v in value)
    return value


def _host(value: Any) -> Any:
    """What is on the device, for NumPy; numbers, slices and the like as they are. Raises TypeError
    for NumPy's arrays."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list | tuple):
        return type(value)(_host(v) for v in value)
    if isinstance(value, dict):
        return {k: _host(v) for k, v in value.items()}
    return value


# ---- the module ----------------------------------------------------------------------------------


class _Ufunc:
    """An elementwise function: of arrays on the device and numbers."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc

    def __call__(self, *operands: Any, **options: Any) -> Any:
        return _of(np.asarray(self._ufunc(*_host(operands), **_host(options))))

    def at(self, array: ndarray, index: Any, value: Any) -> None:
        if not isinstance(array, ndarray):
            raise TypeError(f"Unsupported type {type(array)}")
        if array.dtype.char not in "fdL":
            raise TypeError(
                "cupy.add.at only supports int32, float16, float32, float64, uint32, uint64 as data type"
            )
        self._ufunc.at(array._host, _host(index), _host(value))


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any, **options: Any) -> Any:
        if name not in ANYTHING and not any(_is_array(o) for o in operands):
            raise TypeError(
                f"{name} takes arrays, not {', '.join(type(o).__name__ for o in operands)}"
            )
        result = _of(function(*_host(operands), **_host(options)))
        return _with_base(result, operands) if isinstance(result, ndarray) else result

    return call


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
    return [_nested(v) for v in value] if isinstance(value, list | tuple) else _host(value)


def where(condition: Any, a: Any, b: Any) -> ndarray:
    return ndarray(np.asarray(np.where(_host(condition.astype("?")), _host(a), _host(b))))


def shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, ndarray) else np.shape(value)


class _Ogrid:
    def __getitem__(self, index: Any) -> Any:
        return _of(np.ogrid[index])


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
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside it `cuda` is the stand-in."""
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    _forget()
    yield
    _forget()


def _forget() -> None:
    cuda.backend_on.cache_clear()
    backends._module.cache_clear()
