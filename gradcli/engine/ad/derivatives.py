"""`grad`, `vjp`, `jvp` and `hvp` of values, all of them made of reverse sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...diagnostics import Span
from ..trace.recording import blank
from ..trace.run import Run, Unconnected
from ..trace.tape import Site, Traced
from ..trace.unregistered import request
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import Instance, Variable, describe, differentiable, leaves, map_structure, read
from .connections import separate_by_origin
from .reverse import sweep
from .targets import (
    direction,
    merge_seeds,
    number_of,
    ones_like,
    pair_with,
    seeds_for,
    verify_target,
    zeros_like,
)

EXPLAINED = 10  # unconnected gradients that are noted for each place and each source


def gradients(
    run: Run,
    targets: list[tuple[Traced, Any]],
    sources: list[Any],
    recorded: bool,
    window: Window | None = None,
) -> list[Any]:
    """The cotangents of `sources`, for targets and their cotangents; None where a source is
    unconnected in the window."""
    numbers = [number_of(s) for s in sources]
    separate_by_origin(run, [target for target, _ in targets], sources)
    if recorded:
        run.trace.swept = True
    found = sweep(run, targets, {n for n in numbers if n is not None}, recorded, window)
    return [None if n is None else found.get(n) for n in numbers]


# ---- the builtins --------------------------------------------------------------------------------


@request
def grad(
    run: Run, site: Site, operands: list[Any], options: dict[str, Any], window: Window | None = None
) -> Any:
    """`grad(target, sources)`: the gradient of the sum of the target, in the structure of the
    sources.

    `window` is the tape that is asked, by default the main tape.
    """
    target, sources = operands
    unconnected = options["unconnected"]
    if type(unconnected) is not str or unconnected not in ("none", "zero"):
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
    """Notes an unconnected gradient, so that a second run, which keeps everything, can find the
    reason (`reasons.py`). Notes only the first few at a place: in a loop the others would have the
    same reason."""
    if type(source) is Instance:
        help = "differentiate by its `trainable_variables`, or by single ones of them"
        run.fail("E314", f"the source is {describe(source)}", span, help=help)
    noted = run.unconnected.setdefault((span, source.name if type(source) is Variable else ""), [])
    if len(noted) < EXPLAINED:
        noted.append(Unconnected(target, source, span, window or run.trace.main))


@contextmanager
def recording_view(run: Run) -> Iterator[Window]:
    """A tape for derivatives that are differentiated again: the main tape, or inside `pause` a view
    of it that records."""
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
    """`detach(value)`: the value without its history."""

    def cut(value: Any) -> Any:
        value = read(value)
        if type(value) is tuple and run.trace.keeps_all:
            return run.trace.record(site.on((0,)), [value], (), {}, blank(value[0]), value[0])
        return primal(value)

    return map_structure(cut, operands[0])


def vjp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`vjp(target, sources, u)`: the gradient with the target weighted by `u`."""
    target, sources, u = operands
    return grad(run, site, [target, sources], {"unconnected": "none", "seed": u})


@request
def jvp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`jvp(target, sources, v)`: the derivative of the target along `v`.

    It takes two reverse sweeps: u -> vjp(u) is linear, and its transpose applied to v is the jvp.
    """
    target, sources, v = operands
    pairs = list(pair_with(run, sources, v, site, "vector", "source"))
    flat = [source for source, _ in pairs]

    def tangent(value: Any) -> Any:
        value = read(value)
        traced = verify_target(run, value, site.span)
        if not traced:
            return zeros_like(run, value)
        with traced_ones(run, traced[0]) as (u, window):
            cotangents = gradients(run, [(traced[0], u)], flat, recorded=True, window=window)
            seeds = []
            for g, (source, v) in zip(cotangents, pairs, strict=True):
                tangent_of_source = direction(run, source, v, site)
                seeds += seeds_for(run, [g], g, tangent_of_source, site) if type(g) is tuple else []
            (result,) = gradients(
                run, merge_seeds(run, site, seeds), [u], recorded=True, window=window
            )
        return zeros_like(run, value) if result is None else result

    return map_structure(tangent, target)


@contextmanager
def traced_ones(run: Run, target: Traced) -> Iterator[tuple[Traced, Window]]:
    """A traced cotangent of the target, in which the cotangents of sources are linear, and a tape
    that records them. Its value is one rather than 0, since 0 times an infinite partial would have
    no derivative."""
    trace = run.trace
    u = trace.leaf(ones_like(run, target))
    with recording_view(run) as view:
        yield u, view
    trace.watched.discard(u[1])
    trace.main.watch.discard(u[1])


def hvp(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`hvp(target, sources, v)`: the Hessian times `v`, as the gradient of <gradient, v>, in the
    structure of the sources. It is zero for a source that the gradient doesn't depend on, and none
    for one that the target doesn't depend on."""
    target, sources, v = operands
    with recording_view(run) as window:
        first = grad(run, site, [target, sources], {"unconnected": "none", "seed": None}, window)
        seeds = []
        pairs = pair_with(run, sources, v, site, "vector", "source")
        for g, (source, part) in zip(leaves(first), pairs, strict=True):
            if type(g) is tuple:
                seeds += seeds_for(run, [g], g, direction(run, source, part, site), site)
        if run.once:
            seeds = [(g, primal(cotangent)) for g, cotangent in seeds]
        seeds = merge_seeds(run, site, seeds)
        flat = list(leaves(sources))
        second = gradients(run, seeds, flat, not run.once, window) if seeds else [None] * len(flat)
    products = iter(list(zip(leaves(first), second, strict=True)))

    def answer(source: Any) -> Any:
        g, product = next(products)
        return None if g is None else zeros_like(run, source) if product is None else product

    return map_structure(answer, sources)
