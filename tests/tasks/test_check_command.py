"""`check --against-command`: gradients from a program of the user's, in the languages of
docs/check.md."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gradcli.cli import run

DOCS = Path(__file__).parent.parent.parent / "docs" / "check.md"
TEXT = DOCS.read_text(encoding="utf-8")
STAND_IN = Path(__file__).parent / "torch_stand_in.py"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


(MODEL,) = blocks("tg")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.tg").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(folder: Path, text: str) -> str:
    """A command that runs this Python program."""
    (folder / "gradient.py").write_text(text)
    return f"{sys.executable} gradient.py"


def checked(command: str, *options: str) -> int:
    return run(
        ["check", "model.tg", "--against-command", command, "--methods", "complex", *options]
    )


def verdicts(
    capsys: pytest.CaptureFixture[str], command: str, *options: str
) -> dict[str, set[str]]:
    """What is said of each gradient and value that was given."""
    checked(command, "--format", "json", *options)
    found: dict[str, set[str]] = {}
    for gradient in json.loads(capsys.readouterr().out)["gradients"]:
        for method in gradient["methods"]:
            if method["method"] == "against":
                found.setdefault(gradient["variable"], set()).add(method["verdict"])
    return found


ALL_AGREE = {"": {"agree"}, "x": {"agree"}, "k": {"agree"}}

# ---- languages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "compiler", "name"),
    [
        ("c", "gcc", "gradient.c"),
        ("cpp", "g++", "gradient.cpp"),
        ("fortran", "gfortran", "gradient.f90"),
    ],
)
def test_a_compiled_program(
    folder: Path, capsys: pytest.CaptureFixture[str], language: str, compiler: str, name: str
) -> None:
    (source,) = blocks(language)
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (folder / name).write_text(source)
    subprocess.run([compiler, "-Wall", "-Werror", name, "-o", "gradient"], check=True)
    assert verdicts(capsys, "./gradient", "--points", "4") == ALL_AGREE
    assert checked("./gradient", "--points", "4") == 0


def test_numpy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = [block for block in blocks("python") if "numpy" in block]
    assert verdicts(capsys, python(folder, source), "--points", "2") == ALL_AGREE


def test_pytorch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where PyTorch isn't there, by a stand-in that has the few functions that the lines use."""
    (source,) = [block for block in blocks("python") if "torch" in block]
    if importlib.util.find_spec("torch") is None:
        shutil.copy(STAND_IN, folder / "torch.py")
    assert verdicts(capsys, python(folder, source)) == ALL_AGREE


def test_julia_is_well_formed() -> None:
    """There is no Julia here to run it: its brackets and quotes pair up, and it reads and writes
    what the command does."""
    (source,) = blocks("julia")
    bare = re.sub(r'"[^"]*"', '""', source)
    for opening, closing in ("()", "[]"):
        assert bare.count(opening) == bare.count(closing)
    assert {"value", "gradient", "x", "k"} <= set(re.findall(r'"(\w+)"', source))
    assert "read(stdin, String)" in source


# ---- what is handed over -------------------------------------------------------------------------

ECHO = "import sys; open('given.json', 'a').write(sys.stdin.read() + '\\n'); "


def test_it_gets_every_variable_at_every_point(folder: Path) -> None:
    (folder / "model.tg").write_text(
        "import nn\nvar x = [[1.0, 2.0]] in (0.5, 3.0)\nfrozen s = 2.0\nconst n = 3\nvar z = 1.0 + 2.0j\nlayer = nn.Dense(2, 1)\n"
        "y = sum(layer(x)) * s * n + real(z)"
    )
    checked(python(folder, ECHO + 'print("{}")'), "--points", "2")
    given = [json.loads(line) for line in (folder / "given.json").read_text().splitlines()]
    assert len(given) == 1  # it gave no gradient, so there is nothing to ask at the points
    assert given[0] | {"layer.w": None} == {
        "x": [[1.0, 2.0]], "s": 2.0, "n": 3, "z": {"re": 1.0, "im": 2.0}, "layer.w": None,
        "layer.b": [0.0],
    }  # fmt: skip


def test_the_points_are_those_of_the_check(folder: Path) -> None:
    (source,) = [block for block in blocks("python") if "numpy" in block]
    kept = "import io, sys\ntext = sys.stdin.read()\nopen('given.json', 'a').write(text + '\\n')\nsys.stdin = io.StringIO(text)\n"
    assert checked(python(folder, kept + source), "--points", "3", "--seed", "7") == 0
    points = [json.loads(line) for line in (folder / "given.json").read_text().splitlines()]
    assert points[0] == {"x": [1.0, 2.0], "k": 3.0}
    assert len({point["k"] for point in points}) == 4


# ---- wrong gradients, and commands that fail -----------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"value": 27.0, "gradient": {"x": [9.0, 36.5], "k": 9.0}}', "what is given is 36.5"),
        ('{"value": 28.0, "gradient": {"x": [9.0, 36.0], "k": 9.0}}', "f isn't what was given"),
        ('{"gradient": {"x": [9.0, 36.0]}}', "`k` is not in the output of"),
        ('{"x": [9.0], "k": 9.0}', "x[1] is not in the command"),
        ('{"gradients": {"f": {"x": [-9.0, -36.0], "k": 9.0}}}', "all signs are turned"),
    ],
)
def test_a_wrong_gradient_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], answer: str, said: str
) -> None:
    assert checked(python(folder, f"print({answer!r})")) == 1
    out = capsys.readouterr().out
    assert "E603" in out
    assert said in out


