"""Derivatives of functions, as functions: `grad(f)`, `jacobian(f)`, `jvp(f)` and the others.

Each calls the function once at a level of its own (`levels.py`) and asks the sweeps; `hessian` and `hvp` are made of the
others. What they give has the structure of the arguments that they differentiate by. An argument that the value doesn't
depend on has derivatives of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ..ad.derivatives import beside, direction, note_unconnected, seeds_for, verify_target, zeros_like
from ..backends.backend import count, dtype_name, is_inexact, shape_of
from ..jacobian.batches import joined, verify_batch, warn_of_mixing
from ..jacobian.compressed import zero_block
from ..jacobian.jacobians import entries, verify_real
from ..operations.apply import apply
from ..operations.iteration import with_arrays
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.unregistered import UnregisteredError
from ..values.boxes import primal
from ..values.kinds import List, Transform, leaves, map_structure, read, show_shape
from .columns import columns
from .levels import Recording, along
from .scalar_transforms import along_float, are_floats, is_short, value_and_slopes
from .transform_arguments import VECTORS, Structure, take_positions, take_vector

RESHAPE = OPS["reshape"]
GRADIENTS = "gradients"  # the kind of transform that `hessian` and `hvp` are made with: no builtin


def call_transform(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    """Calls `grad(f)` or another transform. The vector of `jvp`, `vjp` and `hvp` is the second argument, or the keyword
    `v` (`u` for `vjp`). Raises GradcliError (E308) for arguments that don't fit."""
    try:
        if transform.kind in _FIRST and not keywords and transform.last < len(arguments):  # the common case, made short
            value, gradient = _first(run, transform, arguments, keywords, None, site)
            return gradient if transform.kind == "grad" else List([value, gradient])
        return _call(run, transform, arguments, keywords, site)
    except UnregisteredError as error:
        raise error.asked_at(site.span) from None


