"""Sorts of few elements, which compiled code does by exchanges: the bits are those of NumPy, also
of nan and of both zeros."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.tiers import NATIVE, WRITTEN
from gradcli.engine.codegen.kernel import refused_on_rows
from gradcli.engine.codegen.python.regions import compiled
from gradcli.engine.ir.builder import Builder
from gradcli.engine.ir.instructions import Block, Region, Structural, Value, every
from gradcli.engine.ir.types import F64, I64, ArrayType
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.arrays.written_entries import MOST_SORTED
from gradcli.engine.passes.expansion import expand
from gradcli.ops import OPS

from ..derivatives.random_programs import RELAXED
from ..kernels.hot_and_cold import assert_same_in

NUMBERS = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5]


def region(kind: ArrayType, name: str, axis: int | None = -1) -> Region:
    array = Value(kind)
    builder = Builder(block := Block((array,)))
    block.results = tuple(builder.structural(OPS[name], [array], {"axis": axis}))
    return Region("r", block)


@settings(RELAXED, max_examples=40)
@given(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=MOST_SORTED))
def test_floats(numbers: list[float]) -> None:
    array = np.array(numbers)
    for name, wanted in (("sort", np.sort), ("argsort", np.argsort)):
        expanded = expand(region(ArrayType(F64, array.shape), name))
        verify([expanded])
        (found,) = compiled(expanded)(array)
        assert found.tobytes() == wanted(array, kind="stable").tobytes()


def test_ints() -> None:
    array = np.array([3, -1, 3, 2**62, 0])
    for name, wanted in (("sort", np.sort), ("argsort", np.argsort)):
        (found,) = compiled(expand(region(ArrayType(I64, (5,)), name)))(array)
        assert found.tobytes() == wanted(array, kind="stable").tobytes()


@pytest.mark.parametrize(
    ("shape", "axis"), [((MOST_SORTED + 1,), -1), ((2, 3), -1), ((2, 2), 0), ((4,), None)]
)
def test_what_stays_a_call(shape: tuple[int, ...], axis: int | None) -> None:
    expanded = expand(region(ArrayType(F64, shape), "sort", axis))
    assert any(isinstance(made, Structural) for made in every(expanded.block))


PROGRAM = """var x = 0.3
var w = [1.0, -0.5, 0.25]
fn f(x) {
    v = sort([x * 2, w[0], x - w[1], w[2], x * x])
    k = argsort([x, w[0] * x, w[2]])
    return v[0] * v[1] - v[4] * x + k[0] * w[1] + sum(sort(w) * [1, 2, 3])
}
s = f(x)
r = sum(vmap(f)(linspace(-2.0, 2.0, 500) * x))
output s, r, grad(f)(x)"""


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_programs(tier: int) -> None:
    assert_same_in(tier, PROGRAM)


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_kernels_on_rows(name: str) -> None:
    made = region(ArrayType(F64, (MOST_SORTED,)), name)
    assert refused_on_rows(made)
    assert not refused_on_rows(expand(made))
