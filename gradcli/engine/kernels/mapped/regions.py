"""Regions that are called for many rows, on numbers of the language at any depth of nested
derivatives: one record for all rows, whose pullback is a region on rows, too.

The cotangent of a parameter that all rows share is the sum over the rows, in the order of blocks of
rows; the size of a block follows from the number of rows and what a row has. In a further
derivative, that sum is a result of the region, and its cotangent is shared by the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ....ops import OPS
from ....ops.op import Op
from ...backends.backend import CPU, shape_of
from ...backends.threads import in_order
from ...backends.tiers import NO_LIMIT
from ...codegen.llvm_rows.group_sizes import GROUP
from ...codegen.llvm_rows.layout import column_of
from ...ir.builder import Builder
from ...ir.instructions import (
    Block,
    Each,
    Element,
    For,
    Operation,
    Region,
    Value,
    blocks_of,
    constants_in,
    every,
)
from ...ir.types import ArrayType, Type, dimensions, dtype_of, elements_of, has_tangents
from ...passes.calls import Regions
from ...passes.derivatives.jvp import jvp
from ...passes.derivatives.vjp import pullback_of
from ...passes.element_reads import ElementReads, element_reads
from ...passes.rules import NoRule
from ..region_calls import Places, RegionCall, made_once
from ..region_rows import RegionRows

MUL = OPS["mul"]
MAPPED = Op("vmap", "*operands", "A region on rows as one operation.", internal=True, engine=True)
NUMBERS = 2**18  # about how many numbers the parameters of the rows of a block have
LEAST, MOST = 2**12, 2**16  # rows of a block
GIVEN = 2**18  # numbers that the rows of a block give for sums
# The elements of a shared array for which each row may give a cotangent; and the limit where the
# interpreter does better: by a product of matrices for all rows, or by reading few elements.
MOST_SHARED, FEW_SHARED = 2**14, 2**6


class MappedRegion(RegionCall):
    """A region that is called for rows.

    by_row  which parameters have rows, along their first axis; all rows share the others
    summed  which results are sums over the rows; the others have rows along their first axis
    pairs   the position of the first result that is a derivative. Each derivative is followed by
            whether it is connected, which is so for all rows if it is for one
    """

    op = MAPPED

    def __init__(
        self,
        region: Region,
        regions: Regions,
        by_row: Sequence[bool],
        summed: Sequence[bool],
        pairs: int,
    ) -> None:
        super().__init__(region, regions, in_blocks=lambda: self, stack_bytes=NO_LIMIT)
        self._by_row, self._summed, self._pairs = tuple(by_row), tuple(summed), pairs
        self._takes = [value.type for value in region.block.parameters]
        self._gives = [value.type for value in region.block.results]
        varying = [k for k, varies in enumerate(self._by_row) if varies]
        width = sum([elements_of(self._takes[k]) for k in varying])
        sums = [kind for kind, each in zip(self._gives, summed, strict=True) if each]
        given = sum(map(elements_of, sums))
        most = max(GROUP, min(MOST, GIVEN // max(1, given)))
        self._tile = min(most, max(LEAST, NUMBERS // width // GROUP * GROUP))

    # ---- derivatives -----------------------------------------------------------------------------

    @made_once
    def forward(self, active: Places, unsure: bool = False) -> RegionCall:
        """The region of the results and their tangents."""
        assert not unsure  # no parameter is a list
        region = jvp(self.region, active, self.regions)
        by_row = (*self._by_row, *[self._by_row[k] for k in active])
        floats = [k for k, kind in enumerate(self._gives) if has_tangents(kind)]
        summed = [each for k in floats for each in (self._summed[k], False)]
        return self._derived(region, by_row, (*self._summed, *summed), self._pairs)

    @made_once
    def backward(self, active: Places, of: Places, unsure: bool = False) -> RegionCall:
        """The region of the active parameters' cotangents, from those of some results."""
        block = self.region.block
        shared = {block.parameters[k] for k in active if not self._by_row[k]}
        most = min(MOST_SHARED, max(FEW_SHARED, work_of_row(block)))
        most = FEW_SHARED if _has_products(self.region, shared) else most
        if any(elements_of(value.type) > most for value in shared):
            raise NoRule("a shared array has too many elements for a cotangent of each row")
        flags = range(len(of)) if unsure else ()
        region = pullback_of(self.region, active, of, self.regions, flags)
        by_row = (*self._by_row, *[not self._summed[k] for k in of], *[False for _ in flags])
        summed = [each for k in active for each in (not self._by_row[k], False)]
        return self._derived(region, by_row, summed, 0)

    def _derived(
        self, region: Region, by_row: Sequence[bool], summed: Sequence[bool], pairs: int
    ) -> MappedRegion:
        region = _connected_sums(region, summed, pairs)
        made = MappedRegion(region, self.regions, by_row, summed, pairs)
        if made.rows.refusal is not None:
            raise NoRule(made.rows.refusal.reason)
        return made

    # ---- what depends on what --------------------------------------------------------------------

    @cached_property
    def element_reads(self) -> ElementReads | None:
        """The elements that a row's results depend on; None where that isn't known."""
        return element_reads(self.region)

    def reads(self, result: int, operand: int, values: list[Any]) -> tuple[Any, Any] | None:
        if self.element_reads is None:
            return None
        xp, n = CPU.xp, shape_of(values[self._by_row.index(True)])[0]
        pairs = xp.array(self.element_reads.get((result, operand), []), int).reshape(-1, 2)
        rows = xp.arange(n)[:, None]
        outer, inner = (
            (place + rows * (size if varies else 0)).ravel()
            for place, size, varies in (
                (pairs[:, 0], elements_of(self._gives[result]), not self._summed[result]),
                (pairs[:, 1], elements_of(self._takes[operand]), self._by_row[operand]),
            )
        )
        return outer, inner

    # ---- rows ------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> RegionRows:
        """The region as a function of columns."""
        places = range(len(self._gives))
        return RegionRows(
            self,
            self._by_row,
            [k for k in places if not self._summed[k]],
            [k for k in places if self._summed[k]],
        )

    def run(self, numbers: list[Any], calls: int = 1) -> list[Any]:
        """The results for plain numbers and arrays. Raises StepBack."""
        n = len(numbers[self._by_row.index(True)])
        values = [
            _given(value, kind, (n,) if varies else ())
            for value, kind, varies in zip(numbers, self._takes, self._by_row, strict=True)
        ]
        found = [self._begun(k, n) for k in range(len(self._gives))]

        def tile(start: int) -> list[Any]:
            """Computes some rows; returns the parts of results that are combined over all rows."""
            rows = slice(start, min(start + self._tile, n))
            given = [
                CPU.xp.ascontiguousarray(value[rows]) if varies else value
                for value, varies in zip(values, self._by_row, strict=True)
            ]
            into: list[Any] = [
                value[rows] if self._has_rows(k) else None for k, value in enumerate(found)
            ]
            columns = self._computed(rows.stop - start, given, into)
            self._mask(columns)
            for k, column in enumerate(columns):
                if self._is_flag(k):
                    columns[k] = bool(CPU.xp.any(column))
                elif not self._summed[k]:
                    place, columns[k] = into[k], None
                    if column is not place:
                        place[...] = column
            return columns

        for parts in in_order(tile, range(0, n, self._tile)):
            for k, part in enumerate(parts):
                if part is not None:
                    found[k] = (found[k] or part) if self._is_flag(k) else found[k] + part
        return [CPU.settle(v) if getattr(v, "shape", None) == () else v for v in found]

    def _computed(self, n: int, given: list[Any], into: list[Any]) -> list[Any]:
        """The columns of some rows, which may be those of `into`. Rows for which the kernel on rows
        steps back are computed one by one. Raises StepBack."""
        if not self.rows.is_there:
            columns = [
                self._begun(k, n) if place is None else place for k, place in enumerate(into)
            ]
            others = range(n)
        else:
            found, stepped_back = self.rows.run(n, given, into=into)
            columns = [
                column_of(value, n) if self._has_rows(k) else value for k, value in enumerate(found)
            ]
            others = CPU.xp.flatnonzero(stepped_back).tolist()
        for row in others:
            own = [
                _row(value[row]) if varies else value
                for value, varies in zip(given, self._by_row, strict=True)
            ]
            for k, value in enumerate(super().run(own)):
                if self._summed[k]:
                    columns[k] = columns[k] + value
                elif type(columns[k]) is CPU.ndarray:
                    columns[k][row] = value
                else:
                    columns[k] = columns[k] or value
        return columns

    def _begun(self, k: int, n: int) -> Any:
        """The start of a result, before the first rows."""
        if self._is_flag(k):
            return False
        kind = self._gives[k]
        if self._summed[k]:
            return CPU.xp.zeros(dimensions(kind), dtype_of(kind))
        return CPU.xp.empty((n, *dimensions(kind)), dtype_of(kind))

    def _has_rows(self, k: int) -> bool:
        """Whether a result has rows, along its first axis."""
        return not (self._is_flag(k) or self._summed[k])

    def _is_flag(self, k: int) -> bool:
        """Whether a result is a bool that says whether the one before it is connected."""
        return is_flag(k, self._pairs)

    def _mask(self, columns: list[Any]) -> None:
        """Sets the derivatives of rows where they aren't connected to 0."""
        for k, column in enumerate(columns):
            if self._is_flag(k) and self._has_rows(k - 1) and type(column) is CPU.ndarray:
                masked = columns[k - 1]
                if not column.all():
                    column = column.reshape(-1, *[1] * (masked.ndim - 1))
                    columns[k - 1] = CPU.xp.where(column, masked, 0.0)


