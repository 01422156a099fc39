"""Operations on real numbers with infinitesimal imaginary parts, for the complex step.

It rests on f(x + ih) = f(x) + ih f'(x), which holds for analytic functions f and tiny h. Most
functions of the array module are analytic as they are. Others have forms that are analytic near the
real axis: functions that choose or round go by the real parts, and functions that take a length do
so without conjugates. An imaginary part is about 1e-20, so no form may add it to a real part.
Operations without such a form are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import GradcliError
from ...ops import OPS
from ...ops.rule_values import evaluate
from ..backends.array_edges import log1p
from ..backends.backend import CPU, shape_of
from ..operations.elementwise import elementwise
from ..operations.structural import structural
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Lanes, deepest, narrow, with_rows

# ---- analytic forms ------------------------------------------------------------------------------


def _by_real_part(name: str) -> Callable[..., Any]:
    return lambda xp, x: getattr(xp, name)(xp.real(x))


def _abs(xp: Any, x: Any) -> Any:
    return xp.where(xp.real(x) < 0, -x, x)


def _floordiv(xp: Any, a: Any, b: Any) -> Any:
    return xp.floor_divide(xp.real(a), xp.real(b))


def _length(xp: Any, a: Any, b: Any) -> Any:
    scale = xp.hypot(xp.real(a), xp.real(b))
    scale = xp.where(scale == 0, 1.0, scale)
    return scale * xp.sqrt(xp.square(a / scale) + xp.square(b / scale))


def _angle(xp: Any, a: Any, b: Any) -> Any:
    """The angle of (b, a): the arctangent of the smaller ratio, plus the multiple of π/2 that the
    real parts determine."""
    x, y = xp.real(b), xp.real(a)
    steep = xp.abs(y) > xp.abs(x)
    ratio = xp.where(steep, b, a) / xp.where(steep, a, b)
    angle = xp.where(steep, -1.0, 1.0) * xp.arctan(ratio)
    return angle + (xp.arctan2(y, x) - xp.real(angle))


def _norm(xp: Any, x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Any:
    axis = tuple(axis) if isinstance(axis, list) else axis
    size = _abs(xp, x)
    if ord in (2, "fro"):
        largest = xp.max(xp.real(size)) or 1.0
        return largest * xp.sqrt(xp.sum(xp.square(x / largest), axis=axis, keepdims=keepdims))
    if ord in (float("inf"), -float("inf")):
        choose = xp.max if ord > 0 else xp.min
        return choose(size, axis=axis, keepdims=keepdims)
    return xp.sum(size**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _variance(xp: Any, x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    axis = tuple(axis) if isinstance(axis, list) else axis
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    n = (
        x.size // max(xp.mean(xp.real(x), axis=axis, keepdims=True).size, 1)
        if hasattr(x, "size")
        else 1
    )
    return xp.sum(xp.square(centred), axis=axis, keepdims=keepdims) / (n - ddof)


def _logdet(xp: Any, a: Any) -> Any:
    size = xp.linalg.slogdet(xp.real(a))[1]
    # log det(A + ihB) = log det A + log det(I + ih A⁻¹B), and the latter is ih tr(A⁻¹B) up to h².
    return size + 1j * xp.trace(xp.linalg.solve(xp.real(a), xp.imag(a)), axis1=-2, axis2=-1)


def _cube_root(xp: Any, x: Any) -> Any:
    """The real root, turned by a third of the angle. At 0 there is none that is analytic."""
    at_zero = xp.real(x) == 0
    size = xp.where(at_zero, 1.0, xp.real(x))
    root = xp.cbrt(size) * xp.exp(xp.log(xp.where(at_zero, 1.0, x) / size) / 3.0)
    return xp.where(at_zero, xp.where(xp.imag(x) == 0, 0.0, xp.nan), root)


def _log_of_sum(xp: Any, a: Any, b: Any) -> Any:
    return xp.where(xp.real(a) < xp.real(b), b, a) + log1p(xp, xp.exp(-_abs(xp, a - b)))


def _gamma(xp: Any, x: Any) -> Any:
    """The gamma function, by reflection left of 1/2: there the imaginary part of SciPy's result has
    the rounding error of the real part."""
    left = xp.real(x) < 0.5
    right = CPU.function(OPS["gamma"])(xp.where(left, 1.0 - x, x))
    turn = x - 2.0 * xp.round(xp.real(x) / 2.0)
    return xp.where(left, xp.pi / (xp.sin(xp.pi * turn) * right), right)


def _correlate(xp: Any, a: Any, v: Any, **options: Any) -> Any:
    return OPS["correlate"].compute(xp, a, xp.conj(v), **options)  # type: ignore[misc]


def _interpolated(xp: Any, x: Any, knots: Any, values: Any) -> Any:
    knots, values = xp.asarray(knots), xp.asarray(values)
    k = xp.clip(xp.searchsorted(xp.real(knots), xp.real(x), side="right") - 1, 0, len(knots) - 2)
    low, high = knots[k], knots[k + 1]
    inside = xp.where(
        xp.real(x) < xp.real(knots[0]),
        knots[0],
        xp.where(xp.real(x) > xp.real(knots[-1]), knots[-1], x),
    )
    return values[k] + (values[k + 1] - values[k]) * ((inside - low) / (high - low))


def _write(xp: Any, x: Any, value: Any, index: Any, inplace: bool = False) -> Any:
    y = xp.array(x, dtype="complex128")
    y[index] = value
    return y


def _index_add(xp: Any, x: Any, value: Any, index: Any, inplace: bool = False) -> Any:
    y = xp.array(x, dtype="complex128")
    xp.add.at(y, index, value)
    return y


def _sinc(xp: Any, x: Any) -> Any:
    """sin(πx)/(πx), by its series near 0, where the imaginary part of the quotient cancels."""
    z = xp.pi * x
    near = xp.abs(xp.real(x)) < 0.3
    w, series = xp.square(xp.where(near, z, 0.0)), 1.0
    for k in range(12, 0, -1):
        series = 1.0 - w * series / (2 * k * (2 * k + 1))
    z = xp.where(near, 1.0, z)
    return xp.where(near, series, xp.sin(z) / z)


def _one_minus_square(xp: Any, x: Any) -> Any:
    real = xp.real(x)
    return (1.0 - real) * (1.0 + real) - 2j * real * xp.imag(x)


def _cosine(xp: Any, a: Any, b: Any) -> Any:
    """a / √(a² + b²), by the smaller ratio, so that nothing cancels."""
    x, y = xp.real(a), xp.real(b)
    steep = xp.abs(x) > xp.abs(y)
    ratio = xp.where(steep, b, a) / xp.where(steep, a, xp.where(b == 0, 1.0, b))
    length = xp.sqrt(1.0 + xp.square(ratio))
    return xp.where(steep, xp.sign(x), xp.sign(y) * ratio) / length


FORMS: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "hypot": _length,
    "atan2": _angle,
    "norm": _norm,
    "var": _variance,
    "std": lambda xp, x, **options: xp.sqrt(_variance(xp, x, **options)),
    "floordiv": _floordiv,
    "mod": lambda xp, a, b: a - b * _floordiv(xp, a, b),
    "fmod": lambda xp, a, b: a - b * xp.trunc(xp.divide(xp.real(a), xp.real(b))),
    "logdet": _logdet,
    "cbrt": _cube_root,
    "logaddexp": _log_of_sum,
    "gamma": _gamma,
    "sinc": _sinc,
    "one_minus_square": _one_minus_square,
    "cosine": _cosine,
    "softplus": lambda xp, x: _log_of_sum(xp, x, 0.0),
    "degrees": lambda xp, x: x * (180.0 / xp.pi),
    "radians": lambda xp, x: x * (xp.pi / 180.0),
    "correlate": _correlate,
    "interp": _interpolated,
    "cast": lambda xp, x, dtype: x,
    "setitem": _write,
    "index_add": _index_add,
    "conj": lambda xp, x: x,
    "real": lambda xp, x: x,
    "imag": lambda xp, x: 0.0 * x,
    "float64": lambda xp, x: x,
    "complex128": lambda xp, x: x,
    **{name: _by_real_part(name) for name in ("sign", "floor", "ceil", "round", "trunc")},
}
REFUSED = frozenset(
    (
        "angle",
        "float32",
        "eigh",
        "svd",
        "qr",
        "cholesky",
        "lstsq",
        "lstsq_of_full_rank",
        "rfft",
        "irfft",
    )
)


# ---- operations ----------------------------------------------------------------------------------


class NotAnalyticError(Exception):
    """Raised for an operation that has no continuation to complex numbers, or is complex
    already."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.op.name)
        self.site = site


