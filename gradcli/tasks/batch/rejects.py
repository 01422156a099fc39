"""Rows without an answer, as they are told: a line of the rejects file, or a diagnostic for
people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...diagnostics import Diagnostic
from .block import Reject


def entry(reject: Reject, part: str) -> dict[str, Any]:
    """A line of the rejects file. `part` is the part of the data where the row is."""
    first = reject.diagnostics[0].as_json()
    where: dict[str, Any] = {"row": reject.row}
    if reject.is_unreadable:
        where = {
            "row": None,
            "part": part,
            "rows": [reject.row, reject.row + reject.lost - 1] if reject.lost else None,
        }
        first["message"] = f"`{part}`: {first['message']}"
    if reject.kept is not None:
        where["keep"] = reject.kept
    told = {
        key: first[key]
        for key in ("code", "message", "line", "column", "help")
        if first[key] not in (None, "")
    }
    return {**where, **told}


def told(reject: Reject, part: str) -> Iterator[Diagnostic]:
    """What people are told of it."""
    where = f"`{part}`" if reject.is_unreadable else f"row {reject.row}"
    for diagnostic in reject.diagnostics:
        yield replace(diagnostic, message=f"{where}: {diagnostic.message}")
