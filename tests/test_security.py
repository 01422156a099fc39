"""SECURITY.md: each of its sentences has a test, here or where what it is about is tested."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradcli
from gradcli.cli import run

ROOT = Path(__file__).parents[1]
PACKAGE = Path(gradcli.__file__).parent

# The beginning of each sentence, and what tests it.
TESTS = {
    "gradcli is made to run in folders": "cli/test_hostile_folder.py::test_nothing_of_the_folder_runs",
    "This page says what is trusted": "test_security.py::test_each_sentence_has_a_test",
    "A program can't run commands": "test_security.py::test_a_program_only_computes",
    "A program imports files only from": "test_security.py::test_imports_stay_in_the_folder",
    "No text of a program is given": "test_security.py::test_nothing_evaluates_text",
    "`gradcli lsp` runs no program": "editor/test_server.py::test_nothing_runs",
    "A program can compute for ever": "test_security.py::test_limits",
    "Inputs, rows and gradients": "test_security.py::test_a_pickle_is_refused",
    "No Python module there runs": "cli/test_hostile_folder.py::test_nothing_of_the_folder_runs",
    "With `python -m gradcli` Python": "cli/test_hostile_folder.py::test_nor_by_the_name_of_the_package",
    "A settings file can't set an address": "cli/test_settings.py::test_harmful_settings_are_refused",
    "`fmt` and `lint --fix` replace": "cli/test_fmt.py::test_links",
    "A settings file can make `check`": "cli/test_settings.py::test_nothing_in_a_file_makes_check_weaker",
    "A settings file that another user": "cli/test_settings.py::test_a_file_that_another_user_owns_is_passed_over",
    "A settings file above": "cli/test_settings.py::test_a_file_above_the_repository_is_passed_over",
    "With `--no-config`": "cli/test_settings.py::test_harmful_settings_are_refused",
    "A link, a pipe or a file": "rows/test_planted.py::test_nothing_in_the_folder_of_a_job_is_followed",
    "A folder `OUT.partial` that another": "rows/test_planted.py::test_the_folder_of_a_job_is_its_owners",
    "Without `--resume`": "test_security.py::test_what_lies_there_is_thrown_away",
    "An answer is first written": "rows/test_planted.py::test_an_answer_is_written_to_a_file_of_its_own_first",
    "Members of an .npz": "rows/test_planted.py::test_members_of_an_archive_stay_below_it",
    "Machine code is kept only": "engine/codegen/test_code_cache.py::test_a_folder_that_others_may_enter_is_not_used",
    "A file there that is torn": "engine/codegen/test_code_cache.py::test_a_file_that_was_harmed_is_made_again",
    "A folder that isn't given as": "engine/codegen/test_code_cache.py::test_a_path_that_is_not_absolute_keeps_nothing",
    "Names, strings, cells": "cli/test_hostile_text.py::test_names_of_files_and_what_stands_in_them",
    "No line of an answer": "cli/test_hostile_text.py::test_options_cells_and_keys",
    "Rows that `batch` writes": "cli/test_hostile_text.py::test_rows_on_a_terminal",
    "Files that options name": "test_security.py::test_what_options_name_is_read_and_written",
    "The program that `--against-command`": "tasks/test_check_command.py::test_it_is_run_without_a_shell",
    "Installed packages": "test_extension.py::test_a_package_is_asked_when_a_function_is_unknown",
    "A Dask scheduler": "cli/test_settings.py::test_harmful_settings_are_refused",
    "The processes of `--workers`": "tasks/batch/test_local.py::test_nothing_listens",
    "With pytest": "test_security.py::test_pytest_runs_what_it_runs_anyway",
}


def sentences() -> list[str]:
    """The page's sentences, but for headings and how to report something."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("## Reporting")[0]
    text = re.sub(r"^(#.*|\*\*.*\*\*)$", "", text, flags=re.MULTILINE)
    blocks = re.split(r"\n\n|\n- ", f"\n{text}")
    found = [
        re.split(r"(?<=\.) (?=[A-Z`])", " ".join(block.removeprefix("- ").split()))
        for block in blocks
    ]
    return [sentence for block in found for sentence in block if sentence]


def test_each_sentence_has_a_test() -> None:
    for sentence in sentences():
        assert sum(sentence.startswith(beginning) for beginning in TESTS) == 1, sentence
    for beginning, test in TESTS.items():
        assert sum(sentence.startswith(beginning) for sentence in sentences()) == 1, beginning
        path, name = test.split("::")
        tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


# ---- programs ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "call",
    ["{}('touch ran')", "{}.system('touch ran')", "x.{}", "import {}", "import '{}.py' as m"],
)
def test_a_program_only_computes(folder: Path, call: str) -> None:
    names = "open exec eval system os sys subprocess __import__ __class__ __builtins__ __globals__ socket getattr compile"
    for name in names.split():
        text = "var x = 2.0\n" + call.format(name).replace("'", '"') + "\ny = x\n"
        assert run(["eval", "-e", text]) == 3, name
    assert list(folder.iterdir()) == []


