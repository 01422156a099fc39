"""Many rows at once. A lane value has one extra, last axis, the rows; that it has is its type,
never read off a shape.

Per-row scalars, vectors and matrices then broadcast against each other as they are, and `shape`
counts without the rows. A shared array of rank 1 or more gets a last axis of 1 where it meets
lanes.

The rows of a lane value are those of its *group*. Where a condition divides the rows, each side
runs with a group of its own, which knows which rows of its parent it has; `vmap` inside rows opens
one that has each of them several times. A value of an outer group is narrowed where it meets an
inner one, by taking its rows; a cotangent comes back the other way, each row's added up where it
came from (`lifted`). So groups need no records of their own: only where values of several groups
become one again (`divergence.py`) there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..backends.transposing import contiguous


class Group:
    """Rows that run together.

    parent  the group that they come from; None where they come from shared values
    origin  the row of the parent that each is; None where there is no parent
    each    how many rows every one of the parent has become, in order; 0 where they are some of
            them
    divided of the outermost group: whether some rows ever ran without the others
    """

    __slots__ = ("_ways", "depth", "divided", "each", "origin", "parent", "size", "taken")

    def __init__(
        self, size: int, parent: Group | None = None, origin: Any = None, each: int = 0
    ) -> None:
        self.size, self.parent, self.origin, self.each = size, parent, origin, each
        self.depth: int = 0 if parent is None else parent.depth + 1
        # values of outer groups that were narrowed, by identity
        self.taken: dict[int, tuple[Any, Any]] = {}
        self._ways: dict[Group, Any] = {}
        self.divided = False

    def outermost(self) -> Group:
        """The group that all of these rows come from in the end."""
        group = self
        while group.parent is not None:
            group = group.parent
        return group

    def within(self, other: Group | None) -> bool:
        """Whether `other` is an ancestor of this group, or the group itself; None, for shared
        values, is an ancestor of all."""
        group: Group | None = self
        while group is not None and other is not None and group.depth > other.depth:
            group = group.parent
        return other is None or group is other

    def opened_in(self, outer: Group) -> bool:
        """Whether some row of `outer` has become several rows here, which share its values."""
        group: Group | None = self
        several = False
        while group is not None and group is not outer:
            several = several or group.each > 0
            group = group.parent
        return several and group is outer

    def way_to(self, outer: Group) -> Any:
        """Returns, for each row of this group, its row in `outer`, a proper ancestor."""
        way = self._ways.get(outer)
        if way is None:
            assert self.parent is not None
            way = self.origin if self.parent is outer else self.parent.way_to(outer)[self.origin]
            self._ways[outer] = way
        return way

    def are_some(self, outer: Group) -> bool:
        """Whether this group is a selection of the rows of `outer`, each at most once."""
        group: Group | None = self
        while group is not None and group is not outer and not group.each:
            group = group.parent
        return group is outer

    def unopened(self, outer: Group) -> Group | None:
        """The innermost ancestor that is a selection of the rows of `outer`; None where `outer` is
        no ancestor."""
        found = group = self
        while group is not outer:
            if group.parent is None:
                return None
            if group.each:
                found = group.parent
            group = group.parent
        return found

    def rows(self, xp: Any, mask: Any) -> Group:
        """The group of the rows where `mask` holds."""
        origin = xp.flatnonzero(mask)
        self.outermost().divided = True
        return Group(len(origin), self, origin)

    # What the entries of `ops/lanes.py` compute by.

    def pick(self, xp: Any, value: Any, index: Any, group: Group) -> Lanes:
        """Picks the rows `index` of a value that has the rows of this group, as the rows of
        `group`."""
        lanes = spread(xp, value, self)
        array = lanes.array
        return of_kinds(
            array[at(array, index)], group, None if lanes.ints is None else lanes.ints[index]
        )

    def place(self, xp: Any, value: Any, index: Any, group: Group | None) -> Any:
        """Adds the rows of a value up at the rows `index` of `group`, which is the transpose of
        `pick`; without a group, sums all rows. `index` names no row twice, unless each row of the
        parent has become several."""
        array = spread(xp, value, self).array
        if group is None:
            return array.sum(axis=-1)
        if self.each:
            return Lanes(
                array.reshape(*array.shape[:-1], group.size, self.each).sum(axis=-1), group
            )
        total = xp.zeros((*array.shape[:-1], group.size), array.dtype)
        total[at(total, index)] = array
        return Lanes(total, group)

    def unfold(self, xp: Any, value: Any, axis: int) -> Lanes:
        """Makes an axis of a value the rows of this group, in addition to the rows that the value
        has."""
        parent = self.parent
        array = value.array if type(value) is Lanes else value
        if parent is None:
            if type(value) is Lanes:
                raise UnrelatedError
            return Lanes(contiguous(xp, _to_last(array, axis)), self)
        outer = spread(xp, value, parent)
        array = _to_last(outer.array, axis)
        ints = None if outer.ints is None else outer.ints[self.origin]
        return of_kinds(
            xp.ascontiguousarray(array).reshape(*array.shape[:-2], self.size), self, ints
        )

    def fold(self, xp: Any, value: Any, axis: int) -> Any:
        """Makes the rows of this group an axis of a value that has the rows of its parent: the
        inverse of `unfold`."""
        parent = self.parent
        lanes = spread(xp, value, self)
        array = lanes.array
        if parent is None:
            return contiguous(xp, _from_last(array, axis))
        array = array.reshape(*array.shape[:-1], parent.size, self.each)
        ints = (
            None if lanes.ints is None else lanes.ints.reshape(parent.size, self.each).all(axis=1)
        )
        return of_kinds(xp.ascontiguousarray(_from_last(array, axis)), parent, ints)

    def merge(
        self, xp: Any, parts: Sequence[Any], indices: Sequence[Any], groups: Sequence[Group]
    ) -> Lanes:
        """Merges the values of several groups: part `k` at the rows `indices[k]` of this group,
        which are those of `groups[k]`."""
        lanes = [spread(xp, part, group) for part, group in zip(parts, groups, strict=True)]
        total = xp.empty(
            (*lanes[0].array.shape[:-1], self.size), xp.result_type(*[part.array for part in lanes])
        )
        for part, index in zip(lanes, indices, strict=True):
            total[at(total, index)] = part.array
        if total.dtype.kind != "f" or {(part.ints is None, part.dtype.kind) for part in lanes} == {
            (True, "f")
        }:
            return Lanes(total, self)
        ints = xp.empty(self.size, bool)
        for part, index in zip(lanes, indices, strict=True):
            ints[index] = part.dtype.kind == "i" if part.ints is None else part.ints
        return of_kinds(total, self, ints)

    def __repr__(self) -> str:
        return f"<group of {self.size} rows at depth {self.depth}>"


class Lanes:
    """A value a row: `array` has the value's axes, and the rows last. `ints` says in which rows
    floats stand for ints, where rows with an int joined others with a float; it is None where all
    rows have the same kind of number."""

    __slots__ = ("array", "group", "ints")

    def __init__(self, array: Any, group: Group, ints: Any = None) -> None:
        self.array, self.group, self.ints = array, group, ints

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape[:-1]
        return shape

    @property
    def ndim(self) -> int:
        return len(self.array.shape) - 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def rows_first(self) -> Any:
        """The values as one array, a row each."""
        return self.array.transpose(-1, *range(self.ndim))

    def __repr__(self) -> str:
        return f"<{self.group.size} rows of {self.dtype}, shape {self.shape}>"


class UnrelatedError(Exception):
    """Two values have met whose groups aren't related: neither is an ancestor of the other."""


