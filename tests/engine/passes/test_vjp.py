"""The pullbacks of regions against the gradients of the interpreter: the same bits, and `none`
where nothing connects."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.copying import copied
from gradcli.engine.passes.derivatives.vjp import vjp

from ..lowering.region_cases import LOOPS, PROGRAMS, floats, lowered, same, states
from ..lowering.region_programs import Writer

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"


def of_result(region: Region, k: int) -> Region:
    """The region with one of its results."""
    block = copied(region.block, {})
    block.results = (block.results[k],)
    return Region(region.name, block)


def compare(source: str) -> int:
    """How many derivatives of a program are those of the interpreter."""
    found = lowered(source)
    parameters = enumerate(found.region.block.parameters)
    wrt = [k for k, value in parameters if value.type == F64]
    before, names = text([found.region]), list(found.parameters)
    compared = 0
    for k, name in floats(found):
        region = vjp(of_result(found.region, k), wrt)
        verify([region])
        program = gradcli.load(source=source).with_options(of=(name,), mode="reverse")
        try:
            gradients = program.run().gradients[name]
            _, *pairs = compiled(region)(*states(source, found.parameters), 1.0)
        except (GradcliError, StepBack):
            continue  # no derivative, or none that is compiled
        for position, k in enumerate(wrt):
            g, connected = pairs[2 * position : 2 * position + 2]
            wanted: Any = gradients[names[k]]
            assert (wanted is not None) == connected, (name, names[k])
            assert wanted is None or same(g, float(wanted)), (name, names[k], g, wanted)
            compared += 1
    assert text([found.region]) == before  # the region itself isn't changed
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
