"""Every structural entry against NumPy's definition of it in 60 digits: value, first and second
derivative, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.operations.rules import Value
from gradcli.engine.values.boxes import primal
from gradcli.ops import OPS

from .numpy_counterparts import COUNTERPARTS
from .special_functions import MP
from .structural_calls import (
    CALLS,
    IDS,
    STRUCTURAL,
    Call,
    directions,
    movable,
    parts,
    product,
    random_like,
)
from .sweeps import Session, tangent

# Those of matrices have their own test (test_matrices.py), and the rest follows from them, or has
# no derivative to speak of.
MATRICES = {
    "inv",
    "solve",
    "solve_triangular",
    "det",
    "logdet",
    "cholesky",
    "qr",
    "eigh",
    "svd",
    "lstsq",
    "expm",
}
INSIDE = {
    "cofactors",
    "cofactors_along",
    "over_spectrum",
    "lstsq_of_full_rank",
    "expm_along",
    "median_weights",
    "float32",
    "part",
}
COUNTED = [(call, id) for call, id in zip(CALLS, IDS, strict=True) if call[0].name in COUNTERPARTS]
ULPS = 32  # of the largest number in a result, or in what it comes from


def test_every_entry_has_a_counterpart_or_a_test_of_its_own() -> None:
    assert {op.name for op in STRUCTURAL if op.category != "lanes"} == set(
        COUNTERPARTS
    ) | MATRICES | INSIDE
    assert set(COUNTERPARTS) <= set(OPS)


def exactly(x: Any) -> Any:
    """Floats as mpmath's numbers; ints and bools as they are."""
    if np.asarray(x).dtype.kind not in "fc":
        return x
    numbers = np.vectorize(MP.mpmathify, otypes=[object])(x)
    return numbers if np.shape(x) else numbers.item()


def flat(result: Any) -> Any:
    """Every number of a result, or of a list of them, in a line."""
    return np.concatenate(
        [
            np.asarray(part, dtype=object).ravel()
            for part in (result if type(result) is list else [result])
        ]
    )


def expected(call: Call, v: list[Any], w: list[Any]) -> list[Any]:
    """The value, the derivative along v, and the second along v and w."""
    op, operands, options = call
    x, v, w = ([None if a is None else exactly(a) for a in list_] for list_ in (operands, v, w))
    h, k = MP.mpf(10) ** -20, MP.mpf(10) ** -12

    def at(a: Any, b: Any) -> Any:
        moved = [p if q is None else p + a * q + b * r for p, q, r in zip(x, v, w, strict=True)]
        return flat(COUNTERPARTS[op.name](*moved, **options))

    first = (at(h, 0) - at(-h, 0)) / (2 * h)
    second = (at(k, k) - at(k, -k) - at(-k, k) + at(-k, -k)) / (4 * k * k)
    return [np.array([complex(n) for n in found]) for found in (at(0, 0), first, second)]


def numbers(results: list[Any]) -> Any:
    return np.concatenate([np.ravel(primal(y)).astype(complex) for y in results])


@pytest.mark.parametrize("call", [call for call, _ in COUNTED], ids=[id for _, id in COUNTED])
def test_against_60_digits(call: Call) -> None:
    op, operands, options = call
    moving = movable(op, operands)
    v, w = directions(operands, moving), directions(operands, moving, seed=50)
    with MP.workdps(60):
        exact = expected(call, v, w)
    scale = max(1.0, *(float(np.max(np.abs(found), initial=0.0)) for found in exact))
    bound = ULPS * 2.2e-16 * scale

    def agree(order: int, found: Any) -> None:
        np.testing.assert_allclose(found, exact[order], rtol=0, atol=bound)

    # forward over forward
    session = Session()
    m = session.m
    values = [
        Value(x, m) if s is None else session.dual(session.dual(x, s).v, t, level=2)
        for x, s, t in zip(operands, w, v, strict=True)
    ]
    y = parts(m.call(op.name, tuple(values), options))
    along = [tangent(p) for p in y]
    agree(0, numbers([p.v for p in y]))
    agree(1, numbers([np.broadcast_to(primal(t), p.shape) for t, p in zip(along, y, strict=True)]))
    agree(
        2,
        numbers(
            [np.broadcast_to(primal(tangent(t)), p.shape) for t, p in zip(along, y, strict=True)]
        ),
    )

    # reverse over reverse and reverse over forward, for a weighed sum of the result
    u = [random_like(primal(p.v), 77 + 10 * k) for k, p in enumerate(y)]
    weights = np.conj(numbers(u))
    session = Session(*[operands[k] for k in moving])
    m, values = session.m, [Value(x, session.m) for x in operands]
    for k, leaf in zip(moving, session.operands, strict=True):
        values[k] = leaf
    total = weighed(m, m.call(op.name, tuple(values), options), u)
    first = session.gradients(total, recorded=True)
    for g, again in zip(first, session.gradients(total), strict=True):
        np.testing.assert_array_equal(primal(g), primal(again))
    slopes = [(Value(g, m), v[k]) for g, k in zip(first, moving, strict=True)]
    assert inner(slopes) == pytest.approx(np.real(weights @ exact[1]), rel=0, abs=10 * bound)
    second = session.gradients(sum((product(m, g, Value(s, m)) for g, s in slopes), Value(0.0, m)))
    twice = sum(
        float(np.real(np.sum(np.conj(primal(g)) * w[k])))
        for g, k in zip(second, moving, strict=True)
    )
    assert twice == pytest.approx(np.real(weights @ exact[2]), rel=0, abs=10 * bound)

    for k, leaf in zip(moving, session.operands, strict=True):
        values[k] = session.dual(leaf.v, v[k])
    along = [Value(tangent(p), m) for p in parts(m.call(op.name, tuple(values), options))]
    mixed = session.gradients(weighed(m, along, u))
    twice = sum(
        float(np.real(np.sum(np.conj(primal(g)) * w[k])))
        for g, k in zip(mixed, moving, strict=True)
    )
    assert twice == pytest.approx(np.real(weights @ exact[2]), rel=0, abs=10 * bound)


def weighed(m: Any, y: Any, u: list[Any]) -> Any:
    return sum(
        (product(m, p, Value(c, m)) for p, c in zip(parts(y), u, strict=True)), Value(0.0, m)
    )


def inner(slopes: list[Any]) -> float:
    return sum(float(np.real(np.sum(np.conj(primal(g.v)) * s))) for g, s in slopes)
