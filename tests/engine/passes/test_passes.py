"""Passes over regions: the text that each gives, and the same results from what it rewrites."""

from __future__ import annotations

from functools import partial

import pytest

from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.jvp import jvp
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.hoisting import hoist
from gradcli.engine.passes.reading_through import read_through

from ..lowering.region_cases import LOOPS, PROGRAMS, lowered, same, states
from ..lowering.region_programs import Writer
from . import golden_passes

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"
PASSES = {
    "read_through": read_through,
    "fold": partial(fold, last=True),
    "without_dead_code": without_dead_code,
    "hoist": hoist,
}


@pytest.mark.parametrize("name", golden_passes.PASSES)
def test_texts(name: str) -> None:
    found = list(golden_passes.cases(name))
    assert found
    for case in found:
        made = golden_passes.made(name, case.before)
        assert made == case.after, (
            f"{case.name}; python -m tests.engine.passes.golden_passes renews it"
        )


def agree(region: Region, values: list[float]) -> None:
    """Every pass, and all together, give what the region gives."""
    verify([region])
    together = without_dead_code(fold(hoist(read_through(region)), last=True))
    for rewritten in (*[function(region) for function in PASSES.values()], together):
        verify([rewritten])
        results = []
        for each in (region, rewritten):
            try:
                results.append(compiled(each)(*values))
            except StepBack:
                results.append(None)
        wanted, found = results
        assert (wanted is None) == (found is None)
        assert wanted is None or all(map(same, wanted, found))


def compare(source: str) -> None:
    """A program, its gradients and its tangents, by all parameters."""
    found = lowered(source)
    values = states(source, found.parameters)
    block = found.region.block
    wrt = [k for k, value in enumerate(block.parameters) if value.type == F64]
    agree(found.region, values)
    agree(jvp(found.region, wrt), [*values, *[1.0] * len(wrt)])
    agree(vjp(found.region, wrt), [*values, *[1.0 for v in block.results if v.type == F64]])


@pytest.mark.parametrize("source", [*PROGRAMS.values(), *LOOPS.values()], ids=[*PROGRAMS, *LOOPS])
def test_programs(source: str) -> None:
    compare(HEAD + source)


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    source = Writer(seed).program()
    if not lowered(source).reasons:
        compare(source)
