"""What came of a batch: one line for people, and JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..diagnostics import printable
from ..naming import read_name
from ..tasks.batch.summary import Summary
from ..tasks.evaluation import Evaluation


def line(summary: Summary, rejects: str) -> str:
    """`1,000 rows in 0.3 s (3,300 rows/s), 2 failed: see out.csv.rejects.jsonl`."""
    parts = [
        f"{_count(summary.rows, 'row')} in {summary.seconds:.3g} s ({summary.rate:,.0f} rows/s)"
    ]
    if summary.was_done:
        parts = [f"{_count(summary.rows, 'row')} finished before: there was nothing to do"]
    elif summary.resumed_blocks:
        parts.append(
            f"{_count(summary.resumed, 'row')} of them finished before, in "
            f"{_count(summary.resumed_blocks, 'block')}"
        )
    failed = [_count(summary.failed, "failed", "") if summary.failed else "none failed"]
    if summary.nonfinite:
        failed.append(f"{summary.nonfinite:,} with nan or inf")
    if summary.unreadable:
        failed.append(f"{_count(summary.unreadable, 'part')} of the data can't be read")
    where = f": see {printable(rejects)}" if rejects and summary.exit_code else ""
    return ", ".join(parts + failed) + where


def statistics(summary: Summary) -> str:
    """What `--verbose` says: `on cpu, 2 processes; 16 blocks of up to 65,536 rows, 4,096 at once; 0
    reruns`, and how the rows were computed."""
    n = summary.threads
    who = (
        "the workers of the cluster"
        if n is None
        else _count(n, summary.kind, "es" if summary.kind == "process" else "s")
    )
    blocks = f"{_count(summary.blocks, 'block')} of up to {_count(summary.block_rows, 'row')}"
    at_once = min(summary.tile, summary.block_rows)
    return (
        f"on {summary.device}, {who}; {blocks}, {at_once:,} at once; "
        f"{_count(summary.reruns, 'rerun')}\n{_ways(summary)}"
    )


def _ways(summary: Summary) -> str:
    """`65,533 rows by machine code, which left 3 to the interpreter`, or why there is
    none."""
    parts = []
    if summary.compiled or summary.stepped_back:
        parts.append(f"{_count(summary.compiled, 'row')} by machine code")
    if summary.stepped_back:
        parts[0] += f", which left {summary.stepped_back:,} to the interpreter"
    if summary.interpreted:
        why = f": {summary.not_compiled}" if summary.not_compiled else ""
        parts.append(f"{_count(summary.interpreted, 'row')} by the interpreter{why}")
    return "; ".join(parts) or "no rows were computed"


def as_evaluation(file: str, values: Mapping[str, Any]) -> Evaluation:
    """A reduction, by the names of its columns, as `eval` gives it."""
    told = Evaluation(file)
    for name, value in values.items():
        if found := read_name(name):
            told.gradients.setdefault(found.of, {})[found.by] = value
            if found.summed and found.of not in told.summed:
                told.summed.append(found.of)
        else:
            told.outputs[name] = value
    return told


def as_json(summary: Summary) -> str:
    """The report of `--report`."""
    return json.dumps(summary.as_json(), indent=2) + "\n"


def _count(n: int, word: str, plural: str = "s") -> str:
    return f"{n:,} {word}{plural if n != 1 else ''}"
