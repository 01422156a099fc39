"""Runs in float32: what is compiled of them gives the interpreter's numbers, arithmetic to the last
bit, functions and products of arrays up to the rounding of a float32."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.backend import CPU, ieee
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.codegen.llvm import functions as llvm
from gradcli.engine.codegen.python import regions as python
from gradcli.engine.formulas.functions import array_function
from gradcli.engine.ir.types import F32
from gradcli.engine.ir.verifier import verify
from gradcli.engine.lowering.programs import lower_program
from gradcli.ops import OPS

from ..domain_points import points
from ..lowering import array_loops, array_programs, loop_programs, region_cases
from ..lowering.region_ops import SCALAR_OPS, operation
from .hot_and_cold import answer, assert_close

EPS = 2.0**-23
HARD = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.25, 88.1, -103.2, 2.0**24, math.pi),
    *(math.inf, -math.inf, math.nan, 1e-45, -1e-45, 3e38, -3e38),
]
# Ops that are rounded as IEEE 754 asks for, and choices.
EXACT = {
    "add", "sub", "mul", "div", "neg", "pos", "sqrt", "abs", "floor", "ceil", "trunc", "round",
    "sign", "square", "minimum", "maximum", "clip", "copysign", "mod", "fmod", "floordiv", "where",
    "strict_mul", "relu", "isnan", "isinf", "isfinite", "logical_not", "logical_and", "logical_or", "lt", "le", "gt", "ge", "eq",
    "ne",
}  # fmt: skip


def _points(name: str) -> Iterator[list[Any]]:
    op, random = OPS[name], Random(name)
    count = len(op.signature.operands)
    if op.category == "special":  # which are slow outside of their domains
        found = [list(point) for point in points(op)]
    else:
        hard = [list(point) for point in product(HARD, repeat=count)]
        found = random.sample(hard, min(len(hard), 200))
        for _ in range(200):
            found.append([random.gauss(0, 1) * 10 ** random.uniform(-3, 3) for _ in range(count)])
    for point in found:
        numbers: list[Any] = list(map(np.float32, point))
        yield [point[0] > 0, *numbers[1:]] if name == "where" else numbers


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_operations_are_those_of_the_interpreter(name: str) -> None:
    region, op = operation(name, F32), OPS[name]
    function = np.where if name == "where" else array_function(CPU, op)
    text, code = python.compiled(region), llvm.compiled(region)
    with ieee():
        for point in _points(name):
            wanted = CPU.settle(function(*point))
            for compiled in (text, code):
                [found] = compiled(*point)
                assert type(found) is type(wanted)
                if name in EXACT or compiled is text:
                    np.testing.assert_array_equal(found, wanted)
                    assert np.signbit(found) == np.signbit(wanted) or found != found
                else:
                    np.testing.assert_allclose(found, wanted, rtol=8 * EPS, atol=EPS)


DIFFERENTIABLE = [
    name
    for name in SCALAR_OPS
    if name != "where" and OPS[name].differentiable and all(OPS[name].partials)
]


def _answer(source: str, tier: int, **options: Any) -> Any:
    with only(tier, FIRST_USE):
        return answer(source, **{"dtype": "float32", **options})


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_are_those_of_the_interpreter(name: str, mode: str) -> None:
    point = points(OPS[name])[0]
    names = [f"x{k}" for k in range(len(point))]
    declared = "\n".join([f"var {x} = {value!r}" for x, value in zip(names, point, strict=True)])
    call = f"{name}({', '.join(names)})"
    source = (
        f"{declared}\nfn f({', '.join(names)}) = {call}\ns = 0.0\n"
        f"for i in range(3) {{ s = s * 0.5 + {call} }}\n"
        f"g = grad(f)({', '.join(names)})\nh = grad(fn(x0) = grad(f)({', '.join(names)}))(x0)\n"
        "output s, g, h"
    )
    wanted = _answer(source, INTERPRETED, mode=mode)
    for tier in (WRITTEN, NATIVE):
        assert_close(_answer(source, tier, mode=mode), wanted, 100 * EPS, 10 * EPS)


PROGRAMS = {
    "products of large matrices": (
        "var m = reshape(linspace(0.1, 1.0, 1600), [40, 40])\nvar x = 0.5\n"
        "for k in range(3) { a = m @ m.T * x; b = m @ m[0]; c = sum(a @ m); e = eye(2, 3) * x }\n"
        "output a, b, c, e"
    ),
    "linspace": "var x = 0.3\nfor k in range(3) { a = linspace(x, 2, 30); b = linspace(0.0, x, 5) }\noutput a, b",
    **{name: region_cases.HEAD + source for name, source in region_cases.PROGRAMS.items()},
    **{name: array_programs.HEAD + source for name, source in array_programs.PROGRAMS.items()},
    **{
        loop: f"{loop_programs.HEAD}{loop_programs.FUNCTIONS}{loop}\noutput s"
        for loop in loop_programs.LOOPS
        if "root" not in loop  # which ends where it is within 1e-12
    },
    **{
        source: array_loops.HEAD + source
        for source in array_loops.PROGRAMS
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_in_all_tiers(name: str) -> None:
    wanted = _answer(PROGRAMS[name], INTERPRETED)
    for tier in (WRITTEN, NATIVE):
        found = _answer(PROGRAMS[name], tier)
        assert_close(found, wanted, 2e-5, 2e-6)
        assert _types(found) == _types(wanted)


def _types(found: Any) -> Any:
    """The types of numbers, and the dtypes of arrays."""
    if isinstance(found, dict):
        return {name: _types(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_types(value) for value in found]
    return str(found.dtype) if isinstance(found, np.ndarray) else type(found)


@pytest.mark.parametrize("name", [*region_cases.PROGRAMS, *array_programs.PROGRAMS])
def test_what_is_a_region_in_float64_is_one_in_float32(name: str) -> None:
    node = gradcli.load(source=PROGRAMS[name])._resolved
    wide, single = lower_program(node, {}), lower_program(node, {}, real=F32)
    verify([single.region, *single.others])
    reasons = [r.reason for r in single.reasons if r.reason not in WIDENED]
    assert reasons == [r.reason for r in wide.reasons]
    assert "f64" not in single.text


# NumPy computes these in float64.
WIDENED = (
    "float32 beside an array of ints is not compiled",
    "a product of float32 and other numbers is not compiled",
    "float64 in a run in float32 is not compiled",
)


# A loop that trains: the interpreter runs its last iteration.
TRAINED = """var x = 0.7
var w = 0.5
for k in range(4) { loss = (float32(x) * w - 1) ** 2; g = grad(loss, w); w :-= 0.1 * g; x := x + float32(w) }
output x, w, loss"""
# Calls of `vmap`, which are kernels on rows.
MAPPED = [
    'fn f(a, b) { s = a; for i in range(4) { s = s * 0.5 + sin(s * b) + i }; return s * b }\nvar v = linspace(0.1, 1.0, 70)\nvar x = 0.7\ny = vmap(f, in_axes = [0, none])(float32(v), x)\nz = vmap(f)(float32(v), v)\noutput y, z',
    'fn f(a) = [a * a, sin(a)]\nvar v = reshape(linspace(0.1, 1.0, 70), [35, 2])\ny = vmap(fn(r) = sum(r) * r)(float32(v))\nz = vmap(f)(float32(v[:, 0]))\nw = vmap(grad(fn(a) = sin(a) * a))(v[:, 1])\noutput y, z, w',
    'fn f(a, b) { s = a; while s < 5.0 { s = s * 1.5 + b }; return s }\nvar v = linspace(0.1, 1.0, 70)\nconst c = 0.5\ny = vmap(f, in_axes = [0, none])(v, c)\nz = vmap(grad(f), in_axes = [0, none])(v, c)\noutput y, z, sum(y)',
]  # fmt: skip
# Programs with floats of both types; some have ints that NumPy makes float64 of.
MIXED = [
    "var x = 0.7\nvar m = reshape(linspace(0.1, 2.0, 192), [96, 2])\nfor k in range(3) { f = float32(m); a = f @ f.T * x; b = sum(a @ f); c = dot(ravel(f), ravel(f)); d = f @ f[0] }\noutput a, b, c, d, grad(b, x)",
    'var x = 0.7\nb = arange(3) > 1\nc = arange(20) > 4\nfor k in range(3) { d = b * float32(x); e = c * float32(x); f = where(b, float32(x), arange(3)); g = concatenate([float32([x, x]), arange(3)]); h = arange(20) < float32(x * 9); i = maximum(arange(3), float32(x)); j = where(c, c, float32(x)) ; l = where(b, b, float32(x)) }\noutput d, e, f, g, h, i, j, l',
    'var x = 1.1\ns = 0.0\nfor i in range(5) { y = float32(x) * x + s * 0.1; s = float64(y) + x }\noutput y, s',
    'var x = 1.1\ny = float32(x)\nfor i in range(5) { y = y * x + 0.1 - sin(y) }\noutput y, y < 1.1, y == x',
    'var x = 1.1\ns = 0.0\nfor i in range(5) { s = s + float32(x) * i }\noutput s',
    'var x = 1.1\nvar v = [1.0, 2.0]\nfor i in range(3) { y = float32(v) * x; z = v * float32(x); q = float32(v) * v; r = sum(float32(v)); p = [float32(1.0), 2.0] * 1 }\noutput y, z, q, r, p',
    'var x = 0.7\nvar v = linspace(0.1, 1.0, 30)\nfor k in range(4) { f = float32(v) * x; g = v * float32(x); h = float32(v) * v + f; s = sum(f); t = mean(sin(f)); m = max(f) }\noutput f, g, h, s, t, m',
    'var x = 0.7\nvar v = linspace(0.1, 1.0, 30)\nfor k in range(4) { a = float32(v); a[k] = x; b = v * 1; b[k] = float32(x); a[5:9] = v[5:9] }\noutput a, b',
    'var x = 0.7\nvar v = linspace(0.1, 1.0, 30)\nfor k in range(4) { f = float32(v); a = f @ f; b = where(f > 0.5, f, x); c = where(v > 0.5, f, v); d = concatenate([f, v]); e = concatenate([f, f]) }\noutput a, b, c, d, e',
    'var x = 0.7\nfor k in range(4) { a = cast(x, "float32"); b = cast(x * 7, "int64"); c = cast([x, 2.0], "float32"); d = cast(b, "float64") * x }\noutput a, b, c, d',
    'fn f(z) = float32(z) ** 3 * z\nvar x = 0.7\nfor k in range(4) { a = f(x); b = grad(f)(x); c = grad(grad(f))(x); d = jvp(f)(x, 1.0) }\noutput a, b, c',
    'fn f(z) { t = float32(z); for i in range(3) { t = t * z + 1 }; return t }\nvar x = 0.7\nfor k in range(4) { a = f(x); b = grad(f)(x); c = grad(grad(f))(x) }\noutput a, b, c',
    'var x = 0.7\nvar m = reshape(linspace(0.1, 2.0, 36), [6, 6])\nfor k in range(3) { a = float32(m) @ float32(m); b = solve(float32(m) + 3 * float32(eye(6)), float32(m[0])); c = sum(float32(m), axis = 0); d = sort(float32(m[1])) * x }\noutput a, b, c, d',
    'var x: float32 = 0.7\nvar w = 2.0\ns = x\nfor k in range(4) { s = s * x + w; x := x * 0.5; w := w + x }\noutput s, x, w',
    'var x = 0.7\nfn f(n, a) = a if n == 0 else f(n - 1, a * x + 0.1)\nfor k in range(3) { y = f(5, float32(x)) }\noutput y',
    'var x = 0.7\na = [float32(x), 2]\nb = [float32(x), x, 1.5]\nfor k in range(3) { c = array(a) * 2; d = array(b) * 2; e = [float32(x)] * 3; g = float32(3) / 2 + 1 // 2 }\noutput c, d, e, g',
    'var x = 0.7\nvar v = linspace(0.1, 1.0, 30)\nfor k in range(3) { a = arange(20) * float32(x); b = sqrt(arange(20)) * float32(x); c = float32(arange(20)) * x; d = float32(v) / arange(1, 31); e = norm(float32(v)) + logsumexp(float32(v)) * std(float32(v)) }\noutput a, b, c, d, e',
]  # fmt: skip


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("source", [TRAINED, *MAPPED, *MIXED])
def test_floats_of_both_types(source: str, dtype: str, mode: str) -> None:
    wanted, *found = (
        _answer(source, tier, mode=mode, dtype=dtype) for tier in (INTERPRETED, WRITTEN, NATIVE)
    )
    for each in found:
        assert_close(each, wanted, 2e-5, 2e-6)
        assert _types(each) == _types(wanted)


@pytest.mark.parametrize("source", MIXED)
def test_floats_of_both_types_are_compiled_in_float64(source: str) -> None:
    found = lower_program(gradcli.load(source=source)._resolved, {})
    verify([found.region, *found.others])
    assert found.reasons == []
    assert "f32" in found.text


OTHERS = {
    "y = float64(x) * 2\noutput y": "float64 in a run in float32 is not compiled",
    "const c: float64 = 2.0\noutput c * x": "`c` is no number and no array of known shape",
    "y = arange(3) * x\noutput y": "float32 beside an array of ints is not compiled",
    "y = concatenate([[x, x], arange(2)])\noutput y": "float32 beside an array of ints is not compiled",
}


@pytest.mark.parametrize(("source", "reason"), OTHERS.items())
def test_what_is_float64_in_a_run_in_float32_is_the_interpreters(source: str, reason: str) -> None:
    node = gradcli.load(source=f"var x = 1.5\n{source}")._resolved
    assert reason in [r.reason for r in lower_program(node, {}, real=F32).reasons]


def test_programs_that_run_again_and_again() -> None:
    source = "var x = 1.5\nvar w = [0.5, 2.0]\ns = x\nfor i in range(9) { s = s*x*0.5 + sum(w)*i }\noutput s, w*s"
    points: list[dict[str, Any]] = [{}, {"x": 0.3}, {"x": 2, "w": [0.1, 0.2]}, {"x": 0.7}, {}]

    def answers(tier: int) -> tuple[Any, bool]:
        program = gradcli.load(source=source).with_options(dtype="float32", mode="reverse")
        with only(tier, FIRST_USE):
            found = [program.run(point) for point in points]
        assert program._hot is not None
        return [(e.outputs, e.gradients) for e in found], program._hot.has_kernels

    wanted, _ = answers(INTERPRETED)
    for tier in (WRITTEN, NATIVE):
        found, has_kernels = answers(tier)
        assert has_kernels
        assert_close(found, wanted, 10 * EPS)
        assert _types(found) == _types(wanted)


WHOLE = [
    "var x = 1.5\nvar w = [0.5, 2.0]\ny = x * w * w\nz = sum(w * w * w) * x * x\noutput y, z",
    "var x = 0.7\nvar u = 0.3\ny = x*x*u*sin(u)\noutput y",
    "var w = linspace(0.1, 1.0, 30)\ny = w[1:] * w[:-1] * w[1:]\noutput y\noutput sum(y)",
]


@pytest.mark.parametrize("asked", ["jacobian", "hessian"])
@pytest.mark.parametrize("source", WHOLE)
def test_jacobians_and_hessians(source: str, asked: str) -> None:
    def answers(tier: int) -> tuple[Any, bool]:
        program = gradcli.load(source=source).with_options(**{"dtype": "float32", asked: True})
        with only(tier, FIRST_USE._replace(sweeps=1)):
            found = [program.run() for _ in range(4)][-1]
        assert program._hot is not None
        return (found.jacobians, found.hessians), program._hot.has_kernels

    wanted, _ = answers(INTERPRETED)
    found, has_kernels = answers(NATIVE)
    assert has_kernels
    assert_close(found, wanted, 1e-5, 1e-6)
    assert _types(found) == _types(wanted)
