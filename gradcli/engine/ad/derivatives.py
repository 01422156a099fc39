"""`grad` and its kin on values, all made of the reverse sweep; and what counts as a source or a
target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ...diagnostics import Span
from ...ops import OPS
from ..backends.backend import dtype_name, is_complex, is_inexact, shape_of
from ..operations.apply import apply, to_array
from ..operations.iteration import unpacked
from ..operations.rows.narrowing import narrowed
from ..trace.blanks import blank
from ..trace.run import Run, Unconnected
from ..trace.tape import Site, Traced, primal
from ..trace.unregistered import request
from ..trace.windows import Window
from ..values.kinds import (
    Instance,
    List,
    Transform,
    Variable,
    describe,
    differentiable,
    is_callable,
    is_number,
    leaves,
    map_structure,
    read,
    show_shape,
)
from ..values.lanes import Lanes
from .connections import verify_same
from .reverse import sweep

ADD = OPS["add"]
CASTS = {name: OPS[name] for name in ("float32", "float64", "complex128")}
EXPLAINED = 10  # gradients that there aren't, for each place that asks and each name


# ---- targets and sources -------------------------------------------------------------------------


def number_of(source: Any) -> int | None:
    """The number that identifies a source on the trace: of a variable, or of a traced value; None
    for any other."""
    if type(source) is Variable:
        return source.number or None
    return source[1] if type(source) is tuple else None


def read_target(target: Any) -> Any:
    """A target's value. A variable is one whatever watches it now: the tape that is asked may have
    watched it."""
    value = read(target)
    if type(target) is Variable and target.number and primal(value) is value:
        return target.leaf
    return value


def verify_target(
    run: Run, target: Any, span: Span | None, real: bool = True, of: Any = None
) -> list[Traced]:
    """The traced values in a target. Raises GradcliError (E314) for what has no gradient at all:
    with `real` complex numbers are among these. `of` is the function whose value the target is, if
    a function is differentiated: a gradient may be none, and has no derivatives then."""
    traced = []
    for value in map(read_target, leaves(target)):
        inner = primal(value)
        if inner is None and type(of) is Transform:
            continue  # a gradient by what isn't differentiable, which was told
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
    what, called = (
        ("the target", "") if of is None else (f"the value of `{of.name or 'fn'}`", of.name or "fn")
    )
    if is_callable(value):
        help = "call it first: `grad(f(x), x)`; the derivative as a function is `grad(f)`"
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


def gradients(
    run: Run,
    targets: list[tuple[Traced, Any]],
    sources: list[Any],
    recorded: bool,
    window: Window | None = None,
) -> list[Any]:
    """The cotangents of `sources`, None where unconnected in the window, for targets and their
    cotangents."""
    numbers = [number_of(s) for s in sources]
    verify_same(run, [target for target, _ in targets], sources)
    if recorded:
        run.trace.swept = True
    found = sweep(run, targets, {n for n in numbers if n is not None}, recorded, window)
    return [None if n is None else found.get(n) for n in numbers]


def ones_like(run: Run, value: Any) -> Any:
    """The cotangent of a sum: ones of the value's shape and dtype."""
    value = primal(value)
    if type(value) is Lanes:
        group = (
            run.group if run.group is not None and run.group.within(value.group) else value.group
        )
        xp = (
            run.backend.xp
        )  # one number that stands for all: what it is multiplied by needn't be read twice
        return Lanes(xp.broadcast_to(xp.ones((), value.dtype), (*value.shape, group.size)), group)
    if not shape_of(value):
        return 1.0 if type(value) is float else _scalar_like(run, value, 1.0)
    return run.backend.xp.ones(value.shape, value.dtype)


def _scalar_like(run: Run, value: Any, number: float) -> Any:
    """A number of the kind of a scalar; a float of the run's dtype for what is no float."""
    if type(value) is complex:
        return complex(number)
    return (
        value.dtype.type(number)
        if hasattr(value, "dtype") and is_inexact(value)
        else run.real(number)
    )


