"""Text of somebody else's, in every place that it can come from and every format that it can be
printed in."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.cli import run as run_gradcli
from gradcli.diagnostics import Diagnostic, Source, Span, printable, printable_lines, render
from gradcli.report import CHECK_FORMATS, LINT_FORMATS

Run = Callable[..., Any]

# Clears the screen, by seven bits and by eight; sets a title; turns the direction; breaks the line
# in five ways; commands.
EVIL = (
    "\x1b[2J\x9b2J\x1b]0;t\x07\u202e\u2066\u200f\r\n::error::evil\n \t::add-mask::x\x0b\x0c\x85\u2028"
    "##[error]e##vso[x]y\ue000\ufeff"
)
NAME = EVIL.replace("\x00", "")
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)


def verify(text: str, own_commands: bool = False) -> None:
    assert not RAW.search(text), ascii(text)
    commands = [line for line in text.split("\n") if COMMAND.search(line)]
    if own_commands:
        commands = [
            line
            for line in commands
            if not re.match(r"::(error|warning|notice) file=[^:]*::[^:]*", line)
        ]
    assert commands == [], ascii(text)


def literal(text: str) -> str:
    """The text as a string of the language: with what it has escapes for; other characters stand
    for themselves."""
    return (
        '"'
        + "".join(
            {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}.get(c, c)
            for c in text
        )
        + '"'
    )


TEXT = (
    EVIL.replace("\x0b", "").replace("\x0c", "").replace("\x85", "").replace("\u2028", "")
)  # which break lines of programs, too
SAID = literal(TEXT)
GOOD = f"var x = 2.0\nprint({SAID})\nd = {{{SAID}: x * x}}\ns = {SAID}\ny = x**2\noutput d\noutput s\noutput y\n"
PROGRAMS = {
    "good": GOOD,
    "plain": "var x = 2.0\ny = x**2\n",
    "wrong": "fn f(x) { return x**2 } backward (dy) { return 5 * x * dy }\nvar x = 2.0\ny = f(x)\n",
    "syntax": f"x = = 3 # {TEXT.splitlines()[0]}\n",
    "name": "x = \u202ey + 1\n",
    "key": f"var x = 2.0\nd = {{'a': x}}\ny = d[{literal(TEXT)}]\n".replace("'", '"'),
    "expectation": f"var x = 2.0\ny = x**2\nexpect {literal(TEXT)} == {literal('a')}\n",
    "missing": f"import {literal(TEXT + '.tg')} as m\ny = m.f(2.0)\n",
    "kink": "var x = 0.0\ny = abs(x)\n",
}
COMMANDS = [
    *(f"eval --format {format}" for format in ("text", "json", "jsonl", "csv")),
    *(
        "eval --show ast",
        "eval --show program",
        "eval --show trace",
        "eval -v --color always",
        "eval --closed-form",
    ),
    *(f"check --format {format}" for format in CHECK_FORMATS),
    *(
        "symbolic",
        "symbolic --format json --no-simplify",
        "symbolic --to c --no-simplify",
        "why",
        "why --format json",
        "trace --color always",
        *(f"trace --format {format}" for format in ("json", "dot", "mermaid")),
        "diff --color always",
        "diff --format json",
        "fmt",
        "fmt --diff --color always",
        *(f"lint --format {format}" for format in LINT_FORMATS),
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_names_of_files_and_what_stands_in_them(
    gradcli: Run, tmp_path: Path, command: str, program: str
) -> None:
    files = [f"{NAME}.tg", "plain.tg"]
    for file in files:
        (tmp_path / file).write_text(PROGRAMS[program], newline="")
    done = gradcli(*command.split(), *files)
    assert done.code in (0, 1, 2, 3)
    err, out = done.err, done.out
    if "--color" in command:
        out = re.sub("\x1b\\[[0-9;]*m", "", out)
        err = re.sub("\x1b\\[[0-9;]*m", "", err)
    verify(err)
    verify(out, own_commands="github" in command)
    if "json" in command and "jsonl" not in command:
        answer = json.loads(done.out)
        assert (answer["old"] if "diff" in command else answer[0]["file"]) == files[0]
    if "junit" in command:
        assert len(ET.fromstring(done.out)) == 2


def test_a_string_in_json_is_the_same(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "good.tg").write_text(GOOD, newline="")
    done = gradcli("eval", "good.tg", "--format", "json")
    assert done.json["outputs"]["s"]["value"] == TEXT
    assert done.json["printed"] == [TEXT]
    assert list(done.json["outputs"]["d"]["value"]) == [TEXT]


OPTIONS = [
    ["eval", "-e", "x", "--set", f"{EVIL}=1"],
    ["eval", "-e", "x", "--set", f"x={EVIL}"],
    ["eval", "-e", "x", "--set", f"x=@{EVIL}"],
    ["eval", "-e", EVIL],
    ["eval", "-e", "x", "--inputs", EVIL],
    ["eval", "-e", "x**2", "--set", "x=1", "--of", EVIL],
    ["eval", "-e", "x**2", "--set", "x=1", "--wrt", EVIL],
    ["eval", "-e", "x**2", "--set", "x=1", "-o", f"{EVIL}/{EVIL}"],
    ["eval", "-e", "x", f"--{EVIL}"],
    ["eval", "-e", "x", "--format", EVIL],
    ["eval", "-e", "x", "--max-memory", EVIL],
    ["eval", "-e", "x", "--device", EVIL],
    ["eval", EVIL],
    [EVIL],
    ["explain", EVIL],
    ["ops", EVIL],
    ["why", "-e", "var x = 1.0; y = x", "--of", EVIL],
    ["check", "-e", "var x = 1.0; y = x", "--against", EVIL],
    ["check", "-e", "var x = 1.0; y = x", "--against-command", EVIL.replace("\n", " ")],
    ["check", "-e", "var x = 1.0; y = x", "--methods", EVIL],
    ["batch", "-e", "x", "--rows", EVIL, "-o", "out.csv"],
    ["batch", "-e", "x", "--rows", "rows.csv", "-o", f"{EVIL}/out.csv"],
    ["batch", "-e", "x", "--rows", "rows.csv", "-o", "out.csv", "--keep", EVIL],
    ["batch", "-e", "x", "--rows", "rows.csv", "-o", "out.csv", "--map", f"{EVIL}=x"],
    ["batch", "-e", "x", "--rows", "rows.csv", "-o", f"{NAME.replace('/', '')}.csv", "-v"],
    [
        "batch",
        "-e",
        "x",
        "--rows",
        "rows.csv",
        "-o",
        "-",
        "--out-format",
        "csv",
        "--report",
        "r.json",
    ],
    ["batch", "-e", "x", "--rows", "rows.jsonl", "-o", "out.csv", "--on-error", "fail"],
    ["batch", "-e", "x", "--rows", "rows.jsonl", "-o", "-", "--out-format", "csv"],
]


@pytest.mark.parametrize("arguments", OPTIONS, ids=range(len(OPTIONS)))
def test_options_cells_and_keys(gradcli: Run, tmp_path: Path, arguments: list[str]) -> None:
    cell = '"' + EVIL.replace('"', '""') + '"'
    (tmp_path / "rows.csv").write_text(f"x,{cell}\n1,2\n{cell},3\n", newline="")
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"x": 1, EVIL: 2}) + "\n" + json.dumps({"x": EVIL, EVIL: EVIL}) + "\n"
    )
    (tmp_path / "gradcli.toml").write_text("")
    for more in ([], ["--traceback"]):
        done = gradcli(*arguments, *([] if arguments[0] in (EVIL, "ops", "explain") else more))
        verify(done.out)
        verify(done.err)
    for written in tmp_path.glob("*.rejects.jsonl"):
        verify(written.read_text())
        for line in written.read_text().splitlines():
            assert json.loads(line)["row"] >= 0


def test_settings(gradcli: Run, tmp_path: Path) -> None:
    key = json.dumps(EVIL).replace("\\u007f", "?")
    for text in (
        f"{key} = 1",
        f"format = {key}",
        f"[eval]\n{key} = 1",
        f"[eval]\ndevice = {key}",
        EVIL,
    ):
        (tmp_path / "gradcli.toml").write_text(text, newline="")
        done = gradcli("eval", "-e", "x", "--set", "x=1", "-v")
        assert done.code != 0
        verify(done.out + done.err)
    (tmp_path / "gradcli.toml").write_text(f"[eval]\nof = [{key}]")
    verify(gradcli("eval", "-e", "x", "--set", "x=1", "-v").err)


def test_what_a_program_of_the_users_says(gradcli: Run, tmp_path: Path) -> None:
    says = f"import sys\nfor to in sys.stdout, sys.stderr: to.write({EVIL!r})\nsys.exit(int(sys.argv[1]))\n"
    (tmp_path / "says.py").write_text(says)
    for code in ("0", "3"):
        command = f"{sys.executable} says.py {code}"
        for format in ("text", "github", "junit"):
            done = gradcli(
                "check",
                "-e",
                "var x = 1.0; y = x",
                "--against-command",
                command,
                "--format",
                format,
            )
            verify(done.out, own_commands=format == "github")
            verify(done.err)


def test_a_diagnostic_is_drawn_on_its_lines() -> None:
    """Nothing in it adds a line, and the caret stands under what it is about."""
    source = Source(EVIL, f"a\u202eb = {EVIL.splitlines()[0]}c")
    diagnostic = Diagnostic("E101", EVIL, Span(source, 2, 3), label=EVIL, help=EVIL)
    drawn = render(diagnostic)
    verify(drawn)
    assert len(drawn.split("\n")) == 6
    place = drawn.split("\n")[4].index("^")
    assert drawn.split("\n")[3][place] == "b"


@given(st.text())
def test_printable(text: str) -> None:
    line = printable(text)
    verify(line)
    assert "\n" not in line
    assert printable(line) == line or "\\u" in line
    verify(printable_lines(text))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_stays_what_it_is(text: str) -> None:
    written = printable_lines(json.dumps([text], ensure_ascii=False, indent=1))
    verify(written)
    assert json.loads(written) == [text]


def test_rows_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Data goes through a pipe as it is; a person gets to see what is in it."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(json.dumps({"x": 1, "k": EVIL}) + "\n")
    arguments = [
        "batch",
        "-e",
        "x",
        "--rows",
        "rows.jsonl",
        "-o",
        "-",
        "--out-format",
        "jsonl",
        "--keep",
        "k",
    ]
    assert run_gradcli(arguments) == 0
    exact = capfd.readouterr().out
    assert json.loads(exact)["k"] == EVIL
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run_gradcli(arguments) == 0
    shown = capfd.readouterr().out
    verify(shown)
    assert json.loads(shown) == json.loads(exact)
