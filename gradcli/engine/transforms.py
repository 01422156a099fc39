"""Derivatives of functions, as functions: `grad(f)`, `jacobian(f)`, `jvp(f)` and the others.

Each calls the function once at a level of its own (`levels.py`) and asks the sweeps; `hessian` and `hvp` are made of the
others. What they give has the structure of the arguments that they differentiate by. An argument that the value doesn't
depend on has derivatives of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..ops import OPS
from .apply import apply, to_array
from .backends import count, is_inexact, is_scalar, shape_of
from .boxes import primal
from .calls import call_value
from .derivatives import beside, direction, note_unconnected, seeds_for, verify_target, zeros_like
from .jacobians import batch_block, batch_seeds, unit, verify_batch, zero_block
from .levels import Recording, along
from .run import Run
from .tape import Site
from .unregistered import UnregisteredError
from .values import Function, List, Transform, leaves, map_structure, read, show_shape

STACK, RESHAPE, MOVEAXIS = OPS["stack"], OPS["reshape"], OPS["moveaxis"]
Call = Callable[[list[Any]], Any]


def call_transform(run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    """Calls `grad(f)` or another transform. The vector of `jvp`, `vjp` and `hvp` is the second argument, or the keyword
    `v` (`u` for `vjp`). Raises GradcliError (E308) for arguments that don't fit."""
    kind = transform.kind
    arguments, keywords = list(arguments), dict(keywords)
    vector = None
    if kind in _VECTORS:
        name = _VECTORS[kind]
        vector = keywords.pop(name) if name in keywords else arguments.pop(1) if len(arguments) > 1 else None
        if vector is None:
            help = f"`{transform.name}(x, {name})`, or the keyword `{name} = …`"
            run.fail("E308", f"`{transform.name}` needs a vector `{name}`", site.span, help=help)
    if keywords:
        _take_positions(transform.function, arguments, keywords)
    positions = transform.positions
    if max(positions) >= len(arguments):
        message = f"`{transform.name}` differentiates by argument {max(positions)}, and {len(arguments)} are given"
        run.fail("E308", message, site.span, help="arguments count from 0, and are given by position")
    if kind in _OF_ARRAYS:
        for k in positions:
            if _is_list_of_numbers(arguments[k]):
                arguments[k] = to_array(run, site, read(arguments[k]))
    call = partial(call_value, run, transform.function, keywords=keywords, site=site)
    try:
        return _KINDS[kind](run, transform, call, arguments, vector, site)
    except UnregisteredError as error:
        raise error.asked_at(site.span) from None


def _is_list_of_numbers(value: Any) -> bool:
    """Whether a value is a list of numbers, or of such lists."""
    value = read(value)
    if type(value) is not List:
        return False
    return all(_is_list_of_numbers(v) or is_scalar(primal(read(v))) for v in value)


