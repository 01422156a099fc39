"""The types of the IR as LLVM has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.instructions import Value
from ..ir.types import BOOL, F32, F64, I64, ArrayType, Type
from .llvm_frame import BIT, DOUBLE, FLOAT, INT
from .scalar_ops import NotNative

_TYPES: dict[Type, Any] = {F64: DOUBLE, F32: FLOAT, I64: INT, BOOL: BIT}
_ARRAYS = {kind: found.as_pointer() for kind, found in _TYPES.items()}


def llvm_types(values: Sequence[Value]) -> list[Any]:
    """The types of values. Raises NotNative."""
    return [llvm_type(value.type) for value in values]


def llvm_type(kind: Type) -> Any:
    """A type of the IR as LLVM has it. Raises NotNative."""
    if isinstance(kind, ArrayType):
        return _ARRAYS[kind.element]
    if kind not in _TYPES:
        raise NotNative(f"{kind} has no machine code here")
    return _TYPES[kind]
