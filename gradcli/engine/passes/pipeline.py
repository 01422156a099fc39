"""The order of the passes: before a region is differentiated, and before it is compiled."""

from __future__ import annotations

from ..ir.instructions import Region
from .arrays.fusion import fuse
from .arrays.keeping import keep
from .arrays.ownership import owned
from .arrays.packing import pack
from .arrays.whole_arrays import call_on_arrays
from .dead_code import without_dead_code
from .derivatives.recording import record
from .expansion import expand
from .folding import fold
from .hoisting import hoist
from .reading_through import read_through


def simplified(region: Region) -> Region:
    """The region with less to compute, also in its derivatives."""
    return without_dead_code(fold(hoist(read_through(region))))


def compiled_form(*regions: Region) -> list[Region]:
    """Regions, the first of which calls the others, in the form that is compiled."""
    return owned(*map(_fused, map(without_rules, regions)))


def without_rules(region: Region) -> Region:
    """A region that won't be differentiated, with the operations of derivative rules, and without
    what is known."""
    return without_dead_code(fold(expand(region), last=True))


def _fused(region: Region) -> Region:
    return pack(without_dead_code(keep(fuse(record(call_on_arrays(region))))))
