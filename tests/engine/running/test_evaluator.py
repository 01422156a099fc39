"""What programs mean: scopes, functions, control flow, values that nobody else can change."""

from __future__ import annotations

import numpy as np
import pytest

from ..programs import evaluate, failure, value

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # scopes: blocks open none, functions do
        ("if true { a = 1 }; output a", 1),
        ("for i in range(3) { last = i }; output [i, last]", [2, 2]),
        ("a = 1; fn f() { a = 2; return a }; b = f(); output [a, b]", [1, 2]),
        ("fn f() { b = 5; return b }; b = 1; f(); output b", 1),
        ("a = 1; fn f() = a; a = 2; output f()", 2),
        ("var a = 1.0; fn f() = a * 1.0; a := 3.0; output f()", 3.0),
        ("a = 1; fn f(a) = a + 1; output [f(5), a]", [6, 1]),
        ("fn f(n) { t = n; if n > 0 { f(n - 1) }; return t }; output f(3)", 3),
        ("e = 3; output e", 3),
        ("sum = 5; output sum + 1", 6),
        # closures
        ("fn adder(a) = fn(b) = a + b; f = adder(1); g = adder(10); output [f(1), g(1)]", [2, 11]),
        ("fn f() { a = 1; fn g() = a; a = 2; return g() }; output f()", 2),
        (
            "fs = []; for i in range(3) { fs = append(fs, fn() = i) }; output [fs[0](), fs[2]()]",
            [2, 2],
        ),
        (
            "fs = []; fn at(i) = fn() = i; for i in range(3) { fs = append(fs, at(i)) }; output [fs[0](), fs[2]()]",
            [0, 2],
        ),
        (
            "fn f(a) { fn g(b) { fn h(c) = a + b + c; return h }; return g }; output f(1)(10)(100)",
            111,
        ),
        ("fn twice(f, x) = f(f(x)); output twice(fn(x) = x * 3, 2)", 18),
        (
            "fn f(x) { fn fact(n) = 1 if n < 2 else n * fact(n - 1); return fact(x) }; output f(5)",
            120,
        ),
        ("d = {f: fn(x) = x + 1}; output d.f(2)", 3),
        ("fs = [sin, fn(x) = 2 * x]; output fs[1](2)", 4),
        ("k = 2; fn f(a, b = k) = a * b; k = 100; output f(3)", 6),
        # functions
        (
            "fn f(a, b = 2, c = 10) = a + b * c; output [f(1), f(1, 3), f(1, c = 1), f(c = 0, a = 4)]",
            [21, 31, 3, 4],
        ),
        ("fn fib(n) = n if n < 2 else fib(n - 1) + fib(n - 2); output fib(15)", 610),
        (
            "fn even(n) = n == 0 or odd(n - 1); fn odd(n) = n != 0 and even(n - 1); output even(10)",
            True,
        ),
        ("fn f() { return }; output f() == none", True),
        ("fn f() { a = 1 }; output f() == none", True),
        ("fn f() { return 1, 2 }; a, b = f(); output a + b", 3),
        ("fn double(v) = 2 * v; x = 4; output x.double().sqrt()", np.sqrt(8.0)),
        # control flow
        (
            "fn f() { for i in range(5) { for j in range(5) { if i * j == 6 { return [i, j] } } }; return none }; output f()",
            [2, 3],
        ),
        ("fn f() { while true { for i in range(9) { if i == 4 { return i } } } }; output f()", 4),
        (
            "c = 0; for i in range(5) { for j in range(5) { if j > i { break }; c += 1 } }; output c",
            15,
        ),
        ("c = 0; for i in range(10) { if i % 2 == 0 { continue }; c += i }; output c", 25),
        ("c = 0; while true { c += 1; if c < 5 { continue }; break }; output c", 5),
        ("c = 0; for i in range(3) { while true { c += 1; break } }; output c", 3),
        ("c = 0; for i in range(0) { c = 1 }; output c", 0),
        (
            "fn f(x) { if x > 0 { return 1 } elif x == 0 { return 0 } else { return -1 } }; output [f(2), f(0), f(-2)]",
            [1, 0, -1],
        ),
        ("c = []; for i in range(5, 0, -2) { c = append(c, i) }; output c", [5, 3, 1]),
        ("c = 0; for row in [[1, 2], [3, 4]] { c += row[1] }; output c", 6),
        ("c = 0; for row in ones([2, 3]) { c += sum(row) }; output c", 6.0),
        ("c = 0; for a, b in zip([1, 2, 3], [10, 20]) { c += a * b }; output c", 50),
        ("c = 0; for k, v in enumerate([5, 6]) { c += k * v }; output c", 6),
        ("c = 0; a = [1, 2]; for v in a { a = append(a, v); c += v }; output [c, len(a)]", [3, 4]),
        ("for i in range(3) { i = 10 * i }; output i", 20),
        # conditions
        ("output 1 < 2 < 3", True),
        ("output 1 < 3 < 2", False),
        ("n = 0; fn f() { n = 1; return 1 }; output 3 < 2 < f()", False),
        ("output not 1 > 2 and 2 > 1", True),
        ("output false and [1, 2] or true", True),
        ("output 1 if ones(1) > 0.5 else 2", 1),
        ("x = none; output x == none and not (x != none)", True),
        ('output "a" == "a" and "a" != "b" and not ("1" == 1)', True),
        ("output [1, [2, 3]] == [1, [2, 3]]", True),
        ("output {a: 1} == {a: 1} and {a: 1} != {b: 1}", True),
        ("output 1 == 1.0 and true == 1", True),
        ("output nan == nan", False),
        (
            "output all(array([1, 2]) == [1, 2]) and any([1, 2] == 2)",
            True,
        ),  # a list beside an array is one
        ("output array([1, 2]) == none", False),
        # unpacking
        ("a, b = 1, 2; a, b = b, a; output [a, b]", [2, 1]),
        ("[a, [b, c]] = [1, [2, 3]]; output a + b + c", 6),
        ("a, b = array([1, 2]); output a + b", 3),
        ("l = [0, 0]; d = {}; l[1], d.k = 5, 6; output [l[1], d.k]", [5, 6]),
        ("m = [1, 2], 3; output m", [[1, 2], 3]),
        # numbers
        ("output 2**-1", 0.5),
        ("output -2**2", -4),
        ("output 2**3**2", 512),
        ("output 7 // -2", -4),
        ("output -7 % 3", 2),
        ("output 7 / 2", 3.5),
        ("output 1.0 / 0.0", float("inf")),
        ("output -1.0 / 0.0", float("-inf")),
        ("output 9223372036854775806 + 1", INT_MAX),
        ("output -9223372036854775807 - 1", INT_MIN),
        ("output 3037000499 * 3037000499", 3037000499**2),
        ("output 1_000 + 0", 1000),
        ("output true + true", 2),
    ],
)
def test_value(program: str, expected: object) -> None:
    found = value(program)
    assert found == expected
    assert type(found) is type(expected) or isinstance(expected, float)


