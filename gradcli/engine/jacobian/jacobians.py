"""Jacobians and Hessians of values, as programs ask for them, and as tasks ask when a run is over.

All are built on `blocks`, the derivatives of one value by some sources (`compressed.py`). A
program's are recorded, so that they can be differentiated again; a task's are plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...ops import OPS
from ..ad.derivatives import gradients, note_unconnected, recording_view
from ..ad.targets import merge_seeds, ones_like, verify_target
from ..backends.backend import count, is_complex
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.unregistered import request
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import (
    Variable,
    describe,
    differentiable,
    leaves,
    map_structure,
    read,
    show_shape,
)
from ..values.sparse import entries
from .compressed import block_shape, blocks, plans, zero_block
from .plans import Plan

ADD, MUL = OPS["add"], OPS["mul"]
MODES = ("auto", "forward", "reverse")


def gradient_by_complex(run: Run, site: Site | None, real: Any, imaginary: Any) -> Any:
    """Returns the gradient by a complex number from the gradients by its real and its imaginary
    part.
    """
    if site is None:
        return real + 1j * imaginary
    return apply(
        run, site.in_derivative(ADD), (real, apply(run, site.in_derivative(MUL), (imaginary, 1j)))
    )


def _verify_fit(run: Run, pairs: list[tuple[Any, Any]], what: str, span: Span | None) -> None:
    """Refuses (E405) derivatives of values by sources that can't fit into memory, before any is
    computed.
    """
    shapes = [block_shape(value, source) for value, source in pairs]
    largest = f"of shape {show_shape(max(shapes, key=count, default=()))}"
    text = (
        f"a {what} {largest}"
        if len(shapes) == 1
        else f"{len(shapes)} {what}s, the largest {largest},"
    )
    run.verify_allocation(8 * sum(map(count, shapes)), text, span)


def verify_real(run: Run, sources: list[Any], span: Span | None) -> None:
    """Raises GradcliError (E314) for a complex source of second derivatives."""
    for source in sources:
        if is_complex(primal(read(source))):
            name, place = (
                (f"`{source.name}`", source.span)
                if type(source) is Variable
                else ("the source", None)
            )
            help = "make its real and its imaginary part variables of their own"
            run.fail(
                "E314", f"there is no Hessian by {name}, which is complex", span or place, help=help
            )


def verify_mode(run: Run, mode: Any, span: Span) -> str:
    """Returns the mode of a Jacobian. Raises GradcliError (E311) for an unknown one."""
    if type(mode) is not str or mode not in MODES:
        run.fail(
            "E311", f"`mode` is {describe(mode)}", span, help='it is "auto", "forward" or "reverse"'
        )
    return str(mode)


# ---- for programs --------------------------------------------------------------------------------


@request
def jacobian(
    run: Run, site: Site, operands: list[Any], options: dict[str, Any], window: Window | None = None
) -> Any:
    """Implements `jacobian(target, source)`, of shape target.shape + source.shape.

    There is a block for each place of both structures; with `sparse` it holds the entries that
    aren't structurally zero.
    """
    target, source = operands
    mode = verify_mode(run, options.get("mode", "auto"), site.span)
    sparse = bool(options.get("sparse", False))
    recorded = None if run.once and run.group is None and not run.level else site

    def block(value: Any, by: Any) -> Any:
        traced = verify_target(run, value, site.span)
        if not sparse:
            _verify_fit(run, [(value, by)], "Jacobian", site.span)
        (found,) = (
            blocks(run, traced[0], [by], recorded, window, mode, sparse) if traced else [None]
        )
        if found is not None and differentiable(by):
            return entries(found) if sparse else found
        note_unconnected(run, read(value), by, site.span, window)
        return None

    return map_structure(lambda by: map_structure(lambda value: block(value, by), target), source)


@request
def hessian(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """Implements `hessian(target, source)`: the Jacobian of the gradient; zeros where the gradient
    is constant.
    """
    target, source = operands
    mode, sparse = verify_mode(run, options["mode"], site.span), bool(options["sparse"])
    recorded = None if run.once and run.group is None and not run.level else site

    def second(by: Any, window: Window) -> Any:
        seeds = merge_seeds(
            run, site, [(t, ones_like(run, t)) for t in verify_target(run, target, site.span)]
        )
        (first,) = gradients(run, seeds, [by], True, window)
        if first is None or not differentiable(by):
            note_unconnected(run, target, by, site.span, window)
            return None
        verify_real(run, [by], site.span)
        if not sparse:
            _verify_fit(run, [(by, by)], "Hessian", site.span)
        traced = verify_target(run, first, site.span)
        (found,) = (
            blocks(run, traced[0], [by], recorded, window, mode, sparse, symmetric=True)
            if traced
            else [None]
        )
        found = zero_block(run, by, by, sparse) if found is None else found
        return entries(found) if sparse else found

    with recording_view(run) as window:
        return map_structure(lambda by: second(by, window), source)


# ---- for tasks -----------------------------------------------------------------------------------


def jacobians(
    run: Run, target: Any, sources: list[Any], mode: str = "auto", sparse: bool = False
) -> list[Any]:
    """Returns the Jacobian of the target by each source, None where all of it is unconnected.

    `mode` and `sparse` are those of `blocks`. A target that is a list or dict has a Jacobian in
    each of its places. Raises GradcliError for a target that isn't differentiable, and where the
    result can't fit.
    """
    values = _places(run, target, sources, sparse)
    nothing = [None] * len(sources)
    found = [
        blocks(run, v, sources, mode=mode, sparse=sparse)
        if verify_target(run, v, None)
        else nothing
        for v in values
    ]
    answers: list[Any] = []
    for k, source in enumerate(sources):
        parts = [row[k] for row in found]
        if all(part is None for part in parts):
            answers.append(None)
            continue
        places = iter(
            [
                zero_block(run, v, source, sparse) if p is None else p
                for v, p in zip(values, parts, strict=True)
            ]
        )
        answers.append(map_structure(partial(_next, places), target))
    return answers


def _places(run: Run, target: Any, sources: list[Any], sparse: bool) -> list[Any]:
    """The values in a target. Raises GradcliError as `jacobians` does."""
    verify_target(run, target, None)
    values = [read(value) for value in leaves(target)]
    if not sparse:
        _verify_fit(
            run, [(value, source) for value in values for source in sources], "Jacobian", None
        )
    return values


def _next(places: Iterator[Any], _: Any) -> Any:
    return next(places)


def jacobian_plans(
    run: Run, target: Any, sources: list[Any], mode: str, sparse: bool
) -> list[list[Plan]]:
    """Returns how `jacobians` computes them, in each place of the target. Raises what it raises."""
    values = _places(run, target, sources, sparse)
    return [
        plans(run, v, sources, mode, sparse, symmetric=False) if verify_target(run, v, None) else []
        for v in values
    ]


class Firsts(NamedTuple):
    """The gradients of a target by its sources, recorded, and by the number of each source that is
    connected, those of the sources by which its gradient is differentiated."""

    gradients: list[Any]
    partners: dict[int, list[int]]


def hessians(
    run: Run,
    given: Firsts,
    sources: list[Any],
    mixed: bool,
    mode: str = "auto",
    sparse: bool = False,
) -> dict[tuple[int, int], Any]:
    """Returns the second derivatives of the sum of a target by pairs of sources, from its first
    derivatives.

    The pairs are each source with itself and, where `mixed`, with every later one; each result has
    the shape first.shape + second.shape. It is zero where the target is linear, and None where it
    is unconnected with one of them.
    """
    firsts, partners = given
    everyone = range(len(sources))
    answers: dict[tuple[int, int], Any] = dict.fromkeys((i, i) for i in everyone)
    answers |= dict.fromkeys((i, j) for i in everyone for j in everyone[i + 1 :] if mixed)
    for i, numbers in partners.items():
        seconds = [sources[j] for j in numbers]
        constant = not verify_target(run, firsts[i], None)
        symmetric = len(seconds) == 1
        found = (
            [None]
            if constant
            else blocks(run, firsts[i], seconds, mode=mode, sparse=sparse, symmetric=symmetric)
        )
        for j, block in zip(numbers, found * len(seconds) if constant else found, strict=True):
            answers[i, j] = (
                zero_block(run, sources[i], sources[j], sparse) if block is None else block
            )
    return answers


def hessian_plans(
    run: Run, given: Firsts, sources: list[Any], mode: str, sparse: bool
) -> dict[int, list[Plan]]:
    """Returns how `hessians` computes them: by the number of the source that the gradient is by,
    the plans by the sources of the further derivatives."""
    firsts, partners = given
    found: dict[int, list[Plan]] = {}
    for i, numbers in partners.items():
        seconds, symmetric = [sources[j] for j in numbers], len(numbers) == 1
        found[i] = [
            plan._replace(sources=tuple([numbers[k] for k in plan.sources]))
            for plan in (
                plans(run, firsts[i], seconds, mode, sparse, symmetric)
                if verify_target(run, firsts[i], None)
                else ()  # it is constant
            )
        ]
    return found


def first_derivatives(
    run: Run, target: Any, sources: list[Any], mixed: bool, sparse: bool
) -> Firsts:
    """Returns what `hessians` of a target begins with. Raises GradcliError for a target that isn't
    differentiable, for complex sources, and where the result can't fit."""
    seeds = [(traced, ones_like(run, traced)) for traced in verify_target(run, target, None)]
    firsts = gradients(run, seeds, sources, recorded=True)
    connected = [k for k, first in enumerate(firsts) if first is not None]
    verify_real(run, [sources[k] for k in connected], None)
    partners = {i: [j for j in connected if j == i or (mixed and j > i)] for i in connected}
    if not sparse:
        _verify_fit(
            run, [(sources[i], sources[j]) for i in connected for j in partners[i]], "Hessian", None
        )
    return Firsts(firsts, partners)
