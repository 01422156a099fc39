"""Loops that run long: their turns as functions written for them give what the turns give one by
one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import HEAT, Heat, only
from gradcli.engine.lowering import long_loops, loop_calls
from gradcli.tasks import second_runs

from .hot_and_cold import assert_same
from .programs import evaluate
from .random_bodies import H, blocks
from .random_programs import RELAXED

HEAD = "var x = 0.7\nvar w = 0.4\nfrozen c = 1.5\nk = 3\n"
FUNCTIONS = """fn square(a) = a*a
fn scaled(a) = c*a
fn root(a) { y = a; while abs(y*y - a) > 1e-9 { y = 0.5*(y + a/y) }; return y }
fn sign(a) { if a > 0.1 { return 1.0 } elif a < -0.1 { return -1.0 }; return a }
fn late(a) { s = a; for i in range(20) { s = s*0.9 + a*i }; return s }
"""
LOOPS = [
    "s = 0.0; for i in range(20) { s = s*0.9 + sin(x*i)*w }",
    "s = 0.0; for i in range(20) { s = s*0.999 + sin(x*i)*0.01; if s > 0.01 { s = s - 0.1*x } }",
    "s = x; n = 0; while s < 30.0 and n < 40 { s = s*1.3 + w; n += 1 }; s = s*n",
    "s = x; while true { s = s*1.5 + w; if s > 50.0 or not s > -50.0 { break }; if s < 3.0 { continue }; s = s + x*x }",
    "s = 0; for i in range(30) { if i % 3 == 1 { continue }; s = s + x*i - w/(i + 1); if s > 60.0 { break } }",
    "s = x; t = w; for i in range(12) { s, t = t, s } " .replace("s, t = t, s",
        "r = s; s = t*1.1; t = r - 0.1*w"),
    "s = 0.0; for i in range(6) { for j in range(i, 6) { s = s + x*i*j/(1 + j); if s > 20.0 { break } } }",
    "s = 0.0; n = 0; while n < 9 { n += 1; m = n; while m > 0 { m = m - 2; s = s*0.8 + cos(m*x) } }; s = s + m",
    "s = 1.0; for i in range(15) { s = 0.5*(s + square(x)/s) + scaled(w)*0.01 }",
    "s = x; for i in range(15) { s = s*0.5 + root(s*s + 1.0)*w + sign(s - 1.0) }",
    "s = late(x) + late(w)*late(x*w)",
    "s = 0.0; for i in range(15) { s = s + x if s < 4.0 else s*0.5 + w }",
    "s = 0.0; for i in range(20, 0, -2) { s = s*x + i }; s = s + i",
    "s = x; for i in range(0) { s = s*w }; for i in range(3) { s = s*w }",
    "s = 1; for i in range(40) { s = s*3 % 1009 }; s = s*x",
    "s = 1; for i in range(20) { s = s*3 // 2 - 1; if s > 50 { s = s*0.5 } }; s = s*x + w",
    "s = 0; b = x*x; for i in range(9) { s = s + b*i }; b = 0.0",
    "s = 0.0; a = [x, w, 1.0]; for i in range(9) { s = s + a[i % 3]*i }",
    "s = x*ones(3); for i in range(9) { s = s*w + i }; s = sum(s)",
    "s = 0.0; for i in range(9) { x = x*w; s = s + x }",
    "s = 0.0; for i in range(9) { x := x*0.5; s = s + x*w }",
    "s = 0.0; for a in [x, w, x*w, 2.0] { s = s + a*a }",
    "s = 0.0; f = fn(z) = z*z*x; for i in range(9) { s = s + f(w)*i; if i == 4 { f = fn(z) = z*w } }",
    "s = 0.0; g = fn(z) = z*s; for i in range(9) { s = s + x }; s = s + g(w)",
    "s = x; for i in range(9) { s = detach(s)*w + x }",
    "s = x; t = 1.0; for i in range(9) { s = s*w; if i > 20 { t = s } }; s = s + t",
    "s = x; for i in range(9) { s = s*w; if i > 7 { late_name = s } }; s = s + late_name",
    "s = 0.5; for i in range(9) { s = s*k }; y = 2.0; for i in range(30) { y = y*0.9 + s }",
    "s = x; for i in range(9) { s = s*1e80 }; s = s/(1.0 + s*s)",
    "s = x - 0.7; for i in range(9) { s = s*s*w }; s = sqrt(s)*(x - 0.7)",
    "s = x - 0.7; for i in range(5) { s = sqrt(s)*1.0 }",
    "s = x; for i in range(9) { s = s/(i - 4) }",
    "s = x; for i in range(9) { s = log(s - 1.0)*w }",
    "s = x; n = 1; for i in range(70) { n = n*3; s = s + w }",
    "s = x; for i in range(9) { s = s + w // (5 - i) }",
    "s = x; for i in range(9) { s = s + nothing }",
    "s = x; for i in range(9) { expect s < 100.0; s = s + w }",
    "s = x; for i in range(9) { s = abs(s - w)*maximum(s, 0.3) + x**i }",
    "s = x; for i in range(9) { s = x + 0.0*s*w }",
    "s = x; for i in range(9) { s = relu(s - 0.1*i) + pow(w, s) + tanh(s)*erf(w) + lgamma(s + 2.0) }",
    "s = x; n = 0; while n < 9 { n += 1; s = floor(2.0 if n < 0 else s) }",
    "s = x; for i in range(9) { s = floor(x if i > 9 else s) }",
    "s = x; for i in range(9) { y = c; s = s*w + y }; c := 5.0; s = s + y",
    "s = x; r = x; a = c; d = k; for i in range(9) { r = a; a = d; d = r; s = s*w + a*x }; c := 5.0; s = s + a*d",
    "s = x; for i in range(9) { y = c if i > 3 else w; s = s*w }; s = s + y",
    "s = x; fn same(v) = v; for i in range(9) { y = same(w); s = s*w + late(w) }; s = s*y",
    "s = x; for a in [0.1*k for k in range(30)] { s = s*a + w; if s > 9.0 { break } }; s = s*a",
    "s = x; for n in [3, 1, 4, 1, 5, 9] { if n == 1 { continue }; s = s*n + w }; s = s*n",
    "s = x; for a in [1, 2.5, x, 4] { s = s*a }",
    "s = x; for a in x*ones(9) { s = s*a + w }; for a in ones(9) { s = s*a + w }",
    "t = [0.1*k for k in range(80)]; n = [k % 7 for k in range(80)]; s = x; for i in range(80) { s = s*t[i] + t[-1 - i]*w + n[i]; r = len(t) }; s = s*r",
    "t = [0.1*k for k in range(80)]; s = x; for i in range(90) { s = s + t[i]*w }",
    "t = [0.1*k for k in range(80)]; s = x; for i in range(20) { u = t; if i > 30 { u = [1.0] }; s = s + t[i]*w }; s = s*u[3]",
    "t = [0.1*k for k in range(80)]; s = x; for i in range(20) { t[i] = 2.0; s = s + t[i]*w }",
    "d = {a: x, n: 0, l: [w, 1.0]}; for i in range(9) { d.a = d.a*w + i; d.n += 1; d.l[0] = d.a*d.l[1] }; s = d.a*d.n + d.l[0]",
    "d = {a: x, b: w}; s = 0.0; for i in range(9) { s = s + d.a; d = {a: d.b*1.1, b: d.a} }; s = s*d.a",
    "d = {a: x}; s = 0.0; for i in range(9) { s = s + d.a; d.b = s }; s = s*d.b",
    "s = 0.0; fn f(a) { for i in range(20) { a = a*1.1; if a > 2.0 { return 3 }; if a < -9.0 { return a } }; return a*i }; s = f(x) + f(w) + f(-x)*w",
    "s = 0.0; fn f(a) { for i in range(20) { a = a*1.1; if a > 2.0 { return [a, i] } }; return [w, 0] }; a, n = f(x); s = a*n + f(0.1)[0]",
    "s = 0.0; fn f(a) { for i in range(20) { if i*a > 2.0 { return {v: a*i, n: i} } } }; s = f(x).v*f(w).n",
    "s = 0.0; fn f(a) { for i in range(20) { if i*a > 2.0 { return } }; return a }; s = w if f(x) == none else f(w)",
    "s = 0.0; fn f(v, a) { for e in v { if e*a > 0.3 { return e*a } }; return a }; s = f([0.1, 0.9], x) + f(linspace(0.0, 1.0, 20), w)",
    "s = x; for i in range(20) { s = s*1.1 + w; if i % 7 == 3 { print(s) } }",
    "s = x; for i in range(20) { s = s*1.1 + w; if i % 7 == 3 { print(i); s = s - w } elif s > 5.0 { break }; r = s }; s = s*r",
    "s = x; n = 0; while s < 30.0 { n += 1; if n > 4 and n % 5 == 0 { expect s > 0.0; continue }; s = s*1.1 + w }; s = s*n",
    "s = x; for i in range(20) { if i > 15 { print(i) }; s = s*w + i; if i == 18 { s = s // (i - 18) } }",
    "s = x; for i in range(20) { if i == 9 { t = 2.0*x } ; s = s*w + i; if i == 12 { c := s; t = w }; s = s*c }",
    "s = x; for a in [0.1*k for k in range(30)] { s = s*a + w; if a > 2.0 { if s > 0.5 { print(a) } else { s = s + 1.0 } } }",
    "s = x; for i in range(6) { for j in range(9) { s = s*0.9 + w*j }; if i % 2 == 1 { print(s) }; for j in range(3) { if j == 5 { print(j) }; s = s + x } }",
    "s = 0.0; fn f(a) { for i in range(40) { a = a*1.1 + w; if i == 20 { print(a) }; if a > 9.0 { return a*i } }; return a }; s = f(x) + f(w)",
    "s = 0.0; fn f(a) { for i in range(20) { if i == 7 { print(i); return a }; a = a*w + i }; return 0.5 }; s = f(x)*f(w)",
    "s = x; for i in range(20) { print(i); s = s*w }",
    "s = 0.0; fn f(a) { n = 0; while true { n += 1; if n > 12 { return a*n }; a = a*1.1 } }; s = f(x)*w",
    "s = 0.0; fn f(a) { for i in range(12) { a = a*1.1 + w }; return a }; s = f(x) + f(w) + f(2)",
]  # fmt: skip


NEVER = 2**62


def answers(long: int, some: int, source: str, **options: Any) -> Any:
    """What a program gives, or all that is said of why it doesn't."""
    with (
        only(heat=Heat(iterations=long, least_iterations=2)),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(loop_calls, "SOME", some)
        try:
            evaluation = evaluate(source, **options)
        except GradcliError as error:
            if any(d.code.startswith("E1") for d in error.diagnostics):
                raise  # no program at all
            return (
                str([(d.code, d.message, d.span, d.calls) for d in error.diagnostics]),
                None,
                None,
            )
    said = f"{evaluation.diagnostics} {evaluation.printed} {len(evaluation.expectations)}"
    return said, evaluation.outputs, evaluation.gradients


@pytest.mark.parametrize("some", [2**14, 3], ids=["at once", "some at a time"])
@pytest.mark.parametrize(
    "options",
    [
        {"mode": "reverse"},
        {"mode": "forward"},
        {"grad": False},
        {"wrt": ("w",)},
        {"wrt": ("b",)},
        {"wrt": ("r", "s", "x")},
    ],
    ids=str,
)
@pytest.mark.parametrize("loop", LOOPS)
def test_the_turns_give_the_same(loop: str, options: dict[str, Any], some: int) -> None:
    source = f"{HEAD}{FUNCTIONS}b = x*w; r = b\n{loop}\noutput s\noutput v = s*b*r"
    assert_same(answers(2, some, source, **options), answers(NEVER, some, source, **options))


@pytest.mark.parametrize("x", [0.0, -2.0, 1e200, float("inf"), float("nan")])
@pytest.mark.parametrize("loop", [loop for loop in LOOPS[:16] if "root" not in loop])
def test_special_values(loop: str, x: float) -> None:
    for mode in ("reverse", "forward"):
        source = f"{HEAD}{FUNCTIONS}{loop}\noutput s".replace("x = 0.7", f"x = {x}")
        assert_same(answers(2, 2**14, source, mode=mode), answers(NEVER, 0, source, mode=mode))


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The turns that were done together, each time; in all tiers of the tests."""
    found: list[int] = []
    original = long_loops.LongLoop.run_iterations

    def run_iterations(self: Any, frame: list[Any], rest: range) -> Any:
        ran = original(self, frame, rest)
        if ran is not None:
            found.append(ran.iterations)
        return ran

    monkeypatch.setattr(long_loops.LongLoop, "run_iterations", run_iterations)
    with only():
        yield found


def test_an_iteration_that_prints_is_the_interpreter_s(done: list[int]) -> None:
    source = f"{HEAD}s = x\nfor i in range(10000) {{ s = s*0.9 + w; if i % 2500 == 2499 {{ print(i) }} }}\noutput s"
    evaluation = evaluate(source)
    assert evaluation.printed == ["2499", "4999", "7499", "9999"]
    assert done[:4] == [2483, 2499, 2499, 2499]  # of the first run


@pytest.mark.parametrize(
    ("body", "before"),
    [("s = s*0.9 + w", 2), ("s = s*0.9 + w; if s < 0.0 { break }", HEAT.iterations)],
)
def test_a_loop_that_is_sure_to_be_long_is_hot_at_once(
    body: str, before: int, done: list[int]
) -> None:
    """One that may break isn't sure to be."""
    source = f"{HEAD}s = x\nfor i in range(9000) {{ {body} }}\noutput s"
    found = answers(HEAT.iterations, 2**14, source, mode="reverse")
    assert sum(done) == 9000 - before
    assert_same(found, answers(NEVER, 0, source, mode="reverse"))


def test_a_loop_that_prints_all_the_time_stays_in_the_interpreter(done: list[int]) -> None:
    source = f"{HEAD}s = x\nfor i in range(9000) {{ s = s*0.9 + w; if i % 10 == 9 {{ print(i) }} }}\noutput s"
    assert len(evaluate(source).printed) == 900
    assert 1 <= len(done) <= 4


def test_most_loops_are_done_together(done: list[int]) -> None:
    for loop in LOOPS[:15]:
        done.clear()
        answers(2, 2**14, f"{HEAD}{FUNCTIONS}{loop}\noutput s", mode="reverse")
        assert done, loop


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("", {"hessian": True}), ("", {"jacobian": True}),
        ("", {"max_steps": 10**6}),
        ("", {"dtype": "float32"}), ("; y = jacobian(fn(z) = z*s)(x)", {}),
        ("; tape t { y = x*x }; z = t.gradient(y, x)", {}),
        ("; y = vmap(fn(z) = z*s)([1.0, 2.0])", {}),
    ],
)  # fmt: skip
def test_each_turn_is_recorded_where_more_is_asked(
    more: str, options: dict[str, Any], done: list[int]
) -> None:
    source = f"{HEAD}s = x\nfor i in range(30) {{ s = s*w + x*x }}{more}\noutput s"
    found, expected = (answers(long, 2**14, source, **options) for long in (2, NEVER))
    assert_same(found, expected)
    assert not done or "vmap" in more


