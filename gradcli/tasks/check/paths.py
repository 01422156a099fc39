"""Random points by the path that each takes through the program.

The first point on a path is checked by itself, as the declared one is, and then leads the others on
it: they are checked together, and its closed forms are theirs, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import Span
from ...engine.execution import running
from ...engine.symbolic.traces import FormTrace, form_execution
from .cases import holds_more
from .lane_runs import NotTogetherError, together
from .point import Point
from .points import Compare, Leader, at_once, findings_together
from .results import Finding

Path = tuple[tuple[Span, bool], ...]  # where conditions were decided by variables, and how
MANY = 64  # paths that have a leader: its runs are kept
FEWEST = 4  # points that must have room in one run


class Paths:
    """The paths of random points, given by the values of their variables and checked in that order.

    `found` is what was found at the declared point, which leads its own path. `compare` finds what
    there is at a point that is checked together with others; with None there are none.
    """

    def __init__(
        self,
        declared: Point,
        values: Sequence[Mapping[str, Any]],
        found: Sequence[Finding],
        compare: Compare | None,
    ) -> None:
        self.values, self.compare = values, compare
        self._leaders: dict[Path, Leader] = {}
        self._found: dict[int, list[Finding] | None] = {}
        self._paths: list[Path | None] = [None] * len(values)  # None: the program fails there
        self._members: defaultdict[Path, list[int]] = defaultdict(list)
        if at_once(declared) < FEWEST or (trace := _trace(declared, {})) is None:
            return
        first = _decided(trace)
        self._leaders[first] = Leader(declared, found)
        is_only_path = not (trace.outcomes or trace.choices)
        for k, value in enumerate(values):
            if (there := trace if is_only_path else _trace(declared, value)) is not None:
                path = self._paths[k] = _decided(there)
                self._members[path].append(k)

    def leader(self, k: int) -> Point | None:
        """The point that leads the path of the k-th one; None where none does yet."""
        leader = self._leader(k)
        return None if leader is None else leader.point

    def findings(self, k: int) -> list[Finding] | None:
        """What is found of all outputs at the k-th point; None where it is to be checked by
        itself."""
        leader = self._leader(k)
        if leader is None or self.compare is None or any(map(holds_more, leader.point.cases)):
            return None
        if k not in self._found:
            some = self._from(k)[: at_once(leader.point)]
            found = findings_together(leader, [self.values[j] for j in some], self.compare)
            self._found |= zip(some, found, strict=True)
        return self._found.pop(k)

    def lead(self, k: int, point: Point, found: Sequence[Finding]) -> bool:
        """Makes the k-th point, at which that was found, the leader of its path, unless one leads
        already or no other follows; returns whether it leads now."""
        path = self._paths[k]
        if path is None or path in self._leaders or len(self._leaders) > MANY:
            return False
        if len(self._from(k)) == 1 or at_once(point) < FEWEST:
            return False
        self._leaders[path] = Leader(point, found)
        return True

    def release(self) -> None:
        """Lets go of the runs of all leaders but the declared point."""
        for leader in list(self._leaders.values())[1:]:
            leader.point.release()

    def _leader(self, k: int) -> Leader | None:
        path = self._paths[k]
        return None if path is None else self._leaders.get(path)

    def _from(self, k: int) -> list[int]:
        """The points on the path of the k-th one, from that on."""
        path = self._paths[k]
        members = [] if path is None else self._members[path]
        return members[bisect_left(members, k) :]


def _trace(point: Point, values: Mapping[str, Any]) -> FormTrace | None:
    """The trace of a run with other values; None where it fails."""
    execution = form_execution(
        point.program.keeping, {**point.inputs, **values}, names=point.answer.sources
    )
    trace = execution.run.trace
    assert isinstance(trace, FormTrace)
    try:
        with running():
            together(execution.execute)
    except NotTogetherError:
        return None
    finally:
        execution.release()
    return trace


def _decided(trace: FormTrace) -> Path:
    return tuple([(span, holds) for _, span, holds in trace.outcomes])
