"""What keeps machine code within bounds: growing stacks, a limit of memory, and a poll for signals.

A kernel of one call holds the interpreter's lock. After about every `INTERVAL` instructions it lets
other threads have the lock, and asks Python to run the handlers of pending signals. If a handler
raises, as that of Ctrl-C or of a timer does, the kernel stops, and the call raises that exception.
This needs no thread, no pipe and no callback, and works on every system. In other threads than the
main one, Python runs no handlers, and the question has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...backends.tiers import NO_LIMIT
from .frame import ADDRESS, DONE, INT, NULL, RAISED, STATUS, Frame, own_function, python
from .types import in_memory, load, size_in_memory, store

INTERVAL = 2**20  # instructions, of which the slowest take 100 ns
FIRST_SIZE = 4096  # bytes of a stack


class Stack(NamedTuple):
    """The variables of a stack: the address of its memory, the bytes in use, and the bytes
    allocated."""

    base: Any
    used: Any
    size: Any


STACK_TYPES = (ADDRESS.as_pointer(), INT.as_pointer(), INT.as_pointer())


class Counts(NamedTuple):
    """What is left: instructions until the next poll, and bytes of stacks and arrays."""

    until_poll: Any
    memory: Any


class Guards:
    """Emits pushes and pops, and the count of instructions."""

    def __init__(
        self,
        frame: Frame,
        left: Counts,
        unlocked: bool = False,
        stack_bytes: int = NO_LIMIT,
    ) -> None:
        """`left` is what is left when the code begins. `unlocked`: whether other threads have
        Python's lock. `stack_bytes` limits a stack."""
        self.stack_bytes = stack_bytes
        self.frame, self.builder, self.unlocked = frame, frame.builder, unlocked
        self.stacks: list[Stack] = []
        self.left = Counts(*[frame.variable(INT(0)) for _ in left])
        self.set_counts(left)

    def counts(self) -> Counts:
        """What is left now."""
        return Counts(*map(self.builder.load, self.left))

    def set_counts(self, left: Counts) -> None:
        for variable, value in zip(self.left, left, strict=True):
            self.builder.store(value, variable)

    # ---- stacks ----------------------------------------------------------------------------------

    def new_stack(self) -> Stack:
        zero = INT(0)
        stack = Stack(
            self.frame.variable(NULL), self.frame.variable(zero), self.frame.variable(zero)
        )
        self.stacks.append(stack)
        self.builder.store(zero, stack.used)  # in a loop, the memory serves again
        return stack

    def push(self, stack: Stack, entry: Sequence[Any]) -> None:
        make = self.builder
        used = self.room(stack, INT(sum(size_in_memory(value.type) for value in entry)))
        places = self._places(stack, used, [value.type for value in entry])
        for value, place in zip(entry, places, strict=True):
            store(make, value, place, align=1)

    def room(self, stack: Stack, total: Any) -> Any:
        """Makes room for a constant number of bytes; returns where they begin."""
        make = self.builder
        used, size = make.load(stack.used), make.load(stack.size)
        end = make.add(used, total)
        with make.if_then(make.icmp_unsigned(">", end, size), likely=False):
            self._grow(stack, size, total)
        make.store(end, stack.used)
        return used

    def pop(self, stack: Stack, types: Sequence[Any]) -> list[Any]:
        make = self.builder
        start = make.sub(make.load(stack.used), INT(sum(map(size_in_memory, types))))
        found = [load(make, place, align=1) for place in self._places(stack, start, types)]
        make.store(start, stack.used)
        return found

    def _places(self, stack: Stack, start: Any, types: Sequence[Any]) -> Iterator[Any]:
        """The addresses of the values of an entry."""
        make, offset = self.builder, 0
        entry = make.gep(make.load(stack.base), [start], inbounds=True)
        for kind in types:
            place = make.gep(entry, [INT(offset)], inbounds=True)
            yield make.bitcast(place, in_memory(kind).as_pointer())
            offset += size_in_memory(kind)

    def _grow(self, stack: Stack, size: Any, needed: Any) -> None:
        """Doubles the memory of a stack, and at least makes room for one entry."""
        make = self.builder
        least = INT(max(FIRST_SIZE, needed.constant))
        added = make.add(size, least)
        self.reserve(added)
        larger = make.add(size, added)
        if self.stack_bytes < NO_LIMIT:
            most = INT(self.stack_bytes)
            self.frame.leave_if(make.icmp_signed(">", larger, most), self.frame.step_back)
        moved = python(make, "PyMem_RawRealloc", make.load(stack.base), larger)
        self.frame.leave_if(make.icmp_unsigned("==", moved, NULL), self.frame.step_back)
        make.store(moved, stack.base)
        make.store(larger, stack.size)

    def reserve(self, size: Any) -> None:
        """Takes bytes from those that are left, or steps back."""
        make = self.builder
        memory = make.sub(make.load(self.left.memory), size)
        make.store(memory, self.left.memory)
        exceeds = make.icmp_signed("<", memory, INT(0))
        self.frame.leave_if(exceeds, self.frame.step_back)

    def give_back(self, size: Any) -> None:
        """Returns bytes to those that are left."""
        memory = self.left.memory
        self.builder.store(self.builder.add(self.builder.load(memory), size), memory)

    # ---- signals ---------------------------------------------------------------------------------

    def count(self, instructions: int) -> None:
        """Counts the instructions of one iteration, and polls now and then."""
        make, zero = self.builder, INT(0)
        rest = make.sub(make.load(self.left.until_poll), INT(instructions))
        make.store(rest, self.left.until_poll)
        with make.if_then(make.icmp_signed("<", rest, zero), likely=False):
            self.frame.leave_as(make.call(self._poll(), []))
            make.store(INT(INTERVAL), self.left.until_poll)

    def _poll(self) -> Any:
        """The function that lets other threads run. It raises what a signal handler raises, as its
        status says."""

        def body(make: Any) -> Any:
            if self.unlocked:
                state = python(make, "PyGILState_Ensure")
                raised = python(make, "PyErr_CheckSignals")
                python(make, "PyGILState_Release", state)
            else:
                python(make, "PyEval_RestoreThread", python(make, "PyEval_SaveThread"))
                raised = python(make, "PyErr_CheckSignals")
            has_raised = make.icmp_signed("!=", raised, STATUS(0))
            return make.select(has_raised, STATUS(RAISED), STATUS(DONE))

        return own_function(self.builder.module, "poll", STATUS, [], body, noinline=True)

    def release(self) -> None:
        """Frees the memory of the stacks."""
        make = self.builder
        for stack in self.stacks:
            python(make, "PyMem_RawFree", make.load(stack.base))
            self.give_back(make.load(stack.size))
