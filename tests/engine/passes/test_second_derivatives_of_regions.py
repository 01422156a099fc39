"""Derivatives of derivatives of regions, in reverse over reverse and forward over reverse, against
the Hessians of the interpreter."""

from __future__ import annotations

import math

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.copying import copied
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.jvp import jvp
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.folding import fold

from ..lowering.region_cases import LOOPS, floats, lowered, states
from ..lowering.region_programs import Writer

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


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS.keys())
def test_third_derivatives_agree_in_both_modes(source: str) -> None:
    found = lowered(HEAD + source)
    values = states(HEAD + source, found.parameters)
    compared = 0
    for k, _ in floats(found):
        gradient = result(vjp(result(found.region, k), [0]), 1)
        second = result(vjp(gradient, [0]), 1)
        third = [result(vjp(second, [0]), 1), result(jvp(second, [0]), 1)]
        try:
            a, b = (compiled(region)(*values, 1.0, 1.0, 1.0)[0] for region in third)
        except StepBack:
            continue
        assert near(a, b)
        compared += 1
    assert compared


def test_all_entries_of_a_stack_have_derivatives() -> None:
    """Of the entries of a stack here only the numbers of iterations come before any that moves."""
    found = lowered("var x = 1.5\ns = x\nfor i in range(3, 0, -1) { s = s*0.5 + x*i }\noutput s*x")
    gradient = result(vjp(found.region, [0]), 1)
    second = result(vjp(gradient, [0]), 1)
    assert compiled(second)(1.5, 1.0, 1.0) == (5.75,)
    assert compiled(result(jvp(second, [0]), 1))(1.5, 1.0, 1.0, 1.0) == (0.0,)
