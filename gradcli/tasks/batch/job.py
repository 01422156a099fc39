"""A job from beginning to end: blocks of rows are read, computed and written in order, and what is finished stays so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ... import __version__
from ...diagnostics import Diagnostic, GradcliError, did_you_mean
from ...engine.devices import sizes_for
from ...lang import program
from ...lang.imports import imported_texts
from ...rows.blocks import BadPart, Range
from ...rows.sources import ENDINGS, format_of, open_source
from ...rows.writing import WRITERS, Column, open_stdout
from ...rows.writing.columns import Writer
from ..evaluation import Options
from .block import Computer, Outcome, Reject, read_range
from .collecting import TEXT
from .journal import Finished, Journal, fingerprint
from .plan import Field, Plan, bound_columns
from .summary import Summary
from .workers import dealt, in_threads

MAX_TOLD = 20  # rows without an answer that are shown where no file takes them


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is asked: see `gradcli batch --help`.

    out       the output's path, or "-" for standard output; `out_format` is for that
    threads   how many blocks are computed at once, here; or by so many local `workers`, or the cluster of a `scheduler`
    block_rows  rows that are read, computed and written together; None for both: what suits the device
    """

    data: str
    out: str
    options: Options
    rows_format: str | None = None
    out_format: str | None = None
    shared: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    nan: str = "keep"
    reduce: str = ""
    fails: bool = False
    resume: bool = False
    threads: int | None = None
    workers: int | None = None
    scheduler: str | None = None
    block_rows: int | None = None