# ---- values have one owner -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "made", ["zeros(3)", "array([0.0, 0.0, 0.0])", "zeros([3, 2])[:, 0]", "x * 0.0"]
)
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("b = a; a[0] = 9.0; output a, b", ([9, 0, 0], [0, 0, 0])),
        ("b = a; b[0] = 9.0; output a, b", ([0, 0, 0], [9, 0, 0])),
        ("b = a; b[0] = 9.0; b[1] = 8.0; a[2] = 7.0; output a, b", ([0, 0, 7], [9, 8, 0])),
        ("b = a[1:]; a[1] = 9.0; output a, b", ([0, 9, 0], [0, 0])),
        ("b = a[1:]; b[0] = 9.0; output a, b", ([0, 0, 0], [9, 0])),
        ("b = a.reshape([3, 1]); b[0, 0] = 9.0; output a, c = b.ravel()", ([0, 0, 0], [9, 0, 0])),
        ("b = a[::-1]; a[0] = 9.0; output a, b", ([9, 0, 0], [0, 0, 0])),
        ("b = [a, a]; a[0] = 9.0; output a, c = b[1]", ([9, 0, 0], [0, 0, 0])),
        ("b = {k: a}; a[0] = 9.0; output a, c = b.k", ([9, 0, 0], [0, 0, 0])),
        ("fn f(v) { v[0] = 9.0; return v }; b = f(a); output a, b", ([0, 0, 0], [9, 0, 0])),
        ("fn f(v) { w = v; w[0] = 9.0; return v }; b = f(a); output a, b", ([0, 0, 0], [0, 0, 0])),
        ("b = a + 0.0; a[0] = 9.0; output a, b", ([9, 0, 0], [0, 0, 0])),
        ("b = a; a += 1.0; output a, b", ([1, 1, 1], [0, 0, 0])),
        ("b = a; a[1] += 1.0; a[1] += 1.0; output a, b", ([0, 2, 0], [0, 0, 0])),
        ("for i in range(3) { a[i] = i }; b = a; a[:] = 5.0; output a, b", ([5, 5, 5], [0, 1, 2])),
        ("for r in [a] { r[0] = 9.0 }; output a, r", ([0, 0, 0], [9, 0, 0])),
        ("fn g() = a; b = g(); b[0] = 9.0; output a, b", ([0, 0, 0], [9, 0, 0])),
        ("a[a == 0.0] = 1.0; b = where(a > 0, a, 2.0); output a, b", ([1, 1, 1], [1, 1, 1])),
        ("expect error \"range\" { a[7] = 1.0 }; b = a; output a, b", ([0, 0, 0], [0, 0, 0])),
    ],
)  # fmt: skip
def test_arrays_are_values(made: str, program: str, expected: tuple[list[float], ...]) -> None:
    """Whether something watched is in them (`x * 0.0`) or not."""
    evaluation = evaluate(f"var x = ones(3)\na = {made}\n" + _named(program))
    for found, wanted in zip(evaluation.outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def _named(program: str) -> str:
    """`output a, c = e` isn't in the language: the second output as a name."""
    return program.replace("; output a, c = ", "; c = ") + (
        "\noutput a, c" if "output a, c = " in program else ""
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("a = [1, 2]; b = a; a[0] = 9; output [a, b]", [[9, 2], [1, 2]]),
        ("a = [1, [2, 3]]; b = a; a[1][0] = 9; output [a, b]", [[1, [9, 3]], [1, [2, 3]]]),
        ("a = {k: 1}; b = a; a.k = 9; output [a, b]", [{"k": 9}, {"k": 1}]),
        ('a = {}; a["x"] = 1; a.y = 2; output a', {"x": 1, "y": 2}),
        ("a = {l: [1, 2], d: {k: 3}}; b = a; a.l[0] = 9; a.d.k = 8; output [a, b]",
         [{"l": [9, 2], "d": {"k": 8}}, {"l": [1, 2], "d": {"k": 3}}]),
        ("a = append([], 1); b = append(a, 2); c = append(a, 3); output [a, b, c]",
            [[1], [1, 2], [1, 3]]),
        ("a = []; for i in range(3) { a = append(a, i) }; b = append(a, 9); a = append(a, 8); output [a, b]",
         [[0, 1, 2, 8], [0, 1, 2, 9]]),
        ("a = append(append([], 1), 2); b = a; b = append(b, 3); a[0] = 9; output [a, b]",
            [[9, 2], [1, 2, 3]]),
        ("a = append([], 1); b = append(a, 2); output [len(a), a == [1], b[1:]]", [1, True, [2]]),
        ("a = append([1], 2); b = append(a, 3); b[0] = 9; output [a, b]", [[1, 2], [9, 2, 3]]),
        ("a = [1, 2, 3]; a[1] += 5; a[-1] *= 2; output a", [1, 7, 6]),
        ("a = {n: 1}; for i in range(4) { a.n += i }; output a.n", 7),
        ("fn f(d) { d.k = 5; return d }; a = {k: 1}; b = f(a); output [a.k, b.k]", [1, 5]),
        ("a = {m: zeros(2)}; b = a; a.m[0] = 1.0; output [sum(a.m), sum(b.m)]", [1.0, 0.0]),
        ("a = [1, 2, 3, 4]; output [a[1:3], a[-1], a[::-1], len(a)]", [[2, 3], 4, [4, 3, 2, 1], 4]),
        ("a = [1.0, [2.0, 3.0]]; output a[1][0]", 2.0),
        ("a = [[1, 2], [3, 4]]; output a[1, 0]", 3),
    ],
)  # fmt: skip
def test_lists_and_dicts_are_values(program: str, expected: object) -> None:
    assert value(program) == expected


