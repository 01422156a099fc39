"""Text to tokens: the one compiled regex, and what the grammar can't decide without looking around.

That is: whether a newline ends a statement, whether `{` opens a block or a dict, whether a word
such as `var` is a keyword where it stands, and whether every bracket is closed by its own kind.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from .characters import explain_character

Token = tuple[str, str, int, int]  # kind, text, start, end

MAX_NESTING = 200

RESERVED = frozenset(
    [
        "if",
        "elif",
        "else",
        "while",
        "for",
        "in",
        "break",
        "continue",
        "return",
        "fn",
        "and",
        "or",
        "not",
        "true",
        "false",
        "none",
    ]
)

# Letters are all that no other token uses; `_normalized` looks closer. Written by what they are
# not, because Python compiles classes of many characters slowly.
LETTER = r"[^\x00-@\[-^`{-\x7f]"
LETTER_OR_DIGIT = r"[^\x00-/:-@\[-^`{-\x7f]"
_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_EXPONENT = rf"(?:[eE][+-]?{_DIGITS})?+"
_MANTISSA = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+|\.{_DIGITS})"
NUMBER = rf"{_MANTISSA}{_EXPONENT}[jJ]?+(?!{LETTER_OR_DIGIT})"
_BLANK = r"(?:[ \t]|\\\r?\n)"
SIGNS = [
    *["...", "**=", "//=", ":+=", ":-="],  # longer ones first
    *["**", "//", "==", "!=", "<=", ">=", "~=", "+=", "-=", "*=", "/=", "%=", "@=", ":="],
    *"+-*/%@<>=()[]{},:.",
]

_TOKEN = re.compile(
    rf"""(?:[ \t]++|\#[^\n]*+|\\\r?\n)*+          # blanks, comments, joined lines
    (?:(?!f")({LETTER}{LETTER_OR_DIGIT}*+)        # 1 a word
    |({NUMBER})                                  # 2 a number
    |(f?"(?:[^"\\\n]++|\\.)*+")                   # 3 a string
    |({"|".join(map(re.escape, SIGNS))})         # 4 a sign
    |(\r?\n|;)                                    # 5 perhaps the end of a statement
    |(\Z)                                         # 6 the end
    |(.))                                         # 7 anything else is an error""",
    re.VERBOSE,
)
_WORD, _NUMERAL, _STRING, _SIGN, _NEWLINE, _FINISH, _BAD = range(1, 8)

KINDS = {
    **{sign: sign for sign in SIGNS},
    **dict.fromkeys(["+", "-"], "SIGN"),
    **dict.fromkeys(["**", "*", "/", "//", "%", "@", "==", "!=", "<", "<=", ">", ">="], "OPERATOR"),
    **dict.fromkeys(["+=", "-=", "*=", "/=", "//=", "%=", "@=", "**="], "AUGMENT"),
    **dict.fromkeys([":=", ":+=", ":-="], "UPDATE"),
    "...": "ELLIPSIS",
}
WORDS = {word: word for word in RESERVED} | {"and": "OPERATOR", "or": "OPERATOR", "not": "NOT"}

# A newline after one of these joins the next line.
_CONTINUES = frozenset(["SIGN", "OPERATOR", "NOT", "AUGMENT", "UPDATE", "=", "~=", ","])
# After one of these an operand is complete, so `{` opens a block.
_OPERAND_ENDS = frozenset(
    ["NAME", "NUMBER", "STRING", "TEXT", ")", "]", "}", "_DICT_END", "true", "false", "none"]
)
_BLOCK_FOLLOWS = _OPERAND_ENDS | {"record", "pause", "else of a statement"}
_STATEMENT_FOLLOWS = frozenset(["_END", "{"])

# Words that are keywords only as the first word of a statement, with what must follow them there.
_NAME_FOLLOWS = re.compile(rf"{_BLANK}++(?!(?:{'|'.join(sorted(RESERVED))})\b){LETTER}")
_FILE_FOLLOWS = re.compile(
    rf'{_BLANK}*+(?:"|(?<=[ \t\n])(?!(?:{"|".join(sorted(RESERVED))})\b){LETTER})'
)
_BRACE_FOLLOWS = re.compile(rf"{_BLANK}*+\{{")
_FN_FOLLOWS = re.compile(rf"{_BLANK}++fn\b")
_STRING_FOLLOWS = re.compile(rf'{_BLANK}*+"')
_NO_ASSIGNMENT_FOLLOWS = re.compile(
    rf"(?!{_BLANK}*+(?:(?:\*\*|//|:[+-]?|[-+*/%@])?=(?!=)|\.(?!\.\.|[0-9])|,))"
)
SOFT = {
    **dict.fromkeys(["var", "frozen", "const"], ("DECLARE", _NAME_FOLLOWS)),
    **{word: (word, _NAME_FOLLOWS) for word in ["tape", "module", "backward"]},
    **{word: (word, _BRACE_FOLLOWS) for word in ["record", "pause"]},
    **{word: (word, _NO_ASSIGNMENT_FOLLOWS) for word in ["print", "output", "expect", "watch"]},
    "import": ("import", _FILE_FOLLOWS),
    "opaque": ("opaque", _FN_FOLLOWS),
}
STATEMENTS = frozenset(SOFT)  # what begins a statement, and is a name elsewhere
_OPENERS = {")": "(", "]": "[", "}": "{"}


