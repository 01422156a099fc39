"""Reverse mode: a region that computes the results of another one, and then its pullback. And the
same of a stretch of code: some instructions of a block that is still being built.

The pullback of a call is a call, too. For that, the region that is called is divided: its forward
part pushes what the pullback needs on the stack, and its pullback pops that. So no call is computed
again, however deep calls are inside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from ...ir.instructions import Block, Call, Constant, Instruction, Region, Value
from ...ir.types import STACK, ArrayType, has_tangents, is_list
from ..calls import Regions, Rule
from ..copying import copied, inlined, used
from ..hoisting import hoist
from .activity import varied
from .block_pullbacks import BlockPullback
from .tangents import Derivative, Derivatives, flags_of, pairs, passed, values_of


def vjp(
    region: Region,
    wrt: Sequence[int],
    regions: Regions | None = None,
    unsure: Sequence[int] = (),
    of: Sequence[int] | None = None,
    sums: Sequence[int] = (),
) -> Region:
    """A region that takes the parameters of another one and a cotangent for each float result, or
    for those at the positions `of`. It gives the results; then, for each parameter of `wrt`, its
    cotangent and whether it is connected with a result. The region may call one of `regions`; the
    derivatives of these are added to them.

    unsure  positions of cotangents for which further parameters say whether they are connected
    sums    positions in `wrt` of parameters whose cotangents so far are given, too, after the
            others; the cotangents found here are added to these

    Raises NoRule.
    """
    block = hoist(region).block  # so that no constant is a residual
    inputs = [block.parameters[k] for k in wrt]
    targets = block.results if of is None else [block.results[k] for k in of]
    targets = [value for value in targets if has_tangents(value.type)]
    seeds = [Value(value.type) for value in (*targets, *[inputs[k] for k in sums])]
    flags = {k: Value(flags_of(seeds[k].type)) for k in unsure}
    pullback = Pullback(block, varied(block, inputs), regions or Regions())
    pullback.regions.verify_rules(block, pullback.varied)
    n = len(targets)
    cotangents: Derivatives = {
        inputs[k]: Derivative(seed, flags.get(n + j))
        for j, (k, seed) in enumerate(zip(sums, seeds[n:], strict=True))
    }
    for k, (value, seed) in enumerate(zip(targets, seeds, strict=False)):
        if value in pullback.varied:
            pullback.add(cotangents, value, Derivative(seed, flags.get(k)))
    pullback.back(block, cotangents)
    block.parameters += (*seeds, *flags.values())
    block.results += pullback.results(inputs, map(cotangents.get, inputs))
    return Region(f"{region.name}_vjp", block)


def pullback_of(
    region: Region,
    wrt: Sequence[int],
    of: Sequence[int],
    regions: Regions,
    unsure: Sequence[int],
    sums: Sequence[int] = (),
) -> Region:
    """The pullback of a region: it takes the parameters, and cotangents of the results at the
    positions `of`. It gives, for each parameter of `wrt`, its cotangent and whether it is
    connected. It computes again what it needs of the region. `unsure` and `sums` are as for `vjp`.

    Raises NoRule.
    """
    block = copied(region.block, {})
    block.results = tuple([block.results[k] for k in of])
    whole = vjp(Region(region.name, block), wrt, regions, unsure, sums=sums)
    parameters, instructions = whole.block.parameters, whole.block.instructions
    return Region(whole.name, Block(parameters, instructions, whole.block.results[len(of) :]))


def divided(
    region: Region,
    wrt: Sequence[int],
    of: Sequence[int],
    regions: Regions,
    unsure: Sequence[int] = (),
) -> tuple[Region, Region]:
    """A region in two: the forward part, and the pullback.

    The forward part also takes a stack, and gives the stack with the residuals on top. The pullback
    takes this stack; then cotangents of the results at the positions `of`; for those at the
    positions `unsure` among them whether they are connected; the cotangents so far of the
    parameters of `wrt` that are arrays; and for lists among these which numbers are connected. It
    gives the stack as it was, and for each parameter of `wrt` its cotangent and whether it is
    connected.

    Raises NoRule.
    """
    block, start = hoist(region).block, Value(STACK)
    if not of:  # then nothing is pulled back, and nothing is kept for it
        ahead = Block((*block.parameters, start), block.instructions, (*block.results, start))
        return Region(f"{region.name}_keep", ahead), Region(f"{region.name}_back", Block())
    inputs = [block.parameters[k] for k in wrt]
    pullback = Pullback(block, varied(block, inputs), regions, start)
    regions.verify_rules(block, pullback.varied)
    pullback.recomputable.inputs.clear()
    size, given = len(block.instructions), Value(STACK)
    kept, pullback.stack = pullback.stack or start, given
    seeds = [Value(block.results[k].type) for k in of]
    flags = {k: Value(flags_of(seeds[k].type)) for k in unsure}
    arrays = {value: Value(value.type) for value in inputs if isinstance(value.type, ArrayType)}
    lists = {value: Value(flags_of(value.type)) for value in arrays if is_list(value.type)}
    nothing = pullback.builder.constant(False)
    cotangents = {
        value: Derivative(array, lists.get(value, nothing)) for value, array in arrays.items()
    }
    for k, seed in enumerate(seeds):
        pullback.add(cotangents, block.results[of[k]], Derivative(seed, flags.get(k)))
    pullback.back(block, cotangents)
    found = pullback.results(inputs, map(cotangents.get, inputs))
    ahead = Block((*block.parameters, start), block.instructions[:size], (*block.results, kept))
    back = Block(
        (given, *seeds, *flags.values(), *arrays.values(), *lists.values()),
        block.instructions[size:],
    )
    back.results = (pullback.stack, *found)
    pullback.keep(ahead, back, given, {})
    return Region(f"{region.name}_keep", ahead), Region(f"{region.name}_back", back)


class Pullback(BlockPullback):
    """The pullback of a block with calls."""

    def call(self, made: Call, cotangents: Derivatives) -> None:
        """A call becomes a call of a forward part, and its pullback a call of the other part. The
        cotangents of arrays are passed to that, and come back with the shares of the call added."""
        if not self.is_active(made):
            return
        rule = self.regions.rule_of(made.region)
        if rule is not None:
            self.by_rule(made, rule, cotangents)
            return
        if self.regions.keeps_nothing(made.region):
            self.again(made, cotangents)
            return
        assert self.stack is not None
        places = [k for k, v in enumerate(made.results) if v in cotangents or self.is_stack(v)]
        active = [k for k, v in enumerate(made.operands) if places and v in self.varied]
        given = [self.given(made.results[k], cotangents) for k in places]
        unsure = [k for k, g in enumerate(given) if g.connected is not None]
        made.region, back = self.regions.derived(
            ("keep", "back"),
            made.region,
            (active, places, unsure),
            lambda region: divided(region, active, places, self.regions, unsure),
        )
        if not places:
            return
        operands = [made.operands[k] for k in active]
        sums = [self.handed_over(v, cotangents) for v in operands]
        after, results = Value(STACK), values_of(operands)
        arrays = [each.value for each in sums if each is not None]
        for each in sums:
            if each is not None and is_list(each.value.type):
                arrays.append(each.connected or self.flag(each.value.type, True))
        self.builder.add(
            Call(back, (self.stack, *passed(given), *arrays), (after, *results), made.span)
        )
        self.stack = after
        for operand, before, part in zip(operands, sums, pairs(results), strict=True):
            connected = part.connected
            if before is not None and not is_list(operand.type):
                connected = self.either(before.connected, connected)
            self.add(cotangents, operand, Derivative(part.value, connected))

    def by_rule(self, made: Call, rule: Rule, cotangents: Derivatives) -> None:
        """The pullback of a call of a function with a rule of its own: the rule, inlined."""
        given = [cotangents.pop(value, None) for value in made.results]
        there = [self.some(each.connected) for each in given if each is not None]
        if not there:
            return
        dys = [
            self.builder.zero(value.type) if each is None else each.value
            for value, each in zip(made.results, given, strict=True)
        ]
        instructions, results = inlined(rule.region.block, (*made.operands, *dys))
        self.builder.block.instructions += instructions
        known = {each.result: each.value for each in instructions if isinstance(each, Constant)}
        arrives = reduce(self.either, there)
        moving = [made.operands[k] for k in rule.moving]
        for operand, share in zip(moving, pairs(results), strict=True):
            assert share.connected is not None
            surely = known.get(share.connected)
            if surely is not False:
                connected = arrives if surely else self.both(arrives, share.connected)
                flag = self.of_all(operand.type, connected)
                self.add(cotangents, operand, Derivative(share.value, flag))

    def again(self, made: Call, cotangents: Derivatives) -> None:
        """The pullback of a call that computes the call again. All cotangents are passed to it, so
        that each sum has the order that it has without a call."""
        places = [k for k, v in enumerate(made.results) if v in cotangents]
        active = [k for k, v in enumerate(made.operands) if places and v in self.varied]
        if not active:
            return
        operands = [made.operands[k] for k in active]
        given = [cotangents.pop(made.results[k]) for k in places]
        sums = [operands.index(v) for v in dict.fromkeys(operands) if v in cotangents]
        given += [cotangents.pop(operands[k]) for k in sums]
        unsure = [k for k, g in enumerate(given) if g.connected is not None]
        [back] = self.regions.derived(
            ("pulled",),
            made.region,
            (active, places, sums, unsure),
            lambda region: [pullback_of(region, active, places, self.regions, unsure, sums)],
        )
        results = values_of(operands)
        self.builder.add(Call(back, (*made.operands, *passed(given)), results, made.span))
        for operand, share in zip(operands, pairs(results), strict=True):
            self.add(cotangents, operand, share)

    def given(self, result: Value, cotangents: Derivatives) -> Derivative:
        """The cotangent of a result."""
        return cotangents.pop(result, None) or Derivative(self.none_of(STACK))

    def handed_over(self, operand: Value, cotangents: Derivatives) -> Derivative | None:
        """The cotangent so far of an array, to which a call adds; None for a value that is no
        array."""
        if not isinstance(operand.type, ArrayType):
            return None
        found = self.of_array(operand, cotangents)
        cotangents.pop(operand, None)
        return found


class Stretch(NamedTuple):
    """A pullback of instructions.

    before      to be inserted before the instructions: stacks, and the start of counts
    after       the pullback, to be inserted after them, where it runs as often as they do
    cotangents  of those sources that have one
    """

    before: list[Instruction]
    after: list[Instruction]
    cotangents: Derivatives


def pull_back(
    instructions: Sequence[Instruction],
    seeds: Iterable[tuple[Value, Value]],
    sources: Iterable[Value],
    regions: Regions,
) -> Stretch:
    """The pullback of instructions: from `seeds`, values with their cotangents, to `sources`. A
    source counts as an input, even if one of the instructions defines it. Loops among the
    instructions are changed: they push what the pullback needs.

    Raises NoRule.
    """
    sources, seeds = dict.fromkeys(sources), list(seeds)
    made = [each for each in instructions if sources.keys().isdisjoint(each.results)]
    moving = varied(Block((), made), sources)
    block = Block((), _leading_to([value for value, _ in seeds], made, moving))
    instructions = list(block.instructions)
    pullback = Pullback(block, moving, regions)
    arrays = [value for value in used([block]) if isinstance(value.type, ArrayType)]
    pullback.recomputable.inputs.update(arrays)
    cotangents: Derivatives = {}
    for value, seed in seeds:
        pullback.add(cotangents, value, Derivative(seed))
    pullback.back(block, cotangents)
    made, count = block.instructions, len(instructions)
    start = next((k for k, each in enumerate(made) if count and each is instructions[0]), 0)
    return Stretch(made[:start], made[start + count :], _of(sources, cotangents))


def _leading_to(
    values: Iterable[Value], instructions: Sequence[Instruction], moving: set[Value]
) -> list[Instruction]:
    """The instructions on a path from `moving` values to `values`, and those that pop from a stack
    what these pushed, as earlier pullbacks do. Others are left out, since the pullback of their
    loops would run for nothing: a gradient in an iteration of an unrolled loop pulls back no
    earlier gradients."""
    uses = [used([Block((), [made])]) for made in instructions]
    needed, stacks, found, size = set(values), set[Value](), set[int](), -1
    while len(found) > size:  # up to a fixed point
        size = len(found)
        for k in reversed(range(len(instructions))):
            given = moving.intersection(instructions[k].results)
            if k not in found and not (needed.isdisjoint(given) and stacks.isdisjoint(uses[k])):
                found.add(k)
                needed.update(uses[k])
                stacks.update([value for value in given if value.type == STACK])
    return [instructions[k] for k in sorted(found)]


def _of(sources: Iterable[Value], cotangents: Mapping[Value, Derivative]) -> Derivatives:
    return {value: cotangents[value] for value in sources if value in cotangents}
