"""`gradcli batch` as it is asked: options that don't fit together, and what it tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradcli.engine.backends.tiers import policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.codegen.llvm_rows.group_sizes import GROUP
from tests.cli.batch_rows import PROGRAM, csv, lines
from tests.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def program(tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text(PROGRAM)


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
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


REPORTED = ["--rows", "d.csv", "-o", "o.csv", "-v", "--report", "r.json"]


@pytest.mark.skipif(not can_compile(0), reason="there is no machine code here")
@pytest.mark.parametrize(
    ("program", "compiled", "why", "said"),
    [
        ("var x\nvar y\noutput f = x * y", 3, "", "3 rows by machine code"),
        (
            'var x\nvar y\nprint f"{x:9}"\noutput f = x * y',
            0,
            "line 3: this format is not compiled",
            "3 rows by the interpreter: line 3: this format is not compiled",
        ),
        (
            "var x\nvar y\na = [[2.0, x], [x, 3.0]]\noutput f = qr(a)[1][0, 0] * y",
            0,
            "line 4: `qr` is not compiled on rows",
            "3 rows by the interpreter: line 4: `qr` is not compiled on rows",
        ),
        (
            "var x\nvar y\noutput f = zeta(x + 2) * y",
            0,
            "`zeta` is not compiled on rows",
            "3 rows by the interpreter: `zeta` is not compiled on rows",
        ),
    ],
)
def test_the_report_says_what_computed_the_rows(
    gradcli: Run, tmp_path: Path, program: str, compiled: int, why: str, said: str
) -> None:
    csv(tmp_path / "d.csv", "1,1", "2,0", "3,2")
    done = gradcli("batch", "-e", program, *REPORTED)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["compiled"], report["stepped_back"]) == (compiled, 0)
    assert (report["interpreted"], report["not_compiled"]) == (3 - compiled, why)
    assert said in done.err.splitlines()


@pytest.mark.skipif(not can_compile(0), reason="there is no machine code here")
def test_the_report_says_how_many_rows_machine_code_left(gradcli: Run, tmp_path: Path) -> None:
    csv(tmp_path / "d.csv", "1,0", *["1,2"] * 199)
    done = gradcli("batch", "-e", "const y: int64\nvar x\noutput f = x * (6 // y)", *REPORTED)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["compiled"], report["stepped_back"], report["interpreted"]) == (199, 1, 0)
    said = "199 rows by machine code, which left 1 to the interpreter"
    assert said in done.err.splitlines()


@pytest.mark.skipif(not can_compile(0), reason="there is no machine code here")
def test_a_row_that_goes_wrong_takes_few_others_along(gradcli: Run, tmp_path: Path) -> None:
    """Where the place is the same for all rows, as a loop's index is, the group of rows steps
    back."""
    csv(tmp_path / "d.csv", *["1,2"] * 50, "5,2", *["1,2"] * 149)
    program = """var x
var y
a = full(40, y)
for i in range(40) { a[i] = x * i; if x > 4.0 { for k in range(i + 1) { a[k] = a[k + 30] } } }
output f = sum(a)"""
    gradcli("batch", "-e", program, *REPORTED)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["compiled"], report["stepped_back"]) == (200 - GROUP, GROUP)
    assert (report["failed"], report["interpreted"]) == (1, 0)


@pytest.mark.skipif(not policy().compiles, reason="nothing is compiled here")
def test_the_report_says_which_option_leaves_rows_to_the_interpreter(
    gradcli: Run, tmp_path: Path
) -> None:
    option, why = "--max-steps 100", "the interpreter counts the steps"
    csv(tmp_path / "d.csv", "1,1", "2,0")
    assert gradcli(f"batch p.tg --rows d.csv -o o.csv --report r.json {option}").code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["interpreted"], report["not_compiled"]) == (2, why)


@pytest.mark.parametrize(
    "call", ["sum([x, 1.0], keepdims = 1)", "solve_triangular([[x]], [1.0], lower = 1)"]
)
def test_an_option_that_is_no_bool_is_refused_in_each_row(
    gradcli: Run, tmp_path: Path, call: str
) -> None:
    (tmp_path / "rows.csv").write_text("x\n1\n2\n")
    told = gradcli(f"batch -e 'var x; y = sum({call})' --rows rows.csv -q")
    assert told.code == 6
    assert told.err.count("error[E311]: row") == 2
