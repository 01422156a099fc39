"""`check`: one program, at its declared values and at random points of its domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span
from ...engine.analysis.discarded import discarded
from ...engine.execution import Execution, running
from ...engine.replay.history import History
from ...engine.trace.run import Expectation
from ...lang import program
from ...platform.arranging import arrange
from ...platform.blas import one_thread
from ...platform.collector import collect_rarely, collect_young, collector_paused, keep_for_good
from ..answer import verify_inputs
from ..domains import declared_domains, failed_at, no_points, random_points, shown
from ..each import Diagnoses, each
from ..evaluation import Options
from ..programs import expected_lines, parse_program, program_source
from .asked import asked_for, broken_claims
from .blame import blame
from .cases import check_case, compared
from .connected import check_connections, without_floats
from .finite import nonfinite_others
from .given import command, comparing, reading
from .linearity import blame_rule, nonlinear_call
from .path import Conditions
from .paths import Paths
from .point import Point
from .program import Program
from .results import AGREE, DISAGREE, RULES, Check, CheckOptions, Finding

FILES_A_PROCESS = 4


def check_all(
    names: Sequence[str],
    expr: str | None,
    inputs: Mapping[str, Any],
    options: CheckOptions,
    jobs: int | None = None,
    diagnoses: Diagnoses | None = None,
) -> Iterator[Check]:
    """Checks the programs in these files (`-` is standard input; with `expr` that is the one
    program), in their order, on `jobs` processes (None: as many as there are cores, where there are
    files enough)."""
    work = partial(check_file, expr=expr, inputs=inputs, options=options)
    return each(
        work, names, _failed, diagnoses, jobs=jobs, files_a_process=FILES_A_PROCESS, begin=_begin
    )


def _begin() -> None:
    """What a process does before it checks anything."""
    arrange()
    one_thread()
    keep_for_good()
    collect_rarely()


@collector_paused()
def check_file(
    name: str, expr: str | None, inputs: Mapping[str, Any], options: CheckOptions
) -> Check:
    """Checks the program in one file; what is wrong with it is a diagnostic of the answer."""
    try:
        source = program_source(name, expr)
        return check(parse_program(source, inputs), inputs, options)
    except GradcliError as error:
        if error.exit_code == 4 and error.diagnostics[0].code not in command.CODES:
            raise  # the limit is that of all files
        return _failed(name, error.diagnostics)


def _failed(name: str, errors: list[Diagnostic]) -> Check:
    return Check("<stdin>" if name == "-" else name, diagnostics=errors)


def check(node: program.Program, inputs: Mapping[str, Any], options: CheckOptions) -> Check:
    """Compares every gradient of a program with what each method says.

    What is wrong with the program is a diagnostic of the answer. Raises GradcliError for inputs
    that don't fit it, and for a file or a command that gives no gradients to compare with.
    """
    found = Check(node.source.name, lenient=options.lenient, strict=options.strict)
    verify_inputs(node, inputs, options.run.ignore_extra)
    compiled = Program(node, options.run)
    found.diagnostics += discarded(node)
    try:
        point = Point(compiled, inputs)
        found.expectations = list(point.run.expectations)
        found.declares = bool(point.answer.sources) or not compiled.asks_for_nothing
        for case in point.cases:
            check_case(case, options, found, 0)
        check_connections(point, found)
        _check_others(point, options, found, 0)
        if options.against is not None:
            given = reading.read_file(options.against, node.source.name)
            _add_given(found, comparing.compare(point, given, options))
        if options.command:
            _add_given(found, _asked_of_command(point, options))
        if options.order == 2:
            found.expectations += broken_claims(point)
        if options.points:
            _check_points(point, options, found)
        if any(case.gradients for case in point.cases):
            with running():
                found.path = Conditions(point).path()
            found.path.computed = _computed(point)
        point.release()
    except GradcliError as error:
        if all(d.code.startswith("E0") or d.code in command.CODES for d in error.diagnostics):
            raise
        found.diagnostics += error.diagnostics
    return found


def _computed(point: Point) -> dict[Span, int]:
    """How many operations between the variables and the outputs there are, by their place."""
    found = {step.number: step.site.span for case in point.cases for step in case.history.steps}
    return Counter(found.values())


def _check_others(point: Point, options: CheckOptions, found: Check, number: int) -> None:
    """Checks, at the point of that number, what has no gradient: other outputs, and derivatives
    that the program asks for itself."""
    begin = len(found.findings)
    found.findings += nonfinite_others(point, options)
    if not point.program.asks_for_nothing:
        _check_asked(point, found)
    for finding in found.findings[begin:]:
        finding.point = number


def _check_asked(point: Point, found: Check) -> None:
    """Checks the rules behind the derivatives that the program asks for, each at its actual
    operands."""
    with running():
        run, sweeps = point.sweeps()
        outputs = [part for case in point.cases for part in case.history.targets]
        places, doubts, broken = asked_for(run, sweeps, outputs)
        histories = (
            History(run, targets, wanted) for targets, wanted in (sweeps if run.rules else ())
        )
        fault = next(filter(None, map(nonlinear_call, histories)), None)
    if not places:
        return
    blamed = [blame(RULES, doubt) for doubt in doubts[:1]]
    if fault is not None:
        blamed.append(blame_rule(RULES, *fault))
    blamed += [blame_rule(RULES, *call) for call in broken[:1]]
    finding = Finding(RULES, "", "rules", DISAGREE if blamed else AGREE, theirs=float(places))
    finding.span = blamed[0].span if blamed else None
    found.findings.append(finding)
    found.blamed += [b for b in blamed if b not in found.blamed]


# ---- gradients from elsewhere --------------------------------------------------------------------


def _asked_of_command(point: Point, options: CheckOptions, number: int = 0) -> list[Finding]:
    """Asks the user's program for the gradients at a point, and compares them."""
    findings = command.ask(options, point)
    for finding in findings:
        finding.point = number
    return findings


