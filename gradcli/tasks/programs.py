"""Programs from where users keep them: files, standard input, the command line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..diagnostics import Diagnostic, GradcliError, Source, did_you_mean
from .outside import Inputs

if TYPE_CHECKING:
    from ..lang.program import Program
    from ..lang.results import Role
    from ..lang.syntax import Module

IS_FORMULA = re.compile(r"[+*()\[\]^=; ]")  # what is in a formula rather than in a file's name
# bytes: longer sources are refused, so there is no point in reading more of /dev/zero
_ENOUGH = 10_000_004


def read_source(path: str) -> Source:
    """The source in a file, or on standard input for `-`. Raises GradcliError (E002; E100 for bytes
    that aren't text)."""
    from ..lang.parser import decode

    name = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            return decode(name, sys.stdin.buffer.read(_ENOUGH))
        with open(path, "rb") as file:
            _verify_no_data(path)
            return decode(name, file.read(_ENOUGH))
    except OSError as error:
        help = "" if os.path.exists(path) else meant(path)
        message = f"cannot read `{name}`: {error.strerror}"
        raise GradcliError(Diagnostic("E002", message, help=help)) from None
    except ValueError as error:  # a null byte in the name
        raise GradcliError(Diagnostic("E002", f"cannot read {name!r}: {error}")) from None


def _verify_no_data(path: str) -> None:
    if not path.endswith(".tg") and _is_data(path):
        message = f"`{path}` is data, not a program"
        raise GradcliError(Diagnostic("E002", message, help=no_program(path)))


def _is_data(path: str) -> bool:
    from ..rows.formats import format_of

    return format_of(path) is not None or path.endswith(".json")


def meant(path: str) -> str:
    """What somebody may mean who names a file that is no program: an input, data, the program
    itself, or a file of a similar name."""
    if help := no_program(path):
        return help
    if IS_FORMULA.search(path) and not path.endswith(".tg"):
        return "the text of a program goes behind -e: `-e 'x**2'`, in Python behind `source=`"
    folder, wrong = os.path.split(path)
    with suppress(OSError):
        near = [file for file in os.listdir(folder or ".") if file.endswith(".tg")]
        return did_you_mean(wrong, near)
    return ""


def no_program(path: str) -> str:
    """How an input, or data, is given that stands in the place of a program; "" for another
    name."""
    name, sign, value = path.partition("=")
    if sign and name.isidentifier() and value.strip("="):
        return f"an input is given with --set: `--set {path}`"
    if _is_data(path):
        return f"`--inputs {path}` takes inputs from data, `batch --rows {path}` goes over its rows"
    return ""


def write_program(path: str, text: str, replaces: bool) -> None:
    """Writes a program to a file, whole or not at all. Raises GradcliError (E006) where that fails,
    or where there is one already that isn't to be replaced."""
    from ..safe_files import replace_file

    if os.path.lexists(path) and not os.path.isdir(path) and not replaces:
        message = f"the file `{path}` is there already"
        raise GradcliError(Diagnostic("E006", message, help=f"`:save! {path}` replaces it"))
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise GradcliError(
            Diagnostic("E006", f"cannot write `{path}`: {error.strerror or error}")
        ) from None


def imported_files(path: str) -> list[str]:
    """The files that the program in a file imports, whether or not they are there. Raises
    GradcliError where it can't be read."""
    from ..lang.imports import imported_paths

    folder = os.path.dirname(path)
    inside = os.path.join(os.path.realpath(folder), "")
    found = [
        os.path.normpath(os.path.join(folder, name))
        for name in imported_paths(read_source(path).text)
    ]
    # what is outside its folder, no program may import
    return [name for name in found if os.path.realpath(name).startswith(inside)]


def program_source(name: str, expr: str | None) -> Source:
    """The source of a program that a command is about: the text of `-e`, or what is in the file."""
    return Source(name, expr) if expr is not None else read_source(name)


def parse_program(
    source: Source,
    given: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
    role: Role = "program",
) -> Program:
    """The resolved program of a source, with what it imports. Raises GradcliError with everything
    that is wrong with it, and for `Inputs` that it can't have.

    `given` are the names set from outside: in an expression file `e` and `pi` are inputs if they
    are given. `texts` are what it imports, where that is in no file. `role` is what it
    is resolved as.
    """
    from ..lang.parser import parse

    return resolve_program(parse(source), source, given, texts, role)


def resolve_program(
    tree: Module,
    source: Source,
    given: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
    role: Role = "program",
) -> Program:
    """The same of a syntax tree."""
    from ..lang.imports import Importer
    from ..lang.resolve import resolve

    path = None if source.name.startswith("<") else Path(source.name)
    load = Importer(path, texts=texts).load
    program = resolve(tree, source, load, frozenset(given), role=role)
    if isinstance(given, Inputs):
        given.verify(program)
    return program


def texts_of(program: Program) -> tuple[Source, dict[str, str]]:
    """The source of a program and the texts of what it imports, of which `parse_program` makes it
    again where these files aren't."""
    from ..lang.imports import imported_texts

    return program.source, imported_texts(program)


def parse_programs(sources: Iterable[Source], given: Iterable[str]) -> list[Program]:
    """The resolved programs of several sources. Raises GradcliError with the errors of all."""
    programs, errors = [], []
    for source in sources:
        try:
            programs.append(parse_program(source, given))
        except GradcliError as error:
            errors += error.diagnostics
    if errors:
        raise GradcliError(*errors)
    return programs


def with_inputs(program: Program, given: Iterable[str], columns: Iterable[str]) -> Program:
    """The program for data with these columns: in an expression file, those that are called like a
    constant, as `e`, are what is meant by it. `given` are the names set besides."""
    from ..lang.constants import CONSTANTS

    constants = CONSTANTS.keys() & set(columns)
    return (
        parse_program(program.source, {*given, *constants})
        if program.is_expression and constants
        else program
    )


def list_stage(source: Source, stage: Literal["ast", "program"]) -> str:
    """The syntax tree or the resolved program as an indented listing. Raises GradcliError."""
    from ..lang.dump import dump
    from ..lang.parser import parse

    return dump(parse(source) if stage == "ast" else parse_program(source))


def expected_lines(node: Program) -> list[int]:
    """The lines of a program's `expect` statements, in the order of the text."""
    from ..lang import program

    lines: list[int] = []
    pending: list[object] = [node.body]
    while pending:
        item = pending.pop()
        if isinstance(item, program.Expect | program.ExpectError):
            lines.append(item.span.line)
        if isinstance(item, program.Node):
            pending.extend(getattr(item, name) for name in item.FIELDS)
        elif type(item) is tuple:
            pending.extend(item)
    return sorted(set(lines))
