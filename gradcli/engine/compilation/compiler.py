"""What the compilation of a program carries from node to node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from ...diagnostics import Span
from ...lang import program
from ..analysis.inlining import Known, known_functions
from ..backends.tiers import policy
from ..trace.run import Settings
from ..values.kinds import FRAME_HEAD, Variable

Closure: TypeAlias = Callable[[list[Any]], Any]
Path: TypeAlias = Callable[
    [list[Any]], str
]  # what a name of the frame is called from the top level


class Lowering:
    """Replaces closures of the interpreter by faster ones; this base class, tier 0, replaces
    none."""

    def operation(
        self, c: Compiler, node: program.Apply, interpret: Callable[[], Closure]
    ) -> Closure:
        """The closure of an elementwise operation or a reduction; `interpret` makes the
        interpreter's."""
        return interpret()

    def call(self, c: Compiler, node: program.Call, interpreted: Closure) -> Closure:
        """The closure of a call."""
        return interpreted

    def calls(self, c: Compiler, span: Span) -> Any:
        """An object with `call`, which makes the calls at a place as `call_value` does; None to
        have the interpreter make them."""
        return None

    def condition(
        self, c: Compiler, node: program.Expression, interpreted: Closure
    ) -> Closure | None:
        """The closure of a condition for many rows; None for the interpreter's."""
        return None

    def body(
        self, c: Compiler, body: tuple[program.Statement, ...], interpreted: Closure
    ) -> Closure:
        """The closure of a function's body for many rows."""
        return interpreted

    def loop(self, c: Compiler, node: program.While | program.For) -> Any:
        """An object with `run(frame, items, through)` that runs a long loop; None to run it turn by
        turn."""
        return None


class Handlers(NamedTuple):
    """The functions that compile each class of nodes: `(compiler, node) -> closure`. `placed` has
    those for expressions whose value may hold a new module instance; their closures take its path
    (`paths.py`). `lowering` has faster closures for hot code."""

    expressions: Mapping[type, Callable[[Compiler, Any], Closure]]
    statements: Mapping[type, Callable[[Compiler, Any], Closure]]
    placed: Mapping[type, Callable[[Compiler, Any], Callable[[list[Any], str | None], Any]]]
    lowering: Lowering


