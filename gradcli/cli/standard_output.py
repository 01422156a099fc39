"""Standard output that can't be written, as a full disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def printing() -> Iterator[None]:
    """Where something is printed. Raises GradcliError (E006) where standard output can't be
    written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        from ..diagnostics import Diagnostic, GradcliError  # which the version doesn't need

        message = f"cannot write standard output: {error.strerror}"
        raise GradcliError(Diagnostic("E006", message)) from None
