"""Text that stays as it is written: an expression that gives an output its name, a statement with
`# fmt: skip` behind it, and what stands between `# fmt: off` and `# fmt: on`.

Each becomes a single token, so that nothing else has to know about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Source
from .lexemes import Comment, Lexeme

KEPT = "KEPT"  # the kind of such a token
_OPENERS = frozenset(["(", "[", "_DICT", "{"])
_CLOSERS = frozenset([")", "]", "_DICT_END", "}"])
_WORD = re.compile(r"#\s*fmt:\s*(off|on|skip)\b")


def keep(lexemes: list[Lexeme], source: Source) -> list[Lexeme]:
    """The tokens of a source, with one in the place of those that stay as they are."""
    kept: list[Lexeme] = []
    end = 0
    for first, last in sorted(_ranges(lexemes)):
        if first < end:
            continue  # inside the one before
        kept += lexemes[end:first]
        start = lexemes[first]
        text = source.text[start.start : lexemes[last].end].replace("\r\n", "\n")
        kept.append(
            Lexeme(
                KEPT,
                text,
                start.start,
                lexemes[last].end,
                start.line,
                start.begins,
                start.blanks,
                start.comments,
            )
        )
        end = last + 1
    return kept + lexemes[end:]


def _ranges(lexemes: list[Lexeme]) -> Iterator[tuple[int, int]]:
    """The first and the last token of each text that is kept."""
    starts: list[int] = [0]  # where the statement begins, in each body that is open
    offs: list[int] = [-1]  # where `# fmt: off` stands in it; -1 where none does
    for k, lexeme in enumerate(lexemes):
        is_end = lexeme.kind in ("}", "$END")
        begins = lexeme.begins or k == 0 or lexemes[k - 1].kind == "{"
        if begins or is_end:
            if starts[-1] < k and _says(lexeme.comments[:1], own_line=False) == "skip":
                yield starts[-1], k - 1
            said = _says(lexeme.comments, own_line=True)
            if offs[-1] >= 0 and (is_end or said == "on"):
                yield offs[-1], k - 1
                offs[-1] = -1
            if said == "off" and not is_end and offs[-1] < 0:
                offs[-1] = k
        if begins and not is_end:
            starts[-1] = k
            if lexeme.kind == "output":
                yield from _names(lexemes, k + 1)
        if lexeme.kind == "{":
            starts.append(k + 1)
            offs.append(-1)
        elif lexeme.kind == "}":
            starts.pop()
            offs.pop()


def _says(comments: list[Comment], own_line: bool) -> str:
    """What the last of the comments says that is about the style; "" where none is."""
    found = ""
    for comment in comments:
        if comment.own_line == own_line and (match := _WORD.match(comment.text)):
            found = match[1]
    return found


def _names(lexemes: list[Lexeme], k: int) -> Iterator[tuple[int, int]]:
    """The expressions that name the outputs of the statement whose first one is at `k`."""
    if lexemes[k + 1].kind == "=":
        return
    depth, first = 0, k
    while True:
        kind = lexemes[k].kind
        is_end = k > first and depth == 0 and (lexemes[k].begins or kind in ("}", "$END"))
        if is_end or (depth == 0 and kind == ","):
            kinds = [lexeme.kind for lexeme in lexemes[first:k]]
            n = len(kinds) // 2
            if kinds != ["("] * n + ["NAME"] + [")"] * n:  # a name is called by itself
                yield first, k - 1
            if is_end:
                return
            first = k + 1
        depth += (kind in _OPENERS) - (kind in _CLOSERS)
        k += 1
