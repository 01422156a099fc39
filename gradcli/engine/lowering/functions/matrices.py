"""Jacobians and Hessians of functions inside a region: a loop over the columns, or over the rows
where these are fewer. Each is one derivative along a unit vector. Meanwhile the numbers in lists
and dicts are one array; then the matrix is cut into blocks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeGuard

from ...backends.backend import CPU
from ...ir.instructions import Block, Region, Value
from ...ir.types import ArrayType, Scalar, element_of, is_float
from ...passes.derivatives.jvp import jvp
from ...passes.derivatives.vjp import vjp
from ...passes.rules import NoRule
from ..held.kinds import (
    Array,
    Kind,
    ListOrArray,
    Mixed,
    Record,
    Stored,
    flat,
    kind_of,
    leaves,
    plain,
    rebuilt,
)
from ..held.names import NotCompiled, Transform
from .transforms import Transforms

MOST = 64  # columns, or rows; of more the interpreter tries to compute several at once


class Matrices(Transforms):
    """The lowering of `jacobian(f)`, `hessian(f)` and `hvp(f)`."""

    def called(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        """A call of one of these, or of another function."""
        kind = callee.kind if isinstance(callee, Transform) else ""
        if kind not in ("jacobian", "hessian", "hvp"):
            return super().called(callee, given, named)
        function, wrt, listed = callee.function, callee.wrt, callee.listed
        if kind != "jacobian":
            function = Transform("grad", function, wrt, listed)
        if kind == "hvp":
            return super().called(Transform("hvp", function, wrt, listed), given, named)
        if max(wrt) >= len(given) or len(set(wrt)) < len(wrt):
            raise NotCompiled(f"this call of `{kind}` is not compiled")
        along = Transform("jvp", function, wrt, listed)
        given = [
            self.with_arrays(self.values(self.present(held))) if k in wrt else held
            for k, held in enumerate(given)
        ]
        return self.jacobian_of(along, given, named)

    def with_arrays(self, held: Any) -> Any:
        """An argument in which every list of numbers, or of rows of equal length, is an array."""
        held = self.in_items(held)
        if isinstance(held, Record):
            return Record(held.keys, tuple([self.with_arrays(item) for item in held.items]))
        if isinstance(held, Stored):
            return Stored(self.builder.in_form(held.value, listed=False), held.variable)
        if type(held) is not tuple and not isinstance(held, ListOrArray):
            return held
        if isinstance(held, ListOrArray) or _list_shape(held) is not None:
            return self.whole(self.as_array(held))
        return tuple([self.with_arrays(item) for item in held])

    def jacobian_of(self, callee: Transform, given: list[Any], named: dict[str, Any]) -> Any:
        """The Jacobian of a function by some of its arguments: blocks, in the structure of its
        result and of these arguments."""
        block, kind = self.body(callee, given, named)
        moving = tuple([given[k] for k in callee.wrt])
        by = plain(kind_of(moving if callee.listed else moving[0]))
        target, source = _as_one(kind), _as_one(by)
        argument = rebuilt(source, flat(moving))
        along = Transform("jvp", callee.function, (0,), False)
        found = self.of_block(along, block, [argument], target)
        if (target, source) == (kind, by):
            return found
        return self.in_blocks(found, kind, by)

    def in_blocks(self, found: Any, kind: Kind, source: Kind) -> Any:
        """The blocks of a Jacobian that was found as one array. `kind` and `source` are those of
        target and source."""
        size = sum([prod(_shape(leaf)) for leaf in leaves(source)])
        count = sum([prod(_shape(leaf)) for leaf in leaves(kind)])
        places = CPU.xp.arange(1, count * size + 1).reshape(count, size)

        def row(target: Kind, rows: Any) -> Any:
            outer = _shape(target)

            def block(inner: Kind, columns: Any) -> Any:
                return self.at_places(found, columns.T.reshape((*outer, *_shape(inner))))

            return _by_leaves(source, rows.T, block)

        return _by_leaves(kind, places, row)

    def at_places(self, found: Any, places: Any) -> Any:
        """The elements of an array at places, which count from 1; a number for one place."""
        if places.shape:
            return self.whole(self.of_places(found, places))
        place = int(places) - 1
        if isinstance(found, Stored):
            return self.builder.element(found.value, self.builder.constant(place))
        return found.items[place]

    def of_block(self, callee: Transform, block: Block, given: list[Any], kind: Kind) -> Any:
        """The Jacobian of a block of the function, whose result is of a kind. Derivative rules of
        the program are called for it, which forward mode doesn't do."""
        [k] = callee.wrt
        source = plain(kind_of(given[k]))
        region = Region("function", block)
        rows, columns = _shape(kind), _shape(source)
        arguments, m, n = list(flat(given[k])), prod(rows), prod(columns)
        has_rules = self.regions.has_rules(region)
        if (m if has_rules else min(m, n)) > MOST:
            raise NotCompiled("a Jacobian of many rows and columns is not compiled")
        try:
            if not columns and not has_rules:
                one = self.unit(source, self.builder.constant(0))
                return self.along(callee, jvp(region, (0,), self.regions), given, one, kind)
            places = range(len(arguments))
            forward = n <= m and not has_rules
            derived = (jvp if forward else vjp)(region, places, self.regions)
        except NoRule as reason:
            raise NotCompiled(str(reason)) from None

        def column(at: Value) -> Any:
            unit = self.unit(source, at)
            return self.along(callee, derived, given, unit, kind)

        def row(at: Value) -> Any:
            seeds = flat(self.unit(kind, at))
            found = self.inline(derived, [*arguments, *seeds])[len(list(flat(kind))) :]
            pairs = zip(found[::2], found[1::2], strict=True)
            return self.gradient(given[k], pairs)

        if not rows:
            return row(self.builder.constant(0))
        element = _element(kind if forward else source)
        whole = ArrayType(element, (*rows, *columns))
        matrix = self.filled_by(whole, column if forward else row, forward, n)
        return self.few_apart(Stored(matrix))

    def filled_by(
        self, kind: ArrayType, line: Callable[[Value], Any], by_column: bool, n: int
    ) -> Value:
        """A matrix of `n` columns, in an array, filled line by line."""
        builder = self.builder
        m = kind.size // n

        def put(array: Value, at: Value) -> Value:
            part, length = line(at), (m if by_column else n)

            def place(k: Value) -> Value:
                row, column = (k, at) if by_column else (at, k)
                return builder.place([row, column], [n, 1])

            if not isinstance(part, Stored):
                for k, number in enumerate(flat(part)):
                    array = builder.put(array, place(builder.constant(k)), number)
                return array
            return self.over(
                (length,),
                [("put", array)],
                lambda k: [builder.element(part.value, k[0]), place(k[0])],
            )[0]

        count = builder.constant(n if by_column else m)
        return builder.loop(count, [builder.zero(kind)], lambda at, array: [put(array[0], at)])[0]

    def unit(self, kind: Kind, at: Value) -> Any:
        """An array or a number of a kind that is 1 at a place, and 0 elsewhere."""
        builder = self.builder
        zero, one = [builder.number(number, _element(kind)) for number in (0.0, 1.0)]
        if isinstance(kind, Scalar):
            return one
        if isinstance(kind, Stored):
            return Stored(builder.put(builder.zero(kind.type), at, one))
        assert isinstance(kind, Array)
        is_here = [builder.apply("eq", [at, builder.constant(k)]) for k in range(prod(kind.shape))]
        items = [builder.apply("where", [here, one, zero]) for here in is_here]
        found: Array = rebuilt(kind, iter(items))
        return found


