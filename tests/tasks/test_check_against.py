"""`check --against`: gradients that other code computed, in the formats of `eval` and as a plain
mapping."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.report import render
from gradcli.report.check_rows import rows
from gradcli.report.checks import problem_of
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import CheckOptions
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from .against import PROGRAM, RIGHT, TWO, findings, verdicts, written


@pytest.mark.parametrize("format", ["json", "csv", "npz"])
def test_what_eval_writes(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"g.{format}"
    answer = render(format, [evaluate(PROGRAM, {}, Options())])
    path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
    assert verdicts(findings(path)) == RIGHT | {"f": "agree"}


@pytest.mark.parametrize("format", ["json", "csv", "npz"])
def test_what_eval_writes_about_outputs_of_every_kind(tmp_path: Path, format: str) -> None:
    """Of those without a gradient, and of second derivatives, nothing is compared."""
    text = """var x = [1.0, 2.0]
output y = {a: sum(x**2), b: [x[0], 3]}
output z = [x, x**2]
output s = sum(x) > 1
output w = "words"
output v = x**2"""
    program = parse_program(Source("kinds.tg", text))
    path = tmp_path / f"g.{format}"
    answer = render(format, [evaluate(program, {}, Options(hessian=True))])
    path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
    found = verdicts(findings(path, program))
    assert found.items() >= {"z/x": "agree", "v/x": "agree", "v": "agree"}.items()
    assert set(found.values()) == {"agree"}


@pytest.mark.parametrize("format", ["json", "csv", "npz"])
def test_what_eval_writes_of_gradients_that_are_none_or_empty(tmp_path: Path, format: str) -> None:
    text = "var x = zeros([0]); var z = 2.0; var w = 1.0; output y = (sum(x) + detach(z)) * w"
    program = parse_program(Source("none.tg", text))
    path = tmp_path / f"g.{format}"
    answer = render(format, [evaluate(program, {}, Options())])
    path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
    assert set(verdicts(findings(path, program)).values()) == {"agree"}


def test_what_eval_writes_about_several_files(tmp_path: Path) -> None:
    both = [evaluate(TWO, {}, Options()), evaluate(PROGRAM, {}, Options())]
    for format in ("json", "csv", "npz"):
        path = tmp_path / f"g.{format}"
        answer = render(format, both)
        path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
        assert set(findings(path)) - {"f"} == {"f/x", "f/k"}, format
        assert {f.verdict for f in findings(path, TWO).values()} == {"agree"}, format


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.json", {"x": [9.0, 36.0], "k": 9.0}),
        ("g.json", {"f/x": [9.0, 36.0], "f/k": 9.0}),
        ("g.json", {"f": {"x": [9, 36], "k": 9}}),
        ("g.json", {"value": 27.0, "gradient": {"x": [9.0, 36.0], "k": 9.0}}),
        (
            "g.json",
            {"gradients": {"f": {"x": [9.0, 36.0], "k": 9.0}}, "outputs": {"f": {"value": 27.0}}},
        ),
        ("g.csv", "wrt,index,value\nx,0,9\nx,1,36.0\nk,,9\n"),
        ("g.csv", "output, wrt, index, value\nf, x, 0, 9.00000\nf, x, 1, 36.0000\nf, k,, 9.0\n"),
    ],
)
def test_plain_mappings(tmp_path: Path, name: str, content: Any) -> None:
    found = verdicts(findings(written(tmp_path / name, content)))
    assert found.items() >= RIGHT.items()
    assert set(found.values()) == {"agree"}


def test_the_worst_element_is_named(tmp_path: Path) -> None:
    found = findings(written(tmp_path / "g.json", {"x": [9.001, 36.5], "k": 9.0}))
    assert found["f/k"].verdict == "agree"
    worst = found["f/x"]
    assert (worst.verdict, worst.where, worst.ours, worst.theirs) == ("disagree", "[1]", 36.0, 36.5)
    assert worst.reason == "2 of 2 elements differ; the worst is x[1]"


def test_a_wrong_value_is_told(tmp_path: Path) -> None:
    found = findings(
        written(tmp_path / "g.json", {"value": 28.0, "gradient": {"x": [9.0, 36.0], "k": 9.0}})
    )
    assert verdicts(found) == RIGHT | {"f": "disagree"}


# ---- what is missing, and what is too many -------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        ({"x": [9.0, 36.0]}, "f/k", "`k` is not in g.json"),
        (
            {"x": [9.0, 36.0], "k": 9.0, "z": 1.0},
            "f/z",
            "it is given, but the program has no variable `z`",
        ),
        ({"x": [9.0], "k": 9.0}, "f/x", "x[1] is not in the file"),
        ({"x": [9.0, 36.0, 1.0], "k": 9.0}, "f/x", "x[2] is in the file, but `x` has shape (2,)"),
        ({"x": None, "k": 9.0}, "f/x", "the file says that there is none"),
        ({"x": 9.0, "k": 9.0}, "f/x", "what is given has shape (), the gradient (2,)"),
        ({"x": [[9.0], 36.0], "k": 9.0}, "f/x", "what is given is no array of numbers"),
        ({"x": [9.0, "nan"], "k": 9.0}, "f/x", "1 of 2 elements differ; the worst is x[1]"),
        ({"x": [9.0, 36.0], "k": None}, "f/k", "the file says that there is none"),
        (
            {"value": [27.0], "gradient": {"x": [9.0, 36.0], "k": 9.0}},
            "f",
            "what is given has shape (1,), the value ()",
        ),
        (
            {"value": None, "gradient": {"x": [9.0, 36.0], "k": 9.0}},
            "f",
            "the file says that there is none",
        ),
        ("output,wrt,index,value\nf,,,28\nf,x,0,9\nf,x,1,36.0\nf,k,,9\n", "f", ""),
        ('{"value": 27.1, "gradient": {"x": [9, 36], "k": 9}}', "f", ""),  # with more digits
        ('{"value": 27.004, "gradient": {"x": [9.00, 36.00], "k": 9.00}}', "f", ""),
        ("wrt,index,value\nx,1,36.0\nk,,9\n", "f/x", "x[0] is not in the file"),
        (
            "wrt,index,value\nx,1,9\nx,2,36.0\nk,,9\n",
            "f/x",
            "indices begin at 1 there, and at 0 here",
        ),
        ("wrt,index,value\nx,0,9\nx,1,36.0\nx,7,1\nk,,9\n", "f/x", "x[7] is in the file"),
    ],
    ids=lambda part: None if isinstance(part, str) and "\n" not in part else "content",
)
def test_what_is_missing_or_too_many_fails_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any, name: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    is_csv = isinstance(content, str) and not content.startswith("{")
    path = written(Path("g.csv" if is_csv else "g.json"), content)
    found = findings(path)
    assert {n for n, f in found.items() if f.verdict == "disagree"} == {name}
    assert reason in found[name].reason
    assert "nan" not in problem(path, name)  # nothing is invented for what isn't there
    if reason and "differ" not in reason:
        assert "reverse mode gives" not in problem(path, name)
        assert [math.isnan(number) for number in (found[name].ours, found[name].theirs)] == [
            True,
            True,
        ]


def problem(path: Path, name: str) -> str:
    """What a check says of one gradient."""
    found = check(PROGRAM, {}, CheckOptions(methods=("complex",), against=str(path)))
    result = next(r for r in found.results if f"{r.output}/{r.variable}".removesuffix("/") == name)
    said = problem_of(found, result)
    assert said is not None
    assert said.code == "E603"
    return said.message if "nan" not in path.read_text() else ""


def test_of_and_wrt_say_what_is_to_be_there(tmp_path: Path) -> None:
    path = written(tmp_path / "g.json", {"x": [9.0, 36.0]})
    assert verdicts(findings(path, run=Options(wrt=("x",), mode="reverse"))) == {"f/x": "agree"}
    path = written(tmp_path / "g.json", {"x": [9.0, 36.0], "k": 9.0})
    one = findings(path, run=Options(wrt=("x",), mode="reverse"))
    assert one["f/k"].reason == "it is given, but --wrt doesn't name `k`"
    path = written(tmp_path / "g.json", {"f/x": 4.0})
    assert verdicts(findings(path, TWO)) == {"f/x": "agree", "g/x": "disagree"}
    assert verdicts(findings(path, TWO, run=Options(of=("f",), mode="reverse"))) == {"f/x": "agree"}


def test_an_element_of_many_is_named(tmp_path: Path) -> None:
    program = parse_program(Source("many.tg", "var x = arange(25.0)\noutput f = sum(x**2)"))
    rows = [f"x,{k},{2 * k}.0" for k in range(25) if k != 20]
    found = findings(written(tmp_path / "g.csv", "\n".join(["wrt,index,value", *rows])), program)
    assert found["f/x"].reason == "x[20] is not in the file"


def test_the_number_shown_is_that_of_the_element_named(tmp_path: Path) -> None:
    program = parse_program(Source("many.tg", "var x = arange(1.0, 9.0)\noutput f = sum(x**2)"))
    path = written(tmp_path / "g.json", {"x": [2.0 * k for k in range(1, 8)] + [16.5]})
    found = check(program, {}, CheckOptions(methods=("complex",), against=str(path)))
    (row,) = rows(found)
    assert (row.label, row.ours) == ("∂f/∂x[7]", "16")


# ---- mistakes ------------------------------------------------------------------------------------

MATRIX = "var m = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]\n"


@pytest.mark.parametrize(
    ("text", "gradient", "said"),
    [
        ("output f = sum(x**3)", "-g", "all signs are turned"),
        ("output f = sum(x**3)", "g / 2", "all are 0.5 times"),
        ("output f = sum(x**3)", "3.7 * g", "all are 3.7 times"),
        ("output f = sum(x**3)", "g / 5", "5 elements are added up: a mean is taken for a sum"),
        ("output f = mean(x**3)", "5 * g", "5 elements are averaged: a sum is taken for a mean"),
        ("output f = x**3 * x[0]", "g / 5", "a mean is taken for a sum"),
        ("output f = sum(x**3)", "np.roll(g, 1)", "do indices begin at 1 there?"),
        ("output f = sum(x**3)", "np.concatenate([g[1:], [0.0]])", "do indices begin at 1 there?"),
        (
            MATRIX + "output f = sum(m**3)",
            "g.T.ravel().reshape(g.shape)",
            "rows and columns are exchanged",
        ),
        (
            "var w = [[1.0, 2.0], [0.5, 3.0]]\noutput f = sum(w**3)",
            "g.T",
            "rows and columns are exchanged",
        ),
        ("output f = sum(x**3)", "g * [1, 1, 1.1, 1, 1]", ""),
        ("output f = sum(x**3)", "g * [1, 1, 1, 1.0000001, 1]", ""),
        ("output f = x[0]**3", "g * 1.3", ""),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, gradient: str, said: str) -> None:
    variable = "m" if "var m" in text else "w" if "var w" in text else "x"
    program = parse_program(Source("model.tg", f"var x = [1.1, 2.0, -0.7, 3.2, 0.4]\n{text}"))
    options = Options(wrt=(variable,), mode="reverse")
    right = np.asarray(evaluate(program, {}, options).gradients["f"][variable])
    path = tmp_path / "g.npz"
    np.savez(path, **{variable: right})
    assert findings(path, program, run=options)[f"f/{variable}"].verdict == "agree"
    np.savez(path, **{variable: eval(gradient, {"np": np, "g": right})})
    found = findings(path, program, run=options)[f"f/{variable}"]
    assert found.verdict == "disagree"
    assert said in found.reason
    if not said:
        assert found.reason.count(";") <= 1
        assert "all" not in found.reason


# ---- files that are wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("g.json", [1.0], "E005", "expected a mapping"),
        ("g.json", {"gradients": {}}, "E005", "there is no gradient of `model.tg`"),
        ("g.json", {"g/x": [9.0, 36.0]}, "E005", "has no gradient `g/x`"),
        ("g.json", {"x": [True, 36.0], "k": 9.0}, "E005", "g.json: `x[0]` is `true`, not a number"),
        ("g.json", {"x": [9.0, "36.0"], "k": 9.0}, "E005", '`x[1]` is `"36.0"`, not a number'),
        ("g.json", {"x": [9.0, None], "k": 9.0}, "E005", "`x[1]` is `null`, not a number"),
        ("g.json", {"x": "nine", "k": 9.0}, "E005", '`x` is `"nine"`, not a number'),
        ("g.json", {"value": True, "gradient": {"k": 9.0}}, "E005", "`f` is `true`, not a number"),
        ("g.csv", "x,9\n", "E005", "the header needs `wrt` and `value`"),
        ("g.csv", "wrt,index,value\nx,zero,9\n", "E005", "not an index and a number"),
        ("g.csv", "wrt,index,value\nx,0,9\nx,0,9\n", "E005", "twice"),
        ("g.csv", "wrt,index,value,value\nx,0,9,9\n", "E005", "the header has `value` twice"),
        (
            "g.csv",
            "wrt,index,value\nx,0,9\nk,,9,8\n",
            "E005",
            "g.csv:3: the row has 4 cells, the header 3",
        ),
        ("g.csv", "wrt,index,value\nx,0,1,9\n", "E005", "g.csv:2: the row has 4 cells"),
        ("g.csv", "wrt,index,value\nx,0\n", "E005", "g.csv:2: the row has 2 cells"),
        ("g.json", '{"x": [9.0, 36.0], "k": 8.0, "k": 9.0}', "E005", "`k` stands twice"),
        (
            "g.json",
            {"gradient": {"x": [9.0, 36.0], "k": 9.0}, "seconds": 3},
            "E005",
            "`seconds` stands beside `gradient`",
        ),
        ("g.txt", "9 36", "E002", "don't know how to read"),
    ],
)
def test_files_that_are_wrong(
    tmp_path: Path, name: str, content: Any, code: str, message: str
) -> None:
    with pytest.raises(GradcliError) as caught:
        findings(written(tmp_path / name, content))
    assert caught.value.diagnostics[0].code == code
    assert message in caught.value.diagnostics[0].message


@pytest.mark.parametrize("array", [np.array([True, False]), np.array(["9.0", "36.0"])])
def test_arrays_that_are_not_of_numbers(tmp_path: Path, array: Any) -> None:
    np.savez(tmp_path / "g.npz", x=array, k=9.0)
    with pytest.raises(GradcliError, match=r"`x` is an array of .*, not of numbers"):
        findings(tmp_path / "g.npz")


def test_of_several_outputs_one_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(GradcliError) as caught:
        findings(written(tmp_path / "g.json", {"x": 4.0}), TWO)
    assert "`f/x`, `g/x`" in caught.value.diagnostics[0].help
