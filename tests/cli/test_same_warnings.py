"""Every command says the same of what a program lacks, and says it once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
COMMANDS = {
    "eval": ("--set", "x=2.5"),
    "eval --closed-form": ("--set", "x=2.5"),
    "check": ("--set", "x=2.5"),
    "symbolic --no-simplify": (),
    "why": ("--set", "x=2.5"),
    "batch": ("--rows", "rows.csv", "-o", "out.csv"),
}
# A program, and the warning about it that all of these commands give.
EVERYWHERE = [
    ("x + 1\ny = x**2", "warning[W206]: the value of `x + 1` is thrown away\n"),
    ("l = [x, x]\nl.append(x)\ny = x**2",
        "warning[W206]: the value of `l.append(x)` is thrown away\n"),
    ("x == 2\ny = x**2", "warning[W206]: the value of `x == 2` is thrown away\n"),
    ("fn f(a) { b = a }\nz = f(x)\ny = x**2",
        "warning[W207]: `f` has no `return`, so its value is none"),
]  # fmt: skip


def written(source: str) -> str:
    """A program in the scratch folder, with rows beside it."""
    Path("rows.csv").write_text("x\n1.5\n2.5\n", encoding="utf-8")
    Path("p.tg").write_text(source, encoding="utf-8")
    return "p.tg"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("source", "warning"), EVERYWHERE)
def test_what_is_thrown_away(gradcli: Run, command: str, source: str, warning: str) -> None:
    path = written(f"var x\n{source}\noutput y\n")
    name, *options = command.split()
    result = gradcli(name, path, *options, *COMMANDS[command])
    assert result.code == 0, result.err
    assert result.err.count("warning[") == 1
    assert warning in result.err


@pytest.mark.parametrize(("source", "warning"), EVERYWHERE)
def test_what_is_thrown_away_is_told_without_a_row(gradcli: Run, source: str, warning: str) -> None:
    path = written(f"var x\n{source}\noutput y\n")
    Path("none.csv").write_text("x\n", encoding="utf-8")
    result = gradcli("batch", path, "--rows", "none.csv", "-o", "out.csv")
    assert (result.code, result.err.count("warning[")) == (0, 1)
    assert warning in result.err


@pytest.mark.parametrize("command", ["eval", "check"])
@pytest.mark.parametrize("output", ["y = x**2", "y = x**2 * k", "y = k + 1"])
def test_variables_that_are_no_floats(gradcli: Run, command: str, output: str) -> None:
    result = gradcli(command, "-e", f"var x = 2.5; var k = 3; output {output}")
    assert result.err.count("warning[W202]") == 1, result.err
    assert (
        "respect to `k`: `k` is int64 3, and only floats are differentiable\n  --> <expr>:1:14\n"
        in result.err
    )


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "why"])
@pytest.mark.parametrize(("text", "of"), [("int64(x)", "int64"), ("argmax([x, 1.0])", "argmax")])
def test_outputs_of_ints(gradcli: Run, command: str, text: str, of: str) -> None:
    path = written(f"var x\nn = {text}\ny = x**2\noutput n, y\n")
    name, *options = command.split()
    result = gradcli(name, path, *options, *COMMANDS[command])
    assert result.err.count("warning[W202]") == 1, result.err
    assert (
        f"warning[W202]: no gradient of `n`: `{of}` gives ints, which have no gradient\n  --> p.tg:2:5\n"
        in result.err
    )


@pytest.mark.parametrize("command", ["check", "why"])
def test_warnings_are_no_results(gradcli: Run, command: str) -> None:
    path = written("var x = 2.5\nx + 1\ny = x**2\noutput y\n")
    (found,) = gradcli(command, path, "--format", "json").json["diagnostics"]
    assert (found["code"], found["line"], found["severity"]) == ("W206", 2, "warning")
    if command == "check":
        assert gradcli(command, path, "--format", "junit").out.count("<testcase") == 1
        assert "::warning file=p.tg,line=2" in gradcli(command, path, "--format", "github").out


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("log(0.0)", "`y`"),
        ("x / 0.0", "`y`, ∂y/∂x"),
        ("[1.0, -1.0 / 0.0]", "`y`"),
        ("0.0 / 0.0", "`y`"),
    ],
)
def test_forms_that_are_not_finite(gradcli: Run, source: str, what: str) -> None:
    result = gradcli("symbolic", "--no-simplify", "-e", f"var x = 1.0; y = {source}")
    assert f"warning[W205]: not finite: {what}\n" in result.err
    assert result.err.count("warning[") == 1


def test_forms_that_are_infinite_somewhere_are_finite(gradcli: Run) -> None:
    assert gradcli("symbolic", "--no-simplify", "-e", "var x = 1.0; y = log(x) / (x - 1)").err == ""
