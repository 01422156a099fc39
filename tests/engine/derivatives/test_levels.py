"""Transforms inside transforms where forward levels and traces of their own lie between."""

from __future__ import annotations

import gc

import pytest

from gradcli.engine.trace.tape import Trace

from ..programs import evaluate, executed, value

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
    found = evaluate(
        "fn h(x) { y = x**3; c = 2.0; g = grad(y, c); return x*x }; var x = 2.0; r = jvp(h)(x, 1.0)",
        grad=False,
    )
    assert [d.reason for d in found.diagnostics] == ["constant"]


@pytest.mark.parametrize(
    "request_",
    [
        "hvp(f)(x, 1.0)",
        "jvp(grad(f))(x, 1.0)",
        'hessian(f, mode = "forward")(x)',
        "jvp(asks)(x, 1.0)",
        "grad(asks)(x)",
    ],
)
def test_no_transform_leaves_a_trace_behind(request_: str) -> None:
    """The collector is paused while a program runs, so a loop would keep the arrays of all its
    steps."""

    def traces() -> int:
        return sum(type(item) is Trace for item in gc.get_objects())

    functions = "fn f(a) = sin(a*x)*a\nfn asks(a) { y = a*a; return grad(y, a)*a }"
    gc.collect()
    gc.disable()
    try:
        before = traces()
        run, _ = executed(f"var x = 1.5\n{functions}\nfor i in range(5) {{ g = {request_} }}")
        assert traces() - before == len(run.traces())
    finally:
        gc.enable()
