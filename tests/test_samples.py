"""Every program in samples/ runs without an error and keeps what it says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gradcli

ROOT = Path(__file__).parent.parent
SAMPLES = sorted((ROOT / "samples").rglob("*.tg"))


@pytest.mark.parametrize(
    "path", SAMPLES, ids=lambda path: path.relative_to(ROOT / "samples").as_posix()
)
def test_sample(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# "), "a sample begins with what it shows"
    evaluation = gradcli.load(path).run()
    assert evaluation.expectations
    assert [(e.line, e.message) for e in evaluation.expectations if not e.passed] == []
    assert evaluation.exit_code == 0


def test_sample_on_the_command_line() -> None:
    command = [sys.executable, "-m", "gradcli", "eval", "samples/rosenbrock.tg"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "f        24.2\n∂f/∂x    [-215.6  -88.]\n"
    assert (done.stderr, done.returncode) == ("", 0)
