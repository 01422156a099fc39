"""A call of a function, or some iterations of a loop of a frame, as a region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...diagnostics import Span
from ...lang import program
from ...lang.program.liveness import Liveness, Slots
from ..ir.builder import Builder
from ..ir.instructions import Block, Region, Value
from ..ir.scalars import WHERE
from ..ir.types import I64, Scalar
from ..passes.calls import Regions
from .entries import Entry, enter, naming_parameters, parameters_of
from .held.flow import assigned, breaks, returns, stops
from .held.kinds import (
    Kind,
    ListOrArray,
    Maybe,
    OrNone,
    Table,
    Word,
    flat,
    is_settled,
    kind_of,
    plain,
)
from .held.meeting import joined
from .held.names import RETURNED, SEQUENCE, STOPPED, Absent, Name, NotCompiled, Unknown
from .held.ranges import Items, Range
from .loops.loop import Iteration, Loop
from .statements import Lowering

# ---- calls ---------------------------------------------------------------------------------------


class FrameCall(NamedTuple):
    """A call in IR.

    region   takes the parameters of the entries of the function and its arguments, in this order,
             then the seed and the number of draws if it draws; gives the numbers of the result, and
             then the number of draws
    kind     the kind of the result
    regions  those that it may call: functions that call themselves, and their derivatives
    """

    region: Region
    kind: Kind
    regions: Regions


def given_in(lowering: Lowering, block: Block, entry: Entry) -> object:
    """What a name with an entry holds, in new parameters of a region's block."""
    given = tuple([Value(kind) for kind in parameters_of(entry)])
    block.parameters += given
    return enter(lowering, entry, iter(given))


def lower_call(
    function: Entry,
    arguments: Sequence[Entry],
    names: Sequence[str],
    span: Span,
    real: Scalar,
    most: int | None = None,
    draws: bool = False,
) -> FrameCall:
    """The region of a call of a function, or of a derivative of one, with arguments of these
    entries, the last of which have `names`, in a run whose floats are `real`. Arrays of few
    elements are one value of the result, as larger ones are. `draws`: whether the function draws
    random numbers.

    Raises NotCompiled; TooLong where that takes more instructions than `most`."""
    block = Block()
    lowering = Lowering(Builder(block, real, most), Liveness(()))
    with lowering.at(span), naming_parameters(lowering.builder, block):
        callee, *given = [given_in(lowering, block, entry) for entry in (function, *arguments)]
        first = len(given) - len(names)
        named = dict(zip(names, given[first:], strict=True))
        if draws:
            seed, drawn = Value(I64), Value(I64)
            block.parameters += (seed, drawn)
            lowering.begin_draws(seed, drawn)
        result = lowering.in_memory(lowering.called(callee, given[:first], named))
        kind = kind_of(result)
        if not is_settled(kind):
            raise NotCompiled("the result of this call isn't made of numbers")
        block.results = (*flat(result), *lowering.values_in(lowering.unassigned))
    return FrameCall(Region("call", block), kind, lowering.regions)


# ---- loops ---------------------------------------------------------------------------------------

HEAD = 2  # the parameters before those of the entries: how many iterations, and where they start
# What a loop goes over: the step of a range; or, in the sequence of the slot `SEQUENCE`, its items,
# ints that are counted from 0, or several of these side by side.
ITEMS, COUNTED = "items", "counted"
Iterated: TypeAlias = int | str | tuple[Any, ...]


class FrameLoop(NamedTuple):
    """A loop in IR.

    region   takes how many iterations to run, the first value of a range (0 for `while`) or the
             first index into a sequence, and the parameters of the entries; gives whether the loop
             ended with one of the iterations, how many it ran, and the values of `changed`
    changed  the slots that iterations assign, each with the kind of what it holds; `RETURNED` has
             what they return, `STOPPED` whether the next iteration isn't compiled, and `DRAWS` how
             many times numbers have been drawn
    regions  those that it may call: functions that call themselves, and their derivatives
    """

    region: Region
    changed: dict[int, Kind]
    regions: Regions


def lower_loop(
    node: program.While | program.For,
    entries: Mapping[int, Entry],
    over: Iterated,
    room: int,
    real: Scalar,
    most: int | None,
    alive: Slots | None,
) -> FrameLoop:
    """The region of a loop in a frame whose slots have these entries, and that goes over `over`.
    Lists to which it appends have `room`. `real` is the type of the run's floats. Of the names that
    the loop assigns, those in `alive` slots are read after it, or all if that is None.

    Raises NotCompiled; TooLong where that takes more instructions than `most`.
    """
    lowering, block = entered(node, entries, room, real, most, alive)
    with lowering.at(node.span), naming_parameters(lowering.builder, block):
        last = node.body[-1] if node.body else node
        names = lowering.surviving(node, lowering.liveness.after(last))
        if stops(node.body):
            names.append(Name(lowering.frame, STOPPED))
            lowering.names.put(names[-1:], [lowering.builder.constant(False)])
        names += [*lowering.unassigned, *[Name(lowering.frame, RETURNED)] * returns(node)]
        loop = frame_loop(lowering, node, names, over)
        kinds = [kind_of(held) for held in lowering.names.of(names)]
        iteration = lowering.iteration(loop, kinds)
        while (wider := settled(loop, kinds, iteration, room)) != kinds:
            kinds, iteration = wider, lowering.iteration(loop, wider)
        ended, ran = add_iterations(lowering, loop, kinds, iteration)
        held = lowering.in_memory(lowering.names.of(names))
        block.results = (ended, ran, *flat(*held))
    found = {name.slot: kind_of(each) for name, each in zip(names, held, strict=True)}
    return FrameLoop(Region("loop", block), found, lowering.regions)


