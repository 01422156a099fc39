"""Axes, counts and places that differ between rows: each row gives what it gives alone, with its
derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from ..programs import evaluate

# Functions of three numbers and of an int.
FUNCTIONS = {
    "roll": "sum(roll(x, k) * w)",
    "roll by several": "sum(roll(outer(x, w), [k, 1], axis = [0, 1]) * outer(w, w))",
    "tril": "sum(tril(outer(x, x), k) * 2.0)",
    "diag": "sum(diag(x, k)**2)",
    "sum": "sum(sum(outer(x, w), axis = k)**2)",
    "norm": "sum(norm(outer(x, w), axis = k))",
    "cumsum": "sum(cumsum(outer(x, w), axis = k)**2)",
    "softmax": "softmax(outer(x, w), axis = k)[0, 1]",
    "sort": "sum(sort(outer(x, -w), axis = k)[0] * w)",
    "flip": "sum(flip(outer(x, w), axis = k)[0] * w)",
    "concatenate": "sum(concatenate([outer(x, x), outer(x, w)], axis = k)**2)",
    "an index": "x[k]**3 * x[k - 1]",
}
ASKED = ("f", "grad(f)", "jvp(f)", "hessian(f)", "grad(fn(x, k) = sum(grad(f)(x, k)**2))")
ROWS = ([1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [-0.3, 0.2, 0.9])
OPTIONS = (0, 1, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_give_what_each_gives_alone(name: str) -> None:
    head = f"w = array([1.0, 2.0, 4.0])\nfn f(x, k) = {FUNCTIONS[name]}\n"
    for asked in ASKED:
        along = "" if "jvp" not in asked else f"{[list(row) for row in ROWS]}, "
        together = f"vmap({asked})({[list(row) for row in ROWS]}, {along}{list(OPTIONS)})"
        found = evaluate(f"{head}output y = {together}").outputs["y"]
        for k, row in enumerate(ROWS):
            along = "" if "jvp" not in asked else f"{list(row)}, "
            alone = f"({asked})({list(row)}, {along}{OPTIONS[k]})"
            wanted = evaluate(f"{head}output y = {alone}").outputs["y"]
            np.testing.assert_allclose(found[k], wanted, rtol=1e-13, atol=1e-14)
