"""Jacobians and Hessians that are asked for from outside: against closed forms, and against what
programs get themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.tasks.evaluation import Evaluation

from ..programs import evaluate, failure
from .random_programs import Program, points, programs


def differentiated(source: str, inputs: dict[str, Any] | None = None, **options: Any) -> Evaluation:
    return evaluate(source, inputs, **{"jacobian": True, "hessian_blocks": True, **options})


# ---- closed forms of Moré, Garbow and Hillstrom --------------------------------------------------


def test_broyden_tridiagonal() -> None:
    n = 12
    x = np.linspace(-1.5, 1.0, n)
    found = differentiated(
        """
        var x
        n = len(x)
        whole = (3 - 2*x)*x - concatenate([[0.0], x[:-1]]) - 2*concatenate([x[1:], [0.0]]) + 1
        one_by_one = zeros(n)
        for i in range(n) {
            left = x[i - 1] if i > 0 else 0.0
            right = x[i + 1] if i < n - 1 else 0.0
            one_by_one[i] = (3 - 2*x[i])*x[i] - left - 2*right + 1
        }
        output whole, one_by_one
        """,
        {"x": x},
    )
    expected = np.diag(3 - 4 * x) - np.diag(np.ones(n - 1), -1) - 2 * np.diag(np.ones(n - 1), 1)
    for name in ("whole", "one_by_one"):
        np.testing.assert_allclose(found.jacobians[name]["x"], expected, rtol=1e-14)
        np.testing.assert_allclose(found.gradients[name]["x"], expected.sum(axis=0), rtol=1e-13)
        np.testing.assert_allclose(found.hessians[name]["x"], -4 * np.eye(n), rtol=1e-14)


def test_extended_rosenbrock() -> None:
    x = np.tile([-1.2, 1.0, 0.3, -0.7], 3)
    found = differentiated(
        """
        var x
        odd = x[0::2]
        even = x[1::2]
        f = sum(100*(even - odd**2)**2 + (1 - odd)**2)
        """,
        {"x": x},
    )
    expected = np.zeros((12, 12))
    for k in range(0, 12, 2):
        a, b = x[k], x[k + 1]
        expected[k : k + 2, k : k + 2] = [[1200 * a**2 - 400 * b + 2, -400 * a], [-400 * a, 200]]
    np.testing.assert_allclose(found.hessians["f"]["x"], expected, rtol=1e-13, atol=1e-12)
    np.testing.assert_array_equal(found.jacobians["f"]["x"], found.gradients["f"]["x"])


def test_blocks_are_parts_of_the_whole_hessian() -> None:
    f = "f = sum(exp(w[0] * u) + w[1] * u**3) * s * s"
    z = np.linspace(0.1, 0.9, 7)
    whole = differentiated(
        f"var z\nw = z[:4].reshape(2, 2)\nu = z[4:6]\ns = z[6]\n{f}", {"z": z}
    ).hessians["f"]["z"]
    found = differentiated(
        f"var w; var u; var s; {f}", {"w": z[:4].reshape(2, 2), "u": z[4:6], "s": z[6]}
    ).hessians["f"]
    shapes = {"w": (2, 2, 2, 2), "u": (2, 2), "s": (), "w,u": (2, 2, 2), "w,s": (2, 2), "u,s": (2,)}
    assert {name: np.shape(block) for name, block in found.items()} == shapes
    assert list(found) == list(shapes)
    places = {"w": slice(0, 4), "u": slice(4, 6), "s": slice(6, 7)}
    for name, block in found.items():
        first, _, second = name.partition(",")
        part = whole[places[first], places[second or first]]
        np.testing.assert_allclose(np.reshape(block, part.shape), part, rtol=1e-12)


# ---- the same as in programs ---------------------------------------------------------------------


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points)
def test_random_programs_ask_for_the_same(
    program: Program, point: tuple[float, np.ndarray]
) -> None:
    asked = """
