"""Completion in a cell: options in its first line; names, builtins and words of the language
below."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .request import parser

_MAGIC = "%%gradcli"


def words_at(text: str, line: int) -> list[str]:
    """What fits into a line of a cell, counted from 0; nothing in a cell that is no program."""
    first, _, program = text.partition("\n")
    if not first.startswith(_MAGIC):
        return []
    if line == 0:
        return sorted(name for action in parser()._actions for name in action.option_strings)
    from ..tasks.session import known_words

    return sorted({*known_words(), *re.findall(r"[^\W\d]\w*", program)})


def matcher() -> Callable[[Any], Any]:
    """What IPython asks for completions."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator, unused-ignore]
    def gradcli_matcher(context: Any) -> dict[str, Any]:
        typed = re.search(r"[-\w]*$", context.line_with_cursor[: context.cursor_position])
        start = typed[0] if typed else ""
        found = [
            w
            for w in words_at(context.full_text, context.cursor_line)
            if w.startswith(start) and w != start
        ]
        inside = context.full_text.startswith(_MAGIC) and context.cursor_line > 0
        return {
            "completions": [SimpleCompletion(text=word, type="gradcli") for word in found if start],
            "matched_fragment": start,
            "suppress": inside,  # Python's own
        }

    return gradcli_matcher  # type: ignore[no-any-return, unused-ignore]


def is_ours(found: Any) -> bool:
    return getattr(found, "__name__", "") == "gradcli_matcher"