class Compiler:
    """Compiles for one choice of settings, each node by the handler of its class.

    keeps_all  for the second keeping policy of the trace: nothing may take a short cut around
               `apply`
    writes     whether any code is written for what is hot; else the interpreter runs alone, without
               short cuts (`tiers.py`)
    slow       whether no short cut is taken on scalars, as where they can't be Python floats
    fuses      whether expressions become one operation each; not where the operations are to be
               seen
    counts     whether every statement counts against `--max-steps`
    prefix     stands before the names of variables: `other.` in an imported program
    places     whether expressions take the path that their value goes to (`paths.py`): only
               programs with modules need it
    path       of a name of the frame, as the top level calls it
    in_module  whether it is a module's body
    fusing     whether what is compiled is part of an expression that can be one function
               (`fusion.py`)
    declared   the slots of the top level that are declared: assigning to one may replace a variable
    functions  the slots of the frame being compiled that hold one function for good (`inlining.py`)
    in_function  whether what is compiled is inside a function
    asks       whether a function asks for gradients of values (`grad(y, x)`, a tape); a run that
               keeps everything does
    derives    whether a derivative of a function is asked for
    only_gradients  whether nothing is asked of a run but its values and one gradient of each, which
    needs no record of each turn
    rules      whether a function has a rule of its own, or is opaque
    parameters  the slots of the function being compiled that are its parameters
    operations how many operations were compiled so far: those of a body are its size
    liveness   which names of the frame being compiled are still read (`liveness.py`); None where
               all may be, from outside
    """

    def __init__(
        self,
        handlers: Handlers,
        settings: Settings,
        keeps_all: bool = False,
        imports: dict[int, Any] | None = None,
        prefix: str = "",
        only_gradients: bool = False,
    ) -> None:
        self.handlers, self.lowering = handlers, handlers.lowering
        self.imports = {} if imports is None else imports
        self.prefix = prefix
        self.places = False
        self.path: Callable[[program.Slot], Path] = lambda slot: lambda frame: prefix + slot.name
        self.in_module = False
        self.declared: set[int] = set()
        self.fusing = False
        self.functions: dict[int, Any] = {}
        self.in_function, self.asks, self.rules = False, keeps_all, False
        self.derives = False
        self.parameters: set[int] = set()
        self.operations = 0
        self.liveness: Any = None
        self.settings = settings
        self.keeps_all = keeps_all
        self.writes = policy().writes
        self.slow = self.is_slow(keeps_all)
        self.fuses = self.writes and not keeps_all
        self.only_gradients = only_gradients
        self.counts = settings.max_steps is not None

    def is_slow(self, keeps_all: bool) -> bool:
        """The value of `slow` for a run that keeps everything, or for another."""
        return keeps_all or not self.writes or self.settings.dtype != "float64"

    def expression(self, node: program.Expression) -> Closure:
        """The closure of an expression: `frame -> value`."""
        return self.handlers.expressions[type(node)](self, node)

    def value(self, node: program.Expression) -> Closure:
        """The closure of an expression as an operand or condition: a variable is read."""
        closure = self.expression(node)
        if not isinstance(node, _MAY_BE_VARIABLES):
            return closure
        if is_slot(node):
            k = node.slot.index + FRAME_HEAD  # type: ignore[union-attr]

            def read_slot(frame: list[Any]) -> Any:
                v = frame[k]
                return v.box if type(v) is Variable else v

            return read_slot

        def value(frame: list[Any]) -> Any:
            v = closure(frame)
            return v.box if type(v) is Variable else v

        return value

    def statement(self, node: program.Statement) -> Closure:
        """The closure of a statement: `frame -> completion`, noted and counted where the settings
        ask for it."""
        statement = self.handlers.statements[type(node)](self, node)
        if self.keeps_all:
            statement = _noted(statement, id(node))
        if self.settings.tracks:
            statement = _tracked(statement, node.span)
        return counted(statement, node.span) if self.counts else statement

    def known_functions(
        self, body: Any, function: program.Function | None = None
    ) -> dict[int, Known]:
        """The slots of a frame that hold one function for good; none where no expression is read as
        one."""
        return {} if self.slow else known_functions(self.functions, body, function)

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """Compiles what is inside the block for an inner frame, with these facts of its own."""
        outside = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        try:
            yield
        finally:
            vars(self).update(outside)


_MAY_BE_VARIABLES = (
    program.Read,
    program.Call,
    program.MethodCall,
    program.Member,
    program.Index,
    program.Conditional,
)


def is_slot(node: program.Expression) -> bool:
    """Whether an expression is a name that is read straight from its slot."""
    return isinstance(node, program.Read) and not node.checked and not node.slot.cell


def counted(statement: Closure, span: Span) -> Closure:
    """Makes the closure of a statement count as a step. Raises GradcliError (E403) when it runs
    beyond `--max-steps`."""

    def counted(frame: list[Any]) -> Any:
        run = frame[0]
        run.steps += 1
        if run.steps > run.settings.max_steps:
            run.fail(
                "E403",
                f"the limit of {run.settings.max_steps} steps is reached",
                span,
                help="a step is one statement executed; raise it with --max-steps",
            )
        return statement(frame)

    return counted


def _tracked(statement: Closure, span: Span) -> Closure:
    def tracked(frame: list[Any]) -> Any:
        frame[0].place = span
        return statement(frame)

    return tracked


def _noted(statement: Closure, key: int) -> Closure:
    def noted(frame: list[Any]) -> Any:
        frame[0].executed.add(key)
        return statement(frame)

    return noted
