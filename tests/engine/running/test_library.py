"""The library `nn.tg`: what its layers, losses and optimizers compute, beside the same formulas in
NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import Source
from gradcli.lang.imports import LIBRARY
from gradcli.lang.parser import parse, read_source
from gradcli.lang.printer import print_module
from gradcli.lang.program import Import
from gradcli.tasks.programs import parse_program

from ..programs import failure, outputs, value

RNG = np.random.default_rng(7)
X = RNG.normal(size=(5, 3))


def result(expression: str, inputs: dict[str, Any] | None = None, setup: str = "") -> Any:
    return value(
        f"import nn\nconst x = [0.0]\nconst t = [0.0]\n{setup}\noutput r = {expression}",
        {"x": X, **(inputs or {})},
    )


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


# ---- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("", lambda z: np.maximum(z, 0)),
        (", tanh", np.tanh),
        (", nn.identity", lambda z: z),
        (", fn(z) = z**2", np.square),
    ],
)
def test_dense(activation: str, function: Any) -> None:
    w, b = RNG.normal(size=(3, 2)), RNG.normal(size=2)
    found = result("layer(x)", {"layer.w": w, "layer.b": b}, f"layer = nn.Dense(3, 2{activation})")
    np.testing.assert_allclose(found, function(X @ w + b), rtol=1e-13)


def test_the_weights_of_dense_keep_the_scale_of_a_signal() -> None:
    w = result("layer.w", setup="layer = nn.Dense(400, 300)")
    assert abs(np.var(w) * 400 / 2 - 1) < 0.02
    assert abs(np.mean(w)) < 1e-3


def test_mlp() -> None:
    weights = {
        f"net.layers[{k}].{v}": RNG.normal(size=s)
        for k, v, s in [(0, "w", (3, 4)), (0, "b", 4), (1, "w", (4, 2))]
    }
    found = result("net(x)", weights, "net = nn.MLP([3, 4, 2])")
    w0, b0, w1 = weights.values()
    np.testing.assert_allclose(found, np.tanh(X @ w0 + b0) @ w1, rtol=1e-13)
    assert result("len(nn.MLP([3, 4, 5, 2], relu).trainable_variables)") == 6


def test_layer_norm() -> None:
    gain, bias = RNG.normal(size=3), RNG.normal(size=3)
    found = result(
        "layer(x)", {"layer.gain": gain, "layer.bias": bias}, "layer = nn.LayerNorm(3, eps = 0.01)"
    )
    centred = X - X.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        found, gain * centred / np.sqrt(X.var(axis=1, keepdims=True) + 0.01) + bias, rtol=1e-12
    )


def test_lstm() -> None:
    n = 4
    w, u, b = RNG.normal(size=(3, 4 * n)), RNG.normal(size=(n, 4 * n)), RNG.normal(size=4 * n)
    xs = RNG.normal(size=(6, 2, 3))
    setup = f"cell = nn.LSTMCell(3, {n})\nconst xs = [0.0]\noutputs, state = nn.unroll(cell, xs, cell.start(2))"
    found = result(
        "[array(outputs), state[0], state[1]]",
        {"cell.w": w, "cell.u": u, "cell.b": b, "xs": xs},
        setup,
    )
    h = c = np.zeros((2, n))
    hs = []
    for x in xs:
        i, f, g, o = np.split(x @ w + h @ u + b, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
    for actual, expected in zip(found, (hs, h, c), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_the_gates_of_an_lstm_begin_open() -> None:
    b = result("cell.b", setup="cell = nn.LSTMCell(3, 2)")
    np.testing.assert_array_equal(b, [0, 0, 1, 1, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("layer", "given"),
    [
        ("nn.Dense(3, 2)", {"m.w": np.ones((2, 3))}),
        ("nn.LayerNorm(3)", {"m.gain": np.ones(2)}),
        ("nn.LSTMCell(3, 2)", {"m.u": np.ones((3, 8))}),
    ],
)
def test_weights_of_another_shape_are_refused(layer: str, given: dict[str, Any]) -> None:
    assert failure(f"import nn\nm = {layer}\noutput len(m.variables)", given).code == "E005"


# ---- losses --------------------------------------------------------------------------------------

Y, T = RNG.normal(size=8), RNG.normal(size=8)
BITS = np.array([0.0, 1.0, 1.0, 0.0, 0.25, 1.0, 0.0, 1.0])
LOGITS, CLASSES = RNG.normal(size=(8, 3)), [0, 2, 1, 1, 2, 0, 0, 2]
LOG_SOFTMAX = LOGITS - np.log(np.exp(LOGITS).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("expression", "x", "t", "expected"),
    [
        ("nn.mse(x, t)", Y, T, np.mean((Y - T) ** 2)),
        ("nn.mae(x, t)", Y, T, np.mean(np.abs(Y - T))),
        (
            "nn.huber(x, t, delta = 0.7)",
            Y,
            T,
            np.mean([d**2 / 2 if d <= 0.7 else 0.7 * (d - 0.35) for d in np.abs(Y - T)]),
        ),
        (
            "nn.binary_cross_entropy(x, t)",
            Y,
            BITS,
            -np.mean(BITS * np.log(sigmoid(Y)) + (1 - BITS) * np.log(1 - sigmoid(Y))),
        ),
        (
            "nn.softmax_cross_entropy(x, int64(t))",
            LOGITS,
            CLASSES,
            -np.mean(LOG_SOFTMAX[range(8), CLASSES]),
        ),
        ("nn.accuracy(x, int64(t))", LOGITS, CLASSES, np.mean(LOGITS.argmax(axis=1) == CLASSES)),
    ],
)
def test_losses(expression: str, x: Any, t: Any, expected: float) -> None:
    assert result(expression, {"x": x, "t": t}) == pytest.approx(expected, rel=1e-13)


def test_losses_do_not_overflow() -> None:
    assert result("nn.binary_cross_entropy(x, t)", {"x": [1000.0, -1000.0], "t": [1.0, 0.0]}) == 0.0


# ---- optimizers ----------------------------------------------------------------------------------

QUADRATIC = """
import nn
var p = [1.0, -2.0]
var q = 0.5
var unused = 1.0
opt = {make}
for k in range({steps}) {{
    {each}
    opt.step(grad(sum(p**4) + p[0]*q + q**2, opt.parameters))
}}
output r = [p[0], p[1], q]
output state = opt
"""


def gradient(p: np.ndarray) -> np.ndarray:
    return np.array([4 * p[0] ** 3 + p[2], 4 * p[1] ** 3, p[0] + 2 * p[2]])


def steps_of_sgd(rates: list[float], momentum: float) -> np.ndarray:
    p, v = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    for rate in rates:
        v = momentum * v + gradient(p)
        p = p - rate * v
    return p


def steps_of_adam(n: int, rate: float, beta1: float, beta2: float, eps: float) -> np.ndarray:
    p, m, v = np.array([1.0, -2.0, 0.5]), np.zeros(3), np.zeros(3)
    for t in range(1, n + 1):
        g = gradient(p)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return p


@pytest.mark.parametrize(
    ("make", "each", "expected"),
    [
        ("nn.SGD([p, q])", "", steps_of_sgd([0.01] * 7, 0.0)),
        ("nn.SGD([p, q], rate = 0.02, momentum = 0.9)", "", steps_of_sgd([0.02] * 7, 0.9)),
        ("nn.SGD([p, q, unused], rate = 0.02)", "", steps_of_sgd([0.02] * 7, 0.0)),
        (
            "nn.SGD([p, q])",
            "if k == 3 { opt.rate := 0.005 }",
            steps_of_sgd([0.01] * 3 + [0.005] * 4, 0.0),
        ),
        ("nn.Adam([p, q])", "", steps_of_adam(7, 0.001, 0.9, 0.999, 1e-8)),
        (
            "nn.Adam([p, unused, q], 0.1, 0.8, 0.99, 1e-4)",
            "",
            steps_of_adam(7, 0.1, 0.8, 0.99, 1e-4),
        ),
    ],
)
def test_optimizers(make: str, each: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(
        outputs(QUADRATIC.format(make=make, each=each, steps=7))["r"], expected, rtol=1e-12
    )


def test_the_state_of_an_optimizer_goes_out_and_in() -> None:
    """Three steps and four more, from the state in between, are seven."""
    make = "nn.Adam([p, q], rate = 0.1)"
    first = outputs(QUADRATIC.format(make=make, each="", steps=3))
    p0, p1, q = first["r"]
    state = {f"opt.{path}": v for path, v in first["state"].items()}
    second = outputs(
        QUADRATIC.format(make=make, each="", steps=4), {**state, "p": [p0, p1], "q": q}
    )
    np.testing.assert_allclose(second["r"], steps_of_adam(7, 0.1, 0.9, 0.999, 1e-8), rtol=1e-12)


@pytest.mark.parametrize(("most", "scale"), [(1.0, 1 / 13.0), (13.0, 1.0), (20.0, 1.0)])
def test_clip_norm(most: float, scale: float) -> None:
    found = result(f"nn.clip_norm([[3.0, 4.0], none, 12.0], {most})")
    np.testing.assert_allclose(found[0], scale * np.array([3.0, 4.0]))
    assert found[1] is None
    assert found[2] == pytest.approx(12.0 * scale)


def test_the_library_is_written_as_the_printer_writes_its_code() -> None:
    """Each construct of the library goes through the printer, and comes out the same."""
    tree = parse(read_source(LIBRARY / "nn.tg", "nn.tg"))
    text = print_module(tree)
    again = read_source(LIBRARY / "nn.tg", "nn.tg")
    assert parse(type(again)("nn.tg", text)) == tree


def test_programs_share_the_text_of_the_library_but_no_variable() -> None:
    text = "import nn\nnet = nn.Dense(2, 1, nn.identity)\noutput b = net.b[0]"
    first, second = (parse_program(Source("<a>", text)).body[0] for _ in range(2))
    assert isinstance(first, Import)
    assert isinstance(second, Import)
    assert first.program is second.program
    changed = text.replace("output", "net.b := [3.0]\noutput")
    assert [value(program) for program in (changed, text, changed)] == [3.0, 0.0, 3.0]
