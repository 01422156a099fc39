"""Every entry of the op table on rows, on the stand-in for a GPU: forwards and backwards nothing
mixes arrays of the host and of the device, and rows give what they give on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.backend import ieee
from gradcli.engine.values.lanes import Group, Lanes
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ...ops.exact import REAL, points
from ...ops.structural_cases import CASES, IDS
from ..devices import standin
from ..devices.device_session import DeviceSession
from .lane_rows import gradient, masks, operands, push, second, value


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with standin.installed(monkeypatch), ieee():
        yield


def compare(what: Callable[..., Any], function: Callable[..., Any], given: list[Any]) -> None:
    here, there = what(function, given), what(function, given, DeviceSession)
    if type(here) is not list:
        here, there = [here], [there]
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        agree(a, b)


def agree(here: Any, there: Any) -> None:
    """The same rows, which are on the device. Sums of what rows share are added up in another order
    there."""
    if type(here) is Lanes:
        assert type(there) is Lanes
        here, there = here.array, there.array
    if isinstance(here, np.ndarray):
        assert type(there) is standin.ndarray
        assert there.dtype == here.dtype
        there = there.get()
    size = np.abs(np.where(np.isfinite(here), here, 0)).max(initial=0)
    np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-13 * size)


def of_points(op: Op) -> tuple[Callable[..., Any], list[Any]]:
    """An elementwise op at its points, as a function of the arguments that can be
    differentiated."""
    at = points(op)
    n = op.partials.count(None)
    orders = at[0][:n]
    columns = [
        np.array(column)
        for column in zip(*(point[n:] for point in at if point[:n] == orders), strict=True)
    ]
    columns = [column[:5] for column in columns]
    return lambda m, *xs: m.call(op.name, (*orders, *xs)), columns


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_elementwise(op: Op) -> None:
    """Numbers a row and vectors a row, beside lanes and beside what the rows share."""
    function, columns = of_points(op)
    turned = [np.stack([column, column[::-1]], axis=-1) for column in columns]
    for values in (columns, turned):
        group = Group(values[0].shape[-1])
        for mask in masks(len(values)):
            shared = [v[..., 0].copy() if v.ndim > 1 else v[0].item() for v in values]
            given = [
                Lanes(v, group) if own else one
                for v, own, one in zip(values, mask, shared, strict=True)
            ]
            for what in (value, gradient, push):
                compare(what, function, given)
    group = Group(columns[0].size)
    compare(second, function, [Lanes(v, group) for v in columns])


@pytest.mark.parametrize(("name", "k"), IDS)
def test_structural(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    for mask in masks(len(values)):
        given, _ = operands(tuple(values), mask)
        for what in (value, gradient, push):
            compare(what, function, given)
    compare(second, function, operands(tuple(values), (True,) * len(values))[0])


# What has no derivative, or isn't called like a function: of a row `v` of three floats, `n` of ints
# and a number `s`.
OTHERS = {
    "all": "all(v > 0)", "any": "any(v > 0)", "append": "append([s, s], s)",
    "arange": "arange(3) * s",
    "argmax": "argmax(v)", "argmin": "argmin(v)", "argsort": "v[argsort(v)]",
    "array": "array([s, v[0]])",
    "count_nonzero": "count_nonzero(v)", "detach": "detach(v) * s", "enumerate": "e(s)",
    "eq": "s == v", "ne": "s != v", "lt": "s < v", "le": "s <= v", "gt": "s > v", "ge": "s >= v",
    "eye": "eye(3) * v",
    "float32": "float32(v)", "int64": "int64(v * 9)", "isfinite": "isfinite(v)",
    "isinf": "isinf(1 / (v - v))",
    "isnan": "isnan(v)", "len": "len([s]) * s", "logical_not": "not s > 0",
    "logical_and": "logical_and(s > 0, v < 1)", "logical_or": "logical_or(s > 0, v < 1)",
    "one_hot": "one_hot(n, 4)",
    "ones": "ones(2) * s", "ones_like": "ones_like(v)", "zeros": "zeros(2) + s",
    "zeros_like": "zeros_like(v)",
    "range": "e(s)", "zip": "e(s)",
    "real": "real(v * (1 + 2j))", "imag": "imag(v * (1 + 2j))", "angle": "angle(v * (1 + 2j))",
    "normal": "normal([2]) * s", "uniform": "uniform([2]) * s", "randint": "randint(0, 9) * s",
    "permutation": "permutation(v)",
    "stop_gradient": "stop_gradient(v) * s", "median_weights": "grad(median)(v)",
    "quantile_slope": "grad(q)(s)",
    "interp_segments": "grad(i)(s)", "setitem": "w(v, s)", "index_add": "grad(t)(v)",
    "part": "eigh(outer(v, v) + eye(3))[0]",
    "grad": "grad(f)(v)", "value_and_grad": "value_and_grad(f)(v)[1]", "jacobian": "jacobian(g)(v)",
    "hessian": "hessian(f)(v)",
    "hvp": "hvp(f)(v, v)", "vjp": "vjp(g)(v, v)", "jvp": "jvp(g)(v, v)",
    "value_and_jvp": "value_and_jvp(g)(v, v)[1]",
    "vmap": "vmap(h)(v)", "batch_jacobian": "batch_jacobian(l)(outer(v, v))", "backward": "b(v)",
    "attach_grad": "b(v)",
}  # fmt: skip
FUNCTIONS = """
fn f(v) = sum(v**3 * v[0])
fn g(v) = v**2 * v[0]
fn h(a) = a**2 if a > 0 else -a
fn q(s) = ndtri(0.5 + s / 10)
fn i(s) = interp(s, [-2.0, 0.0, 2.0], [1.0, 0.0, 3.0])
fn t(v) = sum(v[[0, 2, 0]] ** 2)
fn w(v, s) {
    a = v * 1
    a[1:] = s
    a[0] *= 2
    return a
}
fn l(x) = x**2 * x[0]
fn e(s) {
    y = 0.0
    for n, a in enumerate([s, s**2]) { y += n * a }
    for a, c in zip([s, 2.0], [s, s]) { y += a * c }
    for n in range(3) { y *= n + 1 }
    return y
}
fn b(v) {
    z = v * 1
    z.attach_grad()
    record { y = sum(z**2 * z[0]) }
    y.backward()
    return z.grad
}
"""


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_others(name: str, dtype: str) -> None:
    text = f"const V: float[r, 3]\nconst N: int64[r, 3]\nconst S: float[r]\n{FUNCTIONS}\n"
    text += f"fn row(v, n, s) = {OTHERS[name]}\noutput vmap(row)(V, N, S)"
    inputs = {
        "V": np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [3.0, 1.0, 2.5], [-0.5, 0.75, 1.0]]),
        "N": np.array([[0, 1, 2], [3, 1, 0], [2, 2, 1], [0, 0, 3]]),
        "S": np.array([0.5, -0.25, 1.5, 0.125]),
    }
    program = gradcli.load(source=text).with_options(dtype=dtype, grad=False)
    here, there = (
        program.run(inputs).outputs,
        program.with_options(device="cuda").run(inputs).outputs,
    )
    np.testing.assert_equal(there, here)


def test_every_op_is_among_them() -> None:
    lanes = {
        op.name for op in OPS.values() if op.category == "lanes"
    }  # which every condition and every vmap takes
    inside = lanes | {"fixed"}  # which only regions have
    assert OPS.keys() - inside - {op.name for op in REAL} - CASES.keys() - OTHERS.keys() == set()


ADDED = {
    "complex": "x = v * (1 + 2j)\n    return abs(grad(t)(x))",
    "whole": "return scatter_add(n, [0, 2, 0], n * 3)",
    "float": "return scatter_add(v, [0, 2, 0], v * 3)",
}


@pytest.mark.parametrize("name", ADDED)
def test_elements_are_added_up_where_they_came_from(name: str) -> None:
    """CuPy adds up real floats only, and unsigned whole numbers."""
    text = "const V: float[r, 3]\nconst N: int64[r, 3]\nfn t(v) = sum(real(v[[0, 2, 0]] ** 2))\n"
    text += (
        f"fn row(v, n) {{\n    {ADDED[name]}\n}}\noutput vmap(row)(V, N)\noutput row(V[0], N[0])"
    )
    inputs = {
        "V": np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]),
        "N": np.array([[0, 1, -2], [3, -(2**60), 0]]),
    }
    program = gradcli.load(source=text).with_options(grad=False)
    np.testing.assert_equal(
        program.with_options(device="cuda").run(inputs).outputs, program.run(inputs).outputs
    )
