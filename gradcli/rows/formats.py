"""Formats of data: what the ending of a name says, or else the first bytes."""

from __future__ import annotations

import os

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}
STDIN = "-"  # the path of data that comes from standard input
PACKED = (".gz", ".zst")  # endings that say how text is compressed; the bytes themselves say it too
TEXT = ("csv", "tsv", "jsonl")
_FIRST_BYTES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # the stream format
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\x28\xb5\x2f\xfd": None,  # packed by zstd
}
_BOM = b"\xef\xbb\xbf"


def format_of(path: str) -> str | None:
    """The format that a file's ending says, None where it says none."""
    stem, ending = os.path.splitext(path.lower())
    if ending in PACKED:
        inner = ENDINGS.get(os.path.splitext(stem)[1])
        return inner if inner in TEXT else None
    return ENDINGS.get(ending)


def format_within(head: bytes) -> str | None:
    """The format that the first bytes show: "json" for one JSON value over several lines, "jsonl"
    for an object on the first line, "csv" for other text (what separates its cells is seen when it
    is read); None for bytes that are none of these."""
    for first, format in _FIRST_BYTES.items():
        if head.startswith(first):
            return format
    if b"\0" in head:
        return None
    line = head.removeprefix(_BOM).lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"["):
        return "json"
    if line.startswith(b"{"):
        return "jsonl" if line.endswith(b"}") or b"\n" not in head else "json"
    return "csv"
