"""Whole programs as regions for many rows, which one kernel computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..lang.program import Declare, Program
from .analysis.declared import declarations
from .analysis.requests import requested_outputs
from .backends.backend import CPU, Backend
from .codegen.step_back import StepBack
from .ir.types import OF_DTYPE, ArrayType, Scalar, dtype_of, has_tangents
from .kernels.mapped.regions import is_flag
from .kernels.region_rows import RegionRows
from .lowering.held.flow import assigned
from .lowering.held.kinds import Kind, flat
from .lowering.programs import Lowered, lower_program
from .program_calls import NoRule, NotCompiled, derived
from .program_values import EXACT, Reader, count_of, from_outside, takes
from .values.kinds import List
from .values.lanes import Group, Lanes

__all__ = ["NoRule", "NotCompiled", "RowsCall"]


class Rows(NamedTuple):
    """The results of some rows: by output, and by output and variable.

    rows   their numbers
    group  of the lanes in `outputs` and `gradients`
    """

    rows: Any
    group: Group
    outputs: dict[str, Any]
    gradients: dict[str, dict[str, Any]]


class RowsCall:
    """A program that is run for rows of columns of one kind.

    summed  the targets whose gradients are those of a sum: all that aren't scalars
    """

    def __init__(
        self,
        node: Program,
        shared: Mapping[str, Any],
        columns: Mapping[str, Any],
        of: Sequence[str],
        wrt: Sequence[str],
        grad: bool,
        forward: bool,
        memory: int | None = None,
        backend: Backend = CPU,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        """`columns` are arrays of the backend, with the rows last. `of` and `wrt` are as for
        `eval`; if they are empty, they are all outputs of floats that are no derivatives, and all
        variables. `memory` is the limit of the kernel in bytes; `dtype` that of the run's floats;
        `seed` that of random numbers. Raises NotCompiled, and NoRule."""
        inputs = {**shared, **{name: _of_a_row(column) for name, column in columns.items()}}
        lowered = lower_program(node, inputs, for_rows=True, real=OF_DTYPE[dtype], seed=seed)
        for reason in lowered.reasons:
            raise reason
        if any(getattr(kind, "listed", False) for kind in lowered.results.values()):
            raise NotCompiled("lists of many numbers are not compiled on rows", None)
        targets = [*(of or _targets(node, lowered))] if grad else []
        variables = _sources(node, lowered) if grad else []
        sources = [*(wrt or variables)] if grad else []
        self.summed = {name for name in targets if not isinstance(lowered.results[name], Scalar)}
        call, self._outputs, self._gradients = derived(lowered, targets, sources, forward)
        if from_outside(lowered, columns) != columns.keys():
            raise NotCompiled("a variable that is computed from a column is not compiled", None)
        self._takes = [
            (name, _column(lowered.parameters[name], backend.xp) if name in columns else reader)
            for name, reader in takes(lowered, inputs)
        ]
        self._shared, self._width = shared, count_of(lowered.results)
        by_row = [name in columns for name, kind in lowered.parameters.items() for _ in flat(kind)]
        self._kernel, self._memory = RegionRows(call, by_row, backend=backend), memory
        if not self._kernel.is_there:
            assert self._kernel.refusal is not None
            raise NotCompiled(*self._kernel.refusal)

    def rows(self, columns: Mapping[str, Any], size: int) -> tuple[list[Rows], Any] | None:
        """The results of `size` rows, and the numbers of the rows that the interpreter must run.
        None if it must run all."""
        values: list[Any] = []
        for name, reader in self._takes:
            if not reader(columns.get(name, self._shared.get(name)), values):
                return None
        try:
            found, stepped_back = self._kernel.run(size, values, self._memory)
        except StepBack:
            return None
        done = CPU.xp.flatnonzero(~stepped_back)
        parts = [self._part(rows, given) for rows, given in self._alike(done, found, size)]
        return parts, CPU.xp.flatnonzero(stepped_back)

    def _alike(self, rows: Any, found: list[Any], size: int) -> Iterator[tuple[Any, list[Any]]]:
        """These rows, in parts that have the same gradients, each with its results."""
        flags = [k for k in range(self._width + 1, len(found), 2) if type(found[k]) is CPU.ndarray]
        if not flags:
            if len(rows):
                yield rows, [_taken(each, rows, size) for each in found]
            return
        labels = CPU.xp.zeros(len(rows), int)
        for k in flags:
            labels = CPU.xp.unique(2 * labels + found[k][rows], return_inverse=True)[1]
        for label in range(labels.max(initial=-1) + 1):
            some = rows[labels == label]
            given = [_taken(each, some, size) for each in found]
            for k in flags:
                given[k] = bool(given[k][0])
            yield some, given

    def _part(self, rows: Any, found: list[Any]) -> Rows:
        size, group = len(rows), Group(len(rows))
        for k, each in enumerate(found):
            if type(each) is not CPU.ndarray and not is_flag(k, self._width):
                found[k] = CPU.xp.full(size, each)
        outputs = {name: _lanes(part(found), group) for name, part in self._outputs.items()}
        gradients = {
            of: {by: _lanes(part(found), group) for by, part in row.items()}
            for of, row in self._gradients.items()
        }
        return Rows(rows, group, outputs, gradients)


def _targets(node: Program, lowered: Lowered) -> list[str]:
    """The outputs that get a gradient unasked: those of floats that are no derivatives."""
    requested = requested_outputs(node)
    return [
        name
        for name, kind in lowered.results.items()
        if name not in requested and any(map(has_tangents, flat(kind)))
    ]


def _sources(node: Program, lowered: Lowered) -> list[str]:
    """The variables. Raises NotCompiled where there are others than the program's own, or one is
    replaced by a plain value: then it gets no gradient unasked, and `--wrt` means the value in its
    place."""
    declared = declarations(node.body)
    kinds = {each.slot.name: each.kind for each in declared}
    if not lowered.parameters.keys() <= kinds.keys():
        raise NotCompiled("an imported program has variables", None)
    others = [each for each in node.body if not isinstance(each, Declare)]
    replaced = {slot.index for slot in assigned(others)}
    for each in declared:
        if each.slot.index in replaced:
            raise NotCompiled(f"`{each.slot.name}` is replaced by a plain value", each.span)
    return [name for name in lowered.parameters if kinds[name] == "var"]


def _of_a_row(column: Any) -> Any:
    """A value in the form that a row has. Its number doesn't matter."""
    found = CPU.xp.zeros(column.shape[:-1], column.dtype)
    return found if found.ndim else found.item()


