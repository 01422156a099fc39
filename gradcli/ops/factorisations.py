"""Factorisations of matrices. Leading axes are batch axes; a matrix that has none is refused, with
its place in the batch."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, OpError
from .rows_linalg import batched
from .rules import adjoint, is_complex
from .systems import or_refuse, square_floats

_op = partial(Op, category="linear algebra")


# ---- Cholesky ------------------------------------------------------------------------------------


def _cholesky(xp: Any, x: Any) -> Any:
    x = square_floats(xp, "cholesky", x)

    def refusal(which: str, matrix: Any) -> OpError:
        finite = bool(xp.all(xp.isfinite(matrix)))
        seen = (
            f"its smallest eigenvalue is {float(xp.linalg.eigvalsh(matrix)[0])}"
            if finite
            else "it isn't finite"
        )
        message = f"`cholesky` needs a positive definite matrix: {which} is not"
        return OpError(message, "a multiple of `eye(n)` added moves all eigenvalues up by it", seen)

    return or_refuse(0.5 * (x + xp.conj(xp.swapaxes(x, -1, -2))), xp.linalg.cholesky, refusal)


def _hermitian(m: Any, x: Any) -> Any:
    return 0.5 * (x + adjoint(m, x))


def _lower_half(m: Any, x: Any) -> Any:
    """The part below the diagonal, and half the diagonal."""
    return 0.5 * (m.tril(x) + m.tril(x, k=-1))


def _cholesky_back(m: Any, g: Any, y: Any, x: Any) -> Any:
    """The pullback of `cholesky`: L^-H P L^-1, made Hermitian, where P is the lower half of L^H
    g."""
    upper = adjoint(m, y)
    half = m.solve_triangular(upper, _lower_half(m, m.matmul(upper, g)))
    return _hermitian(m, m.solve_triangular(upper, adjoint(m, half)))


def _cholesky_forward(m: Any, t: Any, y: Any, x: Any) -> Any:
    """The tangent of `cholesky`: L times the lower half of L^-1 S L^-H, for the Hermitian part S of
    the operand's tangent."""
    half = m.solve_triangular(y, _hermitian(m, t[0]), lower=True)
    return m.matmul(y, _lower_half(m, m.solve_triangular(y, adjoint(m, half), lower=True)))


# ---- QR ------------------------------------------------------------------------------------------
#
# For x of full column rank, with w = dx r^-1 and b = q^H w: q^H dq is skew and dr r^-1 an upper
# triangle, and their sum is b. So q^H dq is the skew matrix with the part of b below the diagonal,
# called its turn here.


def _qr(xp: Any, x: Any) -> list[Any]:
    x = xp.asarray(x)
    if x.ndim < 2:
        raise OpError(f"`qr` needs a matrix: the shape is {x.shape}")
    return list(xp.linalg.qr(x if x.dtype.kind in "fc" else x.astype("float64")))


def _with_phases(m: Any, turn: Any, b: Any) -> Any:
    """Adds the phases of complex columns: the imaginary part of b's diagonal, since the diagonal of
    r is real."""
    return turn + m.triu(m.tril(0.5 * (b - adjoint(m, b)))) if is_complex(b) else turn


def _turn(m: Any, b: Any) -> Any:
    below = m.tril(b, k=-1)
    return _with_phases(m, below - adjoint(m, below), b)


def _turn_back(m: Any, n: Any) -> Any:
    return _with_phases(m, m.tril(n - adjoint(m, n), k=-1), n)


def _factors(m: Any, y: Any, x: Any) -> Any:
    """The two factors; on a trace, computed again from `x`, because their list is no value
    there."""
    return y if type(y) is list else m.qr(x)


def _cut(m: Any, x: Any, n: int) -> tuple[Any, Any]:
    """Divides a matrix into its first n columns and the rest."""
    return m.getitem(x, index=(Ellipsis, slice(0, n))), m.getitem(
        x, index=(Ellipsis, slice(n, None))
    )


def _qr_back(m: Any, g: Any, y: Any, x: Any) -> Any:
    q, r = _factors(m, y, x)
    by_q, by_r = (m.zeros_like(v) if c is None else c for c, v in zip(g, (q, r), strict=True))
    rows, columns = x.shape[-2:]
    if columns <= rows:
        return _tall_back(m, by_q, by_r, q, r)
    # Only the left part is factored; the rest of r is q^H times the rest of x.
    by_left, by_rest = _cut(m, by_r, rows)
    by_q = by_q + m.matmul(_cut(m, x, rows)[1], adjoint(m, by_rest))
    return m.concatenate(
        _tall_back(m, by_q, by_left, q, _cut(m, r, rows)[0]), m.matmul(q, by_rest), axis=-1
    )


def _tall_back(m: Any, by_q: Any, by_r: Any, q: Any, r: Any) -> Any:
    n = m.matmul(adjoint(m, q), by_q) - m.matmul(by_r, adjoint(m, r))
    by_w = by_q + m.matmul(q, _turn_back(m, n) - n)
    return adjoint(m, m.solve_triangular(r, adjoint(m, by_w)))


def _qr_forward(m: Any, t: Any, y: Any, x: Any) -> list[Any]:
    q, r = _factors(m, y, x)
    rows, columns = x.shape[-2:]
    if columns <= rows:
        return _tall_forward(m, t[0], q, r)
    left, rest = _cut(m, t[0], rows)
    by_q, by_left = _tall_forward(m, left, q, _cut(m, r, rows)[0])
    by_rest = m.matmul(adjoint(m, by_q), _cut(m, x, rows)[1]) + m.matmul(adjoint(m, q), rest)
    return [by_q, m.concatenate(by_left, by_rest, axis=-1)]


def _tall_forward(m: Any, t: Any, q: Any, r: Any) -> list[Any]:
    w = adjoint(m, m.solve_triangular(adjoint(m, r), adjoint(m, t), lower=True))
    b = m.matmul(adjoint(m, q), w)
    turn = _turn(m, b)
    return [w + m.matmul(q, turn - b), m.matmul(m.triu(b - turn), r)]


def _cholesky_form(s: Any, x: Any) -> Any:
    n = s.matrix(x).rows
    x = (x + x.T) / 2
    lower = s.xp.full((n, n), s.Integer(0), dtype=object)
    for j in range(n):
        lower[j, j] = s.sqrt(x[j, j] - sum(lower[j, :j] ** 2))
        for i in range(j + 1, n):
            lower[i, j] = (x[i, j] - sum(lower[i, :j] * lower[j, :j])) / lower[j, j]
    return lower


OPS = [
    _op(
        "cholesky",
        "x",
        "The lower triangle l with l @ l.T = x (conjugated, for complex ones).",
        compute=_cholesky,
        rows=batched(2),
        saves=("result",),
        symbolic=_cholesky_form,
        vjp=(_cholesky_back,),
        jvp=_cholesky_forward,
        note=(
            "of (x + x.T) / 2, so that the derivative is symmetric; an error unless that is "
            "positive definite"
        ),
    ),
    _op(
        "qr",
        "x",
        "A list of q, with orthonormal columns, and the upper triangle r with q @ r = x.",
        compute=_qr,
        rows=batched(2),
        saves=("x", "result"),
        note=(
            "the derivative needs first columns that are linearly independent, and is an error "
            "without"
        ),
        vjp=(_qr_back,),
        jvp=_qr_forward,
    ),
]
