"""Functions that call themselves as regions, against the interpreter."""

from __future__ import annotations

import pytest

from gradcli.engine.codegen.python import StepBack, compiled
from gradcli.engine.regions.recursion import MAX_DEPTH
from gradcli.engine.trace import run
from gradcli.engine.trace.running import running

from .region_cases import HEAD, compare, lowered, states
from .region_programs import RecursiveWriter

PROGRAMS = {
    "an int": "fn f(k) = 1 if k < 2 else k * f(k - 1)\noutput f(n), f(10)",
    "a float": "fn f(a) = f(a - 1) + x if a > 0 else 0.0\noutput f(x), f(500.5)",
    "an int or a float": "fn f(a, k) { if k == 0 { return 1 }; h = f(a, k // 2); return h * h * a if k % 2 == 1 else h * h }\n"
    "output f(x, n), f(x, 0), f(3, 5)",
    "twice": "fn f(k) { if k < 2 { return k }; return f(k - 1) + f(k - 2) }\noutput f(n) * x",
    "in a loop": "fn f(k) { s = 1; for i in range(k) { s += f(i) }; return s }\noutput f(n)",
    "of each other": "fn even(k) = true if k == 0 else odd(k - 1)\nfn odd(k) = false if k == 0 else even(k - 1)\n"
    "output even(n), odd(n), even(7)",
    "with functions and names from outside": "c = x * 2\nfn h(a) = sin(a) * c\n"
    "fn f(a, k, g) { if k == 0 { return g(a) }; s = 0; for i in range(2) { s += f(a + i, k - 1, g) }; return s }\n"
    "output f(x, 3, h), f(x, 2, fn(t) = t * x)",
    "with lists": "fn f(a, d) { if d == 0 { return [a, 1] }; u, v = f(a / 2, d - 1); return [u + v, v * 2] }\noutput f(x, 5)",
    "with arrays": "fn f(p, k) { if k == 0 or norm(p) < 0.01 { return p }; return f(p * 0.5 - [x, 0.1], k - 1) }\n"
    "output f(array([x, 2.0]), n)",
    "with a default": "fn f(k, step = x) = 0.0 if k < 1 else step + f(k - 1, step * 2) + f(k - 2)\noutput f(n)",
    "inside a function": "fn f(a) { fn g(k) = a if k == 0 else g(k - 1) * a; return g(n) }\noutput f(x), f(2)",
    "a function that gets itself": "fn twice(g, a) = g(g(a))\noutput twice(fn(t) = twice(fn(u) = u * x, t), 2.0)",
}  # fmt: skip


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs(source: str) -> None:
    assert compare(HEAD + source) == "same"


REASONS = {
    "fn f(a) = f(a) + 1\noutput f(x)": "this recursion has no end",
    "fn f(l, k) = l if k == 0 else f(append(l, x), k - 1)\noutput f([1], 3)": "this recursion needs too many regions",
    "fn f(k) = 1 if k == 0 else [f(k - 1)]\noutput f(n)": "what the paths hold that meet here is of different kinds",
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
