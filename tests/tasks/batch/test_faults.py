"""What can go wrong with a job from outside: full disks, places that can't be written, data that
changes, limits, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.tasks.batch.job import Job
from gradcli.tasks.batch.request import Request
from gradcli.tasks.batch.summary import Summary
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program, program_source
from tests.tasks.batch.jobs import PATIENCE, Process, journal, report, run, told
from tests.tasks.batch.long_jobs import BLOCK_ROWS, FORMATS, ROWS, job, with_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return with_data(tmp_path)


# ---- the output ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
def test_a_full_disk(folder: Path, ending: str) -> None:
    """Exit code 2; finished blocks are kept, and with room for them the job goes on."""
    out = f"out.{ending}"
    assert run(folder, job(out=out)).wait() == 0
    whole = (folder / out).read_bytes()
    (folder / out).unlink()
    for part in (0.3, 0.6, 0.99):
        full = run(
            folder,
            job("--resume", "--report", "report.json", out=out),
            largest=int(len(whole) * part),
        )
        assert full.wait() == 2, full.err
        assert told(full) == [f"error[E006]: cannot write `{out}`: File too large"]
        assert not (folder / out).exists()
        finished = len(journal(folder / out))
        assert finished > 0
        assert f"{finished * BLOCK_ROWS} rows are finished and kept in {out}.partial" in full.err
        assert (report(folder)["complete"], report(folder)["rows"]) == (
            False,
            finished * BLOCK_ROWS,
        )
    assert run(folder, job("--resume", "--report", "report.json", out=out)).wait() == 0
    assert (folder / out).read_bytes() == whole
    assert report(folder)["resumed_blocks"] == finished


def test_a_disk_that_is_full_from_the_beginning(folder: Path) -> None:
    full = run(folder, job(), largest=120)
    assert full.wait() == 2
    assert told(full) == ["error[E006]: cannot write `out.csv`: File too large"]
    assert not (folder / "out.csv.partial").exists()


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such device")
def test_the_device_of_standard_output_is_no_file(folder: Path) -> None:
    asked = ["batch", "-e", "x", "--rows", "-", "-o", "/dev/stdout", "--out-format", "csv"]
    command = [sys.executable, "-m", "gradcli", *asked]
    done = subprocess.run(command, cwd=folder, input="x\n1\n", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`/dev/stdout`: it is a device or a pipe\n  = help: `-o -` writes" in done.stderr


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (
            "nowhere/out.csv",
            "error[E006]: cannot write `nowhere/out.csv`: No such file or directory",
        ),
        ("folder.csv", "error[E006]: cannot write `folder.csv`: it is a folder"),
        ("a.csv", "error[E006]: cannot write `a.csv.rejects.jsonl`: it is a folder"),
        ("pipe.csv", "error[E006]: cannot write `pipe.csv`: it is a device or a pipe"),
        (
            "taken.csv",
            "error[E006]: cannot write `taken.csv`: `taken.csv.partial` is in the way, and of no job",
        ),
        (
            "mine.csv",
            "error[E006]: cannot write `mine.csv`: `mine.csv.partial` is in the way, and of no job",
        ),
        ("data.csv", "error[E001]: the output `data.csv` would replace the data"),
        ("out.txt", "error[E001]: of which format should the output `out.txt` be?"),
    ],
)
def test_outputs_that_can_not_be(folder: Path, out: str, message: str) -> None:
    (folder / "folder.csv").mkdir()
    (folder / "a.csv.rejects.jsonl").mkdir()
    os.mkfifo(folder / "pipe.csv")
    (folder / "taken.csv.partial").write_text("precious")
    (folder / "mine.csv.partial").mkdir()
    (folder / "mine.csv.partial" / "precious").touch()
    before = sorted(folder.rglob("*partial*/*"))
    done = run(folder, job(out=out))
    assert (done.wait(), told(done)) == (2, [message])
    assert sorted(folder.rglob("*partial*/*")) == before
    assert (folder / "taken.csv.partial").read_text() == "precious"


def test_standard_output_has_the_format_of_the_data(folder: Path) -> None:
    """Unless that can't be written there: then it is CSV."""
    np.save(folder / "data.npy", np.arange(2.0))
    (folder / "data.jsonl").write_text('{"x": 0}\n{"x": 1}\n')
    (folder / "data.tsv").write_text("x\tz\n0\t5\n1\t5\n")
    (folder / "short.csv").write_text("x\n0\n1\n")
    (folder / "two.tg").write_text("var x: float\noutput y = x * [1, 2]\n")
    written = {}
    for name in ("short.csv", "data.tsv", "data.jsonl", "data.npy"):
        done = run(folder, job(out="-", program="two.tg", rows=name))
        assert done.wait() == 0, done.err
        written[name] = done.out
    cells = [
        ["y.0", "y.1", "dsum(y)/dx"],
        ["0", "0", "3"],
        ["1", "2", "3"],
    ]
    as_csv = "".join(",".join(row) + "\n" for row in cells)
    assert written == {
        "short.csv": as_csv,
        "data.tsv": as_csv.replace(",", "\t"),
        "data.jsonl": '{"y": [0, 0], "dsum(y)/dx": 3}\n{"y": [1, 2], "dsum(y)/dx": 3}\n',
        "data.npy": as_csv,
    }


