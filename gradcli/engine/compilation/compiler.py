"""The state of a program's compilation, which is passed from node to node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from ...diagnostics import Span
from ...lang import program
from ..backends.tiers import policy
from ..trace.run import Settings
from ..values.kinds import FRAME_HEAD, Variable

Closure: TypeAlias = Callable[..., Any]  # of a frame
# what a name of the frame is called from the top level
Path: TypeAlias = Callable[[list[Any]], str]


class Handlers(NamedTuple):
    """The functions that compile each class of nodes: `(compiler, node) -> closure`. The closures
    of expressions whose value may hold a new module instance also take its path (`paths.py`).

    hot_calls  `(compiler, place)` -> an object with `call`, which makes the calls there as
               `call_value` does; None to have the interpreter make them
    hot_loop   `(compiler, loop)` -> an object with `run(frame, items, through)`; None to have the
               interpreter run it
    """

    expressions: Mapping[type, Callable[[Compiler, Any], Closure]]
    statements: Mapping[type, Callable[[Compiler, Any], Closure]]
    hot_calls: Callable[[Compiler, Span], Any]
    hot_loop: Callable[[Compiler, program.While | program.For], Any]


class Compiler:
    """Compiles for one choice of settings, each node by the handler of its class.

    keeps_all  for the second keeping policy of the trace: nothing may take a short cut around
               `apply`
    counts     whether every statement counts against `--max-steps`
    prefix     stands before the names of variables: `other.` in an imported program
    places     whether expressions take the path that their value goes to (`paths.py`): only
               programs with modules need it
    path       of a name of the frame, as the top level calls it
    in_module  whether it is a module's body
    declared   the slots of the top level that are declared: assigning to one may replace a variable
    in_function  whether what is compiled is inside a function
    asks       whether a function asks for gradients of values (`grad(y, x)`, a tape); a run that
               keeps everything does
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
    ) -> None:
        self.handlers = handlers
        self._writes = policy().writes
        self.imports = {} if imports is None else imports
        self.prefix = prefix
        self.places = False
        self.path: Callable[[program.Slot], Path] = lambda slot: lambda frame: prefix + slot.name
        self.in_module = False
        self.declared: set[int] = set()
        self.in_function, self.asks, self.rules = False, keeps_all, False
        self.parameters: set[int] = set()
        self.operations = 0
        self.liveness: Any = None
        self.settings = settings
        self.keeps_all = keeps_all
        self.counts = settings.max_steps is not None

    @property
    def on_floats(self) -> bool:
        """Whether numbers are Python's, and operations on them needn't be seen."""
        return self.settings.dtype == "float64" and not self.keeps_all

    @property
    def compiles(self) -> bool:
        """Whether hot calls and long loops are compiled."""
        return self._writes and not (self.keeps_all or self.counts)

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
