"""Making arrays, and casting between kinds of numbers. Those that make arrays are given the run's
float `dtype`."""

from __future__ import annotations

import math
from typing import Any

from .op import Op, OpError
from .rows import elementwise
from .rules import Shape, number, shown, sizes, whole

DTYPES = ("float32", "float64", "int64", "bool", "complex128")


def _making(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="making", **facts)


def _casting(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="casting", **facts)


def _cast_back(m: Any, g: Any, y: Any, x: Any, **options: Any) -> Any:
    if str(g.dtype).startswith("complex") and not str(x.dtype).startswith("complex"):
        g = m.real(g)
    return m.cast(g, dtype=str(x.dtype))


# ---- making --------------------------------------------------------------------------------------


def _full(xp: Any, value: Any, shape: Any, dtype: str) -> Any:
    size = sizes("full", shape)
    try:
        return xp.full(size, value, dtype=_full_dtype(value, dtype))
    except ValueError:
        raise OpError(
            f"`full` cannot fill an array of shape {size} with one of shape {value.shape}"
        ) from None


def _full_dtype(value: Any, dtype: str) -> Any:
    """The dtype of an array full of `value`: its own, the run's where it is a float."""
    return (
        dtype if isinstance(value, float) or str(getattr(value, "dtype", "")) == "float64" else None
    )


def _eye(xp: Any, n: Any, m: Any, k: Any, dtype: str) -> Any:
    return xp.eye(*_eye_shape(n, m, k), k=whole("eye", k, "k"), dtype=dtype)


def _eye_shape(n: Any, m: Any, k: Any) -> Shape:
    return sizes("eye", [n, n if m is None else m])


