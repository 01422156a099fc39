"""Calls of transforms, which are derivatives of functions as functions: `grad(f)`, `jacobian(f)`,
`jvp(f)` and others.

Each calls its function once at a level of its own and runs sweeps over the recording; `hessian` and
`hvp` are composed of the others. Results have the structure of the arguments that are
differentiated by. The derivatives by an argument that the value doesn't depend on are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from ...ops.derivative import VECTORS
from ..backends.backend import count, is_inexact, shape_of
from ..backends.tiers import DIFFERENTIATED, FEW_SWEEPS
from ..operations.rows.number_kinds import uniform_kind
from ..operations.sequences import with_arrays
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.unregistered import UnregisteredError
from ..values.boxes import primal
from ..values.kinds import List, Transform, map_structure, read
from .first_derivatives import value_and_gradient, value_and_tangent
from .jacobian_transforms import batch_jacobian, jacobian
from .recording import DifferentiatedCall
from .second_derivatives import GRADIENTS, gradients, hessian, hvp
from .transform_arguments import Sources, take_positions, take_vector

# These accept a list of numbers for an array.
_OF_ARRAYS = frozenset(("jacobian", "batch_jacobian", "hessian"))
_Pair: TypeAlias = Callable[..., tuple[Any, Any]]


def _second(pair: _Pair) -> Callable[..., Any]:
    return lambda *given: pair(*given)[1]


def _both(pair: _Pair) -> Callable[..., List]:
    return lambda *given: List(list(pair(*given)))


# `(transform, call, vector) -> value` for each kind.
_KINDS: dict[str, Callable[..., Any]] = {
    "grad": _second(value_and_gradient),
    "value_and_grad": _both(value_and_gradient),
    "vjp": _second(value_and_gradient),
    "jvp": _second(value_and_tangent),
    "value_and_jvp": _both(value_and_tangent),
    "jacobian": jacobian,
    "batch_jacobian": batch_jacobian,
    "hessian": hessian,
    "hvp": hvp,
    GRADIENTS: gradients,
}


def call_transform(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Calls `grad(f)` or another transform.

    The vector of `jvp`, `vjp` and `hvp` is the second argument, or the keyword `v` (`u` for `vjp`).
    Raises GradcliError (E308) for arguments that don't fit.
    """
    if run.group is not None:
        one_kind, by = partial(_of_one_kind, run), transform.positions
        arguments = [map_structure(one_kind, v) if k in by else v for k, v in enumerate(arguments)]
        keywords = {name: map_structure(one_kind, v) for name, v in keywords.items()}
    before = run.work
    try:
        return _call(run, transform, arguments, keywords, site)
    except UnregisteredError as error:
        raise error.asked_at(site.span) from None
    finally:
        run.work += (DIFFERENTIATED - 1) * (run.work - before)


def _of_one_kind(run: Run, value: Any) -> Any:
    """An argument to differentiate by, or the ints that it is in all rows that run. Parts these
    where they differ in that."""
    inner = primal(read(value))
    kept = uniform_kind(run, inner)
    return value if kept is inner or is_inexact(kept) else kept


def _call(
    run: Run, transform: Transform, arguments: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
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
        arguments = [
            with_arrays(run, site, v) if k in positions else v for k, v in enumerate(arguments)
        ]
    before = run.one_record
    run.one_record = before and not _asks_for_structure(transform, arguments)
    try:
        call = DifferentiatedCall(run, transform.function, arguments, keywords, positions, site)
        return _KINDS[kind](transform, call, vector)
    finally:
        run.one_record = before


def _asks_for_structure(transform: Transform, arguments: list[Any]) -> bool:
    """Whether a transform asks what each element of its value depends on, which the record of a
    loop or a call doesn't tell."""
    if transform.kind not in ("jacobian", "hessian"):
        return False
    sources = Sources(transform, arguments).numbers
    return transform.sparse or sum(count(shape_of(primal(v))) for v in sources) > FEW_SWEEPS
