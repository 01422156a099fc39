"""`why`: every reason is found, in its line, whatever the value went through; and a gradient that
is fine shows its chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gradcli
from gradcli.codes import CODES, REASONS
from gradcli.diagnostics import GradcliError, Source
from gradcli.tasks.evaluation import Options
from gradcli.tasks.explanations import Explanation
from gradcli.tasks.programs import parse_program
from gradcli.tasks.why import explain

from ..engine.derivatives.random_programs import RELAXED, Program, points, programs


def explanations(
    source: str, steps: int = 20, inputs: dict[str, Any] | None = None, **options: Any
) -> list[Explanation]:
    answer = explain(
        parse_program(Source("<source>", source)), inputs or {}, Options(**options), steps
    )
    assert answer.diagnostics == []
    return answer.explanations


def one(source: str, **options: Any) -> Explanation:
    (only,) = explanations(source, **options)
    return only


@pytest.mark.parametrize("reason", sorted(reason for reason in REASONS if CODES[reason].example))
def test_the_example_of_a_reason_has_it(reason: str) -> None:
    found = explanations(CODES[reason].example)
    assert reason in [e.reason for e in found]
    told = next(e for e in found if e.reason == reason)
    assert told.message
    assert told.help
    assert told.span is not None
    assert told.origin is not None


def test_every_reason_but_the_unknown_has_an_example() -> None:
    assert {reason for reason in REASONS if not CODES[reason].example} == {"unknown"}


# ---- values are followed, not names --------------------------------------------------------------

# What breaks a gradient, or makes it zero or infinite, of something that is positive.
CUTS = {
    "detached": "detach({})",
    "integer": "float64(int64({} * 10.0))",
    "condition_only": "1.0 * ({} > 0.5)",
    "dead_relu": "relu(-{})",
    "saturated": "tanh({} * 1e4)",
    "flat": "floor({} + 0.3)",
    "clipped": "clip({}, -2.0, 0.01)",
    "not_chosen": "where({0} > 0, 1.0, {0})",
    "zero_factor": "({} * 0.0)",
    "cancelled": "({0} - {0})",
    "infinite_slope": "sqrt({0} * 1e-320 * 1e-10)",
    "nonfinite_value": "log({0} - {0})",
}
WAYS = {
    "a name": "y = {}\nz = y * 2",
    "other names": "y = {}\na = y\nb = a\nz = b * 2",
    "a function": "fn f(a) {{ t = a * 2; return t + 1 }}\nz = f({})",
    "inside a function": "fn f(a) = {}\nz = f(x) * 2",
    "inside a function of a function": "fn f(a) {{ return {} }}\nfn g(h, v) = h(v * 1)\nz = g(f, x) * 2",
    "a loop": "y = {}\nfor i in range(5) {{ y = y * 1.5 }}\nz = y",
    "inside a loop": "z = 0.0\nfor i in range(3) {{ z = z + {} }}",
    "a list": "y = {}\nl = [1.0, y]\nz = sum(l)",
    "a dict": "y = {}\nd = {{k: [y, 2.0]}}\nz = d.k[0] * 2",
    "an element": "y = {}\na = zeros(3)\na[1] = y\nz = sum(a)",
    "an array": "y = {}\nz = dot([1.0, 2.0], [y, y])",
    "a module": "module M() {{\n fn call(a) {{ return {} }}\n}}\nm = M()\nz = m(x) * 2",
    "a closure": "y = {}\nfn f() = y * 2\nz = f()",
    "an anonymous function": "f = fn(a) = {}\nz = f(x) * 2",
    "a conditional": "y = {}\nz = y * 2 if x > 0 else x",
    "a while": "y = {}\nn = 0\nwhile n < 3 {{ y = y * 1.1; n += 1 }}\nz = y",
    "unpacking": "a, b = [1.0, {}]\nz = a + b",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", CUTS)
def test_a_value_is_followed_through(reason: str, way: str) -> None:
    inside = (
        "a"
        if "fn f(a) = {}" in WAYS[way] or "return {}" in WAYS[way] or "fn(a) = {}" in WAYS[way]
        else "x"
    )
    source = "var x = 0.7\n" + WAYS[way].format(CUTS[reason].format(inside))
    line = next(
        k for k, text in enumerate(source.split("\n"), 1) if CUTS[reason].format(inside) in text
    )
    told = one(source, of=("z",), wrt=("x",))
    assert (told.reason, told.span and told.span.line, told.origin and told.origin.line) == (
        reason,
        line,
        1,
    )
    assert told.steps[0].text == "var x = 0.7"
    if reason != "nonfinite_value":
        assert [step.span and step.span.line for step in told.steps if step.breaks] == [line]


def test_a_break_is_found_where_an_import_or_a_module_has_it() -> None:
    source = "module Layer(n) {\n    var w = ones(n)\n    fn call(x) = sum(detach(w) * x)\n}\nnet = Layer(2)\ny = net([1.0, 2.0])"
    told = one(source)
    assert (
        told.wrt,
        told.reason,
        told.span and told.span.line,
        told.origin and told.origin.line,
    ) == ("net.w", "detached", 3, 2)
    assert [call.span.line for call in told.calls] == [6]


def test_a_state_of_many_updates_is_followed_to_the_one_that_counts() -> None:
    source = "var x = 3.0\nvar v = 1.0\nfor i in range(4) { v := v * 0.5 + x }\ny = v * 2"
    told = one(source, wrt=("x",))
    assert (told.reason, told.span and told.span.line) == ("state", 3)


# ---- requests of the program ---------------------------------------------------------------------

TAPE = "var x = 2.0\na = x**2\ntape t { y = a * 3 }\ndy = t.gradient(y, x)"


@pytest.mark.parametrize("of", [(), ("dy",), ("y",)])
def test_what_the_program_asked_for_in_vain_is_explained(of: tuple[str, ...]) -> None:
    told = explanations(f"{TAPE}\noutput y", of=of)[0]
    assert (told.reason, told.span and told.span.line, told.asked and told.asked.line) == (
        "not_recorded",
        2,
        4,
    )


def test_what_else_the_program_asked_for_is_left_out() -> None:
    found = explanations(f"{TAPE}\nvar v = 1.0\nz = v * 2\noutput z", of=("z",), wrt=("v",))
    assert [(e.of, e.wrt, e.status) for e in found] == [("z", "v", "connected")]


def test_what_is_explained_anyway_is_told_once() -> None:
    told = one("var x = 2.0\ny = detach(x) * 2\ng = grad(y, x)\noutput y", of=("y",))
    assert (told.of, told.reason, told.asked) == ("y", "detached", None)


def test_a_replaced_variable_and_the_value_that_has_its_name() -> None:
    found = explanations("var x = 2.0\nx = x + 1\ny = x**2", of=("y",), wrt=("x",))
    assert [(e.reason, e.gradient, e.origin and e.origin.line) for e in found] == [
        ("replaced", None, 1),
        ("", 6.0, 2),
    ]


# ---- chains --------------------------------------------------------------------------------------


def chain(source: str, **options: Any) -> list[tuple[str, Any, Any]]:
    return [(step.text, step.partial, step.gradient) for step in one(source, **options).steps]


def test_the_chain_has_the_partial_at_each_step() -> None:
    assert chain("var x = 3.0\na = x**2\ny = a * 2 + 1") == [
        ("var x = 3.0", None, 12.0),
        ("a = x**2", 6.0, 2.0),
        ("a * 2", 2.0, 1.0),
        ("y = a * 2 + 1", 1.0, 1.0),
    ]


def test_of_several_ways_the_one_that_gives_most_is_shown() -> None:
    told = one("var x = 2.0\na = x * 3\nb = x * 50\ny = a + b")
    assert (told.gradient, told.ways, [step.text for step in told.steps][1]) == (
        53.0,
        2,
        "b = x * 50",
    )


def test_the_chain_goes_through_functions_and_says_who_called_them() -> None:
    told = one(
        "var x = 2.0\nfn inner(a) = a * 5\nfn outer(b) {\n    c = inner(b)\n    return c\n}\ny = outer(x)"
    )
    (step,) = told.steps[1:]
    assert (step.text, step.partial, [(c.function, c.span.line) for c in step.calls]) == (
        "a * 5",
        5.0,
        [("inner", 4), ("outer", 7)],
    )


def test_hot_expressions_are_shown_operation_by_operation() -> None:
    told = one("var x = 0.3\ns = 0.0\nfor i in range(100) { s = s * 0.99 + sin(x * i) }\noutput s")
    assert {step.op for step in told.steps} <= {"", "mul", "sin", "add"}
    assert all(isinstance(step.partial, float) for step in told.steps[1:])


def test_the_product_of_the_partials_is_the_gradient_along_the_chain() -> None:
    told = one("var x = 0.4\na = exp(sin(x) * 2)\ny = log(1 + a)**3")
    product = 1.0
    for step in told.steps[1:]:
        product *= step.partial
    assert product == pytest.approx(told.gradient, rel=1e-12)


@pytest.mark.parametrize("steps", [2, 5, 8])
@pytest.mark.parametrize("fault", ["relu(-s)", "detach(s)"])
def test_a_long_chain_shows_its_ends_and_the_place_at_fault(fault: str, steps: int) -> None:
    source = f"var x = 0.5\ns = x\nfor i in range(60) {{ s = s * 1.01 }}\ns = {fault}\nfor i in range(70) {{ s = s * 0.9 }}\noutput s"
    told = one(source, steps=steps)
    assert [step.span and step.span.line for step in told.steps if step.breaks] == [4]
    assert told.length == len(told.steps) - 1 + sum(step.skipped for step in told.steps)
    assert len(told.steps) <= 2 * steps + 2


def test_what_is_said_of_an_array_is_said_of_the_elements_that_count() -> None:
    told = one("var x = [1.0, -2.0, -5.0, 7.0]\na = relu(x)\ny = a[1] + a[2]")
    assert (told.reason, told.message) == (
        "dead_relu",
        "`relu` is 0 at values from -5.0 to -2.0, and flat there",
    )


def test_a_gradient_of_a_gradient_has_the_operations_of_the_first() -> None:
    steps = chain("var x = 2.0\ng = grad(x**3, x)\ny = g * 2", of=("y",))
    assert ("x**3, in the derivative of `**`", 12.0, 2.0) in steps


def test_arrays_are_shown_in_a_few_numbers() -> None:
    told = one("var x = [1.0, -2.0, 3.0]\ny = sum(relu(x))")
    assert (told.steps[1].partial.low, told.steps[1].partial.zeros, told.steps[1].value.shape) == (
        0.0,
        1,
        (3,),
    )


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        ("a = zeros(2)\na[0] = x\na[0] = 1.0\ny = sum(a)", "not_chosen", 4),
        ("a = zeros(3)\na[0] = x\na = a * 2\na[:2] = [1.0, 2.0]\ny = sum(a)", "not_chosen", 5),
        ("a = stack([x, 1.0])\ny = a[1]", "not_chosen", 3),
        ("a = concatenate([[x], [1.0]])\ny = a[1] * 2", "not_chosen", 3),
        ("a = pad([x], [1, 1]) * 3\ny = a[0] + a[2]", "not_chosen", 3),
        ("a = [0.0, x]\nb = [[1.0, 0.0]] @ a\ny = b[0]", "zero_factor", 3),
        ("a = stack([x, 1.0])\ny = sum(relu(a - 5) + [0.0, 7.0])", "dead_relu", 3),
        ("a = x**0\ny = a * 2", "zero_factor", 2),
        ("a = 0.0**x\ny = a * 2", "zero_factor", 2),
        ("a = (x - 2)**2\ny = a * 2", "stationary", 2),
    ],
)
def test_an_element_among_others_is_followed_to_where_it_is_lost(
    source: str, reason: str, line: int
) -> None:
    told = one(f"var x = 2.0\n{source}", of=("y",))
    assert (told.reason, told.span and told.span.line) == (reason, line)
    assert [step.span and step.span.line for step in told.steps if step.breaks] == [line]


# ---- elements ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "of", "wrt", "gradient", "reason"),
    [
        ("var x = [1.0, -2.0]\ny = sum(relu(x))", "y", "x[1]", 0.0, "dead_relu"),
        ("var x = [1.0, -2.0]\ny = sum(relu(x))", "y", "x[0]", 1.0, ""),
        ("var x = [1.0, -2.0]\ny = sum(relu(x))", "y", "x[-2]", 1.0, ""),
        ("var x = [1.0, 2.0, 3.0]\ny = x[0] * x[2]", "y", "x[1]", 0.0, "not_chosen"),
        ("var x = [1.0, 2.0, 3.0]\ny = x[0] * x[2]", "y", "x[2]", 1.0, ""),
        ("var x = [1.0, 2.0]\ny = x**2", "y[1]", "x[0]", 0.0, "not_chosen"),
        ("var x = [1.0, 2.0]\ny = x**2", "y[1]", "x[1]", 4.0, ""),
        ("var x = [1.0, 2.0]\ny = x * [0.0, 1.0]", "y[0]", "x[0]", 0.0, "zero_factor"),
        ("var x = [1.0, 2.0]\ny = max(x) * 2", "y", "x[0]", 0.0, "not_chosen"),
        # its first use is the condition, through which no gradient goes
        (
            "var x = [0.3, 1.2]\na = x * 1\ny = sum(where(a > 1, a, 0))",
            "y",
            "x[0]",
            0.0,
            "not_chosen",
        ),
        (
            "var w = [[1.0, 2.0], [3.0, 4.0]]\ny = w @ [0.0, 1.0]",
            "y[0]",
            "w[0, 0]",
            0.0,
            "zero_factor",
        ),
        (
            "var w = [[1.0, 2.0], [3.0, 4.0]]\ny = w @ [0.0, 1.0]",
            "y[0]",
            "w[1, 1]",
            0.0,
            "not_chosen",
        ),
        ("var w = [[1.0, 2.0], [3.0, 4.0]]\ny = w @ [0.0, 1.0]", "y[0]", "w[0, 1]", 1.0, ""),
        ("var x = [400.0, 0.5]\na = tanh(x)\ny = a[0] + a[1]**2", "y", "x[0]", 0.0, "saturated"),
        ("var x = 2.0\nl = [x, x * 3]\ny = l[1]", "l[1]", "x", 3.0, ""),
    ],
)
def test_a_single_element(source: str, of: str, wrt: str, gradient: float, reason: str) -> None:
    told = one(source, of=(of,), wrt=(wrt,))
    assert (told.of, told.wrt, told.gradient, told.reason) == (of, wrt, gradient, reason)


@pytest.mark.parametrize("wrt", ["x[2]", "x[0,0]", "l[5]", "z[0]"])
def test_an_element_that_there_is_not(wrt: str) -> None:
    with pytest.raises(GradcliError) as raised:
        explanations("var x = [1.0, 2.0]\nl = [x]\ny = sum(x)", wrt=(wrt,))
    assert [d.code for d in raised.value.diagnostics] == ["E003"]


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sin(a) * w", ""),
        ("relu(-a * w)", "dead_relu"),
        ("detach(w) * a", "detached"),
        ("sqrt(a * (w - w))", "infinite_slope"),
    ],
)
def test_values_are_followed_through_rows(body: str, reason: str) -> None:
    told = one(f"var w = 0.5\nfn f(a) = {body}\ny = sum(vmap(f)([1.0, 2.0]))", of=("y",))
    assert (told.reason, [s.span and s.span.line for s in told.steps if s.breaks]) == (
        reason,
        [2] if reason else [],
    )


# ---- nothing else changes ------------------------------------------------------------------------


@settings(RELAXED, max_examples=25)
@given(programs(), points)
def test_the_gradients_that_are_explained_are_those_of_eval(
    program: Program, at: tuple[float, Any]
) -> None:
    inputs = {"x": at[0], "v": at[1]}
    gradients = (
        gradcli.load(source=str(program))
        .with_options(of=("y",), mode="reverse")
        .run(inputs)
        .gradients["y"]
    )
    whole = explanations(str(program), of=("y",), inputs=inputs)
    elements = explanations(str(program), of=("y",), wrt=("v[0]", "v[2]"), inputs=inputs)
    for told in (*whole, *elements):
        expected = gradients[told.wrt[0]]
        if told.wrt not in gradients and expected is not None:
            expected = expected[int(told.wrt[2])]
        assert (told.status == "none") == (expected is None)
        if expected is not None:
            np.testing.assert_allclose(told.gradient, expected, rtol=1e-9, atol=1e-300)
        assert told.status == "connected" or told.reason
