"""Compiled formulas of the table: functions on floats and functions on arrays.

A formula is lowered to the source of a small function with generated names, compiled once, and
cached. It contains nothing of the user's program. Special functions are SciPy's by name, on the GPU
CuPy's, or kernels of the table; SciPy is imported when the first of them is called, no sooner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from functools import partial as partial_of
from operator import add
from typing import Any

from ...ops import OPS
from ...ops.op import Op
from ..backends.backend import CPU, Backend, is_complex
from . import scalars
from .differentiation import (
    cotangent_formula,
    is_mask,
    partial_formula,
    real_partial_formula,
    tangent_formula,
)
from .formula_source import FormulaSource
from .reading import Formula, forward_formula, per_op

# ---- special functions ---------------------------------------------------------------------------


def special_on_floats(op: Op) -> Callable[..., Any]:
    """Returns the op on Python floats, by SciPy's function or by the op's kernel."""

    @cache
    def on_arrays() -> Callable[..., Any]:
        return CPU.function(op) if op.kernel is None else kernel_on_arrays(CPU, op)

    return lambda *operands: on_arrays()(*operands).item()


def kernel_on_arrays(backend: Backend, op: Op) -> Callable[..., Any]:
    """Returns the op on arrays and numbers, by its kernel, which is called with vectors.

    Raises TypeError for a complex operand of an op on real ones.
    """
    xp, special, kernel = backend.xp, backend.special, op.kernel
    assert kernel is not None
    n_orders = op.partials.count(None)
    chunk = backend.chunk

    def function(*operands: Any) -> Any:
        moving = operands[n_orders:]
        dtype = xp.result_type(*moving)
        if dtype.kind == "c" and op.real_only:
            raise TypeError(f"`{op.name}` is a function of real numbers")
        wide = dtype if dtype.kind == "c" else "float64"
        arrays = xp.broadcast_arrays(*[xp.asarray(operand, wide) for operand in moving])
        shape, vectors = arrays[0].shape, [a.reshape(-1) for a in arrays]
        orders = [*map(int, operands[:n_orders])]
        size = max(vectors[0].size, 1)
        parts = [
            kernel(xp, special, *orders, *[v[k : k + chunk] for v in vectors])
            for k in range(0, size, chunk)
        ]
        y = parts[0] if len(parts) == 1 else xp.concatenate(parts)
        return y.reshape(shape).astype(dtype if dtype.kind in "fc" else wide)

    return function


def _operands(op: Op) -> str:
    return ", ".join(f"x{k}" for k in range(len(op.signature.operands)))


# ---- on floats -----------------------------------------------------------------------------------


@per_op
def scalar_function(op: Op) -> Callable[..., Any]:
    """Returns the op on Python floats, with IEEE results; it never raises."""
    if op.forward is None:
        function: Callable[..., Any] | None = getattr(scalars, op.name, None)
        return function or special_on_floats(op)
    source = FormulaSource(arrays=False)
    return source.function(_operands(op), source.value(forward_formula(op)), scalar_by_name)


@per_op
def is_plain(op: Op) -> bool:
    """Whether an op on floats needs Python's numbers alone, and nothing of NumPy or SciPy."""
    if op.forward is None:
        return hasattr(scalars, op.name)
    return all(is_plain(OPS[node.kind]) for node in forward_formula(op) if node.arguments)


@per_op
def is_called(op: Op) -> bool:
    """Whether compiled code calls Python for an op on floats."""
    if op.forward is None:
        return op.name in scalars.OF_PYTHON or not hasattr(scalars, op.name)
    return any(is_called(OPS[node.kind]) for node in forward_formula(op) if node.arguments)


def scalar_by_name(name: str) -> Callable[..., Any]:
    """Returns the function of an op on floats, which never raises."""
    return scalar_function(OPS[name])


def fast_by_name(name: str) -> Callable[..., Any]:
    """Returns the bare function of an op on floats, if there is one; it may raise."""
    return scalars.FAST.get(name) or scalar_function(OPS[name])


@per_op
def scalar_partial(op: Op, operand: int) -> Callable[..., Any]:
    """Returns the partial by one operand on floats: `(y, *operands) -> partial`."""
    source = FormulaSource(arrays=False)
    return source.function(
        f"y, {_operands(op)}", source.value(real_partial_formula(op, operand)), scalar_by_name
    )


