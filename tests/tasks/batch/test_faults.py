"""What can go wrong with a job from outside: full disks, places that can't be written, data that
changes, limits, signals."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.tasks.batch.job import Job
from gradcli.tasks.batch.request import Request
from gradcli.tasks.batch.summary import Summary
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program, program_source
from tests.tasks.batch.jobs import PATIENCE, Process, journal, run

ROWS, BLOCK_ROWS = 600, 50
FLIPS = 12  # of each format
FORMATS = ("csv", "jsonl", "parquet", "arrow", "npy", "npz")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = ["x,y", *(f"{k / 100},{k % 7}" for k in range(ROWS))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.tg").write_text("var x\nvar y\nf = x**2 * exp(-y)\noutput f\n")
    (tmp_path / "loop.tg").write_text(
        "var x\nvar y\ni = 0\nwhile x == 5.0 { i = 1 - i }\noutput f = x * y\n"
    )
    return tmp_path


def job(
    *more: str, out: str = "out.csv", program: str = "p.tg", rows: str = "data.csv"
) -> list[str]:
    return ["batch", program, "--rows", rows, "-o", out, "--block-rows", str(BLOCK_ROWS), *more]


def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def told(done: Process) -> list[str]:
    """The headlines of what it said."""
    return [line for line in done.err.splitlines() if line.startswith(("error", "warning"))]


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


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (
            "nowhere/out.csv",
            "error[E006]: cannot write `nowhere/out.csv`: No such file or directory",
        ),
        ("folder.csv", "error[E006]: cannot write `folder.csv`: it is a folder"),
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
        ("-", "error[E001]: of which format should the output `-` be?"),
    ],
)
def test_outputs_that_can_not_be(folder: Path, out: str, message: str) -> None:
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    (folder / "taken.csv.partial").write_text("precious")
    (folder / "mine.csv.partial").mkdir()
    (folder / "mine.csv.partial" / "precious").touch()
    before = sorted(folder.rglob("*partial*/*"))
    done = run(folder, job(out=out))
    assert (done.wait(), told(done)) == (2, [message])
    assert sorted(folder.rglob("*partial*/*")) == before
    assert (folder / "taken.csv.partial").read_text() == "precious"


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


# ---- what --resume goes on with ------------------------------------------------------------------


def stopped(folder: Path) -> int:
    """A job that has been stopped in the middle: how many blocks it has finished."""
    assert run(folder, job(), largest=10_000).wait() == 2
    return len(journal(folder / "out.csv"))


CHANGES: dict[str, tuple[list[str], str]] = {
    "data": ([], "the data"),
    "program": ([], "the program"),
    "option": (["--dtype", "float32"], "the options"),
    "blocks": (["--block-rows", "40"], "the options"),
    "set": (["--set", "y=2"], "the options"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_job_does_not_go_on(folder: Path, what: str) -> None:
    assert stopped(folder) > 0
    kept = (folder / "out.csv.partial" / "rows.csv").read_bytes()
    if what == "data":
        (folder / "data.csv").write_text((folder / "data.csv").read_text() + "1,2\n")
    if what == "program":
        (folder / "p.tg").write_text("var x\nvar y\noutput f = x * y\n")
    more, changed = CHANGES[what]
    done = run(folder, job("--resume", *more))
    message = f"error[E609]: the finished blocks in `out.csv.partial` are of another job: {changed} changed since"
    assert (done.wait(), told(done)) == (2, [message])
    assert (folder / "out.csv.partial" / "rows.csv").read_bytes() == kept
    assert run(folder, job(*more)).wait() == 0
    assert not (folder / "out.csv.partial").exists()


def test_what_may_change(folder: Path) -> None:
    """Limits and how many compute at once: the output doesn't depend on these."""
    finished = stopped(folder)
    done = run(
        folder,
        job(
            "--resume",
            "--max-memory",
            "2G",
            "--threads",
            "1",
            "--timeout",
            "60",
            "--report",
            "report.json",
        ),
    )
    assert done.wait() == 0, done.err
    assert report(folder)["resumed_blocks"] == finished


