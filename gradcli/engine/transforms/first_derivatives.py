"""First derivatives of functions: `grad`, `value_and_grad`, `vjp`, `jvp` and `value_and_jvp`."""

from __future__ import annotations

from typing import Any

from ..ad.derivatives import note_unconnected
from ..ad.targets import direction, pair_with, seeds_for, verify_target, zeros_like
from ..backends.backend import is_inexact
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, Transform, leaves, map_structure, read
from .forward_level import along
from .recording import DifferentiatedCall, Recording
from .transform_arguments import Sources


def value_and_gradient(
    transform: Transform, call: DifferentiatedCall, vector: Any
) -> tuple[Any, Any]:
    """Returns the value and the gradient of the sum of its elements, weighted by the `vector` if
    there is one.
    """
    run, site, recording = call.run, call.site, Recording(call)
    value = recording.value
    traced = verify_target(run, value, site.span, of=call.function)
    found = recording.pull(seeds_for(run, traced, value, vector, site, "vector", "value"))
    value = map_structure(lambda v: recording.outside(read(v)), value)
    recording.finish()
    sources = Sources(transform, call.arguments)
    for k, g in enumerate(found):
        if g is None:
            found[k] = gradient_or_zero(run, value, sources.numbers[k], None, site)
    return value, sources.rebuild(found)


def value_and_tangent(
    transform: Transform, call: DifferentiatedCall, vector: Any
) -> tuple[Any, Any]:
    """Returns the value and its tangent along the vector."""
    run, tangents = call.run, _tangents(transform, call, vector)
    value, tangent = along(call, tangents)
    if type(value) is float and type(tangent) is float:
        return value, tangent
    verify_target(run, value, call.site.span, real=False, of=call.function)
    if all(t is None for t in tangents):
        return value, map_structure(lambda v: None, value)
    return value, with_zeros(run, value, tangent)


def _tangents(transform: Transform, call: DifferentiatedCall, vector: Any) -> list[Any]:
    """Returns the part of the vector for each number among the arguments; None for one that isn't
    differentiable.
    """
    run, site = call.run, call.site
    vectors = vector if isinstance(transform.wrt, list) else List([vector])
    selected = List([call.arguments[k] for k in call.wrt])
    tangents: list[Any] = []
    for value, part in pair_with(run, selected, vectors, site, "vector", "argument"):
        value = read(value)
        if type(value) is float and type(part) is float:
            tangents.append(part)
        elif is_inexact(primal(value)):
            tangents.append(direction(run, value, part, site, "argument"))
        else:
            tangents.append(None)
            note_unconnected(run, None, value, site.span, None)
    return tangents


def gradient_or_zero(run: Run, value: Any, source: Any, found: Any, site: Site) -> Any:
    """Returns the gradient that was found, zeros if none was, and None for a source that isn't
    differentiable.
    """
    if found is None and not is_inexact(primal(source)):
        note_unconnected(run, value, source, site.span, None)
        return None
    return zeros_like(run, source) if found is None else found


def with_zeros(run: Run, value: Any, tangent: Any) -> Any:
    """Returns a tangent with zeros where the value doesn't depend on what was perturbed."""
    tangents = iter(list(leaves(tangent)))
    return map_structure(
        lambda v: zeros_like(run, v) if (t := next(tangents)) is None and v is not None else t,
        value,
    )
