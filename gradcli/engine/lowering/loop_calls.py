"""A loop of a frame as a region that is called: see `long_loops.py`."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ..passes.aliases import returned_parameters
from ..regions.frame_loops import lower_loop
from ..trace.run import Run
from ..trace.tape import Site
from .frame_entries import Observed
from .region_calls import RegionCall

HEAD = 2  # the parameters of a loop's region before those of the frame: see `lower_loop`


class LoopCall:
    """What runs iterations of a loop, for what its frame holds.

    changed  the slots that iterations assign
    aliases  the positions of the numbers that names may be the same as after iterations
    """

    def __init__(self, node: program.While | program.For, observed: Observed, step: int) -> None:
        """Raises NotCompiled."""
        loop = lower_loop(node, observed.entries, step)
        self.changed = loop.changed
        self._call = RegionCall(loop.region)
        region = self._call.region
        self.aliases = {k - HEAD for k in returned_parameters(region, region.block.results[1:])}

    def run(self, run: Run, site: Site, iterations: range, values: list[Any]) -> list[Any]:
        """Whether the loop ended with one of these iterations, and the values of `changed`. Raises
        StepBack, and NoRule."""
        size = len(iterations)
        return self._call.apply(run, site, size, [size, iterations.start, *values])
