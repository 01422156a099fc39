"""What the endings of files on the command line say: the format of an answer, or of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

ENDINGS = {  # of answers
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".html": "html",
    ".xml": "junit",
    ".sarif": "sarif",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".svg": "svg",
}
LANGUAGES = {  # of closed forms
    ".tex": "latex",
    ".py": "python",
    ".c": "c",
    ".f90": "fortran",
    ".jl": "julia",
    ".rs": "rust",
}


def ending_of(path: str) -> str:
    """The ending of a file's name, in small letters, with its dot."""
    return os.path.splitext(path)[1].lower()


def says_format(option: str, given: Mapping[str, Any]) -> bool:
    """Whether a command that is given these parameters has a file whose name says what `option`
    would."""
    path = given.get("rows" if option == "rows_format" else "output_file") or ""
    if option in ("rows_format", "out_format"):
        from ..tasks.batch.request import format_of

        return format_of(path) is not None
    if option == "to":
        return ending_of(path) in LANGUAGES
    known = {*ENDINGS, *LANGUAGES} if "to" in given else set(ENDINGS)
    return option == "format" and ending_of(path) in known