j = [jacobian(y, x), jacobian(y, v)]
h = [hessian(y, x), hessian(y, v)]
g = grad(y, x)
m = none if g == none else jacobian(g, v)
output y, j, h, m
"""
    found = differentiated(
        program.source + asked, dict(zip("xv", point, strict=True)), of=["y"], wrt=["x", "v"]
    )
    inside, jacobians, hessians = found.outputs, found.jacobians["y"], found.hessians["y"]
    for k, name in enumerate("xv"):
        agree(jacobians[name], inside["j"][k])
        agree(hessians[name], inside["h"][k])
    if inside["m"] is not None:
        agree(hessians["x,v"], inside["m"])
    else:  # linear in one of them, or not connected with it
        assert hessians["x,v"] is None or not hessians["x,v"].any()


def agree(plain: Any, recorded: Any) -> None:
    """The two readings of the rules give the same, but for rounding."""
    assert (plain is None) == (recorded is None)
    if plain is not None:
        np.testing.assert_allclose(
            plain, recorded, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(recorded).max())
        )


# ---- shapes, structures, kinds -------------------------------------------------------------------


def test_shapes() -> None:
    found = differentiated(
        "var w = normal([2, 3]); var s = 2.0; output y = w.T @ w * s; output e = w[:0]"
    )
    assert {name: np.shape(j) for name, j in found.jacobians["y"].items()} == {
        "w": (3, 3, 2, 3),
        "s": (3, 3),
    }
    assert {name: np.shape(h) for name, h in found.hessians["y"].items()} == {
        "w": (2, 3, 2, 3),
        "s": (),
        "w,s": (2, 3),
    }
    assert found.jacobians["e"]["w"].shape == (0, 3, 2, 3)
    assert found.jacobians["e"]["s"] is None
    assert found.summed == ["y", "e"]


def test_a_target_that_is_a_list_or_dict_has_a_jacobian_in_each_place() -> None:
    found = differentiated(
        "var x = [2.0, 3.0]; var z = 1.0; output l = [x[0]*x[1], x**2]; output d = {a: x[0]**3, b: [z]}"
    )
    jacobians = found.jacobians
    np.testing.assert_equal(
        jacobians["l"]["x"], [np.array([3.0, 2.0]), np.array([[4.0, 0.0], [0.0, 6.0]])]
    )
    np.testing.assert_equal(jacobians["d"]["x"], {"a": np.array([12.0, 0.0]), "b": [np.zeros(2)]})
    assert jacobians["l"]["z"] is None
    assert jacobians["d"]["z"] == {"a": 0.0, "b": [1.0]}
    np.testing.assert_equal(found.hessians["l"]["x"], [[2.0, 1.0], [1.0, 2.0]])  # of the sum
    np.testing.assert_equal(found.hessians["d"]["x,z"], np.zeros(2))


def test_scalars_stay_numbers() -> None:
    found = differentiated("x**2 * y", {"x": 3.0, "y": 0.5})
    assert found.jacobians == found.gradients == {"result": {"x": 3.0, "y": 9.0}}
    assert found.hessians == {"result": {"x": 1.0, "y": 0.0, "x,y": 6.0}}
    assert type(found.hessians["result"]["y"]) is float


def test_float32() -> None:
    found = differentiated("var x = [1.0, 2.0]; var z = 3.0; y = x**2*z", dtype="float32")
    for table in (found.gradients, found.jacobians, found.hessians):
        assert {value.dtype for value in table["y"].values()} == {np.dtype("float32")}


def test_a_complex_source() -> None:
    """Each row is a gradient: ∂f/∂re + i·∂f/∂im. Gradients are complex then, so there is nothing to
    differentiate again."""
    source = "var z = [3+4j, 1j]; var x = 1.0; y = abs(z) * x"
    jacobian = evaluate(source, jacobian=True).jacobians["y"]["z"]
    np.testing.assert_allclose(jacobian, np.diag([0.6 + 0.8j, 1j]), atol=1e-15)
    error = failure(source, hessian=True)
    assert (error.code, error.message) == ("E314", "there is no Hessian by `z`, which is complex")
    assert error.span is not None
    assert error.span.start == 0
    assert evaluate(source, hessian=True, wrt="x").hessians["y"] == {"x": 0.0}
    assert failure("var z = 1j; h = hessian(abs(z), z)").message == error.message


def test_a_complex_target_is_an_error() -> None:
    assert failure("var x = 1.0; y = x * 1j", of="y", grad=False, jacobian=True).code == "E314"


# ---- what is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        ({}, ["gradients"]),
        ({"jacobian": True}, ["gradients", "jacobians"]),
        ({"jacobian": True, "grad": False}, ["jacobians"]),
        ({"hessian": True, "grad": False}, ["hessians"]),
        ({"hessian_blocks": True}, ["gradients", "hessians"]),
    ],
)
def test_nothing_else_is_computed(options: dict[str, bool], tables: list[str]) -> None:
    found = evaluate("var x = [1.0, 2.0]; var z = 1.0; y = x*z", **options)
    assert [
        name for name in ("gradients", "jacobians", "hessians") if getattr(found, name)
    ] == tables
    for name in tables:
        mixed = ["x,z"] if name == "hessians" and "hessian_blocks" in options else []
        assert list(getattr(found, name)["y"]) == ["x", "z", *mixed]


def test_targets_and_sources_are_those_of_gradients() -> None:
    source = "var x = [1.0, 2.0]; var z = 1.0; a = x**2; b = sum(a)*z; g = grad(b, x); n = 3; output b, g, n"
    assert list(differentiated(source).jacobians) == ["b"]
    found = differentiated(source, of=["g", "b"], wrt=["z", "a"])
    np.testing.assert_equal(found.jacobians["g"]["z"], np.array([2.0, 4.0]))
    np.testing.assert_equal(found.jacobians["b"]["a"], np.array([1.0, 1.0]))
    np.testing.assert_equal(found.hessians["b"]["z,a"], np.array([1.0, 1.0]))
    np.testing.assert_equal(found.hessians["b"]["a"], np.zeros((2, 2)))


def test_what_is_unconnected_is_told_once() -> None:
    source = "var x = [1.0, 2.0]; var u = 1.0; var n = 2; y = x**2; z = u * 1.0; output y"
    found = differentiated(source)
    assert found.jacobians["y"]["u"] is None
    missing = ["u", "n", "x,u", "x,n", "u,n"]
    assert [name for name, h in found.hessians["y"].items() if h is None] == missing
    assert [(d.code, d.reason) for d in found.diagnostics] == [
        ("W201", "not_on_path"),
        ("W202", "integer"),
    ]
    assert [d.code for d in differentiated(source, grad=False).diagnostics] == ["W201", "W202"]
    zeros = differentiated(source, unconnected="zero")
    assert zeros.jacobians["y"]["u"].tolist() == [0.0, 0.0]
    assert {name: np.shape(zeros.hessians["y"][name]) for name in missing} == {
        "u": (), "n": (), "x,u": (2,), "x,n": (2,), "u,n": (),
    }  # fmt: skip
    assert failure(source, jacobian=True, unconnected="error").code == "E318"


def test_linear_is_zero_and_not_unconnected() -> None:
    found = differentiated("var x = [1.0, 2.0]; var z = 3.0; y = sum(x) + 2*z")
    np.testing.assert_equal(
        found.hessians["y"], {"x": np.zeros((2, 2)), "z": 0.0, "x,z": np.zeros(2)}
    )
    assert found.diagnostics == []


def test_a_replaced_variable_has_none() -> None:
    found = differentiated("var x = 2.0; x = x * 2.0; y = x**2")
    assert found.jacobians == {"y": {"x": None}}
    assert found.hessians == {"y": {"x": None}}
    assert [d.reason for d in found.diagnostics] == ["replaced"]


def test_kinks_and_what_where_discards() -> None:
    found = differentiated("var x = [0.0, 4.0]; y = where(x > 0, sqrt(x), 0.0)")
    np.testing.assert_equal(found.jacobians["y"]["x"], [[0.0, 0.0], [0.0, 0.25]])
    np.testing.assert_allclose(found.hessians["y"]["x"], [[0.0, 0.0], [0.0, -1 / 32]])


@pytest.mark.parametrize(
    ("source", "option", "message"),
    [
        (
            "var x = zeros(200000); y = 2*x",
            "jacobian",
            "a Jacobian of shape (200000, 200000) would take 320 GB",
        ),
        (
            "var x = zeros(200000); y = sum(x**2)",
            "hessian",
            "a Hessian of shape (200000, 200000) would take 320 GB",
        ),
        (
            "var x = zeros(9000); var z = zeros(9000); y = x*z",
            "jacobian",
            "2 Jacobians, the largest of shape (9000, 9000), would",
        ),
        (
            "var x = zeros(9000); var z = zeros(9000); y = sum(x*z)",
            "hessian_blocks",
            "3 Hessians, the largest of shape (9000, 9",
        ),
        (
            "var x = zeros(400); l = []; for i in range(1000) { l = append(l, x) }; output l",
            "jacobian",
            "1000 Jacobians, the larg",
        ),
    ],
)
def test_what_cannot_fit_is_refused(source: str, option: str, message: str) -> None:
    program = gradcli.load(source=source).with_options(**{option: True, "max_memory": 10**9})
    with pytest.raises(GradcliError) as caught:
        program.run()
    (error,) = caught.value.diagnostics
    assert (error.code, error.exit_code) == ("E405", 4)
    assert message in error.message
    assert next(iter(caught.value.evaluation.outputs))  # type: ignore[attr-defined]  # what came before is there


def test_an_option_that_is_not_one_of_its_words() -> None:
    with pytest.raises(
        ValueError, match="mode='backward': it is one of 'auto', 'forward', 'reverse'"
    ):
        gradcli.load(source="y = 1.0").with_options(mode="backward")
