"""`gradcli batch` as it is asked, and what it says of rows and parts of data that are wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Result

Run = Callable[..., Result]

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


@pytest.fixture(autouse=True)
def program(tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text(PROGRAM)


def csv(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("x,y", *lines)) + "\n")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


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
            "message": "expected `x < 50`, and it is false",
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
            "message": "expected `x < 50`, and it is false",
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


# ---- how it is asked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ("-o o.csv", "E001: batch needs --rows", "name the data: `--rows data.csv`"),
        ("--rows d.csv", "E001: batch needs -o", "name the output: `-o out.csv`"),
        (
            "--rows d.csv -o - --out-format csv --resume",
            "E001: --resume with -o -",
            "what went to standard output is gone",
        ),
        (
            "--rows d.csv -o o.csv --threads 2 --workers 2",
            "E001: --threads with workers",
            "as many blocks at a time",
        ),
        (
            "--rows d.csv -o o.csv --scheduler a:1 --workers 2",
            "E001: --workers with --scheduler",
            "workers of its own",
        ),
        (
            "--rows d.csv -o o.csv --reduce sum --keep x",
            "E001: --keep with --reduce",
            "one row for all",
        ),
        (
            "--rows d.csv -o o.csv --keep X",
            "E003: --keep: the data has no column `X`",
            "did you mean `x`?",
        ),
        (
            "--rows d.csv -o o.csv --map a",
            "E001: --map: expected COLUMN=NAME, got `a`",
            "write `--map price=S`",
        ),
        (
            "--rows d.csv -o o.csv --map y=a",
            "E003: --map: the program declares no `a`",
            "it declares `x`, `y`",
        ),
        (
            "--rows e.csv -o o.csv --map x=a",
            "E003: --map: the data has no column `x`",
            "write `--map a=x`: the column first",
        ),
        (
            "--rows d.csv -o o.csv --map x=y --map x=x",
            "E001: --map: the column `x` sets two names",
            "leave one",
        ),
        ("--rows d.csv -o o.csv --map x=y,z=y", "E001: --map: two columns set `y`", "leave one"),
        (
            "--rows d.csv -o o.csv --map x=y --set y=1",
            "E001: --map: `y` has one value for all rows already",
            "leave one",
        ),
        (
            "--rows d.csv -o o.csv --map x=y",
            "E004: nothing sets `x`: by --map the column of that name sets `y`",
            "its columns",
        ),
        (
            "--rows e.csv -o o.csv",
            "E004: the data has no column `x`",
            "`--map COLUMN=x` takes one of another name",
        ),
        (
            "--rows nowhere.csv -o o.csv",
            "E002: nowhere.csv: cannot read it: no such file or folder",
            "",
        ),
        ("--rows no*.csv -o o.csv", "E002: no*.csv: no file matches", "files that begin with"),
        (
            "--rows d.csv -o o.csv.gz --out-format csv",
            "E001: `o.csv.gz`: outputs aren't compressed",
            "csv | gzip",
        ),
        (
            "--rows - -o o.csv",
            "E001: the format of the rows from standard input is unknown",
            "--rows-format",
        ),
        (
            "--rows d.csv -o o.csv --report no/r.json",
            "E006: cannot write `no/r.json`: No such file",
            "make it first",
        ),
        ("--rows d.csv -o o.csv --report .", "E006: cannot write `.`: it is a folder", ""),
        (
            "--rows d.csv -o o.csv --report d.csv",
            "E001: the report `d.csv` would replace the data",
            "somewhere else",
        ),
        (
            "--rows d.csv -o o.csv --report p.tg",
            "E001: the report `p.tg` would replace the program",
            "somewhere else",
        ),
        (
            "--rows d.csv -o o.csv --report ./o.csv",
            "E001: the report `./o.csv` would replace the output",
            "somewhere else",
        ),
        (
            "--rows d.csv -o p.tg --out-format csv",
            "E001: the output `p.tg` would replace the program",
            "somewhere else",
        ),
        (
            "--rows d.csv -o - --out-format csv --report -",
            "E001: -o - with --report -",
            "both are standard output",
        ),
        (
            "--rows d.csv -o o.csv --compression zstd",
            "E001: --compression is for Parquet, and the output is csv",
            ".parquet",
        ),
        (
            "--rows d.csv -o - --out-format parquet",
            "E001: rows can't be written to standard output as `parquet`",
            "csv",
        ),
    ],
)
def test_what_can_not_be_asked(
    gradcli: Run, tmp_path: Path, options: str, message: str, help: str
) -> None:
    csv(tmp_path / "d.csv", "1,1")
    (tmp_path / "e.csv").write_text("a,y\n1,2\n")
    done = gradcli(f"batch p.tg {options}")
    assert done.code == 2
    code, _, text = message.partition(": ")
    assert done.err.startswith(f"error[{code}]: {text}")
    assert help in done.err
    assert list(tmp_path.glob("o.csv*")) == []


MODULE = """\
module Line(a) {
    var slope = a
    fn call(x) = slope * x
}
var x
const w: float[2] = [0.0, 0.0]
line = Line(2.0)
output y = line(x) + sum(w)
"""


@pytest.mark.parametrize(
    ("given", "code", "message", "help"),
    [
        ("W=3", "E003", "the program declares no `W`", "did you mean `w`?"),
        ("width=3", "E003", "the program declares no `width`", "--ignore-extra skips others"),
        (
            "line.slop=3",
            "E003",
            "the program has no variable `line.slop`",
            "did you mean `line.slope`?",
        ),
        (
            "w=[1,2,3]",
            "E005",
            "`w` is declared with shape (2,), and the value has (3,)",
            "m.tg:6:1",
        ),
    ],
)
def test_shared_values_that_no_row_has_a_use_for(
    gradcli: Run, tmp_path: Path, given: str, code: str, message: str, help: str
) -> None:
    (tmp_path / "m.tg").write_text(MODULE)
    csv(tmp_path / "d.csv", "1,1", "2,1")
    done = gradcli("batch", "m.tg", "--rows", "d.csv", "-o", "o.csv", "--set", given)
    assert (done.code, done.err.splitlines()[0]) == (2, f"error[{code}]: {message}")
    assert help in done.err
    assert list(tmp_path.glob("o.csv*")) == []


def test_values_that_the_program_does_not_declare_can_be_allowed(
    gradcli: Run, tmp_path: Path
) -> None:
    (tmp_path / "m.tg").write_text(MODULE)
    csv(tmp_path / "d.csv", "1,1")
    assert (
        gradcli(
            "batch m.tg --rows d.csv -o o.csv --set nope=1 --set line.nope=1 --set line.slope=3 --ignore-extra"
        ).code
        == 0
    )
    assert (tmp_path / "o.csv").read_text().splitlines()[1].startswith("3,")


def test_a_program_that_only_picks_rows(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,5", "60,6", "2,7", "3,8")
    for more in ("", "--block-rows 1"):
        assert (
            gradcli(f"batch -e 'const x; expect x < 50' --rows d.csv -o o.csv --keep y {more}").code
            == 6
        )
        assert (tmp_path / "o.csv").read_text() == "y\n5\n7\n8\n"
        assert [entry["row"] for entry in lines(tmp_path / "o.csv.rejects.jsonl")] == [1]
    done = gradcli("batch -e 'const x; expect x < 50' --rows d.csv -o p.arrow")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error[E001]: the program has no output, so there is nothing to write",
    )


@pytest.mark.parametrize(
    ("formula", "options", "expected"),
    [("x * e", "", [1.5, 2.0]), ("x * pi", "--map x=pi,y=x", [6.0, 7.0])],
)
def test_a_column_may_be_called_like_a_constant(
    gradcli: Run, tmp_path: Path, formula: str, options: str, expected: list[float]
) -> None:
    (tmp_path / "d.csv").write_text("x,e,y\n3,0.5,2\n1,2,7\n")
    assert gradcli(f"batch -e '{formula}' --rows d.csv -o o.jsonl --no-grad {options}").code == 0
    assert [row["result"] for row in lines(tmp_path / "o.jsonl")] == expected


def test_a_column_that_is_kept_twice_is_kept_once(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,1")
    assert gradcli("batch p.tg --rows d.csv -o o.csv --keep y,x --keep y --no-grad").code == 0
    assert (tmp_path / "o.csv").read_text() == "y,x,f,g\n1,1,0,2\n"


def test_quiet(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,1")
    done = gradcli("batch p.tg --rows d.csv -o o.csv -q")
    assert (done.code, done.out, done.err) == (0, "", "")
    csv(tmp_path / "d.csv", "60,1")
    assert gradcli("batch p.tg --rows d.csv -o o.csv -q --on-error fail").err.startswith(
        "error[E601]: row 0"
    )


def test_the_report_can_be_standard_output(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,1")
    done = gradcli("batch p.tg --rows d.csv -o o.csv --report -")
    assert done.json["rows"] == 1


def test_the_last_line(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", *["1,1"] * 1200)
    done = gradcli("batch p.tg --rows d.csv -o o.csv")
    assert done.err.startswith("1,200 rows in ")
    assert done.err.endswith(" rows/s), none failed\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--threads 2 --block-rows 500",
            "on cpu, 2 processes; 3 blocks of up to 500 rows, 500 at once; 2 reruns",
        ),
        (
            "--threads 1",
            "on cpu, 1 process; 1 block of up to 65,536 rows, {tile:,} at once; {reruns} reruns",
        ),
    ],
)
def test_verbose_tells_how_it_was_run(
    gradcli: Run, tmp_path: Path, options: str, said: str
) -> None:
    csv(tmp_path / "d.csv", *["1,1"] * 1199, "2,0")
    program = "var x\nvar y\nif y == 1 { f = x } else { f = ones(2)[y] }\noutput f"
    done = gradcli(
        "batch",
        "-e",
        program,
        "--rows",
        "d.csv",
        "-o",
        "o.csv",
        "-v",
        "--report",
        "r.json",
        *options.split(),
    )
    report = json.loads((tmp_path / "r.json").read_text())
    assert said.format(**report) in done.err.splitlines()
    assert report["reruns"] > 0
    assert f"up to {report['block_rows']:,} rows" in said
