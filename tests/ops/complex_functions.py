"""Functions of complex operands, in the language of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Z = np.array([0.3 + 0.8j, -1.2 + 0.4j, 2.0 - 0.7j])
C = 0.6 - 1.1j


def _matrix(m: Any, z: Any) -> Any:
    return m.outer(z, z * z + C) + np.array([[2.0, 1j, 0.5], [0.3, -1.5j, 1.0], [-0.4, 0.2, 1.8]])


def _product(m: Any, u: Any, s: Any, vt: Any) -> Any:
    """Of singular vectors what their phases don't change."""
    return m.real(m.matmul(u * s**2, vt) * C) + m.sum(
        m.abs(u) ** 2 * np.arange(2.0 * u.shape[0])[: u.shape[-1]]
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "real": lambda m, z: m.real(z * C),
    "imag": lambda m, z: m.imag(z * C),
    "conj": lambda m, z: m.real(m.conj(z) * z * C),
    "abs": lambda m, z: m.abs(z),
    "angle": lambda m, z: m.angle(z),
    "exp": lambda m, z: m.real(m.exp(z) * C),
    "log": lambda m, z: m.imag(m.log(z) * C),
    "sqrt": lambda m, z: m.real(m.sqrt(z) * C),
    "pow": lambda m, z: m.real(z**3 * C + z**C),
    "div": lambda m, z: m.imag(C / z),
    "tanh": lambda m, z: m.real(m.tanh(z) * C),
    "asinh": lambda m, z: m.real(m.asinh(z) * C),
    "atan": lambda m, z: m.real(m.atan(z) * C),
    "erf": lambda m, z: m.real(m.erf(z) * C),
    "ndtr": lambda m, z: m.imag(m.ndtr(z) * C),
    "expit": lambda m, z: m.real(m.expit(z) * C),
    "logit": lambda m, z: m.real(m.logit(z) * C),
    "xlogy": lambda m, z: m.imag(m.xlogy(z, z * C)),
    "gamma": lambda m, z: m.real(m.gamma(z) * C),
    "digamma": lambda m, z: m.imag(m.digamma(z) * C),
    "polygamma": lambda m, z: m.imag(m.polygamma(2.0, z) * C),
    "prod": lambda m, z: m.real(m.prod(z) * C),
    "cumprod": lambda m, z: m.real(m.cumprod(z) * C),
    "norm": lambda m, z: m.norm(z),
    "var": lambda m, z: m.var(z),
    "matmul": lambda m, z: m.real(m.matmul(m.outer(z, z), m.conj(z)) * C),
    "inv": lambda m, z: m.real(m.inv(_matrix(m, z)) * C),
    "solve": lambda m, z: m.imag(m.solve(_matrix(m, z), z * C)),
    "solve_triangular": lambda m, z: m.real(
        m.solve_triangular(_matrix(m, z), m.conj(z), lower=True)
    ),
    "det": lambda m, z: m.real(m.det(_matrix(m, z)) * C),
    "det of a singular matrix": lambda m, z: m.real(
        m.det(m.outer(m.getitem(z, index=(slice(0, 2),)), Z[:2] * C)) * C
    ),
    "logdet": lambda m, z: m.logdet(_matrix(m, z)),
    "cofactors": lambda m, z: m.imag(m.cofactors(_matrix(m, z)) * C),
    "cholesky": lambda m, z: m.real(
        m.cholesky(m.matmul(_matrix(m, z), m.conj(_matrix(m, z).T))) * (C + Z)
    ),
    "qr, the orthogonal factor": lambda m, z: m.real(m.qr(_matrix(m, z))[0] * (C + Z)),
    "qr, the triangle": lambda m, z: m.real(m.qr(_matrix(m, z))[1] * (C + Z)),
    "qr of a wide matrix": lambda m, z: m.real(
        m.qr(m.getitem(_matrix(m, z), index=(slice(0, 2),)))[1] * (C + Z)
    ),
    "eigh, the values": lambda m, z: m.eigh(_matrix(m, z))[0] * np.array([1.0, -2.0, 0.5]),
    "eigh, the vectors": lambda m, z: (
        m.abs(m.eigh(_matrix(m, z))[1]) ** 2 * np.arange(9.0).reshape(3, 3)
    ),
    "svd, the values": lambda m, z: m.svd(_matrix(m, z))[1] * np.array([1.0, -2.0, 0.5]),
    "svd, the vectors": lambda m, z: _product(m, *m.svd(_matrix(m, z))),
    "svd of a tall matrix": lambda m, z: _product(
        m, *m.svd(m.getitem(_matrix(m, z), index=(Ellipsis, slice(0, 2))))
    ),
    "svd of a wide matrix": lambda m, z: _product(
        m, *m.svd(m.getitem(_matrix(m, z), index=(slice(0, 2),)))
    ),
    "lstsq": lambda m, z: m.real(m.lstsq(_matrix(m, z)[:, :2], z * C) * C),
    "lstsq of a wide matrix": lambda m, z: m.imag(m.lstsq(_matrix(m, z)[:2], (z * C)[:2]) * C),
    "expm": lambda m, z: m.real(m.expm(_matrix(m, z) * 0.3) * (C + Z)),
    "fft": lambda m, z: m.real(m.fft(z * z, n=4) * (C + np.arange(4.0))),
    "ifft": lambda m, z: m.imag(m.ifft(z * z, n=2, norm="ortho") * C),
    "irfft": lambda m, z: m.irfft(z * z) * np.arange(4.0),
    "irfft of an odd number": lambda m, z: m.irfft(z * z, n=5) * np.arange(5.0),
    "rfft": lambda m, z: m.real(m.rfft(m.abs(z)) * C),
    "convolve": lambda m, z: m.real(m.convolve(z, z[:2] * C, mode="same") * C),
    "correlate": lambda m, z: m.imag(m.correlate(z * C, z[:2], mode="same") * (C + Z)),
    "correlate with a longer one": lambda m, z: m.real(m.correlate(z[:2] * C, z) * C),
    "conv": lambda m, z: m.imag(
        m.conv(m.reshape(z, shape=[1, 1, 1, 3]), m.reshape(z[:2], shape=[1, 1, 1, 2]) * C)
    ),
    "interp": lambda m, z: m.imag(m.interp(m.abs(z), np.array([0.0, 1.1, 3.0]), z * z) * C),
    "einsum": lambda m, z: m.real(m.einsum(z, z * C, subscripts="i,i->")),
}
