"""Cotangents of what all rows share: the sum over the rows, however an operation gets it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, only

RNG = np.random.default_rng(5)
N = 7
GIVEN: dict[str, Any] = {
    "w": RNG.normal(size=4),
    "m": RNG.normal(size=(3, 4)),
    "t": RNG.normal(size=(2, 3, 4)),
    "x": RNG.normal(size=(N, 4)),
    "y": RNG.normal(size=(N, 3)),
    "z": RNG.normal(size=(N, 4, 2)),
    "k": np.array([0, 2, 1, 1, -1, 0, 2]),
}

# What a row computes: `x`, `y`, `z`, `k` are its own; `w`, `m`, `t` all rows share.
BODIES = [
    "w @ x",
    "x @ w",
    "sum(tanh(m @ x) * y)",
    "sum(tanh(y @ m) * x)",
    "sum(tanh(m @ z))",
    "sum(sin(z.T @ w))",
    "sum(z.T @ m.T)",
    "dot(w, x)",
    "sum(dot(m, x) * y)",
    "sum((t @ x) ** 2)",
    "inner(w, x)",
    "w[0] * x[1] + w[-1]",
    "sum(w[1:3] * x[:2])",
    "sum(m[1] * x)",
    "sum(m[k] * x)",
    "m[k, 2] * x[0] + m[k, 0]",
    "m[k][1] * sum(y)",
    "sum(m[:, k] * y)",
    "sum(t[1, k] * x) + sum(t[k - 1] * x)",
    "w[k] ** 2 * w[k + 1]",
    "sum(w[x > 0.0])",
    "(w @ x) * w[k] if x[0] > 0.0 else w[0]",
    "(m @ x)[k] * (w @ x)",
]  # fmt: skip


def gradients(text: str) -> dict[str, Any]:
    declared = "var w: float[4]; var m: float[3, 4]; var t: float[2, 3, 4]\n"
    declared += "const x: float[n, 4]; const y: float[n, 3]; const z: float[n, 4, 2]\n"
    program = gradcli.load(source=f"{declared}frozen k: int64[n]\n{text}")
    with only(tier=INTERPRETED):
        return program.run(GIVEN).gradients


@pytest.mark.parametrize("body", BODIES)
def test_they_are_those_of_a_loop(body: str) -> None:
    function = f"fn f(x, y, z, k) = {body}\n"
    rows = gradients(f"{function}output l = sum(vmap(f)(x, y, z, k))")
    loop = gradients(
        f"{function}l = 0.0\nfor i in range({N}) {{ l = l + f(x[i], y[i], z[i], k[i]) }}\noutput l"
    )
    assert rows.keys() == loop.keys()
    (found,), (wanted,) = rows.values(), loop.values()
    assert any(value is not None for value in wanted.values())
    for name, value in wanted.items():
        assert (found[name] is None) == (value is None)
        if value is not None:
            np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("body", BODIES)
def test_they_can_be_differentiated(body: str) -> None:
    """Along a second sweep, which records the first one."""
    function = f"fn f(x, y, z, k) = {body}\n"
    by = next(name for name in "wmt" if re.search(rf"\b{name}\b", body))
    asked = f"output sum(grad(l, {by})**2)"
    rows = gradients(f"{function}l = sum(vmap(f)(x, y, z, k)**2)\n{asked}")
    loop = gradients(
        f"{function}l = 0.0\nfor i in range({N}) {{ l = l + f(x[i], y[i], z[i], k[i])**2 }}\n{asked}"
    )
    (found,), (wanted,) = rows.values(), loop.values()
    for name, value in wanted.items():
        assert (found[name] is None) == (value is None)
        if value is not None:
            np.testing.assert_allclose(found[name], value, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize(
    "body", ["w @ x", "x @ w", "sum(m @ x)", "sum(x @ m.T)", "dot(w, x)", "sum(w[:1])"]
)
def test_of_arrays_without_elements_they_have_none(body: str, n: int) -> None:
    source = "var w: float[m]; var m: float[k, m]; const x: float[n, m]\n"
    program = gradcli.load(source=f"{source}output vmap(fn(x) = {body})(x)")
    given = {"w": np.zeros(0), "m": np.zeros((3, 0)), "x": np.zeros((n, 0))}
    for how in ({}, {"heat": FIRST_USE}, {"tier": INTERPRETED}):
        with only(**how):
            (row,) = program.run(given).gradients.values()
        for name in "wm":
            assert row[name] is None or row[name].shape == given[name].shape