def _to_last(array: Any, axis: int) -> Any:
    """The array with `axis` moved to the end."""
    axis %= array.ndim
    return array.transpose(*[k for k in range(array.ndim) if k != axis], axis)


def _from_last(array: Any, axis: int) -> Any:
    """The array with its last axis moved to `axis`."""
    axis %= array.ndim
    return array.transpose(*range(axis), -1, *range(axis, array.ndim - 1))


def deepest(values: Iterable[Any], group: Group | None = None) -> Group | None:
    """The innermost group among lane values and `group`. Raises UnrelatedError where two of them
    aren't related."""
    for value in values:
        if type(value) is Lanes and value.group is not group:
            if value.group.within(group):
                group = value.group
            elif group is None or not group.within(value.group):
                raise UnrelatedError
    return group


def common(a: Group | None, b: Group | None) -> Group | None:
    """The innermost common ancestor of two groups; None for what all rows share."""
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth >= b.depth:
            a = a.parent
        else:
            b = b.parent
    return a


def united(xp: Any, a: Group, b: Group, outer: Group) -> Group:
    """The group of all rows of two groups, each of which has some of the rows of `outer`."""
    if b.within(a) or a.within(b):
        return a if b.within(a) else b
    rows = xp.union1d(a.way_to(outer), b.way_to(outer))
    return outer if len(rows) == outer.size else Group(len(rows), outer, rows)


