"""`gradcli batch`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from ..diagnostics import Diagnostic, GradcliError, printable
from . import given, limits, output
from .programs import program
from .progress import Bar
from .terminal import Terminal

if TYPE_CHECKING:  # what its annotations need besides: `load_command` knows it
    import typer

    from ..tasks.batch.job import Job
    from ..tasks.batch.request import Request
    from . import options

Format = Literal["csv", "tsv", "jsonl", "parquet", "arrow", "npy", "npz"]
OutFormat = Literal["csv", "tsv", "jsonl", "parquet", "arrow", "npy", "npz", "json", "text"]


def command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="The program; - reads standard input.", show_default=False
        ),
    ] = None,
    expr: options.Expression = None,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="DATA",
            help=(
                "The rows: a file, a folder or glob of part files, or - for standard input (the "
                "default in a pipe)."
            ),
        ),
    ] = None,
    rows_format: Annotated[
        Format | None,
        typer.Option(
            "--rows-format",
            metavar="FORMAT",
            help="Format of DATA, if neither its name nor its first bytes show it: csv, jsonl, …",
        ),
    ] = None,
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help=(
                "Write the results to this file, atomically; - writes to standard output (the "
                "default)."
            ),
        ),
    ] = None,
    out_format: Annotated[
        OutFormat | None,
        typer.Option(
            "--out-format",
            metavar="FORMAT",
            help=(
                "Format of OUT, if its name doesn't show it (default on standard output: that of "
                "DATA); json and text are for --reduce."
            ),
        ),
    ] = None,
    compression: Annotated[
        Literal["none", "snappy", "zstd"] | None,
        typer.Option(
            "--compression",
            metavar="none|snappy|zstd",
            help="Compression of a Parquet file (default: zstd).",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN,...", help="Copy these columns to OUT."),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="COLUMN=NAME", help="Let this column set the declaration NAME."
        ),
    ] = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    no_grad: options.NoGrad = False,
    reduce: Annotated[
        Literal["sum", "mean"] | None,
        typer.Option(
            "--reduce", metavar="sum|mean", help="Write one row: the sum or mean over all rows."
        ),
    ] = None,
    nan: Annotated[
        Literal["keep", "error"],
        typer.Option(
            "--nan", metavar="keep|error", help="With error, reject rows whose results have a nan."
        ),
    ] = "keep",
    on_error: Annotated[
        Literal["reject", "fail"],
        typer.Option(
            "--on-error", metavar="reject|fail", help="With fail, stop at the first row that fails."
        ),
    ] = "reject",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted job.")] = False,
    device: Annotated[
        str,
        typer.Option(
            "--device", metavar="cpu|cuda|cuda:N|cuda:all", help="The device that computes rows."
        ),
    ] = "cpu",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help=(
                "Compute N blocks in parallel on this machine (default: one per core, two per GPU)."
            ),
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, help="Use N local worker processes."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Use a Dask cluster: its address, or the file that its scheduler wrote.",
        ),
    ] = None,
    block_rows: Annotated[
        int | None,
        typer.Option(
            "--block-rows",
            metavar="N",
            min=1,
            help="Number of rows in a block, which is read, computed and written as one.",
        ),
    ] = None,
    report_file: Annotated[
        str | None,
        typer.Option(
            "--report", metavar="FILE", help="Also write the summary to this file, as JSON."
        ),
    ] = None,
    dtype: options.Dtype = "float64",
    seed: options.Seed = 0,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            metavar="N",
            min=1,
            help="Reject a row that executes more than N statements.",
        ),
    ] = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    traceback: options.Traceback = False,
) -> int:
    """Run one program for every row of data; write results as rows.

    Every declaration that needs a value is read from a column: `x`, or `x.0`, `x.1` for the
    elements of a vector. The ending of a file selects its format: .csv .tsv .jsonl .parquet .arrow
    .feather .npy .npz. In a pipe, rows come from standard input, and results are printed in the
    same format. Rows that fail are written to OUT.rejects.jsonl, and the exit code is then 6.

    \b
    Examples:
      printf 'x,y\\n3,0.5\\n1,2\\n' | gradcli batch -e 'x**2 * sin(y)'
      printf '{"a": 2}\\n{"a": 7}\\n' | gradcli batch -e 'var a; y = a**3' --out-format csv
      printf 'price\\n3.5\\n4.5\\n' | gradcli batch -e 'log(price)' --reduce mean
    """
    from ..platform.blas import one_thread

    one_thread()  # before NumPy is loaded
    terminal = Terminal(color, quiet, verbose)
    from ..tasks.batch.plan import parse_renamings
    from ..tasks.batch.request import Request
    from ..tasks.evaluation import Options

    if rows is None and sys.stdin.isatty():
        help = "name it: `--rows data.csv`, or send it: `cat data.csv | gradcli batch …`"
        raise GradcliError(Diagnostic("E001", "batch has no data", help=help))
    rows, out = rows or "-", output_file or "-"
    _verify_together(
        (
            reduce and keep,
            "--keep with --reduce",
            "a reduction has one row for all, which has no keys",
        ),
        (
            resume and out == "-",
            "--resume with -o -",
            "what went to standard output is gone; write to a file",
        ),
        (
            out_format in ("json", "text") and not reduce,
            f"--out-format {out_format} without --reduce",
            "rows can be written as csv, tsv, jsonl, parquet, arrow, npy or npz",
        ),
        (workers and scheduler, "--workers with --scheduler", "the cluster has workers of its own"),
        (
            threads and (workers or scheduler),
            "--threads with workers",
            "a worker computes as many blocks at a time as it has threads",
        ),
        (
            report_file == "-" == out,
            "-o - with --report -",
            "both are standard output; name a file for one",
        ),
    )
    if report_file is not None:
        output.verify_writable(report_file)
    wanted = Options(
        of=given.names(of),
        wrt=given.names(wrt),
        grad=not no_grad,
        dtype=dtype,
        seed=seed,
        device=device,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        ignore_extra=ignore_extra,
        mode="reverse",
    )
    request = Request(
        data=rows,
        out=out,
        options=wanted,
        rows_format=rows_format,
        out_format=out_format,
        compression=compression or "",
        shared=given.values(set_, inputs, [file, rows]),
        renamed=parse_renamings(given.names(map_)),
        keep=given.names(keep),
        nan=nan,
        reduce=reduce or "",
        fails=on_error == "fail",
        resume=resume,
        threads=threads,
        workers=workers,
        scheduler=scheduler,
        block_rows=block_rows,
        report=report_file,
    )
    return _run(
        _job(program(file, expr), expr, request),
        request,
        terminal,
        limits.parse_timeout(timeout),
    )


def _verify_together(*refused: tuple[object, str, str]) -> None:
    """Raises GradcliError (E001) for options that can't be asked for at once: the first of which
    the condition holds."""
    for condition, message, help in refused:
        if condition:
            raise GradcliError(Diagnostic("E001", message, help=help))


def _job(name: str, expr: str | None, request: Request) -> Job:
    from dataclasses import replace
    from functools import partial

    from .. import report
    from ..tasks.batch.job import Job
    from ..tasks.programs import parse_program, program_source

    if name == "-" == request.data:
        raise GradcliError(
            Diagnostic(
                "E001",
                "the program and the data are both standard input",
                help="name a file for one",
            )
        )
    node = parse_program(program_source(name, expr), request.shared)
    return Job(node, replace(request, tell=partial(report.batch_answer, node.source.name)))


def _run(job: Job, request: Request, terminal: Terminal, timeout: float | None) -> int:
    """Does the job under its limits; what it finished, and how it goes on, is told whatever ends
    it."""
    from .. import report

    bar = Bar(
        not terminal.quiet and not (request.out == "-" and terminal.interactive),
        terminal.color_errors,
    )

    def fail(*errors: Diagnostic) -> None:
        bar.close()
        for error in errors:
            terminal.diagnostic(error)
        if request.out != "-" and job.summary.rows:
            how = "with --resume, the same command goes on from there"
            terminal.summary(
                f"{job.summary.rows:,} rows are finished and kept in "
                f"{printable(request.out)}.partial: {how}"
            )

    def account() -> None:
        for diagnostic in job.told:
            terminal.diagnostic(diagnostic)
        for note in job.notes:
            terminal.summary(f"note: {note}")
        if request.report is not None:
            output.write(report.batch_json(job.summary), request.report)
        terminal.note(report.batch_statistics(job.summary))

    def last_words(reached: Diagnostic) -> None:
        fail(reached)
        account()

    grace = limits.GRACE_OF_PROCESSES if request.scheduler else limits.GRACE
    limited = limits.limited(
        timeout, request.options.max_memory, last_words, request.options.device, grace
    )
    try:
        with bar, limited:
            summary = job.run(bar.tell)
    except GradcliError as error:
        fail(*error.diagnostics)
        return error.exit_code
    except KeyboardInterrupt:
        fail()
        raise
    finally:
        account()
    if job.answer is not None:
        answer = report.batch_answer(
            job.node.source.name, job.answer, job.format.name, terminal.style()
        )
        output.write(answer, None, terminal.color)
    terminal.summary(
        report.batch_line(summary, "" if request.out == "-" else f"{request.out}.rejects.jsonl")
    )
    return summary.exit_code
