"""Functions on Python floats: IEEE's answers as NumPy gives them, never an exception; and exact
ints that stay small."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gradcli.engine.backends.backend import CPU, ieee
from gradcli.engine.formulas import scalars
from gradcli.engine.formulas.functions import array_function, scalar_function
from gradcli.ops import OPS
from gradcli.ops.op import Op

EDGES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    2.5,
    -8.0,
    3.0,
    1000.0,
    -1000.0,
    1e308,
    -1e308,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
]
SPECIAL = [op for op in OPS.values() if op.kernel or ":" in op.primitive]
PRIMITIVES = [
    op for op in OPS.values() if op.elementwise and op.forward is None and op not in SPECIAL
]


@pytest.mark.parametrize("op", PRIMITIVES, ids=lambda op: op.name)
def test_floats_answer_as_numpy_does(op: Op) -> None:
    n = len(op.signature.operands)
    random = [tuple(row) for row in np.random.default_rng(3).normal(scale=3, size=(50, n)).tolist()]
    for point in [*itertools.product(EDGES, repeat=n), *random]:
        with np.errstate(all="ignore"):
            want = CPU.function(op)(*(np.array([x]) for x in point))[0]
        got = getattr(scalars, op.name)(*point)
        assert type(got) in (float, bool), op.name
        if math.isnan(want):
            assert math.isnan(got), f"{op.name}{point}: {got} for nan"
        else:
            assert got == pytest.approx(float(want), rel=5e-16, abs=0), f"{op.name}{point}"
            assert (
                abs(got) > 0
                or op.integers == "bool"
                or math.copysign(1, got) == math.copysign(1, want)
            ), f"{op.name}{point}"


@pytest.mark.parametrize("op", SPECIAL, ids=lambda op: op.name)
def test_floats_answer_as_arrays_do(op: Op) -> None:
    n, orders = len(op.signature.operands), op.partials.count(None)
    points = [(1.0,) * orders + at for at in itertools.product(EDGES, repeat=min(n - orders, 2))]
    for point in (
        points if n - orders < 3 else [(*point, x) for point in points for x in (0.0, 0.3, 1.0)]
    ):
        with ieee():
            want = array_function(CPU, op)(
                *point[:orders], *(np.array([x]) for x in point[orders:])
            )[0]
            got = scalar_function(op)(*point)
        assert type(got) is float
        assert got == pytest.approx(float(want), rel=2e-14, abs=0, nan_ok=True), f"{op.name}{point}"


@pytest.mark.parametrize("name", scalars.FAST)
def test_the_fast_function_agrees_or_raises(name: str) -> None:
    if name not in OPS:
        pytest.skip("not in the table yet")
    for point in itertools.product(EDGES, repeat=len(OPS[name].signature.operands)):
        try:
            fast = scalars.FAST[name](*point)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        assert str(fast) == str(getattr(scalars, name)(*point)), f"{name}{point}"


def test_ints_have_their_function_and_are_exact() -> None:
    keep = {op.name for op in OPS.values() if op.elementwise and op.integers == "keep"}
    assert set(scalars.INTEGER) == keep
    power = scalars.INTEGER["pow"]
    assert power(3, 39) == 3**39
    assert power(2, -1) == 0.5
    assert power(-1, 10**10 + 1) == -1
    for base, exponent in ((-3, 2**63 - 1), (10**10, 10), (2, 10**10**2)):
        with pytest.raises(OverflowError):
            power(base, exponent)
    assert scalars.INTEGER["fmod"](-7, 3) == -1
    assert scalars.INTEGER["mod"](-7, 3) == 2
    with pytest.raises(ZeroDivisionError):
        scalars.INTEGER["floordiv"](1, 0)
