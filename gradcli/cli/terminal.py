"""Where words go and whether they have colour: answers to standard output, everything else to
standard error."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

from ..diagnostics import Diagnostic, printable_lines, render
from ..report.fitting import wrapped
from ..report.style import Style

Color = str  # "auto", "always" or "never"


def wants_color(color: Color, stream: TextIO) -> bool:
    """`always` and `never` decide; `auto` asks NO_COLOR, TERM and whether a person is looking."""
    if color != "auto":
        return color == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def width_of(stream: TextIO) -> int | None:
    """How many columns a terminal has; None for what is none."""
    if not stream.isatty():
        return None
    return shutil.get_terminal_size().columns


class Terminal:
    """The two streams of one command, with the policy that its options chose."""

    def __init__(self, color: Color = "auto", quiet: bool = False, verbose: bool = False) -> None:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal that can't show ∂ shows \u2202
                stream.reconfigure(errors="backslashreplace")
        self.color = wants_color(color, sys.stdout)
        self.color_errors = wants_color(color, sys.stderr)
        self.width_errors = width_of(sys.stderr)
        self.interactive = sys.stdout.isatty()
        self.quiet, self.verbose = quiet, verbose

    def style(
        self, path: str | None = None, precision: int | None = None, full: bool = False
    ) -> Style:
        """How an answer is drawn that goes to a file, or to standard output where it is None or
        `-`."""
        if path not in (None, "-"):
            return Style(precision=precision, full=full)
        return Style(self.color, precision, width_of(sys.stdout), full)

    def diagnostic(self, diagnostic: Diagnostic) -> None:
        """Draws an error, or a warning unless they are unwanted."""
        if diagnostic.severity == "error" or not self.quiet:
            self._tell(render(diagnostic, self.color_errors, self.width_errors))

    def note(self, text: str) -> None:
        """Says something that only `--verbose` asked for."""
        if self.verbose:
            self._tell(text)

    def summary(self, text: str) -> None:
        """Says what came of it all, where the answer itself is for machines, or in a file."""
        if not self.quiet:
            self._tell("\n".join(wrapped(text, self.width_errors)))

    def _tell(self, text: str) -> None:
        # Standard output first, so that the two read in order where they end up in one place.
        sys.stdout.flush()
        print(printable_lines(text, self.color_errors), file=sys.stderr, flush=True)
