"""Where Python looks for modules: never in the current folder, which a stranger may have filled.

Python puts the current folder first on the search path of `python -m` and `python -c`, and an empty
entry of PYTHONPATH means it, too: a `pickle.py` there would run instead of Python's own.
"""

from __future__ import annotations

import os
import sys

from .environment import put

_SAFE, _PATH = (
    "PYTHONSAFEPATH",
    "PYTHONPATH",
)  # Python's own: whether no folder is put before the others; and what these are


def leave_out_current_folder() -> None:
    """Takes relative folders off the search path of this process, and what `python -m` put there.
    Pythons that it starts get none of these either."""
    entries = os.environ[_PATH].split(os.pathsep) if _PATH in os.environ else []
    kept = [entry for entry in entries if os.path.isabs(entry)]
    if "-m" in sys.orig_argv[1:] and not sys.flags.safe_path:
        entries = ["", *entries]
    left_out = {entry for entry in entries if entry not in kept} | {""}
    left_out |= {_absolute(entry) for entry in left_out} - set(kept)
    sys.path[:] = [entry for entry in sys.path if entry not in left_out]
    put(_SAFE, "1")
    if _PATH in os.environ:
        put(_PATH, os.pathsep.join(kept))


def python_that_calls(module: str, function: str) -> list[str]:
    """The command of a Python that calls a function of a module of this package, which is where
    this process has it; what is added are its arguments."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    begin = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import {function}; "
    begin += f"{function}()"
    return [sys.executable, "-P", "-c", begin, root]


def _absolute(entry: str) -> str:
    """What Python makes of an entry of its search path when it starts."""
    try:
        return os.path.abspath(entry)
    except OSError:  # the current folder was removed
        return entry
