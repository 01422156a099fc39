"""Programs give the same in all tiers: what is computed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only
from gradcli.tasks.evaluation import Evaluation

from ..derivatives.random_programs import RELAXED, Program, points, programs
from ..programs import evaluate, failure, value


def _in_both(source: str) -> list[Evaluation]:
    answers = []
    for tier in (INTERPRETED, NATIVE):
        with only(tier, FIRST_USE):
            answers.append(evaluate(source))
    return answers


@RELAXED
@given(programs(), points)
def test_random_programs_give_the_same(program: Program, point: tuple[float, np.ndarray]) -> None:
    x, v = point
    answers = []
    for tier in (INTERPRETED, NATIVE):
        with only(tier, FIRST_USE):
            evaluation = evaluate(
                program.source + 'g = grad(y, x, unconnected = "zero")\noutput y, g',
                {"x": x, "v": v},
            )
        answers.append((evaluation.outputs, evaluation.gradients))
    (hot_outputs, hot_gradients), (outputs, gradients) = answers[1], answers[0]
    np.testing.assert_equal(hot_outputs["y"], outputs["y"])
    np.testing.assert_allclose(hot_outputs["g"], outputs["g"], rtol=1e-12, atol=1e-300)
    for name, expected in gradients.get("y", {}).items():
        if expected is not None:
            np.testing.assert_allclose(hot_gradients["y"][name], expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    "body",
    [
        "s = s * 0.999 + sin(x * i) * 0.01",
        "s = -s + x**2 / (i + 1)",
        "s = s + (i + 2) * (i - 1) * x - i // 2 % 3",
        "s = s + exp(x - i) * hypot(x, s)",
        "s = s + log(x - i) * 0.0",
        "s = s + 1.0 / (i - 3) * x",
        "s = s + exp(800.0 * x + i) * 0.0",
        "s = (s if i % 2 == 0 else [s, s]) * 1.0 + x * 0.5; s = sum(s) * 1.0 + 0.0",
        "s = detach(s) * 1.0 + x * i",
        "s = s + z * (x + i) - k * 2.0",
    ],
)
def test_loops_give_the_same(body: str) -> None:
    source = f"var x = 1.25; frozen k = 0.5; z = x; s = 0.3; for i in range(9) {{ {body} }}; y = s"
    cold, warm = _in_both(source)
    np.testing.assert_equal(warm.outputs, cold.outputs)
    np.testing.assert_allclose(warm.gradients["y"]["x"], cold.gradients["y"]["x"], rtol=1e-13)


def test_the_kinds_of_operands_may_change() -> None:
    source = "var x = 2.0; fn f(a, b) = a * b + a - 1; y = 0.0; for v in [1, 2.0, x, [1.0, 2.0], 3, x, 2j] { y = y + sum(f(v, 2)) }"
    with only(heat=FIRST_USE):
        assert value(f"{source}; r = real(y)") == pytest.approx(sum([2, 5, 5, 7, 8, 5, -1]))


@pytest.mark.usefixtures("hot_at_first_use")
def test_an_overflow_is_still_an_error_at_its_place() -> None:
    found = failure("n = 1; for i in range(100) { n = n * 3 + 1 }")
    assert (found.code, found.span.text if found.span else "") == ("E305", "n * 3")


@pytest.mark.usefixtures("hot_at_first_use")
def test_paused_and_second_order() -> None:
    source = "var x = 1.5; pause { for i in range(3) { p = x * x + 1.0 } }; for i in range(3) { y = x * x * x + sin(x) * 2.0 }"
    evaluation = evaluate(f"{source}; g = grad(y, x); h = grad(g, x); output p, h")
    np.testing.assert_allclose(evaluation.outputs["h"], 6 * 1.5 - 2 * np.sin(1.5))
    assert evaluation.gradients["p"]["x"] is None


@pytest.mark.usefixtures("hot_at_first_use")
def test_an_unassigned_name_is_found_first() -> None:
    with pytest.raises(GradcliError, match="E307"):
        evaluate(
            "fn f(n) { for i in range(3) { y = w * 2.0 + 1.0 }; return y }; if 1 > 2 { w = 1.0 }; r = f(1)"
        )


@pytest.mark.parametrize(
    "source",
    [
        "fn g(f, x) { y = f(x)*2.0 + 1.0; fn f(a) = a*10.0; return y }; var x = 2.0\n"
        "for i in range(3) { y = g(sin, x) }; output y",
        "module M(f) { y = f(2.0)*2.0 + 1.0; fn f(a) = a*10.0 }; var x = 2.0\n"
        "for i in range(3) { m = M(sin); y = m.y*x }; output y",
    ],
)
def test_a_parameter_is_not_the_function_that_takes_its_name_later(source: str) -> None:
    cold, warm = _in_both(source)
    np.testing.assert_equal(warm.outputs, cold.outputs)


def test_a_call_that_comes_to_a_number_may_be_part_of_an_expression() -> None:
    source = "var x = 0.7\nfn f(a) { q = a*2.0; return q }\nfn g() { q = 2.0; return q }\noutput y = x + f(1.5)\noutput z = x*x + g()"
    assert evaluate(source).outputs == {"y": 3.7, "z": 0.7 * 0.7 + 2.0}
