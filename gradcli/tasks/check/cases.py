"""What is found about one output at one point: every method on every direction of every variable.

In a random direction what small elements of a gradient, and zeros, add up to is lost behind the
large ones, as is a mistake in them; so they are looked at in a direction in which all elements
count about the same, and those too small for that among themselves. Only the complex step can tell
then, which has no rounding error of the output to hide in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ...diagnostics import Span
from ...engine.backends.backend import CPU, is_complex, shape_of
from ...engine.execution import running
from ...engine.replay.value_trace import ValueTrace
from ...engine.values.kinds import Variable
from . import second
from .blame import blame
from .differences import negligible
from .directions import FEW, Direction, Scatter
from .finite import nonfinite
from .kinks import kinks
from .linearity import verify_linear
from .path import Conditions
from .point import Case
from .results import AGREE, DISAGREE, INCONCLUSIVE, SKIPPED, Check, CheckOptions, Finding
from .second import SecondJudge
from .settling import (
    blame_steps,
    explain,
    look_finer,
    look_for_kinks,
    look_for_obstacles,
    settle,
    settle_second,
)
from .verdicts import Judge
from .whole import verify_whole

# ---- small elements ------------------------------------------------------------------------------


HIDDEN = 1e-4  # of the largest share in a direction
SMALLEST = 1e-6  # of the largest element: what is smaller gets no more weight beside it
# of the largest value: smaller ones move less, so that the complex step stays small beside them
REACH = 1e-12
STREAM = 21


def small_elements(
    case: Case, variable: str, findings: Sequence[Finding], options: CheckOptions
) -> Finding | None:
    """The finding of the complex step about a wrong element of a gradient that it has confirmed
    along random directions; None where it finds none, or a kink that is hidden in the same way."""
    if case.point.eps > 1e-10 or not any(
        f.method == "complex" and f.verdict == AGREE for f in findings
    ):
        return None
    for vector in _even(case, variable):
        direction = Direction(variable, vector, " along a random direction")
        found = _judged(case, direction, options)
        if found.verdict == DISAGREE:
            if (element := _narrowed(case, direction, options)) is not None:
                direction = element
                found = _judged(case, direction, options)
            with running():
                judge = Judge(case, direction, options)
                return None if kinks(judge, Conditions(case.point)) else found
    return None


def _even(case: Case, variable: str) -> Iterator[Any]:
    """Vectors in whose directions elements of a gradient count about the same: all in the first,
    and in each further one those that are too small for that before; none where in the random
    directions no element is hidden by others."""
    value, xp = case.state(variable), CPU.xp
    if is_complex(value) or not shape_of(value) or value.size <= FEW:
        return
    sizes = abs(case.point.run.backend.to_host(case.gradients[variable]))
    moved = abs(case.random_directions(variable)[0].vector)
    share, largest = sizes * moved, float(sizes.max())
    hidden = (share < HIDDEN * share.max()) | (moved < HIDDEN * moved.max())
    if not largest or not hidden.any():
        return
    reach = abs(value) / (float(abs(value).max()) or 1.0)
    near = xp.where((reach > 0) & (reach < REACH), reach / REACH, 1.0)
    numbers = Scatter(value.size, STREAM).numbers(value.shape) * near
    left = xp.ones(value.shape, bool)
    while left.any():
        weights = SMALLEST / xp.maximum(sizes / largest, SMALLEST)
        yield numbers * xp.where(left, weights, 0.0)
        left = left & (sizes < SMALLEST * largest) & (sizes > negligible(case.point.eps))
        largest = float(xp.max(sizes[left], initial=0.0))


def _judged(case: Case, direction: Direction, options: CheckOptions) -> Finding:
    return Judge(case, direction, options).finding("complex")


def _narrowed(case: Case, direction: Direction, options: CheckOptions) -> Direction | None:
    """The direction of one wrong element, found by halves; None where none alone is wrong."""
    xp, variable, vector = CPU.xp, direction.variable, direction.vector
    places = xp.flatnonzero(vector)
    while len(places) > 1:
        halves = xp.array_split(places, 2)
        verdicts = [
            _judged(case, Direction(variable, _only(vector, half), ""), options).verdict
            for half in halves
        ]
        if DISAGREE not in verdicts:
            return None
        places = halves[verdicts.index(DISAGREE)]
    where = ",".join(str(int(k)) for k in xp.unravel_index(int(places[0]), vector.shape))
    found = Direction(variable, _only(xp.ones_like(vector), places), f"[{where}]")
    return found if _judged(case, found, options).verdict == DISAGREE else None


def _only(vector: Any, places: Any) -> Any:
    """A vector that is zero except at some places."""
    kept = CPU.xp.zeros_like(vector)
    kept.flat[places] = vector.flat[places]
    return kept


# ---- all elements --------------------------------------------------------------------------------


MANY_VARIABLES = 6  # of which there are 15 pairs


def check_case(case: Case, options: CheckOptions, found: Check, number: int) -> None:
    """Adds all findings about one output to `found`, those at the point `number`."""
    begin = len(found.findings)
    found.findings += nonfinite(case, options)
    finite = case.gradients.keys() - {f.variable for f in found.findings[begin:]}
    variables = [variable for variable in case.gradients if variable in finite]
    is_held = holds_more(case)
    for variable in variables:
        judges = [
            _judge(case, direction, options, is_held) for direction in case.directions(variable)
        ]
        rows = [_row(judge, options.methods) for judge in judges]
        if any(f.verdict in (DISAGREE, INCONCLUSIVE) for row in rows for f in row.values()):
            explain(case, judges, rows, found, check_case)
        elif "taylor" not in options.methods:
            look_for_kinks(case, judges, rows, found, check_case)
        findings = _summed_up(rows)
        if (wrong := small_elements(case, variable, findings, options)) is not None:
            findings = [wrong if f.method == wrong.method else f for f in findings]
            blame_steps(case, found)
        if options.order == 2:
            with running():
                twice = [SecondJudge(judge) for judge in (*judges, *_across(judges))]
            findings += _second(case, (variable,), twice, _inapplicable(findings), options, found)
        found.findings += findings
    if variables:
        found.findings += verify_linear(case, found) + verify_whole(
            case, is_slow(case) and not is_held
        )
    if options.order == 2:
        for variable, others in _mixed(variables):
            pairs = case.pairs(variable, others)
            on_trace = is_held or any(_is_unsettable(case, other) for other in others)
            with running():
                mixed = [SecondJudge(_judge(case, a, options, on_trace), bs) for a, bs in pairs]
            apply_not = _inapplicable(
                [f for f in found.findings[begin:] if f.variable in (variable, *others)]
            )
            found.findings += _second(case, (variable, *others), mixed, apply_not, options, found)
    span = _span(case)
    for finding in found.findings[begin:]:
        finding.point, finding.span = number, finding.span or span


def _span(case: Case) -> Span | None:
    """Where an output is computed."""
    return case.history.steps[-1].site.span if case.history.steps else None


def compared(case: Case, options: CheckOptions) -> list[Finding]:
    """The findings of the methods about one output, before their disagreements are explained."""
    findings = []
    for variable in case.gradients:
        judges = [Judge(case, direction, options) for direction in case.directions(variable)]
        findings += _summed_up([_row(judge, options.methods) for judge in judges])
    for finding in findings:
        finding.span = _span(case)
    return findings


def is_slow(case: Case) -> bool:
    """Whether the program takes too long to be run for each difference."""
    # The body of a function with a rule of its own needn't be what the rule is of: only the program
    # as a whole tells.
    return case.point.is_long and not case.history.own_rules


def holds_more(case: Case) -> bool:
    """Whether the program does what gradients don't see, such as states or `detach`, so that
    differences are to be taken along the trace."""
    trace = case.point.kept[0].trace
    assert isinstance(trace, ValueTrace)
    return bool(trace.updated) or case.history.cut is not None


def _judge(case: Case, direction: Direction, options: CheckOptions, on_trace: bool) -> Judge:
    """The methods on a direction; `on_trace`: differences are to be taken along the trace."""
    judge = Judge(case, direction, options)
    if on_trace or is_slow(case) or _is_unsettable(case, direction.variable):
        judge.use_trace()
    return judge


def _is_unsettable(case: Case, name: str) -> bool:
    """Whether a source has no value that could be given from outside, for another run."""
    return type(case.point.answer.sources[name]) is not Variable


def _row(judge: Judge, methods: Sequence[str]) -> dict[str, Finding]:
    """What the methods say on a direction."""
    row = {method: judge.finding(method) for method in methods}
    judge.weigh_rounding(row)
    return row


def _summed_up(rows: list[dict[str, Finding]]) -> list[Finding]:
    """Summarises the findings on several directions: one for each method."""
    findings = [_worst([row[method] for row in rows]) for method in rows[0]] if rows else []
    _confirm_forward(findings)
    return findings


def _confirm_forward(findings: list[Finding]) -> None:
    """Forward mode has the rules of reverse mode, so that the two agree means nothing unless
    another method does, too."""
    if any(f.verdict == AGREE for f in findings if f.method != "forward"):
        return
    for finding in findings:
        if finding.method == "forward" and finding.verdict == AGREE:
            finding.verdict = INCONCLUSIVE
            finding.reason = (
                "its rules are those of reverse mode, and no other method has confirmed them"
            )


_BADNESS = {AGREE: 0, SKIPPED: 1, INCONCLUSIVE: 2, DISAGREE: 3}


def _worst(findings: list[Finding]) -> Finding:
    """The finding with the worst verdict of several directions."""
    return max(findings, key=lambda f: (_BADNESS[f.verdict], f.at_kink, f.ulps))


# ---- second derivatives --------------------------------------------------------------------------


def _mixed(variables: list[str]) -> list[tuple[str, list[str]]]:
    """The mixed second derivatives to look at: by each pair of variables; of many, by each and all
    those after it together."""
    if len(variables) <= MANY_VARIABLES:
        return [(a, [b]) for a, b in combinations(variables, 2)]
    return [(variable, variables[k:]) for k, variable in enumerate(variables[:-1], 1)]


def _across(judges: list[Judge]) -> list[Judge]:
    """Where each element moves by itself, a direction in which all do: only there the mixed second
    derivatives by two elements count."""
    if len(judges) < 2 or judges[0].direction.where.startswith(" "):
        return []
    first = judges[0]
    direction = first.case.random_directions(first.direction.variable)[0]
    judge = Judge(first.case, direction, first.options)
    if first.on_trace:
        judge.use_trace()
    return [judge]


def _inapplicable(findings: list[Finding]) -> dict[str, str]:
    """The methods that say nothing of a gradient, and so nothing of its derivatives, and why."""
    return {f.method: f.reason for f in findings if f.order == 1 and f.verdict == SKIPPED}


def _second(
    case: Case,
    by: Sequence[str],
    judges: list[SecondJudge],
    apply_not: dict[str, str],
    options: CheckOptions,
    found: Check,
) -> list[Finding]:
    """The findings about the second derivatives by a variable, or by that and others."""
    methods = [method for method in options.methods if method in second.METHODS]
    for judge in judges:
        judge.apply_not = apply_not
    rows = [_row(judge, methods) for judge in judges]
    if not case.history.own_rules:
        with running():
            conditions = Conditions(case.point)
            for judge, row in zip(judges, rows, strict=True):
                settle_second(judge, row, conditions)
    if any(f.verdict == DISAGREE for row in rows for f in row.values()):
        with running():
            doubts = second.wrong_derivatives(case, by[0], by[1:])
        if doubts and not found.blamed:
            found.blamed.append(blame(case.output, doubts[0]))
        for judge, row in zip(judges, rows, strict=True):
            unclear = [method for method, f in row.items() if f.verdict == DISAGREE]
            if unclear and not doubts and judge.measure_noise():
                row.update((method, judge.finding(method)) for method in unclear)
            if not doubts:
                with running():
                    look_for_obstacles(judge, row, look_finer(judge, row))
        if case.history.own_rules and not doubts:
            reason = (
                f"the derivative of the rule of `{case.history.own_rules[0].site.op.name}` isn't "
                "the second derivative"
            )
            settle(rows, DISAGREE, reason)
    return [_worst([row[method] for row in rows]) for method in methods] if rows else []