def test_plain_numbers_need_no_more(done: list[int]) -> None:
    source = "var x = 0.5\ns = 0.0\nfor i in range(30) { s = s*0.5 + i }\ny = grad(fn(z) = z*z)(x)*s\noutput y"
    found, expected = (answers(long, 2**14, source) for long in (2, NEVER))
    assert_same(found, expected)
    assert done


def test_few_records_and_no_more_memory_than_the_turns_need(done: list[int]) -> None:
    source = f"{HEAD}s = 0.0\nfor i in range(100000) {{ s = x*i*w }}\noutput s"
    evaluation = gradcli.load(source=source).with_options(mode="reverse").run()
    assert evaluation.gradients["s"] == {"x": 99999 * 0.4, "w": 99999 * 0.7}
    assert sum(done) == 100_000 - HEAT.least_iterations


def test_what_is_too_long_to_be_told_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "var x = 0.5\nvar w = 0.5\ns = x\nfor i in range(100000) { s = s*0.5 + x }\noutput s"
    monkeypatch.setattr(second_runs, "EXPLAIN_STEPS", 50_000)
    expected = str(evaluate(source, max_steps=10**6).diagnostics)
    monkeypatch.setattr(second_runs, "compile_program", None)
    with only():
        assert str(evaluate(source).diagnostics) == expected
    assert "too long to look for the reason" in expected


