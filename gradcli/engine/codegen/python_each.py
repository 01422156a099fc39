"""`each` of the IR as Python text: on whole arrays, by NumPy, if its body is on floats and bools;
otherwise as loops over the points, with the bits of the interpreter's ints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from ..backends.backend import CPU, INT_MAX, INT_MIN
from ..formulas.functions import array_function
from ..ir.instructions import Affine, Cast, Check, Each, Element, Instruction, Operation, Value
from ..ir.scalars import CHOICES
from ..ir.types import BOOL, F32, I64, ArrayType, Type, dtype_of, is_float
from .each_axes import Steps, combined_along_it
from .numbers import float32
from .scalar_ops import COMPARISONS
from .step_back import StepBack

_INFIX = ("add", "sub", "mul", "div")


class Writer(Protocol):
    """The writer of the region around an `each`."""

    names: dict[str, Any]

    def name(self, value: Value) -> str: ...
    def same(self, result: Value, changed: Value) -> str: ...
    def instruction(self, made: Instruction, depth: int) -> Iterator[str]: ...


def lines_of(writer: Writer, made: Each, depth: int) -> Iterator[str]:
    """The text of an `each`."""
    writer.names.update(_HELPERS)
    for result, first in zip(made.results, made.initial, strict=True):
        if isinstance(first.type, ArrayType):
            writer.same(result, first)
    indent = "    " * depth
    text = _OnArrays(writer, made) if _fits_arrays(made) else _AsLoops(writer, made)
    yield from [f"{indent}{line}" for line in text.lines()]


def _fits_arrays(made: Each) -> bool:
    """Whether the body of an `each` never steps back."""
    counts = any(
        way == "add" and number.type == I64
        for way, (number, _) in zip(made.ways, made.given, strict=True)
    )
    return not counts and all(map(_is_smooth, made.body.instructions))


def _is_smooth(made: Instruction) -> bool:
    if isinstance(made, Operation):
        return made.op in CHOICES or made.result.type == BOOL or is_float(made.operands[-1].type)
    return not isinstance(made, Check) and not (isinstance(made, Cast) and made.result.type == I64)


# ---- on whole arrays -----------------------------------------------------------------------------


class _OnArrays:
    """Writes values that differ between points as arrays. Axes along which they don't may have one
    element."""

    def __init__(self, writer: Writer, made: Each) -> None:
        self.writer, self.made, self.shape = writer, made, made.shape
        self.steps = Steps(made)

    def lines(self) -> Iterator[str]:
        name = self.writer.name
        for value, k in self.steps.axes.items():
            sizes = [n if axis == k else 1 for axis, n in enumerate(self.shape)]
            yield f"{name(value)} = arange({self.shape[k]}).reshape({tuple(sizes)})"
        for made in self.made.body.instructions:
            if self.steps.varying.isdisjoint((*made.operands, *made.results)):
                yield from self.writer.instruction(made, 0)
            else:
                yield from self.instruction(made)
        for k, way in enumerate(self.made.ways):
            yield from self.combined(k, way)

    def instruction(self, made: Instruction) -> Iterator[str]:
        name = self.writer.name
        if isinstance(made, Affine):
            terms = [
                f"{name(v)} * {step}" for v, step in zip(made.operands, made.steps, strict=True)
            ]
            yield f"{name(made.result)} = {' + '.join([str(made.offset), *terms])}"
        elif isinstance(made, Element):
            yield f"{name(made.result)} = {self.at(name(made.array), made.place)}"
        elif isinstance(made, Cast):
            dtype = dtype_of(made.result.type)
            yield f"{name(made.result)} = {name(made.operand)}.astype({dtype!r})"
        elif isinstance(made, Operation):
            yield f"{name(made.result)} = {self.operation(made)}"

    def operation(self, made: Operation) -> str:
        operands = [self.writer.name(value) for value in made.operands]
        name = made.op.name
        if name in COMPARISONS or (name in _INFIX and is_float(made.result.type)):
            return f"{operands[0]} {made.op.infix} {operands[1]}"
        if made.op in CHOICES:
            return f"where({', '.join(operands)})"
        if name == "beside":
            return operands[0]
        key = f"on_arrays_{name.replace(' ', '_')}"
        self.writer.names[key] = array_function(CPU, made.op)
        return f"{key}({', '.join(operands)})"

    def at(self, array: str, place: Value) -> str:
        """The elements of an array, at a place for each point."""
        steps = self.steps(place)
        if steps is None:
            return f"{array}[{self.writer.name(place)}]"
        shape = tuple([n if step else 1 for n, step in zip(self.shape, steps, strict=True)])
        return f"view({array}, {shape}, {self.start(place)}, {tuple(steps)})"

    def start(self, place: Value) -> str:
        """The first place of an affine one."""
        axes = self.steps.axes
        if (made := self.steps.affine.get(place)) is None:
            return "0" if place in axes else self.writer.name(place)
        terms = zip(made.operands, made.steps, strict=True)
        names = [f"{self.writer.name(v)} * {step}" for v, step in terms if v not in axes]
        return " + ".join([str(made.offset), *names])

    def combined(self, k: int, way: str) -> Iterator[str]:
        made, name = self.made, self.writer.name
        (number, place), first, result = made.given[k], made.initial[k], name(made.results[k])
        value, combine = f"spread({name(number)}, {self.shape})", _UFUNCS.get(way)
        steps = [0] * len(self.shape) if place is None else self.steps(place)
        if steps is None:
            assert place is not None
            if way == "put":
                yield f"{result}[{name(place)}] = {name(number)}"
            else:
                yield f"{combine}.at({result}, {name(place)}, {name(number)})"
            return
        kept = tuple([axis for axis, step in enumerate(steps) if step])
        if place is None:
            total = f"along({combine}, {name(first)}, {value}, ())"
            yield f"{result} = {as_number(total, first.type)}"
            return
        shape = tuple([self.shape[axis] for axis in kept])
        inner = tuple([steps[axis] for axis in kept])
        yield f"part = view({result}, {shape}, {self.start(place)}, {inner})"
        yield f"part[...] = {value if way == 'put' else f'along({combine}, part, {value}, {kept})'}"


def as_number(text: str, kind: Type) -> str:
    """The text of a number, from the text of one of NumPy's, or of an array of no axes."""
    return f"float32({text})" if kind == F32 else f"{text}.item()"


