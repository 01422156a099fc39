"""Regions as Python functions on floats, ints and bools, with the bits of the interpreter. A number
in float32 is NumPy's, as there.

Scalar functions are those that the interpreter calls. Anything unusual, such as an int that
outgrows 64 bits or a division of ints by zero, raises `StepBack`, and the interpreter, which has
the message, runs instead. All names are invented: the text has nothing of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

from ....ops import OPS
from ....ops.op import Op
from ...backends.backend import CPU, INT_MAX, INT_MIN, ieee
from ...formulas.formula_source import function_of
from ...ir.each_axes import work_of_points
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
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Region,
    Room,
    Structural,
    Value,
    While,
    every,
    size_of,
)
from ...ir.scalars import WHERE
from ...ir.types import BOOL, DTYPES, F32, I64, ArrayType, Type
from ..array_calls import Computed, shapes_of
from ..scalars import COMPARISONS
from ..step_back import OutOfWork, StepBack
from .each import array_helpers, lines_of
from .numbers import checked, float32, function_on, number_of

_INFIX = ("add", "sub", "mul")
_STRICT, _BESIDE = OPS["strict_mul"], OPS["beside"]
_CASTS = {"f64": "float", "f32": "float32", "i64": "int"}


def compiled(
    region: Region,
    others: Sequence[Region] = (),
    limited: bool = False,
    stack_bytes: int | None = None,
) -> Callable[..., tuple[Any, ...]]:
    """A function of the region's parameters that returns its results. It raises StepBack. `others`
    are the regions that it calls.

    A `limited` function also takes, as its first parameter, about how many instructions it may run,
    and returns, as its first result, how many are left. It raises OutOfWork. The stacks of another
    function may take `stack_bytes`.
    """
    return written(PythonText(limited, None if limited else stack_bytes), region, others)


def written(
    writer: PythonText, region: Region, others: Sequence[Region]
) -> Callable[..., tuple[Any, ...]]:
    """The function that a writer makes of a region and of those that it calls."""
    sources = {each.name: writer.source(each) for each in others}
    sources[region.name] = writer.source(region, is_kernel=True)
    functions = {
        name: function_of(source, f"<region {name}>", writer.names)
        for name, source in sources.items()
    }
    writer.names.update({_called(name): function for name, function in functions.items()})
    function = functions[region.name]
    if any(_has_arrays(own.block) for own in (region, *others)):
        function = _on_arrays(function)
    return _without_recursion_error(function) if others else function


def _has_arrays(block: Block) -> bool:
    """Whether NumPy computes something, which may warn."""
    return any(
        isinstance(made, Each | Product | Structural) or any(v.type == F32 for v in made.results)
        for made in every(block)
    )


def _called(name: str) -> str:
    return f"region_{name}"


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in which NumPy's floating-point errors give values and no warnings."""

    def call(*operands: Any) -> Any:
        with ieee():
            return function(*operands)

    return call


