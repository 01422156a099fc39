"""Results written over operands: nobody sees it, neither in values nor in gradients."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.engine.operations import apply, overwriting

from .programs import evaluate

A = np.arange(6.0).reshape(2, 3) - 2.0
W = np.array([[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]])
BODIES = [
    "a @ w + b",
    "(a @ w - b)*b/(b + 1.0)",
    "(a @ w)*(a @ w + b) - a @ w",
    "(a + a)*(a - 1.0) @ w",
    "sum((a*a + a)*a) + b",
    "(b*b*b + b)/b - b",
    "m + b + m; m = m + b - m",
    "tanh(a @ w + b)*(a @ w + b)",
    "relu(a @ w + b)*2.0 - (a @ w)*b",
    "f(a @ w) + f(a @ w + b)*b",
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("body", BODIES)
def test_it_is_the_same(monkeypatch: pytest.MonkeyPatch, body: str, dtype: str) -> None:
    source = f"""fn f(z) = (z + 1.0)*z - z
var a: float[2, 3]; var w: float[3, 2]; var b = [0.7, -0.4]
m = a @ w
y = {body}
output y, m"""
    answers = []
    for spare in (apply.donated_array, lambda *given: None):
        monkeypatch.setattr(apply, "donated_array", spare)
        evaluation = evaluate(source, {"a": A.astype(dtype), "w": W.astype(dtype)}, dtype=dtype)
        answers.append(
            [
                *evaluation.outputs.values(),
                *[g for row in evaluation.gradients.values() for g in row.values()],
            ]
        )
    for found, expected in zip(*answers, strict=True):
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("y", ["{} + array(b)", "relu({} + array(b))"])
def test_a_sum_after_a_product_has_its_memory(y: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spared = []

    def spare(*given: object) -> object:
        spared.append(found := expressions_spare(*given))
        return found

    expressions_spare = apply.donated_array
    monkeypatch.setattr(apply, "donated_array", spare)
    product = y.format("array([[1.0, 2.0, 3.0]]) @ w")
    evaluate(f"var w: float[3, 2]; b = [1.0, 2.0]; y = {product}\noutput sum(y)", {"w": W})
    assert [found is not None for found in spared] == [True]


def test_a_name_keeps_its_array() -> None:
    assert overwriting.MAKES_NEW.isdisjoint(
        {"pos", "pow", "reshape", "getitem"}
    )  # which may give what they were given
    source = "a = ones(3); b = ones(3); y = a + b; z = y + b; u = (a + b)**1 + b\noutput y, z, u"
    assert [list(v) for v in evaluate(source).outputs.values()] == [[2.0] * 3, [3.0] * 3, [3.0] * 3]
