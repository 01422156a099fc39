"""Regions as Python functions on the arrays of a device.

Numbers are on the host. An `each` launches kernels, products and entries of the table on whole
arrays are those of the device's library. The elements of a small array are copied together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..backends.backend import Backend
from ..ir.instructions import (
    Block,
    Constant,
    Copy,
    Each,
    Element,
    Free,
    Instruction,
    NewArray,
    Product,
    Put,
    Region,
    Room,
    Structural,
    Value,
    blocks_of,
)
from ..ir.types import DTYPES, F32, I64, ArrayType
from ..passes.copying import used
from .array_calls import Computed
from .device_each import DeviceEach
from .python import PythonText, product, written
from .scalar_ops import NotNative

__all__ = ["NotNative", "compiled_on"]

SMALL = 64  # elements of an array that are copied together


def compiled_on(
    backend: Backend, region: Region, others: Sequence[Region], stack_bytes: int
) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters, whose arrays are on the device, that returns its
    results. It raises StepBack. `others` are the regions that it calls; a stack may take so many
    bytes. Raises NotNative."""
    return written(_DeviceText(backend, stack_bytes), region, others)


class _DeviceText(PythonText):
    """
    known   constants
    copied  the names of lists of the elements of small arrays, where they are known
    joined  the arrays that are made of numbers when the last of these is put, by that `Put`, with
            the numbers; the instructions before it are left out
    """

    def __init__(self, backend: Backend, stack_bytes: int) -> None:
        super().__init__(False, stack_bytes)
        self.backend, self.lists = backend, 0
        self.known: dict[Value, Constant] = {}
        self.copied: dict[Value, str] = {}
        self.joined: dict[int, list[Value] | None] = {}

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
        copied = self.copied
        self.copied = dict(copied)
        self.known |= {v.result: v for v in block.instructions if isinstance(v, Constant)}
        for k, made in enumerate(block.instructions):
            if isinstance(made, Room):
                self.join(block, k)
        yield from super().block(block, depth)
        self.copied = copied

    def join(self, block: Block, k: int) -> None:
        """Finds out whether numbers are put into all places of the new array `k`, and does nothing
        else with it before."""
        room = block.instructions[k]
        (array,) = room.results
        size = _kind(array).size
        if size > SMALL:
            return
        found: dict[int, Value] = {}
        puts: list[Instruction] = [room]
        for made in block.instructions[k + 1 :]:
            if isinstance(made, Put) and made.array is array and made.place in self.known:
                found[self.known[made.place].value] = made.number
                puts.append(made)
                array = made.result
                if len(found) == size:
                    break
            elif array in made.operands or array in used(blocks_of(made)):
                return
        else:
            return
        self.joined |= {id(each): None for each in puts}
        self.joined[id(puts[-1])] = [found[place] for place in sorted(found)]

    def instruction(self, made: Instruction, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if id(made) in self.joined:
            numbers = self.joined[id(made)]
            if numbers is not None:
                (array,) = made.results
                listed = "".join([f"{self.name(value)}, " for value in numbers])
                dtype = DTYPES[_kind(array).element]
                yield f"{indent}{self.name(array)} = array([{listed}], {dtype!r})"
        elif isinstance(made, Free):
            yield f"{indent}{self.name(made.array)} = None"
        elif isinstance(made, Each):
            each = DeviceEach(made, self.known, self.backend)
            numbers = []
            for result, first in zip(made.results, made.initial, strict=True):
                if isinstance(first.type, ArrayType):
                    self.same(result, first)
                else:
                    numbers.append(result)
            yield self.called(each, each.takes, numbers, depth)
        elif isinstance(made, Structural):
            if any(_is_ints(value) for value in made.operands):
                raise NotNative("CuPy doesn't check the indices that it is given")
            function = Computed.by(made).on_vectors(self.backend)
            yield self.called(function, made.operands, made.results, depth)
        else:
            yield from super().instruction(made, depth)

    def array(
        self, made: NewArray | Room | Element | Put | Copy | Product, depth: int
    ) -> Iterator[str]:
        if not isinstance(made, Element):
            yield from super().array(made, depth)
            return
        indent, (array, place) = "    " * depth, map(self.name, made.operands)
        if _kind(made.array).size > SMALL:
            found = f"{array}[{place}].item()"
        else:
            if made.array not in self.copied:
                name = self.copied[made.array] = f"elements_{self.lists}"
                self.lists += 1
                yield f"{indent}{name} = {array}.tolist()"
            found = f"{self.copied[made.array]}[{place}]"
        found = f"float32({found})" if made.result.type == F32 else found
        yield f"{indent}{self.name(made.result)} = {found}"


def _kind(array: Value) -> ArrayType:
    assert isinstance(array.type, ArrayType)
    return array.type


def _is_ints(value: Value) -> bool:
    return isinstance(value.type, ArrayType) and value.type.element == I64
