"""What a job is asked, and what of it can be refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...rows.sources import ENDINGS, STDIN, format_of
from ..evaluation import Options

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Request:
    """What a job is asked: see `gradcli batch --help`.

    out       the output's path, or "-" for standard output; `out_format` is for that
    threads   how many blocks are computed at once, here; or by so many local `workers`, or the cluster of a `scheduler`
    block_rows  rows that are read, computed and written together; None for both: what suits the device
    """

    data: str
    out: str
    options: Options
    rows_format: str | None = None
    out_format: str | None = None
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


def output_format(request: Request) -> str:
    """The format of the output. Raises GradcliError (E001) where nothing tells."""
    if request.out_format is not None:
        return request.out_format
    format = None if request.out == STDOUT else format_of(request.out)
    if format is None or (request.out != STDOUT and not request.out.lower().endswith(tuple(ENDINGS))):
        help = f"say --out-format, or use one of the endings {' '.join(ENDINGS)}"
        raise GradcliError(Diagnostic("E001", f"of which format should the output `{request.out}` be?", help=help))
    return format


def verify_apart(request: Request, parts: Iterable[str]) -> None:
    """Raises GradcliError (E001) where the output would become part of the data, which somebody may want to read again."""
    out = os.path.realpath(request.out)
    if request.out == STDOUT or request.data == STDIN:
        return
    within = os.path.isdir(request.data) and os.path.samefile(request.data, os.path.dirname(out) or ".")
    if within or out in map(os.path.realpath, parts):
        message = f"the output `{request.out}` would {'be part of' if within else 'replace'} the data"
        raise GradcliError(Diagnostic("E001", message, help="write it somewhere else"))
