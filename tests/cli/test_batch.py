"""`gradcli batch`: what it says of rows and parts of data that are wrong, and its reductions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.batch_rows import PROGRAM, csv, lines
from tests.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def program(tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text(PROGRAM)


# ---- rows that fail ------------------------------------------------------------------------------

BAD = ["60,1", "1,banana", ",1", "8,5", "1,2,3", "2,1", "7,1"]  # all but the last but one


def test_rows_that_fail_are_told_one_by_one(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", *BAD)
    done = gradcli("batch p.tg --rows d.csv -o o.csv --max-steps 1000 --report r.json")
    assert done.code == 6
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == [
        "0.6931471805599453,4,0.5,0.6931471805599453,2,"
    ]
    assert lines(tmp_path / "o.csv.rejects.jsonl") == [
        {
            "row": 0,
            "code": "E601",
            "message": "expected `x < 50`, and it is false: `x` is 60.0",
            "line": 3,
            "column": 8,
        },
        {"row": 1, "code": "E605", "message": 'column `y`: "banana" is not a number'},
        {
            "row": 2,
            "code": "E605",
            "message": "`x` has no value",
            "help": "the program declares it without a value",
        },
        {
            "row": 3,
            "code": "E303",
            "message": "index 5 is out of range for a list of 2",
            "line": 8,
            "column": 5,
        }
        | {"help": "indices count from 0"},
        {"row": 4, "code": "E605", "message": "expected 2 cells, got 3"},
        {
            "row": 6,
            "code": "E403",
            "message": "the limit of 1000 steps is reached",
            "line": 6,
            "column": 16,
        }
        | {"help": "a step is one statement executed; raise it with --max-steps"},
    ]
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["rows"], report["failed"], report["succeeded"], report["complete"]) == (
        7,
        6,
        1,
        True,
    )
    assert "7 rows in" in done.err
    assert "6 failed: see o.csv.rejects.jsonl" in done.err


def test_rows_that_fail_are_told_where_no_file_takes_them(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", *BAD)
    done = gradcli("batch p.tg --rows d.csv -o - --out-format csv --max-steps 1000")
    assert done.code == 6
    assert len(done.out.splitlines()) == 2
    said = [line for line in done.err.splitlines() if line.startswith("error")]
    assert said[0] == "error[E601]: row 0: expected `x < 50`, and it is false"
    assert len(said) == 6
    assert "^^^^^^ `x` is 60.0" in done.err
    assert " 8 | g = v[int64(y)] * x" in done.err


@pytest.mark.parametrize("block_rows", [1000, 30, 7])
def test_the_first_twenty_of_them(gradcli: Run, tmp_path: Path, block_rows: int) -> None:
    csv(tmp_path / "d.csv", *["1,1"] * 100)
    program = "const x; const y; expect x > 1; expect y > 1; output x * y"
    done = gradcli(
        f"batch -e '{program}' --rows d.csv -o - --out-format csv --block-rows {block_rows}"
    )
    said = [line.split(":")[1] for line in done.err.splitlines() if line.startswith("error")]
    assert list(dict.fromkeys(said)) == [f" row {k}" for k in range(20)]
    assert done.err.splitlines()[-1].endswith("100 failed")


def test_stop_at_the_first_row_that_fails(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,1", "2,1", "3,1", "4,5", "5,9")
    done = gradcli(
        "batch p.tg --rows d.csv -o o.csv --on-error fail --block-rows 2 --report r.json"
    )
    assert done.code == 3
    assert done.err.splitlines() == [
        "error[E303]: row 3: index 5 is out of range for a list of 2",
        "  --> p.tg:8:5",
        "   |",
        " 8 | g = v[int64(y)] * x",
        "   |     ^^^^^^^^^^^",
        "   = help: indices count from 0",
        "2 rows are finished and kept in o.csv.partial: with --resume, the same command goes on from there",
    ]
    assert not (tmp_path / "o.csv").exists()
    assert not (tmp_path / "o.csv.rejects.jsonl").exists()
    assert json.loads((tmp_path / "r.json").read_text())["complete"] is False
    done = gradcli("batch p.tg --rows d.csv -o o.csv --block-rows 2 --resume")
    assert done.code == 6
    assert "5 rows in" in done.err
    assert "2 rows of them finished before, in 1 block, 2 failed: see" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("60,1", "error[E601]: row 1: expected `x < 50`, and it is false"),
        ("x,1", 'error[E605]: row 1: column `x`: "x" is not a number'),
        ("-1,1", "error[E606]: row 1: `f` is nan"),
        ("7,1", "error[E403]: row 1: the limit of 100 steps is reached"),
    ],
)
def test_whatever_fails_stops(gradcli: Run, tmp_path: Path, line: str, said: str) -> None:
    csv(tmp_path / "d.csv", "1,1", line)
    done = gradcli("batch p.tg --rows d.csv -o o.csv --on-error fail --nan error --max-steps 100")
    assert (done.code, done.err.splitlines()[0]) == (3, said)
    assert list(tmp_path.glob("o.csv*")) == []


def test_nan(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "-1,1", "0,0", "2,1")
    assert gradcli("batch p.tg --rows d.csv -o o.csv").code == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[1:3] == [
        "nan,-2,-1,nan,2,",
        "nan,0,0,-inf,1,",
    ]
    assert gradcli("batch p.tg --rows d.csv -o o.csv --nan error").code == 6
    assert [entry["message"] for entry in lines(tmp_path / "o.csv.rejects.jsonl")] == [
        "`f` is nan"
    ] * 2


def test_the_columns_are_those_of_the_first_row_that_succeeds(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", *(f"{x},0" for x in range(51, 3000)), "1,0")
    assert gradcli("batch p.tg --rows d.csv -o o.csv").code == 6
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == ["0,1,0,0,1,"]


# ---- parts that can't be read --------------------------------------------------------------------


def test_parts_that_can_not_be_read(gradcli: Run, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    csv(parts / "1.csv", "1,1", "2,1")
    (parts / "2.csv").write_text("x,z\n1,1\n")
    packed = gzip.compress(
        b"x,y\n" + b"".join(b"%d,1\n" % k for k in np.random.default_rng(0).permutation(5000))
    )
    (parts / "3.csv").write_bytes(packed[: len(packed) // 2])
    csv(parts / "10.csv", "3,1", "60,1")
    done = gradcli("batch p.tg --rows parts -o o.csv --report r.json")
    assert done.code == 6
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 4
    assert lines(tmp_path / "o.csv.rejects.jsonl") == [
        {"row": None, "part": "parts/2.csv", "rows": None, "code": "E608"}
        | {"message": "`parts/2.csv`: it has no column `y`, as the first part has"},
        {"row": None, "part": "parts/3.csv", "rows": None, "code": "E608"}
        | {"message": "`parts/3.csv`: its compressed data ends too early"},
        {
            "row": 3,
            "code": "E601",
            "message": "expected `x < 50`, and it is false: `x` is 60.0",
            "line": 3,
            "column": 8,
        },
    ]
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["rows"], report["failed"], report["succeeded"], report["unreadable"]) == (
        4,
        1,
        3,
        2,
    )
    assert "1 failed, 2 parts of the data can't be read: see o.csv.rejects.jsonl" in done.err
    done = gradcli("batch p.tg --rows parts -o o.csv --on-error fail")
    assert done.code == 3
    assert "error[E608]: `parts/2.csv`: it has no column `y`, as the first part has" in done.err


def test_a_part_that_is_damaged_within(gradcli: Run, tmp_path: Path) -> None:
    """Only rows that can't be decoded are lost, and they count as failed."""
    (tmp_path / "parts").mkdir()
    for k in range(3):
        table = pa.table({"x": np.arange(1.0, 2001.0) / 100, "y": np.zeros(2000)})
        pq.write_table(table, tmp_path / "parts" / f"{k}.parquet", row_group_size=500)
    damaged = bytearray((tmp_path / "parts" / "1.parquet").read_bytes())
    damaged[2000:2600] = b"\xff" * 600
    (tmp_path / "parts" / "1.parquet").write_bytes(damaged)
    (tmp_path / "parts" / "2.parquet").write_bytes(
        (tmp_path / "parts" / "0.parquet").read_bytes()[:-100]
    )
    done = gradcli("batch -e x*2+y --rows parts -o o.parquet --block-rows 400 --report r.json")
    assert done.code == 6
    report = json.loads((tmp_path / "r.json").read_text())
    found = lines(tmp_path / "o.parquet.rejects.jsonl")
    assert [(entry["part"], entry["rows"]) for entry in found] == [
        ("parts/1.parquet", [2000, 2399]),
        ("parts/1.parquet", [2400, 2499]),
        ("parts/2.parquet", None),
    ]
    assert ["`: cannot read row group 0: " in entry["message"] for entry in found[:2]] == [
        True,
        True,
    ]
    assert (report["rows"], report["failed"], report["unreadable"]) == (4000, 500, 2)
    assert pq.read_metadata(tmp_path / "o.parquet").num_rows == 3500


