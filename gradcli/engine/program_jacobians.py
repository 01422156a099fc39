"""Jacobians and Hessians of whole programs: a kernel is called for each sweep in the interpreter's
plans for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from .backends.backend import CPU
from .backends.tiers import policy
from .ir.instructions import Block, Branch, Each, For, Region, blocks_of, constants_in, size_of
from .ir.types import DTYPES, FLOATS, ArrayType, element_of, elements_of
from .jacobian.plans import Plan
from .kernels.region_calls import RegionCall
from .lowering.held.kinds import Kind, Record, Stored, flat, items_in
from .lowering.held.names import NotCompiled
from .lowering.programs import Lowered
from .operations.rules import array_language
from .passes.calls import Regions
from .passes.derivatives.gradients import with_gradients
from .passes.derivatives.jvp import jvp
from .passes.derivatives.vjp import vjp
from .passes.pipeline import simplified
from .program_values import count_of, places_of

MOST = 16  # kernels of a program
# Microseconds for an instruction of a kernel, for a call of one, and for a run of the interpreter.
INSTRUCTION, CALL, RUN = 0.0003, 5.0, 200.0
SECOND = 4  # making a kernel of a Hessian takes so many times as long as one of a Jacobian
SEEDS = 2**16  # numbers in the cached seeds of a plan, at most
AT_ONCE = 4  # points of an `each` that LLVM computes at once
Blocks = dict[int, Any]  # by the numbers of sources


class Asked(NamedTuple):
    """The Jacobians and Hessians that are asked of a program, with their plans.

    sources    the names of the variables; plans have their numbers
    jacobians  by target, for each place of it
    hessians   by target, and by the number of the variable of the first derivative
    mixed      whether each gradient is also differentiated by all later variables
    once       whether only the numbers of the run that made the plans are asked about
    """

    sources: Sequence[str]
    jacobians: Mapping[str, Sequence[Sequence[Plan]]]
    hessians: Mapping[str, Mapping[int, Sequence[Plan]]]
    mixed: bool = False
    once: bool = False

    @property
    def plans(self) -> Iterator[Plan]:
        for places in self.jacobians.values():
            for plans in places:
                yield from plans
        for row in self.hessians.values():
            for plans in row.values():
                yield from plans

    @property
    def kernels(self) -> int:
        """How many kernels there will be. One of a Hessian, which is a derivative of a derivative,
        counts as so many as it takes longer to make."""
        hessians = sum([len(plans) for row in self.hessians.values() for plans in row.values()])
        return len([*self.plans]) + (SECOND - 1) * hessians

    @property
    def is_sure(self) -> bool:
        """Whether the plans hold for other numbers, too. They are the same on all paths of the
        program on which everything depends on everything, and this is such a path."""
        if self.once:
            return True
        n = len(self.sources)
        counts = [(plans, n) for places in self.jacobians.values() for plans in places]
        for row in self.hessians.values():
            rows = [(row.get(i, ()), n - i if self.mixed else 1) for i in range(n)]
            counts += rows
        return all(sum([len(p.sources) for p in plans]) == n for plans, n in counts) and all(
            not plan.paths and (plan.back or len(plan.sources) == 1) for plan in self.plans
        )


class Matrices:
    """The kernels of a program's Jacobians and Hessians."""

    def __init__(self, lowered: Lowered, asked: Asked) -> None:
        """Raises NotCompiled, and NoRule."""
        if sum([1 for _ in asked.plans]) > MOST:
            raise NotCompiled("there are too many Jacobians", None)
        if asked.once:
            _verify_pays(asked, size_of(lowered.original.block))
        least = _work(lowered.original.block)  # without derivatives, which take longer to make
        for plan in asked.plans:
            _verify_worth(plan, least)
        self._sources, self._regions = asked.sources, lowered.regions
        self._region = simplified(lowered.original)  # once, as there are several derivatives
        of, by = places_of(lowered.results), places_of(lowered.parameters)
        self._wrt = [by[name] for name in asked.sources]
        self._kinds = {name: lowered.results[name] for name in asked.jacobians}
        self._jacobians: dict[str, list[list[PlannedCall]]] = {}
        self._hessians: dict[str, dict[int, list[PlannedCall]]] = {}
        for name, plans in asked.jacobians.items():
            places = list(_places(lowered.results[name], of[name].start))
            self._jacobians[name] = [
                self._calls(self._region, place, (), each)
                for place, each in zip(places, plans, strict=True)
            ]
        for name, row in asked.hessians.items():
            self._hessians[name] = self._seconds(lowered, of[name], row)

    def _seconds(
        self, lowered: Lowered, target: Sequence[int], row: Mapping[int, Sequence[Plan]]
    ) -> dict[int, list[PlannedCall]]:
        """The calls for the derivatives of a target's gradients."""
        first = count_of(lowered.results)
        found: dict[int, list[PlannedCall]] = {}
        for i, plans in row.items():
            if plans:
                own = list(self._wrt[i])
                whole = with_gradients(self._region, [target], own, self._regions)
                ends = range(first, first + 2 * len(own), 2)
                found[i] = self._calls(whole, ends, [k + 1 for k in ends], plans)
        return found

    def _calls(
        self, region: Region, of: Sequence[int], flags: Sequence[int], plans: Sequence[Plan]
    ) -> list[PlannedCall]:
        return [PlannedCall(region, of, flags, self._wrt, p, self._regions) for p in plans]

    def jacobians(self, numbers: list[Any]) -> dict[str, dict[str, Any]] | None:
        """By target and variable: a block for each place of the target, or None where there is
        none. None if the interpreter must run the program. Raises StepBack."""
        found: dict[str, dict[str, Any]] = {}
        for of, places in self._jacobians.items():
            blocks = [_blocks(calls, numbers) for calls in places]
            whole = [each for each in blocks if each is not None]
            if len(whole) < len(blocks):
                return None
            found[of] = {
                name: _structured(self._kinds[of], iter([each.get(k) for each in whole]))
                for k, name in enumerate(self._sources)
            }
        return found

    def hessians(self, numbers: list[Any]) -> dict[str, dict[str, Any]] | None:
        """The same by target and pairs of variables: `x` for a variable by itself, or `x,z`."""
        found: dict[str, dict[str, Any]] = {}
        for of, row in self._hessians.items():
            found[of] = {}
            for i, calls in row.items():
                blocks = _blocks(calls, numbers)
                if blocks is None:
                    return None
                names = {j: dict.fromkeys((self._sources[i], self._sources[j])) for j in blocks}
                found[of] |= {",".join(names[j]): block for j, block in blocks.items()}
        return found


