"""Eigenvalues and singular values, with their vectors. Leading axes are batch axes.

With x = v diag(w) v^H and m = v^H dx v: dw is the diagonal of m, and v^H dv has m_ij / (w_j - w_i)
beside it. The vectors of equal values may be rotated into each other, so they have no derivative:
an error in reverse mode, nan in forward mode in the vectors concerned. The derivative of the values
needs no division. Phases stay as they are: v_j^H dv_j is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows_linalg import batched
from .rules import adjoint, conj
from .systems import or_refuse, square_floats

_op = partial(Op, category="linear algebra")


# ---- compute -------------------------------------------------------------------------------------


def _decomposed(xp: Any, name: str, x: Any, function: Callable[[Any], Any]) -> list[Any]:
    def of_finite(matrices: Any) -> list[Any]:
        if not bool(xp.all(xp.isfinite(matrices))):
            raise ValueError  # array modules differ in what they make of others
        return list(function(matrices))

    def refusal(which: str, matrix: Any) -> OpError:
        return OpError(
            f"`{name}` needs a matrix of finite numbers: {which} has others",
            label=f"the shape is {x.shape}",
        )

    return list(or_refuse(x, of_finite, refusal))


def _eigh(xp: Any, x: Any) -> list[Any]:
    x = square_floats(xp, "eigh", x)
    return _decomposed(xp, "eigh", 0.5 * (x + xp.conj(xp.swapaxes(x, -1, -2))), xp.linalg.eigh)


def _svd(xp: Any, x: Any) -> list[Any]:
    x = xp.asarray(x)
    if x.ndim < 2:
        raise OpError(f"`svd` needs a matrix: the shape is {x.shape}")
    x = x if x.dtype.kind in "fc" else x.astype("float64")
    return _decomposed(xp, "svd", x, lambda matrices: xp.linalg.svd(matrices, full_matrices=False))


def _over_spectrum(xp: Any, x: Any, s: Any, by: str, strict: bool) -> Any:
    """x_ij / (s_j - s_i) and 0 on the diagonal ("gaps"), x_ij / (s_j + s_i) ("sums"), or x_ij / s_j
    ("values")."""
    rows, columns = s[..., :, None], s[..., None, :]
    divisor = {"gaps": columns - rows, "sums": columns + rows, "values": columns}[by]
    n = s.shape[-1]
    nothing = (
        n * xp.finfo(s.dtype).eps * xp.max(xp.abs(s), axis=-1, keepdims=True)[..., None]
        if n
        else 0.0
    )
    lost = xp.broadcast_to(xp.abs(divisor) <= nothing, x.shape)
    if by != "values":
        diagonal = xp.broadcast_to(xp.eye(n) == 1, x.shape)
        # The sums stand under differences of mirrored elements, so that on the diagonal of real
        # ones there is nothing.
        unmoved = diagonal & ((x == 0) | (by == "gaps"))
        x, divisor, lost = (
            xp.where(unmoved, 0.0, x),
            xp.where(unmoved, 1.0, divisor),
            lost & ~unmoved,
        )
    if not bool(xp.any(lost)):
        return x / divisor
    if strict:
        raise _without_derivative(xp, s, lost, by)
    return xp.where(lost, float("nan"), x / xp.where(lost, 1.0, divisor))


def _without_derivative(xp: Any, s: Any, lost: Any, by: str) -> OpError:
    help = "functions of the values alone have one"
    at = [int(k[0]) for k in xp.nonzero(lost)]
    i, j = at[-2:]
    values = s[tuple(at[:-2])] if len(at) > 2 else s
    if by == "values" or i == j:
        return OpError(
            f"a singular value is {float(values[j])}, so its vectors have no derivative", help
        )
    return OpError(
        (
            f"the values {float(values[i])} and {float(values[j])} are equal, so their vectors "
            "have no derivative"
        ),
        help,
    )


# ---- rules ---------------------------------------------------------------------------------------


def _divisor(m: Any, t: Any, by: str) -> Any:
    """The divisors of `over_spectrum`, which are linear in the values."""
    columns, rows = m.expand_dims(t, axis=-2), m.expand_dims(t, axis=-1)
    return columns - rows if by == "gaps" else columns + rows if by == "sums" else columns


def _over_back_values(m: Any, g: Any, y: Any, x: Any, s: Any, by: str, strict: bool) -> Any:
    c = -m.real(m.over_spectrum(conj(m, y) * g, s, by=by, strict=strict))
    total = m.sum(c, axis=-2)
    return (
        total
        if by == "values"
        else total - m.sum(c, axis=-1)
        if by == "gaps"
        else total + m.sum(c, axis=-1)
    )


def _over_forward(m: Any, t: Any, y: Any, x: Any, s: Any, by: str, strict: bool) -> Any:
    by_x, by_s = t
    moved = by_x if by_s is None else -y * _divisor(m, by_s, by)
    if by_x is not None and by_s is not None:
        moved = by_x + moved
    return m.over_spectrum(moved, s, by=by, strict=strict)


def _factors(m: Any, name: str, y: Any, x: Any) -> Any:
    """The factors; on a trace, computed again from `x`, because their list is no value there."""
    return y if type(y) is list else getattr(m, name)(x)


def _scaled(m: Any, columns: Any, s: Any) -> Any:
    """Scales columns: columns @ diag(s)."""
    return columns * m.expand_dims(s, axis=-2)


def _diagonal_of_product(m: Any, a: Any, b: Any) -> Any:
    """The diagonal of a^H @ b, real."""
    return m.real(m.sum(conj(m, a) * b, axis=-2))


def _hermitian(m: Any, x: Any) -> Any:
    return 0.5 * (x + adjoint(m, x))


def _skew(m: Any, x: Any) -> Any:
    return 0.5 * (x - adjoint(m, x))


def _eigh_back(m: Any, g: Any, y: Any, x: Any) -> Any:
    values, vectors = _factors(m, "eigh", y, x)
    by_values, by_vectors = g
    moved = None if by_values is None else _scaled(m, vectors, by_values)
    if by_vectors is not None:
        rotation = m.over_spectrum(
            m.matmul(adjoint(m, vectors), by_vectors), values, by="gaps", strict=True
        )
        rotation = m.matmul(vectors, rotation)
        moved = rotation if moved is None else moved + rotation
    return _hermitian(m, m.matmul(moved, adjoint(m, vectors)))


def _eigh_forward(m: Any, t: Any, y: Any, x: Any) -> list[Any]:
    values, vectors = _factors(m, "eigh", y, x)
    moved = m.matmul(_hermitian(m, t[0]), vectors)
    turn = m.over_spectrum(m.matmul(adjoint(m, vectors), moved), values, by="gaps", strict=False)
    return [_diagonal_of_product(m, vectors, moved), m.matmul(vectors, turn)]


# With m = u^H dx v: u^H du is a + b and v^H dv is a - b, where a_ij = h_ij / (s_j - s_i) with the
# Hermitian part h of m, and b_ij = k_ij / (s_j + s_i) with the skew part k. What of dx lies outside
# of the vectors is divided by the values.


def _svd_back(m: Any, g: Any, y: Any, x: Any) -> Any:
    u, s, vt = _factors(m, "svd", y, x)
    by_u, by_s, by_vt = g
    total = None if by_s is None else _scaled(m, u, by_s)
    if by_u is None and by_vt is None:
        return m.matmul(total, vt)
    along_u = (
        m.zeros_like(m.matmul(vt, adjoint(m, vt)))
        if by_u is None
        else m.matmul(adjoint(m, u), by_u)
    )
    along_v = m.zeros_like(along_u) if by_vt is None else m.matmul(vt, adjoint(m, by_vt))
    rotation = _hermitian(m, m.over_spectrum(along_u + along_v, s, by="gaps", strict=True))
    rotation = rotation + m.over_spectrum(_skew(m, along_u - along_v), s, by="sums", strict=True)
    moved = m.matmul(u, rotation)
    total = moved if total is None else total + moved
    rows, columns = x.shape[-2:]
    if rows > columns and by_u is not None:
        total = total + m.over_spectrum(by_u - m.matmul(u, along_u), s, by="values", strict=True)
    total = m.matmul(total, vt)
    if columns > rows and by_vt is not None:
        outside = adjoint(m, by_vt - m.matmul(adjoint(m, along_v), vt))
        total = total + m.matmul(
            u, adjoint(m, m.over_spectrum(outside, s, by="values", strict=True))
        )
    return total


def _svd_forward(m: Any, t: Any, y: Any, x: Any) -> list[Any]:
    u, s, vt = _factors(m, "svd", y, x)
    v = adjoint(m, vt)
    moved = m.matmul(t[0], v)
    along = m.matmul(adjoint(m, u), moved)
    a = m.over_spectrum(_hermitian(m, along), s, by="gaps", strict=False)
    b = m.over_spectrum(_skew(m, along), s, by="sums", strict=False)
    by_u, by_vt = m.matmul(u, a + b), m.matmul(b - a, vt)
    rows, columns = x.shape[-2:]
    if rows > columns:
        by_u = by_u + m.over_spectrum(moved - m.matmul(u, along), s, by="values", strict=False)
    if columns > rows:
        outside = m.matmul(adjoint(m, t[0]), u) - m.matmul(v, adjoint(m, along))
        by_vt = by_vt + adjoint(m, m.over_spectrum(outside, s, by="values", strict=False))
    return [by_u, _diagonal_of_product(m, u, moved), by_vt]


OPS = [
    _op(
        "eigh",
        "x",
        "A list of the eigenvalues of a Hermitian matrix, ascending, and their vectors, the "
        "columns of a matrix.",
        compute=_eigh,
        rows=batched(2),
        saves=("x", "result"),
        vjp=(_eigh_back,),
        jvp=_eigh_forward,
        note="of (x + x.T) / 2 (conjugated, for complex ones); the derivative of the vectors of "
        "equal values is an error "
        "(forwards nan)",
    ),
    _op(
        "svd",
        "x",
        "A list u, s, vt with u @ diag(s) @ vt = x: orthonormal columns and rows, and descending "
        "values.",
        compute=_svd,
        rows=batched(2),
        saves=("x", "result"),
        vjp=(_svd_back,),
        jvp=_svd_forward,
        note="the derivative of the vectors of equal values is an error (forwards nan), as is "
        "that of those of 0 unless x is "
        "square and real",
    ),
    _op(
        "over_spectrum",
        "x, s; by, strict",
        "The elements of x over the differences or sums of the values s.",
        internal=True,
        compute=_over_spectrum,
        rows=batched(2, 1, alike=True),
        saves=("s", "result"),
        jvp=_over_forward,
        vjp=(
            lambda m, g, y, x, s, by, strict: m.over_spectrum(g, s, by=by, strict=strict),
            _over_back_values,
        ),
    ),
]
