"""Answers in JSON are what their schemas say, and docs/schema/ has these. To renew it: `python
tests/cli/test_schemas.py`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from gradcli.cli import run
from gradcli.cli.app import JSON
from gradcli.report.schemas import SCHEMAS, schema, text

from ..shell import shell

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schema"
ODD = 'var x = 2.0; var z = [1.0, 2.0]; print(x); y = [z * x, z]; d = {"a": 1 + 2j, "s": "t", "n": none}; k = x > 1; output y, d, k'
COMMANDS = [
    "eval -e 'var x = 3.0; y = x**2; print(y); expect y == 8' --jacobian --hessian-blocks",
    f"eval -e '{ODD}' --hessian --sparse --unconnected zero",
    "eval -e 'x +'",
    "eval -e 'log(x) / 0' --set x=-1 --repeat 3",
    "eval -e 'var x = 0.5; y = [sin(x), x]' --closed-form",
    "eval -e 'var x = 2.0; output g = grad(x**2, x)'",
    "eval a.tg b.tg wrong.tg",
    "check -e 'var x = 2.0 in (1, 3); y = x**3; expect y == 8.0' --points 3 --order 2",
    "check -e 'var x = 0.0; y = abs(x) + relu(x); if x > 1 { y = 3 }'",
    "check -e 'var x = 2.0; y = x**2' --against g.json",
    "check a.tg wrong.tg",
    "diff a.tg b.tg",
    "diff -e 'var x = 1.0; y = x; q = none' -e 'var z = 1.0; y = z'",
    "symbolic -e 'x**2 * sin(x)' --order 2",
    "symbolic a.tg b.tg --to c",
    "symbolic -e 'var x = [1.0, 2.0]; y = {\"a\": x**2}'",
    "why -e 'var x = 2.0; y = detach(x**2) * 3 + x * 0'",
    "why -e 'sum(sqrt(x))' --set 'x=[0, 4]'",
    "why -e 'var x = range(2000) * 1.0; fn f(t) = t * 2; y = sum(f(x))'",
    "why a.tg wrong.tg",
    "trace -e 'var x = 2.0; s = x; for i in range(9) { s = s / 2 + 1 / s }; y = s'",
    "trace a.tg wrong.tg",
    "lint -e 'var x = 2.0; z = 1; y = x; y2 = log(1 + x)'",
    "lint a.tg wrong.tg",
    "ops",
    "ops tanh",
    "ops '**'",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.tg").write_text("var x = 2.0\ny = x**2\n")
    (tmp_path / "b.tg").write_text("var x = 2.0\ny = x**3\n")
    (tmp_path / "wrong.tg").write_text("var x = = 2\n")
    (tmp_path / "g.json").write_text('{"x": 4.5}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(command: str, answer: Any) -> None:
    Draft202012Validator(schema(command)).validate(answer)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_fits_its_schema(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(command)
    run([*words, "--format", "json"])
    verify(words[0], json.loads(capsys.readouterr().out))


def test_every_sample_fits(capsys: pytest.CaptureFixture[str]) -> None:
    samples = sorted(map(str, (ROOT / "samples").glob("*.tg")))
    run(["eval", "-q", *samples, "--format", "json"])
    answers = json.loads(capsys.readouterr().out)
    assert len(answers) == len(samples)
    verify("eval", answers)


def test_a_report_of_a_batch_fits(gradcli: Callable[..., Any]) -> None:
    Path("d.csv").write_text("x\n1\n\nbanana\n")
    assert gradcli("batch -e x**2 --rows d.csv -o o.csv --report r.json").code == 6
    verify("batch", json.loads(Path("r.json").read_text()))


@pytest.mark.parametrize("where", ["-o r.json", "--out-format json"])
def test_a_reduction_fits_the_schema_of_eval(gradcli: Callable[..., Any], where: str) -> None:
    Path("d.csv").write_text("x\n1\n3\n\nbanana\n")
    program = "var x; var w = [1.0, inf]; var q = 1.0; y = x**2; z = w * x; output y, z"
    done = gradcli(f"batch -e '{program}' --rows d.csv --reduce mean {where}")
    assert done.code == 6
    answer = json.loads(Path("r.json").read_text() if "-o" in where.split() else done.out)
    verify("eval", answer)
    assert answer["outputs"]["y"] == {"value": 5.0, "shape": [], "dtype": "float64"}
    assert answer["outputs"]["z"]["value"] == [2.0, "inf"]
    assert answer["gradients"]["y"] == {"x": 4.0, "w": None, "q": None}
    assert answer["gradients"]["z"]["w"] == [2.0, 2.0]


def test_what_does_not_fit_is_found(gradcli: Callable[..., Any]) -> None:
    answer = gradcli("eval -e 'x**2' --set x=3 --format json").json
    for changed in ({"outputs": {"y": 3}}, {"surprise": 1}, {"printed": [3]}):
        with pytest.raises(ValidationError):
            verify("eval", answer | changed)


@pytest.mark.parametrize("command", SCHEMAS)
def test_the_published_schema(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Draft202012Validator.check_schema(schema(command))
    assert run([command, "--schema"]) == 0
    shown = capsys.readouterr().out
    assert shown == text(command) == (FOLDER / f"{command}.json").read_text(encoding="utf-8")


def test_every_command_that_prints_json_has_one() -> None:
    assert set(JSON) == set(SCHEMAS) == {path.stem for path in FOLDER.glob("*.json")}


def test_what_was_printed_is_data(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program = 'var x = [1.0, 2.0]; print(x); x := x * 2; print({"a": x, "s": "t"}); print(none)'
    command = f"gradcli eval -q --no-grad --format json -e '{program}' | python -c \"import json, sys; print(json.load(sys.stdin)['printed_values'])\""
    assert shell(command, tmp_path / "work", tmp_path) == (
        "[[[1.0, 2.0]], [{'a': [2.0, 4.0], 's': 't'}], [None]]\n"
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}.json").write_text(text(name), encoding="utf-8")
