"""The pullbacks of regions with small arrays against the gradients of the interpreter, which
connects an array as a whole."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.lowering.held.kinds import flat
from gradcli.engine.lowering.programs import Lowered
from gradcli.engine.passes.copying import copied
from gradcli.engine.passes.derivatives.vjp import vjp

from ..lowering.array_programs import HEAD, PROGRAMS, ArrayWriter
from ..lowering.region_cases import floats, lowered, states


def positions(found: Lowered, name: str) -> list[int]:
    """Where the elements of a variable are among the parameters of a region."""
    before = list(found.parameters)[: list(found.parameters).index(name)]
    start = sum(len(list(flat(found.parameters[each]))) for each in before)
    return list(range(start, start + len(list(flat(found.parameters[name])))))


def compare(source: str) -> int:
    """How many gradients by `v` are those of the interpreter."""
    found = lowered(source)
    wrt, compared = positions(found, "v"), 0
    for k, name in floats(found):
        block = copied(found.region.block, {})
        block.results = (block.results[k],)
        region = vjp(Region("main", block), wrt)
        program = gradcli.load(source=source).with_options(of=(name,), mode="reverse")
        try:
            wanted = program.run().gradients[name]["v"]
            _, *pairs = compiled(region)(*states(source, found.parameters), 1.0)
        except (GradcliError, StepBack):
            continue  # no derivative, or none that is compiled
        given = [
            g if connected else 0.0 for g, connected in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        assert any(pairs[1::2]) == (wanted is not None), name
        if wanted is not None:
            np.testing.assert_allclose(given, wanted, rtol=1e-10, atol=1e-13, err_msg=name)
        compared += 1
    return compared


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs(source: str) -> None:
    compare(HEAD + source)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    compare(ArrayWriter(seed).program() + "output u0[1]\noutput sum(u0)\noutput u0[0]\n")


def test_an_element_depends_on_what_its_array_does() -> None:
    source = (
        HEAD
        + "c = [v[0], x] * 1.0\nu = zeros(3)\nu[k] = v[2]\noutput c[1], u[0], zeros(2)[0], sum(c)\n"
    )
    assert compare(source) == 4
