"""The TextMate grammar for editors, made from the language itself.

Words come from the Lark grammar, what makes `var` a keyword and how numbers look from the lexer,
functions from the table of builtins. To renew the file: `python editors/textmate.py`.

A TextMate grammar sees one line at a time, and no parse tree. So it takes a word at the beginning
of a line for the first of a statement, also where the line before ends with an operator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradcli.lang import lexer
from gradcli.lang.constants import CONSTANTS
from gradcli.lang.resolve import TYPES
from gradcli.ops import BUILTINS

FILE = Path(__file__).parent / "vscode" / "syntaxes" / "gradcli.tmLanguage.json"
LARK = Path(__file__).parents[1] / "grammar" / "gradcli.lark"

# What a theme colours, by word. A new word of the language must be entered here.
_SCOPES = {
    "keyword.control.conditional": "if elif else",
    "keyword.control.loop": "while for in break continue",
    "keyword.control.flow": "return",
    "keyword.operator.logical": "and or not",
    "keyword.control.import": "import as",
    "keyword.control.recording": "tape watch pause record",
    "keyword.other": "print output expect error within",
    "storage.type.function": "fn backward",
    "storage.type.class": "module",
    "storage.modifier": "opaque",
    "storage.type.variable": "var frozen const",
    "constant.language": "true false none",
}
SCOPE_OF_WORD = {word: scope for scope, words in _SCOPES.items() for word in words.split()}
_SCOPE_OF_KIND = {"AUGMENT": "assignment", "UPDATE": "assignment", "=": "assignment"}

_BLANKS = r"[ \t]*+"
_NAME = rf"{lexer.LETTER}{lexer.LETTER_OR_DIGIT}*+"
_ALONE = (rf"(?<!{lexer.LETTER_OR_DIGIT})", rf"(?!{lexer.LETTER_OR_DIGIT})")
_FIRST = rf"(?:^|(?<=[;{{])){_BLANKS}"  # where a statement can begin
_AFTER_OPERAND = r"(?<=[^\s(\[{,;:=<>+\-*/%@~])[ \t]++"


def words_of_the_grammar(text: str) -> set[str]:
    """The words in quotes in a Lark grammar, and those that its lexer makes other tokens of."""
    rules = re.sub(r"//.*", "", text)
    return {*re.findall(r'"([a-z]+)"', rules), *lexer.RESERVED, *lexer.STATEMENTS}


def grammar(lark: str) -> dict[str, Any]:
    """The TextMate grammar as data. Raises KeyError for a word that has no scope."""
    scopes = {word: SCOPE_OF_WORD[word] for word in sorted(words_of_the_grammar(lark))}
    return {
        "information_for_contributors": "made by editors/textmate.py from the language itself",
        "name": "gradcli",
        "scopeName": "source.gradcli",
        "fileTypes": ["tg"],
        "patterns": [{"include": "#statements"}],
        "repository": {
            "statements": _group([*_first_words(scopes), {"include": "#expressions"}]),
            "expressions": _group([*_tokens(scopes), *_brackets()]),
        },
    }


def _group(patterns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"patterns": patterns}


def _match(pattern: str, *scopes: str) -> dict[str, Any]:
    """A pattern, and the scopes of its groups."""
    captures = {str(k): {"name": f"{scope}.gradcli"} for k, scope in enumerate(scopes, 1) if scope}
    return {"match": pattern, "captures": captures}


def _any(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "(" + "|".join(re.escape(word) for word in longest_first) + ")"


# ---- words ---------------------------------------------------------------------------------------


def _first_words(scopes: dict[str, str]) -> list[dict[str, Any]]:
    """Words that are keywords only where a statement begins."""
    patterns = []
    for word, (_, follows) in sorted(lexer.SOFT.items()):
        # A dict begins as a block does: there a colon follows the word.
        start = rf"{_FIRST}({word}){_ALONE[1]}(?!{_BLANKS}:(?!\+|-|=))(?={follows.pattern})"
        rest, inner = _REST.get(scopes[word], ("", ()))
        patterns.append(_match(start + rest, scopes[word], *inner))
    after_block = rf"(?<=\}}){_BLANKS}(backward)(?={_BLANKS}\()"
    return [*patterns, _match(after_block, scopes["backward"])]


# What follows a first word and has a colour of its own.
_REST: dict[str, tuple[str, tuple[str, ...]]] = {
    "storage.type.variable": (
        rf"[ \t]++({_NAME})(?:{_BLANKS}(:){_BLANKS}{_any(TYPES)}{_ALONE[1]})?",
        ("variable.other.declaration", "punctuation.separator.type", "support.type"),
    ),
    "storage.type.class": (rf"[ \t]++({_NAME})", ("entity.name.class",)),
    "storage.type.function": (rf"[ \t]++({_NAME})", ("entity.name.function",)),
    "keyword.other": (rf'(?:[ \t]++(error)(?={_BLANKS}"))?', (SCOPE_OF_WORD["error"],)),
}


def _tokens(scopes: dict[str, str]) -> list[dict[str, Any]]:
    reserved: dict[str, list[str]] = {}
    for word in sorted(lexer.RESERVED):
        reserved.setdefault(scopes[word], []).append(word)
    named = rf"(fn)[ \t]++({_NAME})"
    return [
        {"match": "#.*$", "name": "comment.line.number-sign.gradcli"},
        _string(),
        _match(f"{_ALONE[0]}({lexer.NUMBER})", "constant.numeric"),
        _match(f"{_ALONE[0]}{named}", scopes["fn"], "entity.name.function"),
        _match(rf"{_AFTER_OPERAND}(within)(?={_BLANKS}\()", scopes["within"]),
        _match(rf"{_AFTER_OPERAND}(as)[ \t]++({_NAME})", scopes["as"], "entity.name.namespace"),
        *[_match(_ALONE[0] + _any(words) + _ALONE[1], scope) for scope, words in reserved.items()],
        _match(rf"{_ALONE[0]}{_any(BUILTINS)}(?={_BLANKS}\()", "support.function.builtin"),
        _match(rf"{_ALONE[0]}({_NAME})(?={_BLANKS}\()", "entity.name.function.call"),
        _match(rf"(?<!\.){_ALONE[0]}{_any(CONSTANTS)}{_ALONE[1]}", "constant.language"),
        _match(rf"({_NAME})", "variable.other"),
        *_signs(),
    ]


def _signs() -> list[dict[str, Any]]:
    """Operators and signs of assignment, longer ones first."""
    found: dict[tuple[int, str], list[str]] = {}
    for sign in lexer.SIGNS:
        if sign not in ("(", ")", "[", "]", "{", "}", ",", ":", "."):
            scope = _SCOPE_OF_KIND.get(lexer.KINDS[sign], "arithmetic")
            found.setdefault((-len(sign), f"keyword.operator.{scope}"), []).append(sign)
    return [_match(_any(found[key]), key[1]) for key in sorted(found)]


def _string() -> dict[str, Any]:
    escape = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[ntr0\\\"'])"
    return {
        "name": "string.quoted.double.gradcli",
        "begin": rf'(?:{_ALONE[0]}f)?"',
        "end": '"|$',
        "patterns": [
            {"match": escape, "name": "constant.character.escape.gradcli"},
            {"match": r"\\.", "name": "invalid.illegal.escape.gradcli"},
        ],
    }


def _brackets() -> list[dict[str, Any]]:
    """Pairs of brackets. Statements begin in braces only, however deep these are in others."""
    return [
        {
            "begin": re.escape(opener),
            "end": re.escape(closer),
            "name": f"meta.{name}.gradcli",
            "patterns": [{"include": inside}],
        }
        for opener, closer, name, inside in (
            ("(", ")", "parentheses", "#expressions"),
            ("[", "]", "brackets", "#expressions"),
            ("{", "}", "braces", "#statements"),
        )
    ]


def text() -> str:
    """The file's text."""
    made = grammar(LARK.read_text(encoding="utf-8"))
    return json.dumps(made, ensure_ascii=True, indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
