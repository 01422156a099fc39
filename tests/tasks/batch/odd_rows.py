"""Jobs of which a few rows give other types than the others, and their outputs read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from gradcli.diagnostics import Source
from gradcli.tasks.batch.job import Job
from gradcli.tasks.batch.request import Request
from gradcli.tasks.batch.summary import Summary
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

ROWS = 3000
PROGRAM = """var x: float
n = 3
output whole = n
output mixed = n if x >= 0 else 0.5
output vector = [n, n] if x >= 0 else [n, -0.5]
output truth = x >= 0 if x >= -1 else 2
"""
LATE, EARLY, FIRST = [ROWS - 1], [7, 2500], [0]


def run(folder: Path, name: str, odd: list[int], program: str = PROGRAM, **asked: Any) -> Summary:
    """A job whose rows `odd` give floats where the others give ints, and an int where the others
    give a bool."""
    if not (folder / "rows.npy").exists():  # what changes is of another job
        x = np.arange(ROWS) % 5.0
        x[odd] = -2
        np.save(folder / "rows.npy", x)
    options = {
        "data": str(folder / "rows.npy"),
        "out": str(folder / name),
        "options": Options(grad=False),
        "block_rows": 1024,
    }
    job = Job(parse_program(Source("<test>", program)), Request(**{**options, **asked}))
    job.run(lambda summary, total: None)
    return job.summary


def read(path: Path) -> dict[str, Any]:
    if path.suffix == ".npz":
        return dict(np.load(path))
    kinds = {
        ".csv": pyarrow.csv.read_csv,
        ".jsonl": pyarrow.json.read_json,
        ".parquet": pyarrow.parquet.read_table,
        ".arrow": pyarrow.feather.read_table,
    }
    table = kinds[path.suffix](path)
    return {
        name: np.array(column.to_pylist())
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
