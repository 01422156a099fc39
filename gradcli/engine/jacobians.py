"""Jacobians and Hessians of values: those that programs ask for, and those that are asked for from outside when a run is over.

All are made of `blocks`, the derivatives of one value by some sources. A program's are recorded, so that they can be
differentiated again; from outside they are plain arrays, filled row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..diagnostics import Span
from ..ops import OPS
from .apply import apply
from .backends import count, dtype_name, is_complex, shape_of
from .derivatives import (
    differentiable,
    grad,
    gradients,
    note_unconnected,
    ones_like,
    seeing_itself,
    verify_target,
    weighed,
    zeros_like,
)
from .run import Run
from .tape import Site, Traced, primal
from .unregistered import request
from .values import Variable, describe, leaves, map_structure, read, show_shape
from .windows import Window

ADD, MUL, STACK, RESHAPE = (OPS[name] for name in ("add", "mul", "stack", "reshape"))
MODES = ("auto", "forward", "reverse")


def blocks(
    run: Run,
    target: Traced,
    sources: list[Any],
    site: Site | None = None,
    window: Window | None = None,
    mode: str = "reverse",
) -> list[Any]:
    """The derivatives of one value by each of the sources, of shape target.shape + source.shape; None where unconnected.

    site     where a program asks: what is computed is recorded; None from outside
    window   the tape that is asked; the main tape if it is None
    mode     "reverse": a sweep for each element of the target, in which every source gets its row; "forward": one whose
             result is linear in the cotangent that it begins with, and over that one for each element of the sources,
             which gives its column; "auto": whichever has less to do
    """
    recorded = site is not None
    like = primal(target)
    if mode == "forward" or (mode == "auto" and _has_few_columns(run, like, sources)):
        return _by_columns(run, target, sources, site, window)
    if not shape_of(like):
        return gradients(run, [(target, ones_like(run, target))], sources, recorded, window)
    # An empty array has one sweep, too, which finds what it is connected with.
    seeds = (unit(run, like, k) for k in range(max(like.size, 1)))
    rows = (gradients(run, [(target, seed)], sources, recorded, window) for seed in seeds)
    return _filled(run, rows, like, sources) if site is None else _stacked(run, site, rows, like, sources)


_FIRST_SWEEP = 5  # what a recorded sweep takes, in sweeps that aren't


def _has_few_columns(run: Run, like: Any, sources: list[Any]) -> bool:
    values = [primal(read(source)) for source in sources]
    few = sum(count(shape_of(value)) for value in values) + _FIRST_SWEEP < count(shape_of(like))
    return few and not run.rules and not any(map(is_complex, values))


def _by_columns(run: Run, target: Traced, sources: list[Any], site: Site | None, window: Window | None) -> list[Any]:
    """Blocks by their columns: an element of a source's cotangent is linear in the target's, which is a column."""
    found: list[Any] = []
    with weighed(run, target, sources, window) as (u, cotangents, view):
        for g, source in zip(cotangents, sources, strict=True):
            like = primal(g)
            if type(g) is not tuple or not count(shape_of(like)):
                found.append(None if g is None else zero_block(run, target, source))
                continue
            columns = []
            for k in range(count(shape_of(like))):
                seed = unit(run, like, k)
                turns = (seed, seed * 1j) if is_complex(like) else (seed,)
                parts = [gradients(run, [(g, turn)], [u], site is not None, view)[0] for turn in turns]
                parts = [zeros_like(run, target) if part is None else part for part in parts]
                columns.append(parts[0] if len(parts) == 1 else turned(run, site, *parts))
            found.append(_side_by_side(run, site, columns, shape_of(primal(target)), shape_of(like)))
    return found


def _side_by_side(run: Run, site: Site | None, columns: list[Any], shape: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    """Columns as a block: recorded where a program asks."""
    if not inner:
        return columns[0]
    if site is None:
        return run.backend.xp.stack(columns, axis=-1).reshape(shape + inner)
    stacked = apply(run, site.derived(STACK), tuple(columns), {"axis": -1})
    return apply(run, site.derived(RESHAPE), (stacked,), {"shape": list(shape + inner)})


def turned(run: Run, site: Site | None, real: Any, imaginary: Any) -> Any:
    """The gradient by a complex number, whose parts move a value by `real` and by `imaginary`."""
    if site is None:
        return real + 1j * imaginary
    return apply(run, site.derived(ADD), (real, apply(run, site.derived(MUL), (imaginary, 1j))))


def unit(run: Run, like: Any, k: int) -> Any:
    """What is 1 at the element `k` and 0 elsewhere, of the shape and dtype of `like`."""
    if not shape_of(like):
        return ones_like(run, like)
    seed = run.backend.xp.zeros(like.shape, like.dtype)
    seed.ravel()[k : k + 1] = 1.0
    return seed


def _filled(run: Run, rows: Iterator[list[Any]], like: Any, sources: list[Any]) -> list[Any]:
    """Plain rows as blocks, each put in its place as it comes."""
    found: list[Any] = [None] * len(sources)
    for k, row in enumerate(rows):
        for j, part in enumerate(row):
            if part is None:
                continue
            if found[j] is None:
                found[j] = zero_block(run, like, sources[j])
            found[j].reshape(like.size, *shape_of(part))[k : k + 1] = part
    return found


def _stacked(run: Run, site: Site, rows: Iterator[list[Any]], like: Any, sources: list[Any]) -> list[Any]:
    """Recorded rows as blocks."""
    found: list[Any] = []
    for parts, source in zip(zip(*rows, strict=True), sources, strict=True):
        if all(part is None for part in parts):
            found.append(None)
        elif not like.size:
            found.append(zero_block(run, like, source))
        else:
            filled = tuple([zeros_like(run, source) if part is None else part for part in parts])
            stacked = apply(run, site.derived(STACK), filled, {"axis": 0})
            shape = list(like.shape + shape_of(primal(read(source))))
            found.append(apply(run, site.derived(RESHAPE), (stacked,), {"shape": shape}))
    return found


def zero_block(run: Run, value: Any, source: Any) -> Any:
    """The derivatives of a value by a source that it doesn't move with, of shape value.shape + source.shape."""
    shape, inner = _block_shape(value, source), primal(read(source))
    if not shape:
        return run.real(0.0)
    return run.backend.xp.zeros(shape, dtype_name(inner) if differentiable(source) else run.settings.dtype)


