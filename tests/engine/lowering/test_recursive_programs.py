"""Recursive programs as kernels, with gradients up to the third order, in both modes and tiers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.verifier import verify
from gradcli.engine.program_calls import NotCompiled, ProgramCall

from .recursive_programs import PROGRAMS

CALLS = {
    "value": "f(x, w)",
    "reverse": "grad(f, wrt = 1)(x, w)",
    "forward": "jvp(f)(x, w, w)",
    "reverse over reverse": "grad(grad(f))(x, w)",
    "forward over reverse": "jvp(grad(f, wrt = 1))(x, w, x)",
    "reverse over forward": "grad(fn(t) = jvp(f)(t, 0.5, w))(x)",
}


def source_of(name: str, call: str) -> str:
    return f"var x = 0.7\nvar w = 1.2\n{PROGRAMS[name]}\ns = {CALLS[call]}\noutput s"


@cache
def expected(name: str, call: str) -> tuple[float, dict[str, Any]]:
    with only(INTERPRETED):
        answer = gradcli.load(source=source_of(name, call)).with_options(of=("s",)).run()
    return answer.outputs["s"], answer.gradients["s"]


CASES = [
    *[(call, WRITTEN, False) for call in CALLS],
    *[(call, NATIVE, False) for call in ("value", "reverse over reverse")],
    *[(call, WRITTEN, True) for call in ("value", "reverse")],
]


@pytest.mark.parametrize(("call", "tier", "forward"), CASES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_give_what_the_interpreter_gives(
    name: str, call: str, tier: int, forward: bool
) -> None:
    output, gradients = expected(name, call)
    node = gradcli.load(source=source_of(name, call))._resolved
    with only(tier, FIRST_USE):
        kernel = ProgramCall(node, {}, ["s"], ["x", "w"], forward)
        verify(kernel._call.expanded)
        found = kernel.run(kernel.numbers({}) or [])
    assert found is not None
    np.testing.assert_allclose(found.outputs["s"], output, rtol=1e-12)
    for by, gradient in gradients.items():
        assert (found.gradients["s"][by] is None) == (gradient is None)
        if gradient is not None:
            np.testing.assert_allclose(found.gradients["s"][by], gradient, rtol=1e-9)


POWER = "fn f(a, n) { if n == 0 { return a*x }; return sin(f(a*0.9, n - 1))*a }\n"
SAME = "fn f(a, n) { if n == 0 { return a }; return f(a, n - 1) }\n"
STATES = {
    "a gradient by a variable": POWER + "y = f(x, 5)\ns = grad(y, x) + y",
    "the gradient of a gradient": POWER
    + "y = f(x, 5)\np = grad(y, x)\nq = grad(p*f(p, 2), x)\ns = q + grad(q, x)",
    "steps along gradients": POWER
    + "for i in range(3) { y = f(x, 5)**2\n x :-= 0.1*grad(y, x) }\ns = f(x, 3)",
    "an element of a variable": "fn f(i) { if i == 3 { return 1.0 }; return w[i]*f(i + 1) + x*w[i] }\n"
    "s = grad(f(0), w)[1] + f(1)",
}
REFUSED = {
    "the state that is returned changes": SAME + "y = f(x, 5)\nx := 2.0\ns = y*x",
    "a call on a tape that is asked twice": POWER
    + "tape t (persistent = true) { y = f(x, 5); z = y*f(y, 2) }\ns = t.gradient(y, x) + t.gradient(z, x)",
    "a loop on a tape that is asked twice": "tape t (persistent = true) { y = x; for i in range(5) { y = sin(y)*x }; z = y*x }\n"
    "s = t.gradient(y, x) + t.gradient(z, x)",
}


@pytest.mark.parametrize("name", [*STATES, *REFUSED])
def test_variables_that_recursive_functions_get(name: str) -> None:
    program = {**STATES, **REFUSED}[name]
    compiled = gradcli.load(source=f"var x = 0.7\nvar w = [1.2, 0.4, 0.9]\n{program}\noutput s")
    with only(INTERPRETED):
        expected = compiled.with_options(of=("s",)).run()
    with only(WRITTEN, FIRST_USE):
        if name in REFUSED:
            with pytest.raises(NotCompiled):
                ProgramCall(compiled._resolved, {}, ["s"], ["x"], False)
            return
        kernel = ProgramCall(compiled._resolved, {}, ["s"], ["x"], False)
        verify(kernel._call.expanded)
        found = kernel.run(kernel.numbers({}) or [])
    assert found is not None
    np.testing.assert_allclose(found.outputs["s"], expected.outputs["s"], rtol=1e-12)
    np.testing.assert_allclose(found.gradients["s"]["x"], expected.gradients["s"]["x"], rtol=1e-10)
