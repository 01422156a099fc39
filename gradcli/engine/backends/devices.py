"""What devices are called, and how much each kind takes at a time. Nothing here needs the device to be there: who plans
the work of a cluster may have no GPU."""

from __future__ import annotations

from typing import NamedTuple

from ...diagnostics import Diagnostic, GradcliError


class Sizes(NamedTuple):
    """How many rows of data a device takes at a time.

    block   rows that are read, computed and written together
    most    rows that run at once, at most; tiles are multiples of `step`
    inputs  numbers that the inputs of a tile have, at most
    trace   bytes that the trace of a tile takes, at most
    """

    block: int
    most: int
    inputs: int
    trace: int
    step: int = 2**12

    def tile(self, width: int, records: int, memory: int | None = None) -> int:
        """The rows that should run at once: for `width` numbers a row, a trace of `records`, and `memory` bytes in all."""
        trace = self.trace if memory is None else min(self.trace, memory // 8)
        rows = min(self.most, self.step * max(1, self.inputs // max(1, width) // self.step))
        return max(64, min(rows, trace // (8 * max(1, records))))


CPU = Sizes(block=2**16, most=2**16, inputs=2**20, trace=2**28)  # what runs at once costs more to begin than the cache would save
GPU = Sizes(block=2**20, most=2**20, inputs=2**23, trace=2**29)  # starting an operation takes as long as 100,000 rows of it


def is_gpu(device: str) -> bool:
    """Whether a device's name is of a GPU, or of all. Raises GradcliError (E001) for what is no name of a device."""
    kind, colon, which = device.partition(":")
    if device == "cpu" or (kind == "cuda" and (which.isdecimal() or which == "all" or not colon)):
        return device != "cpu"
    help = "devices are `cpu`, `cuda` and `cuda:N`; `gradcli batch` takes `cuda:all`, too"
    raise GradcliError(Diagnostic("E001", f"unknown device `{device}`", help=help))


def sizes_for(device: str) -> Sizes:
    """What a device takes at a time. Raises GradcliError (E001)."""
    return GPU if is_gpu(device) else CPU