def is_flag(k: int, pairs: int) -> bool:
    """Whether a result is a bool that says whether the one before it is connected: see `pairs`."""
    return k > pairs and (k - pairs) % 2 == 1


def _connected_sums(region: Region, summed: Sequence[bool], pairs: int) -> Region:
    """A region whose results that are added up over rows are 0 where they aren't connected."""
    block = Block(region.block.parameters, [*region.block.instructions], region.block.results)
    builder, results = Builder(block), list(block.results)
    known = constants_in(block)
    for k, flag in enumerate(results):
        if is_flag(k, pairs) and summed[k - 1] and known.get(flag) is not True:
            results[k - 1] = _where(builder, flag, results[k - 1])
    block.results = tuple(results)
    return Region(region.name, block)


def _where(builder: Builder, flag: Value, value: Value) -> Value:
    """A number or an array where a bool holds, else 0."""
    if not isinstance(value.type, ArrayType):
        return builder.apply("where", [flag, value, builder.zero(value.type)])
    zero = builder.zero(value.type.element)

    def element(places: Sequence[Value]) -> list[Value]:
        (place,) = places
        return [builder.apply("where", [flag, builder.element(value, place), zero]), place]

    return builder.each([value.type.size], [("put", builder.room(value.type))], element)[0]


def _has_products(region: Region, shared: set[Value]) -> bool:
    """Whether products with elements of shared arrays are added up, as in products of matrices."""
    for each in [made for made in every(region.block) if isinstance(made, Each)]:
        made = {value: inner for inner in each.body.instructions for value in inner.results}
        for (number, _), way in zip(each.given, each.ways, strict=True):
            product = made.get(number)
            if way == "add" and isinstance(product, Operation) and product.op is MUL:
                factors = [made.get(value) for value in product.operands]
                if any(isinstance(f, Element) and f.array in shared for f in factors):
                    return True
    return False


def work_of_row(block: Block) -> int:
    """About how many instructions a row takes: both sides of a branch, as rows may take either, and
    as many iterations of a loop as its count says, if that is known."""
    known = constants_in(block)

    def work(block: Block) -> int:
        total = 0
        for made in block.instructions:
            times = known.get(made.count, 1) if isinstance(made, For) else 1
            times = made.size if isinstance(made, Each) else max(times, 1)
            total += 1 + times * sum(map(work, blocks_of(made)))
        return total

    return work(block)


def _given(value: Any, kind: Type, rows: tuple[int, ...]) -> Any:
    """A value as the kernel takes it. A cotangent may be one number for a whole array."""
    shape = (*rows, *dimensions(kind))
    if not shape:
        return value
    return CPU.xp.broadcast_to(CPU.xp.asarray(value, dtype_of(kind)), shape)


def _row(value: Any) -> Any:
    """The value of one row, as the region takes it."""
    return value if value.ndim else value.item()
