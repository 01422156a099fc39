"""Writers of rows: one file a format, one line in WRITERS.

A writer appends blocks to a partial file, and says after each where it stands. Given such a
position, another writer takes back what comes after it and goes on: the bytes are those of a run
that was never interrupted. `finish` makes the file whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, did_you_mean
from ..needs import arrow_for
from .columns import Column as Column
from .columns import Writer


def _csv(path: str, resume_at: Any | None = None, delimiter: str = ",") -> Writer:
    with arrow_for("writing CSV"):
        from .csv import CsvWriter
    return CsvWriter(path, resume_at, delimiter)


def _tsv(path: str, resume_at: Any | None = None, delimiter: str = "\t") -> Writer:
    return _csv(path, resume_at, delimiter)


def _jsonl(path: str, resume_at: Any | None = None) -> Writer:
    with arrow_for("writing JSON lines"):
        from .jsonl import JsonWriter
    return JsonWriter(path, resume_at)


def _parquet(path: str, resume_at: Any | None = None, compression: str = "zstd") -> Writer:
    with arrow_for("Parquet"):
        from .parquet import ParquetWriter
    return ParquetWriter(path, resume_at, compression)


def _arrow(path: str, resume_at: Any | None = None) -> Writer:
    with arrow_for("Arrow"):
        from .arrow import ArrowWriter
    return ArrowWriter(path, resume_at)


def _npy(path: str, resume_at: Any | None = None) -> Writer:
    from .npy import NpyWriter

    return NpyWriter(path, resume_at)


def _npz(path: str, resume_at: Any | None = None) -> Writer:
    from .npz import NpzWriter

    return NpzWriter(path, resume_at)


WRITERS: dict[str, Callable[..., Writer]] = {
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
    "npy": _npy,
    "npz": _npz,
}
COMPRESSED = ("parquet",)  # whose writers take a `compression`, too
DELIMITED = ("csv", "tsv")  # whose writers take a `delimiter`
TEXTS = ("csv", "tsv", "jsonl")  # where a column may go on with floats after ints
STREAMED = ("csv", "tsv", "jsonl", "arrow")


def open_stdout(format: str, delimiter: str) -> Writer:
    """The writer of a format to standard output, with this between the cells of text. A closed pipe
    raises BrokenPipeError where it is written to.

    Raises GradcliError for a format that is only whole when its end is known.
    """
    if format not in STREAMED:
        known = ", ".join(STREAMED)
        hint = (
            f"{did_you_mean(format, STREAMED)} standard output takes {known}; the others need a "
            "file"
        ).strip()
        raise GradcliError(
            Diagnostic("E001", f"rows can't be written to standard output as `{format}`", help=hint)
        )
    if format == "arrow":
        with arrow_for("Arrow"):
            from .arrow import ArrowStream
        return ArrowStream()
    chosen = {"delimiter": delimiter} if format in DELIMITED else {}
    return WRITERS[format]("-", None, **chosen)
