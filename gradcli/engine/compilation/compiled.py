"""A program compiled for one choice of settings, and the programs that it imports."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from ...collector import collector_paused
from ...diagnostics import Diagnostic
from ...lang import program
from ...lang.program.walks import own_cells
from ...recursion import recursion
from ..analysis.discarded import discarded
from ..analysis.requests import requested_outputs
from ..trace.run import MAX_DEPTH, Run, Settings
from ..values.kinds import FRAME_HEAD, UNSET, Cell, Namespace
from .compiler import Compiler, Handlers
from .declarations import declarations
from .sequence import Statement, compile_block


class Compiled:
    """A program compiled for one choice of settings; can be run any number of times. `declares`: the names that values from
    outside may be given for. `once`: no derivative that it asks for will be differentiated again, and so none needs to be
    recorded. `requested` and `discarded`: what the text tells of its outputs and of values that it throws away, worked out at
    the first run that asks."""

    def __init__(self, node: program.Program, block: Statement, asks: bool, rules: bool) -> None:
        self.program, self.block, self.asks, self.rules = node, block, asks, rules
        self.derives = self.once = False
        self.declares = frozenset(declared_names(node))
        self.cells = [k + FRAME_HEAD for k in own_cells(node.body)]
        self.template = [None] * FRAME_HEAD + [UNSET] * node.n_slots

    @cached_property
    def requested(self) -> set[str]:
        return requested_outputs(self.program)

    @cached_property
    def discarded(self) -> list[Diagnostic]:
        return discarded(self.program)

    def frame(self, run: Run) -> list[Any]:
        frame: list[Any] = self.template.copy()
        frame[0] = run
        for k in self.cells:
            frame[k] = Cell([UNSET])
        return frame


def compile_program(
    handlers: Handlers,
    settings: Settings,
    node: program.Program,
    keeps_all: bool = False,
    imports: dict[int, Compiled] | None = None,
    prefix: str = "",
    places: bool = False,
    fuses: bool = True,
    only_gradients: bool = False,
) -> Compiled:
    """Compiles a program; `imports` holds the imported ones compiled already, by identity; see `Compiler` for the rest."""
    c = Compiler(handlers, settings, keeps_all, imports, prefix, fuses, only_gradients)
    c.places = node.has_modules or places
    c.functions = c.known_functions(node.body)
    c.declared = {s.slot.index for s in declarations(node.body)}
    with collector_paused(), deep_stack():
        block = compile_block(c, node.body)
    compiled = Compiled(node, block, c.asks, c.rules)
    compiled.derives = c.derives
    return compiled


def deep_stack() -> AbstractContextManager[None]:
    """Room for `MAX_DEPTH` calls of a program inside each other, of some thirty Python frames each, and for deep expressions.

    Python's own functions don't use the C stack when they call each other, so the limit may be high; but C code that
    recurses relies on it, so it is restored.
    """
    return recursion(50 * MAX_DEPTH)


def declared_names(node: program.Program, prefix: str = "", needed: bool = False) -> list[str]:
    """The names that values from outside may be given for, or with `needed` must be; imported ones under their path."""
    names = [prefix + d.slot.name for d in declarations(node.body) if d.value is None or not needed]
    for statement in node.body:
        if isinstance(statement, program.Import):
            names += declared_names(statement.program, f"{prefix}{statement.slot.name}.", needed)
    return names


def run_import(run: Run, compiled: Compiled, node: program.Import) -> Namespace:
    """The names of an imported program, which runs once for all that import it."""
    key = id(compiled.program)
    namespace: Namespace | None = run.imports.get(key)
    if namespace is None:
        frame = compiled.frame(run)
        compiled.block(frame)
        namespace = run.imports[key] = Namespace(node.slot.name, frame, compiled.program.names)
    return namespace
