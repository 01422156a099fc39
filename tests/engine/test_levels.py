"""Transforms inside transforms where forward levels and traces of their own lie between."""

from __future__ import annotations

import pytest

from .programs import evaluate, value

CUBE = "fn f(a) = a**3"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # A recording that depends on nothing of its own trace, but on a level below.
        ("fn outer(x) { fn mid(y) { fn g(a) = a*a*x; z = y*1.0; return grad(g)(2.0)*y*grad(z, y) }; return jvp(mid)(3.0, 1.0) }\n"
         "r = jvp(outer)(2.0, 1.0)", 4.0),
        # In a pause, what is boxed outside counts as constant.
        (f"{CUBE}; fn h(x) {{ z = x*x; q = grad(z, x); pause {{ p = grad(f)(x) }}; return p*x*q }}; r = jvp(h)(2.0, 1.0)", 96.0),
    ],
)  # fmt: skip
def test_sweeps_see_the_levels_below(source: str, expected: float) -> None:
    assert value(source) == pytest.approx(expected)


def test_a_reason_is_found_behind_a_forward_level() -> None:
    found = evaluate("fn h(x) { y = x**3; c = 2.0; g = grad(y, c); return x*x }; var x = 2.0; r = jvp(h)(x, 1.0)", grad=False)
    assert [d.reason for d in found.diagnostics] == ["constant"]
