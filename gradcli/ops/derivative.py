"""The builtins that need the interpreter: derivatives, and functions of lists. The engine
implements these by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op

_op = partial(Op, category="derivatives", engine=True)


def _derivative(name: str, params: str, summary: str, options: str = "", **facts: Any) -> Op:
    """A derivative of values, which is a transform where it is called with a function alone."""
    transform = _transform(name, summary, options)
    return _op(name, params, summary, of_function=transform, **facts)


def _transform(name: str, summary: str, options: str = "", **facts: Any) -> Op:
    return _op(name, f"function; wrt=0{options}", summary, transforms=True, **facts)


def _list(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="lists", engine=True, **facts)


_SPARSE = (
    "`sparse = true` gives a dict of the entries that aren't zero by structure: rows, cols, "
    "values, shape"
)

# The keyword of the vector by the kind of derivative.
VECTORS = {"jvp": "v", "value_and_jvp": "v", "hvp": "v", "vjp": "u"}

OPS = [
    _derivative(
        "grad",
        'target, sources; unconnected="none", seed=none',
        "The gradient of the sum of the target.",
        aliases=("gradient",),
        note="an unconnected source gives none, or zeros",
    ),
    _transform("value_and_grad", "The value of a function and its gradient, a list of both."),
    _derivative(
        "jacobian",
        'target, source; mode="auto", sparse=false',
        "All first derivatives: target.shape + source.shape.",
        ', mode="auto", sparse=false',
        note=_SPARSE,
        aliases=("jac", "jacfwd", "jacrev"),
    ),
    _derivative(
        "batch_jacobian",
        "target, source",
        "The Jacobian of each row of the target with respect to the same row of the source.",
    ),
    _derivative(
        "hessian",
        'target, source; mode="auto", sparse=false',
        "All second derivatives of a scalar.",
        ', mode="auto", sparse=false',
        note=_SPARSE,
    ),
    _derivative("hvp", "target, source, v", "The Hessian times a vector."),
    _derivative("vjp", "target, sources, u", "A vector times the Jacobian."),
    _derivative("jvp", "target, sources, v", "The Jacobian times a vector."),
    _transform("value_and_jvp", "The value of a function and its tangent, a list of both."),
    _op(
        "vmap",
        "function; in_axes=0",
        "A function on many rows at once: along an axis of its arguments, the first unless told.",
        transforms=True,
        aliases=("vectorize",),
        note=(
            "`in_axes` is an int, none for an argument that all rows share, or a list of these, "
            "one an argument"
        ),
    ),
    _op(
        "attach_grad",
        'x; req="write"',
        "Gives `x` a gradient that `backward` fills: `x.grad`, zeros at first.",
        note='`req = "add"` accumulates, `req = "null"` keeps none; it stands as a statement',
    ),
    _op(
        "backward",
        "target; head=none, retain=false, create=false",
        "Fills `x.grad` of everything attached that the target depends on.",
        note=(
            "the target comes from a `record` block, whose operations are consumed unless "
            "retained; `head` weighs it"
        ),
    ),
    _op(
        "detach",
        "x",
        "The value without its history.",
        aliases=("lax_stop_gradient",),
        differentiable=False,
    ),
    _op("stop_gradient", "x", "The value without its history, as `detach`.", differentiable=False),
    _list("range", "*bounds", "The ints from start (or 0) up to, not including, stop, by step."),
    _list("zip", "*sequences", "The elements of several sequences side by side."),
    _list("enumerate", "sequence", "The elements with their positions."),
    _list("len", "x", "How many elements a list, or rows an array, has."),
    _list("append", "list, value", "A longer list; the one given stays as it is."),
    _list(
        "array",
        "list",
        "A list of numbers, or of rows, as an array.",
        aliases=("asarray", "tensor"),
    ),
]
