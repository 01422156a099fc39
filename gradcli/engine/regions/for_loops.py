"""Loops over ints and lists in IR: as loops, or iteration by iteration.

The iterations of a loop over few items are lowered one by one where they need what each of them is:
an index into a list whose items are of different kinds, or one that picks one of few elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ..ir.instructions import Block, Value, size_of
from .flow import breaks, returns
from .kinds import Stored
from .loops import Loop, Loops
from .names import NotCompiled, Picks, UnknownInt
from .ranges import Ints, Items, Over, Range

MAX_UNROLLED = 64  # items of a list that a loop goes over
# Instructions of the iterations of a loop that counts the indices of few elements.
MOST_INSTRUCTIONS = 1024


class ForLoops(Loops):
    """The lowering of `for`."""

    def for_loop(self, node: program.For) -> None:
        iterable = node.iterable
        held = self.value(self.expression(iterable))
        if isinstance(held, Stored):
            self.loop_or_each(node, self.items(held, iterable.span), held.shape[0], lambda: held)
        elif isinstance(held, Ints):
            self.over_ints(node, held.range)
        else:
            self.unrolled(node, held)

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
        """A loop over so many items. Where it isn't compiled as a loop, few are taken one by one;
        and where it picks one of few elements, as far as that isn't too much code."""
        if size > MAX_UNROLLED:
            self.loop(node, over)
            return
        before, copied = dict(self.names.held), set(self.copied)
        try:
            if id(node) not in self.one_by_one:
                with self.builder.undoing(NotCompiled):
                    self.loop(node, over, short=isinstance(over, Range))
                return
        except Picks as reason:
            self.names.held, self.copied = before, copied
            if id(node) not in reason.nodes:
                raise
            if not self.is_unrolled(node, items()):
                self.too_large.add(id(node))
                self.loop_or_each(node, over, size, items)
            return
        except NotCompiled:  # an index that has to be known, or lists of other lengths
            self.names.held, self.copied = before, copied
            self.one_by_one.add(id(node))
        self.unrolled(node, items())

    def is_unrolled(self, node: program.For, items: Any) -> bool:
        """Whether a loop over a list is lowered one iteration after another. If that is too much
        code, nothing is."""
        before, copied = dict(self.names.held), set(self.copied)
        try:
            with self.builder.undoing(NotCompiled):
                self.unrolled(node, items, MOST_INSTRUCTIONS)
        except Picks:
            raise
        except NotCompiled:
            self.names.held, self.copied = before, copied
            return False
        return True

    def loop_or_unrolled(self, node: program.For, over: Range) -> None:
        """A loop over ints that aren't known. Where it isn't compiled as a loop, its iterations may
        be lowered one by one once their number is known, for which the region is specialised."""
        try:
            self.loop(node, over)
        except (UnknownInt, Picks):
            raise
        except NotCompiled as reason:
            if over.size in self.builder.known:
                raise
            raise UnknownInt(reason.span, over.size, reason.reason) from None

    def items(self, held: Stored, span: Span) -> Items:
        """The elements or rows of an array."""
        constant = self.builder.constant
        read = lambda index: self.stored_part(held, [index], span)  # noqa: E731
        return Items(read, constant(0), constant(held.shape[0]))

    def unrolled(self, node: program.For, items: Any, most: int | None = None) -> None:
        """A loop over a list: one iteration after another, of `most` instructions together."""
        items = self.rows(items, node.iterable.span)
        if len(items) > MAX_UNROLLED:
            raise NotCompiled("a loop over a long list is not compiled", node.span)
        loop = Loop(node, None, self.carried(node), breaks(node.body) or returns(node))
        going = self.builder.constant(True)
        first = len(self.builder.block.instructions)
        for item in items:
            added = self.builder.block.instructions[first:]
            if most is not None and size_of(Block((), added)) > most:
                raise NotCompiled("iterations of this loop are too many instructions", node.span)
            given = self.one_of_list(loop, item, going)
            self.names.put(loop.names, given[loop.leaves :])
            going = given[0] if loop.leaves else going
        self.forget_others(node, loop.names)

    def one_of_list(self, loop: Loop, item: Any, going: Value) -> Any:
        """An iteration for one item of a list, unless the loop has been left."""
        node = loop.node
        self.count(node.span)

        def turn() -> Any:
            self.bind(node.target, item)  # type: ignore[union-attr]
            began = self.names.of(loop.names)
            return self.path(node.body, self.end_of_turn(loop, began))

        left = (*[self.builder.constant(False)] * loop.leaves, *self.names.of(loop.names))
        return self.either(going, turn, lambda: left, node.span)
