"""What transforms keep: nothing when they have returned, and meanwhile what their mode needs."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

import gradcli
from gradcli.engine.backends.tiers import INTERPRETED, only
from tests.engine.programs import garbage

LOOP = "fn f(x) { s = 0.0; for i in range(%d) { s = s * 0.999 + sin(x * i) * 0.01 }; return s }\n"
ASKS = "fn asks(y, x) = grad(y, x)\n"
CALLS = [
    "grad(f)({x})",
    "value_and_grad(f)({x})[1]",
    "jvp(f)({x}, 1.0)",
    "vjp(f)({x}, 2.0)",
    "hessian(f)({x})",
    "hvp(f)({x}, 1.0)",
    'jacobian(f, mode = "forward")({x})',
    "grad(fn(x) = jvp(f)(x, 1.0))({x})",
    "jvp(grad(f))({x}, 1.0)",
    "jvp(fn(x) = jvp(f)(x, 1.0))({x}, 1.0)",
    "grad(grad(f))({x})",
]


def peak(source: str) -> float:
    """The most memory that a run takes beyond what there was, in kilobytes."""
    gradcli.load(source=source).with_options(
        grad=False
    ).run()  # what is kept for good, as generated functions
    program = gradcli.load(source=source).with_options(grad=False)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        program.run()
        return (tracemalloc.get_traced_memory()[1] - before) / 1000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("x", ["0.5", "w"], ids=["of a constant", "of a variable"])
@pytest.mark.parametrize("ask", ["", ASKS], ids=["", "asking"])
def test_transforms_leave_nothing_to_the_collector(call: str, x: str, ask: str) -> None:
    body = f"{ask}var w = 0.5\nz = 0.0\nfor k in range(%d) {{ z = z + detach({call.format(x=x)}) }}\nexpect z == z"
    with only(INTERPRETED):  # to compile what is hot leaves objects, once
        few, many = garbage(LOOP % 9 + body % 3), garbage(LOOP % 9 + body % 13)
    assert (
        many < few + 10
    )  # not an object for each of ten more calls; what caches drop differs from time to time


@pytest.mark.parametrize(
    ("ask", "call"),
    [("", CALLS[0]), ("", CALLS[2]), *(("", call) for call in CALLS[7:10]), (ASKS, CALLS[2])],
)
def test_a_loop_of_transforms_takes_the_memory_of_one(call: str, ask: str) -> None:
    """Arrays of 8 kB would show, if more than the thousand records of a segment were kept."""
    function = (
        "fn f(x) { s = x * ones(1000); for i in range(3) { s = sin(s) * x }; return sum(s) }\n"
    )
    body = f"{ask}var w = 0.5\nz = 0.0\nfor k in range(%d) {{ z = z + detach({call.format(x='w')}) }}\nexpect z == z"
    few, many = (peak(function + body % n) for n in (200, 500))
    assert many < 1.3 * few + 50


@pytest.mark.parametrize("call", ["grad(f)(0.5)", "hvp(f)(0.5, 1.0)", "jvp(grad(f))(0.5, 1.0)"])
def test_a_large_loop_leaves_nothing_behind(call: str) -> None:
    """What was recorded is gone when the transform returns: two of them take what one does."""
    one, two = (
        peak(LOOP % 700 + f"a = {call}\n" + body + "expect a == a")
        for body in ("", f"b = {call}\n")
    )
    assert one > 100  # kilobytes: there was something to let go of
    assert two < 1.3 * one


@pytest.mark.parametrize(
    "call",
    [
        "jvp(f)(0.5, 1.0)",
        "jvp(fn(x) = jvp(f)(x, 1.0))(0.5, 1.0)",
        'jacobian(f, mode = "forward")(0.5)',
    ],
)
def test_forward_mode_keeps_nothing(call: str) -> None:
    function = (
        "fn f(x) { s = x * ones(10000); for i in range(%d) { s = sin(s) * x }; return sum(s) }\n"
    )
    few, many = (peak(function % n + f"a = {call}\nexpect a == a") for n in (3, 30))
    assert many < few + 50


def test_a_result_keeps_what_it_depends_on_only() -> None:
    """The gradient by a captured variable needs the records of the transform, as long as the result
    lives."""
    source = f"var w = 0.5\n{LOOP % 300}fn g(x) = f(x * w)\nfor k in range(%d) {{ d = grad(g)(0.3) }}\ne = grad(d, w)\nexpect e != 0"
    few, many = (peak(source % n) for n in (2, 12))
    assert many < 1.5 * few
