"""Hot functions of arrays give what the interpreter gives: values and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from ..lowering.array_functions import PROGRAMS, in_function
from ..programs import evaluate


def _answers(source: str, **options: Any) -> Any:
    try:
        found = evaluate(in_function(source), **options)
    except GradcliError as error:
        return [(d.code, d.message, d.label, d.help) for d in error.diagnostics]
    return found.outputs, [found.gradients, found.hessians]


def _assert_close(found: Any, expected: Any, within: float) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict | list | tuple):
        assert len(found) == len(expected)
        parts = (
            zip(found.values(), expected.values(), strict=True)
            if isinstance(expected, dict)
            else zip(found, expected, strict=True)
        )
        for a, b in parts:
            _assert_close(a, b, within)
    elif isinstance(expected, float | complex | np.floating | np.ndarray):
        assert (np.shape(found), np.asarray(found).dtype) == (
            np.shape(expected),
            np.asarray(expected).dtype,
        )
        np.testing.assert_allclose(found, expected, rtol=within, atol=within)
    else:
        assert found == expected


def _assert_same(source: str, within: float, **options: Any) -> None:
    found = []
    for tier in (INTERPRETED, NATIVE):
        with only(tier, FIRST_USE):
            found.append(_answers(source, **options))
    _assert_close(found[1], found[0], within)


@pytest.mark.parametrize("options", [{"hessian": True}, {"mode": "forward"}], ids=str)
@pytest.mark.parametrize("source", PROGRAMS)
def test_programs(source: str, options: dict[str, Any]) -> None:
    _assert_same(source, 1e-12, **options)


def _expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x", "w", "s", "u", "m", "x[::-1]", "sum(x)", "1.5", "2", "m[1]"])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "*", "/"]), inner
        )
        unary = st.builds(
            "{}({})".format,
            st.sampled_from(["sin", "sigmoid", "tanh", "relu", "abs", "-", "softplus"]),
            inner,
        )
        return binary | unary | st.builds("{}**{}".format, unary, st.sampled_from(["2", "3"]))

    return st.recursive(leaves, larger, max_leaves=9)


@settings(max_examples=40, deadline=None)
@given(expressions=st.lists(_expressions(), min_size=1, max_size=3), hessian=st.booleans())
@pytest.mark.filterwarnings("ignore:overflow")
def test_random_expressions(expressions: list[str], hessian: bool) -> None:
    lines = [
        f"x{k} = {text.replace('u', f'x{k - 1}') if k and 'u' in text else text}"
        for k, text in enumerate(expressions)
    ]
    _assert_same("; ".join([*lines, f"y = sum(x{len(lines) - 1})"]), 1e-9, hessian=hessian)
