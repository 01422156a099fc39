"""Arrays of a row in CUDA C: how they are made, read and changed, and the points of an `each`.

Floats that are combined along the last axis are so in the same order as elsewhere: by halves, down
to blocks of 128, in which every eighth number has a sum of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.each_axes import combined_along_it, of_last_axis, work_of_points
from ...ir.instructions import (
    Affine,
    Copy,
    Each,
    Element,
    Free,
    Instruction,
    NewArray,
    Product,
    Put,
    Room,
    Value,
)
from ...ir.types import I64, STACK, ArrayType, element_of, is_float
from ..scalars import NotNative
from .memory import Memory
from .scalars import Lines, Term

# `point` computes the numbers of a point of the last axis, `both` combines two numbers of a kind.
ALONG = """\
template <int N, class T, class Point, class Both>
__device__ int along(Point &point, Both &both, i64 low, i64 size, T *found) {
    if (size > 128) {
        const i64 half = size / 16 * 8;
        T more[N];
        if (int ended = along<N, T>(point, both, low, half, found)) return ended;
        if (int ended = along<N, T>(point, both, low + half, size - half, more)) return ended;
        for (int j = 0; j < N; j++) found[j] = both(j, found[j], more[j]);
        return DONE;
    }
    T lanes[8][N], numbers[N];
    const i64 end = size / 8 * 8;
    for (i64 k = 0; k < size; k++) {
        if (int ended = point(low + k, numbers)) return ended;
        for (int j = 0; j < N; j++) {
            T &lane = lanes[k % 8][j];
            if (k < end) lane = k < 8 ? numbers[j] : both(j, lane, numbers[j]);
            else found[j] = k == 0 ? numbers[j] : both(j, found[j], numbers[j]);
        }
        if (k + 1 != end) continue;
        for (int n = 1; n < 8; n *= 2)
            for (int i = 0; i < 8; i += 2 * n)
                for (int j = 0; j < N; j++) lanes[i][j] = both(j, lanes[i][j], lanes[i + n][j]);
        for (int j = 0; j < N; j++) found[j] = lanes[0][j];
    }
    return DONE;
}
"""
BOTH = {
    "add": "{a} + {b}",
    "maximum": "{a} >= {b} || {a} != {a} ? {a} : {b}",
    "minimum": "{a} <= {b} || {a} != {a} ? {a} : {b}",
    "or": "{a} || {b}",
    "and": "{a} && {b}",
}


class Arrays:
    """Emits operations on arrays."""

    def __init__(self, memory: Memory) -> None:
        self.lines, self.memory = Lines(), memory
        self.terms: dict[Value, Term] = {}

    def instruction(self, made: Instruction) -> None:
        raise NotImplementedError

    def named(self, value: Value) -> str:
        """A new name for a value."""
        self.terms[value] = Term(self.lines.name(), value.type)
        return self.terms[value].text

    def read(self, value: Value) -> str:
        if value.type == STACK:
            raise NotNative("a stack that leaves its region has no machine code")
        return self.terms[value].text

    def array(self, made: NewArray | Room | Element | Put | Copy | Free) -> None:
        """Emits the making, reading, changing or freeing of an array. A change is made in place."""
        if isinstance(made, Element):
            read = f"{self.read(made.array)}[{self.read(made.place)}]"
            self.terms[made.result] = self.lines.defined(read, made.result.type)
        elif isinstance(made, Put):
            place = f"{self.read(made.array)}[{self.read(made.place)}]"
            self.lines.add(f"{place} = {self.read(made.number)};")
            self.terms[made.result] = self.terms[made.array]
        elif isinstance(made, Free):
            self.memory.free(self.lines, made.array.array_type, self.read(made.array))
        else:
            name = self.new(made.result)
            if not isinstance(made, Room):
                number = self.read(made.operands[0]) + ("[k]" if isinstance(made, Copy) else "")
                size = made.result.array_type.size
                self.lines.add(f"for (i64 k = 0; k < {size}; k++) {name}[k] = {number};")

    def new(self, array: Value) -> str:
        """Emits a new array without numbers; returns its name."""
        name = self.memory.take(self.lines, array.array_type)
        self.terms[array] = Term(name, array.type)
        return name

    def place(self, made: Affine) -> None:
        terms = zip(map(self.read, made.operands), made.steps, strict=True)
        total = " + ".join([f"{made.offset}LL", *[f"{value} * {step}LL" for value, step in terms]])
        self.terms[made.result] = self.lines.defined(total, I64)

    def product(self, made: Product) -> None:
        (count, m, k, n), (left, right) = made.sizes, made.transposed
        a, b, lines = self.read(made.left), self.read(made.right), self.lines
        found = self.new(made.result)
        self.count(count * m * k * n)
        loops = zip("pij", (count, m, n), strict=True)
        with lines.inside(" ".join([f"for (i64 {v} = 0; {v} < {end}; {v}++)" for v, end in loops])):
            one = f"{a}[p * {m * k} + {f'k * {m} + i' if left else f'i * {k} + k'}]"
            other = f"{b}[p * {k * n} + {f'j * {k} + k' if right else f'k * {n} + j'}]"
            lines.add(f"{element_of(made.result.type)} total = 0;")
            lines.add(f"for (i64 k = 0; k < {k}; k++) total += {one} * {other};")
            lines.add(f"{found}[p * {m * n} + i * {n} + j] = total;")

    def count(self, work: int) -> None:
        self.lines.add(f"if ((row.left -= {work}) < 0) return BACK;")

    # ---- each ------------------------------------------------------------------------------------

    def each(self, made: Each) -> None:
        """Emits the loops over the points."""
        self.count(work_of_points(made))
        lines, *outer = self.lines, *made.body.parameters[:-1]
        for first, result in zip(made.initial, made.results, strict=True):
            if isinstance(first.type, ArrayType):
                self.terms[result] = self.terms[first]
            else:
                lines.add(f"{first.type} {self.named(result)} = {self.read(first)};")
        loops = [f"for (i64 {self.named(v)} = 0; {self.read(v)} < {n}; {self.read(v)}++)"
                 for v, n in zip(outer, made.shape, strict=False)]  # fmt: skip
        with lines.inside(" ".join(loops)):
            self.last_axis(made)

    def last_axis(self, made: Each) -> None:
        inner, lines = of_last_axis(made), self.lines
        for own in made.body.instructions:
            if inner.isdisjoint(own.operands):
                self.instruction(own)
        rows = [k for k in combined_along_it(made) if is_float(made.given[k][0].type)]
        index = self.named(made.body.parameters[-1])
        if not rows:
            with lines.inside(f"for (i64 {index} = 0; {index} < {made.shape[-1]}; {index}++)"):
                self.point(made, inner, rows)
            return
        point, both, found = lines.name(), lines.name(), lines.name()
        kind, *others = {made.given[k][0].type for k in rows}
        if others:
            raise NotNative("sums in float32 and in float64 together have no machine code here")
        combined = [BOTH[made.ways[k]].format(a="a", b="b") for k in rows]
        chosen = "".join([f"j == {n} ? ({way}) : " for n, way in enumerate(combined)])
        lines.add(
            f"const auto {both} = [](int j, {kind} a, {kind} b) -> {kind} {{ return {chosen}a; }};"
        )
        lines.add(f"const auto {point} = [&](i64 {index}, {kind} *numbers) -> int {{")
        lines.depth += 1
        self.point(made, inner, rows)
        lines.add("return DONE;")
        lines.depth -= 1
        lines.add("};")
        ended = lines.name()
        lines.add(f"{kind} {found}[{len(rows)}];")
        call = f"along<{len(rows)}, {kind}>({point}, {both}, 0, {made.shape[-1]}, {found})"
        lines.add(f"if (const int {ended} = {call}) return {ended};")
        for n, k in enumerate(rows):
            self.combine(made, k, f"{found}[{n}]")

    def point(self, made: Each, inner: set[Value], rows: Sequence[int]) -> None:
        """Emits the instructions of a point of the last axis."""
        for own in made.body.instructions:
            if not inner.isdisjoint(own.operands):
                self.instruction(own)
        for k, (number, _) in enumerate(made.given):
            if k in rows:
                self.lines.add(f"numbers[{rows.index(k)}] = {self.read(number)};")
            else:
                self.combine(made, k, self.read(number))

    def combine(self, made: Each, k: int, number: str) -> None:
        """Emits the combination of a number with the current value of a result."""
        way, place, target = made.ways[k], made.given[k][1], self.read(made.results[k])
        if place is not None:
            target = f"{target}[{self.read(place)}]"
        if way == "add" and made.given[k][0].type == I64:
            total = self.lines.name()
            self.lines.add(f"i64 {total};")
            self.lines.add(f"if (!int_add({target}, {number}, {total})) return BACK;")
            number = total
        elif way != "put":
            number = BOTH[way].format(a=target, b=f"({number})")
        self.lines.add(f"{target} = {number};")
