"""Hints for what other languages write: their words, blocks and signs."""

from __future__ import annotations

import re

from ..diagnostics import Diagnostic, Span
from .places import Place, span_of
from .words import OTHER_WORDS


def other_language(place: Place) -> Diagnostic | None:
    for token in (place.before, place.token):
        if token[0] == "NAME" and token[1] in OTHER_WORDS:
            span = Span(place.source, token[2], token[3])
            return place.error(
                f"`{token[1]}` is not a word of the language", OTHER_WORDS[token[1]], span, "E121"
            )
    return None


def else_if(place: Place) -> Diagnostic | None:
    if place.before[0] == "else" and place.token[0] == "if":
        return place.error(
            "`else if` is one word here",
            "write `elif`",
            place.before_span().to(span_of(place)),
            "E121",
        )
    return None


def colon_block(place: Place) -> Diagnostic | None:
    if place.token[0] == ":" and re.match(r"\s*(\}\s*)?(if|elif|else|while|for|fn)\b", place.line):
        return place.error(
            "a block stands in braces, not after `:`", "write `{` … `}`", None, "E121"
        )
    return None


def brace_on_next_line(place: Place) -> Diagnostic | None:
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


def increment(place: Place) -> Diagnostic | None:
    if place.before[0] == "SIGN" and place.source.text[place.before[2] - 1 : place.before[3]] in (
        "++",
        "--",
    ):
        sign = place.before[1]
        return place.error(
            f"`{sign}{sign}` is not an operator", f"write `{sign}= 1`", place.before_span(), "E121"
        )
    return None


def two_signs(place: Place) -> Diagnostic | None:
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
