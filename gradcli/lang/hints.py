"""What was meant: from the token that doesn't fit, and what stands around it, to a message that
helps.

`explain_token` tries the rules of `_RULES` in order; the first that answers wins. Each is a few
lines, so that a new mistake is one function more.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..diagnostics import Diagnostic, Span
from .foreign import foreign_phrase
from .lalr import UnexpectedTokenError
from .lexer import RESERVED, Lexer
from .places import Place, describe, rest_of_statement, span_of


def explain_token(unexpected: UnexpectedTokenError, lexer: Lexer) -> Diagnostic:
    """The error for a token that doesn't fit."""
    token, source = unexpected.token, lexer.source
    # A bracket that is itself the surprise doesn't count as open.
    opened = [bracket for bracket in lexer.open if bracket[1] < token[2]]
    kind, opened_at = opened[-1] if opened else ("", 0)
    at = lexer.last[3] if token[0] == "$END" else token[2]
    line = source.text[source.text.rfind("\n", 0, at) + 1 : at]
    place = Place(source, token, lexer.last, line, kind, opened_at, unexpected.expected)
    for rule in _RULES:
        diagnostic = rule(place)
        if diagnostic is not None:
            return diagnostic
    return place.error(f"{describe(token)} doesn't fit here", label=_wanted(place.expected))


_SIGNIFICANT = {
    "_END": "the end of the statement",
    "{": "`{`",
    "=": "`=`",
    "NAME": "a name",
    "STRING": "a string",
}


def _wanted(expected: frozenset[str]) -> str:
    if "NUMBER" in expected and "(" in expected:
        return "a value is missing before it" if "[" in expected else "a value belongs here"
    names = [words for kind, words in _SIGNIFICANT.items() if kind in expected]
    names += [
        f"`{kind}`" for kind in (")", "]", "}", "in", "else", "as", ",", ":") if kind in expected
    ]
    names += ["`}`"] if "_DICT_END" in expected else []
    if not names or len(names) > 4:
        return ""
    return "expected " + (
        ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else names[0]
    )


# ---- assignment ----------------------------------------------------------------------------------


def _equals_in_condition(place: Place) -> Diagnostic | None:
    if place.token[0] != "=":
        return None
    if re.search(r"(?:^|[{};])\s*(if|elif|while)\b[^{};]*$", place.line):
        return place.error("`=` assigns; a condition compares", "write `==`")
    if re.match(r"\s*expect\b", place.line):
        return place.error("`=` assigns; `expect` compares", "write `==`, or `~=` for floats")
    if place.open in ("(", "["):
        return place.error(
            "`=` doesn't fit here", "a keyword argument is `name = value`; to compare write `==`"
        )
    if re.match(r"[^=]*=", place.line):
        return place.error("assignments don't chain", "assign one name a line", None)
    above = re.sub(r"\s*(#.*)?\Z", "", place.source.text[: place.token[2]].rpartition("\n")[0])
    if sign := re.search(r"(?:[-+*/%@<>=,]|\b(?:and|or|not))$", above):
        at = Span(place.source, len(above) - len(sign[0]), len(above))
        help = "a line that ends with it goes on in the next one"
        return place.error(f"a value is missing after `{sign[0]}`", help, at)
    return None


def _chained_assignment(place: Place) -> Diagnostic | None:
    if place.token[0] in ("UPDATE", "AUGMENT"):
        if place.open:
            return place.error(
                f"`{place.token[1]}` is a statement, not a part of an expression",
                "put it on a line of its own",
            )
        if "," in place.line and "=" not in place.line:
            return place.error(
                f"only one name stands left of `{place.token[1]}`", "update the names one by one"
            )
        if "=" in place.expected:
            return place.error(f"`{place.token[1]}` doesn't fit here", "a declaration takes `=`")
        if "_END" in place.expected:
            return place.error("assignments don't chain", "assign one name a line")
    return None


def _close_outside_expect(place: Place) -> Diagnostic | None:
    if place.token[0] == "~=":
        again = re.match(r"\s*expect\b", place.line)
        return place.error(
            "`~=` stands only in `expect`, once",
            "join two of them with a second `expect`"
            if again
            else "elsewhere write `abs(a - b) < 1e-9`; what isn't equal is `a != b`",
        )
    return None


# ---- lists and brackets --------------------------------------------------------------------------


