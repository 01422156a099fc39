"""Targets and sources of a derivative, and the cotangents and tangents that a request gives for
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ...diagnostics import Span
from ...ops import OPS
from ..backends.backend import dtype_name, is_complex, is_inexact, shape_of
from ..operations.apply import apply, to_array
from ..operations.rows.narrowing import narrow_recorded
from ..operations.sequences import unpacked
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..values.boxes import primal
from ..values.kinds import (
    Instance,
    List,
    Transform,
    Variable,
    describe,
    is_callable,
    is_number,
    leaves,
    read,
    show_shape,
)
from ..values.lanes import Lanes

ADD, REAL = OPS["add"], OPS["real"]
CASTS = {name: OPS[name] for name in ("float32", "float64", "complex128")}


def number_of(source: Any) -> int | None:
    """The number of a source on the trace, for a variable or a traced value; None for any other
    value."""
    if type(source) is Variable:
        return source.number or None
    return source[1] if type(source) is tuple else None


def read_target(target: Any) -> Any:
    """The value of a target. A variable counts as traced even if no window watches it now: the tape
    that is asked may have watched it."""
    value = read(target)
    if type(target) is Variable and target.number and primal(value) is value:
        return target.leaf
    return value


def verify_target(
    run: Run, target: Any, span: Span | None, real: bool = True, of: Any = None
) -> list[Traced]:
    """The traced values in a target. Raises GradcliError (E314) for values that can't have a
    gradient, which with `real` includes complex numbers. `of` is the function whose value the
    target is, if a function is differentiated; the value of a gradient may be none, and then has no
    derivatives."""
    traced = []
    for value in map(read_target, leaves(target)):
        inner = primal(value)
        if inner is None and type(of) is Transform:
            continue  # a gradient by a source that isn't differentiable, which was reported
        if (
            inner is None
            or is_callable(inner)
            or type(inner) in (str, Instance)
            or (real and is_complex(inner))
        ):
            _refuse(run, inner, span, of)
        if type(value) is tuple and is_inexact(inner):
            traced.append(value)
    return traced


def _refuse(run: Run, value: Any, span: Span | None, of: Any) -> NoReturn:
    """Raises GradcliError (E314) for a value that can't be a target."""
    what, called = (
        ("the target", "") if of is None else (f"the value of `{of.name or 'fn'}`", of.name or "fn")
    )
    if is_callable(value):
        help = (
            "call it first: `grad(f(x), x)`; the derivative as a function is `grad(f)`, or "
            "`grad(f, wrt = [0, 1])`"
        )
        help = (
            f"call it in the function that is differentiated: `fn(x) = {called}(x)(…)`"
            if called
            else help
        )
        run.fail(
            "E314",
            f"{what} is {describe(value) if type(value) is Instance else 'a function'}",
            span,
            help=help,
        )
    if is_complex(value):
        run.fail(
            "E314",
            f"{what} is complex",
            span,
            help="take its `real` part, its `imag` part or its `abs`",
        )
    help = "a target is a number or an array"
    if value is None and called:
        help = f"`{called}` must `return` numbers or arrays, or lists or dicts of them"
    run.fail("E314", f"{what} is {describe(value)}", span, help=help)


def unit(run: Run, like: Any, k: int) -> Any:
    """Returns a value with the shape and dtype of `like` that is 1 at the element `k` and 0
    elsewhere.
    """
    if not shape_of(like):
        return ones_like(run, like)
    seed = run.backend.xp.zeros(like.shape, like.dtype)
    seed.ravel()[k : k + 1] = 1.0
    return seed


def ones_like(run: Run, value: Any) -> Any:
    """Ones of the value's shape and dtype: the cotangent of the operand of a sum."""
    value = primal(value)
    if type(value) is Lanes:
        group = (
            run.group if run.group is not None and run.group.within(value.group) else value.group
        )
        # broadcast from one number, so that products with it read no second array
        xp = run.backend.xp
        return Lanes(xp.broadcast_to(xp.ones((), value.dtype), (*value.shape, group.size)), group)
    if not shape_of(value):
        return 1.0 if type(value) is float else _scalar_like(run, value, 1.0)
    return run.backend.xp.ones(value.shape, value.dtype)


def _scalar_like(run: Run, value: Any, number: float) -> Any:
    """A number of the dtype of a scalar; of the run's dtype if that is no float."""
    if type(value) is complex:
        return complex(number)
    return (
        value.dtype.type(number)
        if hasattr(value, "dtype") and is_inexact(value)
        else run.real(number)
    )


def zeros_like(run: Run, value: Any) -> Any:
    """Zeros of the value's shape and dtype; of the run's dtype if that is no float."""
    value = primal(read(value))
    if not shape_of(value):
        return (
            _scalar_like(run, value, 0.0)
            if type(value) is not Lanes
            else run.backend.settle(value.dtype.type(0.0))
        )
    return run.backend.xp.zeros(
        value.shape, value.dtype if is_inexact(value) else run.settings.dtype
    )


