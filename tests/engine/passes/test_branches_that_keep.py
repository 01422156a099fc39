"""What the sides of branches keep for their pullbacks, in loops and in calls: derivatives up to the
third order, in both modes and tiers."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.verifier import verify
from gradcli.engine.program_calls import ProgramCall

from ..lowering.branching_programs import Writer

# With the gradient of each by `x` and `w`, derivatives are of up to the third order.
CALLS = {
    "reverse": "grad(f, wrt = 1)(x, w)",
    "reverse over reverse": "grad(grad(f))(x, w)",
    "forward over reverse": "jvp(grad(f, wrt = 1))(x, w, x)",
    "reverse over forward": "grad(fn(t) = jvp(f)(t, 0.5, w))(x)",
}


SEEDS = (1, 3, 4, 8, 12, 16)  # of 8 and 16 what is kept isn't needed by the first gradient


def compare(seed: int, call: str, *tiers: int) -> None:
    source = f"var x = 0.7\nvar w = 1.2\n{Writer(seed).function()}\ns = {CALLS[call]}\noutput s"
    program = gradcli.load(source=source)
    with only(INTERPRETED):
        expected = program.with_options(of=("s",)).run()
    for tier in tiers:
        with only(tier, FIRST_USE):
            kernel = ProgramCall(program._resolved, {}, ["s"], ["x", "w"], False)
            verify(kernel._call.expanded)
            found = kernel.run(kernel.numbers({}) or [])
        if found is None:  # which is for numbers that aren't finite
            assert not np.isfinite([expected.outputs["s"], *expected.gradients["s"].values()]).all()
            return
        np.testing.assert_allclose(found.outputs["s"], expected.outputs["s"], rtol=1e-9)
        for by, gradient in expected.gradients["s"].items():
            assert (found.gradients["s"][by] is None) == (gradient is None)
            if gradient is not None:
                np.testing.assert_allclose(
                    found.gradients["s"][by], gradient, rtol=1e-8, atol=1e-10
                )


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("seed", SEEDS)
def test_of_random_functions(seed: int, call: str) -> None:
    compare(seed, call, WRITTEN)


@pytest.mark.parametrize("seed", SEEDS[2:4])
def test_in_machine_code(seed: int) -> None:
    compare(seed, "reverse over reverse", NATIVE)