def narrow(value: Any, group: Group) -> Any:
    """A value with the rows of `group`, an inner one of its own; anything but lanes as it is."""
    if type(value) is not Lanes or value.group is group:
        return value
    known = group.taken.get(id(value))
    if known is not None:
        return of_kinds(known[1], group, _ints_of(value, group))
    if not group.within(value.group):
        raise UnrelatedError
    parent = group.parent
    known = None if parent is None else parent.taken.get(id(value))
    array, way = (
        (value.array, group.way_to(value.group)) if known is None else (known[1], group.origin)
    )
    taken = (
        array.take(way, axis=-1)
        if hasattr(array, "take")
        else type(array)((*array.shape[:-1], group.size), array.dtype)
    )
    # no lanes, which know the group: nobody collects cycles while a program runs
    group.taken[id(value)] = (value, taken)
    return of_kinds(taken, group, _ints_of(value, group))


def _ints_of(value: Lanes, group: Group) -> Any:
    return None if value.ints is None else value.ints[group.way_to(value.group)]


def of_kinds(array: Any, group: Group, ints: Any) -> Lanes:
    """Floats of a group that stand for ints in these rows; the ints themselves where they do in
    all."""
    if ints is None or not ints.any():
        return Lanes(array, group)
    return Lanes(array.astype("int64"), group) if ints.all() else Lanes(array, group, ints)


def at(array: Any, rows: Any) -> Any:
    """The index of rows in an array that has them last. Of numbers it is the rows alone, which is
    much quicker."""
    return rows if array.ndim == 1 else (..., rows)


def with_rows(value: Any, group: Group) -> Any:
    """A value as an array beside lanes of `group`: theirs with the rows, a shared one with a last
    axis of 1, a number as it is."""
    if type(value) is Lanes:
        return narrow(value, group).array
    # and no Blank, which stands for a value that nobody reads
    is_array = hasattr(value, "strides") and value.ndim
    return value[..., None] if is_array else value


def spread(xp: Any, value: Any, group: Group) -> Lanes:
    """A value as lanes of `group`, each row with its own copy of what they share."""
    if type(value) is Lanes:
        return narrow(value, group)  # type: ignore[no-any-return]
    array = with_rows(value, group)
    array = xp.asarray(array)
    shape = (*array.shape[:-1], group.size) if array.ndim else (group.size,)
    return Lanes(xp.ascontiguousarray(xp.broadcast_to(array, shape)), group)


def zeros(xp: Any, shape: tuple[int, ...], dtype: Any, group: Group) -> Lanes:
    """Returns an array of zeros with the rows last. Few rows of large values stand one behind
    another in memory, so that what is next to each other there is long."""
    if math.prod(shape) <= group.size:
        return Lanes(xp.zeros((*shape, group.size), dtype), group)
    return Lanes(
        xp.zeros((group.size, *shape), dtype).transpose(*range(1, len(shape) + 1), 0), group
    )


def lifted(xp: Any, value: Any, outer: Group | None) -> Any:
    """Sums lanes up to the rows of an outer group: each row gets the sum of the rows that come from
    it, 0 where there are none. For None the sum of all rows, which is no lane value."""
    while type(value) is Lanes and value.group is not outer:
        inner = value.group
        value = inner.place(xp, value, inner.origin, inner.parent)
    return value
