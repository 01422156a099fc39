"""The structure of Jacobians: which element of a target depends on which elements of the sources, whatever the values are.

Index sets go forward through the records. An elementwise operation unites those of its operands. Where a linear one only
moves elements, it is made to move their numbers: what it gives then tells where each came from. Where it adds them up, its
transpose is made to. Of what works along an axis each element depends on its line, of a product of matrices or a convolution
on lines and windows of each operand (`reach.py`). Anything else depends on everything.
Nothing is read from the values that were computed; only indices count, which say what is moved.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...ops import OPS
from ...ops.op import Op
from ...ops.rules import all_axes
from ..ad.own_rules import OwnCall
from ..backends.backend import CPU, count, shape_of
from ..operations.by_rows import varies
from ..operations.rules import array_language
from ..trace.records import Record
from ..trace.tape import Blank
from ..values.lanes import Lanes
from .patterns import FULL, NOTHING, Pattern, as_rows, empty, full, gathered, identity, of_sets, product, united, unrepeated
from .reach import lines, reach, united_lines

WHERE, PART, GETITEM, SETITEM, INDEX_ADD = (OPS[name] for name in ("where", "part", "getitem", "setitem", "index_add"))
# What has its operands' elements in their places, whatever it does to rows.
ALIKE = frozenset((WHERE, *(OPS[name] for name in ("pick_rows", "place_rows", "spread_rows", "merge_rows"))))
RUNNING = frozenset(OPS[name] for name in ("cumsum", "cumprod"))
ROOM = 2**24  # columns of a pattern; one of more counts as full
EXPANDED = 2**20  # columns that a full pattern may be made of, where it meets others


# ---- index sets, through the records ---------------------------------------------------------------------------------


class Rows(list[frozenset[int]]):
    """The pattern of an array whose elements are written one at a time."""


class Propagation:
    """Index sets by number. `sources` have columns one after another, in all `width`; a source in `ends` has no others."""

    def __init__(self, sources: dict[int, tuple[int, ...]], ends: set[int]) -> None:
        self.sources, self.ends = sources, ends
        self.width = 0
        self.of: dict[int, Any] = {}
        self.uses: Counter[int] = Counter()
        self.own: dict[int, Any] = {}  # of the sources, by themselves
        for number, shape in sources.items():
            self.own[number] = identity(count(shape), self.width) if shape else frozenset((self.width,))
            self.width += count(shape)
            if number < 0:
                self.of[number] = self.own[number]

    def through(self, records: list[Record]) -> None:
        of, own = self.of, self.own
        for record in records:
            self.uses.update(record.inputs)
        for record in records:
            number, site, in0, in1, _, _, y = record
            if number in self.ends:
                of[number] = own[number]
                continue
            if type(y) is float and (site.narrow or site.scalar):
                if in1 is None and type(in0) is int:
                    found = of.get(in0, NOTHING)
                else:
                    found = united([of.get(n, NOTHING) for n in record.inputs], self.width)
            elif site.op.elementwise or site.op in ALIKE or site.op.category == "casting":
                found = self._elementwise(record)
            else:
                found = self._structural(record)
            of[number] = united([found, own[number]], self.width) if number in own else found

    def pattern(self, number: int) -> Any:
        """The pattern of a value that was computed, or FULL; one row for a number."""
        found = self.of[number]
        if type(found) is Rows:
            found = self.of[number] = of_sets(found)
        return as_rows(found)

    def _inputs(self, record: Record) -> list[tuple[int, Any, Any]]:
        """The operands that depend on a source: index, operand, pattern."""
        pairs = zip(record.site.operands, record.inputs, strict=True)
        operands = record.operands
        return [(k, operands[k], self.pattern(n)) for k, n in pairs if n in self.of]

    def _elementwise(self, record: Record) -> Any:
        shape = shape_of(record.y)
        parts = [self._spread(pattern, shape_of(operand), shape) for _, operand, pattern in self._inputs(record)]
        return _settled(united(parts, self.width) if parts else empty(count(shape)), shape)

    def _spread(self, pattern: Any, shape: tuple[int, ...], onto: tuple[int, ...]) -> Any:
        """The pattern of an operand as broadcasting repeats it."""
        if pattern is FULL or count(shape) == count(onto):
            return pattern
        xp = CPU.xp
        return gathered(pattern, xp.broadcast_to(xp.arange(count(shape)).reshape(shape), onto).ravel())

    # ---- structural operations ---------------------------------------------------------------------------------------

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
        found = None
        if type(options) is not OwnCall and not _differs(record):
            found = (
                self._moved(record, inputs, shapes)
                or self._added_up(record, inputs, shapes)
                or self._along(record, inputs, shapes)
                or self._multiplied(record, inputs, shapes)
            )
        parts = found or self._mixed(inputs, shapes)
        parts = [_settled(part, shape) for part, shape in zip(parts, shapes, strict=True)]
        return parts if type(y) is list else parts[0]

    def _element(self, record: Record, options: Any) -> Any:
        """Reading and writing one element, which loops do by the thousand; None where it is something else."""
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
                Rows(array or [NOTHING] * count(shape)) if type(array) is not Pattern else Rows(map(array.row, range(len(array))))
            )
        value = value if type(value) is frozenset else NOTHING if value is None else value.row(0)
        array[k] = value if op is SETITEM else array[k] | value
        return array

    def _moved(self, record: Record, inputs: list[tuple[int, Any, Pattern]], shapes: list[tuple[int, ...]]) -> list[Any] | None:
        """The patterns of what only moves elements, or None. It is made to move numbers from 1 on, and once more their
        squares: where the squares of what came first are what came then, each is one of them, or nothing. Of a multilinear
        operation the other operands are ones."""
        op, xp = record.site.op, CPU.xp
        if not (op.linear or op.multilinear) or (op.multilinear and len(inputs) != 1):
            return None
        operands: list[Any] = [_stand_in(op, k, operand) for k, operand in enumerate(record.operands)]
        squares, first = operands.copy(), 0
        for k, operand, _ in inputs:
            n = count(shape_of(operand))
            operands[k] = xp.arange(first + 1.0, first + n + 1).reshape(shape_of(operand))[()]
            squares[k] = operands[k] ** 2
            first += n
        moved, after = (_call(op, values, record.options) for values in (operands, squares))
        if not all(xp.array_equal(a * a, b) for a, b in zip(moved, after, strict=True)):
            return None
        whole = self._together([pattern for _, _, pattern in inputs], [count(shape_of(operand)) for _, operand, _ in inputs])
        if whole is FULL:
            return [FULL] * len(shapes)
        return [gathered(whole, part.ravel().astype(int) - 1) for part in moved]

    def _together(self, patterns: list[Any], lengths: list[int]) -> Any:
        """The rows of several patterns, one after another."""
        if len(patterns) == 1:
            return patterns[0]
        if FULL in patterns:
            if sum(lengths) * self.width > EXPANDED:
                return FULL
            patterns = [full(n, self.width) if p is FULL else p for p, n in zip(patterns, lengths, strict=True)]
        xp = CPU.xp
        ends = [0, *xp.cumsum([p.starts[-1] for p in patterns])]
        starts = [p.starts[1:] + end for p, end in zip(patterns, ends[:-1], strict=True)]
        return Pattern(xp.concatenate([[0], *starts]), xp.concatenate([p.columns for p in patterns]))

    def _added_up(self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]) -> list[Any] | None:
        """The pattern of what adds elements up, each into one place at most, or None: the transpose only moves them."""
        op, xp = record.site.op, CPU.xp
        if not op.linear or op.vjp is None or len(shapes) != 1:
            return None
        n = count(shapes[0])
        parts = []
        for k, operand, pattern in inputs:
            rule = op.vjp if callable(op.vjp) else op.vjp[k]
            cotangent = xp.arange(1.0, n + 1).reshape(shapes[0])[()]
            moved, after = (_pull(rule, op, k, g, record) for g in (cotangent, cotangent**2))
            if moved.size != count(shape_of(operand)) or not xp.array_equal(moved * moved, after):
                return None
            into = moved.ravel().astype(int) - 1
            inner = xp.flatnonzero(into >= 0)
            parts.append(self._product(into[inner], inner, n, pattern))
        return [united(parts, self.width)]

    def _along(self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]) -> list[Any] | None:
        """The pattern of what works along an axis, or along some: each element depends on those of its line."""
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

    def _multiplied(self, record: Record, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]) -> list[Any] | None:
        """The pattern of what multiplies elements and adds the products up, or None."""
        op, xp = record.site.op, CPU.xp
        if not op.multilinear or len(shapes) != 1 or not inputs:
            return None
        n, parts = count(shapes[0]), []
        for k, operand, pattern in inputs:
            operands: list[Any] = [_stand_in(op, j, v) for j, v in enumerate(record.operands)]

            def call(v: Any, k: int = k, operands: list[Any] = operands) -> Any:
                return _call(op, [*operands[:k], v[()], *operands[k + 1 :]], record.options)[0].ravel()

            windows = reach(call, shape_of(operand))
            if windows is None:
                return None
            line, lengths = lines(shape_of(operand), windows)
            some = [window for window in windows if window is not None]
            found = pattern
            if len(some) < len(windows):
                found = self._product(line, xp.arange(len(line)), count(tuple(lengths)), pattern)
            if found is not FULL:
                whole = self._limited(found, xp.zeros(n, int)) if not some else None
                found = whole or united_lines(some, lengths, found, ROOM, self._product)
            parts.append(found)
        return [united(parts, self.width)]

    def _running(self, pattern: Any, shape: tuple[int, ...], axis: int) -> Any:
        """The pattern of running sums: each element depends on those up to it."""
        xp = CPU.xp
        lines = xp.moveaxis(xp.arange(count(shape)).reshape(shape), axis, -1).reshape(-1, shape[axis])
        later, earlier = xp.tril_indices(shape[axis])
        return self._product(lines[:, later].ravel(), lines[:, earlier].ravel(), count(shape), pattern)

    def _mixed(self, inputs: list[tuple[int, Any, Any]], shapes: list[tuple[int, ...]]) -> list[Any]:
        """The patterns of what may depend on everything."""
        if any(pattern is FULL for _, _, pattern in inputs):
            return [FULL] * len(shapes)
        columns = unrepeated(CPU.xp.concatenate([p.columns for _, _, p in inputs])) if inputs else empty(0).columns
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


def _differs(record: Record) -> bool:
    """Whether the rows of an operation may move different elements, or rows and axes become each other."""
    indices = [v for k, v in enumerate(record.operands) if not record.site.op.moves_with(k)]
    return record.site.op.category == "lanes" or varies(record.options) or any(type(v) is Lanes for v in indices)


def _settled(pattern: Any, shape: tuple[int, ...]) -> Any:
    """A number's pattern as a set."""
    return pattern if shape or type(pattern) is not Pattern else pattern.row(0)


