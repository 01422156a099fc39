"""Regions on the arrays of a device, whose kernels the stand-in for CuPy compiles as C++: they give
what the CPU's interpreter gives, values and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, HEAT, INTERPRETED, NATIVE, only
from gradcli.tasks.evaluation import Evaluation

from ..codegen.cuda_builds import needs_compiler
from ..kernels import training_programs
from ..kernels.hot_and_cold import answer, assert_close, assert_same
from ..lowering import array_functions, large_programs
from ..lowering.large_programs import EDGES, HEAD, Writer, inputs
from . import standin, standin_cuda

pytestmark = needs_compiler
MORE = {
    "along many rows": "z = sum(sum(t * s, axis = 0)**2) + sum(max(t, axis = 0)) + sum(t > 0, axis = 0)[2] * s",
    "several axes at once": "z = sum(sum(e, axis = 0) * s) + sum(sum(e, axis = 2)**2) + sum(sum(e, axis = [0, 2])) + sum(e)",
    "places met again": "i = int64(abs(t) * 99) % 40\nz = sum(y[i] * t) + sum(u[10:] * u[:-10] * u[5:-5]) * s",
    "few elements": "a = array([s, y[3], u[2] * s])\nb = zeros([20])\nfor i in range(20) { b[i] = y[i] * i }\nz = sum(a) * s + sum(b * b) + sum(u * b[2])",
    "counts": "n = sum(u > 0.1)\nm = int64(u * 10)\nz = n * s + sum(m) + max(m) + sum(m * m) + sum(any(x > 1.0, axis = 1)) + sum(all(x > -9.0, axis = 0)) + sum(u) + any(u > 0.5) * s",
    "bools": "b = x > y\nz = sum(where(b == (x < 0.1), x, s)) + sum(b * 2) + sum(u)",
    "random numbers": "z = sum(u * normal([300], std = 0.5)) * s + uniform() * s",
    "functions of SciPy": "z = sum(lgamma(abs(u) + 1.0) * s)",
    "rows": "a, b = vmap(value_and_grad(fn(a, b) = a * exp(-b * b * s), wrt = 1))(u, u)\nz = dot(a, b) + mean(vmap(fn(r, w) = r[0] * w[1] - tanh(r[2] * s), in_axes = [0, none])(t, y))",
    "whole arrays": "a = x[:, :7] @ x[:, :7].T + 9.0 * eye(7)\nz = logdet(a) + sum(solve(a, x[:, 0])) * s + sum(sort(u) * u)",
}  # fmt: skip
# All variables are connected with what is asked for.
PROGRAMS = large_programs.PROGRAMS | {
    name: f"t = reshape(concatenate([u, u[:120]]), [60, 7]) * y[3]\n{body} + sum(x) + sum(e) + sum(y)"
    for name, body in MORE.items()
}


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with standin.installed(monkeypatch, compiles=True):
        yield


def runs(source: str, given: Any, times: int = 3, **options: Any) -> Iterator[Evaluation]:
    """What a program answers again and again."""
    program = gradcli.load(source=source).with_options(**{"mode": "reverse", **options})
    for _ in range(times):
        standin_cuda.launches.clear()
        yield program.run(given)


def last(source: str, given: Any, **options: Any) -> Any:
    *_, found = runs(source, given, **options)
    return found.outputs, found.gradients


def on_cpu(source: str, given: Any, **options: Any) -> Any:
    with only(INTERPRETED):
        return last(source, given, times=1, **options)


def has_kernels() -> bool:
    """Whether the last run launched any."""
    return any(name.startswith("each") for name in standin_cuda.launches)


# ---- whole programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, answered: list[bool]) -> None:
    source = f"{HEAD}{PROGRAMS[name]}\noutput z"
    expected = on_cpu(source, inputs())
    with only(NATIVE, FIRST_USE):
        found = last(source, inputs(), device="cuda")
    assert_close(found, expected, 1e-10, 1e-13)
    assert answered[-1] == has_kernels() is True


@pytest.mark.parametrize("name", ["one pass", "along the first axis", "heat", "twice", "softmax"])
def test_programs_in_float32(name: str, answered: list[bool]) -> None:
    source = f"{HEAD}{PROGRAMS[name]}\noutput z, x * s"
    expected = on_cpu(source, inputs(), dtype="float32")
    with only(NATIVE, FIRST_USE):
        found, gradients = last(source, inputs(), device="cuda", dtype="float32")
    assert found["x * s"].dtype == np.float32
    assert gradients["z"]["x"] is None or gradients["z"]["x"].dtype == np.float32
    assert_close((found, gradients), expected, 2e-4, 2e-5)
    assert answered[-1] == has_kernels() is True


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed: int) -> None:
    source, given = Writer(seed).program(), inputs(seed)
    with only(NATIVE, FIRST_USE):
        found = last(source, given, device="cuda")
    assert_same(found, on_cpu(source, given))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("body", ["x * 2.0 - x", "where(x > 0, x, -x)", "sqrt(abs(x)) / 3.0", "x % 0.75 + floor(x)", "clip(x, -1.0, 2.0)"])  # fmt: skip
def test_arithmetic_has_the_bits_of_the_cpu(body: str, dtype: str) -> None:
    source = f"const x = zeros([40])\nfn f(v) = {body.replace('x', 'v')}\nfor k in range(3) {{ z = f(x) }}\noutput z"
    given = {"x": np.array(([*EDGES, np.inf, -np.inf, np.nan] * 4)[:40])}
    expected, _ = on_cpu(source, given, dtype=dtype)
    with only(NATIVE, FIRST_USE):
        found, _ = last(source, given, device="cuda", dtype=dtype, times=1)
    assert has_kernels()
    assert found["z"].dtype == expected["z"].dtype
    assert found["z"].tobytes() == expected["z"].tobytes()


# ---- hot calls and loops -------------------------------------------------------------------------

LARGE = {", 4)": ", 40)", "3.0, 12), [3, 4]": "3.0, 120), [3, 40]"}
FUNCTIONS = [p for p in array_functions.PROGRAMS if "[4, 1]" not in p and "[1, 2" not in p]


@pytest.mark.parametrize("options", [{"hessian": True}, {"mode": "forward"}], ids=str)
@pytest.mark.parametrize("source", FUNCTIONS[::4])
def test_hot_functions(source: str, options: dict[str, Any]) -> None:
    whole = array_functions.in_function(source)
    for few, many in LARGE.items():
        whole = whole.replace(few, many)
    with only(INTERPRETED):
        expected = answer(whole, **options)
    with only(NATIVE, FIRST_USE):
        assert_close(answer(whole, device="cuda", **options), expected, 1e-9, 1e-12)


@pytest.mark.parametrize("name", list(training_programs.TRAINING)[::8])
def test_hot_loops_that_train(name: str) -> None:
    """Their few numbers are on the device, too, and the CPU computes them."""
    source = training_programs.HEAD + training_programs.TRAINING[name]
    with only(INTERPRETED):
        expected = answer(source)
    with only(NATIVE, FIRST_USE._replace(on_device=HEAT.on_device)):
        assert_close(answer(source, device="cuda"), expected, 1e-9, 1e-12)
    assert not has_kernels()


DESCENT = """\
var w = linspace(0.1, 0.9, 90)
var b = 0.5
x = reshape(linspace(-1.0, 1.0, 4500), [50, 90])
for k in range(40) {
    loss = mean((tanh(x @ w + b) - sin(x[:, 3]))**2)
    g = grad(loss, [w, b])
    w :-= 0.1 * g[0]
    b :-= 0.1 * g[1]
}
v = w
for k in range(20) { v = sin(v * b) + 0.1 * w }
output loss, sum(v * w)
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_loop_that_trains_on_the_device(dtype: str) -> None:
    with only(INTERPRETED):
        expected = answer(DESCENT, dtype=dtype)
    with only(NATIVE, FIRST_USE):
        standin_cuda.launches.clear()
        found = answer(DESCENT, device="cuda", dtype=dtype)
    assert_close(found, expected, 1e-10 if dtype == "float64" else 1e-4, 1e-6)
    assert has_kernels()


