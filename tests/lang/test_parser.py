"""Trees: precedence, what a statement becomes, where it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang import syntax
from gradcli.lang.grammar import make_table, read_table, write_table
from gradcli.lang.parser import decode, parse
from gradcli.lang.printer import print_expression


def statement(text: str) -> syntax.Statement:
    (only,) = parse(Source("t.tg", text)).statements
    return only


def expression(text: str) -> syntax.Expression:
    node = statement(text)
    assert isinstance(node, syntax.Evaluate)
    return node.value


def grouped(node: object) -> str:
    """An expression with every operation in parentheses."""
    if isinstance(node, syntax.Arithmetic | syntax.Comparison):
        parts = [grouped(node.operands[0])]
        for sign, operand in zip(node.signs, node.operands[1:], strict=True):
            parts += [sign, grouped(operand)]
        return f"({' '.join(parts)})"
    if isinstance(node, syntax.Logical):
        return "(" + f" {node.sign} ".join(map(grouped, node.operands)) + ")"
    if isinstance(node, syntax.Power):
        return f"({grouped(node.base)} ** {grouped(node.exponent)})"
    if isinstance(node, syntax.Unary):
        return f"({node.sign} {grouped(node.operand)})"
    if isinstance(node, syntax.Conditional):
        return f"({grouped(node.then)} if {grouped(node.condition)} else {grouped(node.otherwise)})"
    return print_expression(node)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "(a - b - c)"),
        ("a * b + c / d - e", "((a * b) + (c / d) - e)"),
        ("a * b @ c % d // e", "(a * b @ c % d // e)"),
        ("-x ** 2", "(- (x ** 2))"),
        ("2 ** -x", "(2 ** (- x))"),
        ("2 ** -x ** 2 * 3", "((2 ** (- (x ** 2))) * 3)"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("--x", "(- (- x))"),
        ("a * -b + c", "((a * (- b)) + c)"),
        ("not a == b", "(not (a == b))"),
        ("not a and not b or c", "(((not a) and (not b)) or c)"),
        ("a or b and c or d", "(a or (b and c) or d)"),
        ("a < b <= c + 1", "(a < b <= (c + 1))"),
        ("(a < b) < c", "((a < b) < c)"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("a + 1 if b and c else d", "((a + 1) if (b and c) else d)"),
        ("-x.y[0](1)", "(- x.y[0](1))"),
        ("f(x)**2", "(f(x) ** 2)"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert grouped(expression(text)) == expected


def test_an_anonymous_function_takes_as_much_as_it_can() -> None:
    node = expression("fn(x) = x + 1 if x > 0 else fn(y) = y * 2")
    assert isinstance(node, syntax.Function)
    assert isinstance(node.body, syntax.Conditional)


def test_comma_lists_pack_and_unpack() -> None:
    assert statement("a, b = b, a") == statement("[a, b] = [b, a]")
    assert statement("return a, b") == statement("return [a, b]")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("var x: float[n, _] = 1 in (0, 2)", syntax.Declare),
        ("frozen s = 0.0", syntax.Declare),
        ("x[0].k = 3", syntax.Assign),
        ("x **= 2", syntax.Augment),
        ("vs[i] :-= 0.1 * g", syntax.Update),
        ("for a, b in zip(x, y) { }", syntax.For),
        ("fn f(a, b = 2,) = a", syntax.Define),
        ("fn f(x) { return x } backward (dy) { return dy }", syntax.Define),
        ("opaque fn f(x) { return x }", syntax.Define),
        ("backward f(dy, x) { return dy }", syntax.Backward),
        ("module M(n) { var w = zeros(n) }", syntax.ModuleDefinition),
        ("tape t (persistent = true) { watch c; y = c }", syntax.Tape),
        ("pause { y = 1 }", syntax.Pause),
        ("record { y = 1 }", syntax.Record),
        ("watch a, b", syntax.Watch),
        ("output z = x @ w", syntax.Output),
        ("expect a ~= b within (rtol = 1e-6)", syntax.Expect),
        ('expect error "no" { y = 1 }', syntax.ExpectError),
        ("import nn as n", syntax.Import),
        ("x[..., none, ::2, 1:]", syntax.Evaluate),
        ('d = {a: 1, "b c": 2,}', syntax.Assign),
    ],
)
def test_statements(text: str, kind: type) -> None:
    assert type(statement(text)) is kind


def test_an_expression_file_is_one_expression() -> None:
    assert parse(Source("t.tg", "\n# area\nx**2\n")).is_expression
    assert not parse(Source("t.tg", "x = 1; x**2")).is_expression
    assert not parse(Source("t.tg", "")).is_expression


def test_spans_point_at_the_text() -> None:
    source = Source("t.tg", "y = (a + b) * sin( c )")
    assign = parse(source).statements[0]
    assert isinstance(assign, syntax.Assign)
    product = assign.value
    assert isinstance(product, syntax.Arithmetic)
    assert [node.span.text for node in (assign, product, *product.operands)] == [
        source.text,
        "(a + b) * sin( c )",
        "(a + b)",
        "sin( c )",
    ]


def test_text_from_bytes() -> None:
    assert decode("t.tg", b"\xef\xbb\xbfx = 1").text == "x = 1"
    with pytest.raises(GradcliError, match=r"E100.*\n.*t\.tg:2:3") as caught:
        decode("t.tg", b"a\nb \xff")
    assert caught.value.exit_code == 3
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(GradcliError, match=r"E100(.*\n)*.*a file in UTF-16 begins like this"):
            decode("t.tg", "\ufeffx = 1".encode(encoding))


def test_parsing_does_not_need_lark() -> None:
    read_table()
    code = (
        "import sys; from gradcli.diagnostics import Source; from gradcli.lang.parser import parse;"
        "parse(Source('t', 'x')); assert 'lark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_that_is_missing_or_out_of_date_is_made_again(tmp_path: Path) -> None:
    table = read_table()
    path = tmp_path / "table.json"
    grammar = Path(__file__).parents[2] / "grammar" / "gradcli.lark"
    assert read_table(path, grammar) == table
    assert path.exists()
    write_table({**table, "grammar": "another"}, path)
    assert read_table(path, grammar) == table
    path.write_text("not json")
    assert read_table(path, grammar) == table


def test_a_conflict_in_a_grammar_is_an_error() -> None:
    with pytest.raises(Exception, match=r"(?i)collision|conflict"):
        make_table(b'%declare A\nstart: a | b "x"?\na: A\nb: A')
