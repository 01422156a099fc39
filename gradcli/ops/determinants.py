"""Determinants. Their derivatives need no inverse, so that those of singular matrices are right,
too.

The gradient of a determinant is the matrix of its cofactors, and that is a polynomial: with x = U
diag(s) V^H it is conj(U) diag(p) conj(V^H) det U det V^H, where p_i is the product of all s but
s_i. The same holds one derivative on, with products of all s but two. Only the third derivative is
written with inverses.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op
from .rows_linalg import batched
from .rules import adjoint, by_slope, conj
from .systems import square_floats

_op = partial(Op, category="linear algebra")


# ---- compute -------------------------------------------------------------------------------------


def _diagonalised(xp: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Returns U times det U det V^H, s, V^H, and whether all is finite; zeros replace matrices that
    aren't."""
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    u, s, vh = xp.linalg.svd(xp.where(finite, x, xp.zeros_like(x)))
    return u, s, vh, finite


def _rotated(xp: Any, u: Any, inner: Any, vh: Any, finite: Any) -> Any:
    """Transforms `inner` from the coordinates of the diagonal to those of `x`; nan where that isn't
    finite."""
    sign = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
    found = sign * xp.matmul(xp.matmul(xp.conj(u), inner), xp.conj(vh))
    return xp.where(finite, found, xp.full_like(found, float("nan")))


def _shifted(xp: Any, x: Any) -> Any:
    """Shifts elements one place to the right along the last axis, after a 1."""
    return xp.concatenate([xp.ones_like(x[..., :1]), x[..., :-1]], axis=-1)


def _before(xp: Any, s: Any) -> Any:
    """For each element along the last axis, the product of those before it."""
    return _shifted(xp, xp.cumprod(s, axis=-1))


def _cofactors(xp: Any, x: Any) -> Any:
    u, s, vh, finite = _diagonalised(xp, x)
    others = _before(xp, s) * _before(xp, s[..., ::-1])[..., ::-1]
    return _rotated(xp, u, others[..., None] * xp.eye(s.shape[-1], dtype=x.dtype), vh, finite)


def _but_two(xp: Any, s: Any) -> Any:
    """For each i and j, the product of all elements but those two; 0 for i = j."""
    n = s.shape[-1]
    rows = xp.broadcast_to(s[..., None, :], (*s.shape, n))
    between = _shifted(
        xp,
        xp.cumprod(
            xp.where(xp.triu(xp.ones_like(rows), 1) == 1, rows, xp.ones_like(rows)), axis=-1
        ),
    )
    after = _before(xp, s[..., ::-1])[..., ::-1]
    upper = xp.triu(_before(xp, s)[..., :, None] * between * after[..., None, :], 1)
    return upper + xp.swapaxes(upper, -1, -2)


def _cofactors_along(xp: Any, x: Any, t: Any) -> Any:
    u, s, vh, finite = _diagonalised(xp, x)
    t = xp.matmul(xp.matmul(xp.conj(xp.swapaxes(u, -1, -2)), t), xp.conj(xp.swapaxes(vh, -1, -2)))
    others = _but_two(xp, s).astype(t.dtype)
    diagonal = xp.matmul(others, xp.diagonal(t, axis1=-2, axis2=-1)[..., None])
    inner = diagonal * xp.eye(s.shape[-1], dtype=t.dtype) - others * xp.swapaxes(t, -1, -2)
    return _rotated(xp, u, inner, vh, finite)


# ---- rules ---------------------------------------------------------------------------------------


def _third(m: Any, x: Any, s: Any, t: Any) -> Any:
    """The derivative along `s` of the cofactors' derivative along `t`, for an invertible x."""
    z = m.inv(x)
    zs, zt = m.matmul(z, s), m.matmul(z, t)
    det, tr_s, tr_t = (
        m.expand_dims(v, axis=[-2, -1]) for v in (m.det(x), m.trace(zs), m.trace(zt))
    )
    both = m.matmul(zs, zt)
    tr_both = m.expand_dims(m.trace(both), axis=[-2, -1])
    crossed = both + m.matmul(zt, zs) - tr_t * zs - tr_s * zt
    return m.swapaxes(
        det * ((tr_s * tr_t - tr_both) * z + m.matmul(crossed, z)), axis1=-1, axis2=-2
    )


def _along_forward(m: Any, t: Any, y: Any, x: Any, direction: Any) -> Any:
    by_x, by_direction = t
    along = None if by_direction is None else m.cofactors_along(x, by_direction)
    if by_x is None:
        return along
    third = _third(m, x, by_x, direction)
    return third if along is None else third + along


def _cofactors_form(s: Any, x: Any) -> Any:
    return s.array(s.matrix(x).adjugate(method="berkowitz").T)


# The derivatives of a determinant are symmetric in their directions: what a cotangent takes back is
# the same function of its conjugate.
OPS = [
    _op(
        "det",
        "x",
        "The determinant.",
        saves=("x",),
        note=(
            "singular matrices have a derivative, and a second one; the third needs an "
            "invertible matrix"
        ),
        compute=lambda xp, x: xp.linalg.det(square_floats(xp, "det", x)),
        rows=batched(2),
        symbolic=lambda s, x: s.matrix(x).det(method="berkowitz"),
        **by_slope(
            lambda m, y, x, axis, keepdims: conj(m, m.cofactors(x)), axis=(-2, -1), keepdims=False
        ),
    ),
    _op(
        "logdet",
        "x",
        "The logarithm of the absolute value of the determinant, without overflow.",
        saves=("x",),
        aliases=("slogdet",),
        note="-inf for a singular matrix, whose derivative is an error",
        compute=lambda xp, x: xp.linalg.slogdet(square_floats(xp, "logdet", x))[1],
        rows=batched(2),
        symbolic=lambda s, x: s.log(s.Abs(s.matrix(x).det(method="berkowitz"))),
        **by_slope(
            lambda m, y, x, axis, keepdims: adjoint(m, m.inv(x)), axis=(-2, -1), keepdims=False
        ),
    ),
    _op(
        "cofactors",
        "x",
        "The derivative of the determinant by each element.",
        internal=True,
        compute=_cofactors,
        saves=("x",),
        rows=batched(2),
        symbolic=_cofactors_form,
        vjp=(lambda m, g, y, x: conj(m, m.cofactors_along(x, conj(m, g))),),
        jvp=lambda m, t, y, x: m.cofactors_along(x, t[0]),
    ),
    _op(
        "cofactors_along",
        "x, t",
        "How the cofactors change along t.",
        internal=True,
        compute=_cofactors_along,
        rows=batched(2, 2),
        saves=("x", "t"),
        jvp=_along_forward,
        vjp=(
            lambda m, g, y, x, t: conj(m, _third(m, x, conj(m, g), t)),
            lambda m, g, y, x, t: conj(m, m.cofactors_along(x, conj(m, g))),
        ),
    ),
]
