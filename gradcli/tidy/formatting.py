"""`fmt`: the text of a program in the one style."""

from __future__ import annotations

from ..diagnostics import Source
from ..lang.parser import parse
from ..platform.collector import collector_paused
from ..platform.recursion import recursion
from .comments import place_comments
from .document import write
from .kept import keep
from .layout import layout
from .lexemes import Lexeme, lexemes
from .structure import read_structure

WIDTH = 100
FRAMES = 10_000  # of Python's: 200 brackets in each other, and chains of each level in each
_CLOSERS = frozenset([")", "]", "_DICT_END"])


@collector_paused()
def format_source(source: Source) -> str:
    """The program in the one style, with line ends as its first line has. Raises GradcliError where
    it doesn't parse."""
    parse(source)
    tokens = lexemes(source)
    meant = _meaning(tokens)
    tokens = keep(tokens, source)
    place_comments(tokens)
    with recursion(FRAMES):
        text = write(layout(read_structure(tokens)), WIDTH)
    if text != source.text and _meaning(lexemes(Source(source.name, text))) != meant:
        raise AssertionError(f"the layout of {source.name} has other tokens or comments")
    return text.replace("\n", "\r\n") if source.text.partition("\n")[0].endswith("\r") else text


def _meaning(tokens: list[Lexeme]) -> list[tuple[str, str, bool]]:
    """What must not change: the tokens, but for a comma before a closing bracket, which may stand
    there or not; and the comments, in their order."""
    seen = [("#", comment.text, False) for token in tokens for comment in token.comments]
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.kind != "," or after.kind not in _CLOSERS:
            seen.append((token.kind, token.text, token.begins))
    return seen
