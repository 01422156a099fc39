"""Comments that keep `lint` quiet about a line: `# lint: ignore`, or `# lint: ignore[W401, W405]`.

One behind code is about its line, one on a line of its own about the next line of code.
"""

from __future__ import annotations

import re
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
    ignored = list(_read_comments(source))
    return [finding for finding in findings if not any(_covers(i, finding) for i in ignored)]


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


def _covers(ignored: Ignored, finding: Finding) -> bool:
    last = finding.span.source.position(finding.span.end)[0]
    if not finding.span.line <= ignored.line <= last:
        return False
    return not ignored.codes or finding.diagnostic.code.startswith(ignored.codes)
