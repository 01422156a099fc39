"""What a release needs: one version everywhere, and an sdist and a wheel that an index takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import gradcli

ROOT = Path(__file__).parent.parent
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

Release = tuple[str, str]  # a version and its date


def releases(changelog: str) -> list[Release]:
    """The released sections of a changelog, newest first."""
    return re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", changelog, re.M)


def disagreements(version: str, changelog: str, citation: str) -> list[str]:
    """What of a changelog and a citation isn't about this version; [] where all agree."""
    headings = re.findall(r"^## (.*)", changelog, re.M)
    found = releases(changelog)
    wrong = [
        heading
        for heading in headings
        if heading != "[Unreleased]"
        and not any(heading == f"[{number}] - {date}" for number, date in found)
    ]
    if headings[:1] != ["[Unreleased]"]:
        wrong.append("the changelog doesn't begin with Unreleased")
    if found and found[0][0] != version:
        wrong.append(f"the newest section is {found[0][0]}")
    cited = dict(re.findall(r"^(version|date-released): *\"?([^\"\n]*)", citation, re.M))
    if cited.get("version") != version:
        wrong.append(f"the citation is of {cited.get('version')}")
    date = found[0][1] if found else None
    if cited.get("date-released") != date:
        wrong.append(f"the citation is of {cited.get('date-released')}, the section of {date}")
    return wrong


def test_all_agree_about_the_version() -> None:
    assert disagreements(gradcli.__version__, CHANGELOG, CITATION) == []
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "gradcli/__init__.py"


@pytest.mark.parametrize(
    ("changelog", "citation"),
    [
        ("## [Unreleased]\n## [0.1.0] - 2026-01-02\n", "version: 0.1.0\n"),
        ("## [Unreleased]\n", "version: 0.1.0\ndate-released: 2026-01-02\n"),
        ("## [Unreleased]\n## [0.1.0] - 2026-01-02\n", "version: 0.1.0\ndate-released: 2026-01-03"),
        ("## [Unreleased]\n## [0.2.0] - 2026-01-02\n", "version: 0.1.0\ndate-released: 2026-01-02"),
        ("## [Unreleased]\n", "version: 0.2.0\n"),
        ("## [Unreleased]\n## 0.1.0\n", "version: 0.1.0\n"),
        ("## [0.1.0] - 2026-01-02\n", "version: 0.1.0\ndate-released: 2026-01-02\n"),
    ],
)
def test_a_disagreement_is_found(changelog: str, citation: str) -> None:
    assert disagreements("0.1.0", changelog, citation)


def test_a_release_agrees() -> None:
    changelog = "## [Unreleased]\n## [0.2.0] - 2026-01-02\n## [0.1.0] - 2025-01-02\n"
    assert disagreements("0.2.0", changelog, "version: 0.2.0\ndate-released: 2026-01-02\n") == []


def test_the_citation_is_complete() -> None:
    """It has what the format requires (Citation File Format 1.2.0)."""
    keys = set(re.findall(r"^([\w-]+):", CITATION, re.M))
    assert {"cff-version", "message", "title", "authors"} <= keys
    assert f"license: {PROJECT['project']['license']}" in CITATION


# ---- what is uploaded ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of the tracked files, and the wheel that is built from the sdist."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout: CI builds before it copies the tests")
    clone, target = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    _build("sdist", clone, target)
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(next(target.glob("*.tar.gz"))) as archive:
        archive.extractall(unpacked, filter="data")
    _build("wheel", next(unpacked.iterdir()), target)
    return target


def _build(what: str, folder: Path, target: Path) -> None:
    code = f"import sys; from hatchling.build import build_{what}; build_{what}(sys.argv[1])"
    arguments = [sys.executable, "-c", code, str(target)]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_sdist_holds_the_checkout(dist: Path) -> None:
    """All tracked files but what only a checkout needs."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert tracked - held == {".git-blame-ignore-revs", ".pre-commit-config.yaml"}
    assert held - tracked == {"PKG-INFO"}


def test_both_have_the_version_in_their_name(dist: Path) -> None:
    names = sorted(path.name for path in dist.iterdir())
    version = gradcli.__version__
    assert names == [f"gradcli-{version}-py3-none-any.whl", f"gradcli-{version}.tar.gz"]


def test_an_index_takes_both(dist: Path) -> None:
    pytest.importorskip("twine", reason="twine isn't installed; .ci/run has it")
    files = [str(path) for path in dist.iterdir()]
    arguments = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
