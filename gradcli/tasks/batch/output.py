"""Where outcomes go, in order: rows to a writer, what is finished to a journal. Standard output has
no journal."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError, printable_lines
from ...rows.formats import STDIN
from ...rows.sources import Source
from ...rows.writing import WRITERS, Column, open_stdout
from ...rows.writing.columns import Writer
from ...rows.writing.files import Mark, PartialFile
from .block import Outcome, Reject
from .collecting import sum_of
from .journal import Finished, Journal
from .layout import laid_out
from .plan import TEXT, Field, Plan
from .request import STDOUT, OutputFormat, Request
from .summary import Summary

# ---- a reduction as an answer --------------------------------------------------------------------


def values_of(row: Sequence[Column]) -> dict[str, Any]:
    """The values of the only row by name; None where there is none."""
    return {
        column.name: None if column.mask is not None else column.values[0][()] for column in row
    }


class AnswerWriter:
    """A file with one answer, in the words of `tell`; its position is a mark."""

    def __init__(
        self,
        path: str,
        resume_at: Sequence[int] | None,
        tell: Callable[[dict[str, Any], str], str],
        format: str,
    ) -> None:
        self._file, self._tell, self._format = PartialFile(path, resume_at), tell, format

    def append(self, columns: Sequence[Column]) -> Mark:
        """Writes the answer: of the only row, or of none."""
        row = [column for column in columns if len(column.values)]
        told = self._tell(values_of(row), self._format)
        self._file.write(printable_lines(told).encode("utf-8", "backslashreplace"))
        return self._file.mark

    def finish(self) -> None:
        self._file.finish()

    def close(self) -> None:
        self._file.close()


# ---- rows without an answer ----------------------------------------------------------------------


def entry(reject: Reject, part: str) -> dict[str, Any]:
    """A line of the rejects file. `part` is the part of the data where the row is."""
    first = reject.diagnostics[0].as_json()
    where: dict[str, Any] = {"row": reject.row}
    if reject.is_unreadable:
        where = {
            "row": None,
            "part": part,
            "rows": [reject.row, reject.row + reject.lost - 1] if reject.lost else None,
        }
        first["message"] = f"`{part}`: {first['message']}"
    if reject.kept is not None:
        where["keep"] = reject.kept
    told = {
        key: first[key]
        for key in ("code", "message", "line", "column", "help")
        if first[key] not in (None, "")
    }
    return {**where, **told}


def told(reject: Reject, part: str) -> Iterator[Diagnostic]:
    """What people are told of it."""
    where = f"`{part}`" if reject.is_unreadable else f"row {reject.row}"
    for diagnostic in reject.diagnostics:
        yield replace(diagnostic, message=f"{where}: {diagnostic.message}")


# ---- rows ----------------------------------------------------------------------------------------


MAX_TOLD = 20  # rows without an answer that are shown where no file takes them


class Output:
    """The output of one job; `summary` counts what it has.

    finished   the blocks that an earlier run has finished
    known      what that run learnt from the first rows: {"fields", "tile",
               "block_rows"}, or {}
    delivered  whether the output is in its place already, whole
    reduced    the one row of a reduction, at the end
    told       the first rows without an answer, where no file takes them
    digests    of blocks under way, where the rows come through a pipe
    """

    def __init__(
        self,
        request: Request,
        format: OutputFormat,
        source: Source,
        summary: Summary,
        fingerprint: Callable[[], Mapping[str, str]],
    ) -> None:
        """Raises GradcliError where it can't be written, or not be gone on with."""
        self.source, self.summary = source, summary
        self.told: list[Diagnostic] = []
        self._untold = MAX_TOLD  # so many more are shown
        self.digests: deque[str] = deque()
        self.finished: list[Finished] = []
        self.known: dict[str, Any] = {}
        self.delivered = False
        self.reduced: list[Column] = []
        self._reduce, self._compression = request.reduce, request.compression
        self._tell = request.tell
        self._totals: list[
            tuple[int, dict[str, Any]]
        ] = []  # of each block: rows that succeeded, and their sums
        self._unreadable: set[str] = set()  # parts
        self._position: Any = None  # where the output ends so far
        self._journal: Journal | None = None
        self._writer: Writer | None = None
        try:
            if request.out == STDOUT:
                self._writer = None if format.is_answer else open_stdout(*format)
            else:
                self._journal = Journal(
                    request.out, fingerprint(), request.resume, request.data != STDIN
                )
                self._take_up(self._journal, format)
        except BaseException:
            self.close()
            raise

    def _take_up(self, journal: Journal, format: OutputFormat) -> None:
        """Goes on where the journal ends."""
        summary = self.summary
        self.finished, self.known, self.delivered = (
            list(journal.finished),
            journal.known,
            journal.delivered,
        )
        for block in self.finished:
            self._count(block.rows, block.failed, block.unreadable, block.nonfinite)
            if block.totals is not None:
                self._totals.append(
                    (block.rows - block.failed, {k: _array(*v) for k, v in block.totals.items()})
                )
        summary.resumed, summary.resumed_blocks = summary.rows, summary.blocks
        summary.was_done = journal.was_done
        if not journal.delivered:
            self._position = self.finished[-1].position if self.finished else None
            with journal.damaged():
                self._writer = self._opened(str(journal.rows), format)

    def _opened(self, path: str, format: OutputFormat) -> Writer:
        """The writer of a file, at the position where it ends so far."""
        if format.is_answer:
            assert self._tell is not None
            return AnswerWriter(path, self._position, self._tell, format.name)
        chosen = {"compression": self._compression} if self._compression else {}
        return WRITERS[format.name](path, self._position, **chosen)

    def _count(self, rows: int, failed: int, unreadable: str, nonfinite: int) -> None:
        if unreadable:
            self._unreadable.add(unreadable)
        self.summary.rows += rows
        self.summary.failed += failed
        self.summary.nonfinite += nonfinite
        self.summary.unreadable = len(self._unreadable)
        self.summary.blocks += 1

    def begin(self, plan: Plan, block_rows: int) -> None:
        """Notes what was learnt from the first rows, before anything is finished."""
        if self._journal is not None and not self.known:
            self._journal.begin(
                {"fields": plan.fields, "tile": plan.tile, "block_rows": block_rows}
            )

    def put(self, outcome: Outcome) -> None:
        """Takes the next block."""
        totals: dict[str, Any] | None = None
        unreadable = next(
            (self._part(reject) for reject in outcome.rejects if reject.is_unreadable), ""
        )
        if outcome.totals is not None:
            self._totals.append((outcome.succeeded, outcome.totals))
            totals = {name: _kept(np.asarray(total)) for name, total in outcome.totals.items()}
        elif (
            self._writer is not None and outcome.columns
        ):  # a block without answers before the first one has no columns yet
            self._position = self._writer.append(outcome.columns)
        if self._journal is not None:
            self._journal.reject([entry(reject, self._part(reject)) for reject in outcome.rejects])
            digest = self.digests.popleft() if self.digests else ""
            block = Finished(
                outcome.start,
                outcome.size,
                outcome.failed,
                unreadable,
                self._position,
                (0, 0),
                totals,
                digest,
                outcome.nonfinite,
            )
            self._journal.finish(block)
        else:
            for reject in outcome.rejects[: self._untold]:
                self.told += self.words(reject)
                self._untold -= 1
        self._count(outcome.size, outcome.failed, unreadable, outcome.nonfinite)
        self.summary.reruns += outcome.runs - outcome.tiles
        self.summary.note(outcome.ways)

    def words(self, reject: Reject) -> list[Diagnostic]:
        """What people are told of a row without an answer."""
        return list(told(reject, self._part(reject)))

    def _part(self, reject: Reject) -> str:
        return reject.part or self.source.part_of(reject.row)

    def refuse(self, why: str) -> GradcliError:
        """The error where what is finished isn't of this job."""
        assert self._journal is not None
        return GradcliError(self._journal.refusal(why))

    # ---- the end ---------------------------------------------------------------------------------

    def finish(self, plan: Plan) -> None:
        """Makes the output whole, and puts it in its place. The plan's fields are the columns, be
        there rows or not."""
        if self._reduce and self.summary.succeeded:
            self.reduced = self._reduced(plan.fields)
        if self._writer is not None:
            if not self.summary.succeeded:
                self._writer.append(_no_rows(plan))
            elif self._reduce:
                self._writer.append(self.reduced)
            with self._journal.damaged() if self._journal else nullcontext():
                self._writer.finish()
        if self._journal is not None:
            self._journal.deliver()

    def discard(self) -> None:
        """Has what is finished thrown away when this is closed."""
        if self._journal is not None:
            self._journal.finished.clear()

    def _reduced(self, fields: tuple[Field, ...]) -> list[Column]:
        """One row: the sum over all rows that succeeded, or their mean. Blocks are added in order,
        whoever computed them. Raises GradcliError (E305)."""
        columns = []
        count = sum(rows for rows, _ in self._totals)
        names = {field.name for field in fields}
        totals = [laid_out(sums, names) for _, sums in self._totals]
        for f in (f for f in fields if f.dtype != TEXT):
            parts = [np.asarray(sums[f.name]) for sums in totals if f.name in sums]
            if parts and all(part.dtype.kind == "i" for part in parts):
                total = sum_of(f.name, np.stack(parts, axis=-1))
            else:
                total = sum(parts, np.zeros(f.shape, f.dtype))
            total = np.asarray(total / count if self._reduce == "mean" else total)
            columns.append(Column(f.name, total[None], None if parts else np.ones(1, bool)))
        return columns

    def close(self) -> None:
        """Lets go of it as it is."""
        if self._writer is not None:
            self._writer.close()
        if self._journal is not None:
            self._journal.close()


def unwritable(out: str, error: OSError) -> Diagnostic:
    """What is wrong where the system refuses to write the output."""
    help = "make room for it" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else ""
    name = "standard output" if out == STDOUT else f"`{out}`"
    return Diagnostic("E006", f"cannot write {name}: {error.strerror or error}", help=help)


def _no_rows(plan: Plan) -> list[Column]:
    keys = [Column(name, np.zeros(0, object), None) for name in plan.keep]
    fields = [(f.name, (0, *f.shape), object if f.dtype == TEXT else f.dtype) for f in plan.fields]
    return keys + [Column(name, np.zeros(shape, dtype), None) for name, shape, dtype in fields]


def _kept(array: Any) -> list[Any]:
    """An array as JSON holds it, to the last bit."""
    return [array.dtype.str, array.shape, array.tobytes().hex()]


def _array(dtype: str, shape: list[int], data: str) -> Any:
    return np.frombuffer(bytes.fromhex(data), dtype).reshape(shape)
