"""The values that are not numbers: lists, variables, functions, instances; and how any value is
described and shown.

Numbers are Python's int, float, bool and complex, and arrays of rank 1 or more (see `backend.py`);
strings, None and dicts are Python's, dicts and lists being never changed once made. A traced number
is a tuple (`tape.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span
from ...lang import program
from ...ops.op import Op
from ..backends.backend import dtype_name, is_inexact, shape_of
from .boxes import primal
from .lanes import Lanes


class _Unset:
    """What a slot holds before its name is assigned."""

    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()


class List:
    """A list: values in order. `append` shares the buffer with the list it extends, so a loop of
    appends is amortised."""

    __slots__ = ("_buffer", "_length")

    def __init__(self, items: list[Any]) -> None:
        self._buffer = items
        self._length = len(items)

    def append(self, value: Any) -> List:
        """Returns the list with one more value. The first list to grow a shared buffer takes it
        over; the next ones copy."""
        buffer = self._buffer if len(self._buffer) == self._length else self._buffer[: self._length]
        buffer.append(value)
        return List(buffer)

    def replace(self, index: int, value: Any, in_place: bool = False) -> List:
        """Returns the list with another value at `index`: this one if it is changed `in_place`, for
        which nothing else may refer to it or to its buffer."""
        if in_place:
            self._buffer[index] = value
            return self
        items = self.items.copy()
        items[index] = value
        return List(items)

    def holders(self) -> int:
        """The reference count of the buffer, which other lists and loops may share."""
        return sys.getrefcount(self._buffer)

    @property
    def items(self) -> list[Any]:
        """The values, which must not be changed."""
        return self._buffer if len(self._buffer) == self._length else self._buffer[: self._length]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        # the buffer may grow while somebody goes through it
        return islice(self._buffer, self._length)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Variable:
    """A variable: a name with state. `box` is what reading it gives: a leaf of the trace if it is
    trainable, else the state.

    `number` identifies it on the trace, whatever its state; 0 if it never was a leaf. `watchers`
    counts the windows that watch it explicitly: what isn't trainable is a leaf only while there are
    any, or for good once it has an attached gradient: `grad`, which `backward` fills as `req` says
    ("write", "add", "null"; "" where none is attached).
    """

    __slots__ = (
        "__weakref__", "box", "grad", "kind", "name", "number", "origin", "req", "span", "state",
        "watchers",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, span: Span, state: Any) -> None:
        self.name, self.kind, self.span = name, kind, span
        self.state = state
        self.box = state
        self.number = 0
        self.watchers = 0
        self.grad: Any = None
        self.req = ""
        self.origin: Any = None  # its leaf on the trace, once it was one

    @property
    def trainable(self) -> bool:
        return self.kind == "var"

    @property
    def leaf(self) -> Any:
        """The present state as the leaf that it is, or was while a window watched it."""
        return self.state, self.number, self.origin


class Cell(list[Any]):
    """A slot that several frames share; its one item is the value."""

    __slots__ = ()


class Function:
    """A function value: compiled code, the cells it captured, the defaults it was made with. A
    module is a function too: its calls give instances."""

    __slots__ = ("cells", "code", "defaults")

    def __init__(self, code: Code, cells: list[Any], defaults: list[Any]) -> None:
        self.code, self.cells, self.defaults = code, cells, defaults

    @property
    def name(self) -> str:
        return self.code.name

    def captures_nothing(self) -> bool:
        return not self.cells and all([default is UNSET for default in self.defaults])  # noqa: C419


class Transform:
    """A derivative of a function, as a function: `grad(f)`; or `vmap(f)`. `kind` is the builtin's
    name, `wrt` an int or a list of ints, `in_axes` what `vmap` takes."""

    __slots__ = ("function", "in_axes", "kind", "last", "mode", "positions", "sparse", "wrt")

    def __init__(
        self,
        kind: str,
        function: Any,
        wrt: int | list[int] = 0,
        mode: str = "auto",
        sparse: bool = False,
        in_axes: Any = 0,
    ) -> None:
        self.kind, self.function, self.wrt, self.mode = kind, function, wrt, mode
        self.sparse, self.in_axes = sparse, in_axes
        self.positions = wrt if isinstance(wrt, list) else [wrt]
        self.last = max(wrt) if isinstance(wrt, list) else wrt

    @property
    def name(self) -> str:
        return f"{self.kind}({self.function.name or 'fn'})"


class Code:
    """A function's compiled code: what all its values share. `members` are a module's: the names of
    its body."""

    __slots__ = (
        "body", "captured", "hot", "members", "name", "node", "operations", "parameters",
        "self_slot", "shared", "template",
    )  # fmt: skip

    name: str
    node: program.Function
    parameters: list[tuple[str, int, bool]]  # name, frame index, whether it is a cell
    captured: list[int]  # frame indices that the captured cells go to
    shared: list[int]  # frame indices of its own cells
    self_slot: int  # where the function finds itself; 0 for nowhere
    template: list[Any]
    body: Callable[[list[Any]], Any]
    operations: int  # in its text
    hot: dict[Any, Any]  # what its calls have done, and those of derivatives of it, by which ones
    members: dict[str, program.Slot] | None


class Tape:
    """A tape as a value: its window."""

    __slots__ = ("window",)

    def __init__(self, window: Any) -> None:
        self.window = window


class Members:
    """The names of a frame as members of a value, with the values that they have at the moment."""

    __slots__ = ("frame", "name", "slots")

    def __init__(self, name: str, frame: list[Any], slots: dict[str, program.Slot]) -> None:
        self.name, self.frame, self.slots = name, frame, slots

    def member(self, name: str) -> Any:
        """The value under a name; UNSET if there is none."""
        slot = self.slots.get(name)
        if slot is None:
            return UNSET
        return slot_value(self.frame, slot)

    def members(self) -> Iterator[tuple[str, Any]]:
        """All names that have a value, in order."""
        return ((name, value) for name in self.slots if (value := self.member(name)) is not UNSET)


class Namespace(Members):
    """What an import gives: the top-level names of another program. `name` is what the import calls
    it."""

    __slots__ = ()


class Instance(Members):
    """What a call of a module gives: the names of the module's body. `name` is the module's, `path`
    leads from the top level to the instance. It holds its frame, but the frame holds neither the
    run nor the instance: no cycle."""

    __slots__ = ("path",)

    def __init__(
        self, name: str, frame: list[Any], slots: dict[str, program.Slot], path: str
    ) -> None:
        super().__init__(name, frame, slots)
        self.path = path


BREAK, CONTINUE, RETURN = 1, 2, 3  # how a statement can end, but for falling through: None
FRAME_HEAD = 2  # a frame begins with the run and the value being returned
# where in a frame that value is; before, it holds the path that the value goes to, if it has one
RESULT = 1


def slot_value(frame: list[Any], slot: program.Slot) -> Any:
    """What a name of a frame holds; UNSET before it has a value."""
    value = frame[slot.index + FRAME_HEAD]
    return value[0] if slot.cell else value


def set_slot(frame: list[Any], slot: program.Slot, value: Any) -> None:
    """Gives a name of a frame a value."""
    k = slot.index + FRAME_HEAD
    if slot.cell:
        frame[k][0] = value
    else:
        frame[k] = value


def differentiable(value: Any) -> bool:
    """Whether a value is of floats or complex numbers, which gradients exist by."""
    return is_inexact(primal(read(value)))


def is_number(value: Any) -> bool:
    """Whether a value is a number or an array of them, untraced."""
    return type(value) in (int, float, bool, complex) or hasattr(value, "dtype")


def is_callable(value: Any) -> bool:
    callable_instance = type(value) is Instance and value.member("call") is not UNSET
    return callable_instance or isinstance(value, Function | Op | Transform)


def read(value: Any) -> Any:
    """Reads a value: a variable gives its state (its leaf on the trace), any other value itself."""
    return value.box if type(value) is Variable else value


MAX_NESTING = 200  # of lists and dicts


def deeper(depth: int) -> int:
    """Returns the depth one level further inside lists and dicts. Raises GradcliError (E407) where
    they nest too deep."""
    if depth >= MAX_NESTING:
        raise GradcliError(Diagnostic("E407", f"lists and dicts nest deeper than {MAX_NESTING}"))
    return depth + 1


def describe(value: Any) -> str:
    """The kind of a value in words, for messages: "a list of 3", "float64 of shape (2, 3)"."""
    value = primal(read(value))
    if value is None:
        return "none"
    if type(value) is List:
        return f"a list of {len(value)}"
    if type(value) is dict:
        return "a dict"
    if type(value) is str:
        return f'the string "{value if len(value) < 40 else value[:37] + "…"}"'
    if type(value) is Function and value.code.members is not None:
        return f"the module `{value.name}`"
    if isinstance(value, Function | Op | Transform):
        return f"the function `{value.name}`" if value.name else "a function"
    if type(value) is Instance:
        return f"an instance of `{value.name}`"
    if type(value) is Namespace:
        return f"the import `{value.name}`"
    if type(value) is Tape:
        return f"the tape `{value.window.name}`"
    shape = shape_of(value)
    if shape:
        return f"{dtype_name(value)} of shape {show_shape(shape)}"
    if type(value) is Lanes and value.group.size > 1:
        return f"{dtype_name(value)} in each of {value.group.size} rows"
    value = value.array[0] if type(value) is Lanes else value
    return f"{dtype_name(value)} {show(value)}" if is_number(value) else type(value).__name__


def show_shape(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def show(value: Any, depth: int = 0) -> str:
    """The value as `print` shows it: numbers as Python writes them, arrays as NumPy does, `true`,
    `none`."""
    value = primal(read(value))
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "none"
    if kind is List:
        depth = deeper(depth)
        return f"[{', '.join([_show_item(item, depth) for item in value])}]"
    if kind is dict:
        depth = deeper(depth)
        return (
            "{"
            + ", ".join([f"{key}: {_show_item(item, depth)}" for key, item in value.items()])
            + "}"
        )
    if kind is complex:
        return str(value).strip("()")
    if isinstance(value, Function | Op | Transform | Namespace | Instance | Tape):
        return f"<{describe(value)}>"
    return str(value.rows_first() if kind is Lanes else value)


def _show_item(value: Any, depth: int) -> str:
    value = primal(read(value))
    return f'"{value}"' if type(value) is str else show(value, depth)


def leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields the values inside lists and dicts, however deep, in order."""
    if type(value) is List:
        for item in value:
            yield from leaves(item, deeper(depth))
    elif type(value) is dict:
        for item in value.values():
            yield from leaves(item, deeper(depth))
    else:
        yield value


def map_structure(function: Callable[[Any], Any], value: Any, depth: int = 0) -> Any:
    """Applies `function` to each value in a nesting of lists and dicts, and keeps the nesting."""
    if type(value) is List:
        return List([map_structure(function, item, deeper(depth)) for item in value])
    if type(value) is dict:
        return {key: map_structure(function, item, deeper(depth)) for key, item in value.items()}
    return function(value)
