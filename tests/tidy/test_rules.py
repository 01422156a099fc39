"""What each rule finds, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from gradcli.diagnostics import Source
from gradcli.lang import syntax
from gradcli.lang.parser import parse
from gradcli.lang.printer import print_module
from gradcli.lint_codes import CODES
from gradcli.tidy.facts import Facts
from gradcli.tidy.linting import Wanted, apply_fixes, find
from gradcli.tidy.rules import RULES

from ..lang.random_trees import modules


def codes(text: str, select: str = "") -> list[str]:
    found = find(Source("<expr>", text), Wanted(select=(select,) if select else ()))
    return [finding.diagnostic.code for finding in found]


FOUND = [
    ("fn f(x) { t = x + 1; return x }\noutput f(2.0)", "W401"),
    ("x = 1.0\ny = 2.0\noutput y", "W401"),
    ("import nn\ny = 2.0", "W401"),
    ("fn f(x) = fn(y) { z = 1; return x + y }\noutput f(2.0)(1.0)", "W401"),
    ("frozen n = 0.0\nfn f(x) { n = x; return n }\noutput f(2.0), n", "W402"),
    ("const n = 0.0\nfn f(x) { n = x; return n }\noutput f(2.0), n", "W402"),
    ("e = 2.0\noutput e", "W403"),
    ("fn f(pi) = pi\noutput f(1.0)", "W403"),
    ("fn norm(x) = x\noutput norm(1.0)", "W403"),
    ("for e in range(3) { print e }", "W403"),
    ("fn f(x) { return x; print x }\noutput f(2.0)", "W404"),
    ("for i in range(3) { if i > 1 { break } else { continue }; print i }", "W404"),
    ("if false { print 1 }", "W404"),
    ("while false { print 1 }", "W404"),
    ("var x = 0.3\noutput 1.0 if x == 0.3 else 0.0", "W405"),
    ("var x = 0.3\nif sin(x) != 2 * x { print x }\noutput x", "W405"),
    ("fn f(x) = x == nan\noutput f(1.0)", "W405"),
    ("x = 3,14\noutput x", "W406"),
    ("var x = 2 * 3,14\noutput 2.0 * x", "W406"),
    ("fn f(x) { return 3,14 * x }\noutput f(1.0)", "W406"),
    ("x = 1.0\nexpect x < 3,14\noutput x", "W406"),
    ("x = 1.0\nexpect x ~= 1,25e0\noutput x", "W406"),
    ("print 3,14", "W406"),
    ("var x = 1.0\noutput x * 3,14", "W406"),
    ("fn f(x) = norm(x)**2\noutput f([1.0])", "W411"),
    ("fn f(x) = norm(x, axis = 0)**2\noutput f([1.0])", "W411"),
    ("fn f(x) = log(1 + x)\noutput f(1.0)", "W412"),
    ("fn f(x) = log(x - 2 + 1.0)\noutput f(3.0)", "W412"),
    ("fn f(x) = exp(2 * x) - 1\noutput f(1.0)", "W413"),
    ("fn f(x) = 2 * (1 - exp(x))\noutput f(1.0)", "W413"),
    ("fn f(x) = sqrt(sum(x**2))\noutput f([1.0])", "W414"),
    ("fn f(x) = sqrt(sum(x * x, axis = 0))\noutput f([1.0])", "W414"),
    ("x = [1.0]\ns = 0.0\nfor i in range(1) { s += x[i] }\noutput s", "W421"),
    ("x = [1.0]\ns = 0.0\nfor i in range(len(x)) { s = s + sin(x[i])**2 }\noutput s", "W421"),
    ("x = [1.0]\ny = zeros(1)\nfor i in range(1) { y[i] = 2 * x[i] }\noutput y", "W421"),
    ("var x = 1.0\nx = x + 1\noutput x", "W203"),
    ("var x = 1.0\nx += 1\noutput x", "W203"),
    ("var n = 3\noutput n * 1.0", "W202"),
    ("var n: int64 = 3\noutput n * 1.0", "W202"),
    ("var x = 1.0\nx + 1\ny = x", "W206"),
    ("fn f(a) { b = a }\ny = f(1.0)", "W207"),
]


@pytest.mark.parametrize(("text", "code"), FOUND)
def test_found(text: str, code: str) -> None:
    assert codes(text, code) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x) { _t = x; return x }\noutput f(2.0)",  # `_`: it is meant
        "fn f(x, unused) = x\noutput f(2.0, 1.0)",  # a parameter is given by those who call
        "fn f(x) { a, b = x; return b }\noutput f([2.0, 1.0])",
        "for _ in range(3) { print 1 }",
        "fn helper(x) = x",  # no output: others may import it
        "y = 1.0\nfn f() = fn() = y\noutput f()()",  # a closure reads it
        "fn f(n) { return f(n - 1) if n > 0 else 1.0 }\noutput f(2)",
        'expect error "n" { n = none + 1 }\noutput 1.0',
        "var x = 1.0\nfn f(x) = x**2\noutput f(x)",  # parameters
        "frozen n = 0.0\nfn f(x) { n := x; return n }\noutput f(2.0)",
        "fn f(x) { if x > 0 { return 1.0 }; return x }\noutput f(2.0)",
        "while true { break }",
        "n = 3\nif n == 3 { print n }",
        "var x = 1.0\nif x == 0.0 { print x }\noutput x",
        "var x = 1.0\nexpect x == 1.0\noutput x",
        "var x = 1.0\nif x == inf { print x }\noutput x",
        "fn f(x) = norm(x, ord = 1)**2\noutput f([1.0])",
        "fn f(x) = norm(x)**3 + log(2 + x[0]) + exp(x[0]) - 2 + log(x[0] - 1)\noutput f([2.0])",
        "fn f(x) = sqrt(sum(x**4)) + sqrt(sum(x))\noutput f([1.0])",
        "x = [1.0, 2.0]\nfor i in range(1, 2) { x[i] = x[i - 1] }\noutput x",
        "x = [1.0]\ns = 0.0\nfor i in range(1) { s += s * x[i] }\noutput s",
        "x = [1.0]\ns = 0.0\nfor i in range(1) { s += i * x[i] }\noutput s",
        "fn f(x) = x if x > 0 else -x\nx = [1.0]\ns = 0.0\nfor i in range(1) { s += f(x[i]) }\noutput s",
        "x = [1.0]\nfor i in range(1) { print x[i] }",
        "var x = 1.0\nx := x + 1\noutput x",
        "var x = 3.0\nconst n = 3\noutput x * n",
        "x = 3, 14\na, b = 3,14\nc = 1,2,3\nd = [3,14]\nk = maximum(3,14)\noutput x, a, b, c, d, k",
        "x1 = 1.0\nz = [x1, 2.0]\ny = x1,2\nw = 0.5,2\nv = 1,2.5\noutput y, z[1],2, w, v",
        "x = 1.0\nprint x,1\nprint 3,14,15\noutput x",
        "",
    ],
)
def test_left_alone(text: str) -> None:
    assert codes(text) == []


def test_a_hidden_builtin_is_no_builtin() -> None:
    text = "fn log(x) = x\noutput log(1 + 2.0)"
    assert codes(text) == ["W403"]


@pytest.mark.parametrize(
    ("written", "meant"), [("3,14", "3.14"), ("3,14e2", "3.14e2"), ("1,234.5", "1_234.5")]
)
def test_a_comma_in_a_number_is_told_with_the_number(written: str, meant: str) -> None:
    (finding,) = find(Source("<expr>", f"x = 2 * {written}\noutput x"))
    assert finding.diagnostic.message == f"`{written}` is two values"
    assert finding.diagnostic.help == f"write `{meant}`, or a blank behind the comma"


@pytest.mark.parametrize(
    "line",
    [
        "e = 1.0  # lint: ignore",
        "e = 1.0 #lint:ignore[W403]",
        "e = 1.0  # lint: ignore[W401, w403]",
        "e = 1.0  # lint: ignore[W4]",
        "# lint: ignore[W403] the charge\ne = 1.0",
        "e = (  # lint: ignore[W403]\n1.0)",
    ],
)
def test_comments_keep_a_finding_quiet(line: str) -> None:
    assert codes(f"{line}\noutput e") == []


def test_comments_are_about_their_line_and_codes() -> None:
    assert codes("e = 1.0  # lint: ignore[W401]\noutput e") == ["W403"]
    assert codes("# lint: ignore\ne = 1.0\nfn f(pi) = pi\noutput f(e)") == ["W403"]
    assert codes('e = "# lint: ignore"\nprint e') == ["W403"]


def test_comments_in_a_long_program() -> None:
    """Each is about one line, and isn't asked about all others: that would take minutes."""
    text = "\n".join(f"a{k} = 1.0  # lint: ignore[W401]" for k in range(20_000))
    assert codes(f"{text}\nb = 1.0\noutput 1.0") == ["W401"]


def test_every_code_of_lint_has_its_case() -> None:
    assert {code for _, code in FOUND} >= set(CODES)


@settings(max_examples=200)
@given(modules)
def test_rules_take_every_program(tree: syntax.Module) -> None:
    """What they say is about a place in the text, and after a fix it is still a program."""
    source = Source("t.tg", print_module(tree))
    facts = Facts(parse(source), source)
    findings = [finding for rule in RULES for finding in rule(facts)]
    assert all(0 <= f.span.start < f.span.end <= len(source.text) for f in findings)
    fixed, _ = apply_fixes(source, [finding.fix for finding in findings if finding.fix])
    parse(fixed)
