"""How entries are read at a prompt: with prompt_toolkit, where it is installed, line by line
otherwise.

A reader is called for an entry, which may have several lines, and raises EOFError at the end
(Ctrl-D) and KeyboardInterrupt where the entry is given up (Ctrl-C).
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_toolkit.history import History

Reader = Callable[[], str]
PROMPT, MORE = "> ", ". "


def is_at_terminal() -> bool:
    """Whether somebody types and reads. A stream that the caller has closed is None."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def reader(is_open: Callable[[str], bool], words: Callable[[], Iterable[str]]) -> Reader:
    """The best reader that there is. `is_open` tells whether more lines belong to an entry, `words`
    what can be completed."""
    if is_at_terminal() and importlib.util.find_spec("prompt_toolkit") is not None:
        return editing(is_open, words)
    return plain(is_open)


def plain(is_open: Callable[[str], bool]) -> Reader:
    """A reader of lines, which prompts at a terminal."""
    first, more = (PROMPT, MORE) if is_at_terminal() else ("", "")

    def read() -> str:
        text = input(first)
        try:
            while is_open(text):
                text += "\n" + input(more)
        except EOFError:
            pass  # what there is has to do
        return text

    return read


def editing(is_open: Callable[[str], bool], words: Callable[[], Iterable[str]]) -> Reader:
    """A reader with history, completion and entries that are edited as a whole."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.key_binding import KeyBindings

    class Words(Completer):  # type: ignore[misc]  # it may not be installed
        """Completes the word before the cursor."""

        def get_completions(self, document: Any, event: object) -> Iterator[Completion]:
            typed = typed_word(document.text_before_cursor)
            for word in words() if typed else ():
                if word.startswith(typed):
                    yield Completion(word, -len(typed))

    keys = KeyBindings()

    def enter(event: Any) -> None:
        buffer = event.current_buffer
        at_end = not buffer.document.text_after_cursor.strip()
        if at_end and not is_open(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    keys.add("enter")(enter)
    session: PromptSession[str] = PromptSession(
        PROMPT,
        history=_history(),
        completer=Words(),
        complete_while_typing=False,
        key_bindings=keys,
        multiline=True,
        prompt_continuation=MORE,
    )
    # While it reads, Ctrl-C is a key. As a signal, which it is again when an entry is done,
    # prompt_toolkit would drop it.
    return partial(session.prompt, handle_sigint=False)


def typed_word(text: str) -> str:
    """The beginning of a word, or of a command, that a text ends with."""
    found = re.search(r"(?:^:)?\w*\Z", text)
    return found[0] if found else ""


def _history() -> History:
    """The entries of former sessions, in the user's folder for such things; only those of this one
    where it can't be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    state = os.environ.get("XDG_STATE_HOME", "")
    folder = state if os.path.isabs(state) else os.path.expanduser("~/.local/state")
    path = os.path.join(folder, "gradcli", "history")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
