"""Every entry of the table on numbers with infinitesimal imaginary parts: its own derivative comes
out, or it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import Source, Span
from gradcli.engine.backends.backend import ieee
from gradcli.engine.execution import new_run
from gradcli.engine.formulas.functions import scalar_function, scalar_partial
from gradcli.engine.operations.structural import structural
from gradcli.engine.replay.continuation import NotAnalyticError, continued
from gradcli.engine.trace.run import Settings
from gradcli.engine.trace.tape import Site
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ...ops.exact import REAL, points
from ...ops.structural_calls import CALLS, movable

STEP = 1e-30
RUN = new_run(Settings(), {})

# What computes with conjugates inside, or calls functions that take real numbers only.
REFUSED = {
    "cholesky", "qr", "eigh", "svd", "lstsq", "lstsq_of_full_rank", "rfft", "float32", "erfinv",
    "ndtri", "lgamma", "beta",
    "lbeta", "zeta", "polygamma_difference", "zeta_by_x", "gammainc", "betainc", "gammainc_by_a",
    "gamma_density",
    "betainc_by_ab", "beta_density", "beta_edge_slope", "i0", "i1", "bessel_i",
}  # fmt: skip


def site(op: Op) -> Site:
    return Site(op, Span(Source("<test>", "x"), 0, 1))


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_elementwise(op: Op) -> None:
    for point in points(op)[:6]:
        for k in range(len(point)):
            if op.partials[k] is None:
                continue
            operands: list[Any] = list(point)
            operands[k] += STEP * 1j
            with ieee():
                if op.name in REFUSED:
                    with pytest.raises(NotAnalyticError):
                        continued(RUN, site(op), operands, {})
                    continue
                slope = complex(continued(RUN, site(op), operands, {})).imag / STEP
            y = scalar_function(op)(*point)
            assert slope == pytest.approx(scalar_partial(op, k)(y, *point), rel=1e-9, abs=1e-14), (
                k,
                point,
            )


DIGITS = 12  # orders of magnitude below 1
SMALL = [sign * 10.0**-k for k in range(DIGITS) for sign in (1.0, -1.0)]
CANCELLING = {  # where the imaginary part of the usual formula cancels
    "sinc": [(x,) for x in SMALL],
    "one_minus_square": [(x,) for x in SMALL],
    "cosine": [(a, b) for x in SMALL for a, b in ((x, 0.7), (0.7, x))],
}


@pytest.mark.parametrize("name", CANCELLING)
def test_imaginary_parts_have_all_their_digits(name: str) -> None:
    op = OPS[name]
    for point in CANCELLING[name]:
        for k in range(len(point)):
            operands: list[Any] = list(point)
            operands[k] += STEP * 1j
            slope = complex(continued(RUN, site(op), operands, {})).imag / STEP
            want = scalar_partial(op, k)(scalar_function(op)(*point), *point)
            assert slope == pytest.approx(want, rel=1e-13, abs=0.0), (k, point)


def is_real(values: list[Any]) -> bool:
    return not any(
        np.asarray(v).dtype.kind == "c"
        for v in values
        if v is not None and not isinstance(v, list | tuple)
    )


STRUCTURAL = [
    (op, k, operands, options)
    for op, operands, options in CALLS
    if is_real(operands)
    for k in movable(op, operands)
]


@pytest.mark.parametrize(
    ("op", "k", "operands", "options"),
    STRUCTURAL,
    ids=[f"{op.name}-{k}" for op, k, _, _ in STRUCTURAL],
)
def test_structural(op: Op, k: int, operands: list[Any], options: dict[str, Any]) -> None:
    tangent = np.random.default_rng(1).normal(size=np.shape(operands[k]))
    direction = tangent if tangent.shape else float(tangent)

    def at(t: Any) -> list[Any]:
        return [v + t * direction if j == k else v for j, v in enumerate(operands)]

    def real(t: float) -> Any:
        return flat(structural(RUN, site(op), at(t), options))

    with ieee():
        if op.name in REFUSED:
            with pytest.raises(NotAnalyticError):
                continued(RUN, site(op), at(STEP * 1j), options)
            return
        slope = flat(continued(RUN, site(op), at(STEP * 1j), options)).imag / STEP
        h = 5e-4
        expected = (4 * (real(h) - real(-h)) / (2 * h) - (real(2 * h) - real(-2 * h)) / (4 * h)) / 3
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


def flat(y: Any) -> Any:
    return (
        np.concatenate([np.ravel(part) for part in y])
        if type(y) is list
        else np.ravel(np.asarray(y))
    )


def test_only_entries_are_refused() -> None:
    assert set(OPS) >= REFUSED
