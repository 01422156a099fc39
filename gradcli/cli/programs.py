"""The programs that a command line names: files, what is in folders, standard input, or `-e`."""

from __future__ import annotations

import os
from itertools import pairwise

from ..diagnostics import Diagnostic, GradcliError
from .running import given_arguments


def programs(files: list[str] | None, expr: str | None) -> list[str]:
    """The names of the programs that a command is about: its files and those in its folders, or
    `<expr>`. Raises GradcliError."""
    _verify_named(files, expr)
    return (
        ["<expr>"]
        if expr is not None
        else [name for file in files or () for name in _in_folder(file)]
    )


def programs_to_write(files: list[str] | None, expr: str | None) -> list[str]:
    """The same for a command that replaces them, each once. A link that was found in a folder is
    left out: what it leads to may be elsewhere."""
    names = dict.fromkeys(programs(files, expr))
    return [name for name in names if name in (files or ()) or not os.path.islink(name)]


def program(file: str | None, expr: str | None) -> str:
    """The name of the one program that a command is about: its file, or `<expr>`. Raises
    GradcliError."""
    _verify_named([file] if file is not None else None, expr)
    return "<expr>" if file is None else file


def _verify_named(files: list[str] | None, expr: str | None) -> None:
    if expr is not None and files:
        help = _meant_beside(files) or "give one or the other"
        raise GradcliError(Diagnostic("E001", "`-e` together with files", help=help))
    if expr is None and not files:
        raise GradcliError(
            Diagnostic(
                "E001", "no program", help="name a FILE, `-` for standard input, or use -e 'x**2'"
            )
        )
    if files and files.count("-") > 1:
        raise GradcliError(Diagnostic("E001", "standard input is named twice", help="name it once"))


def _meant_beside(files: list[str]) -> str:
    """What somebody may mean with arguments that stand beside `-e`, as if they were files."""
    from ..tasks.inputs import form_of
    from ..tasks.programs import no_program

    given = [value for option, value in pairwise(given_arguments()) if option == "--set"]
    apart = [form_of(value) for value in given if "=" not in value]
    return next(filter(None, [*apart, *map(no_program, files)]), "")


def _in_folder(file: str) -> list[str]:
    """The programs in a folder and the folders in it, but for hidden ones, sorted; of anything else
    that itself. Raises GradcliError (E002) for a folder without any, or that can't be read, and for
    what is called like a program but is a pipe, a socket or a device: to read it would wait for
    ever."""
    if not os.path.isdir(file):
        return [file]

    def fail(error: OSError) -> None:
        raise GradcliError(Diagnostic("E002", f"cannot read `{error.filename}`: {error.strerror}"))

    found = []
    for folder, inner, names in os.walk(file, onerror=fail):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [
            os.path.join(folder, name).removeprefix("./") for name in names if name.endswith(".tg")
        ]
    if not found:
        help = "its programs are the files that end in `.tg`; name others one by one"
        raise GradcliError(
            Diagnostic("E002", f"there is no program in the folder `{file}`", help=help)
        )
    others = [path for path in sorted(found) if os.path.exists(path) and not os.path.isfile(path)]
    if others:
        help = "remove it, or name the programs one by one"
        raise GradcliError(
            *[
                Diagnostic("E002", f"cannot read `{path}`: it isn't a regular file", help=help)
                for path in others
            ]
        )
    return sorted(found)


def verify_apart(files: list[str] | None, output: str | None) -> None:
    """Raises GradcliError where the answer, or an error that is told in its place, would replace a
    program (E001), and for folders as `programs` does."""
    if output in (None, "-"):
        return
    if os.path.realpath(output) in [
        os.path.realpath(name) for file in files or () for name in _in_folder(file)
    ]:
        raise GradcliError(
            Diagnostic(
                "E001",
                f"the output would replace the program `{output}`",
                help="write it somewhere else",
            )
        )