@pytest.mark.parametrize(
    ("rows", "out", "code"),
    [
        ("parts", "parts/out.csv", 2),
        ("pa*s/*.csv", "parts/out.csv", 2),
        ("parts/?.csv", "parts/out.csv", 0),
    ],
)
def test_an_output_within_the_data(folder: Path, rows: str, out: str, code: int) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "1.csv").write_bytes((folder / "data.csv").read_bytes())
    done = run(folder, job(rows=rows, out="parts/out.csv"))
    said = (
        [] if code == 0 else ["error[E001]: the output `parts/out.csv` would be part of the data"]
    )
    assert (done.wait(), told(done)) == (code, said)


def test_a_link_is_followed(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "out.csv").symlink_to("elsewhere/real.csv")
    assert run(folder, job()).wait() == 0
    assert (folder / "out.csv").is_symlink()
    assert (folder / "elsewhere" / "real.csv").read_text().startswith("f,df/dx,df/dy\n")


def test_an_output_is_replaced_only_when_it_is_whole(folder: Path) -> None:
    (folder / "out.csv").write_text("precious\n")
    (folder / "out.csv.rejects.jsonl").write_text("of an earlier job\n")
    assert (
        run(
            folder, job("--on-error", "fail", program="loop.tg", rows="data.csv"), largest=2000
        ).wait()
        == 2
    )
    assert (folder / "out.csv").read_text() == "precious\n"
    assert run(folder, job()).wait() == 0
    assert (folder / "out.csv").read_text().startswith("f,")
    assert not (folder / "out.csv.rejects.jsonl").exists()


def test_two_jobs_with_one_output(folder: Path) -> None:
    first = Process(folder, job("--threads", "1", program="loop.tg"))
    first.wait_for(lambda: len(journal(folder / "out.csv")) > 2)
    (folder / "second").mkdir()
    second = run(folder / "second", job(program="../p.tg", rows="../data.csv", out="../out.csv"))
    assert second.wait() == 2
    assert told(second) == ["error[E006]: another job is writing `../out.csv`"]
    first.kill()
    first.wait()
    assert len(journal(folder / "out.csv")) > 2


