"""Input that means harm gets an answer: an error with a place, or a tree. Nothing recurses, and
time stays linear."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang import program, syntax
from gradcli.lang.dump import dump
from gradcli.lang.parser import MAX_BYTES, decode, parse
from gradcli.lang.printer import print_module
from gradcli.lang.resolve import resolve


def code_of(text: str) -> str:
    source = Source("t.tg", text)
    with pytest.raises(GradcliError) as caught:
        resolve(parse(source), source)
    (first, *_) = caught.value.diagnostics
    assert first.span is not None
    assert str(caught.value)
    return first.code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("y = " + "(" * 100_000, "E402"),
        ("y = " + "[" * 201 + "]" * 201, "E402"),
        ("if a { " * 100_000, "E402"),
        ("y = " + "{a: " * 100_000, "E402"),
        ("y = " + "not " * 100_000 + "x", "E402"),
        ("y = " + "-" * 100_000 + "x", "E402"),
        ("y = " + "2**" * 100_000 + "2", "E402"),
        ("y = " + "a if b else " * 100_000 + "c", "E402"),
        ("y = " + "fn(x) = " * 100_000 + "x", "E402"),
        ("y = x" + ".a" * 100_000, "E402"),
        ("y = x" + "()" * 100_000, "E402"),
        ("y = x" + "[0]" * 100_000, "E402"),
        ("y = " + ("f(" + "-" * 390 + "(fn() { return ") * 60 + "1" + " }))" * 60, "E402"),
        ("y = " + "f(-(fn() { return " * 66 + "1" + " }))" * 66, "E200"),
        ("\0" * 1000, "E102"),
        ("y = 1\0", "E102"),
        ('"' * 99_999, "E121"),
        ('x = "' + "\\" * 100_001, "E103"),
        ("y = " + "9" * 1_000_000, "E104"),
        ("y = " + "1_" * 500_000, "E104"),
        ("}" * 1000, "E111"),
        ("x = 1; " * 1000 + "£", "E102"),
        ("a = " * 100_000 + "1", "E101"),
        ("\\\n" * 100_000 + "$", "E102"),
        ("else " * 1000, "E101"),
    ],
    ids=lambda value: value[:12] if len(value) > 4 else value,
)
def test_refused_with_a_place(text: str, code: str) -> None:
    assert code_of(text) == code


def test_limits_themselves_are_fine() -> None:
    parse(Source("t.tg", "y = " + "(" * 200 + "x" + ")" * 200))
    parse(Source("t.tg", "y = " + "-" * 398 + "x"))
    parse(Source("t.tg", "if a { " * 200 + "}" * 200))


def test_the_deepest_tree_goes_through_every_stage() -> None:
    source = Source("t.tg", "a = 1\n" + "if a { " * 199 + "y = " + "-" * 398 + "a" + "}" * 199)
    tree = parse(source)
    resolve(tree, source)
    assert print_module(parse(Source("t.tg", print_module(tree)))) == print_module(tree)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: " + ".join(["a"] * n),
        lambda n: " - a * ".join(["a"] * n),
        lambda n: "a" + " < a" * n,
    ],
)
def test_long_chains(make: Callable[[int], str]) -> None:
    source = Source("t.tg", "a = 1.0\ny = " + make(20_000))
    tree = parse(source)
    resolved = resolve(tree, source)
    assign = resolved.body[1]
    assert isinstance(assign, program.Assign)
    node, length = assign.value, 0
    while isinstance(node, program.Apply):
        first = node.operands[0]
        assert first is not None
        node, length = first, length + 1
    assert length == 19_999 or isinstance(node, program.Chain)
    assert (
        parse(Source("t.tg", print_module(tree))).statements[1].span.end
        == len(print_module(tree)) - 1
    )
    assert len(dump(resolved)) < 100_000_000


def test_long_lists_and_long_programs() -> None:
    source = Source("t.tg", "y = [" + "1, " * 100_000 + "]")
    (assign,) = parse(source).statements
    assert isinstance(assign, syntax.Assign)
    assert isinstance(assign.value, syntax.ListDisplay)
    assert len(assign.value.items) == 100_000
    source = Source("t.tg", "x = 1\n" + "if x > 0 { x = x + 1 } elif x < 0 { z = 1 }\n" * 10_000)
    assert len(resolve(parse(source), source).body) == 10_001


@pytest.mark.parametrize(
    "text",
    [
        "y{} = nowhere{}\n",
        "[nowhere{}, nowhere{}]\n",
        'expect error "" {{ y{} = nowhere{} }}; a[{}] = 1\n',
    ],
)
def test_many_errors_are_cut_short(text: str) -> None:
    source = Source("t.tg", "".join(text.format(k, k, k) for k in range(20_000)))
    with pytest.raises(GradcliError) as caught:
        resolve(parse(source), source)
    assert len(caught.value.diagnostics) == 100


def test_source_limit() -> None:
    with pytest.raises(GradcliError) as caught:
        decode("t.tg", b" " * (MAX_BYTES + 1))
    assert caught.value.diagnostics[0].code == "E401"
    assert caught.value.exit_code == 4
    with pytest.raises(GradcliError):
        parse(Source("t.tg", " " * (MAX_BYTES + 1)))


def test_ten_megabytes_of_garbage_are_refused_at_the_first_wrong_token() -> None:
    garbage = bytes(range(256)) * 39_000
    with pytest.raises(GradcliError, match="E100"):
        decode("t.tg", garbage)
    assert code_of("z9 % )" * 1_500_000) == "E111"
    assert code_of("(" * 9_000_000) == "E402"


@pytest.mark.parametrize("data", [b"\xff", b"x = 1\xc0\xaf", b"\xed\xa0\x80", b"y = 1\n\xf0\x9f"])
def test_bytes_that_are_not_utf8(data: bytes) -> None:
    with pytest.raises(GradcliError, match=r"E100(.|\n)*t\.tg:\d:\d"):
        decode("t.tg", data)


def test_places_in_a_long_text() -> None:
    source = Source("t.tg", "\n".join(["x", "ab\r"] * 500_000))
    for line in range(1, 1_000_000, 2):
        at = 6 * (line // 2)
        assert source.position(at) == (line, 1)
        assert source.position(at + 3) == (line + 1, 2)
        assert source.line(line + 1) == "ab"
    assert source.position(len(source.text)) == (1_000_000, 4)
    assert source.line(1_000_001) == ""
