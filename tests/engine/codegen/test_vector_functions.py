"""Functions that compute several numbers at once, as kernels on rows call them, against high
precision and against those that compute one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradcli.engine.backends.tiers import policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.codegen.scalars import IN_DOUBLES
from gradcli.engine.formulas.functions import scalar_function
from gradcli.engine.ir.instructions import Block, Constant, Operation, Region, Value
from gradcli.engine.ir.types import F64
from gradcli.ops import OPS

if not policy().compiles or not can_compile(0):
    pytest.skip("there is no machine code here", allow_module_level=True)

from gradcli.engine.codegen.llvm.vectors import ULPS
from gradcli.engine.codegen.llvm_rows.kernels import RowsKernel
from gradcli.engine.codegen.scalars import LIBRARY

SAMPLES = 500
SPECIAL = [0.0, 5e-324, 1e-310, 1e-20, 0.5, 1.0, 2.0, 3.0, 710.0, 746.0, 1024.0, 1e308, math.inf]
SPECIAL = [*SPECIAL, *[-x for x in SPECIAL], math.nan]


def evenly(low: float, high: float) -> Any:
    return np.random.default_rng(1).uniform(low, high, SAMPLES)


def sizes(low: float, high: float) -> Any:
    """Numbers of all sizes between two."""
    return np.exp(evenly(math.log(low), math.log(high)))


def signed(low: float, high: float) -> Any:
    return sizes(low, high) * np.where(np.arange(SAMPLES) % 2, 1.0, -1.0)


POINTS: dict[str, list[tuple[Any, ...]]] = {
    "sin": [(signed(1e-5, 1e5),), (signed(1e5, 1e15),)],
    "cos": [(signed(1e-5, 1e5),), (signed(1e5, 1e15),)],
    "tan": [(signed(1e-5, 1e5),)],
    "asin": [(evenly(-1, 1),)],
    "acos": [(evenly(-1, 1),)],
    "atan": [(signed(1e-5, 1e8),)],
    "sinh": [(signed(1e-6, 700),)],
    "cosh": [(signed(1e-6, 700),)],
    "tanh": [(signed(1e-7, 25),)],
    "asinh": [(signed(1e-7, 1e12),)],
    "acosh": [(1 + sizes(1e-9, 1e9),)],
    "atanh": [(signed(1e-9, 0.999999),)],
    "exp": [(evenly(-708, 709),), (signed(1e-9, 5),)],
    "exp2": [(evenly(-1022, 1023),)],
    "expm1": [(signed(1e-12, 36),), (evenly(0, 700),)],
    "log": [(sizes(1e-300, 1e300),), (evenly(0.6, 1.4),)],
    "log2": [(sizes(1e-300, 1e300),), (evenly(0.6, 1.4),)],
    "log10": [(sizes(1e-300, 1e300),), (evenly(0.6, 1.4),)],
    "log1p": [(signed(1e-12, 0.999),), (sizes(1e-3, 1e30),)],
    "cbrt": [(signed(1e-300, 1e300),)],
    "erf": [(signed(1e-9, 6),)],
    "erfc": [(evenly(-6, 26),)],
    "pow": [(sizes(1e-5, 1e5), evenly(-50, 50)), (evenly(0.999, 1.001), evenly(-1e5, 1e5)[::-1])],
    "atan2": [(evenly(-9, 9), evenly(-9, 9)[::-1]), (signed(1e-9, 1e9), evenly(-1, 1))],
    "hypot": [
        (evenly(-9, 9), evenly(-9, 9)[::-1]),
        (signed(1e-300, 1e300), sizes(1e-300, 1e300)[::-1]),
    ],
}
EXACT: dict[str, Callable[..., Any]] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "pow": mpmath.power,
}


def on_rows(name: str, *columns: Any) -> Any:
    """A function of the table on columns, by a kernel."""
    parameters, result = tuple([Value(F64) for _ in columns]), Value(F64)
    made = Operation(OPS[name], parameters, result)
    region = Region("f", Block(parameters, [made], (result,)))
    kernel = RowsKernel(region, [], [True] * len(columns))
    (found,), stepped_back = kernel.run(len(columns[0]), columns)
    assert not stepped_back.any()
    return found


def test_every_function_is_measured() -> None:
    assert POINTS.keys() == LIBRARY | IN_DOUBLES.keys()


@pytest.mark.parametrize("name", POINTS)
def test_against_high_precision(name: str) -> None:
    exact = EXACT.get(name) or getattr(mpmath, name)
    for columns in POINTS[name]:
        found = on_rows(name, *map(np.ascontiguousarray, columns))
        with mpmath.workprec(160):
            for k, got in enumerate(found.tolist()):
                wanted = exact(*[mpmath.mpf(float(column[k])) for column in columns])
                ulp = math.ulp(float(wanted))
                assert abs(mpmath.mpf(got) - wanted) <= ULPS * ulp, [c[k] for c in columns]


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_a_bell(scale: float) -> None:
    """The slope of `erf`, which isn't one function of the library: few ulps also far out, where the
    square of x is rounded by many."""
    x = np.concatenate([signed(1e-9, 26), [0.0, -0.0, 99.0, 1e4, 1e200, math.inf, -math.inf]])
    found = on_rows("bell", x, np.full_like(x, scale))
    with mpmath.workprec(160):
        for at, got in zip(x.tolist(), found.tolist(), strict=True):
            wanted = float(mpmath.exp(-scale * mpmath.mpf(at) ** 2))
            assert abs(got - wanted) <= (ULPS + 1) * math.ulp(wanted), at
    assert np.isnan(on_rows("bell", np.array([math.nan]), np.array([scale]))).all()


@pytest.mark.parametrize("name", POINTS)
def test_special_values(name: str) -> None:
    """Zeros with their signs, denormals, infinities and nan."""
    count = len(POINTS[name][0])
    columns = np.array(np.meshgrid(*[SPECIAL] * count)).reshape(count, -1)
    found, function = on_rows(name, *columns), scalar_function(OPS[name])
    for k, got in enumerate(found.tolist()):
        wanted = function(*columns[:, k].tolist())
        if wanted == 0 or not math.isfinite(wanted):
            assert str(got) == str(wanted), columns[:, k]
        else:
            assert abs(got - wanted) <= (ULPS + 1) * math.ulp(wanted), columns[:, k]


def power_on_rows(x: Any, exponent: float) -> Any:
    """A power whose exponent is known."""
    base, power, result = Value(F64), Value(F64), Value(F64)
    made = [Constant(exponent, power), Operation(OPS["pow"], (base, power), result)]
    (found,), _ = RowsKernel(Region("f", Block((base,), made, (result,))), [], [True]).run(
        len(x), (x,)
    )
    return found


@pytest.mark.parametrize("exponent", [*range(-16, 0), *range(1, 17)])
def test_whole_powers(exponent: int) -> None:
    """As products, with zeros, denormals, infinities and nan; most are rounded once."""
    x = np.concatenate([signed(1e-30, 1e30), signed(0.5, 2.0), SPECIAL])
    found, function = power_on_rows(x, float(exponent)), scalar_function(OPS["pow"])
    most = 2.0 if exponent in (2, 3) else 0.51
    with mpmath.workprec(160):
        for at, got in zip(x.tolist(), found.tolist(), strict=True):
            wanted = function(at, float(exponent))
            if wanted == 0 or not math.isfinite(wanted):
                assert str(got) == str(wanted), at
            elif abs(wanted) < 1e-290:  # of which the rests have no digits
                assert abs(got - wanted) <= max(math.ulp(wanted), 1e-15 * abs(wanted)), at
            else:
                error = abs(mpmath.mpf(got) - mpmath.mpf(at) ** exponent)
                assert error <= most * math.ulp(wanted), at
