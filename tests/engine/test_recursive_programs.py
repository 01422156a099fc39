"""Recursive programs as kernels, with gradients up to the third order, in both modes and tiers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.verifier import verify
from gradcli.engine.program_calls import ProgramCall

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


@pytest.mark.parametrize("forward", [False, True], ids=["in reverse", "ahead"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_give_what_the_interpreter_gives(name: str, call: str, forward: bool) -> None:
    output, gradients = expected(name, call)
    node = gradcli.load(source=source_of(name, call))._resolved
    for tier in (WRITTEN, NATIVE):
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