@per_op
def scalar_pull(op: Op, operands: tuple[int, ...], repairs: bool) -> Callable[..., Any]:
    """Returns the pullback on floats, `(g, y, x0, x1) -> cotangent`, or a list for several active
    operands.

    With `repairs`, a product with a cotangent or a partial of exactly 0 is 0, whatever the other
    factor.
    """
    source = FormulaSource(arrays=False, fast=not repairs)
    if repairs:
        source.lines.append(f"x{len(op.signature.operands)} = g")
    results = []
    for position, k in enumerate(operands):
        partial = real_partial_formula(op, k)
        share = _text_by_number("g", partial)
        if share is None:
            strict = source.value(cotangent_formula(op, k)) if repairs else ""
            share = f"c{position}"
            source.lines.append(f"{share} = {strict or f'g * {source.value(partial)}'}")
        results.append(share)
    parameters = ", ".join(
        ["g", "y", *(f"x{k}" for k in range(max(2, len(op.signature.operands))))]
    )
    if repairs:
        return source.function(parameters, ", ".join(results), scalar_by_name)
    return source.function(
        parameters, ", ".join(results), fast_by_name, _repairing(scalar_pull, op, operands)
    )


def _text_by_number(g: str, partial: Formula) -> str | None:
    """Returns `g` times a partial that is 1, -1 or 0; None for any other."""
    texts = ((1.0, g), (-1.0, f"-{g}"), (0.0, "0.0"))
    return next((text for number, text in texts if partial.is_number(number)), None)


def _repairing(
    reading: Callable[..., Any], op: Op, operands: tuple[int, ...]
) -> Callable[..., Any]:
    """Returns the pullback that repairs products, compiled only when an op first needs it."""
    return lambda *values: reading(op, operands, True)(*values)


@per_op
def scalar_push(op: Op, operands: tuple[int, ...], repairs: bool = False) -> Callable[..., float]:
    """Returns the pushforward on floats, `(y, x0, x1, *tangents) -> tangent`, with a tangent for
    each active operand.

    With `repairs`, a product with a tangent or a partial of exactly 0 is 0; without, that version
    is called where the result isn't finite.
    """
    source = FormulaSource(arrays=False, fast=not repairs)
    n = len(op.signature.operands)
    tangents = [f"x{n + k}" for k in range(len(operands))]
    parameters = ", ".join(["y", _operands(op), *tangents])
    if repairs and op.composed:
        tangent = source.value(tangent_formula(op, operands))
        return source.function(parameters, tangent, scalar_by_name)
    terms = []
    for t, k in zip(tangents, operands, strict=True):
        partial = real_partial_formula(op, k)
        term = _text_by_number(t, partial)
        if term is None:
            value = source.value(partial)
            term = f"strict_mul({t}, {value})" if repairs else f"{t} * {value}"
        terms.append(term)
    if repairs:
        source.names["strict_mul"] = None
        return source.function(parameters, " + ".join(terms), scalar_by_name)
    repaired = source.names["repaired"] = _repairing(scalar_push, op, operands)
    source.lines.append(f"t = {' + '.join(terms)}")
    return source.function(
        parameters, f"t if t - t == 0.0 else repaired({parameters})", fast_by_name, repaired
    )


# ---- on arrays -----------------------------------------------------------------------------------


def _array_by_name(backend: Backend) -> Callable[[str], Any]:
    return lambda name: backend.where if name == "where" else array_function(backend, OPS[name])


@per_op
def array_function(backend: Backend, op: Op) -> Callable[..., Any]:
    """Returns the op on arrays of the backend (and scalars among them)."""
    if op.name == "strict_mul":
        return partial_of(strict_product, backend.xp)
    if op.kernel is not None:
        return kernel_on_arrays(backend, op)
    if op.forward is None:
        return backend.function(op)
    source = FormulaSource(arrays=True)
    value = source.value(forward_formula(op))
    return source.function(_operands(op), value, _array_by_name(backend))


@per_op
def array_partial(
    backend: Backend, op: Op, operand: int, strict: bool = True
) -> Callable[..., Any]:
    """Returns the partial by one operand on arrays: `(y, *operands) -> partial`.

    One that is 1 where a condition holds and 0 elsewhere is an array of bools, which needs no
    conversion of float types. Without `strict`, products inside are plain ones, right where the
    result is finite.
    """
    source = FormulaSource(arrays=True, strict=strict)
    partial = partial_formula(op, operand)
    formula = partial.arguments[0] if is_mask(partial) else partial
    return source.function(f"y, {_operands(op)}", source.value(formula), _array_by_name(backend))


