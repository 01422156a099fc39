"""Regions as machine code, if llvmlite is installed: import this only to compile.

The contract is that of `python.py`: the same bits, or StepBack. Values stay in single assignment;
branches and loops become basic blocks with phis. All names are invented, and arithmetic is that of
IEEE 754, without fast-math flags. A kernel has one argument, the address of a record of its
parameters and results; it returns 0, or 1 to step back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ..ir.instructions import (
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    For,
    Instruction,
    Operation,
    Region,
    Value,
    While,
)
from ..ir.types import BOOL, F64, I64, Type
from .llvm_scalars import BIT, DOUBLE, INT, STATUS, NotNative, Scalars
from .machine import assembled
from .python import StepBack

__all__ = ["NotNative", "compiled"]

BYTE = ir.IntType(8)
# As values, in the record, and as ctypes has them.
_TYPES = {
    F64: (DOUBLE, DOUBLE, ctypes.c_double),
    I64: (INT, INT, ctypes.c_int64),
    BOOL: (BIT, BYTE, ctypes.c_bool),
}


def compiled(region: Region) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters that returns its results. It raises StepBack.

    Raises NotNative for what has no machine code.
    """
    block = region.block
    fields = [_known(value.type) for value in (*block.parameters, *block.results)]
    engine, address = assembled(_text(block, ir.LiteralStructType([field[1] for field in fields])))
    names = [f"v{k}" for k in range(len(fields))]
    members = [(name, field[2]) for name, field in zip(names, fields, strict=True)]
    record = type("Record", (ctypes.Structure,), {"_fields_": members})
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
    results = names[len(block.parameters) :]

    def kernel(*parameters: Any) -> tuple[Any, ...]:
        values = record(*parameters)
        if run(ctypes.addressof(values)):
            raise StepBack
        return tuple([getattr(values, name) for name in results])

    kernel.engine = engine  # type: ignore[attr-defined] # it owns the code
    return kernel


def _known(kind: Type) -> tuple[Any, Any, Any]:
    if kind not in _TYPES:
        raise NotNative(f"{kind} has no machine code")
    return _TYPES[kind]


def _text(block: Block, record: Any) -> str:
    """The module whose function `kernel` computes the block."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(STATUS, [record.as_pointer()]), "kernel")
    start, step_back = (function.append_basic_block() for _ in range(2))
    ir.IRBuilder(step_back).ret(ir.Constant(STATUS, 1))
    _Emitter(ir.IRBuilder(start), step_back).kernel(block, function.args[0])
    return str(module)


class _Emitter:
    """Emits the instructions of a region where a builder stands."""

    def __init__(self, builder: Any, step_back: Any) -> None:
        self.builder = builder
        self.scalars = Scalars(builder, step_back)
        self.values: dict[Value, Any] = {}

    def kernel(self, block: Block, record: Any) -> None:
        """The whole kernel, from the parameters in a record to the results in it."""
        make = self.builder

        def member(k: int) -> Any:
            return make.gep(record, [ir.Constant(STATUS, 0), ir.Constant(STATUS, k)], inbounds=True)

        given = [make.load(member(k)) for k in range(len(block.parameters))]
        values = [make.trunc(v, BIT) if v.type == BYTE else v for v in given]
        for k, value in enumerate(self.run(block, values), len(given)):
            make.store(make.zext(value, BYTE) if value.type == BIT else value, member(k))
        make.ret(ir.Constant(STATUS, 0))

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
            self.values[made.result] = ir.Constant(_known(made.result.type)[0], made.value)
        elif isinstance(made, Cast):
            to = _known(made.result.type)[0]
            self.values[made.result] = self.scalars.converted(self.values[made.operand], to)
        elif isinstance(made, Operation):
            self.operation(made)
        elif isinstance(made, Check):
            self.scalars.step_back_if(self.builder.not_(self.values[made.condition]))
        elif isinstance(made, Branch):
            self.branch(made)
        elif isinstance(made, While):
            self.while_loop(made)
        elif isinstance(made, For):
            self.for_loop(made)
        else:
            raise NotNative(f"{type(made).__name__} has no machine code")

    def operation(self, made: Operation) -> None:
        kind = DOUBLE if _known(made.operands[-1].type)[0] == DOUBLE else INT  # bools as ints
        found = self.scalars.apply(made.op.name, self.read(made.operands), kind)
        to = _known(made.result.type)[0]
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
            phi = self.values[result] = make.phi(_known(result.type)[0])
            for results, end in ends:
                phi.add_incoming(results[k], end)

    def while_loop(self, made: While) -> None:
        found = self.loop(
            self.read(made.initial),
            lambda carried: self.run(made.condition, carried)[0],
            lambda carried: self.run(made.body, carried),
        )
        self.values.update(zip(made.results, found, strict=True))

    def for_loop(self, made: For) -> None:
        make, count = self.builder, self.values[made.count]

        def iteration(carried: list[Any]) -> list[Any]:
            results = self.run(made.body, carried)
            return [make.add(carried[0], ir.Constant(INT, 1)), *results]

        _, *found = self.loop(
            [ir.Constant(INT, 0), *self.read(made.initial)],
            lambda carried: make.icmp_signed("<", carried[0], count),
            iteration,
        )
        self.values.update(zip(made.results, found, strict=True))

    def loop(
        self,
        initial: list[Any],
        more: Callable[[list[Any]], Any],
        iteration: Callable[[list[Any]], list[Any]],
    ) -> list[Any]:
        """Emits a loop, and returns the carried values after it. `more` emits its condition, and
        `iteration` the carried values of the next iteration."""
        make = self.builder
        before = make.block
        head, body, after = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        carried = [make.phi(value.type) for value in initial]
        for phi, value in zip(carried, initial, strict=True):
            phi.add_incoming(value, before)
        make.cbranch(more(carried), body, after)
        make.position_at_end(body)
        for phi, value in zip(carried, iteration(carried), strict=True):
            phi.add_incoming(value, make.block)
        make.branch(head)
        make.position_at_end(after)
        return carried