class PlannedCall:
    """The derivatives of some results of a region, which are one value, as a plan has them. The
    `flags` are further results, of which some must hold."""

    def __init__(
        self,
        region: Region,
        of: Sequence[int],
        flags: Sequence[int],
        wrt: Sequence[range],
        plan: Plan,
        regions: Regions,
    ) -> None:
        """`wrt` are the parameters of each source. Raises NotCompiled, and NoRule."""
        block, n = region.block, len(of)
        sources = [wrt[k] for k in plan.sources]
        places = [k for each in sources for k in each]
        value = [block.results[k].type for k in of]
        given = [block.parameters[k].type for k in places]
        results = tuple([block.results[k] for k in (*of, *flags)])
        region = Region(region.name, Block(block.parameters, block.instructions, results))
        derived = (
            vjp(region, places, regions, of=range(n)) if plan.back else jvp(region, places, regions)
        ).block
        cut = Block(derived.parameters, derived.instructions, derived.results[n:])
        self._call = RegionCall(Region(region.name, cut), regions)
        self._plan, self._flags = plan, len(flags)
        self._begins = value if plan.back else given
        # The types of the results of a sweep, by value.
        ends = [*accumulate(map(len, sources), initial=0)]
        self._ends = [given[a:b] for a, b in pairwise(ends)] if plan.back else [value]
        self._sizes = [sum(map(elements_of, kinds)) for kinds in self._ends]
        types = {*map(element_of, (*value, *given))}
        if len(types) > 1 or not types <= {*FLOATS}:
            raise NotCompiled("derivatives of numbers of this type are not compiled", None)
        self._dtype = DTYPES[types.pop()]
        _verify_worth(plan, sum([_work(each.block) for each in self._call.expanded]))
        self._seeds: dict[int, list[Any]] = {}

    def run(self, numbers: list[Any]) -> Blocks | None:
        """The block by each of the plan's sources. None where one isn't connected, or a number
        isn't finite. Raises StepBack."""
        plan, xp = self._plan, CPU.xp
        rows = [xp.empty((plan.sweeps, size), self._dtype) for size in self._sizes]
        for k in range(plan.sweeps):
            found = self._call.run([*numbers, *self._seed(k)], plan.sweeps)
            if self._flags and not any(found[: self._flags]):
                return None
            start = self._flags
            for row, kinds in zip(rows, self._ends, strict=True):
                end = start + 2 * len(kinds)
                if not any(found[start + 1 : end : 2]):
                    return None
                row[k] = _flat(found[start:end:2])
                start = end
        if not all(xp.isfinite(row).all() for row in rows):
            return None
        shapes = plan.shapes if plan.back else (plan.shape,)
        pairs = zip(rows, shapes, strict=True)
        results = [row.reshape(plan.sweeps, *shape) for row, shape in pairs]
        blocks = plan.blocks(CPU, array_language(CPU, self._dtype), results)
        return dict(zip(plan.sources, map(CPU.settle, blocks), strict=True))

    def _seed(self, k: int) -> list[Any]:
        """The numbers and arrays that a sweep begins with."""
        if k in self._seeds:
            return self._seeds[k]
        ones, seed, start = (self._plan.colour == k).astype(float), [], 0
        for kind in self._begins:
            part = ones[start : start + elements_of(kind)]
            seed.append(part.reshape(kind.shape) if isinstance(kind, ArrayType) else float(part[0]))
            start += elements_of(kind)
        if self._plan.sweeps * len(ones) <= SEEDS:
            self._seeds[k] = seed
        return seed


