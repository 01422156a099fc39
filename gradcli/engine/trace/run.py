"""One run of a program: everything that changes while it runs, in one place; and the context in
which it runs."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn
from weakref import WeakValueDictionary

from ...diagnostics import Diagnostic, GradcliError, Span
from ...platform.collector import collector_paused
from ...platform.recursion import recursion
from ..backends.backend import Backend, ieee
from ..backends.selection import backend_for
from ..backends.tiers import RECORDED
from ..values.lanes import Group
from .keeping import KeepingTrace
from .tape import Site, Trace
from .windows import Window

MAX_DEPTH = 2000  # calls inside calls


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run may not change: dtype ("float64" or "float32"), device, seed, the limits (None:
    unlimited), and whether the run keeps track of the statement it is at, for limits that strike
    from outside (time, memory)."""

    dtype: str = "float64"
    device: str = "cpu"
    seed: int = 0
    max_steps: int | None = None
    max_memory: int | None = None
    tracks: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """One `expect` that was executed; `diagnostic` shows a failed one in the source. Of many rows,
    `rows` are those of the outermost group for which it failed, and `by_row` what it says of each
    of them alone, where that was asked for and is known."""

    line: int
    passed: bool
    message: str = ""
    diagnostic: Diagnostic | None = None
    rows: tuple[int, ...] = ()
    by_row: tuple[Diagnostic, ...] = ()


class Unconnected(NamedTuple):
    """A gradient that a program asked for and that doesn't exist: its target and source, the place,
    and the tape."""

    target: Any
    source: Any
    span: Span
    window: Window


class Dispatch(NamedTuple):
    """Functions of higher rooms that operations call. A run gets them when it is made.

    push  forward mode of an operation: `(run, site, values, options, level) -> value`
    call  a call of any value: `(run, callee, arguments, keywords, site, path) -> value`
    """

    push: Callable[..., Any]
    call: Callable[..., Any]