def _take_positions(function: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """Moves keyword arguments of a function of the program to their positions, as far as these are without a gap."""
    if type(function) is Function:
        for name, _, _ in function.code.parameters[len(arguments) :]:
            if name not in keywords:
                return
            arguments.append(keywords.pop(name))


def _record(run: Run, transform: Transform, call: Any, arguments: list[Any], site: Site) -> Recording:
    alone = isinstance(call, partial) and not call.keywords["keywords"]
    return Recording(run, call, arguments, transform.positions, site, transform.function if alone else None)


class _Structure:
    """The arguments that a transform differentiates by: from a flat list of their numbers to their structure."""

    def __init__(self, transform: Transform, arguments: list[Any]) -> None:
        chosen = [arguments[k] for k in transform.positions]
        self.listed = isinstance(transform.wrt, list)
        self.arguments = List(chosen) if self.listed else chosen[0]
        self.flat = not any(type(v) is List or type(v) is dict for v in chosen)  # the common case, made short
        self.numbers = [read(v) for v in (chosen if self.flat else leaves(self.arguments))]

    def of(self, values: list[Any]) -> Any:
        if self.flat:
            return List(values) if self.listed else values[0]
        rest = iter(values)
        return map_structure(lambda v: next(rest), self.arguments)


# ---- first derivatives -----------------------------------------------------------------------------------------------


def _grad(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    return _value_and_grad(run, transform, call, arguments, vector, site)[1]


def _value_and_grad(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> List:
    """The value, and the gradient of the sum of its elements; with a `vector`, of what that weighs."""
    structure = _Structure(transform, arguments)
    recording = _record(run, transform, call, arguments, site)
    value = recording.value
    if vector is None and type(value) is tuple and type(value[0]) is float:
        found = recording.pull_scalar(value)
        value = recording.outside(value)
    else:
        found = recording.pull(seeds_for(run, verify_target(run, value, site.span), value, vector, site))
        value = map_structure(lambda v: recording.outside(read(v)), value)
    recording.finish()
    pairs = zip(structure.numbers, found, strict=True)
    gradient = structure.of([_gradient(run, value, source, g, site) if g is None else g for source, g in pairs])
    return List([value, gradient])


def _gradient(run: Run, value: Any, source: Any, found: Any, site: Site) -> Any:
    if found is None and not is_inexact(primal(source)):
        note_unconnected(run, value, source, site.span, None)
        return None
    return zeros_like(run, source) if found is None else found


def _jvp(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    return _value_and_jvp(run, transform, call, arguments, vector, site)[1]


def _value_and_jvp(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> List:
    """The value, and how it changes along the vector."""
    vectors = vector if isinstance(transform.wrt, list) else List([vector])
    chosen = List([arguments[k] for k in transform.positions])
    pairs = [(read(v), t) for v, t in beside(run, chosen, vectors, site, "vector", "argument")]
    tangents = [direction(run, v, t, site) if is_inexact(primal(v)) else None for v, t in pairs]
    for v, _ in pairs:
        if not is_inexact(primal(v)):
            note_unconnected(run, None, v, site.span, None)
    value, tangent = along(run, call, arguments, transform.positions, tangents, site)
    _verify_value(run, transform, value, site, real=False)
    return List([value, _filled(run, value, tangent)])


def _verify_value(run: Run, transform: Transform, value: Any, site: Site, real: bool = True) -> None:
    """Refuses (E314) a value that has no derivative at all. A gradient is none by what isn't differentiable, and so is what
    is made of it."""
    of_gradient = type(transform.function) is Transform
    for v in leaves(value):
        if v is not None or not of_gradient:
            verify_target(run, v, site.span, real)


def _filled(run: Run, value: Any, tangent: Any) -> Any:
    """A tangent with zeros where the value doesn't depend on what was perturbed."""
    tangents = iter(list(leaves(tangent)))

    def fill(v: Any) -> Any:
        t = next(tangents)
        return zeros_like(run, v) if t is None and is_inexact(primal(v)) else t

    return map_structure(fill, value)


# ---- Jacobians -------------------------------------------------------------------------------------------------------


def _jacobian(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    """For each number of the value, the structure of the arguments; each block of shape value.shape + argument.shape.

    In reverse mode one sweep for each element of the value, in forward mode one call for each of the arguments; `auto`
    takes what is fewer.
    """
    structure = _Structure(transform, arguments)
    wanted = sum(count(shape_of(primal(v))) for v in structure.numbers)
    if transform.mode != "forward":
        recording = _record(run, transform, call, arguments, site)
        _verify_value(run, transform, recording.value, site)
        size = sum(count(shape_of(primal(read(v)))) for v in leaves(recording.value))
        if transform.mode == "reverse" or size <= wanted:
            blocks = map_structure(lambda v: _rows(run, recording, structure, read(v), site), recording.value)
            recording.finish()
            return blocks
        recording.finish()
    return _columns(run, transform, call, arguments, structure, site)


def _rows(run: Run, recording: Recording, structure: _Structure, target: Any, site: Site) -> Any:
    """The blocks of one number of the value, by a sweep for each of its elements; none of a gradient that there isn't."""
    if target is None:
        return structure.of([None] * len(structure.numbers))
    shape = shape_of(primal(target))
    _verify_size(run, shape, structure, site)
    sweeps = [recording.pull([(target, unit(run, primal(target), k))]) for k in range(count(shape))]
    blocks = []
    for j, source in enumerate(structure.numbers):
        inner = primal(source)
        rows = [zeros_like(run, source) if found[j] is None else found[j] for found in sweeps]
        block = _stacked(run, site, rows, shape, shape_of(inner), 0) if sweeps and is_inexact(inner) else None
        blocks.append(_block(run, target, source, block, site))
    return structure.of(blocks)


def _block(run: Run, target: Any, source: Any, found: Any, site: Site) -> Any:
    """A block that was found; zeros for one that has no elements, and none by what isn't differentiable."""
    if found is not None or not is_inexact(primal(source)):
        return _gradient(run, target, source, found, site)
    return zero_block(run, target, source)


def _columns(run: Run, transform: Transform, call: Call, arguments: list[Any], structure: _Structure, site: Site) -> Any:
    """All blocks, by a call for each element of the arguments."""
    value: Any = None
    columns: list[list[Any]] = []  # for each number among the arguments, for each of its elements: the tangents of the value
    for j, source in enumerate(structure.numbers):
        columns.append([])
        for k in range(count(shape_of(primal(source))) if is_inexact(primal(source)) else 0):
            tangents = [unit(run, primal(v), k) if i == j else None for i, v in enumerate(structure.numbers)]
            value, tangent = along(run, call, arguments, transform.positions, tangents, site)
            columns[-1].append([read(t) for t in leaves(_filled(run, value, tangent))])
    if value is None:
        value = call(arguments)
    _verify_value(run, transform, value, site)
    numbers = [read(v) for v in leaves(value)]
    blocks = []
    for i, target in enumerate(numbers):
        if target is None:
            blocks.append(structure.of([None] * len(structure.numbers)))
            continue
        shape = shape_of(primal(target))
        _verify_size(run, shape, structure, site)
        row = []
        for source, found in zip(structure.numbers, columns, strict=True):
            inner = shape_of(primal(source))
            stacked = _stacked(run, site, [tangents[i] for tangents in found], inner, shape, -1) if found else None
            row.append(_block(run, target, source, stacked, site))
        blocks.append(structure.of(row))
    rest = iter(blocks)
    return map_structure(lambda v: next(rest), value)


def _stacked(run: Run, site: Site, parts: list[Any], shape: tuple[int, ...], inner: tuple[int, ...], axis: int) -> Any:
    """Parts of shape `inner`, one for each element of something of `shape`, as one array: those axes first, or last."""
    if not shape:
        return parts[0]
    stacked = apply(run, site.derived(STACK), tuple(parts), {"axis": axis})
    whole = shape + inner if axis == 0 else inner + shape
    return apply(run, site.derived(RESHAPE), (stacked,), {"shape": list(whole)})


def _verify_size(run: Run, shape: tuple[int, ...], structure: _Structure, site: Site) -> None:
    for source in structure.numbers:
        whole = shape + shape_of(primal(source))
        run.verify_allocation(8 * count(whole), f"a Jacobian of shape {show_shape(whole)}", site.span)


def _batch_jacobian(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    """The Jacobian of each row of the value by the same row of the argument: batch + value.shape[1:] + argument.shape[1:]."""
    structure = _Structure(transform, arguments)
    recording = _record(run, transform, call, arguments, site)
    target = read(recording.value)
    verify_target(run, target, site.span)
    shape = shape_of(primal(target))
    for source in structure.numbers:
        verify_batch(run, shape, shape_of(primal(source)), site)
    sweeps = [recording.pull([(target, seed)]) for seed in batch_seeds(run, primal(target))]
    blocks = []
    for j, source in enumerate(structure.numbers):
        rows = tuple([zeros_like(run, source) if found[j] is None else found[j] for found in sweeps])
        block = batch_block(run, site, rows, shape, source) if is_inexact(primal(source)) else None
        blocks.append(_gradient(run, target, source, block, site))
    recording.finish()
    return structure.of(blocks)


# ---- second derivatives, made of the first ---------------------------------------------------------------------------


def _hessian(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    gradient = Transform("grad", transform.function, transform.wrt)
    outer = Transform("jacobian", gradient, transform.wrt, transform.mode if transform.mode == "forward" else "reverse")
    return _jacobian(run, outer, _again(run, gradient, call), arguments, None, site)


def _hvp(run: Run, transform: Transform, call: Call, arguments: list[Any], vector: Any, site: Site) -> Any:
    gradient = Transform("grad", transform.function, transform.wrt)
    return _jvp(run, Transform("jvp", gradient, transform.wrt), _again(run, gradient, call), arguments, vector, site)


def _again(run: Run, transform: Transform, call: Any) -> Call:
    """The call of a transform of the function, with the same further arguments."""
    return lambda arguments: call_transform(run, transform, arguments, call.keywords["keywords"], call.keywords["site"])


_OF_ARRAYS = frozenset(("jacobian", "batch_jacobian", "hessian"))  # which take a list of numbers for an array
_VECTORS = {"jvp": "v", "value_and_jvp": "v", "hvp": "v", "vjp": "u"}
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
}
