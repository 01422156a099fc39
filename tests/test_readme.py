"""The console blocks of the README and of the overview are run and have to print what stands there;
their Python blocks are run, too."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import pytest

import gradcli
from gradcli.ops.registry import REGISTERED

from .shell import commands, shell, without_rounding

ROOT = Path(__file__).parent.parent
README, OVERVIEW = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/overview.md")
)


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 200


@pytest.mark.parametrize(
    ("command", "output"), {**dict(commands(OVERVIEW)), **dict(commands(README))}.items()
)
def test_console(command: str, output: str, tmp_path: Path) -> None:
    assert without_rounding(shell(command, ROOT, tmp_path)) == without_rounding(output)


def test_the_guide_to_batch(tmp_path: Path) -> None:
    """Its blocks, one after the other in one folder."""
    found = commands((ROOT / "docs" / "batch.md").read_text(encoding="utf-8"))
    assert len(found) >= 10
    for command, output in found:
        found_now = shell(command, tmp_path, tmp_path)
        assert without_rounding(found_now) == without_rounding(output), command


def test_the_guide_to_traces(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "trace.md").read_text(encoding="utf-8")
    (tmp_path / "newton.tg").write_text(text.partition("```tg\n")[2].partition("```")[0])
    found = commands(text)
    assert len(found) >= 3
    for command, output in found:
        assert shell(command, tmp_path, tmp_path) == output, command


def test_the_guide_to_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    found = commands((ROOT / "docs" / "plot.md").read_text(encoding="utf-8"))
    assert len(found) >= 3
    for command, output in found:
        assert shell(command, ROOT, tmp_path) == output, command


def test_the_guide_to_check(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    (tmp_path / "model.tg").write_text(text.partition("```tg\n")[2].partition("```")[0])
    found = commands(text)
    assert len(found) >= 4
    for command, output in found:
        assert shell(command, tmp_path, tmp_path) == output, command


def test_the_guide_to_style(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tidy.md").read_text(encoding="utf-8")
    (tmp_path / "model.tg").write_text(text.partition("```tg\n")[2].partition("```")[0])
    found = commands(text)
    assert len(found) >= 4
    for command, output in found:
        assert shell(command, tmp_path, tmp_path) == output, command


@pytest.mark.parametrize("text", [README, OVERVIEW], ids=["README", "overview"])
def test_python(text: str) -> None:
    """The blocks that use gradcli, one after the other: names go from one to the next."""
    used = [block for block in blocks(text, "python") if "gradcli" in block]
    assert len(used) >= 2
    exec(compile("\n".join(used), "page.md", "exec"), {})


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
    for block in blocks(OVERVIEW, "toml"):
        assert tomllib.loads(block)["tool"]["gradcli"]


def located(path: Path) -> Path:
    """Where a file of the repository is: the package that is tested may be installed elsewhere."""
    parts = path.resolve().relative_to(ROOT.resolve()).parts
    return Path(gradcli.__file__).parent.joinpath(*parts[1:]) if parts[:1] == ("gradcli",) else path


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page in links."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)", text, re.M)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        linked = page.parent / target if target else page
        assert located(linked).exists(), target
        assert not anchor or anchor in anchors(linked.read_text(encoding="utf-8")), (
            f"{target}#{anchor}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    """A path of this repository in backquotes (`gradcli/ops`) is one that it has."""
    for path in re.findall(
        r"`((?:gradcli|docs|tests|grammar|benchmarks|samples)/[\w./-]*)`",
        page.read_text(encoding="utf-8"),
    ):
        assert located(ROOT / path).exists(), path


def test_the_changelog_knows_this_version() -> None:
    headings = re.findall(
        r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )
    assert gradcli.__version__ in headings or headings[0] == "Unreleased"
