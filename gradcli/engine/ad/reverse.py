"""Reverse mode: a sweep carries cotangents from targets back to sources, over the records of the
trace.

This file finds the records between targets and sources, and asks for a sweep over them: one that
computes with plain numbers (`sweep.py`), or through `apply`, which records its work so that it can
be differentiated again (`recorded_sweep.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ..backends.tiers import SWEPT
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Segment, Traced, reachable
from ..trace.unregistered import UnregisteredError
from ..trace.windows import Window, dependents
from .connections import connected_sources
from .recorded_sweep import RecordedSweep
from .sweep import Seeds, Sweep

Walks: TypeAlias = "Callable[..., Sweep]"  # makes a sweep


def sweep(
    run: Run,
    seeds: Seeds,
    wanted: set[int],
    recorded: bool,
    window: Window | None = None,
    since: int | None = None,
    bodies: bool = False,
    walk: Walks | None = None,
) -> dict[int, Any]:
    """The cotangents of the records and leaves in `wanted`, for the targets and their cotangents in
    `seeds`. A number that isn't in the result is unconnected.

    window    the tape that is asked, by default the main tape
    recorded  whether the sweep goes through `apply`; otherwise cotangents are primals
    since     the first number of a record that can depend on the sources, if that is known;
              windows are then ignored
    bodies    whether functions with their own rule are differentiated through their bodies, as in
              forward mode, where these were recorded for it
    walk      makes the sweep, if it is a subclass of `Sweep`

    Raises GradcliError (E317) where an operation on the path has no gradient registered, or none at
    this point.
    """
    if not wanted or not seeds:
        return {}
    window = window or run.trace.main
    late = wanted & window.late.keys()
    if late and len(wanted) > 1:  # a record may count for some of them and not for others
        parts = [wanted - late, *({n} for n in late)]
        return {
            n: c
            for part in parts
            for n, c in sweep(run, seeds, part, recorded, window, since, bodies).items()
        }
    way = between([target for target, _ in seeds], wanted, window, since, bodies)
    if since is None:  # derivatives of functions are zero where they aren't connected
        trace = window.trace
        run.work += SWEPT * (trace.number - trace.requested)
        trace.requested = trace.number
        wanted = connected_sources(
            run, [target for target, _ in seeds], wanted, way.segments, way.marked
        )
    return pulled(run, seeds, wanted, recorded, way, bodies, walk)


class Between(NamedTuple):
    """The records between targets and sources, which a sweep passes.

    segments  newest first
    marked    the records and leaves in them that depend on a source; None for all
    outside   the sources that the window watches but didn't record: the sweep ends at them
    """

    segments: list[Segment]
    marked: set[int] | None
    outside: set[int]


def pulled(
    run: Run,
    seeds: Seeds,
    wanted: set[int],
    recorded: bool,
    way: Between,
    bodies: bool = False,
    walk: Walks | None = None,
) -> dict[int, Any]:
    """The cotangents of the numbers in `wanted`, by one sweep over the records in `way`, which
    several sweeps may share."""
    kind = walk or (RecordedSweep if recorded else Sweep)

    def over(marked: set[int] | None) -> dict[int, Any]:
        sweep = kind(run, wanted, marked, way.outside, bodies=bodies)
        found = sweep.over(way.segments, seeds)
        # A product 0 · inf that isn't strict gives nan instead of 0, and nan stays nan. So only a
        # non-finite result can need a second sweep with strict products.
        if recorded or not sweep.risks or _are_finite(run, found):
            return found
        return Sweep(run, wanted, marked, way.outside, repairs=True).over(way.segments, seeds)

    try:
        return over(way.marked)
    except UnregisteredError:
        if way.marked is not None:
            raise
        # It may be beside the way to what is wanted: inputs of transforms are leaves, too.
        return over(dependents(way.segments, wanted, {target[1] for target, _ in seeds}))


def _are_finite(run: Run, found: dict[int, Any]) -> bool:
    for c in found.values():
        if c - c != 0.0 if type(c) is float else not run.backend.is_finite(c):
            return False
    return True


def between(
    targets: list[Traced],
    wanted: set[int],
    window: Window,
    since: int | None = None,
    bodies: bool = False,
) -> Between:
    """The records between these targets and the numbers in `wanted`, as a window sees them."""
    trace = window.trace
    whole = window.sees_all(wanted)
    # Records older than all sources matter to a window that isn't the whole trace: they say whether
    # it recorded the sources.
    oldest = since if since is not None else min(wanted) if whole else window.first_number()
    first = targets[0][2]
    # all records are in the segment that the recording began with
    if len(targets) == 1 and first.first == oldest == since:
        segments = [first]
    else:
        segments = reachable([target[2] for target in targets], oldest)
    marked: set[int] | None
    outside: set[int] = set()
    if bodies:  # records in bodies are not part of a target's own history
        marked = dependents(segments, wanted)
    elif since is not None:
        marked = dependents(segments, wanted, {target[1] for target in targets})
    elif not whole:
        marked, outside = window.marks(segments, wanted)
    elif trace.watched <= wanted and not trace.keeps_all:
        marked = None  # everything recorded depends on some leaf, and all leaves are wanted
    else:
        marked = dependents(segments, wanted, {target[1] for target in targets})
    if marked is not None and isinstance(trace, KeepingTrace):
        trace.asked(targets, wanted)
        marked &= trace.active
        marked -= trace.watched_constants - wanted
        outside = outside | (trace.watched_constants & wanted)
    return Between(segments, marked, outside)