_UFUNCS = {"add": "add", "maximum": "maximum", "minimum": "minimum", "or": "either", "and": "both"}


def _view(array: Any, shape: tuple[int, ...], start: int, steps: tuple[int, ...]) -> Any:
    """The elements of an array from `start` on, at steps along axes."""
    size = array.itemsize
    if any(step < 0 for step in steps):  # memory is given from its lowest address on
        back = [step < 0 for step in steps]
        low = start + sum([s * (n - 1) for s, n in zip(steps, shape, strict=True) if s < 0])
        found = _view(array, shape, low, tuple(map(abs, steps)))
        return found[tuple([slice(None, None, -1 if b else None) for b in back])]
    strides = tuple([size * step for step in steps])
    return CPU.ndarray(shape, array.dtype, array, start * size, strides)


def _spread(value: Any, shape: tuple[int, ...]) -> Any:
    return CPU.xp.ascontiguousarray(CPU.xp.broadcast_to(value, shape))


def _along(ufunc: Any, first: Any, values: Any, kept: tuple[int, ...]) -> Any:
    """Combines `first` with the elements along all axes that aren't kept. If the last axis isn't
    kept, the elements along it are combined with each other first; otherwise elements are combined
    one after another."""
    rank, xp = values.ndim, CPU.xp
    if rank - 1 not in kept:
        values, rank = ufunc.reduce(values, axis=-1), rank - 1
    others = [axis for axis in range(rank) if axis not in kept]
    if not others:
        return ufunc(first, values)
    sizes = [values.shape[axis] for axis in kept]
    rows = values.transpose([*others, *kept]).reshape((-1, *sizes))
    rows = xp.concatenate([xp.reshape(first, (1, *sizes)), rows])
    return ufunc.reduce(rows, axis=0) if kept else ufunc.accumulate(rows)[-1]


