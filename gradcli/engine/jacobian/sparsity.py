"""The sparsity of Jacobians: which element of a target depends on which elements of the sources,
for any values.

Index sets are propagated forward through the records:

- An elementwise operation unites the sets of its operands.
- A linear operation that only moves elements is applied to their numbers, and its result says where
  each came from. If it adds elements up, its transpose is applied in the same way.
- An operation along an axis depends on whole lines; a product of matrices or a convolution, on
  intervals of each operand (`probes.py`).
- The result of any other operation depends on everything.

No computed values are read, except indices, which say what is moved.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops import OPS
from ...ops.rules import all_axes
from ..backends.backend import CPU, count, shape_of
from ..trace.pullbacks import Linearized, Pullback
from ..trace.records import Record
from ..values.lanes import Group
from .patterns import (
    FULL,
    NOTHING,
    Pattern,
    as_rows,
    empty,
    gathered,
    identity,
    joined,
    of_sets,
    product,
    settled,
    united,
    unrepeated,
)
from .probes import (
    apply_op,
    apply_pullback,
    lines,
    moved,
    operand_intervals,
    stand_in,
    united_lines,
)
from .row_patterns import (
    differs,
    elements_of_rows,
    group_of,
    placed,
    row_of_each,
    shape_within,
    spread_over,
    whole_shape,
)

WHERE, PART, GETITEM, SETITEM, INDEX_ADD, PLACE_ROWS = (
    OPS[name] for name in ("where", "part", "getitem", "setitem", "index_add", "place_rows")
)
# Operations that keep elements in their places, whatever they do to rows.
PLACEWISE = frozenset(
    (WHERE, *(OPS[name] for name in ("pick_rows", "place_rows", "spread_rows", "merge_rows")))
)
RUNNING = frozenset(OPS[name] for name in ("cumsum", "cumprod"))
ROOM = 2**24  # columns of a pattern; a larger one counts as full


# ---- index sets, through the records -------------------------------------------------------------


class Rows(list[frozenset[int]]):
    """The pattern of an array whose elements are written one at a time."""


class Propagation:
    """The propagation of index sets through records, by number of the value.

    The columns of the `sources` follow one another, `width` in all; a source in `ends` depends on
    no other. Rows have index sets of their own where sources and target are `outside` of all rows;
    otherwise an element has one for all rows.
    """

    def __init__(self, sources: dict[int, tuple[int, ...]], ends: set[int], outside: bool) -> None:
        self.sources, self.ends, self.outside = sources, ends, outside
        self.width = 0
        self.of: dict[int, Any] = {}
        self.uses: Counter[int] = Counter()
        self.own: dict[int, Any] = {}  # the columns of each source
        self.on_rows: dict[int, Any] = {}  # values with rows, of which records have some
        for number, shape in sources.items():
            self.own[number] = (
                identity(count(shape), self.width) if shape else frozenset((self.width,))
            )
            self.width += count(shape)

    def through(self, records: list[Record]) -> None:
        of, own = self.of, self.own
        made = {record[0] for record in records}  # what made a source may not be among them
        of.update({number: found for number, found in own.items() if number not in made})
        for record in records:
            self.uses.update(record.inputs)
        for record in records:
            number, site, in0, in1, _, _, y, _ = record
            if number in self.ends:
                of[number] = own[number]
                continue
            if type(y) is float and site.inline_operands:
                if in1 is None and type(in0) is int:
                    found = of.get(in0, NOTHING)
                else:
                    found = united([of.get(n, NOTHING) for n in record.inputs], self.width)
            elif (group := group_of(record) if self.outside else None) is not None:
                found, self.on_rows[number] = self._on_rows(record, group), y
            elif site.op.elementwise or site.op in PLACEWISE or site.op.category == "casting":
                found = self._elementwise(record)
            else:
                found = self._structural(record)
            of[number] = united([found, own[number]], self.width) if number in own else found

    def pattern(self, number: int) -> Any:
        """Returns the pattern of a value that was computed, or FULL; one row for a number."""
        found = self.of[number]
        if type(found) is Rows:
            found = self.of[number] = of_sets(found)
        return as_rows(found)

    def _inputs(self, record: Record) -> list[tuple[int, Any, Any]]:
        """Returns the operands that depend on a source: index, operand, pattern."""
        pairs = zip(record.site.operands, record.inputs, strict=True)
        found = [(k, n, record.operands[k]) for k, n in pairs if n in self.of]
        return [(k, self.on_rows.get(n, v), self.pattern(n)) for k, n, v in found]

    def _elementwise(self, record: Record) -> Any:
        shape = shape_of(record.y)
        parts = [
            self._spread(pattern, shape_of(operand), shape)
            for _, operand, pattern in self._inputs(record)
        ]
        return settled(united(parts, self.width) if parts else empty(count(shape)), shape)

    def _spread(self, pattern: Any, shape: tuple[int, ...], onto: tuple[int, ...]) -> Any:
        """Returns the pattern of an operand repeated as broadcasting repeats the operand."""
        if pattern is FULL or count(shape) == count(onto):
            return pattern
        xp = CPU.xp
        return gathered(
            pattern, xp.broadcast_to(xp.arange(count(shape)).reshape(shape), onto).ravel()
        )

    # ---- operations on rows ----------------------------------------------------------------------

    def _on_rows(self, record: Record, group: Group) -> Any:
        """The pattern of what an operation gives in each row."""
        op, y, options, inputs = record.site.op, record.y, record.options, self._inputs(record)
        if op is PART:
            whole = self.of.get(record.in0, NOTHING)
            return whole[options["index"]] if type(whole) is list else whole
        if op.elementwise or op is WHERE or op.category == "casting":
            parts = [FULL if p is FULL else gathered(p, spread_over(v, y)) for _, v, p in inputs]
            return united(parts, self.width) if parts else empty(count(whole_shape(y)))
        shapes = [whole_shape(part) for part in (y if type(y) is list else [y])]
        found = None if inputs else [empty(count(shape)) for shape in shapes]
        if op is PLACE_ROWS and inputs:
            [(_, value, pattern)] = inputs
            found = [self._product(*placed(value, **options), count(shapes[0]), pattern)]
        elif inputs and not isinstance(options, Pullback):
            found = self._moved(record, inputs, shapes, group)
        if found is None:  # each row depends on all that it reads
            rows = [self._product(*elements_of_rows(v, group), group.size, p) for _, v, p in inputs]
            each = united(rows, self.width)
            found = [FULL if each is FULL else self._limited(each, row_of_each(s)) for s in shapes]
        parts = [settled(part, shape) for part, shape in zip(found, shapes, strict=True)]
        return parts if type(y) is list else parts[0]

    # ---- structural operations -------------------------------------------------------------------

    def _structural(self, record: Record) -> Any:
        op, y, options = record.site.op, record.y, record.options
        if op is PART:
            whole = self.of.get(record.in0, NOTHING)
            return whole[options["index"]] if type(whole) is list else whole
        single = self._element(record, options)
        if single is not None:
            return single
        inputs = self._inputs(record)
        shapes = [shape_of(part) for part in y] if type(y) is list else [shape_of(y)]
        found = None if inputs else [empty(count(shape)) for shape in shapes]
        if inputs and isinstance(options, Linearized):
            found = self._read(options, inputs, shapes)
        elif inputs and not isinstance(options, Pullback) and not differs(record):
            found = (
                self._moved(record, inputs, shapes)
                or self._reduced(record, inputs, shapes)
                or self._along(record, inputs, shapes)
                or self._multiplied(record, inputs, shapes)
            )
        parts = found or self._mixed(inputs, shapes)
        parts = [settled(part, shape) for part, shape in zip(parts, shapes, strict=True)]
        return parts if type(y) is list else parts[0]

    def _read(self, options: Linearized, inputs: list[Any], shapes: list[Any]) -> list[Any] | None:
        """Returns the patterns of a record that tells what its results depend on, or None."""
        found = []
        for j, shape in enumerate(shapes):
            parts = []
            for k, _, pattern in inputs:
                pairs = options.reads(j, k)
                if pairs is None:
                    return None
                parts.append(self._product(*pairs, count(shape), pattern))
            found.append(united(parts, self.width))
        return found

    def _element(self, record: Record, options: Any) -> Any:
        """Returns the pattern of reading or writing one element, the fast path of loops; None for
        another operation.
        """
        op = record.site.op
        if op not in (GETITEM, SETITEM, INDEX_ADD):
            return None
        index, shape = options["index"], record.operands[0].shape
        if not all(type(i) is int for i in index) or len(index) != len(shape):
            return None
        k = 0
        for i, n in zip(index, shape, strict=True):
            k = k * n + i % n
        numbers = dict(zip(record.site.operands, record.inputs, strict=True))
        array, value = (self.of.get(numbers[j]) if j in numbers else None for j in (0, 1))
        if array is FULL or value is FULL:
            return FULL
        if op is GETITEM:
            return NOTHING if array is None else array[k] if type(array) is Rows else array.row(k)
        if type(array) is not Rows or self.uses[numbers[0]] > 1:
            array = (
                Rows(array or [NOTHING] * count(shape))
                if type(array) is not Pattern
                else Rows(map(array.row, range(len(array))))
            )
        value = value if type(value) is frozenset else NOTHING if value is None else value.row(0)
        array[k] = value if op is SETITEM else array[k] | value
        return array

    def _moved(
        self,
        record: Record,
        inputs: list[tuple[int, Any, Pattern]],
        shapes: list[tuple[int, ...]],
        group: Group | None = None,
    ) -> list[Any] | None:
        """Returns the patterns of an operation, on the rows of a group if one is given, that only
        moves elements, or None."""
        origins = moved(record, {k: value for k, value, _ in inputs}, group)
        if origins is None:
            return None
        lengths = [count(shape_within(value, group)) for _, value, _ in inputs]
        whole = joined([pattern for _, _, pattern in inputs], lengths, self.width)
        if whole is FULL:
            return [FULL] * len(shapes)
        return [gathered(whole, part) for part in origins]

    def _reduced(
        self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]
    ) -> list[Any] | None:
        """Returns the pattern of an operation that adds each element to at most one place, or None.

        The transpose of such an operation only moves elements.
        """
        op, xp = record.site.op, CPU.xp
        if not op.linear or op.vjp is None or len(shapes) != 1:
            return None
        n = count(shapes[0])
        parts = []
        for k, operand, pattern in inputs:
            rule = op.vjp if callable(op.vjp) else op.vjp[k]
            cotangent = xp.arange(1.0, n + 1).reshape(shapes[0])[()]
            moved, after = (
                apply_pullback(rule, op, k, g, record) for g in (cotangent, cotangent**2)
            )
            if moved.size != count(shape_of(operand)) or not xp.array_equal(moved * moved, after):
                return None
            into = moved.ravel().astype(int) - 1
            inner = xp.flatnonzero(into >= 0)
            parts.append(self._product(into[inner], inner, n, pattern))
        return [united(parts, self.width)]

    def _along(
        self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]
    ) -> list[Any] | None:
        """Returns the pattern of an operation along axes, where each element depends on those of
        its line, or None.
        """
        xp, options = CPU.xp, record.options
        if "axis" not in options or len(inputs) != 1 or len(shapes) != 1:
            return None
        (_, operand, pattern), (shape,) = inputs[0], shapes
        inner = shape_of(operand)
        axes = all_axes(options["axis"], inner)
        lines = tuple([1 if k in axes else n for k, n in enumerate(inner)])
        left = [n for k, n in enumerate(inner) if k not in axes]
        numbers = xp.arange(count(lines))
        if record.site.op in RUNNING and len(axes) == 1 and count(inner) * inner[axes[0]] <= ROOM:
            return [self._running(pattern, inner, axes[0])]
        if len(shape) == len(inner) and [n for k, n in enumerate(shape) if k not in axes] == left:
            results = xp.broadcast_to(numbers.reshape(lines), shape).ravel()
        elif list(shape) == left:
            results = numbers
        else:
            return None
        of_operand = xp.broadcast_to(numbers.reshape(lines), inner).ravel()
        found = self._product(of_operand, xp.arange(count(inner)), len(numbers), pattern)
        return [found if found is FULL else self._limited(found, results)]

    def _multiplied(
        self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]
    ) -> list[Any] | None:
        """Returns the pattern of an operation that adds up products of elements, or None."""
        op, xp = record.site.op, CPU.xp
        if not op.multilinear or len(shapes) != 1 or not inputs:
            return None
        n, parts = count(shapes[0]), []
        for k, operand, pattern in inputs:
            operands: list[Any] = [stand_in(op, j, v) for j, v in enumerate(record.operands)]

            def call(v: Any, k: int = k, operands: list[Any] = operands) -> Any:
                return apply_op(op, [*operands[:k], v[()], *operands[k + 1 :]], record.options)[
                    0
                ].ravel()

            intervals = operand_intervals(call, shape_of(operand))
            if intervals is None:
                return None
            line, lengths = lines(shape_of(operand), intervals)
            some = [interval for interval in intervals if interval is not None]
            found = pattern
            if len(some) < len(intervals):
                found = self._product(line, xp.arange(len(line)), count(tuple(lengths)), pattern)
            if found is not FULL:
                whole = self._limited(found, xp.zeros(n, int)) if not some else None
                found = whole or united_lines(some, lengths, found, ROOM, self._product)
            parts.append(found)
        return [united(parts, self.width)]

    def _running(self, pattern: Any, shape: tuple[int, ...], axis: int) -> Any:
        """Returns the pattern of running sums, where each element depends on those up to it."""
        xp = CPU.xp
        lines = xp.moveaxis(xp.arange(count(shape)).reshape(shape), axis, -1).reshape(
            -1, shape[axis]
        )
        later, earlier = xp.tril_indices(shape[axis])
        return self._product(
            lines[:, later].ravel(), lines[:, earlier].ravel(), count(shape), pattern
        )

    def _mixed(
        self, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]
    ) -> list[Any]:
        """Returns the patterns of an operation whose results may depend on all elements of its
        operands.
        """
        if any(pattern is FULL for _, _, pattern in inputs):
            return [FULL] * len(shapes)
        columns = (
            unrepeated(CPU.xp.concatenate([p.columns for _, _, p in inputs]))
            if inputs
            else empty(0).columns
        )
        if len(columns) == self.width:
            return [FULL] * len(shapes)
        row = Pattern(CPU.xp.asarray([0, len(columns)]), columns)
        return [self._limited(row, CPU.xp.zeros(count(shape), int)) for shape in shapes]

    def _product(self, outer: Any, inner: Any, n: int, pattern: Any) -> Any:
        if pattern is FULL or int(pattern.lengths[inner].sum()) > ROOM:
            return FULL
        return product(outer, inner, n, pattern, self.width)

    def _limited(self, pattern: Pattern, origins: Any) -> Any:
        return FULL if int(pattern.lengths[origins].sum()) > ROOM else gathered(pattern, origins)
