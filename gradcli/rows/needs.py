"""pyarrow, which is imported where a format needs it: an extra of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..diagnostics import Diagnostic, GradcliError


@contextmanager
def arrow_for(what: str) -> Iterator[None]:
    """Around imports that need pyarrow, for `what` ("Parquet"). Raises GradcliError where it isn't
    installed."""
    try:
        yield
    except ImportError as error:
        message = f"{what} needs the package pyarrow, which can't be imported: {error}"
        raise GradcliError(
            Diagnostic("E001", message, help="pip install 'gradcli[data]'")
        ) from error
