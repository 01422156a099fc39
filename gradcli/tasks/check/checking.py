"""`check`: one program, at its declared values and at random points of its domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, repeat
from typing import Any

from ...collector import collect_rarely, collect_young, collector_paused, keep_for_good
from ...diagnostics import GradcliError
from ...engine.history import ValueTrace
from ...engine.values import Variable
from ...lang import program
from ...recursion import in_one_piece
from ..cores import cores, one_thread
from ..evaluate import verify_inputs
from ..evaluation import Options
from ..programs import parse_program, program_source
from . import second
from .blame import asked_for, blame, wrong_steps
from .domains import random_points
from .kinks import kinks
from .path import Conditions
from .point import MANY_ROWS, Case, Direction, Point, Program, quiet
from .points import findings_together
from .results import AGREE, DISAGREE, INCONCLUSIVE, RULES, SKIPPED, Check, CheckOptions, Finding
from .second import SecondJudge
from .verdicts import Judge

FILES_A_PROCESS = 4
MANY_VARIABLES = 6  # of which there are 15 pairs


def check_all(
    names: Sequence[str], expr: str | None, inputs: Mapping[str, Any], options: CheckOptions, jobs: int | None = None
) -> Iterator[Check]:
    """Checks the programs in these files (`-` is standard input; with `expr` that is the one program), in their order, on
    `jobs` processes (None: as many as there are cores, where there are files enough)."""
    work = partial(check_file, expr=expr, inputs=inputs, options=options)
    jobs = jobs or max(1, min(cores(), len(names) // FILES_A_PROCESS))
    if jobs == 1 or len(names) < 2 or "-" in names:
        yield from map(work, names)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    with ProcessPoolExecutor(min(jobs, len(names)), context, initializer=_begin) as pool:
        yield from pool.map(work, names)


def _begin() -> None:
    """What a process does before it checks anything."""
    one_thread()
    keep_for_good()
    collect_rarely()


@collector_paused()
def check_file(name: str, expr: str | None, inputs: Mapping[str, Any], options: CheckOptions) -> Check:
    """Checks the program in one file; what is wrong with it is a diagnostic of the answer."""
    try:
        source = program_source(name, expr)
        return check(parse_program(source, inputs), inputs, options)
    except GradcliError as error:
        if error.exit_code == 4:
            raise
        return Check("<stdin>" if name == "-" else name, diagnostics=error.diagnostics)


@in_one_piece
def check(node: program.Program, inputs: Mapping[str, Any], options: CheckOptions) -> Check:
    """Compares every gradient of a program with what each method says.

    What is wrong with the program is a diagnostic of the answer. Raises GradcliError for inputs that don't fit it.
    """
    found = Check(node.source.name, lenient=options.lenient)
    verify_inputs(node, inputs, options.run.ignore_extra)
    compiled = Program(node, options.run)
    try:
        point = Point(compiled, inputs)
        found.expectations = point.run.expectations
        for case in point.cases:
            _check_case(case, options, found, 0)
        if not compiled.asks_for_nothing:
            _check_asked(point, found)
        if options.points:
            _check_points(point, options, found)
        if options.against is not None:
            from . import against

            spans = {finding.output: finding.span for finding in found.findings}
            for finding in against.compare(point, options.against, options):
                finding.span = spans.get(finding.output)
                found.findings.append(finding)
        if any(case.gradients for case in point.cases):
            with quiet():
                found.path = Conditions(point).path()
        point.release()
    except GradcliError as error:
        if all(d.code.startswith("E0") for d in error.diagnostics):
            raise
        found.diagnostics += error.diagnostics
    return found


def _check_asked(point: Point, found: Check) -> None:
    """The rules behind the derivatives that the program itself asks for, each at its actual operands."""
    with quiet():
        places, doubts = asked_for(*point.sweeps())
    if not places:
        return
    blamed = [blame(RULES, doubt) for doubt in doubts[:1]]
    verdict = DISAGREE if blamed else AGREE
    finding = Finding(RULES, "", "rules", verdict, theirs=float(places))
    finding.span = blamed[0].span if blamed else None
    found.findings.append(finding)
    found.blamed += blamed


def _check_points(declared: Point, options: CheckOptions, found: Check) -> None:
    """The same at random points of the domains: together where that can be done, one by one where it can't."""
    points = list(random_points(declared, options.points))
    if not points[0]:
        found.notes.append("no random points: no variable has a domain; declare one with `var x = 0.5 in (0.0, 1.0)`")
        return
    together: Iterator[list[Finding] | None] = repeat(None)
    if options.order == 1 and not any(_is_held(case) or _is_slow(case) for case in declared.cases):
        spans = {finding.output: finding.span for finding in found.findings}
        together = findings_together(declared, points, found.findings, partial(_compared, options))
    for number, (values, findings) in enumerate(zip(points, together, strict=False), 1):
        found.points.append(values)
        if findings is not None:
            for finding in findings:
                finding.point, finding.span = number, spans.get(finding.output)
            found.findings += findings
            continue
        try:
            point = Point(declared.program, {**declared.inputs, **values})
            for case in point.cases:
                _check_case(case, options, found, number)
            point.release()
            del point
            collect_young()
        except GradcliError as error:
            found.notes.append(f"at point {number} the program fails: {error.diagnostics[0].message}")


