"""Comments that keep `lint` quiet about a line: `# lint: ignore`, or `# lint: ignore[W401, W405]`.

One behind code is about its line, one on a line of its own about the next line of code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from ..diagnostics import Source
from .findings import Finding
from .lexemes import lexemes

_COMMENT = re.compile(r"#\s*lint:\s*ignore\b(?:\s*\[([^\]]*)\])?")


class Ignored(NamedTuple):
    """What a comment says: the line that it is about, and codes; without codes all of them."""

    line: int
    codes: tuple[str, ...]


def without_ignored(findings: list[Finding], source: Source) -> list[Finding]:
    """The findings but for those that a comment wants ignored."""
    if "lint:" not in source.text:
        return findings
    ignored = sorted(_read_comments(source))
    return [finding for finding in findings if not _is_ignored(finding, ignored)]


def _read_comments(source: Source) -> list[Ignored]:
    found: list[Ignored] = []
    end = 0
    for lexeme in lexemes(source):
        for comment in lexeme.comments:
            if match := _COMMENT.match(comment.text):
                codes = tuple(code.strip().upper() for code in (match[1] or "").split(","))
                line = source.position(lexeme.start if comment.own_line else end)[0]
                found.append(Ignored(line, tuple(filter(None, codes))))
        end = lexeme.end
    return found


def _is_ignored(finding: Finding, ignored: list[Ignored]) -> bool:
    """Whether one of the comments, in the order of their lines, is about a finding."""
    span, code = finding.span, finding.diagnostic.code
    last = span.source.position(span.end)[0]
    about = ignored[bisect_left(ignored, (span.line,)) : bisect_left(ignored, (last + 1,))]
    return any(not codes or code.startswith(codes) for _, codes in about)
