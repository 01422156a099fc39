"""Inverses and linear systems. Leading axes are batch axes; a singular matrix is refused, with its
place in the batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows_linalg import batched, system
from .rules import Shape, adjoint, broadcast_shape, fit

_op = partial(Op, category="linear algebra")


# ---- what matrices must be -----------------------------------------------------------------------


def square_floats(xp: Any, name: str, x: Any) -> Any:
    """`x` as square matrices of floats, which is what array modules take on every device."""
    x = xp.asarray(x)
    _verify_square(name, x.shape)
    return x if x.dtype.kind in "fc" else x.astype("float64")


def _verify_square(name: str, shape: Shape) -> None:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise OpError(f"`{name}` needs a square matrix: the shape is {shape}")


def or_refuse(
    x: Any, function: Callable[[Any], Any], refusal: Callable[[str, Any], OpError]
) -> Any:
    """`function(x)`. Where it raises ValueError, as array modules do, raises `refusal(which,
    matrix)` for the first matrix along the leading axes that it fails for."""
    try:
        return function(x)
    except ValueError:
        for k, matrix in enumerate(x.reshape(-1, *x.shape[-2:])):
            if not _succeeds(function, matrix):
                raise refusal(
                    "this one" if x.ndim == 2 else f"number {_place(k, x.shape[:-2])}", matrix
                ) from None
        raise


def _succeeds(function: Callable[[Any], Any], matrix: Any) -> bool:
    try:
        function(matrix)
    except ValueError:
        return False
    return True


def _place(k: int, batch: Shape) -> list[int]:
    """The index of the k-th element of an array of a shape."""
    place: list[int] = []
    for size in reversed(batch):
        k, i = divmod(k, size)
        place.insert(0, i)
    return place


def _singular(name: str) -> Callable[[str, Any], OpError]:
    def refusal(which: str, matrix: Any) -> OpError:
        seen = f"it is {matrix.tolist()}" if matrix.size <= 16 else f"its shape is {matrix.shape}"
        help = (
            "its rows are linearly dependent; with a small multiple of `eye(n)` added they aren't"
        )
        return OpError(f"`{name}` needs an invertible matrix: {which} is singular", help, seen)

    return refusal


# ---- compute -------------------------------------------------------------------------------------


def _inv(xp: Any, x: Any) -> Any:
    return or_refuse(square_floats(xp, "inv", x), xp.linalg.inv, _singular("inv"))


def _solution_shape(name: str) -> Callable[..., Shape]:
    def shape(a: Shape, b: Shape, **options: Any) -> Shape:
        _verify_square(name, a)
        if not b or b[0 if len(b) == 1 else -2] != a[-1]:
            raise OpError(
                f"`{name}` needs as many rows on both sides", label=f"left is {a}, right is {b}"
            )
        return a[:-1] if len(b) == 1 else (*broadcast_shape(name, a[:-2], b[:-2]), *b[-2:])

    return shape


def _system(name: str, solve: Callable[..., Any]) -> Callable[..., Any]:
    """`compute` of `name`, from `solve(xp, a, columns, **options)` for equally many matrices on
    both sides."""
    solution_shape = _solution_shape(name)

    def compute(xp: Any, a: Any, b: Any, **options: Any) -> Any:
        a, b = square_floats(xp, name, a), xp.asarray(b)
        shape = solution_shape(a.shape, b.shape)
        if a.ndim == b.ndim == 2:
            return solve(xp, a, b, **options)
        if a.ndim == 2 and b.ndim == 1:
            return solve(xp, a, b[:, None], **options)[..., 0]
        if b.ndim == 1:
            return solve(xp, a, xp.broadcast_to(b[:, None], (*shape, 1)), **options)[..., 0]
        if a.ndim == 2 and b.ndim > 2:  # one factorisation for all
            rows = xp.moveaxis(b, -2, 0)
            columns = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
            return xp.moveaxis(solve(xp, a, columns, **options).reshape(rows.shape), 0, -2)
        return solve(
            xp,
            xp.broadcast_to(a, (*shape[:-2], *a.shape[-2:])),
            xp.broadcast_to(b, shape),
            **options,
        )

    return compute


def _solve(xp: Any, a: Any, columns: Any) -> Any:
    try:
        return xp.linalg.solve(a, columns)
    except ValueError:
        or_refuse(a, xp.linalg.inv, _singular("solve"))
        raise


def _solve_triangular(xp: Any, a: Any, columns: Any, lower: bool) -> Any:
    """Solves by elimination, which substitutes backwards, as nothing is to be eliminated; a lower
    triangle is reversed first."""
    if lower:
        return _solve_triangular(xp, a[..., ::-1, ::-1], columns[..., ::-1, :], lower=False)[
            ..., ::-1, :
        ]
    upper = xp.triu(a)
    or_refuse(upper, lambda x: _verify_diagonal(xp, x), _singular("solve_triangular"))
    return xp.linalg.solve(upper, columns)


def _verify_diagonal(xp: Any, x: Any) -> None:
    if bool(xp.any(xp.diagonal(x, axis1=-2, axis2=-1) == 0)):
        raise ValueError


# ---- least squares -------------------------------------------------------------------------------


def _least_squares_shape(a: Shape, b: Shape) -> Shape:
    if len(a) < 2:
        raise OpError(f"`lstsq` needs a matrix on the left side: the shape is {a}")
    if not b or b[0 if len(b) == 1 else -2] != a[-2]:
        raise OpError(
            "`lstsq` needs as many rows on both sides", label=f"left is {a}, right is {b}"
        )
    return (
        (*a[:-2], a[-1])
        if len(b) == 1
        else (*broadcast_shape("lstsq", a[:-2], b[:-2]), a[-1], b[-1])
    )


def _lstsq(xp: Any, a: Any, b: Any, full_rank: bool = False) -> Any:
    """Solves by the singular value decomposition; singular values that are negligible beside the
    largest count as 0, as in NumPy."""
    a, b = xp.asarray(a), xp.asarray(b)
    shape = _least_squares_shape(a.shape, b.shape)
    a = a if a.dtype.kind in "fc" else a.astype("float64")
    columns = b[:, None] if b.ndim == 1 else b
    if not a.size:
        return xp.zeros(shape, dtype=xp.result_type(a, b))
    or_refuse(a, lambda matrices: _verify_finite(xp, matrices), _not_finite)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    nothing = s <= max(a.shape[-2:]) * xp.finfo(s.dtype).eps * s[..., :1]
    if full_rank and bool(xp.any(nothing)):
        least, most = (float(xp.min(v)) for v in (s[..., -1], s[..., 0]))
        message = (
            "`lstsq` has a derivative for matrices of full rank only, and this one has linearly "
            "dependent rows or columns"
        )
        raise OpError(
            message,
            "a column that is a combination of others can be left out",
            f"its singular values are {most} … {least}",
        )
    inverse = xp.where(nothing, 0.0, 1.0 / xp.where(nothing, 1.0, s)).astype(s.dtype)
    found = xp.matmul(xp.conj(xp.swapaxes(u, -1, -2)), columns)
    found = xp.matmul(xp.conj(xp.swapaxes(vh, -1, -2)), inverse[..., None] * found)
    return found[..., 0] if b.ndim == 1 else found


def _verify_finite(xp: Any, x: Any) -> None:
    if not bool(xp.all(xp.isfinite(x))):
        raise ValueError


def _not_finite(which: str, matrix: Any) -> OpError:
    return OpError(
        f"`lstsq` needs a matrix of finite numbers: {which} has others",
        label=f"the shape is {matrix.shape}",
    )


# ---- rules ---------------------------------------------------------------------------------------


def _inv_back(m: Any, g: Any, y: Any, x: Any) -> Any:
    return -m.matmul(m.matmul(adjoint(m, y), g), adjoint(m, y))


def _columns(m: Any, v: Any, b: Any) -> Any:
    """Makes a value of the shape of the right side `b`, or of the solution, a matrix."""
    return m.expand_dims(v, axis=-1) if b.ndim == 1 else v


def _like_right(m: Any, columns: Any, b: Any) -> Any:
    return m.squeeze(columns, axis=-1) if b.ndim == 1 else columns


def _back(m: Any, g: Any, a: Any, b: Any, lower: bool | None) -> Any:
    """a^-H g: the cotangent of the right side before it is summed over what was broadcast. `lower`
    is None for `solve`."""
    columns = _columns(m, g, b)
    return (
        m.solve(adjoint(m, a), columns)
        if lower is None
        else m.solve_triangular(adjoint(m, a), columns, lower=not lower)
    )


def _part(m: Any, a: Any, lower: bool | None) -> Any:
    """The part of the left side that `solve_triangular` reads."""
    return a if lower is None else m.tril(a) if lower else m.triu(a)


def _left_back(m: Any, g: Any, y: Any, a: Any, b: Any, lower: bool | None = None) -> Any:
    back = m.matmul(_back(m, g, a, b, lower), adjoint(m, _columns(m, y, b)))
    return fit(m, -_part(m, back, lower), a)


def _right_back(m: Any, g: Any, y: Any, a: Any, b: Any, lower: bool | None = None) -> Any:
    return fit(m, _like_right(m, _back(m, g, a, b, lower), b), b)


def _forward(m: Any, t: Any, y: Any, a: Any, b: Any, **options: Any) -> Any:
    """The tangent of a solution: it solves the system for the right side's tangent less the left
    side's tangent times the result."""
    by_left, by_right = t
    solve = m.solve_triangular if options else m.solve
    if by_left is None:
        return solve(a, by_right, **options)
    moved = m.matmul(_part(m, by_left, options.get("lower")), _columns(m, y, b))
    return _like_right(
        m, solve(a, -moved if by_right is None else _columns(m, by_right, b) - moved, **options), b
    )


