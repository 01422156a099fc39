"""`each` of the IR as CUDA C: kernels on the arrays of a device.

A function computes a point, and a kernel calls it for all points. A thread takes the points that
are combined in one place, or, if these are many, a share of them. So the order of a sum depends on
shapes alone, unless places are computed, or met several times: there atomics add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

from ...ir.each_axes import Steps
from ...ir.instructions import Constant, Each, Region, Value
from ...ir.types import I64, ArrayType, Scalar, Type, element_of, is_float, strides
from ...passes.copying import used
from ..scalars import NotNative
from .arrays import BOTH
from .memory import Memory, type_of
from .rows import MOST_PARAMETERS, Function
from .scalars import PREAMBLE, Lines, Term

MOST_THREADS = 2**17  # that share the points of one place
SHARE = 8  # the least points that such a thread takes


class Share(NamedTuple):
    """How the points of a space are divided among threads: each of `places` gets `threads` of them.
    `inner`: whether the points of one place are adjacent."""

    places: int
    threads: int
    inner: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of numbers that the threads combine."""
        return (self.places, self.threads) if self.inner else (self.threads, self.places)

    @property
    def axis(self) -> int:
        """The axis of that matrix along which the numbers of one place lie."""
        return 1 if self.inner else 0


class EachKernel(NamedTuple):
    """A kernel of an `each`.

    name     of the kernel. Its parameters are: a byte, which it sets where a point steps back, if
             points may; what the body takes; the arrays that it changes; for each key of `sums` a
             matrix for each result, as `share` says; and, if there are `stored` results, the place
             in the array of each, for each place of the share
    share    how points are divided among threads
    changes  the positions of these arrays among the results
    sums     by way and type, the positions of the results that threads combine in parts
    stored   those of `sums` that are arrays. A kernel of its own, the `end`, combines the parts
             with the elements of the arrays. Its parameters are: these places; these arrays; the
             numbers of each key of `sums`, for each place
    """

    name: str
    share: Share
    changes: list[int]
    sums: dict[tuple[str, Scalar], list[int]]
    stored: list[int]

    @property
    def end(self) -> str:
        return f"{self.name}_end"

    @property
    def size(self) -> int:
        """The number of threads."""
        return self.share.places * self.share.threads


class EachText(NamedTuple):
    """The text of the kernels of an `each`.

    takes       the values from outside that the body takes
    steps_back  whether points may step back
    """

    text: str
    kernels: list[EachKernel]
    takes: list[Value]
    steps_back: bool


def each_text(made: Each, known: Mapping[Value, Constant]) -> EachText:
    """The kernels of an `each`. `known` are constants from outside. Raises NotNative."""
    point = _Point(made, known)
    function = point.text()
    writers = [_Writer(made, point, f"each{n}", group) for n, group in enumerate(_groups(made))]
    text = "\n".join([function, *[writer.text() for writer in writers]])
    kernels = [writer.kernel for writer in writers]
    return EachText(PREAMBLE + text, kernels, point.takes, point.steps_back)


# ---- what is combined where ----------------------------------------------------------------------


class _Group(NamedTuple):
    """The results of one kernel.

    kept    the axes along which nothing is combined
    free    results that take the number of each point, in any order
    atomic  those of them whose places may be met several times
    whole   results that are combined along the other axes
    """

    kept: tuple[int, ...]
    free: list[int]
    atomic: list[int]
    whole: list[int]


def _groups(made: Each) -> list[_Group]:
    """The results of each kernel. The first one has all that take numbers in any order."""
    every = tuple(range(len(made.shape)))
    free, atomic, found = list[int](), list[int](), dict[tuple[int, ...], list[int]]()
    steps_to = Steps(made)
    for k, (way, (number, place)) in enumerate(zip(made.ways, made.given, strict=True)):
        kept = () if place is None else _kept(steps_to(place), made.shape)
        if place is not None and (kept == every or (way == "put" and kept is None)):
            free.append(k)
        elif kept is None and way == "add" and is_float(number.type):
            atomic.append(k)
        elif kept is None or way == "put":
            raise NotNative(f"`{way}` at places that may be met again has no kernel")
        else:
            found.setdefault(kept, []).append(k)
    (kept, whole), *others = found.items() or [(every, [])]
    first = _Group(kept, free, atomic, whole)
    return [first, *[_Group(kept, [], [], whole) for kept, whole in others]]


