"""Loops in IR.

What a loop carries from one iteration to the next has one kind. Where an iteration makes a float of
an int, the first iteration is lowered before the loop, so that the loop carries a float. A loop
that can be left early carries whether it goes on; what it returns is carried as a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ....lang import program
from ....lang.program.liveness import Liveness
from ...ir.builder import Builder
from ...ir.instructions import Block, Check, For, Value, While
from ...ir.types import BOOL, I64, Scalar, is_float
from ..held.flow import appends, breaks, returns
from ..held.kinds import Kind, ListOrArray, Mixed, OrNone, Record, flat, fresh, kind_of
from ..held.meeting import as_kind, joined
from ..held.names import (
    RETURNED,
    STOPPED,
    Absent,
    Fails,
    Name,
    NotCompiled,
    Picks,
    Unknown,
    UnknownInt,
    Unresolved,
)
from ..held.ranges import Over, Range
from .growing import GrowingLists, Grown
from .loop import Iteration, Loop

# Iterations of a loop that counts the indices of few elements, at most, for it to be lowered
# iteration by iteration: then the indices are known.
MOST_TURNS = 16
MAX_UNROLLED = 64  # iterations of any loop that is lowered iteration by iteration, at most

End = Literal["fall", "return", "break", "continue", "stop"]
# Completes a path, from how it ends and what it returns.
Finish = Callable[[End, Any], Any]


class Loops(GrowingLists):
    """The lowering of loops."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.one_by_one: set[int] = set()  # loops that are lowered iteration by iteration
        self.makes_tables: set[int] = set()  # those whose lists become tables
        self.stays_loop: set[int] = set()  # those whose iterations would be too much code

    def all_paths(self, statements: Sequence[Any], finish: Finish) -> Any:
        raise NotImplementedError

    def bind(self, target: Any, value: Any) -> None:
        raise NotImplementedError

    def loop(
        self, node: program.While | program.For, over: Over | None, short: bool = False
    ) -> None:
        names = self.carried(node)
        held = self.names.of(names)
        self.names.put(names, [self.copy(each, self.names.held) for each in held])
        leaves = breaks(node.body) or returns(node)
        going = self.builder.constant(True) if leaves else None
        loop = Loop(node, over, names, leaves, short)
        if isinstance(node, program.While) and self.draws_in_condition(node, names):
            going = self.condition(node.condition)
            loop = loop._replace(leaves=True, last_condition=node.condition)
        grown = [] if over is None else self.growing(loop, over.size)
        self.repeat(loop, going)
        self.settle(grown)
        self.forget_others(node, names)

    def draws_in_condition(self, node: program.While, names: list[Name]) -> bool:
        """Whether the condition of a loop that carries these names draws random numbers."""
        if self.draws not in self.names.held:
            return False
        with self.trial():
            self.names.put(names, [fresh(kind_of(held)) for held in self.names.of(names)])
            began = self.names.of([self.draws])
            self.condition(node.condition)
            return self.names.of([self.draws]) != began
        return False

    def growing(self, loop: Loop, turns: Value) -> list[Grown]:
        """The lists that become longer in each iteration of a loop that can't be left; if the loop
        is short and its iterations aren't too much code, those of many floats. Where nothing tells
        how long, they are tables instead."""
        if loop.leaves or not appends(loop.node):
            return []
        if self.room and self.most_of(turns) is None and not self.can_be_known(turns):
            return []
        size, kinds = self.size, list(map(kind_of, self.names.of(loop.names)))
        given = _given(loop, self.iteration(loop, kinds))
        self.size = size
        is_large = self.puts_lists_in_memory and id(loop.node) in self.stays_loop
        return self.grow(loop.names, given, turns, loop.short, is_large)

    def carried(self, node: program.While | program.For) -> list[Name]:
        """The names that an iteration assigns and that a later one, or code after the loop,
        reads."""
        names = self.surviving(node, self.liveness.after(node.body[-1] if node.body else node))
        return [*names, *self.unassigned, *[Name(self.frame, RETURNED)] * returns(node)]

    def repeat(self, loop: Loop, going: Value | None) -> None:
        """Adds a loop. `going`: whether the loop hasn't been left yet."""
        before = self.names.of(loop.names)
        kinds, size = [kind_of(held) for held in before], self.size
        iteration = self.iteration(loop, kinds)
        settled = _given(loop, iteration)
        changes = set(map(_change, kinds, settled)) - {""}
        if changes and not loop.peeled and self.settles(loop, settled):
            self.size = size
            self.peel(loop, going, surely="kind" in changes)
            return
        while (wider := self.widened(loop, kinds, iteration)) != kinds:
            if loop.short and sum(map(_is_unknown, wider)) > sum(map(_is_unknown, kinds)):
                raise NotCompiled("a name changes its kind in this loop")
            if loop.names[-1].slot == RETURNED and wider[:-1] == kinds[:-1]:
                iteration.carried[-1] = fresh(wider[-1])  # which no iteration reads
            else:
                self.size = size  # what is lowered again counts once
                iteration = self.iteration(loop, wider)
            kinds = wider
        self.add_loop(loop, kinds, iteration, going)

    def settles(self, loop: Loop, kinds: list[Kind]) -> bool:
        """Whether an iteration that gets these kinds carries on the same ones."""
        try:
            with self.attempt():
                return _given(loop, self.iteration(loop, kinds)) == kinds
        except (Picks, UnknownInt):
            raise
        except NotCompiled:  # of fewer items, for example
            return False

    def widened(self, loop: Loop, kinds: list[Kind], iteration: Iteration) -> list[Kind]:
        """The kinds that fit both before and after an iteration."""
        differ = Unknown("a name changes its kind in this loop", self.builder.span)
        given = _given(loop, iteration)
        pairs = zip(kinds, given, strict=True)
        return [joined(a, b, differ, self.room) for a, b in pairs]

    def iteration(self, loop: Loop, kinds: list[Kind]) -> Iteration:
        """Lowers an iteration that gets these kinds."""
        before, index, carried = dict(self.names.held), Value(I64), [fresh(kind) for kind in kinds]
        nodes = self.one_by_one_for(loop)
        began = zip(loop.names, carried, self.names.of(loop.names), strict=True)
        known = self.builder.known
        ints = [v for n, v, a in began if n != self.draws and type(known.get(a)) is int]
        self.counters.update(dict.fromkeys([index, *ints], nodes))
        if loop.range is not None and (bounds := self.builder.bounds_of(loop.range.size)):
            self.builder.bounds[index] = 0, max(bounds[1] - 1, 0)
        self.names.put(loop.names, carried)
        pairs = zip(loop.names, carried, strict=True)
        moving = [held for name, held in pairs if name not in loop.independent]
        with self.scope(Block(), list(flat(*moving))) as block:
            try:
                given = self.turn(loop, index)
            except (Fails, Unresolved) as reason:  # as if there were no iteration
                if isinstance(reason, Fails):
                    self.builder.add(Check(self.builder.constant(False)))
                elif loop.range is not None and (known.get(loop.range.size) or 0) > 0:
                    raise  # there is one
                given = (*[self.builder.constant(True)] * loop.leaves, *carried)
        self.names.held = before
        return Iteration(block, index, carried, given)

    def one_by_one_for(self, loop: Loop) -> frozenset[int] | None:
        """The loops, by identity, to lower iteration by iteration so that the ints that this one
        counts are known; None if they can't be."""
        if id(loop.node) in self.stays_loop:
            return None
        fits = loop.range is None and loop.limit is None
        if isinstance(loop.range, Range):
            numbers = loop.range.numbers(self.builder)
            if numbers is None:
                return self.counting(loop.range.size)
            if len(numbers) > MAX_UNROLLED:
                return None
            is_short = loop.short or isinstance(loop.node, program.While)
            fits = is_short and len(numbers) <= MOST_TURNS
        return frozenset([id(loop.node)] * fits)

    def turn(self, loop: Loop, index: Value) -> tuple[Any, ...]:
        """Lowers the body of a loop, at an index."""
        self.names.held.pop(Name(self.frame, RETURNED), None)
        began = self.names.of(loop.names)
        if loop.range is not None:
            item = loop.range.at(self.builder, index)
            if isinstance(loop.range, Range) and loop.range.is_natural(self.builder):
                self.naturals.add(item)
            self.bind(loop.target, item)
        given: tuple[Any, ...] = self.all_paths(loop.node.body, self.end_of_turn(loop, began))
        return given

    def end_of_turn(self, loop: Loop, began: tuple[Any, ...]) -> Finish:
        """What an iteration returns: whether the loop goes on, if it can be left, and what the
        names hold. An iteration that isn't compiled returns what it began with."""

        def finish(end: End, value: Any) -> Any:
            if end == "stop":
                stopped = Name(self.frame, STOPPED)
                if stopped not in loop.names:
                    raise value
                self.names.put(loop.names, began)
                self.names.held[stopped] = self.builder.constant(True)
            if end == "return":
                self.names.held[Name(self.frame, RETURNED)] = value
            goes_on = end in ("fall", "continue")
            flag = [self.builder.constant(goes_on)] if loop.leaves else []
            if loop.last_condition is not None and goes_on:
                flag = [self.condition(loop.last_condition)]
            return (*flag, *self.names.of(loop.names))

        return finish

    def peel(self, loop: Loop, going: Value | None, surely: bool) -> None:
        """Adds the first iteration, if there is one, and a loop of the others. `surely`: steps back
        if there is none."""

        def first_and_others() -> None:
            given = self.turn(loop, self.builder.constant(0))
            others = loop.range and loop.range.rest(self.builder)
            self.names.put(loop.names, given[loop.leaves :])
            rest = loop._replace(range=others, peeled=True)
            self.repeat(rest, given[0] if loop.leaves else None)

        begins = self.goes_on(loop, going, self.builder.constant(0))
        if surely:
            self.builder.add(Check(begins))
            begins = self.builder.constant(True)
        self.either(begins, first_and_others, lambda: None, loop.names)

    def goes_on(self, loop: Loop, going: Value | None, index: Value) -> Value:
        """Whether there is an iteration at an index: the loop hasn't been left, is within its
        limit, and its range or condition has the iteration."""
        node = loop.node

        def has_next() -> Value:
            if loop.range is not None:
                return self.builder.apply("lt", [index, loop.range.size])
            if loop.last_condition is not None:
                return self.builder.constant(True)
            assert isinstance(node, program.While)
            return self.condition(node.condition)

        def within() -> Value:
            if loop.limit is None:
                return has_next()
            return self.both(self.builder.apply("lt", [index, loop.limit]), has_next)

        return within() if going is None else self.both(going, within)

    def add_loop(
        self, loop: Loop, kinds: list[Kind], iteration: Iteration, going: Value | None
    ) -> tuple[Value, ...]:
        """Adds a loop of these iterations. Returns what it carries besides the names: whether it
        goes on, if it can be left, and the number of iterations, if that is counted."""
        carried = self.names.of(loop.names)
        initial = [as_kind(self.builder, *pair) for pair in zip(carried, kinds, strict=True)]
        block, given = iteration.block, iteration.given
        with self.builder.inside(block):
            on = zip(given[loop.leaves :], kinds, strict=True)
            block.results = tuple([v for pair in on for v in flat(as_kind(self.builder, *pair))])
        results = [fresh(kind) for kind in kinds]
        after = tuple(flat(*results))
        own: tuple[Value, ...] = ()
        if loop.range is None or loop.leaves:
            own = self.add_while(loop, iteration, kinds, tuple(flat(*initial)), after, going)
        else:
            block.parameters = (iteration.number, *flat(*iteration.carried))
            self.builder.add(For(loop.range.size, tuple(flat(*initial)), block, after))
        same = self.unchanged(loop, iteration)
        pairs = zip(loop.names, carried, results, strict=True)
        self.names.put(loop.names, [a if name in same else b for name, a, b in pairs])
        return own

    def unchanged(self, loop: Loop, iteration: Iteration) -> set[Name]:
        """The names that can change without an assignment, but that no iteration changes."""
        given, unassigned = iteration.given[loop.leaves :], self.unassigned
        pairs = zip(loop.names, iteration.carried, given, strict=True)
        return {name for name, a, b in pairs if name in unassigned and [*flat(a)] == [*flat(b)]}

    def add_while(
        self,
        loop: Loop,
        iteration: Iteration,
        kinds: list[Kind],
        initial: tuple[Value, ...],
        after: tuple[Value, ...],
        going: Value | None,
    ) -> tuple[Value, ...]:
        """Adds a loop with a condition. Before the names, it carries whether it hasn't been left,
        and the index where it counts."""
        flags = [Value(BOOL)] if going is not None else []
        indices = [iteration.number] if loop.counts else []
        body, builder = iteration.block, self.builder
        body.parameters = (*flags, *indices, *flat(*iteration.carried))
        with builder.inside(body):
            one = builder.constant(1) if indices else None
            stepped = [builder.apply("add", [index, one]) for index in indices]  # type: ignore[list-item]
        body.results = (*iteration.given[: loop.leaves], *stepped, *body.results)
        before = dict(self.names.held)
        with builder.inside(Block()) as condition:
            index, held = Value(I64), [fresh(kind) for kind in kinds]
            flag = Value(BOOL) if flags else None
            condition.parameters = (*_some(flag), *([index] if indices else []), *flat(*held))
            self.names.put(loop.names, held)
            states = self.values_in(self.unassigned)
            condition.results = (self.goes_on(loop, flag, index),)
            if self.values_in(self.unassigned) != states:
                raise NotCompiled("a condition that draws or updates is not compiled")
        self.names.held = before
        first = (*_some(going), *[builder.constant(0) for _ in indices])
        own = tuple([Value(v.type) for v in first])
        builder.add(While((*first, *initial), condition, body, (*own, *after)))
        return own


def _given(loop: Loop, iteration: Iteration) -> list[Kind]:
    """The kinds of what an iteration carries on."""
    return [kind_of(held) for held in iteration.given[loop.leaves :]]


def _is_unknown(kind: Kind) -> bool:
    return isinstance(kind, Unknown)


def _change(before: Kind, after: Kind) -> Literal["", "float", "kind"]:
    """How an iteration changes a kind so that the next one may keep it: from int to float, or to
    another kind, as from a list to an array."""
    if before == after or isinstance(before, Absent | Unknown) or isinstance(after, Unknown):
        return ""
    differ = Unknown("", None)
    both = joined(before, after, differ)
    is_new = isinstance(both, OrNone | ListOrArray) and both not in (before, after)
    if both is differ or is_new:
        return "kind"
    if isinstance(before, Record) and isinstance(after, Record):
        before, after = before.items, after.items
    if isinstance(before, tuple) and isinstance(after, tuple):
        changes = set(map(_change, before, after))
        return "kind" if "kind" in changes else "float" if "float" in changes else ""
    is_int = before == I64 or isinstance(before, Mixed)
    return "float" if is_int and isinstance(after, Scalar) and is_float(after) else ""


def _some(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)
