"""gradcli as a process: start and end of it, signals, pipes, terminals."""

from __future__ import annotations

import errno
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "gradcli"]
FOREVER = "i = 0; while true { i = 1 - i }"


def test_a_closed_pipe_ends_quietly() -> None:
    process = subprocess.Popen(
        [*COMMAND, "explain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


def test_what_is_registered_for_the_end_is_done() -> None:
    """Although the process ends without taking itself apart; what is printed last is there."""
    code = "import atexit, sys; atexit.register(print, 'the end'); sys.argv[1:] = ['eval', '-e', 'x**']; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}from gradcli.cli import main; main()"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (3, "the end\n")
    assert done.stderr.startswith("error[E101]")


def test_a_thread_may_still_compute_at_the_end() -> None:
    """It isn't waited for, and no library that it calls takes itself apart: LLVM would abort."""
    code = """
import atexit, ctypes, time
from gradcli import cli
from gradcli.platform.threads import start

def run(arguments):
    start(lambda: time.sleep(60))
    print("an answer")
    return 6

library = ctypes.CDLL(None)
library.__cxa_atexit(library.abort, None, None)
atexit.register(print, "the end")
cli.run = run
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (6, "an answer\nthe end\n", "")


def test_control_c_ends_quietly() -> None:
    process = subprocess.Popen(
        [*COMMAND, "eval", "-e", FOREVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        "eval -e 1",
        "check -e 'var x = 2.0; y = x**2'",
        "fmt -e 1",
        "ops",
        "ops tanh",
        "ops --format json",
        "explain",
        "explain E304",
        "explain for",
        "--help",
        "eval --help",
        "eval --schema",
        "--version",
        "--version --verbose",
    ],
)
def test_standard_output_on_a_full_disk(command: str, unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *shlex.split(command)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert done.stderr.strip() == (
        f"error[E006]: cannot write standard output: {os.strerror(errno.ENOSPC)}"
    )


@pytest.mark.skipif(os.name != "posix", reason="for shells with `>&-`")
@pytest.mark.parametrize(
    ("redirected", "code", "out", "err"),
    [
        (">&-", 2, "", "standard output: it is closed"),
        (">&- 2>&-", 2, "", ""),
        ("2>&-", 0, "3\n", ""),
        ("<&-", 0, "3\n", ""),
        ("-o answer.txt >&-", 0, "", ""),
    ],
)
def test_closed_streams(tmp_path: Path, redirected: str, code: int, out: str, err: str) -> None:
    line = f"{shlex.join(COMMAND)} eval -e '1 + 2' --color never {redirected}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.replace("result", "").lstrip()) == (code, out)
    assert err in done.stderr
    assert bool(err) == bool(done.stderr)
    assert "answer.txt" not in redirected or (tmp_path / "answer.txt").read_text().endswith("3\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")
def test_a_runaway_loop_under_a_memory_limit() -> None:
    source = "l = []; while true { l = append(l, ones([100000])) }"
    done = subprocess.run(
        [*COMMAND, "eval", "-e", source, "--max-memory", "100M"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 4, done.stderr
    assert "E405" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")
def test_a_gradient_through_long_loops_under_a_memory_limit(tmp_path: Path) -> None:
    """The second call is a kernel, whose residuals would take 160 MB and more."""
    path = tmp_path / "long.tg"
    path.write_text(
        "fn f(a, n) { s = a; for i in range(n) { s = sin(s)*a + 0.3 }; return s }\n"
        "var x = 0.7; y = f(x, 5000000) + f(x*0.9, 10000000); output y"
    )
    command = [*COMMAND, "eval", str(path), "--mode", "reverse", "--max-memory"]
    found = [
        subprocess.run([*command, memory], capture_output=True, text=True, timeout=240)
        for memory in ("180M", "2G")
    ]
    assert [done.returncode for done in found] == [0, 0], found[0].stderr
    assert found[0].stdout == found[1].stdout


def test_an_ascii_terminal_gets_escapes() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "eval", "-e", "x**2", "--set", "x=3"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0
    assert "\\u2202result/\\u2202x" in done.stdout


def test_an_internal_error_asks_for_a_report() -> None:
    code = "import sys, gradcli.cli.ops as ops; ops.find = None; from gradcli.cli import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "ops", "sin"], capture_output=True, text=True
    )
    assert done.returncode == 70
    assert "please report" in done.stderr
    assert "Traceback" not in done.stderr


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a person sees: the command runs on a pseudo-terminal."""
    main, child = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", **environment}
    if "NO_COLOR" not in environment:
        variables.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=child, stdout=child, stderr=child, env=variables
    )
    os.close(child)
    seen = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(main)
    process.wait()
    return seen.decode()


def test_colour_is_for_terminals() -> None:
    assert "\x1b[" in on_a_terminal("eval", "-e", "1 + 1")
    assert "\x1b[1;31merror" in on_a_terminal("eval", "-e", "1 +")
    assert "\x1b[" not in on_a_terminal("eval", "-e", "1 +", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal("eval", "-e", "1 +", TERM="dumb")
    assert "\x1b[" not in on_a_terminal("eval", "-e", "1 + 1", "--color", "never")


def test_colour_on_demand() -> None:
    done = subprocess.run(
        [*COMMAND, "eval", "-e", "1 +", "--color", "always"], capture_output=True, text=True
    )
    assert "\x1b[1;31merror" in done.stderr
    assert (
        "\x1b["
        not in subprocess.run(
            [*COMMAND, "eval", "-e", "1 +"], capture_output=True, text=True
        ).stderr
    )


def test_a_program_cannot_drive_the_terminal() -> None:
    seen = on_a_terminal("eval", "-e", 'print "\\u{1b}]0;owned\\u{7}"', "--color", "never")
    assert "\x1b]" not in seen


def test_completion() -> None:
    environment = {
        **os.environ,
        "_GRADCLI_COMPLETE": "complete_bash",
        "COMP_WORDS": "gradcli ev",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["eval"]
    environment |= {"COMP_WORDS": "gradcli eval --form", "COMP_CWORD": "2"}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment)
    assert "--format" in done.stdout.split()
