"""Whole programs as regions: one kernel for their outputs and gradients, others for their Jacobians
and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any, NamedTuple

from ..lang.program import Program
from .backends.backend import CPU, ieee
from .backends.selection import backend_for
from .backends.tiers import NO_LIMIT
from .codegen.step_back import StepBack
from .formulas.functions import is_plain
from .ir.builder import TooLong
from .ir.instructions import (
    Block,
    Each,
    Operation,
    Product,
    Region,
    Structural,
    blocks_of,
    constants_in,
)
from .ir.types import OF_DTYPE
from .kernels.region_calls import RegionCall
from .kernels.variants import paid_by
from .lowering.held.names import NotCompiled
from .lowering.programs import Lowered, lower_program
from .passes.derivatives.gradients import with_gradients, with_tangents
from .passes.paths import decides
from .passes.pipeline import simplified
from .passes.rules import NoRule
from .program_jacobians import Asked, Matrices
from .program_values import (
    Part,
    few,
    forward_parts,
    from_outside,
    moves,
    part_of,
    places_of,
    reverse_parts,
    takes,
)
from .trace.run import running

__all__ = ["Answered", "Asked", "NoRule", "NotCompiled", "ProgramCall", "TooLong"]

AGAIN = 32  # about how many more times a hot program will run


class Answered(NamedTuple):
    """The outputs, and the gradients of the targets by the sources: None where there is none. The
    Jacobians and Hessians are as in `Evaluation`, but with None in each place where there is
    none."""

    outputs: dict[str, Any]
    gradients: dict[str, dict[str, Any]]
    jacobians: dict[str, dict[str, Any]]
    hessians: dict[str, dict[str, Any]]


class Derived(NamedTuple):
    """The region of a program and its derivatives, and how outputs and gradients are made of its
    results."""

    call: RegionCall
    outputs: dict[str, Part]
    gradients: dict[str, dict[str, Part]]


def derived(
    lowered: Lowered, targets: Sequence[str], sources: Sequence[str], forward: bool
) -> Derived:
    """A program with the gradients of its targets by its sources. Raises NotCompiled, and
    NoRule."""
    _verify_names(lowered, targets, sources)
    of, by = places_of(lowered.results), places_of(lowered.parameters)
    moving = [k for name in sources for k in by[name] if moves(lowered.parameters[name])]
    region = simplified(lowered.original)  # once, where there are several derivatives
    if forward:
        whole = with_tangents(region, few(moving), lowered.regions)
        gradients = forward_parts(lowered, targets, sources)
    else:
        ends = [of[name] for name in targets] if moving else []
        whole = with_gradients(region, ends, moving, lowered.regions)
        gradients = reverse_parts(lowered, targets, sources)
    outputs = {name: part_of(kind, of[name].start) for name, kind in lowered.results.items()}
    return Derived(RegionCall(whole, lowered.regions), outputs, gradients)


def _verify_names(lowered: Lowered, targets: Sequence[str], sources: Sequence[str]) -> None:
    """Raises NotCompiled where a target is no output, or a source no variable."""
    if not {*targets} <= lowered.results.keys() or not {*sources} <= lowered.parameters.keys():
        raise NotCompiled("a target or a source isn't in this region", None)


class ProgramCall:
    """A program that is run with values from outside of one kind.

    outputs  their names
    """

    def __init__(
        self,
        node: Program,
        inputs: Mapping[str, Any],
        targets: Sequence[str],
        sources: Sequence[str],
        forward: bool,
        asked: Asked | None = None,
        dtype: str = "float64",
        device: str = "cpu",
        seed: int = 0,
        work: float = NO_LIMIT,
    ) -> None:
        """`targets` and `sources` are those of gradients; `asked` are the Jacobians and Hessians;
        `dtype` is that of the run's floats; `device` is where its large arrays are; `seed` is that
        of random numbers; `work` is the work for which a kernel pays. Raises NotCompiled, and
        NoRule; TooLong where lowering takes more than that."""
        if asked is not None and device != "cpu":
            raise NotCompiled("sweeps for Jacobians are not compiled for GPUs", None)
        self._device, self._calls = device, 1 if asked is not None and asked.once else AGAIN
        most = paid_by(work if asked is None else work / max(asked.kernels, 1))
        lowered = lower_program(node, inputs, real=OF_DTYPE[dtype], seed=seed, most=most)
        # Asked once, the run that asks has done what isn't compiled, which has no name here.
        for reason in () if asked is not None and asked.once else lowered.reasons:
            raise reason
        self._finds_straight = partial(_is_straight, lowered, frozenset(inputs))
        if asked is not None and not (asked.is_sure or self.is_straight):
            raise NotCompiled("other numbers may need other sweeps", None)
        self._call, self._outputs, self._gradients = derived(lowered, targets, sources, forward)
        self._takes = list(takes(lowered, inputs))
        self._given = len(inputs)
        self.outputs = list(lowered.results)
        self._matrices = None
        if asked is not None:
            _verify_names(lowered, [*asked.jacobians, *asked.hessians], asked.sources)
            self._matrices = Matrices(lowered, asked)
        self._known = _known_results(self._call.region)

    @cached_property
    def is_straight(self) -> bool:
        """Whether all numbers from outside are floats that decide nothing in the program."""
        return self._finds_straight()

    @cached_property
    def _context(self) -> Callable[[], AbstractContextManager[None]]:
        """The context in which a kernel runs: with room for calls inside each other, if there are
        any; or just without warnings of what isn't finite."""
        main, *others = self._call.expanded
        return running if others else ieee if _is_special(main.block) else nullcontext

    def numbers(self, inputs: Mapping[str, Any]) -> list[Any] | None:
        """The numbers of values from outside; None if they are of other kinds."""
        numbers: list[Any] = []
        if len(inputs) != self._given:
            return None
        for name, reader in self._takes:
            if not reader(inputs.get(name), numbers):
                return None
        return numbers

    def has_none(self, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether there is never a gradient of any of these pairs of names."""
        gradients = [self._gradients[of][by] for of, by in pairs if of in self._gradients]
        return all(gradient(self._known) is None for gradient in gradients)

    def run(self, numbers: list[Any]) -> Answered | None:
        """The answer. None if the interpreter must run the program, also where a number isn't
        finite."""
        try:
            with self._context():
                found = self._computed(numbers)
                matrices = self._matrices
                jacobians = {} if matrices is None else matrices.jacobians(numbers)
                hessians = {} if matrices is None else matrices.hessians(numbers)
        except (StepBack, MemoryError):
            return None
        if jacobians is None or hessians is None:
            return None
        for number in found:
            if number - number != 0 if type(number) is not CPU.ndarray else not _is_finite(number):
                return None
        outputs = {name: part(found) for name, part in self._outputs.items()}
        gradients = {
            of: {by: part(found) for by, part in row.items()} for of, row in self._gradients.items()
        }
        return Answered(outputs, gradients, jacobians, hessians)

    def _computed(self, numbers: list[Any]) -> list[Any]:
        """The results of the kernel, with arrays in the host's memory. Raises StepBack."""
        backend = backend_for(self._device)
        if backend is CPU or not self._call.is_large:
            return self._call.run(numbers, self._calls)
        return list(map(backend.to_host, self._call.run_on(backend, numbers, self._calls)))


def _is_finite(array: Any) -> bool:
    return bool(CPU.xp.isfinite(array).all())


def _is_straight(lowered: Lowered, inputs: frozenset[str]) -> bool:
    """Whether all numbers from outside are floats that decide nothing in a program; `inputs` are
    the names of what is given."""
    places = places_of(lowered.parameters)
    varying = from_outside(lowered, inputs)
    given = {lowered.original.block.parameters[k] for name in varying for k in places[name]}
    return not decides(lowered.original.block, given) and all(
        moves(lowered.parameters[name]) for name in inputs
    )


def _known_results(region: Region) -> list[Any]:
    """The results of a region that are known before it runs, and True for the others."""
    known = constants_in(region.block)
    return [known.get(value, True) for value in region.block.results]


def _is_special(block: Block) -> bool:
    """Whether a block may call functions of NumPy or SciPy, which warn of what isn't finite."""
    return any(
        isinstance(made, Each | Product | Structural)
        or (isinstance(made, Operation) and not is_plain(made.op))
        or any(map(_is_special, blocks_of(made)))
        for made in block.instructions
    )
