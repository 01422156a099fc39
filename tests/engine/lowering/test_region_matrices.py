"""Jacobians, Hessians and their products inside regions, against those of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.lowering.programs import lower_program

HEAD = f"var x = 1.3\nvar w = [0.5, -1.2, 2.0]\nvar v = {[0.1 * k - 0.7 for k in range(20)]}\n"
PROGRAMS = [
    "output jacobian(fn(a) = [a[0]*a[1], sin(a[2]), 3.0*a[0]])(w)",
    "output jacobian(fn(a) = a*a*x)(w)",
    "output jacobian(fn(a) = [a, a*a, sin(a)])(x)",
    "output jacobian(fn(a) = array([a, a*a, sin(a)]))(x)",
    "output jacobian(fn(a) = sum(a*a))(w)",
    "output jacobian(fn(a) = a*a)(x)",
    "output jacobian(fn(a) = a @ [[1.0, 2.0], [3.0, x], [x, 0.0]])(w)",
    "output jacobian(fn(a) = outer(a, a))(w)",
    "output jacobian(fn(a, b) = a*b, wrt = 1)(x, w)",
    'output jacobian(fn(a) = a*a, mode = "forward")(w), jacobian(fn(a) = a*a, mode = "reverse")(w)',
    "output hessian(fn(a) = sum(a**3) + a[0]*a[1]*x)(w)",
    "output hessian(fn(a) = a**4)(x)",
    "output hvp(fn(a) = sum(a**3)*x)(w, [1.0, 0.5, -1.0])",
    "output hvp(fn(a) = a**3)(x, 2.0)",
    # Arrays of many elements.
    "output jacobian(fn(a) = a*a*x)(v)",
    "output jacobian(fn(a) = [sum(a*a), sum(sin(a))])(v)",
    "output jacobian(fn(a) = a*v)(x)",
    "output hessian(fn(a) = sum(a**3) + sum(a)**2)(v)",
    # By lists of numbers, which are one array each, by several arguments, and of lists and dicts.
    "fn f(a) = [a[0]*a[1], sin(a[1]), a[2]*x]\noutput jacobian(f)([x, w[0], 2.0])",
    "output jacobian(fn(a) = [[a[0], a[1]*a[2]], a*x])(w)",
    "output jacobian(fn(m) = m @ m)([[x, w[0]], [w[1], 2.0]])",
    "output jacobian(fn(a, b) = [a*b, a + b*x], wrt = [0, 1])(x, w)",
    "output jacobian(fn(a, b) = a*b, wrt = [1])(x, w)",
    "output jacobian(fn(p) = {u: p.a*p.b, v: p.a**2})({a: x, b: [w[0], x]})",
    "output jacobian(fn(a, b) = a*sum(b), wrt = [1, 0])([x + k for k in range(12)], w)",
    "output jacobian(fn(a) = a[0]*v)([x, w[0]])",
    "output hessian(fn(a) = a[0]**2*a[1]*x)([x, w[1]])",
    "output hessian(fn(a, b) = a**2*sum(b**3), wrt = [0, 1])(x, w)",
    "output hessian(fn(p) = p[0][1]*p[1][0]**2*p[0][0])([[x, w[0]], [w[1]]])",
    "output hessian(fn(p) = p.a**2*sum(p.b**3))({a: x, b: w})",
    "output grad(fn(a) = sum(hessian(fn(p) = p[0]**3*p[1])([a, x])))(x)",
    # Functions that don't depend on all of their argument, or on none of it.
    "output jacobian(fn(a) = [1.0, a[0], 2.0])(w)",
    "output jacobian(fn(a) = array([1.0, 2.0]))(w)",
    "output jacobian(fn(a) = 2.0)(x)",
    "output jacobian(fn(a) = floor(a))(w)",
    "output hessian(fn(a) = sum(a))(w)",
    "output hessian(fn(a) = sum(w))(w)",
    # Branches, loops, and derivatives of these.
    "fn f(a) { if a[0] > 0.2 { return a*a }; return a }\noutput jacobian(f)(w), jacobian(f)(-w)",
    "fn f(a) { s = a; for i in range(4) { s = s*sin(a) + x }; return s }\n"
    "output jacobian(f)(w), hessian(fn(a) = sum(f(a)))(w)",
    "s = w*1.0; for i in range(4) { s = s - 0.1*(jacobian(fn(a) = a*a*x)(s) @ s) }\noutput s",
    "output jacobian(grad(fn(a) = sum(a**3)))(w)",
    "output grad(fn(a) = sum(jacobian(fn(b) = b*b*a)(w)))(x)",
    "output grad(fn(a) = sum(hessian(fn(b) = sum(b**3)*a)(w)))(x)",
]


def answers(source: str, runs: int, grad: bool) -> Any:
    """What a program says in the last of some runs: its outputs, gradients and diagnostics."""
    program = gradcli.load(source=HEAD + source).with_options(grad=grad)
    try:
        found = [program.run() for _ in range(runs)][-1]
    except gradcli.GradcliError as error:
        return [d.code for d in error.diagnostics]
    return found.outputs, found.gradients, [d.code for d in found.diagnostics]


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            assert_same(each, other)
    elif expected is None or isinstance(expected, str):
        assert found == expected
    else:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("source", PROGRAMS)
def test_matrices_are_those_of_the_interpreter(source: str, grad: bool) -> None:
    with only(INTERPRETED):
        expected = answers(source, 1, grad)
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert_same(answers(source, 3, grad), expected)


def test_they_are_compiled() -> None:
    for source in PROGRAMS:
        assert not lower_program(gradcli.load(source=HEAD + source)._resolved, {}).reasons, source