def _block_shape(value: Any, source: Any) -> tuple[int, ...]:
    return shape_of(primal(read(value))) + shape_of(primal(read(source)))


def _verify_fit(run: Run, pairs: list[tuple[Any, Any]], what: str, span: Span | None) -> None:
    """Refuses (E405) the derivatives of values by sources that can't fit, before any is computed."""
    shapes = [_block_shape(value, source) for value, source in pairs]
    largest = f"of shape {show_shape(max(shapes, key=count, default=()))}"
    text = f"a {what} {largest}" if len(shapes) == 1 else f"{len(shapes)} {what}s, the largest {largest},"
    run.verify_allocation(8 * sum(map(count, shapes)), text, span)


def verify_real(run: Run, sources: list[Any], span: Span | None) -> None:
    """Raises GradcliError (E314) for a complex source of second derivatives."""
    for source in sources:
        if is_complex(primal(read(source))):
            name, place = (f"`{source.name}`", source.span) if type(source) is Variable else ("the source", None)
            help = "make its real and its imaginary part variables of their own"
            run.fail("E314", f"there is no Hessian by {name}, which is complex", span or place, help=help)


def verify_mode(run: Run, mode: Any, span: Span) -> str:
    """The mode of a Jacobian. Raises GradcliError (E311) for what is none."""
    if mode not in MODES:
        run.fail("E311", f"`mode` is {describe(mode)}", span, help='it is "auto", "forward" or "reverse"')
    return str(mode)


# ---- asked for by programs -------------------------------------------------------------------------------------------