def test_an_in_place_write_does_not_disturb_what_a_gradient_needs() -> None:
    """The old elements were read by a rule before they were overwritten."""
    evaluation = evaluate("""
        var x = [1.0, 2.0, 3.0]
        a = x * 1.0
        y = a * a
        a[0] = 100.0
        z = sum(y) + a[1]
        a[1] = 50.0
        expect grad(z, x) ~= [2.0, 5.0, 6.0]
        expect grad(sum(a), x) ~= [0.0, 0.0, 1.0]
        i = [0, 1]
        b = x[i]
        i[0] = 2
        expect grad(b, x) ~= [1.0, 1.0, 0.0]
        mask = x > 1.5
        c = x[mask]
        mask[0] = true
        expect grad(c, x) ~= [0.0, 1.0, 1.0]
        """)
    assert len(evaluation.expectations) == 4


def test_a_parameter_that_is_a_variable_is_written_in_the_function_only() -> None:
    evaluation = evaluate("""
        var v = [1.0, 2.0]
        fn f(a) { a[0] = a[1] * 10.0; a += 1.0; return a }
        b = f(v)
        expect b ~= [21.0, 3.0]
        expect v ~= [1.0, 2.0]
        expect grad(b, v) ~= [0.0, 11.0]
        output b
        """)
    assert evaluation.diagnostics == []


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("if false { a = 1 }; b = a", "E307"),
        ("for i in range(0) { a = 1 }; b = a", "E307"),
        ("fn f() = a; b = f(); a = 1", "E307"),
        ("fn f() { if false { t = 1 }; return t }; f()", "E307"),
        ("9223372036854775807 + 1", "E305"),
        ("-9223372036854775807 - 2", "E305"),
        ("3037000500 * 3037000500", "E305"),
        ("2**63", "E305"),
        ("2**9223372036854775807", "E305"),
        ("a = 9223372036854775807; a += 1", "E305"),
        ("abs(-9223372036854775807 - 1)", "E305"),
        ("-(-9223372036854775807 - 1)", "E305"),
        ("(-9223372036854775807 - 1) // -1", "E305"),
        ("array([9223372036854775807]) + 1", "E305"),
        ("array([3037000500]) ** 2", "E305"),
        ("sum(array([9223372036854775807, 1]))", "E305"),
        ("prod(array([4294967296, 4294967296]))", "E305"),
        ("array([4294967296]) @ array([4294967296])", "E305"),
        ("1 // 0", "E306"),
        ("1 % 0", "E306"),
        ("array([1, 2]) // array([1, 0])", "E306"),
        ("if [true, false] { }", "E310"),
        ("if ones(2) > 0 { }", "E310"),
        ("while none { }", "E310"),
        ('if "a" { }', "E310"),
        ("1 if ones(2) else 2", "E310"),
        ("ones(2) < ones(2) < ones(2)", "E310"),
        ("a, b = [1, 2, 3]", "E315"),
        ("a, b = 1", "E319"),
        ("for i in 3.0 { }", "E319"),
        ("for i in range(2.0) { }", "E311"),
        ("for i in range(0, 1, 0) { }", "E311"),
        ("fs = [3]; fs[0](1)", "E308"),
        ("fs = [fn(a) = a]; fs[0]()", "E308"),
        ("fs = [fn(a) = a]; fs[0](1, 2)", "E308"),
        ("fs = [fn(a) = a]; fs[0](1, a = 2)", "E308"),
        ("fs = [fn(a) = a]; fs[0](b = 2)", "E308"),
        ("none + 1", "E301"),
        ('"a" + 1', "E301"),
        ("{a: 1} * 2", "E301"),
        ("ones(2) + ones(3)", "E302"),
        ("[1, [2, 3]] * 2", "E302"),
        ("d = {a: 1}; d.b", "E309"),
        ('d = {a: 1}; d["b"]', "E309"),
        ("a = 3; a[0] = 1", "E312"),
        ("a = [1, 2]; a[2] = 1", "E303"),
        ("a = [1, 2]; a[0.5]", "E303"),
        ("a = zeros(2, ); a[0] = none", "E301"),
        ("a = array([1, 2]); a[0] = 0.5", "E312"),
        ("a = zeros(2); a[0] = 1j", "E312"),
        ("a = zeros(2); a[0] = [1.0, 2.0]", "E302"),
    ],
)
def test_failure(program: str, code: str) -> None:
    assert failure(program).code == code


