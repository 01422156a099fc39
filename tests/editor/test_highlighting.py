"""The lexer for Pygments, compared with the one that reads programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Error, Keyword, Name, Number, Operator, String, _TokenType

import gradcli
from gradcli.diagnostics import Source
from gradcli.highlighting import GradcliLexer
from gradcli.lang.lexer import RESERVED, STATEMENTS, Lexer

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    *sorted((ROOT / "samples").rglob("*.tg")),
    *sorted((Path(gradcli.__file__).parent / "library").glob("*.tg")),
]
WORDS = (RESERVED | STATEMENTS | {"error", "within", "as", "DECLARE"}) - {"and", "or", "not"}


def expected(kind: str, word: str) -> tuple[_TokenType, ...]:
    """What a token of the lexer may be for Pygments; () where that doesn't matter."""
    if kind in ("NUMBER", "STRING"):
        return (Number,) if kind == "NUMBER" else (String,)
    if kind in WORDS:
        return (Keyword,)
    if kind == "NAME":
        return (Name, Keyword.Constant)  # `pi` is a name, and has its colour
    return (Operator,) if kind in ("SIGN", "OPERATOR", "AUGMENT", "UPDATE", "NOT") else ()


def differences(text: str) -> list[str]:
    at = {}
    for start, kind, word in GradcliLexer().get_tokens_unprocessed(text):
        at.update(dict.fromkeys(range(start, start + len(word)), kind))
    wrong = [f"{text[k]!r} at {k} is an error" for k, kind in at.items() if kind is Error]
    for kind, word, start, _ in Lexer(Source("t.tg", text)):
        allowed = expected(kind, word)
        if allowed and not any(at[start] in one for one in allowed):
            wrong.append(f"`{word}` at {start} is {kind}, and coloured as {at[start]}")
    return wrong


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_programs_are_coloured_as_they_are_read(path: Path) -> None:
    assert differences(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "var x = 1.0; print = 3; print print",
        "if a {\n    output = 2\n    print output\n}",
        "y = x.var() + var(x)",
        "import = 2; import nn as n",
        "α = 2_0.5e-3 - 3j; ifx = α",
        's = "a \\" # b" # var x\nr = "c"',
        'expect a ~= b within (rtol = 1e-6)\nexpect error "b" { }\nerror = 2',
        "fn f(x) { x } backward (dy) { dy }",
    ],
)
def test_words_that_are_keywords_only_in_places(text: str) -> None:
    assert differences(text) == []


def test_functions() -> None:
    tokens = list(GradcliLexer().get_tokens("fn tanhs(tanh) = tanh(tanh)"))
    assert (Name.Function, "tanhs") in tokens
    assert [kind for kind, word in tokens if word == "tanh"] == [Name, Name.Builtin, Name]


def test_text_with_errors_is_coloured_too() -> None:
    text = 'var x = $ + "open\ny = \\ é§'
    assert "".join(word for _, word in GradcliLexer(ensurenl=False).get_tokens(text)) == text


def test_pygments_finds_it() -> None:
    """By the entry point of the installed package."""
    assert find_lexer_class_by_name("tg") is GradcliLexer
    assert find_lexer_class_for_filename("model.tg") is GradcliLexer
