"""The type of a column is that of all rows of a job, whatever their order, the format, and who
computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradcli.diagnostics import Source
from gradcli.tasks.batch.job import Job
from gradcli.tasks.batch.request import Request
from gradcli.tasks.batch.summary import Summary
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from .jobs import Process
from .odd_rows import EARLY, FIRST, LATE, PROGRAM, ROWS, read, run

TYPES = {"whole": "int64", "mixed": "float64", "vector": "float64", "truth": "int64"}


@pytest.mark.parametrize("odd", [LATE, EARLY, FIRST], ids=["late", "early and late", "first"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "npz"])
def test_an_int_in_one_row_and_a_float_in_another(
    tmp_path: Path, ending: str, odd: list[int]
) -> None:
    summary = run(tmp_path, f"out.{ending}", odd)
    assert (summary.rows, summary.failed, summary.complete) == (ROWS, 0, True)
    found = read(tmp_path / f"out.{ending}")
    expected = np.full(ROWS, 3.0)
    expected[odd] = 0.5
    np.testing.assert_array_equal(found["mixed"], expected)
    vector = np.array(found["vector.1"] if "vector.1" in found else found["vector"][:, 1])
    expected[odd] = -0.5
    np.testing.assert_array_equal(vector, expected)
    if ending in ("parquet", "arrow", "npz"):
        types = {name.partition(".")[0]: column.dtype.name for name, column in found.items()}
        assert types == TYPES


@pytest.mark.parametrize("how", [{"threads": 1}, {"threads": 2}, {"workers": 1}], ids=str)
def test_whoever_computes_the_rows_the_bytes_are_the_same(
    tmp_path: Path, how: dict[str, int]
) -> None:
    run(tmp_path, "out.parquet", LATE, **how)
    run(tmp_path, "again.parquet", LATE)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


@pytest.mark.parametrize(
    ("reduce", "total"),
    [("sum", 3.0 * (ROWS - 1) + 0.5), ("mean", (3.0 * (ROWS - 1) + 0.5) / ROWS)],
)
def test_a_reduction(tmp_path: Path, reduce: str, total: float) -> None:
    run(tmp_path, "out.npz", LATE, reduce=reduce)
    found = read(tmp_path / "out.npz")
    np.testing.assert_allclose(found["mixed"], [total], rtol=1e-15)
    assert found["whole"].dtype == ("int64" if reduce == "sum" else "float64")


def test_a_job_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """What is finished has narrower columns than the rest needs."""

    class StopError(Exception):
        pass

    def stop(summary: Summary, total: int | None) -> None:
        if summary.rows > 1024:
            raise StopError

    run(tmp_path, "whole.parquet", LATE)
    request = Request(
        str(tmp_path / "rows.npy"),
        str(tmp_path / "out.parquet"),
        Options(grad=False),
        block_rows=1024,
    )
    with pytest.raises(StopError):
        Job(parse_program(Source("<test>", PROGRAM)), request).run(stop)
    run(tmp_path, "out.parquet", LATE, resume=True)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_text_in_a_column_of_numbers_is_refused_whatever_the_types(tmp_path: Path) -> None:
    program = 'var x: float\noutput y = 3 if x >= 0 else "no"'
    assert run(tmp_path, "out.jsonl", LATE, program).failed == 1


@pytest.mark.parametrize(("format", "failed"), [("csv", 0), ("jsonl", 0), ("arrow", 1)])
def test_what_goes_through_pipes_isnt_begun_again(tmp_path: Path, format: str, failed: int) -> None:
    """Text goes on with floats; where a column has a type, and rows of it were handed on, the row
    is rejected."""
    (tmp_path / "p.tg").write_text("var x: float\noutput y = 3 if x >= 0 else 0.5\n")
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
    assert process.wait() == (0 if not failed else 6), process.err
    if format != "arrow":
        assert process.out.splitlines()[-1] in ("0.5", '{"y": 0.5}')