def test_an_error_names_the_calls_that_led_there() -> None:
    error = failure(
        "fn inner(a) = a // 0\nfn outer(a) {\n    return inner(a) + 1\n}\ny = outer(3)\n"
    )
    assert [(call.function, call.span.line) for call in error.calls] == [("inner", 3), ("outer", 5)]
    assert error.span is not None
    assert error.span.line == 1


def test_an_expected_error_leaves_everything_as_it_was() -> None:
    evaluation = evaluate("""
        var x = 2.0
        fn deep(n) { if n == 0 { return 1 // 0 }; return deep(n - 1) }
        expect error "division" { a = 5.0; deep(100) }
        expect a == 5.0
        y = x * a
        expect grad(y, x) ~= 5.0
        fn count(n) = 0 if n == 0 else 1 + count(n - 1)
        expect count(1000) == 1000
        output y
        """)
    assert len(evaluation.expectations) == 4


def test_a_failed_expectation_is_reported_and_the_program_goes_on() -> None:
    import gradcli

    evaluation = gradcli.load(
        source="expect 1 == 2\nexpect [1.0] ~= 1.0\nexpect 1.0 ~= 1.5 within (atol = 1)\ny = 3"
    ).run()
    assert [(e.line, e.passed) for e in evaluation.expectations] == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert evaluation.outputs == {"y": 3}
    assert evaluation.exit_code == 1


