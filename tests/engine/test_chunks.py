"""Large arrays go through elementwise functions in pieces, and cotangents into buffers: nothing of
that shows in results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.backend import CPU
from gradcli.engine.backends.chunks import in_chunks
from gradcli.engine.formulas.functions import array_function, array_pull

N = 4 * CPU.chunk + 1000  # several pieces, the last a short one
PROGRAMS = {
    "a chain": "output sum(sin(x)*exp(-x**2))",
    "used twice": "y = x*x; output sum(y*x + sin(y) - y)",
    "passed on as it is": "output sum((x + 1.0)*(x - 1.0) + x)",
    "times a scalar": "output sum(c*x*(x + c))",
    "a mask": "output sum(relu(x)*x)",
    "a buffer that is wanted, too": "y = 2.0*x; z = y*x; output sum(z*z*c)",
    "a result with several uses": "y = tanh(x); output sum(y*y*y + y/(1.0 + x**2))",
    "a matrix": "m = reshape(x, 8, -1); output sum(sin(m)*m) + sum(m.T*c)",
    "rows that are broadcast": "m = reshape(x, 8, -1); output sum(exp(-m*m[0])*m)",
    "softmax of rows": "m = reshape(x, -1, 8); output sum(softmax(m)*m)",
}
X = np.random.default_rng(0).normal(size=N)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_pieces_and_buffers_change_nothing(
    text: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = gradcli.load(source=f"var x: float[n]\nvar c = 0.7\n{text}").with_options(dtype=dtype)
    in_pieces = program.run(x=X.astype(dtype))
    with monkeypatch.context() as patch:
        patch.setattr(CPU, "chunk", N)  # no array is large enough
        _forget()
        whole = program.run(x=X.astype(dtype))
    _forget()
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    for found, expected in zip(_numbers(in_pieces), _numbers(whole), strict=True):
        size = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def _forget() -> None:
    """The array functions that were made for another chunk."""
    array_function.cache_clear()
    array_pull.cache_clear()


def _numbers(evaluation: gradcli.Evaluation) -> list[Any]:
    (row,) = evaluation.gradients.values()
    return [*evaluation.outputs.values(), *(g for g in row.values() if g is not None)]


def test_pieces_are_written_where_they_belong() -> None:
    def twice(x: Any, out: Any = None) -> Any:
        seen.append(out)
        return np.multiply(x, 2.0, out=out)

    seen: list[Any] = []
    function = in_chunks(CPU, twice, writes=True)
    np.testing.assert_array_equal(function(X), 2.0 * X)
    assert [out is not None for out in seen] == [False, True, True, True, True]
    into, onto = X.copy(), X.copy()
    assert function(into, into=into) is into
    np.testing.assert_array_equal(into, 2.0 * X)
    function(X, onto=onto)
    np.testing.assert_array_equal(onto, 3.0 * X)
