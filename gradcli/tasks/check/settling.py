"""What it means that methods disagree: a wrong rule, a rule that isn't the body's derivative on
purpose, noise, or a kink."""

from __future__ import annotations

import math

from ...diagnostics import GradcliError
from ...engine.execution import running
from .blame import Doubt, blame, wrong_steps
from .differences import LEVELS, bends
from .kinks import kinks, settled
from .mean_value import ALL_LEVELS, CONFIRMED, CONTRADICTED, finest_level, held_against
from .methods import INDEPENDENT
from .obstacles import Recheck, checked_beside, has_stairs_aside, obstacle, underflow
from .path import Conditions
from .point import MANY_ROWS, Case
from .results import (
    AGREE,
    DISAGREE,
    INCONCLUSIVE,
    KINK,
    SKIPPED,
    VERIFIED,
    WRONG,
    Check,
    Finding,
    Kink,
)
from .second import SecondJudge
from .trust import lost
from .verdicts import ROUNDED, SAFETY, SMALL, Judge

Row = dict[str, Finding]  # what the methods say on one direction

THROUGH_THE_BODY = (
    "forward",
    "complex",
    "sympy",
)  # the methods that differentiate a function's body, whatever its rule
SLACK = 1e-3  # of the slopes to both sides of a kink: how exactly they are known


def explain(
    case: Case, judges: list[Judge], rows: list[Row], found: Check, recheck: Recheck
) -> None:
    """Finds out what methods disagree about, and changes their findings where that is no error of
    the gradient. `recheck` checks an output at another point."""
    if case.history.has_rows and case.point.rows_one_by_one < MANY_ROWS:
        case.point.take_rows_apart()
    if not judges[0].on_trace and _is_proven_by_the_program(case, judges, rows):
        return
    disagree = any(f.verdict == DISAGREE for row in rows for f in row.values())
    doubts = blame_steps(case, found) if disagree else []
    if any(not doubt.surrogate for doubt in doubts):
        return
    if doubts:
        moves = any(judge.samples.moves_both_ways() for judge in judges)
        settle(rows, SKIPPED, doubts[0].surrogate, THROUGH_THE_BODY if moves else ())
        return
    for judge, row in zip(judges, rows, strict=True):
        unclear = [
            m
            for m in ("differences", "taylor")
            if m in row and row[m].verdict in (DISAGREE, INCONCLUSIVE)
        ]
        if unclear and judge.measure_noise():
            row.update((method, judge.finding(method)) for method in unclear)
    with running():
        conditions = Conditions(case.point)
        for judge, row in zip(judges, rows, strict=True):
            weigh_gaps(judge, row)
            step = look_finer(judge, row)
            if not any(f.verdict in (DISAGREE, INCONCLUSIVE) for f in row.values()):
                continue
            if not _is_at_a_kink(judge, row, conditions, found, recheck):
                look_for_obstacles(judge, row, step)


def look_for_kinks(
    case: Case, judges: list[Judge], rows: list[Row], found: Check, recheck: Recheck
) -> None:
    """Looks for kinks where all methods agree, and none of them would see any."""
    with running():
        conditions = Conditions(case.point)
        for judge, row in zip(judges, rows, strict=True):
            _is_at_a_kink(judge, row, conditions, found, recheck)


def _is_at_a_kink(
    judge: Judge, row: Row, conditions: Conditions, found: Check, recheck: Recheck
) -> bool:
    """Whether the output has a kink, whose findings are then settled."""
    places = kinks(judge, conditions)
    if not places or _is_smoothed(judge, places[0], row):
        return False
    found.kinks += [kink for kink in places if kink not in found.kinks]
    _settle_kink(judge, row, places, found, recheck)
    return True


def blame_steps(case: Case, found: Check) -> list[Doubt]:
    """Adds the first operation whose own rule is wrong to those that are blamed; gives all such
    doubts."""
    with running():
        doubts = wrong_steps(case.history)
    blamed = [blame(case.output, doubt) for doubt in doubts if not doubt.surrogate][:1]
    found.blamed += [b for b in blamed if b not in found.blamed]
    return doubts


def settle(rows: list[Row], verdict: str, reason: str, methods: tuple[str, ...] = ()) -> None:
    """Gives the findings that disagree another verdict."""
    for row in rows:
        for method, finding in row.items():
            if finding.verdict == DISAGREE and (not methods or method in methods):
                finding.verdict, finding.reason = verdict, reason


