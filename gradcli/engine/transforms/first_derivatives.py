"""First derivatives of functions: `grad`, `value_and_grad`, `vjp`, `jvp` and `value_and_jvp`.

The functions with the parameters of `gradient` implement one kind of transform each;
`transforms.py` dispatches to them.
"""

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
from .recording import Recording
from .scalar_transforms import along_float, are_floats, is_short, value_and_slopes
from .transform_arguments import Sources


def gradient(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> Any:
    return value_and_gradient(run, transform, arguments, keywords, vector, site)[1]


def value_and_gradient_list(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> List:
    return List(list(value_and_gradient(run, transform, arguments, keywords, vector, site)))


def value_and_gradient(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> tuple[Any, Any]:
    """Returns the value and the gradient of the sum of its elements, weighted by the `vector` if
    there is one.
    """
    recording = None
    if not keywords and (vector is None or type(vector) is float) and is_short(run):
        wrt, seed = transform.wrt, 1.0 if vector is None else vector
        x = read(arguments[wrt]) if type(wrt) is int else None
        x = x if type(x) is float else None
        if x is not None or are_floats(arguments, transform.positions):
            short = value_and_slopes(
                run, transform.function, arguments, transform.positions, x, seed, site
            )
            if not isinstance(short, Recording):
                value, found = short
                return value, found[0] if x is not None else Sources(transform, arguments).rebuild(
                    found
                )
            recording = short
    if recording is None:
        recording = Recording(
            run, transform.function, arguments, keywords, transform.positions, site
        )
    value = recording.value
    if (
        type(value) is tuple
        and type(value[0]) is float
        and (vector is None or type(vector) is float)
    ):
        found = recording.pull_scalar(value, 1.0 if vector is None else vector)
        value = recording.outside(value)
    else:
        traced = verify_target(run, value, site.span, of=transform.function)
        found = recording.pull(seeds_for(run, traced, value, vector, site, "vector", "value"))
        value = map_structure(lambda v: recording.outside(read(v)), value)
    recording.finish()
    if (
        found
        and type(found[0]) is float
        and transform.wrt == 0
        and type(read(arguments[0])) is float
    ):
        return value, found[0]
    sources = Sources(transform, arguments)
    for k, g in enumerate(found):
        if g is None:
            found[k] = gradient_or_zero(run, value, sources.numbers[k], None, site)
    return value, sources.rebuild(found)


def jvp(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> Any:
    return value_and_tangent(run, transform, arguments, keywords, vector, site)[1]


def value_and_jvp(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> List:
    return List(list(value_and_tangent(run, transform, arguments, keywords, vector, site)))


def value_and_tangent(
    run: Run,
    transform: Transform,
    arguments: list[Any],
    keywords: dict[str, Any],
    vector: Any,
    site: Site,
) -> tuple[Any, Any]:
    """Returns the value and its tangent along the vector."""
    is_plain = not (run.asks or keywords) and run.fast_paths
    if (
        is_plain
        and type(vector) is float
        and transform.wrt == 0
        and type(x := read(arguments[0])) is float
    ):
        tangents = [vector]
        value, tangent = along_float(run, transform.function, arguments, x, vector, site)
    else:
        tangents = _tangents(run, transform, arguments, vector, site)
        value, tangent = along(
            run, transform.function, arguments, keywords, transform.positions, tangents, site
        )
    if type(value) is float and type(tangent) is float:
        return value, tangent
    verify_target(run, value, site.span, real=False, of=transform.function)
    if all(t is None for t in tangents):
        return value, map_structure(lambda v: None, value)
    return value, with_zeros(run, value, tangent)


def _tangents(
    run: Run, transform: Transform, arguments: list[Any], vector: Any, site: Site
) -> list[Any]:
    """Returns the part of the vector for each number among the arguments; None for one that isn't
    differentiable.
    """
    vectors = vector if isinstance(transform.wrt, list) else List([vector])
    selected = List([arguments[k] for k in transform.positions])
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
