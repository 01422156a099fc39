"""Transforms at their edges: arguments without elements, and arguments that aren't
differentiable."""

from __future__ import annotations

import numpy as np
import pytest

from ..programs import evaluate, value

EMPTY = [
    ("jacobian(fn(a) = a * zeros(0))(1.0)", (0,)),
    ("jacobian(fn(a) = a * zeros([0, 2]))([1.0, 2.0])", (0, 2, 2)),
    ("jacobian(fn(a) = a * 2)(zeros([0, 2]))", (0, 2, 0, 2)),
    ('jacobian(fn(a) = a * 2, mode = "forward")(zeros([0, 2]))', (0, 2, 0, 2)),
    ("hessian(fn(a) = sum(a * a))(zeros(0))", (0, 0)),
    ('hessian(fn(a) = sum(a * a), mode = "forward")(zeros(0))', (0, 0)),
    ("batch_jacobian(fn(a) = a * a)(zeros([0, 2]))", (0, 2, 2)),
    ("batch_jacobian(fn(a) = a * a)(zeros([2, 0]))", (2, 0, 0)),
    ("batch_jacobian(w * w, w)", (0,)),
]


@pytest.mark.parametrize(("request_", "shape"), EMPTY)
def test_what_has_no_elements_has_empty_derivatives(request_: str, shape: tuple[int, ...]) -> None:
    found = value(f"var w = zeros(0); r = {request_}")
    assert (found.shape, found.dtype) == (shape, np.float64)


INTS = [
    ("jacobian(fn(a, b) = a * b, wrt = [0, 1])(2.0, 3)", [3.0, None]),
    ("jacobian(fn(a) = a * 2.0)(3)", None),
    ("batch_jacobian(fn(a) = a * 2.0)([3, 4])", None),
    ("hessian(fn(a) = a * 2.0)(3)", None),
    ("hessian(fn(a, b) = a * a * b, wrt = [0, 1])(2.0, 3)", [[6.0, None], [None, None]]),
    ("hvp(fn(a) = a * 2.0)(3, 1.0)", None),
    ("hvp(fn(a, b) = a * a * b, wrt = [0, 1])(2.0, 3, v = [1.0, none])", [6.0, None]),
]


@pytest.mark.parametrize("mode", ["auto", "forward"])
@pytest.mark.parametrize(("request_", "expected"), INTS)
def test_there_is_none_by_an_int_and_it_is_said(request_: str, expected: object, mode: str) -> None:
    if request_.startswith(("jacobian", "hessian")):
        request_ = request_.replace(")(", f', mode = "{mode}")(', 1)
    evaluation = evaluate(f"r = {request_}", grad=False)
    assert evaluation.outputs == {"r": expected}
    assert [d.reason for d in evaluation.diagnostics] == ["integer"]