def zeros_like(run: Run, value: Any) -> Any:
    """Zeros of the value's shape and dtype; floats for what is no float."""
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
    """The traced values in a target, each with its cotangent: its part of the seed, or ones.
    Messages call the seed `given`, and the target `of`."""
    if seed is None:
        return merged(run, site, [(t, ones_like(run, t)) for t in traced])
    seeds = []
    for value, cotangent in beside(run, target, seed, site, given, of):
        value, cotangent = read_target(value), read(cotangent)
        if type(cotangent) is List:
            cotangent = to_array(run, site, cotangent)
        inner = primal(cotangent)
        if shape_of(inner) != shape_of(primal(value)):
            ours, theirs = show_shape(shape_of(primal(value))), show_shape(shape_of(inner))
            run.fail(
                "E314",
                f"the {given} has shape {theirs}, the {of} {ours}",
                site.span,
                help="they must be equal",
            )
        if type(value) is tuple:
            cotangent = cotangent if is_inexact(inner) else _as_float(run, inner)
            seeds.append(
                (value, narrowed(run, site, cotangent, run.group))
            )  # a sweep sums over rows that don't ask
    return merged(run, site, seeds)


def merged(run: Run, site: Site, seeds: list[tuple[Traced, Any]]) -> list[tuple[Traced, Any]]:
    """Targets and their cotangents, each target once."""
    if len(seeds) < 2:
        return seeds
    merged: dict[int, tuple[Traced, Any]] = {}
    for target, cotangent in seeds:
        if target[1] in merged:
            cotangent = apply(run, site.derived(ADD), (merged[target[1]][1], cotangent))
        merged[target[1]] = (target, cotangent)
    return list(merged.values())


def beside(
    run: Run, target: Any, seed: Any, site: Site, given: str = "seed", of: str = "target"
) -> Iterator[tuple[Any, Any]]:
    """Each value of a target with its part of the seed, which has the same structure; or of
    sources, with the vector's. An array may stand for a list: its rows do."""
    seed = read(seed)
    if type(target) is List and shape_of(primal(seed)):
        seed = List(unpacked(run, site, seed))
    if type(target) is List and type(seed) is List and len(target) == len(seed):
        pairs: Iterable[tuple[Any, Any]] = zip(target, seed, strict=True)
    elif type(target) is dict and type(seed) is dict and target.keys() == seed.keys():
        pairs = ((value, seed[key]) for key, value in target.items())
    elif type(target) in (List, dict):
        message = f"the {given} is {describe(read(seed))}, the {of} {describe(target)}"
        run.fail("E314", message, site.span, help=f"a {given} has the structure of its {of}")
    else:
        yield target, seed
        return
    for value, part in pairs:
        yield from beside(run, value, part, site, given, of)


def _as_float(run: Run, value: Any) -> Any:
    if type(value) is Lanes:
        return Lanes(value.array.astype(run.settings.dtype), value.group)
    return value.astype(run.settings.dtype) if shape_of(value) else run.real(float(value))


# ---- the builtins --------------------------------------------------------------------------------


@request
def grad(
    run: Run, site: Site, operands: list[Any], options: dict[str, Any], window: Window | None = None
) -> Any:
    """`grad(target, sources)`: the sources' structure, with the gradient of the sum of the target
    in each place.

    `window` is the tape that is asked; the main tape if it is None.
    """
    target, sources = operands
    unconnected = options["unconnected"]
    if unconnected not in ("none", "zero"):
        run.fail(
            "E311",
            f"`unconnected` is {describe(unconnected)}",
            site.span,
            help='it is "none" or "zero"',
        )
    flat = list(leaves(sources))
    seeds = seeds_for(run, verify_target(run, target, site.span), target, options["seed"], site)
    if run.once:
        seeds = [(t, primal(cotangent)) for t, cotangent in seeds]
    results = iter(gradients(run, seeds, flat, recorded=not run.once, window=window))

    def answer(source: Any) -> Any:
        g = next(results)
        if g is not None and differentiable(source):
            return g
        note_unconnected(run, target, source, site.span, window)
        return zeros_like(run, source) if unconnected == "zero" else None

    return map_structure(answer, sources)


