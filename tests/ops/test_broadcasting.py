"""Every elementwise entry on operands of every shape: of arrays it gives what it gives of their
elements, in every mode."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from gradcli.engine.operations.rules import Value
from gradcli.engine.values.boxes import primal
from gradcli.ops import OPS
from gradcli.ops.op import Op

from .exact import REAL, Point, moving, points
from .sweeps import Session, tangent

SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 1), (2, 3), (0,)]


@cache
def of_numbers(name: str, point: Point) -> tuple[float, Any, Any]:
    """Value, gradient and Hessian at a point."""
    orders = OPS[name].partials.count(None)
    session = Session(*point[orders:])
    y = session.m.call(name, (*point[:orders], *session.operands))
    first = session.gradients(session.m.mul(y, 1.0), recorded=True)
    second = [
        session.gradients(session.m.mul(Value(g, session.m), 1.0))
        if type(g) is tuple
        else [0.0] * len(first)
        for g in first
    ]
    return (
        float(primal(y.v)),
        np.array([float(primal(g)) for g in first]),
        np.array([[float(primal(g)) for g in row] for row in second]),
    )


def combinations(op: Op) -> list[tuple[tuple[int, ...], ...]]:
    n = len(moving(op))
    shapes = SHAPES if n < 3 else SHAPES[: 2 if op.kernel else 3]
    return [c for c in itertools.product(shapes, repeat=n) if any(c) and _fit(c)]


def _fit(shapes: tuple[tuple[int, ...], ...]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def summed(c: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent of the result, for an operand of a shape."""
    c = c.sum(axis=tuple(range(c.ndim - len(shape))))
    return (
        c.sum(axis=tuple(k for k, n in enumerate(shape) if n != c.shape[k]), keepdims=True)
        if c.ndim
        else c
    )


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_arrays_are_their_elements(op: Op) -> None:
    pool, orders = points(op)[:3], op.partials.count(None)
    given, n = pool[0][:orders], len(moving(op))
    for shapes in combinations(op):
        random, shape = np.random.default_rng(len(shapes)), np.broadcast_shapes(*shapes)

        def drawn(k: int, own: tuple[int, ...], random: Any = random) -> Any:
            values = [
                pool[int(random.integers(len(pool)))][orders + k] for _ in range(math.prod(own))
            ]
            return np.array(values).reshape(own) if own else values[0]

        xs = [drawn(k, own) for k, own in enumerate(shapes)]
        elements = np.stack([np.broadcast_to(x, shape) for x in xs], axis=-1)
        found = [
            of_numbers(op.name, (*given, *map(float, elements[place])))
            for place in np.ndindex(*shape)
        ]
        value = np.array([f[0] for f in found]).reshape(shape)
        slopes = np.array([f[1] for f in found]).reshape(*shape, n)
        curves = np.array([f[2] for f in found]).reshape(*shape, n, n)
        weights = random.uniform(0.5, 1.5, shape)
        what = f"{op.name} of {shapes}"

        def agree(a: Any, b: Any, what: str = what) -> None:
            if type(a) is float and not np.any(b):  # of what doesn't move there is no array
                return
            assert np.shape(a) == np.shape(b), what
            np.testing.assert_allclose(
                a, b, rtol=1e-9, atol=1e-12 * (1.0 + np.max(np.abs(b), initial=0.0)), err_msg=what
            )

        for recorded in (False, True):
            session = Session(*xs)
            y = session.m.call(op.name, (*given, *session.operands))
            agree(primal(y.v), value)
            gradients = session.gradients(session.m.sum(y * weights), recorded)
            for k, g in enumerate(gradients):
                agree(primal(g), summed(weights * slopes[..., k], shapes[k]))

        for j in range(n):
            t = random.normal(size=shapes[j]) if shapes[j] else 0.7
            session = Session(*xs)
            duals = [session.dual(x.v, t) if k == j else x for k, x in enumerate(session.operands)]
            along = Value(tangent(session.m.call(op.name, (*given, *duals))), session.m)
            agree(primal(along.v), np.broadcast_to(t, shape) * slopes[..., j])
            for k, g in enumerate(session.gradients(session.m.sum(along * weights))):
                agree(
                    primal(g),
                    summed(weights * np.broadcast_to(t, shape) * curves[..., j, k], shapes[k]),
                )
