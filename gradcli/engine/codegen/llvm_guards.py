"""What keeps machine code within bounds: stacks that grow, a count of work, and a poll for signals.

A kernel works on local variables, one set for each stack and one for the count, which LLVM puts in
registers. Everything leaves by one block, which gives the memory back.

Kernels are called with the interpreter's lock held. After every `INTERVAL` instructions or so a
kernel lets other threads have it, and asks Python to run the handlers of pending signals. Where one
raises, as that of Ctrl-C or of a timer does, the kernel stops, and the call raises that exception.
This needs no thread, no pipe and no callback, and holds on every system: in other threads than the
main one, Python runs no handlers, and the question has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from .llvm_calls import ADDRESS, BIT, BYTE, INT, STATUS, declared, step_back_if

INTERVAL = 2**20  # instructions, of which the slowest take 100 ns
FIRST_SIZE = 4096  # bytes of a stack


class Stack(NamedTuple):
    """The variables of a stack: the address of its memory, the bytes used, and the bytes there."""

    base: Any
    used: Any
    size: Any


class Guards:
    """Emits pushes and pops, the count of work, and the ways out of a kernel."""

    def __init__(self, builder: Any, step_back: Any, work: Any, memory: Any) -> None:
        """`work` and `memory` are the limits: instructions, and bytes of all stacks."""
        self.builder, self.step_back = builder, step_back
        self.stacks: list[Stack] = []
        self.memory = self.variable(memory)
        first = self._interval(work)
        self.until_poll = self.variable(first)
        self.left = self.variable(builder.sub(work, first))

    def variable(self, value: Any) -> Any:
        """A variable of the kernel, with its first value."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(value.type)
            self.builder.store(value, place)
        return place

    def function(self, name: str, result: Any, *parameters: Any) -> Any:
        """A function of Python's C interface."""
        return declared(self.builder.module, name, ir.FunctionType(result, parameters))

    # ---- stacks ----------------------------------------------------------------------------------

    def new_stack(self) -> Stack:
        zero = ir.Constant(INT, 0)
        stack = Stack(
            self.variable(ir.Constant(ADDRESS, None)), self.variable(zero), self.variable(zero)
        )
        self.stacks.append(stack)
        self.builder.store(zero, stack.used)  # in a loop, the memory serves again
        return stack

    def push(self, stack: Stack, entry: Sequence[Any]) -> None:
        make = self.builder
        used, size = make.load(stack.used), make.load(stack.size)
        total = ir.Constant(INT, sum(_size(value.type) for value in entry))
        end = make.add(used, total)
        with make.if_then(make.icmp_unsigned(">", end, size), likely=False):
            self._grow(stack, size, total)
        places = self._places(stack, used, [value.type for value in entry])
        for value, place in zip(entry, places, strict=True):
            make.store(make.zext(value, BYTE) if value.type == BIT else value, place, align=1)
        make.store(end, stack.used)

    def pop(self, stack: Stack, types: Sequence[Any]) -> list[Any]:
        make = self.builder
        start = make.sub(make.load(stack.used), ir.Constant(INT, sum(map(_size, types))))
        found = [make.load(place, align=1) for place in self._places(stack, start, types)]
        make.store(start, stack.used)
        return [make.trunc(v, BIT) if v.type == BYTE else v for v in found]

    def _places(self, stack: Stack, start: Any, types: Sequence[Any]) -> Iterator[Any]:
        """The addresses of the values of an entry."""
        make, offset = self.builder, 0
        entry = make.gep(make.load(stack.base), [start], inbounds=True)
        for kind in types:
            place = make.gep(entry, [ir.Constant(INT, offset)], inbounds=True)
            yield make.bitcast(place, (BYTE if kind == BIT else kind).as_pointer())
            offset += _size(kind)

    def _grow(self, stack: Stack, size: Any, more: Any) -> None:
        """Doubles the memory of a stack, and at least makes room for one entry."""
        make = self.builder
        least = ir.Constant(INT, max(FIRST_SIZE, more.constant))
        added = make.add(size, least)
        memory = make.sub(make.load(self.memory), added)
        make.store(memory, self.memory)
        step_back_if(make, make.icmp_signed("<", memory, ir.Constant(INT, 0)), self.step_back)
        larger = make.add(size, added)
        reallocate = self.function("PyMem_RawRealloc", ADDRESS, ADDRESS, INT)
        moved = make.call(reallocate, [make.load(stack.base), larger])
        lacks = make.icmp_unsigned("==", moved, ir.Constant(ADDRESS, None))
        step_back_if(make, lacks, self.step_back)
        make.store(moved, stack.base)
        make.store(larger, stack.size)

    # ---- work ------------------------------------------------------------------------------------

    def count(self, instructions: int) -> None:
        """Counts the work of one iteration. Now and then asks whether to go on."""
        make, zero = self.builder, ir.Constant(INT, 0)
        rest = make.sub(make.load(self.until_poll), ir.Constant(INT, instructions))
        make.store(rest, self.until_poll)
        with make.if_then(make.icmp_signed("<", rest, zero), likely=False):
            asked = make.call(self._poll(), [])
            step_back_if(make, make.icmp_signed("!=", asked, STATUS(0)), self.step_back)
            left = make.load(self.left)
            step_back_if(make, make.icmp_signed("<=", left, zero), self.step_back)
            granted = self._interval(left)
            make.store(make.sub(left, granted), self.left)
            make.store(make.add(rest, granted), self.until_poll)

    def _interval(self, left: Any) -> Any:
        """The instructions until the next poll."""
        most = ir.Constant(INT, INTERVAL)
        return self.builder.select(self.builder.icmp_signed("<", left, most), left, most)

    def _poll(self) -> Any:
        """The function that lets other threads run, and gives 0 unless a signal handler raises."""
        module = self.builder.module
        if "poll" in module.globals:
            return module.globals["poll"]
        poll = ir.Function(module, ir.FunctionType(STATUS, []), "poll")
        poll.linkage = "internal"
        poll.attributes.add("noinline")
        make = ir.IRBuilder(poll.append_basic_block())
        thread = make.call(self.function("PyEval_SaveThread", ADDRESS), [])
        make.call(self.function("PyEval_RestoreThread", ir.VoidType(), ADDRESS), [thread])
        make.ret(make.call(self.function("PyErr_CheckSignals", STATUS), []))
        return poll

    # ---- ways out --------------------------------------------------------------------------------

    def leave(self, status: int) -> None:
        """Gives the memory back, and returns from the kernel."""
        free = self.function("PyMem_RawFree", ir.VoidType(), ADDRESS)
        for stack in self.stacks:
            self.builder.call(free, [self.builder.load(stack.base)])
        self.builder.ret(ir.Constant(STATUS, status))


def _size(kind: Any) -> int:
    """Bytes of a value on a stack."""
    return 1 if kind == BIT else 8
