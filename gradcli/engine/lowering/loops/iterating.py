"""Loops over ints and lists in IR: as loops, or iteration by iteration.

The iterations of a loop over few items are lowered one by one where something must be known that
differs between them: an index into a list whose items are of different kinds, or one that picks one
of few elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....lang import program
from ...ir.instructions import Block, Constant, Value, every
from ...ir.types import I64
from ..held.columns import ROOM, ROOM_ON_ROWS
from ..held.counters import counter_of
from ..held.flow import appends, breaks, returns
from ..held.kinds import FEW, Stored, Table
from ..held.names import Name, NotCompiled, Picks, UnknownInt
from ..held.ranges import Ints, Items, Over, Range, Zipped, difference
from .carried import MAX_UNROLLED, MOST_TURNS, Loops
from .loop import Loop

# Instructions of all iterations of a loop together, at most, where it could be a loop if lists are
# in memory, or indices of few elements aren't known.
MOST_INSTRUCTIONS = 1024


class Iterating(Loops):
    """The lowering of `for` and `while`, as loops or iteration by iteration.

    for_rows  whether the region is for rows
    """

    for_rows = False

    def while_loop(self, node: program.While) -> None:
        self.with_tables(node, lambda: self.any_while(node))

    def any_while(self, node: program.While) -> None:
        """A `while`. Where it isn't compiled as a loop, such as one whose lists become shorter, and
        its conditions are known, its iterations are lowered one by one."""
        if self.never_begins(node):
            self.condition(node.condition)
            return
        over = self.over_counter(node)
        size = self.size

        def by_turns() -> None:
            self.unrolled_while(node)

        try:
            with self.attempt():
                self.loop_or_turns(node, lambda: self.loop(node, over), by_turns)
        except Picks:
            raise
        except NotCompiled:
            self.size = size  # what is lowered again counts once
            if not self.lowers(by_turns):
                raise

    def over_counter(self, node: program.While) -> Range | None:
        """The ints of the counter of a loop, if it has one."""
        counter, builder = counter_of(node), self.builder
        if counter is None:
            return None
        first = self.names.held.get(Name(self.frame, counter.target.slot.index))
        bound = self.value(self.expression(counter.bound))
        if not (isinstance(first, Value) and first.type == I64):
            return None
        if not (isinstance(bound, Value) and bound.type == I64):
            return None
        one, is_up = builder.constant(1), counter.step > 0
        size = difference(builder, bound, first) if is_up else difference(builder, first, bound)
        if counter.included:
            size = builder.apply("add", [size, one])
        return Range(first, builder.constant(counter.step), size)

    def never_begins(self, node: program.While) -> bool:
        """Whether the condition of a loop is known not to hold at first. Then its body, which may
        be about more items than there are, isn't lowered."""
        with self.trial():
            return self.builder.known.get(self.condition(node.condition)) is False
        return False

    def for_loop(self, node: program.For) -> None:
        self.with_tables(node, lambda: self.any_for(node))

    def with_tables(self, node: program.While | program.For, lower: Callable[[], None]) -> None:
        """Lowers a loop. Where that isn't compiled, and it appends to lists, those of different
        lengths become tables."""
        if not appends(node):
            lower()
            return
        self.put_in_items(node)
        outer, self.room = self.room, 0
        try:
            if id(node) not in self.makes_tables:
                one_by_one, size = set(self.one_by_one), self.size
                try:
                    with self.attempt():
                        lower()
                    return
                except Picks:
                    raise
                except NotCompiled as reason:
                    if isinstance(reason, UnknownInt) and self.can_be_known(reason.value):
                        raise
                    self.makes_tables.add(id(node))
                    # With tables, it may be a loop after all.
                    self.one_by_one, self.size = one_by_one, size
            self.room = outer or (ROOM_ON_ROWS if self.for_rows else ROOM)
            lower()
        finally:
            self.room = outer

    def put_in_items(self, node: program.While | program.For) -> None:
        """Gives the names that a loop assigns short lists as their items, which may become more."""
        names = self.carried(node)
        self.names.put(names, [self.in_items(held) for held in self.names.of(names)])

    def any_for(self, node: program.For) -> None:
        with self.at(node.iterable.span):
            held = self.items_of(self.value(self.expression(node.iterable)))
        held = self.as_table(self.sequence(held))
        if isinstance(held, Stored):
            self.loop_or_each(node, self.items(node, held), held.shape[0], lambda: held)
        elif isinstance(held, Ints):
            self.over_ints(node, held.range)
        elif isinstance(held, Zipped | Table):
            over = self.items(node, held)
            size = self.builder.known.get(over.size)
            if size is None:
                self.loop(node, over)
            else:
                self.loop_or_each(node, over, size, lambda: held)
        else:
            self.over_list(node, held)

    def over_list(self, node: program.For, held: Any) -> None:
        """A loop over a list of few items, which is unrolled. If that is much code, the items are
        put in a table."""
        if id(node) not in self.stays_loop:
            if self.lowers(lambda: self.unrolled(node, held, MOST_INSTRUCTIONS)):
                return
            self.stays_loop.add(id(node))
        if not self.lowers(lambda: self.over_table(node, self.as_table(held, FEW))):
            self.unrolled(node, held)

    def over_table(self, node: program.For, held: Any) -> None:
        """A loop over a list in memory."""
        if type(held) is tuple:
            raise NotCompiled("this list is not in memory")
        self.loop(node, self.items(node, held))

    def over_ints(self, node: program.For, over: Range) -> None:
        numbers = over.numbers(self.builder)
        if numbers is None:
            self.loop_or_unrolled(node, over)
            return
        constant = self.builder.constant
        self.loop_or_each(node, over, len(numbers), lambda: tuple(map(constant, numbers)))

    def loop_or_each(
        self, node: program.For, over: Over, size: int, items: Callable[[], Any]
    ) -> None:
        """A loop over `size` items. Where it isn't compiled as a loop, and they are few, it is
        unrolled. If that is much code, the lists to which it appends are put in memory."""
        if size > MAX_UNROLLED:
            self.loop(node, over)
            return

        def as_loop() -> None:
            self.loop_or_turns(
                node,
                lambda: self.loop(node, over, short=isinstance(over, Range)),
                lambda: self.unrolled(node, items(), MOST_INSTRUCTIONS),
            )

        if id(node) not in self.one_by_one:
            if self.lowers(as_loop):
                return
            # An index that has to be known, or lists of other lengths.
            self.one_by_one.add(id(node))
        if self.puts_lists_in_memory:
            if id(node) not in self.stays_loop:
                if self.lowers(lambda: self.unrolled(node, items(), MOST_INSTRUCTIONS)):
                    return
                self.stays_loop.add(id(node))
            if self.lowers(as_loop):
                return
            if appends(node) and not self.room:
                raise NotCompiled("lists of several lengths are tables where this is much code")
        self.unrolled(node, items())

    def lowers(self, lower: Callable[[], None]) -> bool:
        """Lowers something, if that is compiled. Returns whether it is."""
        size = self.size
        try:
            with self.attempt():
                lower()
            return True
        except Picks:
            raise
        except NotCompiled:
            self.size = size  # what is lowered again counts once
            return False

    def loop_or_turns(
        self,
        node: program.While | program.For,
        as_loop: Callable[[], None],
        by_turns: Callable[[], None],
    ) -> None:
        """A loop. Where it counts an index that picks one of few elements, it is lowered iteration
        by iteration, unless that is too much code or their number isn't known."""
        try:
            with self.attempt():
                as_loop()
            return
        except Picks as reason:
            if id(node) not in reason.nodes:
                raise
        if not self.lowers(by_turns):
            self.stays_loop.add(id(node))
            as_loop()

    def loop_or_unrolled(self, node: program.For, over: Range) -> None:
        """A loop over ints that aren't known. Where it isn't compiled as a loop, the region may be
        specialised on the number of iterations, which are then lowered one by one."""
        try:
            self.loop(node, over)
        except (UnknownInt, Picks):
            raise
        except NotCompiled as reason:
            if over.size in self.builder.known:
                raise
            raise UnknownInt(over.size, reason.reason, reason.span) from None

    def items(self, node: program.For, held: Stored | Zipped | Table) -> Items:
        """The elements or rows of an array, or of several sequences side by side."""
        with self.at(node.iterable.span):
            read = self.from_here(partial(self.item_at, held))
            return Items(read, self.builder.constant(0), self.count_of(held))

    def unrolled(self, node: program.For, items: Any, most: int | None = None) -> None:
        """A loop over a list, one iteration after another, of at most `most` instructions
        together."""
        with self.at(node.iterable.span):
            items = self.rows(items)
        if len(items) > MAX_UNROLLED:
            raise NotCompiled("a loop over a long list is not compiled")
        loop = Loop(node, None, self.carried(node), breaks(node.body) or returns(node))
        going, first = self.builder.constant(True), len(self.builder.block.instructions)
        for item in items:
            going = self.next_turn(loop, going, partial(self.bind, node.target, item))
            self.verify_size(first, most)
        self.forget_others(node, loop.names)

    def unrolled_while(self, node: program.While) -> None:
        """A loop whose conditions are known, up to errors: one iteration after another."""
        loop = Loop(node, None, self.carried(node), breaks(node.body) or returns(node))
        going, first = self.builder.constant(True), len(self.builder.block.instructions)
        for _ in range(MOST_TURNS + 1):
            asked = self.both(going, lambda: self.condition(node.condition))
            goes_on = self.builder.known.get(asked)
            if goes_on is None:
                self.verify_not_counted(asked)
                raise NotCompiled("the number of iterations of this loop isn't known")
            if not goes_on:
                self.forget_others(node, loop.names)
                return
            going = self.next_turn(loop, going, lambda: None)
            self.verify_size(first, MOST_INSTRUCTIONS)
        raise NotCompiled("this loop has many iterations")

    def verify_size(self, first: int, most: int | None) -> None:
        """Raises NotCompiled if there are more than `most` instructions from the position `first`
        on, beside constants, which are computed once."""
        if most is not None:
            added = every(Block((), self.builder.block.instructions[first:]))
            if sum([not isinstance(made, Constant) for made in added]) > most:
                raise NotCompiled("the iterations of this loop have too many instructions")

    def next_turn(self, loop: Loop, going: Value, begin: Callable[[], None]) -> Value:
        """One more iteration, unless the loop has been left. Returns whether the loop goes on."""
        node = loop.node
        self.count()

        def turn() -> Any:
            begin()
            began = self.names.of(loop.names)
            return self.all_paths(node.body, self.end_of_turn(loop, began))

        left = (*[self.builder.constant(False)] * loop.leaves, *self.names.of(loop.names))
        given = self.either(going, turn, lambda: left)
        self.names.put(loop.names, given[loop.leaves :])
        return given[0] if loop.leaves else going