class Lexer:
    """The tokens of a source, made as they are asked for. `open` holds the brackets that are open
    at the moment."""

    def __init__(self, source: Source, start: int = 0, end: int | None = None) -> None:
        self.source = source
        self.range = (start, len(source.text) if end is None else end)
        self.open: list[tuple[str, int]] = []
        self.last: Token = ("_END", "", 0, 0)  # before the one handed out last
        self.current: Token = self.last

    def __iter__(self) -> Iterator[Token]:
        for token in self._tokens():
            self.last, self.current = self.current, token
            yield token

    def _tokens(self) -> Iterator[Token]:
        text = self.source.text
        opened = self.open
        previous = "_END"  # the kind of the token before, and what a statement may follow
        end_of_statement: Token | None = (
            None  # held back until the next token shows whether it counts
        )
        for match in _TOKEN.finditer(text, *self.range):
            group = match.lastindex or _FINISH
            start, end = match.span(group)
            word = match[group]
            if group == _NEWLINE:
                if opened and opened[-1][0] != "{":
                    if word == ";":
                        raise self._error(
                            "E113", "`;` inside brackets", start, end, label=self._never_closed()
                        )
                elif previous in _STATEMENT_FOLLOWS or (word != ";" and previous in _CONTINUES):
                    pass
                elif end_of_statement is None or word == ";":
                    end_of_statement = ("_END", word, start, end)
                continue
            if group == _WORD and not word.isascii():
                word = self._normalized(word, start)
            if end_of_statement is not None:
                joins = word in ("else", "elif") and previous == "}" and end_of_statement[1] != ";"
                if not (joins or word == "}" or group == _FINISH):
                    yield end_of_statement
                    previous = "_END"
                end_of_statement = None
                if joins:
                    previous = "}"
            if group == _WORD:
                kind = WORDS.get(word) or self._soft_kind(word, previous, end)
            elif group == _SIGN:
                kind = KINDS[word]
                if word in "([{":
                    if word == "{" and previous not in _BLOCK_FOLLOWS:
                        kind = "_DICT"
                    if len(opened) == MAX_NESTING:
                        raise self._error(
                            "E402",
                            f"brackets and blocks nest deeper than {MAX_NESTING} levels",
                            start,
                            end,
                        )
                    opened.append((kind, start))
                elif word in ")]}":
                    kind = self._close(word, start)
            elif group == _NUMERAL:
                kind = "NUMBER"
            elif group == _STRING:
                kind = "TEXT" if word[0] == "f" else "STRING"
            elif group == _FINISH:
                if opened:
                    raise self._unclosed()
                yield ("$END", "", start, start)
                return
            else:
                raise GradcliError(explain_character(self.source, start))
            yield (kind, word, start, end)
            previous = "else of a statement" if kind == "else" and previous == "}" else kind

    def _soft_kind(self, word: str, previous: str, end: int) -> str:
        if previous in _STATEMENT_FOLLOWS:
            if word in SOFT:
                kind, follows = SOFT[word]
                if follows.match(self.source.text, end):
                    return kind
            return "NAME"
        keyword = (
            (word == "backward" and previous == "}")
            or (word in ("within", "as") and previous in _OPERAND_ENDS)
            or (
                word == "error"
                and previous == "expect"
                and _STRING_FOLLOWS.match(self.source.text, end)
            )
        )
        return word if keyword else "NAME"

    def _normalized(self, word: str, start: int) -> str:
        normal = unicodedata.normalize("NFKC", word)
        if word.isidentifier():
            return normal
        for k in range(len(word)):
            if not word[: k + 1].isidentifier():
                raise GradcliError(explain_character(self.source, start + k))
        raise GradcliError(explain_character(self.source, start))

    def _close(self, word: str, start: int) -> str:
        if not self.open:
            help = f"remove it, or open its `{_OPENERS[word]}`"
            raise self._error("E111", f"`{word}` closes nothing", start, start + 1, help=help)
        opener, _ = self.open[-1]
        if word == "}" and opener in ("{", "_DICT"):
            self.open.pop()
            return "}" if opener == "{" else "_DICT_END"
        if word != "}" and opener == _OPENERS[word]:
            self.open.pop()
            return word
        if any(
            kind == _OPENERS[word] or (word == "}" and kind == "_DICT") for kind, _ in self.open
        ):
            raise self._unclosed()
        raise self._error(
            "E111", f"`{word}` closes nothing", start, start + 1, label=self._never_closed()
        )

    def _never_closed(self) -> str:
        kind, start = self.open[-1]
        line, column = self.source.position(start)
        return f"`{kind if kind != '_DICT' else '{'}` opened at {line}:{column} is not closed yet"

    def _unclosed(self) -> GradcliError:
        kind, start = self.open[-1]
        line, column = self.source.position(start)
        sign = "{" if kind == "_DICT" else kind
        return self._error(
            "E110", f"`{sign}` opened at {line}:{column} is never closed", start, start + 1
        )

    def _error(
        self, code: str, message: str, start: int, end: int, label: str = "", help: str = ""
    ) -> GradcliError:
        return GradcliError(
            Diagnostic(code, message, Span(self.source, start, end), label=label, help=help)
        )
