"""Every elementwise entry of the table against 50 digits: values, first and second derivatives, in
every mode, on numbers and on arrays of both widths, within the bound that the entry states."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.backend import CPU
from gradcli.engine.formulas.functions import (
    array_function,
    array_partial,
    scalar_function,
    scalar_partial,
)
from gradcli.engine.operations.rules import Value
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ..engine.programs import value
from .exact import REAL, SLOW, Point, error, exact, moving, points, unit_orders
from .special_functions import MP
from .sweeps import Session, tangent

PUBLIC = [op for op in REAL if not op.internal]
every_entry = pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)


def verify(
    op: Op, point: Point, operands: tuple[int, ...], found: Any, dtype: Any = np.float64
) -> None:
    """The derivative by the operands is within the entry's bound."""
    orders, bound = unit_orders(len(point), *operands), op.ulps[len(operands)]
    off = error(op, point, orders, float(found), bound, dtype)
    assert off <= bound, (
        f"{op.name}{point} by {operands}: {found} is {off:.3g} ulps from {float(exact(op, point, orders))}"
    )


def spread(op: Op, point: Point, dtype: Any = np.float64) -> list[Any]:
    """The operands as arrays, but for the orders."""
    return [np.array([x, x], dtype=dtype) if op.partials[k] else x for k, x in enumerate(point)]


@every_entry
def test_values_and_first_derivatives(op: Op) -> None:
    for point in points(op):
        y, operands = scalar_function(op)(*point), spread(op, point)
        ys = array_function(CPU, op)(*operands)
        verify(op, point, (), y)
        verify(op, point, (), ys[1])
        for k in moving(op):
            verify(op, point, (k,), scalar_partial(op, k)(y, *point))
            partials = np.broadcast_to(array_partial(CPU, op, k)(ys, *operands), (2,))
            assert partials[0] == partials[1]
            verify(op, point, (k,), partials[0])


@every_entry
def test_second_derivatives(op: Op) -> None:
    for point in points(op)[:: 3 if op.name in SLOW else 1]:
        for j in moving(op):
            for k in moving(op):
                if k >= j:
                    verify(op, point, (j, k), reverse_over_reverse(op, point, j, k))
                    verify(
                        op,
                        point,
                        (j, k),
                        reverse_over_reverse(op, tuple(spread(op, point)), j, k) / 2,
                    )
                verify(op, point, (j, k), forward_over_forward(op, point, j, k))
                verify(op, point, (j, k), reverse_over_forward(op, point, j, k))


def reverse_over_reverse(op: Op, values: tuple[Any, ...], j: int, k: int) -> float:
    orders = op.partials.count(None)
    session = Session(*values[orders:])
    y = session.m.call(op.name, (*values[:orders], *session.operands))
    total = session.m.sum(y) if y.shape else y
    first = session.gradients(total, recorded=True)[j - orders]
    shaped = session.m.sum(first) if np.shape(values[-1]) else session.m.mul(first, 1.0)
    return float(np.sum(session.gradients(shaped)[k - orders]))


def forward_over_forward(op: Op, point: Point, j: int, k: int) -> float:
    session = Session()
    values: list[Any] = list(point)
    values[j] = session.dual(values[j], 1.0)
    inner = values[k].v if isinstance(values[k], Value) else values[k]
    values[k] = session.dual(inner, 1.0, level=2)
    if j != k:
        session.run.level = 2
    return float(tangent(tangent(session.m.call(op.name, tuple(values)))))


def reverse_over_forward(op: Op, point: Point, j: int, k: int) -> float:
    orders = op.partials.count(None)
    session = Session(*point[orders:])
    values = [*point[:orders], *session.operands]
    values[j] = session.dual(values[j].v, 1.0)
    along = tangent(session.m.call(op.name, tuple(values)))
    return float(session.gradients(session.m.mul(Value(along, session.m), 1.0))[k - orders])


@pytest.mark.parametrize("op", PUBLIC, ids=lambda op: op.name)
def test_programs_find_the_same_in_every_mode(op: Op) -> None:
    """As a user asks, gradients and tangents of the whole function, one inside the other."""
    names = "abc"[: len(op.signature.operands)]
    call = f"{' ' if len(names) == 1 else names[0]}{op.infix.removeprefix('unary ')} {names[-1]}"
    body = call if op.infix else f"{op.name}({', '.join(names)})"
    for point in points(op)[:: 5 if op.name in SLOW else 3]:
        for j in moving(op):
            given = [
                name if k == j else repr(x)
                for k, (name, x) in enumerate(zip(names, point, strict=True))
            ]
            f, at = (
                f"fn f({', '.join(names)}) = {body}; fn g({names[j]}) = f({', '.join(given)}); ",
                repr(point[j]),
            )
            first = value(f"{f}y = [grad(g)({at}), jvp(g)({at}, 1.0)]")
            second = value(
                f"{f}y = [grad(grad(g))({at}), jvp(grad(g))({at}, 1.0), grad(fn(x) = jvp(g)(x, 1.0))({at})]"
            )
            for found in first:
                verify(op, point, (j,), found)
            for found in second:
                verify(op, point, (j, j), found)


@every_entry
def test_float32(op: Op) -> None:
    for wide in points(op)[:6]:
        point = tuple(float(np.float32(x)) for x in wide)
        if not all(1e-30 < abs(x) < 1e30 or x == 0 for x in point):
            continue
        operands = spread(op, point, np.float32)
        ys = array_function(CPU, op)(*operands)
        assert ys.dtype == np.float32
        if not math.isfinite(ys[0]) or abs(float(ys[0])) > 1e30:
            continue
        verify(op, point, (), ys[0], np.float32)
        for k in moving(op):
            partials = np.asarray(array_partial(CPU, op, k)(ys, *operands))
            assert partials.dtype in (
                np.float32,
                np.float64,
                np.bool_,
            )  # what is a number or a condition has no width
            verify(op, point, (k,), np.broadcast_to(partials, (2,))[0], np.float32)


def test_a_power_is_as_accurate_as_its_note_says() -> None:
    chance = random.Random(0)
    for _ in range(2000):
        a, b = (
            math.exp(chance.uniform(-200, 200)),
            chance.choice([1.0, 3.0, 1e-9]) * chance.uniform(-1, 1),
        )
        slope = scalar_partial(OPS["pow"], 0)(a**b, a, b)
        want = MP.mpf(b) * MP.power(a, MP.mpf(b) - 1)
        assert abs(MP.mpf(slope) - want) <= (8 + abs((b - 1) * math.log(a))) * math.ulp(slope), (
            a,
            b,
        )