@pytest.mark.parametrize(
    ("lost", "why"),
    [("rows.csv", "there is no `rows.csv`"), ("rejects.jsonl", "there is no `rejects.jsonl`")],
)
def test_what_is_finished_is_gone(folder: Path, lost: str, why: str) -> None:
    """An output of an earlier job is not taken for it."""
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([lines[0], "banana,1", *lines[1:]]) + "\n")
    assert stopped(folder) > 0
    (folder / "out.csv").write_text("of an earlier job\n")
    (folder / "out.csv.partial" / lost).unlink()
    done = run(folder, job("--resume"))
    assert (done.wait(), told(done)) == (
        2,
        [f"error[E609]: the finished blocks in `out.csv.partial` are damaged: {why}"],
    )


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("ab", b"\0\0\0\n"),
        ("ab", b"[]\n"),
        ("ab", b'{"start": 1}\n'),
        ("wb", b"[]\n"),
        ("wb", b"{}\n"),
    ],
)
def test_a_journal_that_is_damaged(folder: Path, mode: str, text: bytes) -> None:
    stopped(folder)
    with open(folder / "out.csv.partial" / "journal.jsonl", mode) as file:
        file.write(text)
    done = run(folder, job("--resume"))
    assert (done.wait(), len(told(done))) == (2, 1)
    assert "error[E609]: the finished blocks in `out.csv.partial` cannot be read" in done.err


def test_half_a_character_is_a_reject_and_no_reason_to_stop(folder: Path) -> None:
    """In a number, in a column that is kept, and in the name of a part that can't be read."""
    (folder / "p.tg").write_text("var x\noutput f = x**2\n")
    (folder / "parts").mkdir()
    (folder / "parts" / "1.jsonl").write_text(
        '{"x": 1}\n{"x": "\\ud800"}\n{"x": 2, "k": "\\udfff"}\n{"x": 3}\n'
    )
    with open(os.fsencode(folder / "parts") + b"/\xff.jsonl", "w") as file:
        file.write("[]\n")
    for more in ([], ["--resume"]):
        done = run(folder, job("--keep", "k", *more, rows="parts"))
        assert done.wait() == 6, done.err
        assert (folder / "out.csv").read_text() == "k,f,df/dx\n,1,2\n,9,6\n"
        rejects = [
            json.loads(line) for line in (folder / "out.csv.rejects.jsonl").read_text().splitlines()
        ]
        assert [(entry["row"], entry["code"]) for entry in rejects] == [
            (1, "E605"),
            (2, "E605"),
            (None, "E608"),
        ]
        assert rejects[2]["part"] == "parts/\udcff.jsonl"
    stopped = run(folder, job("--on-error", "fail", rows="parts"))
    assert stopped.wait() == 3
    assert 'error[E605]: row 1: column `x`: "\\ud800" is not a number' in stopped.err


