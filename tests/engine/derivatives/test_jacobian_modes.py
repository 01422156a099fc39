"""Jacobians and Hessians by rows and by columns: the same, and `auto` takes what has less to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.ad import reverse
from gradcli.engine.jacobian import seeds
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ..domain_points import points as points_of
from ..programs import evaluate, executed, flat, outputs, value
from .random_programs import RELAXED, Program, points, programs

VALUES = [
    ("var x = 2.0; y = [1.0, 2.0] * x**2; output jacobian(y, x, {mode}), hessian(sum(y), x, {mode})", [4, 8, 6]),
    ("var x = [2.0, 3.0]; y = outer(x, x); output jacobian(y, x, {mode})",
        [4, 0, 3, 2, 3, 2, 0, 6]),
    ("var x = [2.0, 3.0]; output hessian(x[0] * x[1]**2, x, {mode})", [0, 6, 6, 4]),
    ("var x = [2.0, 3.0]; j = jacobian(x**3, x, {mode}); output jacobian(sum(j), x, {mode}), grad(j, x)", [12, 18, 12, 18]),
    ("var x = [2.0, 3.0]; var u = 5.0; d = jacobian([x * u, {{a: u}}], {{p: x, q: [u]}}, {mode}); output d.p[0], d.q[0]",
     [5, 0, 0, 5, 2, 3, 1]),
    # by an intermediate
    ("var x = [2.0, 3.0]; y = x**2; z = y * y[0]; output jacobian(z, y, {mode})", [8, 0, 9, 4]),
    ("var x = 3.0; output jacobian(x, x, {mode}), hessian(x, x, {mode})", [1, 0]),
    ("var z = [1.0 + 2.0j, 3.0]; output jacobian(abs(z)**2, z, {mode})", [2 + 4j, 0, 0, 6]),
    ("var x = zeros(0); output jacobian(x * 2, x, {mode}), jacobian(sum(x), x, {mode})", []),
    ("var x = [0.0, 4.0]; y = where(x > 0, sqrt(x), 0.0); output jacobian(y, x, {mode}), hessian(sum(y), x, {mode})",
     [0, 0, 0, 0.25, 0, 0, 0, -1 / 32]),
    ("var x = [1.0, 2.0]; y = x**2; s = sum(y); pause {{ j = jacobian(y, x, {mode}); h = hessian(s, x, {mode}) }}; output j, h",
     [2, 0, 0, 4, 2, 0, 0, 2]),
    ("var x = [1.0, 2.0]; fn f(x) {{ y = x**3; return jacobian(y, x, {mode}) }}; output f(x), grad(f)(x), jvp(f)(x, [1.0, 0.0])",
     [3, 0, 0, 12, 6, 12, 6, 0, 0, 0]),
]  # fmt: skip


ONE_OPERAND = [
    op
    for op in OPS.values()
    if op.elementwise and op.differentiable and not op.internal and len(op.signature.operands) == 1
]


@pytest.mark.parametrize("op", ONE_OPERAND, ids=lambda op: op.name)
def test_hessians_of_every_entry(op: Op) -> None:
    """Also of those whose slope is one number for all elements."""
    at = [point for (point,) in points_of(op)]
    asked = "hessian(sum(y), x{mode}), hessian(sum(y*x), x{mode}), jacobian(y, x{mode})"
    source = f"var x = {at}; y = {op.name}(x); output {asked}"
    forward, reverse = [
        flat(list(outputs(source.format(mode=f', mode = "{mode}"')).values()))
        for mode in ("forward", "reverse")
    ]
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_values(source: str, expected: list[Any], mode: str) -> None:
    found = flat(outputs(source.format(mode=f'mode = "{mode}"')))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_unconnected_is_none(mode: str) -> None:
    evaluation = evaluate(
        f'var x = 2.0; var u = [1.0]; n = 3; j = jacobian(x * [1.0, 2.0], [u, n], mode = "{mode}"); output j'
    )
    assert evaluation.outputs["j"] == [None, None]
    assert {d.code for d in evaluation.diagnostics} >= {"W201", "W202"}


@settings(RELAXED, max_examples=40)
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points)
def test_random_programs(program: Program, point: tuple[float, np.ndarray]) -> None:
    inputs = dict(zip("xv", point, strict=True))
    asked = """
