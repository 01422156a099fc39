"""A job from beginning to end: blocks of rows are read, computed and written in order, and what is
finished stays so."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Any

from ... import __version__
from ...diagnostics import Diagnostic, GradcliError, did_you_mean
from ...engine.backends.devices import is_gpu, sizes_for
from ...lang import program
from ...lang.imports import imported_texts
from ...platform.threads import all_end
from ...rows.blocks import BadPart, Range
from ...rows.formats import STDIN
from ...rows.sources import Source, open_source
from ...rows.writing import TEXTS
from ..answer import verify_inputs
from ..programs import with_inputs
from .arriving import divided, unfinished
from .block import PROBED, Computer, Outcome, read_range
from .journal import fingerprint
from .kernels import Kernels
from .layout import fitted, together
from .output import Output, unwritable, values_of
from .plan import Field, Plan, bound_columns, gives_columns, verify_names
from .processes import can_fork, in_processes
from .request import STDOUT, Request, output_format, verify_apart
from .summary import Summary
from .workers import dealt, in_advance, in_threads

BLOCK_NUMBERS = 2**23  # in the data of a block, at most, unless its rows are longer than that
LEAST_ROWS = 2**10
PATIENCE = 1.0  # seconds that threads of an earlier job may take to end
STREAMED_ROWS = 2**14  # that are waited for, at most, where they come through a pipe


class StoppedError(GradcliError):
    """A row failed, and the job was to stop at the first that does: what is wrong with it."""

    @property
    def exit_code(self) -> int:
        return 3


Progress = Callable[
    [Summary, "int | None"], None
]  # what is done so far, and of how many rows, where that is known


class Job:
    """One job. `run` does it; `summary` is what came of it so far, whatever ends it."""

    def __init__(self, node: program.Program, request: Request) -> None:
        self.request = request
        self.source = open_source(request.data, request.rows_format)
        self.format = output_format(request, self.source)
        named = {request.renamed.get(name, name) for name in self.source.names}
        self.node = node = with_inputs(node, request.shared, named)
        verify_apart(request, self.source.paths, node.source.name)
        verify_inputs(node, request.shared, request.options.ignore_extra)
        columns = bound_columns(node, self.source.names, request.shared, request.renamed)
        verify_names(node, (*request.options.of, *request.options.wrt))
        if not gives_columns(node, request.options) and (request.reduce or not request.keep):
            help = (
                "write `output NAME` for what rows give; or name columns with --keep, to have "
                "those of rows that succeed"
            )
            raise GradcliError(
                Diagnostic(
                    "E001", "the program has no output, so there is nothing to write", help=help
                )
            )
        keep = tuple(dict.fromkeys(request.keep))
        for name in keep:
            if name not in self.source.columns:
                help = (
                    did_you_mean(name, self.source.columns)
                    or f"its columns are {', '.join(self.source.columns)}"
                )
                raise GradcliError(
                    Diagnostic("E003", f"--keep: the data has no column `{name}`", help=help)
                )
        self.plan = Plan(
            node.source,
            request.options,
            imported_texts(node),
            request.shared,
            columns,
            keep,
            request.nan,
            request.reduce,
        )
        self.plan = replace(
            self.plan,
            widens=self._begins_again or bool(request.reduce) or self.format.name in TEXTS,
        )
        self.sizes = sizes_for(request.options.device)
        self.block_rows = request.block_rows or _block_rows(self.source, self.sizes.block)
        # A scheduler's workers have devices of their own, which needn't be here.
        self.devices = [] if request.scheduler else dealt(request.options.device, request.threads)
        self._computer: Computer | None = None
        self.summary = self._summary()
        self._shares: deque[float | None] = (
            deque()
        )  # of blocks under way: how much of the data ends with them
        self.told: list[
            Diagnostic
        ] = []  # of the first rows without an answer, where no file takes them, and of gradients
        self.notes: list[str] = []  # which outputs get no gradient unasked
        self.answer: dict[str, Any] | None = None  # a reduction by name, where no file takes it

    def run(self, progress: Progress) -> Summary:
        """Does the job. Raises GradcliError for what stops it; finished blocks are kept for
        `resume`. BrokenPipeError where nobody reads standard output any more."""
        began, output = time.monotonic(), None
        try:
            output = Output(self.request, self.format, self.source, self.summary, self._fingerprint)
            if output.known:
                self._learn(
                    tuple(Field(n, d, tuple(s)) for n, d, s in output.known["fields"]),
                    output.known["tile"],
                )
            while not output.delivered and not self._go_through(output, began, progress):
                output.close()  # what it has is of narrower columns than the job's
                self.summary = self._summary()
                self.summary.tile, self.summary.kind = self.plan.tile, self._kind()
                self._shares.clear()
                output = Output(
                    replace(self.request, resume=False),
                    self.format,
                    self.source,
                    self.summary,
                    self._fingerprint,
                )
            if not output.delivered:
                self._verify_unchanged(output)
            output.finish(self.plan)
            if self.format.is_answer and self.request.out == STDOUT:
                self.answer = values_of(output.reduced)
            self.summary.complete = True
        except BrokenPipeError:
            raise
        except OSError as error:
            raise GradcliError(unwritable(self.request.out, error)) from None
        finally:
            self.summary.seconds = time.monotonic() - began
            if output is not None:
                self.told += output.told
                output.close()
        return self.summary

    def _go_through(self, output: Output, began: float, progress: Progress) -> bool:
        """Writes all outcomes; whether the columns were wide enough for them. Where they weren't,
        the plan has those that are."""
        with closing(self._outcomes(self._begun(output))) as outcomes:
            for outcome in outcomes:
                if outcome.rejects and self.request.fails:
                    raise StoppedError(*output.words(outcome.rejects[0]))
                if (
                    outcome.fields
                    and (wider := together(self.plan.fields, outcome.fields)) != self.plan.fields
                ):
                    self._learn(wider, self.plan.tile)
                    if self._begins_again:
                        return False
                output.put(_fitted(outcome, self.plan.fields))
                self.summary.seconds = time.monotonic() - began
                progress(self.summary, self._total(self._shares.popleft()))
        if not self.plan.fields:
            self._learn(self._here().expected(), 1)
        return True

    @property
    def _begins_again(self) -> bool:
        """Whether the data can be read once more, and nobody has seen any of the output yet."""
        return self.request.data != STDIN and (
            self.request.out != STDOUT or bool(self.request.reduce)
        )

    def _verify_unchanged(self, output: Output) -> None:
        """Raises GradcliError (E609) where the data isn't what it was when the job began: its rows
        may be of either, so what is finished is thrown away."""
        if part := self.source.changed():
            output.discard()
            self.summary = self._summary()
            message = (
                f"`{part}` changed while the job read it, so rows may be of the old data or of "
                "the new"
            )
            help = (
                "run the job again when the data no longer changes: the finished blocks are deleted"
            )
            raise GradcliError(Diagnostic("E609", message, help=help))

    # ---- beginning -------------------------------------------------------------------------------

    def _fingerprint(self) -> dict[str, str]:
        """What the output depends on; what it doesn't, like a limit of memory, may differ in a run
        that goes on."""
        request, plan = self.request, self.plan
        options = {
            **asdict(plan.options),
            "max_memory": None,
            "out_format": self.format.name,
            "block_rows": self.request.block_rows,
        }
        chosen = {
            "renamed": request.renamed,
            "keep": plan.keep,
            "nan": plan.nan,
            "reduce": plan.reduce,
            "shared": plan.shared,
        }
        chosen["compression"] = request.compression
        facts: dict[str, Mapping[str, Any]] = {
            "gradcli": {"version": __version__},
            "the program": {"text": plan.source.text, "imports": plan.imports},
            "the options": {**options, **chosen},
            "the data": self.source.identity,
        }
        return fingerprint(facts)

    def _summary(self) -> Summary:
        """The numbers of a job that has done nothing yet."""
        request, device = self.request, self.request.options.device
        threads = None if request.scheduler else request.workers or len(self.devices)
        return Summary(
            request.out,
            device=device,
            threads=threads,
            kind=self._kind(),
            block_rows=self.block_rows,
        )

    def _kind(self) -> str:
        """What computes the blocks."""
        is_elsewhere = self.request.workers or self.request.scheduler
        return "worker" if is_elsewhere else "process" if self._forks() else "thread"

    def _forks(self) -> bool:
        """Whether blocks are computed by forks of this process: threads take turns at the
        interpreter, but not at native code. While one of an earlier job still computes, which ended
        before its blocks did, this process can't be forked."""
        is_native = self._computer is not None and self._computer.is_native
        forks = can_fork() and not is_gpu(self.request.options.device) and not is_native
        return forks and all_end(PATIENCE)

    def _learn(self, fields: tuple[Field, ...], tile: int) -> None:
        self.plan = replace(self.plan, fields=fields, tile=tile)
        self.summary.tile, self.summary.kind = tile, self._kind()

    # ---- going on --------------------------------------------------------------------------------

    def _begun(self, output: Output) -> Iterator[Range | BadPart]:
        """Where the rows are that nobody has computed yet. Before the first, the plan is
        complete."""
        if output.known:
            self.block_rows = output.known["block_rows"]
        ranges = self._ranges(output)
        output.begin(self.plan, self.block_rows)
        return map(self._under_way, ranges)

    def _under_way(self, range: Range | BadPart) -> Range | BadPart:
        self._shares.append(self.source.share(range))
        return range

    def _total(self, share: float | None) -> int | None:
        """About how many rows there are, where that can be known."""
        return (
            round(self.summary.rows / share)
            if share and self.source.rows is None
            else self.source.rows
        )

    def _ranges(self, output: Output) -> Iterator[Range | BadPart]:
        """Those that no earlier run has finished, of as many rows as the first ones ask for."""
        known, finished = bool(self.plan.fields), len(output.finished)
        if self.request.data == STDIN:
            arriving = self._read(min(self.block_rows, STREAMED_ROWS))
            arriving = arriving if known else self._probed(arriving, not output.known)
            return unfinished(
                divided(arriving, self.block_rows), output, self.request.out != STDOUT
            )
        if not known and output.known:
            return self._probed(self._read(self.block_rows, finished), False)
        if not known:
            self._probed(self._read(min(self.block_rows, PROBED)), True)
        return self._read(self.block_rows, finished)

    def _read(self, rows: int, finished: int = 0) -> Iterator[Range | BadPart]:
        """The data in ranges of so many rows."""
        return self.source.ranges(rows, finished, list(self.plan.columns.values()), self.plan.keep)

    def _probed(
        self, ranges: Iterator[Range | BadPart], sets_block: bool
    ) -> Iterator[Range | BadPart]:
        """The same ranges, of which enough have been looked at to know what a row gives, and how
        many rows make a block. That is the same on every device, and whoever gives the work away
        may have no GPU."""
        seen: list[Range | BadPart] = []
        computer = self._here()
        self.told = list(computer.compiled.facts.discarded)  # which the text tells, without a row
        for range in ranges:
            seen.append(range)
            block = read_range(self.plan, range)
            if isinstance(block, Outcome):
                continue
            fields, tile, rows = computer.probe(block, self.sizes)
            self._learn(fields, tile)
            if sets_block and self.request.block_rows is None:
                self.block_rows = self.summary.block_rows = min(self.block_rows, rows)
            if computer.first is not None:
                self.told = [*computer.compiled.facts.discarded, *computer.first.warnings.values()]
                self.notes = list(computer.first.notes)
            if fields or not computer.gives_columns:
                break
        return chain(seen, ranges)

    def _outcomes(self, ranges: Iterable[Range | BadPart]) -> Generator[Outcome, None, None]:
        request = self.request
        if request.workers:
            from .local import on_workers

            yield from on_workers(ranges, self.plan, request.workers)
            return
        if request.scheduler:
            from .cluster import client_for, on_cluster

            paths = [] if request.data == STDIN else self.source.paths
            with client_for(request.scheduler, paths) as client:
                yield from on_cluster(ranges, self.plan, client)
            return
        if len(self.devices) == 1 and not is_gpu(request.options.device):
            blocks = in_advance(ranges, partial(read_range, self.plan))
            here = self._here()
            if here.is_native:
                # Machine code leaves the interpreter to others, so blocks are written meanwhile.
                computer = Computer(here.plan, self.node, here.kernels)
                yield from in_advance(blocks, computer.done)
            else:
                yield from map(here.done, blocks)
        elif self._forks():
            yield from in_processes(
                ranges, self._here().work, len(self.devices), self._here().room(self.block_rows)
            )
        else:
            kernels = None if is_gpu(request.options.device) else self._here().kernels
            yield from in_threads(
                ranges, [partial(self._worker, device, kernels) for device in self.devices]
            )

    def _worker(self, device: str, kernels: Kernels | None) -> Callable[[Range | BadPart], Outcome]:
        return Computer(self._on(device), self.node, kernels).work

    def _here(self) -> Computer:
        """Who computes on this process's core, or on those of its forks: by the plan as far as it
        is known, with one compiled program."""
        plan = self._on("cpu")
        if self._computer is None:
            self._computer = Computer(plan, self.node)
        self._computer.plan = plan
        return self._computer

    def _on(self, device: str) -> Plan:
        return replace(self.plan, options=self.plan.options.with_changes(device=device))


def _block_rows(source: Source, most: int) -> int:
    """Rows of a block: fewer than what suits the device where they are long."""
    width = max(1, len(source.columns))
    if source.rows and source.bytes:
        width = max(width, source.bytes // (8 * source.rows))
    return max(min(most, LEAST_ROWS), min(most, BLOCK_NUMBERS // width))


def _fitted(outcome: Outcome, fields: tuple[Field, ...]) -> Outcome:
    """The outcome in the columns of the job, which others may have made wider."""
    if outcome.fields == fields:
        return outcome
    first = len(outcome.columns) - len(outcome.fields)  # after those that were kept
    own = {field.name: field for field in fields}
    columns = [part for column in outcome.columns[first:] for part in fitted(column, own)]
    return outcome._replace(columns=[*outcome.columns[:first], *columns])
