"""The documentation: its guides are run, and it builds as a site without a warning."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .shell import commands, run_guide

ROOT = Path(__file__).parents[1]
# Pages whose programs and commands are gone through in one folder; more of them in test_readme.py.
GUIDES = {"index.md": 2, "tutorial.md": 25, "ci.md": 4, "pipelines.md": 8, "answers.md": 1}
needs_mkdocs = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None,
    reason="mkdocs-material isn't installed: it comes with the extra `docs`",
)


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_shows_what_happens(name: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert len(commands(text)) >= GUIDES[name]
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    assert run_guide(text, tmp_path / "work", tmp_path / "bin") == []


def test_what_a_guide_gets_wrong_is_found(tmp_path: Path) -> None:
    page = '```tg title="a.tg"\ny = 3.0\n```\n\n```console\n$ gradcli eval a.tg\ny    4.0\n```\n'
    assert run_guide(page, tmp_path, tmp_path) == ["$ gradcli eval a.tg\ny    3.0\n"]


# ---- the site ------------------------------------------------------------------------------------


def build(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True)


@needs_mkdocs
def test_it_builds_strictly(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    for name in pages:
        assert (tmp_path / "site" / name.removesuffix(".md") / "index.html").is_file()
    architecture = (tmp_path / "site" / "architecture" / "index.html").read_text("utf-8")
    assert "<td>tasks</td>" in architecture  # a link out of docs, as text
    assert '"../gradcli' not in architecture
    assert '<a href="../tidy/' in (tmp_path / "site" / "editors" / "index.html").read_text("utf-8")
    assert "fonts.g" not in architecture
    tutorial = (tmp_path / "site" / "tutorial" / "index.html").read_text("utf-8")
    assert '<span class="k">var</span>' in tutorial  # coloured
    assert 'data-md-component="search"' in tutorial
    for page in ("tutorial", "builtins"):
        text = (tmp_path / "site" / page / "index.html").read_text("utf-8")
        pictures = re.findall(r'src="\.\./(pictures/[\w/]+\.svg)"', text)
        assert len(pictures) == len(set(pictures)) >= {"tutorial": 2, "builtins": 60}[page]
        for picture in pictures:
            lines = (tmp_path / "site" / picture).read_text("utf-8")
            assert lines.count("<polyline") + lines.count("<path") > 1, picture


@needs_mkdocs
@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        ("index.md", "\n[nothing](nowhere.md)\n", "nowhere.md"),
        ("index.md", "\n[nothing](tutorial.md#nowhere)\n", "nowhere"),
        ("unlisted.md", "# A page\n", "unlisted.md"),
    ],
)
def test_what_is_wrong_ends_the_build(name: str, text: str, warning: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / name).open("a", encoding="utf-8") as page:
        page.write(text)
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert warning in done.stdout + done.stderr
