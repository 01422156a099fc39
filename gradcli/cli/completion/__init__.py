"""Completion: what may stand at the cursor of a command line.

A shell runs gradcli with the variable _GRADCLI_COMPLETE, and gets lines back (`scripts`). `line`
reads what was typed by the table of all options (table.json), which is made from the help of the
commands, because to load those takes longer than anybody waits for a key; `candidates` finds what
may stand there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

VARIABLE = "_GRADCLI_COMPLETE"


def answer(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Prints the reply to a shell, for the command line that it gives; returns the exit code."""
    from .candidates import candidates
    from .line import read_bash_line, read_words

    shell = environment[VARIABLE]
    typed, bash_word = (
        read_bash_line(environment) if shell == "bash" else (read_words(arguments), "")
    )
    reply = candidates(typed)
    before = len(typed.current) - len(bash_word) if shell == "bash" else 0  # what bash keeps
    if reply.kind in ("files", "programs"):
        lines = [reply.kind, reply.prefix[before:], typed.current.removeprefix(reply.prefix)]
    else:
        found = {w: help for w, help in reply.words.items() if w.startswith(typed.current)}
        lines = [reply.kind]
        lines += [w[before:] if shell == "bash" else f"{w}\t{help}" for w, help in found.items()]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode(errors="replace"))
    return 0