@request
def jacobian(run: Run, site: Site, operands: list[Any], options: dict[str, Any], window: Window | None = None) -> Any:
    """`jacobian(target, source)`, of shape target.shape + source.shape: a block for each place of both."""
    target, source = operands
    mode = verify_mode(run, options.get("mode", "auto"), site.span)

    def block(value: Any, by: Any) -> Any:
        traced = verify_target(run, value, site.span)
        _verify_fit(run, [(value, by)], "Jacobian", site.span)
        (found,) = blocks(run, traced[0], [by], site, window, mode) if traced else [None]
        if found is not None and differentiable(by):
            return found
        note_unconnected(run, read(value), by, site.span, window)
        return None

    return map_structure(lambda by: map_structure(lambda value: block(value, by), target), source)


@request
def hessian(run: Run, site: Site, operands: list[Any], options: dict[str, Any]) -> Any:
    """`hessian(target, source)`: the Jacobian of the gradient; zeros where the gradient is constant."""
    target, source = operands
    mode = verify_mode(run, options["mode"], site.span)

    def second(by: Any, window: Window) -> Any:
        first = grad(run, site, [target, by], {"unconnected": "none", "seed": None}, window)
        if first is None:
            return None
        verify_real(run, [by], site.span)
        _verify_fit(run, [(by, by)], "Hessian", site.span)
        traced = verify_target(run, first, site.span)
        (found,) = blocks(run, traced[0], [by], site, window, mode) if traced else [None]
        return zero_block(run, by, by) if found is None else found

    with seeing_itself(run) as window:
        return map_structure(lambda by: second(by, window), source)


# ---- asked for from outside ------------------------------------------------------------------------------------------


def jacobians(run: Run, target: Any, sources: list[Any], mode: str = "auto") -> list[Any]:
    """The Jacobian of the target by each source, None where all of it is unconnected; `mode` as in `blocks`.

    A target that is a list or dict has one in each of its places. Raises GradcliError for what has no derivative, and where
    the answer can't fit.
    """
    verify_target(run, target, None)
    values = [read(value) for value in leaves(target)]
    _verify_fit(run, [(value, source) for value in values for source in sources], "Jacobian", None)
    nothing = [None] * len(sources)
    found = [blocks(run, v, sources, mode=mode) if verify_target(run, v, None) else nothing for v in values]
    answers: list[Any] = []
    for k, source in enumerate(sources):
        parts = [row[k] for row in found]
        if all(part is None for part in parts):
            answers.append(None)
            continue
        places = iter([zero_block(run, v, source) if p is None else p for v, p in zip(values, parts, strict=True)])
        answers.append(map_structure(partial(_next, places), target))
    return answers


def _next(places: Iterator[Any], _: Any) -> Any:
    return next(places)


def hessians(run: Run, target: Any, sources: list[Any], mixed: bool, mode: str = "auto") -> dict[tuple[int, int], Any]:
    """The second derivatives of the sum of the target by two sources: each twice and, where `mixed`, each with every later
    one, of shape first.shape + second.shape. Zeros where the target is linear in them, None where it is unconnected with one.

    Raises GradcliError for what has no derivative, for complex sources, and where the answer can't fit.
    """
    seeds = [(traced, ones_like(run, traced)) for traced in verify_target(run, target, None)]
    firsts = gradients(run, seeds, sources, recorded=True)
    connected = [k for k, first in enumerate(firsts) if first is not None]
    verify_real(run, [sources[k] for k in connected], None)
    everyone = range(len(sources))
    answers: dict[tuple[int, int], Any] = dict.fromkeys((i, i) for i in everyone)
    answers |= dict.fromkeys((i, j) for i in everyone for j in everyone[i + 1 :] if mixed)
    partners = {i: [j for j in connected if (i, j) in answers] for i in connected}
    _verify_fit(run, [(sources[i], sources[j]) for i in connected for j in partners[i]], "Hessian", None)
    for i in connected:
        seconds = [sources[j] for j in partners[i]]
        constant = not verify_target(run, firsts[i], None)
        found = [None] * len(seconds) if constant else blocks(run, firsts[i], seconds, mode=mode)
        for j, block in zip(partners[i], found, strict=True):
            answers[i, j] = zero_block(run, sources[i], sources[j]) if block is None else block
    return answers
