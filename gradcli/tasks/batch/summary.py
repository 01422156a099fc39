"""What came of a job, in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kernels import Ways


@dataclass(slots=True)
class Summary:
    """What came of a job; rows are those of the data, and `failed` those of them that have no
    answer.

    nonfinite   rows that succeeded with a nan or an infinity among their outputs and gradients
    resumed     rows that an earlier run had finished, in `resumed_blocks`
    reruns      how often the program ran beyond once for each tile of a block, for rows that parted
                or failed
    unreadable  parts of the data that couldn't be read, whose rows nobody knows
    was_done    whether an earlier run had finished the whole job, so that there was nothing to do
    complete    whether the job came to its end; else `rows` are those that are finished
    threads     how many blocks are computed at a time: by so many of what `kind` says; None where
                that is a cluster's affair
    compiled    rows that machine code computed
    stepped_back  rows that it left to the interpreter, since it computes no such row
    interpreted rows that the interpreter computed because there is no machine code for them
    not_compiled  why there is none, with the line that isn't compiled; "" where there is
    block_rows  rows of a block at most, of which `tile` run at once; 0 where no rows were run
    """

    output: str
    rows: int = 0
    failed: int = 0
    nonfinite: int = 0
    blocks: int = 0
    resumed: int = 0
    resumed_blocks: int = 0
    reruns: int = 0
    unreadable: int = 0
    was_done: bool = False
    complete: bool = False
    seconds: float = 0.0
    device: str = "cpu"
    threads: int | None = 1
    kind: str = "thread"  # or "process", "worker"
    compiled: int = 0
    stepped_back: int = 0
    interpreted: int = 0
    not_compiled: str = ""
    block_rows: int = 0
    tile: int = 0

    def note(self, ways: Ways) -> None:
        """Takes note of how rows were computed."""
        self.compiled += ways.compiled
        self.stepped_back += ways.stepped_back
        self.interpreted += ways.interpreted
        self.not_compiled = self.not_compiled or ways.reason

    @property
    def succeeded(self) -> int:
        return self.rows - self.failed

    @property
    def rate(self) -> float:
        """Rows a second, of those that this run computed."""
        return (self.rows - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def exit_code(self) -> int:
        return 6 if self.failed or self.unreadable else 0

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "succeeded": self.succeeded, "rows_per_second": self.rate}
