"""A transposed copy has the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends import transposing

SHAPES = [
    (4100, 1),
    (4100, 2),
    (3, 5001),
    (5001, 10),
    (10, 5001),
    (4099, 17),
    (70, 70),
    (65, 1000),
    (40, 3),
    (0, 5),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_turned(shape: tuple[int, int], dtype: str) -> None:
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    found = transposing.contiguous(np, array.T)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, array.T)
    target = np.zeros(array.shape[::-1], dtype)
    transposing.put(target, array.T)
    np.testing.assert_array_equal(target, array.T)
    whole = np.zeros((shape[1] + 2, shape[0]), dtype)
    transposing.put(whole[1:-1], array.T)
    np.testing.assert_array_equal(whole[1:-1], array.T)
    assert not whole[0].any()
    assert not whole[-1].any()


def test_what_lies_in_another_way() -> None:
    array = np.random.default_rng(0).normal(size=(200, 100))
    others: list[Any] = [
        array[:, ::2],
        array[::2].T,
        array[::-1],
        array.reshape(2, 100, 100).T,
        array.T.astype(">f8"),
    ]
    for other in others:
        target = np.empty(other.shape)
        transposing.put(target, other)
        np.testing.assert_array_equal(target, other)
        np.testing.assert_array_equal(transposing.contiguous(np, other), other)
    assert transposing.contiguous(np, array) is array
