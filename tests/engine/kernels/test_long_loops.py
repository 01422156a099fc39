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
from gradcli.engine.ir.instructions import size_of
from gradcli.engine.kernels import hot_loops, loop_calls, region_calls
from gradcli.engine.kernels.loop_calls import Ran
from gradcli.tasks import second_runs

from ..derivatives.random_programs import RELAXED
from ..lowering.loop_programs import FUNCTIONS, HEAD, LOOPS
from ..programs import evaluate
from ..running.random_bodies import H, blocks
from .hot_and_cold import assert_same

NEVER = 2**62


def answers(long: int, some: int, source: str, **options: Any) -> Any:
    """What a program gives, or all that is said of why it doesn't."""
    with (
        only(
            heat=Heat(iterations=long, least_iterations=2, work=max(long, HEAT.work), work_each=0)
        ),
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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("x", [0.7, -0.7])
def test_a_pullback_takes_the_cotangents_of_any_output(
    x: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only on one path is `t` connected with x."""
    source = f"""var x = {x}; var w = 0.3
    s, t, u, v = w*2, w*3, w*4, ones(20)
    for i in range(40) {{ s = s*w; u = u*0.9 + 0.1; v = v*0.5 + w; if x > 0.0 {{ t = t + s*x }} else {{ t = w*s }} }}
    output s, t, u, v, t*u, sum(v)*s
    """
    made = []
    original = region_calls.pullback_of
    monkeypatch.setattr(
        region_calls, "pullback_of", lambda *given: made.append(given) or original(*given)
    )
    found = answers(2, 2**14, source, dtype=dtype, mode="reverse")
    assert_same(found, answers(NEVER, 0, source, dtype=dtype, mode="reverse"))
    assert (found[2]["t"]["x"] is None) == (x < 0.0)
    assert found[2]["u"]["x"] is None
    assert len(made) == 3  # for all, for the first output, and for any


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
    original = hot_loops.HotLoop.run_iterations

    def run_iterations(self: Any, frame: list[Any], rest: range, worth: int) -> Any:
        ran = original(self, frame, rest, worth)
        if isinstance(ran, Ran):
            found.append(ran.iterations)
        return ran

    monkeypatch.setattr(hot_loops.HotLoop, "run_iterations", run_iterations)
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


@pytest.mark.parametrize(
    ("body", "is_compiled"),
    [
        ("x = x*0.9 + w", True),
        ("x = x*0.9 + w; x = y if i % 100 == 50 else x", True),
        ("x = square(x)*0.1 + late(w)*0.01", True),
        ("s = s*0.9 + x; if i == 8000 { x = 3.0 }", False),
    ],
)
@pytest.mark.parametrize("uses", ["", "fn f(a) = a*x\n"], ids=["", "captured"])
def test_a_loop_that_replaces_a_variable(
    body: str, is_compiled: bool, uses: str, done: list[int]
) -> None:
    """The interpreter is told of it; once a plain value has the name, kernels run the rest."""
    source = (
        f"{HEAD}{FUNCTIONS}{uses}s = w; y = x\nfor i in range(9000) {{ {body} }}\n"
        "output r = x*s\nx = 0.0"
    )
    found = answers(HEAT.iterations, 2**14, source, mode="reverse")
    assert (sum(done) > 8000) == is_compiled
    assert_same(found, answers(NEVER, 0, source, mode="reverse"))


def test_records_are_work(done: list[int]) -> None:
    """What is recorded takes longer, so fewer iterations pay for compiling a loop."""
    left = []
    for start in ("0.7", "x"):
        done.clear()
        loop = "while i < 9000 { i += 1; s = sin(s*0.9)*cos(s) + tanh(s*0.1)*cos(0.5*s)*sin(s + 0.1) - 0.1*s }"
        evaluate(f"{HEAD}i = 0; s = {start}\n{loop}\noutput s", mode="reverse")
        left.append(9000 - sum(done))
    plain, recorded = left
    assert 0 < recorded < plain


def test_a_loop_around_loops_is_sure_to_be_long(done: list[int]) -> None:
    """All of its iterations will run, though loops in it end when they end."""
    loop = "for k in range(300) { i = 0; while i < 20 { i += 1; s = s*0.9 + w; if s > 9.0 { break } } }"
    evaluate(f"{HEAD}s = x\n{loop}\noutput s", mode="reverse")
    assert max(done) > 200


def test_what_is_left_of_a_loop_has_to_pay_for_a_kernel(done: list[int]) -> None:
    """It may never run again. In a function that is called again, what it has done counts."""
    n = HEAT.iterations + 100
    loop = f"for i in range({n}) {{ s = s*0.9 + w }}"
    evaluate(f"{HEAD}s = x\n{loop}\noutput s", mode="reverse")
    assert not done
    source = f"fn f(s) {{ print(s); {loop}; return s }}\noutput f(x) + f(w) + f(x + w)"
    evaluate(f"{HEAD}{source}", mode="reverse")
    assert done


def test_a_loop_that_prints_all_the_time_stays_in_the_interpreter(done: list[int]) -> None:
    source = f"{HEAD}s = x\nfor i in range(9000) {{ s = s*0.9 + w; if i % 10 == 9 {{ print(i) }} }}\noutput s"
    assert len(evaluate(source).printed) == 900
    assert 1 <= len(done) <= 4


def test_most_loops_are_done_together(done: list[int]) -> None:
    for loop in LOOPS[:15]:
        if "range(3)" in loop:
            continue  # a single iteration is left of it
        done.clear()
        answers(2, 2**14, f"{HEAD}{FUNCTIONS}{loop}\noutput s", mode="reverse")
        assert done, loop


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("", {"max_steps": 10**6}), ("; y = grad(s*x, s)", {}),
        ("; tape t { y = s*x }; z = t.gradient(y, s)", {}),
        ("; attach_grad(w); record { y = w*x }; backward(y); z = w.grad", {}),
    ],
)  # fmt: skip
def test_each_turn_is_recorded_where_more_is_asked(
    more: str, options: dict[str, Any], done: list[int]
) -> None:
    source = f"{HEAD}s = x\nfor i in range(30) {{ s = s*w + x*x }}{more}\noutput s"
    found, expected = (answers(long, 2**14, source, **options) for long in (2, NEVER))
    assert_same(found, expected)
    assert not done


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


@pytest.mark.parametrize(("of", "is_compiled"), [((), True), (("s", "r"), False)])
def test_a_name_that_may_be_a_variable_itself(
    of: tuple[str, ...], is_compiled: bool, done: list[int]
) -> None:
    """It matters only where somebody reads the name after the loop."""
    source = (
        f"{HEAD}s = x; r = 0.0\nfor i in range(9999) {{ r = 0.6*w if i % 3 == 0 else w; "
        "s = s*0.5 + r }\nprint s\noutput s"
    )
    found = answers(HEAT.iterations, 2**14, source, of=of)
    assert bool(done) == is_compiled
    assert_same(found, answers(NEVER, 0, source, of=of))


@pytest.mark.parametrize(
    "body",
    [
        "l = append(l, s)",
        "l = l.append(s)",
        "if i % 3 == 0 { l = l.append(s) }",
        "l = append(l, s) if i % 3 == 0 else l",
    ],
)
def test_lists_that_become_longer(body: str, done: list[int]) -> None:
    source = f"{HEAD}s = x; l = []\nfor i in range(9999) {{ s = s*0.9 + w; {body} }}\nprint s\noutput l[-1]"
    found = answers(HEAT.iterations, 2**14, source)
    assert sum(done) > 9000
    assert_same(found, answers(NEVER, 0, source))


def test_a_list_that_the_loop_changes_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The region of a loop is as large for 60 numbers as for 20."""
    sizes: list[int] = []
    original = loop_calls.lower_loop

    def lower_loop(*given: Any) -> Any:
        lowered = original(*given)
        sizes.append(size_of(lowered.region.block))
        return lowered

    monkeypatch.setattr(loop_calls, "lower_loop", lower_loop)
    for n in (20, 60):
        source = (
            f"{HEAD}l = [x*j for j in range({n})]; for i in range(40) "
            f"{{ l[(i + 1) % {n}] = w*l[i % {n}] }}\noutput l[3]"
        )
        assert_same(answers(2, 2**14, source), answers(NEVER, 2**14, source))
    assert sizes[: len(sizes) // 2] == sizes[len(sizes) // 2 :] != []


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


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("last", [7, 99])
def test_names_that_only_a_path_that_leaves_assigns(mode: str, last: int, done: list[int]) -> None:
    """They hold what it assigns, or keep nothing."""
    source = (
        f"{HEAD}fn f(a) {{ v = a; for i in range(20) {{ v = v*w; if i == {last} "
        "{ at = v*i; k = [at, 2.0*at]; return at + k[1] } }; return v }\n"
        f"s = x; for i in range(20) {{ s = s*0.9; if i == {last} {{ at = s*x; break }} }}\n"
        "output f(x), s"
    )
    found = answers(2, 2**14, source, mode=mode)
    assert done
    assert_same(found, answers(NEVER, 0, source, mode=mode))
