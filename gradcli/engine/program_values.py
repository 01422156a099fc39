"""Values at the border of a whole program's kernel: from outside to its parameters, and from its
results to values outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from .backends.backend import CPU, INT_MAX, INT_MIN
from .codegen.llvm_rows.layout import stacked
from .codegen.python.regions import compiled
from .codegen.step_back import StepBack
from .ir.types import (
    BOOL,
    DTYPES,
    F32,
    F64,
    I64,
    OF_PYTHON,
    ArrayType,
    Scalar,
    has_tangents,
    is_float,
)
from .lowering.held.kinds import Array, Kind, ListOrArray, Record, Stored, flat, items_in, leaves
from .lowering.held.names import NotCompiled
from .lowering.programs import Lowered
from .passes.pipeline import compiled_form

EXACT = 2**53  # float64 holds every integer up to here
MOST = 8  # tangents that one kernel computes
# Appends the numbers of a value from outside. Returns False if the value is of another kind.
Reader: TypeAlias = Callable[[Any, list[Any]], bool]
# A value outside the program, made of the results of the kernel.
Part: TypeAlias = Callable[[Sequence[Any]], Any]


# ---- parameters ----------------------------------------------------------------------------------


def takes(lowered: Lowered, inputs: Mapping[str, Any]) -> Iterator[tuple[str, Reader]]:
    """The name and the reader of each parameter. Readers are called in this order, as one may read
    the numbers before it."""
    if not inputs.keys() <= lowered.parameters.keys():
        raise NotCompiled("an input is no variable", None)
    known: dict[int, Any] = {}  # numbers that are the same in all runs, by their positions
    places, varying = places_of(lowered.parameters), from_outside(lowered, inputs)
    for name, kind in lowered.parameters.items():
        if name in inputs:
            yield name, _reader(kind, inputs[name])
            continue
        if name not in lowered.states:
            raise NotCompiled(f"the value of `{name}` isn't known before a run", None)
        region, positions = lowered.states[name]
        main, *others = compiled_form(region, *lowered.regions.called_by(region))
        function = compiled(main, others)
        if name in varying:
            yield name, _computed(function, positions)
            continue
        try:
            state = list(function(*[known[k] for k in positions]))
        except StepBack:
            raise NotCompiled(f"the value of `{name}` isn't known before a run", None) from None
        known |= zip(places[name], state, strict=True)
        yield name, _fixed(state)


def from_outside(lowered: Lowered, inputs: Iterable[str]) -> set[str]:
    """The variables that are given from outside, or computed from such."""
    places, found = places_of(lowered.parameters), {*inputs}
    for name, (_, positions) in lowered.states.items():
        if any(not {*positions}.isdisjoint(places[other]) for other in found):
            found.add(name)
    return found


def _reader(kind: Kind, given: Any) -> Reader:
    if isinstance(kind, Scalar):
        return _NUMBERS[kind] if type(given) in OF_PYTHON else _numpy_float(type(given))
    if isinstance(kind, Stored):
        return _stored(kind.type)
    assert isinstance(kind, Array)
    return _array(kind)


def _fixed(state: list[Any]) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        numbers += state
        return True

    return reader


def _computed(function: Callable[..., Sequence[Any]], positions: Sequence[int]) -> Reader:
    """Reads the results of a function of earlier numbers, at some positions."""

    def reader(value: Any, numbers: list[Any]) -> bool:
        try:
            numbers += function(*[numbers[k] for k in positions])
        except StepBack:
            return False
        return True

    return reader


def _float(value: Any, numbers: list[Any]) -> bool:
    if type(value) is int and -EXACT <= value <= EXACT:
        value = float(value)
    numbers.append(value)
    return type(value) is float


def _numpy_float(kind: type) -> Reader:
    """Reads NumPy's floats as Python's. Raises NotCompiled for other classes."""
    if not issubclass(kind, float):
        raise NotCompiled("an input of this type is not compiled", None)

    def reader(value: Any, numbers: list[Any]) -> bool:
        numbers.append(float(value) if type(value) is kind else value)
        return type(value) is kind

    return reader


def _int(value: Any, numbers: list[Any]) -> bool:
    numbers.append(value)
    return type(value) is int and INT_MIN <= value <= INT_MAX


def _bool(value: Any, numbers: list[Any]) -> bool:
    numbers.append(value)
    return type(value) is bool


# A kernel rounds the numbers that it takes in float32.
_NUMBERS: dict[Scalar, Reader] = {F64: _float, F32: _float, I64: _int, BOOL: _bool}


def _dtypes(kind: Scalar) -> tuple[str, ...]:
    """The dtypes of arrays from outside that can become arrays of a type."""
    return (DTYPES[kind], "float64") if kind == F32 else (DTYPES[kind],)


def _array(kind: Array) -> Reader:
    dtypes, number, shape = _dtypes(kind.type), _NUMBERS[kind.type], kind.shape

    def nested(value: Any, sizes: tuple[int, ...], numbers: list[Any]) -> bool:
        if not sizes:
            return number(value, numbers)
        if type(value) is not list or len(value) != sizes[0]:
            return False
        return all([nested(item, sizes[1:], numbers) for item in value])  # noqa: C419

    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is not CPU.ndarray:
            return nested(value, shape, numbers)
        numbers += value.ravel().tolist()
        return bool(value.shape == shape and value.dtype in dtypes)

    return reader


def _stored(kind: ArrayType) -> Reader:
    dtypes = _dtypes(kind.element)

    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is list and is_float(kind.element) and _are_floats(value, kind.shape):
            value = CPU.xp.array(value)
        numbers.append(value)
        return bool(
            type(value) is CPU.ndarray and value.shape == kind.shape and value.dtype in dtypes
        )

    return reader


def _are_floats(items: Any, shape: tuple[int, ...]) -> bool:
    """Whether these are nested lists of this shape that hold only floats."""
    if type(items) is not list or len(items) != shape[0]:
        return False
    if len(shape) > 1:
        return all(_are_floats(item, shape[1:]) for item in items)
    return set(map(type, items)) == {float}


# ---- results -------------------------------------------------------------------------------------


def places_of(kinds: Mapping[str, Kind]) -> dict[str, range]:
    """The positions of each name's numbers among all numbers."""
    ends = [*accumulate([len([*flat(kind)]) for kind in kinds.values()], initial=0)]
    return {name: range(a, b) for name, a, b in zip(kinds, ends, ends[1:], strict=False)}


