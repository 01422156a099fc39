"""What a job is asked, and what of it can be refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any, NamedTuple

from ...diagnostics import Diagnostic, GradcliError
from ...rows.formats import ENDINGS, PACKED, STDIN
from ...rows.formats import format_of as format_of
from ...rows.sources import Source
from ...rows.writing import COMPRESSED, STREAMED
from ..evaluation import Options

STDOUT = "-"
ANSWERS = {".json": "json", ".txt": "text"}  # formats of a reduction that is told as `eval` does


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is asked: see `gradcli batch --help`.

    out       the output's path, or "-" for standard output; `out_format` is for that: without it
              the rows go out in the format of the data
    threads   how many blocks are computed at once, here; or by so many local `workers`, or the
              cluster of a `scheduler`
    compression  of the pages of a Parquet file: "none", "snappy", "zstd", or "" for the writer's
    own choice
    block_rows  rows that are read, computed and written together; None for both: what suits the
    device
    report    where whoever asks writes the numbers of the summary
    tell      makes a text of a reduction's values by name, in one of ANSWERS
    """

    data: str
    out: str
    options: Options
    rows_format: str | None = None
    out_format: str | None = None
    compression: str = ""
    shared: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    nan: str = "keep"
    reduce: str = ""
    fails: bool = False
    resume: bool = False
    threads: int | None = None
    workers: int | None = None
    scheduler: str | None = None
    block_rows: int | None = None
    report: str | None = None
    tell: Callable[[Mapping[str, Any], str], str] | None = None


class OutputFormat(NamedTuple):
    """The format of an output, and what separates the cells of text."""

    name: str
    delimiter: str = ","

    @property
    def is_answer(self) -> bool:
        return self.name in ANSWERS.values()


def output_format(request: Request, source: Source) -> OutputFormat:
    """The format of the output: what was asked for, or the ending of its name says; on standard
    output that of the data, if that can be written there. Raises GradcliError (E001) where nothing
    tells, for a name that promises compression, and for a compression that the format doesn't
    have."""
    format = _format(request, source)
    if request.compression and format.name not in COMPRESSED:
        help = "leave it out, or write to a file that ends with .parquet"
        raise GradcliError(
            Diagnostic(
                "E001", f"--compression is for Parquet, and the output is {format.name}", help=help
            )
        )
    return format


def _format(request: Request, source: Source) -> OutputFormat:
    if request.out.lower().endswith(PACKED) and request.out != STDOUT:
        help = (
            "name it without that ending, or pack what `-o -` writes: `… -o - --out-format csv | "
            "gzip`"
        )
        raise GradcliError(
            Diagnostic("E001", f"`{request.out}`: outputs aren't compressed", help=help)
        )
    if request.out == STDOUT and request.out_format is None:
        if request.reduce:
            return OutputFormat("text")
        if source.format in STREAMED:
            return OutputFormat(source.format, source.delimiter)
        return OutputFormat("csv")
    name = request.out_format or format_of(request.out)
    if name is None and request.reduce:
        name = ANSWERS.get(os.path.splitext(request.out.lower())[1])
    if name is None:
        help = (
            f"say --out-format, or use one of the endings {' '.join(ENDINGS)}; with --reduce also "
            + " ".join(ANSWERS)
        )
        raise GradcliError(
            Diagnostic("E001", f"of which format should the output `{request.out}` be?", help=help)
        )
    return OutputFormat(name, "\t" if name == "tsv" else ",")


def verify_apart(request: Request, parts: Iterable[str], program: str) -> None:
    """Raises GradcliError (E001) where what is written would become part of the data or replace the
    program, which somebody may want to read again, or where two of the files would be one.
    `program` is its name."""
    taken = {os.path.realpath(part): "the data" for part in parts if part != STDIN}
    taken.setdefault(os.path.realpath(program), "the program")
    rejects = STDOUT if request.out == STDOUT else f"{request.out}.rejects.jsonl"
    for what, path in (
        ("output", request.out),
        ("file of rejects", rejects),
        ("report", request.report or STDOUT),
    ):
        if path == STDOUT:
            continue
        place = os.path.realpath(path)
        if place in taken or _is_among(place, request.data):
            done = f"replace {taken[place]}" if place in taken else "be part of the data"
            raise GradcliError(
                Diagnostic(
                    "E001", f"the {what} `{path}` would {done}", help="write it somewhere else"
                )
            )
        taken[place] = f"the {what}"


def _is_among(place: str, data: str) -> bool:
    """Whether a file there would be read with the next job: it is in the folder that the data is,
    or fits the glob."""
    if data == STDIN or os.path.isfile(data):
        return False
    if os.path.isdir(data):
        return os.path.dirname(place) == os.path.realpath(data)
    names, patterns = place.split(os.sep), os.path.realpath(data).split(os.sep)
    return len(names) == len(patterns) and all(map(fnmatch, names, patterns))