def note_unconnected(run: Run, target: Any, source: Any, span: Span, window: Window | None) -> None:
    """Notes an unconnected gradient. Why it is can only be told by a run that keeps everything: see
    `reasons.py`. It is told of the first ones at a place: in a loop the others would say the
    same."""
    if type(source) is Instance:
        help = "differentiate by its `trainable_variables`, or by single ones of them"
        run.fail("E314", f"the source is {describe(source)}", span, help=help)
    noted = run.unconnected.setdefault((span, source.name if type(source) is Variable else ""), [])
    if len(noted) < EXPLAINED:
        noted.append(Unconnected(target, source, span, window or run.trace.main))


@contextmanager
def seeing_itself(run: Run) -> Iterator[Window]:
    """The tape for what differentiates its own derivatives: the main tape; in a pause a view of it
    that records on."""
    trace = run.trace
    if trace.main.recording:
        yield trace.main
        return
    view = trace.main.view()
    trace.open(view)
    try:
        yield view
    finally:
        trace.close(view)


def detach(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """The value without its history."""

    def cut(value: Any) -> Any:
        value = read(value)
        if type(value) is tuple and run.trace.keeps_all:
            return run.trace.record(site.on((0,)), [value], (), {}, blank(value[0]), value[0])
        return primal(value)

    return map_structure(cut, operands[0])


def vjp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`vjp(target, sources, u)`: the gradient with the target weighed by `u`."""
    target, sources, u = operands
    return grad(run, site, [target, sources], {"unconnected": "none", "seed": u})


@request
def jvp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`jvp(target, sources, v)`: how the target changes along `v`.

    By two reverse sweeps: u -> vjp(u) is linear, and its own transpose applied to v is the jvp.
    """
    target, sources, v = operands
    pairs = list(beside(run, sources, v, site, "vector", "source"))
    flat = [source for source, _ in pairs]

    def tangent(value: Any) -> Any:
        value = read(value)
        traced = verify_target(run, value, site.span)
        if not traced:
            return zeros_like(run, value)
        with weighed(run, traced[0], flat) as (u, cotangents, window):
            seeds = []
            for g, (source, v) in zip(cotangents, pairs, strict=True):
                tangent_of_source = direction(run, source, v, site)
                seeds += seeds_for(run, [g], g, tangent_of_source, site) if type(g) is tuple else []
            (result,) = gradients(run, merged(run, site, seeds), [u], recorded=True, window=window)
        return zeros_like(run, value) if result is None else result

    return map_structure(tangent, target)


@contextmanager
def weighed(
    run: Run, target: Traced, sources: list[Any], window: Window | None = None
) -> Iterator[tuple[Traced, list[Any], Window]]:
    """A cotangent of the target that stands for any, and those of the sources in the window, which
    are linear in it; with the tape that sees how. It is not 0, where products with what is infinite
    don't move."""
    trace = run.trace
    u = trace.leaf(ones_like(run, target))
    with seeing_itself(run) as view:
        yield u, gradients(run, [(target, u)], sources, recorded=True, window=window or view), view
    trace.watched.discard(u[1])
    trace.main.watch.discard(u[1])


def direction(run: Run, source: Any, direction: Any, site: Site, of: str = "source") -> Any:
    """What goes along a source: of its shape and dtype. Raises GradcliError (E314) for a vector
    that doesn't fit."""
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
    if shape_of(like) != shape_of(inner):
        ours, theirs = show_shape(shape_of(like)), show_shape(shape_of(inner))
        run.fail(
            "E314",
            f"the vector has shape {theirs}, the {of} {ours}",
            site.span,
            help="they must be equal",
        )
    if is_complex(inner) and not is_complex(like):
        run.fail(
            "E314",
            f"the vector is complex, the {of} real",
            site.span,
            help="a real number moves along real ones only",
        )
    if (dtype := dtype_name(like)) in CASTS and dtype_name(inner) != dtype:
        direction = apply(run, site.derived(CASTS[dtype]), (direction,))
    return narrowed(run, site, direction, run.group)


def hvp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`hvp(target, source, v)`: the Hessian times `v`, as the gradient of <gradient, v>."""
    target, source, v = operands
    with seeing_itself(run) as window:
        first = grad(run, site, [target, source], {"unconnected": "none", "seed": None}, window)
        if first is None:
            return None
        second = (
            grad(run, site, [first, source], {"unconnected": "zero", "seed": v}, window)
            if type(first) is tuple
            else None
        )
        return zeros_like(run, source) if second is None else second
