"""How compiled code ends without an answer."""

from __future__ import annotations


class StepBack(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has met what only the interpreter knows how to tell."""


class TooLong(Exception):  # noqa: N818 - an answer, not an error
    """A kernel has done the work that it was given, or would do so."""