# ---- what has no kernel --------------------------------------------------------------------------

FAILING = {
    "an index": ("sum(y[int64(u[:7] * 20 + 21)])", 3, 2.0),
    "a sum of ints": ("sum(int64(u) * 4611686018427387904)", 9, 1.0),
    "a product of ints": ("sum(int64(u) * int64(u) * int64(u))", 8, 3e6),
    "a division of ints": ("sum(7 // int64(u + 1.0))", 8, -1.0),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_told_by_the_interpreter(name: str) -> None:
    body, place, number = FAILING[name]
    source = f"var y = zeros([40])\nvar u = zeros([300])\nz = {body} + sum(u) + sum(y)\noutput z"
    good = {"u": np.linspace(0.0, 0.3, 300), "y": np.ones(40)}
    bad = {**good, "u": good["u"].copy()}
    bad["u"][place : place + 2] = number

    def told(**options: Any) -> Any:
        program = gradcli.load(source=source).with_options(mode="reverse", **options)
        found = [program.run(good).outputs for _ in range(3)]
        launched = has_kernels()
        try:
            return launched, found, [d.message for d in program.run(bad).diagnostics]
        except GradcliError as error:
            return launched, found, [d.message for d in error.diagnostics]

    with only(INTERPRETED):
        _, *expected = told()
    with only(NATIVE, FIRST_USE):
        launched, *found = told(device="cuda")
    assert launched
    assert expected[1]
    assert found == expected


def test_without_a_compiler_the_interpreter_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standin_cuda.RawKernel, "compiles", False)
    source = f"{HEAD}{PROGRAMS['a net']}\noutput z"
    expected = on_cpu(source, inputs())
    with only(NATIVE, FIRST_USE):
        found = last(source, inputs(), device="cuda")
    assert_same(found, expected)
    assert not has_kernels()


# ---- how much there is to launch -----------------------------------------------------------------


def test_a_formula_and_its_gradient_are_one_kernel() -> None:
    source = (
        "var u = zeros([20000])\nvar s = 1.0\n"
        "z = mean(sin(u) * exp(-u * u) + log(1.0 + u * u) * s)\noutput z"
    )
    given = {"u": np.linspace(-1.0, 1.0, 20000), "s": 0.8}
    one_by_one = []
    for tier in (INTERPRETED, NATIVE):
        with only(tier, FIRST_USE._replace(on_device=HEAT.on_device)):
            last(source, given, device="cuda")
        one_by_one.append(len(standin_cuda.launches))
    assert one_by_one[0] > 30
    assert standin_cuda.launches == ["each0", "sum"]


def test_steps_of_a_loop_are_one_kernel_each() -> None:
    source = "const u = zeros([20000])\nv = u\nfor k in range(50) { v = sin(v * 0.5) + u * 0.1 - v * v }\noutput v"
    with only(NATIVE, FIRST_USE._replace(on_device=HEAT.on_device)):
        last(source, {"u": np.linspace(-1.0, 1.0, 20000)}, device="cuda")
    assert len(standin_cuda.launches) < 2 * 50
