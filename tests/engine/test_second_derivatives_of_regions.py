"""Derivatives of derivatives of regions, in reverse over reverse and forward over reverse, against
the Hessians of the interpreter."""

from __future__ import annotations

import math

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.copying import copied
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.jvp import jvp
from gradcli.engine.passes.vjp import vjp

from .region_cases import LOOPS, floats, lowered, states
from .region_programs import Writer

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"


def result(region: Region, k: int) -> Region:
    """The region with one of its results, and without what only the others need."""
    block = copied(region.block, {})
    block.results = (block.results[k],)
    found = without_dead_code(fold(Region(region.name, block)))
    verify([found])
    return found


def near(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (a != a and b != b)


def compare(source: str) -> int:
    """How many second derivatives of a program are those of the interpreter."""
    found = lowered(source)
    names, compared = list(found.parameters), 0
    values = states(source, found.parameters)
    for k, name in floats(found):
        try:
            answer = gradcli.load(source=source).with_options(of=(name,), hessian=True).run()
        except GradcliError:
            continue
        for j, value in enumerate(found.region.block.parameters):
            if value.type != F64 or answer.gradients[name][names[j]] is None:
                continue
            gradient = result(vjp(result(found.region, k), [j]), 1)
            reverse, forward = vjp(gradient, [j]), jvp(gradient, [j])
            for region in (reverse, forward):
                verify([region])
            try:
                _, a, connected = compiled(reverse)(*values, 1.0, 1.0)
                _, b, too = compiled(forward)(*values, 1.0, 1.0)
            except StepBack:
                continue
            assert connected == too, (name, names[j])
            if connected:
                wanted = float(answer.hessians[name][names[j]])
                assert near(a, wanted), (name, names[j], a, wanted)
                assert near(b, wanted), (name, names[j], b, wanted)
                compared += 1
    return compared


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS.keys())
def test_of_loops(source: str) -> None:
    compare(HEAD + source)


def test_loops_have_second_derivatives() -> None:
    assert sum(compare(HEAD + source) for source in LOOPS.values()) > 10


@pytest.mark.parametrize("seed", range(60))
def test_of_random_programs(seed: int) -> None:
    source = Writer(seed).program()
    if not lowered(source).reasons:
        compare(source)
