"""What an answer leaves out is told, whatever the outputs are, in every command: gradients that
nobody asked for, gradients that there can't be, numbers that aren't finite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradcli.cli.app import app
from gradcli.diagnostics import GradcliError

from ..engine.programs import evaluate


def said(source: str, **options: object) -> list[str]:
    """The code and message of each warning."""
    return [f"{d.code} {d.message}" for d in evaluate(source, **options).diagnostics]


# ---- variables and outputs that aren't floats ----------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        "y = x**2",
        "y = x > 1",
        'output "a"',
        "output none",
        "y = [x, x]",
        "y = {a: x}",
        "y = x * z",
        "y = z",
        "print x",
    ],
)
@pytest.mark.parametrize(
    ("value", "what"), [("2", "int64 2"), ("true", "bool true"), ("[1, 2]", "int64 of shape (2,)")]
)
def test_a_variable_that_is_no_float_is_told_once(rest: str, value: str, what: str) -> None:
    warnings = said(f"var x = {value}; var z = 1.5; {rest}")
    assert (
        len([w for w in warnings if w.startswith("W202") and f"respect to `x`: `x` is {what}" in w])
        == 1
    )


def test_the_same_with_other_derivatives() -> None:
    for options in (
        {"jacobian": True},
        {"hessian": True},
        {"hessian_blocks": True},
        {"mode": "forward"},
        {"of": ("y",)},
    ):
        assert (
            len(
                [
                    w
                    for w in said("var x = 2; var z = 1.5; y = x * z", **options)
                    if w.startswith("W202")
                ]
            )
            == 1
        ), options
    assert said("var x = 2; y = x**2", grad=False) == []


@pytest.mark.parametrize(
    ("output", "op"),
    [
        ("argmax(w)", "argmax"),
        ("int64(x)", "int64"),
        ("argsort(w)", "argsort"),
        ("k + 1", "argmax"),
        ("[k, 3]", "argmax"),
    ],
)
def test_an_output_of_ints_says_why_it_has_no_gradient(output: str, op: str) -> None:
    warnings = said(f"var x = 2.5; var w = [1.0, 2.0]; k = argmax(w); output y = {output}")
    assert [w for w in warnings if w.startswith("W202")] == [
        f"W202 no gradient of `y`: `{op}` gives ints, which have no gradient"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "n = 0; while x*n < 5 { n = n + 1 }; output n",
        "output n = len(w)",
        "output n = 3",
        "output ok = x > 1",
    ],
)
def test_what_no_variable_goes_into_needs_no_word(source: str) -> None:
    assert said(f"var x = 1.0; var w = [1.0, 2.0]; {source}") == []


def test_numbers_of_several_kinds_are_differentiated_together() -> None:
    for options in ({}, {"mode": "forward"}):
        found = evaluate(
            "var x = 2.5; output y = [x**2, 3]; output d = {a: x**3, ok: x > 1, n: 4}", **options
        )
        assert found.gradients == {"y": {"x": 5.0}, "d": {"x": 18.75}}
        assert found.notes == []
    assert evaluate("var x = 2.5; output y = [x**2, 3]", jacobian=True).jacobians["y"]["x"] == [
        5.0,
        0.0,
    ]


# ---- outputs that get no gradient unasked --------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "note"),
    [
        (
            "y = grad(x**2, x)",
            "`y` is a derivative itself, and gets no gradient unasked; `--of y` asks for it",
        ),
        (
            "y = x * 1j",
            "`y` has no gradient: it is complex; take its `real` part, its `imag` part or its `abs`",
        ),
        (
            'y = {a: x, b: "s"}',
            '`y` has no gradient: it holds the string "s"; make an `output` of the numbers in it',
        ),
        (
            "y = [x, none]",
            "`y` has no gradient: it holds none; make an `output` of the numbers in it",
        ),
    ],
)
def test_an_output_without_a_gradient_says_how_to_ask(output: str, note: str) -> None:
    assert evaluate(f"var x = 2.0; output {output}").notes == [note]
    assert (
        evaluate(
            f"x = 2.0; frozen f = 1.0; watch f; output {output.replace('grad(x**2, x)', 'grad(f**2, f)')}"
        ).notes
        == []
    )
    assert evaluate(f"var x = 2.0; output {output}", grad=False).notes == []


def test_two_derivatives_are_told_together() -> None:
    found = evaluate(
        "var x = 2.0; y = x**3; output g = grad(y, x); output h = hessian(y, x); output y"
    )
    assert found.notes == [
        "`g`, `h` are derivatives themselves, and get no gradient unasked; `--of g --of h` asks for them"
    ]


PROGRAM = "var x = 2.5\nvar n = 3\noutput y = x**2 * n\noutput g = grad(y, x)\n"


@pytest.mark.parametrize("command", ["eval", "symbolic", "batch"])
def test_every_command_says_it(tmp_path: Path, command: str) -> None:
    program, rows = tmp_path / "p.tg", tmp_path / "rows.csv"
    program.write_text(PROGRAM.replace("(y, x)", "(x**3, x)"))
    rows.write_text("x\n1.5\n2.5\n")
    more = ["--rows", str(rows), "-o", str(tmp_path / "out.csv")] if command == "batch" else []
    told = CliRunner().invoke(app, [command, str(program), *more])
    assert told.exit_code == 0
    assert told.stderr.count("warning[W202]") == 1
    assert (
        "note: `g` is a derivative itself, and gets no gradient unasked; `--of g` asks for it"
        in told.stderr
    )
    assert "note:" not in CliRunner().invoke(app, [command, str(program), *more, "-q"]).stderr


def test_the_json_has_the_notes() -> None:
    told = CliRunner().invoke(
        app, ["eval", "-e", "var x = 2.0; g = grad(x**2, x)", "--format", "json"]
    )
    assert json.loads(told.stdout)["notes"][0].startswith("`g` is a derivative itself")


# ---- what isn't finite ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("var x = -1.0; y = log(x)", "`y`"),
        ("var x = 0.0; y = sqrt(x)", "∂y/∂x"),
        ("var x = 0.0; y = log(x)", "`y`, ∂y/∂x"),
        ("var x = [1.0, -1.0]; y = log(x)", "`y`"),
        ("var x = [1.0, 0.0]; y = {a: [x, sqrt(x)]}", "∂y/∂x"),
        ("y = 1.0 / 0.0", "`y`"),
    ],
)
def test_what_is_not_finite_comes_with_a_warning(source: str, what: str) -> None:
    (warning,) = evaluate(source).diagnostics
    assert (warning.code, warning.message) == ("W205", f"not finite: {what}")
    assert "--debug-nan" in warning.help
    with pytest.raises(GradcliError, match="E324"):
        evaluate(source, debug_nan=True)


def test_second_derivatives_and_many_outputs() -> None:
    assert said("var x = 0.0; y = x**1.5", hessian=True) == ["W205 not finite: ∂²y/∂x²"]
    outputs = "; ".join(f"output y{k} = log(x)" for k in range(6))
    assert said(f"x = -1.0; {outputs}") == ["W205 not finite: `y0`, `y1`, `y2`, `y3` and 2 more"]
