"""`gradcli symbolic`, and `eval --closed-form`: what people type, and what comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli as package

Run = Callable[..., Any]


def test_text(gradcli: Run) -> None:
    result = gradcli("symbolic", "-e", "x**2 * sin(y)")
    assert result.out == "result = x**2*sin(y)\n∂result/∂x = 2*x*sin(y)\n∂result/∂y = x**2*cos(y)\n"
    assert (result.code, result.err) == (0, "")


def test_orders_and_names(gradcli: Run) -> None:
    text = "var x = 1.0; var z = 2.0; f = x**3 * z; v = [x, z]; output f, v"
    result = gradcli("symbolic", "-e", text, "--order", "2", "--of", "f", "--no-simplify")
    assert result.out.splitlines() == [
        "f = x**3*z", "∂f/∂x = 3*x**2*z", "∂f/∂z = x**3", "∂²f/∂x² = 6*x*z", "∂²f/∂x∂z = 3*x**2",
        "∂²f/∂z² = 0",
    ]  # fmt: skip
    result = gradcli(
        "symbolic", "-e", text, "--of", "v", "--wrt", "z", "--order", "3", "--no-simplify"
    )
    assert result.out.splitlines()[:2] == ["v = [x, z]", "∂Σv/∂z = 1"]
    assert gradcli("symbolic -e 'x**2' --order 0 --no-simplify").out == "result = x**2\n"


def test_only_what_occurs_is_listed(gradcli: Run) -> None:
    text = "var x = 1.0; var z = 2.0; f = x**2; g = z; output f, g"
    assert (
        gradcli("symbolic", "-e", text, "--no-simplify").out
        == "f = x**2\n∂f/∂x = 2*x\ng = z\n∂g/∂z = 1\n"
    )
    assert "∂f/∂z = 0\n" in gradcli("symbolic", "-e", text, "--wrt", "z", "--no-simplify").out


def test_pretty_and_latex(gradcli: Run) -> None:
    result = gradcli(
        "symbolic -e 'var x = [1.0, 2.0]; f = sqrt(x[0]) / x[1]; output f' --to pretty --order 0 --no-simplify"
    )
    assert result.out == "f =\n      ____\n    ╲╱ x₀\n    ──────\n      x₁\n\n"
    result = gradcli(
        "symbolic -e 'var alpha = 0.5; f = [alpha**2, 1/alpha]; output f' --to latex --order 0 --no-simplify"
    )
    assert result.out == r"f = [\alpha^{2}, \frac{1}{\alpha}]" + "\n"


def test_json(gradcli: Run) -> None:
    result = gradcli(
        "symbolic -e 'var x = [1.0, 2.0]; f = x[0] * x[1]; output f' --order 2 --format json --to c --no-simplify"
    )
    forms = result.json["closed_forms"]["f"]
    assert forms["value"] == "x[0]*x[1]"
    assert forms["gradients"] == {"x": ["x[1]", "x[0]"]}
    assert forms["derivatives"] == {"x,x": [["0", "1"], ["1", "0"]]}
    assert result.json["code"].startswith("#include <math.h>\n")
    assert result.json["diagnostics"] == []


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("y = max(sin(arange(20) * x))", "`max` has no closed form of more than 12 operands"),
        ("y = 0.0; for i in range(15) { y = minimum(y, sin(i * x)) }; output y", "`minimum` has no closed form of more than 12 operands"),
        ("y = inv(x * eye(7))", "`inv` has no closed form of a matrix of shape (7, 7)"),
    ],
)  # fmt: skip
def test_what_would_take_sympy_minutes_has_no_closed_form(
    gradcli: Run, program: str, reason: str
) -> None:
    result = gradcli(f'symbolic -e "var x = 0.5; {program}"')
    assert result.code == 3
    assert f"error[E340]: {reason}" in result.err


def test_several_files_and_errors(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("var x = 1.0; f = x**2; output f", encoding="utf-8")
    (tmp_path / "b.tg").write_text(
        "var x = 1.0\nf = eigh([[x, 1.0], [1.0, x]])\noutput f", encoding="utf-8"
    )
    result = gradcli("symbolic a.tg b.tg --order 0 --no-simplify")
    assert result.out == "a.tg:\nf = x**2\n"
    assert result.code == 3
    assert "error[E340]: `eigh` has no closed form" in result.err
    assert "--> b.tg:2:5" in result.err
    found = gradcli("symbolic a.tg b.tg --order 0 --format json --no-simplify").json
    assert [entry["closed_forms"] for entry in found] == [
        {"f": {"value": "x**2", "gradients": {}}},
        {},
    ]
    assert found[1]["diagnostics"][0]["code"] == "E340"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("symbolic -e 'x**'", 3, "E101"),
        ("symbolic", 2, "E001"),
        ("symbolic -e 'x' --set z=1", 2, "E003"),
        ("symbolic -e 'x' --of y", 2, "E003"),
        ("symbolic -e 'var x: float[n]; output sum(x)'", 2, "E004"),
        ("symbolic -e 'while true { }' --timeout 0.5", 4, "E40"),
        ("symbolic -e 'x' --timeout 0", 2, "E001"),
        ("symbolic -e 'zeta(x + 1)' --to numpy --no-simplify", 3, "the derivative of `zeta`"),
        ("symbolic -e 'gamma(x)' --to rust --no-simplify", 3, "rust lacks the function `gamma`"),
    ],
)
def test_what_is_wrong(gradcli: Run, arguments: str, code: int, words: str) -> None:
    result = gradcli(arguments)
    assert result.code == code
    assert words in result.err


SLOW = "var x = 0.5; t = x; for k in range(4) { t = sin(t) * exp(t) + log(1 + t**2) }; output t"


def test_simplification_is_cut_off(gradcli: Run) -> None:
    begun = time.monotonic()
    result = gradcli("symbolic", "-e", SLOW, "--order", "0", "--timeout", "2")
    assert time.monotonic() - begun < 60  # it would take minutes
    assert "warning[W342]: simplification was cut off" in result.err
    assert result.code == 0
    assert result.out.startswith("t = (")
    quiet = gradcli("symbolic", "-e", SLOW, "--no-simplify", "--order", "0")
    assert (quiet.err, quiet.code) == ("", 0)


def test_what_is_simpler_is_verified_by_the_process_that_can_be_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SymPy may take for ever to evaluate a form, too."""
    from gradcli.engine.symbolic import calculus
    from gradcli.tasks import symbolic
    from gradcli.tasks.evaluation import Options
    from gradcli.tasks.programs import parse_program
    from gradcli.tasks.simplifying import Simplifier

    node = parse_program(
        package.diagnostics.Source("<expr>", "var x = 0.5; y = sin(x)**2 + cos(x)**2")
    )
    found = symbolic.closed_forms(node, {}, Options())
    monkeypatch.setattr(calculus, "evaluate", None)
    with Simplifier() as simplifier:
        symbolic.simplify(found, simplifier, 60.0)
    assert str(found.values["y"]) == "1"
    assert found.diagnostics == []