def _column(kind: Kind, xp: Any) -> Reader:
    """The reader of the columns of a parameter."""
    leaf = next(flat(kind))
    shape = leaf.shape if isinstance(leaf, ArrayType) else getattr(kind, "shape", ())
    dtype = CPU.xp.dtype(dtype_of(leaf))

    def reader(column: Any, values: list[Any]) -> bool:
        if column.shape[:-1] != shape or not _fits(column, dtype, xp):
            return False
        columns = [column] if isinstance(leaf, ArrayType) else column.reshape(-1, column.shape[-1])
        values += [xp.ascontiguousarray(each, dtype) for each in columns]
        return True

    return reader


def _fits(column: Any, dtype: Any, xp: Any) -> bool:
    """Whether numbers keep their values in another type."""
    if column.dtype == dtype:
        return True
    if column.dtype.kind == "i" and dtype.kind == "f":
        return not len(column) or bool((abs(column) <= EXACT).all())
    if column.dtype.kind == "f" and dtype.kind == "i":  # files hold ints as floats
        return bool(((column == xp.trunc(column)) & (abs(column) < 2.0**63)).all())
    same = column.dtype.kind == dtype.kind  # float32 rounds: that is what a run asks it for
    return bool(same and (dtype.char == "f" or CPU.xp.can_cast(column.dtype, dtype)))


def _taken(value: Any, rows: Any, size: int) -> Any:
    return value if type(value) is not CPU.ndarray or len(rows) == size else value[..., rows]


def _lanes(value: Any, group: Group) -> Any:
    """Columns as values of the language."""
    if type(value) is CPU.ndarray:
        return Lanes(value, group)
    if type(value) is list:
        return List([_lanes(item, group) for item in value])
    return {k: _lanes(v, group) for k, v in value.items()} if type(value) is dict else value
