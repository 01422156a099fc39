"""A lexer for Pygments, so that programs have colours in documents, notebooks and terminals.

Pygments finds it by its entry point, and imports it when somebody asks for `tg` or `gradcli`. Text
with errors is coloured, too, as far as single words tell.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from .lang import lexer
from .lang.constants import CONSTANTS
from .ops import BUILTINS

_NAME = rf"{lexer.LETTER}{lexer.LETTER_OR_DIGIT}*+"
_END = rf"(?!{lexer.LETTER_OR_DIGIT})"
_BEGIN = r"(?:(?<=[\n;{])|\A)([ \t]*+)"  # where a statement can begin
_FIRST = [
    (rf"{_BEGIN}({word}){_END}(?={follows.pattern})", bygroups(Whitespace, Keyword))
    for word, (_, follows) in sorted(lexer.SOFT.items())
]
_SIGNS = sorted(set(lexer.SIGNS) - set("()[]{},:."), key=len, reverse=True)


class GradcliLexer(RegexLexer):  # type: ignore[misc] # Pygments has no types
    """The words, numbers and signs of a program."""

    name = "gradcli"
    aliases = ["gradcli", "tg"]  # noqa: RUF012 - Pygments reads it from the class
    filenames = ["*.tg"]  # noqa: RUF012
    flags = re.MULTILINE

    tokens = {  # noqa: RUF012
        "root": [
            *_FIRST,
            (r"(?<=\})([ \t]*+)(backward)(?=[ \t]*\()", bygroups(Whitespace, Keyword)),
            (r"\n|[ \t\r\\]+", Whitespace),
            (r"#[^\n]*", Comment.Single),
            (r'f?"(?:[^"\\\n]|\\.)*"?', String),
            (lexer.NUMBER, Number),
            (words(("true", "false", "none", *CONSTANTS), suffix=_END), Keyword.Constant),
            (words(("and", "or", "not"), suffix=_END), Operator.Word),
            (rf"(fn)([ \t]+)({_NAME})", bygroups(Keyword, Whitespace, Name.Function)),
            (words(sorted(lexer.RESERVED), suffix=_END), Keyword),
            (rf'(error|within|as)(?=[ \t]*["(]|[ \t]+{_NAME}[ \t]*$)', Keyword),
            (words(sorted(BUILTINS), suffix=rf"{_END}(?=[ \t]*\()"), Name.Builtin),
            (_NAME, Name),
            (words(_SIGNS), Operator),
            (r"[()\[\]{},:.;]", Punctuation),
        ]
    }
