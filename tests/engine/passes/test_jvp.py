"""The tangents of regions against forward mode of the interpreter: the same values, and `none`
where nothing connects."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.derivatives.jvp import jvp

from ..lowering.region_cases import LOOPS, PROGRAMS, floats, lowered, states
from ..lowering.region_programs import Writer

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"


def compare(source: str) -> int:
    """How many derivatives of a program are those of the interpreter."""
    found = lowered(source)
    compared = 0
    names = list(found.parameters)
    for number, value in enumerate(found.region.block.parameters):
        if value.type != F64:
            continue
        region = jvp(found.region, [number])
        verify([region])
        x = names[number]
        program = gradcli.load(source=source).with_options(wrt=(x,), mode="forward")
        try:
            gradients = program.run().gradients
            results = compiled(region)(*states(source, found.parameters), 1.0)
        except (GradcliError, StepBack):
            continue  # no derivative, or none that is compiled
        values = found.region.block.results
        order = [k for k, value in enumerate(values) if value.type == F64]
        for k, name in floats(found):
            t, connected = results[len(values) + 2 * order.index(k) :][:2]
            wanted = gradients[name][x]
            assert (wanted is not None) == connected, (name, x)
            assert wanted is None or t == float(wanted) or t != t != wanted != wanted, (name, x)
            compared += 1
    return compared


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_of_programs(source: str) -> None:
    compare(HEAD + source)


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS.keys())
def test_of_loops(source: str) -> None:
    assert compare(HEAD + source) > 1


@pytest.mark.parametrize("seed", range(120))
def test_of_random_programs(seed: int) -> None:
    source = Writer(seed).program()
    if not lowered(source).reasons:
        compare(source)
