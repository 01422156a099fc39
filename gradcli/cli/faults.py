"""What there is to say of an error that gradcli doesn't raise itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..diagnostics import Diagnostic, GradcliError
from .running import given_arguments


@contextmanager
def contained(name: str) -> Iterator[None]:
    """Makes a fault of gradcli's own, in the answer for one program, an error of that program, so
    that others are still answered for. With --traceback it stays what it is."""
    try:
        yield
    except GradcliError:
        raise
    except Exception as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        if "--traceback" in given_arguments():
            raise
        found = diagnosed(error)
        raise GradcliError(replace(found, message=f"{name}: {found.message}")) from error


def interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is what caused the error: what it interrupts may make another error of it, as
    an import does."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def diagnosed(error: BaseException) -> Diagnostic:
    """The error as a diagnostic: what the machine refused, or a bug in gradcli."""
    if isinstance(error, MemoryError):
        help = "raise --max-memory, or make the arrays smaller"
        return Diagnostic("E405", "out of memory", help=help)
    if isinstance(error, RecursionError):
        help = "split the expression, or turn the recursion into a loop"
        return Diagnostic("E406", "nested too deeply", help=help)
    if isinstance(error, OSError):
        place = error.filename or "input or output"
        return Diagnostic("E006", f"{place}: {error.strerror or error}")
    help = (
        "this is a bug in gradcli: please report the command, the program, and what "
        "`gradcli --version --verbose` and --traceback show"
    )
    return Diagnostic("E900", f"internal error: {type(error).__name__}: {error}", help=help)
