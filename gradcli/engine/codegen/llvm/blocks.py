"""Blocks of IR as LLVM text: values stay in single assignment, branches and loops become basic
blocks with phis.

All names are invented, and arithmetic is that of IEEE 754, without fast-math flags.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from llvmlite import ir

from ...ir.instructions import (
    Affine,
    Block,
    Branch,
    Call,
    Cast,
    Check,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Free,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Room,
    Structural,
    Value,
    While,
    blocks_of,
)
from ...ir.types import STACK, ArrayType, dtype_of
from ..array_calls import Computed, Multiplied
from ..scalars import ON_SEVERAL, NotNative, Scalars
from .arrays import Arrays, copy
from .draws import draw, is_native
from .each import call_of
from .frame import INT, Frame, PythonFunctions
from .guards import INTERVAL, Guards, Stack
from .regions import call
from .scalars import Machine
from .types import llvm_type, llvm_types, numbers_and_arrays
from .vectors import of_elements
from .work import counted_at, work_of

SHORT = 2**16  # instructions of a loop that is counted as a whole
POLLED = 4  # work on arrays is counted at once up to this part of the interval of polls


class Emitter:
    """Emits the instructions of a region at the place of the frame's builder."""

    def __init__(
        self,
        frame: Frame,
        guards: Guards,
        functions: dict[str, Any],
        called: PythonFunctions,
        vectors: Callable[..., Any] | None = None,
    ) -> None:
        self.frame, self.guards, self.functions = frame, guards, functions
        self.builder, machine = frame.builder, Machine(frame, called, vectors)
        self.scalars = Scalars(machine, not vectors, ON_SEVERAL if vectors else None)
        self.arrays, self.called = Arrays(frame, guards), called
        self.values: dict[Value, Any] = {}
        self.given_places: dict[Value, Any] = {}  # the places of new arrays that have one already
        self.held: Container[Value] = ()  # arrays that aren't freed

    def run(self, block: Block, parameters: Sequence[Any]) -> list[Any]:
        """Emits a block for these values of its parameters; returns its results."""
        self.values.update(zip(block.parameters, parameters, strict=True))
        counted = counted_at(block.instructions, INTERVAL // POLLED)
        for k, instruction in enumerate(block.instructions):
            if k in counted:
                self.guards.count(counted[k])
            self.instruction(instruction)
        return self.read(block.results)

    def read(self, values: Sequence[Value]) -> list[Any]:
        return [self.values[value] for value in values]

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Constant):
            self.values[made.result] = ir.Constant(llvm_type(made.result.type), made.value)
        elif isinstance(made, Cast):
            to = llvm_type(made.result.type)
            self.values[made.result] = self.scalars.converted(self.values[made.operand], to)
        elif isinstance(made, Operation):
            operands = self.read(made.operands)
            self.values[made.result] = self.scalars.operation(made, operands)
        elif isinstance(made, NewStack):
            self.values[made.result] = self.guards.new_stack()
        elif isinstance(made, Push):
            self.push(made)
        elif isinstance(made, Pop):
            self.pop(made)
        elif isinstance(made, Room):
            self.values[made.result] = self.new(made.result)
        elif isinstance(made, Affine):
            self.affine(made)
        elif isinstance(made, Product):
            self.product(made)
        elif isinstance(made, Structural):
            self.structural(made)
        elif isinstance(made, Each):
            self.each(made)
        elif isinstance(made, NewArray | Element | Put | Copy | Free):
            self.array(made)
        elif isinstance(made, Check):
            self.frame.step_back_if(self.builder.not_(self.values[made.condition]))
        elif isinstance(made, Branch):
            self.branch(made)
        elif isinstance(made, While):
            self.while_loop(made)
        elif isinstance(made, For):
            self.for_loop(made)
        elif isinstance(made, Call):
            self.call(made)

    def call(self, made: Call) -> None:
        given = self.read(made.operands)
        passed = [each for v in given for each in (v if isinstance(v, Stack) else (v,))]
        found = iter(call(self.frame, self.guards, self.functions[made.region], passed))
        stacks = iter(self.stacks(made.operands))
        for result in made.results:
            self.values[result] = next(stacks if result.type == STACK else found)

    def stacks(self, values: Iterable[Value]) -> list[Stack]:
        """The stacks among values."""
        return [self.values[value] for value in values if value.type == STACK]

    def push(self, made: Push) -> None:
        """Pushes the numbers of an entry, and copies of its arrays."""
        stack = self.values[made.result] = self.values[made.stack]
        numbers, arrays = numbers_and_arrays(made.entry)
        if numbers or not arrays:
            self.guards.push(stack, self.read(numbers))
        for array in arrays:
            self.arrays.push(stack, self.values[array], array.array_type.size)

    def pop(self, made: Pop) -> None:
        stack = self.values[made.result] = self.values[made.stack]
        numbers, arrays = numbers_and_arrays(made.entry)
        for array in reversed(arrays):
            kind = llvm_type(array.type)
            self.values[array] = self.arrays.pop(stack, kind, array.array_type.size)
        if numbers or not arrays:
            found = self.guards.pop(stack, llvm_types(numbers))
            self.values.update(zip(numbers, found, strict=True))

    def array(self, made: NewArray | Element | Put | Copy | Free) -> None:
        """Makes, reads, changes or frees an array. A change is made in place."""
        first, *others = self.read(made.operands)
        if isinstance(made, NewArray):
            found = self.values[made.result] = self.new(made.result)
            self.arrays.fill(found, made.result.array_type.size, first)
        elif isinstance(made, Element):
            self.values[made.result] = self.arrays.element(first, self.frame.safe(*others))
        elif isinstance(made, Put):
            self.arrays.put(first, *others)
            self.values[made.result] = first
        elif isinstance(made, Copy):
            found = self.values[made.result] = self.new(made.result)
            copy(self.builder, found, first, made.array.array_type.size)
        elif made.array not in self.held:
            self.arrays.free(first, made.array.array_type.size)

    def affine(self, made: Affine) -> None:
        make, found = self.builder, INT(made.offset)
        for value, step in zip(self.read(made.operands), made.steps, strict=True):
            own = value if step == 1 else make.mul(value, INT(step), flags=["nsw"])
            is_zero = isinstance(found, ir.Constant) and found.constant == 0
            found = own if is_zero else make.add(found, own, flags=["nsw"])
        self.values[made.result] = found

    def new(self, array: Value) -> Any:
        """Memory for an array; a place may be given for it."""
        given = self.given_places.get(array)
        return given or self.arrays.new(llvm_type(array.type), array.array_type.size)

    def product(self, made: Product) -> None:
        found = self.new(made.result)
        left, right = self.read(made.operands)
        dtype = dtype_of(made.result.type)
        multiplied = Multiplied(made.sizes, made.transposed, dtype)
        self.arrays.call(multiplied, [left, right, found], self.called)
        self.values[made.result] = found

    def structural(self, made: Structural) -> None:
        """Calls NumPy to fill the results: new arrays, and variables for numbers. Random numbers
        have machine code."""
        computed, drawn = Computed.by(made), is_native(made)
        places = [
            self.new(value)
            if isinstance(value.type, ArrayType)
            else self.frame.variable(ir.Constant(llvm_type(value.type), 0))
            for value in made.results
        ]
        given = self.read(made.operands)
        if drawn:
            draw(self.builder, made, given, places[0])
        else:
            self.arrays.call(computed, [*given, *places], self.called)
        for value, place in zip(made.results, places, strict=True):
            is_array = isinstance(value.type, ArrayType)
            self.values[value] = place if is_array else self.builder.load(place)

    def each(self, made: Each) -> None:
        def emit(frame: Frame, values: dict[Value, Any], instructions: Any) -> dict[Value, Any]:
            emitter = Emitter(frame, self.guards, {}, self.called, of_elements)
            emitter.values = values
            for instruction in instructions:
                emitter.instruction(instruction)
            return values

        found = call_of(self.frame, self.values, made, emit)
        self.values.update(zip(made.results, found, strict=True))

    def branch(self, made: Branch) -> None:
        make = self.builder
        then, otherwise, after = (make.append_basic_block() for _ in range(3))
        make.cbranch(self.values[made.condition], then, otherwise)
        ends = []
        for start, block in ((then, made.then), (otherwise, made.otherwise)):
            make.position_at_end(start)
            results = self.run(block, ())
            ends.append((results, make.block))
            make.branch(after)
        make.position_at_end(after)
        for k, result in enumerate(made.results):
            joined = self.values[result] = self.joined(ends[0][0][k])
            for results, end in ends:
                _join(joined, results[k], end)

    def joined(self, value: Any) -> Any:
        """The phi of a value where paths meet. A stack stays in its variables."""
        return value if isinstance(value, Stack) else self.builder.phi(value.type)

    def while_loop(self, made: While) -> None:
        found = self.loop(
            self.read(made.initial),
            lambda carried: self.run(made.condition, carried)[0],
            lambda carried: self.run(made.body, carried),
            work_of([made.condition, made.body]),
        )
        self.values.update(zip(made.results, found, strict=True))

    def for_loop(self, made: For) -> None:
        make, count = self.builder, self.values[made.count]

        def iteration(carried: list[Any]) -> list[Any]:
            results = self.run(made.body, carried)
            return [make.add(carried[0], INT(1)), *results]

        work = work_of([made.body])
        if is_short := _is_short(made.body, count, work):
            self.guards.count(count.constant * work)
        _, *found = self.loop(
            [INT(0), *self.read(made.initial)],
            lambda carried: make.icmp_signed("<", carried[0], count),
            iteration,
            0 if is_short else work,
        )
        self.values.update(zip(made.results, found, strict=True))

    def loop(
        self,
        initial: list[Any],
        condition: Callable[[list[Any]], Any],
        iteration: Callable[[list[Any]], list[Any]],
        work: int,
    ) -> list[Any]:
        """Emits a loop, and returns the carried values after it. `condition` emits its condition.
        `iteration` emits an iteration and returns the carried values of the next one; an iteration
        counts as `work`, none of which was counted before."""
        make = self.builder
        before = make.block
        head, body, after = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        carried = [self.joined(value) for value in initial]
        for held, value in zip(carried, initial, strict=True):
            _join(held, value, before)
        make.cbranch(condition(carried), body, after)
        make.position_at_end(body)
        if work:
            self.guards.count(work)
        following = iteration(carried)
        for held, value in zip(carried, following, strict=True):
            _join(held, value, make.block)
        make.branch(head)
        make.position_at_end(after)
        return carried


def no_stack(value: Any) -> Any:
    """A value that is no stack. Raises NotNative."""
    if isinstance(value, Stack):
        raise NotNative("a stack that leaves its region has no machine code")
    return value


def _join(joined: Any, value: Any, end: Any) -> None:
    """Adds to a phi the value that it has on the path that ends with a block."""
    if isinstance(joined, Stack) or isinstance(value, Stack):
        if joined is not value:
            raise NotNative("stacks that change places have no machine code")
    else:
        joined.add_incoming(value, end)


def _is_short(body: Block, count: Any, work: int) -> bool:
    """Whether a loop is counted as a whole: its iterations are known to be few, and have no other
    loop or call."""
    is_known = isinstance(count, ir.Constant) and 0 < count.constant * work <= SHORT
    return is_known and not any(
        isinstance(made, Call | NewArray | Push) or any(blocks_of(made))
        for made in body.instructions
    )
