"""Regions as Python functions on the arrays of a device.

Numbers are on the host. An `each` launches kernels; products, and entries of the table on whole
arrays, are those of the device's library. A small array whose elements are read or put one by one
is a list on the host meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...backends.backend import Backend
from ...ir.instructions import (
    Block,
    Constant,
    Each,
    Element,
    Free,
    Instruction,
    Put,
    Region,
    Room,
    Structural,
    Value,
    blocks_of,
)
from ...ir.types import F32, ArrayType, dtype_of
from ...passes.copying import used
from ..array_calls import Computed
from ..cuda.launches import DeviceEach
from .regions import PythonText, product, written

SMALL = 64  # elements of an array that are copied together


def compiled_on(
    backend: Backend, region: Region, others: Sequence[Region], stack_bytes: int
) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters, with arrays on the device, that returns its results.
    It raises StepBack. `others` are the regions that it calls; a stack may take `stack_bytes`.
    Raises NotNative."""
    return written(_DeviceText(backend, stack_bytes), region, others)


class _DeviceText(PythonText):
    """Writes regions as Python text on the arrays of a device.

    known     constants
    elements  the names of the lists that small arrays are on the host
    changed   arrays that were changed in such a list, and not yet on the device
    """

    def __init__(self, backend: Backend, stack_bytes: int) -> None:
        super().__init__(False, stack_bytes)
        self.backend, self.lists = backend, 0
        self.known: dict[Value, Constant] = {}
        self.elements: dict[Value, str] = {}
        self.changed: set[Value] = set()

    def helpers(self) -> dict[str, Any]:
        xp = self.backend.xp
        return {
            "product": product,
            "array": xp.array,
            "flat": lambda array, dtype: xp.ascontiguousarray(array, dtype).reshape(-1),
            "full": xp.full,
            "room": xp.empty,
        }

    def block(self, block: Block, depth: int) -> Iterator[str]:
        elements, changed = self.elements, self.changed
        self.elements, self.changed = dict(elements), set(changed)
        self.known |= {v.result: v for v in block.instructions if isinstance(v, Constant)}
        yield from super().block(block, depth)
        yield from self.copied(block.results, depth)
        self.elements, self.changed = elements, changed

    def instruction(self, made: Instruction, depth: int) -> Iterator[str]:
        if isinstance(made, Room | Element | Put) and _is_small(_array_of(made)):
            yield from self.of_elements(made, depth)
            return
        if isinstance(made, Free):
            yield f"{'    ' * depth}{self.name(made.array)} = None"
            return
        yield from self.copied([*made.operands, *used(blocks_of(made))], depth)
        if isinstance(made, Each):
            each = DeviceEach(made, self.known, self.backend)
            numbers = []
            for result, first in zip(made.results, made.initial, strict=True):
                if isinstance(first.type, ArrayType):
                    self.same(result, first)
                else:
                    numbers.append(result)
            yield self.called(each, each.takes, numbers, depth)
        elif isinstance(made, Structural):
            function = Computed.by(made).on_vectors(self.backend)
            yield self.called(function, made.operands, made.results, depth)
        elif isinstance(made, Element):
            item = f"{self.name(made.array)}[{self.name(made.place)}].item()"
            yield f"{'    ' * depth}{self.name(made.result)} = {_as_number(item, made.result)}"
        else:
            yield from super().instruction(made, depth)

    def of_elements(self, made: Room | Element | Put, depth: int) -> Iterator[str]:
        """Makes a small array, or reads or puts an element of it, on the host."""
        indent, array = "    " * depth, _array_of(made)
        self.names.update(self.helpers())
        if array not in self.elements:
            self.elements[array] = f"elements_{self.lists}"
            self.lists += 1
            held = f"[0] * {array.array_type.size}"
            held = held if isinstance(made, Room) else f"{self.name(array)}.tolist()"
            yield f"{indent}{self.elements[array]} = {held}"
        listed = self.elements[array]
        if isinstance(made, Element):
            item = _as_number(f"{listed}[{self.name(made.place)}]", made.result)
            yield f"{indent}{self.name(made.result)} = {item}"
            return
        if isinstance(made, Put):
            yield f"{indent}{listed}[{self.name(made.place)}] = {self.name(made.number)}"
            self.elements[made.result] = self.elements.pop(array)
        self.changed.add(made.result)

    def copied(self, values: Iterable[Value], depth: int) -> Iterator[str]:
        """Copies arrays to the device that were changed on the host."""
        for value in dict.fromkeys(values):
            if value in self.changed:
                self.changed.remove(value)
                dtype = dtype_of(value.type)
                copied = f"array({self.elements[value]}, {dtype!r})"
                yield f"{'    ' * depth}{self.name(value)} = {copied}"


def _as_number(item: str, value: Value) -> str:
    """The text of a number, from the text of one as Python has it."""
    return f"float32({item})" if value.type == F32 else item


def _array_of(made: Room | Element | Put) -> Value:
    return made.result if isinstance(made, Room) else made.array


def _is_small(array: Value) -> bool:
    """Whether the elements of an array are copied together."""
    return array.array_type.size <= SMALL
