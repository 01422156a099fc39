"""Declarations: their types, their values from outside, and what `:=` may do to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError

from ..programs import evaluate, failure, outputs


def declared(declaration: str, given: Any) -> Any:
    return outputs(f"{declaration}\noutput x", {"x": given})["x"]


# ---- values from outside -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declaration", "given", "expected"),
    [
        # neither a type nor a value: ints become floats, bools stay
        ("var x", 3, 3.0),
        ("var x", 2.5, 2.5),
        ("var x", True, True),
        ("var x", [1, 2], [1.0, 2.0]),
        ("var x", [True, False], [True, False]),
        ("var x", [], []),
        ("var x", "nan", float("nan")),
        ("var x", "-inf", float("-inf")),
        ("var x", [1, "inf"], [1.0, float("inf")]),
        ("var x", 1 + 2j, 1 + 2j),
        ("var x", "text", "text"),
        # the value in the program decides
        ("const x = 10", 20, 20),
        ("var x = 10.0", 20, 20.0),
        ("var x = [1.0]", [1, 2, 3], [1.0, 2.0, 3.0]),
        ("var x = 1.0", [1, 2], [1.0, 2.0]),
        ("var x = 1j", 2, 2 + 0j),
        ("var x = 3", True, 1),
        ('var x = "a"', "b", "b"),
        ("frozen x = 0.5", 1, 1.0),
        # the declared type does
        ("var x: float", 3, 3.0),
        ("var x: float64 = 1", 3, 3.0),
        ("var x: int64", 3, 3),
        ("var x: int64", 3.0, 3),
        ("var x: int64[...]", [1.0, 2.0], [1, 2]),
        ("const x = 10", 20.0, 20),
        ("const x = [1]", [2.0, 3.0], [2, 3]),
        ("var x: int64[...]", [1, 2], [1, 2]),
        ("var x: bool", True, True),
        ("var x: complex128", 3, 3 + 0j),
        ("var x: float[2]", [1, 2], [1.0, 2.0]),
        ("var x: float[_, 2]", [[1, 2]], [[1.0, 2.0]]),
        ("var x: float[...]", 3, 3.0),
    ],
)
def test_from_outside(declaration: str, given: Any, expected: Any) -> None:
    found = declared(declaration, given)
    np.testing.assert_array_equal(found, expected)
    assert (
        np.asarray(found).dtype
        == np.asarray(expected, dtype=float if expected == [] else None).dtype
    )


def test_arrays_from_outside_are_taken_as_they_are() -> None:
    assert declared("var x: float32[...]", np.ones(2)).dtype == np.float32
    assert declared("var x = [1.0]", np.array([1, 2], dtype="int8")).dtype == np.float64
    assert declared("const x = [1]", np.array([1, 2], dtype="int8")).dtype == np.int64
    given = np.ones(2)
    outputs("var x\nx[0] := 5.0\noutput x", {"x": given})
    np.testing.assert_array_equal(given, [1.0, 1.0])


@pytest.mark.parametrize(
    ("declaration", "given", "code"),
    [
        ("const x = 10", 2.5, "E005"),
        ("const x = [10]", [1.0, 2.5], "E005"),
        ("var x: int64", 1e300, "E005"),
        ("var x: int64", "nan", "E005"),
        ("var x = 1.0", 1j, "E005"),
        ("var x = 1.0", np.complex64(1j), "E005"),
        ("var x = 1.0", "text", "E005"),
        ("var x", None, "E005"),
        ("var x", {"a": 1}, "E005"),
        ("var x", [1, [2, 3]], "E005"),
        ("var x", [1, "a"], "E005"),
        ("var x", 2**70, "E005"),
        ("const x = 10", 2**63, "E005"),
        ("var x: int64", 2.5, "E005"),
        ("var x: bool", 1, "E005"),
        ("var x: float", [1.0], "E005"),
        ("var x: float[2]", [1.0], "E005"),
        ("var x: float[2]", 1.0, "E005"),
        ("var x: float[_, 2]", [[1.0]], "E005"),
        ("var y\nx = 1.0", 1.0, "E003"),
    ],
)
def test_what_does_not_fit_is_an_error_of_the_command(
    declaration: str, given: Any, code: str
) -> None:
    with pytest.raises(GradcliError) as raised:
        outputs(f"{declaration}\noutput x", {"x": given})
    assert raised.value.diagnostics[0].code == code
    assert raised.value.diagnostics[0].exit_code == 2


def test_a_variable_without_a_value_must_be_given() -> None:
    assert failure("var x\ny = x").code == "E004"


# ---- declared types ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declaration", "good"),
    [
        ("var x: float = 3", True),
        ("var x: float = [1.0]", False),
        ("var x: int64 = 2.5", False),
        ("var x: int64 = true", True),
        ("var x: float[3] = [1, 2, 3]", True),
        ("var x: float[3] = [1.0, 2.0]", False),
        ("var x: float[_, 2] = ones([5, 2])", True),
        ("var x: float[_, 2] = ones([5, 3])", False),
        ("var x: complex128 = 1.0", True),
        ("var x: float = 1j", False),
        ('var x: float = "a"', False),
        ("var x: bool = 1", False),
        ("const x: float[2] = [1.0, 2.0]", True),
        ("frozen x: int64[...] = [[1]]", True),
        ("var y: float[n] = ones(3); var x: float[n, 2] = ones([3, 2])", True),
        ("var y: float[n] = ones(3); var x: float[n, 2] = ones([4, 2])", False),
        ("var x: float[n, n] = eye(2)", True),
        ("var x: float[n, n] = ones([2, 3])", False),
    ],
)
def test_declared_types(declaration: str, good: bool) -> None:
    if good:
        outputs(f"{declaration}\ny = x")
    else:
        assert failure(f"{declaration}\ny = x").code == "E313"


def test_a_named_size_that_differs_says_where_it_got_its_size() -> None:
    error = failure("var a: float[n] = ones(3)\nvar b: float[n] = ones(4)")
    assert ":1:" in error.help
    assert "4" in error.message
    assert "3" in error.message


def test_the_run_dtype_is_what_float_means() -> None:
    assert outputs("var x: float = 1\ny = x", dtype="float32")["y"].dtype == np.float32


def test_domains_do_not_restrict_a_run() -> None:
    assert outputs("var k = 0.5 in (0.1, 5.0)\ny = k", {"k": 7.0}) == {"y": 7.0}


# ---- := ------------------------------------------------------------------------------------------


def test_update_forms() -> None:
    evaluation = evaluate("""
        var x = 2.0
        var v = [1.0, 2.0, 3.0]
        var m = eye(2)
        frozen n = 1
        x := 5.0
        x :+= 1.0
        x :-= 2.0
        v[1] := 9.0
        v[0] :+= 0.5
        m[0, 1] := 7.0
        m[1] := [5.0, 6.0]
        n :+= 2
        expect x == 4.0 and n == 3
        expect v ~= [1.5, 9.0, 3.0]
        expect m ~= [[1.0, 7.0], [5.0, 6.0]]
        vs = [x, v]
        d = {w: x}
        vs[0] := 10.0
        vs[1] := zeros(3)
        d.w :+= 1.0
        expect x == 11.0
        expect v ~= zeros(3)
        z = x
        z := 1.0
        expect x == 1.0
        fn g(p) { p := 3.0 }
        g(x)
        expect x == 3.0
        expect grad(x**2, x) ~= 6.0
        """)
    assert len(evaluation.expectations) == 8


def test_a_value_read_before_an_update_is_the_old_one() -> None:
    evaluate("""
        var x = [1.0, 2.0]
        y = x * 1.0
        old = [x * 2.0, x[0]]
        x[0] := 50.0
        x :+= 1.0
        expect y ~= [1.0, 2.0]
        expect old[0] ~= [2.0, 4.0]
        expect grad(y**2, x) ~= [2.0, 4.0]      # y was made of the old state
        expect grad(x**2, x) ~= [102.0, 6.0]
        """)


def test_gradients_stop_at_the_state() -> None:
    evaluate("""
        var a = 3.0
        var b = 1.0
        b := a * 2
        expect grad(b**2, b) ~= 12.0
        expect grad(b**2, a) == none
        b :+= a
        expect grad(b * a, [a, b])[0] ~= 9.0
        """)


def test_automatic_gradients_are_at_the_last_state() -> None:
    assert evaluate("var x = 1.0\nx := 3.0\ny = x**2").gradients == {"y": {"x": 6.0}}


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("var x = [1.0, 2.0]; x := 1.0", "E313"),
        ("var x = [1.0, 2.0]; x := [1.0, 2.0, 3.0]", "E313"),
        ("var x = 1; x := 2.5", "E313"),
        ("var x = 1.0; x := 1j", "E313"),
        ("var x = [1.0, 2.0]; x[2] := 1.0", "E303"),
        ("var x = [1.0, 2.0]; x[0] := [1.0, 2.0]", "E302"),
        ("var x = [1, 2]; x[0] := 0.5", "E312"),
        ("var x = 1.0; x[0] := 2.0", "E303"),
        ("l = [1.0]; l[0] := 2.0", "E312"),
        ("fn f(a) { a := 1.0 }; f(3.0)", "E312"),
        ("var x = 1.0; x := none", "E312"),
        ('var x = 1.0; x := "a"', "E313"),
    ],
)
def test_updates_that_do_not_fit(program: str, code: str) -> None:
    assert failure(program).code == code


def test_narrower_numbers_are_widened() -> None:
    found = outputs("var x = 1.0; x := 2; var v = ones(2); v := [1, 2]; output x, v")
    assert type(found["x"]) is float
    assert found["v"].dtype == np.float64


# ---- history -------------------------------------------------------------------------------------


def test_a_constant_keeps_the_history_of_its_value() -> None:
    """`const` says that the name won't be assigned again, not that its value depends on nothing."""
    evaluation = evaluate("var x = 1.0; const c = x * 2; const l = [x, c]; y = c * x + sum(l)")
    assert evaluation.gradients["y"]["x"] == 4.0 + 3.0
    assert (
        evaluate("var x = 1.0; const c = x * 2; y = c * x", {"c": 5.0}).gradients["y"]["x"] == 5.0
    )


