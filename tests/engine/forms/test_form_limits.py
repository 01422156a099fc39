"""Closed forms: the points where they are taken, the notes beside them, and how large they grow."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest
import sympy

from gradcli.diagnostics import GradcliError
from gradcli.engine.formulas.functions import scalar_function
from gradcli.engine.symbolic import calculus
from gradcli.engine.symbolic.exact import binary, exact
from gradcli.ops import OPS
from gradcli.tasks.symbolic import written

from .closed_forms import close, read


def test_inputs_that_nobody_gave_are_probed() -> None:
    found = written(read("x**2 * sin(x)"), "text")
    assert found.values == {"result": "x**2*sin(x)"}
    declared = read(
        "var x in (2.0, 3.0)\nvar v: float[2]\nconst k: int64\ny = x * sum(v) + k\noutput y"
    )
    assert 2.0 < next(value for symbol, value in declared.point.items() if symbol.name == "x") < 3.0
    assert written(declared, "text").values == {"y": "k + x*(v[0] + v[1])"}


NOTES = [
    (
        "var x = 2.0; t = x; while t > 0.1 { t = t / 2 }; y = t**2",
        "W341",
        "how often its loop runs",
        "x**2/1024",
    ),
    ("var x = [1.0, 2.0]; y = x[argmax(x)]", "W340", "is taken at its value here", "x[1]"),
    (
        "fn f(x) { return x**2 } backward (dy) { return 7.0 }\nvar x = 1.0; y = f(x)",
        "W340",
        "its rule isn't read",
        "x**2",
    ),
    (
        "var x = 2.0; y = 1 // 0 if x > 3 else x",
        "W341",
        "division by zero",
        "Piecewise((x, x <= 3))",
    ),
    (
        "var x = [1.0, 2.0]; y = x if sum(x) > 0 else x[0]",
        "W341",
        "shapes depend on the path",
        ["x[0]", "x[1]"],
    ),
    (
        "var x = 0.5; y = 0.0; for k in range(5) { if x > k { y = y + x } }",
        "W341",
        "how often its loop runs",
        "x",
    ),
]


@pytest.mark.parametrize(("text", "code", "words", "form"), NOTES)
def test_notes(text: str, code: str, words: str, form: Any) -> None:
    found = written(read(f"{text}\noutput y"), "text")
    assert [d.code for d in found.diagnostics] == [code]
    assert words in found.diagnostics[0].message
    assert found.values["y"] == form
    assert found.exit_code == 0


LIMITS = [
    ("var x = 0.5; for k in range(20) { x = 4 * x * (1 - x) }; output x", "E408", 1),
    ("var x = 0.5; y = (2*x)**100000\noutput y", "E408", 1),
    ("var x = [[2.0, 1.0], [1.0, 3.0]]\ny = eigh(x)[0]\noutput y", "E340", 2),
    (
        "var w = 2.0; f = fn(x) = w * x + normal([2])[0]\ny = sum(vmap(f)([1.0, 2.0]))\noutput y",
        "E340",
        2,
    ),
    (
        "var w = 2.0; fn f(x) { w := w + 1.0; return w * x }\ny = sum(vmap(f)([1.0, 2.0]))\noutput y",
        "E340",
        2,
    ),
    ("x = normal(3000)\nvar w = 1.0\ny = sum((x - w)**2)\noutput y", "E408", 3),
]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("[a, a] if a > 1.5 else a", "no array together"),
        ("1 // 0 if a > 1.5 else a", "division by zero"),
        ('"a"', "no rows"),
    ],
)
def test_rows_that_fail_are_told_as_ever(returned: str, words: str) -> None:
    with pytest.raises(GradcliError, match=words):
        read(f"var x = [1.0, 2.0]; y = vmap(fn(a) = {returned})(x)\noutput y")


@pytest.mark.parametrize(("text", "code", "line"), LIMITS)
def test_limits(text: str, code: str, line: int) -> None:
    found = read(text)
    assert [d.code for d in found.diagnostics] == [code]
    assert found.diagnostics[0].span is not None
    assert found.diagnostics[0].span.line == line
    assert found.values == {}


def test_a_run_that_fails_or_is_too_long() -> None:
    with pytest.raises(GradcliError, match="int division by zero"):
        read("var x = 1.0; y = x * (1 // 0)")
    with pytest.raises(GradcliError, match="`x` has 20000 elements"):
        read("var x = ones(20000); y = sum(x[0:3]); output y")
    with pytest.raises(GradcliError, match="too long for a closed form"):
        read("var x = 1.0; y = x; for k in range(200000) { y = y * 0.5 }\noutput y")


@pytest.mark.parametrize(
    "text",
    [
        "2.0**2000 * x",
        "10.0**300 * x",
        "gamma(100000.0) * x",
        "2.0**(2.0**40) * x",
        "x * 9.0**9.0**3",
    ],
)
def test_numbers_that_are_too_long_are_what_they_came_to(text: str) -> None:
    (form,) = read(f"var x = 1.0; y = {text}; output y").values.values()
    assert len(str(form)) < 400


def test_digamma_of_fractions_with_long_denominators() -> None:
    found = read(
        "var x = [0.3, 1e6, 2.5]; y = digamma(x) + digamma(0.3000001); output y",
        grad=False,
        order=0,
    )
    values = [calculus.evaluate(form, found.point, 30) for form in found.values["y"]]
    expected = [
        scalar_function(OPS["digamma"])(x) + scalar_function(OPS["digamma"])(0.3000001)
        for x in (0.3, 1e6, 2.5)
    ]
    assert all(map(close, values, expected))


def test_variables_that_are_no_numbers() -> None:
    found = written(
        read('var s = "a"; var b = true; var x = 1.0; y = x if b else s; output y'), "pretty"
    )
    assert found.values == {"y": "x"}


def test_exact_and_binary() -> None:
    assert exact(0.1) == sympy.Rational(1, 10)
    assert binary(0.1) == sympy.Rational(0.1) != sympy.Rational(1, 10)
    assert exact(math.pi) == sympy.pi
    assert exact(1 + 0.5j) == 1 + sympy.I / 2
    assert (exact(math.inf), exact(-math.inf), exact(3), exact(True)) == (
        sympy.oo,
        -sympy.oo,
        3,
        sympy.true,
    )
    assert exact(math.nan) is sympy.nan


def test_a_power_with_a_long_fraction_in_its_exponent() -> None:
    """SymPy takes the integers in such a power apart, into powers of 2 that no memory holds."""
    x, k = sympy.symbols("x k", positive=True)
    found = calculus.evaluate(x**k * k, {x: 2.330015489141402, k: 0.29850248482332975}, 40)
    with mpmath.workdps(60):
        base, exponent = mpmath.mpf(2.330015489141402), mpmath.mpf(0.29850248482332975)
        assert abs(mpmath.mpf(str(found)) - base**exponent * exponent) < 1e-38


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh"])
def test_a_hyperbolic_function_of_what_may_be_complex(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SymPy's own ask whether they are real by dividing polynomials, which may never end."""

    def divide(*operands: Any) -> Any:
        raise AssertionError(f"divides {operands}")

    monkeypatch.setattr(sympy.Mod, "eval", divide)
    found = read(f"var x = 0.4; y = exp({name}(log(1.5 + sin(x) * x))**2); output y", order=2)
    assert "log" in written(found, "pretty").values["y"]
