"""What a program declares, computed from other variables: kernels of programs that run again and
again have it, too."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.program_calls import ProgramCall

from ..kernels.hot_and_cold import assert_close
from .region_cases import lowered

SOURCES = {
    "constants": "const n = 8\nconst h = 1.0 / n\nconst v = h * arange(n)\nvar a = 2.0\noutput y = sum(v * a)",
    "data": "const n = 6\nconst v = normal([n, 2])\nconst t = v @ [1.0, -2.0] + 0.1 * normal([n])\n"
    "var a = zeros(2)\noutput y = mean((v @ a - t)**2)",
    "a variable": "var a = 2.0\nvar b = 3 * a\noutput y = a * b**2",
    "a loop before it": "var a = 2.0\ns = 0.0\nfor i in range(5) { s += a * i }\nvar b = s * a\noutput y = a * b",
    "a function that calls itself": "fn f(k, b) = b if k == 0 else f(k - 1, b * 1.5) + f(k - 2 if k > 1 else 0, b)\n"
    "var a = 2.0\nconst b = f(9, a)\noutput y = a * b",
    "a path": "var a = 2.0\nconst k = 1 if a > 1 else 0\noutput y = a**2 if k == 1 else -a",
    "a constant that depends on a variable": "var a = 2.0\nconst b = a**2 * normal()\nconst c = b + 1.0\noutput y = a * c + normal()",
    "an element": "const v = [1.0, 2.0, 3.0]\nvar a = 1.0\nvar b = max(v) * v[int64(a)]\noutput y = a * b",
    "a changed array": "const n = 20\nvar a = 0.5\nw = zeros(n)\nfor i in range(n) { w[i] = a * i }\nvar b = w + 0.0\nw[3] = 9.0\n"
    "output y = sum(b) * a + w[3]",
}  # fmt: skip
GIVEN: list[dict[str, Any]] = [{}, {"a": 1.5}, {"a": 0.5}, {"b": 1.0}, {"c": 3.0}]


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", SOURCES)
def test_runs_again_and_again(name: str, tier: int) -> None:
    source = SOURCES[name]
    program = gradcli.load(source=source).with_options(mode="reverse")
    for given in GIVEN:
        if name == "data" or not all(f" {k} = " in source for k in given):
            given = {}
        with only(tier, FIRST_USE):
            runs = [program.run(given) for _ in range(3)]
        for run in runs[1:]:
            assert_close(run.outputs, runs[0].outputs, 1e-14)
            assert_close(run.gradients, runs[0].gradients, 1e-14)


@pytest.mark.parametrize("name", SOURCES)
def test_there_is_a_kernel(name: str) -> None:
    assert not lowered(SOURCES[name]).reasons
    node = gradcli.load(source=SOURCES[name])._resolved
    assert ProgramCall(node, {}, ["y"], ["a"], False).numbers({}) is not None


def test_what_cannot_be_computed_is_left_to_the_interpreter() -> None:
    source = "const v = [1.0, 2.0]\nvar a = 1.0\nvar b = v[int64(a)]\noutput y = a * b"
    program = gradcli.load(source=source).with_options(mode="reverse")
    with only(WRITTEN, FIRST_USE):
        assert [program.run({"a": 0.5}).outputs["y"] for _ in range(3)] == [0.5] * 3
        with pytest.raises(gradcli.GradcliError, match="index"):
            program.run({"a": 7.0})


@pytest.mark.parametrize("value", ["1.5", "[1.5, 2.0]"])
def test_gradients_are_of_the_type_of_the_variable(value: str) -> None:
    program = gradcli.load(source=f"var a = {value}\noutput y = float32(sum([a * a]))")
    program = program.with_options(mode="forward")
    with only(WRITTEN, FIRST_USE):
        found = [program.run().gradients["y"]["a"] for _ in range(3)]
    assert len({getattr(each, "dtype", type(each)) for each in found}) == 1
