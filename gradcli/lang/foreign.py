"""Phrases of other languages, and what to write here instead.

`foreign_phrase` is asked wherever the text of a program doesn't fit: it tries `PHRASES` in order,
each a pattern for a stretch of a line. The first that takes in the place at fault answers. To teach
it another phrase, add a line to `phrases.py`; `ops/elsewhere.py` has single words.
"""

from __future__ import annotations

from ..diagnostics import Diagnostic, Source, Span

_WINDOW = 200  # characters of a line on either side of the fault


def foreign_phrase(source: Source, start: int) -> Diagnostic | None:
    """The error for a phrase of another language around a place; None where there is none."""
    from .phrases import PHRASES  # its patterns take long to compile, and few programs are wrong

    first = max(source.text.rfind("\n", 0, start) + 1, start - _WINDOW)
    line = source.text[first : start + _WINDOW].split("\n", 1)[0]
    for phrase in PHRASES:
        for match in phrase.pattern.finditer(line):
            at = match.span("at" if "at" in phrase.pattern.groupindex else 0)
            if match.start() <= start - first <= match.end():
                help = phrase.help if isinstance(phrase.help, str) else phrase.help(match)
                span = Span(source, first + at[0], first + len(line[: at[1]].rstrip()))
                return Diagnostic("E121", phrase.message, span, help=help)
    return None
