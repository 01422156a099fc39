"""The types of the IR as LLVM has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.instructions import Value
from ..ir.types import BOOL, F64, I64, ArrayType, Type
from .llvm_frame import BIT, DOUBLE, INT
from .scalar_ops import NotNative

_TYPES: dict[Type, Any] = {F64: DOUBLE, I64: INT, BOOL: BIT}
_ARRAYS = {F64: DOUBLE.as_pointer(), I64: INT.as_pointer(), BOOL: BIT.as_pointer()}


def llvm_types(values: Sequence[Value]) -> list[Any]:
    """The types of values. Raises NotNative."""
    return [llvm_type(value.type) for value in values]


def llvm_type(kind: Type) -> Any:
    """A type of the IR as LLVM has it. Raises NotNative."""
    if isinstance(kind, ArrayType) and kind.element in _ARRAYS:
        return _ARRAYS[kind.element]
    if kind not in _TYPES:
        raise NotNative(f"{kind} has no machine code here")
    return _TYPES[kind]
