"""The kernels of a loop, for what its frame holds: values, derivatives along tangents, and the
pullback of iterations as one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lang import program
from ...ops.op import Op
from ..codegen.kernel import Kernel
from ..ir.instructions import Block, Region
from ..ir.types import F64
from ..passes.activity import varied
from ..passes.aliases import returned_parameters
from ..passes.copying import copied
from ..passes.dead_code import without_dead_code
from ..passes.folding import fold
from ..passes.hoisting import hoist
from ..passes.jvp import jvp
from ..passes.vjp import vjp
from ..regions.frame_loops import lower_loop
from ..trace.pullbacks import Pullback, ReverseSweep
from .frame_entries import Observed

LOOP = Op("loop", "*operands", "Iterations of a loop as one operation.", internal=True, engine=True)
HEAD = 2  # the parameters of a loop's region before those of the frame: see `lower_loop`


class LoopKernels:
    """What runs iterations of a loop.

    changed  the slots that iterations assign
    active   the positions of the numbers that are traced, or have tangents
    moving   the positions in `changed` of what depends on these
    aliases  the positions of the numbers that names may be the same as after iterations
    """

    def __init__(self, node: program.While | program.For, observed: Observed, step: int) -> None:
        """Raises NotCompiled, and NoRule."""
        loop = lower_loop(node, observed.entries, step)
        self.changed = loop.changed
        self._region = region = _simple(loop.region)
        self.active = tuple([k for k, box in enumerate(observed.boxes) if box])
        self._wrt = [HEAD + k for k in self.active]
        parameters, (_, *results) = region.block.parameters, region.block.results
        depends = varied(region.block, {parameters[k] for k in self._wrt})
        self.moving = [k for k, value in enumerate(results) if value in depends]
        self.aliases = {k - HEAD for k in returned_parameters(region, results)}
        self.value = Kernel(region)
        self._along = Kernel(_simple(jvp(region, self._wrt))) if "dual" in observed.boxes else None
        self._pulls: dict[tuple[int, ...], Kernel] = {}
        if "traced" in observed.boxes:
            self._pull(tuple(self.moving))  # so that a rule that is missing is found now

    def along(
        self, size: int, start: int, primals: Sequence[Any], tangents: Sequence[float]
    ) -> tuple[bool, list[Any], list[float | None]]:
        """Runs iterations on duals: whether the loop ended, the values of `changed`, and the
        tangents of `moving`, None where none of the duals is connected. Raises StepBack."""
        assert self._along is not None
        n = 1 + len(self.changed)
        ended, *results = self._along.run(size, size, start, *primals, *tangents)
        floats = [k for k, value in enumerate(self._region.block.results) if value.type == F64]
        pairs = iter(results[n - 1 :])
        found = dict(zip(floats, zip(pairs, pairs, strict=True), strict=True))
        given = [found[k + 1] for k in self.moving]
        return ended, results[: n - 1], [t if connected else None for t, connected in given]

    def pull(
        self, size: int, start: int, primals: Sequence[Any], cotangents: Sequence[float | None]
    ) -> list[float | None]:
        """The cotangents of the active numbers, for those of `moving`; None where none of these is
        connected. It computes the iterations again."""
        given = [(k, c) for k, c in zip(self.moving, cotangents, strict=True) if c is not None]
        kernel = self._pull(tuple([k for k, _ in given]))
        found = iter(kernel.run(size, size, start, *primals, *[c for _, c in given]))
        return [c if connected else None for c, connected in zip(found, found, strict=True)]

    def _pull(self, of: tuple[int, ...]) -> Kernel:
        """The pullback of some of the changed names."""
        if of not in self._pulls:
            block = copied(self._region.block, {})
            block.results = tuple([block.results[1 + k] for k in of])
            pullback = vjp(Region("loop", block), self._wrt).block
            cotangents = Block(
                pullback.parameters, pullback.instructions, pullback.results[len(of) :]
            )
            self._pulls[of] = Kernel(_simple(Region("loop_pullback", cotangents)))
        return self._pulls[of]


def _simple(region: Region) -> Region:
    return without_dead_code(fold(hoist(region)))


class LoopPullback(Pullback):
    """The options of a loop's record: which iterations it is of, from which numbers."""

    __slots__ = ("_kernels", "_primals", "_size", "_start")

    def __init__(self, kernels: LoopKernels, size: int, start: int, primals: list[Any]) -> None:
        self._kernels, self._size, self._start = kernels, size, start
        self._primals = primals

    def pull(
        self,
        sweep: ReverseSweep,
        site: Any,
        operands: Any,
        numbers: tuple[int, ...],
        g: Any,
        y: Any,
        number: int,
    ) -> None:
        """Pulls the cotangents `g` of the results back to the record's inputs."""
        found = self._kernels.pull(self._size, self._start, self._primals, g)
        for n, c in zip(numbers, found, strict=True):
            if c is not None and (sweep.marked is None or n in sweep.marked):
                sweep.add(n, c)
