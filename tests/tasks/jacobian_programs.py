"""Programs to ask for Jacobians and Hessians, and what they answer, to be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import gradcli
from gradcli.diagnostics import Diagnostic, GradcliError

G = np.random.default_rng(7)
V, W = G.uniform(0.2, 1.5, (2, 24))
M = G.uniform(-1.0, 1.0, (6, 20))
ROTATION = "fn turn(a) { c = cos(a); s = sin(a); return array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) }\n"


class Case(NamedTuple):
    """A program, what it is given from outside, whether the kernels' answers are those of the
    interpreter to the last bit, or up to rounding, and the requests that it answers alone."""

    source: str
    points: Sequence[Mapping[str, Any]]
    exact: bool = True
    alone: tuple[str, ...] = ()


XY = [{"x": 0.7, "y": 1.3}, {"x": -1.1, "y": 0.4}, {"x": 2.0, "y": -0.6}]
VS = [{"x": V}, {"x": W}, {"x": V * W - 0.5}]
SMALL = [{"x": v[:5]} for v in (V, W, V - W)]
CASES = {
    "a scalar": Case("var x\nvar y\nz = x*x*y - y/x", XY),
    "a formula": Case("x**2 * y + 3*x/y", XY),
    "one variable of two": Case("var x\nvar y = 2.0\noutput a = x*x\noutput b = 3*x*y", XY),
    "a small vector": Case("var x: float[n]\ny = x*x[0] + x[1]/x[2]", SMALL),
    "a scalar of a vector": Case("var x: float[n]\ny = x[0]*x[1] + x[2]*x[3]*x[4]", SMALL),
    "a vector of a scalar": Case("var x\nvar y\nz = [1.0, 2.0, 3.0]*x*y + array([y, x, x*x])", XY),
    "a list": Case("var x\nvar y\noutput z = [x*y, [x, y*y*x], 2.0]", XY),
    "a dict": Case("var x: float[n]\noutput d = {a: x*x[1], b: x[0]*x[0], c: 1.5}", SMALL),
    "several outputs and sources": Case(
        "var x: float[n]\nvar y = 1.5\noutput a = x*y\noutput b = x[0]*y*y\noutput c = y + 1.0", SMALL
    ),
    "a matrix of a vector": Case(
        "var x: float[n]\ny = reshape(x*x, [5, 1])*[1.0, x[0]]", SMALL
    ),
    "a diagonal": Case("var x: float[n]\ny = x**2*x - 2*x", VS),
    "three bands": Case(
        "var x: float[n]\nr = (3 - 2*x)*x - concatenate([[0.0], x[:-1]]) - 2*concatenate([x[1:], [0.0]]) + 1",
        VS,
    ),
    "pairs": Case("var x: float[n]\nodd = x[0::2]\neven = x[1::2]\nf = sum(100*(even - odd**2)**2 + (1 - odd)**2)", VS),
    "an arrow": Case("var x: float[n]\ny = x*x[0] + x*x", VS),
    "dense rows": Case("var x: float[n]\ny = x*sum(x*x)", VS, exact=False),
    "two vectors": Case(
        "var x: float[n]\nvar w: float[n]\ny = x*w - w*w\nz = x[1:]*w[:-1]*w[1:]\noutput y, z",
        [{"x": V, "w": W}, {"x": W, "w": V}],
    ),
    "a loop over elements": Case(
        "var x: float[24]\nr = zeros(24)\nfor i in range(1, 24) { r[i] = x[i]*x[i - 1] - x[0] }\noutput r", VS
    ),
    "a loop on numbers": Case(
        "var x\nvar y\na = x\nfor i in range(10) { a = a*y - x*i/10 }\noutput a\noutput b = a*x", XY
    ),
    "a loop that ends as the numbers say": Case(
        "var x\nvar y\na = x\nwhile a*a < 50.0 { a = a*1.5 + y*y }\noutput a\noutput b = a*x", XY,
        exact=False, alone=("sparse", "forward", "hessian", "sparse hessian", "blocks", "all", "forward hessian"),
    ),
    "branches": Case(
        "var x\nvar y\nif x > 0.0 { z = x*x*y } else { z = y*y*x + x }\noutput z", XY,
        alone=("sparse", "forward", "hessian", "sparse hessian", "blocks", "all", "forward hessian"),
    ),
    "a branch with a constant gradient on one side": Case(
        "var x\nif x > 0.0 { z = x*3.0 } else { z = x*x }\noutput z", [{"x": -0.7}, {"x": 0.5}, {"x": -2.0}],
        alone=("sparse", "sparse hessian"),
    ),
    "functions": Case(
        "var x: float[n]\nfn f(a, b) = a*b - a/b\nfn g(a) = f(a, f(a, 2.0))\ny = g(x) + f(x[0], x[1])", SMALL
    ),
    "elementary functions": Case(
        "var x: float[n]\ny = sin(x)*exp(-x) + sqrt(x*x + 1) + tanh(x)*x[0]", VS, exact=False
    ),
    "rotations": Case(
        f"{ROTATION}var x: float[6]\nconst p: float[3, 7]\nm = turn(x[0])\nr = m @ p\n"
        "for k in range(1, 5) { m = m @ turn(x[k]*x[5]); r = r + m @ p }\noutput r = reshape(r, [21])",
        [{"x": V[:6], "p": M[:3, :7]}, {"x": W[:6], "p": M[1:4, 3:10]}],
        exact=False,
    ),
    "products of matrices": Case(
        "var x: float[20]\nconst m: float[6, 20]\ny = m @ (x*x)", [{"x": V[:20], "m": M}, {"x": W[:20], "m": M - 1}],
        exact=False,
    ),
    "a derivative of its own": Case(
        "var x: float[n]\nfn f(a) = sum(a*a*a[0])\ny = grad(f)(x)*x", SMALL, exact=False
    ),
    "an index that the numbers say": Case(
        "var x: float[n]\ny = x*x[int64(4*abs(x[0]))]", VS,
        alone=("jacobian", "sparse", "forward", "reverse", "hessian", "sparse hessian", "blocks", "all", "forward hessian"),
    ),
    "a loop as long as the numbers say": Case(
        "var x: float[5]\ny = x*x\nfor i in range(int64(4*abs(x[0]))) { y = y*x[i] + x }\noutput y", SMALL,
        exact=False, alone=("sparse", "sparse hessian"),
    ),
    "an int": Case("var x\nvar k = 3\nz = x*x*k", [{"x": 0.7}, {"x": -1.1}, {"x": 2.0}]),
    "an int from outside": Case(
        "var x\nconst n: int64\nz = x\nfor i in range(n) { z = z*x }\noutput z",
        [{"x": 0.7, "n": 3}, {"x": -1.1, "n": 4}],
        exact=False, alone=("sparse", "sparse hessian"),
    ),
    "a part without derivatives": Case(
        "var x: float[n]\nvar w = 1.5\noutput a = [x*x, 2.0]\noutput b = floor(w)*x\noutput c = w*w", VS
    ),
    "two lists of numbers": Case("var x\nvar y\noutput a = [x*x, y]\noutput b = [y*y*x, 1.0*x]", XY),
    "where": Case("var x: float[n]\ny = where(x > 0.8, x*x, 3*x)", VS),
    "extremes": Case("var x: float[n]\ny = maximum(x, 0.8)*x", VS),
    "powers": Case("var x: float[n]\ny = x**4 + x**-1", VS, exact=False),
    "values that are not finite": Case(
        "var x: float[n]\ny = x/x[0]", [{"x": V[:5]}, {"x": W[:5] - W[0]}, {"x": [1.0, 2.0, np.inf, 1.0, 0.5]}]
    ),
    "other values": Case(
        "var x: float[n]\ny = x*x[0]", [{"x": V[:5]}, {"x": V[:7]}, {"x": [1, 2, 3, 4, 5]}, {"x": V}]
    ),
    "an error": Case("var x: float[n]\nconst k = 1\ny = x*x[k]", [{"x": V[:5]}, {"x": W[:5]}, {"x": V[:5], "k": 9}]),
    "only some outputs": Case("var x: float[n]\nprint_me = 2.0\nz = x*x\noutput a = z*x[0]\noutput k = 3", SMALL),
    "norms, also of zeros": Case(
        "var x: float[n]\ny = norm(x)*x[1]\nz = norm(x - x[0])\noutput y, z",
        [{"x": [0.0, 1.0, 2.0]}, {"x": [-1.0, 0.0, 0.5]}, {"x": [1.0, 1.0, 1.0]}, {"x": [0.0, 0.0, 0.0]}],
        exact=False,
    ),
    "a constant": Case("var x: float[n]\ny = 2*x - 1", VS),
}  # fmt: skip
REQUESTS: dict[str, dict[str, Any]] = {
    "jacobian": {"jacobian": True, "grad": False},
    "sparse": {"jacobian": True, "sparse": True, "grad": False},
    "forward": {"jacobian": True, "mode": "forward", "grad": False},
    "reverse": {"jacobian": True, "mode": "reverse"},
    "hessian": {"hessian": True, "grad": False},
    "sparse hessian": {"hessian": True, "sparse": True, "grad": False},
    "blocks": {"hessian_blocks": True},
    "all": {"hessian_blocks": True, "jacobian": True, "unconnected": "zero"},
    "forward hessian": {"hessian": True, "mode": "forward", "grad": False},
}


def answer(program: gradcli.Program, point: Mapping[str, Any]) -> dict[str, Any]:
    """What a program answers, and all that it says."""
    try:
        answer = program.run(point)
    except GradcliError as error:
        return {"rest": list(map(told, error.diagnostics))}
    return {
        "outputs": answer.outputs,
        "gradients": answer.gradients,
        "jacobians": answer.jacobians,
        "hessians": answer.hessians,
        "rest": [answer.summed, answer.notes, answer.mode, *map(told, answer.diagnostics)],
    }


def told(diagnostic: Diagnostic) -> str:
    d = diagnostic
    return f"{(d.code, d.message, d.span, d.help, d.reason)}"


def assert_same(found: Any, expected: Any, exact: bool) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert_same(found[key], value, exact)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b, exact)
    elif isinstance(expected, np.ndarray):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        compare = np.testing.assert_array_equal if exact else close
        compare(found, expected)
    elif exact or not isinstance(expected, float):
        assert found == expected
    else:
        close(found, expected)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
