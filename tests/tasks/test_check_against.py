"""`check --against`: gradients that other code computed, in the formats of `eval` and as a plain mapping."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError, Source
from gradcli.report import render
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import CheckOptions, Finding
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

PROGRAM = parse_program(Source("model.tg", "var x = [1.0, 2.0]\nvar k = 3.0\nf = k * sum(x**3)\noutput f"))
TWO = parse_program(Source("two.tg", "var x = 2.0\noutput f = x**2\noutput g = x**3"))


def findings(path: Path, program: Any = PROGRAM, **options: Any) -> dict[str, Finding]:
    found = check(program, {}, CheckOptions(methods=("complex",), against=str(path), **options))
    return {f"{f.output}/{f.variable}": f for f in found.findings if f.method == "against"}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("format", ["json", "csv", "npz"])
def test_what_eval_writes(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"g.{format}"
    answer = render(format, [evaluate(PROGRAM, {}, Options())])
    path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
    found = findings(path)
    assert {name: f.verdict for name, f in found.items()} == {"f/x": "agree", "f/k": "agree"}


def test_what_eval_writes_about_several_files(tmp_path: Path) -> None:
    both = [evaluate(TWO, {}, Options()), evaluate(PROGRAM, {}, Options())]
    for format in ("json", "csv", "npz"):
        path = tmp_path / f"g.{format}"
        answer = render(format, both)
        path.write_bytes(answer if isinstance(answer, bytes) else answer.encode())
        assert set(findings(path)) == {"f/x", "f/k"}, format
        assert {f.verdict for f in findings(path, TWO).values()} == {"agree"}, format


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.json", {"x": [9.0, 36.0], "k": 9.0}),
        ("g.json", {"f/x": [9.0, 36.0]}),
        ("g.json", {"f": {"x": [9, 36]}}),
        ("g.json", {"gradients": {"f": {"x": [9.0, 36.0]}}, "outputs": {"f": {"value": 1.0}}}),
        ("g.csv", "wrt,index,value\nx,0,9\nx,1,36.0\nk,,9\n"),
        ("g.csv", "output, wrt, index, value\nf, x, 0, 9.00000\nf, x, 1, 36.0001\n"),  # printed with six digits
    ],
)
def test_plain_mappings(tmp_path: Path, name: str, content: Any) -> None:
    assert {f.verdict for f in findings(written(tmp_path / name, content)).values()} == {"agree"}


def test_the_worst_element_is_named(tmp_path: Path) -> None:
    found = findings(written(tmp_path / "g.json", {"x": [9.001, 36.5], "k": 9.0}))
    assert found["f/k"].verdict == "agree"
    worst = found["f/x"]
    assert (worst.verdict, worst.where, worst.ours, worst.theirs) == ("disagree", "[1]", 36.0, 36.5)
    assert worst.reason == "2 of 2 elements differ; the worst is x[1]"


def test_single_precision_is_compared_as_such(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=np.array([9.0001, 36.001], "float32"))
    assert findings(tmp_path / "g.npz")["f/x"].verdict == "agree"
    np.savez(tmp_path / "g.npz", x=np.array([9.0001, 36.001]))
    assert findings(tmp_path / "g.npz")["f/x"].verdict == "disagree"
    assert findings(tmp_path / "g.npz", rtol=1e-4)["f/x"].verdict == "agree"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"x": None}, "the file says that there is none"),
        ({"x": [9.0, 36.0, 1.0]}, "the file's has shape (3,), the variable (2,)"),
        ({"x": "nine"}, "what the file gives is no array of numbers"),
        ({"x": [9.0, "nan"]}, "1 of 2 elements differ; the worst is x[1]"),
    ],
)
def test_what_can_not_be_compared_is_wrong(tmp_path: Path, content: Any, reason: str) -> None:
    found = findings(written(tmp_path / "g.json", content))["f/x"]
    assert (found.verdict, found.reason) == ("disagree", reason)


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("g.json", {"xx": 1.0}, "E005", "has no gradient `xx`"),
        ("g.json", [1.0], "E005", "expected a mapping"),
        ("g.json", {"gradients": {}}, "E005", "there is no gradient of `model.tg`"),
        ("g.csv", "x,9\n", "E005", "the header needs `wrt` and `value`"),
        ("g.csv", "wrt,index,value\nx,zero,9\n", "E005", "not an index and a number"),
        ("g.txt", "9 36", "E002", "don't know how to read"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, name: str, content: Any, code: str, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        findings(written(tmp_path / name, content))
    assert caught.value.diagnostics[0].code == code
    assert message in caught.value.diagnostics[0].message


def test_of_several_outputs_one_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(GradcliError) as caught:
        findings(written(tmp_path / "g.json", {"x": 4.0}), TWO)
    assert "`f/x`, `g/x`" in caught.value.diagnostics[0].help


# ---- what the README says to users of other languages ---------------------------------------------------------------


def blocks(language: str) -> list[str]:
    """The README's blocks of a language."""
    text = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    return [part.partition("```")[0] for part in text.split(f"```{language}\n")[1:]]


def compiled(tmp_path: Path, compiler: str, name: str, source: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (tmp_path / name).write_text(source, encoding="utf-8")
    subprocess.run([compiler, name, "-o", "program"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["./program"], cwd=tmp_path, check=True)


def test_fortran(tmp_path: Path) -> None:
    (source,) = blocks("fortran")
    compiled(tmp_path, "gfortran", "gradient.f90", source)
    assert {f.verdict for f in findings(tmp_path / "gradient.csv").values()} == {"agree"}


def test_cpp(tmp_path: Path) -> None:
    (source,) = blocks("cpp")
    compiled(tmp_path, "g++", "gradient.cpp", source)
    assert {f.verdict for f in findings(tmp_path / "gradient.csv").values()} == {"agree"}


def test_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyTorch isn't there, by a stand-in that has the few functions that the lines use."""
    (source,) = [block for block in blocks("python") if "torch" in block]
    monkeypatch.chdir(tmp_path)
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(tensor=lambda value, requires_grad: Tensor(value)))  # type: ignore[arg-type]
    exec(compile(source, "<README>", "exec"), {})
    assert {f.verdict for f in findings(tmp_path / "gradient.npz").values()} == {"agree"}


class Tensor:
    """A float32 array that remembers what it was made of: (tensor, how a cotangent goes there)."""

    def __init__(self, value: Any, *made_of: tuple[Tensor, Callable[[Any], Any]]) -> None:
        self.value, self.made_of, self.grad = np.asarray(value, "float32"), made_of, np.float32(0.0)

    def __pow__(self, n: int) -> Tensor:
        return Tensor(self.value**n, (self, lambda g: g * n * self.value ** (n - 1)))

    def __mul__(self, other: Tensor) -> Tensor:
        return Tensor(self.value * other.value, (self, lambda g: g * other.value), (other, lambda g: g * self.value))

    def sum(self) -> Tensor:
        return Tensor(self.value.sum(), (self, lambda g: g * np.ones_like(self.value)))

    def backward(self, g: Any = 1.0) -> None:
        self.grad = self.grad + g
        for tensor, pull in self.made_of:
            tensor.backward(pull(g))
