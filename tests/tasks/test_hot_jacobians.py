"""Jacobians and Hessians of programs that run again and again: kernels answer as the interpreter
does, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.execution import Execution
from gradcli.engine.jacobian import structures

from .jacobian_programs import CASES, REQUESTS, Case, G, answer, assert_same


def compare(case: Case, tier: int, options: dict[str, Any]) -> bool:
    """Whether there was a kernel."""
    program = gradcli.load(source=case.source)
    points = [*case.points, *case.points]
    with only(INTERPRETED):
        cold = program.with_options(**options)
        expected = [answer(cold, point) for point in points]
    hot = program.with_options(**options)
    with only(tier, FIRST_USE):
        found = [answer(hot, point) for point in points]
    for a, b in zip(found, expected, strict=True):
        for name, value in b.items():
            assert_same(a[name], value, case.exact and name != "gradients")
    assert hot._hot is not None
    return hot._hot.has_kernels


WAYS = [(name, WRITTEN) for name in REQUESTS] + [("sparse", NATIVE), ("all", NATIVE)]


@pytest.mark.parametrize(("request_", "tier"), WAYS)
@pytest.mark.parametrize("name", CASES)
def test_kernels_answer_as_the_interpreter(name: str, request_: str, tier: int) -> None:
    case = CASES[name]
    assert compare(case, tier, REQUESTS[request_]) == (request_ not in case.alone)


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs of the interpreter."""
    found: list[Any] = []
    original = Execution.execute

    def execute(self: Execution) -> Execution:
        found.append(self)
        return original(self)

    monkeypatch.setattr(Execution, "execute", execute)
    return found


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("name", ["three bands", "rotations", "a dict", "two vectors"])
def test_the_interpreter_runs_once(name: str, request_: str, interpreted: list[Any]) -> None:
    program = gradcli.load(source=CASES[name].source).with_options(**REQUESTS[request_])
    points = CASES[name].points
    with only(NATIVE, FIRST_USE):
        first = [program.run(point) for point in points]
        assert len(interpreted) == 1
        again = [program.run(point) for point in points]
    assert len(interpreted) == 1
    for a, b in zip(again, first, strict=True):
        assert_same(a.jacobians, b.jacobians, exact=False)
        assert_same(a.hessians, b.hessians, exact=False)


def test_it_takes_some_runs(interpreted: list[Any]) -> None:
    source, points = CASES["three bands"][:2]
    program = gradcli.load(source=source).with_options(jacobian=True)
    with only():
        for k in range(300):
            program.run(points[k % 3])
    assert 10 < len(interpreted) < 250


def test_many_sweeps_over_large_arrays_are_the_interpreters(interpreted: list[Any]) -> None:
    """It computes them together, by products of matrices."""
    source = "var x: float[n]\nconst m: float[n, n]\ny = m @ (x*x)"
    program = gradcli.load(source=source).with_options(jacobian=True)
    with only(NATIVE, FIRST_USE):
        for _ in range(3):
            program.run(x=G.uniform(size=200), m=G.uniform(size=(200, 200)))
    assert len(interpreted) == 3


def test_a_jacobian_keeps_nothing_of_the_answer_before() -> None:
    case = CASES["a part without derivatives"]
    program = gradcli.load(source=case.source).with_options(jacobian=True, hessian=True)
    with only(NATIVE, FIRST_USE):
        first = [program.run(case.points[0]) for _ in range(3)][-1]
        expected = answer(program, case.points[0])
        for row in [*first.jacobians.values(), *first.hessians.values()]:
            for block in row.values():
                for part in block if isinstance(block, list) else [block]:
                    if isinstance(part, np.ndarray):
                        part[...] = 9.0
            row.clear()
        assert_same(answer(program, case.points[0]), expected, exact=True)


@pytest.mark.parametrize("name", ["rotations", "three bands", "a loop over elements"])
def test_a_structure_is_found_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    original = structures.Propagation.through

    def through(self: Any, records: Any) -> None:
        found.append(len(records))
        original(self, records)

    monkeypatch.setattr(structures.Propagation, "through", through)
    structures._kept.clear()
    program = gradcli.load(source=CASES[name].source).with_options(jacobian=True, sparse=True)
    with only(INTERPRETED):
        for point in [*CASES[name].points, *CASES[name].points]:
            program.run(point)
    assert len(found) == 1
