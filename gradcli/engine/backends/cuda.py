"""NVIDIA GPUs by CuPy: one backend for each, with streams and memory for each thread.

CuPy keeps the current device and stream for each thread. A thread computes inside `active`, on its
own stream, so that one thread's copies overlap with another's computation. Copies go through
page-locked memory, which the GPU accesses while the host goes on. Freed memory stays in CuPy's
pool, which returns a block only to the stream that had it before, so threads needn't wait for each
other.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from .backend import Backend

NO_GPU = (
    "`nvidia-smi` has to list a GPU, of a driver that is new enough for CuPy's CUDA; or use "
    "`--device cpu`"
)
WORTH_LOCKING = 2**12  # bytes: smaller copies cost no more than getting page-locked memory for them


class Cuda(Backend):
    """The backend of one GPU. Its arrays are CuPy's."""

    def __init__(self, number: int) -> None:
        super().__init__("cuda", "cupy", "cupyx.scipy.special", chunk=2**20)
        self.number = number
        self._own = threading.local()
        self._limit: int | None = None
        self._limit_before = 0
        self._kernels: dict[tuple[str, str], Any] = {}

    def use(self) -> None:
        """Makes this the device of the calling thread, with an error for singular matrices instead
        of an inverse.
        """
        self.xp.cuda.Device(self.number).use()
        importlib.import_module("cupyx").seterr(linalg="raise")

    @contextmanager
    def active(self) -> Iterator[None]:
        cuda = self.xp.cuda
        with cuda.Device(self.number):
            if not hasattr(self._own, "stream"):
                self._own.stream = cuda.Stream(non_blocking=True)
            with self._own.stream:
                yield

    def to_device(self, value: Any) -> Any:
        # Through page-locked memory, without waiting for the copy to end.
        return self.xp.asarray(value)

    def to_host(self, value: Any) -> Any:
        return value.get() if isinstance(value, self.xp.ndarray) else value

    def all_to_host(self, values: Sequence[Any]) -> list[Any]:
        large = [
            isinstance(v, self.xp.ndarray) and v.size * v.dtype.itemsize >= WORTH_LOCKING
            for v in values
        ]
        found = [
            self._copying(v) if is_large else self.to_host(v)
            for v, is_large in zip(values, large, strict=True)
        ]
        if any(large):
            self.xp.cuda.get_current_stream().synchronize()
        return found

    def _copying(self, array: Any) -> Any:
        """Returns a NumPy array that the GPU's array is being copied to."""
        there = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
        array.get(out=there, blocking=False)
        return there

    def kernel(self, text: str, name: str) -> Any:
        if (text, name) not in self._kernels:
            self._kernels[text, name] = self._compiled(text, name)
        return self._kernels[text, name]

    def _compiled(self, text: str, name: str) -> Any:
        # Products and sums are not fused.
        cupy = self.xp
        made = cupy.RawKernel(text, name, options=("--std=c++17", "--fmad=false"))
        try:
            made.compile()
        except cupy.cuda.compiler.CompileException:
            return None
        return made

    def free_memory(self) -> int:
        free, _ = self.xp.cuda.runtime.memGetInfo()
        pool = self.xp.get_default_memory_pool()
        left: int = free + pool.free_bytes()
        return min(left, pool.get_limit() - pool.used_bytes()) if pool.get_limit() else left

    def limit_memory(self, size: int | None) -> None:
        if size == self._limit:
            return
        # The pool has a limit for each device, and 0 is none.
        with self.xp.cuda.Device(self.number):
            pool = self.xp.get_default_memory_pool()
            if self._limit is None:
                self._limit_before = pool.get_limit()  # the user's, from outside
            pool.set_limit(size=self._limit_before if size is None else size)
        self._limit = size


def count(device: str) -> int:
    """Returns the number of GPUs.

    Raises GradcliError (E501) if there is none for `device`, or no CuPy.
    """
    try:
        number: int = importlib.import_module("cupy").cuda.runtime.getDeviceCount()
    except ImportError:
        help = "install it with `pip install 'gradcli[gpu]'`"
        raise GradcliError(
            Diagnostic("E501", f"no device `{device}`: CuPy isn't installed", help=help)
        ) from None
    except Exception as error:  # CuPy's own kinds can't be named without importing it
        raise GradcliError(
            Diagnostic("E501", f"no device `{device}`: {error}", help=NO_GPU)
        ) from None
    if not number:
        raise GradcliError(
            Diagnostic("E501", f"no device `{device}`: CuPy finds no GPU", help=NO_GPU)
        )
    return number


@cache
def backend_on(device: str) -> Cuda:
    """Returns the backend of `cuda` or `cuda:N`.

    Raises GradcliError (E501) if there is no such device.
    """
    number, there = int(device.partition(":")[2] or 0), count(device)
    if number >= there:
        raise GradcliError(
            Diagnostic(
                "E501",
                f"no device `{device}`: there are {there}",
                help="devices count from `cuda:0`",
            )
        )
    return Cuda(number)
