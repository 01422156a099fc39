"""A loop of a frame that changes variables, or asks for derivatives of values, as a region.

The interpreter runs the last iteration, so that what it recorded can be asked for after the loop.
So the region gives what that iteration reads of earlier ones, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from ...lang import program
from ...lang.program.walks import own_nodes
from ..ir.instructions import Region, Value
from ..ir.types import Scalar, has_tangents
from ..passes.calls import Regions
from ..passes.derivatives.activity import varied
from .entries import Entry, naming_parameters, parameters_of
from .frames import HEAD, Iterated, add_iterations, entered, frame_loop, liveness_of, settled
from .held.branching import Scope
from .held.flow import assigned, breaks, returns, stops
from .held.kinds import Kind, Known, flat, fresh, kind_of, plain, without_variable
from .held.names import DRAWS, STOPPED, Name, Variable
from .loops.loop import Iteration, Loop
from .statements import Lowering

FLAGS = 3  # the results before those of names


class VariableLoop(NamedTuple):
    """A loop in IR.

    region   takes how many iterations to run, the first value of a range (0 for `while`) or the
             first index into a sequence, and the parameters of the entries; gives whether the loop
             ended with one of the iterations, how many it ran, whether the next one isn't compiled,
             and the values of `states` and `changed`; where the loop may end, these follow once
             more, as they were before the last iteration
    states   the variables that change, by their numbers, each with the kind of its state
    changed  the slots that an iteration assigns for later ones, each with the kind of what it holds
    moving   the positions of the results that depend on variables, and can be asked for
    regions  those that it may call: functions that call themselves, and their derivatives
    """

    region: Region
    states: dict[int, Kind]
    changed: dict[int, Kind]
    moving: list[int]
    regions: Regions


def may_end(node: program.While | program.For) -> bool:
    """Whether a loop may end before all iterations of its range."""
    leaves = breaks(node.body) or returns(node) or stops(node.body)
    return leaves or isinstance(node, program.While)


def slots_into(node: program.While | program.For, slots: Iterable[program.Slot]) -> set[int]:
    """The slots that an iteration may read, or leave unchanged."""
    changed = {slot.index: slot.cell for slot in assigned([node])}
    condition, body = liveness_of(node).into(node)
    read = condition | body
    return {s.index for s in slots if changed.get(s.index, True) or s.index in read}


def lower_variable_loop(
    node: program.While | program.For,
    entries: Mapping[int, Entry],
    over: Iterated,
    traced: frozenset[int],
    room: int,
    once: bool,
    real: Scalar,
    most: int | None,
    assumes: bool = True,
) -> VariableLoop:
    """The region of a loop in a frame whose slots, those in `slots_into`, have these entries.
    `over`, `room` and `real` are as for `lower_loop`.

    traced   positions of parameters that depend on variables, besides the states of variables
    once     whether no derivative that the loop asks for is differentiated again
    assumes  whether to assume at first that names which depend on no variable before the loop never
             will

    Raises NotCompiled; TooLong where that takes more instructions than `most`.
    """
    slots = {slot.index: slot for slot in assigned([node]) if slot.index in entries}
    lowering, block = entered(node, entries, room, real, most)
    parameters = block.parameters[HEAD:]
    moving = [parameters[k] for k in sorted(traced)]
    lowering.once, outer = once, lowering.scopes[0]
    lowering.scopes[0] = Scope(outer.path, outer.began, moving)
    _, read = lowering.liveness.into(node)
    names = [Name(lowering.frame, slot) for slot in (*slots, *[DRAWS] * (DRAWS in entries))]
    with lowering.at(node.span), naming_parameters(lowering.builder, block):
        stopped = Name(lowering.frame, STOPPED)
        lowering.names.put([stopped], [lowering.builder.constant(False)])
        loop = frame_loop(lowering, node, [*names, *[stopped] * stops(node.body)], over)
        if assumes:
            untraced = _untraced(entries, traced)
            loop = loop._replace(independent=frozenset([n for n in names if n.slot in untraced]))
        loop, kinds, iteration = _with_states(lowering, loop)
        states = [name for name in loop.names if name not in (*names, stopped)]
        names = [*states, *[name for name in names if name in loop.names]]
        if may_end(node):
            loop, kinds, iteration = _remembering(lowering, names, loop, kinds, iteration)
        ended, ran = add_iterations(lowering, loop, kinds, iteration)
        others = [name for name in loop.names if name != stopped]
        held = lowering.in_memory(lowering.names.of((stopped, *others)))
        block.results = (ended, ran, *flat(*held))
    moving += [
        value
        for variable in lowering.given_variables
        if variable.trainable
        for value in flat(outer.began[variable.state])
    ]
    depends = varied(block, moving)
    pairs = zip(loop.names, iteration.carried, strict=True)
    if any(n in loop.independent and not depends.isdisjoint(flat(each)) for n, each in pairs):
        return lower_variable_loop(node, entries, over, traced, room, once, real, most, False)
    held, kinds = held[1:], [kind_of(each) for each in held[1:]]
    numbers = {variable.state: k for k, variable in enumerate(lowering.given_variables)}
    return VariableLoop(
        Region("loop", block),
        {numbers[name]: kind for name, kind in zip(states, kinds, strict=False)},
        {n.slot: kind for n, kind in zip(names, kinds, strict=False) if n not in numbers},
        [
            place
            for place, (name, value) in enumerate(_named(names, held), FLAGS)
            if name not in numbers and value in depends and has_tangents(value.type)
            if name.slot in read or slots[name.slot].cell
        ],
        lowering.regions,
    )


def _named(names: Sequence[Name], held: Sequence[object]) -> Iterator[tuple[Name, Value]]:
    """The values that names hold, each with its name. `held` has them once, or twice."""
    for name, each in zip(cycle(names), held, strict=False):
        for value in flat(each):
            yield name, value


def _untraced(entries: Mapping[int, Entry], traced: frozenset[int]) -> set[int]:
    """The slots that are known to hold nothing that depends on variables."""
    found, first = set(), 0
    for slot, entry in entries.items():
        count = len(parameters_of(entry))
        if count and traced.isdisjoint(range(first, first + count)):
            found.add(slot)
        first += count
    return found


def _updated_by_name(lowering: Lowering, node: program.While | program.For) -> list[Name]:
    """The states of the variables that a loop updates by their names."""
    denoted = [n.variable for n in own_nodes([node]) if isinstance(n, program.Update)]
    whole = [each.object if isinstance(each, program.Index) else each for each in denoted]
    slots = [each.slot.index for each in whole if isinstance(each, program.Read)]
    held = lowering.names.of([Name(lowering.frame, slot) for slot in slots])
    return list(dict.fromkeys([each.state for each in held if isinstance(each, Variable)]))


Lowered = tuple[Loop, list[Kind], Iteration]


def _with_states(lowering: Lowering, loop: Loop) -> Lowered:
    """The loop, which also carries the states that an iteration changes; the kinds that it carries;
    and an iteration."""
    states = _updated_by_name(lowering, loop.node)
    loop = loop._replace(names=[*states, *loop.names])
    while True:
        size, kinds = lowering.size, [kind_of(held) for held in lowering.names.of(loop.names)]
        iteration = lowering.iteration(loop, kinds)
        states = [v.state for v in lowering.given_variables if v.state in lowering.updated]
        if set(states) <= set(loop.names):
            break
        others = [name for name in loop.names if name not in states]
        loop, lowering.size = loop._replace(names=[*states, *others]), size
    while (wider := settled(loop, kinds, iteration, lowering.room)) != kinds:
        kinds, iteration = wider, lowering.iteration(loop, wider)
    return _without_known(loop, kinds, iteration)


def _without_known(loop: Loop, kinds: list[Kind], iteration: Iteration) -> Lowered:
    """The same, without names that always hold the same variable, or anything else that is
    known."""
    given = iteration.given[loop.leaves :]
    places = [
        k
        for k, (before, after) in enumerate(zip(kinds, given, strict=True))
        if not isinstance(before, Known) or kind_of(after) != before
    ]
    iteration = iteration._replace(
        carried=[iteration.carried[k] for k in places],
        given=(*iteration.given[: loop.leaves], *[given[k] for k in places]),
    )
    loop = loop._replace(names=[loop.names[k] for k in places])
    return loop, [kinds[k] for k in places], iteration


def _remembering(
    lowering: Lowering, names: Sequence[Name], loop: Loop, kinds: list[Kind], iteration: Iteration
) -> Lowered:
    """The loop, which also carries what names held before the last iteration."""
    held = [without_variable(each) for each in lowering.names.of(names)]
    before = [plain(kind) for kind in kinds[: len(names)]]
    given = [without_variable(each) for each in iteration.carried[: len(names)]]
    loop = loop._replace(names=[*loop.names, *map(lowering.names.hidden, held)])
    iteration = iteration._replace(
        carried=[*iteration.carried, *map(fresh, before)], given=(*iteration.given, *given)
    )
    return loop, [*kinds, *before], iteration
