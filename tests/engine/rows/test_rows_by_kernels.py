"""Many rows by kernels, which change no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only
from gradcli.ops import OPS

pytestmark = pytest.mark.filterwarnings("error")
X = np.random.default_rng(3).normal(size=(50, 4))
ROSENBROCK = "fn f(x) = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)\n"


def _run(source: str, **inputs: Any) -> Any:
    return gradcli.load(source=source).with_options(grad=False).run(inputs)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [part for item in value for part in _flat(item)]
        if isinstance(value, list)
        else [np.asarray(value)]
    )


HEAD = "const X: float[n, m]\n"


def test_values_of_different_kinds_are_told_of_all_rows() -> None:
    program = HEAD + "fn f(x) { if x[0] > X[20, 0] { return x }; return x[:2] }\noutput vmap(f)(X)"
    with pytest.raises(gradcli.GradcliError, match="E314"):
        _run(program, X=np.sort(X, axis=0))


PROGRAMS = {
    "rosenbrock": ROSENBROCK + "output vmap(value_and_grad(f))(X)",
    "second order": ROSENBROCK + "output vmap(hessian(f))(X), vmap(hvp(f))(X, X)",
    "forward": ROSENBROCK + "output vmap(jvp(f))(X, X**2)",
    "numbers of a row and vectors": "fn f(x) { a = x[0]; return sum(a * x**2 + x / (a**2 + 1)) }\n"
                                    "output vmap(value_and_grad(f))(X)",
    "shared": "var w = [1.0, 2.0, 0.5, 3.0]\nvar b = 0.3\nfn f(x) = sum((x * w + b)**2 - b * x)\n"
              "s = sum(vmap(f)(X))\noutput s, grad(s, [w, b])",
    "a strict zero": "fn f(x) { y = x * 0; return sum(sqrt(y) * 0 + x * y**2 + x) }\noutput vmap(value_and_grad(f))(X)",
    "no float": "fn f(x) { i = int64(x * 9); return sum(i * i + 2 * i - x * i) }\noutput vmap(f)(X)",
    "loop": "fn f(x) {\n  s = x[0]; k = 0\n  while s**2 + k * 0.01 < 3 { s = s * 1.1 + 0.1 * sin(s) - x[1]**2 * 0.01; k += 1 }\n"
            "  return s + k\n}\noutput vmap(value_and_grad(f))(X)",
    "a call of several statements": "fn g(a, b) { c = a * b; d = c + exp(-a**2); return d * c }\n"
                                    "fn f(x) { s = x[0]; for k in range(3) { s = s * 0.5 + g(s, x[1]) }; return s }\n"
                                    "output vmap(value_and_grad(f))(X)",
    "a whole body": "var w = 2.0\nfn g(x, y) { s = exp(x) * y; t = s * w; return s / (1 + t**2) + relu(x) * erf(y) }\n"
                    "fn f(x) = g(x[0], x[1]) + sum(g(x, 0.5))\n"
                    "output vmap(value_and_grad(f))(X), grad(sum(vmap(g)(X[:, 0], X[:, 1])), w)",
    "comparisons": "fn f(x) {\n  a = x[0]; n = 0; if a * x[1] > x[2]**2 { a = a + x[1] }\n"
                   "  while abs(a * a - 2) > 1e-3 * abs(x[3]) { a = a / 2 + 1 / a; n += 1 }\n  return a * x[3] + n\n}\n"
                   "output vmap(value_and_grad(f))(X)",
    "parts": "fn f(x) = sum(x[1:]**2 * x[:-1] + x[1:] / 3) + sum((x[::2] - x[1::2])**2 * x[-1]) + x[0] * x[0] + x[1:][0] * 2\n"
             "output vmap(value_and_grad(f))(X), vmap(hessian(f))(X)",
    "matrices": "fn f(x) { m = outer(x, x + 1); return sum(m[1:, 0] * m[0, :-1] + m[1:, 0]**2) + sum(m[0] * m[0]) }\n"
                "output vmap(value_and_grad(f))(X)",
    "asked twice": "fn f(x) {\n  tape t (persistent = true) { t.watch(x); y = sum(x**2 * 3.0 + sin(x)) }\n"
                   "  g = t.gradient(y, x); g[0] = 100.0; h = t.gradient(y, x); h[1] += 5.0\n"
                   "  return [g, h, t.gradient(y, x)]\n}\noutput vmap(f)(X)",
    "sums of parts": "fn f(x) = sum(x[2:] * x[1:-1] * x[:-2] + x[0]) + sum(x[::-1] / (x[1] + 9)) + sum(x[1:] - x[-1:0:-1]**2)\n"
                     "output vmap(value_and_grad(f))(X), vmap(hessian(f))(X)",
    "means": "fn f(x) = mean((x[1:] * 3 - x[0] * x[:-1])**2) * mean(x - x[1]) + mean(exp(x) * x)\n"
             "output vmap(value_and_grad(f))(X), vmap(hessian(f))(X)",
    "sums on some rows": "fn f(x) {\n  s = sum(x * x[0])\n  if x[1] > 0 { s = s + sum(s * x[1:] + x[:-1]) * sum(x[1:]**2) }\n"
                         "  return s\n}\n"
                         "output vmap(value_and_grad(f))(X)",
    "sums that nan or inf enter": "fn f(x) {\n  y = x[:2] * inf\n"
                                  "  return sum(sqrt(x)) + sum(x[2:] / (x[:2] * 0)) + sum(0 * y * y + x[0])\n}\n"
                                  "output vmap(value_and_grad(f))(X)",
    "a sum's tangent": "fn f(x) {\n  tape t { t.watch(x); y = sum(x[1:]**3 * x[0]) }\n  return t.gradient(y, x)\n}\n"
                       "fn g(x) = jvp(f)(x, x)\noutput vmap(f)(X), vmap(g)(X), vmap(jacobian(f))(X)",
    "sums of shared numbers": "var w = [1.0, 2.0, 0.5]\nfn f(x) = sum(w * x[1:] + (x[:-1] - 1.5)**2) * sum(x * 2)\n"
                              "s = sum(vmap(f)(X))\noutput s, grad(s, w), vmap(value_and_grad(f))(X)",
    "several derivatives": "fn h(a, b) = a*b*a + sin(b)\nfn f(x) {\n  g = grad(h, wrt = [0, 1])(x[0], x[1])\n"
                           "  v = value_and_grad(h)(x[1], 2.0*x[0])\n  return g[0]*x[2] + g[1]*v[1] + v[0]\n}\n"
                           "output vmap(f)(X), vmap(value_and_grad(f))(X)",
    "derivatives by what rows share": "w = 0.7\nfn h(a, b) = a*b*a + sin(a)\noutput vmap(fn(x) = grad(h, wrt = 1)(x, w))(X),"
                                      " vmap(fn(x) = grad(h)(w, x) * x)(X), vmap(fn(x) = grad(h, wrt = [0, 1])(x, w))(X),"
                                      " vmap(fn(a) = grad(h, wrt = [0, 1])(a, w))(X[:, 0])",
    "what isn't read": "fn h(a, b) = a*a + sin(a)\noutput vmap(fn(x) = h(0.5, x) * x)(X), vmap(fn(x) = h(x[0], x))(X)",
    "mixed shapes": "fn f(x) { m = outer(x, x); return sum(m * x + 2 * m - x**2 * x[0]) }\noutput vmap(value_and_grad(f))(X)",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_hot_functions_give_the_same(name: str) -> None:
    with only(INTERPRETED):
        expected = _run(HEAD + PROGRAMS[name], X=X)
    with only(NATIVE, FIRST_USE):
        found = _run(HEAD + PROGRAMS[name], X=X)
    for a, b in zip(
        _flat(list(found.outputs.values())), _flat(list(expected.outputs.values())), strict=True
    ):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_shapes_that_do_not_fit_are_refused_where_they_meet() -> None:
    with only(heat=FIRST_USE), pytest.raises(gradcli.GradcliError) as raised:
        _run(HEAD + "fn f(x) = sum(2 * x + (x[1:] - x)**2)\noutput vmap(f)(X)", X=X)
    (error,) = raised.value.diagnostics
    assert (error.code, error.message) == ("E302", "shapes (3,) and (4,) don't broadcast in `-`")
    assert OPS["sub"].infix == "-"
