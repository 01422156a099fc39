"""How linear algebra takes rows (see rows.py): as batches in leading axes, or by sums over what is
contracted."""

from __future__ import annotations

import math
from typing import Any

from .rows import Rule, beside, in_line, inner_shapes, with_rows
from .rules import Shape


def _first(xp: Any, x: Any, own: bool) -> Any:
    return xp.moveaxis(x, -1, 0) if own else x


def batched(*ranks: int, alike: bool = False) -> Rule:
    """The rule for ops that take batches in leading axes; `ranks` are those of each operand without
    a batch. `alike`: all operands must have the rows, even if these are the same."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        shapes = inner_shapes(operands, laned)
        batch = max(len(shape) - rank for shape, rank in zip(shapes, ranks, strict=True))
        moved = []
        for x, own, shape, rank in zip(operands, laned, shapes, ranks, strict=True):
            x = xp.moveaxis(with_rows(xp, x, own, n), -1, 0) if own or alike else x
            if (own or alike) and (
                missing := batch - (len(shape) - rank)
            ):  # the rows come before every other batch axis
                x = x.reshape(n, *(1 for _ in range(missing)), *shape)
            moved.append(x)
        y = compute(*moved, **options)
        return (
            [xp.moveaxis(part, 0, -1) for part in y]
            if type(y) in (list, tuple)
            else xp.moveaxis(y, 0, -1)
        )

    return rule


def system(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `solve` and similar ops: where rows have right sides of their own, vectors
    become matrices of one column."""
    (a, b), (own_a, own_b) = operands, laned
    shape_a, shape_b = inner_shapes(operands, laned)
    if (
        not own_a and len(shape_a) == 2 and own_b and len(shape_b) in (1, 2)
    ):  # one factorisation for all
        y = compute(a, b.reshape(shape_b[0], -1) if b.size else b.reshape(shape_b[0], 0), **options)
        return y.reshape(y.shape[0], *shape_b[1:], n)
    if not own_b:
        return batched(2, min(len(shape_b), 2))(xp, compute, operands, laned, options, n)
    column = len(shape_b) == 1
    y = batched(2, 2)(xp, compute, (a, b[:, None] if column else b), laned, options, n)
    return y[..., 0, :] if column else y


# ---- products ------------------------------------------------------------------------------------

FEW = 16  # elements that are summed over: more are left to the library's product of matrices


def are_small(m: int, k: int, n: int) -> bool:
    """Whether products of matrices of such sizes take less time element by element."""
    return m * n <= FEW * FEW and k <= FEW


def _products(xp: Any, a: Any, b: Any, laned: Any, n: int) -> Any:
    """The matrix products of `a` (…, i, j) and `b` (…, j, k), of which some have rows, last;
    batches broadcast."""
    own_a, own_b = laned
    small = are_small(a.shape[-2 - own_a], a.shape[-1 - own_a], b.shape[-1 - own_b])
    if small and own_a and own_b:  # rows stay where they are
        return xp.einsum("...ijn,...jkn->...ikn", a, b)
    batch = max(a.ndim - own_a, b.ndim - own_b) - 2  # of either, beside the rows
    a, b = _first(xp, a, own_a), _first(xp, b, own_b)
    a = a.reshape(n, *(1 for _ in range(batch + 3 - a.ndim)), *a.shape[1:]) if own_a else a
    b = b.reshape(n, *(1 for _ in range(batch + 3 - b.ndim)), *b.shape[1:]) if own_b else b
    return xp.moveaxis(xp.matmul(a, b), 0, -1)


def _verify_inner(a: Shape, b: Shape) -> None:
    """Raises ValueError where the sizes that are summed over differ; the op words the error."""
    if a != b:
        raise ValueError(f"inner sizes {a} and {b} differ")


