"""Sweeps as lanes give what they give one after another; inside and around rows that a program has
itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.engine.jacobian import compressed, seeds

from ..derivatives.random_programs import RELAXED, Program, points, programs
from ..derivatives.sparse_entries import dense
from ..programs import evaluate, outputs

ALONE, TOGETHER = 1e9, -1.0


@contextmanager
def lanes(
    cost: float, together: int = seeds.TOGETHER, few: int = compressed.FEW_SWEEPS
) -> Iterator[None]:
    """What lanes are taken to cost, how many elements go together, and up to how many rows no
    structure is looked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "LANES", cost)
        patch.setattr(seeds, "TOGETHER", together)
        patch.setattr(compressed, "FEW_SWEEPS", few)
        yield


def agree(found: Any, expected: Any) -> None:
    assert (found is None) == (expected is None)
    if isinstance(expected, dict | list):
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            agree(found[key], expected[key])
    elif expected is not None:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(
            found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0.0))
        )


ASKED = """
j = [jacobian(y, [x, v], mode = "{0}"), hessian(y, v, mode = "{0}")]
{1}
output j, y
"""


@settings(RELAXED, max_examples=30)
@given(
    st.sampled_from(["scalar", "vector"]).flatmap(programs),
    points,
    st.sampled_from(["auto", "forward", "reverse"]),
)
def test_random_programs(program: Program, point: tuple[float, np.ndarray], mode: str) -> None:
    """By lanes and by single sweeps, recorded and not, from inside and from outside, with the
    structure and without."""
    inputs = dict(zip("xv", point, strict=True))
    options: dict[str, Any] = {
        "of": ["y"],
        "wrt": ["x", "v"],
        "jacobian": True,
        "hessian_blocks": True,
        "grad": False,
        "mode": mode,
    }
    plain = program.source + ASKED.format(mode, "")
    recorded = program.source + ASKED.format(
        mode, "r = none if j[0][1] == none else grad(sum(j[0][1]), v)"
    )
    with lanes(ALONE):
        expected = evaluate(plain, inputs, **options)
    for few, together in ((compressed.FEW_SWEEPS, seeds.TOGETHER), (0, 2)):
        with lanes(TOGETHER, together, few):
            for source in (plain, recorded):
                found = evaluate(source, inputs, **options)
                agree(found.outputs["j"], expected.outputs["j"])
                agree([found.jacobians, found.hessians], [expected.jacobians, expected.hessians])


MOVED = [
    "concatenate([x[:-1], 2.0*x, x[::-1]])*concatenate([x, x, x[1:]])",
    "concatenate([m[0], [1.0], m[:, 1]*x[0]])",
    "concatenate([m, m[:1]*2.0, ones([2, 5])], axis = 0)",
    "concatenate([m, m[:, 1::2]**2, ones([4, 1])], axis = -1)[1:, 2]",
    "m[1:3, ::-1] - m[-1, 0]*m[:2]",
    "m[..., 2] + m[2][none, :4]*m[[0, 0, 1, 3], 1]",
    "x[2]*x + x[1:]@m[:, 0] + x[2:5].sum()",
    "concatenate([x, real(complex128(x)*1j*x), imag(complex128(x[:3])*x[0]*2j)])",
    "concatenate([float32(x[:2]), x])",
    "concatenate([x if sum(x) > 0.0 else m[0], x])[1:][1:][1:]",
]


@pytest.mark.parametrize("moved", MOVED)
def test_what_moves_elements(moved: str) -> None:
    source = f"var x = linspace(0.3, 1.7, 5); var m = reshape(linspace(-1.0, 2.0, 20), [4, 5]); y = sin({moved}); output y"
    found = []
    for cost in (ALONE, TOGETHER):
        with lanes(cost, few=0):
            answer = evaluate(source, jacobian=True, hessian_blocks=True, grad=False)
            found.append([answer.jacobians, answer.hessians])
    agree(found[1], found[0])


