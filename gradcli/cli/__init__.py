"""How gradcli is asked: the console script. `main` turns whatever happens into an exit code, and
never shows a traceback.

Nothing is imported here that isn't needed to say so: typer comes with `app`, a command's file when
the command is called, the engine when it runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..platform.arranging import arrange
from ..platform.collector import keep_for_good
from ..platform.search_path import leave_out_current_folder
from ..platform.streams import replace_closed_streams
from .running import running

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic

INTERRUPTED, CLOSED_PIPE = 130, 141


def main() -> None:
    """The console script `gradcli`."""
    leave_out_current_folder()
    arrange()
    replace_closed_streams()
    from .signals import sure_interrupts  # nothing that it imports may be the current folder's

    with sure_interrupts():
        code = run(sys.argv[1:])
    # to search all that the interpreter has for cycles, at its end, takes a fifth of the time of a
    # small job
    keep_for_good()
    from ..platform.threads import end_process

    end_process(code)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        with running(arguments):
            return _run(arguments)
    except BrokenPipeError:
        _abandon_stdout()
        return CLOSED_PIPE
    except OSError as error:  # the flush: standard output is a full disk
        from ..diagnostics import Diagnostic

        _abandon_stdout()
        _print(Diagnostic("E006", f"cannot write standard output: {error.strerror}"))
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    try:
        code = _dispatch(arguments)
    except BaseException as error:
        code = _explain(error, "--traceback" in arguments)
    sys.stdout.flush()
    return code


def _dispatch(given: Sequence[str]) -> int:
    arguments = list(given)
    if os.environ.get("_GRADCLI_COMPLETE") in ("bash", "zsh", "fish"):  # somebody waits for a key
        from .completion import answer

        return answer(arguments, os.environ)
    if "--version" in arguments:  # asked by scripts and bug reports: not worth loading anything
        from . import version

        if version.quickly(arguments):
            return 0
    if arguments[:1] == ["fmt"]:
        from .layout import quickly

        if (code := quickly(arguments[1:])) is not None:
            return code
    if arguments[:1] in (["eval"], ["batch"]):
        from .plainly import quickly as run_plainly

        if (code := run_plainly(arguments[0], arguments[1:])) is not None:
            return code
    from .app import dispatch

    return dispatch(arguments)


def _explain(error: BaseException, traceback_wanted: bool) -> int:
    """Tells the user about an error that ended a command; returns the exit code."""
    from ..diagnostics import GradcliError
    from .faults import diagnosed, interrupted

    if traceback_wanted and not isinstance(error, SystemExit):
        import traceback

        from ..diagnostics import printable_lines

        print(printable_lines("".join(traceback.format_exception(error))), file=sys.stderr, end="")
    if interrupted(error):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        raise error
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 2
    if isinstance(error, GradcliError):
        from .terminal import Terminal

        for diagnostic in error.diagnostics:
            Terminal().diagnostic(diagnostic)
        return error.exit_code
    if isinstance(error, OSError):
        sys.stdout.flush()  # fails again, and is told of, where it is what can't be written
    found = diagnosed(error)
    _print(found)
    return found.exit_code


def _print(diagnostic: Diagnostic) -> None:
    from ..diagnostics import printable_lines, render

    print(printable_lines(render(diagnostic)), file=sys.stderr)


def _abandon_stdout() -> None:
    """Nobody reads standard output any more: what is still buffered goes nowhere, so that the exit
    stays quiet."""
    with contextlib.suppress(
        OSError, ValueError
    ):  # where it is no file at all, but a test's buffer
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
