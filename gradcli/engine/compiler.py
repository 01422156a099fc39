"""What the compilation of a program carries from node to node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeAlias

from ..lang import program
from .run import Settings

Closure: TypeAlias = Callable[[list[Any]], Any]
Path: TypeAlias = Callable[[list[Any]], str]  # what a name of the frame is called from the top level


class Compiler:
    """Compiles for one choice of settings.

    keeps_all  for the second keeping policy of the trace: nothing may take a short cut around `apply`
    slow       whether scalars can't be Python floats, so that the short cuts would never be taken
    fuses      whether expressions become one operation each; not where the operations are to be seen
    counts     whether every statement counts against `--max-steps`
    prefix     stands before the names of variables: `other.` in an imported program
    places     whether values are told where they go (`paths.py`), which only programs with modules need
    path       of a name of the frame, as the top level calls it
    in_module  whether it is a module's body
    fusing     whether what is compiled is part of an expression that can be one function (`fusion.py`)
    declared   the slots of the top level that are declared: assigning to one may replace a variable
    functions  the slots of the frame being compiled that hold one function for good (`inlining.py`)
    in_function  whether what is compiled is inside a function
    asks       whether a function asks for gradients of values (`grad(y, x)`, a tape); a run that keeps everything does
    derives    whether a derivative of a function is asked for
    only_gradients  whether nothing is asked of a run but its values and one gradient of each, which needs no record of each turn
    rules      whether a function has a rule of its own, or is opaque
    parameters  the slots of the function being compiled that are its parameters
    liveness   which names of the frame being compiled are still read (`liveness.py`); None where all may be, from outside
    """

    def __init__(
        self,
        settings: Settings,
        keeps_all: bool = False,
        imports: dict[int, Any] | None = None,
        prefix: str = "",
        fuses: bool = True,
        only_gradients: bool = False,
    ) -> None:
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
        self.liveness: Any = None
        self.settings = settings
        self.keeps_all = keeps_all
        self.slow = keeps_all or settings.dtype != "float64"
        self.fuses = fuses and not keeps_all
        self.only_gradients = only_gradients
        self.counts = settings.max_steps is not None

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """For an inner frame, with these facts of its own."""
        outside = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        try:
            yield
        finally:
            vars(self).update(outside)


class _Parts(dict[type, "Callable[[Any], tuple[Any, ...]] | None"]):
    """What takes a kind of node apart: into the fields in which there may be others. None for what is no node."""

    def __missing__(self, kind: Any) -> Callable[[Any], tuple[Any, ...]] | None:
        parts: Callable[[Any], tuple[Any, ...]] | None = None
        if issubclass(kind, program.Node | program.Argument | program.FunctionParameter):
            names = [name for name in kind.FIELDS if name != "span"]
            parts = attrgetter(*names) if len(names) > 1 else lambda node: tuple([getattr(node, name) for name in names])
        self[kind] = parts  # once only, for other threads
        return parts


PARTS = _Parts()
_OWN_FRAMES = frozenset((program.Function, program.Program))


def own_nodes(nodes: Any, closed: frozenset[type] = _OWN_FRAMES) -> Iterator[Any]:
    """Every node below, but for those of `closed` kinds and what is in them: functions and imported programs, which have
    frames, and so names, of their own."""
    pending = list(nodes)
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is tuple:
            pending.extend(item)
        elif kind not in closed and (parts := PARTS[kind]) is not None:
            yield item
            pending.extend(parts(item))


def own_cells(body: Any, parameters: tuple[program.FunctionParameter, ...] = ()) -> set[int]:
    """The slots of a frame that hold cells, as the nodes of its body mention them (inner functions have their own frames)."""
    found = {p.slot.index for p in parameters if p.slot.cell}
    pending: list[Any] = list(body)
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is tuple:
            pending.extend(node)
        elif kind is program.Slot:
            if node.cell:
                found.add(node.index)
        elif kind is program.Import:
            pending.append(node.slot)  # the imported program has a frame of its own
        elif kind is program.ModuleLiteral:
            pending.append(node.function)  # the members are slots of its frame
        elif kind is program.Function:
            found.update([outer.index for outer, _ in node.captures])
            pending.extend([p.default for p in node.parameters])
        elif (parts := PARTS[kind]) is not None:
            pending.extend(parts(node))
    return found
