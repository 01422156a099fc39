"""`gradcli eval` as users call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import Source, Span
from gradcli.engine.ir.instructions import Block, Operation, Region, Value
from gradcli.engine.ir.types import I64
from gradcli.engine.lowering.programs import Lowered, lower_program
from gradcli.ops import OPS

Run = Callable[..., Any]


def evaluate(gradcli: Run, *arguments: str) -> Any:
    result = gradcli("eval", *arguments, "--format", "json")
    assert result.code == 0, result.err
    return result.json


# ---- ways in -------------------------------------------------------------------------------------


def test_an_expression(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "x**2", "--set", "x=3")
    assert result.out == "result        9.0\n∂result/∂x    6.0\n"
    assert result.err == ""


def test_a_whole_program_on_the_command_line(gradcli: Run) -> None:
    assert evaluate(gradcli, "-e", "var x = 3.0; y = x**2")["gradients"] == {"y": {"x": 6.0}}


def test_a_file(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text("var x = 3.0\ny = x**2\n")
    assert evaluate(gradcli, "p.tg")["file"] == "p.tg"


def test_standard_input(gradcli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text("var x = 3.0\ny = x**2\n")
    with open(tmp_path / "p.tg") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert evaluate(gradcli, "-")["file"] == "<stdin>"


def test_several_files_all_run_and_the_highest_code_wins(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tg").write_text("expect 1.0 == 2.0\n")
    (tmp_path / "b.tg").write_text("y = (\n")
    (tmp_path / "c.tg").write_text("y = 1.0\n")
    result = gradcli("eval a.tg b.tg c.tg nowhere.tg --format json")
    assert result.code == 3
    assert [entry["file"] for entry in result.json] == ["a.tg", "b.tg", "c.tg", "nowhere.tg"]
    assert result.json[2]["outputs"]["y"]["value"] == 1.0
    assert gradcli("eval a.tg c.tg").code == 1


# ---- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("3", 3.0),
        ("2*pi/3", 2 * np.pi / 3),
        ("-(1.5e1)", -15.0),
        ("[1, 2]", [1.0, 2.0]),
        ("inf", "inf"),
        ("[[1,2],[3,4]]", [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_set_takes_constant_expressions(gradcli: Run, literal: str, value: object) -> None:
    assert (
        evaluate(gradcli, "-e", "var x; y = x * 1.0", "--no-grad", "--set", f"x={literal}")[
            "outputs"
        ]["y"]["value"]
        == value
    )


@pytest.mark.parametrize(
    "literal", ["open('pwned', 'w')", "10**10**10", "y", "1 +", "fn(x) = x", "__import__"]
)
def test_set_takes_nothing_else(gradcli: Run, tmp_path: Path, literal: str) -> None:
    result = gradcli("eval", "-e", "x + 1", "--set", f"x={literal}")
    assert result.code in (2, 3)
    assert "error[" in result.err
    assert not (tmp_path / "pwned").exists()


def test_set_wins_over_inputs(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text('{"x": 2.5, "y": 1}')
    values = evaluate(gradcli, "-e", "x**2 + y", "--inputs", "v.json", "--set", "x=3.0")
    assert values["outputs"]["result"]["value"] == 10.0


def test_an_unknown_input(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "var width = 2.0; y = width", "--set", "widht=3")
    assert result.code == 2
    assert "widht" in result.err
    assert "did you mean `width`?" in result.err
    assert (
        gradcli(
            "eval", "-e", "var width = 2.0; y = width", "--set", "widht=3", "--ignore-extra"
        ).code
        == 0
    )


def test_a_missing_input(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "x**2")
    assert result.code == 2
    assert "E004" in result.err


# ---- what is asked -------------------------------------------------------------------------------


def test_of_and_wrt_take_comma_lists(gradcli: Run) -> None:
    source = "var x = 1.0; var y = 2.0; var z = 3.0; a = x * y; b = a * z; output b"
    answer = evaluate(
        gradcli, "-e", source, "--of", "a,b", "--wrt", "x,y", "--wrt", "z", "--unconnected", "zero"
    )
    assert answer["gradients"] == {
        "a": {"x": 2.0, "y": 1.0, "z": 0.0},
        "b": {"x": 6.0, "y": 3.0, "z": 2.0},
    }


def test_no_grad(gradcli: Run) -> None:
    assert gradcli("eval -e x**2 --set x=3 --no-grad").out == "result    9.0\n"


def test_jacobians_and_hessians(gradcli: Run) -> None:
    source = "var x = [1.0, 2.0]; var z = 3.0; y = x * x[0] * z"
    both = gradcli("eval", "-e", source, "--jacobian", "--hessian-blocks")
    assert both.out == (
        "y            [3. 6.]\n"
        "∂Σy/∂x       [12.  3.]\n"
        "∂Σy/∂z       3.0\n"
        "∂y/∂x        [[6. 0.]\n"
        "              [6. 3.]]\n"
        "∂y/∂z        [1. 2.]\n"
        "∂²Σy/∂x²     [[6. 3.]\n"
        "              [3. 0.]]\n"
        "∂²Σy/∂z²     0.0\n"
        "∂²Σy/∂x∂z    [4. 1.]\n"
    )
    answer = evaluate(gradcli, "-e", source, "--jacobian", "--hessian", "--no-grad", "--wrt", "x")
    assert answer["gradients"] == {}
    assert answer["jacobians"] == {"y": {"x": [[6.0, 0.0], [6.0, 3.0]]}}
    assert answer["hessians"] == {"y": {"x": [[6.0, 3.0], [3.0, 0.0]]}}


def test_hessians_in_every_format(gradcli: Run, tmp_path: Path) -> None:
    command = [
        "eval",
        "-e",
        "x**2 * y",
        "--set",
        "x=3",
        "--set",
        "y=2",
        "--hessian-blocks",
        "--no-grad",
        "--format",
    ]
    assert json.loads(gradcli(*command, "jsonl").out)["hessians"] == {
        "result": {"x": 4.0, "y": 0.0, "x,y": 6.0}
    }
    assert '<expr>,result,"x,y/hessian",,6.0\n' in gradcli(*command, "csv").out
    assert gradcli(*command, "npz", "-o", "h.npz").code == 0
    with np.load(tmp_path / "h.npz") as arrays:
        assert arrays["d2result/dxdy"] == 6.0


def test_a_derivative_that_cannot_fit_leaves_the_values(gradcli: Run) -> None:
    result = gradcli(
        "eval",
        "-e",
        "var x = zeros(300000); y = x * 2; output sum(y), y",
        "--jacobian",
        "--of",
        "y",
        "--format",
        "json",
    )
    assert result.code == 4
    assert "a Jacobian of shape (300000, 300000) would take 720 GB" in result.err
    assert result.json["outputs"]["sum(y)"]["value"] == 0.0


def test_mode(gradcli: Run) -> None:
    source = "var x = 3.0; y = x**2"
    for mode in ("auto", "forward", "reverse"):
        assert evaluate(gradcli, "-e", source, "--mode", mode)["gradients"] == {"y": {"x": 6.0}}
    assert "in forward mode" in gradcli("eval", "-e", source, "-v").err
    assert "in reverse mode" in gradcli("eval", "-e", source, "-v", "--mode", "reverse").err
    refused = gradcli(
        "eval", "-e", source + "; z = 2 * y; output z", "--mode", "forward", "--wrt", "y"
    )
    assert (refused.code, "forward mode differentiates by variables" in refused.err) == (2, True)


def test_a_gradient_of_a_sum_says_so(gradcli: Run) -> None:
    assert "∂Σy/∂x    [2. 2.]" in gradcli("eval", "-e", "var x = [1.0, 2.0]; y = 2 * x").out


def test_an_unconnected_gradient(gradcli: Run) -> None:
    source = "var x = 1.0; var y = 2.0; output z = x**2"
    result = gradcli("eval", "-e", source)
    assert result.code == 0
    assert "∂z/∂y    none" in result.out
    assert "W201" in result.err
    assert gradcli("eval", "-e", source, "-q").err == ""
    assert gradcli("eval", "-e", source, "--unconnected", "error").code == 3
    entry = evaluate(gradcli, "-e", source)
    assert entry["gradients"]["z"] == {"x": 2.0, "y": None}
    assert entry["diagnostics"][0]["reason"] == "never_read"


def test_float32(gradcli: Run) -> None:
    assert (
        evaluate(gradcli, "-e", "var x = 0.1; y = x**2", "--dtype", "float32")["outputs"]["y"][
            "dtype"
        ]
        == "float32"
    )


def test_show(gradcli: Run) -> None:
    assert gradcli("eval", "-e", "x**2", "--show", "ast").out.startswith("Module")
    assert gradcli("eval", "-e", "x**2", "--show", "program").out.startswith("Program")
    assert "pow" in gradcli("eval", "-e", "x**2", "--set", "x=3", "--show", "trace").out
    shown = gradcli("eval", "-e", "x**2", "--set", "x=3.5", "--show", "ir").out
    assert shown.startswith("; from x to result\nregion main(%0: f64) -> (f64) {\n")
    assert "= pow %0, %2 : f64 @ 1:1\n" in shown


def test_the_ir_says_what_is_not_compiled(gradcli: Run) -> None:
    shown = gradcli("eval", "-e", "var x = 2.0\nprint x\ny = x + 1\n", "--show", "ir").out
    assert shown.endswith("}\n; line 2: `print` is not compiled\n")
    assert "= add" in shown


def test_machine_code(gradcli: Run) -> None:
    pytest.importorskip("llvmlite")
    shown = gradcli("eval", "-e", "x**2", "--set", "x=3.5", "--show", "llvm").out
    assert shown.startswith("; from x to result\n")
    assert 'define i8* @"kernel"' in shown
    assert '= call double @"pow"' in shown


def test_machine_code_names_what_it_calls_of_python(gradcli: Run) -> None:
    pytest.importorskip("llvmlite")
    program = "var x = 2.0\nprint x\ny = lgamma(x)\n"
    shown = gradcli("eval", "-e", program, "--show", "llvm").out
    assert shown.startswith("; from x to y\n; calls of Python: lgamma\n")
    assert shown.endswith("; line 2: `print` is not compiled\n")


def test_machine_code_names_what_it_calls_on_arrays(gradcli: Run) -> None:
    pytest.importorskip("llvmlite")
    program = "var x = [[2.0, 0.3], [0.1, 1.5]]\na = arange(900.0).reshape(30, 30)\ny = sort(x[0] * 2), sort(x), a @ (a * x[0, 0])"
    shown = gradcli("eval", "-e", program, "--show", "llvm").out
    assert "\n; calls of Python: arange, sort, matmul\n" in shown


def test_machine_code_says_what_has_none(gradcli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program comes to that yet: so a region takes a power that none has."""
    pytest.importorskip("llvmlite")
    base = Value(I64)
    power = Operation(OPS["pow"], (base, base), Value(I64), Span(Source("p", "\n\nn**n"), 2, 6))
    region = Region("main", Block((base,), [power], (power.result,)))

    def with_power(*given: Any, **options: Any) -> Lowered:
        lowered = lower_program(*given, **options)
        lowered.original = region
        return lowered

    monkeypatch.setattr("gradcli.engine.region_texts.lower_program", with_power)
    assert gradcli("eval", "-e", "var n = 2\ny = n", "--show", "llvm").out == (
        "; from n to y\n; p, line 3: `pow` of ints has no machine code\n"
    )


