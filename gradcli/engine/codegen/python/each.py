"""`each` of the IR as Python text, on whole arrays, by NumPy. Ints are Python's meanwhile, so that
results beyond 64 bits are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from ...backends.backend import CPU, INT_MAX, INT_MIN
from ...formulas.functions import array_function
from ...ir.each_axes import Steps
from ...ir.instructions import Affine, Cast, Check, Each, Element, Instruction, Operation, Value
from ...ir.scalars import CHOICES
from ...ir.types import F32, I64, ArrayType, dtype_of, is_float
from ..scalars import COMPARISONS
from ..step_back import StepBack
from .numbers import checked, function_on

_INFIX = ("add", "sub", "mul", "div")
# NumPy's functions, by the ways in which numbers are combined.
UFUNCS = {"or": "logical_or", "and": "logical_and"} | {
    way: way for way in ("add", "maximum", "minimum")
}


class Writer(Protocol):
    """The writer of the region around an `each`."""

    names: dict[str, Any]

    def name(self, value: Value) -> str: ...
    def same(self, result: Value, changed: Value) -> str: ...
    def instruction(self, made: Instruction, depth: int) -> Iterator[str]: ...


def lines_of(writer: Writer, made: Each, depth: int) -> Iterator[str]:
    """The text of an `each`."""
    for result, first in zip(made.results, made.initial, strict=True):
        if isinstance(first.type, ArrayType):
            writer.same(result, first)
    yield from [f"{'    ' * depth}{line}" for line in _OnArrays(writer, made).lines()]


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
        yield from self.kept_apart()
        for k, way in enumerate(self.made.ways):
            yield from self.combined(k, way)

    def kept_apart(self) -> Iterator[str]:
        """Copies what is put, or combined, and may be a view of an array that takes in another
        result first."""
        name, made = self.writer.name, self.made
        read = {name(each.array) for each in made.body.instructions if isinstance(each, Element)}
        for k, (number, _) in enumerate(made.given):
            changed = read.intersection(map(name, made.results[:k]))
            if changed and number in self.steps.varying:
                yield f"{name(number)} = apart({', '.join([name(number), *sorted(changed)])})"

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
        elif isinstance(made, Check):
            yield f"if not hold({name(made.condition)}):"
            yield "    raise StepBack"

    def operation(self, made: Operation) -> str:
        operands = [self.writer.name(value) for value in made.operands]
        name = made.op.name
        if name in COMPARISONS or (name in _INFIX and is_float(made.result.type)):
            return f"{operands[0]} {made.op.infix} {operands[1]}"
        if made.op in CHOICES:
            return f"where({', '.join(operands)})"
        if name == "beside":
            return operands[0]
        on_ints = made.result.type == I64
        key = f"on_{'ints' if on_ints else 'arrays'}_{name.replace(' ', '_')}"
        function = function_on(made.op, made.operands[-1].type)
        self.writer.names[key] = _on_ints(function) if on_ints else array_function(CPU, made.op)
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
        made, name, shape = self.made, self.writer.name, self.shape
        (number, place), first, result = made.given[k], made.initial[k], name(made.results[k])
        value, combine = f"spread({name(number)}, {shape})", UFUNCS.get(way)
        kind = "ints_" if way == "add" and number.type == I64 else ""
        if place is None:
            total = f"{kind}along({combine}, {name(first)}, {value}, ())"
            yield f"{result} = {f'float32({total})' if number.type == F32 else f'{total}.item()'}"
            return
        if (steps := self.steps(place)) is None:
            places = f"spread({name(place)}, {shape})"
            if way == "put":
                yield f"{result}[{places}] = {value}"
            else:
                yield f"{kind}at({combine}, {result}, {places}, {value})"
            return
        kept = tuple([axis for axis, step in enumerate(steps) if step])
        sizes, inner = tuple([shape[axis] for axis in kept]), tuple([steps[axis] for axis in kept])
        yield f"part = view({result}, {sizes}, {self.start(place)}, {inner})"
        total = value if way == "put" else f"{kind}along({combine}, part, {value}, {kept})"
        yield f"part[...] = {total}"


def _on_ints(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of single ints as one of arrays. It raises StepBack."""

    def call(*operands: Any) -> Any:
        each = CPU.xp.frompyfunc(partial(checked, function), len(operands), 1)
        return each(*operands).astype("int64")

    return call


def _hold(conditions: Any) -> bool:
    """Whether conditions hold at all points. (NumPy's own method imports at its first call, which
    the text can't, as it has no builtins.)"""
    return bool(conditions.all())


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


def _apart(value: Any, *arrays: Any) -> Any:
    """A value that shares no memory with arrays."""
    shares = any(CPU.xp.may_share_memory(value, array) for array in arrays)
    return value.copy() if shares else value


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


def _at(ufunc: Any, array: Any, places: Any, values: Any) -> None:
    """Combines elements of an array with values, which may meet in one place."""
    ufunc.at(array, places, values)


# The same for sums of ints. They raise StepBack where 64 bits don't hold one.


def _ints_along(ufunc: Any, first: Any, values: Any, kept: tuple[int, ...]) -> Any:
    first = CPU.xp.asarray(first).astype(object)
    return _in_64_bits(_along(ufunc, first, values.astype(object), kept))


def _ints_at(ufunc: Any, array: Any, places: Any, values: Any) -> None:
    exact = array.astype(object)
    ufunc.at(exact, places, values.astype(object))
    array[...] = _in_64_bits(exact)


def _in_64_bits(numbers: Any) -> Any:
    """Python's ints as an array of ints of 64 bits."""
    found = CPU.xp.asarray(numbers, object)
    if not all(INT_MIN <= number <= INT_MAX for number in found.ravel()):
        raise StepBack
    return found.astype("int64")


def array_helpers() -> dict[str, Any]:
    """The functions that such texts call, by name."""
    xp = CPU.xp
    return {
        **{name: getattr(xp, name) for name in ("arange", "where", "full", *UFUNCS.values())},
        "room": xp.empty,
        "hold": _hold,
        "view": _view,
        "spread": _spread,
        "apart": _apart,
        "along": _along,
        "at": _at,
        "ints_along": _ints_along,
        "ints_at": _ints_at,
    }