def _without_recursion_error(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except RecursionError:
            raise StepBack from None

    return call


class PythonText:
    """Writes regions as Python text."""

    def __init__(self, limited: bool, stack_bytes: int | None) -> None:
        self.limited, self.stack_bytes = limited, stack_bytes
        self.numbers: dict[int, str] = {}
        self.names: dict[str, Any] = {
            "StepBack": StepBack,
            "OutOfWork": OutOfWork,
            "checked": checked,
            "float32": float32,
        }

    def helpers(self) -> dict[str, Any]:
        """The functions that the text calls to make arrays. A region without arrays needs no
        NumPy."""
        return {"flat": _flat, "product": product, **array_helpers()}

    def source(self, region: Region, is_kernel: bool = False) -> str:
        """The text of a region, in which arrays are vectors. A kernel takes and returns them in
        their shapes."""
        block = region.block
        lines = [f"def region({self.listed(block.parameters)}):"]
        lines += self.work(str(size_of(block)), 1)
        if is_kernel:
            for value in block.parameters:
                name = self.name(value)
                if value.type == F32:
                    lines.append(f"    {name} = float32({name})")
                elif isinstance(kind := value.type, ArrayType):
                    self.names.update(self.helpers())
                    lines.append(f"    {name} = flat({name}, {DTYPES[kind.element]!r})")
        lines += self.block(block, 1)
        if is_kernel:
            for value in dict.fromkeys(block.results):
                if isinstance(kind := value.type, ArrayType):
                    name = self.name(value)
                    lines.append(f"    {name} = {name}.reshape({kind.shape})")
        return "\n".join([*lines, f"    return ({self.listed(block.results)})"]) + "\n"

    def listed(self, values: Sequence[Value]) -> str:
        """The parameters or results of a region: the work that is left, and then these values."""
        names = [*["left"] * self.limited, *map(self.name, values)]
        return "".join([f"{name}, " for name in names])

    def work(self, amount: str, depth: int) -> Iterator[str]:
        """Subtracts an amount of work from what is left."""
        if self.limited:
            indent = "    " * depth
            yield f"{indent}left -= {amount}"
            yield f"{indent}if left < 0:"
            yield f"{indent}    raise OutOfWork"

    def name(self, value: Value) -> str:
        return self.numbers.setdefault(id(value), f"v{len(self.numbers)}")

    def same(self, result: Value, changed: Value) -> str:
        """The name of a stack or an array after a change in place: the same name."""
        self.numbers[id(result)] = self.numbers[id(changed)]
        return self.name(changed)

    def block(self, block: Block, depth: int) -> Iterator[str]:
        for instruction in block.instructions:
            yield from self.instruction(instruction, depth)

    def assigned(self, to: Sequence[Value], values: Sequence[Value], depth: int) -> Iterator[str]:
        """One assignment of several values. All are read before one is written."""
        pairs = zip(map(self.name, to), map(self.name, values), strict=True)
        new = [(a, b) for a, b in pairs if a != b]
        if new:
            left, right = (", ".join(names) for names in zip(*new, strict=True))
            yield f"{'    ' * depth}{left} = {right}"

    def instruction(self, made: Instruction, depth: int) -> Iterator[str]:
        indent = "    " * depth
        if isinstance(made, Constant):
            # It is written where it is used.
            self.numbers[id(made.result)] = self.constant(made)
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
            copies = [".copy()" * isinstance(v.type, ArrayType) for v in made.entry]
            names = zip(map(self.name, made.entry), copies, strict=True)
            entry = "".join([f"{name}{copy}, " for name, copy in names])
            stack = self.same(made.result, made.stack)
            yield f"{indent}{stack}.append(({entry}))"
            if self.stack_bytes is not None:
                yield f"{indent}if len({stack}) > {self.stack_bytes // _bytes_of(made)}:"
                yield f"{indent}    raise StepBack"
        elif isinstance(made, Pop):
            entry = "".join([f"{self.name(v)}, " for v in made.entry])
            popped = f"{self.same(made.result, made.stack)}.pop()"
            yield f"{indent}{entry}= {popped}" if entry else f"{indent}{popped}"
        elif isinstance(made, NewArray | Room | Element | Put | Copy | Product):
            yield from self.array(made, depth)
        elif isinstance(made, Structural):
            computed = Computed.by(made)
            yield from self.work(str(computed.work), depth)
            yield self.called(computed.on_vectors(), made.operands, made.results, depth)
        elif isinstance(made, Affine):
            terms = zip(map(self.name, made.operands), made.steps, strict=True)
            total = " + ".join([str(made.offset), *[f"{v} * {step}" for v, step in terms]])
            yield f"{indent}{self.name(made.result)} = {total}"
        elif isinstance(made, Each):
            self.names.update(self.helpers())
            yield from self.work(str(work_of_points(made)), depth)
            yield from lines_of(self, made, depth)
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

    def called(
        self,
        function: Callable[..., Any],
        operands: Sequence[Value],
        results: Sequence[Value],
        depth: int,
    ) -> str:
        """A call of a function that returns several values."""
        key = f"s_{len(self.names)}"
        self.names[key] = function
        given = ", ".join(map(self.name, operands))
        to = "".join([f"{self.name(value)}, " for value in results])
        return f"{'    ' * depth}{to and f'{to}= '}{key}({given})"

    def array(
        self, made: NewArray | Room | Element | Put | Copy | Product, depth: int
    ) -> Iterator[str]:
        """The making, reading or changing of an array."""
        indent = "    " * depth
        if isinstance(made, Put):
            name = self.same(made.result, made.array)
            yield f"{indent}{name}[{self.name(made.place)}] = {self.name(made.number)}"
            return
        if isinstance(made, Element):
            array, place = self.name(made.array), self.name(made.place)
            found = f"{array}[{place}]" if made.result.type == F32 else f"{array}.item({place})"
        else:
            kind = made.result.array_type
            self.names.update(self.helpers())
            yield from self.work(str(kind.size), depth)
            found = self.new(made, kind)
        yield f"{indent}{self.name(made.result)} = {found}"

    def new(self, made: NewArray | Room | Copy | Product, kind: ArrayType) -> str:
        """A new array."""
        if isinstance(made, Copy):
            return f"{self.name(made.array)}.copy()"
        if isinstance(made, Product):
            factors = f"{self.name(made.left)}, {self.name(made.right)}"
            return f"product({factors}, {made.sizes}, {made.transposed})"
        if isinstance(made, Room):
            return f"room({kind.size}, {DTYPES[kind.element]!r})"
        return f"full({kind.size}, {self.name(made.number)}, {DTYPES[kind.element]!r})"

    def while_loop(self, made: While, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield from self.assigned(made.results, made.initial, depth)
        self.carry(made.results, made.condition.parameters, made.body.parameters)
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
        self.carry(made.results, carried)
        count, size = self.name(made.count), 1 + size_of(made.body)
        yield from self.work(f"max({count}, 0) * {size}", depth)
        yield f"{indent}for {self.name(index)} in range({self.name(made.count)}):"
        yield from self.block(made.body, depth + 1)
        yield from self.assigned(made.results, made.body.results, depth + 1)
        yield f"{indent}    pass"

    def carry(self, results: Sequence[Value], *parameters: Sequence[Value]) -> None:
        """Gives a carried value one name, in a loop and after it."""
        for each in parameters:
            self.numbers.update({id(p): self.name(r) for p, r in zip(each, results, strict=True)})

    def constant(self, made: Constant) -> str:
        value = number_of(made)
        if type(value) in (int, bool) or (type(value) is float and isfinite(value)):
            return repr(value)
        name = f"c{len(self.names)}"  # a value without a literal
        self.names[name] = value
        return name

    def operation(self, made: Operation) -> str:
        operands = [self.name(value) for value in made.operands]
        kind, name = made.operands[-1].type, made.op.name
        if name in COMPARISONS:
            compared = f"{operands[0]} {made.op.infix} {operands[1]}"
            return f"bool({compared})" if kind == F32 else compared
        if made.op is WHERE:
            return f"{operands[1]} if {operands[0]} else {operands[2]}"
        if name in _INFIX and kind != BOOL:
            return f"{operands[0]} {made.op.infix} {operands[1]}"
        if made.op is _STRICT:
            return f"{operands[0]} * {operands[1]}"
        if made.op is _BESIDE:
            return operands[0]
        return self.call(made)

    def call(self, made: Operation) -> str:
        """A call of the function of an op."""
        operands, kind = ", ".join(map(self.name, made.operands)), made.operands[-1].type
        if kind == I64 and made.result.type == I64:
            return f"checked({self.function(made.op, kind)}, {operands})"
        found = f"{self.function(made.op, kind)}({operands})"
        if kind == F32:  # the function may return an array of no axes
            return f"{'bool' if made.result.type == BOOL else 'float32'}({found})"
        return found

    def function(self, op: Op, kind: Type) -> str:
        key = f"f_{len(self.names)}"
        self.names[key] = function_on(op, kind)
        return key


def _bytes_of(made: Push) -> int:
    """The bytes of an entry, a tuple in a list."""
    sizes = [v.type.size if isinstance(v.type, ArrayType) else 4 for v in made.entry]
    return 8 * (6 + sum(sizes))


def _flat(array: Any, dtype: str) -> Any:
    """An array as a vector."""
    return CPU.xp.ascontiguousarray(array, dtype).reshape(-1)


def product(
    left: Any, right: Any, sizes: tuple[int, int, int, int], transposed: tuple[bool, bool]
) -> Any:
    """The product of matrices, as a vector: see `Product`."""
    shapes = shapes_of(sizes, transposed)
    factors = zip((left, right), shapes, transposed, strict=False)
    a, b = [
        v.reshape(shape).swapaxes(-1, -2) if turned else v.reshape(shape)
        for v, shape, turned in factors
    ]
    return (a @ b).reshape(-1)
