"""The types of the IR as LLVM has them. A bool is a byte in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ir.instructions import Value
from ...ir.types import BOOL, F32, F64, I64, ArrayType, Type
from ..scalars import NotNative
from .frame import BIT, BYTE, DOUBLE, FLOAT, INT

_TYPES: dict[Type, Any] = {F64: DOUBLE, F32: FLOAT, I64: INT, BOOL: BIT}
_ARRAYS = {kind: found.as_pointer() for kind, found in _TYPES.items()}


def llvm_types(values: Sequence[Value]) -> list[Any]:
    """The LLVM types of values. Raises NotNative."""
    return [llvm_type(value.type) for value in values]


def llvm_type(kind: Type) -> Any:
    """The LLVM type for a type of the IR. Raises NotNative."""
    if isinstance(kind, ArrayType):
        return _ARRAYS[kind.element]
    if kind not in _TYPES:
        raise NotNative(f"{kind} has no machine code here")
    return _TYPES[kind]


def numbers_and_arrays(values: Iterable[Value]) -> tuple[list[Value], list[Value]]:
    """The numbers among values, and the arrays."""
    arrays = [value for value in values if isinstance(value.type, ArrayType)]
    return [value for value in values if value not in arrays], arrays


# ---- in memory -----------------------------------------------------------------------------------


def in_memory(kind: Any) -> Any:
    """The type of a value in memory."""
    return BYTE if kind == BIT else kind


def size_in_memory(kind: Any) -> int:
    """The bytes of a value."""
    return 1 if kind in (BIT, BYTE) else 4 if kind == FLOAT else 8


def at(builder: Any, start: Any, k: Any) -> Any:
    """The address of the value `k` places after `start`, in the same memory."""
    index = INT(k) if isinstance(k, int) else k
    return builder.gep(start, [index], inbounds=True)


def load(
    builder: Any, place: Any, align: int | None = None, mark: tuple[str, Any] | None = None
) -> Any:
    """Loads a value. `mark` is a kind of LLVM's metadata and its node, which say what the place may
    overlap with."""
    value = builder.load(place, align=align)
    if mark is not None:
        value.set_metadata(*mark)
    return builder.trunc(value, BIT) if value.type == BYTE else value


def store(
    builder: Any,
    value: Any,
    place: Any,
    align: int | None = None,
    mark: tuple[str, Any] | None = None,
) -> None:
    """Stores a value. `mark` is as for `load`."""
    held = builder.zext(value, BYTE) if value.type == BIT else value
    made = builder.store(held, place, align=align)
    if mark is not None:
        made.set_metadata(*mark)
