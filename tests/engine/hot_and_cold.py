"""What runs hot, compared with the interpreter alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from .programs import evaluate

CALLS_ALONE = FIRST_USE._replace(least_iterations=10**9)  # calls are regions at once, loops never
WAYS = (NATIVE, INTERPRETED)  # tiers, with what is hot at once


def answers(source: str, mode: str) -> Any:
    """What a program gives, or the message and its place."""
    try:
        found = evaluate(source, mode=mode)
    except GradcliError as error:
        return str([(d.code, d.message, d.span, d.calls) for d in error.diagnostics])
    return str(found.diagnostics), found.outputs, found.gradients


def assert_same(found: Any, expected: Any) -> None:
    """The messages, outputs and gradients of two runs; none where there is none."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert_same(found[name], value)
    elif isinstance(expected, tuple):
        for pair in zip(found, expected, strict=True):
            assert_same(*pair)
    elif expected is None or isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def answer(source: str, **options: Any) -> Any:
    """What a program gives, or all that is said of why it doesn't."""
    try:
        found = evaluate(source, **options)
    except GradcliError as error:
        if any(d.code.startswith("E1") for d in error.diagnostics):
            raise  # no program at all
        return str([(d.code, d.message, d.span, d.calls) for d in error.diagnostics])
    said = f"{found.diagnostics} {found.printed} {len(found.expectations)}"
    return said, found.outputs, found.gradients, found.hessians, found.jacobians


def expected(source: str, **options: Any) -> Any:
    with only(INTERPRETED):
        return answer(source, **options)


def assert_close(found: Any, wanted: Any, rtol: float) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert_close(found[name], value, rtol)
    elif isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            assert_close(*pair, rtol)
    elif wanted is None or isinstance(wanted, str):
        assert found == wanted
    elif rtol == 0:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-15)
