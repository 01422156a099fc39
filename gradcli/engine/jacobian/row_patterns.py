"""Which elements an operation on rows reads, for `sparsity.py`: there each row has elements of its
own, and a value with rows has them along its last axis.

An element is identified by its number. An array of such numbers has the shape of the value that
reads the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, count, shape_of
from ..operations.rows.on_lanes import ByRowError, by_rule, differ_between_rows, narrowed
from ..trace.records import Record
from ..values.lanes import Group, Lanes, deepest


def group_of(record: Record) -> Group | None:
    """The group of rows that a record's result has, or else its operands; None where there is
    none."""
    y = record.y
    return deepest(y if type(y) is list else (y,)) or deepest(record.operands)


def identity(record: Record, group: Group, known: dict[Group, int]) -> Any:
    """What else decides which elements the rows of a record read, as a key: which rows they are,
    and indices that differ between them. A group that is `known` already is a number."""
    values = (*record.operands, *(getattr(record.options, "values", tuple)()))
    found: list[Any] = [_group_key(group, known)]
    for value in values:
        for v in value if type(value) in (tuple, list) else (value,):
            if type(v) is Lanes and v.dtype.kind in "iub":
                found.append(v.array.tobytes() if hasattr(v.array, "tobytes") else v.shape)
    return tuple(found)


def _group_key(group: Group, known: dict[Group, int]) -> Any:
    if group in known:
        return known[group]
    known[group] = len(known)
    if group.parent is None:
        return group.size, None
    return group.each, group.origin.tobytes(), _group_key(group.parent, known)


def whole_shape(value: Any) -> tuple[int, ...]:
    """The shape of a value with all of its rows."""
    shape: tuple[int, ...] = value.array.shape if type(value) is Lanes else shape_of(value)
    return shape


def shape_within(value: Any, group: Group | None) -> tuple[int, ...]:
    """The shape of a value; with all of its rows in an operation on rows, of a group."""
    return shape_of(value) if group is None else whole_shape(value)


def alike(array: Any, value: Any, group: Group | None) -> Any:
    """An array that stands for a value, which has rows in an operation on those of a group."""
    array = array.reshape(shape_within(value, group))
    return array[()] if group is None or type(value) is not Lanes else Lanes(array, value.group)


def read_by(value: Any, group: Group) -> Any:
    """The elements of an operand, as rows of a group read them: an array with the rows last, or an
    axis of 1 where all rows read the same."""
    shape = whole_shape(value)
    numbers = CPU.xp.arange(count(shape)).reshape(shape)
    if type(value) is not Lanes:
        return numbers[..., None]
    return _of(Lanes(numbers, value.group), group)


def _of(value: Lanes, group: Group) -> Any:
    """The array of a value with the rows of a group."""
    return value.array if value.group is group else value.array[..., group.way_to(value.group)]


def spread_over(value: Any, y: Lanes) -> Any:
    """The element of an operand that each element of an elementwise result reads."""
    return CPU.xp.broadcast_to(read_by(value, y.group), y.array.shape).ravel()


def elements_of_rows(value: Any, group: Group) -> tuple[Any, Any]:
    """The rows of a group and the elements of a value that they read: all pairs, in two arrays."""
    numbers = read_by(value, group)
    numbers = CPU.xp.broadcast_to(numbers, (*numbers.shape[:-1], group.size))
    return row_of_each(numbers.shape), numbers.ravel()


def placed(value: Any, index: Any, group: Group | None, of: Group) -> tuple[Any, Any]:
    """The elements of a result in which `place_rows` adds elements up, and these: all pairs, in two
    arrays."""
    xp, numbers = CPU.xp, read_by(value, of)
    shape = numbers.shape[:-1]
    places = xp.arange(count(shape) * (1 if group is None else group.size)).reshape(*shape, -1)
    if group is not None:
        places = places[..., xp.arange(of.size) // of.each if of.each else index]
    return tuple(part.ravel() for part in xp.broadcast_arrays(places, numbers))


def row_of_each(shape: tuple[int, ...]) -> Any:
    """The row of each element of a value, which has the rows last."""
    return CPU.xp.broadcast_to(CPU.xp.arange(shape[-1]), shape).ravel()


def apply_on_rows(op: Op, operands: Sequence[Any], options: Any, group: Group) -> list[Any] | None:
    """The results of an op on rows, as arrays; None where it has no rule for rows."""
    xp = CPU.xp
    if op.category == "lanes":
        assert op.compute is not None
        y = op.compute(xp, *operands, **options)
        return [y.array if type(y) is Lanes else xp.asarray(y)]
    if op.rows is None or (differ_between_rows(options) and "index" not in options):
        return None
    options = {name: tuple(v) if type(v) is list else v for name, v in options.items()}
    operands = [Lanes(_of(v, group), group) if type(v) is Lanes else v for v in operands]
    try:
        y = by_rule(op, operands, narrowed(options, group), group, _on_arrays)
    except ByRowError:
        return None
    return [xp.asarray(part) for part in (y if type(y) is list else [y])]


def _on_arrays(arrays: Sequence[Any], options: dict[str, Any], function: Any) -> Any:
    return function(CPU.xp, *arrays, **{k: v for k, v in options.items() if k != "inplace"})


def differs(record: Record) -> bool:
    """Returns whether rows may move different elements, or rows and axes are exchanged."""
    indices = [v for k, v in enumerate(record.operands) if not record.site.op.moves_with(k)]
    return (
        record.site.op.category == "lanes"
        or differ_between_rows(record.options)
        or any(type(v) is Lanes for v in indices)
    )