def _kept(steps: Sequence[int] | None, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The axes along which a place moves, or could; None if a place may be met again."""
    if steps is None:
        return None
    reached = 0
    for step, size in sorted(zip(map(abs, steps), shape, strict=True)):
        if step and size > 1:
            if step <= reached:
                return None
            reached += step * (size - 1)
    pairs = zip(steps, shape, strict=True)
    return tuple([axis for axis, (step, size) in enumerate(pairs) if step or size == 1])


# ---- the text ------------------------------------------------------------------------------------


class _Point(Function):
    """Emits the function of a point. Its parameters are the values that the body takes, the
    indices, and the results."""

    name = "point"

    def __init__(self, made: Each, known: Mapping[Value, Constant]) -> None:
        super().__init__(Region(self.name, made.body), {}, Memory([]))
        added = zip(made.ways, made.initial, strict=True)
        self.steps_back = ("add", I64) in [(way, element_of(first.type)) for way, first in added]
        outside = used([made.body])
        self.takes = [value for value in outside if value not in known]
        for value in outside:
            if value in known:
                self.instruction(known[value])

    @property
    def parameters(self) -> list[str]:
        """The parameters for the values that the body takes."""
        return [_parameter(value.type, f"v_{k}") for k, value in enumerate(self.takes)]

    def text(self) -> str:
        block, lines = self.region.block, self.lines
        for k, value in enumerate(self.takes):
            self.terms[value] = Term(f"v_{k}", value.type)
        indices = [f"const i64 {self.named(value)}" for value in block.parameters]
        results = [f"{type_of(value.type)} &r{k}" for k, value in enumerate(block.results)]
        given = ", ".join([*self.parameters, *indices, *results])
        with lines.inside(f"static __device__ int {self.name}({given})"):
            self.run(block)
            for k, value in enumerate(block.results):
                lines.add(f"r{k} = {self.read(value)};")
            lines.add("return DONE;")
        self.steps_back |= any("return BACK" in line for line in lines.lines)
        return "\n".join(lines.lines) + "\n"


class _Writer:
    """Emits the kernel of a group, and its end."""

    def __init__(self, made: Each, point: _Point, name: str, group: _Group) -> None:
        self.made, self.point, self.group = made, point, group
        self.lines = Lines()
        self.reduced = [axis for axis in range(len(made.shape)) if axis not in group.kept]
        self.points = prod([made.shape[axis] for axis in self.reduced])  # of each place
        self.kinds = [element_of(first.type) for first in made.initial]
        arrays = [k for k, first in enumerate(made.initial) if isinstance(first.type, ArrayType)]
        share = self._share(arrays)
        sums: dict[tuple[str, Scalar], list[int]] = {}
        for k in group.whole:
            if k not in arrays or share.threads > 1:
                sums.setdefault((made.ways[k], self.kinds[k]), []).append(k)
        stored = [k for each in sums.values() for k in each if k in arrays]
        changes = [k for k in arrays if k in (*group.free, *group.atomic, *group.whole)]
        self.kernel = EachKernel(name, share, changes, sums, stored)

    def _share(self, arrays: Sequence[int]) -> Share:
        made, kept = self.made, self.group.kept
        places = prod([made.shape[axis] for axis in kept])
        threads = max(1, min(-(-self.points // SHARE), MOST_THREADS // places))
        if any(k in arrays and made.ways[k] == "add" for k in self.group.whole if self.is_int(k)):
            threads = 1  # the sums of parts of ints would have to be checked, too
        return Share(places, threads, inner=len(made.shape) - 1 not in kept)

    def is_int(self, k: int) -> bool:
        return self.kinds[k] == I64

    def text(self) -> str:
        """The text of both."""
        kernel, lines, share = self.kernel, self.lines, self.kernel.share
        parameters = ["unsigned char *status"] * self.point.steps_back
        parameters += self.point.parameters
        parameters += [self.array(k) for k in kernel.changes]
        parameters += [f"{kind} *sum{n}" for n, (_, kind) in enumerate(kernel.sums)]
        parameters += ["i64 *stored"] * bool(kernel.stored)
        with self.threads(kernel.name, parameters, kernel.size):
            inner, outer = f"thread / {share.threads}", f"thread % {share.places}"
            lines.add(f"const i64 place = {inner if share.inner else outer};")
            inner, outer = f"thread % {share.threads}", f"thread / {share.places}"
            lines.add(f"const i64 first = {inner if share.inner else outer};")
            self.indices("place", self.group.kept)
            for k, value in enumerate(self.made.body.results):
                lines.add(f"{value.type} r{k};")
            for k in self.group.whole:
                lines.add(f"{self.kinds[k]} total{k};")
            with lines.inside(f"for (i64 k = first; k < {self.points}; k += {share.threads})"):
                self.one()
            self.finish()
        if kernel.stored:
            self.end()
        return "\n".join(lines.lines) + "\n"

    @contextmanager
    def threads(self, name: str, parameters: Sequence[str], size: int) -> Iterator[None]:
        """A kernel with `size` threads. Raises NotNative."""
        if len(parameters) > MOST_PARAMETERS:
            raise NotNative("an expression reads too many arrays for a kernel")
        with self.lines.inside(f'extern "C" __global__ void {name}({", ".join(parameters)})'):
            self.lines.add("const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;")
            self.lines.add(f"if (thread >= {size}) return;")
            yield

    def array(self, k: int) -> str:
        return f"{self.kinds[k]} *out{k}"

    def indices(self, place: str, axes: Sequence[int]) -> None:
        """Emits the indices along some axes, from a place among all that they have."""
        sizes = [self.made.shape[axis] for axis in axes]
        for axis, size, step in zip(axes, sizes, strides(sizes), strict=True):
            self.lines.add(f"const i64 i{axis} = {place} / {step} % {size};")

    def one(self) -> None:
        """Emits the computation of a point."""
        made, lines = self.made, self.lines
        self.indices("k", self.reduced)
        given = [f"v_{k}" for k in range(len(self.point.takes))]
        given += [f"i{axis}" for axis in range(len(made.shape))]
        given += [f"r{k}" for k in range(len(made.body.results))]
        call = f"point({', '.join(given)})"
        back = "{ *status = BACK; return; }"
        lines.add(f"if ({call} != DONE) {back}" if self.point.steps_back else f"{call};")
        for k in self.group.free:
            self.combine(k, self.target(k), self.number(k))
        for k in self.group.atomic:
            lines.add(f"atomicAdd(&{self.target(k)}, {self.number(k)});")
        for k in self.group.whole:
            with lines.inside("if (k == first)"):
                lines.add(f"total{k} = {self.number(k)};")
            with lines.inside("else"):
                self.combine(k, f"total{k}", self.number(k))

    def finish(self) -> None:
        """Emits the stores of what a thread has combined."""
        kernel, lines = self.kernel, self.lines
        for n, each in enumerate(kernel.sums.values()):
            for j, k in enumerate(each):
                lines.add(f"sum{n}[{j * kernel.size} + thread] = total{k};")
        for k in self.group.whole:
            if (self.made.ways[k], self.kinds[k]) not in kernel.sums:
                self.combine(k, self.target(k), f"total{k}")
        for j, k in enumerate(kernel.stored):
            place = f"stored[{j * kernel.share.places} + place]"
            lines.add(f"if (first == 0) {place} = r{self.position(k) + 1};")

    def end(self) -> None:
        """Emits the kernel that combines sums with the elements of arrays."""
        kernel, places = self.kernel, self.kernel.share.places
        parameters = ["const i64 *stored", *[self.array(k) for k in kernel.stored]]
        parameters += [f"const {kind} *sum{n}" for n, (_, kind) in enumerate(kernel.sums)]
        with self.threads(kernel.end, parameters, places):
            for n, each in enumerate(kernel.sums.values()):
                for j, k in enumerate(each):
                    if k in kernel.stored:
                        place = f"stored[{kernel.stored.index(k) * places} + thread]"
                        number = f"sum{n}[{j * places} + thread]"
                        self.combine(k, f"out{k}[{place}]", number)

    def combine(self, k: int, target: str, number: str) -> None:
        """Emits the combination of a number with a target."""
        way = self.made.ways[k]
        if way == "put":
            self.lines.add(f"{target} = {number};")
        elif way == "add" and self.is_int(k):
            added = f"int_add({target}, {number}, {target})"
            self.lines.add(f"if (!{added}) {{ *status = BACK; return; }}")
        else:
            self.lines.add(f"{target} = {BOTH[way].format(a=target, b=number)};")

    def position(self, k: int) -> int:
        """The position of the number of a result among the results of a point."""
        return sum([1 if place is None else 2 for _, place in self.made.given[:k]])

    def number(self, k: int) -> str:
        return f"r{self.position(k)}"

    def target(self, k: int) -> str:
        """The element of an array that a result's number goes to."""
        return f"out{k}[r{self.position(k) + 1}]"


def _parameter(kind: Type, name: str) -> str:
    return f"const {element_of(kind)} {'*' * isinstance(kind, ArrayType)}{name}"
