"""A program for rows, and files of rows and of JSON, for tests of `gradcli batch`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """\
var x
var y
expect x < 50
f = log(x) * y
i = 0
while x == 7 { i = 1 - i }
v = [1.0, 2.0]
g = v[int64(y)] * x
output f, g
"""


def csv(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("x,y", *lines)) + "\n")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]
