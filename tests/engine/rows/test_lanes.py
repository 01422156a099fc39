"""Lanes: what holds for a row alone holds for it among others, values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.diagnostics import Source, Span
from gradcli.engine.ad.derivatives import gradients
from gradcli.engine.ad.targets import ones_like
from gradcli.engine.backends.backend import ieee
from gradcli.engine.execution import new_run
from gradcli.engine.operations.apply import apply
from gradcli.engine.trace.run import Run, Settings
from gradcli.engine.trace.tape import Site
from gradcli.engine.values.boxes import primal
from gradcli.engine.values.lanes import Group, Lanes
from gradcli.ops import OPS

SPAN = Span(Source("<test>", "x"), 0, 1)
ROWS = np.array([0.3, -1.2, 2.0, 0.0])
VECTORS = np.arange(12.0).reshape(3, 4) / 5 - 1.0  # a vector of three in each of four rows
FOUR = Group(4)
SHARED = np.array([0.5, -2.0, 1.5])


def _program(run: Run, x: Any, v: Any, w: Any) -> Any:
    """sin(x) * v + exp(w) / (x**2 + 1), where x is a number, v and w are vectors."""

    def op(name: str, *operands: Any) -> Any:
        return apply(run, Site(OPS[name], SPAN), operands)

    square = op("add", op("pow", x, 2), 1.0)
    return op("add", op("mul", op("sin", x), v), op("div", op("exp", w), square))


def _differentiated(x: Any, v: Any, w: Any) -> tuple[Any, list[Any]]:
    run = new_run(Settings(), {})
    leaves = [run.trace.leaf(value) for value in (x, v, w)]
    with ieee():
        y = _program(run, *leaves)
        return primal(y), gradients(run, [(y, ones_like(run, y))], leaves, recorded=False)


def test_rows_together_give_what_they_give_alone() -> None:
    y, (by_x, by_v, by_w) = _differentiated(Lanes(ROWS, FOUR), Lanes(VECTORS, FOUR), SHARED)
    alone = [_differentiated(float(x), VECTORS[:, k].copy(), SHARED) for k, x in enumerate(ROWS)]
    assert (type(y), y.shape, y.group) == (Lanes, (3,), FOUR)
    np.testing.assert_allclose(
        y.array, np.stack([value for value, _ in alone], axis=-1), rtol=1e-15
    )
    np.testing.assert_allclose(by_x.array, [g[0] for _, g in alone], rtol=1e-13)
    np.testing.assert_allclose(by_v.array, np.stack([g[1] for _, g in alone], axis=-1), rtol=1e-13)
    np.testing.assert_allclose(
        by_w, sum(g[2] for _, g in alone), rtol=1e-13
    )  # shared: the sum over the rows


def test_the_flag_is_not_read_off_the_shape() -> None:
    run = new_run(Settings(), {})
    square = np.ones((4, 4))
    y = apply(run, Site(OPS["mul"], SPAN), (Lanes(square, FOUR), np.arange(4.0)))
    np.testing.assert_array_equal(y.array, square * np.arange(4.0)[:, None])
