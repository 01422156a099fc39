"""Arrays of machine code: memory of their own, in a list that the kernel frees when it ends.

In front of an array are the addresses of the next array in the list and of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..array_calls import ArrayCall
from .frame import (
    ADDRESS,
    BIT,
    DOUBLE,
    INT,
    NOTHING,
    NULL,
    Frame,
    PythonFunctions,
    count_up,
    declared,
    own_function,
    passed,
    python,
    text_of,
)
from .guards import Guards, Stack
from .types import at, size_in_memory

HEAD, WORD = 16, 8  # bytes in front of an array, and of an address


class Arrays:
    """Emits operations on arrays."""

    def __init__(self, frame: Frame, guards: Guards) -> None:
        self.frame, self.guards, self.builder = frame, guards, frame.builder

    def new(self, kind: Any, size: int) -> Any:
        """A new array of `size` elements, which have no values yet."""
        make, n = self.builder, INT(HEAD + _bytes(kind, size))
        memory = self.guards.left.memory
        found = make.call(_new(make.module), [self.frame.arrays, n, memory])
        self.frame.leave_if(make.icmp_unsigned("==", found, NULL), self.frame.step_back)
        return make.bitcast(found, kind)

    def fill(self, array: Any, size: int, number: Any) -> None:
        self.builder.call(_fill(self.builder.module, array.type), [array, INT(size), number])

    def free(self, array: Any, size: int) -> None:
        make, n = self.builder, INT(HEAD + _bytes(array.type, size))
        given = [self.frame.arrays, make.bitcast(array, ADDRESS), n, self.guards.left.memory]
        make.call(_free(make.module), given)

    def push(self, stack: Stack, array: Any, size: int) -> None:
        """Pushes a copy of an array on a stack."""
        n = _bytes(array.type, size)
        start = self.guards.room(stack, INT(n))
        copy(self.builder, self._on_stack(stack, start, array.type), array, size)

    def pop(self, stack: Stack, kind: Any, size: int) -> Any:
        """The last array on a stack, in memory of its own."""
        make, found = self.builder, self.new(kind, size)
        start = make.sub(make.load(stack.used), INT(_bytes(kind, size)))
        copy(make, found, self._on_stack(stack, start, kind), size)
        make.store(start, stack.used)
        return found

    def _on_stack(self, stack: Stack, start: Any, kind: Any) -> Any:
        make = self.builder
        return make.bitcast(make.gep(make.load(stack.base), [start], inbounds=True), kind)

    def call(self, function: ArrayCall, values: Sequence[Any], called: PythonFunctions) -> None:
        """Calls a Python function with the addresses of arrays and with numbers."""
        make, callee = self.builder, called.callee(self.frame, function)
        given = [_passed(make, value) for value in values]
        types = text_of(make, "".join(["d" if v.type == DOUBLE else "L" for v in given]))
        result = python(make, "PyObject_CallFunction", callee, types, *given)
        self.frame.leave_if(make.icmp_unsigned("==", result, NULL), self.frame.raised)
        python(make, "Py_DecRef", result)

    def element(self, array: Any, place: Any) -> Any:
        return self.builder.load(at(self.builder, array, place))

    def put(self, array: Any, place: Any, number: Any) -> None:
        self.builder.store(number, at(self.builder, array, place))


def _passed(make: Any, value: Any) -> Any:
    """A value as Python takes it."""
    if isinstance(value.type, ir.PointerType):
        return make.ptrtoint(value, INT)
    return make.zext(value, INT) if value.type == BIT else passed(make, value)


def _bytes(kind: Any, size: int) -> int:
    """The bytes of so many elements, by the type of their address."""
    return size * size_in_memory(kind.pointee)


def copy(builder: Any, to: Any, array: Any, size: int) -> None:
    """Emits a copy of an array into other memory."""
    kind = ir.FunctionType(ADDRESS, [ADDRESS, ADDRESS, INT])
    places = [builder.bitcast(place, ADDRESS) for place in (to, array)]
    builder.call(
        declared(builder.module, "memcpy", kind),
        [*places, INT(_bytes(array.type, size))],
    )


def release_arrays(frame: Frame) -> None:
    """Emits the freeing of all arrays that are left, if there may be any."""
    if "new_array" in frame.builder.module.globals:
        frame.builder.call(_release(frame.builder.module), [frame.arrays])


def _link(make: Any, block: Any, k: int) -> Any:
    """The place of the address of the next array (0), or of the one before (1)."""
    place = make.gep(block, [INT(k * WORD)])
    return make.bitcast(place, ADDRESS.as_pointer())


def _is_there(make: Any, block: Any) -> Any:
    return make.icmp_unsigned("!=", block, NULL)


def _new(module: Any) -> Any:
    """The function that allocates memory, takes its bytes from those that are left, and puts it
    first in the list. It returns no address where there is no memory, or too few bytes are left."""

    def body(make: Any, first: Any, size: Any, memory: Any) -> Any:
        left = make.sub(make.load(memory), size)
        with make.if_then(make.icmp_signed("<", left, INT(0))):
            make.ret(NULL)
        make.store(left, memory)
        block = python(make, "PyMem_RawRealloc", NULL, size)
        with make.if_then(make.icmp_unsigned("==", block, NULL)):
            make.ret(NULL)
        following = make.load(first)
        make.store(following, _link(make, block, 0))
        make.store(NULL, _link(make, block, 1))
        with make.if_then(_is_there(make, following)):
            make.store(block, _link(make, following, 1))
        make.store(block, first)
        return make.gep(block, [INT(HEAD)])

    takes = [ADDRESS.as_pointer(), INT, INT.as_pointer()]
    return own_function(module, "new_array", ADDRESS, takes, body, noinline=True)


def _free(module: Any) -> Any:
    """The function that takes an array out of the list, frees it, and gives its bytes back."""

    def body(make: Any, first: Any, array: Any, size: Any, memory: Any) -> None:
        make.store(make.add(make.load(memory), size), memory)
        block = make.gep(array, [INT(-HEAD)])
        following, before = (make.load(_link(make, block, k)) for k in (0, 1))
        with make.if_else(_is_there(make, before)) as (inside, at_start):
            with inside:
                make.store(following, _link(make, before, 0))
            with at_start:
                make.store(following, first)
        with make.if_then(_is_there(make, following)):
            make.store(before, _link(make, following, 1))
        python(make, "PyMem_RawFree", block)

    takes = [ADDRESS.as_pointer(), ADDRESS, INT, INT.as_pointer()]
    return own_function(module, "free_array", NOTHING, takes, body, noinline=True)


def _release(module: Any) -> Any:
    """The function that frees all arrays of the list."""

    def body(make: Any, first: Any) -> None:
        head, body, end = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        block = make.load(first)
        make.cbranch(_is_there(make, block), body, end)
        make.position_at_end(body)
        make.store(make.load(_link(make, block, 0)), first)
        python(make, "PyMem_RawFree", block)
        make.branch(head)
        make.position_at_end(end)

    takes = [ADDRESS.as_pointer()]
    return own_function(module, "release_arrays", NOTHING, takes, body, noinline=True)


def _fill(module: Any, kind: Any) -> Any:
    """The function that puts a number in all places of an array."""

    def body(make: Any, array: Any, size: Any, number: Any) -> None:
        count_up(make, size, 1, lambda k: make.store(number, at(make, array, k)))

    takes = [kind, INT, kind.pointee]
    return own_function(module, f"fill_{kind.pointee}", NOTHING, takes, body, noinline=True)
