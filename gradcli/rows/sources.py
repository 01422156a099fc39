"""Where rows come from: a file, a folder or a glob of parts, or standard input, as one sequence of
ranges."""

from __future__ import annotations

import glob
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from .blocks import BadPart, Part, PartError, Range
from .flat import grouped, layout
from .formats import ENDINGS, PACKED, STDIN, TEXT, format_of, format_within
from .needs import arrow_for
from .reading.streams import look

_STREAMED = (*TEXT, "arrow", "npy")  # what standard input can have


class Source:
    """The data of a job: its parts one after the other, their rows numbered through from 0."""

    def __init__(self, paths: Sequence[str], format: str) -> None:
        """Raises GradcliError where no part can be read."""
        self._parts: list[Part | BadPart] = []
        for path in paths:
            try:
                self._parts.append(
                    open_part(path if path == STDIN else os.path.abspath(path), format)
                )
            except PartError as error:
                self._parts.append(BadPart(path, str(error), 0))
        self.paths = list(paths)
        self._begins: list[int] = []  # the first row of each part that has been gone through
        good = [part for part in self._parts if not isinstance(part, BadPart)]
        if not good:
            bad = next(part for part in self._parts if isinstance(part, BadPart))
            raise GradcliError(
                Diagnostic("E002", f"{_called(bad.path)}: {bad.reason}", help=_several(len(paths)))
            )
        self._first = good[0]
        self.format = format
        self.delimiter: str = getattr(self._first, "delimiter", "")  # of cells of text
        self.columns = self._first.columns
        self.rows = _sum(part.rows for part in good)
        found = [_facts(path) for path in paths]
        self.bytes = None if STDIN in paths else sum(entry.get("size", 0) for entry in found)
        self._inodes = [_inode(path) for path in paths]
        self.identity: dict[str, Any] = {"format": format, "parts": found}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, with complete flat ones (`x.0`, `x.1`) under the one name that the program
        may call them by."""
        return grouped(self.columns)

    def ranges(
        self, rows: int, first: int = 0, numeric: Sequence[str] = (), keep: Sequence[str] = ()
    ) -> Iterator[Range | BadPart]:
        """The data in ranges of at most `rows` rows, in order, without the first `first` of what
        this gives.

        Each part begins a new range. Of a part that fails, or that lacks one of the columns that
        are used, comes a BadPart.
        """
        start = count = 0
        self._begins = []
        for path, part in zip(self.paths, self._parts, strict=True):
            self._begins.append(start)
            reason = part.reason if isinstance(part, BadPart) else self._unlike(part, numeric, keep)
            if isinstance(part, BadPart) or reason:
                if count >= first:
                    yield BadPart(path, reason, start)
                count += 1
                continue
            try:
                for where in part.ranges(rows, start):
                    start = where.start + where.size
                    if count >= first:
                        yield where
                    count += 1
            except PartError as error:
                if count >= first:
                    yield BadPart(path, str(error), start)
                count += 1

    def part_of(self, row: int) -> str:
        """The part that a row is in, of those that `ranges` has come by."""
        return self.paths[max(0, bisect_right(self._begins, row) - 1)]

    def changed(self) -> str:
        """The first part that is another file now than it was, or has another size or time; ""
        where there is none. One that is gone isn't meant: what had been read of it is right, and
        the rest is missing."""
        then = zip(self.identity["parts"], self._inodes, strict=True)
        for path, (facts, inode) in zip(self.paths, then, strict=True):
            if (
                path != STDIN
                and os.path.exists(path)
                and (_facts(path), _inode(path)) != (facts, inode)
            ):
                return path
        return ""

    def share(self, where: Range | BadPart) -> float | None:
        """How much of the data, by its size, ends with this range: where that is known, of files of
        plain text."""
        lines = getattr(where, "lines", None)
        if not self.bytes or lines is None or not lines.path:
            return None
        sizes = [entry.get("size", 0) for entry in self.identity["parts"]]
        part = max(0, bisect_right(self._begins, where.start) - 1)
        return float((sum(sizes[:part]) + lines.offset + lines.length) / self.bytes)

    def _unlike(self, part: Part, numeric: Sequence[str], keep: Sequence[str]) -> str:
        """Why a part can't be read together with the others; "" where it can."""
        if part is self._first or not part.fixed:
            return ""
        for name in numeric:
            if layout(name, part.columns) is None and layout(name, self.columns) is not None:
                return f"it has no column `{name}`, as the first part has"
        for name in keep:
            if name in self.columns and name not in part.columns:
                return f"it has no column `{name}`, as the first part has"
            kind, first = part.kinds.get(name), self._first.kinds.get(name)
            if kind != first:
                return f"its column `{name}` holds {kind}, that of the first part {first}"
        return ""