def liveness_of(node: program.While | program.For, alive: Slots | None = None) -> Liveness:
    """The liveness of names in a loop. `alive` as for `lower_loop`."""
    span = node.span
    slots = [slot for slot in assigned([node]) if alive is None or slot.index in alive]
    reads = [program.Evaluate(program.Read(slot, span=span), span=span) for slot in slots]
    return Liveness((node, *reads))


def entered(
    node: program.While | program.For,
    entries: Mapping[int, Entry],
    room: int,
    real: Scalar,
    most: int | None,
    alive: Slots | None = None,
) -> tuple[Lowering, Block]:
    """The lowering of a loop, and the block of its region."""
    block = Block((Value(I64), Value(I64)))
    lowering = Lowering(Builder(block, real, most), liveness_of(node, alive))
    lowering.room = room
    for slot, entry in entries.items():
        held = given_in(lowering, block, entry)
        lowering.names.put([Name(lowering.frame, slot)], [held])
    return lowering, block


def frame_loop(
    lowering: Lowering, node: program.While | program.For, names: list[Name], over: Iterated
) -> Loop:
    """The loop, which carries these names."""
    builder = lowering.builder
    size, first = builder.block.parameters[:HEAD]
    leaves = breaks(node.body) or returns(node) or stops(node.body)
    if isinstance(node, program.While):
        return Loop(node, None, names, leaves, limit=size)
    if isinstance(over, int):
        return Loop(node, Range(first, builder.constant(over), size), names, leaves)
    [sequence] = lowering.names.of([Name(lowering.frame, SEQUENCE)])
    with lowering.at(node.iterable.span):
        read = lowering.from_here(partial(_item, lowering, over, sequence))
    return Loop(node, Items(read, first, size), names, leaves)


def _item(lowering: Lowering, over: Iterated, held: Any, index: Value) -> Any:
    """The item of a sequence at an index."""
    if isinstance(over, tuple):
        pairs = zip(over, held, strict=True)
        return tuple([_item(lowering, each, part, index) for each, part in pairs])
    return index if over == COUNTED else lowering.item_at(held, index)


_WIDER = Word | Table | OrNone | ListOrArray  # kinds that a name may get in a loop


def settled(loop: Loop, kinds: Sequence[Kind], iteration: Iteration, room: int) -> list[Kind]:
    """The kinds of what names hold before or after an iteration. A name without a value may get
    one, or one of `_WIDER` kinds; lists that become longer have `room`."""
    given = [kind_of(held) for held in iteration.given[loop.leaves :]]
    return [_settled(a, b, room) for a, b in zip(kinds, given, strict=True)]


def _settled(before: Kind, after: Kind, room: int = 0) -> Kind:
    if isinstance(after, Maybe) and isinstance(before, Absent):
        return after
    wider = joined(before, after, Unknown("", None), room)
    return wider if isinstance(wider, _WIDER) else before


def _fits(kind: Kind, given: Kind) -> bool:
    """Whether a loop can carry on what is `given`, of a kind: it is of the same kind, or of one
    that is joined to that: some of its words, a list for its table, a value or none."""
    differ = Unknown("", None)
    return given == kind or (isinstance(kind, _WIDER) and joined(kind, given, differ) == kind)


def add_iterations(
    lowering: Lowering, loop: Loop, kinds: list[Kind], iteration: Iteration
) -> tuple[Value, Value]:
    """Adds the loop; returns whether it ended, and the number of iterations that ran."""
    builder, node = lowering.builder, loop.node
    size = builder.block.parameters[0]
    given = [kind_of(held) for held in iteration.given[loop.leaves :]]
    states = [
        plain(k) if n in lowering.states else k for n, k in zip(loop.names, kinds, strict=True)
    ]
    if not all(map(_fits, kinds, given)) or not all(map(_is_carried, states)):
        raise NotCompiled("a name changes its kind in this loop, or is no number")
    going = builder.constant(True) if loop.leaves else None
    own = lowering.add_loop(loop, kinds, iteration, going)
    # A condition has ended the loop where it ran fewer iterations than it was to.
    ran = own[-1] if own else size
    ended = builder.constant(False) if loop.range else builder.apply("lt", [ran, size])
    if loop.leaves:
        ended = builder.operation(WHERE, [own[0], ended, builder.constant(True)])
    if stops(node.body):
        (stopped,) = lowering.names.of([Name(lowering.frame, STOPPED)])
        before = builder.apply("sub", [ran, builder.constant(1)])
        ran = builder.operation(WHERE, [stopped, before, ran])
        ended = builder.operation(WHERE, [stopped, builder.constant(False), ended])
    return ended, ran


def _is_carried(kind: Kind) -> bool:
    return is_settled(kind.held if isinstance(kind, Maybe) else kind)
