"""Rows that take long: blocks are small enough that progress moves and all cores have work, and the
rows are the same whatever the blocks are."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gradcli.engine.backends.devices import CPU, GPU

from ..terminal import Terminal

SLOW = """var x
s = 0.0
n = 0
while n < 20000 { s = s + sin(x * n) / (n + 1); n = n + 1 }
output s
"""
INTERPRETED = SLOW + 'print f"{s:9}"\n'  # which isn't compiled
SINGLE = """var x
v = zeros([int64(100000 * x) % 1000 + 1]) + x
output s = v[0] * 2
"""
QUICK = "var x\noutput s = x**2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "slow": SLOW,
        "interpreted": INTERPRETED,
        "single": SINGLE,
        "quick": QUICK,
    }.items():
        (tmp_path / f"{name}.tg").write_text(text)
    rows = "".join(f"{k / 100_000:.5f}\n" for k in range(100_000))
    (tmp_path / "all.csv").write_text("x\n" + rows)
    (tmp_path / "some.csv").write_text("x\n" + rows[: 8 * 5000])
    return tmp_path


def report(folder: Path, *arguments: str, stdin: str | None = None) -> dict[str, int]:
    command = [sys.executable, "-m", "gradcli", "batch", *arguments, "--report", "r.json", "-q"]
    with open(folder / (stdin or "some.csv"), "rb") as data:
        done = subprocess.run(command, cwd=folder, stdin=data, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads((folder / "r.json").read_text())
    return found


def test_quick_rows_have_large_blocks(folder: Path) -> None:
    found = report(folder, "quick.tg", "--rows", "all.csv", "-o", "o.csv")
    assert (found["block_rows"], found["blocks"]) == (2**16, 2)
    assert report(folder, "quick.tg", "-o", "p.csv", stdin="all.csv")["rows"] == 100_000
    assert (folder / "p.csv").read_bytes() == (folder / "o.csv").read_bytes()


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_rows_that_run_singly_have_small_ones(folder: Path, format: str) -> None:
    if format == "jsonl":
        lines = (folder / "some.csv").read_text().split()[1:]
        text = "".join(f'{{"x": {line}}}\n' for line in lines)
        (folder / "some.jsonl").write_text(text)
    data = f"some.{format}"
    by_file = report(folder, "single.tg", "--rows", data, "-o", "o.csv")
    piped = report(folder, "single.tg", "-o", "p.csv", stdin=data)
    wide = report(folder, "single.tg", "--rows", data, "-o", "w.csv", "--block-rows", "5000")
    assert by_file["blocks"] == piped["blocks"] >= 4
    assert by_file["block_rows"] == piped["block_rows"] < 2000
    assert wide["blocks"] == 1
    found = (folder / "o.csv").read_bytes()
    assert found == (folder / "p.csv").read_bytes() == (folder / "w.csv").read_bytes()


def test_a_row_of_many_operations_has_the_smallest_blocks() -> None:
    """By work, never by time."""
    assert CPU.block_rows(10, 0) == CPU.block == 2**16
    assert CPU.block_rows(80_000, 0) == 419
    assert CPU.block_rows(10, 1.0) == 2**10
    assert CPU.block_rows(10**9, 0) == 64
    assert GPU.block_rows(10, 0) == GPU.block


def test_progress_of_slow_rows(folder: Path) -> None:
    """It appears at once, and rows count up while the first of 100,000 slow ones are computed."""
    pytest.importorskip("pyte")
    arguments = ["batch", "interpreted.tg", "--rows", "all.csv", "-o", "o.csv", "--no-grad"]
    terminal = Terminal(folder, "-m", "gradcli", *arguments, streams=("stderr",), width=80)
    try:
        terminal.until(lambda lines: any("0 rows" in line for line in lines))

        def rows() -> int:
            found = re.search(r"([\d,]+) rows ", " ".join(terminal.lines) + " ")
            return int(found[1].replace(",", "")) if found else 0

        terminal.read(lambda: rows() > 0)
        first = rows()
        assert 0 < first < 2000
        terminal.read(lambda: rows() > first)
        assert re.search(r"[━─]+ +\d+% [\d,]+ rows [\d,]+ rows/s [\d:]+ left", terminal.lines[0])
    finally:
        terminal.close()


def test_all_cores_have_work(folder: Path) -> None:
    psutil = pytest.importorskip("psutil")
    command = [
        sys.executable,
        "-m",
        "gradcli",
        "batch",
        "interpreted.tg",
        "--rows",
        "all.csv",
        "-o",
        "o.csv",
        "--threads",
        "3",
    ]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)
    try:
        job = psutil.Process(process.pid)
        busy: set[int] = set()
        while len(busy) < 3:
            assert process.poll() is None
            children = job.children()
            busy |= {child.pid for child in children if child.cpu_times().user > 0.2}
    finally:
        process.kill()
        process.communicate()


def test_answers_come_before_the_rows_end(folder: Path) -> None:
    """A pipe that stays open: what has come is answered."""
    command = [sys.executable, "-m", "gradcli", "batch", "quick.tg", "-q"]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    data, pipe = (folder / "all.csv").read_bytes(), process.stdin

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody reads all of it
            pipe.write(data)

    feeder = threading.Thread(target=feed)
    try:
        feeder.start()
        assert [process.stdout.readline() for _ in range(2)] == [b"s,ds/dx\n", b"0,0\n"]
    finally:
        process.kill()
        process.wait()
        feeder.join()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
