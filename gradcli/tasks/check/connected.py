"""Gradients that there aren't: of variables that can't have one, and of those that reverse mode
calls unconnected, or a rule of the program leaves out, although the output moves with them; and of
outputs that can't have one."""

from __future__ import annotations

from ...diagnostics import Diagnostic, GradcliError
from ...engine.backends.backend import CPU, is_inexact, shape_of
from ...engine.execution import running
from ...engine.values.boxes import primal
from ...engine.values.kinds import Variable, describe, read
from ..omissions import notes, without_gradients
from ..second_runs import explain
from .point import Case, Point
from .results import DISAGREE, INCONCLUSIVE, Check, Finding

STEP = 1e-3  # times the reach of a variable
# What `why` says of a source that nothing of the output is computed from, so that the output can't
# move with it; and of one that it is computed from without a break, so that there ought to be a
# gradient.
UNEXPLAINED = ("never_read", "not_on_path", "branch_not_taken", "not_watched", "not_recorded")


def check_connections(point: Point, found: Check) -> None:
    """Adds a finding for each variable without a gradient that ought to have one, and the reasons
    of the others."""
    answer = point.answer
    found.diagnostics += _of_ints(point)
    if not point.program.options.of:
        unfit = notes((), answer.others)
        (found.notes if point.cases else found.missing).extend(unfit)
    found.missing += [
        f"`{name}` has no elements" for name in answer.sources if _is_empty(point, name)
    ]
    for output, name in without_floats(point):
        value = primal(read(answer.sources[name]))
        what = f"the int {value}: write `{value}.0`" if type(value) is int else describe(value)
        found.findings.append(
            Finding(output, name, "connected", INCONCLUSIVE, f"`{name}` is {what}")
        )
    for case in point.cases:
        names = [
            name for name in answer.sources if name not in case.gradients and _can_move(point, name)
        ]
        for name in (
            [name for name in names if _moves(case, name)] if names and _moves(case, *names) else []
        ):
            answer.missing = {(case.output, name): None}
            for said in explain(
                point.program.node, point.inputs, point.program.options, answer, False
            ):
                found.missing.append(said.message)
                if said.reason in UNEXPLAINED:
                    text = (
                        f"reverse mode finds no connection, but `{case.output}` moves with `{name}`"
                    )
                    found.findings.append(Finding(case.output, name, "connected", DISAGREE, text))
                elif said.reason == "rule_gives_none":
                    text = f"a rule returns none, but `{case.output}` moves with `{name}`"
                    found.findings.append(
                        Finding(case.output, name, "connected", INCONCLUSIVE, text)
                    )


def _of_ints(point: Point) -> list[Diagnostic]:
    """The warnings of an evaluation about outputs and variables that can't have a gradient because
    of what they are."""
    answer = point.answer
    answer.find_ints()
    told = (
        explain(point.program.node, point.inputs, point.program.options, answer, False)
        if answer.ints
        else []
    )
    return told + without_gradients(answer.sources, told)


def without_floats(point: Point) -> list[tuple[str, str]]:
    """The outputs, each with the sources that can't have a gradient because they are ints, bools or
    strings."""
    names = [
        name
        for name, source in point.answer.sources.items()
        if not is_inexact(primal(read(source)))
    ]
    outputs = [case.output for case in point.cases] or list(point.answer.outputs)[:1]
    return [(output, name) for output in outputs for name in names]


def _is_empty(point: Point, name: str) -> bool:
    return 0 in shape_of(primal(read(point.answer.sources[name])))


def _can_move(point: Point, name: str) -> bool:
    source = point.answer.sources[name]
    if type(source) is not Variable or source.kind != "var" or point.answer.is_replaced(name):
        return False
    return is_inexact(source.state)


def _moves(case: Case, *names: str) -> bool:
    """Whether an output changes when these variables move a little, to one side or the other."""
    directions = [case.directions(name)[-1] for name in names if case.directions(name)]
    try:
        with running():
            return bool(directions) and any(
                not _is_same(
                    case.rerun(*((d, step * case.reach(d)) for d in directions)), case.value
                )
                for step in (STEP, -STEP)
            )
    except GradcliError:
        return False


def _is_same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b) or bool(CPU.xp.isinf(a) and CPU.xp.isinf(b))
