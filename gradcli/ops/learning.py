"""Activations and losses of machine learning."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import inner_shapes, on_axes, over_axes
from .rows_linalg import batched
from .rules import all_axes, by_slope, whole

INF = math.inf
REAL = (-INF, INF)
ROOT_HALF = math.sqrt(0.5)
ROOT_2PI = math.sqrt(2.0 * math.pi)


_op = partial(Op, category="learning")


def _silu_slope(m: Any, y: Any, x: Any) -> Any:
    return m.sigmoid(x) * (1.0 + x * m.sigmoid(-x))


# ---- exponentials that sum to something ----------------------------------------------------------


SHORT = 32  # elements


def _reduced(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    """The array's reduction `name` along the axes, which are kept. A row of few elements takes
    longer to begin than to reduce, so a matrix of such rows is transposed first."""
    if axes == (1,) and x.ndim == 2 and x.shape[1] <= SHORT < x.shape[0]:
        return getattr(x.T.copy(), name)(axis=0)[:, None]
    return getattr(x, name)(axis=axes, keepdims=True)


def _shifted(xp: Any, x: Any, axis: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Returns x less its maximum along the axes, that maximum (0 where infinite), and the axes."""
    x = xp.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype("float64")
    axes = all_axes(axis, x.shape)
    if not x.size:
        return x, xp.zeros((), dtype=x.dtype), axes
    top = _reduced("max", x, axes)
    finite = xp.isfinite(top)
    if not finite.all():
        top = xp.where(finite, top, xp.zeros_like(top))
    return x - top, top, axes


def _softmax(xp: Any, x: Any, axis: Any) -> Any:
    shifted, _, axes = _shifted(xp, x, axis)
    weights = xp.exp(shifted)
    total = _reduced("sum", weights, axes)
    if not total.all():
        total = xp.where(total == 0, xp.ones_like(total), total)
    weights /= total
    return weights


def _softmax_back(m: Any, g: Any, y: Any, axis: Any) -> Any:
    """y times g less its mean, weighed by y. That is taken off twice, as the difference cancels
    where one weight is almost 1."""
    centred = g - m.sum(g * y, axis=axis, keepdims=True)
    return y * (centred - m.sum(centred * y, axis=axis, keepdims=True))


def _softmax_forward(m: Any, t: Any, y: Any, x: Any, axis: Any) -> Any:
    centred = t[0] - m.sum(m.strict_mul(t[0], y), axis=axis, keepdims=True)
    return m.strict_mul(centred - m.sum(m.strict_mul(centred, y), axis=axis, keepdims=True), y)


def _log_softmax(xp: Any, x: Any, axis: Any) -> Any:
    shifted, _, axes = _shifted(xp, x, axis)
    return shifted - xp.log(_reduced("sum", xp.exp(shifted), axes))