# ---- the data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["longer", "other", "touched", "replaced", "nothing", "gone"])
def test_data_that_changes_while_the_job_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It is told at the end, and nothing is delivered. A part that is gone was read, or its rows
    are missing."""
    monkeypatch.chdir(folder)
    data = folder / "data.csv"
    found, text = data.stat(), data.read_bytes()

    def change(summary: Summary, total: int | None) -> None:
        """After the fourth block."""
        if summary.blocks != 4:
            return
        if how == "longer":
            data.write_bytes(text + b"1,2\n")
        if how == "other":
            data.write_bytes(text.replace(b"5.99", b"7.77"))
        if how == "touched":
            os.utime(data, ns=(found.st_atime_ns, found.st_mtime_ns + 1))
        if how == "replaced":
            (folder / "new.csv").write_bytes(text.replace(b"5.99", b"7.77"))
            os.utime(folder / "new.csv", ns=(found.st_atime_ns, found.st_mtime_ns))
            os.replace(folder / "new.csv", data)
        if how == "gone":
            data.unlink()

    request = Request(
        "data.csv", "out.csv", Options(mode="reverse"), threads=1, block_rows=BLOCK_ROWS
    )
    one = Job(parse_program(program_source("p.tg", None), {}), request)
    if how in ("nothing", "gone"):
        assert one.run(change).complete
        return
    with pytest.raises(GradcliError, match=r"`data\.csv` changed while the job read it") as caught:
        one.run(change)
    assert caught.value.diagnostics[0].code == "E609"
    assert not (folder / "out.csv").exists()
    assert not (folder / "out.csv.partial").exists()
    assert run(folder, job("--resume", "--report", "report.json")).wait() == 0
    assert (report(folder)["resumed"], report(folder)["rows"]) == (0, ROWS + (how == "longer"))


def test_rows_with_nan_or_infinities_are_counted(folder: Path) -> None:
    (folder / "p.tg").write_text("var x\nvar y\nf = log(x - 1)\noutput f\n")
    done = run(folder, job("--report", "report.json"))
    assert (done.wait(), report(folder)["nonfinite"], report(folder)["failed"]) == (0, 101, 0)
    assert "none failed, 101 with nan or inf" in done.err
    again = run(folder, job("--report", "report.json", "--resume"))
    assert (again.wait(), report(folder)["nonfinite"]) == (0, 101)
    assert run(folder, job("--report", "report.json", "--nan", "error")).wait() == 6
    assert (report(folder)["nonfinite"], report(folder)["failed"]) == (1, 100)
    assert run(folder, job("--report", "report.json", "--reduce", "sum", "--no-grad")).wait() == 0
    assert report(folder)["nonfinite"] == 101


@pytest.mark.parametrize("rows", ["csv", "jsonl"])
def test_rejects_have_the_columns_that_are_kept(folder: Path, rows: str) -> None:
    lines = [("a", "1"), ('q"\x07', "banana"), ("c", "-1")]
    if rows == "csv":
        text = "id,n,x\n" + "".join('"{}",7,{}\n'.format(k.replace('"', '""'), x) for k, x in lines)
    else:
        text = "".join(
            json.dumps({"id": k, "n": 7, "x": x if x == "banana" else int(x)}) + "\n"
            for k, x in lines
        )
    (folder / f"d.{rows}").write_text(text)
    (folder / "p.tg").write_text("var x\nexpect x > 0\noutput f = x\n")
    assert run(folder, job("--keep", "id,n", rows=f"d.{rows}")).wait() == 6
    entries = [
        json.loads(line) for line in (folder / "out.csv.rejects.jsonl").read_text().splitlines()
    ]
    seven = "7" if rows == "csv" else 7
    assert [(entry["row"], entry["code"], entry["keep"]) for entry in entries] == [
        (1, "E605", {"id": 'q"\x07', "n": seven}),
        (2, "E601", {"id": "c", "n": seven}),
    ]


# ---- limits and signals --------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_row_without_end_under_a_timeout(folder: Path, threads: str) -> None:
    """The process ends although a row computes for ever, in whatever thread; what is finished is
    kept."""
    began = time.monotonic()
    done = run(folder, job("--timeout", "1.5", "--threads", threads, program="loop.tg"))
    assert done.wait() == 4
    assert time.monotonic() - began < 20
    assert told(done) == ["error[E404]: the program ran longer than --timeout 1.5 seconds"]
    assert len(journal(folder / "out.csv")) == 10
    assert "500 rows are finished and kept in out.csv.partial: with --resume" in done.err
    steps = run(folder, job("--max-steps", "1000", program="loop.tg"))
    assert steps.wait() == 6
    assert json.loads((folder / "out.csv.rejects.jsonl").read_text())["row"] == 500


def test_the_report_of_a_job_that_the_watchdog_ends(folder: Path) -> None:
    """Where no timer comes through, as in one long operation on arrays."""
    arguments = job(
        "--timeout", "1", "--threads", "1", "--report", "report.json", program="loop.tg"
    )
    code = f"import signal; signal.setitimer = lambda *_: None; from gradcli.cli import run; run({arguments!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 4
    assert done.stderr.startswith("error[E404]")
    finished = len(journal(folder / "out.csv"))
    assert (report(folder)["complete"], report(folder)["blocks"]) == (False, finished)
    assert finished > 0


@pytest.mark.parametrize("threads", ["1", "2"])
def test_control_c(folder: Path, threads: str) -> None:
    running = Process(folder, job("--threads", threads, program="loop.tg"))
    running.wait_for(lambda: len(journal(folder / "out.csv")) == 10)
    time.sleep(0.2)
    running.kill(signal.SIGINT)
    assert running.wait() == 130
    assert (
        running.err
        == "500 rows are finished and kept in out.csv.partial: with --resume, the same command goes on from there\n"
    )


def test_a_limit_of_memory(folder: Path) -> None:
    (folder / "big.tg").write_text(
        "var x\nvar y\nif x > 4 { z = ones(int64(3e9)) * x }\noutput f = x\n"
    )
    done = run(folder, job("--max-memory", "200M", "--no-grad", program="big.tg"))
    assert done.wait() == 4
    assert told(done)[0].startswith("error[E405]")
    assert "400 rows are finished" in done.err


def computing(running: Process) -> list[psutil.Process]:
    return psutil.Process(running.pid).children()


@pytest.mark.skipif(sys.platform != "linux", reason="there are no such processes elsewhere")
def test_what_computes_ends_with_the_job(folder: Path) -> None:
    """Whatever ends that, and whatever is being computed."""
    running = Process(folder, job("--threads", "2", program="interpreted.tg"))
    running.wait_for(lambda: len(journal(folder / "out.csv")) == 10)
    children = computing(running)
    assert len(children) == 2
    running.kill()
    assert running.wait() == -9
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="there are no such processes elsewhere")
def test_what_computes_is_killed(folder: Path) -> None:
    running = Process(folder, job("--threads", "2", program="interpreted.tg"))
    running.wait_for(lambda: len(journal(folder / "out.csv")) == 10)
    for child in computing(running):
        child.kill()
    assert running.wait() == 4
    assert told(running) == [
        "error[E405]: a process that computed a block has ended: signal SIGKILL"
    ]
    assert "500 rows are finished and kept in out.csv.partial" in running.err


# ---- pipes ---------------------------------------------------------------------------------------


def test_pipelines(folder: Path) -> None:
    rows = (folder / "data.csv").read_bytes()
    piped = run(
        folder, job("--rows-format", "csv", "--out-format", "csv", rows="-", out="-"), given=rows
    )
    out, err = piped.out, piped.err
    assert piped.wait() == 0
    assert run(folder, job()).wait() == 0
    assert out == (folder / "out.csv").read_text()
    assert "600 rows in" in err


def test_a_reader_that_goes_away(folder: Path) -> None:
    done = run(folder, job("--out-format", "csv", out="-"), closed=True)
    assert (done.wait(), done.err) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_standard_output_on_a_full_disk(folder: Path) -> None:
    done = run(folder, job("--out-format", "csv", out="-"), to="/dev/full")
    assert done.wait() == 2
    assert told(done) == ["error[E006]: cannot write standard output: No space left on device"]
