"""What runs hot, compared with the interpreter alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from ..programs import evaluate

CALLS_ALONE = FIRST_USE._replace(least_iterations=10**9)  # calls are regions at once, loops never
WAYS = (NATIVE, INTERPRETED)  # tiers, with what is hot at once


def run_again(source: str, given: Mapping[str, Any] | None = None, times: int = 3) -> Any:
    """The outputs and gradients of a program that runs several times."""
    program = gradcli.load(source=source).with_options(mode="reverse")
    for _ in range(times):
        found = program.run(given or {})
    return found.outputs, found.gradients


def answer(source: str, given: dict[str, Any] | None = None, **options: Any) -> Any:
    """What a program gives, or all that is said of why it doesn't."""
    try:
        found = evaluate(source, given, **options)
    except GradcliError as error:
        if any(d.code.startswith("E1") for d in error.diagnostics):
            raise  # no program at all
        return str([(d.code, d.message, d.span, d.calls) for d in error.diagnostics])
    said = f"{found.diagnostics} {found.printed} {len(found.expectations)}"
    return said, found.outputs, found.gradients, found.hessians, found.jacobians


def expected(source: str, **options: Any) -> Any:
    with only(INTERPRETED):
        return answer(source, **options)


def assert_same_in(tier: int, source: str) -> None:
    """A program gives the same in a tier as by the interpreter alone, once and again."""
    with only(tier, FIRST_USE):
        once = answer(source)
    wanted = expected(source)
    assert_same(once, wanted)
    if not isinstance(wanted, str):
        with only(tier, FIRST_USE):
            assert_same(run_again(source), wanted[1:3])


def assert_same(found: Any, wanted: Any) -> None:
    """What two runs give, up to rounding."""
    assert_close(found, wanted, 1e-10, 1e-14)


def assert_close(found: Any, wanted: Any, rtol: float, atol: float = 1e-15) -> None:
    """Messages, numbers and arrays, in any nesting; none where there is none."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert_close(found[name], value, rtol, atol)
    elif isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            assert_close(*pair, rtol, atol)
    elif wanted is None or isinstance(wanted, str):
        assert found == wanted
    elif rtol == 0:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
