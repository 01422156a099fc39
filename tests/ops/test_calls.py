"""Builtins as programs call them: bools and ints as operands, numbers beside arrays, parameters
that move, odd arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.ops import OPS
from gradcli.ops.op import Signature

from ..engine.programs import evaluate, failure, value

FLOATS = [
    op for op in OPS.values() if op.elementwise and op.integers == "float" and not op.internal
]


@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
def test_bools_are_numbers(op: Any) -> None:
    n = len(op.signature.operands)

    def call(a: str) -> Any:
        return value(
            f"y = {a} {op.infix} {a}" if op.infix else f"y = {op.name}({', '.join([a] * n)})"
        )

    found, expected = call("[true, true]"), call("[1.0, 1.0]")
    assert found.dtype == "float64"
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("expression", "expected", "dtype"),
    [
        ("[true, true] @ [true, true]", 2, "int"),
        ("outer([true, true], [true])", [[1], [1]], "int64"),
        ("cross([true, false, true], [true, true, false])", [-1, 1, 1], "int64"),
        ('einsum("i,i", [true, true], [true, true])', 2, "int"),
        ("convolve([true, true], [true, true])", [1, 2, 1], "int64"),
        ("scatter_add([true, false], [0], [true])", [2, 0], "int64"),
        ("where([true], true, 2)", [1], "int64"),
        ("max([true, false])", True, "bool"),
        ("scatter_add(float32([1.0]), [0], 1.5)", [2.5], "float32"),
        ("elu(2.5, [1.0, 2.0])", [2.5, 2.5], "float64"),
        ("leaky_relu([1, -2], 2)", [1.0, -4.0], "float64"),
        ("leaky_relu(float32([1.0, -2.0]), 0.5)", [1.0, -1.0], "float32"),
        ("grad(fn(x) = sum(maximum(x, x)))(float32([2.0]))", [1.0], "float32"),
        ("leaky_relu(2.5, [[0.1], [0.2]])", [[2.5], [2.5]], "float64"),
        ("xlogy(0.0, [1.0, 2.0])", [0.0, 0.0], "float64"),
        ("mean(zeros([0, 2]), axis = 0)", [np.nan, np.nan], "float64"),
        ("std([1.0], ddof = 1)", np.nan, "float"),
        ("var([1.0, 2.0], ddof = 2)", np.inf, "float"),
        ("std([0.1, 0.1, 0.1])", 0.0, "float"),
        ("var([1e8, 1e8 + 1, 1e8 + 2])", 2 / 3, "float"),
        ("solve(zeros([0, 0]), zeros([5, 0, 1]))", np.zeros((5, 0, 1)), "float64"),
        ("pad([1], 1, value = 0.5)", [0.5, 1.0, 0.5], "float64"),
        ("pad([1], [1, 0], \"constant\", 7)", [7, 1], "int64"),
        ("sort(permutation([3.0, 1.0, 2.0]))", [1.0, 2.0, 3.0], "float64"),
        ("linspace(0, 1, 3)", [0.0, 0.5, 1.0], "float64"),
        ("vmap(fn(x) = cos(x > 0))([1.0, -1.0])", [np.cos(1.0), 1.0], "float64"),
        ("vmap(fn(x) = elu(x, [1.0, 2.0]))([1.0, 2.0])", [[1.0, 1.0], [2.0, 2.0]], "float64"),
    ],
)  # fmt: skip
def test_value(expression: str, expected: Any, dtype: str) -> None:
    found = value(f"y = {expression}")
    assert str(getattr(found, "dtype", type(found).__name__)) == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("body", "x", "first", "second"),
    [
        ("sum(linspace(x, 2 * x, 3)**2)", 1.5, 21.75, 14.5),
        ("sum(pad([1.0, x], 1, value = x)**2)", 1.5, 9.0, 6.0),
        ('sum(pad([1.0, x], 1, "edge", x)**2)', 1.5, 6.0, 4.0),
        ("sum(elu(2.5, [x, 2.0]) * x)", 1.5, 5.0, 0.0),
        (
            "sum(elu(-x, [x, 2.0]))",
            1.5,
            -1 + np.exp(-1.5) * (1 - 1.5 - 2),
            np.exp(-1.5) * (1.5 + 2 - 2),
        ),
        ("std([x, x, x])", 0.1, 0.0, 0.0),
        ("sum(atan2([true, false], x))", 0.5, -0.8, 0.64),
        ("sum(clip(x, 0.0, [1.0, 0.2]))", 0.5, 1.0, 0.0),
        ("sum(scatter_add([x, 2.0], [1, 1], x)**2)", 1.5, 2 * 1.5 + 2 * 2 * 5.0, 2 + 8),
    ],
)
def test_derivative(body: str, x: float, first: float, second: float) -> None:
    for mode in ("grad(f)(x)", "jvp(f)(x, 1.0)"):
        assert value(f"fn f(x) = {body}; x = {x}; y = {mode}") == pytest.approx(first, rel=1e-14)
    for mode in ("hessian(f)(x)", "jvp(fn(x) = jvp(f)(x, 1.0))(x, 1.0)", "jvp(grad(f))(x, 1.0)"):
        assert value(f"fn f(x) = {body}; x = {x}; y = {mode}") == pytest.approx(
            second, rel=1e-14, abs=1e-15
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("sum(none)", "`sum` doesn't take none"),
        ("dot(none, 2.0)", "`dot` doesn't take none"),
        ("permutation(2.5)", "`permutation` needs an int or an array, not 2.5"),
        ("permutation(none)", "`permutation` needs an int or an array, not none"),
        (
            "normal([2], std = -1.0)",
            "`normal` needs a standard deviation that isn't negative, not -1.0",
        ),
        ('normal([2], mean = "a")', '`normal` needs numbers for `mean`, not "a"'),
        ("uniform([2], low = 0, high = none)", "`uniform` needs numbers for `high`, not none"),
        ("normal([2], mean = ones(3))", "`normal` cannot broadcast shapes (3,) and (2,)"),
        (
            "normal([1], mean = ones(3))",
            "`normal` draws an array of shape (1,), and `mean` has shape (3,)",
        ),
        ('var([1.0], ddof = "a")', '`var` needs a number for `ddof`, not "a"'),
        ("fft([1.0], norm = [1])", "`fft` has no norm [1]"),
        ("pad([1.0], 1, [1])", "`pad` has no mode [1]"),
        (
            "pad([1.0], 1, value = [1.0])",
            "`pad` needs one number for `value`, not an array of shape (1,)",
        ),
        ("moveaxis(eye(2), 0, [])", "`moveaxis` needs one place for each axis, not [] for [0]"),
        (
            "linspace(0, ones(2))",
            "`linspace` needs a number for `stop`, not an array of shape (2,)",
        ),
        ("arange(nan)", "`arange` needs finite numbers, not 0, nan and 1"),
    ],
)
def test_refusal(call: str, message: str) -> None:
    diagnostic = failure(f"y = {call}")
    assert diagnostic.code in ("E301", "E320")
    assert message in diagnostic.message


def test_the_factors_of_ints_are_floats_of_the_run() -> None:
    for call in ("qr(a)[0]", "eigh(a)[0]", "svd(a)[1]", "inv(a)"):
        assert (
            evaluate(f"const a = [[2, 0], [0, 1]]; y = {call}", dtype="float32", grad=False)
            .outputs["y"]
            .dtype
            == "float32"
        )


def test_operands_after_options_in_a_signature() -> None:
    signature = Signature('x; width, mode="constant"; value=0')
    assert signature.text == 'x, width, mode="constant", value=0'
    assert [p.name for p in signature.operands] == ["x", "value"]
    assert signature.bind("pad", 4, []) == ([0, 3], {"width": 1, "mode": 2})
    assert signature.bind("pad", 2, ["value"]) == ([0, "value"], {"width": 1})


@pytest.mark.parametrize(
    ("call", "keyword"),
    [
        ("uniform(0, 1, [3])", "low"),
        ("uniform([3], 0)", "low"),
        ("normal(3, 2)", "mean"),
        ("normal([3], 0.0, 1.0)", "mean"),
        ("sum([[1.0, 2.0]], 0, 1)", "keepdims"),
        ("mean([[1.0, 2.0]], 0, true)", "keepdims"),
        ("std([[1.0, 2.0]], 0, 1)", "ddof"),
        ("logsumexp([[1.0, 2.0]], 0, true)", "keepdims"),
    ],
)
def test_what_is_easily_mistaken_goes_by_keyword(call: str, keyword: str) -> None:
    """Of two ways to read an argument neither is taken in silence: called as it stands, and under
    another name."""
    name, _, rest = call.partition("(")
    for source, code in ((f"y = {call}", "E202"), (f"f = {name}; y = f({rest}", "E308")):
        with pytest.raises(GradcliError) as failed:
            evaluate(source)
        diagnostic = failed.value.diagnostics[0]
        assert (
            diagnostic.code,
            f"`{keyword}` goes by keyword: `{keyword} = …`" in diagnostic.help,
        ) == (code, True)


LISTS = [
    "sum([1.0, ITEM])", "sum([x, ITEM])", "array([x, ITEM])", "sum([[x, 2.0], [1.0, ITEM]])",
    "sum([[x, 2.0], [x, ITEM]])",
    "vmap(fn(z) = sum([z, ITEM]))([1.0, 2.0])", "grad(fn(z) = sum([z, ITEM]))(x)",
    "jvp(fn(z) = sum([z, ITEM]))(x, 1.0)",
]  # fmt: skip


@pytest.mark.parametrize("item", ["none", '"a"', "f"])
@pytest.mark.parametrize("expression", LISTS)
def test_a_list_of_other_than_numbers_is_no_array_whatever_else_it_holds(
    expression: str, item: str
) -> None:
    found = failure(f"var x = 1.0\nfn f(z) = z\noutput y = {expression.replace('ITEM', item)}")
    assert (found.code, found.help) == ("E302", "arrays hold numbers only")
    assert "in it is no array" in found.message
