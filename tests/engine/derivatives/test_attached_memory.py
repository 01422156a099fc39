"""Attached gradients: a training loop keeps nothing, and a leaf lives while it can be asked for."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from gradcli.engine.trace.tape import Segment

from ..programs import executed, outputs

TRAINING = """
fn f(a) { b = 2.0; attach_grad(b); return a * b }
x = 2.0; attach_grad(x)
for i in range(STEPS) { BODY }
"""
LOOPS = [
    "record { y = x**2 + sin(x) }; backward(y); x :-= 0.01 * x.grad",
    "record { y = x**2 }; backward(y); x = x - 0.01 * x.grad; attach_grad(x)",
    "record { y = x**4; backward(y, create = true); z = x.grad**2 }; backward(z); x :-= 0.0001 * x.grad",
    "record { y = x**2 }; backward(y, retain = true); backward(y); x :-= 0.01 * x.grad",
    "record { }",
    "record { y = x**2; pause { z = y + 1 } }; backward(y); x :-= 0.01 * x.grad",
    "record { y = f(x) }; backward(y)",
]


@pytest.mark.parametrize("body", LOOPS)
def test_a_training_loop_keeps_nothing(body: str) -> None:
    gc.collect()
    before = sum(type(o) is Segment for o in gc.get_objects())
    run, _ = executed(TRAINING.replace("STEPS", "2000").replace("BODY", body))
    trace = run.trace
    assert sum(type(o) is Segment for o in gc.get_objects()) - before <= 4
    assert (
        max(
            map(
                len,
                (run.attached, trace.watched, trace.variables, trace.main.watch, trace.main.ranges),
            )
        )
        < 300
    )
    assert len(trace.windows) == 1


def test_memory_of_a_training_loop_is_flat() -> None:
    """A loop of 6,000 steps takes at its peak what one of 2,000 does."""
    peaks = []
    for steps in (2000, 6000):
        outputs(
            TRAINING.replace("STEPS", "10").replace("BODY", LOOPS[0])
        )  # what is cached once isn't the loop's
        gc.collect()
        tracemalloc.start()
        try:
            outputs(TRAINING.replace("STEPS", str(steps)).replace("BODY", LOOPS[0]))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 20_000


def test_a_leaf_that_nobody_can_ask_for_is_forgotten() -> None:
    run, _ = executed(
        "fn f() { a = 2.0; attach_grad(a); record { y = a**2 }; backward(y) }\nfor i in range(3000) { f() }\nx = 1.0"
    )
    assert len(run.trace.watched) < 500
    assert len(run.attached) == 0


def test_a_leaf_lives_as_long_as_what_was_made_of_it() -> None:
    """An intermediate value is connected through a variable that is gone."""
    source = """
fn f() { a = 2.0; attach_grad(a); return a**2 }
c = 1.0
y = f()
tape t { watch c; u = 2 * c }           # from here on the main tape looks at what its records depend on
z = y**2
"""
    assert outputs(f"{source}; output g = grad(z, y)")["g"] == 8.0
