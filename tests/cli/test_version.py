"""`gradcli --version --verbose`: the versions of what gradcli uses, read without importing it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest

import gradcli as package

Run = Callable[..., Any]


def lines(out: str) -> dict[str, str]:
    """The version that stands behind each name."""
    return {
        name: text.strip() for name, _, text in (line.partition(" ") for line in out.splitlines())
    }


def test_all_that_is_required_has_its_version(gradcli: Run) -> None:
    found = lines(gradcli("--version", "--verbose").out)
    assert found["gradcli"] == package.__version__
    assert found["Python"].startswith("3.")
    required = [r for r in requires("gradcli") or [] if "extra ==" not in r]
    names = [re.split(r"[^\w.-]", requirement)[0] for requirement in required]
    assert {"numpy", "scipy", "sympy", "typer"} <= set(names)
    assert {name: found[name] for name in names} == {name: version(name) for name in names}


def test_extras_have_theirs_or_are_missing(gradcli: Run) -> None:
    found = lines(gradcli("-v", "--version").out)
    assert found["pyarrow"] == version("pyarrow")
    assert found["lark"] == version("lark")
    assert not {"pytest", "mypy", "hypothesis", "ruff"} & found.keys()
    assert any(name.startswith("cupy") for name in found)


def install(folder: Path, name: str, version: str, entry_points: str = "") -> None:
    """The metadata of a package, as pip leaves it."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_packages_that_cannot_be_imported(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CuPy for another CUDA, and a package that adds builtins: neither has any code here."""
    install(tmp_path, "cupy_cuda99x", "13.9.0")
    install(tmp_path, "beams", "1.2", "[gradcli.ops]\nbeams = beams:register\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = lines(gradcli("--version", "--verbose").out)
    assert found["cupy-cuda99x"] == "13.9.0"
    assert "cupy-cuda12x" not in found or "not installed" not in found["cupy-cuda12x"]
    assert found["beams"] == "1.2 (adds builtins)"


@pytest.mark.parametrize("arguments", [("--version",), ("--version", "--version")])
def test_the_short_answer(gradcli: Run, arguments: tuple[str, ...]) -> None:
    assert gradcli(*arguments).out == f"gradcli {package.__version__}\n"


def test_a_command_besides_is_not_run(gradcli: Run) -> None:
    answer = gradcli("--version", "eval", "-e", "1.0")
    assert (answer.code, answer.out) == (0, f"gradcli {package.__version__}\n")


def test_verbose_alone_asks_for_nothing(gradcli: Run) -> None:
    assert gradcli("-v").code == 2
