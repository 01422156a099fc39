"""Operations applied to numbers that stand for elements, to see which elements they move."""

from __future__ import annotations

from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, shape_of
from ..operations.rules import array_language
from ..trace.blanks import Blank
from ..trace.records import Record


def stand_in(op: Op, k: int, operand: Any) -> Any:
    """Returns a value that replaces an operand which depends on no source."""
    xp = CPU.xp
    if not op.moves_with(k) or operand is None:
        return on_host(operand)
    return (xp.ones if op.multilinear else xp.zeros)(shape_of(operand))[()]


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


def apply_pullback(rule: Any, op: Op, k: int, g: Any, record: Record) -> Any:
    """Applies the pullback of a linear op to a cotangent."""
    options = {name: on_host(value) for name, value in record.options.items() if name != "inplace"}
    m, operands = array_language(CPU, "float64"), [CPU.operand(on_host(v)) for v in record.operands]
    y = Blank(shape_of(record.y), "float64") if shape_of(record.y) else CPU.operand(record.y)
    given = (k, *operands) if op.signature.variadic else operands
    return CPU.xp.asarray(rule(m, g, y, *given, **options))
