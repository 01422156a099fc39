"""The bar of a job, as a terminal shows it."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from gradcli.cli.progress import Bar
from gradcli.tasks.batch.summary import Summary

from ..terminal import Terminal

pytest.importorskip("pyte")

ROWS, FOREVER = 600, 500


def start(folder: Path, *arguments: str, width: int = 100) -> Terminal:
    """gradcli, whose standard error is a terminal."""
    command = ["-m", "gradcli", *arguments]
    return Terminal(folder, *command, streams=("stderr",), width=width, height=12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.tg").write_text(
        "var x\nexpect x != 10\ni = 0\nwhile x == 500 { i = 1 - i }\noutput f = x**2\n"
    )
    (tmp_path / "d.csv").write_text("x\n" + "".join(f"{k:09}\n" for k in range(ROWS)))
    return tmp_path


JOB = ("batch", "p.tg", "--rows", "d.csv", "-o", "o.csv", "--block-rows", "50")


@pytest.mark.parametrize("width", [100, 60])
def test_the_bar(folder: Path, width: int) -> None:
    """It shows what is done, and is gone when the job is: a job with a row that never ends, which
    Ctrl-C ends."""
    terminal = start(folder, *JOB, "--timeout", "30", width=width)
    terminal.read(lambda: any("500 rows" in line for line in terminal.lines))
    assert len(terminal.lines) == 1
    assert re.search(r"[━─] +83% 500 rows [\d,]+ rows/s 1 failed 0:0\d left$", terminal.lines[0])
    assert not terminal.has_cursor
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    said = " ".join(terminal.lines)
    assert said.replace(" ", "").startswith("500rowsarefinishedandkeptino.csv.partial:")
    assert terminal.has_cursor


def test_a_job_that_is_done_at_once_has_none(folder: Path) -> None:
    (folder / "d.csv").write_text("x\n1\n2\n")
    terminal = start(folder, *JOB)
    assert terminal.end() == 0
    assert len(terminal.lines) == 1
    assert re.fullmatch(r"2 rows in [\d.]+ s \([\d,]+ rows/s\), none failed", terminal.lines[0])
    assert b"\x1b" not in terminal.raw


def test_nobody_wants_it(folder: Path) -> None:
    terminal = start(folder, *JOB, "-q", "--max-steps", "1000")
    assert (terminal.end(), terminal.raw) == (6, b"")


def test_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with Bar(wanted=True) as bar:
        time.sleep(0.7)
        bar.tell(Summary("o.csv", rows=10), 20)
    assert capfd.readouterr() == ("", "")