class Run:
    """The state of a run. Frames hold it in their first slot, so every closure can reach it.

    inputs     values from outside by declared name
    declared   the variables of the top level and of imports, by path, in order of declaration
    replaced   top-level names whose variable was replaced by a plain value: the variable, and where
    unconnected  gradients that came out unconnected, by the place that asks and the name of the
    source
    attached   the variables with attached gradients that still exist, by number
    sizes      named sizes of declared shapes: the size, and where it was first given
    executed   where everything is kept, the statements that were executed, by identity
    place      the statement being executed, if the settings want it tracked
    level      the innermost level that a transform has opened (`boxes.py`); `trace` is that of the
               innermost reverse one
    asks       whether a function of the program asks for a gradient of a value, so that tangents
               need a trace
    bodies     how many calls are inside each other whose tangents go over the trace
               (`transforms/forward_level.py`)
    one_record whether a loop or a call on traced numbers may be one record: no derivative is asked
               by what is in between, nor what each element depends on
    rows_as_one whether a call of `vmap` may be one that tells what each element depends on
    compiled   the program that it executes (`execution.py`)
    once       whether nothing that a derivative gave will be differentiated, so that no sweep needs
               to be recorded
    rules      whether a function of the program has a rule of its own, whose derivatives depend on
               the mode
    direction  in forward mode, the tangent of a variable, `(name, state) -> tangent or None`, at
               `direction_level`
    paused     forward levels up to this one carry no tangents: they were open when a `pause` began
    group      the rows that run together, where there are any (`lanes.py`); None outside
    changes    the states that were there before, for each division of the rows that is going on
               (`divergence.py`)
    parts_rows whether rows that do what is kept for all of them as one part from the others and
               begin again (`row_runs.py`)
    passed     statements at least that loops did together, which no step counts
    work       operations of calls and iterations so far, about: it decides what is hot
    draws      calls of random builtins so far: with the seed, the whole state of the generator
    captures   in the body of a function with a rule of its own, which traced values are neither
               its arguments nor made in it
    claims     the two sides of every `expect A ~= B` that held, where they are to be
               differentiated, and its node
    domains    the two ends of the domains that variables declare, where they are asked for:
               (variable, low, high, place)
    """

    __slots__ = (
        "_free_memory", "asks", "attached", "backend", "bodies", "captures", "changes", "claims",
        "compiled", "declared", "depth", "diagnostics", "direction", "direction_level", "dispatch",
        "domains", "draws", "executed", "expectations", "group", "imports", "inputs", "level",
        "once", "one_record", "outputs", "parts_rows", "passed", "paused", "place", "printed",
        "printed_values", "replaced", "rows_as_one", "rules", "settings", "sizes", "steps", "trace",
        "unconnected", "used_inputs", "work",
    )  # fmt: skip

    def __init__(
        self,
        dispatch: Dispatch,
        settings: Settings,
        inputs: Mapping[str, Any],
        keeps_all: bool = False,
    ) -> None:
        self.dispatch = dispatch
        self.settings = settings
        self.inputs = inputs
        self.backend: Backend = backend_for(settings.device)
        self.backend.limit_memory(settings.max_memory)
        self.trace: Trace = KeepingTrace() if keeps_all else Trace()
        self.outputs: dict[str, Any] = {}
        self.printed: list[str] = []
        self.printed_values: list[list[Any]] = []  # of each of these statements
        self.expectations: list[Expectation] = []
        self.diagnostics: list[Diagnostic] = []
        self.declared: dict[str, Any] = {}
        self.used_inputs: set[str] = set()
        self.replaced: dict[str, tuple[Any, Span]] = {}
        self.sizes: dict[str, tuple[int, Span]] = {}
        self.imports: dict[int, Any] = {}
        self.unconnected: dict[tuple[Span, str], list[Unconnected]] = {}
        self.attached: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self.draws = 0
        self.captures: Callable[[Any], bool] | None = None
        self.claims: list[tuple[Any, Any, Any]] | None = None
        self.domains: list[tuple[Any, Any, Any, Span]] | None = None
        self.group: Group | None = None
        self.parts_rows = False
        self.changes: list[dict[Any, Any]] = []
        self.level = 0
        self.direction: Callable[[str, Any], Any] | None = None
        self.direction_level = 0
        self.asks = self.once = self.rules = self.one_record = False
        self.rows_as_one = False
        self.compiled: Any = None  # what it executes
        self.paused = self.bodies = 0
        self.executed: set[int] = set()
        self.place: Span | None = None
        self.steps = self.passed = self.work = 0
        self.depth = 0
        self._free_memory: int | None = None

    def call(self, callee: Any, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
        """Calls a value: a function, a transform, a builtin or an instance. Raises GradcliError
        (E308) for anything else."""
        return self.dispatch.call(self, callee, arguments, keywords, site)

    @property
    def effort(self) -> int:
        """The work so far, with that of the records of the current trace."""
        return self.work + RECORDED * self.trace.number

    def traces(self) -> list[Trace]:
        """The traces that can record, the innermost first."""
        traces = [self.trace]
        while traces[-1].below is not None:
            traces.append(traces[-1].below)
        return traces

    # ---- dtype policy ----------------------------------------------------------------------------

    def real(self, value: float) -> Any:
        """Converts to a float of the run's dtype: Python's for float64, NumPy's for float32."""
        return value if self.settings.dtype == "float64" else self.backend.xp.float32(value)

    # ---- failing ---------------------------------------------------------------------------------

    def fail(
        self, code: str, message: str, span: Span | None, label: str = "", help: str = ""
    ) -> NoReturn:
        raise GradcliError(Diagnostic(code, message, span, label, help))

    def warn(self, diagnostic: Diagnostic) -> None:
        """Adds a warning, once for a place and a message."""
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    # ---- memory ----------------------------------------------------------------------------------

    def verify_allocation(self, n_bytes: int, what: str, span: Span | None) -> None:
        """Refuses an array that can't fit, before it is made."""
        if n_bytes < 2**24:
            return
        limit = self.settings.max_memory
        if limit is None:
            limit = self._free_memory = self._free_memory or self.backend.free_memory()
        if n_bytes > limit:
            word, help = (
                ("allowed", ", or raise --max-memory") if self.settings.max_memory else ("free", "")
            )
            message = f"{what} would take {show_bytes(n_bytes)}, and {show_bytes(limit)} are {word}"
            self.fail("E405", message, span, help="make it smaller" + help)


def show_bytes(n: int) -> str:
    """A number of bytes with a unit: `1.5 GB`."""
    size = float(n)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


# ---- the state of the process meanwhile ----------------------------------------------------------


# Of Python frames, for `MAX_DEPTH` calls of a program inside each other, some thirty for each, and
# for deep expressions. Python's own functions don't use the C stack when they call each other, so
# the limit may be high; but C code that recurses relies on it, so it is restored.
STACK = 50 * MAX_DEPTH


@contextmanager
def running() -> Iterator[None]:
    """A context in which programs run: the garbage collector is paused, floating-point errors are
    values and no warnings, and there is room for `MAX_DEPTH` calls inside each other.

    Entered again inside itself, it changes nothing and costs next to nothing. Raises GradcliError
    (E406) where calls are nested too deeply for it.
    """
    if getattr(_here, "runs", False):
        yield
        return
    _here.runs = True
    try:
        with collector_paused(), ieee(), recursion(STACK):
            yield
    finally:
        _here.runs = False


_here = _thread._local()  # of each thread: `runs`, whether a program runs in it
