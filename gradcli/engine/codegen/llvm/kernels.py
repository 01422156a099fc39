"""Regions as LLVM text: the function that Python calls, and those of other regions that it
calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from llvmlite import ir

from ...backends.tiers import NO_LIMIT
from ...ir.instructions import Block, Each, Put, Region, Value, is_straight
from ...ir.types import STACK, ArrayType
from ..scalars import NotNative
from .arrays import copy, release_arrays
from .blocks import Emitter, no_stack
from .frame import ADDRESS, INT, KernelFrame, PythonFunctions
from .guards import INTERVAL, STACK_TYPES, Counts, Guards, Stack
from .regions import Called, function_of
from .scratch import Scratch, scratch_of
from .types import llvm_type, llvm_types
from .vectors import keep_versions
from .work import work_of


class KernelText(NamedTuple):
    """The module of the function `kernel`; that of the functions of its `each`, if it has any; the
    Python functions that it calls; and the bytes of its scratch memory. The address of that memory
    is the last parameter."""

    text: str
    each_text: str
    called: PythonFunctions
    scratch: int


def kernel_text(
    region: Region, others: Sequence[Region] = (), stack_bytes: int = NO_LIMIT
) -> KernelText:
    """A kernel that computes a region. `others` are the regions that it calls; `stack_bytes` limits
    a stack. Raises NotNative."""
    module, each_module, called = ir.Module(), ir.Module(), PythonFunctions()
    functions = functions_of(
        module, others, called, stack_bytes=stack_bytes, each_module=each_module
    )
    scratch = scratch_of(region.block)
    _kernel(region.block, KernelFrame(module, each_module), functions, called, stack_bytes, scratch)
    for each in (module, each_module):
        keep_versions(each)
    return KernelText(
        str(module), str(each_module) if each_module.globals else "", called, scratch.size
    )


def functions_of(
    module: Any,
    regions: Sequence[Region],
    called: PythonFunctions,
    unlocked: bool = False,
    stack_bytes: int = NO_LIMIT,
    each_module: Any = None,
) -> dict[str, Any]:
    """The functions of regions that may call each other, by name. `unlocked`: whether other threads
    have Python's lock meanwhile. `each_module`: the module of the functions of their `each`, if
    another."""
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
        frame = Called(functions[each.name], each_module)
        guards = Guards(frame, frame.left, unlocked, stack_bytes)
        _called(each.block, frame, guards, functions, called)
    return functions


def _kernel(
    block: Block,
    frame: KernelFrame,
    functions: dict[str, Any],
    called: PythonFunctions,
    stack_bytes: int,
    scratch: Scratch,
) -> None:
    arrays = [value for value in block.results if isinstance(value.type, ArrayType)]
    types = llvm_types([*block.parameters, *arrays])  # the last are where these are to go
    types += [ADDRESS] if scratch.size else []
    left = Counts(INT(INTERVAL), frame.limit(len(types)))
    guards = Guards(frame, left, stack_bytes=stack_bytes)
    given, n = frame.parameters(types), len(block.parameters)
    emitter = Emitter(frame, guards, functions, called)
    for value, place in zip(arrays, given[n:], strict=False):
        emitter.given_places.setdefault(_origin(block, value), place)
    if scratch.size:
        guards.reserve(INT(scratch.size))
    emitter.held = scratch.held
    for value, offset in scratch.places.items():
        place = frame.builder.gep(given[-1], [INT(offset)])
        emitter.given_places[value] = frame.builder.bitcast(place, llvm_type(value.type))
    results = emitter.run(block, given[:n])
    for value, place in zip(arrays, given[n:], strict=False):
        if emitter.values[value] is not place:
            copy(frame.builder, place, emitter.values[value], value.array_type.size)

    def release() -> None:
        guards.release()
        release_arrays(frame)

    numbers = [
        value for value in map(no_stack, results) if not isinstance(value.type, ir.PointerType)
    ]
    frame.done(numbers, release)


def _origin(block: Block, value: Value) -> Value:
    """The new array whose memory a result of a block takes over, or the result itself."""
    for made in reversed(block.instructions):
        if isinstance(made, Each | Put) and value in made.results:
            taken = made.initial if isinstance(made, Each) else (made.array,)
            value = taken[made.results.index(value)]
    return value


def _called(
    block: Block,
    frame: Called,
    guards: Guards,
    functions: dict[str, Any],
    called: PythonFunctions,
) -> None:
    if not is_straight(block):
        frame.verify_stack()
        guards.count(work_of([block]))
    emitter = Emitter(frame, guards, functions, called)
    emitter.run(block, _passed(block.parameters, frame.parameters))
    if emitter.stacks(block.results) != emitter.stacks(block.parameters):
        raise NotNative("a stack that leaves its region has no machine code")
    frame.done(emitter.read(_numbers(block.results)), guards.release, guards.counts)


def _numbers(values: Iterable[Value]) -> list[Value]:
    """The values that are no stacks. Stacks are passed by the places of their variables, and not
    returned: a region returns the stacks that it takes, in the same order."""
    return [value for value in values if value.type != STACK]


def _passed_types(value: Value) -> list[Any]:
    """The types by which a value is passed to a function."""
    return list(STACK_TYPES) if value.type == STACK else [llvm_type(value.type)]


def _passed(values: Iterable[Value], given: Iterable[Any]) -> list[Any]:
    """The values in a function to which they are passed."""
    rest = iter(given)
    return [Stack(*islice(rest, 3)) if value.type == STACK else next(rest) for value in values]
