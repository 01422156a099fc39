"""What runs hot, compared with the interpreter alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE

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