def part_of(kind: Kind, k: int) -> Part:
    """The value of a kind whose numbers begin at `k`."""
    if isinstance(kind, Scalar):
        return itemgetter(k)
    if isinstance(kind, tuple | Record):
        items = items_in(kind)
        ends = accumulate([len([*flat(item)]) for item in items], initial=k)
        parts = [part_of(item, start) for item, start in zip(items, ends, strict=False)]
        if isinstance(kind, tuple):
            return lambda found: [part(found) for part in parts]
        keys = kind.keys
        return lambda found: {key: part(found) for key, part in zip(keys, parts, strict=True)}
    if isinstance(kind, ListOrArray):
        array = part_of(kind.array, k + 1)
        return lambda found: array(found).tolist() if found[k] else array(found)
    if isinstance(kind, Array):
        shape, dtype, end = kind.shape, DTYPES[kind.type], k + prod(kind.shape)
        if end == k:
            raise NotCompiled("an output of no elements is not compiled", None)
        return lambda found: _shaped(stacked(found[k:end], dtype), shape)
    if isinstance(kind, Stored):
        return (lambda found: found[k].tolist()) if kind.listed else itemgetter(k)
    raise NotCompiled("whether this output is an int or a float isn't known", None)


def moves(kind: Kind) -> bool:
    """Whether something of a kind can be differentiated by: it has only floats."""
    return all(map(has_tangents, flat(kind)))


def few(moving: list[int]) -> list[int]:
    """The positions of the parameters that forward mode differentiates by. Raises NotCompiled if
    they are many."""
    if len(moving) > MOST:
        raise NotCompiled("there are too many tangents", None)
    return moving


def count_of(kinds: Mapping[str, Kind]) -> int:
    """The number of numbers and arrays in things of these kinds."""
    return sum([len(places) for places in places_of(kinds).values()])


def reverse_parts(
    lowered: Lowered, targets: Sequence[str], sources: Sequence[str]
) -> dict[str, dict[str, Part]]:
    """The gradients of each target by each source."""
    k = count_of(lowered.results)
    found: dict[str, dict[str, Part]] = {}
    for of in targets:
        found[of] = {}
        for by in sources:
            kind = lowered.parameters[by]
            found[of][by] = _gradient(kind, k) if moves(kind) else _nothing
            k += 2 * len([*flat(kind)]) if moves(kind) else 0
    return found


def _nothing(found: Sequence[Any]) -> None:
    return None