def matrix_product(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `matmul`: vectors become matrices of one row or column, for beside a batch they
    would be taken for it."""
    (a, b), (own_a, own_b) = operands, laned
    shape_a, shape_b = inner_shapes(operands, laned)
    _verify_inner(shape_a[-1:], shape_b[-2:][:1])
    if len(shape_a) == len(shape_b) == 1 and own_a and own_b:
        return xp.einsum("kn,kn->n", a, b)
    if (
        not own_b and len(shape_a) == 1 and len(shape_b) == 2
    ):  # one product of matrices for all rows
        return compute(b.T, a)
    if not own_a and len(shape_a) <= 2 and len(shape_b) == 1:
        return compute(a, b)
    a = a[None] if len(shape_a) == 1 else a
    b = (b[:, None, :] if own_b else b[:, None]) if len(shape_b) == 1 else b
    y = _products(xp, a, b, laned, n)
    y = y[..., 0, :, :] if len(shape_a) == 1 else y
    return y[..., 0, :] if len(shape_b) == 1 else y


def product_total(xp: Any, k: int, g: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The total for `matmul` and `dot`: one product of matrices for all rows."""
    shapes, other = inner_shapes(operands, laned), operands[1 - k]
    are_few = all(len(shape) in (1, 2) for shape in shapes)
    if not (laned[1 - k] and are_few and g.dtype.kind == other.dtype.kind == "f"):
        return NotImplemented
    rows = 1 if len(shapes[0]) == 1 else shapes[0][0]  # a vector is one row, or one column
    columns = 1 if len(shapes[1]) == 1 else shapes[1][1]
    inner, g = shapes[0][-1], g.reshape(rows, columns, n)
    if k:
        g, other = g.swapaxes(0, 1), other.reshape(rows, inner, n).swapaxes(0, 1)
    size = (rows if k else columns) * n
    found = g.reshape(len(g), size) @ other.reshape(inner, size).T
    return (found.T if k else found).reshape(shapes[k])


def contraction(last: bool) -> Rule:
    """The rule for `inner`, which sums over the last axis of both operands, and `dot`, over the
    last but one of the second."""

    def rule(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        (a, b), (own_a, own_b) = operands, laned
        shape_a, shape_b = inner_shapes(operands, laned)
        if not shape_a or not shape_b:
            return xp.multiply(*beside(operands, laned))
        if not last and len(shape_a) <= 2 and len(shape_b) <= 2:
            return matrix_product(xp, lambda a, b: compute(a, b), operands, laned, options, n)
        k = len(shape_b) - 1 if last or len(shape_b) == 1 else len(shape_b) - 2
        left, right = (*shape_a[:-1],), (*shape_b[:k], *shape_b[k + 1 :])
        _verify_inner(shape_a[-1:], shape_b[k : k + 1])
        tail_a, tail_b = ((n,) if own_a else ()), ((n,) if own_b else ())
        b = xp.moveaxis(b, k, 0)
        size_a, size_b = math.prod(left), math.prod(right)
        a, b = a.reshape(size_a, shape_a[-1], *tail_a), b.reshape(shape_b[k], size_b, *tail_b)
        y = _products(xp, a, b, laned, n)
        return y.reshape(*left, *right, n)

    return rule


def outer_product(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    a, b = (
        in_line(x) if own else xp.asarray(x).reshape(-1, 1)
        for x, own in zip(operands, laned, strict=True)
    )
    return a[:, None] * b[None]


def blocks(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `kron`."""
    shapes = inner_shapes(operands, laned)
    rank = max(map(len, shapes))
    wide, tall = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    a, b = beside([xp.asarray(x) for x in operands], laned)
    spaced = [size for p in wide for size in (p, 1)], [size for q in tall for size in (1, q)]
    y = a.reshape(*spaced[0], a.shape[-1] if a.ndim else 1) * b.reshape(
        *spaced[1], b.shape[-1] if b.ndim else 1
    )
    return y.reshape(*(p * q for p, q in zip(wide, tall, strict=True)), n)


def diagonal_sum(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for `trace`."""
    (x,) = operands
    return xp.trace(x, offset=options["offset"], axis1=-3, axis2=-2)
