"""Derivatives inside regions, in any nesting, against those of the interpreter."""

from __future__ import annotations

import math
from typing import Any

import pytest

import gradcli
from gradcli.engine.codegen.python.regions import compiled

from .region_cases import lowered, outputs_of, states

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"
CUBE = "fn f(a) = a**3 * x\n"
LOOP = "fn f(a) { s = a; for i in range(n) { s = s*s*x*0.3 + a }; return s }\n"
BRANCH = "fn f(a) { if a > 0.5 { return a*a*y }; return sin(a)*x }\n"
TWO = "fn f(a, b) = a*b + sin(a*x)\n"
PROGRAMS = {
    "a gradient": CUBE + "output grad(f)(x), grad(f)(y), f(2.0)",
    "of a gradient": CUBE + "output grad(grad(f))(y), grad(grad(grad(f)))(y)",
    "with the value": CUBE + "v, g = value_and_grad(f)(x)\noutput v, g",
    "through a loop": LOOP + "output grad(f)(0.3), grad(grad(f))(0.3), grad(grad(grad(f)))(0.3)",
    "in a loop": LOOP + "s = 0.0\nfor i in range(3) { s += grad(f)(0.1*i + s*0.01) }\noutput s",
    "through a branch": BRANCH + "output grad(f)(x), grad(f)(y), grad(grad(f))(y)",
    "by the second argument": TWO + "output grad(f, wrt = 1)(x, y), grad(f, wrt = [1, 0])(x, y)[1]",
    "along a tangent": TWO + "output jvp(f)(x, 2.0, y), value_and_jvp(f)(x, 0.5, y)[1]",
    "weighed": TWO + "output vjp(f)(x, 2.0, y)",
    "forward over reverse": LOOP + "output jvp(grad(f))(0.3, 1.0)",
    "reverse over forward": LOOP + "fn g(a) = jvp(f)(a, 1.0)\noutput grad(g)(0.3)",
    "of a function made inside": "fn f(a) { fn h(b) = b*b*a; return grad(h)(a*2.0) }\noutput grad(f)(x), f(x)",
    "of a function given": "fn d(g, a) = grad(g)(a)\noutput d(sin, x), d(fn(t) = t*t*y, x), grad(grad(exp))(y)",
    "by a list": "fn f(v) = v[0]*v[0] + sin(v[1])*x\ng = grad(f)([x, y])\noutput g[0], g[1]",
    "by an array": "fn f(v) = sum(v*v*v)*x\nv = array([x, y])\nfor i in range(5) { v = v - 0.1*grad(f)(v) }\noutput v[0], v[1]",
    "that nothing connects": "fn f(a) = 2.0*x if n > 3 else a\noutput grad(f)(x), jvp(f)(x, 1.0)",
    "that is connected with some of a list": "fn f(v) = v[0]*x\ng = grad(f)([x, y])\noutput g[0], g[1]",
    "of an array, weighed": "fn f(v) = v*v[0]*x\ng = vjp(f)(array([x, y]), [y, 2.0])\noutput g[0], g[1]*x",
    "of a list, weighed": "fn f(a) = [a*y, {p: a*a*[x, a]}]\noutput vjp(f)(x, [y, {p: [1, x]}])",
    "of a sum": "fn f(v) = v*v*x\ng, h = grad(f)([x, y]), value_and_grad(fn(a) = [a, sin(a)])(y)\noutput g[0], g[1], h[0][1], h[1]",
    "of a large array": "u = arange(30) * x\nfn f(v) = cumsum(v)*v\n"
    "fn s(v) = sum(vjp(f)(v, v)*u + grad(f)(v))\noutput s(u), sum(grad(s)(u))",
    "along ints": "fn f(v) = v*v[0]*x\ng = jvp(f)([x, y], [1, 0])\noutput g[0], g[1], jvp(sin)(x, 2), vjp(f)([x, y], [true, 0])[1]",
    "of a list along an array": "fn f(v) = v[0]*v[0]*sin(v[1]*x)\nu = array([y, 1])\n"
    "g = hvp(f)([x, y], u)\noutput g[0], g[1], jvp(f)([x, y], 2 * u), vjp(fn(a) = [a*y, sin(a)])(x, u)",
    "a search": "fn descend(f, a) { for i in range(20) { a = a - 0.1*grad(f)(a) }; return a }\n"
    "fn inner(b) = descend(fn(a) = (a - b)**2 + a*y, 0.0)\noutput inner(x), grad(inner)(x)",
}  # fmt: skip


def close(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-12) or a == b


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_derivatives_in_regions(source: str) -> None:
    found = lowered(HEAD + source)
    assert not found.reasons
    wanted = gradcli.load(source=HEAD + source).with_options(grad=False).run().outputs
    given = outputs_of(found, compiled(found.region)(*states(HEAD + source, found.parameters)))
    assert given.keys() == wanted.keys()
    assert all(close(given[name], wanted[name]) for name in given), (given, wanted)


REASONS = {
    "output grad(fn(a) = a*2, wrt = 3)(x)": "missing arguments",
    "output grad(fn(a) = a*2.0)(n)": "only by floats",
    "output grad(fn(a) = n)(x)": "a derivative is compiled only for floats",
    "output jacobian(fn(a) = [a, a*a], sparse = true)(x)": "`jacobian`",
    'output hessian(fn(a) = a*a, mode = "sideways")(x)': "`hessian`",
}


@pytest.mark.parametrize(("source", "reason"), REASONS.items())
def test_what_is_not_compiled_has_a_reason(source: str, reason: str) -> None:
    [found] = lowered(HEAD + source).reasons
    assert reason in found.reason
