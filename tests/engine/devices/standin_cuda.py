"""What the stand-in for CuPy (standin.py) has instead of CUDA: devices, streams, a memory pool, and
a log of what is copied.

As with CuPy, each thread has its own current device, and on each device its own current stream. The
stand-in is stricter than CUDA, which lets wrong programs pass most of the time: an array is used on
its own device and its own stream only, and what is copied to the host without waiting has no
meaning before its stream is waited for.
"""

from __future__ import annotations

import ctypes
import threading
import types
from typing import Any, NamedTuple

import numpy as np

from ..codegen.cuda_builds import built, launch

COUNT = 2
FREE, TOTAL = 2**30, 2**31


class Copy(NamedTuple):
    """A copy between the host and a device: `kind` is "in", "out", or "one" for a single number
    that the host waits for."""

    kind: str
    device: int
    stream: Any
    shape: tuple[int, ...]
    thread: int


copies: list[Copy] = []
launches: list[str] = []  # what the device was told to compute, each by a kernel at least
_current = threading.local()


def device() -> int:
    """The number of the thread's current device."""
    return getattr(_current, "device", 0)


def stream() -> Stream:
    """The thread's current stream on its current device; None's is the default one, which all
    threads share."""
    return getattr(_current, "streams", {}).get(device(), DEFAULT[device()])


def note(kind: str, shape: tuple[int, ...]) -> None:
    copies.append(Copy(kind, device(), stream(), shape, threading.get_ident()))


class Device:
    def __init__(self, number: int) -> None:
        assert 0 <= number < COUNT
        self.id = number
        self._before: list[int] = []

    def use(self) -> None:
        _current.device = self.id

    def __enter__(self) -> Device:
        self._before.append(device())
        self.use()
        return self

    def __exit__(self, *error: object) -> None:
        _current.device = self._before.pop()


class Stream:
    def __init__(self, non_blocking: bool = False, number: int | None = None) -> None:
        self.device = device() if number is None else number
        self.non_blocking = non_blocking
        self._before: list[Stream] = []
        self._copying: list[tuple[Any, Any]] = []

    def __enter__(self) -> Stream:
        assert self.device == device(), "a stream of another device"
        self._before.append(stream())
        _current.streams = {**getattr(_current, "streams", {}), self.device: self}
        return self

    def __exit__(self, *error: object) -> None:
        _current.streams = {**_current.streams, self.device: self._before.pop()}

    def copy(self, values: Any, out: Any) -> None:
        """Begins a copy."""
        self._copying.append((values, out))

    def synchronize(self) -> None:
        for values, out in self._copying:
            out[...] = values
        self._copying.clear()


DEFAULT = [Stream(number=number) for number in range(COUNT)]


class Pool:
    """The pool has a limit for each device, for each array by itself: what arrays take is not
    counted."""

    def __init__(self) -> None:
        self.limits = [0] * COUNT

    def set_limit(self, size: int) -> None:
        self.limits[device()] = size

    def get_limit(self) -> int:
        return self.limits[device()]

    def verify(self, size: int) -> None:
        if 0 < self.limits[device()] < size:
            raise MemoryError(f"Out of memory allocating {size:,} bytes")

    def used_bytes(self) -> int:
        return 0

    def free_bytes(self) -> int:
        return 0


pool = Pool()


def empty_pinned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Page-locked memory: NumPy's array, of what was there before."""
    return np.frombuffer(
        bytearray(b"\xa5" * (int(np.prod(shape)) * np.dtype(dtype).itemsize)), dtype
    ).reshape(shape)


class CompileException(Exception):  # noqa: N818 - CuPy's name
    pass


class RawKernel:
    """A kernel as C++ for this machine. Only where `compiles` is set is there a compiler."""

    compiles = False

    def __init__(self, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        assert "--fmad=false" in options
        self._code, self._name = code, name
        self._library: Any = None

    def compile(self) -> None:
        if not self.compiles:
            raise CompileException("there is no compiler")
        self._library = built(self._code)

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any) -> None:
        launches.append(self._name)
        launch(self._library, self._name, (*grid, *block), [_given(each) for each in arguments])


_NUMBERS = {"q": ctypes.c_longlong, "l": ctypes.c_longlong, "d": ctypes.c_double, "f": ctypes.c_float, "?": ctypes.c_bool}  # fmt: skip


def _given(value: Any) -> Any:
    """What C++ is given: the address of an array of the device, or a number of NumPy's."""
    if isinstance(value, np.generic):
        return _NUMBERS[value.dtype.char](value.item())
    host = value._host
    assert host.flags.c_contiguous
    return ctypes.c_void_p(host.ctypes.data)


def module() -> types.SimpleNamespace:
    """`cupy.cuda`."""
    runtime = types.SimpleNamespace(getDeviceCount=lambda: COUNT, memGetInfo=lambda: (FREE, TOTAL))
    return types.SimpleNamespace(
        runtime=runtime,
        Device=Device,
        Stream=Stream,
        get_current_stream=stream,
        compiler=types.SimpleNamespace(CompileException=CompileException),
    )


def begin() -> None:
    """Forgets what was copied, and all limits."""
    copies.clear()
    launches.clear()
    pool.limits = [0] * COUNT
    _current.__dict__.clear()