def seeds_for(
    run: Run,
    traced: list[Traced],
    target: Any,
    seed: Any,
    site: Site,
    given: str = "seed",
    of: str = "target",
) -> list[tuple[Traced, Any]]:
    """The traced values in a target, each with its cotangent: its part of the seed, or ones if that
    is None. Messages call the seed `given` and the target `of`."""
    if seed is None:
        return merge_seeds(run, site, [(t, ones_like(run, t)) for t in traced])
    seeds = []
    for value, cotangent in pair_with(run, target, seed, site, given, of):
        value, cotangent = read_target(value), read(cotangent)
        if type(cotangent) is List:
            cotangent = to_array(run, site, cotangent)
        inner = primal(cotangent)
        _verify_shape(run, inner, primal(value), site, given, of)
        if type(value) is tuple:
            cotangent = cotangent if is_inexact(inner) else _as_float(run, inner)
            # a sweep sums over all other rows
            seeds.append((value, narrow_recorded(run, site, cotangent, run.group)))
    return merge_seeds(run, site, seeds)


def _verify_shape(run: Run, value: Any, like: Any, site: Site, given: str, of: str) -> None:
    """Raises GradcliError (E314) where a seed or vector has not the shape of its value."""
    if shape_of(value) != shape_of(like):
        ours, theirs = show_shape(shape_of(like)), show_shape(shape_of(value))
        message = f"the {given} has shape {theirs}, the {of} {ours}"
        run.fail("E314", message, site.span, help="they must be equal")


def merge_seeds(run: Run, site: Site, seeds: list[tuple[Traced, Any]]) -> list[tuple[Traced, Any]]:
    """Targets and their cotangents with each target once; its cotangents are added."""
    if len(seeds) < 2:
        return seeds
    merge_seeds: dict[int, tuple[Traced, Any]] = {}
    for target, cotangent in seeds:
        if target[1] in merge_seeds:
            cotangent = apply(run, site.in_derivative(ADD), (merge_seeds[target[1]][1], cotangent))
        merge_seeds[target[1]] = (target, cotangent)
    return list(merge_seeds.values())


def pair_with(
    run: Run, target: Any, seed: Any, site: Site, given: str, of: str
) -> Iterator[tuple[Any, Any]]:
    """Pairs each value of a target with its part of the seed, or each source with its part of the
    vector; both have one structure. An array may take the place of a list, with its rows as
    items. `given` and `of` are what messages call the two."""
    seed = read(seed)
    if type(target) is List and shape_of(primal(seed)):
        seed = List(unpacked(run, site, seed))
    if type(target) is List and type(seed) is List and len(target) == len(seed):
        pairs: Iterable[tuple[Any, Any]] = zip(target, seed, strict=True)
    elif type(target) is dict and type(seed) is dict and target.keys() == seed.keys():
        pairs = ((value, seed[key]) for key, value in target.items())
    elif type(target) in (List, dict):
        if type(target) is type(seed) is dict:
            message = f"the {given} has {_keys(seed)}, the {of} {_keys(target)}"
        else:
            message = f"the {given} is {describe(read(seed))}, the {of} {describe(target)}"
        run.fail("E314", message, site.span, help=f"a {given} has the structure of its {of}")
    else:
        yield target, seed
        return
    for value, part in pairs:
        yield from pair_with(run, value, part, site, given, of)


def _keys(given: dict[str, Any]) -> str:
    return "the keys " + ", ".join([f"`{key}`" for key in given]) if given else "no keys"


def _as_float(run: Run, value: Any) -> Any:
    """A value in the run's float dtype."""
    if type(value) is Lanes:
        return Lanes(value.array.astype(run.settings.dtype), value.group)
    return value.astype(run.settings.dtype) if shape_of(value) else run.real(float(value))


def direction(run: Run, source: Any, direction: Any, site: Site, of: str = "source") -> Any:
    """The vector along which a source moves, in the dtype of the source. Raises GradcliError (E314)
    for one that doesn't fit."""
    direction = read(direction)
    direction = to_array(run, site, direction) if type(direction) is List else direction
    like, inner = primal(read(source)), primal(direction)
    if not is_number(inner):
        run.fail(
            "E314",
            f"the vector is {describe(inner)}, the {of} {describe(like)}",
            site.span,
            help="give numbers",
        )
    _verify_shape(run, inner, like, site, "vector", of)
    if is_complex(inner) and not is_complex(like):
        run.fail(
            "E314",
            f"the vector is complex, the {of} real",
            site.span,
            help="a real number moves along real ones only",
        )
    return narrow_recorded(run, site, converted(run, site, direction, like), run.group)


def converted(run: Run, site: Site, derivative: Any, like: Any) -> Any:
    """A tangent or cotangent in the dtype of its value, and real where that is, by operations of
    the language."""
    inner = primal(derivative)
    if is_complex(inner) and not is_complex(like):
        derivative = apply(run, site.in_derivative(REAL), (derivative,))
    if (dtype := dtype_name(like)) in CASTS and dtype_name(primal(derivative)) != dtype:
        derivative = apply(run, site.in_derivative(CASTS[dtype]), (derivative,))
    return derivative