def _is_proven_by_the_program(case: Case, judges: list[Judge], rows: list[Row]) -> bool:
    """Whether only methods disagree that go through the body of a function with a rule of its own,
    and differences of the whole program say that the rule is right and the body isn't what it is
    the derivative of; those methods then don't apply."""
    own = case.history.own_rules
    if (
        not own
        or not rows
        or any("differences" not in row or row["differences"].verdict != AGREE for row in rows)
    ):
        return False
    opposed = [
        (judge, row["differences"], f)
        for judge, row in zip(judges, rows, strict=True)
        for m, f in row.items()
        if m in THROUGH_THE_BODY and f.verdict == DISAGREE
    ]
    if not all(
        abs(said.theirs - f.theirs) > said.tolerance and not _is_of_the_body(judge, f)
        for judge, said, f in opposed
    ):
        return False  # differences don't tell one from the other
    settle(
        rows,
        SKIPPED,
        f"it goes through the body of `{own[0].site.op.name}`, which has a rule of its own",
        THROUGH_THE_BODY,
    )
    return not any(f.verdict == DISAGREE for row in rows for f in row.values())


def _is_of_the_body(judge: Judge, found: Finding) -> bool:
    """Whether the smallest step says what the body does, and larger ones are too large for the
    function, as for `x + 1e-9 * sin(1e9 * x)`."""
    gap = _gap(found)
    step, up, down = judge.samples.level(finest_level(judge.samples, gap, ALL_LEVELS))
    return abs((up - down) / (2 * step) - found.theirs) <= gap / 2


def weigh_gaps(judge: Judge, row: Row) -> None:
    """Where differences disagree by no more than rounding errors move the derivative, they say
    nothing."""
    for method in judge.by_steps:
        found = row.get(method)
        if found is not None and found.verdict == DISAGREE:
            error = judge.rounding_error()
            if _gap(found) <= SAFETY * error:
                found.verdict = INCONCLUSIVE
                found.reason = lost(judge.case, judge.direction, error, judge.ours)


def look_finer(judge: Judge, row: Row) -> float:
    """Where differences disagree, asks whether they contradict the derivative at steps that are
    small enough for the function. If they don't, they begin again with such steps, as for `sin` at
    1e9, or can't say, as for `sin` at 1e15. The step at which they do; 0.0 where there is none."""
    apart = [m for m in judge.by_steps if m in row and row[m].verdict == DISAGREE]
    if not apart:
        return 0.0
    gap = min(_gap(row[method]) for method in apart)
    try:
        samples, slope = judge.beside()
        for levels in (LEVELS, ALL_LEVELS):
            level = finest_level(samples, gap, levels)
            said = held_against(samples, level, slope, judge.ours, gap)
            if said == CONFIRMED:
                break
    except GradcliError:  # there is no forward mode, so there is nothing to be said against them
        return 0.0
    if said == CONFIRMED:
        judge.look_finer(level)
        row.update((method, judge.finding(method)) for method in apart)
    if said == CONTRADICTED:
        return samples.level(level).step
    settle([row], INCONCLUSIVE, "the function varies within the steps", judge.by_steps)
    return 0.0


def look_for_obstacles(judge: Judge, row: Row, step: float) -> None:
    """Settles findings of differences that contradict a derivative at a step, where something else
    is behind that, and that of the complex step where SymPy, with its 50 digits, contradicts it.
    Where SymPy, whose numbers don't underflow, disagrees, says whether the program's do."""
    if step and judge.order == 1 and judge.allow_for_roughness(step):
        apart = [m for m in judge.by_steps if m in row and row[m].verdict == DISAGREE]
        row.update((method, judge.finding(method)) for method in apart)
    if step and (reason := obstacle(judge, step)):
        settle([row], INCONCLUSIVE, reason, judge.by_steps)
    if "sympy" in row and row["sympy"].verdict == AGREE:
        reason = "an operation loses digits at complex numbers"
        settle([row], INCONCLUSIVE, reason, ("complex",))
    if "sympy" in row and row["sympy"].verdict == DISAGREE:
        row["sympy"].reason = underflow(judge)


def _gap(found: Finding) -> float:
    return found.error if found.method == "taylor" else abs(found.ours - found.theirs)


# ---- kinks ---------------------------------------------------------------------------------------


