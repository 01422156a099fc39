"""Texts with values in them, and what a failed `expect` shows."""

from __future__ import annotations

import pytest

import gradcli

from ..programs import evaluate, failure, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('f""', ""),
        ('f"a"', "a"),
        ('f"{1} {2.5} {true} {none}"', "1 2.5 true none"),
        ('f"{1.23456:.3f}|{1.23456:8.2f}|{1.5:+.1e}|{0.125:.1%}"', "1.235|    1.23|+1.5e+00|12.5%"),
        ('f"{3:4d}|{3:<4d}|{3:04d}"', "   3|3   |0003"),
        ('f"{{{1}}}"', "{1}"),
        (r'f"a\n\"{1}\""', 'a\n"1"'),
        ('f"{[1.0, 2.5]:.2f}"', "[1.00, 2.50]"),
        ('f"{array([1.0, 2.5]):.2f}"', "[1.00 2.50]"),
        ('f"{[[1, 2], [3]]}"', "[[1, 2], [3]]"),
        ('f"{array([1.0, 2.0, 3.0])[0:2]:.1f}"', "[1.0 2.0]"),
        ('f"{1 + 2j:.1f}"', "1.0+2.0j"),
        ('f"{inf:.2f} {nan:.2f}"', "inf nan"),
        ('f"{2.0 if 1 > 0 else 3.0:.1f}"', "2.0"),
        ('len(f"{12345}")', 5),
    ],
)
def test_values(text: str, expected: str) -> None:
    assert value(f"y = {text}") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('f"{}"', "this field is empty"),
        ('f"{ }"', "this field is empty"),
        ('f"{1"', "this field is never closed"),
        ('f"1}"', "this `}` closes nothing"),
        ('f"{1:q}"', "`q` is no format for a value"),
        ('f"{1:}"', "`` is no format for a value"),
        ('f"{1:9999d}"', "`9999d` is no format for a value"),  # no memory is taken by a width
        ('f"{1.0:.999f}"', "`.999f` is no format for a value"),
        ('f"{1; 2}"', "a field holds one expression"),
        ('f"{x = 1}"', "a field holds one expression"),
        ('f"{{a: 1}[0]}"', "this `}` closes nothing"),
        ('f"{1 +}"', "a value is missing after `+`"),
        ('f"{none:.2f}"', "`.2f` is no format for none"),
        ('f"{1.5:d}"', "`d` is no format for float64 1.5"),
        ('f"{sin:.2f}"', "`.2f` is no format for the function `sin`"),
        ('f"{unknown}"', "unknown name `unknown`"),
        ('f"abc', "this string is never closed"),
    ],
)
def test_refused_with_a_place(text: str, message: str) -> None:
    found = failure(f"y = {text}")
    assert found.message == message
    assert found.span is not None
    assert found.span.start >= 4


def test_a_value_from_outside_is_never_a_format_or_an_expression() -> None:
    program = gradcli.load(source='var s\nprint f"{s}"\noutput 1')
    assert program.run(s="{x:.3f} {0.__class__}").printed == ["{x:.3f} {0.__class__}"]


