"""What needs the interpreter itself: derivatives, and the functions of lists. The engine implements these by name."""

from __future__ import annotations

from typing import Any

from .op import Op


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="derivatives", engine=True, **facts)


def _list(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="lists", engine=True, **facts)


OPS = [
    _op("grad", 'target, sources; unconnected="none", seed=none', "The gradient of the sum of the target, in reverse mode.",
        aliases=("gradient",), note="an unconnected source gives none, or zeros"),
    _op("jacobian", 'target, source; mode="auto"', "All first derivatives: target.shape + source.shape.", aliases=("jac",)),
    _op("hessian", 'target, source; mode="auto"', "All second derivatives of a scalar."),
    _op("hvp", "target, source, v", "The Hessian times a vector."),
    _op("vjp", "target, sources, u", "A vector times the Jacobian."),
    _op("jvp", "target, sources, v", "The Jacobian times a vector."),
    _op("detach", "x", "The value without its history.", aliases=("lax_stop_gradient",)),
    _op("stop_gradient", "x", "The value without its history, as `detach`."),

    _list("range", "*bounds", "The ints from start (or 0) up to, not including, stop, by step."),
    _list("zip", "*sequences", "The elements of several sequences side by side."),
    _list("enumerate", "sequence", "The elements with their positions."),
    _list("len", "x", "How many elements a list, or rows an array, has."),
    _list("append", "list, value", "A longer list; the one given stays as it is."),
    _list("array", "list", "A list of numbers, or of rows, as an array.", aliases=("asarray", "tensor")),
]  # fmt: skip
