"""Fourier transforms along an axis."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import along_axis
from .rules import Shape, is_complex, one_axis, one_of, whole

_op = partial(Op, category="signal")


# The transposed transform goes the other way and leaves the factor where this one has it.
TRANSPOSED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _points(name: str, shape: Shape, n: Any, axis: Any, norm: Any) -> int:
    """How many points the transform is of, on the side of time."""
    if not shape:
        raise OpError(f"`{name}` needs an array, not a single number")
    one_of(name, norm, "norm", TRANSPOSED)
    given = shape[one_axis(axis, shape)]
    points = whole(name, n, "n") if n is not None else 2 * (given - 1) if name == "irfft" else given
    if points < 1:
        raise OpError(f"`{name}` needs 1 point at least, not {points}: the shape is {shape}")
    return points


def _transform(name: str, summary: str, back: Any) -> Op:
    def shape(x: Shape, n: Any, axis: Any, norm: Any) -> Shape:
        points = _points(name, x, n, axis, norm)
        k = one_axis(axis, x)
        return (*x[:k], points // 2 + 1 if name == "rfft" else points, *x[k + 1 :])

    def compute(xp: Any, x: Any, n: Any, axis: Any, norm: Any) -> Any:
        x = xp.asarray(x)
        points = _points(name, x.shape, n, axis, norm)
        if name == "rfft" and x.dtype.kind == "c":
            raise OpError("`rfft` is for real numbers", "of complex ones there is `fft`")
        y = getattr(xp.fft, name)(x, n=points, axis=one_axis(axis, x.shape), norm=norm)
        return y.astype("complex128") if y.dtype.kind == "c" else y

    def vjp(m: Any, g: Any, y: Any, x: Any, n: Any, axis: Any, norm: Any) -> Any:
        given = tuple(x.shape)
        found = back(m, g, n=_points(name, given, n, axis, norm), axis=axis, norm=TRANSPOSED[norm])
        return _as_real(m, _resized(m, found, given, one_axis(axis, given)), x)

    return _op(
        name,
        'x; n=none, axis=-1, norm="backward"',
        summary,
        compute=compute,
        rows=along_axis,
        result_shape=shape,
        linear=True,
        vjp=(vjp,),
    )


def _resized(m: Any, v: Any, shape: Shape, axis: int) -> Any:
    """Cuts `v` off, or adds zeros, at the end of an axis."""
    more = shape[axis] - v.shape[axis]
    if more > 0:
        return m.pad(v, width=[[0, more if k == axis else 0] for k in range(len(shape))])
    return m.getitem(v, index=(*[slice(None)] * axis, slice(0, shape[axis]))) if more else v


def _as_real(m: Any, c: Any, x: Any) -> Any:
    """Converts a cotangent to the dtype of `x` if that is real: transforms are computed in
    complex128."""
    if is_complex(x):
        return c
    return m.cast(m.real(c) if is_complex(c) else c, dtype=str(x.dtype))


def _rfft_back(m: Any, g: Any, **options: Any) -> Any:
    return m.real(m.ifft(g, **options))


def _irfft_back(m: Any, g: Any, **options: Any) -> Any:
    """The pullback of `irfft`: every frequency but the first and the middle one counts twice."""
    return m.twice_inside(m.rfft(g, **options), n=options["n"], axis=options["axis"])


def _twice_inside(xp: Any, x: Any, n: int, axis: int) -> Any:
    y = 2.0 * xp.moveaxis(x, axis, 0)
    for k in (0, n // 2) if n % 2 == 0 else (0,):
        y[k] = xp.moveaxis(x, axis, 0)[k]
    return xp.moveaxis(y, 0, axis)


OPS = [
    _transform(
        "fft",
        "The discrete Fourier transform along an axis, of n points.",
        lambda m, g, **options: m.ifft(g, **options),
    ),
    _transform("ifft", "The inverse of fft.", lambda m, g, **options: m.fft(g, **options)),
    _transform(
        "rfft",
        "The Fourier transform of real numbers: the first half of fft, which the other half "
        "mirrors.",
        _rfft_back,
    ),
    _transform("irfft", "The inverse of rfft; n = 2 (m - 1) points from m.", _irfft_back),
    _op(
        "twice_inside",
        "x; n, axis",
        "The frequencies of rfft of n points, twice but for the first and the middle one.",
        internal=True,
        compute=_twice_inside,
        rows=along_axis,
        linear=True,
        vjp=(lambda m, g, y, x, n, axis: m.twice_inside(g, n=n, axis=axis),),
    ),
]
