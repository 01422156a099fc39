"""Products of vectors and matrices. Leading axes are batch axes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows_linalg import (
    batched,
    blocks,
    contraction,
    diagonal_sum,
    matrix_product,
    outer_product,
    product_total,
)
from .rules import Shape, adjoint, broadcast_shape, conj, fit, reshaped, whole

_op = partial(Op, category="linear algebra")


def multilinear(name: str, params: str, summary: str, **facts: Any) -> Op:
    return _op(name, params, summary, integers="keep", multilinear=True, **facts)


# ---- matmul --------------------------------------------------------------------------------------


def _matmul_shape(a: Shape, b: Shape) -> Shape:
    if len(a) == 2 == len(b) and a[1] == b[0]:
        return (a[0], b[1])
    if not a or not b:
        raise OpError(
            "`@` multiplies arrays, not single numbers", "for numbers write `*`", _sides(a, b)
        )
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise OpError(
            f"cannot multiply shapes {a} and {b}",
            _transposed(a, b),
            f"{_sides(a, b)}: inner dimensions {a[-1]} and {inner} differ",
        )
    batch = broadcast_shape("matmul", a[:-2], b[:-2])
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _sides(a: Shape, b: Shape) -> str:
    return f"left is {a}, right is {b}"


def _transposed(a: Shape, b: Shape) -> str:
    """The hint for matrices that fit after a transposition; "" for others."""
    inner = b[-2] if len(b) > 1 else b[0]
    if len(a) == 2 and a[0] == inner:
        return "did you mean `a.T @ b`?"
    if len(b) == 2 and a[-1] == b[1]:
        return "did you mean `a @ b.T`?"
    if len(a) == len(b) == 2 and a[0] == b[1]:
        return "did you mean `b @ a`?"
    return ""


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    try:
        return xp.matmul(a, b)
    except ValueError:
        _matmul_shape(xp.shape(a), xp.shape(b))  # says more
        raise


def _as_matrices(m: Any, g: Any, a: Any, b: Any) -> Any:
    """The cotangent of a @ b with the axes that a vector lacks."""
    shape = tuple(g.shape)
    if b.ndim == 1:
        shape = (*shape, 1)
    if a.ndim == 1:
        shape = (*shape[:-1], 1, shape[-1])
    return reshaped(m, g, shape)


def _matmul_back_left(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return g * conj(m, b)
    rows = m.reshape(conj(m, b), shape=[1, b.size]) if b.ndim == 1 else adjoint(m, b)
    back = m.matmul(_as_matrices(m, g, a, b), rows)
    if a.ndim > 1:
        return fit(m, back, a)
    return m.reshape(m.sum_to(back, shape=(1, a.shape[0])), shape=a.shape)


def _matmul_back_right(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return g * conj(m, a)
    if b.ndim <= 2 and a.ndim > 2:  # one product instead of a batch of them and a sum
        rows = (
            m.reshape(a, shape=[-1, a.shape[-1]])
            if a.size
            else m.reshape(a, shape=[math.prod(a.shape[:-1]), a.shape[-1]])
        )
        back = m.matmul(adjoint(m, rows), m.reshape(g, shape=[rows.shape[0], *(b.shape[1:])]))
        return reshaped(m, back, b.shape)
    columns = m.reshape(conj(m, a), shape=[a.size, 1]) if a.ndim == 1 else adjoint(m, a)
    if b.ndim == 1:
        return m.matmul(columns, g)
    return fit(m, m.matmul(columns, _as_matrices(m, g, a, b)), b)


# ---- dot, inner, outer: matrices of vectors ------------------------------------------------------


def _dot(xp: Any, a: Any, b: Any) -> Any:
    a, b = xp.asarray(a), xp.asarray(b)
    _dot_shape(a.shape, b.shape)
    return xp.dot(a, b)


def _dot_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        return a or b
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise OpError(
            f"cannot take the dot product of shapes {a} and {b}",
            _transposed(a, b).replace("@", "·"),
            f"{_sides(a, b)}: inner dimensions {a[-1]} and {inner} differ",
        )
    return (*a[:-1], *b[:-2], *(b[-1:] if len(b) > 1 else ()))


def _rows(m: Any, a: Any) -> Any:
    """Arranges all vectors along the last axis as the rows of a matrix."""
    return reshaped(m, a, (math.prod(a.shape[:-1]), a.shape[-1]))


def _dot_as_inner(m: Any, b: Any) -> Any:
    """The second operand of `dot`, with the summed axis last."""
    return b if b.ndim < 2 else m.moveaxis(b, source=-2, destination=-1)


def _dot_back_left(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    if not a.ndim or not b.ndim:
        return fit(m, g * conj(m, b), a)
    return _inner_back(m, g, a, _dot_as_inner(m, b), left=True)


def _dot_back_right(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    if not a.ndim or not b.ndim:
        return fit(m, g * conj(m, a), b)
    inner_b = _dot_as_inner(m, b)
    back = _inner_back(m, g, a, inner_b, left=False)
    return back if b.ndim < 2 else m.moveaxis(back, source=-1, destination=-2)


def _inner(xp: Any, a: Any, b: Any) -> Any:
    a, b = xp.asarray(a), xp.asarray(b)
    _inner_shape(a.shape, b.shape)
    return xp.inner(a, b)


def _inner_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        return a or b
    if a[-1] != b[-1]:
        raise OpError(f"`inner` needs equal last axes: {_sides(a, b)}")
    return (*a[:-1], *b[:-1])


def _inner_back(m: Any, g: Any, a: Any, b: Any, left: bool) -> Any:
    rows_a, rows_b = _rows(m, a), _rows(m, b)
    g = reshaped(m, g, (rows_a.shape[0], rows_b.shape[0]))
    if left:
        return reshaped(m, m.matmul(g, conj(m, rows_b)), a.shape)
    return reshaped(m, m.matmul(m.swapaxes(g, axis1=0, axis2=1), conj(m, rows_a)), b.shape)


def _inner_rule(left: bool) -> Any:
    def back(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
        if not a.ndim or not b.ndim:
            return fit(m, g * conj(m, b if left else a), a if left else b)
        return _inner_back(m, g, a, b, left)

    return back


def _outer_back_left(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return reshaped(m, m.matmul(g, conj(m, reshaped(m, b, (b.size,)))), a.shape)


def _outer_back_right(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return reshaped(
        m, m.matmul(m.swapaxes(g, axis1=0, axis2=1), conj(m, reshaped(m, a, (a.size,)))), b.shape
    )


# ---- cross, kron, trace --------------------------------------------------------------------------


def _cross(xp: Any, a: Any, b: Any) -> Any:
    a, b = xp.asarray(a), xp.asarray(b)
    if not a.ndim or not b.ndim or a.shape[-1] != 3 or b.shape[-1] != 3:
        raise OpError(
            f"`cross` needs vectors of 3 elements along the last axis: {_sides(a.shape, b.shape)}"
        )
    return xp.cross(a, b)


def _aligned(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    n = max(len(a), len(b))
    return (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b


def _kron_shape(a: Shape, b: Shape) -> Shape:
    return tuple(p * q for p, q in zip(*_aligned(a, b), strict=True))


def _kron_grid(m: Any, g: Any, a: Any, b: Any) -> Any:
    """The cotangent of kron(a, b) as a matrix: a row for each element of a, a column for each of
    b."""
    wide, tall = _aligned(tuple(a.shape), tuple(b.shape))
    n = len(wide)
    blocks = m.reshape(g, shape=[size for pair in zip(wide, tall, strict=True) for size in pair])
    return m.reshape(
        m.transpose(blocks, axes=[*range(0, 2 * n, 2), *range(1, 2 * n, 2)]), shape=[a.size, b.size]
    )


def _kron_back_left(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return m.reshape(
        m.matmul(_kron_grid(m, g, a, b), conj(m, m.reshape(b, shape=[b.size]))), shape=a.shape
    )


def _kron_back_right(m: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
    return m.reshape(
        m.matmul(conj(m, m.reshape(a, shape=[a.size])), _kron_grid(m, g, a, b)), shape=b.shape
    )


def _trace(xp: Any, x: Any, offset: Any) -> Any:
    x = xp.asarray(x)
    if x.ndim < 2:
        raise OpError(f"`trace` needs a matrix: the shape is {x.shape}")
    return xp.trace(x, offset=whole("trace", offset, "offset"), axis1=-2, axis2=-1)


def _trace_back(m: Any, g: Any, y: Any, x: Any, offset: Any) -> Any:
    square = m.broadcast_to(m.reshape(g, shape=[*g.shape, 1, 1]), shape=x.shape)
    return m.triu(m.tril(square, k=offset), k=offset)  # what is left is the diagonal


OPS = [
    multilinear(
        "matmul",
        "a, b",
        "The matrix product; leading axes are batch axes.",
        infix="@",
        compute=_matmul,
        rows=matrix_product,
        rows_total=product_total,
        result_shape=_matmul_shape,
        saves=("a", "b"),
        vjp=(_matmul_back_left, _matmul_back_right),
    ),
    multilinear(
        "dot",
        "a, b",
        "The dot product, of the last axis of a and the last but one of b, as in NumPy.",
        compute=_dot,
        rows=contraction(last=False),
        rows_total=product_total,
        aliases=("vdot",),
        result_shape=_dot_shape,
        saves=("a", "b"),
        vjp=(_dot_back_left, _dot_back_right),
    ),
    multilinear(
        "inner",
        "a, b",
        "The products summed along the last axis of both.",
        compute=_inner,
        rows=contraction(last=True),
        result_shape=_inner_shape,
        saves=("a", "b"),
        vjp=(_inner_rule(left=True), _inner_rule(left=False)),
    ),
    multilinear(
        "outer",
        "a, b",
        "Every element of a times every element of b.",
        saves=("a", "b"),
        compute=lambda xp, a, b: xp.outer(xp.asarray(a), xp.asarray(b)),
        rows=outer_product,
        result_shape=lambda a, b: (math.prod(a), math.prod(b)),
        vjp=(_outer_back_left, _outer_back_right),
    ),
    multilinear(
        "cross",
        "a, b",
        "The cross product of vectors of 3 elements along the last axis.",
        compute=_cross,
        rows=batched(1, 1),
        saves=("a", "b"),
        result_shape=lambda a, b: broadcast_shape("cross", a, b),
        vjp=(
            lambda m, g, y, a, b: fit(m, m.cross(conj(m, b), g), a),
            lambda m, g, y, a, b: fit(m, m.cross(g, conj(m, a)), b),
        ),
    ),
    multilinear(
        "kron",
        "a, b",
        "The Kronecker product: a block b for each element of a.",
        saves=("a", "b"),
        compute=lambda xp, a, b: xp.kron(xp.asarray(a), xp.asarray(b)),
        rows=blocks,
        result_shape=_kron_shape,
        vjp=(_kron_back_left, _kron_back_right),
    ),
    _op(
        "trace",
        "x; offset=0",
        "The sum of the diagonal of the last two axes.",
        compute=_trace,
        rows=diagonal_sum,
        integers="keep",
        linear=True,
        vjp=(_trace_back,),
    ),
]
