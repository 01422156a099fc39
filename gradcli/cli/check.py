"""`gradcli check`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .. import report
from ..diagnostics import Diagnostic, GradcliError
from ..platform.collector import collect_rarely
from . import given, limits, options, output
from .faults import diagnosed
from .programs import programs, verify_apart
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.check.results import Check

Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Also compare with the gradients in this file (.json .npz .csv).",
    ),
]
AgainstCommand = Annotated[
    str | None,
    typer.Option(
        "--against-command",
        metavar="CMD",
        help=(
            "Also compare with the gradients of this program, which reads inputs and prints "
            "gradients as JSON."
        ),
    ),
]
CommandTimeout = Annotated[
    float,
    typer.Option(
        "--command-timeout",
        metavar="SECONDS",
        min=0.001,
        callback=options.finite,
        help="Time limit of the program of --against-command, at each point.",
    ),
]
Strict = Annotated[
    bool | None,
    typer.Option(
        "--strict/--no-strict",
        help="Fail if no independent method confirms a gradient (default: strict if CI=true).",
        show_default=False,
    ),
]
AllowNonfinite = Annotated[
    bool,
    typer.Option(
        "--allow-nonfinite", help="Don't fail on values and gradients that are nan or infinite."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        metavar="NAME,...",
        help="Use only these methods: forward, complex, differences, taylor, sympy.",
    ),
]


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    against: Against = None,
    against_command: AgainstCommand = None,
    command_timeout: CommandTimeout = 60.0,
    methods: Methods = None,
    points: Annotated[
        int,
        typer.Option(
            "--points",
            metavar="N",
            min=0,
            help="Also check at N random points of the declared domains.",
        ),
    ] = 0,
    order: Annotated[
        int,
        typer.Option(
            "--order", metavar="1|2", min=1, max=2, help="With 2, also check second derivatives."
        ),
    ] = 1,
    rtol: Annotated[
        float | None,
        typer.Option(
            "--rtol",
            metavar="X",
            min=0,
            callback=options.finite,
            help="Relative tolerance (default: derived from the errors of the methods).",
        ),
    ] = None,
    atol: Annotated[
        float | None,
        typer.Option(
            "--atol",
            metavar="X",
            min=0,
            callback=options.finite,
            help="Absolute tolerance (default: derived from the errors of the methods).",
        ),
    ] = None,
    inconclusive: Annotated[
        Literal["pass", "fail"],
        typer.Option(
            "--inconclusive", metavar="pass|fail", help="Whether a gradient at a kink passes."
        ),
    ] = "pass",
    strict: Strict = None,
    allow_nonfinite: AllowNonfinite = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Check N files in parallel (default: one per core)."
        ),
    ] = None,
    dtype: options.Dtype = "float64",
    seed: options.Seed = 0,
    format: Annotated[
        Literal["text", "json", "junit", "github", "sarif", "html"] | None,
        typer.Option("--format", metavar="text|json|junit|github|sarif|html", help=options.FORMAT),
    ] = None,
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
    """Verify gradients: compare them with every other method.

    Reverse mode is compared with each that applies: forward mode, the complex step, finite
    differences with an error estimate, the order of the Taylor remainder, and SymPy's derivative
    with 50 digits. If a gradient is wrong, check names the operation whose derivative rule is
    wrong. A gradient that only forward mode confirms is undecided. A check that verifies nothing
    fails.

    \b
    Examples:
      gradcli check -e 'erf(x) * tanh(x)' --set x=0.8
      gradcli check -e 'var k = 0.5 in (0.1, 5.0); y = log(k)**2' --points 5 --order 2
      gradcli check -e 'var x = 2.0; y = x**3; expect y == 8.0' --format junit
      gradcli check . --jobs 2 --strict
      gradcli check . --format html -o report.html
      gradcli check -e 'var x = 2.0; y = x**2' --against-command "echo '{\\"x\\": 4.0}'"
    """
    collect_rarely()
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, report.CHECK_FORMATS)
    if watch:
        from .watching import watch as watch_files

        return watch_files(files, expr, Terminal(color, quiet))
    terminal = Terminal(color, quiet, verbose)
    style = terminal.style(output_file)
    from ..tasks.check.checking import check_all
    from ..tasks.check.methods import methods_of
    from ..tasks.check.results import Check, CheckOptions, in_ci
    from ..tasks.evaluation import Options

    wanted = CheckOptions(
        run=Options(
            of=given.names(of),
            wrt=given.names(wrt),
            dtype=dtype,
            seed=seed,
            max_steps=max_steps,
            max_memory=limits.parse_memory(max_memory),
            tracks=bool(timeout or max_memory),
            ignore_extra=ignore_extra,
            mode="reverse",
        ),
        methods=methods_of(given.names(methods)),
        points=points,
        order=order,
        rtol=rtol,
        atol=atol,
        lenient=inconclusive == "pass",
        strict=in_ci() if strict is None else strict,
        nonfinite=allow_nonfinite,
        against=against,
        command=_words(against_command),
        patience=command_timeout,
    )
    names = programs(files, expr)
    checks: list[Check] = []

    def tell(*errors: Diagnostic) -> int:
        at = names[min(len(checks), len(names) - 1)]
        stopped = (
            [Check("<stdin>" if at == "-" else at, diagnostics=list(errors))] if errors else []
        )
        return _tell([*checks, *stopped], form, style, terminal, output_file)

    try:
        with limits.limited(limits.parse_timeout(timeout), wanted.run.max_memory, tell):
            for check in check_all(
                names,
                expr,
                given.values(set_, inputs, names),
                wanted,
                1 if wanted.run.tracks else jobs,
                None if traceback else diagnosed,
            ):
                checks.append(check)
    except GradcliError as error:
        return tell(*error.diagnostics)
    return tell()


def _tell(
    checks: list[Check], format: str, style: report.Style, terminal: Terminal, path: str | None
) -> int:
    """Prints everything, answers first; returns the exit code."""
    from ..tasks.check.results import nothing_in_all

    if (nothing := nothing_in_all(checks)) is not None:
        checks[0].diagnostics.append(nothing)
    try:
        output.write(
            report.render_checks(format, checks, style),
            path,
            style.color,
            commands=format == "github",
        )
    finally:
        for diagnostic in [d for check in checks for d in check.diagnostics]:
            terminal.diagnostic(diagnostic)
    if path not in (None, "-") or format not in ("text", "github"):
        for line in report.summary_of_checks(checks):
            terminal.summary(line)
    return max([check.exit_code for check in checks], default=0)


def _words(command: str | None) -> tuple[str, ...]:
    """The program and its arguments in a command, split as a shell splits words. Raises
    GradcliError (E001)."""
    if command is None:
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise GradcliError(
            Diagnostic("E001", f"--against-command: {error}", help="quotes come in pairs")
        ) from None
    if not words:
        raise GradcliError(
            Diagnostic(
                "E001",
                "--against-command: no program",
                help="write `--against-command './gradient'`",
            )
        )
    return words
