"""Derivatives of functions, as functions: what each gives, of what, with which arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ..programs import evaluate, executed, flat, value

CUBE = "fn f(x) = x**3\n"
TWO = "fn f(a, b = 4.0) = a * b**2\n"
VECTOR = "fn f(x) = [x[0] * x[1], x[1]**2, sin(x[0])]\nx = [0.5, 2.0]\n"
NESTED = "fn f(d) = d.a * d.b[0] + d.b[1]**2\nd = {a: 1.0, b: [2.0, 3.0]}\n"
MODULE = "module Scaled(n) { var w = full([n], 2.0); fn call(x) = sum(w * x**2) }\nm = Scaled(2)\nx = [1.0, 3.0]\n"

KINDS = [
    (CUBE + "output grad(f)(2.0), value_and_grad(f)(2.0), jacobian(f)(2.0), hessian(f)(2.0)",
        [12, 8, 12, 12, 12]),
    (CUBE + "output jvp(f)(2.0, 0.5), value_and_jvp(f)(2.0, 0.5), vjp(f)(2.0, 0.5), hvp(f)(2.0, 0.5)", [6, 8, 6, 6, 6]),
    ("fn f(x) = x**2\nx = array([1.0, 3.0])\n"
     "output grad(f)(x), vjp(f)(x, [1.0, 10.0]), jvp(f)(x, [1.0, 10.0])", [2, 6, 2, 60, 2, 60]),
    ("fn f(x) = sum(x**3)\nx = array([1.0, 2.0])\noutput hessian(f)(x), hvp(f)(x, [1.0, 10.0])",
        [6, 0, 0, 12, 6, 120]),
    ("fn f(x) = x[:, 0]**2 * x[:, 1]\noutput batch_jacobian(f)([[1.0, 2.0], [3.0, 4.0]])",
        [4, 1, 24, 9]),
    ("fn f(x) = outer(x, x)\noutput jacobian(f)([1.0, 2.0])", [2, 0, 2, 1, 2, 1, 0, 4]),
]  # fmt: skip

FUNCTIONS = [
    ("output grad(sin)(0.0), grad(pow)(2.0, 3.0), grad(pow, wrt = [0, 1])(2.0, 3.0)",
        [1, 12, 12, 8 * math.log(2)]),
    ("output grad(sum)([1.0, 2.0]), jacobian(cumsum)([1.0, 2.0]), jacobian(softmax)([1.0, 1.0], axis = 0)",
     [1, 1, 1, 0, 1, 1, 0.25, -0.25, -0.25, 0.25]),
    ("output grad(fn(x) = x**2)(3.0), grad(fn(x) { y = x; return y**2 })(3.0)", [6, 6]),
    ("c = 2.0\nfn f(x) = c * x**2\nc = 5.0\noutput grad(f)(3.0)", [30]),  # the variable, not a copy
    ("fn scaled(c) = fn(x) = c * x**2\noutput grad(scaled(2.0))(3.0), jvp(scaled(3.0))(3.0, 1.0)",
        [12, 18]),
    ("fn f(n, x) = x if n == 0 else x * f(n - 1, x)\n"
     "output grad(f, wrt = 1)(4, 2.0), jvp(f, wrt = 1)(4, 2.0, v = 1.0)", [80, 80]),
    (MODULE + "output grad(m)(x), jvp(m)(x, [1.0, 0.0]), grad(m.call)(x), hessian(m)(x)",
        [4, 12, 4, 4, 12, 4, 0, 0, 4]),
    (MODULE + "g = jacobian(m)(x)\noutput grad(sum(g), m.w), grad(fn(w) = m(x) + sum(w * m.w))([1.0, 1.0])", [2, 6, 2, 2]),
    (CUBE + "output grad(grad(f))(2.0), grad(jvp(f))(2.0, 1.0), jvp(grad(f))(2.0, 1.0), grad(hessian(f))(2.0)", [12, 12, 12, 6]),
    (CUBE + "t = [grad(f), hessian(f)]\nd = {a: jvp(f)}\noutput t[0](2.0), t[1](2.0), d.a(2.0, 1.0)", [12, 12, 12]),
    (CUBE + "fn twice(t, x) = t(t(x))\noutput twice(grad(f), 1.0), (grad(f) if true else f)(2.0)",
        [27, 12]),
    (CUBE + "output f.grad()(2.0), f.jvp()(2.0, 1.0), grad(f).grad()(2.0), f.grad(wrt = 0)(2.0)",
        [12, 12, 12, 12]),
    (CUBE + "for t in [grad, jacobian, hessian] { print t(f)(2.0) }\ncompose = fn(a, b) = fn(g) = a(b(g))\n"
     "output compose(grad, grad)(f)(2.0)", [12]),
    ("fn nth(f, n) = f if n == 0 else grad(nth(f, n - 1))\noutput nth(sin, 5)(0.3), nth(exp, 8)(0.0)", [math.cos(0.3), 1]),
    ("fn f(g, x) = g(x)**2\noutput grad(f, wrt = 1)(sin, 0.3), jvp(f, wrt = 1)(sin, 0.3, v = 1.0)",
        [math.sin(0.6)] * 2),
]  # fmt: skip

ARGUMENTS = [
    (TWO + "output grad(f)(3.0), grad(f)(3.0, 5.0), grad(f)(3.0, b = 5.0), grad(f)(b = 5.0, a = 3.0)", [16, 25, 25, 25]),
    (TWO + "output grad(f, wrt = 1)(3.0, 4.0), grad(f, wrt = [1])(3.0, 4.0), grad(f, wrt = [1, 0])(3.0, 4.0)", [24, 24, 24, 16]),
    (TWO + "output grad(f, wrt = 1)(3.0, b = 4.0), grad(grad(f), wrt = 1)(3.0, b = 4.0)", [24, 8]),
    (TWO + "output jvp(f)(3.0, 2.0), jvp(f)(3.0, 2.0, 5.0), jvp(f)(3.0, 2.0, b = 5.0), jvp(f)(3.0, v = 2.0)", [32, 50, 50, 32]),
    (TWO + "output jvp(f)(a = 3.0, v = 2.0), vjp(f)(3.0, 2.0), vjp(f)(3.0, u = 2.0)", [32, 32, 32]),
    (TWO + "output jvp(f, wrt = 1)(3.0, 4.0, v = 2.0), jvp(f, wrt = [0, 1])(3.0, 4.0, v = [1.0, 2.0])", [48, 64]),
    (TWO + "output hvp(f, wrt = [0, 1])(3.0, 4.0, v = [1.0, 2.0]), hessian(f, wrt = [0, 1])(3.0, 4.0)", [16, 20, 0, 8, 8, 6]),
    ("fn f(x, v) = x**2 * v\n"
     "output jvp(f)(1.0, 1.0, 5.0), jvp(f)(1.0, 5.0, v = 1.0), jvp(f, wrt = [0, 1])(1.0, 5.0, v = [1.0, 1.0])", [10, 10, 11]),
    ('fn f(x, how) = x**2 if how == "square" else x\noutput grad(f)(3.0, "square"), grad(f)(3.0, how = "none")', [6, 1]),
    ("fn f(x, n) = x**n\noutput grad(f)(3.0, 2), grad(f)(3.0, n = 4)", [6, 108]),
    ("w = [0, 1]\nfn f(a, b) = a * b\noutput grad(f, wrt = w)(2.0, 3.0)", [3, 2]),
]  # fmt: skip

CONTAINERS = [
    ("fn f(l) = l[0] * l[1]\n"
     "output grad(f)([2.0, 3.0]), jvp(f)([2.0, 3.0], [1.0, 10.0]), hvp(f)([2.0, 3.0], [1.0, 10.0])",
     [3, 2, 23, 10, 1]),
    (NESTED + "output grad(f)(d), jvp(f)(d, {a: 1.0, b: [0.0, 1.0]}), hvp(f)(d, {a: 1.0, b: [0.0, 1.0]})", [2, 1, 6, 8, 0, 1, 2]),
    (NESTED + "output hessian(f)(d), jacobian(f)(d)", [0, 1, 0, 1, 0, 0, 0, 0, 2, 2, 1, 6]),
    ("fn f(l) = [l[0] * l[1], sum(l[1])]\noutput jacobian(f)([2.0, [3.0, 4.0]])",
        [3, 4, 2, 0, 0, 2, 0, 1, 1]),
    ("fn f(x) = {a: x**2, b: [x, 3.0]}\n"
     "output grad(f)(3.0), jvp(f)(3.0, 1.0), jacobian(f)(3.0), vjp(f)(3.0, {a: 1.0, b: [10.0, 0.0]})", [7, 6, 1, 0, 6, 1, 0, 16]),
    ("fn f(x) = {a: x**2, b: [x, 3.0]}\n"
     "output value_and_grad(f)(3.0), value_and_jvp(f)(3.0, 2.0)", [9, 3, 3, 7, 9, 3, 3, 12, 2, 0]),
    ("fn f(a, l) = a * l[0] + l[1]\n"
     "output grad(f, wrt = [0, 1])(2.0, [3.0, 4.0]), grad(f, wrt = [1, 0])(2.0, [3.0, 4.0])",
     [3, 2, 1, 2, 1, 3]),
    ("fn f(l) { s = 0.0; for v in l { s += sum(v**2) }; return s }\n"
     "output grad(f)([1.0, [2.0, 3.0], array([4.0])])", [2, 4, 6, 8]),
    ("fn f(l) { l[0] = l[0] * 2; return l[0] * l[1] }\nl = [2.0, 3.0]\noutput grad(f)(l), l",
        [6, 4, 2, 3]),
    # an array may stand for a list of numbers as the vector, and the other way round
    ("fn f(l) = l[0] * l[1]\n"
     "output jvp(f)([2.0, 3.0], ones(2)), hvp(f)(array([2.0, 3.0]), [1.0, 10.0]), hvp(f)([2.0, 3.0], array([1.0, 10.0]))",
     [5, 10, 1, 10, 1]),
    ("fn f(x) = [x, 2 * x]\noutput vjp(f)(3.0, array([1.0, 10.0]))", [21]),
    ("var u = 2.0\nfn f(x) = x * [1.0, 2.0]\ng = vjp(f)(3.0, [u, u**2])\noutput g, grad(g, u)",
        [10, 9]),
    ("output grad(fn(x) = 2.0)({a: 1.0, b: []})", [0]),
    ("output jacobian(fn(x) = x * 2)([]), grad(fn(x) = sum(x))([])", []),
]  # fmt: skip

UNCONNECTED = [
    ("fn f(x) = 5.0\n"
     "output grad(f)(3.0), jvp(f)(3.0, 1.0), jacobian(f)(3.0), hessian(f)(3.0), hvp(f)(3.0, 1.0), vjp(f)(3.0, 1.0)", [0] * 6),
    ("fn f(x) = 5.0\nx = array([1.0, 2.0])\n"
     "output grad(f)(x), jvp(f)(x, x), jacobian(f)(x), hessian(f)(x)", [0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("fn f(a, b) = a\noutput grad(f, wrt = [0, 1])(1.0, 2.0), jacobian(f, wrt = [0, 1])(1.0, [2.0, 3.0])", [1, 0, 1, 0, 0]),
    ("fn f(x) = [x, 2.0]\noutput jacobian(f)([1.0, 3.0])", [1, 0, 0, 1, 0, 0]),
    ("fn f(x) = detach(x) * x\noutput grad(f)(3.0), jvp(f)(3.0, 1.0), grad(grad(f))(3.0)",
        [3, 3, 0]),
    ("output grad(floor)(2.5), grad(fn(x) = x > 2)(3.0), jvp(fn(x) = int64(x))(2.5, 1.0), jvp(fn(x) = x > 2)(2.5, 1.0)", [0] * 4),
    ("fn f(x) { y = x**2; x = 3.0; return y + x }\noutput grad(f)(2.0)", [4]),
]  # fmt: skip

CONNECTED = [  # with the main tape, where captured variables or arguments are on it
    ("var w = 2.0\nfn f(x) = w * x**2\ng = grad(f)(3.0)\nh = jvp(f)(3.0, 1.0)\noutput grad(g, w), grad(h, w)", [6, 6]),
    ("var w = 2.0\nfn f(x) = w * x**2\ng = grad(f)(w)\nh = jvp(f)(w, 1.0)\n"
     "output grad(g, w), grad(h, w), grad(grad(g, w), w)", [8, 8, 4]),
    ("var w = 2.0\nfn f(x) = x**3\n"
     "output grad(jvp(f)(w, w), w), grad(vjp(f)(3.0, w**2), w), grad(hvp(f)(w, w), w)",
     [36, 108, 24]),
    ("var w = 2.0\nfn f(x) = x**3 * w\n"
     "output grad(hessian(f)(w), w), grad(hvp(f)(w, 1.0), w), grad(hvp(f)(3.0, w), w)",
     [24, 24, 72]),
    ("var w = [2.0, 3.0]\nfn f(x) = x**2 * w\nj = jacobian(f)(w)\nk = jacobian(f, mode = \"forward\")(w)\n"
     "output grad(sum(j), w), grad(sum(k), w)", [8, 12, 8, 12]),
    ("var w = 2.0\nv, g = value_and_grad(fn(x) = x**3 * w)(w)\noutput grad(v, w), grad(g, w)",
        [32, 36]),
    ("var w = 2.0\ntape t { g = grad(fn(x) = x**3 * w)(3.0) }\noutput t.gradient(g, w)", [27]),
    ("var w = 2.0\nfn f(x) = w * x**3\ntape a (persistent = true) { tape b { y = jvp(f)(w, 1.0) }; g = b.gradient(y, w) }\n"
     "output g, a.gradient(g, w)", [36, 36]),
    ("var w = 2.0\npause { g = grad(fn(x) = w * x**3)(w); h = jvp(fn(x) = w * x**3)(w, 1.0); k = hessian(fn(x) = x**3)(w) }\n"
     "output g, h, k", [24, 24, 12]),
    ("var w = 2.0\nfn f(y) { w := y * 2; return w * y }\noutput grad(f)(2.0), jvp(f)(3.0, 1.0), w",
        [4, 6, 6]),
    ("frozen n = 0\nfn f(x) { n :+= 1; return sum(x**2) }\ng = grad(f)([1.0, 2.0])\n"
     "output n, hessian(f)(array([1.0, 2.0]))[0, 0]", [1, 2]),
    ("var w = 1.0\nfn f(x) = (x - w)**2\nx = 5.0\nfor k in range(100) { x = x - 0.2 * detach(grad(f)(x)) }\n"
     "output x", [1]),
]  # fmt: skip

ARRAYS = [
    ("fn f(x) { for i in range(3) { x[i] = x[i]**2 * x[0] }; return x }\nx = array([3.0, 2.0, 2.5])\n"
     "output jacobian(f)(x), jacobian(f, mode = \"forward\")(x), x",
     [27, 0, 0, 108, 108, 0, 168.75, 0, 135] * 2 + [3, 2, 2.5]),
    ("fn f(x) { a = zeros(3); for i in range(3) { a[i] = x**i }; return a }\n"
     "output jacobian(f)(2.0), jvp(f)(2.0, 1.0), jacobian(f, mode = \"reverse\")(2.0)",
     [0, 1, 4] * 3),
    ("fn f(x) { l = []; for i in range(3) { l = append(l, x**i) }; return sum(l) }\n"
     "output grad(f)(2.0), jvp(f)(2.0, 1.0), hessian(f)(2.0)", [5, 5, 2]),
    (VECTOR + "output jacobian(f)(x), jacobian(f, mode = \"reverse\")(x)",
        [2, 0.5, 0, 4, math.cos(0.5), 0] * 2),
    ("fn f(x) = sort(x)\nx = array([3.0, 2.0, 2.5])\n"
     "output jacobian(f)(x), jacobian(f, mode = \"forward\")(x)", [0, 1, 0, 0, 0, 1, 1, 0, 0] * 2),
    ("x = zeros(0)\noutput grad(sum)(x), jacobian(fn(x) = 2 * x)(x), jvp(sum)(x, x)", [0]),
    ("x = zeros(0)\nfn f(x) = sum(x**2)\noutput hvp(f)(x, x), hessian(f)(x), jacobian(fn(x) = x, mode = \"forward\")(x)", []),
]  # fmt: skip

COMPLEX = [
    ("fn f(z) = abs(z)**2\nz = 1.0 + 2.0j\noutput grad(f)(z), jacobian(f)(z), jacobian(f, mode = \"forward\")(z)", [2 + 4j] * 3),
    ("fn f(z) = [abs(z[0]) * real(z[1]), imag(z[0])]\nz = [3.0 + 4.0j, 2.0j]\n"
     "output jacobian(f, mode = \"forward\")(z), jacobian(f)(z)", [0, 5, 1j, 0] * 2),
    ("fn f(z) = z**2\nz = 1.0 + 2.0j\noutput jvp(f)(z, 1.0), jvp(f)(z, 1.0j), jvp(fn(z) = z)(z, 1.0)", [2 + 4j, -4 + 2j, 1 + 0j]),
    ("fn f(x) = real(exp(1j * x))\n"
     "output grad(grad(f))(0.5), grad(fn(x) = jvp(f)(x, 1.0))(0.5), hvp(f)(0.5, 1.0)",
     [-math.cos(0.5)] * 3),
    ("fn f(x) = exp(1j * x)\noutput jvp(fn(x) = jvp(f)(x, 1.0))(0.5, 1.0)", [-np.exp(0.5j)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "expected"),
    KINDS + FUNCTIONS + ARGUMENTS + CONTAINERS + UNCONNECTED + CONNECTED + ARRAYS + COMPLEX,
)
def test_values(source: str, expected: list[float]) -> None:
    found = flat(evaluate(source, grad=False).outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


# ---- structure and dtype -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("grad(fn(l) = l[0] * l[1][0])([2.0, [3.0, 4.0]])", [(), [(), ()]]),  # of a list: a list
        ("hvp(fn(l) = l[0] * l[1])([2.0, 3.0], [1.0, 0.0])", [(), ()]),
        ("jacobian(fn(l) = l[0] * l[1])([2.0, 3.0])", (2,)),  # but of lists of numbers arrays
        ("hessian(fn(l) = l[0] * l[1])([2.0, 3.0])", (2, 2)),
        ("hessian(fn(l) = sum(l[0] @ l[1]))([[[1.0, 2.0, 3.0]], [[1.0], [2.0], [3.0]]])",
         [[(1, 3, 1, 3), (1, 3, 3, 1)], [(3, 1, 1, 3), (3, 1, 3, 1)]]),
        ("jacobian(fn(d) = d.w @ d.x)({w: [[1.0, 2.0]], x: [1.0, 2.0]})",
            {"w": (1, 1, 2), "x": (1, 2)}),
        ("jacobian(fn(x) = outer(x, x))([1.0, 2.0, 3.0])", (3, 3, 3)),
        ("jacobian(fn(x) = outer(x, x), mode = \"forward\")([1.0, 2.0, 3.0])", (3, 3, 3)),
        ("jacobian(fn(x) = {a: x, b: [sum(x)]})(array([1.0, 2.0]))", {"a": (2, 2), "b": [(2,)]}),
        ("batch_jacobian(fn(x) = x @ ones([2, 3]))(ones([5, 2]))", (5, 3, 2)),
        ("batch_jacobian(fn(x) = 2 * x)(zeros([0, 2]))", (0, 2, 2)),
        ("batch_jacobian(fn(x) = 2 * x)(zeros([2, 0]))", (2, 0, 0)),
        ("jacobian(fn(x) = zeros([0, 2]) * x)(1.0)", (0, 2)),
        ("jacobian(fn(x) = x)(zeros([0, 2]))", (0, 2, 0, 2)),
        ("hessian(fn(x) = sum(x))(zeros(0))", (0, 0)),
        ("value_and_grad(fn(a, b) = a * b, wrt = [0, 1])(2.0, array([1.0]))", [(1,), [(), (1,)]]),
    ],
)  # fmt: skip
def test_structure(source: str, shape: Any) -> None:
    def shapes(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: shapes(item) for key, item in found.items()}
        return [shapes(item) for item in found] if isinstance(found, list) else np.shape(found)

    assert shapes(value(f"output {source}")) == shape


@pytest.mark.parametrize(
    "call",
    ["grad(f)(x)", "jvp(f)(x, x)", "jvp(f)(x, x64)", "jvp(fn(x) = x)(x, x64)", "hessian(f)(x)",
        "jacobian(f)(x)",
     "hvp(f)(x, x64)", 'jacobian(f, mode = "forward")(x)', "vjp(f)(x, 1.0)",
     "grad(fn(x) = 2.0)(x)", "hessian(fn(x) = sum(x))(x)"],
)  # fmt: skip
@pytest.mark.parametrize("x", ["float32([1.0, 2.0])", "float32(2.0)"])
def test_float32_stays_float32(call: str, x: str) -> None:
    assert (
        value(f"fn f(x) = sum(x**2)\nx = {x}\nx64 = 1.0 * float64(x)\noutput {call}").dtype
        == "float32"
    )


@pytest.mark.parametrize(
    "call",
    ["grad(f)(2.0)", "jvp(f)(2.0, 1.0)", "hessian(f)(2.0)", "hvp(f)(2.0, 1.0)", "jacobian(f)(2.0)"],
)
def test_float32_runs(call: str) -> None:
    found = value(f"fn f(x) = x**3 / 3 + x\noutput {call}", dtype="float32")
    assert found.dtype == "float32"
    assert found in (5.0, 4.0)


def test_a_vector_of_ints_counts_as_floats() -> None:
    assert value("output jvp(fn(x) = x)(3.0, 2)") == 2.0
    assert type(value("output jvp(fn(x) = x)(3.0, 2)")) is float


# ---- what isn't differentiable -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected", "warnings"),
    [
        ("grad(fn(x) = x**2)(3)", None, 1),
        ("jvp(fn(x) = x * 2.0)(3, 1)", None, 1),
        ("jacobian(fn(x) = x**2)(3)", None, 1),
        ("hessian(fn(x) = x**2)(3)", None, 1),
        ("hvp(fn(x) = x**2)(3, 1.0)", None, 1),
        ("grad(fn(x, n) = x * n, wrt = [0, 1])(2.0, 3)", [3.0, None], 1),
        ("jvp(fn(x, n) = x * n, wrt = [0, 1])(2.0, 3, v = [1.0, 1.0])", 3.0, 1),
        ("jacobian(fn(x, n) = x * n, wrt = [0, 1])(2.0, 3)", [3.0, None], 1),
        ('jacobian(fn(x, n) = x * n, wrt = [0, 1], mode = "forward")(2.0, 3)', [3.0, None], 1),
        ("hessian(fn(x, n) = x**2 * n, wrt = [0, 1])(2.0, 3)", [[6.0, None], [None, None]], 1),
        ("hvp(fn(x, n) = x**2 * n, wrt = [0, 1])(2.0, 3, v = [1.0, 1.0])", [6.0, None], 1),
        ("grad(fn(l) = l[0] * l[1])([1, 2.0])", [None, 1.0], 1),
        ("grad(grad(fn(x) = x**2))(3)", None, 1),  # a gradient that there isn't has none
        ("jvp(grad(fn(x) = x**2))(3, 1.0)", None, 1),
        ("jacobian(grad(fn(x) = x**2))(3)", None, 1),
        (
            "jacobian(grad(fn(x, n) = x**2 * n, wrt = [0, 1]), wrt = [0, 1])(2.0, 3)",
            [[6.0, None], [None, None]],
            1,
        ),
        (
            'jacobian(grad(fn(x, n) = x**2 * n, wrt = [0, 1]), wrt = [0, 1], mode = "forward")(2.0, 3)',
            [[6.0, None], [None, None]],
            1,
        ),
        (
            "jvp(grad(fn(x, n) = x**2 * n, wrt = [0, 1]), wrt = [0, 1])(2.0, 3, v = [1.0, 1.0])",
            [6.0, None],
            1,
        ),
        (
            "batch_jacobian(fn(x, n) = x * n, wrt = [0, 1])(array([1.0, 2.0]), array([3, 4]))[1]",
            None,
            1,
        ),
        ('grad(fn(x, s) = x**2, wrt = [0, 1])(2.0, "a")', [4.0, None], 1),
        ("grad(fn(x, s) = x**2, wrt = [0, 1])(2.0, none)", [4.0, None], 1),
        ("grad(fn(g, x) = g(x))(sin, 2.0)", None, 1),
    ],
)
def test_none_with_a_warning(source: str, expected: Any, warnings: int) -> None:
    evaluation = evaluate(f"d = {source}\noutput d", grad=False)
    assert evaluation.outputs["d"] == expected
    assert [d.code for d in evaluation.diagnostics] == ["W202"] * warnings


@pytest.mark.parametrize("form", ["batch_jacobian(y, x)", "batch_jacobian(f)(x)"])
def test_rows_that_mix_are_told(form: str) -> None:
    source = "var x = [[1.0, 2.0], [3.0, 5.0], [-1.0, 4.0]]\nfn f(x) = %s\ny = f(x)\noutput j = %s"
    mixing = ["x - mean(x, axis = 0)", "cumsum(x, axis = 0)", "x * x[::-1]", "softmax(x, axis = 0)"]
    apart = [
        "x**2",
        "softmax(x, axis = 1)",
        "sin(x) * [1.0, 2.0]",
        "x[:, 0]",
        "0.0 * x",
        "ones([3, 2])",
    ]
    for body, codes in [*((m, ["W204"]) for m in mixing), *((a, []) for a in apart)]:
        found = evaluate(source % (body, form), grad=False)
        assert [d.code for d in found.diagnostics if d.code != "W201"] == codes, body


# ---- what is left behind -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "grad(f)({x})",
        "jvp(f)({x}, 1.0)",
        "hessian(f)({x})",
        "hvp(f)({x}, 1.0)",
        'jacobian(f, mode = "forward")({x})',
    ],
)
def test_a_transform_of_a_constant_leaves_no_records(call: str) -> None:
    run, _ = executed(
        "fn f(x) { s = x; for i in range(50) { s = sin(s) * x }; return s }\n"
        + "d = "
        + call.format(x="0.5")
    )
    trace = run.trace
    assert trace.number == 0
    assert (len(trace.watched), len(trace.main.watch), len(trace.fresh)) == (0, 0, 0)
    assert len(trace.windows) == 1
