"""The structural entries written with NumPy, for arrays of floats and for arrays of mpmath's
numbers alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .special_functions import MP


def _each(of_floats: Callable[[Any], Any], of_mpmath: Callable[[Any], Any]) -> Callable[[Any], Any]:
    exactly = np.vectorize(of_mpmath, otypes=[object])
    return lambda x: exactly(x) if np.asarray(x).dtype == object else of_floats(x)


_exp, _log, _sqrt = _each(np.exp, MP.exp), _each(np.log, MP.log), _each(np.sqrt, MP.sqrt)
_real, _imag = (
    _each(np.real, lambda z: MP.mpmathify(z).real),
    _each(np.imag, lambda z: MP.mpmathify(z).imag),
)
_conj = _each(np.conj, MP.conj)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, keepdims: function(x, axis=_axes(axis), keepdims=keepdims)


def _count(x: Any, axis: Any) -> int:
    total = np.sum(np.ones(np.shape(x), dtype=int), axis=_axes(axis))
    return int(np.max(total))


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(x, axis=_axes(axis), keepdims=keepdims) / _count(x, axis)


def _var(x: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    off = x - _mean(x, axis, True)
    return np.sum(_real(off * _conj(off)), axis=_axes(axis), keepdims=keepdims) / (
        _count(x, axis) - ddof
    )


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    size, axis = np.abs(x), _axes(axis)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord in (2, "fro"):
        return _sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (
        1 / MP.mpf(ord) if size.dtype == object else 1 / ord
    )


def _median(x: Any, axis: Any, keepdims: bool) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    lines = np.sort(
        np.transpose(x, (*rest, *axes)).reshape(*(x.shape[k] for k in rest), -1), axis=-1
    )
    n = lines.shape[-1]
    found = (lines[..., (n - 1) // 2] + lines[..., n // 2]) / 2
    return (
        np.reshape(found, [1 if k in axes else n for k, n in enumerate(x.shape)])
        if keepdims
        else found
    )


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    return _log(np.sum(_exp(x), axis=_axes(axis), keepdims=keepdims))


def _softmax(x: Any, axis: Any) -> Any:
    return _exp(x - _logsumexp(x, axis, True))


def _one_hot(labels: Any, n: int) -> Any:
    return (np.asarray(labels)[..., None] == np.arange(n)).astype(int)


def _cross_entropy(logits: Any, labels: Any) -> Any:
    logs = logits - _logsumexp(logits, -1, True)
    weights = labels if np.shape(labels) == logits.shape else _one_hot(labels, logits.shape[-1])
    return -np.sum(weights * logs, axis=-1)


def _recurrence(a: Any, b: Any) -> Any:
    a, b = np.broadcast_arrays(a, b)
    found = b.copy()
    for k in range(1, b.shape[-1]):
        found[..., k] = b[..., k] + a[..., k] * found[..., k - 1]
    return found


def _shift(x: Any, by: int, fill: float) -> Any:
    found = np.roll(x, by, axis=-1)
    found[..., 0 if by == 1 else -1] = fill
    return found


def _untake(g: Any, indices: Any, axis: int, shape: Any) -> Any:
    total, indices = np.zeros(shape, dtype=g.dtype), np.asarray(indices)
    picked = np.moveaxis(g, tuple(range(axis, axis + indices.ndim)), tuple(range(indices.ndim)))
    np.add.at(np.moveaxis(total, axis, 0), indices, picked)
    return total


def _ungather(g: Any, indices: Any, axis: int, shape: Any) -> Any:
    total = np.zeros(shape, dtype=g.dtype)
    for place in np.ndindex(*g.shape):
        total[(*place[:axis], indices[place], *place[axis + 1 :])] += g[place]
    return total


def _scatter_add(x: Any, indices: Any, values: Any) -> Any:
    total = np.array(x)
    np.add.at(total, indices, values)
    return total


def _put(x: Any, value: Any, index: Any, inplace: bool) -> Any:
    found = np.array(x)
    found[index] = value
    return found


def _put_more(x: Any, value: Any, index: Any, inplace: bool) -> Any:
    found = np.array(x)
    np.add.at(found, index, value)
    return found


def _pad(x: Any, value: Any, width: Any, mode: str) -> Any:
    return np.pad(x, width, mode, **({"constant_values": value} if mode == "constant" else {}))


def _split(x: Any, sections: Any, axis: int) -> Any:
    return list(np.split(x, sections, axis=axis))


def _trace(x: Any, offset: int) -> Any:
    return np.trace(x, offset=offset, axis1=-2, axis2=-1)


def _fourier(sign: int) -> Callable[..., Any]:
    """By the matrix of the transform, backwards with sign 1."""

    def transform(x: Any, n: Any, axis: int, norm: str) -> Any:
        n = x.shape[axis] if n is None else n
        lines = np.moveaxis(x, axis, -1)[..., :n]
        turns = np.outer(np.arange(lines.shape[-1]), np.arange(n)) % n
        if x.dtype == object:
            matrix = np.vectorize(
                lambda k: MP.expjpi(sign * 2 * MP.mpf(int(k)) / n), otypes=[object]
            )(turns)
        else:
            matrix = np.exp(sign * 2j * np.pi * turns / n)
        power = {"backward": (sign + 1) // 2, "ortho": 0.5, "forward": (1 - sign) // 2}[norm]
        root = MP.mpf(n) if x.dtype == object else n
        return np.moveaxis(lines @ matrix / root**power, -1, axis)

    return transform


def _rfft(x: Any, n: Any, axis: int, norm: str) -> Any:
    n = x.shape[axis] if n is None else n
    return np.take(_fourier(-1)(x, n, axis, norm), range(n // 2 + 1), axis=axis)


def _irfft(x: Any, n: Any, axis: int, norm: str) -> Any:
    n = 2 * (x.shape[axis] - 1) if n is None else n
    half = np.moveaxis(x, axis, 0)[: n // 2 + 1]
    whole = np.zeros((n, *half.shape[1:]), dtype=half.dtype)
    whole[: len(half)] = half
    whole[0] = _real(whole[0])
    if n % 2 == 0:
        whole[n // 2] = _real(whole[n // 2])
    for k in range(1, (n + 1) // 2):
        whole[n - k] = _conj(whole[k])
    return _real(np.moveaxis(_fourier(1)(whole, n, 0, norm), 0, axis))


def _twice_inside(x: Any, n: int, axis: int) -> Any:
    factors = np.full(x.shape[axis], 2)
    factors[0] = 1
    factors[n // 2] = 1 if n % 2 == 0 else 2
    return np.moveaxis(np.moveaxis(x, axis, -1) * factors, -1, axis)


def _pair(value: Any) -> tuple[int, int]:
    return tuple(value) if isinstance(value, list | tuple) else (value, value)  # type: ignore[return-value]


def _meetings(x: Any, kernel: Any, y: Any, stride: Any, padding: Any) -> Any:
    """Which elements of an image, a kernel and a result meet, by their rows and columns."""
    (step_i, step_j), (border_i, border_j) = _pair(stride), _pair(padding)
    for p, q, i, j in np.ndindex(*y, *kernel):
        row, column = p * step_i + i - border_i, q * step_j + j - border_j
        if 0 <= row < x[0] and 0 <= column < x[1]:
            yield (row, column), (i, j), (p, q)


def _conv(x: Any, kernel: Any, stride: Any, padding: Any) -> Any:
    sizes = zip(x.shape[2:], kernel.shape[2:], _pair(stride), _pair(padding), strict=True)
    places = tuple((n + 2 * border - k) // step + 1 for n, k, step, border in sizes)
    y = np.zeros((x.shape[0], kernel.shape[0], *places), dtype=x.dtype)
    for image, part, place in _meetings(x.shape[2:], kernel.shape[2:], places, stride, padding):
        y[:, :, *place] += x[:, :, *image] @ kernel[:, :, *part].T
    return y


def _conv_image(y: Any, kernel: Any, size: Any, stride: Any, padding: Any) -> Any:
    x = np.zeros((y.shape[0], kernel.shape[1], *size), dtype=y.dtype)
    for image, part, place in _meetings(size, kernel.shape[2:], y.shape[2:], stride, padding):
        x[:, :, *image] += y[:, :, *place] @ kernel[:, :, *part]
    return x


def _conv_kernel(x: Any, y: Any, size: Any, stride: Any, padding: Any) -> Any:
    kernel = np.zeros((y.shape[1], x.shape[1], *size), dtype=y.dtype)
    for image, part, place in _meetings(x.shape[2:], size, y.shape[2:], stride, padding):
        kernel[:, :, *part] += y[:, :, *place].T @ x[:, :, *image]
    return kernel


def _interp(x: Any, points: Any, values: Any) -> Any:
    k = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    way = (x - points[k]) / (points[k + 1] - points[k])
    way = np.minimum(np.maximum(way, 0), 1)
    return values[k] + way * (values[k + 1] - values[k])


def _linspace(start: Any, stop: Any, num: int, **run: Any) -> Any:
    return start + (stop - start) * np.arange(num) / max(num - 1, 1)


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "where": np.where, "conj": _conj, "sum": _along(np.sum), "mean": _mean, "var": _var,
    "std": lambda x, **options: _sqrt(_var(x, **options)), "norm": _norm, "min": _along(np.min),
    "max": _along(np.max),
    "median": _median, "prod": _along(np.prod), "cumsum": np.cumsum, "cumprod": np.cumprod,
    "shift": _shift,
    "recurrence": _recurrence, "reshape": np.reshape, "ravel": np.ravel, "transpose": np.transpose,
    "swapaxes": np.swapaxes,
    "moveaxis": np.moveaxis, "expand_dims": lambda x, axis: np.expand_dims(x, _axes(axis)),
    "squeeze": np.squeeze,
    "flip": lambda x, axis: np.flip(x, _axes(axis)),
    "roll": lambda x, shift, axis: np.roll(x, shift, _axes(axis)),
    "broadcast_to": np.broadcast_to, "concatenate": lambda *xs, axis: np.concatenate(xs, axis=axis),
    "stack": lambda *xs, axis: np.stack(xs, axis=axis), "split": _split, "tile": np.tile,
    "repeat": np.repeat, "pad": _pad,
    "diag": np.diag, "tril": lambda x, k: x * np.tri(*x.shape[-2:], k, dtype=int),
    "triu": lambda x, k: x * (1 - np.tri(*x.shape[-2:], k - 1, dtype=int)),
    "sum_to": lambda x, shape: np.sum(x, axis=(0, 1)).reshape(shape), "sort": np.sort,
    "take": np.take,
    "gather": lambda x, indices, axis: np.take_along_axis(x, indices, axis),
    "scatter_add": _scatter_add, "untake": _untake,
    "ungather": _ungather, "setitem": _put, "index_add": _put_more,
    "getitem": lambda x, index: x[index], "softmax": _softmax,
    "log_softmax": lambda x, axis: x - _logsumexp(x, axis, True), "logsumexp": _logsumexp,
    "cross_entropy": _cross_entropy,
    "class_errors": lambda x, labels: _softmax(x, -1) - _one_hot(labels, x.shape[-1]),
    "matmul": np.matmul, "dot": np.dot,
    "inner": np.inner, "outer": np.outer, "cross": np.cross, "kron": np.kron, "trace": _trace,
    "einsum": lambda *xs, subscripts: np.einsum(subscripts, *xs), "conv": _conv,
    "conv_image": _conv_image,
    "conv_kernel": _conv_kernel, "convolve": np.convolve, "fft": _fourier(-1), "ifft": _fourier(1),
    "rfft": _rfft,
    "correlate": np.correlate,
    "irfft": _irfft, "twice_inside": _twice_inside, "interp": _interp, "linspace": _linspace,
    "full": lambda value, shape, **run: np.full(shape, value), "cast": lambda x, dtype: x,
    "float64": lambda x: x,
    "complex128": lambda x: x,
}  # fmt: skip