def test_what_is_not_equal_at_the_point_is_no_simpler_form(monkeypatch: pytest.MonkeyPatch) -> None:
    import sympy

    from gradcli.engine.symbolic import simplifier

    x = sympy.Symbol("x")
    monkeypatch.setattr(sympy, "simplify", lambda form: sympy.Integer(1))
    for value, expected in ((0.0, sympy.Integer(1)), (1.0, sympy.cos(x))):
        received, answers = Pipe(duplex=False)
        with received, answers:
            simplifier.answer([sympy.cos(x)], {x: value}, answers)
            assert received.recv() == (0, expected)


def test_the_time_counts_from_the_beginning(gradcli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported, read and written counts, too."""
    from gradcli.cli import symbolic

    monkeypatch.setattr(symbolic, "began", lambda: time.monotonic() - 100.0)
    result = gradcli("symbolic -e 'x**2' --timeout 50")
    assert (result.code, result.out) == (4, "")
    assert "error[E404]: the program ran longer than --timeout 50 seconds" in result.err


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes")
def test_no_process_is_left_behind() -> None:
    command = [sys.executable, "-m", "gradcli", "symbolic", "-e", SLOW, "--timeout", "30"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        children: list[int] = []
        while not children and process.poll() is None:
            children = [
                int(pid)
                for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children")
                .read_text()
                .split()
            ]
            time.sleep(0.05)
        assert children
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert not any(os.path.exists(f"/proc/{child}") for child in children)


# ---- eval --closed-form --------------------------------------------------------------------------


def test_beside_the_numbers(gradcli: Run) -> None:
    result = gradcli("eval -e 'x**3 - 3*x' --set x=2 --closed-form")
    assert result.out == "result        2.0    = x**3 - 3*x\n∂result/∂x    9.0    = 3*x**2 - 3\n"
    assert (result.code, result.err) == (0, "")


def test_closed_forms_in_json(gradcli: Run) -> None:
    text = "var x = [1.0, 2.0]; var z = 3.0; y = x**2; n = 3; output y, n"
    found = gradcli("eval", "-e", text, "--closed-form", "--format", "json").json
    assert found["closed_forms"] == {
        "y": {"value": ["x[0]**2", "x[1]**2"], "gradients": {"x": ["2*x[0]", "2*x[1]"], "z": None}},
        "n": {"value": "3", "gradients": {}},
    }
    assert gradcli("eval", "-e", text, "--format", "json").json["closed_forms"] == {}


def test_numbers_come_without_a_form(gradcli: Run) -> None:
    result = gradcli("eval -e 'sum(eigh(x)[0])' --set 'x=[[2.0, 1.0], [1.0, 2.0]]' --closed-form")
    assert result.code == 0
    assert result.out.startswith("result")
    assert "warning[W343]: no closed form: `eigh` has no closed form" in result.err


def test_from_python() -> None:
    program = package.load(source="var x = 3.0; y = x**2").with_options(closed_form=5.0)
    assert program.run().closed_forms == {"y": {"value": "x**2", "gradients": {"x": "2*x"}}}


@pytest.mark.parametrize(
    "body", ["cbrt(x)", "sqrt(abs(x))**3 + abs(x)**2.5", "cbrt(x) + abs(x)**1.5"]
)
def test_simplified_powers_have_real_bases(gradcli: Run, body: str) -> None:
    """`|x^p|`, which SymPy makes of `|x|^p`, is nan in floats for a negative x."""
    found = gradcli("symbolic", "-e", f"var x = -0.5; y = {body}", "--to", "numpy")
    namespace: dict[str, Any] = {"np": np}
    exec(found.out, namespace)
    wanted = package.load(source=f"var x = -0.5; y = {body}").run()
    assert np.isclose(namespace["y"](-0.5), wanted.outputs["y"])
    assert np.isclose(namespace["dy_dx"](-0.5), wanted.gradients["y"]["x"])


def test_a_mean_has_a_closed_form(gradcli: Run) -> None:
    text = "var x = [1.0, 2.0]; f = mean(x)"
    assert "f = x[0]/2 + x[1]/2" in gradcli("symbolic", "-e", text, "--no-simplify").out