def _element(kind: Kind) -> Scalar:
    """The type of the numbers of a kind."""
    return element_of(next(flat(kind)))


def _is_float(kind: Kind) -> TypeGuard[Scalar]:
    return isinstance(kind, Scalar) and is_float(kind)


def _shape(kind: Kind) -> Sequence[int]:
    if isinstance(kind, Array | Stored):
        return kind.shape
    if not _is_float(kind):
        raise NotCompiled("a Jacobian is compiled only for arrays")
    return ()


def _list_shape(held: Any) -> tuple[int, ...] | None:
    """The shape of nested lists of numbers as an array; None where they are ragged or hold anything
    else."""
    if type(held) is not tuple:
        return () if isinstance(held, Value | Mixed) else None
    shapes = {_list_shape(item) for item in held} or {()}
    shape = shapes.pop()
    return None if shape is None or shapes else (len(held), *shape)


def _as_one(kind: Kind) -> Kind:
    """The kind of one array with all the numbers in lists and dicts; any other kind as it is."""
    if not isinstance(kind, tuple | Record):
        return kind
    types = tuple(flat(kind))
    if len(set(types)) != 1 or isinstance(types[0], ArrayType):
        raise NotCompiled("the Jacobian of lists of many numbers is not compiled")
    return Array((len(types),), types, types[0])


def _by_leaves(kind: Kind, rows: Any, give: Callable[[Kind, Any], Any]) -> Any:
    """A structure of lists and dicts of a kind. `give` returns its leaves, from a leaf's kind and
    its part of the rows."""
    if isinstance(kind, Record):
        return Record(kind.keys, _by_leaves(kind.items, rows, give))
    if not isinstance(kind, tuple):
        return give(kind, rows)
    items, start = [], 0
    for item in kind:
        stop = start + sum([prod(_shape(leaf)) for leaf in leaves(item)])
        items.append(_by_leaves(item, rows[start:stop], give))
        start = stop
    return tuple(items)
