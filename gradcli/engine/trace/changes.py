"""The log of changes that one side of a division of rows makes outside its frame: to variables'
states, gradients, outputs, and the number of draws.

`run.changes` has a log for each division that is going on: what was there before. So a side can be
taken back, and the other side begin where it began.
"""

from __future__ import annotations

from typing import Any

from ..values.kinds import UNSET, Variable
from .run import Run
from .variables import attach


def held(run: Run, key: Any) -> Any:
    """The present value of what can change: a variable's state, an output, the number of draws."""
    if type(key) is Variable:
        return key.state
    if key == "draws":
        return run.draws
    kind, of = key
    return of.grad if kind == "grad" else run.outputs.get(of, UNSET)


def put(run: Run, key: Any, value: Any) -> None:
    """Sets the value that `held` returns, without logging the change."""
    if type(key) is Variable:
        key.state = value
        attach(run, key)
    elif key == "draws":
        run.draws = value
    elif key[0] == "grad":
        key[1].grad = value
    elif value is UNSET:
        run.outputs.pop(key[1], None)
    else:
        run.outputs[key[1]] = value


def put_all(run: Run, changes: dict[Any, Any]) -> None:
    for key, value in changes.items():
        note(run, key)
        put(run, key, value)


def note(run: Run, key: Any) -> None:
    """Logs that something is about to change, where rows are divided."""
    if run.changes and key not in run.changes[-1]:
        run.changes[-1][key] = held(run, key)


def take_back(run: Run, divisions: int) -> None:
    """Takes back everything that was changed since there were no more divisions than these."""
    while len(run.changes) > divisions:
        forget(run)


def keep_changes(run: Run, divisions: int) -> None:
    """Keeps everything that was changed since there were no more divisions than these, as changes
    of the last of those."""
    while len(run.changes) > divisions:
        log = run.changes.pop()
        if run.changes:
            run.changes[-1] = log | run.changes[-1]


def reported(run: Run) -> tuple[int, int, int]:
    """Counts what the run has reported so far (prints, expectations and warnings), for
    `take_back_reports`."""
    return len(run.printed), len(run.expectations), len(run.diagnostics)


def take_back_reports(run: Run, so_far: tuple[int, int, int]) -> None:
    """Removes what the run has reported since."""
    printed, expected, noticed = so_far
    del run.printed[printed:], run.printed_values[printed:]
    del run.expectations[expected:], run.diagnostics[noticed:]


def forget(run: Run) -> dict[Any, Any]:
    """Takes back what was changed since the last division, and returns the values that it had."""
    log = run.changes.pop()
    changed = {key: held(run, key) for key in log}
    for key, value in log.items():
        put(run, key, value)
    return changed