def test_a_program_runs_again_with_other_kinds(done: list[int]) -> None:
    source = (
        "var x = 1.0\nfrozen c\ns = c\nfor i in range(5000) { s = s + x*0.5 }\noutput t = sum(s)"
    )
    program = gradcli.load(source=source)
    for c, n in ((0.5, 1), (np.array([0.25, 1.0]), 2), (3.0, 1)):
        found = program.run(c=c)
        assert found.outputs["t"] == np.sum(c) + 2500.0 * n
        assert found.gradients["t"]["x"] == 2500.0 * n
    assert len(done) == 3


def test_a_function_may_be_called_by_many_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = gradcli.load(
        source="var x = 1.0\ns = 0.0\nfor i in range(3000) { s = s*0.5 + x*i }\noutput s"
    )
    expected = program.run(x=2.0).gradients
    with ThreadPoolExecutor(4) as pool:
        assert all(
            found.gradients == expected
            for found in pool.map(lambda _: program.run(x=2.0), range(12))
        )


def test_gradients_by_names_that_the_loop_assigns() -> None:
    for loop, by in (
        ("s = s*0.5 + x; r = s", "r"),
        ("r = s; s = s*0.5 + x", "r"),
        ("y = x; s = s*0.5 + y", "y"),
        ("h = s*x; s = h*0.5", "h"),
    ):
        source = f"var x = 0.7\ns = x; r = 0.0; y = x; h = 0.0\nfor i in range(30) {{ {loop} }}\noutput z = s*2.0 + r + y"
        assert_same(
            answers(2, 2**14, source, wrt=("x", by)), answers(NEVER, 2**14, source, wrt=("x", by))
        )


@settings(RELAXED, max_examples=60)
@given(
    blocks(), st.booleans(), st.sampled_from(["reverse", "forward"]), st.sampled_from([2**14, 2])
)
def test_random_loops(body: str, nested: bool, mode: str, some: int) -> None:
    body = body.replace("tanh(", "h(") if nested else body
    source = f"""var x = 0.7; var w = 0.4
{H}
fn f(x, w) {{ a = x*w; b = 0; n = 0; i = 1; while n < 9 {{ n = n + 1; {body} }}; return a*b + x }}
output s = f(x, w) + f(w, x*x)"""
    assert_same(answers(1, some, source, mode=mode), answers(NEVER, some, source, mode=mode))