def test_of_rows() -> None:
    """`print` shows rows together; a text that decides something is one for each row."""
    source = (
        'fn f(x) { print f"x is {x:.1f}"; return 1.0 if f"{x}" == "2.0" else x }\n'
        "y = vmap(f)([1.0, 2.0, 3.0])"
    )
    found = evaluate(source)
    assert found.outputs["y"].tolist() == [1.0, 1.0, 3.0]
    assert value('y = vmap(fn(x) = len(f"{x:.0f}"))([5.0, 50.0, 7.0])').tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("claim", "message", "label"),
    [
        ("y < 5", "expected `y < 5`, and it is false", "`y` is 7.0"),
        ("sum(xs) == y + 1", "expected `sum(xs) == y + 1`, and it is false",
         "`sum(xs)` is 3.0, `y + 1` is 8.0"),
        ("y > 0 and not y > 1", "expected `y > 0 and not y > 1`, and it is false", "`y` is 7.0"),
        ("0 < y < 5", "expected `0 < y < 5`, and it is false", "`y` is 7.0"),
        ("all(xs > 1)", "expected `all(xs > 1)`, and it is false", "`xs` is [1.0, 2.0]"),
        ("1 > 2", "expected `1 > 2`, and it is false", ""),
        ('y < 5, f"y is too large: {y:.2f}"',
         "y is too large: 7.00: expected `y < 5`, and it is false", "`y` is 7.0"),
        ('y ~= 6.0, "not six"', "not six: expected 6.0, got 7.0, off by 1 (relative 0.167)", ""),
        ('y ~= 6.0 within (rtol = 1e-3), "not six"',
         "not six: expected 6.0, got 7.0, off by 1 (relative 0.167)", ""),
        ("sin ~= 1.0", "expected 1.0, got <the function `sin`>", ""),
        ("[y] ~= [sin]", "element 0: expected <the function `sin`>, got 7.0", ""),
    ],
)  # fmt: skip
def test_a_failed_claim_shows_its_values(claim: str, message: str, label: str) -> None:
    run = gradcli.load(source=f"y = 7.0; xs = [1.0, 2.0]\nexpect {claim}").run()
    (failed,) = run.expectations
    assert failed.diagnostic is not None
    assert (failed.diagnostic.message, failed.diagnostic.label) == (message, label)


def test_a_message_is_evaluated_only_where_the_claim_fails() -> None:
    evaluate('expect 1 < 2, f"{1 // 0}"')


@pytest.mark.parametrize(
    ("source", "code", "label"),
    [
        ("y = 9223372036854775807 + 1", "E305", "9223372036854775807 + 1 doesn't fit into 64 bits"),
        ("y = 3037000500 * 3037000500", "E305",
         "3037000500 * 3037000500 doesn't fit into 64 bits"),
        ("y = 10 ** 30", "E305", "10 ** 30 doesn't fit into 64 bits"),
        ("y = 7 // 0", "E306", "7 // 0"),
        ("y = 7 % 0", "E306", "7 % 0"),
        ("y = [7, 8] // [1, 0]", "E306", "element (1,) of the right one is 0"),
        ("y = sum([9223372036854775807, 9223372036854775807])", "E305",
         "a result of about 1.845e+19 doesn't fit into 64 bits"),
    ],
)  # fmt: skip
def test_errors_of_ints_show_the_operands(source: str, code: str, label: str) -> None:
    found = failure(source)
    assert (found.code, found.label) == (code, label)


@pytest.mark.parametrize("n", [20, 5000])  # regions leave an error to the interpreter
def test_an_error_in_a_loop_tells_the_turn(n: int) -> None:
    source = f"s = 0\nfor i in range({n}) {{\n    s = s + 100 // ({n - 5} - i)\n}}"
    found = failure(source)
    assert found.label == "100 // 0"
    assert [str(call) for call in found.calls] == [
        f"in the loop at <source>:2:1, where i is {n - 5}"
    ]


@pytest.mark.parametrize("n", [20, 5000])
def test_an_error_in_while_tells_the_iteration(n: int) -> None:
    source = f"n = 0\ns = 0\nwhile n < {n} {{\n    s = s + 100 // ({n - 5} - n)\n    n = n + 1\n}}"
    [loop] = failure(source).calls
    assert str(loop) == f"in the loop at <source>:3:1, in iteration {n - 4}"


def test_loops_and_calls_that_led_to_an_error_stand_in_order() -> None:
    source = (
        "fn f(k) {\n    for v in [2, 1, 0] { w = k // v }\n    return w\n}\n"
        "for a, b in zip([1, 2], [3, 4]) { y = f(a) }"
    )
    assert [str(call) for call in failure(source).calls] == [
        "in the loop at <source>:2:5, where v is 0",
        "in `f`, called at <source>:5:39",
        "in the loop at <source>:5:1, where a, b is 1, 3",
    ]