def test_a_parquet_file_goes_on_with_its_compression_only(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", *["1,1"] * 50, "-1,1", *["1,1"] * 50)
    begun = "batch -e sqrt(x)*y --rows d.csv -o o.parquet --block-rows 20 --nan error --on-error fail --compression"
    assert gradcli(f"{begun} snappy").code == 3
    done = gradcli(f"{begun} zstd --resume")
    assert done.code == 2
    assert "error[E609]" in done.err
    for format, name in (("none", "UNCOMPRESSED"), ("snappy", "SNAPPY"), ("zstd", "ZSTD")):
        gradcli(f"batch -e sqrt(x)*y --rows d.csv -o o.parquet --compression {format}")
        assert pq.read_metadata(tmp_path / "o.parquet").row_group(0).column(0).compression == name


def test_data_that_can_not_be_read_at_all(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    done = gradcli("batch p.tg --rows d.parquet -o o.csv")
    assert (done.code, list(tmp_path.glob("o.csv*"))) == (2, [])
    assert done.err.startswith("error[E002]: d.parquet: ")


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "first"),
    [
        ("x + sum([])", "2.0"),
        ("x * prod([])", "2.0"),
        ("x + norm([])", "2.0"),
        ("x + sum(zeros([0, 3]), axis = 0)[1]", "2.0"),
        ("x + sum(softmax(zeros(0)))", "2.0"),
        ("x + mean([])", "nan"),
    ],
)
def test_arrays_without_elements(gradcli: Run, tmp_path: Path, formula: str, first: str) -> None:
    (tmp_path / "d.csv").write_text("x\n2\n3\n")
    done = gradcli("batch", "-e", formula, "--rows", "d.csv", "-o", "o.csv", "--no-grad")
    assert done.code == 0
    assert float((tmp_path / "o.csv").read_text().splitlines()[1]) == pytest.approx(
        float(first), nan_ok=True
    )


