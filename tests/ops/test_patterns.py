"""The structure of every structural op's Jacobian: all that moves is in it, whichever way the
sweeps go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.ad.derivatives import gradients
from gradcli.engine.backends.backend import ieee
from gradcli.engine.jacobian.compressed import Sparse, blocks
from gradcli.engine.operations.rules import Value
from gradcli.engine.trace.tape import Traced
from gradcli.engine.values.boxes import primal

from .structural_cases import CASES
from .sweeps import Session, weighed

EVERY = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]


def by_rows(session: Session, target: Traced) -> list[Any]:
    """The Jacobians by a sweep for each element of the target."""
    like = np.asarray(primal(target))
    rows = []
    for seed in np.eye(like.size):
        cotangent = seed.reshape(like.shape) if like.shape else 1.0
        rows.append(gradients(session.run, [(target, cotangent)], session.leaves, recorded=False))
    likes = [np.asarray(primal(leaf)) for leaf in session.leaves]
    return [
        None
        if parts[0] is None
        else np.stack([np.asarray(part).ravel() for part in parts]).reshape(like.size, x.size)
        for parts, x in zip(zip(*rows, strict=True), likes, strict=True)
    ]


def dense(found: Sparse) -> np.ndarray:
    matrix = np.zeros(found.shape)
    np.add.at(matrix, (found.rows, found.columns), found.values)
    places = np.asarray(found.rows) * found.shape[1] + found.columns
    assert np.all(np.diff(places) > 0)  # row by row, each entry once
    return matrix


@pytest.mark.parametrize(("name", "k"), EVERY, ids=[f"{name}-{k}" for name, k in EVERY])
def test_jacobians(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    session = Session(*values)
    with ieee():
        y = function(session.m, *session.operands)
        for part in y if type(y) is list else [y]:
            if type(part.v) is not tuple or np.asarray(primal(part.v)).dtype.kind == "c":
                continue
            expected = by_rows(session, part.v)
            for mode in ("reverse", "forward", "auto"):
                for sparse in (True, False):
                    found = blocks(session.run, part.v, session.leaves, mode=mode, sparse=sparse)
                    for a, b in zip(found, expected, strict=True):
                        assert (a is None) == (b is None)
                        if b is not None:
                            matrix = dense(a) if sparse else np.asarray(a).reshape(b.shape)
                            np.testing.assert_allclose(
                                matrix,
                                b,
                                rtol=1e-9,
                                atol=1e-12 * max(1.0, np.abs(b).max(initial=0)),
                            )


@pytest.mark.parametrize(("name", "k"), EVERY, ids=[f"{name}-{k}" for name, k in EVERY])
def test_hessians(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    session = Session(*values)
    with ieee():
        y = function(session.m, *session.operands)
        total = weighed(session.m, [part * part for part in y] if type(y) is list else y * y).v
        if np.asarray(primal(total)).dtype.kind == "c":
            return
        firsts = gradients(session.run, [(total, 1.0)], session.leaves, recorded=True)
        for first, leaf in zip(firsts, session.leaves, strict=True):
            if type(first) is not tuple:
                continue
            (expected,) = by_rows(Session_of(session, leaf), first)
            for mode in ("reverse", "forward", "auto"):
                (found,) = blocks(
                    session.run, first, [leaf], mode=mode, sparse=True, symmetric=True
                )
                assert (found is None) == (expected is None)
                if found is not None:
                    scale = max(1.0, np.abs(expected).max(initial=0))
                    np.testing.assert_allclose(dense(found), expected, rtol=1e-7, atol=1e-8 * scale)


def Session_of(session: Session, leaf: Traced) -> Session:  # noqa: N802
    one = Session()
    one.run, one.m, one.leaves, one.operands = (
        session.run,
        session.m,
        [leaf],
        [Value(leaf, session.m)],
    )
    return one
