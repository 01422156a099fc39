"""`eval`: run a program, differentiate what it is for, and say why a gradient is missing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.analysis.facts import Facts
from ..engine.execution import Compiled, Execution, on_threads, running
from ..engine.forward_runs import ForwardRuns
from ..lang import program
from .answer import Answer, prepare, verify_inputs, verify_used
from .evaluation import Evaluation, Options
from .matrices import by_kernels
from .omissions import finiteness, nonfinite, without_gradients

if TYPE_CHECKING:
    from .hot_programs import HotProgram

FEW = 2  # scalar inputs, for which forward mode is the better choice


def evaluate(
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    compiled: Compiled | None = None,
    hot: HotProgram | None = None,
) -> Evaluation:
    """Runs a program and computes the derivatives that `options` ask for.

    inputs     numbers, bools, strings, nested lists and arrays by declared name (`x`, `other.w`,
               `layer.w`)
    compiled   the program compiled for these settings, where it runs many times
    hot        the runs that there were of it, for the same options

    A run-time error is a diagnostic of the evaluation, which then holds what came before it. Raises
    GradcliError for inputs and options that don't fit the program.
    """
    with on_threads(options.threads):
        return _evaluated(node, inputs, options, compiled, hot)


def _evaluated(
    node: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    compiled: Compiled | None,
    hot: HotProgram | None,
) -> Evaluation:
    compiled = compiled or prepare(node, options, alone=True)
    all_declared = inputs.keys() <= compiled.facts.declares
    if not all_declared:
        verify_inputs(node, inputs, options.ignore_extra)
    elif hot is not None and (answered := hot.evaluation(inputs)) is not None:
        return answered
    evaluation = Evaluation(node.source.name)
    with running():
        answer = _answer(evaluation, compiled, inputs, options, verifies=not all_declared)
        if answer is None:
            return evaluation
        run = answer.run
        evaluation.diagnostics += compiled.facts.discarded
        answer.find_ints()
        if run.unconnected or answer.missing or answer.ints:
            from .second_runs import explain  # with what it takes to find reasons

            evaluation.diagnostics += explain(node, inputs, options, answer, bool(run.unconnected))
        if options.differentiates:
            evaluation.diagnostics += without_gradients(answer.sources, evaluation.diagnostics)
        if options.unconnected == "error":
            for target, source in answer.missing:
                message = f"`{target}` has no gradient with respect to `{source}`"
                evaluation.diagnostics.append(
                    Diagnostic("E318", message, help="the warning above says why")
                )
        if options.debug_nan:
            from .debug_nan import find_nonfinite  # with what it takes to search for the operation

            evaluation.diagnostics += find_nonfinite(node, inputs, options, answer, evaluation)
        else:
            evaluation.diagnostics += finiteness(nonfinite(evaluation))
        if hot is not None and all_declared:
            hot.learn(inputs, answer, evaluation)
        answer.execution.release()
    if options.closed_form:
        from .closed_form import add_closed_forms  # SymPy is imported where it is asked for

        add_closed_forms(evaluation, node, inputs, options)
    return evaluation


def chosen_mode(facts: Facts, inputs: Mapping[str, Any], options: Options) -> str:
    """ "forward" or "reverse": what `auto` takes. It takes forward for one or two scalar inputs,
    where the program does nothing that only a trace can answer."""
    if options.mode != "auto":
        return options.mode
    if not options.grad or options.jacobian or options.hessian or options.hessian_blocks:
        return "reverse"
    variables = facts.scalar_variables(inputs)
    few = variables is not None and 0 < len(variables) <= FEW and set(options.wrt) <= set(variables)
    # Elements are read and written in place in reverse mode, and not yet with tangents.
    return "forward" if few and facts.asks_for_nothing and not facts.has_elements else "reverse"


def _answer(
    evaluation: Evaluation,
    compiled: Compiled,
    inputs: Mapping[str, Any],
    options: Options,
    verifies: bool,
) -> Answer | None:
    """Runs the program as often as `options` ask for, and fills in what the last run answers. None
    where it fails, which then is a diagnostic of the evaluation; `verifies` whether all inputs
    must have been used."""
    mode = evaluation.mode = chosen_mode(compiled.facts, inputs, options)
    recorded = options.jacobian or options.hessian or options.hessian_blocks
    forward = ForwardRuns(compiled, inputs, options.wrt, recorded) if mode == "forward" else None
    while True:
        execution = Execution(compiled, inputs) if forward is None else forward.first()
        answer = None
        started = time.perf_counter()
        try:
            answer = Answer(execution.execute(), options)
            if verifies and not options.ignore_extra:
                verify_used(execution, answer.variables)
            with running():  # a rule of the program is a call like any other
                answer.compute(forward, by_kernels(answer, inputs))
        except GradcliError as error:
            if _is_from_outside(error):
                raise
            _collect(evaluation, execution)
            if answer is not None:
                answer.fill(evaluation)
            from .second_runs import with_reason

            evaluation.diagnostics += with_reason(
                compiled.program, inputs, options, error.diagnostics
            )
            return None
        evaluation.timings.append(time.perf_counter() - started)
        if len(evaluation.timings) >= options.repeat:
            break
        execution.release()
    _collect(evaluation, execution)
    answer.fill(evaluation)
    return answer


def _is_from_outside(error: GradcliError) -> bool:
    return all(d.code.startswith("E0") for d in error.diagnostics)


def _collect(evaluation: Evaluation, execution: Execution) -> None:
    run = execution.run
    evaluation.printed = run.printed
    evaluation.printed_values = [
        [execution.host(value) for value in values] for values in run.printed_values
    ]
    evaluation.expectations = run.expectations
    evaluation.diagnostics = list(run.diagnostics)
