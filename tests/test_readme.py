"""The README's console blocks are run and have to print what it says; its Python blocks are run too."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gradcli
from gradcli.ops.registry import REGISTERED

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[tuple[str, str]]:
    """Each command of a console block, and what stands below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.mark.parametrize(("command", "output"), commands())
def test_console(command: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "gradcli").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli "$@"\n')
    (tmp_path / "gradcli").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout + done.stderr == output


def test_python() -> None:
    """The blocks that use gradcli, one after the other: names go from one to the next."""
    used = [block for block in blocks("python") if "gradcli" in block]
    assert len(used) >= 2
    exec(compile("\n".join(used), "README.md", "exec"), {})


def test_the_guide_to_python() -> None:
    """Every example of docs/python.md gives what stands below it."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(test.examples) >= 40
    said: list[str] = []
    try:
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    finally:
        for name in list(REGISTERED):
            gradcli.unregister(name)
    assert not said, "".join(said)


def test_settings_are_valid() -> None:
    for block in blocks("toml"):
        assert tomllib.loads(block)["tool"]["gradcli"]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_changelog_knows_this_version() -> None:
    headings = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert gradcli.__version__ in headings or headings[0] == "Unreleased"