# With p the pseudo-inverse of a and r = b - a x: dx = p (db - da x) + p p^H da^H r + (1 - p a) da^H
# p^H x. Of the last two terms one is 0 at least, as a has full rank.


def _pseudo(m: Any, a: Any, columns: Any) -> Any:
    return m.lstsq_of_full_rank(a, columns)


def _least_squares_right_back(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return fit(m, _like_right(m, _pseudo(m, adjoint(m, a), _columns(m, g, b)), b), b)


def _least_squares_left_back(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    x, g = _columns(m, y, b), _columns(m, g, b)
    back = _pseudo(m, adjoint(m, a), g)
    total = -m.matmul(back, adjoint(m, x))
    rows, columns = a.shape[-2:]
    if rows > columns:
        rest = _columns(m, b, b) - m.matmul(a, x)
        total = total + m.matmul(rest, adjoint(m, _pseudo(m, a, back)))
    if columns > rows:
        outside = g - _pseudo(m, a, m.matmul(a, g))
        total = total + m.matmul(_pseudo(m, adjoint(m, a), x), adjoint(m, outside))
    return fit(m, total, a)


def _least_squares_forward(m: Any, t: Any, y: Any, a: Any, b: Any) -> Any:
    by_left, by_right = t
    if by_left is None:
        return m.lstsq_of_full_rank(a, by_right)
    x = _columns(m, y, b)
    moved = -m.matmul(by_left, x)
    total = _pseudo(m, a, moved if by_right is None else _columns(m, by_right, b) + moved)
    rows, columns = a.shape[-2:]
    if rows > columns:
        rest = _columns(m, b, b) - m.matmul(a, x)
        total = total + _pseudo(
            m, a, _pseudo(m, adjoint(m, a), m.matmul(adjoint(m, by_left), rest))
        )
    if columns > rows:
        across = m.matmul(adjoint(m, by_left), _pseudo(m, adjoint(m, a), x))
        total = total + across - _pseudo(m, a, m.matmul(a, across))
    return _like_right(m, total, b)


_LEAST_SQUARES: dict[str, Any] = {
    "result_shape": _least_squares_shape,
    "rows": system,
    "saves": ("a", "b", "result"),
    "vjp": (_least_squares_left_back, _least_squares_right_back),
    "jvp": _least_squares_forward,
}


def _inverse_form(s: Any, x: Any) -> Any:
    matrix = s.matrix(x)
    return s.array(matrix.adjugate(method="berkowitz") / matrix.det(method="berkowitz"))


def _lstsq_form(s: Any, a: Any, b: Any) -> Any:
    """The closed form by the normal equations, for a matrix of full rank."""
    if a.shape[0] >= a.shape[1]:
        return _inverse_form(s, a.T @ a) @ (a.T @ b)
    return a.T @ (_inverse_form(s, a @ a.T) @ b)


OPS = [
    _op(
        "inv",
        "x",
        "The inverse of a matrix.",
        compute=_inv,
        rows=batched(2),
        symbolic=_inverse_form,
        aliases=("inverse",),
        saves=("result",),
        note="a singular matrix is an error",
        vjp=(_inv_back,),
        jvp=lambda m, t, y, x: -m.matmul(m.matmul(y, t[0]), y),
    ),
    _op(
        "solve",
        "a, b",
        "The x with a @ x = b; b is a vector, or a matrix for several at once.",
        saves=("a", "result"),
        note="a singular matrix is an error",
        compute=_system("solve", _solve),
        rows=system,
        symbolic=lambda s, a, b: _inverse_form(s, a) @ b,
        result_shape=_solution_shape("solve"),
        vjp=(_left_back, _right_back),
        jvp=_forward,
    ),
    _op(
        "solve_triangular",
        "a, b; lower=false",
        "The x with a @ x = b, where only the upper (or lower) triangle of a is read.",
        note="a zero on the diagonal is an error",
        compute=_system("solve_triangular", _solve_triangular),
        rows=system,
        symbolic=lambda s, a, b, lower: (
            _inverse_form(s, s.xp.tril(a) if lower else s.xp.triu(a)) @ b
        ),
        result_shape=_solution_shape("solve_triangular"),
        saves=("a", "result"),
        vjp=(_left_back, _right_back),
        jvp=_forward,
    ),
    _op(
        "lstsq",
        "a, b",
        "The x with the least norm of a @ x - b, and of several such the least x; b as for "
        "`solve`.",
        note="of matrices of any rank; the derivative needs full rank, and is an error without it",
        compute=_lstsq,
        symbolic=_lstsq_form,
        **_LEAST_SQUARES,
    ),
    _op(
        "lstsq_of_full_rank",
        "a, b",
        "lstsq, refused where it has no derivative.",
        internal=True,
        compute=lambda xp, a, b: _lstsq(xp, a, b, full_rank=True),
        symbolic=_lstsq_form,
        **_LEAST_SQUARES,
    ),
]