def _stand_in(op: Op, k: int, operand: Any) -> Any:
    """What takes the place of an operand that depends on no source."""
    xp = CPU.xp
    if not op.moves_with(k) or operand is None:
        return on_host(operand)
    return (xp.ones if op.multilinear else xp.zeros)(shape_of(operand))[()]


def on_host(value: Any) -> Any:
    """Indices in NumPy's memory, wherever they stand in options."""
    if isinstance(value, tuple | list):
        return type(value)([on_host(v) for v in value])
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def _call(op: Op, operands: list[Any], options: Any) -> list[Any]:
    """The results of an op on stand-ins for its operands."""
    options = {name: on_host(value) for name, value in options.items() if name != "inplace"}
    found = getattr(array_language(CPU, "float64"), op.name)(*operands, **options)
    return [CPU.xp.asarray(part) for part in (found if type(found) is list else [found])]


def _pull(rule: Any, op: Op, k: int, g: Any, record: Record) -> Any:
    """What the rule of a linear op gives for a cotangent."""
    options = {name: on_host(value) for name, value in record.options.items() if name != "inplace"}
    m, operands = array_language(CPU, "float64"), [CPU.operand(on_host(v)) for v in record.operands]
    y = Blank(shape_of(record.y), "float64") if shape_of(record.y) else CPU.operand(record.y)
    given = (k, *operands) if op.signature.variadic else operands
    return CPU.xp.asarray(rule(m, g, y, *given, **options))