def test_a_gradient_that_is_wrong_elsewhere_is_found_at_a_point(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = [block for block in blocks("python") if "numpy" in block]
    command = python(folder, source.replace("3 * k * x**2", "(3 if x[0] == 1 else 2) * k * x**2"))
    assert checked(command) == 0
    assert checked(command, "--points", "2") == 1
    assert "∂f/∂x at point 1 isn't what was given" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("import sys; sys.exit('no licence')", "no licence"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "was ended by signal 11 (SIGSEGV)",
        ),
        ("print('hello')", "it printed hello"),
        ("pass", "it printed nothing"),
        ("print('[1.0]')", "expected a mapping"),
        ("print('{}')", "there is no gradient of `model.tg`"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)))", "didn't answer with gradients"),
        ("print('\\x1b[2J::error::no')", "␛[2J"),
    ],
)
def test_a_command_that_fails_is_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], program: str, said: str
) -> None:
    assert checked(python(folder, program)) == 2
    out, err = capsys.readouterr()
    assert "error[E613]" in err
    assert said in err
    assert "E603" not in out + err
    assert "\x1b" not in out + err


def test_a_command_that_fails_at_a_point_says_at_which(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = [block for block in blocks("python") if "numpy" in block]
    command = python(
        folder, source.replace("print(", "x[0] == 1.0 or sys.exit('out of range')\nprint(", 1)
    )
    assert checked(command) == 0
    assert checked(command, "--points", "2") == 2
    err = capsys.readouterr().err
    assert "ended with exit code 1, at point 1 (x = [" in err
    assert "out of range" in err


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("./nothing", 2, "cannot run `./nothing`: No such file or directory"),
        ("./model.tg", 2, "cannot run `./model.tg`: Permission denied"),
        ("", 2, "no program"),
        ("echo 'a", 2, "quotes come in pairs"),
    ],
)
def test_a_command_that_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, said: str
) -> None:
    assert checked(command) == code
    assert said in capsys.readouterr().err


def test_it_is_run_without_a_shell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked("echo {} ; touch hacked")
    checked("echo $(touch hacked)")
    assert not (folder / "hacked").exists()


def has_ended(pid: int, patience: float = 240.0) -> bool:
    """Whether a process that was killed has ended; that takes a moment."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = "import subprocess, sys, time\n"
    child += "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    child += "open('pids', 'w').write(str(inner.pid))\ntime.sleep(600)"
    assert checked(python(folder, child), "--command-timeout", "3") == 4
    assert "took longer than 3 s" in capsys.readouterr().err
    inner = int((folder / "pids").read_text())
    assert has_ended(inner)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_without_end_takes_no_memory_without_end(
    folder: Path, capsys: pytest.CaptureFixture[str], stream: str
) -> None:
    child = "import subprocess, sys\n"
    child += "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    child += f"open('pids', 'w').write(str(inner.pid))\nfor _ in range({10**9 if stream == 'stdout' else 3000}):\n"
    child += f"    sys.{stream}.write('0' * 2**16)\ninner.kill()\nsys.exit('at the end')"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = checked(python(folder, child), "--command-timeout", "600")
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    err = capsys.readouterr().err
    if stream == "stdout":
        assert (code, "error[E614]" in err, "printed more than 64 MiB" in err) == (4, True, True)
    else:
        assert (code, "at the end" in err) == (2, True)
    assert taken < 150_000  # KiB
    inner = int((folder / "pids").read_text())
    assert has_ended(inner)


def test_a_command_needs_to_read_nothing_and_may_close_its_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "model.tg").write_text("var x = zeros(100000)\ny = sum(x)")
    answer = "print('{\"x\": [' + ', '.join(['1.0'] * 100000) + ']}')"
    assert checked(python(folder, answer)) == 0
    assert (
        checked(
            python(
                folder, f"import os, sys\n{answer}\nsys.stdout.flush(); os.close(1); os.close(2)"
            )
        )
        == 0
    )


def test_an_interrupted_check_leaves_no_command_behind(folder: Path) -> None:
    command = python(
        folder, "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    arguments = [
        sys.executable,
        "-m",
        "gradcli",
        "check",
        "model.tg",
        "--against-command",
        command,
        "--methods",
        "complex",
    ]
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy()
    )
    for _ in range(2400):
        if (folder / "pid").exists() and (folder / "pid").read_text():
            break
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert not psutil.pid_exists(int((folder / "pid").read_text()))


def test_an_answer_of_eval_will_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = "var x = 2.0 in (1.0, 3.0)\noutput f = x**2\noutput g = x**3\n"
    (folder / "model.tg").write_text(two)
    (folder / "same.tg").write_text(two)
    wrapper = """import subprocess, sys
open("i.json", "w").write(sys.stdin.read())
subprocess.run([sys.executable, "-m", "gradcli", "eval", "same.tg", "--inputs", "i.json", "--format", "json"], check=True)
"""
    assert checked(python(folder, wrapper), "--points", "2") == 0
    assert "4 passed, 0 failed" in capsys.readouterr().out