def _add_given(found: Check, findings: list[Finding]) -> None:
    spans = {finding.output: finding.span for finding in found.findings}
    for finding in findings:
        finding.span = spans.get(finding.output)
    found.findings += findings


# ---- random points -------------------------------------------------------------------------------


def _check_points(declared: Point, options: CheckOptions, found: Check) -> None:
    """Checks a program at random points of its domains: together where that is possible, else one
    by one."""
    domains = declared_domains(declared.program.compiled, declared.inputs)
    points = list(random_points(domains, options.points, options.run.seed))
    if not points[0]:
        found.notes.append(no_points(domains))
        return
    compare = partial(compared, options=options) if options.order == 1 else None
    paths = Paths(declared, points, found.findings, compare)
    # What a run for all points doesn't tell.
    needs_run = (
        options.command
        or not declared.program.asks_for_nothing
        or declared.answer.outputs.keys() - declared.answer.targets
    )
    expects = bool(expected_lines(declared.program.node))
    failed: list[tuple[Expectation, int, Mapping[str, Any]]] = []
    for number, values in enumerate(points, 1):
        found.points.append(values)
        try:
            findings, begin = paths.findings(number - 1), len(found.findings)
            for finding in findings or ():
                finding.point = number
            found.findings += findings or ()
            if findings is not None and not needs_run:
                expectations = _expectations(declared, values) if expects else []
            else:
                inputs, leader = {**declared.inputs, **values}, paths.leader(number - 1)
                point = Point(declared.program, inputs, leader, values)
                expectations = list(point.run.expectations)
                for case in point.cases if findings is None else ():
                    check_case(case, options, found, number)
                _check_others(point, options, found, number)
                if options.command:
                    _add_given(found, _asked_of_command(point, options, number))
                if not paths.lead(number - 1, point, found.findings[begin:]):
                    point.release()
                del point
                collect_young()
        except GradcliError as error:
            first = error.diagnostics[0]
            if first.code in command.CODES:
                message = f"{first.message}, at point {number} ({shown(values)})"
                raise GradcliError(replace(first, message=message)) from None
            found.diagnostics.append(replace(failed_at(first, number, values), code="E612"))
            continue
        failed += [(e, number, values) for e in expectations if not e.passed]
    paths.release()
    found.expectations += _failed_expectations(failed)


def _expectations(declared: Point, values: Mapping[str, Any]) -> list[Expectation]:
    """Evaluates the program's `expect` statements with other values of its variables."""
    execution = Execution(declared.program.compiled, {**declared.inputs, **values}).execute()
    execution.release()
    return execution.run.expectations


def _failed_expectations(
    failed: Sequence[tuple[Expectation, int, Mapping[str, Any]]],
) -> Iterator[Expectation]:
    """The first failure at random points of each `expect`, with a message that says where."""
    for line in dict.fromkeys(expectation.line for expectation, _, _ in failed):
        points = {number: (e, values) for e, number, values in reversed(failed) if e.line == line}
        number = min(points)
        (expectation, values), more = points[number], len(points) - 1
        place = f" at point {number} ({shown(values)})" + (f", and at {more} more" if more else "")
        said = expectation.diagnostic
        diagnostic = replace(said, message=said.message + place) if said is not None else None
        yield replace(expectation, message=expectation.message + place, diagnostic=diagnostic)


def derivatives_of(node: program.Program) -> list[tuple[str, str]]:
    """The derivatives that a check of a program is about, by output and variable. Raises
    GradcliError where it fails."""
    point = Point(Program(node, Options(mode="reverse")), {})
    asks = point.run.trace.swept or point.run.compiled.facts.asks_by_builtins
    asked = [(RULES, "")] if asks else []
    pairs = [(case.output, variable) for case in point.cases for variable in case.gradients]
    pairs += without_floats(point) + asked
    point.release()
    return pairs
