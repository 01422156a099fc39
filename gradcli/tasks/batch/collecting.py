"""The answers of rows as columns of arrays, whatever the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ...engine.backends.backend import Backend, dtype_name, shape_of
from ...engine.values.kinds import show_shape
from ...engine.values.lanes import Group, Lanes, spread
from .answers import Named
from .layout import divided, laid_out, names_of, parts_of
from .plan import TEXT, Field


def fields_of(answers: Iterable[Named]) -> tuple[Field, ...]:
    """The columns of these answers, wide enough for all; a value that is none has the kind of the
    others, or is a float. An answer that doesn't fit those before it will be refused, and adds
    none."""
    found: dict[str, Field | None] = {}  # None where no answer has a value so far
    answers = list(answers)
    names = names_of(answers)
    for named in (laid_out(answer, names) for answer in answers):
        own = {name: field_of(name, v) for name, v in named.items() if v is not None}
        wider = {
            name: field.beside(own[name]) for name, field in found.items() if field and name in own
        }
        if None not in wider.values():
            found = {**found, **dict.fromkeys(n for n in named if n not in found), **own, **wider}
    return tuple([field or Field(name, "float64", ()) for name, field in found.items()])


def field_of(name: str, value: Any) -> Field:
    return Field(name, TEXT if type(value) is str else dtype_name(value), shape_of(value))


def _dtype(field: Field) -> Any:
    return object if field.dtype == TEXT else field.dtype


class Collected:
    """What `size` rows gave: an array for each field, with the rows last; `done` says which rows
    succeeded, and `absent`, for the fields where some have none, which these are. Where the fields
    may `widen`, ints get to be floats beside floats, and arrays their parts beside lists."""

    def __init__(
        self,
        fields: Iterable[Field],
        size: int,
        backend: Backend,
        empty: Callable[[tuple[int, ...], Any], Any] = np.empty,
        widens: bool = True,
    ) -> None:
        self.fields, self._widens = {field.name: field for field in fields}, widens
        self.size, self.backend = size, backend
        self.arrays = {f.name: empty((*f.shape, size), _dtype(f)) for f in self.fields.values()}
        self._takes_over = empty is np.empty  # arrays as they are, if they have all rows
        self.absent: dict[str, Any] = {}
        self.done = np.zeros(size, bool)

    def put(self, index: Any, good: Any, group: Group | None, named: Named) -> Diagnostic | None:
        """Takes the answers for the rows `index` (a slice, or their numbers), of which they hold
        where `good` does. What doesn't fit is refused, whole: the diagnostic says why."""
        fields = dict(self.fields)
        for name, value in laid_out(named, fields).items():
            while (
                self._widens
                and value is not None
                and name not in fields
                and len(parts := divided(fields, name)) > len(fields)
            ):
                fields = parts
        named = laid_out(named, fields)
        for name, value in named.items():
            if value is not None:
                field, own = fields.get(name), field_of(name, value)
                found = None if field is None else field.beside(own)
                if field is None or found is None or not (self._widens or found == field):
                    return Diagnostic("E607", _misfit(field, own))
                fields[name] = found
        if fields != self.fields:
            self._widen(fields)
        if good is not None:
            index = (np.arange(self.size)[index] if type(index) is slice else index)[good]
        has_all = self._takes_over and type(index) is slice and index == slice(0, self.size)
        values = [self._array(named.get(name), group) for name in self.arrays]
        for (name, array), value in zip(
            self.arrays.items(), self.backend.all_to_host(values), strict=True
        ):
            if value is None:
                self.absent.setdefault(name, np.zeros(self.size, bool))[index] = True
                array[..., index] = (
                    np.nan if array.dtype.kind in "fc" else None if array.dtype == object else 0
                )
            elif type(named[name]) is Lanes and has_all and value.dtype == array.dtype:
                self.arrays[name] = value
            elif type(named[name]) is Lanes:
                array[..., index] = value if good is None else value[..., good]
            else:
                array[..., index] = value[..., None] if shape_of(value) else value
        self.done[index] = True
        return None

    def _widen(self, fields: dict[str, Field]) -> None:
        """Makes the columns those of these fields."""
        arrays, absent = {}, {}
        for whole, array in self.arrays.items():
            for name, part in parts_of(whole, array, fields):
                dtype = _dtype(fields[name])
                arrays[name] = (
                    array if part is array and array.dtype == dtype else part.astype(dtype)
                )
                if whole in self.absent:
                    absent[name] = self.absent[whole].copy()
        self.arrays, self.absent, self.fields = arrays, absent, fields

    def _array(self, value: Any, group: Group | None) -> Any:
        """The rows of lanes; any other value as it is."""
        if type(value) is not Lanes:
            return value
        assert group is not None
        return spread(self.backend.xp, value, group).array

    def with_nan(self) -> dict[int, str]:
        """The rows with a nan that isn't a missing value, and the first column that has one."""
        found: dict[int, str] = {}
        for name, rows in self._where(np.isnan):
            for row in np.flatnonzero(rows).tolist():
                found.setdefault(row, name)
        return found

    def nonfinite(self) -> int:
        """How many rows succeeded with a nan, which isn't a missing value, or an infinity."""
        found = np.zeros(self.size, bool)
        for _, rows in self._where(lambda array: ~np.isfinite(array)):
            found |= rows
        return int(found.sum())

    def _where(self, holds: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
        """The columns with a float for which it holds, and in which rows: of those that succeeded
        and have a value there."""
        for name, array in self.arrays.items():
            if array.dtype.kind in "fc" and (held := holds(array)).any():
                rows = held.reshape(-1, self.size).any(axis=0) & self.done
                yield name, rows & ~self.absent[name] if name in self.absent else rows

    def totals(self) -> dict[str, Any]:
        """The sum of each column over the rows that succeeded and have a value there; none where no
        row has one. Raises GradcliError (E305)."""
        sums = {}
        for name, array in self.arrays.items():
            counts = self.done if name not in self.absent else self.done & ~self.absent[name]
            if not counts.any() or array.dtype == object:  # text has no sum
                continue
            sums[name] = sum_of(name, array if counts.all() else array[..., counts])
        return sums


def sum_of(name: str, array: Any) -> Any:
    """The sum of a column over its rows, which are last. Raises GradcliError (E305) where ints
    overflow, as in a program."""
    total = array.sum(axis=-1)
    if array.dtype.kind == "i":
        high = (array >> 32).sum(axis=-1) + ((array & 0xFFFFFFFF).sum(axis=-1) >> 32)
        if (high != total >> 32).any():
            help = "give a float in the program, such as `1.0 * n`"
            raise GradcliError(
                Diagnostic(
                    "E305",
                    f"int overflow in --reduce: the sum of `{name}` doesn't fit into 64 bits",
                    help=help,
                )
            )
    return total


def _misfit(field: Field | None, own: Field) -> str:
    """Why what a row gives doesn't go into its column."""
    if field is None:
        return f"it gives `{own.name}`, which the first rows don't"
    if own.shape != field.shape:
        return (
            f"`{own.name}` has shape {show_shape(own.shape)}, and {show_shape(field.shape)} in "
            "the first rows"
        )
    return f"`{own.name}` is {own.dtype}, and {field.dtype} in the first rows"
