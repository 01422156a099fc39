"""From a resolved program to a finished run: compile once, execute, and hand over everything that came of it."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

from ..lang import program
from .calls import own_cells
from .compiler import Compiler
from .run import Run, Settings
from .statements import Statement, compile_block
from .values import FRAME_HEAD, UNSET, Cell, Namespace


class Compiled:
    """A program compiled for one choice of settings; can be run any number of times."""

    __slots__ = ("block", "cells", "program", "template")

    def __init__(self, node: program.Program, block: Statement) -> None:
        self.program, self.block = node, block
        self.cells = [k + FRAME_HEAD for k in own_cells(node.body)]
        self.template = [None] * FRAME_HEAD + [UNSET] * node.n_slots

    def frame(self, run: Run) -> list[Any]:
        frame: list[Any] = self.template.copy()
        frame[0] = run
        for k in self.cells:
            frame[k] = Cell([UNSET])
        return frame


def compile_program(
    settings: Settings, node: program.Program, keeps_all: bool = False, imports: dict[int, Compiled] | None = None, prefix: str = ""
) -> Compiled:
    """Compiles a program; `imports` holds the imported ones compiled already, by identity."""
    c = Compiler(settings, keeps_all, imports, prefix)
    c.declared = {s.slot.index for s in _declarations(node.body)}
    return Compiled(node, compile_block(c, node.body))


def _declarations(body: Any) -> list[program.Declare]:
    found: list[program.Declare] = []
    for statement in body:
        if isinstance(statement, program.Declare):
            found.append(statement)
        elif isinstance(statement, program.If):
            for _, branch in statement.branches:
                found += _declarations(branch)
            found += _declarations(statement.otherwise)
        elif isinstance(statement, program.While | program.For | program.ExpectError):
            found += _declarations(statement.body)
    return found


def execute(compiled: Compiled, settings: Settings, inputs: Mapping[str, Any], keeps_all: bool = False) -> tuple[Run, list[Any]]:
    """Runs a program; returns the run and the top-level frame. Raises GradcliError, with `run` as its attribute."""
    run = Run(settings, inputs, keeps_all)
    frame = compiled.frame(run)
    enabled = gc.isenabled()
    gc.disable()  # nothing here makes cycles, and a long trace would be searched again and again
    try:
        compiled.block(frame)
    finally:
        if enabled:
            gc.enable()
    return run, frame


def run_import(run: Run, compiled: Compiled, node: program.Import) -> Namespace:
    """The names of an imported program, which runs once for all that import it."""
    key = id(compiled.program)
    namespace: Namespace | None = run.imports.get(key)
    if namespace is None:
        frame = compiled.frame(run)
        compiled.block(frame)
        namespace = run.imports[key] = Namespace(node.slot.name, frame, compiled.program.names)
    return namespace