def _compared(options: CheckOptions, case: Case) -> list[Finding]:
    """The findings about one output, as the methods have them."""
    findings = []
    for variable in case.gradients:
        judges = [Judge(case, direction, options) for direction in case.directions(variable)]
        findings += _summed_up([{method: judge.finding(method) for method in options.methods} for judge in judges])
    return findings


def _summed_up(rows: list[dict[str, Finding]]) -> list[Finding]:
    """A finding for each method, of those on several directions."""
    findings = [_worst([row[method] for row in rows]) for method in rows[0]] if rows else []
    _confirm_forward(findings)
    return findings


def differentiated(node: program.Program) -> list[tuple[str, str]]:
    """The outputs of a program, each with the variables that it has gradients by. Raises GradcliError where it fails."""
    point = Point(Program(node, Options(mode="reverse")), {})
    pairs = [(case.output, variable) for case in point.cases for variable in case.gradients]
    point.release()
    return pairs


def _check_case(case: Case, options: CheckOptions, found: Check, number: int) -> None:
    """All findings about one output."""
    is_held = _is_held(case)
    begin = len(found.findings)
    for variable in case.gradients:
        judges = [_judge(case, direction, options, is_held) for direction in case.directions(variable)]
        rows = [{method: judge.finding(method) for method in options.methods} for judge in judges]
        if any(f.verdict in (DISAGREE, INCONCLUSIVE) for row in rows for f in row.values()):
            _explain(case, judges, rows, found)
        findings = _summed_up(rows)
        if options.order == 2:
            with quiet():
                twice = [SecondJudge(judge) for judge in judges]
            findings += _second(case, (variable,), twice, _inapplicable(findings), options, found)
        found.findings += findings
    if options.order == 2:
        for variable, others in _mixed(list(case.gradients)):
            pairs = case.pairs(variable, others)
            on_trace = is_held or any(_is_unsettable(case, other) for other in others)
            with quiet():
                mixed = [SecondJudge(_judge(case, a, options, on_trace), bs) for a, bs in pairs]
            apply_not = _inapplicable([f for f in found.findings[begin:] if f.variable in (variable, *others)])
            found.findings += _second(case, (variable, *others), mixed, apply_not, options, found)
    span = case.history.steps[-1].site.span if case.history.steps else None
    for finding in found.findings[begin:]:
        finding.point, finding.span = number, span


def _judge(case: Case, direction: Direction, options: CheckOptions, on_trace: bool) -> Judge:
    """The methods on a direction; `on_trace`: differences are to be taken along the trace."""
    judge = Judge(case, direction, options)
    if on_trace or _is_slow(case) or _is_unsettable(case, direction.variable):
        judge.use_trace()
    return judge


def _is_slow(case: Case) -> bool:
    """Whether the program isn't run for each difference."""
    # The body of a function with a rule of its own needn't be what the rule is of: only the program as a whole tells.
    return case.point.is_long and not case.history.own_rules


def _is_unsettable(case: Case, name: str) -> bool:
    """Whether a source has no value that could be given from outside, for another run."""
    return type(case.point.answer.sources[name]) is not Variable


def _mixed(variables: list[str]) -> list[tuple[str, list[str]]]:
    """The mixed second derivatives to look at: by each pair of variables; of many, by each and all those after it together."""
    if len(variables) <= MANY_VARIABLES:
        return [(a, [b]) for a, b in combinations(variables, 2)]
    return [(variable, variables[k:]) for k, variable in enumerate(variables[:-1], 1)]


def _inapplicable(findings: list[Finding]) -> dict[str, str]:
    """The methods that say nothing of a gradient, and so nothing of its derivatives, and why."""
    return {f.method: f.reason for f in findings if f.order == 1 and f.verdict == SKIPPED}


