"""`fmt` on files: each is read, laid out, and replaced whole where that changes it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..diagnostics import Diagnostic, GradcliError
from ..safe_files import replace_file
from ..tasks.each import Diagnoses, each
from ..tasks.programs import program_source
from .formatting import format_source

_UNENDED = "\n\\ No newline at end of file\n"
_MARK = b"\xef\xbb\xbf"  # the byte-order mark that some editors begin a file with


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program before and after; with `errors` it stays as it is."""

    name: str
    before: str = ""
    after: str = ""
    errors: list[Diagnostic] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        return self.before != self.after

    @property
    def exit_code(self) -> int:
        return max([error.exit_code for error in self.errors], default=0)

    def diff(self) -> str:
        """What changes, as a unified diff."""
        sides = [text.replace("\r\n", "\n") for text in (self.before, self.after)]
        before, after = [re.findall(r"[^\n]*\n|[^\n]+$", text) for text in sides]
        lines = difflib.unified_diff(before, after, self.name, self.name)
        return "".join([line if line.endswith("\n") else line + _UNENDED for line in lines])


def rewrite_all(
    names: Sequence[str], expr: str | None, writes: bool, diagnoses: Diagnoses | None
) -> Iterator[Rewritten]:
    """The programs in these files in the one style, in their order; `-` is standard input, and with
    `expr` that is the one program. Where it `writes`, files that change are replaced."""
    return each(partial(rewrite, expr=expr, writes=writes), names, _failed, diagnoses)


def rewrite(name: str, expr: str | None = None, writes: bool = False) -> Rewritten:
    """One program in the one style; what is wrong with it or its file is an error of the answer."""
    try:
        source = program_source(name, expr)
        answer = Rewritten(source.name, source.text, format_source(source))
        if writes and answer.is_changed and name != "-" and expr is None:
            write_program(name, answer.after)
    except GradcliError as error:
        return _failed(name, error.diagnostics)
    return answer


def _failed(name: str, errors: list[Diagnostic]) -> Rewritten:
    return Rewritten("<stdin>" if name == "-" else name, errors=errors)


def write_program(name: str, text: str) -> None:
    """Replaces the file, or what a link with this name leads to. Raises GradcliError (E006)."""
    path = os.path.realpath(name)
    try:
        if not os.access(path, os.W_OK):
            raise PermissionError(13, os.strerror(13))
        if os.stat(path).st_nlink > 1:  # under the other name the old text would stay
            raise OSError("it has another name, too")
        with open(path, "rb") as file:
            mark = _MARK if file.read(len(_MARK)) == _MARK else b""
        replace_file(path, mark + text.encode("utf-8"))
    except OSError as error:
        message = f"cannot write `{name}`: {error.strerror or error}"
        raise GradcliError(Diagnostic("E006", message)) from None