def test_reductions(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,0", "2,0", "3,0", "60,0")
    program = 'var x\nvar y\nvar w = 2.0\nexpect x < 50\nf = (x * w)**2\nn = int64(x)\nt = "text"\noutput f, n, t'
    for how, total, count in [("sum", 56.0, 6), ("mean", 56 / 3, 2)]:
        done = gradcli(
            "batch",
            "-e",
            program,
            "--rows",
            "d.csv",
            "-o",
            "o.jsonl",
            "--reduce",
            how,
            "--block-rows",
            "2",
        )
        assert done.code == 6
        assert lines(tmp_path / "o.jsonl") == [
            {
                "f": total,
                "n": count,
                "df/dx": total / 14 * 12 if how == "sum" else 16.0,
                "df/dy": None,
                "df/dw": total,
            }
        ]


def test_a_reduction_of_nothing(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "60,0")
    assert gradcli("batch p.tg --rows d.csv -o o.csv --reduce mean").code == 6
    assert (tmp_path / "o.csv").read_text() == "f,g,df/dx,df/dy,dg/dx,dg/dy\n"


@pytest.mark.parametrize("options", ["", "--block-rows 1"])
def test_a_reduction_whose_ints_overflow(gradcli: Run, tmp_path: Path, options: str) -> None:
    program = f"const n: int64\noutput m = n * {2**62} - (1 - n)"
    command = [
        "batch",
        "-e",
        program,
        "--rows",
        "d.csv",
        "-o",
        "o.csv",
        "--reduce",
        "sum",
        *options.split(),
    ]
    (tmp_path / "d.csv").write_text("n\n1\n0\n1\n")
    assert gradcli(*command).code == 0
    assert (tmp_path / "o.csv").read_text() == f"m\n{2**63 - 1}\n"
    (tmp_path / "d.csv").write_text("n\n1\n1\n")
    done = gradcli(*command)
    assert done.code == 3
    assert done.err.startswith(
        "error[E305]: int overflow in --reduce: the sum of `m` doesn't fit into 64 bits"
    )