def _settle_kink(
    judge: Judge, row: Row, places: list[Kink], found: Check, recheck: Recheck
) -> None:
    """The findings at kinks. There is no derivative to agree with; but the gradient lies between
    the slopes to both sides, and beside the kink it is verified like any other."""
    case, variable, kink = judge.case, judge.direction.variable, places[0]
    place = f"a kink of `{kink.operation}` in line {kink.span.line}"
    verdict, at_kink, reason = INCONCLUSIVE, True, place
    if not judge.direction.where.startswith(" ") and not _is_between(judge.ours, kink):
        # The conventions at kinks hold for each operation, and needn't add up. SymPy's forms have
        # the same ones.
        is_smooth = _is_smooth(kink) and not has_stairs_aside(
            judge, judge.samples.level(LEVELS - 1).step
        )
        own = {call.site.op.name for call in case.history.own_rules}
        is_own = any(own.intersection(place.functions) for place in places)
        at_kink, verdict = False, "" if is_smooth else DISAGREE if is_own else INCONCLUSIVE
        slopes = f"{kink.left:.6g} to the left and {kink.right:.6g} to the right"
        reason = f"{place}, where the slopes are {slopes}, and none is {judge.ours:.6g}"
    else:
        beside = checked_beside(case, variable, judge.options, recheck)
        if beside.verdict == WRONG:
            verdict, at_kink, reason = (
                DISAGREE,
                False,
                f"{place}, and wrong beside it, {beside.where}",
            )
            found.blamed += [blamed for blamed in beside.blamed if blamed not in found.blamed]
        elif beside.verdict not in (VERIFIED, KINK):
            at_kink, reason = False, f"{place}, and beside it nothing can be told either"
    agree = at_kink and all(f.verdict in (AGREE, SKIPPED) for f in row.values())
    for finding in row.values():
        if finding.verdict in (DISAGREE, INCONCLUSIVE, AGREE if agree else ""):
            finding.verdict, finding.at_kink, finding.reason = (
                verdict or finding.verdict,
                at_kink,
                reason,
            )
        elif finding.verdict == AGREE and not at_kink:
            finding.verdict, finding.reason = INCONCLUSIVE, "it has the conventions of reverse mode"


def _is_smoothed(judge: Judge, kink: Kink, row: Row) -> bool:
    """Whether the output has no kink where an operation has one, as `x * abs(x)` at 0: both slopes
    are the gradient, and an independent method agrees. One that disagrees then says what the slopes
    contradict, too, or for a gradient of 0 what is none, as the complex step of `abs(x)**1.5`; it
    becomes inconclusive."""
    if judge.is_lost and not any(f.verdict == DISAGREE for f in row.values()):
        return _is_smooth(kink)  # rounding is all that there is to say
    near = SMALL * max(abs(judge.ours), judge.natural)
    nothing = 0.0 if judge.ours else ROUNDED * judge.natural
    is_smoothed = (
        all(abs(slope - judge.ours) <= near for slope in (kink.left, kink.right))
        and any(f.verdict == AGREE and m in INDEPENDENT for m, f in row.items())
        and not any(f.verdict == DISAGREE and nothing < _gap(f) <= near for f in row.values())
    )
    if is_smoothed:
        reason = f"`{kink.operation}` has a kink in line {kink.span.line}, and the output none"
        settle([row], INCONCLUSIVE, reason)
    return is_smoothed


def _is_smooth(kink: Kink) -> bool:
    """Whether the slopes to both sides are the same."""
    apart = abs(kink.left - kink.right)
    return apart <= SLACK * max(abs(kink.left), abs(kink.right)) < math.inf


def settle_second(judge: SecondJudge, row: Row, conditions: Conditions) -> None:
    """The findings on a second derivative where an operation has a kink. It may jump there, or be
    none, and the methods that have the conventions of reverse mode agree nevertheless."""
    case, places = judge.case, kinks(judge, conditions)
    for other in judge.others:
        places += kinks(Judge(case, other, judge.options), conditions)
    if not places:
        return
    if judge.others:
        # Central steps are symmetric: they agree across a kink of the first derivative, too.
        exists = all(
            abs(k.left - k.right) <= SLACK * max(abs(k.left), judge.natural) for k in places
        )
        by_steps = [row[method].verdict for method in judge.by_steps if method in row]
        is_smooth = exists and AGREE in by_steps
    else:
        sides = bends(judge.samples, case.along(judge.direction)[0])
        left, right = (settled(side, judge.natural) for side in sides)
        near = SLACK * max(abs(judge.ours), judge.natural)
        is_smooth = abs(left - right) <= near  # false for infinities
    if not is_smooth:
        for finding in row.values():
            if finding.verdict != SKIPPED:
                finding.verdict, finding.at_kink = INCONCLUSIVE, True
                finding.reason = f"a kink of `{places[0].operation}` in line {places[0].span.line}"


def _is_between(slope: float, kink: Kink) -> bool:
    """Whether a slope is one of those between the two to the sides of a kink, as far as these are
    known."""
    low, high = sorted((kink.left, kink.right))
    slack = SLACK * max([abs(v) for v in (low, high, slope) if math.isfinite(v)], default=0.0)
    return not (slope < low - slack or slope > high + slack)
