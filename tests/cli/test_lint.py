"""`gradcli lint`: what it prints, its exit codes, and what --fix writes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema

Run = Callable[..., Any]
DATA = Path(__file__).parents[1] / "data"
PROGRAM = "var x = [3.0, 4.0]\ne = 2.0\noutput y = sqrt(sum(x**2)) * e\n"


@pytest.fixture(autouse=True)
def _program(tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text(PROGRAM)


def test_text(gradcli: Run) -> None:
    result = gradcli("lint a.tg")
    assert (result.code, result.err) == (1, "")
    assert result.out == (
        "warning[W403]: `e` hides the constant of this name\n"
        "  --> a.tg:2:1\n"
        "   |\n"
        " 2 | e = 2.0\n"
        "   | ^\n"
        "   = help: choose another name\n"
        "warning[W414]: `sqrt(sum(x**2))` overflows, and has no gradient at 0\n"
        "  --> a.tg:3:12\n"
        "   |\n"
        " 3 | output y = sqrt(sum(x**2)) * e\n"
        "   |            ^^^^^^^^^^^^^^^\n"
        "   = help: write `norm(x)`\n"
        "2 findings in 1 program, 1 with a fix (--fix)\n"
    )


def test_nothing_found(gradcli: Run) -> None:
    result = gradcli("lint -e 'var x = 2.0; output x**2'")
    assert (result.code, result.out) == (0, "0 findings in 1 program\n")


def test_a_program_with_errors(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tg").write_text("y = z\n")
    result = gradcli("lint a.tg b.tg nowhere.tg")
    assert result.code == 3
    assert "error[E2" in result.out
    assert result.out.endswith(
        "2 findings in 3 programs, 1 with a fix (--fix), 2 programs with errors\n"
    )


def test_select_and_ignore(gradcli: Run) -> None:
    assert gradcli("lint a.tg --select W414").out.count("warning[") == 1
    assert gradcli("lint a.tg --select W41,w403").out.count("warning[") == 2
    assert gradcli("lint a.tg --ignore W403 --ignore W4").code == 0
    wrong = gradcli("lint a.tg --select W499")
    assert (wrong.code, wrong.out) == (2, "")
    assert "--select: no warning is `W499`" in wrong.err


def test_settings_of_a_project(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text('[lint]\nignore = ["W403"]\n')
    assert gradcli("lint a.tg").out.count("warning[") == 1


def test_fix(gradcli: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.tg"
    file.chmod(0o640)
    result = gradcli("lint . --fix")
    assert result.code == 1
    assert result.out.endswith("1 finding in 1 program, 1 fixed\n")
    assert file.read_text() == PROGRAM.replace("sqrt(sum(x**2))", "norm(x)")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    for where in ("-", "-e x**2"):
        assert "name them" in gradcli(f"lint {where} --fix").err


def test_formats(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tg").write_text("y = z\n")
    found = json.loads(gradcli("lint a.tg b.tg --format json").out)
    assert [answer["file"] for answer in found] == ["a.tg", "b.tg"]
    assert found[0]["diagnostics"][1]["fix"] == {
        "line": 3,
        "column": 12,
        "end_line": 3,
        "end_column": 27,
        "text": "norm(x)",
    }
    sarif = json.loads(gradcli("lint a.tg b.tg --format sarif").out)
    jsonschema.validate(sarif, json.loads((DATA / "sarif-2.1.0-rtm.5.json").read_text()))
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]][:2] == ["W403", "W414"]
    junit = gradcli("lint a.tg b.tg --format junit").out
    xmlschema.XMLSchema(str(DATA / "junit-10.xsd")).validate(junit)
    root = ElementTree.fromstring(junit)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "1")
    github = gradcli("lint a.tg --format github").out.splitlines()
    assert github[0].startswith("::warning file=a.tg,line=2,col=1,title=W403::`e` hides")
