"""From a resolved program to a finished run: compile once, execute, and hand over everything that
came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..diagnostics import GradcliError
from ..lang import program
from ..platform.collector import collector_paused
from .ad.forward import push
from .backends.backend import ieee
from .calls.calling import call_value
from .calls.placing import PLACED
from .compilation import compiled
from .compilation.compiled import Compiled, deep_stack
from .compilation.compiler import Handlers
from .interpreter.expressions import EXPRESSIONS
from .interpreter.statements import STATEMENTS
from .lowering.hot import Hot
from .trace.run import Dispatch, Run, Settings
from .values.kinds import Cell

HANDLERS = Handlers(EXPRESSIONS, STATEMENTS, PLACED, Hot())
DISPATCH = Dispatch(push, call_value)


def compile_program(settings: Settings, node: program.Program, **how: Any) -> Compiled:
    """A program compiled for these settings; `how` it is compiled, `Compiler` says."""
    return compiled.compile_program(HANDLERS, settings, node, **how)


def new_run(settings: Settings, inputs: Mapping[str, Any], keeps_all: bool = False) -> Run:
    """A fresh run, for values from outside by name; `keeps_all` for one that is asked why."""
    return Run(DISPATCH, settings, inputs, keeps_all)


def execute(compiled: Compiled, run: Run) -> list[Any]:
    """Executes a program in a fresh run; returns the top-level frame. Raises GradcliError; the run
    holds what came before."""
    frame = compiled.frame(run)
    run.compiled = compiled
    run.asks, run.rules, run.derives = compiled.asks, compiled.rules, compiled.derives
    run.once = (
        compiled.once and run.direction is None
    )  # in forward mode what a sweep computes has tangents
    try:
        with collector_paused(), ieee(), deep_stack():
            compiled.block(frame)
    except GradcliError as error:
        if run.place is not None:  # a limit from outside doesn't know where it struck
            error.diagnostics[:] = [
                d if d.span else replace(d, span=run.place) for d in error.diagnostics
            ]
        raise
    except MemoryError:
        run.fail(
            "E405",
            "out of memory",
            run.place,
            help="make the arrays smaller, or raise --max-memory",
        )
    return frame


def release(run: Run, *frames: list[Any]) -> None:
    """Takes a finished run apart, so that its arrays go at once: frames, functions and the trace
    refer to each other."""
    frames += tuple([namespace.frame for namespace in run.imports.values()])
    run.imports.clear()
    run.trace.segment = None
    for frame in frames:
        for value in frame:
            if type(value) is Cell:
                value.clear()
        frame.clear()
