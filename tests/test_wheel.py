"""The wheel holds what a user needs: built, put into an empty folder, and run from another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(
    not (ROOT / "gradcli").is_dir(),
    reason="the tests stand beside no checkout: CI tests the wheel itself",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from a copy of the tracked files, so that nothing that only this checkout has
    gets into it."""
    clone = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    target = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)], cwd=clone, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.splitlines()[-1]


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "gradcli"], cwd=ROOT, capture_output=True, text=True
    ).stdout.splitlines()
    assert {name for name in tracked if (ROOT / name).is_file()} <= names
    assert {
        "gradcli/py.typed",
        "gradcli/lang/table.json",
        "gradcli/grammar/gradcli.lark",
        "gradcli/library/nn.tg",
    } <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_it_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    installed, elsewhere = tmp_path / "site", tmp_path / "work"
    elsewhere.mkdir()
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    for code, program, expected in (
        ("import gradcli; print(gradcli.__file__)", "", str(installed)),
        ("from gradcli.cli import main; main()", "var x = 3.0; y = x**2", "∂y/∂x    6.0"),
        (
            "from gradcli.cli import main; main()",
            "import nn; m = nn.LayerNorm(2); y = sum(m([1., 3.]))",
            "∂y/∂m.bias",
        ),
    ):
        arguments = [sys.executable, "-c", code, "eval", "-e", program]
        done = subprocess.run(
            arguments, cwd=elsewhere, env=environment, capture_output=True, text=True
        )
        assert expected in done.stdout, done.stderr
