"""Gradients by complex operands: ∂f/∂re + i ∂f/∂im of a real f, against differences in both
directions."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from gradcli.engine.values.boxes import primal

from .complex_functions import FUNCTIONS, Z
from .sweeps import Session, tangent


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_by_a_complex_operand(name: str) -> None:
    def total(z: Any) -> tuple[Session, Any]:
        session = Session(z)
        y = FUNCTIONS[name](session.m, *session.operands)
        return session, session.m.sum(y) if y.shape else y

    expected = np.zeros(3, dtype=complex)
    for k in range(3):
        for unit in (1, 1j):
            step = np.zeros(3, dtype=complex)
            step[k] = unit * 1e-6
            up, down = (primal(total(Z + s * step)[1].v) for s in (1, -1))
            expected[k] += unit * (up - down) / 2e-6
    session, y = total(Z)
    np.testing.assert_allclose(primal(session.gradients(y)[0]), expected, rtol=1e-7, atol=1e-8)
    for k in range(3):
        for unit in (1, 1j):
            session = Session()
            along = tangent(FUNCTIONS[name](session.m, session.dual(Z, unit * np.eye(3)[k])))
            np.testing.assert_allclose(
                np.sum(along), np.real(np.conj(expected[k]) * unit), rtol=1e-7, atol=1e-8
            )
    recorded = total(Z)
    np.testing.assert_allclose(
        primal(recorded[0].gradients(recorded[1], recorded=True)[0]), expected, rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("z", [1e-9, 1e-9 + 1e-9j, 1e-3 - 1e-5j, -0.3 + 0.2j, -1.5 + 0.1j, 4 - 3j])
def test_log1p_is_as_accurate_as_of_floats(z: complex) -> None:
    session = Session(complex(z))
    found = primal(session.m.log1p(*session.operands).v)
    with mpmath.workdps(50):
        wanted = mpmath.log(1 + mpmath.mpc(z))
        np.testing.assert_allclose(
            [found.real, found.imag], [float(wanted.real), float(wanted.imag)], 1e-15
        )


@pytest.mark.parametrize("z", [3 + 2j, 120 + 120j, 100.5 - 99j, 200 + 1j])
def test_a_bell_of_a_large_number_is_as_of_a_small_one(z: complex) -> None:
    """The derivative of `erf`: of a complex number it isn't 0, however large that is."""
    session = Session(complex(z))
    found = primal(session.m.bell(*session.operands, 1.0).v)
    with mpmath.workdps(50):
        wanted = complex(mpmath.exp(-(mpmath.mpc(z) ** 2)))
    assert abs(found - wanted) <= 1e-11 * abs(wanted)
