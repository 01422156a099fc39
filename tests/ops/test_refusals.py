"""What entries refuse, and in which words: messages carry the shapes and values at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcli.ops import OPS
from gradcli.ops.op import OpError

A = np.ones((2, 3))
IMAGES = np.ones((2, 3, 4, 4))
FOURIER = {"n": None, "axis": -1, "norm": "backward"}
MAKING = {"dtype": "float64"}

REFUSALS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("reshape", (A,), {"shape": [4, 2]},
        "cannot reshape shape (2, 3) into [4, 2]: 6 elements into 8"),
    ("reshape", (A,), {"shape": [4, -1]}, "6 elements do not divide by 4"),
    ("reshape", (A,), {"shape": [2.0, 3]}, "needs an int for `shape`, not 2.0"),
    ("sum", (A,), {"axis": 5, "keepdims": False},
        "axis 5 is out of range for an array of 2 dimensions, shape (2, 3)"),
    ("matmul", (A, np.ones(2)), {}, "cannot multiply shapes (2, 3) and (2,)"),
    ("matmul", (A, 2.0), {}, "not single numbers"),
    ("concatenate", (A, np.ones((3, 2))), {"axis": 0},
        "cannot concatenate shapes (2, 3) and (3, 2)"),
    ("stack", (A, np.ones(3)), {"axis": 0}, "cannot stack shapes (2, 3) and (3,)"),
    ("split", (A,), {"sections": 2, "axis": 1}, "cannot split 3 elements into 2 equal parts"),
    ("broadcast_to", (A,), {"shape": [4, 2]}, "cannot broadcast shape (2, 3) to (4, 2)"),
    ("max", (np.ones(0),), {"axis": None, "keepdims": False}, "`max` of no elements has no value"),
    ("take", (A, np.array([7])), {"axis": 0}, "index 7 is out of range for 2 elements"),
    ("take", (A, np.array([0.5])), {"axis": 0}, "needs ints as indices, not float64"),
    ("einsum", (A, A), {"subscripts": "ij,jk->ik"}, "`j` has size 3 and 2"),
    ("einsum", (A,), {"subscripts": "i;->i"}, 'has ";" out of place'),
    ("einsum", (A,), {"subscripts": "ij,jk->ik"}, "are for 2 operands, 1 given"),
    ("einsum", (A,), {"subscripts": "ijk->i"},
        'subscripts "ijk" are for 3 axes: the operand has shape (2, 3)'),
    ("einsum", (A,), {"subscripts": "ij->k"}, "each label of the result stands there once"),
    ("cross", (A, np.ones(2)), {}, "`cross` needs vectors of 3 elements"),
    ("norm", (A,), {"ord": "nuc", "axis": None, "keepdims": False}, '`norm` has no order "nuc"'),
    ("cast", (A,), {"dtype": "float16"}, 'there is no type "float16"'),
    ("float64", (A * 1j,), {}, "complex numbers cannot become float64"),
    ("int64", (np.nan,), {}, "nan does not fit an int64"),
    ("arange", (), {"start": 0, "stop": 3, "step": 0, **MAKING}, "by 0 has no end"),
    ("full", (np.ones(3),), {"shape": [1, 2], **MAKING},
        "cannot fill an array of shape (1, 2) with one of shape (3,)"),
    ("diag", (A,), {"k": [None, True, "a"]}, 'not [none, true, "a"]'),
    ("diag", (A,), {"k": np.ones((2, 2))}, "not an array of shape (2, 2)"),
    ("diag", (A,), {"k": {"a": 1}}, "needs an int for `k`, not a dict"),
    ("cast", (A,), {"dtype": np.ones(2)}, "there is no type an array of shape (2,)"),
    ("norm", (A,), {"ord": np.ones(2), "axis": None, "keepdims": False}, "no order an array of"),
    ("zeros", (), {"shape": [-1], **MAKING}, "sizes are not negative"),
    ("one_hot", (np.array([0, 3]),), {"classes": 3, **MAKING},
        "label 3 is out of range for 3 classes"),
    ("cross_entropy", (A, np.array([0, 3])), {}, "label 3 is out of range for 3 classes"),
    ("pad", (A, 0), {"width": 1, "mode": "mirror"}, 'has no mode "mirror"'),
    ("conv", (A, A), {"stride": 1, "padding": 0},
        "needs images (n, c, h, w) and kernels (o, c, h, w)"),
    ("conv", (IMAGES, IMAGES[:, :2]), {"stride": 1, "padding": 0},
        "as many channels in the kernels: 2 there, 3 in the images"),
    ("conv", (IMAGES, np.ones((1, 3, 6, 2))), {"stride": 1, "padding": 0},
        "kernels of (6, 2) don't fit into images of (4, 4)"),
    ("conv", (IMAGES, IMAGES), {"stride": 0, "padding": 0},
        "one int from 1 up for `stride`, or [rows, columns], not 0"),
    ("conv", (IMAGES, IMAGES), {"stride": 1, "padding": [1, 2, 3]},
        "for `padding`, or [rows, columns], not [1, 2, 3]"),
    ("convolve", (A, A[0]), {"mode": "full"},
        "needs two vectors with elements: the shapes are (2, 3) and (3,)"),
    ("convolve", (A[0], np.ones(0)), {"mode": "full"}, "the shapes are (3,) and (0,)"),
    ("correlate", (A[0], A[0]), {"mode": "wide"}, 'has no mode "wide"'),
    ("fft", (2.0,), FOURIER, "needs an array, not a single number"),
    ("fft", (A,), FOURIER | {"norm": "none"}, 'has no norm "none"'),
    ("fft", (A,), FOURIER | {"n": 0}, "needs 1 point at least, not 0"),
    ("fft", (A,), FOURIER | {"axis": 2}, "axis 2 is out of range"),
    ("irfft", (np.ones(1),), FOURIER, "needs 1 point at least, not 0: the shape is (1,)"),
    ("rfft", (A * 1j,), FOURIER, "`rfft` is for real numbers"),
    ("interp", (A, A[0], A[1, :2]), {},
        "needs as many points as values, in vectors: the shapes are (3,) and (2,)"),
    ("interp", (A, np.array([1.0, 0.0]), A[1, :2]), {}, "needs ascending points"),
    ("gather", (A, np.array([0])), {"axis": 1}, "the indices are (1,), the array (2, 3)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "options", "message"), REFUSALS)
def test_refusal(
    name: str, operands: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    compute: Callable[..., Any] | None = OPS[name].compute
    assert compute
    with pytest.raises(OpError) as error:
        compute(np, *operands, **options)
    assert message in error.value.message


def test_a_transposition_that_fits_is_named() -> None:
    with pytest.raises(OpError) as error:
        OPS["matmul"].compute(np, np.ones((3, 2)), np.ones(3))  # type: ignore[misc]
    assert error.value.help == "did you mean `a.T @ b`?"
    assert error.value.label == "left is (3, 2), right is (3,): inner dimensions 2 and 3 differ"