class StoppedError(Exception):
    """A row failed, and the job was to stop at the first that does."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.diagnostics[0].message)
        self.reject = reject


Progress = Callable[[Summary, "int | None"], None]  # what is done so far, and of how many rows, where that is known


class Job:
    """One job. `run` does it; `summary` is what came of it so far, whatever ends it."""

    def __init__(self, node: program.Program, request: Request) -> None:
        self.node, self.request = node, request
        self.format = _output_format(request)
        self.source = open_source(request.data, request.rows_format)
        columns = bound_columns(node, self.source.names, request.shared, request.renamed)
        for name in request.keep:
            if name not in self.source.columns:
                help = did_you_mean(name, self.source.columns) or f"its columns are {', '.join(self.source.columns)}"
                raise GradcliError(Diagnostic("E003", f"--keep: the data has no column `{name}`", help=help))
        self.plan = Plan(
            node.source, request.options, imported_texts(node), request.shared, columns, request.keep, request.nan, request.reduce
        )
        self.sizes = sizes_for(request.options.device)
        self.block_rows = request.block_rows or self.sizes.block
        # A scheduler's workers have devices of their own, which needn't be here.
        self.devices = [] if request.scheduler else dealt(request.options.device, request.threads)
        self.summary = Summary(request.out, device=request.options.device, threads=len(self.devices) or 1)
        self.totals: list[tuple[int, dict[str, Any]]] = []  # of each block: rows that succeeded, and their sums
        self.position: Any = None  # where the output ends so far
        self.told: list[Reject] = []  # the first rows without an answer, where no file takes them

    def run(self, progress: Progress) -> Summary:
        """Does the job. Raises GradcliError for what stops it, and StoppedError; finished blocks are kept for `resume`."""
        began = time.monotonic()
        journal = None
        try:
            if self.request.out == "-":
                writer: Writer | None = open_stdout(self.format)
            else:
                journal = Journal(self.request.out, self._fingerprint(), self.request.resume)
                writer = self._take_up(journal)
            if journal is None or not journal.delivered:
                self._compute(journal, writer, progress, began)
            else:
                journal.deliver()
        finally:
            self.summary.seconds = time.monotonic() - began
            if journal is not None:
                journal.close()
        return self.summary

    # ---- beginning -----------------------------------------------------------------------------------------------------

    def _fingerprint(self) -> str:
        plan = self.plan
        facts = {
            "version": __version__, "text": plan.source.text, "imports": plan.imports, "options": asdict(plan.options),
            "shared": plan.shared, "columns": plan.columns, "keep": plan.keep, "nan": plan.nan, "reduce": plan.reduce,
            "block_rows": self.block_rows, "data": self.source.identity,
        }  # fmt: skip
        return fingerprint(facts)

    def _take_up(self, journal: Journal) -> Writer | None:
        """Goes on where the journal ends; the writer of the rows."""
        summary, finished = self.summary, journal.finished
        for block in finished:
            summary.rows += block.rows
            summary.failed += block.failed
            summary.unreadable += block.unreadable
            if block.totals is not None:
                self.totals.append((block.rows - block.failed, {k: np.asarray(v) for k, v in block.totals.items()}))
        summary.resumed, summary.resumed_blocks, summary.blocks = summary.rows, len(finished), len(finished)
        if journal.known:
            self._learn(tuple(Field(n, d, tuple(s)) for n, d, s in journal.known["fields"]), journal.known["tile"])
        if journal.delivered:
            return None
        self.position = finished[-1].position if finished else None
        return WRITERS[self.format](str(journal.rows), self.position)

    def _learn(self, fields: tuple[Field, ...], tile: int) -> None:
        self.plan = replace(self.plan, fields=fields, tile=tile)

    # ---- going on ------------------------------------------------------------------------------------------------------

    def _compute(self, journal: Journal | None, writer: Writer | None, progress: Progress, began: float) -> None:
        plan, done = self.plan, self.summary.resumed_blocks
        ranges = self.source.ranges(self.block_rows, done, list(plan.columns.values()), plan.keep)
        if not self.plan.fields:
            ranges = self._probed(ranges)
        if journal is not None and not journal.known:
            journal.begin({"fields": self.plan.fields, "tile": self.plan.tile})
        for outcome in self._outcomes(ranges):
            if outcome.rejects and self.request.fails:
                raise StoppedError(outcome.rejects[0])
            self._write(journal, writer, outcome)
            self.summary.seconds = time.monotonic() - began
            progress(self.summary, self.source.rows)
        self._finish(journal, writer)

    def _probed(self, ranges: Iterator[Range | BadPart]) -> Iterator[Range | BadPart]:
        """The same ranges, of which enough have been looked at to know what a row gives. That is the same on every device,
        and whoever gives the work away may have no GPU."""
        seen: list[Range | BadPart] = []
        computer = Computer(self._on("cpu"), self.node)
        for range in ranges:
            seen.append(range)
            block = read_range(self.plan, range)
            if isinstance(block, Outcome):
                continue
            fields, tile = computer.probe(block, self.sizes)
            self._learn(fields, tile)
            if fields:
                break
        return chain(seen, ranges)

    def _outcomes(self, ranges: Iterable[Range | BadPart]) -> Iterator[Outcome]:
        request = self.request
        if request.workers or request.scheduler:
            from .cluster import client_for, on_cluster

            with client_for(request.workers, request.scheduler) as client:
                yield from on_cluster(ranges, self.plan, client)
            return
        yield from in_threads(ranges, [partial(self._worker, device) for device in self.devices])

    def _worker(self, device: str) -> Callable[[Range | BadPart], Outcome]:
        return Computer(self._on(device), self.node).work

    def _on(self, device: str) -> Plan:
        return replace(self.plan, options=self.plan.options.with_changes(device=device))

    def _write(self, journal: Journal | None, writer: Writer | None, outcome: Outcome) -> None:
        summary = self.summary
        totals: dict[str, Any] | None = None
        if outcome.totals is not None:
            self.totals.append((outcome.succeeded, outcome.totals))
            totals = {name: np.asarray(total).tolist() for name, total in outcome.totals.items()}
        elif writer is not None and outcome.columns:  # a block without answers before the first one has no columns yet
            self.position = writer.append(outcome.columns)
        if journal is not None:
            journal.reject([_entry(reject) for reject in outcome.rejects])
            journal.finish(Finished(outcome.start, outcome.size, outcome.failed, outcome.is_unreadable, self.position, 0, totals))
        else:
            self.told += outcome.rejects[: MAX_TOLD - len(self.told)]
        summary.rows += outcome.size
        summary.failed += outcome.failed
        summary.unreadable += outcome.is_unreadable
        summary.blocks += 1
        summary.reruns += outcome.runs - outcome.tiles

    # ---- the end -------------------------------------------------------------------------------------------------------

    def _finish(self, journal: Journal | None, writer: Writer | None) -> None:
        if self.request.reduce and self.plan.fields:
            assert writer is not None
            writer.append(self._reduced())
        elif not self.plan.fields and writer is not None:
            self._learn(Computer(self._on("cpu"), self.node).expected(), 1)
            writer.append(self._no_rows())
        if writer is not None:
            writer.finish()
        if journal is not None:
            journal.deliver()

    def _reduced(self) -> list[Column]:
        """One row: the sum over all rows that succeeded, or their mean. Blocks are added in order, whoever computed them."""
        columns = []
        count = sum(rows for rows, _ in self.totals)
        for f in self.plan.fields:
            total = np.zeros(f.shape, f.dtype)
            for _, sums in self.totals:
                total = total + sums[f.name]
            columns.append(Column(f.name, np.asarray(total / count if self.plan.reduce == "mean" else total)[None], None))
        return columns

    def _no_rows(self) -> list[Column]:
        keys = [Column(name, np.zeros(0, object), None) for name in self.plan.keep]
        fields = [(f.name, (0, *f.shape), object if f.dtype == TEXT else f.dtype) for f in self.plan.fields]
        return keys + [Column(name, np.zeros(shape, dtype), None) for name, shape, dtype in fields]


def _output_format(request: Request) -> str:
    """The format of the output. Raises GradcliError (E001) where nothing tells."""
    if request.out_format is not None:
        return request.out_format
    format = None if request.out == "-" else format_of(request.out)
    if format is None or (request.out != "-" and not request.out.lower().endswith(tuple(ENDINGS))):
        help = f"say --out-format, or use one of the endings {' '.join(ENDINGS)}"
        raise GradcliError(Diagnostic("E001", f"of which format should the output `{request.out}` be?", help=help))
    return format


def _entry(reject: Reject) -> dict[str, Any]:
    """A line of the rejects file."""
    first = reject.diagnostics[0].as_json()
    where = {"part": reject.part} if reject.part else {}
    told = {key: first[key] for key in ("code", "message", "line", "column", "help") if first[key] not in (None, "")}
    return {"row": reject.row, **where, **told}