def _tuple(place: Place) -> Diagnostic | None:
    if place.token[0] == "," and place.open == "(":
        return place.error("there are no tuples", "a list is written `[a, b]`")
    if place.before[0] == "(" and place.token[0] == ")":
        return place.error(
            "nothing stands in these parentheses",
            "an empty list is `[]`",
            place.before_span().to(span_of(place)),
        )
    if (
        place.token[0] in ("_END", "$END", "}")
        and place.expected >= {"=", ","}
        and "," in place.line
    ):
        return place.error(
            "a comma list is no statement", "a list is written `[a, b]`", rest_of_statement(place)
        )
    if place.token[0] == "," and not place.open and re.match(r"\s*(fn|output)\b", place.line):
        return place.error("only one expression stands here", "a list is written `[a, b]`")
    return None


def _comprehension(place: Place) -> Diagnostic | None:
    if place.token[0] == "for" and place.open == "_DICT":
        help = "fill one in a loop: `d = {}`, and `for … in … { d[key] = … }`"
        return place.error("there are no comprehensions of dicts", help)
    if place.token[0] == "for" and place.open == "(":
        return place.error("a comprehension stands in brackets", "write `[… for … in …]`")
    return None


def _never_closed(place: Place) -> Diagnostic | None:
    """The line after an open bracket starts a new statement."""
    between = place.source.text[place.before[3] : place.token[2]]
    if (
        place.open in ("(", "[", "_DICT")
        and "\n" in between
        and place.expected & {")", "]", "_DICT_END"}
    ):
        sign = "{" if place.open == "_DICT" else place.open
        line, column = place.source.position(place.opened_at)
        span = Span(place.source, place.opened_at, place.opened_at + 1)
        return place.error(f"`{sign}` opened at {line}:{column} is never closed", "", span, "E110")
    return None


def _missing_operand(place: Place) -> Diagnostic | None:
    if (
        place.before[0] in ("SIGN", "OPERATOR", "NOT", "=", "AUGMENT", "UPDATE", "~=")
        and "NUMBER" in place.expected
    ):
        if place.token[0] in RESERVED:
            return None
        return place.error(f"a value is missing after `{place.before[1]}`", "", place.before_span())
    if place.before[0] in ("if", "else", "elif", "while", "in") and place.token[0] in (
        "_END",
        "$END",
        ")",
        "]",
        "}",
        "{",
        ",",
    ):
        help = (
            "in parentheses, an expression may go on on the next line"
            if place.token[0] == "_END"
            else ""
        )
        return place.error(
            f"a value is missing after `{place.before[1]}`", help, place.before_span()
        )
    if place.before[0] in ("return", "print", "output", "expect", "watch") and place.token[0] in (
        "_END",
        "$END",
        "}",
    ):
        return place.error(f"a value is missing after `{place.before[1]}`", "", place.before_span())
    if place.token[0] in ("OPERATOR",) and "NUMBER" in place.expected:
        return place.error(f"a value is missing before `{place.token[1]}`")
    return None


# ---- words ---------------------------------------------------------------------------------------


def _reserved_as_name(place: Place) -> Diagnostic | None:
    word = place.token[1]
    if word in RESERVED and place.expected == {"NAME"}:
        return place.error(f"`{word}` is reserved and can't be a name", "choose another name")
    following = place.rest[len(word) :].lstrip()
    if word in RESERVED and following.startswith("=") and not following.startswith("=="):
        return place.error(f"`{word}` is reserved and can't be a name", "choose another name")
    return None


def _else_alone(place: Place) -> Diagnostic | None:
    if place.token[0] in ("else", "elif") and place.before[0] in ("_END", "{", "}"):
        return place.error(
            f"`{place.token[1]}` without an `if` before it",
            "it follows the `}` of an `if`, with no `;` between",
        )
    unfinished = (
        "else" in place.expected
        and "if" not in place.expected
        and not re.match(r"\s*if\b", place.line)
    )
    if unfinished and place.token[0] in ("_END", "$END", ")", "]", ","):
        return place.error(
            "this conditional expression has no `else`",
            "write `a if condition else b`, on one line",
        )
    return None


def _import_without_as(place: Place) -> Diagnostic | None:
    if place.expected == {"as"}:
        return place.error(
            "an imported file needs a name",
            'write `import "other.tg" as other`',
            place.before_span(),
        )
    return None


