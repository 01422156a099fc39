"""Settings files: what they set, what they may not, and which are passed over."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli.app import COMMANDS, load_command
from gradcli.cli.settings import ALLOWED

Run = Callable[..., Any]


def test_settings_of_a_project(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gradcli]\nformat = "json"\n[tool.gradcli.eval]\nhessian-blocks = true\n'
    )
    assert gradcli("eval -e x*x --set x=3").json["hessians"] == {"result": {"x": 2.0}}
    assert json.loads(gradcli("ops tanh").out)["name"] == "tanh"
    assert gradcli("ops tanh --format text").out.startswith("tanh(x)")


def test_a_setting_that_is_a_list_may_be_one_value(gradcli: Run, tmp_path: Path) -> None:
    for setting in ('"x,y"', '["x", "y"]'):
        (tmp_path / "gradcli.toml").write_text(f"[eval]\nwrt = {setting}\n")
        done = gradcli("eval -e x*y*z --set x=3 --set y=2 --set z=1 --format json")
        assert done.json["gradients"] == {"result": {"x": 2.0, "y": 3.0}}


ROWS = "batch -q -e 'var x; y = 2 * x'"


@pytest.mark.parametrize(
    ("setting", "command", "file", "begins"),
    [
        ('format = "json"', "eval -e 1+2 -o a.csv", "a.csv", "file,output"),
        ('format = "json"', "eval -e 1+2 -o a.TXT", "a.TXT", "result"),
        ('format = "json"', "eval -e 1+2 -o a.c", "a.c", "{"),  # which says no format of `eval`
        ('format = "text"', "trace -e x*2 --set x=1 -o a.dot", "a.dot", "digraph"),
        ('format = "text"', "check -q -e x*2 --set x=1 -o a.html", "a.html", "<!DOCTYPE html>"),
        ('format = "json"', "symbolic -e x**2 -o a.c", "a.c", "#include"),
        ('[symbolic]\nto = "latex"', "symbolic -e x**2 -o a.py", "a.py", "def result(x)"),
        ('[symbolic]\nto = "latex"', "symbolic -e x**2 -o a.txt", "a.txt", "result = x^{2}"),
        ('[batch]\nout-format = "jsonl"', f"{ROWS} --rows r.csv -o a.csv", "a.csv", "y,"),
        ('[batch]\nout-format = "jsonl"', f"{ROWS} --rows r.csv -o a", "a", '{"y"'),
        ('[batch]\nrows-format = "jsonl"', f"{ROWS} --rows r.csv -o a.csv", "a.csv", "y,"),
    ],
)
def test_the_name_of_a_file_wins_over_the_format_of_a_setting(
    gradcli: Run, tmp_path: Path, setting: str, command: str, file: str, begins: str
) -> None:
    (tmp_path / "gradcli.toml").write_text(f"{setting}\n")
    (tmp_path / "r.csv").write_text("x\n1\n")
    done = gradcli(command)
    assert done.code == 0, done.err
    assert (tmp_path / file).read_text().startswith(begins)


def test_a_format_that_a_name_overrules_is_not_told(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text('[eval]\nformat = "json"\n')
    assert "setting: format = json" in gradcli("eval -v -e 1+2").err
    assert "setting" not in gradcli("eval -v -e 1+2 -o a.csv").err


def test_settings_are_found_in_a_folder_above(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gradcli.toml").write_text('[ops]\nformat = "json"\n')
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nnever = 1\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "no settings of gradcli"\n')
    monkeypatch.chdir(inner)
    assert json.loads(gradcli("ops tanh").out)["name"] == "tanh"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("formt = 'json'", "did you mean `format`?"),
        ("[ops]\nformt = 'json'", "there is no setting `ops.formt`"),
        ("output = 'x.json'", "`output` can't be set"),
        ("not toml", "it isn't valid TOML"),
    ],
)
def test_wrong_settings(gradcli: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gradcli.toml").write_text(text)
    result = gradcli("ops tanh")
    assert result.code == 2
    assert message in result.err
    assert "gradcli.toml" in result.err


def test_a_wrong_value_in_the_settings(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text("format = 'jsn'")
    result = gradcli("ops tanh")
    assert result.code == 2
    assert "did you mean `json`?" in result.err


# ---- what a file may not set ---------------------------------------------------------------------

# Addresses, commands, files to read or write, limits upwards, warnings hidden, and all that lets
# `check` pass over something.
HARMFUL = """
    output report scheduler workers threads jobs block-rows repeat resume map keep reduce rows set inputs expr ignore-extra
    against against-command command-timeout methods allow-nonfinite quiet show schema traceback no-config help fix watch