def test_runs_start_from_fresh_state() -> None:
    import gradcli

    program = gradcli.load(source="var x = 1.0; x :+= 1.0; y = x * normal([])")
    assert program.run().outputs == program.run().outputs


@pytest.mark.parametrize(
    ("expectation", "passes"),
    [
        ("expect inf ~= inf", True),
        ("expect inf ~= -inf", False),
        ("expect [1.0, inf] * 1 ~= [1.0, -inf] * 1", False),
        ("expect 1.0 ~= inf", False),
        ("expect [1.0] * 1 ~= [inf] * 1", False),
        ("expect nan ~= nan", True),
        ("expect array([true, false]) ~= array([true, false])", True),
        ("expect array([true, false]) ~= array([true, true])", False),
        ("expect array([9223372036854775807]) ~= array([-9223372036854775807])", False),
        ("expect 1.0 ~= 1.5 within (atol = inf)", True),
        ('expect error "zero" { 1 // 0 }', True),
        ('expect error "E306" { 1 // 0 }', True),
        ('expect error "`//`" { 1 // 0 }', True),
        (
            'expect error "never said" { 1 // 0 }',
            False,
        ),  # the line that the error shows holds these words
        ('expect error "never said" { nowhere }', False),
        ('expect error "unknown name" { nowhere }', True),
    ],
)
def test_what_expectations_hold(expectation: str, passes: bool) -> None:
    import gradcli

    assert [e.passed for e in gradcli.load(source=expectation).run().expectations] == [passes]


def test_a_tolerance_is_a_number() -> None:
    error = failure('expect 1.0 ~= 2.0 within (rtol = "a")')
    assert (error.code, error.message) == ("E311", '`rtol` is the string "a"')


@pytest.mark.parametrize("a", ["[[1.0, 2.0], [3.0, 4.0]]", "array([[1.0, 2.0], [3.0, 4.0]])"])
def test_einsum_takes_one_operand_as_it_is(a: str) -> None:
    found = value(f'output [einsum("ij->", {a}), einsum("ii", {a}), sum(einsum("ij->ji", {a})[0])]')
    assert found == [10.0, 5.0, 4.0]


def test_an_array_or_a_list_as_a_condition_gets_help() -> None:
    assert "`any()` or `all()`" in failure("if [true, false] { y = 1 }").help
    assert "`logical_and` and `logical_or`" in failure("if ones(2) > 0 { y = 1 }").help


def test_a_byte_order_mark_is_skipped() -> None:
    assert value("\ufeffoutput 3") == 3
