"""Sparse Jacobians and Hessians: their entries are what the structure says, whatever the values
are, by few sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..programs import evaluate, failure, outputs
from .random_programs import RELAXED, Program, points, programs
from .sparse_entries import dense, places

DIAGONAL = [(k, k) for k in range(4)]
BAND = [(k, j) for k in range(4) for j in (k - 1, k, k + 1) if 0 <= j < 4]
TRIANGLE = [(k, j) for k in range(4) for j in range(k + 1)]
FULL = [(k, j) for k in range(4) for j in range(4)]

# The value, of four numbers x, all 0: many partials happen to be zero, and are entries all the
# same.
STRUCTURES = [
    ("x**2", DIAGONAL),
    ("x * 0.0", DIAGONAL),
    ("where(x > 0, x, x[::-1])", sorted({*DIAGONAL, *((k, 3 - k) for k in range(4))})),
    ("maximum(x, -1.0) + 1", DIAGONAL),
    ("x * x[0]", sorted({*DIAGONAL, *((k, 0) for k in range(4))})),
    ("x[1:] - x[:-1]", [(k, j) for k in range(3) for j in (k, k + 1)]),
    ("concatenate([[0.0], x[:-1]]) + x + concatenate([x[1:], [0.0]])", BAND),
    ("pad(x, 1)[:-2] * x * pad(x, 1)[2:]", BAND),
    ("roll(x, 1)", [(0, 3), (1, 0), (2, 1), (3, 2)]),
    ("x.reshape(2, 2).T.ravel()", [(0, 0), (1, 2), (2, 1), (3, 3)]),
    ("sum(x.reshape(2, 2), axis = 0)", [(0, 0), (0, 2), (1, 1), (1, 3)]),
    ("mean(x.reshape(2, 2), axis = 1)", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("max(x.reshape(2, 2), axis = 1, keepdims = true)", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    (
        "softmax(x.reshape(2, 2), axis = 0)",
        [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 1), (3, 3)],
    ),
    ("norm(x.reshape(2, 2), axis = 0)", [(0, 0), (0, 2), (1, 1), (1, 3)]),
    ("cumsum(x)", TRIANGLE),
    ("cumprod(x)", TRIANGLE),
    ("cumsum(x.reshape(2, 2), axis = 1)", [(0, 0), (1, 0), (1, 1), (2, 2), (3, 2), (3, 3)]),
    ("sort(x)", FULL),
    ("[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]] @ x", FULL[:8]),
    ("x.reshape(2, 2) @ [1.0, 0.0]", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("[0.0, 1.0] @ x.reshape(2, 2)", [(0, 0), (0, 2), (1, 1), (1, 3)]),
    (
        "(x.reshape(2, 2) @ zeros([2, 3])).ravel()",
        [(3 * i + k, 2 * i + j) for i in range(2) for k in range(3) for j in range(2)],
    ),
    (
        "(zeros([3, 2]) @ x.reshape(2, 2)).ravel()",
        [(2 * i + k, 2 * j + k) for i in range(3) for k in range(2) for j in range(2)],
    ),
    (
        "(ones([2, 2, 2]) @ x.reshape(2, 2, 1)).ravel()",
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)],
    ),
    (
        "(x.reshape(2, 2) @ x.reshape(2, 2)).ravel()",
        [
            (2 * i + k, j)
            for i in range(2)
            for k in range(2)
            for j in sorted({2 * i, 2 * i + 1, k, 2 + k})
        ],
    ),
    ("x[:2] @ x[2:]", FULL[:4]),
    ("dot(x.reshape(2, 2), [1.0, 0.0])", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("inner([[1.0, 0.0]], x.reshape(2, 2))[0]", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    (
        'einsum("ij,ik->jk", x.reshape(2, 2), zeros([2, 1])).ravel()',
        [(0, 0), (0, 2), (1, 1), (1, 3)],
    ),
    ('einsum("ij,ij->i", x.reshape(2, 2), x.reshape(2, 2))', [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("kron(x, [1.0, 0.0])", [(2 * k + j, k) for k in range(4) for j in (0, 1)]),
    ("convolve(x, [1.0, 0.0])", [(k, j) for k in range(5) for j in (k - 1, k) if 0 <= j < 4]),
    ('convolve(x, [1.0, 0.0, 2.0], mode = "same")', BAND),
    (
        'convolve([1.0, 0.0, 2.0], x, mode = "valid")',
        [(k, j) for k in range(2) for j in range(k, k + 3)],
    ),
    ('correlate(x, [1.0, 0.0], mode = "valid")', [(k, j) for k in range(3) for j in (k, k + 1)]),
    ("convolve(x[:2], x[2:])", [(0, 0), (0, 2), *((1, j) for j in range(4)), (2, 1), (2, 3)]),
    (
        "conv(x.reshape(1, 1, 2, 2), zeros([2, 1, 1, 2])).ravel()",
        [(k, 2 * (k % 2) + j) for k in range(4) for j in (0, 1)],
    ),
    ("conv(x.reshape(1, 1, 1, 4), zeros([1, 1, 1, 3]), padding = [0, 1]).ravel()", BAND),
    (
        "conv(x.reshape(2, 2, 1, 1), zeros([3, 2, 1, 1])).ravel()",
        [(k, 2 * (k // 3) + j) for k in range(6) for j in (0, 1)],
    ),
    (
        "conv(x.reshape(4, 1, 1, 1), ones([1, 1, 1, 1]), padding = [0, 1]).ravel()",
        [(3 * k + 1, k) for k in range(4)],
    ),
    (
        "conv(zeros([1, 1, 1, 3]), x.reshape(2, 1, 1, 2)).ravel()",
        [(k, 2 * (k // 2) + j) for k in range(4) for j in (0, 1)],
    ),
    ("cross(x[:3], [1.0, 0.0, 2.0])", [(k, j) for k in range(3) for j in range(3)]),
    ("outer(x, [1.0, 0.0])", [(2 * k + j, k) for k in range(4) for j in (0, 1)]),
    ("take(x, [3, 3, 0])", [(0, 3), (1, 3), (2, 0)]),
    ("scatter_add(zeros(3), [2, 2, 0, 2], x)", [(0, 2), (2, 0), (2, 1), (2, 3)]),
    ("tile(x, 2)[3:5]", [(0, 3), (1, 0)]),
    ("diag(x).ravel()[:6]", [(0, 0), (5, 1)]),
    ("tril(x.reshape(2, 2)).ravel()", [(0, 0), (2, 2), (3, 3)]),
    ("trace(x.reshape(2, 2))", [(0, 0), (0, 3)]),
    ("split(x, 2)[1]", [(0, 2), (1, 3)]),
    ("[x[2], sin(x[0]) * x[1], 1.0]", [(0, 2), (1, 0), (1, 1)]),
    ("detach(x) * x", DIAGONAL),
]


@pytest.mark.parametrize(("text", "expected"), STRUCTURES, ids=[text for text, _ in STRUCTURES])
def test_structures(text: str, expected: list[tuple[int, int]]) -> None:
    for mode in ("auto", "reverse", "forward"):
        asked = f's = jacobian(y, x, sparse = true, mode = "{mode}"); j = jacobian(y, x)'
        source = f"var x = zeros(4); y = array({text}); {asked}; output s, j"
        found = outputs(source)
        assert places(found["s"]) == expected
        assert found["s"]["shape"] == [found["j"].size // 4, 4]
        np.testing.assert_array_equal(dense(found["s"]), found["j"].reshape(-1, 4))


# ---- numbers, loops, elements --------------------------------------------------------------------

LOOP = """
var x = zeros(6)
n = len(x)
y = zeros(n)
for i in range(n) {
    left = x[i - 1] if i > 0 else 0.0
    y[i] = left * x[i]
    if i == 3 { y[i] += y[0] }
}
f = 0.0
for i in range(n - 1) { f += (x[i + 1] - x[i]**2)**2 }
"""


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
def test_loops_over_elements(mode: str) -> None:
    asked = f'j = jacobian(y, x, sparse = true, mode = "{mode}"); h = hessian(f, x, sparse = true, mode = "{mode}")'
    found = outputs(f"{LOOP}\n{asked}\noutput j, h")
    band = {(i, k) for i in range(6) for k in (i - 1, i) if k >= 0}
    assert places(found["j"]) == sorted(band | {(3, 0)})
    assert places(found["h"]) == [
        (i, k) for i in range(6) for k in (i - 1, i, i + 1) if 0 <= k < 6 and (i, k) != (5, 6)
    ]


def test_what_is_written_over_is_no_entry() -> None:
    found = outputs(
        "var x = [1.0, 2.0]; y = x * x[0]; y[1] = 5.0; j = jacobian(y, x, sparse = true); output j"
    )
    assert places(found["j"]) == [(0, 0)]
    assert found["j"]["values"].tolist() == [2.0]


def test_entries_of_the_parts_of_targets_and_sources() -> None:
    source = "var x = [1.0, 2.0]; var u = 3.0; j = jacobian([x * u, {a: u}], {p: x, q: [u]}, sparse = true); output j"
    found = outputs(source)["j"]
    assert [places(block) for block in (found["p"][0], found["q"][0][0],
        found["q"][0][1]["a"])] == [
        [(0, 0), (1, 1)], [(0, 0), (1, 0)], [(0, 0)],
    ]  # fmt: skip
    assert found["p"][1]["a"] is None


def test_entries_can_be_differentiated() -> None:
    source = """
    var x = [1.0, 2.0, 3.0]
    y = x**3 * concatenate([x[1:], [1.0]])
    j = jacobian(y, x, sparse = true)
    s = sum(j.values**2)
    d = sum(jacobian(y, x)**2)
    fn f(x) = x**3 * concatenate([x[1:], [1.0]])
    t = grad(fn(x) = sum(jacobian(f, sparse = true)(x).values**2))(x)
    a = grad(s, x)
    b = grad(d, x)
    output a, b, t
    """
    found = outputs(source)
    np.testing.assert_allclose(found["a"], found["b"], rtol=1e-14)
    np.testing.assert_allclose(found["t"], found["b"], rtol=1e-14)


def test_transforms_and_options_from_outside_give_the_same() -> None:
    source = "fn f(x) = x[1:] * x[:-1]**2; x = [1.0, 2.0, 3.0]; j = jacobian(f, sparse = true)(x)\n"
    source += "h = hessian(fn(x) = sum(f(x)), sparse = true)(x); output j, h"
    inside = outputs(source)
    outside = evaluate(
        "var x = [1.0, 2.0, 3.0]; y = x[1:] * x[:-1]**2; output y",
        jacobian=True,
        hessian=True,
        sparse=True,
    )
    for a, b in (
        (inside["j"], outside.jacobians["y"]["x"]),
        (inside["h"], outside.hessians["y"]["x"]),
    ):
        assert places(a) == places(b)
        assert a["shape"] == b["shape"]
        np.testing.assert_allclose(a["values"], b["values"], rtol=1e-14)


@pytest.mark.parametrize("f", ["v * v", "v * v * x", "v * v * x + sum(v)", "v[1:] * v[:-1]"])
def test_a_function_of_what_was_computed_outside(f: str) -> None:
    found = outputs(
        f"var x = 1.5\nu = (0.5 + arange(12)) * x\nfn f(v) = {f}\noutput a = jacobian(f)(u)\noutput b = jacobian(f(u), u)"
    )
    np.testing.assert_allclose(found["a"], found["b"], rtol=1e-12)
    assert np.count_nonzero(found["a"]) >= 12


def test_unconnected_from_outside() -> None:
    source = "var x = [1.0, 2.0]; var u = [3.0]; y = x * 2; output y"
    found = evaluate(source, jacobian=True, hessian_blocks=True, sparse=True, unconnected="zero")
    for block in (found.jacobians["y"]["u"], found.hessians["y"]["u"], found.hessians["y"]["x"]):
        assert not block["values"].size
    assert found.jacobians["y"]["u"]["shape"] == [2, 1]
    assert evaluate(source, jacobian=True, sparse=True).jacobians["y"]["u"] is None


def test_entries_that_cannot_fit_are_refused() -> None:
    source = "var x = ones(3000); y = sort(x); output y"
    found = failure(source, jacobian=True, sparse=True, max_memory=10**8)
    assert (found.code, "9000000 entries" in found.message) == ("E405", True)
    found = evaluate(
        "var x = ones(30000); y = x**2; output y", jacobian=True, sparse=True, max_memory=10**8
    )
    assert found.jacobians["y"]["x"]["shape"] == [30000, 30000]


# ---- random programs -----------------------------------------------------------------------------


@settings(RELAXED, max_examples=60)
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points)
def test_random_programs(program: Program, point: tuple[float, np.ndarray]) -> None:
    """Entries are where the Jacobian isn't zero, and have its values, whichever way the sweeps
    go."""
    inputs = dict(zip("xv", point, strict=True))
    asked = """
j = jacobian(y, v, mode = "reverse"); h = hessian(y, v, mode = "reverse")
s = [jacobian(y, v, sparse = true, mode = "{0}"), hessian(y, v, sparse = true, mode = "{0}")]
output j, h, s
"""
    for mode in ("forward", "reverse"):
        found = outputs(program.source + asked.format(mode), inputs)
        for whole, entries in zip((found["j"], found["h"]), found["s"], strict=True):
            assert (whole is None) == (entries is None)
            if whole is not None:
                matrix = np.reshape(whole, entries["shape"])
                np.testing.assert_allclose(
                    dense(entries), matrix, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(matrix).max())
                )
