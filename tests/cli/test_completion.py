"""Completion: what is offered, and how bash, zsh and fish take it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from gradcli.cli import run
from gradcli.cli.completion.line import read_bash_line

from ..terminal import Terminal

MODEL = """var rate = 0.5
const scale = 2.0
fn f(t) { inner = t * 2; return inner }
loss = f(rate) * scale
if loss > 1.0 { extra = loss }
output loss
"""


def fill(folder: Path) -> None:
    (folder / "model.tg").write_text(MODEL)
    (folder / "my model.tg").write_text(MODEL)
    (folder / "notes.txt").write_text("")
    (folder / "wrong.tg").write_text("var x = = 2")
    (folder / "data").mkdir()
    (folder / "data" / "x.csv").write_text("1\n")
    (folder / "quotes.csv").write_text('day;price;"ask, bid";$(touch no);w.0;w.1\n1;2;3;4;5;6\n')
    pyarrow.parquet.write_table(pyarrow.table({"day": [1], "cost": [2.0]}), folder / "q.parquet")
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe.tg")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[str, list[str]]:
    """The kind of the reply to zsh for these words, and what it offers."""
    monkeypatch.setenv("_GRADCLI_COMPLETE", "zsh")
    assert run(words) == 0
    kind, *lines = capsys.readouterr().out.splitlines()
    return kind, [line.split("\t")[0] for line in lines]


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("ev", "words", ["eval"]),
        ("--v", "words", ["--verbose", "--version"]),
        ("eval --inp", "words", ["--inputs"]),
        ("eval --sparse --sp", "words", []),
        ("eval --set x=1 --set", "words", ["--set"]),
        ("check --no-s", "words", ["--no-strict"]),
        ("eval ", "programs", ["", ""]),
        ("eval mod", "programs", ["", "mod"]),
        ("eval -- --w", "programs", ["", "--w"]),
        ("eval --inputs da", "files", ["", "da"]),
        ("eval --inputs=da", "files", ["--inputs=", "da"]),
        ("eval --set x=@da", "files", ["x=@", "da"]),
        ("eval --set=x=@da", "files", ["--set=x=@", "da"]),
        ("eval --set x=3", "words", []),
        ("eval --set x=@quotes.csv:", "words", [f"x=@quotes.csv:{c}" for c in ("day", "price", "w")]),
        ("eval --set=x=@./quotes.csv:p", "words", ["--set=x=@./quotes.csv:price"]),
        ("batch --set x=@q.parquet:", "words", ["x=@q.parquet:day", "x=@q.parquet:cost"]),
        ("eval --set x=@data/x.csv:", "files", ["x=@", "data/x.csv:"]),  # which has no header
        ("eval --set x=@pipe.csv:", "files", ["x=@", "pipe.csv:"]),
        ("eval --set x=@-:", "files", ["x=@", "-:"]),
        ("eval --set x=@data:", "files", ["x=@", "data:"]),
        ("eval --set x=@nowhere.csv:", "files", ["x=@", "nowhere.csv:"]),
        ("plot --for x=@quotes.csv:", "words", []),
        ("eval --format ", "words", ["text", "json", "jsonl", "csv", "npz", "parquet"]),
        ("eval --format=js", "words", ["--format=json", "--format=jsonl"]),
        ("eval --device c", "words", ["cpu", "cuda"]),
        ("check --order ", "words", ["1", "2"]),
        ("eval --timeout ", "words", []),
        ("check --methods f", "parts", ["forward"]),
        ("check --methods forward,taylor,sympy,complex,", "words", ["forward,taylor,sympy,complex,differences"]),
        ("ops tanh", "words", ["tanh"]),
        ("ops arct", "words", []),
        ("explain E30", "words", [f"E30{k}" for k in range(1, 10)]),
        ("explain deta", "words", ["detached"]),
        ("lint --select W402,W40", "parts", [f"W402,W40{k}" for k in (1, 3, 4, 5, 6)]),
        ("eval model.tg --set ", "parts", ["rate=", "scale="]),
        ("eval --set rate=1 model.tg --set ", "parts", ["scale="]),
        ("eval model.tg --wrt ", "parts", ["rate", "scale", "loss", "extra"]),
        ("eval model.tg --wrt rate,", "parts", ["rate,scale", "rate,loss", "rate,extra"]),
        ("eval model.tg --wrt=rate,s", "parts", ["--wrt=rate,scale"]),
        ("eval model.tg --of l", "parts", ["loss"]),
        ("plot model.tg --over r", "parts", ["rate="]),
        ("plot model.tg --for ", "parts", ["rate=", "scale="]),
        ("eval -e x**2*sin(y)+pi --set ", "parts", ["x=", "y="]),
        ("eval -ex**2 --set ", "parts", ["x="]),
        ("eval --expr=x**2 --wrt ", "parts", ["x", "result"]),
        ("eval wrong.tg --wrt ", "words", []),
        ("eval pipe.tg --wrt ", "words", []),
        ("eval nowhere.tg --wrt ", "words", []),
        ("eval data --wrt ", "words", []),
        ("nothing --w", "words", []),
        ("", "words", ["eval", "check", "diff", "batch", "symbolic", "why", "trace", "repl", "plot", "fmt", "lint", "lsp", "ops", "explain"]),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_offered(
    folder: Path,
    line: str,
    kind: str,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert offered(monkeypatch, capsys, *line.split(" ")) == (kind, words)


@pytest.mark.parametrize(
    ("line", "current", "of_bash"),
    [
        ("gradcli ", "", ""),
        ("gradcli eval --wrt=x,y", "--wrt=x,y", "x,y"),
        ("gradcli eval 'a b'.tg --set x=@da", "x=@da", "@da"),
        ('gradcli eval -e "x * y', "x * y", "x * y"),
        ("gradcli eval my\\ mo", "my mo", "my mo"),
    ],
)
def test_lines_of_bash(line: str, current: str, of_bash: str) -> None:
    read, word = read_bash_line({"COMP_LINE": line + "|rest", "COMP_POINT": str(len(line))})
    assert (read.current, word) == (current, of_bash)


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "--w"),
        ("eval", "model.tg", "--wrt", ""),
        ("eval", "-e", "x**2 * sin(y)", "--set", ""),
        ("check", "--methods", ""),
        ("ops", ""),
    ],
    ids=" ".join,
)
def test_nobody_waits_for_a_key(folder: Path, words: tuple[str, ...]) -> None:
    code = f"import sys; from gradcli.cli import run; run({list(words)!r}); print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "_GRADCLI_COMPLETE": "fish"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    heavy = {"numpy", "typer", "click", "rich", "sympy", "scipy", "asyncio", "gradcli.engine"}
    assert not set(done.stderr.split()) & heavy


# ---- real shells ---------------------------------------------------------------------------------

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "--no-rcs", "--no-globalrcs"],
    "fish": ["fish", "--no-config"],
}
READY = {
    "bash": "PS1='$ '; source ./script",
    "zsh": "PS1='$ '; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u; source ./script",
    "fish": "function fish_prompt; echo '$ '; end; source ./script",
}


@pytest.fixture(scope="module", params=SHELLS)
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A shell that has the script which gradcli gives it."""
    name = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} isn't installed")
    if name == "bash" and subprocess.run(["bash", "-c", "(( BASH_VERSINFO[0] >= 5 ))"]).returncode:
        pytest.skip("this bash is older than those that completion is for")
    folder = tmp_path_factory.mktemp(name)
    fill(folder)
    scratch = folder / "bin"
    scratch.mkdir()
    (scratch / "gradcli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    (scratch / "gradcli").chmod(0o755)
    environment = {**os.environ, "PATH": f"{scratch}{os.pathsep}{os.environ['PATH']}"}
    script = subprocess.run(
        [name, "-c", "gradcli --show-completion; true"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "_GRADCLI_COMPLETE" in script
    (folder / "script").write_text(script)
    become = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
    variables = {
        "PATH": environment["PATH"],
        "HOME": str(folder),
        "INPUTRC": "/dev/null",
        "LC_ALL": "C.UTF-8",
    }
    terminal = Terminal(folder, "-c", become, *SHELLS[name], **variables)
    terminal.type(f"{READY[name]}; echo re''ady\n")
    terminal.until(lambda lines: "ready" in lines)
    yield terminal
    terminal.close()


@pytest.fixture
def shell(started: Terminal) -> Terminal:
    """That shell, with an empty line on an empty screen."""
    started.type("\x15\x0c")  # Ctrl-U, Ctrl-L
    started.until(lambda lines: lines == ["$"])
    return started


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("gradcli che", "gradcli check"),
        ("gradcli eval --hessian-b", "gradcli eval --hessian-blocks"),
        ("gradcli eval mod", "gradcli eval model.tg"),
        ("gradcli eval my", "gradcli eval my\\ model.tg"),
        ("gradcli eval model.tg --inputs=not", "gradcli eval model.tg --inputs=notes.txt"),
        ("gradcli eval model.tg --set rate=@data/", "gradcli eval model.tg --set rate=@data/x.csv"),
        ("gradcli eval --set rate=@quotes.csv:pr", "gradcli eval --set rate=@quotes.csv:price"),
        ("gradcli eval --set=rate=@q.parquet:c", "gradcli eval --set=rate=@q.parquet:cost"),
        ("gradcli eval model.tg --wrt ra", "gradcli eval model.tg --wrt rate"),
        ("gradcli eval model.tg --wrt=rate,lo", "gradcli eval model.tg --wrt=rate,loss"),
        ("gradcli eval my\\ model.tg --set sc", "gradcli eval my\\ model.tg --set scale="),
        ("gradcli eval -e 'abc * 2' --set ", "gradcli eval -e 'abc * 2' --set abc="),
        ("gradcli eval -e 'äöü * 2' --hessian-b", "gradcli eval -e 'äöü * 2' --hessian-blocks"),
        ("gradcli check --methods diff", "gradcli check --methods differences"),
        ("true; X=1 gradcli eval model.tg --wrt ra", "true; X=1 gradcli eval model.tg --wrt rate"),
        ("true | gradcli che", "true | gradcli check"),
        ("./bin/gradcli che", "./bin/gradcli check"),
        ("gradcli ops erfi", "gradcli ops erfinv"),
        ("gradcli explain detac", "gradcli explain detached"),
    ],
)
def test_a_shell_completes(shell: Terminal, typed: str, completed: str) -> None:
    shell.type(typed + "\t")
    shell.until(lambda lines: any(line.startswith("$ " + completed) for line in lines))


def test_a_shell_lists_what_there_is(shell: Terminal) -> None:
    shell.type("gradcli eval model.tg --wrt \t\t")
    shell.until(lambda lines: all(w in " ".join(lines[1:]) for w in ("rate", "scale", "extra")))


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_of_any_shell_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", name]) == 0
    assert f"_GRADCLI_COMPLETE={name}" in capsys.readouterr().out
