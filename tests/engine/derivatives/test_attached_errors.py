"""Attached gradients: what is refused, and with which message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gradcli
from gradcli.diagnostics import GradcliError

from ..programs import evaluate, failure

ERRORS = Path(__file__).parent / "errors"


@pytest.mark.parametrize("path", sorted(ERRORS.glob("*.tg")), ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    """`GRADCLI_UPDATE_GOLDENS=1` writes the expected texts anew; read the difference before you
    keep it."""
    try:
        gradcli.load(source=path.read_text(encoding="utf-8")).run()
    except GradcliError as error:
        shown = str(error) + "\n"
    else:
        pytest.fail("no error at all")
    expected = path.with_suffix(".expected")
    if os.environ.get("GRADCLI_UPDATE_GOLDENS"):
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("program", "code", "part"),
    [
        ("backward(x)", "E325", "the variable `x` itself"),
        ("backward(3.0)", "E325", "plain value: float64 3.0"),
        ("backward(none)", "E314", "none"),
        ('backward("a")', "E314", "string"),
        ("backward([])", "E325", "no head"),
        ("fn f(a) = a; backward(f)", "E314", "function"),
        ("record { y = x * 1j }; backward(y)", "E314", "complex"),
        ("record { y = x * 2 }; backward([y, 1.0])", "E325", "plain value"),
        ("record { y = x * 2 }; backward([y, y], head = [1.0])", "E314", "the head is"),
        ("record { y = x * 2 }; backward(y, head = [1.0])", "E314", "the head has shape (1,)"),
        ("record { y = x * 2 }; backward(y, create = 1)", "E311", "`create` is int64 1"),
        ("record { y = x * 2 }; backward(y, keep = true)", "E202", "no parameter `keep`"),
        ('attach_grad(x, req = "sum")', "E311", '"write", "add" or "null"'),
        ("attach_grad(x, req = none)", "E311", "`req` is none"),
        ("attach_grad(2.0)", "E312", "no name"),
        ("attach_grad(x * 2)", "E312", "no name"),
        ("attach_grad([x, 2.0])", "E312", "no name"),
        ("l = [x, 2.0]; attach_grad(l)", "E312", "no name"),
        ("d = {a: 2.0}; attach_grad(d)", "E314", "a dict"),
        ("module M() { var w = 1.0 }; m = M(); attach_grad(m)", "E314",
            "`attach_grad(m.trainable_variables)`"),
        ("n = [1, 2]; attach_grad(n)", "E314", "int64"),
        ("l = [[1.0], [2.0, 3.0]]; attach_grad(l)", "E302", "rows"),
        ("attach_grad()", "E202", "needs `x`"),
        ("f = attach_grad; f(2.0)", "E312", "no name"),
        ("y = x.grad.grad", "E316", "`x.grad` has no attached gradient"),
        ("d = {a: 2.0}; y = d.grad", "E309", "no key `grad`"),
        ("x.grad := 1.0", "E312", "`attach_grad(x)` sets it back to zeros"),
        ("x[0] = 1.0", "E312", "`x` holds a variable"),
        ("x[0] = 1.0", "E312", "a copy of it, which `array(…)` makes"),
        ("const c = 1.0; attach_grad(c); c := 2.0", "E208", "constant"),
    ],
)  # fmt: skip
def test_errors(program: str, code: str, part: str) -> None:
    found = failure(f"x = 3.0; attach_grad(x); {program}")
    assert found.code == code
    assert part in found.message + found.label + found.help


def test_a_backward_that_fails_changes_nothing() -> None:
    source = """
x = 3.0; w = 2.0; n = [1.0, 2.0]
attach_grad(x); attach_grad(w, req = "add"); attach_grad(n)
record { y = x * w; h = y * 2; z = h * sum(n) }
backward(y)
expect [x.grad, w.grad] ~= [2.0, 3.0]
expect error "consumed" { backward(z) }
expect error "head" { backward([h, 1.0]) }
expect [x.grad, w.grad] ~= [2.0, 3.0]
expect n.grad ~= [0.0, 0.0]
record { z = x * w }
backward(z)                             # and has consumed nothing of the rest
expect [x.grad, w.grad] ~= [2.0, 6.0]
"""
    evaluate(source)