def _second(
    case: Case, by: Sequence[str], judges: list[SecondJudge], apply_not: dict[str, str], options: CheckOptions, found: Check
) -> list[Finding]:
    """The findings about the second derivatives by a variable, or by that and others."""
    methods = [method for method in options.methods if method in second.METHODS]
    for judge in judges:
        judge.apply_not = apply_not
    rows = [{method: judge.finding(method) for method in methods} for judge in judges]
    if any(f.verdict == DISAGREE for row in rows for f in row.values()):
        with quiet():
            doubts = second.wrong_derivatives(case, by[0], by[1:])
        if doubts and not found.blamed:
            found.blamed.append(blame(case.output, doubts[0]))
        for judge, row in zip(judges, rows, strict=True):
            unclear = [method for method, f in row.items() if f.verdict == DISAGREE]
            if unclear and not doubts and judge.measure_noise():
                row.update((method, judge.finding(method)) for method in unclear)
        if case.history.own_rules and not doubts:
            reason = f"the derivative of the rule of `{case.history.own_rules[0].site.op.name}` isn't the second derivative"
            _settle(rows, DISAGREE, reason)
    return [_worst([row[method] for row in rows]) for method in methods] if rows else []


def _confirm_forward(findings: list[Finding]) -> None:
    """Forward mode has the rules of reverse mode, so that the two agree means nothing unless another method does, too."""
    if any(f.verdict == AGREE for f in findings if f.method != "forward"):
        return
    for finding in findings:
        if finding.method == "forward" and finding.verdict == AGREE:
            finding.verdict = INCONCLUSIVE
            finding.reason = "its rules are those of reverse mode, and no other method has confirmed them"


def _is_held(case: Case) -> bool:
    """Whether gradients don't see all of what the program does, as of states or past `detach`, so that differences are to be
    taken along the trace."""
    trace = case.point.kept[0].trace
    assert isinstance(trace, ValueTrace)
    return bool(trace.updated) or case.history.cut is not None


def _explain(case: Case, judges: list[Judge], rows: list[dict[str, Finding]], found: Check) -> None:
    """Finds out what methods disagree about: a wrong rule, a rule that is none on purpose, a kink."""
    if case.history.has_rows and case.point.rows_one_by_one < MANY_ROWS:
        case.point.take_rows_apart()
    own = case.history.own_rules
    proven = own and all(row["differences"].verdict == AGREE for row in rows if "differences" in row) and not judges[0].on_trace
    if proven and all("differences" in row for row in rows):
        reason = f"it goes through the body of `{own[0].site.op.name}`, which has a rule of its own"
        _settle(rows, SKIPPED, reason, ("forward", "complex", "sympy"))
        if not any(f.verdict == DISAGREE for row in rows for f in row.values()):
            return
    disagree = any(f.verdict == DISAGREE for row in rows for f in row.values())
    with quiet():
        doubts = wrong_steps(case.history) if disagree else []
    wrong = [doubt for doubt in doubts if not doubt.surrogate]
    if wrong:
        blamed = blame(case.output, wrong[0])
        if blamed not in found.blamed:
            found.blamed.append(blamed)
        return
    if doubts:
        _settle(rows, SKIPPED, doubts[0].surrogate)
        return
    for judge, row in zip(judges, rows, strict=True):
        unclear = [m for m in ("differences", "taylor") if m in row and row[m].verdict in (DISAGREE, INCONCLUSIVE)]
        if unclear and judge.measure_noise():
            row.update((method, judge.finding(method)) for method in unclear)
    with quiet():
        conditions = Conditions(case.point)
        for judge, row in zip(judges, rows, strict=True):
            if any(f.verdict in (DISAGREE, INCONCLUSIVE) for f in row.values()) and (places := kinks(judge, conditions)):
                found.kinks += [kink for kink in places if kink not in found.kinks]
                _settle([row], INCONCLUSIVE, f"a kink of `{places[0].operation}` in line {places[0].span.line}", again=True)


def _settle(
    rows: list[dict[str, Finding]], verdict: str, reason: str, methods: tuple[str, ...] = (), again: bool = False
) -> None:
    """Gives the findings that disagree another verdict; `again`: and those that are inconclusive another reason."""
    for row in rows:
        for method, finding in row.items():
            found = finding.verdict == DISAGREE or (again and finding.verdict == INCONCLUSIVE)
            if found and (not methods or method in methods):
                finding.verdict, finding.reason = verdict, reason


_BADNESS = {AGREE: 0, SKIPPED: 1, INCONCLUSIVE: 2, DISAGREE: 3}


def _worst(findings: list[Finding]) -> Finding:
    """The finding that says most of several directions."""
    return max(findings, key=lambda f: (_BADNESS[f.verdict], f.ulps))
