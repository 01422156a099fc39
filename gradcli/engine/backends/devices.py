"""Names of devices, and how many rows each kind takes at a time.

Nothing here needs the device: whoever plans the work of a cluster may have no GPU.
"""

from __future__ import annotations

from typing import NamedTuple

from ...diagnostics import Diagnostic, GradcliError


class Sizes(NamedTuple):
    """The sizes of the pieces in which a device takes rows of data.

    block   rows that are read, computed and written together
    most    rows that run together, at most; tiles are multiples of `step`
    inputs  numbers in the inputs of a tile, at most
    trace   bytes of the trace of a tile, at most
    """

    block: int
    most: int
    inputs: int
    trace: int
    step: int = 2**12

    def tile(self, width: int, records: int, memory: int | None = None) -> int:
        """Returns the rows that should run together.

        A row has `width` numbers, its trace has `records`, and there are `memory` bytes in all.
        """
        trace = self.trace if memory is None else min(self.trace, memory // 8)
        rows = min(self.most, self.step * max(1, self.inputs // max(1, width) // self.step))
        return max(LEAST, min(rows, trace // (8 * max(1, records))))

    def block_rows(self, records: int, runs_a_row: float) -> int:
        """Returns the rows that should make a block: as many as take a second or less.

        The trace of a row has `records`, and so many runs are made for each. It counts work, never
        time, so that a job has the same blocks wherever it is done.
        """
        work = max(1, records, int(SINGLE * runs_a_row))
        return max(LEAST, min(self.block, self.trace // (8 * work)))


LEAST = 64  # rows that run together
SINGLE = 2**15  # records of a row among others that take as long as a row by itself
# Starting a tile costs more than smaller ones would save by the cache.
CPU = Sizes(block=2**16, most=2**16, inputs=2**20, trace=2**28)
# Starting an operation takes as long as 100,000 rows of it.
GPU = Sizes(block=2**20, most=2**20, inputs=2**23, trace=2**29)


def is_gpu(device: str) -> bool:
    """Returns whether a device's name is that of a GPU, or of all.

    Raises GradcliError (E001) for an unknown name.
    """
    kind, colon, which = device.partition(":")
    if device == "cpu" or (kind == "cuda" and (which.isdecimal() or which == "all" or not colon)):
        return device != "cpu"
    help = "devices are `cpu`, `cuda` and `cuda:N`; `gradcli batch` takes `cuda:all`, too"
    raise GradcliError(Diagnostic("E001", f"unknown device `{device}`", help=help))


def sizes_for(device: str) -> Sizes:
    """Returns the sizes for a device. Raises GradcliError (E001)."""
    return GPU if is_gpu(device) else CPU
