"""The error that `vmap` reports: that of the first row that fails when it runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...diagnostics import GradcliError
from ..trace.changes import reported, take_back, take_back_reports
from ..trace.run import Run
from ..values.lanes import Group


def first_failure(
    run: Run, group: Group, call: Callable[[Group], Any], error: GradcliError
) -> GradcliError:
    """The error of the first row that fails, found by bisection. It is `error`, that of all rows
    together, where no row fails by itself."""

    def failure(low: int, high: int) -> GradcliError | None:
        so_far = reported(run)
        run.changes.append({})
        try:
            call(Group(high - low, group, run.backend.xp.arange(low, high)))
        except GradcliError as failed:
            return failed
        finally:
            take_back(run, divisions)
            run.group = outside
            take_back_reports(run, so_far)
        return None

    outside, divisions = run.group, len(run.changes)
    low, high = 0, group.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(low, middle) is not None else (middle, high)
    found = failure(low, high)
    if found is None:
        return error
    if low:  # an error of the first row is mostly one of all rows, and names none
        found.diagnostics[:] = [
            replace(d, message=f"{d.message}, in row {low} of `vmap`") for d in found.diagnostics
        ]
    return found
