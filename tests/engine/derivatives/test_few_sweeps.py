"""Sparse Jacobians and Hessians take few sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.engine.jacobian.seeds import Sweeps

from ..programs import outputs
from .random_programs import RELAXED
from .sparse_entries import dense, places

SIZE = st.integers(1, 4)


@st.composite
def products_of(draw: st.DrawFn) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """A product of `a` and `b`, and their shapes."""
    n, k, m, batch = (draw(SIZE) for _ in range(4))
    kind = draw(
        st.sampled_from(
            ["matmul", "inner", "outer", "kron", "einsum", "convolve", "correlate", "conv"]
        )
    )
    if kind == "conv":
        h, w = (draw(st.integers(1, 3)) for _ in range(2))
        stride, padding = (
            draw(st.sampled_from([1, 2, [1, 2]])),
            draw(st.sampled_from([0, 1, [1, 0]])),
        )
        return (
            f"conv(a, b, stride = {stride}, padding = {padding})",
            (2, k, h + n, w + m),
            (batch, k, h, w),
        )
    if kind in ("convolve", "correlate"):
        mode = draw(st.sampled_from(["full", "same", "valid"]))
        return f'{kind}(a, b, mode = "{mode}")', (n + batch,), (m,)
    if kind == "einsum":
        text, a, b = draw(st.sampled_from([
            ("ij,jk->ki", (n, k), (k, m)),
            ("bij,j->bi", (batch, n, k), (k,)),
            ("ij,ij->", (n, k), (n, k)),
            ("ii,k->ik", (n, n), (k,)),
        ]))  # fmt: skip
        return f'einsum("{text}", a, b)', a, b
    a, b = draw(
        st.sampled_from(
            [
                ((n, k), (k, m)),
                ((k,), (k, m)),
                ((batch, n, k), (k, m)),
                ((n, k), (batch, k, m)),
                ((n, k), (k,)),
            ]
        )
    )
    if kind == "inner":
        a, b = (n, k), (m, k)
    return f"{kind}(a, b)", a, b


@settings(RELAXED, max_examples=80)
@given(products_of(), st.sampled_from(["a", "b", "c"]))
def test_products_read_what_they_multiply(
    product: tuple[str, tuple[int, ...], tuple[int, ...]], by: str
) -> None:
    """No entry is missing, and where all numbers are positive none is 0."""
    text, a, b = product
    declared = f"var a = full({list(a)}, 2.0); var b = full({list(b)}, 3.0)"
    if by == "c":  # both operands depend on it
        declared = f"var c = arange({int(np.prod(a))}) + 1.0; a = c.reshape({list(a)}); b = c[0] * ones({list(b)})"
    source = f"{declared}; y = {text}; s = jacobian(y, {by}, sparse = true); j = jacobian(y, {by}); output s, j"
    found = outputs(source)
    matrix = found["j"].reshape(found["s"]["shape"])
    np.testing.assert_array_equal(dense(found["s"]), matrix)
    assert len(found["s"]["rows"]) == np.count_nonzero(matrix)


SIZES = [
    ("var x = ones({n}); y = x[1:] * x[:-1]; output jacobian(y, x)", 2),
    (
        "var x = ones({n}); y = x * x[0]; output jacobian(y, x)",
        2,
    ),  # forward: a row has two entries, a column all
    (
        "var x = ones({n}); y = concatenate([x * x[0], [sum(x)]]); output jacobian(y, x, sparse = true)",
        None,
    ),
    (
        "var x = ones({n}); output hessian(sum(x * x[0]), x)",
        2,
    ),  # an arrow: a star colouring needs two
    ("var x = ones({n}); output hessian(sum((x[1:] - x[:-1]**2)**2), x)", 3),
]


@pytest.mark.parametrize(("source", "sweeps"), SIZES)
def test_few_sweeps(source: str, sweeps: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the structure needs, however large: not one a row."""
    asked = []
    swept = Sweeps.all
    monkeypatch.setattr(
        Sweeps,
        "all",
        lambda self, back, colour, n, *kept: asked.append(n) or swept(self, back, colour, n, *kept),
    )
    for n in (20, 40):
        outputs(source.format(n=n).replace("output ", "r = ") + "; output r")
    assert len(set(asked)) == (1 if sweeps else 2)
    assert sweeps is None or asked[0] == sweeps


def test_what_is_kept_depends_on_nothing_but_the_structure() -> None:
    """The same program with other values, shapes and indices: each has its own entries."""
    source = "var x: float[n]; frozen k = [0, 1]; y = take(x, k) * x[:2]; output y"
    for x, k in (
        ([1.0, 2.0], [0, 1]),
        ([3.0, 0.0], [0, 1]),
        ([3.0, 4.0], [1, 0]),
        ([1.0, 2.0, 5.0], [2, 2]),
        ([1.0, 2.0], [1, 0]),
    ):
        program = PROGRAMS.setdefault(
            source, gradcli.load(source=source).with_options(jacobian=True, sparse=True)
        )
        found = program.run(x=x, k=np.array(k)).jacobians["y"]["x"]
        assert places(found) == sorted({(i, j) for i in range(2) for j in (i, k[i])})
        expected = np.zeros((2, len(x)))
        for i in range(2):
            expected[i, k[i]] += x[i]
            expected[i, i] += x[k[i]]
        np.testing.assert_allclose(dense(found), expected)


PROGRAMS: dict[str, Any] = {}
