"""What reports need to know about values: Python numbers, strings, None, NumPy arrays, and lists
and dicts of these."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..naming import halves, in_files

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation

MAX_DEPTH = (
    200  # of lists in lists; a program can nest them until nothing that recurses can print them
)
_DTYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def is_array(value: Any) -> bool:
    """An array or an array library's scalar. Asked this way, a number doesn't import NumPy."""
    return hasattr(value, "dtype") and hasattr(value, "shape")


def shape_and_dtype(value: Any) -> tuple[list[int], str] | None:
    """The shape and dtype of a number or array, None for anything else."""
    if is_array(value):
        return list(value.shape), str(value.dtype)
    dtype = _DTYPES.get(type(value))
    return ([], dtype) if dtype else None


def is_sparse(value: Any) -> bool:
    """Whether a value is a matrix by its entries: `{"rows", "cols", "values", "shape"}`."""
    return (
        isinstance(value, dict)
        and set(value) == {"rows", "cols", "values", "shape"}
        and is_array(value["values"])
    )


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it: numbers, lists, dicts, strings, None; `"nan"`, `{"re": …, "im": …}`
    where it has none."""
    if is_array(value):
        import numpy as np

        # Where all numbers are finite there is no need to look at each.
        return (
            value.tolist()
            if value.dtype.kind == "f" and np.isfinite(value).all()
            else plain(value.tolist())
        )
    if isinstance(value, float):
        return value if math.isfinite(value) else nonfinite(value)
    if isinstance(value, complex):
        return {"re": plain(value.real), "im": plain(value.imag)}
    if depth > MAX_DEPTH:
        return "..."
    if isinstance(value, dict):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def nonfinite(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


class Derivative(NamedTuple):
    """A derivative of an output by names, as one of KINDS."""

    kind: str
    output: str
    by: tuple[str, ...]
    value: Any
    summed: bool

    @property
    def name(self) -> str:
        """What it is called in files. A Jacobian of a scalar is its gradient."""
        return in_files(self.output, self.by, self.summed)


KINDS = ("gradient", "jacobian", "hessian")


def derivatives(evaluation: Evaluation) -> Iterator[Derivative]:
    """Every derivative."""
    tables = (evaluation.gradients, evaluation.jacobians, evaluation.hessians)
    for kind, table in zip(KINDS, tables, strict=True):
        for output, row in table.items():
            summed = output in evaluation.summed and kind != "jacobian"
            for name, value in row.items():
                by = halves(name) if kind == "hessian" else (name,)
                yield Derivative(kind, output, by, value, summed)
