"""Regions as Python functions on floats, ints and bools, with the bits of the interpreter.

Scalar functions are those that the interpreter calls. An int that outgrows 64 bits, a division of
ints by zero: whatever is out of the ordinary raises `StepBack`, and the interpreter, which has the
message, runs instead. All names are invented: the text has nothing of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...ops import OPS
from ...ops.op import Op
from ..backends.backend import CPU, INT_MAX, INT_MIN
from ..formulas import scalars
from ..formulas.formula_source import function_of
from ..formulas.functions import scalar_function
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
    size_of,
)
from ..ir.types import BOOL, DTYPES, I64, ArrayType
from ..ir.verifier import WHERE

_INFIX = {"add": "+", "sub": "-", "mul": "*"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_STRICT, _BESIDE = OPS["strict_mul"], OPS["beside"]
_CASTS = {"f64": "float", "i64": "int"}


class StepBack(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has met what only the interpreter knows how to tell."""


class TooLong(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has done the work that it was given, or would do so."""


def compiled(
    region: Region, others: Sequence[Region] = (), limited: bool = False
) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters that returns its results. It raises StepBack. `others`
    are the regions that it calls.

    A `limited` function also takes, before the others, how many instructions it may do, about, and
    returns how many are left, before the others, too. It raises TooLong.
    """
    writer = _Writer(limited)
    sources = {each.name: writer.source(each) for each in others}
    sources[region.name] = writer.source(region, is_kernel=True)
    functions = {
        name: function_of(source, f"<region {name}>", writer.names)
        for name, source in sources.items()
    }
    writer.names.update({_called(name): function for name, function in functions.items()})
    return _without_recursion_error(functions[region.name]) if others else functions[region.name]


def _called(name: str) -> str:
    return f"region_{name}"


def _without_recursion_error(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except RecursionError:
            raise StepBack from None

    return call


class _Writer:
    def __init__(self, limited: bool) -> None:
        self.limited = limited
        self.numbers: dict[int, str] = {}
        self.names: dict[str, Any] = {
            "StepBack": StepBack,
            "TooLong": TooLong,
            "checked": _checked,
        }

    def source(self, region: Region, is_kernel: bool = False) -> str:
        """The text of a region, whose arrays are lists. A kernel takes and returns them as they
        are elsewhere."""
        block = region.block
        lines = [f"def region({self.listed(block.parameters)}):"]
        lines += self.work(str(size_of(block)), 1)
        if is_kernel:
            arrays = [self.name(v) for v in block.parameters if isinstance(v.type, ArrayType)]
            lines += [f"    {name} = {name}.ravel().tolist()" for name in arrays]
        lines += self.block(block, 1)
        if is_kernel:
            for value in dict.fromkeys(block.results):
                if isinstance(kind := value.type, ArrayType):
                    self.names["array"] = CPU.xp.array  # NumPy is imported where there are arrays
                    name, dtype = self.name(value), DTYPES[kind.element]
                    lines.append(f"    {name} = array({name}, {dtype!r}).reshape({kind.shape})")
        return "\n".join([*lines, f"    return ({self.listed(block.results)})"]) + "\n"

    def listed(self, values: Sequence[Value]) -> str:
        """What a region is given, or gives: these values, after the work that is left."""
        names = [*["left"] * self.limited, *map(self.name, values)]
        return "".join([f"{name}, " for name in names])

    def work(self, amount: str, depth: int) -> Iterator[str]:
        """Takes an amount of work from what is left."""
        if self.limited:
            indent = "    " * depth
            yield f"{indent}left -= {amount}"
            yield f"{indent}if left < 0:"
            yield f"{indent}    raise TooLong"

    def name(self, value: Value) -> str:
        return self.numbers.setdefault(id(value), f"v{len(self.numbers)}")

    def same(self, result: Value, changed: Value) -> str:
        """The name of a stack or an array, which is changed in place and keeps it."""
        self.numbers[id(result)] = self.numbers[id(changed)]
        return self.name(changed)

    def block(self, block: Block, depth: int) -> Iterator[str]:
        for instruction in block.instructions:
            yield from self.instruction(instruction, depth)

    def assigned(self, to: Sequence[Value], values: Sequence[Value], depth: int) -> Iterator[str]:
        """One assignment of several values, which all are read before one is written."""
        pairs = zip(map(self.name, to), map(self.name, values), strict=True)
        new = [(a, b) for a, b in pairs if a != b]
        if new:
            left, right = (", ".join(names) for names in zip(*new, strict=True))
            yield f"{'    ' * depth}{left} = {right}"

    def instruction(self, made: Instruction, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if isinstance(made, Constant):
            self.numbers[id(made.result)] = self.constant(
                made.value
            )  # it is written where it is used
        elif isinstance(made, Cast):
            function = _CASTS[str(made.result.type)]
            yield f"{indent}{self.name(made.result)} = {function}({self.name(made.operand)})"
        elif isinstance(made, Operation):
            name = self.name(made.result)
            yield f"{indent}{name} = {self.operation(made)}"
            if made.op.name in _INFIX and made.result.type == I64:
                yield f"{indent}if not {INT_MIN} <= {name} <= {INT_MAX}:"
                yield f"{indent}    raise StepBack"
            elif made.op is _STRICT:
                yield f"{indent}if {name} != {name}:"
                yield f"{indent}    {name} = {self.call(made)}"
        elif isinstance(made, NewStack):
            yield f"{indent}{self.name(made.result)} = []"
        elif isinstance(made, Push):
            entry = "".join([f"{self.name(v)}, " for v in made.entry])
            yield f"{indent}{self.same(made.result, made.stack)}.append(({entry}))"
        elif isinstance(made, Pop):
            entry = "".join([f"{self.name(v)}, " for v in made.entry])
            popped = f"{self.same(made.result, made.stack)}.pop()"
            yield f"{indent}{entry}= {popped}" if entry else f"{indent}{popped}"
        elif isinstance(made, NewArray | Element | Put | Copy):
            yield from self.array(made, depth)
        elif isinstance(made, Check):
            yield f"{indent}if not {self.name(made.condition)}:"
            yield f"{indent}    raise StepBack"
        elif isinstance(made, Branch):
            yield f"{indent}if {self.name(made.condition)}:"
            for block in (made.then, made.otherwise):
                yield from self.block(block, depth + 1)
                yield from self.assigned(made.results, block.results, depth + 1)
                yield f"{indent}    pass"
                if block is made.then:
                    yield f"{indent}else:"
        elif isinstance(made, While):
            yield from self.while_loop(made, depth)
        elif isinstance(made, For):
            yield from self.for_loop(made, depth)
        elif isinstance(made, Call):
            results = self.listed(made.results)
            call = f"{_called(made.region)}({self.listed(made.operands)})"
            yield f"{indent}{results}= {call}" if results else f"{indent}{call}"

    def array(self, made: NewArray | Element | Put | Copy, depth: int) -> Iterator[str]:
        """What makes, reads or changes an array."""
        indent = "    " * depth
        if isinstance(made, Put):
            name = self.same(made.result, made.array)
            yield f"{indent}{name}[{self.name(made.place)}] = {self.name(made.number)}"
            return
        if isinstance(made, Element):
            found = f"{self.name(made.array)}[{self.name(made.place)}]"
        else:
            kind = made.result.type
            assert isinstance(kind, ArrayType)
            yield from self.work(str(kind.size), depth)
            new = f"[{self.name(made.operands[0])}] * {kind.size}"
            found = new if isinstance(made, NewArray) else f"{self.name(made.array)}[:]"
        yield f"{indent}{self.name(made.result)} = {found}"

    def while_loop(self, made: While, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield from self.assigned(made.results, made.initial, depth)
        self.share(made.results, made.condition.parameters, made.body.parameters)
        yield f"{indent}while True:"
        yield from self.block(made.condition, depth + 1)
        yield f"{indent}    if not {self.name(made.condition.results[0])}:"
        yield f"{indent}        break"
        yield from self.work(str(1 + size_of(made.body)), depth + 1)
        yield from self.block(made.body, depth + 1)
        yield from self.assigned(made.results, made.body.results, depth + 1)

    def for_loop(self, made: For, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield from self.assigned(made.results, made.initial, depth)
        index, *carried = made.body.parameters
        self.share(made.results, carried)
        count, size = self.name(made.count), 1 + size_of(made.body)
        yield from self.work(f"max({count}, 0) * {size}", depth)
        yield f"{indent}for {self.name(index)} in range({self.name(made.count)}):"
        yield from self.block(made.body, depth + 1)
        yield from self.assigned(made.results, made.body.results, depth + 1)
        yield f"{indent}    pass"

    def share(self, results: Sequence[Value], *parameters: Sequence[Value]) -> None:
        """Carried values have one name in a loop and after it."""
        for each in parameters:
            self.numbers.update({id(p): self.name(r) for p, r in zip(each, results, strict=True)})

    def constant(self, value: Any) -> str:
        if isinstance(value, float) and value - value != 0.0:  # which have no literal
            name = f"c{len(self.names)}"
            self.names[name] = value
            return name
        return repr(value)

    def operation(self, made: Operation) -> str:
        operands = [self.name(value) for value in made.operands]
        kind, name = made.operands[-1].type, made.op.name
        if name in _COMPARISONS:
            return f"{operands[0]} {_COMPARISONS[name]} {operands[1]}"
        if made.op is WHERE:
            return f"{operands[1]} if {operands[0]} else {operands[2]}"
        if name in _INFIX and kind != BOOL:
            return f"{operands[0]} {_INFIX[name]} {operands[1]}"
        if made.op is _STRICT:
            return f"{operands[0]} * {operands[1]}"
        if made.op is _BESIDE:
            return operands[0]
        return self.call(made)

    def call(self, made: Operation) -> str:
        """A call of the function of an op."""
        operands, kind = ", ".join(map(self.name, made.operands)), made.operands[-1].type
        if kind == I64 and made.result.type == I64:
            return f"checked({self.function(made.op, True)}, {operands})"
        return f"{self.function(made.op, kind in (I64, BOOL))}({operands})"

    def function(self, op: Op, ints: bool) -> str:
        key = f"{'i' if ints else 'f'}_{len(self.names)}"
        self.names[key] = _function(op, ints)
        return key


def _function(op: Op, ints: bool) -> Callable[..., Any]:
    if ints and op.name in scalars.INTEGER:
        return scalars.INTEGER[op.name]
    return scalar_function(op)


def _checked(function: Callable[..., Any], *operands: int) -> int:
    """The int that an operation gives, if 64 bits hold it and it is one."""
    try:
        found = function(*operands)
    except (OverflowError, ZeroDivisionError):
        raise StepBack from None
    if type(found) is not int or not INT_MIN <= found <= INT_MAX:
        raise StepBack
    return found