@per_op
def array_pull(
    backend: Backend, op: Op, operand: int, repairs: bool, summed: bool
) -> Callable[..., Any]:
    """Returns the pullback on arrays by one operand, `(g, y, *operands) -> cotangent`.

    The cotangent isn't yet reduced to the operand's shape; with `summed`, for a scalar operand, it
    is the sum of all of it.
    """
    xp = backend.xp
    if (known := _share_by_number(xp, partial_formula(op, operand))) is not None:
        return known
    if repairs and op.composed:
        return _strict_pull(backend, op, operand, summed)
    function = array_partial(backend, op, operand, repairs)

    def pull(g: Any, y: Any, *operands: Any) -> Any:
        partial = function(y, *operands)
        if is_complex(partial):
            partial = partial.conjugate()
        if (
            summed
            and not repairs
            and getattr(g, "ndim", 0) == 1
            and getattr(partial, "shape", ()) == g.shape
        ):
            return xp.dot(g, partial)  # without an array for the products
        product = strict_product(xp, g, partial) if repairs else g * partial
        return product.sum() if summed and hasattr(product, "sum") else product

    return pull


def _strict_pull(backend: Backend, op: Op, operand: int, summed: bool) -> Callable[..., Any]:
    """Returns the pullback of an expression with repairs, as `array_pull` does."""
    n = len(op.signature.operands)
    source = FormulaSource(arrays=True)
    value = source.value(cotangent_formula(op, operand))
    share = source.function(f"y, {_operands(op)}, x{n}", value, _array_by_name(backend))

    def pull(g: Any, y: Any, *operands: Any) -> Any:
        product = share(y, *operands, g)
        return product.sum() if summed and hasattr(product, "sum") else product

    return pull


def _share_by_number(xp: Any, partial: Formula) -> Callable[..., Any] | None:
    """Returns what multiplies by a partial that is 1, -1 or 0; None for any other."""
    if partial.is_number(1.0):
        return lambda g, *values: g
    if partial.is_number(-1.0):
        return lambda g, *values: -g
    if partial.is_number(0.0):
        return lambda g, *values: xp.zeros_like(g) if getattr(g, "shape", ()) else 0.0
    return None


@per_op
def array_push(backend: Backend, op: Op, operands: tuple[int, ...]) -> Callable[..., Any]:
    """Returns the pushforward on arrays, `(tangents, y, *operands) -> tangent`, with a tangent for
    each active operand. The result isn't yet broadcast to the shape of `y`.
    """
    if op.composed:
        n = len(op.signature.operands)
        given = ", ".join([_operands(op), *(f"x{n + k}" for k in range(len(operands)))])
        source = FormulaSource(arrays=True)
        value = source.value(tangent_formula(op, operands))
        whole = source.function(f"y, {given}", value, _array_by_name(backend))
        return lambda tangents, y, *values: whole(y, *values, *tangents)
    shares = [_array_share(backend, op, k) for k in operands]

    def push(tangents: Sequence[Any], y: Any, *values: Any) -> Any:
        terms = [share(t, y, *values) for share, t in zip(shares, tangents, strict=True)]
        return reduce(add, terms)

    return push


def _array_share(backend: Backend, op: Op, operand: int) -> Callable[..., Any]:
    """Returns the share of one operand's tangent, `(t, y, *operands) -> tangent`, broadcast but not
    yet added up.
    """
    if (known := _share_by_number(backend.xp, partial_formula(op, operand))) is not None:
        return known
    function = array_partial(backend, op, operand)
    return lambda t, y, *operands: strict_product(backend.xp, t, function(y, *operands))


def strict_product(xp: Any, g: Any, partial: Any) -> Any:
    """Multiplies as `strict_mul` does, on arrays; repairs only if a non-finite product occurs."""
    product = g * partial
    # A finite sum has no non-finite term; repairing an infinite one without need is harmless.
    total = product.sum() if getattr(product, "ndim", 0) else product
    if not xp.isfinite(total):
        product = xp.where(xp.isnan(product) & ((g == 0) | (partial == 0)), 0.0, product)
    return product
