"""Lists of many numbers, some of which are traced or have tangents, as parameters and results of
regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

from ..backends.backend import CPU
from ..ir.types import ArrayType, Type, dtype_of
from ..values.boxes import Dual, depth_of, level_of, lowered, primal
from ..values.kinds import List

BOXES = (tuple, Dual)
# Some parameters, or results, by their positions: the places of numbers of a list, or None for what
# isn't a list.
NumberPlaces: TypeAlias = dict[int, list[int] | None]


class TracedList:
    """A list of numbers, or of lists of these: an array of its numbers without their boxes, and
    by their places those that have boxes."""

    __slots__ = ("array", "boxes")

    def __init__(self, array: Any, boxes: dict[int, Any]) -> None:
        self.array, self.boxes = array, boxes

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __getitem__(self, rows: slice) -> Any:
        """The first rows."""
        array = self.array[rows]
        boxes = {k: box for k, box in self.boxes.items() if k < array.size}
        return TracedList(array, boxes) if boxes else array


def with_boxes(array: Any, numbers: dict[int, Any]) -> Any:
    """An array whose numbers at some places may have boxes."""
    boxes = {k: number for k, number in numbers.items() if type(number) in BOXES}
    return TracedList(array, boxes) if boxes else array


def of_numbers(numbers: Sequence[Any], dtype: Any, shape: tuple[int, ...]) -> Any:
    """The same of all its numbers, row by row."""
    array = CPU.xp.array([primal(x) if type(x) in BOXES else x for x in numbers], dtype)
    return with_boxes(array.reshape(shape), dict(enumerate(numbers)))


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a list, as a region takes it or gives it, row by row."""
    if type(value) is not TracedList:
        return _numbers(value)
    numbers = _numbers(value.array)
    for k, box in value.boxes.items():
        numbers[k] = box
    return numbers


def numbers_at(value: Any, places: Iterable[int]) -> list[Any]:
    """The numbers of a list at some places."""
    numbers = numbers_of(value)
    return [numbers[k] for k in places]


def _numbers(array: Any) -> list[Any]:
    flat = array.ravel()
    return list(flat) if array.dtype.char == "f" else flat.tolist()


def level_in(value: Any) -> int:
    """The level of the outermost box of a parameter."""
    if type(value) is TracedList:
        return max(map(level_of, value.boxes.values()))
    return level_of(value)


def depth_in(value: Any) -> int:
    """How many derivatives are computed through a parameter, at most."""
    if type(value) is TracedList:
        return max(map(depth_of, value.boxes.values()))
    return depth_of(value)


def lowered_in(value: Any, level: int) -> Any:
    """Takes the boxes of `level` off a parameter. A list without any is an array."""
    if type(value) is TracedList:
        return with_boxes(value.array, {k: lowered(x, level) for k, x in value.boxes.items()})
    return lowered(value, level)


def list_of(value: Any) -> List:
    """A list that a region gives, as the program has it."""
    return _in_lists(numbers_of(value), value.shape)


def _in_lists(numbers: list[Any], shape: tuple[int, ...]) -> List:
    if len(shape) == 1:
        return List(numbers)
    size = len(numbers) // shape[0] if shape[0] else 0
    rows = [numbers[k * size : (k + 1) * size] for k in range(shape[0])]
    return List([_in_lists(row, shape[1:]) for row in rows])


# ---- numbers of lists, and other parameters and results ------------------------------------------


def places_at(values: Sequence[Any], active: Iterable[int], level: int) -> NumberPlaces:
    """Where boxes of a level are among some parameters."""
    places: NumberPlaces = {}
    for k in active:
        value = values[k]
        is_list = type(value) is TracedList
        places[k] = [n for n, x in value.boxes.items() if level_of(x) == level] if is_list else None
    return places


def picked(values: Sequence[Any], places: NumberPlaces) -> list[Any]:
    """The numbers and arrays at places, one after the other."""
    found: list[Any] = []
    for k, own in places.items():
        found += [values[k]] if own is None else numbers_at(values[k], own)
    return found


def put(values: list[Any], places: NumberPlaces, numbers: Iterable[Any]) -> None:
    """Puts numbers and arrays at places."""
    rest = iter(numbers)
    for k, own in places.items():
        if own is None:
            values[k] = next(rest)
            continue
        value, new = values[k], dict(zip(own, rest, strict=False))
        is_traced = type(value) is TracedList
        array, boxes = (value.array, value.boxes | new) if is_traced else (value, new)
        values[k] = with_boxes(array, boxes)


def operands_of(
    values: Sequence[Any], below: Sequence[Any], places: NumberPlaces
) -> tuple[list[Any], list[Any], tuple[int, ...]]:
    """The operands of a region's record, those without the boxes of its level, and the positions of
    those at `places`. Of a list, they are the numbers that have boxes."""
    operands: list[Any] = []
    primals: list[Any] = []
    active: list[int] = []
    for k, (value, lower) in enumerate(zip(values, below, strict=True)):
        own, first = places.get(k), len(operands)
        operands += [value] if own is None else numbers_at(value, own)
        primals += [lower] if own is None else numbers_at(lower, own)
        active += range(first, len(operands)) if k in places else ()
    return operands, primals, tuple(active)


def derivatives_of(
    places: NumberPlaces, numbers: Iterable[Any], kinds: Sequence[Type]
) -> tuple[list[Any], list[Any]]:
    """The derivatives of parameters or results of `kinds` from those of numbers and arrays at
    places; and what says which of these have one."""
    rest = iter(numbers)
    pairs = [
        _together(list(islice(rest, 1 if own is None else len(own))), own, kinds[k])
        for k, own in places.items()
    ]
    return [derivative for derivative, _ in pairs], [there for _, there in pairs]


def _together(numbers: Sequence[Any], own: list[int] | None, kind: Type) -> tuple[Any, Any]:
    """The derivative of a parameter or result of a type, and whether it is connected, as regions
    take them: of a list, from the derivatives of its numbers at some places; otherwise from the one
    derivative. None stands for a derivative that isn't there."""
    if own is None:
        [number] = numbers
        if number is not None:
            return number, True
        zeros = CPU.xp.zeros(kind.shape if isinstance(kind, ArrayType) else (), dtype_of(kind))
        return CPU.settle(zeros), False
    assert isinstance(kind, ArrayType)
    given = {k: number for k, number in zip(own, numbers, strict=True) if number is not None}
    places = list(given)
    array, there = CPU.xp.zeros(kind.size, dtype_of(kind.element)), CPU.xp.zeros(kind.size, bool)
    array[places], there[places] = list(map(primal, given.values())), True
    return with_boxes(array.reshape(kind.shape), given), there.reshape(kind.shape)


def apart(derivative: Any, connected: Any, own: list[int] | None) -> list[Any]:
    """The reverse: the derivatives of the numbers of a list at some places, or the one derivative.
    None for one that isn't connected."""
    if own is None:
        return [derivative if connected else None]
    flags = connected.ravel()[own].tolist()
    pairs = zip(numbers_at(derivative, own), flags, strict=True)
    return [number if flag else None for number, flag in pairs]
