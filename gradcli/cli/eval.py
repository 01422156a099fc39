"""`gradcli eval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from .. import report
from ..diagnostics import Diagnostic, GradcliError
from . import given, limits, output
from .faults import contained
from .programs import programs, verify_apart
from .terminal import Terminal

if TYPE_CHECKING:  # what its annotations need besides: `load_command` knows it
    import typer

    from ..tasks.evaluation import Evaluation, Options
    from . import options

MAX_FAILED = 20  # failed expectations that are shown; all are in the JSON

SECONDS = 10.0  # for simplification; no more than half of what --timeout allows

Stage = Literal["ast", "program", "ir", "llvm", "trace"]


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    no_grad: options.NoGrad = False,
    jacobian: options.Jacobian = False,
    hessian: options.Hessian = False,
    hessian_blocks: options.HessianBlocks = False,
    sparse: options.Sparse = False,
    mode: options.Mode = "auto",
    unconnected: options.Unconnected = "none",
    closed_form: Annotated[
        bool,
        typer.Option(
            "--closed-form",
            help="Add the closed form of each value and gradient, simplified by SymPy.",
        ),
    ] = False,
    debug_nan: options.DebugNan = False,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    threads: options.Threads = 1,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat", metavar="N", min=1, help="Run N times; timings are in the JSON output."
        ),
    ] = 1,
    show: Annotated[
        Literal["ast", "program", "ir", "llvm", "trace"] | None,
        typer.Option(
            "--show",
            metavar="ast|program|ir|llvm|trace",
            help="Print a stage of the work instead of the results.",
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json", "jsonl", "csv", "npz", "parquet"] | None,
        typer.Option("--format", metavar="text|json|jsonl|csv|npz|parquet", help=options.FORMAT),
    ] = None,
    precision: Annotated[
        int | None,
        typer.Option(
            "--precision", metavar="N", min=1, max=17, help="Significant digits in text output."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show long vectors in full in text output.")
    ] = False,
    output_file: options.Output = None,
    watch: options.Watch = False,
    max_steps: options.MaxSteps = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    traceback: options.Traceback = False,
) -> int:
    """Run programs; print their outputs and gradients.

    Each output is differentiated with respect to each trainable variable; --of and --wrt select
    others. If an output isn't a scalar, its gradient and Hessian are those of the sum of its
    elements.

    \b
    Examples:
      gradcli eval -e 'x**2 * sin(y)' --set x=3 --set y=0.5
      gradcli eval -e 'var x = 3.0; y = x**2' --format json
      gradcli eval -e 'var x = [1.0, 2.0]; y = x * x[0]' --jacobian --hessian
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, report.FORMATS)
    if watch:
        from .watching import watch as watch_files

        return watch_files(files, expr, Terminal(color, quiet))
    if form in ("npz", "parquet") and output_file is None:
        message = f"--format {form} needs a file"
        raise GradcliError(Diagnostic("E001", message, help=f"add `-o FILE.{form}`"))
    from ..tasks.evaluation import (
        Options,
    )  # here, so that `--help` doesn't pay for what runs programs

    job = _Job(Terminal(color, quiet, verbose), form, precision, show, output_file, full)
    try:
        wanted = Options(
            of=given.names(of),
            wrt=given.names(wrt),
            grad=not no_grad,
            jacobian=jacobian,
            hessian=hessian,
            hessian_blocks=hessian_blocks,
            sparse=sparse,
            mode=mode,
            unconnected=unconnected,
            debug_nan=debug_nan,
            dtype=dtype,
            device=device,
            seed=seed,
            threads=threads,
            max_steps=max_steps,
            max_memory=limits.parse_memory(max_memory),
            tracks=bool(timeout or max_memory),
            repeat=repeat,
            closed_form=min(SECONDS, (timeout or 2 * SECONDS) / 2) if closed_form else 0.0,
            ignore_extra=ignore_extra,
        )
        names = programs(files, expr)
        with limits.limited(
            limits.parse_timeout(timeout), wanted.max_memory, job.fail, wanted.device
        ):
            values = given.values(set_, inputs, files)
            for name in names:
                job.run(name, expr, values, wanted)
    except GradcliError as error:
        return job.fail(*error.diagnostics)
    return job.tell()


class _Job:
    """One call of the command: the answers so far, and how they are told."""

    def __init__(
        self,
        terminal: Terminal,
        format: str,
        precision: int | None,
        show: Stage | None,
        path: str | None,
        full: bool,
    ) -> None:
        self.terminal, self.format, self.show, self.path = terminal, format, show, path
        self.style = terminal.style(path, precision, full)
        self.evaluations: list[Evaluation] = []
        self.stages: list[str] = []
        self.remarks: list[Diagnostic] = []
        self.current = ""

    def run(self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options) -> None:
        """Runs one program; what is wrong with it is part of its answer. A limit ends the job."""
        self.current = name
        try:
            with contained(name):
                self._run(name, expr, values, wanted)
        except GradcliError as error:
            if error.exit_code == 4:
                raise
            self._reject(error.diagnostics)

    def _run(self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options) -> None:
        from ..tasks.programs import list_stage, parse_program, program_source

        source = program_source(name, expr)
        self.current = source.name
        if self.show == "ast" or self.show == "program":
            self.stages.append(list_stage(source, self.show))
            return
        program = parse_program(source, values)
        if self.show == "ir" or self.show == "llvm":
            from ..tasks.regions import list_regions

            self.stages.append(list_regions(program, values, self.show, wanted.dtype))
            return
        if self.show == "trace":
            self._trace(program, values, wanted)
            return
        from ..tasks.evaluate import evaluate  # an error in the program doesn't pay for the engine

        evaluation = evaluate(program, values, wanted)
        failed = [e.diagnostic for e in evaluation.expectations if e.diagnostic]
        self.remarks += failed[:MAX_FAILED]
        if len(failed) > MAX_FAILED:
            self.remarks.append(
                Diagnostic("E601", f"{len(failed) - MAX_FAILED} more expectations failed")
            )
        self._add(evaluation)

    def _trace(self, program: Any, values: Mapping[str, Any], wanted: Options) -> None:
        from ..report.traces import text
        from ..tasks.trace import trace

        traced = trace(program, values, wanted)
        self.stages.append(text([traced], self.style))
        if traced.diagnostics:
            self._reject(traced.diagnostics)

    def fail(self, *errors: Diagnostic) -> int:
        """Ends the job early with these errors of the program that was running, or of the command
        line."""
        self._reject(list(errors))
        return self.tell()

    def tell(self) -> int:
        """Prints everything, answers first; returns the exit code."""
        try:
            if self.show is None:
                answer = report.render(self.format, self.evaluations, self.style)
            else:
                answer = "".join(stage.rstrip() + "\n" for stage in self.stages)
            if answer:
                output.write(answer, self.path, self.style.color)
        finally:
            for remark in self.remarks:
                self.terminal.diagnostic(remark)
            for evaluation in self.evaluations:
                for note in evaluation.notes:
                    self.terminal.summary(f"note: {note}")
                for line in report.statistics(evaluation):
                    self.terminal.note(line)
        return max((e.exit_code for e in self.evaluations), default=0)

    def _reject(self, errors: list[Diagnostic]) -> None:
        from ..tasks.evaluation import Evaluation

        self._add(Evaluation(self.current, diagnostics=errors))

    def _add(self, evaluation: Evaluation) -> None:
        self.evaluations.append(evaluation)
        self.remarks += evaluation.diagnostics
