"""What a program gives for rows, as columns: every output, and the gradient of each by each
variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...engine.backends.backend import shape_of
from ...engine.execution import Execution, Run, running
from ...engine.row_runs import of_all_rows
from ...engine.values.boxes import primal
from ...engine.values.contents import plain
from ...engine.values.kinds import List, is_number, read, show
from ...engine.values.lanes import Group, Lanes, spread
from ...naming import in_files
from ..answer import Answer
from ..evaluation import Options

Named = dict[
    str, Any
]  # a value of each column: lanes, an array or a number that all rows have, a string, or None


def ask(options: Options, execution: Execution) -> Named:
    """The values of every column, for the rows that ran. Parts the rows where some of them have
    none."""
    return named(Answer(execution, options))


def named(answer: Answer) -> Named:
    """The values of every column of an answer."""
    with running():  # a rule of the program is a call like any other
        answer.compute(None)
        summed = {of for of in answer.gradients if answer.is_summed(of)}
        place = Place(answer.run.backend.xp, answer.run.group, answer.run)
        return columns(place, answer.outputs, answer.gradients, summed)


class Place(NamedTuple):
    """Where values are: the library of their arrays, their rows, and the run that they are of, if
    there is one."""

    xp: Any
    group: Group | None
    run: Run | None = None


def columns(
    place: Place,
    outputs: Mapping[str, Any],
    gradients: Mapping[str, Mapping[str, Any]],
    summed: set[str],
) -> Named:
    """Outputs and gradients as columns. `summed` are the targets whose gradients are those of a
    sum."""
    found: Named = {}
    for name, value in outputs.items():
        found.update(_columns(place, name, value))
    for of, row in gradients.items():
        for by, value in row.items():
            found.update(_columns(place, in_files(of, (by,), of in summed), value))
    return found


def _columns(place: Place, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value as columns: one for a number or an array, one for each part of a list or dict."""
    value = primal(read(value))
    if place.run is not None:
        of_all_rows(place.run, value)
    if type(value) is List:
        parts = [primal(read(item)) for item in value]
        if parts and all(is_number(p) for p in parts) and len({shape_of(p) for p in parts}) == 1:
            yield name, _stacked(place, parts)
            return
        value = dict(enumerate(parts))
    if type(value) is dict:
        for key, part in value.items():
            yield from _columns(place, f"{name}.{key}", part)
    elif value is None or type(value) is str or is_number(value):
        yield name, value
    else:
        told = plain(value)
        yield from _columns(
            place, name, told if type(told) is dict else show(value)
        )  # an instance is its variables' states


def _stacked(place: Place, parts: list[Any]) -> Any:
    """Numbers of one shape as an array."""
    xp, group = place.xp, place.group
    if place.run is not None:
        for part in parts:
            of_all_rows(place.run, part)
    if group is None or Lanes not in map(type, parts):
        return xp.stack([xp.asarray(part) for part in parts])
    return Lanes(xp.stack([spread(xp, part, group).array for part in parts]), group)
