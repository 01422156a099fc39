"""What holds of derivatives whatever the program: products are transposes, second derivatives are
symmetric.

Random programs, in each of the forms in which one asks for derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ..programs import outputs
from .random_programs import FORMS, RELAXED, SIZE, Program, points, programs

forms = st.sampled_from(sorted(FORMS))
Point = tuple[float, np.ndarray]

DX, DV = 0.9, np.array([0.3, -1.1, 0.7])
SCALAR, VECTOR = 1.7, np.array([2.0, 0.5, -1.5])  # cotangents
DIRECTIONS = f"dx = {DX}\ndv = {DV.tolist()}\n"


def answers(
    program: Program, form: str, point: Point, requests: list[str], u: Any = SCALAR
) -> dict[str, Any]:
    """What the program answers to these requests; zeros where there is no gradient at all."""
    text, asks = FORMS[form]
    x, v = point
    cotangent = u.tolist() if isinstance(u, np.ndarray) else u
    asked = "".join(f"the_{name} = {asks[name]}\n" for name in requests)
    source = f"{text(program)}{DIRECTIONS}u = {cotangent}\n{asked}output {', '.join(f'the_{name}' for name in requests)}\n"
    found = outputs(source, {"x": x, "v": v})
    return {name: found[f"the_{name}"] for name in requests}


def zeros(value: Any, *shape: int) -> Any:
    return np.zeros(shape) if value is None else value


def close(a: Any, b: Any, size: float, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, size))


@settings(RELAXED, max_examples=80)
@given(programs("scalar"), points, forms)
def test_gradients_are_the_complex_steps(program: Program, point: Point, form: str) -> None:
    found = answers(program, form, point, ["y", "grad"])
    expected = program.gradients(*point)
    np.testing.assert_allclose(
        found["y"], np.real(program.twin(point[0] + 0j, point[1])), rtol=1e-9, atol=1e-11
    )
    for g, twin in zip(found["grad"], expected, strict=True):
        np.testing.assert_allclose(zeros(g, *np.shape(twin)), twin, rtol=1e-7, atol=1e-9)


@settings(RELAXED, max_examples=80)
@given(st.sampled_from(["scalar", "vector"]), st.data(), points, forms)
def test_jvp_and_vjp_are_transposes(
    kind: str, data: st.DataObject, point: Point, form: str
) -> None:
    """<u, J v> = <Jᵀ u, v>; and both are what the Jacobian gives, as far as that goes."""
    program = data.draw(programs(kind))
    u = VECTOR if kind == "vector" else SCALAR
    found = answers(program, form, point, ["jvp", "vjp", "jacobian"], u)
    jvp, by_x, by_v = (
        zeros(found["jvp"], *np.shape(u)),
        zeros(found["vjp"][0]),
        zeros(found["vjp"][1], SIZE),
    )
    jacobian = zeros(found["jacobian"], *np.shape(u), SIZE)
    terms = np.array([*np.atleast_1d(u * jvp), by_x * DX, *(by_v * DV)])
    size = np.abs(terms).max()
    close(np.sum(u * jvp), by_x * DX + by_v @ DV, size)
    close(by_v, u @ jacobian if kind == "vector" else u * jacobian, size)


@settings(RELAXED, max_examples=80)
@given(programs(), points, forms)
def test_second_derivatives(program: Program, point: Point, form: str) -> None:
    """The Hessian is symmetric, its product with a vector needs no Hessian, and differences of
    gradients come close."""
    assume(
        "detach" not in program.source
    )  # what is detached stands still in `grad`, not in differences of gradients
    found = answers(program, form, point, ["hessian", "hvp", "hvp_too", "mixed", "mixed_too"])
    h, mixed = zeros(found["hessian"], SIZE, SIZE), zeros(found["mixed"], SIZE)
    size = max(np.abs(h).max(), np.abs(mixed).max())
    close(h, h.T, size)
    for product in (found["hvp"], found["hvp_too"]):
        close(zeros(product, SIZE), h @ DV, size)
    close(zeros(found["mixed_too"], SIZE), mixed, size)
    by_v, by_both, apart = program.hessians(*point)
    assume(
        apart < 1e-2 * max(1.0, size)
    )  # else a condition lies between, and differences say nothing
    close(h, by_v, size, 1e-2 * apart + 1e-7)
    close(mixed, by_both, size, 1e-2 * apart + 1e-7)
