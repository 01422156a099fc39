"""Which columns a job has for lists: where some rows give an array, and others a list that is none,
one for each part.

A list of numbers is an array, of which there is one column; of a list that holds none, text, or
arrays of several shapes, each part is a column. Rows may give both under one name, and a job has
the same columns for all of its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.backends.backend import shape_of
from ...engine.values.lanes import Lanes
from ...rows.writing import Column
from .plan import Field


def names_of(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The names of the columns for all of these rows, or fields: all that these have, but for
    arrays that are given by parts."""
    found: dict[str, bool] = {}  # whether it is ever a single value
    for named in rows:
        for name, value in named.items():
            found[name] = found.get(name, False) or not (value is None or shape_of(value))
    return {name for name, is_single in found.items() if is_single or not _has_parts(name, found)}


def parts_of(name: str, value: Any, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """A value or a field as those of these columns; nothing for none where there are parts
    instead."""
    if name in names or not _has_parts(name, names):
        yield name, value
    elif shape_of(value):
        for k in range(shape_of(value)[0]):
            yield from parts_of(f"{name}.{k}", _part(value, k), names)
    elif value is not None:
        yield name, value


def laid_out(named: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """What rows give, or fields, by these columns."""
    if all(name in names for name in named):
        return dict(named)
    return {
        part: found for name, value in named.items() for part, found in parts_of(name, value, names)
    }


def divided(fields: Mapping[str, Field], name: str) -> dict[str, Field]:
    """The fields with an array that `name` would be a part of divided, if there is one."""
    whole = next(
        (field for field in fields.values() if field.shape and name.startswith(f"{field.name}.")),
        None,
    )
    if whole is None:
        return dict(fields)
    return laid_out(fields, {*fields, f"{whole.name}.0"} - {whole.name})


def together(fields: Iterable[Field], others: Iterable[Field]) -> tuple[Field, ...]:
    """Columns that hold what both do."""
    rows = [{field.name: field for field in own} for own in (fields, others)]
    names, found = names_of(rows), dict[str, Field]()
    for named in rows:
        for name, field in laid_out(named, names).items():
            found[name] = found.get(name, field).beside(field) or found[name]
    return tuple(found.values())


def fitted(column: Column, fields: Mapping[str, Field]) -> Iterator[Column]:
    """A column of a block as those of the job, which may be wider or divided."""
    for name, values in parts_of(column.name, np.moveaxis(column.values, 0, -1), fields):
        dtype = values.dtype if values.dtype == object or name not in fields else fields[name].dtype
        yield replace(
            column, name=name, values=np.moveaxis(values, -1, 0).astype(dtype, copy=False)
        )


def _has_parts(name: str, names: Iterable[str]) -> bool:
    return any(other.startswith(f"{name}.") for other in names)


def _part(value: Any, k: int) -> Any:
    if isinstance(value, Field):
        return value._replace(name=f"{value.name}.{k}", shape=value.shape[1:])
    return Lanes(value.array[k], value.group) if type(value) is Lanes else value[k]