def _rule_elsewhere(place: Place) -> Diagnostic | None:
    """`backward (dy) { … }` anywhere but behind the body of a `fn NAME`."""
    behind_a_body = place.before[0] == "}" or re.match(r"\s*(opaque\s+)?fn\b", place.line)
    if behind_a_body and re.match(r"backward\s*\(", place.rest):
        help = (
            "write `fn NAME(…) { … } backward (dy) { … }`; an `opaque fn` gets its rule by "
            "`backward NAME(dy, …) { … }`"
        )
        return place.error("a rule stands behind the body of `fn NAME(…) { … }`", help)
    if place.token[0] == "{" and re.fullmatch(r"\s*backward\s*\([^()]*\)\s*", place.line):
        return place.error(
            "a rule stands on the line of the body's `}`",
            "write `} backward (dy) { … }`",
            rest_of_statement(place),
        )
    return None


def _after_block(place: Place) -> Diagnostic | None:
    if place.before[0] == "}" and "_END" in place.expected:
        return place.error(
            f"{describe(place.token)} directly after a block",
            "put it on a line of its own, or after `;`",
        )
    return None


def _two_operands(place: Place) -> Diagnostic | None:
    """`x y`, `2 x`, `f x`: two operands beside each other."""
    if (
        place.token[0] in ("NAME", "NUMBER", "STRING", "fn")
        and {"SIGN", "OPERATOR"} <= place.expected
    ):
        token = place.token[1]
        before = place.before[1] if place.before[0] in ("NAME", "NUMBER") else "(…)"
        if place.before[0] == "STRING" or place.token[0] == "STRING":
            return place.error(
                f"{describe(place.token)} doesn't fit here", "a comma is missing before it"
            )
        help = f"a product is `{before[:20]}*{token[:20]}`"
        if place.before[0] == "NAME" and place.token[0] != "fn":
            help += f", a call is `{before[:20]}({token[:20]})`"
        if place.open:
            return place.error(
                f"an operator or a comma is missing before {describe(place.token)}", help
            )
        return place.error(f"an operator is missing before {describe(place.token)}", help)
    return None


# ---- other languages -----------------------------------------------------------------------------


def _phrase(place: Place) -> Diagnostic | None:
    ends = place.token[0] in ("_END", "$END")
    return foreign_phrase(place.source, place.before[3] if ends else place.token[2])


def _other_language(place: Place) -> Diagnostic | None:
    from ..ops.elsewhere import OTHER_WORDS  # with the table of builtins, which takes long

    for token in (place.before, place.token):
        if token[0] == "NAME" and token[1] in OTHER_WORDS:
            span = Span(place.source, token[2], token[3])
            return place.error(
                f"`{token[1]}` is not a word of the language", OTHER_WORDS[token[1]], span, "E121"
            )
    return None


def _colon_block(place: Place) -> Diagnostic | None:
    if place.token[0] == ":" and re.match(r"\s*(\}\s*)?(if|elif|else|while|for|fn)\b", place.line):
        return place.error(
            "a block stands in braces, not after `:`", "write `{` … `}`", None, "E121"
        )
    return None


def _brace_on_next_line(place: Place) -> Diagnostic | None:
    if (
        place.token[0] == "_END"
        and "{" in place.expected
        and re.match(r"\s*(\}\s*)?(if|elif|else|while|for|fn)\b", place.line)
    ):
        following = place.source.text[place.token[2] :].lstrip()
        if following.startswith("{"):
            return place.error(
                "the `{` of a block stands on the line of its keyword",
                "join it to the end of this line",
            )
        return place.error("a block is missing", "it stands in braces: `{ … }`")
    return None


def _two_signs(place: Place) -> Diagnostic | None:
    pair = place.source.text[place.before[2] : place.token[3]]
    meant = {
        "===": "==",
        "=>": ">=",
        "=<": "<=",
        "<>": "!=",
        "->": "",
        "==>": "=",
        "<-": "=",
        "**=": "",
    }.get(pair)
    if pair == "->":
        return place.error(
            "`->` means nothing here",
            "a function is `fn(x) = …`",
            place.before_span().to(span_of(place)),
            "E121",
        )
    if meant and place.token[2] == place.before[3]:
        span = place.before_span().to(span_of(place))
        return place.error(f"`{pair}` is not an operator", f"write `{meant}`", span, "E121")
    return None


_RULES: tuple[Callable[[Place], Diagnostic | None], ...] = (
    _phrase,
    _never_closed,
    _other_language,
    _colon_block,
    _brace_on_next_line,
    _two_signs,
    _close_outside_expect,
    _equals_in_condition,
    _chained_assignment,
    _tuple,
    _comprehension,
    _import_without_as,
    _reserved_as_name,
    _else_alone,
    _missing_operand,
    _rule_elsewhere,
    _after_block,
    _two_operands,
)
