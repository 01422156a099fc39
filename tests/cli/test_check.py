"""`gradcli check`: exit codes, streams, options."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gradcli.cli import run
from gradcli.report import CHECK_FORMATS

WRONG = "fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }; var x = 2.0; y = f(x)"
QUICK = ["--methods", "complex,differences"]


def test_it_ends_with_one_line_of_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "-e", "var x = 2.0; y = x**3", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-2:] == [
        "1 of 1 gradients verified by independent methods, 0 undecided",
        "1 passed, 0 failed, 0 skipped",
    ]
    assert err == ""


def test_a_wrong_gradient_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "-e", WRONG, *QUICK]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_wrong_program_is_told_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.tg"
    path.write_text("var x = ")
    assert run(["check", str(path)]) == 3
    out, err = capsys.readouterr()
    assert "broken.tg:1:" in err
    assert out.splitlines()[0] == str(path)
    assert out.splitlines()[1].startswith("  ✗ E1")
    assert out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-e", "x**2", "--methods", "complexx", "--set", "x=1"], 2, "did you mean `complex`?"),
        (["-e", "x**2"], 2, "`x` has no value"),
        (["-e", "var x = 1.0; y = x", "--set", "z=1"], 2, "declares no `z`"),
        (["nowhere.tg"], 2, "cannot read"),
        (["-e", "var x = 1.0; while true { x = x + 1 }", "--max-steps", "1000"], 4, "1000 steps"),
        (["-e", "var x = 1.0; y = x", "--against", "nowhere.json"], 2, "nowhere.json"),
        ([], 2, "no program"),
    ],
)
def test_what_is_wrong_outside(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == code
    assert said in capsys.readouterr().err


def test_a_format_for_machines_says_the_counts_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    assert run(["check", "-e", WRONG, *QUICK, "--format", "json", "-o", str(path)]) == 1
    assert json.loads(path.read_text())["failed"] == 1
    said = "0 of 1 gradients verified by independent methods, 0 undecided\n0 passed, 1 failed, 0 skipped\n"
    assert capsys.readouterr() == ("", said)


def test_several_files_on_several_processes_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for k, text in enumerate(
        ["var x = 2.0; y = x**3", WRONG, "var x = ", "var x = 0.0; y = abs(x)", "expect 1.0 == 2.0"]
    ):
        names.append(str(tmp_path / f"{k}.tg"))
        Path(names[-1]).write_text(text)
    answers = []
    for jobs in ("1", "3"):
        assert run(["check", *names, *QUICK, "--jobs", jobs]) == 3
        answers.append(capsys.readouterr())
    assert answers[0] == answers[1]


def test_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    kink = ["check", "-e", "var x = 0.0; y = abs(x)", *QUICK]
    assert run(kink) == 0
    assert run([*kink, "--inconclusive", "fail"]) == 1


def test_tolerances_are_for_those_who_want_them(capsys: pytest.CaptureFixture[str]) -> None:
    nearly = (
        "fn f(x) { return x**2 } backward (dy) { return 2.001 * x * dy }; var x = 2.0; y = f(x)"
    )
    assert run(["check", "-e", nearly, *QUICK]) == 1
    assert run(["check", "-e", nearly, *QUICK, "--rtol", "0.01"]) == 0
    assert run(["check", "-e", nearly, "--methods", "complex", "--rtol", "10", "--strict"]) == 0


def test_inputs_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    text = "var x = 1.0; var z = 2.0; a = x * z; b = a**2"
    assert (
        run(
            [
                "check",
                "-e",
                text,
                "--set",
                "x=3",
                "--of",
                "b",
                "--wrt",
                "z,a",
                *QUICK,
                "--format",
                "json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)["gradients"]
    assert {(g["output"], g["variable"]) for g in found} == {("b", "z"), ("b", "a")}
    assert [m["reverse"] for g in found for m in g["methods"]] == [36.0, 36.0, 12.0, 12.0]


# ---- formats agree with the exit code ------------------------------------------------------------

RULE = "fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }\n"
OUTCOMES = {
    "right": ("var x = 2.0; y = x**2", [], 0),
    "wrong": (RULE + "var x = 2.0; y = f(x)", [], 1),
    "kink": ("var x = 0.0; y = abs(x)", [], 0),
    "kink that fails": ("var x = 0.0; y = abs(x)", ["--inconclusive", "fail"], 1),
    "undecided": ("var x = 2; var k = 3.0; y = x**2 * k", [], 0),
    "undecided that fails": ("var x = 2; var k = 3.0; y = x**2 * k", ["--strict"], 1),
    "nan": ("var x = -2.0; y = log(x)", [], 1),
    "expectation": ("var x = 2.0; y = x**2; expect y == 5.0", [], 1),
    "nothing verified": ("var x = 2; y = x**2", [], 1),
    "library": ("fn f(x) = x**2", [], 1),
    "syntax": ("var x = 2.0; y = x**", [], 3),
    "run time": ("var x = 2.0; y = [x][3]", [], 3),
    "limit": ("var x = 2.0; while true { x = x + 1 }", ["--max-steps", "100"], 4),
    "no file": ("var x = 2.0; y = x**2", ["--against", "nowhere.json"], 2),
    "command that fails": ("var x = 2.0; y = x**2", ["--against-command", "false"], 2),
    "command that is late": (
        "var x = 2.0; y = x**2",
        ["--against-command", "sleep 60", "--command-timeout", "0.1"],
        4,
    ),
    "command that is wrong": (
        "var x = 2.0; y = x**2",
        ["--against-command", "echo '{\"x\": 5.0}'"],
        1,
    ),
}


@pytest.mark.parametrize("format", CHECK_FORMATS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_is_written_agrees_with_the_exit_code(
    outcome: str, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, options, code = OUTCOMES[outcome]
    assert (
        run(["check", "-e", program, "--methods", "forward,complex", "--format", format, *options])
        == code
    )
    out, err = capsys.readouterr()
    match format:
        case "text":
            fails = "✗" in out or "error[" in out
        case "json":
            answer = json.loads(out)
            fails = any(d["severity"] == "error" for d in answer["diagnostics"])
            assert (answer["failed"] > 0) == fails or outcome == "nothing verified"
        case "junit":
            root = ElementTree.fromstring(out)
            fails = int(root.get("failures", "")) + int(root.get("errors", "")) > 0
            assert int(root.get("tests", "")) == len(root.findall(".//testcase")) > 0
        case "github":
            fails = "::error" in out
        case "html":
            fails = 'class="problem error"' in out
        case _:
            fails = any(r["level"] == "error" for r in json.loads(out)["runs"][0]["results"])
    assert fails == (code > 0)
    assert (err if format == "html" else out + err).count("passed, ") == 1


def test_a_command_that_is_late_for_one_file_leaves_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "late.sh").write_text(
        "#!/bin/sh\nif grep -q 3.0; then sleep 60; fi\necho '{\"x\": 4.0}'\n"
    )
    (tmp_path / "late.sh").chmod(0o755)
    for name, value in (("a", "3.0"), ("b", "2.0")):
        (tmp_path / f"{name}.tg").write_text(f"var x = {value}\ny = x**2\noutput y")
    command = ["--against-command", str(tmp_path / "late.sh"), "--command-timeout", "2"]
    assert run(["check", str(tmp_path), *QUICK, *command]) == 4
    out = capsys.readouterr().out
    assert "✗ E614" in out.partition("b.tg")[0]
    assert out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"