def test_imports_stay_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "inner" / "deep").mkdir(parents=True)
    (folder / "outside.tg").write_text("a = 1.0\n")
    (folder / "inner" / "deep" / "fine.tg").write_text("a = 2.0\n")
    (folder / "inner" / "link.tg").symlink_to(folder / "outside.tg")
    (folder / "inner" / "folder").symlink_to(folder)
    for path, code in {
        "deep/fine.tg": 0, "../outside.tg": 3, "link.tg": 3, "folder/outside.tg": 3,
        str(folder / "outside.tg"): 3,
    }.items():  # fmt: skip
        (folder / "inner" / "p.tg").write_text(f'import "{path}" as m\ny = m.a\n')
        assert run(["eval", "inner/p.tg"]) == code, path
        assert ("is outside the folder" in capsys.readouterr().err) == (code == 3)


def test_nothing_evaluates_text() -> None:
    """No call of what makes code or objects of text; where pickles are read they come from a
    process of one's own."""
    forbidden = {"eval", "sympify", "parse_expr", "lambdify", "unpickle", "Unpickler"}
    unpickling = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr
                    if isinstance(node.func, ast.Attribute)
                    else getattr(node.func, "id", "")
                )
                assert name not in forbidden, f"{path}:{node.lineno}"
                if ast.unparse(node.func).startswith("pickle.load"):
                    unpickling.add(path.name)
    assert unpickling == {
        "processes.py",
        "local.py",
        "simplifier.py",
    }  # each from its own children, or as such a child


def test_limits() -> None:
    assert run(["eval", "-e", "while true { }", "--max-steps", "1000"]) == 4
    assert run(["eval", "-e", "while true { }", "--timeout", "0.5"]) == 4
    assert run(["eval", "-e", "y = sum(ones(200000000))", "--max-memory", "100M"]) == 4


# ---- data ----------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch ran",)


@pytest.mark.parametrize(
    "name",
    ["evil.npy", "evil.npz", "evil.json", "evil.csv", "evil.parquet", "evil.arrow", "evil.jsonl"],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_pickle_is_refused(folder: Path, name: str, inside: bool) -> None:
    """In place of a file, and as an array of objects inside one."""
    if inside and name.endswith("npy"):
        np.save(name, np.array([Evil()], dtype=object), allow_pickle=True)
    elif inside and name.endswith("npz"):
        np.savez(name, x=np.array([Evil()], dtype=object))
    else:
        Path(name).write_bytes(pickle.dumps(Evil()))
    member = ":x" if name.endswith("npz") else ""
    for arguments in (
        ["eval", "-e", "x", "--set", f"x=@{name}{member}"],
        ["eval", "-e", "x", "--inputs", name],
        ["check", "-e", "var x = 1.0; y = x", "--against", name],
        ["batch", "-e", "x", "--rows", name, "-o", "out.csv"],
    ):
        assert run(arguments) in (2, 6), arguments
        assert not (folder / "ran").exists()


# ---- the folder ----------------------------------------------------------------------------------


def test_what_lies_there_is_thrown_away(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Finished rows that a stranger changed go into an answer only where the job is told to go on
    from them."""
    (folder / "rows.csv").write_text("x\n" + "".join(f"{k}\n" for k in range(20)) + "banana\n")
    job = [
        "batch",
        "-e",
        "x**2",
        "--rows",
        "rows.csv",
        "-o",
        "out.csv",
        "--block-rows",
        "5",
        "--threads",
        "1",
    ]
    assert run(job) == 6
    whole = (folder / "out.csv").read_bytes()
    assert run([*job, "--on-error", "fail"]) == 3
    rows = folder / "out.csv.partial" / "rows.csv"
    rows.write_bytes(rows.read_bytes().replace(b"81", b"80"))
    assert run(job) == 6
    assert (folder / "out.csv").read_bytes() == whole


def test_what_options_name_is_read_and_written(folder: Path) -> None:
    (folder / "x.json").write_text("3")
    (folder / "link.json").symlink_to("x.json")
    (folder / "target.json").write_text("")
    (folder / "out.json").symlink_to("target.json")
    assert (
        run(["eval", "-e", "x**2", "--set", "x=@link.json", "--format", "json", "-o", "out.json"])
        == 0
    )
    assert json.loads((folder / "target.json").read_text())["outputs"]["result"]["value"] == 9
    assert (folder / "out.json").is_symlink()


def test_pytest_runs_what_it_runs_anyway(folder: Path) -> None:
    (folder / "conftest.py").write_text("open('ran', 'a').close()\n")
    (folder / "test_nothing.py").write_text("def test_nothing(): pass\n")
    for more in (["-p", "no:gradcli"], []):
        arguments = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *more,
            "test_nothing.py",
        ]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "ran").unlink()
