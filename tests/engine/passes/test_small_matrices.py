"""Linear algebra on small matrices, which compiled code does by operations on their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, only
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.builder import Builder
from gradcli.engine.ir.instructions import Block, Region, Structural, Value, every
from gradcli.engine.ir.types import F64, ArrayType
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.arrays.small_matrices import MOST
from gradcli.engine.passes.expansion import expand
from gradcli.ops import OPS

from ..derivatives.random_programs import RELAXED
from ..kernels.hot_and_cold import assert_same, run_again

SIZES = range(1, MOST + 1)
# By names of entries: the other operands' axes beside the rows, the options, and what NumPy gives.
ENTRIES: dict[str, tuple[list[list[int]], dict[str, Any], Callable[..., Any]]] = {
    "inv": ([], {}, np.linalg.inv),
    "solve": ([[2]], {}, np.linalg.solve),
    "solve of a vector": ([[]], {}, lambda a, b: np.linalg.solve(a, b[:, None])[:, 0]),
    "solve_triangular": ([[3]], {}, lambda a, b: np.linalg.solve(np.triu(a), b)),
    "solve_triangular, lower": (
        [[1]],
        {"lower": True},
        lambda a, b: np.linalg.solve(np.tril(a), b),
    ),
    "det": ([], {}, np.linalg.det),
    "logdet": ([], {}, lambda a: np.linalg.slogdet(a)[1]),
    "cholesky": ([], {}, lambda a: np.linalg.cholesky((a + a.T) / 2)),
    "cofactors": ([], {}, lambda a: np.linalg.det(a) * np.linalg.inv(a).T),
    "cofactors_along": ([None], {}, lambda a, t: _along(a, t)),  # type: ignore[list-item]
}


def _along(a: Any, t: Any) -> Any:
    inverse = np.linalg.inv(a)
    both = np.trace(inverse @ t) * inverse - inverse @ t @ inverse
    return np.linalg.det(a) * both.T


def region(name: str, n: int) -> Region:
    """A region that applies an entry to matrices of `n` rows."""
    others, options, _ = ENTRIES[name]
    op = OPS[name.split(",")[0].split(" ")[0]]
    shapes = [(n, n), *[(n, n) if axes is None else (n, *axes) for axes in others]]
    given = tuple([Value(ArrayType(F64, shape)) for shape in shapes])
    builder = Builder(block := Block(given))
    block.results = tuple(builder.structural(op, given, options))
    return Region("r", block)


def matrices(name: str, n: int, seed: int, definite: bool = False) -> list[Any]:
    random = np.random.default_rng(seed)
    given = [random.normal(size=value.type.shape) for value in region(name, n).block.parameters]  # type: ignore[union-attr]
    given[0] = given[0] @ given[0].T if definite else given[0]
    return given


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("n", SIZES)
def test_what_numpy_gives(name: str, n: int) -> None:
    written = expand(region(name, n))
    verify([written])
    assert not any(isinstance(made, Structural) for made in every(written.block))
    for seed in range(20):
        given = matrices(name, n, seed, definite=name == "cholesky")
        if np.linalg.cond(given[0]) < 1e6:
            [found] = compiled(written)(*given)
            wanted = ENTRIES[name][2](*given)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@settings(RELAXED, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, MOST), st.floats(-30, 0))
def test_digits_that_cancel(seed: int, n: int, exponent: float) -> None:
    """A matrix that is almost singular is left to the interpreter; of others, the solution is as
    good as NumPy's."""
    a, b = matrices("solve", n, seed)
    a[0] = a[-1] + a[0] * 10.0**exponent
    try:
        [found] = compiled(expand(region("solve", n)))(a, b)
    except StepBack:
        assert np.linalg.cond(a) > 1e3
        return
    assert np.linalg.cond(a) < 1e12
    np.testing.assert_allclose(a @ found, b, atol=1e-9 * (1 + np.abs(found).max()))


@pytest.mark.parametrize("name", ["inv", "solve", "solve_triangular", "det", "logdet", "cholesky"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_what_the_interpreter_decides(name: str, n: int, value: float) -> None:
    given = matrices(name, n, 0, definite=True)
    given[0][:] = value
    with pytest.raises(StepBack):
        compiled(expand(region(name, n)))(*given)


@pytest.mark.parametrize("name", ["inv", "det", "cofactors"])
def test_larger_matrices_stay_calls(name: str) -> None:
    made = region(name, MOST + 1)
    assert expand(made).block.instructions[0].results == made.block.results


PROGRAM = """
var a = array([[0.0, 2.0, 0.5], [1.0, 0.25, -1.0], [0.5, -0.75, 1.5]])
var b = array([1.0, -2.0, 0.5])
fn f(a, b) {
    l = cholesky(a @ a.T + eye(3))
    x = solve_triangular(l, b, lower = true)
    return sum(solve(a, b)**2) + logdet(a) * det(a) + sum(inv(a)[0]) + x @ x
}
"""


@pytest.mark.parametrize(
    "asked",
    [
        "output f(a, b)",
        "output grad(fn(a) = sum(sin(grad(f)(a, b))))(a)",
        "output jvp(fn(a) = sum(sin(grad(f)(a, b))))(a, v = a * 0.5)",
        "output sum(vmap(fn(k) = f(a + k * eye(3), b * k))(arange(40) * 0.125 + 1.0))",
    ],
)
def test_derivatives_and_rows(asked: str) -> None:
    with only(heat=FIRST_USE):
        found = run_again(PROGRAM + asked)
    with only(INTERPRETED):
        wanted = run_again(PROGRAM + asked, times=1)
    assert_same(found, wanted)
