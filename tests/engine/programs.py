"""Programs as these tests write them: a text in, values or the one error out."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

import gradcli
from gradcli.diagnostics import Diagnostic, GradcliError
from gradcli.engine.execution import Execution, compile_program
from gradcli.engine.trace.run import Run
from gradcli.tasks.evaluation import Evaluation, Options
from gradcli.tasks.trace import trace
from gradcli.tasks.traced import shown


def evaluate(source: str, inputs: dict[str, Any] | None = None, **options: Any) -> Evaluation:
    """Runs a program and fails the test where one of its expectations does."""
    evaluation = gradcli.load(source=source).with_options(**options).run(inputs or {})
    assert [(e.line, e.message) for e in evaluation.expectations if not e.passed] == []
    return evaluation


def outputs(source: str, inputs: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return evaluate(source, inputs, **{"grad": False, **options}).outputs


def value(source: str, inputs: dict[str, Any] | None = None, **options: Any) -> Any:
    """The only output of a program."""
    (only,) = outputs(source, inputs, **options).values()
    return only


def flat(value: Any) -> list[Any]:
    """The numbers in any nesting of lists, dicts and arrays, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | np.ndarray):
        return [number for item in value for number in flat(item)]
    return [value]


def failure(source: str, inputs: dict[str, Any] | None = None, **options: Any) -> Diagnostic:
    """The first error of a program that must fail."""
    try:
        evaluation = gradcli.load(source=source).with_options(**options).run(inputs or {})
    except GradcliError as error:
        return error.diagnostics[0]
    raise AssertionError(f"no error; the outputs are {evaluation.outputs}")


def warnings(source: str, **options: Any) -> list[Diagnostic]:
    return evaluate(source, **options).diagnostics


def executed(source: str, **options: Any) -> tuple[Run, list[Any]]:
    """A run and its top-level frame, for tests that look at the trace itself."""
    settings = Options(**options).settings
    compiled = compile_program(settings, gradcli.load(source=source)._resolved)
    execution = Execution(compiled, {}).execute()
    return execution.run, execution.frame


def recorded(source: str) -> list[str]:
    """The names of the operations that a run records where everything is kept."""
    return [
        o.op for o in shown(trace(gradcli.load(source=source)._resolved, {}, Options()).entries)
    ]


def garbage(source: str) -> int:
    """How many objects a run leaves to the garbage collector, which doesn't look while a program
    runs."""
    program = gradcli.load(source=source).with_options(grad=False)
    program.run()  # what compiling it drops from caches isn't the run's
    gc.collect()
    gc.disable()
    try:
        program.run()
        return gc.collect()
    finally:
        gc.enable()