def _call(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    kind, vector = transform.kind, None
    if keywords or kind in VECTORS:
        arguments, keywords = arguments.copy(), keywords.copy()
        if kind in VECTORS:
            vector = take_vector(run, transform, arguments, keywords, site)
        if keywords:
            take_positions(run, transform.function, arguments, keywords, site)
    positions = transform.positions
    if transform.last >= len(arguments):
        given = f"{len(arguments)} {'is' if len(arguments) == 1 else 'are'} given"
        message = f"`{transform.name}` differentiates by argument {transform.last}, and {given}"
        run.fail("E308", message, site.span, help="arguments count from 0")
    if kind in _OF_ARRAYS and any(type(read(arguments[k])) in (List, dict) for k in positions):
        arguments = [with_arrays(run, site, v) if k in positions else v for k, v in enumerate(arguments)]
    return _KINDS[kind](run, transform, arguments, keywords, vector, site)


def _record(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Recording:
    return Recording(run, transform.function, arguments, keywords, transform.positions, site)


# ---- first derivatives -----------------------------------------------------------------------------------------------


def _grad(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site) -> Any:
    return _first(run, transform, arguments, keywords, vector, site)[1]


def _value_and_grad(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site
) -> List:
    return List(list(_first(run, transform, arguments, keywords, vector, site)))


def _first(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site
) -> tuple[Any, Any]:
    """The value, and the gradient of the sum of its elements; with a `vector`, of what that weighs."""
    recording = None
    if not keywords and (vector is None or type(vector) is float) and is_short(run):
        wrt, seed = transform.wrt, 1.0 if vector is None else vector
        x = read(arguments[wrt]) if type(wrt) is int else None
        x = x if type(x) is float else None
        if x is not None or are_floats(arguments, transform.positions):
            short = value_and_slopes(run, transform.function, arguments, transform.positions, x, seed, site)
            if not isinstance(short, Recording):
                value, found = short
                return value, found[0] if x is not None else Structure(transform, arguments).of(found)
            recording = short
    if recording is None:
        recording = Recording(run, transform.function, arguments, keywords, transform.positions, site)
    value = recording.value
    if type(value) is tuple and type(value[0]) is float and (vector is None or type(vector) is float):
        found = recording.pull_scalar(value, 1.0 if vector is None else vector)
        value = recording.outside(value)
    else:
        traced = verify_target(run, value, site.span, of=transform.function)
        found = recording.pull(seeds_for(run, traced, value, vector, site, "vector", "value"))
        value = map_structure(lambda v: recording.outside(read(v)), value)
    recording.finish()
    if (
        found and type(found[0]) is float and transform.wrt == 0 and type(read(arguments[0])) is float
    ):  # the common case, made short
        return value, found[0]
    structure = Structure(transform, arguments)
    for k, g in enumerate(found):
        if g is None:
            found[k] = _gradient(run, value, structure.numbers[k], None, site)
    return value, structure.of(found)


def _gradients(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site) -> List:
    """The gradients by the arguments, those that there are, as a list."""
    gradient = Transform("grad", transform.function, transform.wrt)
    once, run.once = run.once, False  # they will be differentiated, if by nobody else
    try:
        return List([g for g in leaves(call_transform(run, gradient, arguments, keywords, site)) if g is not None])
    finally:
        run.once = once


def _gradient(run: Run, value: Any, source: Any, found: Any, site: Site) -> Any:
    if found is None and not is_inexact(primal(source)):
        note_unconnected(run, value, source, site.span, None)
        return None
    return zeros_like(run, source) if found is None else found


def _jvp(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site) -> Any:
    return _along(run, transform, arguments, keywords, vector, site)[1]


def _value_and_jvp(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site
) -> List:
    return List(list(_along(run, transform, arguments, keywords, vector, site)))


def _along(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site
) -> tuple[Any, Any]:
    """The value, and how it changes along the vector."""
    is_plain = not (run.asks or keywords) and run.short_cuts
    if is_plain and type(vector) is float and transform.wrt == 0 and type(x := read(arguments[0])) is float:
        tangents = [vector]
        value, tangent = along_float(run, transform.function, arguments, x, vector, site)
    else:
        tangents = _tangents(run, transform, arguments, vector, site)
        value, tangent = along(run, transform.function, arguments, keywords, transform.positions, tangents, site)
    if type(value) is float and type(tangent) is float:
        return value, tangent
    verify_target(run, value, site.span, real=False, of=transform.function)
    if all(t is None for t in tangents):
        return value, map_structure(lambda v: None, value)
    return value, _filled(run, value, tangent)


def _tangents(run: Run, transform: Transform, arguments: list[Any], vector: Any, site: Site) -> list[Any]:
    """The part of the vector for each number among the arguments; None for those that nothing moves along."""
    vectors = vector if isinstance(transform.wrt, list) else List([vector])
    chosen = List([arguments[k] for k in transform.positions])
    tangents: list[Any] = []
    for value, part in beside(run, chosen, vectors, site, "vector", "argument"):
        value = read(value)
        if type(value) is float and type(part) is float:
            tangents.append(part)
        elif is_inexact(primal(value)):
            tangents.append(direction(run, value, part, site, "argument"))
        else:
            tangents.append(None)
            note_unconnected(run, None, value, site.span, None)
    return tangents


def _filled(run: Run, value: Any, tangent: Any) -> Any:
    """A tangent with zeros where the value doesn't depend on what was perturbed."""
    tangents = iter(list(leaves(tangent)))
    return map_structure(lambda v: zeros_like(run, v) if (t := next(tangents)) is None and v is not None else t, value)


# ---- Jacobians -------------------------------------------------------------------------------------------------------


def _jacobian(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
    symmetric: bool = False,
) -> Any:
    """For each number of the value, the structure of the arguments; each block of shape value.shape + argument.shape.

    The function is called once, and sweeps go over what that recorded, back or forward, as few as its structure allows. If
    forward mode is asked for, which keeps nothing, tangents go along with calls instead.
    """
    structure = Structure(transform, arguments)
    if transform.mode == "forward" and (run.rules or not transform.sparse):
        return _columns(run, transform, arguments, keywords, structure, site)
    recording = _record(run, transform, arguments, keywords, site)
    verify_target(run, recording.value, site.span, of=transform.function)
    found = map_structure(lambda v: _blocks(run, transform, recording, structure, read(v), site, symmetric), recording.value)
    recording.finish()
    return found


def _blocks(
    run: Run, transform: Transform, recording: Recording, structure: Structure, target: Any, site: Site, symmetric: bool
) -> Any:
    """The blocks of one number of the value; none of a gradient that there isn't."""
    if target is None:
        return structure.of([None] * len(structure.numbers))
    shape, sparse = shape_of(primal(target)), transform.sparse
    if not sparse:
        _verify_size(run, shape, structure, site)
    found = recording.blocks(target, site, transform.mode, sparse, symmetric)
    blocks: list[Any] = []
    for source, block in zip(structure.numbers, found, strict=True):
        if not is_inexact(primal(source)):
            blocks.append(_gradient(run, target, source, None, site))
            continue
        block = zero_block(run, target, source, sparse) if block is None else block
        blocks.append(entries(block) if sparse else block)
    return structure.of(blocks)


def _columns(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], structure: Structure, site: Site
) -> Any:
    """All blocks, by tangents that go along with calls."""
    value: Any = None

    def move(tangents: list[Any]) -> list[Any]:
        nonlocal value
        value, tangent = along(run, transform.function, arguments, keywords, transform.positions, tangents, site)
        verify_target(run, value, site.span, of=transform.function)
        return [read(t) for t in leaves(_filled(run, value, tangent))]

    found = columns(run, move, structure.numbers, site)
    if value is None:
        value = run.call(transform.function, arguments, keywords, site)
        verify_target(run, value, site.span, of=transform.function)
    blocks = []
    for i, target in enumerate(map(read, leaves(value))):
        if target is None:
            blocks.append(structure.of([None] * len(structure.numbers)))
            continue
        _verify_size(run, shape_of(primal(target)), structure, site)
        pairs = zip(structure.numbers, found, strict=True)
        row = [_block(run, site, target, source, moved[i] if moved else None) for source, moved in pairs]
        blocks.append(structure.of(row))
    rest = iter(blocks)
    return map_structure(lambda v: next(rest), value)


def _block(run: Run, site: Site, target: Any, source: Any, moved: Any) -> Any:
    """The derivatives of a target by a source, of shape target.shape + source.shape, from how it moves with the source's
    elements; None for a source that isn't differentiable."""
    if not is_inexact(primal(source)):
        return _gradient(run, target, source, None, site)
    if moved is None:
        return zero_block(run, target, source)
    shape, inner = shape_of(primal(target)), shape_of(primal(source))
    return apply(run, site.derived(RESHAPE), (moved,), {"shape": list(shape + inner)}) if inner else moved


def _verify_size(run: Run, shape: tuple[int, ...], structure: Structure, site: Site) -> None:
    for source in structure.numbers:
        whole = shape + shape_of(primal(source))
        run.verify_allocation(8 * count(whole), f"a Jacobian of shape {show_shape(whole)}", site.span)


def _batch_jacobian(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site
) -> Any:
    """The Jacobian of each row of the value by the same row of the argument: batch + value.shape[1:] + argument.shape[1:]."""
    structure = Structure(transform, arguments)
    recording = _record(run, transform, arguments, keywords, site)
    target = read(recording.value)
    verify_target(run, target, site.span, of=transform.function)
    shape = shape_of(primal(target))
    for source in structure.numbers:
        verify_batch(run, shape, shape_of(primal(source)), site)
    blocks = []
    for j, (source, rows) in enumerate(zip(structure.numbers, recording.batch_rows(target, site), strict=True)):
        if not is_inexact(primal(source)):
            blocks.append(_gradient(run, target, source, None, site))
            continue
        inner = shape_of(primal(source))
        if rows is None:
            blocks.append(run.backend.xp.zeros(shape + inner[1:], dtype_name(primal(source))))
            continue
        warn_of_mixing(run, site, primal(target), rows, lambda seed: recording.pull([(target, seed)])[j])  # noqa: B023
        blocks.append(joined(run, site, rows, shape, inner))
    recording.finish()
    return structure.of(blocks)


# ---- second derivatives, made of the first ---------------------------------------------------------------------------

_MANY = 10_000  # numbers that it takes until tangents over a sweep are quicker than a second sweep


def _hessian(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site) -> Any:
    structure = Structure(transform, arguments)
    verify_real(run, structure.numbers, site.span)
    gradients = Transform(GRADIENTS, transform.function, transform.wrt)
    outer = Transform("jacobian", gradients, transform.wrt, transform.mode, transform.sparse)
    symmetric = len(structure.numbers) == 1
    rows = iter(_jacobian(run, outer, arguments, keywords, None, site, symmetric))
    nothing = structure.of([None] * len(structure.numbers))
    return structure.of([next(rows) if is_inexact(primal(v)) else nothing for v in structure.numbers])


def _hvp(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], vector: Any, site: Site) -> Any:
    """The Hessian times the vector. It is symmetric, so that is the vector times the Hessian, too: a second sweep; only
    where there is much to sweep over, tangents are carried over the first."""
    structure = Structure(transform, arguments)
    verify_real(run, structure.numbers, site.span)
    vectors = vector if structure.listed else List([vector])
    chosen = List([arguments[k] for k in transform.positions])
    pairs = [(read(v), t) for v, t in beside(run, chosen, vectors, site, "vector", "argument")]
    tangents = [direction(run, v, t, site, "argument") if is_inexact(primal(v)) else None for v, t in pairs]
    gradients = Transform(GRADIENTS, transform.function, transform.wrt)
    if run.rules or sum(count(shape_of(primal(v))) for v in structure.numbers) < _MANY:
        recording = Recording(run, gradients, arguments, keywords, transform.positions, site)
        vectors = List([t for t in tangents if t is not None])
        found = recording.pull(seeds_for(run, verify_target(run, recording.value, site.span), recording.value, vectors, site))
        recording.finish()
    else:
        value, tangent = along(run, gradients, arguments, keywords, transform.positions, tangents, site)
        moved = leaves(_filled(run, value, tangent))
        found = [None if t is None else next(moved) for t in tangents]
    return structure.of([_gradient(run, None, source, g, site) for source, g in zip(structure.numbers, found, strict=True)])


_FIRST = frozenset(("grad", "value_and_grad"))
_OF_ARRAYS = frozenset(("jacobian", "batch_jacobian", "hessian"))  # which take a list of numbers for an array
_KINDS: dict[str, Callable[..., Any]] = {
    "grad": _grad,
    "value_and_grad": _value_and_grad,
    "vjp": _grad,
    "jvp": _jvp,
    "value_and_jvp": _value_and_jvp,
    "jacobian": _jacobian,
    "batch_jacobian": _batch_jacobian,
    "hessian": _hessian,
    "hvp": _hvp,
    GRADIENTS: _gradients,
}