"""
WEAKER = {
    "strict": [False, "true", 1],
    "inconclusive": ["pass"],
    "rtol": [1e-6, "1e-20", float("inf"), float("nan")],
    "atol": [1e-300, True, float("nan")],
    "no-strict": [True],
    **{
        key: [1]
        for key in ("dtype", "of", "wrt", "seed", "timeout", "max-steps", "max-memory", "methods")
    },
}

# What says for `diff` which differences count.
OF_DIFF = "of wrt no-grad dtype device seed ulps rtol atol"


def options_of(command: str) -> set[str]:
    return {
        opt[2:]
        for parameter in load_command(command).params
        for opt in parameter.opts
        if opt.startswith("--")
    } | {"help"}


def test_each_option_is_allowed_or_harmful() -> None:
    """A new option is for one of the two lists."""
    for command in COMMANDS:
        allowed = set(ALLOWED[command])
        assert allowed <= options_of(command)
        for key in options_of(command) - allowed:
            assert key in HARMFUL.split() or (command, key) in {
                ("check", key) for key in WEAKER
            } | {("diff", key) for key in OF_DIFF.split()} | {("symbolic", "timeout")}, (
                f"{command} --{key}"
            )


def toml(value: Any) -> str:
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan")


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (c, k)
        for c in COMMANDS
        for k in sorted(options_of(c))
        if k in HARMFUL.split() and k != "help"
    ],
)
def test_harmful_settings_are_refused(gradcli: Run, tmp_path: Path, command: str, key: str) -> None:
    for section in ("", f"[{command}]\n"):
        (tmp_path / "gradcli.toml").write_text(f"# a comment\n{section}{key} = 'x'\n")
        done = gradcli("ops tanh")
        assert (done.code, done.out) == (2, "")
        assert "can't be set" in done.err
        assert f"gradcli.toml:{3 if section else 2}:1" in done.err
        assert f"on the command line: `--{key}`" in done.err
        assert gradcli("ops tanh --no-config").code == 0


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WEAKER.items() for value in values]
)
def test_nothing_in_a_file_makes_check_weaker(
    gradcli: Run, tmp_path: Path, key: str, value: Any
) -> None:
    for section in ("", "[check]\n"):
        (tmp_path / "gradcli.toml").write_text(f"{section}{key} = {toml(value)}\n")
        done = gradcli("check -e x**2 --set x=2")
        assert (done.code, done.out) == (2, "")
        assert "error[E007]" in done.err


@pytest.mark.parametrize(
    "setting", ['precision = "a"', "dtype = 3", 'format = "xml"', "precision = 99"]
)
def test_a_value_that_an_option_does_not_take_is_an_error_of_the_file(
    gradcli: Run, tmp_path: Path, setting: str
) -> None:
    (tmp_path / "gradcli.toml").write_text(f"[eval]\n{setting}\n")
    done = gradcli("eval -e x**2 --set x=2")
    assert (done.code, done.out) == (2, "")
    assert f"gradcli.toml:2:1: invalid value for '--{setting.split()[0]}'" in done.err
    assert "error[E007]" in done.err
    on_the_line = gradcli("eval -e x**2 --set x=2 --mode sideways").err
    assert "error[E001]: invalid value for '--mode'" in on_the_line


@pytest.mark.parametrize("key", OF_DIFF.split())
def test_nothing_in_a_file_hides_a_difference(gradcli: Run, tmp_path: Path, key: str) -> None:
    (tmp_path / "gradcli.toml").write_text(f"[diff]\n{key} = 1\n")
    done = gradcli("diff -e x -e x*2 --set x=2")
    assert (done.code, done.out) == (2, "")
    assert "error[E007]" in done.err


def test_settings_may_make_check_stricter(gradcli: Run, tmp_path: Path) -> None:
    undecided = "check -e 'var x = 2.0; var n = 2; y = x**2; z = n*n; output y; output z'"
    assert gradcli(undecided).code == 0
    (tmp_path / "gradcli.toml").write_text(
        "[check]\nstrict = true\ninconclusive = 'fail'\nrtol = 1e-16\natol = 0\npoints = 2\n"
    )
    assert gradcli(undecided).code == 1
    assert gradcli("check -e 'var x = 2.0; y = x**2' --strict").code == 0


def test_a_limit_is_only_lowered(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text("[symbolic]\ntimeout = 5\n[eval]\nmax-steps = 10\n")
    assert gradcli("symbolic -e x**2").code == 0
    assert gradcli("eval -e 'var x = 1.0; for i in range(100) { x = x * 2.0 }; y = x'").code == 4
    (tmp_path / "gradcli.toml").write_text("[symbolic]\ntimeout = 11\n")
    assert "above 10 seconds" in gradcli("symbolic -e x**2").err


def test_a_setting_that_one_command_refuses_is_for_others(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text("dtype = 'float32'\n")
    done = gradcli("eval -e x --set x=1")
    assert "can't be set for `check`" in done.err
    assert "under `[eval]`" in done.err
    (tmp_path / "gradcli.toml").write_text("[eval]\ndtype = 'float32'\n")
    assert (
        gradcli("eval -e x --set x=1 --format json").json["outputs"]["result"]["dtype"] == "float32"
    )


# ---- which files are read ------------------------------------------------------------------------


def test_verbose_says_where_a_setting_comes_from(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.gradcli]\nprecision = 3\n[tool.gradcli.eval]\ndtype = 'float32'\n"
    )
    done = gradcli("eval -e x --set x=1 -v --precision 4")
    assert f"setting: dtype = float32 ({tmp_path / 'pyproject.toml'}:4:1)" in done.err
    assert "precision" not in done.err
    assert "setting" not in gradcli("eval -e x --set x=1").err
    assert "setting" not in gradcli("eval -e x --set x=1 -v --no-config").err


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_file_that_another_user_owns_is_passed_over(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gradcli.toml").write_text("format = 'json'\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'nothing of ours'\n")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    done = gradcli("ops tanh")
    assert done.out.startswith("tanh(x)")
    assert "warning[W007]" in done.err
    assert done.err.count("ignored: another user owns it") == 1
    assert gradcli("ops tanh --no-config").err == ""


def test_a_file_above_the_repository_is_passed_over(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gradcli.toml").write_text("format = 'json'\n")
    inner = tmp_path / "repository" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    monkeypatch.chdir(inner)
    done = gradcli("ops tanh")
    assert done.out.startswith("tanh(x)")
    assert f"{tmp_path / 'gradcli.toml'} is ignored: it is above the repository's root" in done.err
    (tmp_path / "repository" / "gradcli.toml").write_text("[ops]\nformat = 'json'\n")
    done = gradcli("ops tanh")
    assert json.loads(done.out)["name"] == "tanh"
    assert done.err == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_plain_file_is_no_settings_file(gradcli: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gradcli.toml")
    (tmp_path / "pyproject.toml").mkdir()
    assert gradcli("ops tanh").out.startswith("tanh(x)")


def test_a_large_file_and_a_deep_one_are_errors(gradcli: Run, tmp_path: Path) -> None:
    for text in ("# " + "x" * 2**20, "x = " + "[" * 5000, "'tool'.x = 1\ntool = 2", "\udc80"):
        (tmp_path / "gradcli.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
        done = gradcli("ops tanh")
        assert done.code == 2
        assert "error[E007]" in done.err
    (tmp_path / "gradcli.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("tool = 'gradcli'")
    assert "isn't a table" in gradcli("ops tanh").err
