"""Blocks of IR as LLVM text: values stay in single assignment, branches and loops become basic
blocks with phis.

All names are invented, and arithmetic is that of IEEE 754, without fast-math flags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from llvmlite import ir

from ..ir.instructions import (
    Block,
    Branch,
    Call,
    Cast,
    Check,
    Constant,
    Copy,
    Element,
    For,
    Free,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Push,
    Put,
    Region,
    Value,
    While,
    blocks_of,
    is_straight,
)
from ..ir.types import BOOL, F64, I64, STACK, ArrayType, Type
from .llvm_arrays import Arrays, copy, release_arrays
from .llvm_calls import Calls
from .llvm_frame import BIT, DOUBLE, INT, Frame, Kernel
from .llvm_guards import STACK_TYPES, Counts, Guards, Stack
from .llvm_regions import Called, call, function_of
from .llvm_scalars import Scalars
from .scalar_ops import NotNative

__all__ = [
    "Emitter",
    "NotNative",
    "functions_of",
    "kernel_text",
    "llvm_type",
    "llvm_types",
]

# They may go bit by bit through the quotient, which has up to 2,000.
DIVISIONS, SLOW = ("mod", "fmod", "floordiv"), 20
SHORT = 2**16  # instructions of a loop that is counted as a whole

_TYPES: dict[Type, Any] = {F64: DOUBLE, I64: INT, BOOL: BIT}
_ARRAYS = {F64: DOUBLE.as_pointer(), I64: INT.as_pointer(), BOOL: BIT.as_pointer()}


class KernelText(NamedTuple):
    """The module of the function `kernel`, and the ops whose Python functions it calls."""

    text: str
    called: tuple[str, ...]


def kernel_text(region: Region, others: Sequence[Region] = ()) -> KernelText:
    """A kernel that computes a region. `others` are those that it calls. Raises NotNative."""
    module, called = ir.Module(), list[str]()
    functions = functions_of(module, others, called)
    _kernel(region.block, Kernel(module), functions, called)
    return KernelText(str(module), tuple(called))


def functions_of(
    module: Any,
    regions: Sequence[Region],
    called: list[str],
    unlocked: bool = False,
    vectors: bool = False,
) -> dict[str, Any]:
    """The functions of regions that may call each other, by name. `unlocked`: whether other threads
    have Python's lock meanwhile. `vectors`: whether functions of the C library may be those that
    compute several numbers at once."""
    functions = {
        each.name: function_of(
            module,
            f"region{k}",
            [kind for value in each.block.parameters for kind in _passed_types(value)],
            llvm_types(_numbers(each.block.results)),
        )
        for k, each in enumerate(regions)
    }
    for each in regions:
        _called(each.block, functions[each.name], functions, called, unlocked, vectors)
    return functions


def _kernel(block: Block, frame: Kernel, functions: dict[str, Any], called: list[str]) -> None:
    arrays = [value for value in block.results if isinstance(value.type, ArrayType)]
    types = llvm_types([*block.parameters, *arrays])  # the last are where these are to go
    work, memory = frame.limits(len(types))
    guards = Guards(frame, Counts(ir.Constant(INT, 0), work, memory))
    guards.begin()
    given, n = frame.parameters(types), len(block.parameters)
    emitter = Emitter(frame, guards, functions, called)
    results = emitter.run(block, given[:n])
    for value, place in zip(arrays, given[n:], strict=True):
        copy(frame.builder, place, emitter.values[value], _size(value))

    def release() -> None:
        guards.release()
        release_arrays(frame)

    numbers = [
        value for value in map(_scalar, results) if not isinstance(value.type, ir.PointerType)
    ]
    frame.done(numbers, release)


def _called(
    block: Block,
    function: Any,
    functions: dict[str, Any],
    called: list[str],
    unlocked: bool,
    vectors: bool,
) -> None:
    frame = Called(function)
    guards = Guards(frame, frame.left, unlocked)
    if not is_straight(block):
        frame.verify_stack()
        guards.count(_work([block]))
    emitter = Emitter(frame, guards, functions, called, vectors)
    emitter.run(block, _passed(block.parameters, frame.parameters))
    if emitter.stacks(block.results) != emitter.stacks(block.parameters):
        raise NotNative("a stack that leaves its region has no machine code")
    frame.done(emitter.read(_numbers(block.results)), guards.release, guards.counts)


def _numbers(values: Iterable[Value]) -> list[Value]:
    """The values that are no stacks. Those are passed by the places of their variables, and not
    returned: a region gives back the stacks that it takes, in the same order."""
    return [value for value in values if value.type != STACK]


def _passed_types(value: Value) -> list[Any]:
    """The types by which a value is passed to a function."""
    return list(STACK_TYPES) if value.type == STACK else [llvm_type(value.type)]


def _passed(values: Iterable[Value], given: Iterable[Any]) -> list[Any]:
    """What values are, in a function to which they are passed."""
    rest = iter(given)
    return [Stack(*islice(rest, 3)) if value.type == STACK else next(rest) for value in values]


def llvm_types(values: Sequence[Value]) -> list[Any]:
    """The types of values. Raises NotNative."""
    return [llvm_type(value.type) for value in values]


def llvm_type(kind: Type) -> Any:
    """A type of the IR as LLVM has it. Raises NotNative."""
    if isinstance(kind, ArrayType) and kind.element in _ARRAYS:
        return _ARRAYS[kind.element]
    if kind not in _TYPES:
        raise NotNative(f"{kind} has no machine code here")
    return _TYPES[kind]


class Emitter:
    """Emits the instructions of a region where a builder stands."""

    def __init__(
        self,
        frame: Frame,
        guards: Guards,
        functions: dict[str, Any],
        called: list[str],
        vectors: bool = False,
    ) -> None:
        self.frame, self.guards, self.functions = frame, guards, functions
        self.builder, self.scalars = frame.builder, Scalars(frame, Calls(frame, called, vectors))
        self.arrays = Arrays(frame, guards)
        self.values: dict[Value, Any] = {}

    def run(self, block: Block, parameters: Sequence[Any]) -> list[Any]:
        """The results of a block, for the values of its parameters."""
        self.values.update(zip(block.parameters, parameters, strict=True))
        for instruction in block.instructions:
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
            self.operation(made)
        elif isinstance(made, NewStack):
            self.values[made.result] = self.guards.new_stack()
        elif isinstance(made, Push):
            stack = self.values[made.result] = self.values[made.stack]
            self.guards.push(stack, self.read(made.entry))
        elif isinstance(made, Pop):
            stack = self.values[made.result] = self.values[made.stack]
            found = self.guards.pop(stack, llvm_types(made.entry))
            self.values.update(zip(made.entry, found, strict=True))
        elif isinstance(made, NewArray | Element | Put | Copy | Free):
            self.array(made)
        elif isinstance(made, Check):
            self.scalars.step_back_if(self.builder.not_(self.values[made.condition]))
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

    def array(self, made: NewArray | Element | Put | Copy | Free) -> None:
        """What makes, reads, changes or frees an array. A change is made in place."""
        first, *others = self.read(made.operands)
        if isinstance(made, NewArray):
            kind, size = llvm_type(made.result.type), _size(made.result)
            self.values[made.result] = self.arrays.filled(kind, size, first)
        elif isinstance(made, Element):
            self.values[made.result] = self.arrays.element(first, *others)
        elif isinstance(made, Put):
            self.arrays.put(first, *others)
            self.values[made.result] = first
        elif isinstance(made, Copy):
            self.values[made.result] = self.arrays.copied(first, _size(made.array))
        else:
            self.arrays.free(first, _size(made.array))

    def operation(self, made: Operation) -> None:
        kind = DOUBLE if llvm_type(made.operands[-1].type) == DOUBLE else INT  # bools as ints
        try:
            found = self.scalars.apply(made.op.name, self.read(made.operands), kind)
        except NotNative as reason:
            reason.span = made.span
            raise
        to = llvm_type(made.result.type)
        self.values[made.result] = self.scalars.converted(found, to)

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
        """What a value becomes where paths meet. A stack stays in its variables."""
        return value if isinstance(value, Stack) else self.builder.phi(value.type)

    def while_loop(self, made: While) -> None:
        found = self.loop(
            self.read(made.initial),
            lambda carried: self.run(made.condition, carried)[0],
            lambda carried: self.run(made.body, carried),
            _work([made.condition, made.body]),
        )
        self.values.update(zip(made.results, found, strict=True))

    def for_loop(self, made: For) -> None:
        make, count = self.builder, self.values[made.count]

        def iteration(carried: list[Any]) -> list[Any]:
            results = self.run(made.body, carried)
            return [make.add(carried[0], ir.Constant(INT, 1)), *results]

        work = _work([made.body])
        if is_short := _is_short(made.body, count, work):
            self.guards.count(count.constant * work)
        _, *found = self.loop(
            [ir.Constant(INT, 0), *self.read(made.initial)],
            lambda carried: make.icmp_signed("<", carried[0], count),
            iteration,
            0 if is_short else work,
        )
        self.values.update(zip(made.results, found, strict=True))

    def loop(
        self,
        initial: list[Any],
        more: Callable[[list[Any]], Any],
        iteration: Callable[[list[Any]], list[Any]],
        work: int,
    ) -> list[Any]:
        """Emits a loop, and returns the carried values after it. `more` emits its condition, and
        `iteration`, which counts as this work, the carried values of the next iteration. No work
        has been counted before."""
        make = self.builder
        before = make.block
        head, body, after = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        carried = [self.joined(value) for value in initial]
        for held, value in zip(carried, initial, strict=True):
            _join(held, value, before)
        make.cbranch(more(carried), body, after)
        make.position_at_end(body)
        if work:
            self.guards.count(work)
        following = iteration(carried)
        for held, value in zip(carried, following, strict=True):
            _join(held, value, make.block)
        make.branch(head)
        make.position_at_end(after)
        return carried


def _size(array: Value) -> int:
    assert isinstance(array.type, ArrayType)
    return array.type.size


def _scalar(value: Any) -> Any:
    if isinstance(value, Stack):
        raise NotNative("a stack that leaves its region has no machine code")
    return value


def _join(joined: Any, value: Any, end: Any) -> None:
    """Says what a value is on the path that ends with a block."""
    if isinstance(joined, Stack) or isinstance(value, Stack):
        if joined is not value:
            raise NotNative("stacks that change places have no machine code")
    else:
        joined.add_incoming(value, end)


def _is_short(body: Block, count: Any, work: int) -> bool:
    """Whether a loop is counted as a whole: its iterations are known to be few, and there is no
    other loop or call in them."""
    is_known = isinstance(count, ir.Constant) and 0 < count.constant * work <= SHORT
    return is_known and not any(
        isinstance(made, Call | NewArray | Push) or any(blocks_of(made))
        for made in body.instructions
    )


def _work(blocks: Iterable[Block]) -> int:
    """The instructions in blocks, but for those in the loops inside; 1 at least."""
    found = 1
    for made in [made for block in blocks for made in block.instructions]:
        slow = isinstance(made, Operation) and made.op.name in DIVISIONS
        found += SLOW if slow else 1
        if isinstance(made, Branch):
            found += _work(blocks_of(made)) - 1
    return found
