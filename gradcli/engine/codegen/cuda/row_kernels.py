"""Regions on many rows, as kernels of a GPU. Import this only to compile."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import Any

from ...backends.backend import CPU, Backend, shape_of
from ...ir.instructions import Block, Region
from ...ir.types import DTYPES, ArrayType, Scalar, dimensions, dtype_of, element_of, elements_of
from ..python.numbers import numbers_in
from ..scalars import NotNative
from .rows import KERNEL, RESULTS, rows_text
from .scalars import DONE, SHORT

THREADS = 128  # of a block
ROOM, MORE, MOST_ROOM = 2**8, 2**3, 2**20  # words of a stack: at first, factor, at most
MOST_BYTES = 2**30  # of the memory of rows besides their columns


class DeviceRowsKernel:
    """A region as a function of columns on a device.

    by_row  which of its parameters have a column; all rows share the others
    """

    def __init__(
        self, region: Region, others: Sequence[Region], by_row: Sequence[bool], backend: Backend
    ) -> None:
        """Raises NotNative."""
        self._by_row, self._backend = list(by_row), backend
        self._dtypes = [dtype_of(value.type) for value in region.block.parameters]
        self._shared = local()  # the shared arrays; each thread has a stream and arrays of its own
        block = region.block
        known = numbers_in(block)
        # For each result its type, or its value if that is known.
        self._results = [known.get(value, value.type) for value in block.results]
        varying = tuple([value for value in block.results if value not in known])
        computed = Region(region.name, Block(block.parameters, block.instructions, varying))
        self._text = rows_text(computed, others, by_row)
        self._kernel = backend.kernel(self._text.text, KERNEL)
        if self._kernel is None:
            raise NotNative("CUDA's compiler doesn't take this program")

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """The results for `n` rows, on the host: the column of each, or a number or bool that all
        rows have; and for each row whether the region steps back, where its results mean nothing.
        The pool of the device limits the `memory`.

        Columns are contiguous arrays of the device. Arrays have the rows along the last axis.
        """
        kinds = [kind for kind in self._results if isinstance(kind, Scalar | ArrayType)]
        try:
            status, *found = self._backend.all_to_host(self._computed(n, values, ROOM))
        except MemoryError:
            status = CPU.xp.full(n, SHORT)
            found = [CPU.xp.zeros((_count(kinds, kind), n), DTYPES[kind]) for kind in RESULTS]
        columns = dict(zip(RESULTS, found, strict=True))
        ends = dict.fromkeys(RESULTS, 0)
        results = list(self._results)
        for k, kind in enumerate(results):
            if isinstance(kind, Scalar | ArrayType):
                element, start = element_of(kind), ends[element_of(kind)]
                ends[element] += elements_of(kind)
                part = columns[element][start : ends[element]]
                results[k] = part.reshape((*dimensions(kind), n))
        return results, status != DONE

    def _computed(self, n: int, values: Sequence[Any], room: int) -> list[Any]:
        """How the rows ended, and an array for each of `RESULTS`. Rows whose stacks need more room
        are computed again. Raises MemoryError."""
        xp = self._backend.xp
        kinds = [kind for kind in self._results if isinstance(kind, Scalar | ArrayType)]
        found = [xp.empty((_count(kinds, kind), n), DTYPES[kind]) for kind in RESULTS]
        status = xp.empty(n, "uint8")
        self._launch(n, status, values, found, room)
        if not self._text.stacks or room == MOST_ROOM:
            return [status, *found]
        short = xp.flatnonzero(status == SHORT)
        if short.size:
            some = [
                v[..., short] if varies else v
                for v, varies in zip(values, self._by_row, strict=True)
            ]
            more = self._computed(short.size, some, min(room * MORE, MOST_ROOM))
            for whole, part in zip([status, *found], more, strict=True):
                whole[..., short] = part
        return [status, *found]

    def _launch(
        self, n: int, status: Any, values: Sequence[Any], found: Sequence[Any], room: int
    ) -> None:
        """Runs the kernel. Raises MemoryError."""
        xp, host = self._backend.xp, CPU.xp
        words = self._text.words + self._text.stacks * room
        most = MOST_BYTES // (8 * max(1, words) * THREADS)
        if most == 0:
            raise MemoryError
        blocks = min(-(-n // THREADS), most)
        given = [host.int64(n), status, host.int64(room)]
        given.append(xp.empty(max(1, words * blocks * THREADS), "int64"))
        for k, (value, varies) in enumerate(zip(values, self._by_row, strict=True)):
            if varies:
                given.append(xp.ascontiguousarray(value))
                given += [host.int64(n)] * (value.ndim > 1)
            elif not shape_of(value):
                given.append(host.asarray(value, self._dtypes[k])[()])
            else:
                given.append(self._on_device(k, value))
        self._kernel((blocks,), (THREADS,), (*given, *found))

    def _on_device(self, k: int, value: Any) -> Any:
        """The array on the device for parameter `k`, which all rows share. It is copied when it is
        another one."""
        kept, name = self._shared.__dict__, f"p{k}"
        if name not in kept or kept[name][0] is not value:
            kept[name] = value, self._backend.xp.asarray(value, self._dtypes[k])
        return kept[name][1]


def _count(kinds: Sequence[Scalar | ArrayType], element: Scalar) -> int:
    """The number of columns of results with elements of this type."""
    return sum([elements_of(kind) for kind in kinds if element_of(kind) is element])
