"""Regions as CUDA C: NVRTC compiles them, and as C++ they have the bits of their Python text.

The kernels of a table of programs are one text, each in a namespace, so that compilers run once.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradcli
from gradcli.engine.codegen.cuda.each import each_text
from gradcli.engine.codegen.cuda.rows import RESULTS, CudaText, rows_text
from gradcli.engine.codegen.python import regions as python
from gradcli.engine.codegen.python.regions import StepBack
from gradcli.engine.codegen.scalars import NotNative
from gradcli.engine.ir.instructions import Constant, Each, Operation, Product, Region, every
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.types import DTYPES, F64, I64, OF_DTYPE, ArrayType, Scalar, is_float
from gradcli.engine.lowering.programs import lower_program
from gradcli.engine.passes.arrays.fusion import fuse
from gradcli.engine.passes.arrays.ownership import owned
from gradcli.engine.passes.calls import Regions
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.jvp import jvp
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.expansion import expand
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.rules import NoRule

from ..lowering import array_programs
from ..lowering.region_cases import (
    HEAD,
    LOOPS,
    PROGRAMS,
    RECURSIVE,
    STEPS_BACK,
    lowered,
    same,
    states,
)
from ..lowering.region_ops import HARD, KEEP, SCALAR_OPS, operation, points_of
from ..lowering.region_programs import Writer
from .cuda_builds import built, compiled_for_gpu, launch, needs_compiler, nvrtc_is_there

needs_nvrtc = pytest.mark.skipif(
    not nvrtc_is_there(), reason="the wheel nvidia-cuda-nvrtc-cu12 isn't installed"
)
ROOM, THREADS = 2**12, 3
DONE, BACK, SHORT = range(3)
Point = Sequence[Any]


class Case(NamedTuple):
    """A kernel of a region, and the points where it is run: one a row."""

    name: str
    region: Region
    others: Sequence[Region]
    points: Sequence[Point]
    made: CudaText


def case(name: str, region: Region, points: Sequence[Point], others: Sequence[Region] = ()) -> Case:
    made = rows_text(region, others, [True] * len(region.block.parameters))
    return Case(name, region, others, points, made)


def finished(*regions: Region) -> list[Region]:
    folded = [without_dead_code(fold(expand(each), last=True)) for each in regions]
    return owned(*[without_dead_code(fuse(each)) for each in folded])


def derivatives(found: Any, orders: int) -> Iterator[tuple[Region, Regions]]:
    """A region, and as many of these as `orders` says: its pullback, the pullback's tangents, its
    tangents."""
    kinds = [value.type for value in found.region.block.parameters]
    wrt = [k for k, kind in enumerate(kinds) if is_float(kind)]
    regions = Regions(found.others)
    yield found.region, regions
    with suppress(NoRule):
        if wrt and orders > 0:
            back = vjp(found.region, wrt, regions)
            yield back, regions
        if wrt and orders > 1:
            yield jvp(back, wrt, regions), regions
            yield jvp(found.region, wrt, regions), regions


def drawn(kind: Any, random: Random, hard: bool) -> Any:
    if isinstance(kind, ArrayType):
        return np.reshape([drawn(kind.element, random, hard) for _ in range(kind.size)], kind.shape)
    if kind is F64:
        return random.choice(HARD[F64]) if hard else random.uniform(0.1, 9.0)
    return random.randint(-5, 9) if kind is I64 else random.random() < 0.5


def cases(
    head: str, programs: Iterable[str], orders: int = 1, hard: bool = False
) -> Iterator[Case]:
    """Kernels of programs and their derivatives, where variables are as declared and elsewhere."""
    for program in programs:
        source, random = head + program, Random(program)
        found = lowered(source)
        assert hard or not found.reasons or found.results or "det" in source, source
        for region, regions in derivatives(found, orders):
            kinds = [value.type for value in region.block.parameters]
            points = [[drawn(kind, random, hard) for kind in kinds] for _ in range(7)]
            given = states(source, found.parameters)
            points.append([*given, *points[0][len(given) :]])
            whole, *others = finished(region, *regions.called_by(region))
            with suppress(NotNative):
                yield case(f"{region.name} of {program}", whole, points, others)


SCALARS = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"
LARGE = [  # arrays that stay in memory
    "a = zeros(40)\nfor i in range(40) { a[i] = x * i + y }\noutput sum(a), a[7]",
    "a = ones(20) * x\nb = a\nfor i in range(9) { a = a * y; b[i] = a[i + 1]; if i % 2 == 0 { b = a + b } }\noutput a, sum(b)",
    "s = 0.0\nfor k in range(3) { a = zeros(30); a[k] = x; for j in range(1, 30) { a[j] += a[j - 1] * y }; s += a[29] + a[k] }\noutput s",
    "c = int64(ones(18))\nfor i in range(18) { c[i] = c[i - 1] * n }\noutput c, c[n] * x",
    "a = zeros(20)\nb = ones(20)\nfor k in range(7) { a[k] = b[k] * x; c = a; a = b; b = c }\noutput a[2] + b[3], (a > 0)[n]",
    "fn f(a, k) = a[k] * x if k == 0 else f(a, k - 1) * 0.9 + a[k]\noutput f([x, y, 1.0] * 2, 2)",
    "fn det(m) { if len(m) == 1 { return m[0, 0] }; s = 0.0; for j in range(len(m)) { r = zeros([len(m) - 1, len(m) - 1]); "
    "for a in range(1, len(m)) { c = 0; for b in range(len(m)) { if b != j { r[a - 1, c] = m[a, b]; c += 1 } } }; "
    "s += m[0, j] * det(r) * (1 - 2 * (j % 2)) }; return s }\nm = ones([5, 5]) * y\nfor i in range(5) { m[i, i] = x * i + n }\noutput det(m)",
    "u = arange(300) * 0.01 * x + y\noutput sum(sin(u) * u) + mean(exp(-u * u)), max(u * u), min(u), sum(u > 0)",
    "m = reshape(arange(60) * 0.1 * x + y, [6, 10])\nv = m[:, 3] * n\noutput sum((v @ m)**2), sum(m @ m.T), logsumexp(m), sum(max(m, axis = 1) * v)",
    "m = reshape(arange(150) * 0.1 * x + y, [5, 3, 10])\noutput sum(sum(m * y, axis = 1)**2), sum(mean(m, axis = 0) * m[1]), sum(softmax(m, axis = 2)**2)",
    "u = arange(40) * 0.1 * x + y\ni = int64(abs(u) * 9) % 40\nfor k in range(3) { u = u[i] * 0.5 + sin(u * y); u[1:] = u[:-1] * x }\noutput sum(u * u), sum(i), max(i)",
]  # fmt: skip
GATHERED = "u = ones(400) * x + y\ni = int64(u * 3) % 9\nz = sum(u[i + 9] * u) + sum(reshape(u, [100, 4]), axis = 0)[1] * n\noutput z, sum(i * n)"
# Of each table how many kernels there are, as what isn't compiled is left out, and what makes them.
GROUPS: dict[str, tuple[int, Callable[[], Iterator[Case]]]] = {
    "programs": (110, lambda: cases(HEAD, [*PROGRAMS.values(), *STEPS_BACK])),
    "loops": (68, lambda: cases(SCALARS, LOOPS.values(), orders=2)),
    "recursion": (2, lambda: cases(HEAD, RECURSIVE.values())),
    "small arrays": (
        37,
        lambda: cases(array_programs.HEAD, array_programs.PROGRAMS.values(), orders=0),
    ),
    "large arrays": (44, lambda: cases(SCALARS, LARGE, orders=2)),
    "random programs": (
        80,
        lambda: cases("", [Writer(seed).program() for seed in range(40)], hard=True),
    ),
    "ops on floats": (85, lambda: ops(F64)),
    "ops on ints": (33, lambda: ops(I64)),
}


def ops(kind: Scalar) -> Iterator[Case]:
    for name in SCALAR_OPS if kind is F64 else KEEP:
        region = operation(name, kind)
        with suppress(NotNative):
            yield case(name, region, points_of(region))


@cache
def group(name: str) -> tuple[list[Case], str]:
    """The kernels of a table, and all of them as one text."""
    count, made = GROUPS[name]
    found = list(made())
    assert len(found) == count
    texts = [
        f"namespace n{k} {{\n{each.made.text.replace('void rows(', f'void rows{k}(')}}}\n"
        for k, each in enumerate(found)
    ]
    return found, "".join(texts)


def columns(kinds: Sequence[Any], points: Sequence[Point]) -> Iterator[Any]:
    """What a kernel takes for rows."""
    for k, kind in enumerate(kinds):
        column = np.array([point[k] for point in points], DTYPES[getattr(kind, "element", kind)])
        yield np.ascontiguousarray(np.moveaxis(column, 0, -1))
        if isinstance(kind, ArrayType):
            yield len(points)


def run(library: ctypes.CDLL, name: str, each: Case, room: int = ROOM) -> tuple[Any, list[Any]]:
    """How the rows ended, and what they gave: a list for each."""
    n, results = len(each.points), [value.type for value in each.region.block.results]
    given = columns([value.type for value in each.region.block.parameters], each.points)
    status = np.full(n, 9, np.uint8)
    words = np.zeros((each.made.words + each.made.stacks * room) * THREADS + 1, np.int64)
    counts = dict.fromkeys(RESULTS, 0)
    places = []
    for kind in results:
        element, size = getattr(kind, "element", kind), getattr(kind, "size", 1)
        places.append((element, counts[element], size, getattr(kind, "shape", None)))
        counts[element] += size
    made = {kind: np.zeros((count, n), DTYPES[kind]) for kind, count in counts.items()}
    arguments = [n, status, room, words, *given, *made.values()]
    launch(
        library,
        name,
        (1, THREADS),
        [
            ctypes.c_longlong(a) if isinstance(a, int) else ctypes.c_void_p(a.ctypes.data)
            for a in arguments
        ],
    )
    rows = []
    for row in range(n):
        found = [made[kind][start : start + size, row] for kind, start, size, _ in places]
        rows.append(
            [
                f.item() if p[3] is None else f.reshape(p[3])
                for f, p in zip(found, places, strict=True)
            ]
        )
    return status, rows


def wanted(each: Case) -> list[Any]:
    """What the Python text of a region gives for its points, or StepBack."""
    oracle = python.compiled(each.region, each.others)
    found: list[Any] = []
    for point in each.points:
        try:
            found.append(oracle(*point))
        except StepBack:
            found.append(StepBack)
    return found


def agrees(a: Any, b: Any, exact: bool) -> bool:
    if isinstance(b, np.ndarray):
        return a.shape == b.shape and all(
            agrees(x, y, exact) for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
        )
    return same(a, b) or (not exact and math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-300))


@needs_compiler
@pytest.mark.parametrize("name", GROUPS)
def test_kernels_as_cpp(name: str) -> None:
    found, text = group(name)
    library = built(text)
    for k, each in enumerate(found):
        status, rows = run(library, f"rows{k}", each)
        rounded = any(
            isinstance(m, Each | Product) or (isinstance(m, Operation) and m.op.name == "pow")
            for m in every(each.region.block)
        )
        for point, ended, row, right in zip(each.points, status, rows, wanted(each), strict=True):
            if right is StepBack:
                assert ended == BACK, (each.name, point)
                continue
            assert ended == DONE, (each.name, point, ended, right)
            for a, b in zip(row, right, strict=True):
                assert agrees(a, b, exact=not rounded), (each.name, point, row, right)


@needs_nvrtc
@pytest.mark.parametrize("name", GROUPS)
def test_kernels_for_a_gpu(name: str) -> None:
    found, text = group(name)
    assert compiled_for_gpu(text, optimised=False).count(b".visible .entry") == len(found)


def kernels_of_each(dtype: str) -> Iterator[str]:
    """The texts of the kernels that expressions on large arrays have, in a namespace for each."""
    for program in [*LARGE, GATHERED]:
        node = gradcli.load(source=SCALARS + program)._resolved
        found = lower_program(node, {}, real=OF_DTYPE[dtype])
        for region, regions in derivatives(found, orders=2):
            for own in finished(region, *regions.called_by(region)):
                made = list(every(own.block))
                known = {v.result: v for v in made if isinstance(v, Constant)}
                for each in made:
                    if isinstance(each, Each):
                        yield each_text(each, known).text


@needs_nvrtc
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_of_arrays_for_a_gpu(dtype: str) -> None:
    texts = list(dict.fromkeys(kernels_of_each(dtype)))
    named = [re.sub(r"void (each\d+)", rf"void n{k}_\1", text) for k, text in enumerate(texts)]
    whole = "".join([f"namespace n{k} {{\n{text}}}\n" for k, text in enumerate(named)])
    for part in ("atomicAdd(", "each0_end", "return BACK", f"{OF_DTYPE[dtype]} total"):
        assert part in whole
    compiled = compiled_for_gpu(whole, optimised=False)
    assert compiled.count(b".visible .entry") == whole.count("__global__")


@needs_nvrtc
def test_products_and_sums_are_not_fused() -> None:
    [region] = parse(
        "region f(%0: f64, %1: f64, %2: f64) -> (f64) {\n"
        "  %3 = mul %0, %1 : f64\n  %4 = add %3, %2 : f64\n  return %4\n}\n"
    )
    code = compiled_for_gpu(rows_text(region, [], [True] * 3).text)
    assert b"mul.rn.f64" in code
    assert b"add.rn.f64" in code
    assert b"fma" not in code


def test_a_function_that_calls_itself_is_not_compiled() -> None:
    found = lowered(f"{HEAD}fn f(k) = 1 if k < 2 else k * f(k - 1)\noutput f(n)")
    with pytest.raises(NotNative, match="calls itself"):
        rows_text(found.region, found.others, [True] * 2)


@needs_compiler
def test_a_row_that_needs_more_room_says_so() -> None:
    """Other rows aren't concerned, and where there is room it gives what it gives."""
    found = lowered(f"{SCALARS}s = x\nfor i in range(n) {{ s = s * s * y }}\noutput s")
    [region] = finished(vjp(found.region, [0]))
    each = case("room", region, [[0.5, 1.25, n, 1.0] for n in (3, 900, 0, 2, 12)])
    library = built(each.made.text)
    status, rows = run(library, "rows", each, room=8)
    assert status.tolist() == [DONE, SHORT, DONE, DONE, SHORT]
    status, more = run(library, "rows", each)
    assert status.tolist() == [DONE] * 5
    assert more == [[*row] for row in wanted(each)]
    assert [rows[k] for k in (0, 2, 3)] == [more[k] for k in (0, 2, 3)]


@needs_compiler
def test_a_row_that_works_too_long_steps_back() -> None:
    found = lowered(f"{SCALARS}k = 0\nwhile k < n {{ k += 1 }}\noutput k")
    each = case("long", *finished(found.region), [[0.5, 0.5, n] for n in (100, 10**15, 1000)])
    status, rows = run(built(each.made.text), "rows", each)
    assert status.tolist() == [DONE, BACK, DONE]
    assert (rows[0], rows[2]) == ([100], [1000])
