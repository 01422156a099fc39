"""A program compiled for one choice of settings, and the programs that it imports."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ...lang.program.liveness import Liveness
from ...lang.program.walks import own_cells
from ...platform.collector import collector_paused
from ..analysis.declared import declarations
from ..analysis.facts import Facts
from ..trace.run import Run, Settings, running
from ..values.kinds import FRAME_HEAD, UNSET, Cell, Namespace
from .compiler import Compiler, Handlers
from .sequence import Statement, compile_block


class Compiled:
    """A program compiled for one choice of settings; can be run any number of times.

    settings   those that it is compiled for
    facts      what follows from its text
    keeps_all  its runs keep every value (`KeepingTrace`)
    by_variables  nothing is asked of its runs but values, and derivatives by variables
    asks_for_structure  what each element depends on is asked of its runs
    once       no derivative that it asks for will be differentiated again, and so none needs to be
               recorded
    operations  how many its text has
    """

    def __init__(
        self,
        settings: Settings,
        node: program.Program,
        facts: Facts,
        block: Statement,
        asks: bool,
        rules: bool,
        keeps_all: bool,
    ) -> None:
        self.settings, self.program, self.facts, self.block = settings, node, facts, block
        self.asks, self.rules, self.keeps_all = asks, rules, keeps_all
        self.once = self.by_variables = self.asks_for_structure = False
        self.operations = 0
        self.cells = [k + FRAME_HEAD for k in own_cells(node.body)]
        self.template = [None] * FRAME_HEAD + [UNSET] * node.n_slots

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
    facts: Facts | None = None,
    liveness: Liveness | None = None,
) -> Compiled:
    """Compiles a program; `imports` holds the imported ones compiled already, by identity, `facts`
    what follows from its text, where that is known; see `Compiler` for the rest."""
    c = Compiler(handlers, settings, keeps_all, imports, prefix)
    c.liveness = liveness
    c.places = node.has_modules or places
    c.declared = {s.slot.index for s in declarations(node.body)}
    with collector_paused(stays=True), running():
        block = compile_block(c, node.body)
    compiled = Compiled(settings, node, facts or Facts(node), block, c.asks, c.rules, keeps_all)
    compiled.operations = c.operations
    return compiled


def run_import(run: Run, compiled: Compiled, node: program.Import) -> Namespace:
    """Runs an imported program, once for all that import it, and returns its names."""
    key = id(compiled.program)
    namespace: Namespace | None = run.imports.get(key)
    if namespace is None:
        frame = compiled.frame(run)
        compiled.block(frame)
        namespace = run.imports[key] = Namespace(node.slot.name, frame, compiled.program.names)
    return namespace
