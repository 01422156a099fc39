"""The pytest plugin, by pytest itself in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parent.parent

PROGRAM = """fn square(x) { return x**2 } backward (dy) { return 3 * x * dy }
var x = 2.0
var k = 3.0
y = square(x) + k
expect y == 7.0
expect y == 8.0
if x < 0.0 {
    expect y == 1.0
}
output y
"""


def pytest_on(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "gradcli.pytest_plugin",
        "-rA",
        *arguments,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "200",
    }
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_items_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "model.tg").write_text(PROGRAM)
    done = pytest_on(tmp_path)
    said = done.stdout
    assert done.returncode == 1
    for line in (
        "PASSED model.tg::expect:5",
        "FAILED model.tg::expect:6",
        "PASSED model.tg::d y/d k",
        "FAILED model.tg::d y/d x",
        "not on the path that was taken",
    ):
        assert line in said, said
    assert "--> model.tg:6:8" in said  # the expectation's place
    assert "--> model.tg:4:5" in said  # that of the wrong operation
    assert "the rule of `square` gives 1.5 times" in said
    assert "Traceback" not in said
    assert "2 failed, 2 passed, 1 skipped" in said


def test_programs_that_do_not_run(tmp_path: Path) -> None:
    (tmp_path / "broken.tg").write_text("var x = 1.0\ny = x[")
    (tmp_path / "needs_input.tg").write_text("var x\ny = x**2")
    (tmp_path / "fine.tg").write_text("x = 1.0\nexpect x == 1.0")
    said = pytest_on(tmp_path).stdout
    assert "--> broken.tg:2:" in said
    assert "`x` has no value" in said
    assert "1 failed, 1 passed, 1 skipped" in said


def test_the_samples_are_collected() -> None:
    installed = any(
        entry.value == "gradcli.pytest_plugin" for entry in entry_points(group="pytest11")
    )
    command = ["-p", "no:cacheprovider", "samples/rosenbrock.tg", "-q", "--co"]
    command += [] if installed else ["-p", "gradcli.pytest_plugin"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[:3] == [
        "samples/rosenbrock.tg::expect:5",
        "samples/rosenbrock.tg::expect:6",
        "samples/rosenbrock.tg::d f/d x",
    ]


def test_the_plugin_is_an_entry_point() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gradcli": "gradcli.pytest_plugin"}


def test_loading_it_loads_nothing_heavy() -> None:
    code = "import sys, pytest; before = set(sys.modules); import gradcli.pytest_plugin; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert set(done.stdout.split()) <= {"gradcli", "gradcli.pytest_plugin"}


def test_nothing_that_fails_a_check_is_passed_over(tmp_path: Path) -> None:
    """What has no item of its own fails those of its program, and a program of which nothing is
    verified fails."""
    (tmp_path / "number.tg").write_text("var x = 2\ny = x**2\noutput y")
    (tmp_path / "prints.tg").write_text("var x = 2.0\nprint x")
    (tmp_path / "nan.tg").write_text("var x = 2.0\noutput y = x**2\noutput z = int64(x) / 0")
    (tmp_path / "library.tg").write_text("fn f(x) = x**2")
    said = pytest_on(tmp_path).stdout
    assert "nothing was verified: `x` is the int 2: write `2.0`" in said
    assert "nothing was verified: there is no output" in said
    assert "z can't be verified: `z` is inf" in said
    assert "it declares no variable" in said
    assert "3 failed, 1 skipped" in said