def test_chunks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sweep has more lanes than fit into the bound, and all rows are there."""
    rows: list[int] = []
    on_lanes = seeds.Sweeps.on_lanes
    monkeypatch.setattr(
        seeds.Sweeps,
        "on_lanes",
        lambda self, ask, seeds, n: rows.append(n) or on_lanes(self, ask, seeds, n),
    )
    source = "var x = linspace(0.1, 1.0, 40); y = cumsum(sin(x)) * sum(x); output y"
    with lanes(ALONE):
        expected = evaluate(source, jacobian=True).jacobians["y"]["x"]
    for together, largest in ((40 * 7, 7), (40 * 40, 40), (1, None)):
        rows.clear()
        with lanes(TOGETHER, together):
            agree(evaluate(source, jacobian=True).jacobians["y"]["x"], expected)
        assert max(rows, default=None) == largest
        assert sum(rows) in (0, 40)


F = "fn f(x) { y = x[1:] * x[:-1]**2; return y * sum(y) if x[0] > 2 else y }\n"
ROWS = "xs = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n"

# What is asked with rows of the program's own, and the same without.
WITH_ROWS = [
    ("vmap(jacobian(f))(xs)", "[jacobian(f)(xs[0]), jacobian(f)(xs[1])]"),
    ('vmap(jacobian(f, mode = "forward"))(xs)', "[jacobian(f)(xs[0]), jacobian(f)(xs[1])]"),
    ("vmap(hessian(fn(x) = sum(f(x))))(xs)",
        "[hessian(fn(x) = sum(f(x)))(xs[0]), hessian(fn(x) = sum(f(x)))(xs[1])]"),
    ("jacobian(vmap(f))(xs)[1, :, 1]", "jacobian(f)(xs[1])"),
    ("jacobian(vmap(f))(xs)[1, :, 0]", "zeros([2, 3])"),
    ("vmap(fn(x) = jacobian(fn(x) = x[1:]**3, sparse = true)(x).values)(xs)",
        "3 * xs_array[:, 1:]**2"),
    ("vmap(fn(x) = jacobian(fn(y) = jacobian(f)(y))(x))(xs)",
        "[jacobian(jacobian(f))(xs[0]), jacobian(jacobian(f))(xs[1])]"),
    ("vmap(fn(x) = vmap(fn(w) = jacobian(fn(z) = f(z) * w)(x))([1.0, 2.0]))(xs)[1, 1]",
        "2 * jacobian(f)(xs[1])"),
    ("vmap(fn(w) = jacobian(f(v * w), v))([1.0, 3.0])",
        "[jacobian(f(v), v), jacobian(f(v * 3.0), v)]"),
]  # fmt: skip


@pytest.mark.parametrize("cost", [ALONE, TOGETHER])
@pytest.mark.parametrize(("asked", "single"), WITH_ROWS)
def test_with_rows(asked: str, single: str, cost: float) -> None:
    source = f"{F}{ROWS}var v = [1.0, -0.5, 2.5]\nxs_array = array(xs)\na = array({asked})\nb = array({single})\noutput a, b"
    with lanes(cost):
        found = outputs(source)
    agree(found["a"], found["b"])


# Rows that read what they share, and some that have nothing of their own: the derivative by it.
OF_WHAT_ROWS_SHARE = [
    ("vmap(fn(k) = w[k]**2)([2, 0, -1])", [[0, 0, 6], [2, 0, 0], [0, 0, 6]]),
    ("vmap(fn(k) = m[k, 1]*w[1:])([2, 0])", [[0, 5, 0], [0, 0, 5], [0, 1, 0], [0, 0, 1]]),
    ("vmap(fn(k) = w[[k, 1]])([2, 0])", [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]]),
    ("vmap(fn(k) = w[k] if k > 0 else 3*w[1])([2, 0])", [[0, 0, 1], [0, 3, 0]]),
    ("vmap(fn(k) = sum(vmap(fn(j) = w[j]*w[k])([0, k])))([2, 1])", [[3, 0, 7], [2, 5, 0]]),
    ("vmap(fn(k) = w)([2, 0])", [[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 2),
    ("sin(vmap(fn(k) = w[0])([2, 0]) - 1)", [[1, 0, 0], [1, 0, 0]]),
    ("vmap(fn(k) = vmap(fn(j) = w[2]*2)([1, 2]))([2, 0])", [[0, 0, 2]] * 4),
]  # fmt: skip


@pytest.mark.parametrize("cost", [ALONE, TOGETHER])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(("rows", "expected"), OF_WHAT_ROWS_SHARE)
def test_of_what_rows_share(rows: str, expected: Any, mode: str, cost: float) -> None:
    source = (
        f"var w = [1.0, 2.0, 3.0]; const m = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]\ny = {rows}\n"
    )
    asked = f'jacobian(y, w, mode = "{mode}"), jacobian(y, w, mode = "{mode}", sparse = true)'
    with lanes(cost), only(tier=INTERPRETED):
        whole, sparse = outputs(f"{source}output {asked}").values()
        program = gradcli.load(source=f"{source}output y").with_options(
            grad=False, jacobian=True, mode=mode
        )
        (row,) = program.run().jacobians.values()
    for found in (whole, dense(sparse), row["w"]):
        np.testing.assert_array_equal(np.reshape(found, np.shape(expected)), expected)
