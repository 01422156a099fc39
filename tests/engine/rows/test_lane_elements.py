"""Elementwise entries of the op table on lanes, in all dtypes, and how dtypes go together: as of
each row alone."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.values.lanes import Group, Lanes
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ...ops.complex_functions import FUNCTIONS, Z
from .lane_rows import gradient, masks, operands, push, second, together, value, verify_rows

pytestmark = pytest.mark.filterwarnings("error")
ELEMENTWISE = [op for op in OPS.values() if op.elementwise]
N = 4
COMPLEX = {"real", "imag", "angle"}  # whose derivatives are of complex operands


def _points(op: Op, random: np.random.Generator, ranks: tuple[int, ...]) -> list[list[Any]]:
    """For each operand, its value in each row: points of the domain; orders are whole and the
    same."""
    n = len(op.signature.operands)
    domain = op.domain or ((-math.inf, math.inf),) * n
    columns = []
    for k, (low, high) in enumerate(domain):
        low, high = max(low, -3.0), min(high, max(low, -3.0) + 6.0)
        if op.partials and op.partials[k] is None and op.differentiable:
            columns.append([float(math.ceil(low) + 1)] * N)
            continue
        shape = (2, 3)[2 - ranks[k] :]
        rows = [random.uniform(low + 0.05, high - 0.05, size=shape) for _ in range(N)]
        columns.append([r if r.ndim else float(r) for r in rows])
    return columns


def _verify(
    op: Op, columns: list[list[Any]], mask: tuple[bool, ...], rtol: float, derivatives: bool
) -> None:
    group = Group(N)
    laned = [
        together([np.asarray(v) for v in c], group) if own else c[0]
        for c, own in zip(columns, mask, strict=True)
    ]
    alone = [
        [c[k] if own else c[0] for c, own in zip(columns, mask, strict=True)] for k in range(N)
    ]

    orders = [c[0] for c, order in zip(columns, _orders(op), strict=False) if order]
    laned, alone = laned[len(orders) :], [row[len(orders) :] for row in alone]
    mask = mask[len(orders) :]

    def function(m: Any, *values: Any) -> Any:
        return m.call(op.name, (*orders, *values))

    what = f"{op.name} with rows in {mask}"
    try:
        expected = [value(function, row) for row in alone]
    except GradcliError as error:
        with pytest.raises(GradcliError, match=f"(?s)^{re.escape(str(error))}$"):
            value(function, laned)
        return
    verify_rows(value(function, laned), expected, rtol, what)
    if not derivatives:
        return
    singly = [gradient(function, row) for row in alone]
    for k, (g, own) in enumerate(zip(gradient(function, laned), mask, strict=True)):
        parts = [np.asarray(row[k]) for row in singly]
        if own:
            verify_rows(g, parts, 100 * rtol, what, dtypes=False)
        else:
            np.testing.assert_allclose(
                getattr(g, "array", g), sum(parts), rtol=100 * rtol, atol=100 * rtol, err_msg=what
            )
    tangents = [push(function, row)[0] for row in alone]
    verify_rows(push(function, laned)[0], tangents, 100 * rtol, what, dtypes=False)


def _orders(op: Op) -> tuple[bool, ...]:
    return (
        tuple(bool(op.partials) and p is None and op.differentiable for p in op.partials)
        or (False,) * 9
    )


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_floats(op: Op) -> None:
    random = np.random.default_rng(sum(map(ord, op.name)))
    n = len(op.signature.operands)
    derivatives = op.differentiable and not op.internal and op.name not in COMPLEX
    for ranks in itertools.product((0, 1, 2), repeat=n) if n < 3 else [(1, 0, 0), (0, 1, 2)]:
        for mask in masks(n):
            if not any(own and order for own, order in zip(mask, _orders(op), strict=False)):
                _verify(op, _points(op, random, ranks), mask, 2e-14, derivatives and sum(ranks) < 3)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_other_dtypes(op: Op) -> None:
    """float32, ints and bools."""
    random = np.random.default_rng(sum(map(ord, op.name)))
    n = len(op.signature.operands)
    if op.internal or any(_orders(op)[:n]):
        return
    for dtype, rank in itertools.product(("float32", "int64", "bool"), (0, 1)):
        columns = [[np.abs(v).astype(dtype) for v in c] for c in _points(op, random, (rank,) * n)]
        if dtype != "float32":
            columns = [[v + 1 if dtype == "int64" else v for v in c] for c in columns]
            columns = [[v if v.ndim else v.item() for v in c] for c in columns]
        for mask in masks(n):
            _verify(
                op,
                columns,
                mask,
                1e-6,
                op.differentiable and dtype == "float32" and op.name not in COMPLEX,
            )


KINDS = {
    "float": lambda k: 1.5 + k,
    "floats": lambda k: np.array([0.5, 1.25, 2.0]) + k,
    "float32": lambda k: np.float32(1.75 + k),
    "float32s": lambda k: np.array([0.75, 1.5, 2.5], "float32") + np.float32(k),
    "int": lambda k: 2 + k,
    "ints": lambda k: np.array([1, 2, 3]) + k,
    "bool": lambda k: k % 2 == 0,
    "bools": lambda k: np.array([True, False, k % 2 == 0]),
    "complex": lambda k: 1.5 + 0.5j * k,
    "complexes": lambda k: np.array([0.5, 1j, 2.0]) + k,
}


@pytest.mark.parametrize("name", ["add", "div", "pow", "maximum", "lt", "where", "stack"])
@pytest.mark.parametrize("left", KINDS)
def test_dtypes_go_together_as_in_single_runs(name: str, left: str) -> None:
    for right in KINDS:
        if name in ("maximum", "lt", "pow") and "complex" in left + right:
            continue
        if name == "stack" and left.endswith("s") != right.endswith("s"):
            continue
        columns = [[KINDS[kind](k) for k in range(N)] for kind in (left, right)]

        def function(m: Any, a: Any, b: Any) -> Any:
            return (
                m.where(True, a, b)
                if name == "where"
                else m.call(name, (a, b), {"axis": 0} if name == "stack" else None)
            )

        for mask in masks(2):
            group = Group(N)
            laned = [
                together([np.asarray(v) for v in c], group) if own else c[0]
                for c, own in zip(columns, mask, strict=True)
            ]
            alone = [
                [c[k] if own else c[0] for c, own in zip(columns, mask, strict=True)]
                for k in range(N)
            ]
            what = f"{name} of {left} and {right} with rows in {mask}"
            verify_rows(value(function, laned), [value(function, row) for row in alone], 1e-6, what)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_numbers(name: str) -> None:
    laned, alone = operands((Z,), (True,))
    function = FUNCTIONS[name]
    verify_rows(value(function, laned), [value(function, row) for row in alone], 1e-12, name)
    verify_rows(
        gradient(function, laned)[0], [gradient(function, row)[0] for row in alone], 1e-10, name
    )
    verify_rows(push(function, laned)[0], [push(function, row)[0] for row in alone], 1e-10, name)


def test_what_verifies_can_tell() -> None:
    rows = [np.array([1.0, 2.0]), np.array([1.0, 2.5])]
    with pytest.raises(AssertionError):
        verify_rows(Lanes(np.array([[1.0, 1.0], [2.0, 2.0]]), Group(2)), rows, 1e-9, "")
    with pytest.raises(AssertionError):
        verify_rows(Lanes(np.stack(rows, axis=-1).astype("float32"), Group(2)), rows, 1e-9, "")
    assert second(lambda m, x: m.sum(x**3), [2.0]) != [0.0]
