"""Second derivatives of functions: `hessian` and `hvp`, composed of first derivatives."""

from __future__ import annotations

from typing import Any

from ..ad.targets import direction, pair_with, seeds_for, verify_target
from ..backends.backend import is_inexact
from ..jacobian.jacobians import verify_real
from ..values.boxes import primal
from ..values.kinds import List, Transform, leaves, read
from .first_derivatives import gradient_or_zero, value_and_gradient
from .jacobian_transforms import jacobian
from .recording import DifferentiatedCall, Recording
from .transform_arguments import Sources

# The kind of transform that `hessian` and `hvp` differentiate; programs can't name it.
GRADIENTS = "gradients"


def gradients(transform: Transform, call: DifferentiatedCall, vector: Any) -> List:
    """Returns a list of the gradients by those arguments that are differentiable."""
    once, call.run.once = call.run.once, False  # the caller differentiates them again
    try:
        _, found = value_and_gradient(transform, call, None)
        return List([g for g in leaves(found) if g is not None])
    finally:
        call.run.once = once


def hessian(transform: Transform, call: DifferentiatedCall, vector: Any) -> Any:
    sources = _sources(transform, call)
    gradients = Transform(GRADIENTS, transform.function, transform.wrt)
    outer = Transform("jacobian", gradients, transform.wrt, transform.mode, transform.sparse)
    symmetric = len(sources.numbers) == 1
    rows = iter(jacobian(outer, call._replace(function=gradients), None, symmetric))
    nothing = sources.rebuild([None] * len(sources.numbers))
    return sources.rebuild(
        [next(rows) if is_inexact(primal(v)) else nothing for v in sources.numbers]
    )


def hvp(transform: Transform, call: DifferentiatedCall, vector: Any) -> Any:
    """Implements `hvp`: the Hessian times the vector.

    The Hessian is symmetric, so the product is also the vector times the Hessian, which is a second
    sweep.
    """
    run, site, sources = call.run, call.site, _sources(transform, call)
    vectors = vector if sources.listed else List([vector])
    selected = List([call.arguments[k] for k in call.wrt])
    pairs = [(read(v), t) for v, t in pair_with(run, selected, vectors, site, "vector", "argument")]
    tangents = [
        direction(run, v, t, site, "argument") if is_inexact(primal(v)) else None for v, t in pairs
    ]
    call = call._replace(function=Transform(GRADIENTS, transform.function, transform.wrt))
    recording = Recording(call)
    traced = verify_target(run, recording.value, site.span)
    vectors = List([t for t in tangents if t is not None])
    found = recording.pull(seeds_for(run, traced, recording.value, vectors, site))
    recording.finish()
    return sources.rebuild(
        [
            gradient_or_zero(run, None, source, g, site)
            for source, g in zip(sources.numbers, found, strict=True)
        ]
    )


def _sources(transform: Transform, call: DifferentiatedCall) -> Sources:
    """What is differentiated by. Raises GradcliError (E314) where that is complex."""
    sources = Sources(transform, call.arguments)
    verify_real(call.run, sources.numbers, call.site.span)
    return sources