# ---- as loops ------------------------------------------------------------------------------------


class _AsLoops:
    def __init__(self, writer: Writer, made: Each) -> None:
        self.writer, self.made = writer, made

    def lines(self) -> Iterator[str]:
        made, name = self.made, self.writer.name
        for result, first, (_, place) in zip(made.results, made.initial, made.given, strict=True):
            if place is None:
                yield f"{name(result)} = {name(first)}"
        indent = ""
        for value, size in zip(made.body.parameters[:-1], made.shape, strict=False):
            yield f"{indent}for {name(value)} in range({size}):"
            indent += "    "
        rows = combined_along_it(made)
        for k in rows:
            yield f"{indent}row_{k} = []"
        yield f"{indent}for {name(made.body.parameters[-1])} in range({made.shape[-1]}):"
        for each in made.body.instructions:
            yield from [f"{indent}    {line}" for line in self.writer.instruction(each, 0)]
        for k, (number, _) in enumerate(made.given):
            if k in rows:
                yield f"{indent}    row_{k}.append({name(number)})"
            else:
                yield f"{indent}    {self.combination(k, name(number))}"
        for k in rows:
            yield f"{indent}{self.combination(k, f'combine_{made.ways[k]}(row_{k})')}"

    def combination(self, k: int, number: str) -> str:
        name, way = self.writer.name, self.made.ways[k]
        place, result = self.made.given[k][1], name(self.made.results[k])
        if place is not None:
            result = f"{result}[{name(place)}]"
        if way == "put":
            return f"{result} = {number}"
        old = result if place is None else as_number(result, self.made.given[k][0].type)
        return f"{result} = combine_{way}([{old}, {number}])"


def combined(way: str, first: Any, number: Any, kind: Type) -> Any:
    """The combination of the first number and another one, of a type, as Python has it."""
    return _HELPERS[f"combine_{way}"]([first, float32(number) if kind == F32 else number])


def _added(numbers: Sequence[Any]) -> Any:
    """The sum in NumPy's order; of ints, if 64 bits hold it."""
    if type(numbers[0]) is not int:
        return _halved(numbers)
    total = 0
    for number in numbers:
        total += number
        if not INT_MIN <= total <= INT_MAX:
            raise StepBack
    return total


def _halved(numbers: Sequence[float]) -> float:
    n = len(numbers)
    if n > 128:
        half = n // 2 // 8 * 8
        return _halved(numbers[:half]) + _halved(numbers[half:])
    if n < 8:
        return _in_order(numbers)
    end = n // 8 * 8
    r = [_in_order(numbers[k:end:8]) for k in range(8)]
    eight = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    return _in_order([eight, *numbers[end:]])


def _in_order(numbers: Sequence[float]) -> float:
    total = numbers[0]
    for number in numbers[1:]:
        total += number
    return total


def _extreme(is_first: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any]], Any]:
    def extreme(numbers: Sequence[Any]) -> Any:
        found = numbers[0]
        for number in numbers[1:]:
            found = found if found != found or is_first(found, number) else number
        return found

    return extreme


_HELPERS: dict[str, Any] = {
    "combine_add": _added,
    "combine_maximum": _extreme(lambda a, b: bool(a >= b)),
    "combine_minimum": _extreme(lambda a, b: bool(a <= b)),
    "combine_or": any,
    "combine_and": all,
    "view": _view,
    "spread": _spread,
    "along": _along,
}


def array_helpers() -> dict[str, Any]:
    """The functions of NumPy that such texts call, by name."""
    xp = CPU.xp
    return {
        "add": xp.add,
        "arange": xp.arange,
        "maximum": xp.maximum,
        "minimum": xp.minimum,
        "either": xp.logical_or,
        "both": xp.logical_and,
        "where": xp.where,
        "full": xp.full,
        "room": xp.empty,
    }
