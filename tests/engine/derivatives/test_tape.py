"""The trace keeps what can still be asked about, and nothing else."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable

import pytest

from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.engine.trace.tape import SEGMENT_RECORDS, Segment

from ..programs import executed, outputs


def live_segments() -> int:
    return sum(type(o) is Segment for o in gc.get_objects())


@pytest.fixture
def segments() -> Callable[[], int]:
    """How many segments live that didn't when the test began. Cycles count: nothing here may wait
    for the collector."""
    gc.collect()
    before = live_segments()
    return lambda: live_segments() - before


# ---- what is recorded ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [
        "x = 1.0; for i in range(3000) { x = x * 1.0001 + sin(x) }",
        "const c = 2.0; x = zeros(3); for i in range(100) { x[0] += c * i }",
        "frozen s = 1.0; for i in range(100) { s := s * 1.5; t = s + 1 }",
        "var n = 3; m = n * 2 + 1",
        "var x = 2.0; low = 0.0; for i in range(100) { low = low + 0.5 }",
        "var x = 2.0; y = detach(x) * 3; for i in range(100) { y = y * 1.1 }",
        "var x = 2.0; for i in range(100) { x := 1.5 }",
        "var x = 2.0; a = x > 1.0; b = len([x]); c = int64(x)",
        "var x = 2.0; l = [x, x]; d = {k: x}; z = x; l = append(l, x)",
    ],
)
def test_nothing_active_records_nothing(program: str) -> None:
    run, _ = executed(program)
    assert run.trace.number == 0


@pytest.mark.parametrize(
    ("program", "records"),
    [
        ("var x = 2.0; y = x**2", 1),
        ("var x = 2.0; y = x * x + 1.0", 2),
        ("var x = 2.0; y = 3.0 * 2.0 + x", 1),
        ("var x = 2.0; for i in range(10) { y = x * i }", 10),
        ("var x = 2.0; y = x if x > 0 else -x", 0),
        ("var v = [1.0, 2.0]; y = sum(v * 2.0)", 2),
    ],
)
def test_what_depends_on_a_variable_is_recorded(program: str, records: int) -> None:
    run, _ = executed(program)
    assert run.trace.number == records


@pytest.mark.parametrize("before", ["", "w = x + 1", "for i in range(3) { w = x * i }"])
def test_a_transform_leaves_the_trace_to_what_follows(before: str) -> None:
    """Also where nothing was recorded before it, so that the present segment is empty."""
    program = f"var x = 2.0; fn f(a) = a**2 * sin(a); {before}; r = grad(f)(3.0); y = x**3 + x; output y, g = grad(y, x)"
    assert outputs(program.replace(", g =", "; output g ="))["g"] == 13.0


# ---- what is released ----------------------------------------------------------------------------


def test_the_history_goes_with_the_last_value(segments: Callable[[], int]) -> None:
    n = 20 * SEGMENT_RECORDS
    run, frame = executed(
        f"var x = 2.0; y = x; for i in range({n}) {{ y = y * 1.0001 }}; keep = x * 1.0"
    )
    assert segments() >= 20
    frame[:] = []
    run.outputs.clear()
    assert segments() <= 3, "the current one, the leaves', and what `keep` stood in"
    del run, frame
    gc.collect()  # a trace and its current segment know each other
    assert segments() == 0


@pytest.mark.parametrize(
    "body",
    [
        "y = x**2; x :-= 0.001 * grad(y, x)",
        "y = x**2; g = grad(y, x); h = grad(g, x); x :-= 0.001 * g / h",
        "y = x; for k in range(20) { y = sin(y) }; x :-= 0.001 * grad(y, x)",
        "y = x; for k in range(200) { y = sin(y) }; x :-= 0.001 * grad(y, x)",
        "y = f(x); x :-= 0.001 * grad(y, x)",
        "v := v + 0.001; y = sum(v**2) * x; v :-= 0.001 * grad(y, v)",
        "l = []; for k in range(5) { l = append(l, x * k) }; x :-= 0.0001 * grad(sum(l), x)",
        "a = zeros(4); for k in range(4) { a[k] = x * k }; x :-= 0.0001 * grad(sum(a), x)",
    ],
)
def test_a_training_loop_keeps_no_old_segments(body: str, segments: Callable[[], int]) -> None:
    with only(INTERPRETED):
        run, _ = executed(
            f"var x = 1.0; var v = [1.0, 2.0]; fn f(a) {{ b = a * 2; return b**2 }}\nfor i in range(2000) {{ {body} }}"
        )
    assert run.trace.number > SEGMENT_RECORDS
    assert segments() <= 4


def blocks_kept(source: str) -> int:
    """How many blocks of memory a program has taken when it ends, nothing of it being released and
    no collector running."""
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        held = executed(source)
        kept = sys.getallocatedblocks() - before
    finally:
        gc.enable()
    del held
    return kept


@pytest.mark.parametrize(
    "step",
    [
        "y = x**2 + sin(x); x :-= 0.01 * grad(y, x)",
        "tape t { y = x**2 + sin(x) }; x :-= 0.01 * t.gradient(y, x)",
        "tape t (persistent = true) { y = x**2; z = x**3 }; x :-= 0.01 * (t.gradient(y, x) - t.gradient(z, x))",
        "y = sum(v**2); v :-= 0.01 * grad(y, v)",
        "tape o { tape t { y = x**3 }; d = t.gradient(y, x) }; x :-= 0.001 * o.gradient(d, x)",
        "tape t (watch_variables = false) { watch x; y = x**2; d = t.gradient(y, x) }; x :-= 0.01 * d",
        "tape t { watch s; y = s**2 }; s :-= 0.01 * t.gradient(y, s)",
        "p = 1.0 * i; tape t { watch p; y = p**2 }; s := t.gradient(y, p)",
        "tape t { y = x**2; pause { z = x * 2 } }; pause { z = z * x }; x :-= 0.01 * grad(y, x)",
        "y = x**3; x :-= 0.0001 * (hessian(y, x) + hvp(y, x, 1.0) + jvp(y, x, 1.0))",
        "x :-= 0.0001 * (grad(f)(x) + grad(grad(f))(x))",
        "x :-= 0.0001 * (jvp(f)(x, 1.0) + hvp(f)(x, 1.0))",
        "pause { g = grad(f)(x) + hvp(f)(x, 1.0) }; x :-= 0.0001 * g",
        "y = sum(v**3); v :-= 0.0001 * (hvp(y, v, [1.0, 2.0]) + vjp(v**2, v, [1.0, 2.0]))",
        "v :-= 0.0001 * (hvp(h)(v, [1.0, 2.0]) + vjp(h)(v, 1.0) + hessian(h)(v)[0] + jacobian(h)(v))",
        "c = 3.0; watch c; y = c**2 * x; x :-= 0.0001 * grad(y, c)",
        "watch s; y = s**2 * x; s :-= 0.0001 * grad(y, s)",
        "pause { record { y = x**2 }; tape t { z = x**3 } }; x :-= 0.0001 * t.gradient(z, x)",
    ],
)
def test_a_step_leaves_nothing_behind(step: str) -> None:
    """From step 2,000 to step 3,500, memory is flat: not even a block a step is left. Before that,
    functions are still written for what turns out to be hot."""
    start = "var x = 2.0; var v = [1.0, 2.0]; frozen s = 2.0; fn f(a) = a**3 + sin(a); fn h(a) = sum(f(a))"
    few, many = (blocks_kept(f"{start}; for i in range({n}) {{ {step} }}") for n in (2000, 3500))
    assert many - few < 750


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(30000) { y = x**2 + sin(x); x :-= 1e-6 * grad(y, x) }",
        "s = 0.0; for i in range(1000000) { s = s * 0.5 + 1.0 }",
    ],
    ids=["training", "constants"],
)
def test_resident_memory_is_flat(loop: str) -> None:
    code = f"""
