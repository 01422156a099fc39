"""Whole programs on arrays of many elements: their kernels, in both kinds of code, give what the
interpreter gives, values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.api import load
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import assert_same, run_again
from .large_programs import EDGES, HEAD, PROGRAMS, Writer, inputs


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tier: int, answered: list[bool]) -> None:
    source = f"{HEAD}{PROGRAMS[name]}\noutput z"
    with only(INTERPRETED):
        expected = run_again(source, inputs(), times=1)
    with only(tier, FIRST_USE):
        assert_same(run_again(source, inputs()), expected)
    assert answered[-1:] == [True]


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_strides_of_inputs(tier: int, answered: list[bool]) -> None:
    source = f"{HEAD}{PROGRAMS['broadcast']}\noutput z, x * 2"
    given = inputs()
    given["x"] = np.asfortranarray(given["x"])
    given["u"], given["y"] = np.repeat(given["u"], 2)[::2], given["y"][::-1]
    with only(INTERPRETED):
        expected = run_again(source, given, times=1)
    with only(tier, FIRST_USE):
        assert_same(run_again(source, given), expected)
    assert answered[-1:] == [True]


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("body", ["x * 2.0 - x", "where(x > 0, x, -x)", "abs(x) + minimum(x, 0.5)", "sqrt(abs(x)) / 3.0", "maximum(-x, x * 1.0)"])  # fmt: skip
def test_edges_to_the_last_bit(body: str, tier: int) -> None:
    source = f"var x = zeros([40])\nz = {body}\noutput z, sum(x), sum(z * 0.25), max(x)"
    given = {"x": np.array(EDGES * 4)}
    with only(INTERPRETED):
        expected, _ = run_again(source, given, times=1)
    with only(tier, FIRST_USE):
        found, _ = run_again(source, given)
    for name, value in expected.items():
        assert np.asarray(found[name]).tobytes() == np.asarray(value).tobytes(), name


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_told_by_the_interpreter(number: float) -> None:
    source = f"{HEAD}{PROGRAMS['one pass']}\noutput z"
    given = inputs()
    given["u"][7] = number
    with only(INTERPRETED):
        expected = run_again(source, given, times=1)
    with only(NATIVE, FIRST_USE):
        program = load(source=source)
        for values in (inputs(), inputs(1), given):
            found = program.run(values)
    np.testing.assert_equal(found.outputs, expected[0])
    np.testing.assert_equal(found.gradients, expected[1])


def test_an_index_out_of_range_is_told_by_the_interpreter() -> None:
    source = "var y = zeros([40])\nvar t = zeros([20])\nz = sum(y[int64(t)])\noutput z"
    with only(NATIVE, FIRST_USE):
        program = load(source=source)
        for _ in range(3):
            program.run(y=np.ones(40), t=np.ones(20))
        with pytest.raises(Exception, match="out of range for axis 0"):
            program.run(y=np.ones(40), t=np.full(20, 40.0))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    source, given = Writer(seed).program(), inputs(seed)
    with only(INTERPRETED):
        expected = run_again(source, given, times=1)
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert_same(run_again(source, given), expected)
