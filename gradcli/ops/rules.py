"""Helpers of structural entries: checked axes and shapes, and the small steps that rules are made
of."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from .op import OpError

Shape = tuple[int, ...]

# ---- options, checked ----------------------------------------------------------------------------


def whole(name: str, value: Any, what: str) -> int:
    """An option that must be an int."""
    if isinstance(value, bool):
        raise OpError(f"`{name}` needs an int for `{what}`, not {shown(value)}")
    try:
        index: int = operator.index(value)
    except TypeError:
        raise OpError(
            f"`{name}` needs an int for `{what}`, not {shown(value)}",
            "ints are written without a point: 3" if isinstance(value, float) else "",
        ) from None
    return index


def wholes(name: str, value: Any, what: str) -> tuple[int, ...]:
    """An option that must be an int or a list of ints."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return (
        tuple(whole(name, v, what) for v in value)
        if isinstance(value, (list, tuple))
        else (whole(name, value, what),)
    )


def number(name: str, value: Any, what: str, kinds: tuple[type, ...] = (int, float)) -> Any:
    """A parameter that must be one number, a real one unless `kinds` says more; it may be an array
    of rank 0."""
    if hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()
    if isinstance(value, kinds) and not isinstance(value, bool):
        return value
    raise OpError(f"`{name}` needs a number for `{what}`, not {shown(value)}")


def shown(value: Any) -> str:
    """An option that doesn't fit, as a program would write it."""
    if getattr(value, "shape", ()):
        return f"an array of shape {value.shape}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return "a dict" if isinstance(value, dict) else str(value)


def one_of(name: str, value: Any, what: str, choices: Iterable[str]) -> str:
    """An option that must be one of a few words."""
    if isinstance(value, str) and value in choices:
        return value
    raise OpError(
        f"`{name}` has no {what} {shown(value)}",
        f"{what}s are " + ", ".join(f'"{known}"' for known in choices),
    )


def sizes(name: str, shape: Any) -> Shape:
    """A shape given as an int or a list of ints, none of them negative."""
    checked = wholes(name, shape, "shape")
    if any(size < 0 for size in checked):
        raise OpError(f"`{name}` cannot make an array of shape {checked}: sizes are not negative")
    return checked


def one_axis(axis: Any, shape: Shape, extra: int = 0) -> int:
    """The axis, counted from the front; `extra` is how many axes the result has more."""
    index, ndim = whole("axis", axis, "axis"), len(shape) + extra
    if not -ndim <= index < ndim:
        raise OpError(
            f"axis {index} is out of range for an array of {_dimensions(len(shape))}, shape {shape}"
        )
    return index % ndim


def all_axes(axis: Any, shape: Shape) -> tuple[int, ...]:
    """The axes that `axis` names, counted from the front: all of them for None."""
    if axis is None:
        return tuple(range(len(shape)))
    axes = tuple(one_axis(a, shape) for a in wholes("axis", axis, "axis"))
    if len(set(axes)) < len(axes):
        raise OpError(f"axis {list(axes)} names an axis twice")
    return axes


def _dimensions(n: int) -> str:
    return "1 dimension" if n == 1 else f"{n} dimensions"


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The shape that operands of `name` have together, by NumPy's rules."""
    ndim = max((len(shape) for shape in shapes), default=0)
    together = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and together[axis] not in (1, size):
                listed = (
                    " and ".join(map(str, shapes))
                    if len(shapes) == 2
                    else ", ".join(map(str, shapes))
                )
                raise OpError(f"`{name}` cannot broadcast shapes {listed} together")
            together[axis] = size if size != 1 else together[axis]
    return tuple(together)


def kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape after reducing `axes` with keepdims."""
    return tuple(1 if k in axes else size for k, size in enumerate(shape))


def inverse(indices: list[int]) -> list[int]:
    """The permutation that undoes a permutation."""
    return sorted(range(len(indices)), key=indices.__getitem__)


# ---- steps of rules ------------------------------------------------------------------------------


def is_complex(value: Any) -> bool:
    dtype = (
        value.dtype
    )  # of arrays an object whose text takes longer to make than small products do
    return dtype.startswith("complex") if type(dtype) is str else dtype.kind == "c"


def conj(m: Any, value: Any) -> Any:
    """The conjugate; a real value is returned as it is."""
    return m.conj(value) if is_complex(value) else value


def adjoint(m: Any, x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    x = conj(m, x)
    return x.T if x.ndim == 2 else m.swapaxes(x, axis1=-1, axis2=-2)


def real_as(m: Any, value: Any, y: Any) -> Any:
    """The real part of a tangent that belongs to a real result."""
    return m.real(value) if is_complex(value) and not is_complex(y) else value


def fit(m: Any, g: Any, x: Any) -> Any:
    """Sums a cotangent of a broadcast operand back to the operand's shape."""
    return g if g.shape == tuple(x.shape) else m.sum_to(g, shape=x.shape)


def spread(m: Any, g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Broadcasts a value of the shape of a reduction's result over the elements of its operand
    `x`."""
    shape = tuple(x.shape)
    if not keepdims and axis is not None:
        g = m.reshape(g, shape=kept_shape(shape, all_axes(axis, shape)))
    return g if g.shape == shape else m.broadcast_to(g, shape=shape)


def by_slope(slope: Callable[..., Any], **fixed: Any) -> dict[str, Any]:
    """Both rules of a reduction, from its slope `(m, y, x, **options)`: how much the result moves
    with each element.

    `fixed` are options that aren't the op's own: the `axis` or `keepdims` of one that has none.
    """

    def back(m: Any, g: Any, y: Any, x: Any, **options: Any) -> Any:
        options |= fixed
        return spread(m, g, x, options["axis"], options["keepdims"]) * slope(m, y, x, **options)

    def forward(m: Any, t: Any, y: Any, x: Any, **options: Any) -> Any:
        options |= fixed
        product = m.strict_mul(t[0], conj(m, slope(m, y, x, **options)))
        return real_as(m, m.sum(product, axis=options["axis"], keepdims=options["keepdims"]), y)

    return {"vjp": (back,), "jvp": forward}


def reshaped(m: Any, g: Any, shape: Shape) -> Any:
    return g if g.shape == tuple(shape) else m.reshape(g, shape=tuple(shape))


def ratio(a: float, b: float) -> float:
    """a / b as IEEE has it."""
    return a / b if b else math.nan if a == 0 else math.inf


class OfSeveral:
    """The rule of an op of any number of operands by one of them, which `several` gives of some at
    once: `(m, g, y, places, *operands, **options)`. Of many that takes less than one by one."""

    def __init__(self, several: Callable[..., list[Any]]) -> None:
        self.several = several

    def __call__(self, m: Any, g: Any, y: Any, k: int, *operands: Any, **options: Any) -> Any:
        return self.several(m, g, y, [k], *operands, **options)[0]
