"""Random numbers in regions: a region takes the seed and the number of draws before it, and gives
the number after it."""

from __future__ import annotations

from ..backends.backend import INT_MAX
from ..trace.changes import note
from ..trace.run import Run


def draws_so_far(run: Run) -> list[int]:
    """The seed, and the number of draws so far; an empty list if no region can go on from there."""
    counted = type(run.draws) is int and run.settings.seed <= INT_MAX
    return [run.settings.seed, run.draws] if counted else []


def go_on_from(run: Run, draws: int) -> None:
    """Sets the number of draws so far."""
    note(run, "draws")
    run.draws = draws
