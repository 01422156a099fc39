"""Forward mode: a region that computes the results of another one together with their tangents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from ...ir.instructions import (
    Block,
    Branch,
    Call,
    Cast,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Region,
    Room,
    Structural,
    Value,
    While,
    every,
)
from ...ir.scalars import CHOOSE, RESTATED, WHERE, differentiated
from ...ir.types import STACK, ArrayType, Scalar, element_of, has_tangents, is_list
from ..calls import Regions
from ..copying import copied, defined, used
from ..rules import tangent
from .activity import varied
from .structural import tangents as tangents_of
from .tangents import (
    Derivative,
    Derivatives,
    Differentiation,
    flags_of,
    pairs,
    passed,
    values_of,
)


def jvp(
    region: Region,
    wrt: Sequence[int],
    regions: Regions | None = None,
    unsure: Sequence[int] = (),
) -> Region:
    """A region that takes the parameters of another one and a tangent for each of `wrt`. The
    tangent of a stack is on the stack itself. It gives the results; then, for each float result,
    its tangent and whether it is connected with a parameter of `wrt`. For tangents at the positions
    `unsure`, further parameters say whether they are connected. The region may call one of
    `regions`; the derivatives of these are added to them.

    Raises NoRule.
    """
    block = copied(region.block, {})
    inputs = [block.parameters[k] for k in wrt]
    forward = _Pushforward(block, varied(block, inputs), regions or Regions())
    moved = [value for value in inputs if value.type != STACK]
    given = [Value(value.type) for value in moved]
    flags = {k: Value(flags_of(given[k].type)) for k in unsure}
    tangents = {x: Derivative(given[k], flags.get(k)) for k, x in enumerate(moved)}
    forward.along(block, tangents)
    block.parameters += (*given, *flags.values())
    moving = [value for value in block.results if has_tangents(value.type)]
    with forward.builder.inside(block):
        block.results += forward.results(moving, map(tangents.get, moving))
    return Region(f"{region.name}_jvp", block)


class _Pushforward(Differentiation):
    """Inserts the instructions for tangents in blocks, which are changed."""

    def __init__(self, block: Block, varied: set[Value], regions: Regions) -> None:
        super().__init__(block, varied, regions)
        self.rooms = {made.result for made in every(block) if isinstance(made, Room)}

    def along(self, block: Block, tangents: Derivatives) -> None:
        """Adds the tangents of the values that a block defines to `tangents`."""
        instructions, block.instructions = block.instructions, []
        with self.builder.inside(block):
            for made in instructions:
                self.instruction(made, tangents)

    def instruction(self, made: Instruction, tangents: Derivatives) -> None:
        if isinstance(made, Branch):
            self.branch(made, tangents)
        elif isinstance(made, While | For):
            self.loop(made, tangents)
        elif isinstance(made, Push):
            self.push(made, tangents)
        elif isinstance(made, Pop):
            self.pop(made, tangents)
        elif isinstance(made, Call):
            self.call(made, tangents)
        elif isinstance(made, Each):
            self.each(made, tangents)
        else:
            self.builder.add(made)
            if isinstance(made, Operation | Cast) and made.result in self.varied:
                self.operation(made, tangents)
            elif isinstance(made, NewArray | Element | Put) and made.result in self.varied:
                tangents[made.result] = self.of_place(made, tangents)
            elif isinstance(made, Product) and made.result in self.varied:
                tangents[made.result] = self.of_product(made, tangents)
            elif isinstance(made, Structural) and not self.varied.isdisjoint(made.results):
                self.structural(made, tangents)

    def operation(self, made: Operation | Cast, tangents: Derivatives) -> None:
        places = differentiated(made) if isinstance(made, Operation) else range(1)
        moving = {k: tangents[made.operands[k]] for k in places if made.operands[k] in tangents}
        if moving and isinstance(made, Operation) and made.op is CHOOSE:
            tangents[made.result] = self.chosen(made, moving)
        elif moving:
            connected = reduce(self.either, [t.connected for t in moving.values()])
            tangents[made.result] = Derivative(self.tangent(made, moving), connected)

    def tangent(self, made: Operation | Cast, moving: dict[int, Derivative]) -> Value:
        """The tangent of a result. The share of an operand that may not be connected is selected by
        itself, so that otherwise the tangent is connected with nothing of it."""
        if isinstance(made, Cast):
            kind = made.result.type
            assert isinstance(kind, Scalar)
            return self.builder.cast(moving[0].value, kind)
        if made.op is RESTATED:
            return moving[0].value
        if made.op is WHERE:
            nothing = self.builder.constant(0.0)
            sides = {k: self.if_connected(t, nothing) for k, t in moving.items()}
            return tangent(self.builder, made, sides)
        sure = {k: t.value for k, t in moving.items() if t.connected is None}
        shares = [tangent(self.builder, made, sure)] if sure else []
        for k, t in moving.items():
            if t.connected is not None:
                share = Derivative(tangent(self.builder, made, {k: t.value}), t.connected)
                shares.append(self.if_connected(share, self.nothing()))
        return reduce(lambda a, b: self.builder.apply("add", [a, b]), shares)

    def chosen(self, made: Operation, moving: dict[int, Derivative]) -> Derivative:
        """The tangent of the side that is chosen."""
        condition = made.operands[0]
        (a, a_connected), (b, b_connected) = (
            self.results([made.result], [moving.get(k)]) for k in (1, 2)
        )
        value = self.builder.operation(CHOOSE, [condition, a, b])
        flag = self.builder.operation(WHERE, [condition, a_connected, b_connected])
        return Derivative(value, flag)

    def moving(self, values: Iterable[Value]) -> list[Value]:
        """The values that have tangents."""
        return [value for value in values if value in self.varied and has_tangents(value.type)]

    def of_place(self, made: NewArray | Element | Put, tangents: Derivatives) -> Derivative:
        """The tangent of an array, or of an element of one."""
        builder = self.builder
        if isinstance(made, Element):
            array, connected = self.of_array(made.array, tangents)
            flag = self.flag_at(made.array, connected, made.place)
            return Derivative(builder.element(array, made.place), flag)
        t = tangents.get(made.number)
        number = self.if_connected(t, builder.constant(0.0)) if t else builder.constant(0.0)
        if isinstance(made, NewArray):
            assert t is not None
            kind = made.result.array_type
            return Derivative(builder.filled(kind, number), self.of_all(kind, t.connected))
        array, connected = self.of_array(made.array, tangents)
        own = t.connected if t else builder.constant(False)
        connected = self.with_flag(made.array, connected, made.place, own)
        return Derivative(builder.put(array, made.place, number), connected)

    def of_product(self, made: Product, tangents: Derivatives) -> Derivative:
        """The tangent of a product: a product for each factor that has one."""
        found: Derivative | None = None
        for k, factor in enumerate(made.operands):
            t = tangents.get(factor)
            if t is not None:
                left, right = (t.value, made.right) if k == 0 else (made.left, t.value)
                value = self.builder.product(
                    left, right, made.sizes, made.transposed, made.result.array_type.shape
                )
                term = Derivative(value, t.connected)
                if found is not None:
                    total = self.sum(found.value, term.value)
                    term = Derivative(total, self.either(found.connected, term.connected))
                found = term
        return found or self.of_array(made.result, {})

    def structural(self, made: Structural, tangents: Derivatives) -> None:
        """The tangents of results by the rule of the table."""
        moving = {
            k: tangents[v]
            for k, v in enumerate(made.operands)
            if v in tangents and made.op.moves_with(k)
        }
        if moving:
            connected = reduce(self.either, [t.connected for t in moving.values()])
            given = {k: t.value for k, t in moving.items()}
            along = [given.get(k) for k in range(len(made.operands))]
            floats = [value for value in made.results if has_tangents(value.type)]
            found = tangents_of(self.builder, made, along)
            tangents.update(
                {v: Derivative(t, connected) for v, t in zip(floats, found, strict=True)}
            )

    def each(self, made: Each, tangents: Derivatives) -> None:
        """Combines tangents in the ways in which their numbers are combined."""
        places = [k for k, value in enumerate(made.results) if value in self.varied]
        inside = dict(tangents)
        for array in used([made.body]):
            if array in self.varied and isinstance(array.type, ArrayType):
                inside[array] = self.of_array(array, tangents)
        zeros = {k: self.builder.zero(element_of(made.initial[k].type)) for k in places}
        firsts = [
            tangents.get(made.initial[k]) or Derivative(self.start(made, k, zeros[k]))
            for k in places
        ]
        given, ends = made.given, list[Value]()
        self.along(made.body, inside)
        local = set(defined(made.body))
        nothing = self.builder.constant(False)
        bases = [made.initial[k] for k in places]
        lists = {n for n, k in enumerate(places) if is_list(made.results[k].type)}
        replaced = {n for n, k in enumerate(places) if made.ways[k] == "put"}
        # What says of the numbers of a point whether they are connected; and for results of which
        # that isn't known before, what to combine it with.
        own: dict[int, Value | None] = {}
        flags: dict[int, Value] = {}
        for n, k in enumerate(places):
            t = inside.get(given[k][0])
            own[n] = t.connected if t else nothing
            if n in lists:
                before = self.before(bases[n], tangents)
                if before is not None or (own[n] is not None and n in replaced):
                    flags[n] = before or self.flag(made.results[k].type, True)
            elif own[n] in local:
                flags[n] = nothing
        with self.builder.inside(made.body):
            for k in places:
                number, place = given[k]
                t = inside.get(number)
                value = self.if_connected(t, zeros[k]) if t else zeros[k]
                ends += [value] if place is None else [value, place]
            for n, flag in flags.items():
                ends.append(own[n] or self.builder.constant(True))
                if isinstance(flag.type, ArrayType):
                    place = given[places[n]][1]
                    assert place is not None
                    ends.append(place)
        ways = ["put" if n in lists & replaced else "or" for n in flags]
        values = tuple([Value(made.results[k].type) for k in places])
        connected = {n: Value(first.type) for n, first in flags.items()}
        made.initial += (*[t.value for t in firsts], *flags.values())
        made.ways += (*[made.ways[k] for k in places], *ways)
        made.body.results += tuple(ends)
        moved = [made.results[k] for k in places]
        made.results += (*values, *connected.values())
        self.builder.add(made)
        for n, result in enumerate(moved):
            found = connected[n] if n in flags else None if n in lists else own[n]
            if n not in lists and bases[n] in self.varied:
                base = tangents.get(bases[n])
                found = self.either(found, base.connected if base else nothing)
            tangents[result] = Derivative(values[n], found)

    def before(self, first: Value, tangents: Derivatives) -> Value | None:
        """Whether each number of a list that an `each` changes is connected. In a new list, all
        will be replaced."""
        if first in tangents:
            return tangents[first].connected
        return None if first in self.rooms else self.flag(first.type, False)

    def start(self, made: Each, k: int, zero: Value) -> Value:
        """The first value of the tangent of a result whose first value has none."""
        kind = made.results[k].type
        if not isinstance(kind, ArrayType):
            return zero
        is_new = made.initial[k] in self.rooms
        return self.builder.room(kind) if is_new else self.builder.filled(kind, zero)

    def call(self, made: Call, tangents: Derivatives) -> None:
        """A call; where an operand has a tangent, of the region that gives the tangents, too."""
        active = tuple(
            [k for k, v in enumerate(made.operands) if v in tangents or self.is_stack(v)]
        )
        given = [tangents[made.operands[k]] for k in active if made.operands[k] in tangents]
        if active:
            floats = [value for value in made.results if has_tangents(value.type)]
            new = values_of(floats)
            unsure = [k for k, t in enumerate(given) if t.connected is not None]
            made.operands += passed(given)
            made.results += new
            [made.region] = self.regions.derived(
                ("along",),
                made.region,
                (active, unsure),
                lambda region: [jvp(region, active, self.regions, unsure)],
            )
            tangents.update(zip(floats, pairs(new), strict=True))
        self.builder.add(made)

    def branch(self, made: Branch, tangents: Derivatives) -> None:
        places = [k for k, value in enumerate(made.results) if value in self.moving([value])]
        ends = []
        for side in (made.then, made.otherwise):
            inside = dict(tangents)
            self.along(side, inside)
            end = [inside.get(side.results[k]) for k in places]
            with self.builder.inside(side):
                side.results += self.results([made.results[k] for k in places], end)
            ends.append(end)
        values = [made.results[k] for k in places]
        new = values_of(values)
        made.results += new
        self.builder.add(made)
        for value, t, a, b in zip(values, pairs(new), *ends, strict=True):
            certain = a and b and a.connected is b.connected is None
            tangents[value] = Derivative(t.value) if certain else t

    def loop(self, made: While | For, tangents: Derivatives) -> None:
        carried = made.carried
        places = [k for k, value in enumerate(carried) if value in self.moving([value])]

        values = [made.results[k] for k in places]
        given, results = values_of(values), values_of(values)
        inside = dict(tangents)
        inside.update(zip([carried[k] for k in places], pairs(given), strict=True))
        made.initial += self.results(values, [tangents.get(made.initial[k]) for k in places])
        self.along(made.body, inside)
        with self.builder.inside(made.body):
            ends = [inside.get(made.body.results[k]) for k in places]
            made.body.results += self.results(values, ends)
        made.body.parameters += given
        if isinstance(made, While):
            made.condition.parameters += values_of(values)
        made.results += results
        self.builder.add(made)
        tangents.update(zip(values, pairs(results), strict=True))

    def push(self, made: Push, tangents: Derivatives) -> None:
        """Pushes an entry with the tangents of its floats: of all of them if the stack has
        derivatives."""
        if made.result in self.varied:
            floats = [value for value in made.entry if has_tangents(value.type)]
            made.entry += self.results(floats, map(tangents.get, floats))
        self.builder.add(made)

    def pop(self, made: Pop, tangents: Derivatives) -> None:
        if made.stack in self.varied:
            floats = [value for value in made.entry if has_tangents(value.type)]
            new = values_of(floats)
            made.entry += new
            tangents.update(zip(floats, pairs(new), strict=True))
        self.builder.add(made)
