"""Every entry of the op table on lanes: what rows give together is what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.ops import OPS

from ...ops.structural_cases import CASES
from .lane_rows import array, gradient, masks, operands, push, second, value, verify_rows

pytestmark = pytest.mark.filterwarnings("error")
IDS = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]
PICKED = {"setitem", "index_add"}


@pytest.mark.parametrize(("name", "k"), IDS)
def test_structural(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    for mask in masks(len(values)):
        what = f"rows in {mask}"
        laned, alone = operands(tuple(values), mask)
        got, expected = value(function, laned), [value(function, row) for row in alone]
        if type(got) is list:
            for i, part in enumerate(got):
                verify_rows(part, [row[i] for row in expected], 1e-12, what)
        else:
            verify_rows(got, expected, 1e-12, what)
        verify_gradients(
            gradient(function, laned), [gradient(function, row) for row in alone], mask, what
        )
        tangents = [push(function, row) for row in alone]
        for i, part in enumerate(push(function, laned)):
            verify_rows(part, [row[i] for row in tangents], 1e-10, what)


def verify_gradients(
    got: list[object], alone: list[list[object]], mask: tuple[bool, ...], what: str
) -> None:
    """Of an operand that the rows share, the gradient is the sum of theirs."""
    for i, (g, own) in enumerate(zip(got, mask, strict=True)):
        parts = [np.asarray(row[i]) for row in alone]
        if own:
            verify_rows(g, parts, 1e-10, what)
        else:
            assert np.shape(array(g)) == parts[0].shape, what
            np.testing.assert_allclose(array(g), sum(parts), rtol=1e-10, atol=1e-10, err_msg=what)


@pytest.mark.parametrize(("name", "k"), IDS)
def test_structural_second_order(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    for mask in masks(len(values)):
        laned, alone = operands(tuple(values), mask)
        verify_gradients(
            second(function, laned),
            [second(function, row) for row in alone],
            mask,
            f"rows in {mask}",
        )


def test_every_structural_op_that_computes_on_arrays_has_a_rule_for_rows() -> None:
    made_of_options = {
        "zeros",
        "ones",
        "eye",
        "arange",
        "linspace",
        "normal",
        "uniform",
        "randint",
        "permutation",
    }
    without = {
        op.name for op in OPS.values() if op.compute and op.rows is None and op.category != "lanes"
    }
    assert without == made_of_options | {"part"}
