"""Functions of the language of rules on lanes, and what each row gives alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.ad.reverse import sweep
from gradcli.engine.backends.backend import ieee
from gradcli.engine.operations.rules import Value
from gradcli.engine.values.boxes import primal
from gradcli.engine.values.lanes import Group, Lanes

from ...ops.sweeps import Function, Session, tangent, weighed

SCALES = np.array(
    [1.0, 0.75, 1.5, 1.125]
)  # a row's operands are these multiples of the first's, as all domains allow


def rows_of(value: Any, k: int = 0) -> list[Any]:
    """The values of the rows, for operand `k`; ints are the same in all."""
    value = np.asarray(value)
    scales = np.roll(SCALES, -k) if value.dtype.kind in "fc" else np.ones(4, int)
    rows = [(value * s).astype(value.dtype) for s in scales]
    return [r if r.ndim or r.dtype == "float32" else r.item() for r in rows]


def together(rows: list[Any], group: Group) -> Lanes:
    return Lanes(np.ascontiguousarray(np.stack(rows, axis=-1)), group)


def masks(n: int) -> list[tuple[bool, ...]]:
    """Which of n operands have rows: all choices but none; of many all, the first, and all but the
    first."""
    every = [tuple(bool(k >> i & 1) for i in range(n)) for k in range(1, 2**n)]
    return (
        every if n <= 2 else [(True,) * n, (True, *[False] * (n - 1)), (False, *[True] * (n - 1))]
    )


def operands(values: tuple[Any, ...], mask: tuple[bool, ...]) -> tuple[list[Any], list[list[Any]]]:
    """The operands together, and those of each row alone."""
    group = Group(len(SCALES))
    rows = [rows_of(v, k) for k, v in enumerate(values)]
    laned = [together(r, group) if own else r[0] for r, own in zip(rows, mask, strict=True)]
    return laned, [
        [r[i] if own else r[0] for r, own in zip(rows, mask, strict=True)]
        for i in range(len(SCALES))
    ]


def value(function: Function, given: list[Any], kind: type[Session] = Session) -> Any:
    """The result, or the list of them, as primals."""
    session = kind(*given)
    with ieee():
        y = function(session.m, *session.operands)
    return [primal(part.v) for part in y] if type(y) is list else primal(y.v)


def gradient(function: Function, given: list[Any], kind: type[Session] = Session) -> list[Any]:
    """The gradients of the weighed result by each operand, by reverse mode."""
    session = kind(*given)
    with ieee():
        return [
            primal(g)
            for g in session.gradients(weighed(session.m, function(session.m, *session.operands)))
        ]


def second(function: Function, given: list[Any], kind: type[Session] = Session) -> list[Any]:
    """The gradients of the weighed gradients: reverse over reverse."""
    session = kind(*given)
    with ieee():
        first = session.gradients(
            weighed(session.m, function(session.m, *session.operands)), recorded=True
        )
        owned = [_each(session, Value(g, session.m), v) for g, v in zip(first, given, strict=True)]
        targets = [weighed(session.m, g, seed=100 + k).v for k, g in enumerate(owned)]
        seeds = [
            (t, 1.0) for t in targets if type(t) is tuple
        ]  # each by itself: what rows share counts once
        found = sweep(session.run, seeds, {leaf[1] for leaf in session.leaves}, False)
        return [primal(found.get(leaf[1], 0.0)) for leaf in session.leaves]


def _each(session: Session, g: Value, value: Any) -> Any:
    """A gradient that all rows have, for each of them."""
    if type(value) is not Lanes or type(primal(g.v)) is Lanes:
        return g
    return session.m.spread_rows(session.m.broadcast_to(g, shape=value.shape), group=value.group)


def push(function: Function, given: list[Any], kind: type[Session] = Session) -> list[Any]:
    """The tangents of the results, along tangents that differ between elements and operands."""
    session = kind()
    with ieee():
        duals = [
            session.dual(v, _direction(v, k)) if _moves(v) else session.constant(v)
            for k, v in enumerate(given)
        ]
        y = function(session.m, *duals)
    return [primal(tangent(part)) for part in (y if type(y) is list else [y])]


def _moves(value: Any) -> bool:
    return np.asarray(getattr(value, "array", value)).dtype.kind in "fc"


def _direction(value: Any, k: int) -> Any:
    """One for each row the same."""
    shape = np.shape(value) if type(value) is not Lanes else value.shape
    t = np.random.default_rng(50 + k).normal(size=shape)
    if type(value) is not Lanes:
        return t if shape else float(t)
    return Lanes(np.repeat(t[..., None], value.group.size, axis=-1), value.group)


def array(value: Any) -> Any:
    return value.array if type(value) is Lanes else np.asarray(value)


def verify_rows(got: Any, alone: list[Any], rtol: float, what: str, dtypes: bool = True) -> None:
    """What rows give together is what each gives alone: value, shape and dtype."""
    expected = np.stack([np.asarray(v) for v in alone], axis=-1)
    assert type(got) is Lanes or np.ptp(expected, axis=-1).max(initial=0) == 0, what
    found = array(got)
    if type(got) is not Lanes:
        found = np.repeat(found[..., None], len(alone), axis=-1)
    assert found.shape == expected.shape, what
    assert not dtypes or found.dtype == expected.dtype, what
    size = np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=0)
    np.testing.assert_allclose(
        found, expected, rtol=rtol, atol=rtol * max(size, 1e-5), err_msg=what
    )