def test_a_derivative_that_is_constant_has_no_gradient() -> None:
    evaluation = evaluate(
        "var x = 3.0; y = 3 * x; g = grad(y, x); h = 2 * g; output y, h, grad(y, x)"
    )
    assert evaluation.gradients == {"y": {"x": 3.0}, "h": {"x": None}}
    assert [d.code for d in evaluation.diagnostics] == ["W201"]


def test_a_formula_may_take_its_constants_from_outside() -> None:
    assert evaluate("e * x", {"e": 3, "x": 2}).gradients["result"] == {"e": 2.0, "x": 3.0}


def test_numbers_in_another_order_of_bytes() -> None:
    for source in (
        "const b: float[_]\noutput s = b*b",
        "const b\noutput s = b*b",
        "const b = [1.0]\noutput s = b*b",
    ):
        (found,) = outputs(source, {"b": np.array([1.5, 2.0], ">f8")}).values()
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, [2.25, 4.0])


@pytest.mark.parametrize(
    "declaration", ["var x", "var x: float", "var x = 1.0", "const x", "frozen x: float64"]
)
@pytest.mark.parametrize("given", [2**53 + 1, -(2**63) + 1, 2**63 - 1])
def test_an_integer_that_float64_would_change(declaration: str, given: int) -> None:
    error = failure(f"{declaration}\noutput x", {"x": given})
    assert (
        error.code,
        f"the integer {given} has more digits than a float64 holds" in error.message,
    ) == ("E005", True)
    assert failure("var x\noutput x", {"x": np.array([1, given])}).code == "E005"
    assert outputs("const x: int64\noutput x", {"x": given})["x"] == given


@pytest.mark.parametrize("given", [2**53, -(2**63), 2**60, 3 * 2**54])
def test_an_integer_that_float64_keeps(given: int) -> None:
    assert declared("var x", given) == float(given)


@pytest.mark.parametrize("kind", ["var", "frozen", "const"])
def test_entries_of_a_dict(kind: str) -> None:
    source = f"{kind} p = {{a: 1.5, q: {{r: [2.0, 3.0]}}}}; fn f(p) = p.q.r[1] * p.a"
    found = outputs(
        f"{source}; output a = p.a; output f = f(p); output keys = p.keys(); output n = len(p.items())"
    )
    assert found == {"a": 1.5, "f": 4.5, "keys": ["a", "q"], "n": 2}
    assert failure(f"{source}; output p.b").code == "E309"
