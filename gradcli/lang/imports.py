"""Finds what a program imports: files in its own folder and below, and the library that ships with
the package.

    resolve(parse(source), source, Importer(path).load)

A file is read, parsed and resolved once, however many programs import it, so that all share its
variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from ..diagnostics import Diagnostic, GradcliError, Source, Span, did_you_mean
from ..ops.elsewhere import PACKAGES
from . import program
from .parser import parse, read_source
from .resolve import resolve

LIBRARY = Path(__file__).parents[1] / "library"
_MAX_CHAIN = 50


@dataclass(slots=True)
class Importer:
    """Loads imports for the program in the file `path`, or with None for one that has no file
    (`-e`, stdin): its imports start at the current folder."""

    path: Path | None = None
    loaded: dict[Path, program.Program] = field(default_factory=dict)
    chain: tuple[
        Path, ...
    ] = ()  # the files that are being imported, from the outermost to the one at hand
    texts: Mapping[str, str] | None = (
        None  # what files hold, by the names that messages show, where there are no files
    )

    def load(self, path: str, span: Span, library: bool) -> program.Program:
        """The program that an `import` at `span` names."""
        name = f"{path}.tg" if library else os.path.join(os.path.dirname(span.source.name), path)
        if library:
            file = self._library_file(path, span)
        else:
            file = (
                self._own_file(path, span) if self.texts is None else Path(os.path.normpath(name))
            )
        chain = self.chain or ((self.path.resolve(),) if self.path is not None else ())
        if file in chain:
            names = " → ".join(f"`{link.name}`" for link in (*chain[chain.index(file) :], file))
            raise _error("E221", "these files import each other", span, label=names)
        if len(chain) >= _MAX_CHAIN:
            raise _error("E402", f"imports nest deeper than {_MAX_CHAIN} files", span)
        if file not in self.loaded:
            try:
                if library:
                    return _of_library(file, name)
                source = (
                    read_source(file, name)
                    if self.texts is None
                    else Source(name, self.texts[str(file)])
                )
            except OSError as error:
                raise _error(
                    "E220", f"cannot read `{path}`", span, label=error.strerror or ""
                ) from None
            inner = Importer(file, self.loaded, (*chain, file), self.texts)
            self.loaded[file] = resolve(parse(source), source, inner.load, role="import")
        return self.loaded[file]

    def _own_file(self, path: str, span: Span) -> Path:
        if not path.endswith(".tg"):
            raise _error(
                "E220", f"`{path}` is not a `.tg` file", span, help="only programs can be imported"
            )
        if "\0" in path:
            raise _error("E220", "a path contains no null character", span)
        folder = Path(os.path.realpath(self.path.parent if self.path is not None else Path()))
        file = Path(os.path.realpath(folder / path))
        # Real paths are compared, so neither `..` nor a link leads out.
        if os.path.isabs(path) or not file.is_relative_to(folder):
            raise _error(
                "E220",
                f"`{path}` is outside the folder of this program",
                span,
                help="an import reaches the program's own folder and those below it",
            )
        if not file.is_file():
            near = did_you_mean(file.name, _programs(file.parent))
            raise _error("E220", f"there is no file `{path}`", span, help=near)
        return file

    def _library_file(self, name: str, span: Span) -> Path:
        file = LIBRARY / f"{name}.tg"
        if not file.is_file():
            names = [entry.removesuffix(".tg") for entry in _programs(LIBRARY)]
            help = (
                "builtins need no import: leave it out, and write `sin(x)`"
                if name in PACKAGES
                else did_you_mean(name, names)
                or f'a file is imported with `import "{name}.tg" as {name}`'
            )
            raise _error("E220", f"the library has no `{name}`", span, help=help)
        return Path(os.path.realpath(file))


@cache
def _of_library(file: Path, name: str) -> program.Program:
    """A program of the library, which all programs of a process share: it doesn't change."""
    source = replace(read_source(file, name), is_library=True)
    return resolve(parse(source), source, Importer(file, chain=(file,)).load, role="import")


def imported_texts(node: program.Program) -> dict[str, str]:
    """The texts of the files that a program imports, for an `Importer` where these files aren't."""
    found: dict[str, str] = {}
    for statement in node.body:
        if isinstance(statement, program.Import):
            source = statement.program.source
            found |= {os.path.normpath(source.name): source.text} | imported_texts(
                statement.program
            )
    return found


def imported_paths(text: str) -> list[str]:
    """The files that a program's text names in its imports, also where it has errors elsewhere. A
    string or a comment that reads like an import counts."""
    return [path for path in re.findall(r'\bimport\s*"([^"\\\n]+)"', text) if "\0" not in path]


def _programs(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.suffix == ".tg"]
    except OSError:
        return []


def _error(code: str, message: str, span: Span, label: str = "", help: str = "") -> GradcliError:
    return GradcliError(Diagnostic(code, message, span, label=label, help=help))
