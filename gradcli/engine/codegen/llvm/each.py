"""`each` of the IR as LLVM text: a function of its own, with a loop for each axis.

LLVM can compute several points of the last axis at once, for two reasons. The arrays that change
are apart from all others in memory; one that is also read is only changed at the place that was
read. And a point that would step back only notes that.

The points of a short last axis are straight code, and several points of the axis before it are
computed at once. Numbers that are combined along a longer one go to a block of `BLOCK` numbers
first, eight of which are combined at a time. Functions of the C library that compute several
numbers at once also compute single ones, so that the bits of an element don't depend on its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from hashlib import sha256
from typing import Any

from llvmlite import ir

from ...ir.each_axes import combined_along_it, is_short, of_last_axis
from ...ir.instructions import BLOCK, LANES, Each, Value
from ...ir.printer import text_apart
from ...ir.types import ArrayType
from ...passes.copying import used
from .frame import (
    ADDRESS,
    BIT,
    DONE,
    INT,
    REALS,
    STATUS,
    STEPPED_BACK,
    Described,
    Frame,
    count_up,
    declared,
)
from .types import in_memory, llvm_type, llvm_types, load, size_in_memory, store

WIDEST = 512  # bits
DIGITS = 16  # of a digest of what a function computes, which is its name
# Emits instructions at the place of a frame, and returns the values with their results.
Emit = Callable[[Frame, dict[Value, Any], Sequence[Any]], dict[Value, Any]]


def call_of(frame: Frame, values: dict[Value, Any], made: Each, emit: Emit) -> list[Any]:
    """Emits a call of the function of an `each`, and that function unless the module has an equal
    one; returns the results."""
    make = frame.builder
    outside = [v for v in used([made.body]) if v not in made.initial]
    function = _Function(frame.each_module, made, outside, emit)
    given = [frame.held, *[values[v] for v in (*made.initial, *outside)]]
    whole = frame.each_module.globals.get(f"each_{function.name}") or function.whole()
    if frame.each_module is not make.module:
        whole.linkage = "external"
        whole = declared(make.module, whole.name, whole.function_type)
    found = make.call(whole, given)
    frame.leave_as(make.extract_value(found, 0))
    numbers = iter([make.extract_value(found, k + 1) for k in range(len(function.single))])
    return [
        values[first] if isinstance(first.type, ArrayType) else next(numbers)
        for first in made.initial
    ]


class _Wide(Described):
    """A function in which LLVM may use the widest registers that there are."""

    said = f'"prefer-vector-width"="{WIDEST}"'


class _Frame(Frame):
    """A function that returns its status, and numbers. It goes on where it would step back, and
    notes that."""

    is_masked = True

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._bad = self.variable(BIT(0))
        function.linkage = "internal"
        for name in ("noinline", "nounwind"):
            function.attributes.add(name)
        self.held, *self.arguments = function.args
        self.kind = function.function_type.return_type

    def room(self, kind: Any) -> Any:
        """Memory for a value."""
        return self.variable(ir.Constant(kind, ir.Undefined))

    def step_back_if(self, condition: Any) -> None:
        make = self.builder
        make.store(make.or_(make.load(self._bad), condition), self._bad)

    def status(self) -> Any:
        """The status of the function at its end."""
        bad = self.builder.load(self._bad)
        return self.builder.select(bad, STATUS(STEPPED_BACK), STATUS(DONE))

    def done(self, results: Sequence[Any]) -> None:
        self.give([self.status(), *results])


class _Function:
    """Emits the functions of an `each`. Those that compute the same have the same name.

    single    the positions of the numbers among the results
    rows      the positions of the results that are combined along the last axis first
    is_short  whether the last axis has so few points that these are straight code
    """

    def __init__(self, module: Any, made: Each, outside: list[Value], emit: Emit) -> None:
        self.module, self.made, self.outside, self.emits = module, made, outside, emit
        self.given = made.given
        same = text_apart(made, (*made.initial, *outside))
        self.name = sha256(same.encode()).hexdigest()[:DIGITS]
        self.single = [k for k, (_, place) in enumerate(self.given) if place is None]
        self.rows = combined_along_it(made)
        self.is_short = is_short(made)

    def function(self, name: str, indices: int, results: Sequence[int]) -> _Frame:
        """A new function of the values that the body uses, and of `indices` ints. Arrays that are
        changed are apart from all others."""
        kinds = llvm_types([*self.made.initial, *self.outside])
        found = ir.LiteralStructType([STATUS, *[self.kind(k) for k in results]])
        parameters = [ADDRESS, *kinds, *[INT] * indices]
        function = _Wide(self.module, ir.FunctionType(found, parameters), name)
        for argument in function.args[1:]:
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        return _Frame(function)

    def kind(self, k: int) -> Any:
        """The type of the numbers of a result."""
        return llvm_type(self.given[k][0].type)

    # ---- all points ------------------------------------------------------------------------------

    def whole(self) -> Any:
        """The function that goes through all points."""
        shape, made = self.made.shape, self.made
        frame = self.function(f"each_{self.name}", 0, self.single)
        function, make, values = frame.builder.function, frame.builder, frame.arguments
        row = self.row() if self.rows and not self.is_short else None
        totals = {k: frame.room(in_memory(self.kind(k))) for k in self.single}
        for k, place in totals.items():
            store(make, values[k], place)
        indices: list[Any] = []

        def axis(k: int) -> None:
            if k < len(shape) - 1:

                def at(index: Any) -> None:
                    indices[k:] = [index]
                    axis(k + 1)

                count_up(make, INT(shape[k]), 1, at)
                return
            if self.is_short:
                self.short(frame, indices[:k], totals)
                return
            size = INT(shape[-1])
            if row is None:
                count_up(make, size, 1, lambda last: self.point(frame, [*indices[:k], last]))
                return
            found = make.call(row, [frame.held, *values, *indices[:k], INT(0), size])
            frame.leave_as(make.extract_value(found, 0))
            known = self.values(frame)
            if any(self.given[j][1] is not None for j in self.rows):
                inner = of_last_axis(made)
                outer = [each for each in made.body.instructions if each.results]
                outer = [each for each in outer if inner.isdisjoint(each.results)]
                known = self.emit(frame, indices[:k], outer)
            numbers = {j: make.extract_value(found, n) for n, j in enumerate(self.rows, 1)}
            self.add(frame, numbers, known, totals)

        axis(0)
        frame.done([load(make, totals[k]) for k in self.single])
        return function

    def add(
        self,
        frame: _Frame,
        numbers: dict[int, Any],
        known: dict[Value, Any],
        totals: dict[int, Any],
    ) -> None:
        """Emits the combination of the numbers of a row with what was combined before."""
        for k, number in numbers.items():
            place = self.given[k][1]
            at = totals[k] if place is None else self.place(frame, k, known[place])
            found = combined(frame, self.made.ways[k], load(frame.builder, at), number)
            if place is None:
                store(frame.builder, found, at)
            else:  # where bools are bits
                frame.builder.store(found, at)

    def short(self, frame: _Frame, outer: Sequence[Any], totals: dict[int, Any]) -> None:
        """Emits the points of a short last axis."""
        values: dict[Value, Any] = {}
        numbers: dict[int, list[Any]] = {k: [] for k in self.rows}
        for n in range(self.made.shape[-1]):
            values = self.point(frame, [*outer, INT(n)])
            for k in self.rows:
                numbers[k].append(values[self.given[k][0]])
        if numbers:
            found = {k: self.of_few(frame, k, each) for k, each in numbers.items()}
            self.add(frame, found, values, totals)

    def of_few(self, frame: _Frame, k: int, numbers: list[Any]) -> Any:
        """Combines a few numbers, as `of_block` does."""
        combine = partial(combined, frame, self.made.ways[k])
        many = LANES if self.kind(k) in REALS and len(numbers) >= LANES else 1
        return reduce(combine, numbers[many:], two_by_two(combine, numbers[:many]))

    def values(self, frame: _Frame) -> dict[Value, Any]:
        """The values from outside."""
        return dict(zip((*self.made.initial, *self.outside), frame.arguments, strict=False))

    def emit(self, frame: _Frame, indices: Sequence[Any], instructions: Any) -> dict[Value, Any]:
        values = self.values(frame)
        values.update(zip(self.made.body.parameters, indices, strict=False))
        return self.emits(frame, values, instructions)

    def place(self, frame: _Frame, k: int, place: Any) -> Any:
        """The address of a place in an array that is changed."""
        return frame.builder.gep(frame.arguments[k], [place], inbounds=True)

    def point(self, frame: _Frame, indices: Sequence[Any]) -> dict[Value, Any]:
        """Emits a point; returns its values. Numbers that are combined along the last axis are yet
        to be."""
        make, made = frame.builder, self.made
        values = self.emit(frame, indices, made.body.instructions)
        for k, (number, place) in enumerate(self.given):
            if k in self.rows:
                continue
            assert place is not None
            at, value = self.place(frame, k, values[place]), values[number]
            if made.ways[k] != "put":
                value = combined(frame, made.ways[k], make.load(at), value)
            make.store(value, at)
        return values

    # ---- the last axis ---------------------------------------------------------------------------

    def row(self) -> Any:
        """The function that computes some points of the last axis, from an index on, and combines
        their numbers: by halves if the points are many."""
        axes = len(self.made.shape)
        frame = self.function(f"row_{self.name}", axes + 1, self.rows)
        function, make = frame.builder.function, frame.builder
        *outer, low, size = frame.arguments[-axes - 1 :]
        blocks = {}
        for k in self.rows:
            kind = ir.ArrayType(in_memory(self.kind(k)), BLOCK)
            block = frame.room(kind)
            block.align = 64
            blocks[k] = make.bitcast(block, kind.element.as_pointer())
        if self.made.shape[-1] > BLOCK:
            few = make.icmp_signed("<=", size, INT(BLOCK))
            leaf, halves = make.append_basic_block(), make.append_basic_block()
            make.cbranch(few, leaf, halves)
            make.position_at_end(halves)
            self.halves(frame, function, low, size)
            make.position_at_end(leaf)

        def at(k: Any) -> None:
            values = self.point(frame, [*outer, make.add(low, k)])
            for j, block in blocks.items():
                store(make, values[self.given[j][0]], make.gep(block, [k], inbounds=True))

        count_up(make, size, 1, at)
        found = [self.of_block(frame, k, block, size) for k, block in blocks.items()]
        frame.done(found)
        return function

    def halves(self, frame: _Frame, function: Any, low: Any, size: Any) -> None:
        """Emits a call for each half of a row; the first half is a multiple of eight."""
        make = frame.builder
        half = make.mul(make.udiv(size, INT(16)), INT(8))
        given = [frame.held, *frame.arguments[:-2]]
        ends = [(low, half), (make.add(low, half), make.sub(size, half))]
        parts = []
        for start, count in ends:
            parts.append(make.call(function, [*given, start, count]))
            frame.leave_as(make.extract_value(parts[-1], 0))
        found = ir.Constant(frame.kind, ir.Undefined)
        for n, k in enumerate(self.rows, 1):
            a, b = (make.extract_value(part, n) for part in parts)
            found = make.insert_value(found, combined(frame, self.made.ways[k], a, b), n)
        make.ret(make.insert_value(found, frame.status(), 0))

    def of_block(self, frame: _Frame, k: int, block: Any, size: Any) -> Any:
        """Combines the first `size` numbers of a block."""
        make, way = frame.builder, self.made.ways[k]
        kind = self.kind(k)
        total = frame.room(in_memory(kind))
        store(make, load(make, block), total)
        rest = frame.room(INT)
        make.store(INT(1), rest)
        if kind in REALS:
            lanes = INT(LANES)
            with make.if_then(make.icmp_signed(">=", size, lanes)):
                end = make.mul(make.udiv(size, lanes), lanes)
                vector = ir.VectorType(kind, LANES)
                align = LANES * size_in_memory(kind)
                eights = make.bitcast(block, vector.as_pointer())
                sums = frame.room(vector)
                make.store(make.load(eights, align=align), sums)

                def more(k: Any) -> None:
                    place = make.gep(eights, [make.add(k, INT(1))], inbounds=True)
                    new = make.load(place, align=align)
                    make.store(combined(frame, way, make.load(sums), new), sums)

                turns = make.sub(make.udiv(end, lanes), INT(1))
                count_up(make, turns, 1, more)
                found = make.load(sums)
                numbers = [make.extract_element(found, STATUS(n)) for n in range(LANES)]
                make.store(two_by_two(partial(combined, frame, way), numbers), total)
                make.store(end, rest)
        start = make.load(rest)

        def one(n: Any) -> None:
            number = load(make, make.gep(block, [make.add(start, n)], inbounds=True))
            store(make, combined(frame, way, load(make, total), number), total)

        count_up(make, make.sub(size, start), 1, one)
        return load(make, total)


def two_by_two(combine: Callable[[Any, Any], Any], numbers: Sequence[Any]) -> Any:
    """Combines numbers in pairs, then the results in pairs, down to one number. Their number is a
    power of two."""
    while len(numbers) > 1:
        numbers = [combine(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
    return numbers[0]


def combined(frame: Frame, way: str, a: Any, b: Any) -> Any:
    """Emits the combination of two numbers, or of two vectors of numbers."""
    make = frame.builder
    if way == "or":
        return make.or_(a, b)
    if way == "and":
        return make.and_(a, b)
    if way == "add":
        if a.type != INT:
            return make.fadd(a, b)
        found = make.sadd_with_overflow(a, b)
        frame.step_back_if(make.extract_value(found, 1))
        return make.extract_value(found, 0)
    symbol = ">=" if way == "maximum" else "<="
    if a.type == INT:
        return make.select(make.icmp_signed(symbol, a, b), a, b)
    first = make.or_(make.fcmp_ordered(symbol, a, b), make.fcmp_unordered("uno", a, a))
    return make.select(first, a, b)