def _blocks(calls: Sequence[PlannedCall], numbers: list[Any]) -> Blocks | None:
    found: Blocks = {}
    for call in calls:
        blocks = call.run(numbers)
        if blocks is None:
            return None
        found |= blocks
    return found


def _flat(values: list[Any]) -> Any:
    """A list of numbers as it is, an array as a vector."""
    return values[0].ravel() if type(values[0]) is CPU.ndarray else values


def _places(kind: Kind, start: int) -> Iterator[range]:
    """The positions of the numbers in each place of something of a kind, from `start` on."""
    if isinstance(kind, Stored) and kind.listed:
        raise NotCompiled("a Jacobian of a long list is not compiled", None)
    if not isinstance(kind, tuple | Record):
        yield range(start, start + len([*flat(kind)]))
        return
    for item in items_in(kind):
        yield from _places(item, start)
        start += len([*flat(item)])


def _structured(kind: Kind, leaves: Iterator[Any]) -> Any:
    """Leaves in the structure of lists and dicts of a kind."""
    if isinstance(kind, tuple):
        return [_structured(item, leaves) for item in kind]
    if isinstance(kind, Record):
        pairs = zip(kind.keys, kind.items, strict=True)
        return {key: _structured(item, leaves) for key, item in pairs}
    return next(leaves)


def _verify_worth(plan: Plan, work: int) -> None:
    """Raises NotCompiled where the interpreter, which computes sweeps together, takes less time for
    a plan than a kernel that does this work for each sweep."""
    if plan.sweeps * (CALL + INSTRUCTION * work) > plan.cost + RUN:
        raise NotCompiled("the interpreter computes several sweeps at once", None)


def _verify_pays(asked: Asked, size: int) -> None:
    """Raises NotCompiled where a run's sweeps take less time than making the kernels for a program
    of a size."""
    if sum([plan.cost for plan in asked.plans]) < asked.kernels * size * policy().heat.sweeps_each:
        raise NotCompiled("making kernels takes longer than the sweeps of one run", None)


def _work(block: Block) -> int:
    """About how many instructions a block runs: the longer side of a branch, and as many iterations
    of a loop as its count says, if that is known."""
    known = constants_in(block)

    def work(block: Block) -> int:
        total = len(block.instructions)
        for made in block.instructions:
            inner = [work(each) for each in blocks_of(made)]
            if isinstance(made, For):
                total += inner[0] * known.get(made.count, 1)
            elif isinstance(made, Each):
                total += inner[0] * made.size // AT_ONCE
            else:
                total += max(inner, default=0) if isinstance(made, Branch) else sum(inner)
        return total

    return work(block)
