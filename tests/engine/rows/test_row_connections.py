"""Whether a gradient is there is told of each row by itself: where rows joined, a name may be a
plain number in some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..campaign.comparing import difference
from ..campaign.ways import alone, by_rows, parsed
from ..programs import value

X = [1.0, -0.5, 2.0, -1.0]
PROGRAMS = {
    "a constant in some rows": "s = x\nif x > 0 { s = 0.5 }\ny = s * u\ng = grad(y, s, seed = s, unconnected = \"zero\")",
    "what is computed of it": "s = x\nif x > 0 { s = 0.5 }\np = s * s\ng = grad(p * x, p, unconnected = \"zero\")",
    "itself": "s = x\nif x > 0 { s = 0.5 }\ng = vjp(s, s, u)\nif g == none { g = -7.0 }",
    "twice": "s = x\nif x > 0 { s = 0.5 }\nif u > 0 { s = s * x } else { s = 2.0 }\ng = grad(s * u, s, unconnected = \"zero\")",
    "in none of the rows that ask": "s = x\nif x > 0 { s = 0.5 }\np = s * s\ng = 1.0\n"
    "if x > 0 { g = grad(p, x); if g == none { g = -7.0 } }",
    "in none, by a Jacobian": "s = x\nif x > 0 { s = 0.5 }\np = [s * s, s]\ng = 1.0\n"
    "if x > 0 { g = jacobian(array(p), x); if g == none { g = -7.0 } else { g = sum(g) } }",
    "in a branch of others": "t = x\nif x > 0 { t *= 0.5 }\ns = t\ng = 0.0\n"
    "if u > 0 { g = grad(s, s, seed = x, unconnected = \"zero\") }",
}  # fmt: skip


def _function(body: str) -> str:
    return f"fn f(x, u) {{\n{body}\nreturn g\n}}\n"


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_rows_have_the_gradients_that_each_has_alone(body: str) -> None:
    for text in (
        f"var x = 1.0\nvar u = 1.0\n{body}\noutput g",
        f"var x = 1.0\nvar u = 1.0\n{_function(body)}output g = f(x, u)",
    ):
        points: list[dict[str, Any]] = [
            {"x": x, "u": u} for x, u in zip(X, X[1:] + X[:1], strict=True)
        ]
        node = parsed(text)
        for point, expected, found in zip(
            points, alone(node, points), by_rows(node, points), strict=True
        ):
            assert difference(expected, found) == "", point


@pytest.mark.parametrize("body", PROGRAMS.values(), ids=PROGRAMS)
def test_and_in_vmap(body: str) -> None:
    row = f"{_function(body)}fn row(x, u) = jvp(fn(z) = f(z, u) + z)(x, 1.0) + f(x, u)\n"
    given = f"{X}, {X[1:] + X[:1]}"
    recorded = "fn row(x, u) = value_and_grad(fn(z) = f(z, u) + z * z)(x)\n"
    for asked in (row, f"{_function(body)}{recorded}"):
        together = value(f"{asked}output y = vmap(row)({given})")
        single = [
            value(f"{asked}output y = row({x}, {u})") for x, u in zip(X, X[1:] + X[:1], strict=True)
        ]
        np.testing.assert_allclose(
            np.array(together).T if type(together) is list else together,
            np.array(single),
            rtol=1e-12,
        )


@pytest.mark.parametrize(
    "of",
    [
        "x, x",
        "x, u, x",
        "u, u",
        "s, s",
        "s, x, [u, s]",
        "v, v",
        "v, x, v[0]",
        "v, vector, v",
        "x, x * u, x",
    ],
)
def test_outputs_that_hold_a_value_twice(of: str) -> None:
    text = "var x = 1.0\nvar u = 1.0\nconst vector = [1.0, 2.0]\ns = x\nif u > 0 { s = x * u }\nv = array([s, x])"
    points: list[dict[str, Any]] = [{"x": x, "u": u} for x, u in zip(X, X[1:] + X[:1], strict=True)]
    node = parsed(f"{text}\noutput y = [{of}]")
    for point, expected, found in zip(
        points, alone(node, points), by_rows(node, points), strict=True
    ):
        assert difference(expected, found) == "", point


JOINED = {
    "of variables": "s = x\nif x > u { s = u }",
    "of values": "s = x * u\nt = x + 0.25\nif x > u { s, t = t, s }",
    "twice": "s = x\nt = x * u\nif x > u { s = u }\nif x > 0 { s = t }",
    "after a loop": "s = x\nt = u\nk = 0\nwhile k < 3 and s < t { k += 1; s, t = t * 1.0, s }",
    "in some rows": "s = x\nif x > 0 { p = x * u } else { p = none }\nif p != none { s = p }",
}
ASKED = {
    "grad": "grad(s * x * u, s)", "of another": "grad(x * u, s, unconnected = \"zero\")",
    "vjp": "vjp(s * x, [s, u], 2.0)[0]",
    "jvp": "jvp(s * s * x, s, 1.5)", "jacobian": "jacobian(s * x * u, s)",
    "hessian": "hessian(s * s * x, s)",
    "hvp": "hvp(s * s * x, s, 1.5)", "batch_jacobian": "batch_jacobian(array([s * x]), array([s]))",
}  # fmt: skip


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("joined", JOINED.values(), ids=JOINED)
def test_a_source_that_joined_is_in_each_row_the_value_that_it_is_alone(
    joined: str, asked: str
) -> None:
    points: list[dict[str, Any]] = [{"x": x, "u": u} for x, u in zip(X, X[1:] + X[:1], strict=True)]
    node = parsed(f"var x = 1.0\nvar u = 1.0\n{joined}\noutput g = {asked}")
    for point, expected, found in zip(
        points, alone(node, points), by_rows(node, points), strict=True
    ):
        assert difference(expected, found) == "", point


def test_a_tape_that_watches_what_joined() -> None:
    points: list[dict[str, Any]] = [{"x": x, "u": u} for x, u in zip(X, X[1:] + X[:1], strict=True)]
    node = parsed(
        "var x = 1.0\nvar u = 1.0\ns = x\nif x > u { s = u }\ntape t { watch s; y = s * x * u }\noutput g = t.gradient(y, s)"
    )
    for point, expected, found in zip(
        points, alone(node, points), by_rows(node, points), strict=True
    ):
        assert difference(expected, found) == "", point
