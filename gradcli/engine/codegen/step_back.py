"""How compiled code ends without an answer."""

from __future__ import annotations


class StepBack(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has met something that only the interpreter can decide."""


class OutOfWork(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has used up the work that it was granted, or would do so."""