def test_machine_code_needs_llvmlite(gradcli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for name in [name for name in sys.modules if name.startswith("gradcli.engine.codegen.llvm")]:
        monkeypatch.delitem(sys.modules, name)
    result = gradcli("eval", "-e", "1.0", "--show", "llvm")
    assert result.code == 2
    assert "--show llvm needs llvmlite, which isn't installed" in result.err
    assert "pip install llvmlite" in result.err


def test_repeat_and_verbose(gradcli: Run) -> None:
    assert len(evaluate(gradcli, "-e", "x**2", "--set", "x=3", "--repeat", "5")["timings"]) == 5
    assert "<expr>: 1 output, 1 gradient" in gradcli("eval -e x**2 --set x=3 -v").err


# ---- answers -------------------------------------------------------------------------------------


def test_an_answer_in_a_file(gradcli: Run, tmp_path: Path) -> None:
    result = gradcli("eval -e x**2 --set x=3 --format json -o y.json")
    assert (result.code, result.out) == (0, "")
    assert json.loads((tmp_path / "y.json").read_text())["outputs"]["result"]["value"] == 9.0
    assert gradcli("eval -e x**2 --set x=3 --format npz -o y.npz").code == 0
    with np.load(tmp_path / "y.npz") as arrays:
        assert float(arrays["dresult/dx"]) == 6.0


def test_an_answer_that_cannot_be_written(gradcli: Run, tmp_path: Path) -> None:
    result = gradcli("eval -e x**2 --set x=3 -o no/y.txt")
    assert result.code == 2
    assert "E006" in result.err


def test_what_was_printed_before_an_error_is_not_lost(gradcli: Run) -> None:
    source = 'print "before"; x = [1.0]; y = x[3]'
    result = gradcli("eval", "-e", source)
    assert result.code == 3
    assert result.out == "before\n"
    answer = gradcli("eval", "-e", source, "--format", "json")
    assert answer.json["printed"] == ["before"]
    assert answer.json["diagnostics"][0]["code"] == "E303"
    assert "E303" in answer.err


def test_a_syntax_error_is_an_object_too(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "y = (", "--format", "json")
    assert result.code == 3
    assert result.json["diagnostics"][0]["line"] == 1
    assert "error[E110]" in result.err


def test_a_failed_expectation_is_shown_in_the_source(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "a = 1.0\nexpect a == 2.0  # no\nb = 3.0")
    assert result.code == 1
    assert "<expr>:2:" in result.err
    assert "b    3.0" in result.out


# ---- limits --------------------------------------------------------------------------------------


def test_max_steps(gradcli: Run) -> None:
    result = gradcli(
        "eval", "-e", "i = 0; while true { i = i + 1 }", "--max-steps", "1000", "--format", "json"
    )
    assert result.code == 4
    assert result.json["diagnostics"][0]["code"] == "E403"


def test_threads_change_nothing(gradcli: Run) -> None:
    source = "fn f(p) { s = p; for k in range(200) { s = s + 0.1*sin(s*p) }; return s }\noutput sum(vmap(f)(arange(200000.0)))"
    alone, together = (gradcli("eval", "-e", source, "--threads", n) for n in ("1", "2"))
    assert (alone.code, together.out) == (0, alone.out)
    assert gradcli("eval", "-e", "1.0", "--threads", "0").code == 2


def test_timeout(gradcli: Run) -> None:
    result = gradcli(
        "eval",
        "-e",
        'print "before"; i = 0; while true { i = 1 - i }',
        "--timeout",
        "0.3",
        "--format",
        "json",
    )
    assert result.code == 4
    assert result.json["diagnostics"][0]["code"] == "E404"
    assert "E404" in result.err
    assert result.json["printed"] == ["before"]


def test_an_allocation_that_cannot_fit(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "y = zeros([1000000, 1000000, 1000])")
    assert result.code == 4
    assert "<expr>:1:5" in result.err


def test_recursion(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "fn f(n) { return f(n + 1) }\ny = f(0)")
    assert result.code == 4
    assert "E406" in result.err


def test_a_seed_is_not_negative(gradcli: Run) -> None:
    result = gradcli("eval", "-e", "y = normal(2)", "--seed", "-1")
    assert result.code == 2
    assert "--seed" in result.err


def test_an_unknown_target_lists_each_name_once(gradcli: Run) -> None:
    assert (
        "its names are `y`, `x`\n"
        in gradcli("eval", "-e", "var x = 1.0; y = x", "--of", "quantity").err
    )


def test_an_output_that_is_a_function(gradcli: Run) -> None:
    source = "fn f(x) = x**2; g = grad(f); output f, g, [sin]"
    outputs = evaluate(gradcli, "-e", source)["outputs"]
    assert [outputs[name]["value"] for name in outputs] == [
        "<the function `f`>",
        "<the function `grad(f)`>",
        ["<the function `sin`>"],
    ]
