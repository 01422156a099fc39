"""Transforms of functions of floats: all tiers give the same, to the last bit, and none leaves
anything on the trace."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from ..programs import evaluate, executed

F = "fn f(x, y) { s = [x, y]; return s[0]*exp(y) - x/(1.0 + s[1]**2) }\n"
L = "fn f(p) { return p[0]*p[1] + sin(p[0]) }\n"
D = "fn f(p) { return p.u*p.v - p.u }\n"
PROGRAMS = [
    (F, "grad(f)(0.4, 0.7)"),
    (F, "grad(f, wrt = 1)(c, 0.7)"),
    (F, "grad(f, wrt = [1, 0])(c, z)"),
    (F, "value_and_grad(f)(z, c)"),
    (F, "value_and_grad(f, wrt = [0, 1])(z, c)"),
    (F, "vjp(f)(0.4, 2.5, c)"),
    (F, "jvp(f)(0.4, 2.5, c)"),
    (F, "value_and_jvp(f)(z, 0.5, z)"),
    (F, "[grad(f)(w, c), grad(f)(c, w)]"),
    (F, "grad(fn(x) = grad(f)(x, c)*x)(0.3)"),
    (F, "hessian(f)(0.3, 0.4)"),
    (L, "grad(f)([0.4, c, 3.0])"),  # an element that nothing depends on
    (L, "value_and_grad(f)([0.4, c])"),
    (L, "grad(f)([0.4, w])"),
    (L, "grad(f)([2, 0.5])"),
    (D, "grad(f)({u: 0.5, v: c})"),
    (D, "value_and_grad(f)({v: 2.0, u: c, rest: 1.0})"),
    ("", "grad(fn(x) = x)(0.5)"),
    ("", "grad(fn(x) = 3.0)(0.5)"),
    ("", "grad(fn(x) = 3)(0.5)"),
    ("", "grad(fn(x) = [x*x, x])(0.5)"),
    ("", "grad(fn(x) { a = array([x, 2.0*x]); return sum(a*a) })(0.5)"),
    ("", "grad(fn(x) = w*len([x])*x)(0.5)"),  # on something outside
    ("", "grad(fn(x) { pause { y = x*x*len([x]) }; return y*x })(0.5)"),
    ("", "grad(fn(x) { tape t { watch x; y = x*x*len([x]) }; return y*x })(0.5)"),
    (
        "",
        "grad(fn(x) { for i in range(len([x])*1500) { x = x*0.999 + 0.001 }; return x })(0.5)",
    ),  # more than a segment
    ("", "grad(fn(x) = sqrt(x*len([x]))*0.0)(0.0)"),  # a product that must be the strict one
    ("", "grad(fn(x) = abs(x + c*1j)*len([x]))(0.3)"),
    ("", "grad(fn(x) = detach(x)*len([x]))(0.3)"),
    ("", "grad(fn(x) { fn g(y) { return y**3*len([x]) }; return grad(g)(x) })(0.3)"),
    ("", "grad(fn(x) = x + [x][2])(0.3)"),
    ("", 'grad(fn(x) = "text")(0.3)'),
]


def answers(definitions: str, call: str, tier: int) -> Any:
    source = f"var w = 1.3\nfrozen z = 0.4\nc = 0.6\n{definitions}a = {call}\nb = {call}\noutput a, b, w*2.0"
    with only(tier, FIRST_USE):
        try:
            evaluation = evaluate(source)
        except GradcliError as error:
            return repr([(d.code, d.message, d.span, d.calls) for d in error.diagnostics])
    return repr((evaluation.outputs, evaluation.gradients, evaluation.diagnostics))


@pytest.mark.parametrize(("definitions", "call"), PROGRAMS)
def test_all_tiers_give_the_same(definitions: str, call: str) -> None:
    assert answers(definitions, call, NATIVE) == answers(definitions, call, INTERPRETED)


def test_the_trace_is_as_before() -> None:
    run, _ = executed(
        f"var w = 1.3\n{F}a = w*w\nfor i in range(50) {{ b = grad(f)(0.5, 0.4) + grad(f, wrt = [0, 1])(0.5, 0.4)[1] }}"
    )
    assert run.trace.fresh == {}
    assert run.trace.segment is not None
    assert len(run.trace.segment) == 1
    assert run.trace.number == 1
