"""A job that is killed, at any moment and again and again, goes on with --resume and ends with the
bytes of a whole run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gradcli.rows.writing import WRITERS
from tests.tasks.batch.jobs import Process, blocks_of, journal, run
from tests.tasks.batch.kills import DATA, WAYS, Case, Plan, Trial, drawn
from tests.tasks.batch.steps import Death

PROGRAM = """\
var x
var v: float[2]
expect x < 2.2
s = 0.0
while s < 2 { s += abs(x) + 0.1 }
f = exp(s * x / 2) * sum(v**2)
output f
"""
BLOCKS, BLOCK_ROWS = 20, 25
FORMATS = ("csv", "jsonl", "parquet", "arrow", "npz")
KILLS = 7  # of each format
SAME = ("rows", "blocks", "failed", "succeeded", "unreadable", "complete")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of which some fail, a few can't be read, and some lack what they may lack."""
    folder = tmp_path_factory.mktemp("killed")
    chance = random.Random(0)
    lines = ["id,x,v.0,v.1"]
    for k in range(BLOCKS * BLOCK_ROWS):
        x = "banana" if k % 97 == 5 else repr(chance.gauss(0, 1))
        lines.append(f"row {k},{x},{chance.random()},{chance.random()}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "p.tg").write_text(PROGRAM)
    return folder


def arguments(data: Path, out: str, *more: str, block_rows: int = BLOCK_ROWS) -> list[str]:
    rows = ["--rows", str(data / "data.csv"), "--keep", "id", "--block-rows", str(block_rows)]
    return ["batch", str(data / "p.tg"), *rows, "-o", out, "--report", "report.json", *more]


def result(folder: Path, out: str) -> tuple[bytes, bytes]:
    return (folder / out).read_bytes(), (folder / f"{out}.rejects.jsonl").read_bytes()


def reported(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("ending", FORMATS)
def test_killed_again_and_again(data: Path, tmp_path: Path, ending: str) -> None:
    chance, out = random.Random(ending), f"out.{ending}"
    began = time.monotonic()
    assert run(tmp_path, arguments(data, out)).wait() == 6
    took = time.monotonic() - began
    whole, whole_report = result(tmp_path, out), reported(tmp_path)
    assert whole_report["blocks"] == BLOCKS
    (tmp_path / out).unlink()

    kills = rounds = 0
    while kills < KILLS or not rounds:
        (tmp_path / out).unlink(missing_ok=True)
        (tmp_path / f"{out}.rejects.jsonl").unlink(missing_ok=True)
        finished: list[Any] = []
        while True:
            job = Process(tmp_path, arguments(data, out, "--resume"))
            if chance.random() < 0.5:
                time.sleep(chance.uniform(0, took))
            else:
                wanted = len(finished) + chance.randint(0, 6)
                job.wait_for(lambda wanted=wanted: len(journal(tmp_path / out)) >= wanted)  # type: ignore[misc]
                time.sleep(chance.uniform(0, 0.01))
            if kills < KILLS:
                job.kill()
            if job.wait() >= 0:
                break
            kills += 1
            there, is_done = journal(tmp_path / out), (tmp_path / out).exists()
            assert not is_done or result(tmp_path, out) == whole
            assert is_done or there[: len(finished)] == finished, "a finished block is lost"
            if is_done and not there:  # killed when all was done but its exit
                there = blocks_of(tmp_path / f".{out}.done")
            finished = there
        assert job.wait() == 6
        assert result(tmp_path, out) == whole
        report, rounds = reported(tmp_path), rounds + 1
        assert (report["resumed_blocks"], report["resumed"]) == (
            len(finished),
            sum(block["rows"] for block in finished),
        )
        assert {name: report[name] for name in SAME} == {name: whole_report[name] for name in SAME}
        assert [path.name for path in tmp_path.glob("*.partial")] == []


@pytest.mark.parametrize(("number", "format"), list(enumerate(WRITERS)))
def test_killed_at_any_change_to_the_file_system(tmp_path: Path, number: int, format: str) -> None:
    """A few of the campaign, with each format, each sort of data and each way to compute."""
    trial = Trial(Case(format, DATA[number % len(DATA)], WAYS[number % 5]), tmp_path)
    chance = random.Random(number)
    assert [trial.kill(drawn(trial, chance)) for _ in range(2)] != [[]] * 2


@pytest.mark.parametrize("format", ["csv", "npz"])
def test_killed_while_the_output_is_delivered(tmp_path: Path, format: str) -> None:
    """At each step behind the last block, no block is computed again."""
    trial = Trial(Case(format, "rejects", "--threads 1"), tmp_path)
    first = trial.steps.index("fsync")
    assert len(trial.steps) - first > 10
    for step in range(first, len(trial.steps)):
        assert len(trial.kill(Plan("old", ((Death(step, "after"), True),)))) == 1
        assert reported(tmp_path)["resumed_blocks"] == reported(tmp_path)["blocks"]


def test_killed_while_it_begins_anew(tmp_path: Path) -> None:
    """What another run has finished is thrown away, wholly or not at all."""
    trial = Trial(Case("csv", "rejects", "--threads 1"), tmp_path)
    halfway = (Death(trial.steps.index("fsync")), False)
    for step in range(7):
        assert len(trial.kill(Plan("old", (halfway, (Death(step, "after"), False))))) == 2


def test_the_command_itself(data: Path, tmp_path: Path) -> None:
    """As a user has it: a process of its own, killed three times."""
    run(tmp_path, arguments(data, "out.csv"))
    whole = result(tmp_path, "out.csv")
    (tmp_path / "out.csv").unlink()
    command = [sys.executable, "-m", "gradcli", *arguments(data, "out.csv", "--resume")]
    for blocks in (3, 9, 20):
        job = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
        while job.poll() is None and len(journal(tmp_path / "out.csv")) < blocks:
            time.sleep(0.001)
        job.kill()
        job.communicate()
    finished = journal(tmp_path / "out.csv")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 6
    assert result(tmp_path, "out.csv") == whole
    assert reported(tmp_path)["resumed_blocks"] == len(finished) >= 3
    assert (
        f"{len(finished) * BLOCK_ROWS} rows of them finished before, in {len(finished)} blocks"
        in done.stderr
    )
