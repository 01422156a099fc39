"""`gradcli fmt`: which files it writes, how, and what it says."""

from __future__ import annotations

import importlib
import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcli.diagnostics import Source

Run = Callable[..., Any]


def test_files_and_folders(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.tg").write_text("x=1\n")
    (tmp_path / "a" / "two.tg").write_text("x = 1\n")
    result = gradcli("fmt a")
    said = "reformatted a/one.tg\n1 file reformatted, 1 file left unchanged\n"
    assert (result.code, result.out, result.err) == (0, said, "")
    assert (tmp_path / "a" / "one.tg").read_text() == "x = 1\n"
    assert gradcli("fmt a").out == "2 files left unchanged\n"


def test_check_and_diff_write_nothing(gradcli: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.tg"
    file.write_text("x=1\ny = 2\n")
    checked = gradcli("fmt a.tg --check")
    assert (checked.code, checked.out) == (1, "would reformat a.tg\n1 file would be reformatted\n")
    shown = gradcli("fmt a.tg --diff")
    assert (shown.code, shown.out) == (
        0,
        "--- a.tg\n+++ a.tg\n@@ -1,2 +1,2 @@\n-x=1\n+x = 1\n y = 2\n",
    )
    assert gradcli("fmt a.tg --diff --check").code == 1
    (tmp_path / "b.tg").write_text("x = 1")
    unended = "-x = 1\n\\ No newline at end of file\n+x = 1\n"
    assert gradcli("fmt b.tg --diff").out.endswith(unended)
    assert "\x1b[32m+x = 1\x1b[0m\n" in gradcli("fmt a.tg --diff --color always").out
    assert file.read_text() == "x=1\ny = 2\n"
    assert gradcli("fmt a.tg -q").out == ""
    assert gradcli("fmt a.tg --check").code == 0


def test_standard_input_and_expressions(gradcli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stdin(text: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    stdin(b"x=1\r\n")
    result = gradcli("fmt -")
    assert (result.code, result.out, result.err) == (0, "x = 1\r\n", "")
    stdin(b"x=1\n")
    result = gradcli("fmt - --check")
    assert (result.code, result.out) == (1, "would reformat <stdin>\n")
    assert gradcli("fmt", "-e", "x=1;y=2").out == "x = 1; y = 2\n"


def test_a_file_with_errors_stays_as_it_is(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.tg").write_text("x=(1\n")
    (tmp_path / "good.tg").write_text("x=1\n")
    result = gradcli("fmt bad.tg good.tg nowhere.tg")
    assert result.code == 3
    assert "error[E110]" in result.err
    assert "  --> bad.tg:1:3\n" in result.err
    assert "error[E002]: cannot read `nowhere.tg`" in result.err
    assert result.out.endswith("1 file reformatted, 2 files with errors\n")
    assert (tmp_path / "bad.tg").read_text() == "x=(1\n"
    assert (tmp_path / "good.tg").read_text() == "x = 1\n"
    assert gradcli("fmt nowhere.tg").code == 2


def test_a_file_keeps_its_mode_mark_and_line_ends(gradcli: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.tg"
    file.write_bytes(b"\xef\xbb\xbfx=1\r\ny=2\r\n")
    file.chmod(0o640)
    assert gradcli("fmt a.tg").code == 0
    assert file.read_bytes() == b"\xef\xbb\xbfx = 1\r\ny = 2\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.tg"]


def test_links(gradcli: Run, tmp_path: Path) -> None:
    """One that is named is followed, and stays a link; one that is found in a folder isn't."""
    (tmp_path / "a").mkdir()
    real, link = tmp_path / "real.tg", tmp_path / "a" / "link.tg"
    link.symlink_to(real)
    real.write_text("x=log(1+2.0)\n")
    assert gradcli("fmt a").out == "0 files left unchanged\n"
    assert gradcli("lint a --fix").out == "0 findings in 0 programs\n"
    assert gradcli("lint a").out.endswith("1 finding in 1 program, 1 with a fix (--fix)\n")
    assert real.read_text() == "x=log(1+2.0)\n"
    assert gradcli("fmt a/link.tg").code == 0
    assert gradcli("lint a/link.tg --fix").code == 0
    assert (real.read_text(), link.is_symlink()) == ("x = log1p(2.0)\n", True)


def test_a_file_with_two_names_is_refused(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("x=1\n")
    os.link(tmp_path / "a.tg", tmp_path / "b.tg")
    result = gradcli("fmt a.tg")
    assert result.code == 2
    assert "error[E006]: cannot write `a.tg`: it has another name, too" in result.err
    assert (tmp_path / "b.tg").read_text() == "x=1\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_file_that_may_not_be_written_stays(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("x=1\n")
    (tmp_path / "a.tg").chmod(0o444)
    assert gradcli("fmt a.tg").code == 2
    assert (tmp_path / "a.tg").read_text() == "x=1\n"


@pytest.mark.parametrize("many", [3, 120])
@pytest.mark.parametrize(
    ("command", "at_fault", "said"),
    [
        ("fmt .", "gradcli.tidy.rewriting.format_source", "{} files reformatted, 1 file with errors"),
        ("fmt . --check", "gradcli.tidy.rewriting.format_source", "{} files would be reformatted, 1 file with errors"),
        ("lint .", "gradcli.tidy.linting.parse", "1 program with errors"),
    ],
)  # fmt: skip
def test_a_fault_of_gradcli_in_one_file_leaves_the_others(
    gradcli: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    many: int,
    command: str,
    at_fault: str,
    said: str,
) -> None:
    for k in range(many):
        (tmp_path / f"{k:03}.tg").write_text(f"y={k}\n")
    module, _, name = at_fault.rpartition(".")
    works = getattr(importlib.import_module(module), name)

    def fails(source: Source) -> Any:
        if source.name == "001.tg":
            raise AssertionError("a fault")
        return works(source)

    monkeypatch.setattr(at_fault, fails)
    done = gradcli(command)
    assert done.code == 70
    assert "error[E900]: 001.tg: internal error: AssertionError: a fault\n" in done.err + done.out
    assert "--traceback show" in done.err + done.out
    assert said.format(many - 1) in done.out
    shown = gradcli(f"{command} --traceback")
    assert shown.code == 70
    assert "in fails" in shown.err


def test_many_files_on_several_processes(gradcli: Run, tmp_path: Path) -> None:
    for k in range(120):
        (tmp_path / f"{k:03}.tg").write_text("x=(1\n" if k == 50 else f"x={k}\n")
    result = gradcli("fmt .")
    assert result.code == 3
    assert result.out.splitlines()[:-1] == [f"reformatted {k:03}.tg" for k in range(120) if k != 50]
    assert (tmp_path / "119.tg").read_text() == "x = 119\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "a.tg",
        "a.tg --check",
        ". --diff",
        "-q bad.tg a.tg",
        "nowhere.tg --check",
        "a.tg - -",
        "none",
    ],
)
def test_the_quick_way_gives_what_the_long_one_gives(
    gradcli: Run, tmp_path: Path, arguments: str
) -> None:
    """--no-config takes the long one, through typer."""
    (tmp_path / "none").mkdir()
    found = []
    for more in ("", " --no-config"):
        (tmp_path / "a.tg").write_text("x=1\n")
        (tmp_path / "bad.tg").write_text("x=(1\n")
        result = gradcli(f"fmt {arguments}{more}")
        found.append((result.code, result.out, result.err, (tmp_path / "a.tg").read_text()))
    assert found[0] == found[1]


def test_settings_of_a_project_count_on_the_quick_way(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("x=1\n")
    (tmp_path / "gradcli.toml").write_text("[fmt]\ncheck = true\n")
    assert gradcli("fmt a.tg").code == 1
    assert (tmp_path / "a.tg").read_text() == "x=1\n"


def test_programs_on_a_terminal(gradcli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program goes through a pipe as it is; a person gets to see what is in it."""
    arguments = ("fmt", "-e", "x=1#\x1b[31mred")
    assert gradcli(*arguments).out == "x = 1  # \x1b[31mred\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert gradcli(*arguments).out == "x = 1  # ␛[31mred\n"
