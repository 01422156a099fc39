"""Second runs: the program once more, muted, with a trace that keeps everything, to say why a
gradient is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.execution import Execution, compile_program, running
from ..engine.explain import reasons
from ..engine.values.kinds import Variable, differentiable
from ..lang import program
from .answer import Answer
from .evaluation import Options

EXPLAIN_STEPS = (
    10_000  # statements that a second run may take which nobody asked for: up to a second
)
FLOATS = "keep floats: `floor`, `round` and `trunc` do"
UNSAID = (
    "the program is too long to look for the reason unasked; `gradcli why` does, however long it "
    "takes"
)


def keeping_execution(
    node: program.Program, inputs: Mapping[str, Any], options: Options
) -> Execution:
    """An execution that keeps everything."""
    return Execution(compile_program(options.settings, node, keeps_all=True), inputs)


def _short_execution(
    node: program.Program, inputs: Mapping[str, Any], options: Options
) -> Execution:
    """An execution that keeps everything, within a budget of steps: nobody asked for it."""
    budget = min(EXPLAIN_STEPS, options.max_steps or EXPLAIN_STEPS)
    return keeping_execution(node, inputs, options.with_changes(max_steps=budget))


def with_reason(
    node: program.Program, inputs: Mapping[str, Any], options: Options, failed: list[Diagnostic]
) -> list[Diagnostic]:
    """The errors of a run; for a head of `backward` without a history, a second run says what cut
    it."""
    if failed[0].code != "E325":
        return failed
    try:
        _short_execution(node, inputs, options).execute()
    except GradcliError as error:
        again = error.diagnostics[0]
        if again.reason and (again.code, again.span) == (failed[0].code, failed[0].span):
            return error.diagnostics
    return failed


def explain(
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    answer: Answer,
    in_program: bool,
) -> list[Diagnostic]:
    """The reasons of missing gradients, and of outputs that have none because they are ints, from a
    second run that keeps everything."""
    if answer.passed > EXPLAIN_STEPS:
        return _unsaid(answer)  # as it would turn out
    try:
        with running():
            execution = _short_execution(node, inputs, options).execute()
            return _reasons(answer, Answer(execution, answer.options), in_program)
    except GradcliError:
        return _unsaid(answer)


def _unsaid(answer: Answer) -> list[Diagnostic]:
    pairs = [f"no gradient of `{of}` with respect to `{by}`" for of, by in answer.missing]
    found = [Diagnostic("W201", message, help=UNSAID, reason="unknown") for message in pairs]
    ints = [
        f"no gradient of `{of}`: it is an int, and only floats are differentiable"
        for of in answer.ints
    ]
    return found + [Diagnostic("W202", message, help=FLOATS, reason="integer") for message in ints]


def _reasons(answer: Answer, again: Answer, in_program: bool) -> list[Diagnostic]:
    """A warning for each gradient that is missing in `answer`, from the values of the second run in
    `again`."""
    run, found = again.run, list[Diagnostic]()
    why = reasons.Reasons(run, again.node)
    for asked in chain.from_iterable(run.unconnected.values()) if in_program else []:
        name = asked.source.name if type(asked.source) is Variable else ""
        found.append(why.explain(asked.target, "", asked.source, name, asked.span, asked.window))
    for of, by in answer.missing:
        target, source = again.targets.get(of), again.sources[by]
        if again.is_replaced(by):
            reason = reasons.replaced(run, by)
            message = f"no gradient of `{of}` with respect to `{by}`: {reason.text}"
            found.append(Diagnostic("W203", message, reason.span, "", reason.help, reason.code))
        else:
            found.append(why.explain(target, of, source, by, None, run.trace.main))
    for of in answer.ints:
        found += _of_ints(why, of, again)
    return list(dict.fromkeys(found))


def _of_ints(why: reasons.Reasons, of: str, again: Answer) -> Iterator[Diagnostic]:
    """A warning about an output of ints, if there is a variable that it is computed from."""
    for by, source in again.sources.items():
        reason = (
            why.find(again.outputs[of], source, by, why.run.trace.main)
            if differentiable(source)
            else None
        )
        if reason is not None and reason.code == "integer":
            message = f"no gradient of `{of}`: {reason.text}"
            yield Diagnostic(
                "W202", message, reason.span, "", reason.help, reason.code, reason.calls
            )
            return