def _steps(start: Any, stop: Any, step: Any) -> tuple[Any, Any, Any]:
    start, stop = (0, start) if stop is None else (start, stop)
    start, stop, step = (
        number("arange", *pair) for pair in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    if not all(map(math.isfinite, (start, stop, step))):
        raise OpError(f"`arange` needs finite numbers, not {start}, {stop} and {step}")
    if step == 0:
        raise OpError(f"`arange` from {start} to {stop} by 0 has no end")
    return start, stop, step


def _arange(xp: Any, start: Any, stop: Any, step: Any, dtype: str) -> Any:
    start, stop, step = _steps(start, stop, step)
    ints = all(isinstance(v, int) for v in (start, stop, step))
    return xp.arange(start, stop, step, dtype="int64" if ints else dtype)


def _arange_shape(start: Any, stop: Any, step: Any) -> Shape:
    start, stop, step = _steps(start, stop, step)
    if all(isinstance(v, int) for v in (start, stop, step)):
        return (max(0, -((start - stop) // step)),)
    count = (stop - start) / step
    return (max(0, math.ceil(count)) if math.isfinite(count) else 2**62,)


def _linspace(xp: Any, start: Any, stop: Any, num: Any, dtype: str) -> Any:
    kinds = (int, float, complex)
    start, stop = number("linspace", start, "start", kinds), number("linspace", stop, "stop", kinds)
    made = None if complex in (type(start), type(stop)) else dtype
    return xp.linspace(start, stop, *sizes("linspace", whole("linspace", num, "num")), dtype=made)


def _form(xp: Any, x: Any) -> tuple[Shape, Any]:
    """The shape and dtype of an operand, which a record keeps even where it doesn't keep the
    values."""
    x = x if hasattr(x, "dtype") else xp.asarray(x)
    return x.shape, x.dtype


# ---- casting -------------------------------------------------------------------------------------


def _cast(xp: Any, x: Any, dtype: Any) -> Any:
    x = xp.asarray(x)
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise OpError(
            f"there is no type {shown(dtype)}",
            "types are " + ", ".join(f'"{name}"' for name in DTYPES),
        )
    if x.dtype.kind == "c" and dtype not in ("complex128", "bool"):
        raise OpError(
            f"complex numbers cannot become {dtype}",
            "take a part: `real(x)`, `imag(x)` or `abs(x)`",
        )
    if dtype == "int64" and x.dtype.kind == "f":
        _verify_int64(xp, x)
    return x.astype(dtype)


def _verify_int64(xp: Any, x: Any) -> None:
    fits = (x >= -(2.0**63)) & (x < 2.0**63)
    if not bool(xp.all(fits)):
        raise OpError(f"{float(x[~fits].reshape(-1)[0])} does not fit an int64")


def _cast_form(s: Any, x: Any, dtype: Any) -> Any:
    return (
        s.sign(x) * s.floor(s.Abs(x))
        if dtype == "int64"
        else s.condition(x)
        if dtype == "bool"
        else x
    )


def _to(dtype: str) -> Any:
    return lambda xp, x: _cast(xp, x, dtype)


OPS = [
    _making(
        "zeros",
        "; shape",
        "An array of zeros.",
        differentiable=False,
        result_shape=lambda shape: sizes("zeros", shape),
        compute=lambda xp, shape, dtype: xp.zeros(sizes("zeros", shape), dtype=dtype),
    ),
    _making(
        "ones",
        "; shape",
        "An array of ones.",
        differentiable=False,
        result_shape=lambda shape: sizes("ones", shape),
        compute=lambda xp, shape, dtype: xp.ones(sizes("ones", shape), dtype=dtype),
    ),
    _making(
        "full",
        "shape: value",
        "An array full of a value.",
        linear=True,
        result_shape=lambda value, shape: sizes("full", shape),
        vjp=(lambda m, g, y, value, shape: m.sum_to(g, shape=value.shape),),
        symbolic=lambda s, value, shape: s.xp.full(sizes("full", shape), value, dtype=object),
        rows=lambda xp, compute, operands, laned, options, n: compute(
            *operands, **{**options, "shape": (*sizes("full", options["shape"]), n)}
        ),
        compute=_full,
    ),
    _making(
        "eye",
        "; n, m=none, k=0",
        "A matrix with ones on the diagonal.",
        aliases=("identity",),
        differentiable=False,
        compute=_eye,
        result_shape=_eye_shape,
    ),
    _making(
        "arange",
        "; start, stop=none, step=1",
        "Numbers from start (or 0) up to, not including, stop.",
        differentiable=False,
        compute=_arange,
        result_shape=_arange_shape,
        note="no derivative by its bounds, which say how many there are: `linspace` has one",
    ),
    _making(
        "linspace",
        "start, stop; num=50",
        "Evenly spaced numbers from start to stop, both included.",
        linear=True,
        compute=_linspace,
        result_shape=lambda start, stop, num: sizes("linspace", whole("linspace", num, "num")),
        vjp=(
            lambda m, g, y, start, stop, num: m.sum(g * m.linspace(1.0, 0.0, num=num)),
            lambda m, g, y, start, stop, num: m.sum(g * m.linspace(0.0, 1.0, num=num)),
        ),
    ),
    _making(
        "zeros_like",
        "x",
        "Zeros in the shape of x.",
        differentiable=False,
        compute=lambda xp, x, **run: xp.zeros(*_form(xp, x)),
        rows=elementwise,
    ),
    _making(
        "ones_like",
        "x",
        "Ones in the shape of x.",
        differentiable=False,
        compute=lambda xp, x, **run: xp.ones(*_form(xp, x)),
        rows=elementwise,
    ),
    _casting(
        "cast",
        "x; dtype",
        "x as another type of number, given by its name.",
        compute=_cast,
        rows=elementwise,
        aliases=("astype",),
        symbolic=_cast_form,
        linear=True,
        vjp=(_cast_back,),
    ),
    _casting(
        "float32",
        "x",
        "x as a float of 32 bits.",
        compute=_to("float32"),
        rows=elementwise,
        symbolic=lambda s, x: x,
        linear=True,
        vjp=(_cast_back,),
    ),
    _casting(
        "float64",
        "x",
        "x as a float of 64 bits.",
        compute=_to("float64"),
        rows=elementwise,
        symbolic=lambda s, x: x,
        linear=True,
        vjp=(_cast_back,),
    ),
    _casting(
        "complex128",
        "x",
        "x as a complex number.",
        compute=_to("complex128"),
        rows=elementwise,
        symbolic=lambda s, x: x,
        linear=True,
        vjp=(_cast_back,),
    ),
    _casting(
        "int64",
        "x",
        "x as an int, rounded towards 0.",
        compute=_to("int64"),
        rows=elementwise,
        differentiable=False,
        symbolic=lambda s, x: _cast_form(s, x, "int64"),
    ),
]