def open_source(data: str, format: str | None = None) -> Source:
    """The rows of a file, of the parts in a folder or under a glob (in natural order), or of
    standard input ("-").

    Raises GradcliError for what isn't there, has no parts, or is of no known format.
    """
    if format is not None and format not in OPENERS:
        known = ", ".join(OPENERS)
        hint = f"{did_you_mean(format, OPENERS)} the formats are {known}".strip()
        raise GradcliError(Diagnostic("E001", f"there is no row format `{format}`", help=hint))
    if data == STDIN:
        format = format or _looked_at(STDIN)
        if format not in _STREAMED:
            hint = "write it to a file and name that"
            raise GradcliError(
                Diagnostic(
                    "E001",
                    (
                        f"{format} can't be read from standard input: its index is at the end of "
                        "the file"
                    ),
                    help=hint,
                )
            )
        return Source([STDIN], format)
    paths = _found(data)
    formats = {format or format_of(path) or _looked_at(path) for path in paths}
    if len(formats) > 1:
        said = ", ".join(sorted(str(name) for name in formats))
        hint = "name those of one format with a glob (`data/*.csv`)"
        raise GradcliError(
            Diagnostic("E002", f"{data}: parts of several formats: {said}", help=hint)
        )
    return Source(paths, str(formats.pop()))


def _called(path: str) -> str:
    return "standard input" if path == STDIN else path


def _looked_at(path: str) -> str:
    """The format of rows that the first bytes show. Raises GradcliError (E002) where that is
    none."""
    name = _called(path)
    try:
        format = format_within(look(path))
    except PartError as error:
        raise GradcliError(Diagnostic("E002", f"{name}: {error}")) from None
    if format is not None and format in OPENERS:
        return format
    if format == "json":
        help = "write one object on a line, as `jq -c '.[]'` does"
        raise GradcliError(Diagnostic("E002", f"{name}: it is a JSON array", help=help))
    help = (
        f"say --rows-format, or use one of the endings {' '.join(ENDINGS)}; text also with "
        f"{' '.join(PACKED)}"
    )
    raise GradcliError(Diagnostic("E002", f"{name}: don't know how to read this", help=help))


def _found(data: str) -> list[str]:
    """The files that are meant, in natural order: part-2 before part-10."""
    if os.path.isdir(data):
        try:
            names = [name for name in os.listdir(data) if not name.startswith((".", "_"))]
        except OSError as error:
            raise GradcliError(
                Diagnostic("E002", f"{data}: cannot read it: {error.strerror}")
            ) from None
        paths = [os.path.join(data, name) for name in names]
        paths = [path for path in paths if os.path.isfile(path)]
        what = f"{data}: the folder has no part files"
    elif os.path.isfile(data):
        return [data]
    elif os.path.exists(data):
        hint = (
            "what comes through a pipe can be read from standard input: --rows - --rows-format "
            "FORMAT < …"
        )
        message = f"{data}: it isn't a regular file: blocks are read in any order, and again"
        raise GradcliError(Diagnostic("E002", message, help=hint))
    elif glob.has_magic(data):
        found = glob.glob(data, recursive=True)
        paths = [
            path
            for path in found
            if os.path.isfile(path) and not os.path.basename(path).startswith("_")
        ]
        what = f"{data}: no file matches"
    else:
        raise GradcliError(Diagnostic("E002", f"{data}: cannot read it: no such file or folder"))
    if not paths:
        raise GradcliError(
            Diagnostic("E002", what, help="files that begin with `.` or `_` are ignored")
        )
    return sorted(paths, key=_natural)


def _natural(path: str) -> list[Any]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]+)", path)
    ]


def _facts(path: str) -> dict[str, Any]:
    """What tells a file from another, or from itself after a change."""
    if path == STDIN:
        return {"path": STDIN}
    try:
        found = os.stat(path)
    except OSError:
        return {"path": os.path.abspath(path)}
    return {"path": os.path.abspath(path), "size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _inode(path: str) -> int:
    """What tells a file from another that took its place; 0 where there is none."""
    return os.stat(path).st_ino if path != STDIN and os.path.exists(path) else 0


def _sum(counts: Any) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _several(count: int) -> str:
    return f"none of the {count} parts can be read" if count > 1 else ""


# ---- formats -------------------------------------------------------------------------------------


def _csv(path: str) -> Part:
    from .reading.csv import CsvPart

    return CsvPart(path)


def _jsonl(path: str) -> Part:
    from .reading.jsonl import JsonPart

    return JsonPart(path)


def _parquet(path: str) -> Part:
    with arrow_for("Parquet"):
        from .reading.parquet import ParquetPart
    return ParquetPart(path)


def _arrow(path: str) -> Part:
    with arrow_for("Arrow"):
        from .reading.arrow import ArrowPart
    return ArrowPart(path)


def _npy(path: str) -> Part:
    from .reading.npy import NpyPart

    return NpyPart(path)


def _npz(path: str) -> Part:
    from .reading.npz import NpzPart

    return NpzPart(path)


OPENERS: dict[str, Callable[[str], Part]] = {
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
    "npy": _npy,
    "npz": _npz,
}


def open_part(path: str, format: str) -> Part:
    """One file, with as much read of it as tells its columns. Raises PartError."""
    return OPENERS[format](path)