def _gradient(kind: Kind, k: int) -> Part:
    """A gradient whose numbers begin at `k`, each followed by whether it is connected."""
    if not isinstance(kind, Array):
        return lambda found: found[k] if found[k + 1] else None
    shape, end = kind.shape, k + 2 * prod(kind.shape)

    def gradient(found: Sequence[Any]) -> Any:
        numbers, connected = found[k:end:2], found[k + 1 : end : 2]
        return _shaped(stacked(numbers), shape) if any(connected) else None

    return gradient


def _shaped(numbers: Any, shape: tuple[int, ...]) -> Any:
    """Numbers, or columns of them, as an array of a shape. The rows of columns stay last."""
    return numbers.reshape((*shape, *numbers.shape[1:]))


def forward_parts(
    lowered: Lowered, targets: Sequence[str], sources: Sequence[str]
) -> dict[str, dict[str, Part]]:
    """The gradients of each target by each source, as sums of tangents."""
    places = places_of(lowered.results)
    kinds = [kind for each in lowered.results.values() for kind in flat(each)]
    floats = {k: n for n, k in enumerate([k for k, kind in enumerate(kinds) if has_tangents(kind)])}
    terms = {of: _terms(lowered.results[of], places[of].start, floats) for of in targets}
    found: dict[str, dict[str, Part]] = {of: {} for of in targets}
    start = len(kinds)
    for by in sources:
        kind = lowered.parameters[by]
        if isinstance(kind, Stored):
            raise NotCompiled("a gradient by many elements in forward mode is not compiled", None)
        count = len([*flat(kind)]) if moves(kind) else 0
        starts = [start + 2 * len(floats) * j for j in range(count)]
        for of in targets:
            found[of][by] = _assembled(kind, terms[of], starts)
        start += 2 * len(floats) * count
    return found


class _Term(NamedTuple):
    """The tangents of a number or an array: their positions, and the axes of each."""

    places: list[int]
    rank: int
    is_array: bool

    def total(self, found: Sequence[Any], start: int) -> Any:
        """Their sum, where the first tangent of all is at `start`; None where none is connected."""
        at = [start + k for k in self.places]
        first = next((found[k] for k in at if found[k + 1]), None)
        if first is None or not self.is_array:
            return first
        zero = CPU.xp.zeros_like(first)
        numbers = stacked([found[k] if found[k + 1] else zero for k in at])
        rows = numbers.shape[1 + self.rank :]
        return numbers.reshape((-1, *rows)).sum(axis=0)


def _terms(target: Kind, k: int, floats: Mapping[int, int]) -> list[_Term]:
    """What is added up for a target, whose numbers begin at `k`. `floats` counts all numbers and
    arrays that have tangents."""
    terms = []
    for part in leaves(target):
        if isinstance(part, ListOrArray) or (isinstance(part, Stored) and part.listed):
            raise NotCompiled("the sum of a long list's tangents is not compiled", None)
        size = len([*flat(part)])
        places = [2 * floats[n] for n in range(k, k + size) if n in floats]
        rank = len(part.shape) if isinstance(part, Stored) else 0
        terms.append(_Term(places, rank, isinstance(part, Array | Stored)))
        k += size
    return terms


def _as(kind: Scalar, numbers: Any) -> Any:
    """A float, or an array of floats, as a type."""
    if type(numbers) is CPU.ndarray:
        return numbers.astype(DTYPES[kind], copy=False)
    return float(numbers) if kind == F64 else numbers


def _assembled(kind: Kind, terms: Sequence[_Term], starts: Sequence[int]) -> Part:
    """A gradient. Each of its numbers is the sum of some terms of the tangents that begin at one of
    the positions, each followed by whether it is connected. It has the variable's type, even if the
    target has another one."""

    def total(found: Sequence[Any], start: int) -> Any:
        there = [t for term in terms if (t := term.total(found, start)) is not None]
        return sum(there[1:], there[0]) if there else None

    def gradient(found: Sequence[Any]) -> Any:
        totals = [total(found, start) for start in starts]
        if all(t is None for t in totals):
            return None
        if isinstance(kind, Scalar):
            return _as(kind, totals[0])
        assert isinstance(kind, Array)
        there = next(t for t in totals if t is not None)
        zero = CPU.xp.zeros_like(there)
        numbers = stacked([zero if t is None else t for t in totals])
        return _shaped(_as(kind.type, numbers), kind.shape)

    return gradient
