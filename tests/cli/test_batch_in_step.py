"""Rows that are computed together: each has the derivatives that it has by itself, though another
one goes wrong on the way, or takes another path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcli.engine.backends.tiers import INTERPRETED, only
from tests.cli.batch_rows import csv, lines
from tests.cli.conftest import Result

Run = Callable[..., Result]
TABLE = "const idx = [0, 5, 0, 0, 5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]\n"
# A condition on an element, whose sides push to the stack; then y = 10 reads beyond the table.
WRONG = f"""{TABLE}var x = 0.5
const y = 0
z = x
for k in range(6) {{
    j = idx[(y + k*k) % 20]
    if j > 2 {{ for m in range(3 + j) {{ z = sin(z) * x + cos(z) }} }}
}}
z += z * z * idx[y + 15]
output z
"""
PATHS = {
    # Its limit is known only once what the loop carries on unchanged is.
    "a while that counts to a name": """var x = 0.5
var y = 0.0
n = 10
i = 0
z = x
u = y
while i < n { z = z * x + u * z; u = 0.5 * u; i = i + 1; n = n }
output z
""",
    "loops in branches": """var x = 0.5
var y = 0.0
z = x
for k in range(8) {
    if x > 0.5 { z = z * x + y } else { for m in range(k + 1) { z = z * sin(z) + x } }
}
output z
""",
    "branches in loops": """var x = 0.5
var y = 0.0
z = x
for k in range(5) {
    for m in range(k + 1) { if k % 2 == 0 { if x > 0.1 * m { z = sin(z) + y } } else { z = z * x } }
}
output z
""",
}


def rows(gradcli: Run, folder: Path, program: str, *given: str) -> list[Any]:
    csv(folder / "d.csv", *given)
    gradcli("batch", "-e", program, "--rows", "d.csv", "-o", "o.jsonl")
    return lines(folder / "o.jsonl")


def test_a_row_that_goes_wrong(gradcli: Run, tmp_path: Path) -> None:
    right = [f"{0.3 + k / 1000},0" for k in range(40)]
    alone = rows(gradcli, tmp_path, WRONG, *right[:7], *right[8:])
    beside = rows(gradcli, tmp_path, WRONG, *right[:7], "0.3,10", *right[8:])
    assert beside == alone
    assert len(alone) == 39


@pytest.mark.parametrize("name", PATHS)
def test_paths(gradcli: Run, tmp_path: Path, name: str) -> None:
    given = [f"{0.3 + k / 50},0.0" for k in range(40)]
    found = rows(gradcli, tmp_path, PATHS[name], *given)
    with only(INTERPRETED):
        wanted = rows(gradcli, tmp_path, PATHS[name], *given)
    assert len(found) == len(wanted) == 40
    for a, b in zip(found, wanted, strict=True):
        for key, number in b.items():
            same = a[key] is number is None or a[key] == pytest.approx(number, rel=1e-12)
            assert same, key