@pytest.mark.parametrize("ending", FORMATS)
def test_bits_that_have_flipped_in_what_is_finished(folder: Path, ending: str) -> None:
    """Anywhere in OUT.partial: the error names the file, or the output is right all the same."""
    out, chance = f"out.{ending}", random.Random(ending)
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([lines[0], "banana,1", *lines[1:]]) + "\n")
    assert run(folder, job(out=out)).wait() == 6
    whole, rejects = (folder / out).read_bytes(), (folder / f"{out}.rejects.jsonl").read_bytes()
    (folder / out).unlink()
    assert run(folder, job(out=out), largest=len(whole) // 2).wait() == 2
    shutil.move(folder / f"{out}.partial", folder / "kept")
    found = set()
    for _ in range(FLIPS):
        shutil.rmtree(folder / f"{out}.partial", ignore_errors=True)
        shutil.copytree(folder / "kept", folder / f"{out}.partial")
        (folder / out).unlink(missing_ok=True)
        victim = chance.choice(sorted((folder / f"{out}.partial").iterdir()))
        data = bytearray(victim.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        victim.write_bytes(data)
        done = run(folder, job("--resume", out=out))
        if done.wait() == 2:
            assert (
                len(told(done)),
                done.err.startswith("error[E609]"),
                f"`{victim.name}`" in done.err,
            ) == (1, True, True)
            found.add(victim.name)
        else:
            assert (done.wait(), (folder / out).read_bytes()) == (6, whole), done.err
            assert (folder / f"{out}.rejects.jsonl").read_bytes() == rejects
    assert len(found) == 3


def test_a_finished_job_that_is_to_go_on(folder: Path) -> None:
    """It does nothing, and says so; where the output isn't what it left, or is of another job, it
    begins."""
    (folder / "data.csv").write_text((folder / "data.csv").read_text() + "banana,1\n")
    again = job("--resume", "--report", "report.json")
    assert run(folder, job()).wait() == 6
    before = (folder / "out.csv").stat()
    for _ in range(2):
        done = run(folder, again)
        assert (done.wait(), done.err.splitlines()) == (
            6,
            [
                "601 rows finished before: there was nothing to do, 1 failed: see out.csv.rejects.jsonl"
            ],
        )
        assert (folder / "out.csv").stat() == before
        assert not (folder / "out.csv.partial").exists()
        assert {name: report(folder)[name] for name in ("rows", "failed", "resumed", "was_done",
            "complete")} == {
            "rows": 601, "failed": 1, "resumed": 601, "was_done": True, "complete": True,
        }  # fmt: skip
    whole = (folder / "out.csv").read_bytes()
    for change in ("output", "gone", "data", "program", "option"):
        if change == "output":
            (folder / "out.csv").write_bytes(whole.replace(b"1", b"2"))
        if change == "gone":
            (folder / "out.csv").unlink()
        if change == "data":
            (folder / "data.csv").write_text((folder / "data.csv").read_text() + "1,1\n")
        if change == "program":
            (folder / "p.tg").write_text("var x\nvar y\nf = x**2 * exp(-y) + 1\noutput f\n")
        assert (
            run(folder, [*again, *(["--nan", "error"] if change == "option" else [])]).wait() == 6
        )
        assert (report(folder)["was_done"], report(folder)["resumed"]) == (False, 0)
    piped = job(
        "--resume", "--rows-format", "csv", "--report", "report.json", rows="-", out="piped.csv"
    )
    for text in (b"x,y\n1,2\n", b"x,y\n3,2\n"):
        assert run(folder, piped, given=text).wait() == 0
        assert (report(folder)["was_done"], report(folder)["rows"]) == (False, 1)


def test_a_job_without_anything_to_go_on_with_begins(folder: Path) -> None:
    assert run(folder, job("--resume", "--report", "report.json")).wait() == 0
    assert report(folder)["resumed_blocks"] == 0


def test_standard_input_goes_on_where_it_is_the_same(folder: Path) -> None:
    rows = (folder / "data.csv").read_bytes()
    piped = job("--rows-format", "csv", "--report", "report.json", rows="-")
    assert run(folder, piped, given=rows, largest=10_000).wait() == 2
    finished = len(journal(folder / "out.csv"))
    for other, why in [
        (rows.replace(b"0.01", b"0.02"), "the data on standard input changed since"),
        (rows[:100], "the data on standard input changed since"),
        (b"x,y\n", "standard input has fewer rows than it had"),
    ]:
        done = run(folder, [*piped, "--resume"], given=other)
        assert (done.wait(), told(done)[0].endswith(why)) == (2, True), done.err
    assert run(folder, [*piped, "--resume"], given=rows).wait() == 0
    assert report(folder)["resumed_blocks"] == finished > 0
    resumed = (folder / "out.csv").read_bytes()
    assert run(folder, job()).wait() == 0
    assert (folder / "out.csv").read_bytes() == resumed


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
    running = Process(folder, job("--threads", "2", program="loop.tg"))
    running.wait_for(lambda: len(journal(folder / "out.csv")) == 10)
    children = computing(running)
    assert len(children) == 2
    running.kill()
    assert running.wait() == -9
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="there are no such processes elsewhere")
def test_what_computes_is_killed(folder: Path) -> None:
    running = Process(folder, job("--threads", "2", program="loop.tg"))
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
