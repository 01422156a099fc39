"""Separating rows that can't run together, because what they do next depends on a value that must
be one for all of them: a shape, a key, the next function.

`SeparationError` says which rows can stay together. Whoever started the rows catches it, undoes
what they did, and runs each part of them by itself (`separated`, `for_each_part`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from ....diagnostics import Span
from ...backends.backend import CPU
from ...trace.changes import keep_changes, reported, take_back, take_back_reports
from ...trace.run import Run
from ...values.lanes import Group, Lanes, UnrelatedError, common, deepest, narrow


class SeparationError(Exception):
    """Raised where rows can't run together any longer. `labels` has a number for each row of
    `group`: rows with equal numbers can stay together."""

    def __init__(self, group: Group, labels: Any) -> None:
        super().__init__("the rows can't run together")
        self.group, self.labels = group, labels


def separated(run: Run, group: Group, error: SeparationError) -> list[Group]:
    """The parts of a group whose rows can run together, as groups. Raises the error again where it
    separates rows of an outer group."""
    if not error.group.within(group):
        raise error
    xp = run.backend.xp
    labels = xp.full(group.size, -1)  # -1 for rows that the error doesn't concern
    labels[slice(None) if error.group is group else error.group.way_to(group)] = error.labels
    parts = [group.rows(xp, labels == label) for label in xp.unique(labels).tolist()]
    assert len(parts) > 1, "rows that can run together were separated"
    return parts


def for_each_part(
    run: Run, group: Group | None, call: Callable[[], Any]
) -> Iterator[tuple[Group | None, Any]]:
    """Runs `call` for the rows of a group, and yields the group with the result. Where they can't
    run together, and are not all the rows that run, yields each part of the group with its result.
    The group None stands for values that all rows share."""
    if group is None or group is run.group:
        yield group, call()
        return
    outside, divisions, so_far = run.group, len(run.changes), reported(run)
    run.group = group
    run.changes.append({})
    parts: list[Group] = []
    try:
        found = call()
        if run.changes[-1]:
            separate_group(run, group)  # only these rows have the change
        keep_changes(run, divisions)
    except SeparationError as error:
        parts = separated(run, group, error)
        take_back_reports(run, so_far)
    finally:
        run.group = outside
        take_back(run, divisions)
    if not parts:
        yield group, found
    for part in parts:
        yield from for_each_part(run, part, call)


def separate_running_rows(run: Run) -> None:
    """Separates the rows that run from all others, if what they do next must be the same for all
    rows (`run.parts_rows`)."""
    if run.group is not None and run.parts_rows:
        separate_group(run, run.group)


def separate_group(run: Run, group: Group) -> None:
    """Separates the rows of a group from all other rows, if there are any."""
    whole = group.outermost()
    if group is whole:
        return
    labels = run.backend.xp.zeros(whole.size, "int64")
    labels[group.way_to(whole)] = 1
    if not bool(labels.all()):
        raise SeparationError(whole, labels)


def separate_by_index(run: Run, group: Group, indices: Iterable[Any]) -> NoReturn:
    """Separates the rows of a group into those of each of `indices`."""
    labels = run.backend.xp.zeros(group.size, "int64")
    for k, index in enumerate(indices):
        labels[index] = k
    raise SeparationError(group, labels)


def separate_by_value(run: Run, value: Lanes) -> NoReturn:
    """Separates rows by a value that must be the same for all rows that run together."""
    unique, flat = run.backend.xp.unique, value.array.reshape(-1, value.group.size)
    if len(flat) > 1 and run.backend is CPU:
        labels = unique(flat, axis=1, return_inverse=True)[1].reshape(-1)
    else:  # CuPy's `unique` with an axis compares rows one by one, and synchronises for each
        labels = unique(flat[0], return_inverse=True)[1]
        for numbers in flat[1:]:
            labels = unique(
                labels * value.group.size + unique(numbers, return_inverse=True)[1],
                return_inverse=True,
            )[1]
    raise SeparationError(value.group, labels)


def uniform_value(run: Run, value: Any) -> Any:
    """The value that all rows that run have in common. Separates the rows where it differs."""
    if type(value) is not Lanes:
        return value
    value = narrow(value, operation_group(run, (value,), None))
    array = value.array
    if not value.group.size:
        return run.backend.settle(run.backend.xp.zeros(value.shape, value.dtype))
    if not bool((array == array[..., :1]).all()):
        separate_by_value(run, value)
    return run.backend.settle(array[..., 0].copy())


def operation_group(run: Run, values: Any, span: Span | None, inner: bool = False) -> Group:
    """The group for which an operation on these values runs: the one that runs, or with `inner`, as
    in derivatives, one inside it. Raises GradcliError (E307) where some of its rows lack a
    value."""
    try:
        group = deepest(values, run.group)
    except UnrelatedError:
        group = None
    if group is None or not (inner or run.group is None or group is run.group):
        separate_by_missing(run, values)
        run.fail(
            "E307",
            "a value that only some rows have meets others",
            span,
            help="assign the name on every path that leads here",
        )
    return group


def separate_by_missing(run: Run, values: Any) -> None:
    """Separates the rows that have a value from those that run and lack it, if there are both; a
    row that lacks it then fails by itself. If all rows have it, because inner rows were opened in
    them, the rows that run are separated from the others."""
    for value in values:
        if (
            type(value) is Lanes
            and run.group is not None
            and (whole := common(value.group, run.group)) not in (None, value.group)
        ):
            labels = run.backend.xp.zeros(whole.size, "int64")
            labels[value.group.way_to(whole)] = 1
            if whole is not run.group and bool(labels.all()):
                labels[run.group.way_to(whole)] = 2
            if not bool((labels == labels[0]).all()):
                raise SeparationError(whole, labels)


def uniform_bool(run: Run, bools: Any, group: Group) -> Any:
    """True or False where all rows have the same bool, otherwise the bools as lanes."""
    count = int(run.backend.xp.count_nonzero(bools))
    return bool(count) if count in (0, group.size) else Lanes(bools, group)
