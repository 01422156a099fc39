"""Pullbacks of single instructions: from the cotangents of the results to those of the operands.

The pullback of an `each` is an `each` over the same points, which computes again what it needs of
the first one. The share of an element that a point reads is added to the cotangent of the array, at
the place of the element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import prod
from typing import NamedTuple

from ...ir.builder import Builder
from ...ir.instructions import (
    Affine,
    Block,
    Cast,
    Check,
    Each,
    Element,
    Instruction,
    NewArray,
    Operation,
    Product,
    Put,
    Structural,
    Value,
)
from ...ir.scalars import CHOOSE, RESTATED, WHERE, differentiated
from ...ir.types import BOOL, ArrayType, Scalar, Type, element_of, is_list, strides
from ..copying import copied, defined, rebuilt
from ..rules import share
from .structural import shares
from .tangents import Derivative, Derivatives, Differentiation


class Share(NamedTuple):
    """The shares that the points of an `each` add to the cotangent of a value: of an array at a
    place, or of a number."""

    value: Value
    cotangent: Derivative
    place: Value | None


class Pullbacks(Differentiation):
    """Adds pullbacks at the builder's place."""

    def add(self, cotangents: Derivatives, value: Value, share: Derivative) -> None:
        """Adds a share to the cotangent of a value."""
        if value not in self.varied:
            return
        old = cotangents.get(value)
        if old is not None:
            total = self.sum(old.value, share.value)
            share = Derivative(total, self.either(old.connected, share.connected))
        cotangents[value] = share

    def operation(self, made: Operation | Cast, g: Derivative, cotangents: Derivatives) -> None:
        for k in differentiated(made) if isinstance(made, Operation) else range(1):
            operand = made.operands[k]
            if operand not in self.varied:
                continue
            if isinstance(made, Operation) and made.op is CHOOSE:
                self.add(cotangents, operand, self.chosen(made.operands[0], k == 1, g))
                continue
            if isinstance(made, Cast):
                assert isinstance(operand.type, Scalar)
                part = self.builder.cast(g.value, operand.type)
            elif made.op is RESTATED:
                part = g.value
            else:
                part = share(self.builder, made, k, g.value)
            part = self.if_connected(Derivative(part, g.connected), self.nothing())
            self.add(cotangents, operand, Derivative(part, g.connected))

    def element(self, made: Element, cotangents: Derivatives) -> None:
        """Adds the cotangent of an element to that of its array, at its place."""
        g = cotangents.pop(made.result, None)
        if g is not None and made.array in self.varied:
            array, connected = self.of_array(made.array, cotangents)
            number = self.if_connected(g, self.nothing())
            old = self.builder.element(array, made.place)
            array = self.builder.put(array, made.place, self.builder.apply("add", [old, number]))
            own = g.connected
            if made.array.array_type.listed and own is not None:
                own = self.either(self.flag_at(made.array, connected, made.place), own)
            connected = self.with_flag(made.array, connected, made.place, own)
            cotangents[made.array] = Derivative(array, connected)

    def put(self, made: Put, cotangents: Derivatives) -> None:
        """The number gets the cotangent at its place, the array the rest."""
        g = cotangents.pop(made.result, None)
        if g is not None:
            flag = self.flag_at(made.array, g.connected, made.place)
            number = Derivative(self.builder.element(g.value, made.place), flag)
            self.add(cotangents, made.number, number)
            rest = self.builder.put(g.value, made.place, self.builder.constant(0.0))
            flag = self.with_flag(made.array, g.connected, made.place, self.builder.constant(False))
            self.add(cotangents, made.array, Derivative(rest, flag))

    def chosen(self, condition: Value, holds: bool, g: Derivative) -> Derivative:
        """The share of a side of a choice: `holds` says for which condition it is chosen."""
        sides = [self.builder.constant(holds), self.builder.constant(not holds)]
        connected = self.both(g.connected, self.builder.operation(WHERE, [condition, *sides]))
        share = Derivative(g.value, connected)
        return Derivative(self.if_connected(share, self.nothing()), connected)

    def filled(self, made: NewArray, cotangents: Derivatives) -> None:
        """The number of an array that is filled with it gets the sum of the cotangents."""
        g = cotangents.pop(made.result, None)
        if g is not None:
            kind = made.result.array_type.shape
            total = self.total(
                kind,
                made.number.type,
                lambda k: self.builder.element(g.value, self.builder.place(k, strides(kind))),
            )
            self.add(cotangents, made.number, Derivative(total, self.some(g.connected)))

    def total(
        self, shape: Sequence[int], kind: Type, number: Callable[[Sequence[Value]], Value]
    ) -> Value:
        """The sum of a number for each point. Points of several axes are added row by row first."""
        assert isinstance(kind, Scalar)
        builder, zero = self.builder, self.builder.zero(kind)
        if len(shape) == 1:
            return builder.each(shape, [("add", zero)], lambda k: [number(k)])[0]
        outer = tuple(shape[:-1])
        rows = builder.filled(ArrayType(kind, outer), zero)
        [rows] = builder.each(
            shape, [("add", rows)], lambda k: [number(k), builder.place(k[:-1], strides(outer))]
        )
        return self.total((prod(outer),), kind, lambda k: builder.element(rows, k[0]))

    def product(self, made: Product, cotangents: Derivatives) -> None:
        """The cotangent of each factor is a product with the other one, transposed."""
        g = cotangents.pop(made.result, None)
        if g is None:
            return
        (count, m, k, n), (left, right) = made.sizes, made.transposed
        shares = (
            (made.left, left, g.value, made.right, (m, n, k), (False, not right)),
            (made.right, right, made.left, g.value, (k, m, n), (not left, False)),
        )
        for factor, is_turned, a, b, (rows, inner, columns), (turned, other) in shares:
            if factor not in self.varied:
                continue
            if is_turned:  # so is its cotangent: (A B)' = B' A'
                a, b, rows, columns, turned, other = b, a, columns, rows, not other, not turned
            shape, sizes = factor.array_type.shape, (count, rows, inner, columns)
            found = self.builder.product(a, b, sizes, (turned, other), shape)
            self.add(cotangents, factor, Derivative(found, g.connected))

    def structural(self, made: Structural, cotangents: Derivatives) -> None:
        """The shares of operands, by the rule of the table."""
        given = [cotangents.pop(value, None) for value in made.results]
        active = [
            k for k, v in enumerate(made.operands) if v in self.varied and made.op.moves_with(k)
        ]
        reached = [g for g in given if g is not None]
        if not reached or not active:
            return
        connected = reduce(self.either, [g.connected for g in reached])
        active.reverse()

        def found() -> list[Value]:
            return shares(self.builder, made, [g and g.value for g in given], active)

        if connected is None:
            parts: Sequence[Value] = found()
        else:
            parts = self.where(connected, found, [made.operands[k].type for k in active])
        for k, part in zip(active, parts, strict=True):
            self.add(cotangents, made.operands[k], Derivative(part, connected))

    def where(
        self, condition: Value, found: Callable[[], Sequence[Value]], types: Sequence[Type]
    ) -> Sequence[Value]:
        """The values `found` where a condition holds, and values that stand for no derivative
        elsewhere."""
        with self.builder.inside(Block()) as then:
            then.results = tuple(found())
        with self.builder.inside(Block()) as otherwise:
            otherwise.results = tuple(map(self.none_of, types))
        return self.builder.branch(condition, then, otherwise)

    # ---- each ------------------------------------------------------------------------------------

    def each(self, made: Each, cotangents: Derivatives) -> None:
        given: dict[int, Derivative] = {}
        for k, result in enumerate(made.results):
            g = cotangents.pop(result, None)
            if g is not None:
                given[k] = g
                self.first(made, k, g, cotangents)
        turns = self.shares(made, given, cotangents, None) if given else 0
        for turn in range(1, turns):
            self.shares(made, given, cotangents, turn)

    def first(self, made: Each, k: int, g: Derivative, cotangents: Derivatives) -> None:
        """The first value of a result gets the cotangent of the result, without the elements that
        are replaced."""
        first, place = made.initial[k], made.given[k][1]
        if first not in self.varied:
            return
        if made.ways[k] == "put":
            zero = self.builder.zero(element_of(first.type))

            def replaced(indices: Sequence[Value]) -> list[Value]:
                names = dict(zip(made.body.parameters, indices, strict=True))
                own = copied(Block((), made.body.instructions, made.body.results), names)
                self.builder.block.instructions += own.instructions
                assert place is not None
                at = names.get(place, place)
                nothing = [self.builder.constant(False), at] if is_list(first.type) else []
                return [zero, at, *nothing]

            ways, flag = [("put", g.value)], g.connected
            if is_list(first.type):
                flag = self.flag(first.type, True) if flag is None else flag
                ways.append(("put", flag))
            rest, *flags = self.builder.each(made.shape, ways, replaced)
            g = Derivative(rest, flags[0] if flags else flag)
        self.add(cotangents, first, g)

    def shares(
        self,
        made: Each,
        given: dict[int, Derivative],
        cotangents: Derivatives,
        turn: int | None,
    ) -> int:
        """Adds the `each` of the shares. Where a point reads several elements of one array, each
        turn adds the share of one. Returns the number of turns."""
        body = Block(tuple([Value(v.type) for v in made.body.parameters]))
        with self.builder.inside(body):
            found = self.inside(made, given, body)
        turns: dict[Value, list[Share]] = {}
        for each in found:
            turns.setdefault(each.value, []).append(each)
        chosen = [own[turn or 0] for own in turns.values() if len(own) > (turn or 0)]
        self.combined(made, body, chosen, cotangents)
        return max(map(len, turns.values()), default=0)

    def inside(self, made: Each, given: dict[int, Derivative], body: Block) -> list[Share]:
        """The pullback of a point. It computes the numbers of the point again, except those that
        the `each` has put in an array."""
        builder = self.builder
        names = dict(zip(made.body.parameters, body.parameters, strict=True))
        again: list[Instruction] = [
            each for each in made.body.instructions if not isinstance(each, Check)
        ]
        own = copied(Block((), again, made.body.results), names)
        self.varied.update([names[v] for v in defined(made.body) if v in self.varied])
        builder.block.instructions += own.instructions
        kept: dict[Value, Value] = {}
        for k, (number, place) in enumerate(made.given):
            if made.ways[k] == "put" and place is not None and number in names:
                kept[names[number]] = builder.element(made.results[k], names.get(place, place))
        inside: Derivatives = {}
        for k, g in given.items():
            number, place = made.given[k]
            at = None if place is None else names.get(place, place)
            value, flag = g
            if at is not None:
                value, flag = builder.element(value, at), self.flag_at(made.results[k], flag, at)
            self.add(inside, names.get(number, number), Derivative(value, flag))
        found: list[Share] = []
        for each in reversed(own.instructions):
            g_of = inside.pop(each.results[0], None) if each.results else None
            if g_of is None:
                continue
            if isinstance(each, Element):
                if each.array in self.varied:
                    found.append(Share(each.array, g_of, each.place))
            elif isinstance(each, Operation | Cast):
                known = rebuilt(each, each.operands, (kept.get(each.results[0], each.results[0]),))
                assert isinstance(known, Operation | Cast)
                self.operation(known, g_of, inside)
        found += [Share(value, g, None) for value, g in inside.items()]
        return found

    def combined(
        self, made: Each, body: Block, shares: list[Share], cotangents: Derivatives
    ) -> None:
        """Adds the `each` that combines shares, and adds its results to the cotangents."""
        builder = self.builder
        local = set(defined(body))
        places = {each.result: each for each in body.instructions if isinstance(each, Affine)}
        ways: list[tuple[str, Value]] = []
        ends: list[Value] = []
        flags: dict[int, int] = {}
        rows: dict[int, tuple[int, ...]] = {}  # the shapes of sums of rows, to be added up again
        with builder.inside(body):
            for n, (_, g, place) in enumerate(shares):
                number = self.if_connected(g, self.nothing()) if g.connected in local else g.value
                ends.append(number)
                if place is None:
                    if len(made.shape) > 1:
                        rows[n] = made.shape[:-1]
                        ends.append(builder.place(body.parameters[:-1], strides(rows[n])))
                else:
                    ends.append(place)
        for n, (of, _, place) in enumerate(shares):
            if place is None:
                assert isinstance(of.type, Scalar)
                kind = ArrayType(of.type, rows[n]) if n in rows else of.type
                ways.append(("add", builder.zero(kind)))
                continue
            kind = of.array_type
            if _covers(place, places, body.parameters, made.shape, kind):
                ways.append(("put", builder.room(kind)))
            else:
                old = cotangents.get(of)
                ways.append(("add", old.value if old else builder.zero(of.type)))
        for n, (of, g, place) in enumerate(shares):
            if place is not None and is_list(of.type):
                first = self.flags_before(of, ways[n], g, cotangents)
                if first is not None:
                    flags[n] = len(ways)
                    ways.append(first)
                    ends += [g.connected or builder.constant(True), place]
            elif g.connected in local:
                assert g.connected is not None
                flags[n] = len(ways)
                ways.append(("or", builder.constant(False)))
                ends.append(g.connected)
        body.results = tuple(ends)
        results = tuple([Value(first.type) for _, first in ways])
        firsts = tuple([first for _, first in ways])
        builder.add(Each(made.shape, firsts, tuple([way for way, _ in ways]), body, results))
        for n, (of, g, place) in enumerate(shares):
            flag, value = None if is_list(of.type) else g.connected, results[n]
            flag = results[flags[n]] if n in flags else flag
            if n in rows:
                value = self.total((prod(rows[n]),), of.type, partial(_at, builder, value))
            old = cotangents.get(of)
            if place is not None and ways[n][0] == "add" and old is not None:
                flag = flag if is_list(of.type) else self.either(old.connected, flag)
                cotangents[of] = Derivative(value, flag)
            else:
                self.add(cotangents, of, Derivative(value, flag))

    def flags_before(
        self, of: Value, way: tuple[str, Value], share: Derivative, cotangents: Derivatives
    ) -> tuple[str, Value] | None:
        """What says which numbers of a list are connected, before an `each` adds shares, and the
        way in which it changes; None if all are."""
        if way[0] == "put":  # all of them
            flags = ArrayType(BOOL, of.array_type.shape)
            return None if share.connected is None else ("put", self.builder.room(flags))
        old = cotangents.get(of)
        first = old.connected if old else self.flag(of.type, False)
        return None if first is None else ("or", first)


def _at(builder: Builder, array: Value, indices: Sequence[Value]) -> Value:
    return builder.element(array, indices[0])


def _covers(
    place: Value,
    places: dict[Value, Affine],
    axes: Sequence[Value],
    shape: Sequence[int],
    kind: ArrayType,
) -> bool:
    """Whether the points have each place of an array exactly once."""
    sizes = dict(zip(axes, shape, strict=True))
    if place in sizes:
        return len(sizes) == 1 and shape[0] == kind.size
    made = places.get(place)
    if made is None or made.offset or set(made.operands) != set(sizes):
        return False
    near = 1
    for step, size in sorted(zip(made.steps, [sizes[v] for v in made.operands], strict=True)):
        if step != near:
            return False
        near *= size
    return near == kind.size
