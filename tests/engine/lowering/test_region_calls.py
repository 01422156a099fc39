"""Functions that call themselves as regions, against the interpreter."""

from __future__ import annotations

import pytest

from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.lowering.functions.recursion import MAX_DEPTH
from gradcli.engine.trace import run
from gradcli.engine.trace.run import running

from .region_cases import HEAD, RECURSIVE, compare, lowered, states
from .region_programs import RecursiveWriter


@pytest.mark.parametrize("source", RECURSIVE.values(), ids=RECURSIVE.keys())
def test_programs(source: str) -> None:
    assert compare(HEAD + source) == "same"


REASONS = {
    "fn f(a) = f(a) + 1\noutput f(x)": "this recursion has no end",
    "fn f(l, k) = l if k == 0 else f(append(l, x), k - 1)\noutput f([1], 3)": "this recursion needs too many regions",
    "fn f(k) = 1 if k == 0 else [f(k - 1)]\noutput f(n)": "the paths that meet here hold values of different kinds",
}  # fmt: skip


@pytest.mark.parametrize(("source", "wanted"), REASONS.items())
def test_what_is_in_no_region_says_why(source: str, wanted: str) -> None:
    found = lowered(HEAD + source)
    assert [reason.reason for reason in found.reasons] == [wanted]
    assert not found.others


@pytest.mark.parametrize("inlined", ["", "fn g(a) = a + 0\n"], ids=["alone", "with others"])
def test_calls_are_as_deep_as_in_the_interpreter(inlined: str) -> None:
    assert MAX_DEPTH == run.MAX_DEPTH
    end = "g(0)" if inlined else "0"
    source = f"{HEAD}{inlined}fn f(k) = {end} if k == 1 else 1 + f(k - 1)\noutput f(n)\n"
    found, deepest = lowered(source), MAX_DEPTH - bool(inlined)
    function = compiled(found.region, found.others)
    with running():
        assert function(1.5, deepest) == (deepest - 1,)
        with pytest.raises(StepBack):
            function(1.5, deepest + 1)
    assert compare(source.replace("n = 4", f"n = {deepest + 1}")) == "E406"


def test_more_calls_than_python_has_room_for_step_back() -> None:
    source = f"{HEAD}fn f(k) = 0 if k == 0 else 1 + f(k - 1)\noutput f(1900)\n"
    found = lowered(source)
    with pytest.raises(StepBack):
        compiled(found.region, found.others)(*states(source, found.parameters))


@pytest.mark.parametrize("seed", range(100))
def test_random_programs(seed: int) -> None:
    compare(RecursiveWriter(seed).program())


def test_random_programs_are_regions() -> None:
    outcomes = [compare(RecursiveWriter(seed).program()) for seed in range(60)]
    assert outcomes.count("same") > 30
