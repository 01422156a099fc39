"""The front door of the engine: compile a program, execute it, and ask for its values and their
derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

from ..diagnostics import GradcliError
from ..lang import program
from .ad.derivatives import gradients
from .ad.forward import push
from .ad.targets import ones_like, unit, verify_target, zeros_like
from .backends.threads import on_threads as on_threads
from .calls.calling import call_value
from .compilation import compiled
from .compilation.compiled import Compiled as Compiled
from .compilation.compiler import Handlers
from .interpreter.expressions import EXPRESSIONS
from .interpreter.statements import STATEMENTS
from .kernels.hot_calls import hot_calls
from .kernels.hot_loops import hot_loop
from .operations.instances import named_variables
from .trace.run import Dispatch
from .trace.run import Expectation as Expectation
from .trace.run import Run as Run
from .trace.run import Settings as Settings
from .trace.run import running as running
from .values.boxes import primal
from .values.contents import plain
from .values.kinds import (
    UNSET,
    Cell,
    Namespace,
    Tape,
    Variable,
    is_callable,
    map_structure,
    read,
    show,
    slot_value,
)
from .values.sparse import Sparse, entries

if TYPE_CHECKING:
    from .jacobian.jacobians import Firsts
    from .jacobian.plans import Plan

HANDLERS = Handlers(EXPRESSIONS, STATEMENTS, hot_calls, hot_loop)
DISPATCH = Dispatch(push, call_value)


def compile_program(settings: Settings, node: program.Program, **how: Any) -> Compiled:
    """A program compiled for these settings; `how` it is compiled, `Compiler` says."""
    return compiled.compile_program(HANDLERS, settings, node, **how)


def new_run(settings: Settings, inputs: Mapping[str, Any], keeps_all: bool = False) -> Run:
    """A fresh run, for values from outside by name; `keeps_all` for one that is asked why."""
    return Run(DISPATCH, settings, inputs, keeps_all)


class Execution:
    """One execution of a program: its values, and their derivatives by each other.

    compiled  the program
    run       the state of the run, which may be prepared before `execute`
    frame     the values of the names at the top level; empty before `execute`
    """

    __slots__ = ("_firsts", "compiled", "frame", "run")

    def __init__(self, compiled: Compiled, inputs: Mapping[str, Any]) -> None:
        self.compiled = compiled
        self.run = new_run(compiled.settings, inputs, compiled.keeps_all)
        self.frame: list[Any] = []
        self._firsts: tuple[list[Any], Firsts] | None = None

    def execute(self) -> Execution:
        """Runs the program. Raises GradcliError; the run holds what came before it."""
        compiled, run = self.compiled, self.run
        self.frame = compiled.frame(run)
        run.compiled = compiled
        run.asks, run.rules = compiled.asks, compiled.rules
        # In forward mode, what a sweep computes has tangents.
        run.once = compiled.once and run.direction is None
        run.rows_as_one = compiled.by_variables
        run.one_record = compiled.by_variables and not compiled.asks_for_structure
        try:
            with running():
                compiled.block(self.frame)
        except GradcliError as error:
            if run.place is not None:  # a limit from outside doesn't know where it struck
                error.at(run.place)
            raise
        except MemoryError:
            help = "make the arrays smaller, or raise --max-memory"
            run.fail("E405", "out of memory", run.place, help=help)
        return self

    def release(self) -> None:
        """Takes the run apart, so that its arrays go at once: frames, functions and the trace refer
        to each other."""
        run = self.run
        frames = [self.frame, *[namespace.frame for namespace in run.imports.values()]]
        run.imports.clear()
        run.trace.segment = None
        for frame in frames:
            for value in frame:
                if type(value) is Cell:
                    value.clear()
            frame.clear()

    # ---- values ----------------------------------------------------------------------------------

    @property
    def program(self) -> program.Program:
        return self.compiled.program

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs by name: what `output` named, or the value of the last statement."""
        return self.run.outputs or self.results

    @property
    def results(self) -> dict[str, Any]:
        """The value of the last statement, by name."""
        results = {}
        for name, expression in self.program.results:
            if isinstance(expression, program.Read):
                value = slot_value(self.frame, expression.slot)
                if value is not UNSET:
                    results[name] = read(value)
        return results

    @property
    def variables(self) -> dict[str, Variable]:
        """Every variable that the top level can name, by its path."""
        return named_variables(self.run, self.program, self.frame)

    def name(self, name: str) -> Any:
        """What a name of the top level holds; `UNSET` where there is none, or nothing yet."""
        slot = self.program.names.get(name)
        return UNSET if slot is None else slot_value(self.frame, slot)

    def host(self, value: Any) -> Any:
        """A value as it is outside the program: numbers, lists and dicts, and arrays in NumPy's
        memory; other values as text."""
        return _host(self.run.backend.to_host, plain(value))

    # ---- derivatives -----------------------------------------------------------------------------

    def seeds(self, target: Any) -> list[tuple[Any, Any]]:
        """The values in a target that are on the trace, each with the cotangent of its sum. Raises
        GradcliError for a target that has no gradients."""
        return [(t, ones_like(self.run, t)) for t in verify_target(self.run, target, None)]

    def gradients(self, target: Any, sources: list[Any], recorded: bool = False) -> list[Any]:
        """The gradients of the sum of a target's elements by each source; None where it doesn't
        depend on one. They are on the trace themselves where they are `recorded`. Raises
        GradcliError for a target that has none."""
        return gradients(self.run, self.seeds(target), sources, recorded)

    def jacobians(
        self, target: Any, sources: list[Any], mode: str = "auto", sparse: bool = False
    ) -> list[Any]:
        """The Jacobians of a target by each source, in `mode` "auto", "forward" or "reverse";
        `sparse` ones have the entries that can differ from zero."""
        from .jacobian.jacobians import jacobians  # not at every start

        return jacobians(self.run, target, sources, mode, sparse)

    def hessians(
        self,
        target: Any,
        sources: list[Any],
        blocks: bool = False,
        mode: str = "auto",
        sparse: bool = False,
    ) -> dict[tuple[int, int], Any]:
        """The second derivatives of the sum of a target's elements by pairs of sources, by their
        numbers: each by itself, or with `blocks` all of them."""
        from .jacobian.jacobians import hessians

        firsts = self._first_derivatives(target, sources, blocks, sparse)
        return hessians(self.run, firsts, sources, blocks, mode, sparse)

    def jacobian_plans(
        self, target: Any, sources: list[Any], mode: str, sparse: bool
    ) -> list[list[Plan]]:
        """By which sweeps `jacobians` are computed, in each place of the target."""
        from .jacobian.jacobians import jacobian_plans

        return jacobian_plans(self.run, target, sources, mode, sparse)

    def hessian_plans(
        self, target: Any, sources: list[Any], blocks: bool, mode: str, sparse: bool
    ) -> dict[int, list[Plan]]:
        """By which sweeps `hessians` are computed, by the number of the source that the gradient
        is by."""
        from .jacobian.jacobians import hessian_plans

        firsts = self._first_derivatives(target, sources, blocks, sparse)
        return hessian_plans(self.run, firsts, sources, mode, sparse)

    def _first_derivatives(
        self, target: Any, sources: list[Any], blocks: bool, sparse: bool
    ) -> Firsts:
        """What the Hessians of a target begin with. It is kept for the next request, which is often
        for the same ones: their plans come first."""
        from .jacobian.jacobians import first_derivatives

        asked = [target, *sources, blocks, sparse]
        if self._firsts is not None:
            before, found = self._firsts
            if len(before) == len(asked) and all(map(is_, before, asked)):
                return found
        found = first_derivatives(self.run, target, sources, blocks, sparse)
        self._firsts = asked, found
        return found

    def unit(self, value: Any, k: int) -> Any:
        """The cotangent of one element of a value: 1 at `k`, counted through its dimensions."""
        return unit(self.run, primal(value), k)

    def zero_gradient(self, source: Any) -> Any:
        return zeros_like(self.run, source)

    def zero_block(self, target: Any, source: Any, sparse: bool = False) -> Any:
        """Zeros as a Jacobian of a target by a source, or a block of a Hessian, has them."""
        from .jacobian.compressed import zero_block

        return map_structure(lambda value: zero_block(self.run, value, source, sparse), target)


def _host(to_host: Any, value: Any) -> Any:
    if isinstance(value, list):
        return [_host(to_host, v) for v in value]
    if isinstance(value, dict):
        return {k: _host(to_host, v) for k, v in value.items()}
    if type(value) is Sparse:
        return _host(to_host, plain(entries(value)))
    if is_callable(value) or type(value) in (Tape, Namespace):
        return show(value)
    return to_host(value)
