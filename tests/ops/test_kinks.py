"""The conventions at kinks and edges, one line each: first and second derivative, on floats and on
arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.operations.rules import Value
from gradcli.engine.values.boxes import primal

from .sweeps import Session, tangent

INF = math.inf

# (what, function of the rule language, point, gradient)
KINKS: list[tuple[str, Callable[..., Any], Any, Any]] = [
    ("abs'(0)", lambda m, x: m.abs(x), 0.0, 0.0),
    ("sign'", lambda m, x: m.sign(x), 1.5, 0.0),
    ("floor'", lambda m, x: m.floor(x), 1.0, 0.0),
    ("ceil'", lambda m, x: m.ceil(x), 1.0, 0.0),
    ("trunc'", lambda m, x: m.trunc(x), -1.0, 0.0),
    ("mod at a multiple", lambda m, x: x % 2.0, 4.0, 1.0),
    ("fmod at a multiple, by the divisor", lambda m, x: m.fmod(4.0, x), 2.0, -2.0),
    ("leaky_relu'(0)", lambda m, x: m.leaky_relu(x, 0.25), 0.0, 0.25),
    ("elu'(0)", lambda m, x: m.elu(x, 0.5), 0.0, 0.5),
    ("clip at equal bounds", lambda m, x: m.clip(x, 1.0, 1.0), 1.0, 1.0),
    ("asin'(1)", lambda m, x: m.asin(x), 1.0, INF),
    ("acos'(-1)", lambda m, x: m.acos(x), -1.0, -INF),
    ("acosh'(1)", lambda m, x: m.acosh(x), 1.0, INF),
    ("atanh'(-1)", lambda m, x: m.atanh(x), -1.0, INF),
    ("log1p'(-1)", lambda m, x: m.log1p(x), -1.0, INF),
    ("cbrt'(0)", lambda m, x: m.cbrt(x), 0.0, INF),
    ("max along an axis", lambda m, x: m.max(m.reshape(x, shape=[2, 2]), axis=1),
        [1.0, 1.0, 2.0, 1.0], [0.5, 0.5, 1.0, 0.0]),
    ("norm of order inf with ties", lambda m, x: m.norm(x, ord=INF), [2.0, -2.0], [0.5, -0.5]),
    ("norm of order 3 at the zero vector", lambda m, x: m.norm(x, ord=3), [0.0, 0.0], [0.0, 0.0]),
    ("norm of order 1 at 0", lambda m, x: m.norm(x, ord=1), [0.0, -2.0], [0.0, -1.0]),
    ("round'", lambda m, x: m.round(x), 0.5, 0.0),
    ("relu'(0)", lambda m, x: m.relu(x), 0.0, 0.0),
    ("maximum at a tie", lambda m, x: m.maximum(x, 2.0), 2.0, 0.5),
    ("maximum of itself", lambda m, x: m.maximum(x, x), 2.0, 1.0),
    ("minimum at a tie", lambda m, x: m.minimum(2.0, x), 2.0, 0.5),
    ("clip at its lower bound", lambda m, x: m.clip(x, 0.0, 1.0), 0.0, 1.0),
    ("clip at its upper bound", lambda m, x: m.clip(x, 0.0, 1.0), 1.0, 1.0),
    ("clip outside", lambda m, x: m.clip(x, 0.0, 1.0), 1.5, 0.0),
    ("hypot at the origin", lambda m, x: m.hypot(x, 0.0), 0.0, 0.0),
    ("atan2 at the origin", lambda m, x: m.atan2(x, 0.0), 0.0, 0.0),
    ("sinc'(0)", lambda m, x: m.sinc(x), 0.0, 0.0),
    ("x**0 at 0", lambda m, x: x**0.0, 0.0, 0.0),
    ("x**1 at 0", lambda m, x: x**1.0, 0.0, 1.0),
    ("0**x", lambda m, x: 0.0**x, 2.0, 0.0),
    ("(-2)**2 by the base", lambda m, x: x**2, -2.0, -4.0),
    ("sqrt'(0)", lambda m, x: m.sqrt(x), 0.0, INF),
    ("log'(0)", lambda m, x: m.log(x), 0.0, INF),
    ("strict zero: sqrt", lambda m, x: m.where(x > 0, m.sqrt(x), 0.0), 0.0, 0.0),
    ("strict zero: sqrt below", lambda m, x: m.where(x > 0, m.sqrt(x), 0.0), -1.0, 0.0),
    ("strict zero: 1/x", lambda m, x: m.where(x > 0, 1 / x, 0.0), 0.0, 0.0),
    ("strict zero on the outside", lambda m, x: m.sqrt(m.where(x > 0, x, 0.0)), -1.0, 0.0),
    ("max with ties", lambda m, x: m.max(x), [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
    ("min with ties", lambda m, x: m.min(x), [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
    ("median, odd", lambda m, x: m.median(x), [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    ("median, even", lambda m, x: m.median(x), [4.0, 1.0, 3.0, 2.0], [0.0, 0.0, 0.5, 0.5]),
    ("median with ties", lambda m, x: m.median(x), [2.0, 1.0, 2.0, 5.0, 2.0],
        [1 / 3, 0.0, 1 / 3, 0.0, 1 / 3]),
    ("norm at the zero vector", lambda m, x: m.norm(x), [0.0, 0.0], [0.0, 0.0]),
    ("norm of large values", lambda m, x: m.norm(x), [1e200, -1e200],
        [math.sqrt(0.5), -math.sqrt(0.5)]),
    ("norm of small values", lambda m, x: m.norm(x), [3e-200, 4e-200], [0.6, 0.8]),
    ("std of a constant", lambda m, x: m.std(x), [2.0, 2.0], [0.0, 0.0]),
    ("prod with a zero", lambda m, x: m.prod(x), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("prod with two zeros", lambda m, x: m.prod(x), [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    ("logsumexp with -inf", lambda m, x: m.logsumexp(x), [-INF, 0.0, 0.0], [0.0, 0.5, 0.5]),
    ("logsumexp of -inf", lambda m, x: m.logsumexp(x), [-INF, -INF], [0.0, 0.0]),
    ("log_softmax in the tail", lambda m, x: m.getitem(m.log_softmax(x), index=(0,)),
        [-800.0, 800.0], [1.0, -1.0]),
    ("interp at a point",
        lambda m, x: m.interp(x, np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])), 1.0, 0.5),
    ("interp at the last point",
        lambda m, x: m.interp(x, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 1.0, 2.0),
    ("interp at the first point",
        lambda m, x: m.interp(x, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 0.0, 2.0),
    ("interp outside", lambda m, x: m.interp(x, np.array([0.0, 1.0]), np.array([0.0, 2.0])), 1.5,
        0.0),
    ("interp at a jump",
        lambda m, x: m.interp(x, np.array([0.0, 1.0, 1.0, 3.0]), np.array([0.0, 2.0, 5.0, 9.0])), 1.0, 2.0),
    ("interp at a jump at the end",
        lambda m, x: m.interp(x, np.array([0.0, 1.0, 1.0]), np.array([0.0, 2.0, 5.0])), 1.0, 0.0),
    ("interp of one point", lambda m, x: m.interp(x, np.array([1.0]), np.array([2.0])), 1.0, 0.0),
    ("sort with ties", lambda m, x: m.getitem(m.sort(x), index=(0,)), [1.0, 1.0], [1.0, 0.0]),
]  # fmt: skip

SECOND: list[tuple[str, Callable[..., Any], float, float]] = [
    ("abs''(0)", lambda m, x: m.abs(x), 0.0, 0.0),
    ("relu''(0)", lambda m, x: m.relu(x), 0.0, 0.0),
    ("x**2 at 0", lambda m, x: x**2, 0.0, 2.0),
    ("x**2.0 at 0", lambda m, x: x**2.0, 0.0, 2.0),
    ("x**1 at 0", lambda m, x: x**1, 0.0, 0.0),
    ("x**3 at 0", lambda m, x: x**3, 0.0, 0.0),
    ("sinc''(0)", lambda m, x: m.sinc(x), 0.0, -(math.pi**2) / 3),
    ("hypot at the origin", lambda m, x: m.hypot(x, 0.0), 0.0, 0.0),
    ("where", lambda m, x: m.where(x > 0, m.sqrt(x), 0.0), 0.0, 0.0),
    ("logaddexp at a tie", lambda m, x: m.logaddexp(x, 1.0), 1.0, 0.25),
    ("sigmoid in the tail", lambda m, x: m.sigmoid(x), 1e308, 0.0),
    ("softplus in the tail", lambda m, x: m.softplus(x), -1e308, 0.0),
    ("tanh in the tail", lambda m, x: m.tanh(x), 1e308, 0.0),
    ("log of log_softmax", lambda m, x: m.logsumexp(m.stack(x, 0.5)), 0.5, 0.25),
]  # fmt: skip


def forms(point: Any) -> list[Any]:
    """The point as a number and as an array, both of either width."""
    wide = [np.array(point)] if isinstance(point, list) else [point, np.array([point])]
    narrow = [x.astype("float32") if np.shape(x) else np.float32(x) for x in wide]
    return wide + [
        x
        for x in narrow
        if np.all(np.abs(x) < 1e30) and np.all((np.abs(x) > 1e-30) | (np.array(point) == 0))
    ]


def digits(at: Any) -> float:
    return 1e-6 if getattr(at, "dtype", None) == np.float32 else 1e-12


@pytest.mark.parametrize(
    ("function", "point", "expected"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS]
)
def test_derivative_at_a_kink(function: Callable[..., Any], point: Any, expected: Any) -> None:
    for at in forms(point):
        for recorded in (False, True):
            session = Session(at)
            y = function(session.m, *session.operands)
            target = session.m.sum(y) if y.shape else y
            got = primal(session.gradients(target, recorded)[0])
            assert recorded or getattr(got, "dtype", np.float64) == getattr(at, "dtype", np.float64)
            np.testing.assert_allclose(
                got, np.broadcast_to(expected, np.shape(at)), rtol=digits(at), atol=0
            )


@pytest.mark.parametrize(
    ("function", "point", "expected"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS]
)
def test_tangent_at_a_kink(function: Callable[..., Any], point: Any, expected: Any) -> None:
    for at in forms(point):
        session = Session()
        for k, partial in enumerate(np.broadcast_to(expected, np.size(at))):
            unit = np.eye(np.size(at), dtype=at.dtype)[k] if np.shape(at) else type(at)(1.0)
            along = tangent(function(session.m, session.dual(at, unit)))
            np.testing.assert_allclose(np.sum(along), partial, rtol=digits(at), atol=0)


@pytest.mark.parametrize(
    ("function", "point", "expected"), [k[1:] for k in SECOND], ids=[k[0] for k in SECOND]
)
def test_second_derivative_at_a_kink_in_forward_mode(
    function: Callable[..., Any], point: float, expected: float
) -> None:
    session = Session()
    twice = tangent(
        tangent(function(session.m, session.dual(session.dual(point, 1.0).v, 1.0, level=2)))
    )
    assert twice == pytest.approx(expected, rel=1e-12, abs=0.0)

    session = Session(point)
    first = tangent(function(session.m, session.dual(session.leaves[0], 1.0)))
    got = session.gradients(session.m.mul(Value(first, session.m), 1.0))[0]
    assert got == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(
    ("function", "point", "expected"), [k[1:] for k in SECOND], ids=[k[0] for k in SECOND]
)
def test_second_derivative_at_a_kink(
    function: Callable[..., Any], point: float, expected: float
) -> None:
    session = Session(point)
    first = session.gradients(function(session.m, *session.operands), recorded=True)[0]
    got = session.gradients(session.m.mul(first, 1.0))[0]
    assert got == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_strict_zero_to_second_order() -> None:
    source = "var x = 0.0; h = hessian(where(x > 0, x * log(x), 0), x); j = jvp(0 * sqrt(x), x, 1.0); output h, j"
    assert gradcli.load(source=source).run().outputs == {"h": 0.0, "j": 0.0}
