"""Lists that are arrays in some rows and hold none in others have the same columns in all rows of a
job, whatever their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.tiers import policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.tasks.batch.kernels import Kernels
from gradcli.tasks.batch.plan import Plan

from .jobs import Process
from .odd_rows import EARLY, FIRST, LATE, ROWS, read, run
from .one_by_one import OPTIONS, assert_same, parsed

ODD = {
    "none first": "[none, u]",
    "none last": "[u, none]",
    "nothing but none": "[none, none]",
    "no list": "none",
}


@pytest.mark.parametrize("others", ["[u, 2 * u]", "[2, 3]", "{a: [u, u], b: u}"])
@pytest.mark.parametrize("odd", ODD)
def test_rows(odd: str, others: str) -> None:
    odd_one = f"{{a: {ODD[odd]}, b: u}}" if "{" in others else ODD[odd]
    for chosen in ("u > 15", "u < 15"):
        node = parsed(f"var u\noutput l = {odd_one} if {chosen} else {others}\noutput y = u")
        for rows in ([10.0, 20.0, 40.0, -5.0], [20.0, 10.0]):
            assert not assert_same(node, {"u": rows}).rejects


@pytest.mark.parametrize(
    "odd", ["[[none, u], [u, u]]", "[[u, u], none]", "[none, [none, none]]", "none"]
)
def test_a_matrix(odd: str) -> None:
    for chosen in ("u > 15", "u < 15"):
        node = parsed(
            f"var u\noutput l = {odd} if {chosen} else [[u, 1], [2 * u, u]]\noutput y = u"
        )
        assert not assert_same(node, {"u": [10.0, 20.0, 40.0, -5.0]}).rejects


@pytest.mark.parametrize(
    "lists",
    ["[u, u]", "[[u, u], [u]]", "[[u, u], [2.0 * u, u], 3.0]", "{b: 2 * u, c: u, d: u * [1, 2]}"],
)
def test_the_gradient_of_a_list(lists: str) -> None:
    """What its parts have in common gets the sum over them."""
    assert_same(
        parsed(f"var u\noutput l = {lists}\na = 2 * u\noutput m = [a, a, u]"),
        {"u": [10.0, 20.0, 40.0]},
    )


@pytest.mark.parametrize("odd", [LATE, EARLY, FIRST], ids=["late", "early and late", "first"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "npz"])
def test_a_job(tmp_path: Path, ending: str, odd: list[int]) -> None:
    summary = run(
        tmp_path,
        f"out.{ending}",
        odd,
        "var x: float\noutput l = [x, 3] if x >= 0 else [none, 0.5]\noutput z = x",
    )
    assert (summary.rows, summary.failed, summary.complete) == (ROWS, 0, True)
    found = read(tmp_path / f"out.{ending}")
    assert [name for name in found if "mask" not in name] == ["l.0", "l.1", "z"]
    x, second = np.arange(ROWS) % 5.0, np.full(ROWS, 3.0)
    second[odd] = 0.5
    np.testing.assert_array_equal(found["l.1"], second)
    first = np.array([np.nan if v is None else v for v in found["l.0"].tolist()], float)
    x[odd] = np.nan
    np.testing.assert_array_equal(first, x)


@pytest.mark.parametrize("how", [{"threads": 1}, {"threads": 2}, {"workers": 1}], ids=str)
def test_whoever_computes_the_rows_the_bytes_are_the_same(
    tmp_path: Path, how: dict[str, int]
) -> None:
    program = "var x: float\noutput l = [x, 3] if x >= 0 else [none, 0.5]"
    run(tmp_path, "out.parquet", LATE, program, **how)
    run(tmp_path, "again.parquet", LATE, program)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_a_reduction(tmp_path: Path) -> None:
    run(
        tmp_path,
        "out.npz",
        LATE,
        "var x: float\noutput l = [2.0, 3] if x >= 0 else [none, 0.5]",
        reduce="sum",
    )
    found: dict[str, Any] = read(tmp_path / "out.npz")
    np.testing.assert_allclose(
        [found["l.0"][0], found["l.1"][0]], [2.0 * (ROWS - 1), 3.0 * (ROWS - 1) + 0.5]
    )


@pytest.mark.parametrize(("format", "code"), [("csv", 0), ("arrow", 6)])
def test_what_goes_through_pipes(tmp_path: Path, format: str, code: int) -> None:
    """Text goes on with parts; where columns have types, and rows of them were handed on, the row
    is rejected."""
    (tmp_path / "p.tg").write_text("var x: float\noutput l = [x, x] if x >= 0 else [none, x]\n")
    given = "x\n" + "1\n" * (ROWS - 1) + "-1\n"
    arguments = [
        "batch",
        "p.tg",
        "--rows",
        "-",
        "--rows-format",
        "csv",
        "-o",
        "-",
        "--out-format",
        format,
        "--no-grad",
    ]
    process = Process(tmp_path, [*arguments, "--block-rows", "1024"], given=given.encode())
    assert process.wait() == code, process.err
    if format == "csv":
        lines = process.out.splitlines()
        assert (lines[0], lines[1], lines[-1]) == ("l.0,l.1", "1,1", ",-1")


@pytest.mark.skipif(not policy().compiles or not can_compile(0), reason="there is no machine code")
@pytest.mark.parametrize(
    "turn",
    [
        "if len(l) > 2 { l = l[1:] }\nl = append(l, x * i)",
        "if len(l) > 1 { if l[-1] > 1 { l = l[:-1] } }\nl = append(l, x * i)",
        "while len(l) > 0 { if l[-1] < x * i { break }\nl = l[:-1] }\nl = append(l, sin(x * i))",
    ],
)
def test_lists_that_become_shorter_in_some_iterations(turn: str) -> None:
    """The first iteration, of which the list is known, doesn't tell how long it is in the end."""
    text = (
        f"var x\nl = []\nfor i in range(9) {{\n{turn}\n}}\noutput y = sum(l) * l[0]\noutput len(l)"
    )
    node, columns = parsed(text), {"x": np.linspace(-2.0, 2.0, 43)}
    plan = Plan(node.source, OPTIONS, columns={"x": "x"})
    _, others = Kernels(plan, node).compute(columns, 43)
    assert others.size == 0
    assert_same(node, columns)