import resource, gradcli
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gradcli.load(source="var x = 2.0; for i in range(1000) {{ y = x**2 + sin(x); x :-= 1e-6 * grad(y, x) }}").run()
gradcli.load(source="s = 0.0; for i in range(1000000) {{ s = s * 0.25 + 2.0 }}").run()  # with the compiler
before = peak()
gradcli.load(source={("var x = 2.0; " + loop)!r}).with_options(grad=False).run()
print((peak() - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5  # MB, where a trace of it all would take 25 and more


# ---- segments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n",
    [
        SEGMENT_RECORDS - 2,
        SEGMENT_RECORDS - 1,
        SEGMENT_RECORDS,
        SEGMENT_RECORDS + 1,
        3 * SEGMENT_RECORDS,
    ],
)
def test_sweeps_cross_segments(n: int) -> None:
    found = outputs(f"""
        var x = 1.0
        var z = 3.0
        early = x * z
        y = x * 1.0
        for i in range({n}) {{ y = y + 0.001 * x }}
        late = y * early
        a, b = grad(late, [x, z])
        middle = grad(late, y)
        first = grad(late, early)
        h = grad(a, x)
        output a, b, middle, first, h
        """)
    slope = 1 + 0.001 * n
    expected = {
        "a": 2 * slope * 3.0,
        "b": slope,
        "middle": 3.0,
        "first": slope,
        "h": 2 * slope * 3.0,
    }
    assert found == pytest.approx(expected)


def test_a_history_shared_by_many_values_is_kept_while_one_lives() -> None:
    found = outputs(f"""
        var x = 2.0
        base = x**2
        for i in range({2 * SEGMENT_RECORDS}) {{ t = x * i }}
        a = base * 3.0
        for i in range({2 * SEGMENT_RECORDS}) {{ t = x * i }}
        base = 0.0
        g = grad(a, x)
        output g
        """)
    assert found["g"] == pytest.approx(12.0)
