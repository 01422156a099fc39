"""Tokens: where statements end, which braces are blocks, which words are keywords, what numbers and
strings mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang import lexer
from gradcli.lang.lalr import table
from gradcli.lang.lexer import Lexer
from gradcli.lang.literals import number_value, string_value


def kinds(text: str) -> str:
    return " ".join(kind for kind, *_ in Lexer(Source("t.tg", text)))


def words(text: str) -> list[str]:
    return [word for _, word, *_ in Lexer(Source("t.tg", text))][:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "$END"),
        ("\n\n# only a comment\n;\n", "$END"),
        ("a\n\n;b\r\nc", "NAME _END NAME _END NAME $END"),
        ("a = (1,\n 2)\nb", "NAME = ( NUMBER , NUMBER ) _END NAME $END"),
        ("a +\nb", "NAME SIGN NAME $END"),
        ("a\n+ b", "NAME _END SIGN NAME $END"),
        ("a \\\n+ b", "NAME SIGN NAME $END"),
        ("a \\\r\n+ b", "NAME SIGN NAME $END"),
        ("a =\n\n  # why\n 1", "NAME = NUMBER $END"),
        ("not\na and\nb", "NOT NAME OPERATOR NAME $END"),
        ("print 1,\n2", "print NUMBER , NUMBER $END"),
        ("x = a if c else\nb", "NAME = NAME if NAME else _END NAME $END"),
        ("if a { b }\n\n# then\nelse { c }", "if NAME { NAME } else { NAME } $END"),
        ("if a {\n\nb\n\n}\n", "if NAME { NAME } $END"),
        (
            "f(fn(x) {\na = x\nreturn a\n},\n2)",
            "NAME ( fn ( NAME ) { NAME = NAME _END return NAME } , NUMBER ) $END",
        ),
    ],
)
def test_ends_of_statements(text: str, expected: str) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d = {a: 1,\n b: 2}", "NAME = _DICT NAME : NUMBER , NAME : NUMBER _DICT_END $END"),
        ("if x { }", "if NAME { } $END"),
        (
            "if {a: 1}.a > 0 { y }",
            "if _DICT NAME : NUMBER _DICT_END . NAME OPERATOR NUMBER { NAME } $END",
        ),
        ("f({})", "NAME ( _DICT _DICT_END ) $END"),
        ("y = a if c else {b: 1}", "NAME = NAME if NAME else _DICT NAME : NUMBER _DICT_END $END"),
        ("return {a: 1}", "return _DICT NAME : NUMBER _DICT_END $END"),
        ("record { y }", "record { NAME } $END"),
        ("for i in [1] { }", "for NAME in [ NUMBER ] { } $END"),
        ("tape t (persistent = true) { y }", "tape NAME ( NAME = true ) { NAME } $END"),
    ],
)
def test_blocks_and_dicts(text: str, expected: str) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("var x", "DECLARE NAME $END"),
        ("var(x)", "NAME ( NAME ) $END"),
        ("x.var()", "NAME . NAME ( ) $END"),
        ("var = 3.0", "NAME = NUMBER $END"),
        ("var if c else d", "NAME if NAME else NAME $END"),
        ("const c = 1", "DECLARE NAME = NUMBER $END"),
        ("backward(y)", "NAME ( NAME ) $END"),
        ("backward f(dy) { }", "backward NAME ( NAME ) { } $END"),
        (
            "fn f(x) { x } backward (dy) { dy }",
            "fn NAME ( NAME ) { NAME } backward ( NAME ) { NAME } $END",
        ),
        ("output = f(x)", "NAME = NAME ( NAME ) $END"),
        ("output == 3", "output OPERATOR NUMBER $END"),
        ("output.x", "NAME . NAME $END"),
        ("output, a = f(x)", "NAME , NAME = NAME ( NAME ) $END"),
        ("print += 1", "NAME AUGMENT NUMBER $END"),
        ("print :-= 1", "NAME UPDATE NUMBER $END"),
        ("print .5", "print NUMBER $END"),
        ("print(x)", "print ( NAME ) $END"),
        ("watch(x)", "watch ( NAME ) $END"),
        ("y = print", "NAME = NAME $END"),
        ("a; print 1", "NAME _END print NUMBER $END"),
        ("record = 1", "NAME = NUMBER $END"),
        ("pause", "NAME $END"),
        ('import "a.tg" as a', "import STRING as NAME $END"),
        ("import nn", "import NAME $END"),
        ("import = 3", "NAME = NUMBER $END"),
        ("opaque fn f(x) = x", "opaque fn NAME ( NAME ) = NAME $END"),
        ("opaque = 1", "NAME = NUMBER $END"),
        ('expect error "no" { y }', "expect error STRING { NAME } $END"),
        ("expect error == 3", "expect NAME OPERATOR NUMBER $END"),
        ("expect a ~= b within (rtol = 1)", "expect NAME ~= NAME within ( NAME = NUMBER ) $END"),
        (
            "within = 3; error = 1; as = 2",
            "NAME = NUMBER _END NAME = NUMBER _END NAME = NUMBER $END",
        ),
    ],
)
def test_keywords_only_where_they_are_meant(text: str, expected: str) -> None:
    assert kinds(text) == expected


def test_operators_are_read_as_long_as_possible() -> None:
    assert words("a**=b//=c**d//e:+=f:-=g:=h~=i...j<=k>=l==m!=n") == re.findall(
        r"\w|\W+", "a**=b//=c**d//e:+=f:-=g:=h~=i...j<=k>=l==m!=n"
    )


def test_names_are_compared_in_nfkc() -> None:
    assert words("ﬁ = α1 + ｘ") == ["fi", "=", "α1", "+", "x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1_000", 1000),
        ("0", 0),
        ("3.0", 3.0),
        ("3.", 3.0),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("1_0.5e+1_0", 10.5e10),
        ("2j", 2j),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_numbers(text: str, value: complex) -> None:
    source = Source("t.tg", text)
    token, _ = Lexer(source)
    assert token[0] == "NUMBER"
    result, type_name = number_value(token, source)
    assert result == value
    assert type(result) is type(value)
    assert type_name == type(value).__name__


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\n\t\"\\b"', 'a\n\t"\\b'),
        (r'"\x41\u00e9\U0001F600"', "Aé😀"),
        ('"# no comment { ;"', "# no comment { ;"),
        ('""', ""),
    ],
)
def test_strings(text: str, value: str) -> None:
    source = Source("t.tg", text)
    token, _ = Lexer(source)
    assert string_value(token, source) == value


@pytest.mark.parametrize("text", [r'"\ud800"', r'"\U00110000"', r'"\q"', r'"\x4"'])
def test_wrong_escapes(text: str) -> None:
    source = Source("t.tg", text)
    token, _ = Lexer(source)
    with pytest.raises(GradcliError):
        string_value(token, source)


def test_the_lexer_makes_all_the_tokens_of_the_grammar() -> None:
    known = {kind for row in table()["actions"] for kind in row}
    source = Path(lexer.__file__).read_text(encoding="utf-8")
    for kind in known - {"$END"}:
        assert f'"{kind}"' in source or kind in ",:.()[]{}=" or kind == "~=", kind
