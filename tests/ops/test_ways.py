"""Every elementwise entry of the table at its edges: each way to compute it says what a number
alone says, of value and gradient, down to the sign of a zero."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from gradcli import load
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ..engine.programs import value
from .exact import COMPLEX
from .ways import NAMES, WAYS, Found, alone, call_of, many_rows

INF, NAN = math.inf, math.nan
ENTRIES = [
    op
    for op in OPS.values()
    if op.elementwise
    and op.differentiable
    and not op.internal
    and op.name not in {*COMPLEX, "gammainc", "betainc"}
]
EDGES = {  # by how many operands there are
    1: [
        0.0, -0.0, 5e-324, -1e-310, 1e-20, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, -2.5, -20.0, 26.5,
        -38.0, 171.5, -184.5, 710.0,
        -746.0, 2.0**53, -1e22, 1e200, -1.7e308, INF, -INF, NAN,
    ],
    2: [0.0, -0.0, -1e-310, 0.5, -1.0, 3.0, 1e200, INF, -INF, NAN],
    3: [0.0, -0.0, 1.0, 1e200, NAN],
}  # fmt: skip
NUMBERS = ["0.0", "(-0.0)", "0.5", "(-1.0)", "4.0", "0", "inf", "nan"]
SEVERAL = [op for op in ENTRIES if len(op.signature.operands) == 2 and op.kernel is None]
LARGE = (
    "large_array",
    "large_fused",
    "native_arrays",
)  # which take kernels as small arrays do, and take long
CLOSE = 1e-12  # far from any mistake at an edge; `test_elementwise.py` counts ulps
DENORMAL = 5e-322  # what numbers near the smallest are off by


def points(n: int) -> np.ndarray:
    return np.array(list(itertools.product(EDGES[n], repeat=n)))


def verify(call: str, way: str, at: np.ndarray, found: Found, expected: Found) -> None:
    n = at.shape[1]
    names = [
        "the value",
        *(
            f"the {mode} derivative by {NAMES[k]}"
            for mode in ("reverse", "forward")
            for k in range(n)
        ),
    ]
    parts = (
        [found.values, *found.reverse, *found.forward],
        [expected.values, *expected.reverse, *expected.forward],
    )
    for name, got, want in zip(names, *parts, strict=True):
        agree = same(np.broadcast_to(got, want.shape), want)
        lines = [
            f"at {at[i].tolist()} {got[i]}, alone {want[i]}" for i in np.flatnonzero(~agree)[:5]
        ]
        assert agree.all(), f"{name} of {call} by {way}: {'; '.join(lines)}"


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether numbers are the same, or close; nan as nan, and infinities and zeros with their
    signs."""
    with np.errstate(all="ignore"):
        equal = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
        near = (
            np.isfinite(a)
            & np.isfinite(b)
            & (a != b)
            & (np.abs(a - b) <= CLOSE * np.abs(b) + DENORMAL)
        )
    return equal | near


@pytest.mark.parametrize("op", ENTRIES, ids=lambda op: op.name)
def test_every_way_says_what_a_number_says(op: Op) -> None:
    n = len(op.signature.operands)
    call, at = call_of(op, *NAMES[:n]), points(n)
    expected = alone(call, at)
    assert all(same(a, b).all() for a, b in zip(expected.reverse, expected.forward, strict=True))
    for way, compute in WAYS.items():
        if not (op.kernel and way in LARGE):
            verify(call, way, at, compute(call, at), expected)


def with_a_number(op: Op) -> Iterator[str]:
    for number in NUMBERS:
        yield call_of(op, "a", number)
        yield call_of(op, number, "a")


@pytest.mark.parametrize("op", SEVERAL, ids=lambda op: op.name)
def test_where_one_operand_is_a_number_of_the_program(op: Op) -> None:
    at = np.array(EDGES[2])[:, None]
    for call in with_a_number(op):
        expected = alone(call, at)
        for way in ("hot_fused", "small_array", "large_fused", "many_rows"):
            verify(call, way, at, WAYS[way](call, at), expected)


@pytest.mark.parametrize(
    "call",
    [
        "relu(a)",
        "maximum(a, 0.0)",
        "minimum(0.0, a)",
        "clip(a, 0.0, 1.0)",
        "a * 0.0",
        "abs(a) * -0.0",
    ],
)
def test_the_sign_of_a_zero_shows_in_a_division(call: str) -> None:
    at = np.array([[0.0], [-0.0], [-1.0], [2.0]])
    expected = alone(f"(1.0 / ({call}))", at)
    for way, compute in WAYS.items():
        found = compute(f"(1.0 / ({call}))", at).values
        assert same(found, expected.values).all(), f"{way}: {found}, alone {expected.values}"


OF_VECTORS = [
    "max(v)", "min(v)", "sum(v)", "mean(v)", "prod(v)", "cumsum(v)", "cumprod(v)", "sort(v)",
    "median(v)", "norm(v)", "dot(v, v)",
    "dot(v, [0.0, -1.0])", "std(v)", "logsumexp(v)", "softmax(v)", "norm(v, ord = 1)",
    "v[0] * v[1]", "v[1:] * v[:-1]",
    "maximum(v[0], v[1])", "v @ [[1.0], [-1.0]]", "convolve(v, [1.0, -1.0])",
    "where(v > 0, v, 0.0)", "max(relu(v))",
    "sum(v * 0.0)",
]  # fmt: skip


@pytest.mark.parametrize("call", OF_VECTORS)
def test_rows_of_vectors_say_what_a_vector_says(call: str) -> None:
    rows = np.array(list(itertools.product([0.0, -0.0, 1.0, -2.0, INF, -INF, NAN], repeat=2)))
    for asked in ("f", "grad(f)"):
        together = value(f"frozen v; fn f(v) = {call}; output r = vmap({asked})(v)", {"v": rows})
        single = load(source=f"frozen v; fn f(v) = {call}; output r = {asked}(v)").with_options(
            grad=False
        )
        for row, found in zip(rows, np.asarray(together), strict=True):
            expected = np.asarray(single.run(v=row).outputs["r"])
            assert same(found, expected).all(), f"{asked} at {row}: {found}, alone {expected}"


def test_a_repaired_product_leaves_its_neighbours_alone() -> None:
    """Where a product of 0 and inf is repaired, another that is -0.0 stays so."""
    alone = value("y = grad(fn(x) = -x * 0.0)(1.0)")
    among = value("y = grad(fn(x) = sum(-sqrt(x) * [0.0, 0.0]))([0.0, 1.0])")
    assert math.copysign(1.0, alone) == math.copysign(1.0, among[1]) == -1.0
    assert among[0] == 0.0


def test_derivatives_of_many_rows_are_repaired_where_they_are_read_as_formulas() -> None:
    """The products of a derivative in an expression on rows are strict, too."""
    rows = np.resize([0.0, -1.0, 2.0], 70_000)
    source = (
        "frozen a; fn f(x) = 1.0 / (abs(x) * 0.0); output r = vmap(fn(x) = 2.0 * grad(f)(x))(a)"
    )
    assert not value(source, {"a": rows}).any()


def test_a_side_without_arrays_of_many_rows() -> None:
    found = many_rows("xlogy(0.0, a)", np.array([[0.0], [2.0]]))
    assert (
        found.values.tolist()
        == found.reverse[0].tolist()
        == found.forward[0].tolist()
        == [0.0, 0.0]
    )