def continued(run: Run, site: Site, operands: list[Any], options: Mapping[str, Any]) -> Any:
    """The op of `site` on operands of which some have an imaginary part. Raises NotAnalyticError
    where it has no analytic form, and GradcliError where it can't be computed."""
    op, xp = site.op, run.backend.xp
    operands = [in_double(v) for v in operands]
    if op.name in REFUSED or (op.name == "cast" and options["dtype"] != "float64"):
        raise NotAnalyticError(site)
    form = FORMS.get(op.name)
    if (form is not None or op.elementwise) and Lanes in map(type, operands):
        return _on_rows(run, site, operands, options)
    if form is not None:
        return run.backend.settle(form(xp, *operands, **options))
    if not op.elementwise:
        return structural(run, site, operands, options)
    if op.forward is not None:
        return _by_operations(run, site, op.forward, operands)
    try:
        return elementwise(run, site, operands)
    except (GradcliError, TypeError):
        raise NotAnalyticError(site) from None


def in_double(value: Any) -> Any:
    """A float32 value in double precision, as float32 can't hold such small imaginary parts; any
    other value as it is."""
    if type(value) is Lanes:
        return Lanes(in_double(value.array), value.group)
    if getattr(value, "dtype", None) != "float32":
        return value
    return value.astype("float64") if value.shape else float(value)


def _on_rows(run: Run, site: Site, operands: list[Any], options: Mapping[str, Any]) -> Lanes:
    """`continued` for lanes: all rows together for an elementwise op, otherwise row by row."""
    group, xp = deepest(operands), run.backend.xp
    if group is None:
        raise NotAnalyticError(site)
    if not site.op.elementwise:
        rows = [
            [
                v.array[..., k] if type(v) is Lanes else v
                for v in (narrow(v, group) for v in operands)
            ]
            for k in range(group.size)
        ]
        results = [continued(run, site, row, options) for row in rows]
        if any(type(y) is list for y in results):
            raise NotAnalyticError(site)
        return Lanes(xp.stack([xp.asarray(y) for y in results], axis=-1), group)
    arrays = [with_rows(v, group) for v in operands]
    y = continued(run, site, arrays, options)
    shape = xp.broadcast_shapes(*(shape_of(v) for v in arrays))
    return Lanes(xp.ascontiguousarray(xp.broadcast_to(y, shape)), group)


def _by_operations(run: Run, site: Site, forward: Callable[..., Any], operands: list[Any]) -> Any:
    """A rule of the table, with each of its operations in its analytic form."""

    def call(name: str, values: list[Any]) -> Any:
        if name == "where":
            return run.backend.settle(run.backend.where(*values))
        return continued(run, site.in_derivative(OPS[name]), values, {})

    return evaluate(forward, operands, call)