j = [jacobian(y, x, mode = "{0}"), jacobian(y, v, mode = "{0}")]
h = [hessian(y, x, mode = "{0}"), hessian(y, v, mode = "{0}")]
output j, h
"""
    forward, reverse = (
        outputs(program.source + asked.format(mode), inputs) for mode in ("forward", "reverse")
    )
    for name in ("j", "h"):
        for a, b in zip(forward[name], reverse[name], strict=True):
            if b is None:
                assert a is None
            else:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize(
    ("source", "sweeps"),
    [
        (
            "var x = 2.0; j = jacobian(x * ones(50), x)",
            2,
        ),  # one for the linear map, one for its column
        ('var x = 2.0; j = jacobian(x * ones(50), x, mode = "reverse")', 50),
        (
            "var x = ones(50); j = jacobian(x * 2, x)",
            1,
        ),  # all of its rows at once: none has a column of another
        ('var x = ones(50); j = jacobian(sum(x), x, mode = "forward")', 51),
        ("var x = ones(50); j = jacobian(sum(x), x)", 1),
        ("var z = 2.0j; j = jacobian(abs(z) * ones(50), z)", 50),
        (
            "fn f(x) { return x } backward (dy) { return dy }; var x = 2.0; j = jacobian(f(x) * ones(50), x)",
            50,
        ),
    ],
)
def test_auto_takes_what_has_less_to_do(
    source: str, sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    sweep = reverse.pulled
    monkeypatch.setattr(seeds, "LANES", 1e9)  # one after another, so that they can be counted
    for module in (reverse, seeds):
        monkeypatch.setattr(module, "pulled", lambda *a, **k: asked.append(a) or sweep(*a, **k))
    evaluate(f"{source}; y = 1.0 * j", grad=False)  # what is differentiated again
    assert len(asked) == sweeps


@pytest.mark.parametrize("mode", ["auto", "reverse"])
@pytest.mark.parametrize(
    ("body", "x"), [("x * ones(9)", "2.0"), ("sum(x * w)", "ones(9)"), ("x**2 * w", "ones(9)")]
)
def test_functions_are_called_once(body: str, x: str, mode: str) -> None:
    source = f'frozen n = 0; var w = 1.0; fn f(x) {{ n :+= 1; return {body} }}; j = jacobian(f, mode = "{mode}")({x}); output n'
    assert value(source) == 1


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_from_outside(mode: str) -> None:
    source = "var x = 2.0; var u = [1.0, 3.0]; y = x**2 * u; z = sum(y); output y, z"
    found = evaluate(source, jacobian=True, hessian_blocks=True, mode=mode)
    np.testing.assert_equal(
        found.jacobians["y"], {"x": np.array([4.0, 12.0]), "u": 4.0 * np.eye(2)}
    )
    np.testing.assert_equal(found.gradients["z"], {"x": 16.0, "u": np.array([4.0, 4.0])})
    np.testing.assert_equal(
        found.hessians["z"], {"x": 8.0, "u": np.zeros((2, 2)), "x,u": np.array([4.0, 4.0])}
    )
    assert evaluate("x**2 * u", {"x": 3.0, "u": 2.0}, hessian=True, mode=mode).hessians[
        "result"
    ] == {"x": 4.0, "u": 0.0}


def test_values_by_columns_leave_nothing_on_the_trace() -> None:
    source = 'var x = 2.0; y = x**3; for k in range(%d) { d = jvp(y, x, 1.0); j = jacobian(y, x, mode = "forward") }'
    few, many = (executed(source % n)[0].trace for n in (1, 20))
    assert (len(few.watched), len(few.main.watch)) == (len(many.watched), len(many.main.watch))
