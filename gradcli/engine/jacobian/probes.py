"""Operations applied to numbers that stand for elements, to see which elements they move."""

from __future__ import annotations

from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, count, shape_of
from ..operations.rules import array_language
from ..trace.blanks import Blank
from ..trace.records import Record
from ..values.lanes import Group
from .row_patterns import alike, apply_on_rows, shape_within


def stand_in(op: Op, k: int, operand: Any, group: Group | None = None) -> Any:
    """Returns a value that replaces an operand which depends on no source."""
    if not op.moves_with(k) or operand is None:
        return on_host(operand)
    filled = CPU.xp.ones if op.multilinear else CPU.xp.zeros
    return alike(filled(shape_within(operand, group)), operand, group)


def on_host(value: Any) -> Any:
    """Returns indices in NumPy's memory, wherever they occur in options."""
    if isinstance(value, tuple | list):
        return type(value)([on_host(v) for v in value])
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def apply_op(op: Op, operands: list[Any], options: Any) -> list[Any]:
    """Applies an op to stand-ins for its operands and returns its results."""
    options = {name: on_host(value) for name, value in options.items() if name != "inplace"}
    found = getattr(array_language(CPU, "float64"), op.name)(*operands, **options)
    return [CPU.xp.asarray(part) for part in (found if type(found) is list else [found])]


def moved(record: Record, active: dict[int, Any], group: Group | None) -> list[Any] | None:
    """Returns for each result of an operation which element of the `active` operands, counted
    through all of them, each of its elements is, or -1 for none. None for an operation that does
    more than move elements. With a group its values have rows, each with elements of its own.

    It is applied to the numbers from 1 on, and then to their squares: if each result of the second
    is the square of that of the first, each is one of the numbers, or 0. In a multilinear operation
    the other operands are ones.
    """
    op, xp = record.site.op, CPU.xp
    if not (op.linear or op.multilinear) or (op.multilinear and len(active) != 1):
        return None
    numbers = [stand_in(op, k, operand, group) for k, operand in enumerate(record.operands)]
    squares, first = numbers.copy(), 1
    for k, operand in active.items():
        n = count(shape_within(operand, group))
        each = xp.arange(float(first), first + n)
        numbers[k], squares[k] = (alike(v, operand, group) for v in (each, each**2))
        first += n
    found, after = (
        apply_op(op, values, record.options)
        if group is None
        else apply_on_rows(op, values, record.options, group)
        for values in (numbers, squares)
    )
    if found is None or after is None:
        return None
    if not all(xp.array_equal(a * a, b) for a, b in zip(found, after, strict=True)):
        return None
    return [part.ravel().astype(int) - 1 for part in found]


def apply_pullback(rule: Any, op: Op, k: int, g: Any, record: Record) -> Any:
    """Applies the pullback of a linear op to a cotangent."""
    options = {name: on_host(value) for name, value in record.options.items() if name != "inplace"}
    m, operands = array_language(CPU, "float64"), [CPU.operand(on_host(v)) for v in record.operands]
    y = Blank(shape_of(record.y), "float64") if shape_of(record.y) else CPU.operand(record.y)
    given = (k, *operands) if op.signature.variadic else operands
    return CPU.xp.asarray(rule(m, g, y, *given, **options))
