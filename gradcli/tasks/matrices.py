"""Jacobians and Hessians by kernels: those of a run whose sweeps would take long, and what there is
where a kernel gives nothing."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..engine.backends.tiers import policy
from ..engine.values.contents import plain
from ..engine.values.sparse import Sparse, entries
from .answer import Answer, Matrices

if TYPE_CHECKING:
    from ..engine.program_calls import Answered, Asked

LONG = 2**12  # records of a run whose sweeps may take long


def by_kernels(answer: Answer, inputs: Mapping[str, Any]) -> Matrices | None:
    """The Jacobians and Hessians that are asked of a run, where kernels compute them: its sweeps
    take longer than compiling."""
    least = policy().heat.sweeps
    if answer.run.trace.number < min(LONG, least) or not answer.options.is_plain:
        return None
    if not (policy().writes and answer.is_by_variables) or answer.options.device != "cpu":
        return None
    asked = answer.asked(once=True)
    if asked is None or sum([plan.cost for plan in asked.plans]) < least:
        return None
    from ..engine.program_calls import NoRule, NotCompiled, ProgramCall  # the compiler

    try:
        dtype, seed = answer.options.dtype, answer.options.seed
        call = ProgramCall(answer.node, inputs, [], [], False, asked, dtype, seed=seed)
    except (NotCompiled, NoRule):
        return None
    numbers = call.numbers(inputs)
    found = None if numbers is None else call.run(numbers)
    if found is None:
        return None
    return Matrices(
        {of: _jacobians(answer, of, found) for of in asked.jacobians},
        {of: _hessians(answer, of, asked, found) for of in asked.hessians},
    )


def _jacobians(answer: Answer, of: str, found: Answered) -> list[Any]:
    """The Jacobians of a target by each source."""
    blocks = []
    for by, block in found.jacobians[of].items():
        zero = answer.execution.host(answer.zero_jacobian(answer.targets[of], by))
        there = any(leaf is not None for leaf in _leaves(block))
        blocks.append(filled(block, zero) if there else None)
    return blocks


def _hessians(answer: Answer, of: str, asked: Asked, found: Answered) -> dict[tuple[int, int], Any]:
    """The second derivatives of a target by pairs of sources, by their numbers."""
    names, sources, connected = asked.sources, list(answer.sources.values()), asked.hessians[of]
    numbers = range(len(names))
    pairs = [(i, i) for i in numbers]
    pairs += [(i, j) for i in numbers for j in numbers[i + 1 :] if asked.mixed]
    blocks: dict[tuple[int, int], Any] = {}
    for i, j in pairs:
        block = found.hessians[of].get(",".join(dict.fromkeys((names[i], names[j]))))
        zero = answer.execution.zero_block(sources[i], sources[j], answer.options.sparse)
        there = i in connected and j in connected
        blocks[i, j] = filled(block, answer.execution.host(zero)) if there else None
    return blocks


def filled(found: Any, otherwise: Any) -> Any:
    """What kernels gave, as it is outside a program; what is in its place `otherwise` where that is
    nothing."""
    if found is None or otherwise is None:
        return deepcopy(otherwise)
    if type(found) is list:
        return [filled(*pair) for pair in zip(found, otherwise, strict=True)]
    if type(found) is dict:
        return {key: filled(item, otherwise[key]) for key, item in found.items()}
    return plain(entries(found)) if type(found) is Sparse else found


def _leaves(found: Any) -> list[Any]:
    if type(found) is dict:
        found = list(found.values())
    return [leaf for item in found for leaf in _leaves(item)] if type(found) is list else [found]
