"""Programs with blanks, comments and ends of lines wherever they may stand."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang.lexer import Lexer
from gradcli.lang.parser import parse

_SCATTERED = ["", " ", "   ", "\t", " # note\n", "\n#own\n", "\n\n\n\n", " \\\n ", "\r\n", "; "]


@st.composite
def scattered(draw: Any, text: str, most: int = 6) -> str:
    """The program with something else in some places between its tokens; where that is another
    program, or none, that change isn't made."""
    source = Source("t.tg", text)
    places = [(start, end) for _, _, start, end in Lexer(source)]
    ends = [0, *[end for _, end in places]]
    gaps = [(end, start) for end, (start, _) in zip(ends, places, strict=False) if end <= start]
    chosen = draw(st.lists(st.sampled_from(gaps), max_size=most, unique=True))
    tree = parse(source)
    for start, end in sorted(chosen, reverse=True):
        changed = text[:start] + draw(st.sampled_from(_SCATTERED)) + text[end:]
        if _parses_to(changed, tree):
            text = changed
    return text


def _parses_to(text: str, tree: Any) -> bool:
    try:
        return bool(parse(Source("t.tg", text)) == tree)
    except GradcliError:
        return False