def _logsumexp(xp: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    shifted, top, axes = _shifted(xp, x, axis)
    total = xp.log(_reduced("sum", xp.exp(shifted), axes)) + top
    return total if keepdims else xp.squeeze(total, axis=axes)


def _softmax_form(s: Any, x: Any, axis: Any) -> Any:
    weights = s.exp(x)
    return weights / weights.sum(axis=all_axes(axis, x.shape), keepdims=True)


def _log_softmax_form(s: Any, x: Any, axis: Any) -> Any:
    return x - s.log(s.exp(x).sum(axis=all_axes(axis, x.shape), keepdims=True))


def _logsumexp_form(s: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return s.log(s.exp(x).sum(axis=all_axes(axis, x.shape), keepdims=bool(keepdims)))


# ---- classes -------------------------------------------------------------------------------------


def _classes(xp: Any, name: str, labels: Any, classes: int) -> Any:
    """Labels as ints from 0 up to `classes`."""
    labels = xp.asarray(labels)
    if labels.dtype.kind not in "iub":
        raise OpError(
            f"`{name}` needs ints as labels, not {labels.dtype}", "classes are numbered 0, 1, 2, …"
        )
    if labels.size and (int(labels.min()) < 0 or int(labels.max()) >= classes):
        bad = labels[(labels < 0) | (labels >= classes)].reshape(-1)[0]
        raise OpError(f"`{name}`: label {int(bad)} is out of range for {classes} classes")
    return labels.astype("int64")


def _class_count(classes: Any) -> int:
    count = whole("one_hot", classes, "classes")
    if count < 1:
        raise OpError(f"`one_hot` needs at least 1 class, not {count}")
    return count


def _one_hot(xp: Any, labels: Any, classes: Any, dtype: str) -> Any:
    labels = _classes(xp, "one_hot", labels, _class_count(classes))
    return (labels[..., None] == xp.arange(classes)).astype(dtype)


def _by_number(logits: Any, labels: Any) -> bool:
    """Whether the labels are class numbers, one per row, rather than weights, one per class."""
    return tuple(labels.shape) == tuple(logits.shape[:-1])


def _cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    logits, labels = xp.asarray(logits), xp.asarray(labels)
    if not logits.ndim or not (_by_number(logits, labels) or labels.shape == logits.shape):
        shapes = f"the logits are {logits.shape}, the labels {labels.shape}"
        raise OpError(f"`cross_entropy` needs a label a row, or a weight a class: {shapes}")
    if _by_number(logits, labels):
        labels = _classes(xp, "cross_entropy", labels, logits.shape[-1])
        shifted, _, axes = _shifted(xp, logits, -1)
        total = xp.log(_reduced("sum", xp.exp(shifted), axes))
        return total[..., 0] - shifted.reshape(-1, logits.shape[-1])[_places(xp, labels)].reshape(
            labels.shape
        )
    logs = _log_softmax(xp, logits, -1)
    return -xp.sum(xp.where(labels == 0, 0.0, labels * logs), axis=-1)


def _places(xp: Any, labels: Any) -> tuple[Any, Any]:
    """Where the labels point to in a matrix of a row for each."""
    return xp.arange(labels.size), labels.reshape(-1)


def _label_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    logits, labels = inner_shapes(operands, laned)
    return batched(1, 1 if labels == logits else 0, alike=True)(
        xp, compute, operands, laned, options, n
    )


def _class_errors(xp: Any, logits: Any, labels: Any) -> Any:
    """softmax(logits), less 1 at the right class of each row: that is minus the sum of the others,
    in which nothing cancels where the right class is almost certain."""
    errors = xp.ascontiguousarray(_softmax(xp, logits, -1))
    rows, right = errors.reshape(-1, errors.shape[-1]), _places(xp, xp.asarray(labels))
    rows[right] = 0.0
    rows[right] = 0.0 - _reduced("sum", rows, (1,))[:, 0]
    return errors


def _class_errors_back(m: Any, g: Any, y: Any, logits: Any, labels: Any) -> Any:
    return _softmax_back(m, g, m.softmax(logits, axis=-1), -1)


def _class_errors_forward(m: Any, t: Any, y: Any, logits: Any, labels: Any) -> Any:
    return _softmax_forward(m, t, m.softmax(logits, axis=-1), logits, -1)


def _cross_entropy_slope(m: Any, logits: Any, labels: Any) -> Any:
    if _by_number(logits, labels):
        return m.class_errors(logits, labels)
    return m.softmax(logits, axis=-1) * m.sum(labels, axis=-1, keepdims=True) - labels


def _cross_entropy_back(m: Any, g: Any, y: Any, logits: Any, labels: Any) -> Any:
    return m.expand_dims(g, axis=-1) * _cross_entropy_slope(m, logits, labels)


def _cross_entropy_forward(m: Any, t: Any, y: Any, logits: Any, labels: Any) -> Any:
    by_logits, by_labels = t
    along = (
        None
        if by_labels is None
        else -m.sum(m.strict_mul(by_labels, m.log_softmax(logits, axis=-1)), axis=-1)
    )
    if by_logits is None:
        return along
    total = m.sum(m.strict_mul(by_logits, _cross_entropy_slope(m, logits, labels)), axis=-1)
    return total if along is None else total + along


def _cross_entropy_back_labels(m: Any, g: Any, y: Any, logits: Any, labels: Any) -> Any:
    return -(m.expand_dims(g, axis=-1) * m.log_softmax(logits, axis=-1))


def _cross_entropy_form(s: Any, logits: Any, labels: Any) -> Any:
    logs = _log_softmax_form(s, logits, -1)
    if not _by_number(logits, labels):
        return -(labels * logs).sum(axis=-1)
    return -s.xp.take_along_axis(logs, labels.astype("int64")[..., None], -1)[..., 0]


def _class_errors_form(s: Any, logits: Any, labels: Any) -> Any:
    right = s.xp.eye(logits.shape[-1], dtype="int64")[labels.astype("int64")]
    return _softmax_form(s, logits, -1) - right


OPS = [
    _op(
        "relu",
        "x",
        "x where it is positive, 0 elsewhere.",
        symbolic=lambda s, x: s.Piecewise((x, x > 0), (0, True)),
        domain=((0.1, INF),),
        note="derivative 0 at 0",
        forward=lambda m, x: m.maximum(x, 0.0),
        partials=(lambda m, y, x: m.where(y > 0, 1.0, 0.0),),
    ),
    _op(
        "leaky_relu",
        "x, slope=0.01",
        "x where it is positive, slope * x elsewhere.",
        domain=((-INF, -0.1), REAL),
        note="derivative slope at 0",
        forward=lambda m, x, slope: m.where(x > 0, x, slope * x),
        partials=(
            lambda m, y, x, slope: m.where(x > 0, 1.0, slope),
            lambda m, y, x, slope: m.where(x > 0, 0.0, x),
        ),
    ),
    _op(
        "elu",
        "x, alpha=1.0",
        "x where it is positive, alpha * (exp(x) - 1) elsewhere.",
        domain=((-INF, -0.1), REAL),
        note="derivative alpha at 0",
        forward=lambda m, x, alpha: m.where(x > 0, x, alpha * m.expm1(x)),
        partials=(
            lambda m, y, x, alpha: m.where(x > 0, 1.0, alpha * m.exp(x)),
            lambda m, y, x, alpha: m.where(x > 0, 0.0, m.expm1(x)),
        ),
    ),
    _op(
        "gelu",
        "x",
        "x times the normal distribution function (the erf form).",
        symbolic=lambda s, x: x * s.erfc(-x / s.sqrt(2)) / 2,
        forward=lambda m, x: 0.5 * x * m.erfc(-ROOT_HALF * x),
        partials=(
            lambda m, y, x: 0.5 * m.erfc(-ROOT_HALF * x) + x * m.exp(-0.5 * x * x) / ROOT_2PI,
        ),
    ),
    _op(
        "silu",
        "x",
        "x * sigmoid(x).",
        aliases=("swish",),
        forward=lambda m, x: x * m.sigmoid(x),
        partials=(_silu_slope,),
    ),
    _op(
        "sigmoid",
        "x",
        "1 / (1 + exp(-x)).",
        aliases=("logistic",),
        forward=lambda m, x: 1.0 / (1.0 + m.exp(-x)),
        partials=(lambda m, y, x: m.square(0.5 * m.sech(0.5 * x)),),
    ),
    _op(
        "softplus",
        "x",
        "log(1 + exp(x)), without overflow.",
        symbolic=lambda s, x: s.log(1 + s.exp(x)),
        forward=lambda m, x: m.maximum(x, 0.0) + m.log1p(m.exp(-m.abs(x))),
        partials=(lambda m, y, x: m.sigmoid(x),),
    ),
    _op(
        "softmax",
        "x; axis=-1",
        "exp(x), scaled to sum to 1 along the axis.",
        compute=_softmax,
        rows=on_axes,
        saves=("result",),
        symbolic=_softmax_form,
        vjp=(lambda m, g, y, x, axis: _softmax_back(m, g, y, axis),),
        jvp=_softmax_forward,
    ),
    _op(
        "log_softmax",
        "x; axis=-1",
        "log(softmax(x)), without underflow.",
        compute=_log_softmax,
        rows=on_axes,
        saves=("result",),
        symbolic=_log_softmax_form,
        vjp=(lambda m, g, y, x, axis: g - m.exp(y) * m.sum(g, axis=axis, keepdims=True),),
        jvp=lambda m, t, y, x, axis: (
            t[0] - m.sum(m.strict_mul(t[0], m.exp(y)), axis=axis, keepdims=True)
        ),
    ),
    _op(
        "logsumexp",
        "x; axis=none, *, keepdims=false",
        "log(sum(exp(x))), without overflow.",
        compute=_logsumexp,
        rows=over_axes,
        saves=("x",),
        symbolic=_logsumexp_form,
        note="derivative 0 where all elements are -inf",
        **by_slope(lambda m, y, x, axis, keepdims: m.softmax(x, axis=axis)),
    ),
    _op(
        "cross_entropy",
        "logits, labels",
        "-log(softmax(logits)) of the right class, for each row.",
        compute=_cross_entropy,
        rows=_label_rows,
        saves=("logits", "labels"),
        symbolic=_cross_entropy_form,
        vjp=(_cross_entropy_back, _cross_entropy_back_labels),
        jvp=_cross_entropy_forward,
    ),
    _op(
        "class_errors",
        "logits, labels",
        "softmax(logits) less 1 at the right class of each row.",
        internal=True,
        compute=_class_errors,
        rows=_label_rows,
        saves=("logits",),
        symbolic=_class_errors_form,
        vjp=(_class_errors_back, None),
        jvp=_class_errors_forward,
    ),
    # Among those that make arrays, so that the engine tells it the run's dtype.
    Op(
        "one_hot",
        "labels; classes",
        "1 at the place of each label, 0 at the other classes.",
        category="making",
        compute=_one_hot,
        rows=lambda xp, compute, operands, laned, options, n: xp.swapaxes(
            compute(*operands, **options), -1, -2
        ),
        differentiable=False,
        result_shape=lambda labels, classes: (*labels, _class_count(classes)),
    ),
]
