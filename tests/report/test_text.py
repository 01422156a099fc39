"""The text format: how values look, and how lines stand."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.report import Style, render, statistics
from gradcli.report.text import show
from gradcli.tasks.evaluation import Evaluation, Expectation


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24.199999999999996, "24.2"),
        (3.0, "3.0"),
        (-0.0, "-0.0"),
        (1 / 3, "0.33333333"),
        (12345.678901234, "12345.67890123"),
        (0.000123456789123, "0.00012345679"),
        (0.999999999999, "1.0"),
        (1e-10, "1e-10"),
        (8.333333333333333e-08, "8.33333333e-08"),
        (123456789012.34567, "123456789012.34567"),
        (1.7976931348623157e308, "1.79769313e+308"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1 - 2.5j, "1.0-2.5j"),
        (True, "true"),
        (7, "7"),
        (None, "none"),
        ("a label", "a label"),
        ([1.0, "a", None], '[1.0, "a", none]'),
        ({"w": [1.0], "b": np.ones((2, 2))}, "{w: [1.0], b: [[1. 1.] [1. 1.]]}"),
        (np.float32(1234.5678), "1234.5677"),
        (np.array(2.5), "2.5"),
        (np.array([-215.6, -88.0]), "[-215.6  -88.]"),
        (np.array([True, False]), "[ true false]"),
        (np.array([]), "[]"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert show(value) == text


def test_precision_counts_significant_digits() -> None:
    assert show(1 / 3, 12) == "0.333333333333"
    assert show(24.199999999999996, 17) == "24.199999999999996"
    assert show(np.array([1 / 3, 200 / 3]), 3) == "[0.333  66.7]"


def test_long_values_are_summarised() -> None:
    assert show(np.arange(200.0)) == "[  0.   1.   2. … 197. 198. 199.]"
    assert show([float(k) for k in range(200)]) == "[0.0, 1.0, 2.0, …, 197.0, 198.0, 199.0]"
    for value in (np.arange(2000.0), [float(k) for k in range(2000)]):
        assert "…" not in show(value, full=True)
        assert len(show(value, full=True).split()) == 2000
    assert "…" not in show(np.arange(100.0)) + show([0.0] * 100)


def evaluation() -> Evaluation:
    return Evaluation(
        "rosenbrock.tg",
        outputs={"f": 24.199999999999996, "m": np.arange(4.0).reshape(2, 2), "x + y": 2.0},
        gradients={
            "f": {"x": np.array([-215.6, -88.0])},
            "m": {"x": np.array([1.0, 2.0]), "layer.w": None},
            "x + y": {"y": 1.0},
        },
        summed=["m"],
        printed=["step 1", "step 2"],
    )


def test_lines_are_aligned() -> None:
    assert render("text", [evaluation()]) == (
        "step 1\n"
        "step 2\n"
        "f               24.2\n"
        "∂f/∂x           [-215.6  -88.]\n"
        "m               [[0. 1.]\n"
        "                 [2. 3.]]\n"
        "∂Σm/∂x          [1. 2.]\n"
        "∂Σm/∂layer.w    none\n"
        "x + y           2.0\n"
        "∂(x + y)/∂y     1.0\n"
    )


def test_the_labels_of_derivatives() -> None:
    done = Evaluation(
        "a.tg",
        outputs={"f": 1.0, "m": np.ones(2), "f(x, y)": 2.0},
        gradients={"f": {"x": 3.0}, "m": {"x": 4.0}},
        jacobians={"f": {"x": 3.0, "w": 5.0}, "m": {"x": np.array([6.0, 7.0])}},
        hessians={
            "m": {"x": 8.0, "w": None, "x,w": 9.0},
            "f(x, y)": {"g(a, b)": 1.0, "x": 2.0, "g(a, b),x": 3.0},
        },
        summed=["m"],
    )
    assert render("text", [done]) == (
        "f                           1.0\n"
        "∂f/∂x                       3.0\n"  # gradient and Jacobian: of a scalar they are one
        "∂f/∂w                       5.0\n"
        "m                           [1. 1.]\n"
        "∂Σm/∂x                      4.0\n"
        "∂m/∂x                       [6. 7.]\n"
        "∂²Σm/∂x²                    8.0\n"
        "∂²Σm/∂w²                    none\n"
        "∂²Σm/∂x∂w                   9.0\n"
        "f(x, y)                     2.0\n"
        "∂²(f(x, y))/∂(g(a, b))²     1.0\n"
        "∂²(f(x, y))/∂x²             2.0\n"
        "∂²(f(x, y))/∂(g(a, b))∂x    3.0\n"
    )


def test_several_files_have_headings() -> None:
    text = render("text", [Evaluation("a.tg", {"y": 1.0}), Evaluation("b.tg", {"y": 2.0})])
    assert text == "a.tg:\ny    1.0\n\nb.tg:\ny    2.0\n"


def test_a_program_cannot_drive_the_terminal() -> None:
    hostile = Evaluation("a.tg", {"s": "\x1b[2J"}, printed=["\x1b]0;title\x07"])
    text = render("text", [hostile], Style(color=True))
    assert isinstance(text, str)
    assert "\x1b]" not in text
    assert "\x1b[2J" not in text
    assert "\x1b" not in str(render("text", [hostile]))  # a pipe may end in a log


def test_statistics() -> None:
    done = evaluation()
    done.timings = [0.002, 0.001, 0.003]
    done.expectations = [Expectation(1, True), Expectation(2, False, "no")]
    (line,) = statistics(done)
    assert statistics(
        Evaluation("a.tg", jacobians={"y": {"x": 1.0}}, hessians={"y": {"x": 1.0, "z": 2.0}})
    ) == ["a.tg: 0 outputs, 0 gradients, 1 Jacobian, 2 Hessians"]
    what = "3 outputs, 4 gradients in reverse mode, 1 of 2 expectations held"
    assert line == f"rosenbrock.tg: {what}; 3 runs, best 1 ms, median 2 ms"
