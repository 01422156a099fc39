"""What `--resume` goes on with, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from tests.tasks.batch.jobs import journal, report, run, told
from tests.tasks.batch.long_jobs import FORMATS, job, with_data

FLIPS = 12  # of each format


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return with_data(tmp_path)


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
