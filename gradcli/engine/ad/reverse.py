"""Reverse mode: cotangents carried from targets back to sources, over the records of the trace.

A sweep is a `for` loop over the target's segments, newest first. It has two readings of the same
rules: on plain primals (`plain_sweep.py`), and through `apply`, which records what the sweep
computes, so that it can be differentiated again (`recorded_sweep.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ops.op import OpError
from ..operations.structural import refuse
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Segment, Traced, reachable
from ..trace.windows import Window, dependents
from ..values.boxes import primal
from ..values.lanes import Lanes
from .connections import connected
from .plain_sweep import Sweep
from .recorded_sweep import RecordedSweep


def sweep(
    run: Run,
    seeds: list[tuple[Traced, Any]],
    wanted: set[int],
    recorded: bool,
    window: Window | None = None,
    since: int | None = None,
    bodies: bool = False,
    walk: Callable[..., Sweep] | None = None,
) -> dict[int, Any]:
    """The cotangents of the records and leaves in `wanted`, for the targets and their cotangents in
    `seeds`.

    `window` is the tape that is asked; the main tape if it is None. `since` is for sources that
    nothing but the records from that number on can depend on, whatever the windows. A number that
    isn't in the result is unconnected. `recorded` goes through `apply`; else cotangents are
    primals. `bodies` goes through the bodies of functions with a rule of their own, as forward mode
    does, where these were called for it. `walk` makes a sweep that is more than one. Raises
    GradcliError (E317) where an operation on the way has no gradient registered, or has none at
    this point.
    """
    if not wanted or not seeds:
        return {}
    window = window or run.trace.main
    late = wanted & window.late.keys()
    if late and len(wanted) > 1:  # what doesn't count for one of them may count for the others
        parts = [wanted - late, *({n} for n in late)]
        return {
            n: c
            for part in parts
            for n, c in sweep(run, seeds, part, recorded, window, since, bodies).items()
        }
    way = between([target for target, _ in seeds], wanted, window, since, bodies)
    if since is None:  # derivatives of functions are zero where they aren't connected
        wanted = connected(run, [target for target, _ in seeds], wanted, way.segments, way.marked)
    return pulled(run, seeds, wanted, recorded, way, bodies, walk)


class Between(NamedTuple):
    """What a sweep passes from targets back to sources: the segments, newest first; the records and
    leaves in them that depend on a source, None for all; and the sources that the window watches
    but didn't make, where it ends."""

    segments: list[Segment]
    marked: set[int] | None
    outside: set[int]


def pulled(
    run: Run,
    seeds: list[tuple[Traced, Any]],
    wanted: set[int],
    recorded: bool,
    way: Between,
    bodies: bool = False,
    walk: Callable[..., Sweep] | None = None,
) -> dict[int, Any]:
    """One sweep on its way, which several may have in common: the cotangents of what is wanted."""
    segments, marked, outside = way
    pass_ = (walk or (RecordedSweep if recorded else Sweep))(run, wanted, marked, outside)
    pass_.bodies = bodies
    found = _pass(segments, seeds, pass_)
    # What should have been 0 · inf = 0 is nan, and stays nan: so only what ends up non-finite can
    # need the repair.
    if not recorded and pass_.risks and not _are_finite(run, found):
        found = _pass(segments, seeds, Sweep(run, wanted, marked, outside, repairs=True))
    return found


def sweep_segment(
    run: Run, segment: Segment, target: Traced, cotangent: float, wanted: set[int], recorded: bool
) -> dict[int, Any]:
    """The same for a float of the segment that a recording began, where nothing that is older
    depends on the sources."""
    marked = None if not segment.earlier else dependents([segment], wanted, {target[1]})
    pass_ = (RecordedSweep if recorded else Sweep)(run, wanted, marked, set())
    found = _pass([segment], [(target, cotangent)], pass_)
    if not recorded and pass_.risks and not _are_finite(run, found):
        found = _pass(
            [segment], [(target, cotangent)], Sweep(run, wanted, marked, set(), repairs=True)
        )
    return found


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
    """The way of a sweep from these targets to what is wanted, in a window."""
    trace = window.trace
    whole = window.sees_all(wanted)
    # What is older than all sources may still tell a window that isn't the whole whether it
    # recorded them.
    oldest = since if since is not None else min(wanted) if whole else window.first_number()
    first = targets[0][2]
    if (
        len(targets) == 1 and first.first == oldest == since
    ):  # all of it in the segment that the recording began with
        segments = [first]
    else:
        segments = reachable([target[2] for target in targets], oldest)
    marked: set[int] | None
    outside: set[int] = set()
    if bodies:  # which no record of a target's own history reads
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


def _pass(segments: list[Segment], seeds: list[tuple[Traced, Any]], pass_: Sweep) -> dict[int, Any]:
    """Takes the seeds through the segments, newest first; returns the cotangents of what is
    wanted."""
    marked, wanted = pass_.marked, pass_.wanted
    if len(seeds) > 1:  # of which some may be those of one target
        pass_.laned = any(type(primal(cotangent)) is Lanes for _, cotangent in seeds)
    for target, cotangent in seeds:
        if marked is None or target[1] in marked:
            pass_.add(target[1], cotangent)
    try:
        for segment in segments:
            pass_.through(segment)
    except (
        OpError
    ) as error:  # a rule on arrays that calls an op which isn't defined everywhere, as `inv`
        refuse(pass_.run, pass_.site.derived(pass_.site.op), error)
    for number in wanted:  # leaves are never passed, so theirs are still waiting
        if number in pass_.cotangents and (marked is None or number in marked):
            pass_.found[number] = pass_.cotangents[number]
    if pass_.laned:
        return {number: pass_.asked(c) for number, c in pass_.found.items()}
    return pass_.found
