"""`gradcli repl`, in a terminal and from a pipe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradcli.cli.line_editor import typed_word

from ..terminal import Terminal

pytest.importorskip("pyte")
pytest.importorskip("prompt_toolkit")

# As if prompt_toolkit weren't installed.
PLAIN = """
import sys
sys.modules['prompt_toolkit'] = None
from gradcli.cli import main
main()
"""
KINDS = {"editing": ("-m", "gradcli"), "plain": ("-c", PLAIN)}
FOREVER = "i = 0; while true { i = 1 - i }"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def begin(*arguments: str, kind: str = "editing") -> Terminal:
        it = Terminal(tmp_path, *KINDS[kind], "repl", *arguments, XDG_STATE_HOME=str(tmp_path))
        started.append(it)
        it.until(lambda lines: lines[-1:] == [">"])
        return it

    yield begin
    for it in started:
        it.close()


def enter(it: Terminal, text: str, *said: str) -> None:
    """Types an entry, and waits for these lines, the last before the next prompt."""
    it.type(text + "\r")
    it.until(lambda lines: lines[-1 - len(said) :] == [*said, ">"] and text in " ".join(lines))


def ends_with(*said: str) -> Callable[[list[str]], bool]:
    return lambda lines: lines[-len(said) - 1 :] == [*said, ">"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_session(tmp_path: Path, start: Callable[..., Terminal], kind: str) -> None:
    it = start(kind=kind)
    enter(it, "var x = 3.0", "> var x = 3.0")
    enter(it, "y = x**2", "y = 9.0")
    enter(it, "y + 1", "10.0")
    enter(it, ":grad y x", "∂y/∂x    6.0")
    it.type("fn f(a) {\r")
    it.until(lambda lines: lines[-1] == ".")
    it.type("return a * 2\r")
    it.until(lambda lines: lines[-2:] == [". return a * 2", "."])
    it.type("}\r")
    it.until(ends_with(". }"))
    enter(it, "f(y)", "18.0")
    it.type("nothing\r")
    it.until(lambda lines: any("unknown name `nothing`" in line for line in lines))
    it.until(lambda lines: lines[-1] == ">")
    enter(it, "x", "3.0")
    it.type(":check\r")
    it.until(ends_with("1 passed, 0 failed, 0 skipped"))
    it.type(":why y x\r")
    it.until(lambda lines: "y with respect to x: 6.0" in lines and lines[-1] == ">")
    enter(it, ":save a.tg", "saved a.tg")
    assert (tmp_path / "a.tg").read_text() == (
        "var x = 3.0\ny = x**2\ny + 1\nfn f(a) {\nreturn a * 2\n}\nf(y)\nx\n"
    )
    it.type("\x04")
    assert it.end() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_control_c_ends_a_computation_and_not_the_session(
    start: Callable[..., Terminal], kind: str
) -> None:
    it = start(kind=kind)
    enter(it, "x = 2.0", "x = 2.0")
    while "interrupted" not in it.lines:
        it.type(FOREVER + "\r")
        it.until(lambda lines: FOREVER in lines[-1] and it.makes_signals)
        it.type("\x03")  # which may come before the entry is read, and then gives it up
        it.until(lambda lines: lines[-1] == ">")
    enter(it, "x * 2", "4.0")
    it.type("half an entry")
    it.until(lambda lines: lines[-1] == "> half an entry")
    it.type("\x03")
    it.until(lambda lines: lines[-1] == ">")
    enter(it, "x * 3", "6.0")
    it.type("\x04")
    assert it.end() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_command(tmp_path: Path, kind: str) -> None:
    it = Terminal(tmp_path, *KINDS[kind], XDG_STATE_HOME=str(tmp_path))
    try:
        it.until(lambda lines: lines[-1:] == [">"])
        enter(it, "2 + 3", "5")
        it.type("\x04")
        assert it.end() == 0
    finally:
        it.close()


@pytest.mark.parametrize("streams", [("stdin", "stderr"), ("stdout", "stderr"), ("stderr",)])
def test_without_a_command_or_somebody_who_types_and_reads(
    tmp_path: Path, streams: tuple[str, ...]
) -> None:
    it = Terminal(tmp_path, *KINDS["editing"], streams=streams, width=100, height=60)
    assert it.end() == 0
    assert not any(line.startswith("gradcli: `:help`") for line in it.lines)
    assert any("Usage: gradcli" in line for line in it.lines) == ("stdout" in streams)


def test_closed_streams_are_no_terminal(tmp_path: Path) -> None:
    command = f"{sys.executable} -m gradcli <&-"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: gradcli" in done.stdout


def test_plots_and_traces(start: Callable[..., Terminal]) -> None:
    pytest.importorskip("plotext")
    it = start()
    enter(it, "var x = 3.0; var a = 2.0", "> var x = 3.0; var a = 2.0")
    enter(it, "y = abs(x) * a", "y = 6.0")
    it.type(":plot y x=-3:3\r")
    it.until(ends_with("  y: kink at x = 0", "  ∂y/∂x: jump at x = 0"))
    assert any("◆" in line for line in it.lines)
    it.type(":trace y x\r")
    it.until(ends_with("2 operations, 16 bytes"))
    assert any("abs(x)" in line for line in it.lines)
    it.type("\x04")
    assert it.end() == 0


def test_completion_and_history(start: Callable[..., Terminal]) -> None:
    it = start()
    enter(it, "var wavelength = 3.0", "> var wavelength = 3.0")
    it.type("wavel\t")
    it.until(lambda lines: lines[-1] == "> wavelength")
    it.type(" * 2\r")
    it.until(ends_with("6.0"))
    it.type("logsum\t")
    it.until(lambda lines: lines[-1] == "> logsumexp")
    it.type("\x03")
    it.until(lambda lines: lines[-1] == ">")
    it.type("\x04")
    assert it.end() == 0
    it = start()
    it.type("\x1b[A")
    it.until(lambda lines: lines[-1] == "> wavelength * 2")
    it.type("\x1b[A")
    it.until(lambda lines: lines[-1] == "> var wavelength = 3.0")


def test_what_is_completed() -> None:
    assert typed_word("2 * wav") == "wav"
    assert typed_word(":gr") == ":gr"
    assert typed_word("a :gr") == "gr"
    assert typed_word("a + ") == ""


# ---- from a pipe ---------------------------------------------------------------------------------


def piped(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradcli", "repl", *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_plotted_and_traced(tmp_path: Path) -> None:
    pytest.importorskip("plotext")
    begin = "var x = 3.0\nvar a = 2.0\ny = x * a\nz = y**2\n"
    assert "∂z/∂x" in piped(tmp_path, f"{begin}:plot x=-1:1").stdout  # the last value
    assert "y, a = 1  + y, a = 2" in piped(tmp_path, f"{begin}:plot y x=-1:1 a=1,2").stdout
    assert "y  (x →, a ↑)" in piped(tmp_path, f"{begin}:plot y x=-1:1 a=-1:1").stdout
    assert "2 operations" in piped(tmp_path, f"{begin}:trace").stdout
    assert "1 operation," in piped(tmp_path, f"{begin}:trace y").stdout
    for entry in (":plot y", ":plot", ":plot y x=1", ":plot y x=0:1 a=1 b=2"):
        done = piped(tmp_path, begin + entry)
        assert (done.returncode, "write `:plot y x=-3:3`" in done.stderr) == (2, True)
    for entry in (":plot q x=0:1", ":plot y y=0:1", ":trace q", ":plot y x=1:x"):
        done = piped(tmp_path, f"{begin}{entry}\nx")
        assert (done.returncode, done.stdout[-4:]) == (2, "3.0\n")
        assert "error[E00" in done.stderr


def test_entries_from_a_pipe(tmp_path: Path) -> None:
    done = piped(tmp_path, "var x = 3.0\ny = [\nx,\n2 * x]\n:grad y x\n:undo\nx")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "y = [3.0, 6.0]\n∂Σy/∂x    3.0\ntook back: y = [\nx,\n2 * x]\n3.0\n"


def test_the_worst_error_is_the_exit_code(tmp_path: Path) -> None:
    done = piped(tmp_path, "x = 2.0\nexpect x == 3.0\n:nonsense\n:grads\n2.0\n")
    assert (done.returncode, done.stdout) == (2, "x = 2.0\n2.0\n")
    assert "did you mean `grad`?" in done.stderr
    assert piped(tmp_path, "expect 1 == 2\n").returncode == 1
    assert piped(tmp_path, "y = = 1\n").returncode == 3
    done = piped(tmp_path, FOREVER + "\n2 + 2\n", "--max-steps", "1000")
    assert (done.returncode, done.stdout) == (4, "4\n")


def test_a_program_to_begin_with(tmp_path: Path) -> None:
    (tmp_path / "b.tg").write_text("k = 5.0\n")
    (tmp_path / "a.tg").write_text('import "b.tg" as b\nvar x\ny = b.k * x\noutput y\n')
    done = piped(tmp_path, "y + 1\n:grad\n", "a.tg", "--set", "x=2")
    assert (done.returncode, done.stdout) == (0, "y = 10.0\n11.0\n∂y/∂x    5.0\n")
    assert piped(tmp_path, "", "nowhere.tg").returncode == 2


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("y = 1.0\n")
    done = piped(tmp_path, "z = 2.0\n:save a.tg\n")
    assert (done.returncode, "`:save! a.tg` replaces it" in done.stderr) == (2, True)
    assert (tmp_path / "a.tg").read_text() == "y = 1.0\n"
    assert piped(tmp_path, "z = 2.0\n:save! a.tg\n").returncode == 0
    assert (tmp_path / "a.tg").read_text() == "z = 2.0\n"
    assert "it is a folder" in piped(tmp_path, f":save {tmp_path}\n").stderr
    done = piped(tmp_path, ":save\n:save none/a.tg\n")
    assert ("needs the name of a file" in done.stderr, "cannot write" in done.stderr) == (
        True,
        True,
    )


def test_a_command_that_takes_nothing_refuses_words(tmp_path: Path) -> None:
    done = piped(tmp_path, "a = 1.0\n:undo 2\n:list\n")
    assert done.stdout == "a = 1.0\na = 1.0\n"
    assert "`:undo` takes nothing, and has `2`\n  = help: write `:undo` alone" in done.stderr
