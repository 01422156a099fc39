"""`--watch`, with real processes: each test waits for what is printed."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")

PATIENCE = 120  # seconds, within which anything has to happen
FOREVER = "i = 0\nwhile true { i = 1 - i }\n"


class Watch:
    """A command that watches, and the lines that it prints."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gradcli", *arguments, "--watch"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))

    def until(self, wanted: str) -> list[str]:
        """The lines up to the first that has `wanted` in it."""
        found = [""]
        while wanted not in found[-1]:
            try:
                found.append(self._lines.get(timeout=PATIENCE))
            except queue.Empty:
                raise AssertionError(f"no {wanted!r} in {found[1:]}") from None
        return found[1:]

    def run(self) -> Any:
        """The process of the run that is under way."""
        while not (found := self.children()):
            assert self.process.poll() is None
        return found[0]

    def children(self) -> list[Any]:
        return list(psutil.Process(self.process.pid).children(recursive=True))

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def clean_up(self) -> None:
        for process in self.children() if self.process.poll() is None else []:
            process.kill()
        self.process.kill()
        self.process.wait()
        self._reader.join()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watch]]:
    started: list[Watch] = []

    def start(*arguments: str) -> Watch:
        started.append(Watch(tmp_path, *arguments))
        return started[-1]

    yield start
    for watch in started:
        watch.clean_up()


def write(path: Path, text: str) -> None:
    """Writes a file as editors do: all of it at once."""
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


def test_eval_runs_again_when_the_file_changes(tmp_path: Path, watch: Any) -> None:
    write(tmp_path / "a.tg", "var x = 3.0\ny = x**2\n")
    it = watch("eval", "a.tg")
    assert it.until("watching") == ["y        9.0", "∂y/∂x    6.0", "watching 1 file; Ctrl-C ends"]
    write(tmp_path / "a.tg", "var x = 3.0\ny = x**3\n")
    assert it.until("watching")[:3] == ["changed: a.tg", "y        27.0", "∂y/∂x    27.0"]
    assert it.end() == 130


def test_an_error_does_not_end_it(tmp_path: Path, watch: Any) -> None:
    write(tmp_path / "a.tg", "y = = 2\n")
    it = watch("eval", "a.tg")
    assert it.until("watching")[0].startswith("error[E101]")
    os.remove(tmp_path / "a.tg")
    assert any("error[E002]: cannot read `a.tg`" in line for line in it.until("watching"))
    write(tmp_path / "a.tg", FOREVER)
    it.until("changed: a.tg")
    write(tmp_path / "a.tg", "y = 2.0\n")
    assert "y    2.0" in it.until("watching")
    assert it.end() == 130


def test_what_is_imported_is_watched(tmp_path: Path, watch: Any) -> None:
    (tmp_path / "lib").mkdir()
    write(tmp_path / "a.tg", 'import "lib/b.tg" as b\nimport nn\noutput y = b.f(2.0)\n')
    write(tmp_path / "lib" / "b.tg", 'import "c.tg" as c\nfn f(x) = c.k * x\n')
    it = watch("eval", "a.tg")
    assert "there is no file `c.tg`" in it.until("watching 3 files")[0]
    write(tmp_path / "lib" / "c.tg", "k = 5.0\n")
    assert it.until("watching 3 files")[:2] == ["changed: lib/c.tg", "y    10.0"]
    write(tmp_path / "lib" / "b.tg", "fn f(x) = 7.0 * x\n")
    assert it.until("watching 2 files")[:2] == ["changed: lib/b.tg", "y    14.0"]
    assert it.end() == 130


def test_plot_draws_again(tmp_path: Path, watch: Any) -> None:
    pytest.importorskip("plotext")
    pytest.importorskip("matplotlib")
    write(tmp_path / "a.tg", "var x = 3.0\ny = abs(x)\n")
    it = watch("plot", "a.tg", "--over", "x=-1:1")
    assert "  y: kink at x = 0" in it.until("watching 1 file;")
    write(tmp_path / "a.tg", "var x = 3.0\ny = abs(x - 0.5)\n")
    assert "  y: kink at x = 0.5" in it.until("watching 1 file;")
    assert it.end() == 130
    it = watch("plot", "a.tg", "--over", "x=-1:1", "-o", "a.svg")
    it.until("watching 1 file;")
    before = (tmp_path / "a.svg").read_bytes()
    write(tmp_path / "a.tg", "var x = 3.0\ny = x**2\n")
    it.until("watching 1 file;")
    assert (tmp_path / "a.svg").read_bytes() != before
    assert it.end() == 130


def test_check_watches_a_folder(tmp_path: Path, watch: Any) -> None:
    write(tmp_path / "a.tg", "var x = 3.0\ny = x**2\n")
    it = watch("check", ".", "--methods", "complex")
    assert "1 passed, 0 failed, 0 skipped" in it.until("watching 1 file;")
    write(tmp_path / "b.tg", "var x = 2.0\ny = x**2\nexpect y == 5.0\n")
    found = it.until("watching 2 files")
    assert found[0] == "changed: b.tg"
    assert any("1 failed" in line for line in found)
    assert it.end() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_its_end_ends_the_run(tmp_path: Path, watch: Any, number: int) -> None:
    write(tmp_path / "a.tg", FOREVER)
    it = watch("eval", "a.tg")
    run = it.run()
    assert it.end(number) == 128 + number
    run.wait(PATIENCE)


def test_a_closed_pipe_ends_it(tmp_path: Path) -> None:
    write(tmp_path / "a.tg", "y = 2.0\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcli", "eval", "a.tg", "--watch", "-q"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(PATIENCE) == 141


@pytest.mark.parametrize("arguments", [("-e", "2.0"), ("-",), ()])
def test_it_needs_files(tmp_path: Path, watch: Any, arguments: tuple[str, ...]) -> None:
    it = watch("eval", *arguments)
    assert it.process.wait(PATIENCE) == 2
    assert it.until("error")[0] == "error[E001]: --watch needs files to watch"
