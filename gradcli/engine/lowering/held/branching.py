"""The state of lowering, and branches: how the values that names hold are merged where two paths
meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ....diagnostics import Span
from ....lang import program
from ....lang.program.liveness import Liveness
from ....structs import Entity
from ...ir.builder import At, Builder
from ...ir.instructions import Block, Check, Instruction, Value
from ...ir.numbers import Numbers
from ...passes.copying import needed_for, used
from .flow import assigned
from .kinds import Maybe, OrNone, Record, flat, kind_of, rebuilt, with_parts
from .meeting import as_kind, joined
from .names import (
    ABSENT,
    DRAWS,
    Fails,
    Name,
    Names,
    NotCompiled,
    Picks,
    Unknown,
    Unresolved,
    Variable,
)

MAX_SIZE = 5_000  # of a region: each lowering of a statement or an element counts
DIFFER = "the paths that meet here hold values of different kinds"


class Scope(Entity):
    """Code whose instructions run once in order: a region, or an iteration of a loop, as far as it
    is lowered.

    path     its block, and those of the branches that lowering is in, each inside the one before
    began    the states of variables at its start
    carried  values that earlier iterations have computed
    """

    path: list[Block]
    began: dict[Name, Any]
    carried: Sequence[Value]

    @property
    def instructions(self) -> list[Instruction]:
        return [made for block in self.path for made in block.instructions]


class LoweringAt(At):
    """The context of `Branching.at`. A reason without a place gets that of the innermost
    context."""

    __slots__ = ()

    def __exit__(self, kind: Any, reason: Any, trace: Any) -> None:
        super().__exit__(kind, reason, trace)
        if isinstance(reason, NotCompiled) and reason.span is None:
            reason.span = self.span


class Branching:
    """The state of lowering: the block to which instructions are added, and what names hold."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        self.builder, self.names = builder, Names()
        self.m = Numbers(builder)  # in which formulas are written
        self.frame = self.names.new_frame()
        self.liveness = liveness  # of the names of the frame
        self.size = 0
        # For the ints that loops count, the loops to lower iteration by iteration to know them;
        # None if they can't be.
        self.counters: dict[Value, frozenset[int] | None] = {}
        self.naturals: set[Value] = set()  # ints that loops count and that are never negative
        # Whether conditions hold in the branches that lowering is in, such as the `there` of an
        # `OrNone`; and that `there`, for comparisons with none.
        self.assumed: dict[Value, bool] = {}
        self.missing: dict[Value, Value] = {}
        self.room = 0  # of the tables that lists of different lengths become, if they do
        self.draws = Name(self.frame, DRAWS)
        self.states: list[Name] = []  # of the variables
        self.given_variables: list[Variable] = []  # those that the region was entered with
        self.updated: set[Name] = set()  # their states that change
        self.copied: set[Name] = set()  # the states that `copy` has put in place of variables
        self.given: set[Value] = set()  # the arguments of functions that are regions
        self.scopes = [Scope([builder.block], {}, ())]  # each inside the one before

    # ---- places in the program -------------------------------------------------------------------

    def at(self, span: Span | None) -> LoweringAt:
        """Lowers what stands at `span` in the program. There are the operations that are added, and
        that is where something isn't compiled."""
        return LoweringAt(self.builder, span)

    def from_here(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose operations stand here, wherever lowering is when it is called."""
        span = self.builder.span

        def call(*given: Any) -> Any:
            with self.at(span):
                return function(*given)

        return call

    # ---- variables -------------------------------------------------------------------------------

    def variable(self, state: Any, trainable: bool) -> Variable:
        """A new variable. Its state counts as known since the start of all scopes."""
        made = Variable(self.names.hidden(state), trainable)
        self.states.append(made.state)
        for scope in self.scopes:
            scope.began[made.state] = state
        return made

    def value(self, held: Any) -> Any:
        """What is held, which can't be none, with a variable replaced by its state."""
        return self.present(self.or_none(held))

    def present(self, held: Any) -> Any:
        """What is held. Steps back where that is none."""
        if not isinstance(held, OrNone):
            return held
        if not self.assumed.get(held.there):
            self.builder.add(Check(held.there))
        return held.held

    def or_none(self, held: Any) -> Any:
        """What is held, perhaps none, with a variable replaced by its state."""
        if not isinstance(held, Variable):
            return held
        state = self.names.held.get(held.state, ABSENT)
        if state is ABSENT:
            raise NotCompiled("the state of a variable isn't known here", None)
        return self.known(state)

    def state_now(self) -> dict[Name, Any]:
        """The current states of all variables."""
        return dict(zip(self.states, self.names.of(self.states), strict=True))

    @property
    def unassigned(self) -> list[Name]:
        """The names that change without an assignment: of states, and of the number of draws."""
        return [*self.states, *[self.draws] * (self.draws in self.names.held)]

    def values_in(self, names: Sequence[Name]) -> list[Value]:
        """The IR values in what some names hold."""
        return list(flat(*self.names.of(names)))

    def copy(self, held: Any, names: Mapping[Name, Any]) -> Any:
        """What is held, with a variable replaced by its state. That is needed where another path
        holds something else, and right only as long as the state never changes, which is noted."""
        if type(held) is tuple:
            return tuple([self.copy(item, names) for item in held])
        if not isinstance(held, Variable):
            return held
        if held.state in self.updated:
            raise NotCompiled("a value that is a variable on only one path is not compiled")
        self.copied.add(held.state)
        return names.get(held.state, ABSENT)

    def values(self, held: Any) -> Any:
        """What is held, with all variables in it replaced by their states."""
        if not self.states:
            return held
        is_one = not isinstance(held, tuple | Record)
        return self.or_none(held) if is_one else with_parts(held, self.values)

    @contextmanager
    def scope(self, block: Block, carried: Sequence[Value]) -> Iterator[Block]:
        """Adds to a block that runs once for each iteration of a loop."""
        self.scopes.append(Scope([block], self.state_now(), carried))
        try:
            with self.builder.inside(block):
                yield block
        finally:
            self.scopes.pop()

    @contextmanager
    def side(self) -> Iterator[Block]:
        """Adds to a new block, one side of a branch."""
        path = self.scopes[-1].path
        with self.builder.inside(Block()) as block:
            path.append(block)
            try:
                yield block
            finally:
                path.pop()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Takes back what was lowered in this context, if that isn't compiled."""
        held, copied = dict(self.names.held), set(self.copied)
        try:
            with self.builder.undoing(NotCompiled):
                yield
        except NotCompiled:
            self.names.held, self.copied = held, copied
            raise

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Lowers for what it tells: what is added in this context isn't kept, and what isn't
        compiled ends it."""
        before = dict(self.names.held)
        try:
            with self.builder.inside(Block()), suppress(NotCompiled, Unresolved):
                yield
        finally:
            self.names.held = before

    def counting(self, value: Value) -> frozenset[int]:
        """The loops, by identity, that would have to be lowered iteration by iteration to make an
        int known."""
        found = [self.counters.get(source) or () for source in self.builder.sources(value)]
        return frozenset().union(*found)

    def can_be_known(self, value: Value) -> bool:
        """Whether an int follows from what the region is given and what loops count, so that it
        could be known."""
        counted = [value for value, loops in self.counters.items() if loops is not None]
        given = {*self.scopes[0].path[0].parameters, *self.given, *counted}
        return self.builder.sources(value) <= given

    def is_constant(self, values: Sequence[Value]) -> bool:
        """Whether values are computed from nothing but constants."""
        values = [value for value in values if value not in self.builder.known]
        if not values:
            return True
        made = needed_for(values, [made for scope in self.scopes for made in scope.instructions])
        return not used([Block((), made, tuple(values))])

    # ---- names -----------------------------------------------------------------------------------

    def count(self, size: int = 1) -> None:
        """Counts a statement, an iteration, or an operation on `size` elements towards the size of
        the region."""
        self.size += size
        if self.size > MAX_SIZE:
            raise NotCompiled("this makes the region too large")

    def read(self, slot: program.Slot, frame: int | None = None) -> Any:
        """What a name holds, in this frame or another."""
        name = Name(self.frame if frame is None else frame, slot.index)
        held = self.names.held.get(name, ABSENT)
        if held is ABSENT:
            raise NotCompiled(f"`{slot.name}` has no value here")
        found = self.names.held[name] = self.surely(held)
        return self.known(found)

    def known(self, held: Any) -> Any:
        """What is held; a value or none where a branch tells which. Raises NotCompiled if it is
        unknown."""
        if isinstance(held, Unknown) and held.nodes:
            raise Picks(held.nodes, held.reason, held.span)
        if isinstance(held, Unknown):
            raise NotCompiled(held.reason, held.span)
        if isinstance(held, OrNone) and held.there in self.assumed:
            return held.held if self.assumed[held.there] else None
        return held

    def surely(self, held: Any) -> Any:
        """What is held. A value that may be missing is checked."""
        if not isinstance(held, Maybe):
            return held
        self.builder.add(Check(held.there))
        return held.held

    def surviving(self, node: Any, alive: frozenset[int]) -> list[Name]:
        """The names that a statement assigns and later code reads."""
        slots = {s.index: None for s in assigned([node]) if s.cell or s.index in alive}
        return [Name(self.frame, slot) for slot in slots]

    def forget_others(self, node: Any, kept: Sequence[Name]) -> None:
        """Forgets the names that a statement assigns, except those to keep."""
        for slot in assigned([node]):
            if (name := Name(self.frame, slot.index)) not in kept:
                self.names.held.pop(name, None)

    def either(
        self,
        condition: Value,
        then: Callable[[], Any],
        otherwise: Callable[[], Any],
        merged: Sequence[Name] = (),
    ) -> Any:
        """A branch. Returns what the side that runs returns; the `merged` names hold what that side
        leaves in them. Steps back where the side that runs surely fails."""
        if condition in self.builder.known:
            return (then if self.builder.known[condition] else otherwise)()
        merged = [*merged, *[name for name in self.unassigned if name not in merged]]
        before, sides, failing = dict(self.names.held), [], []
        for side, holds in ((then, True), (otherwise, False)):
            self.names.held = dict(before)
            with suppress(Unresolved), self.assuming(condition, holds), self.side() as block:
                try:
                    given = side()
                except Fails as reason:
                    failing.append((holds, reason))
                    continue
                sides.append((block, (given, *self.names.of(merged)), self.names.held))
        self.names.held = before
        if not sides:
            raise failing[0][1] if len(failing) == 2 else Unresolved
        given, *held = sides[0][1]
        for holds, _ in failing:
            fits = self.builder.apply("logical_not", [condition]) if holds else condition
            self.builder.add(Check(fits))
            self.builder.extend(sides[0][0].instructions)
        if len(sides) > 1:
            differ = Unknown(DIFFER, self.builder.span, self.counting(condition))
            given, *held = self.meet(condition, sides, differ)
        self.names.put(merged, held)
        return self.known(given)

    @contextmanager
    def assuming(self, condition: Value, holds: bool) -> Iterator[None]:
        """Lowers where a condition holds, or where it doesn't."""
        before = self.assumed
        there = self.missing.get(condition)
        assumed = {condition: holds} if there is None else {there: not holds}
        self.assumed = {**before, **assumed}
        try:
            yield
        finally:
            self.assumed = before

    def both(self, first: Value, second: Callable[[], Value]) -> Value:
        """Whether both conditions hold. The second is computed only where the first holds."""
        no = self.builder.constant
        found: Value = self.either(first, second, lambda: no(False))
        return found

    def meet(
        self, condition: Value, sides: list[tuple[Block, Any, dict[Name, Any]]], differ: Unknown
    ) -> Any:
        """Ends the two sides of a branch and returns what is held after it. A scalar from before
        the branch that both sides hold isn't a result of it."""
        (first, a, names), (second, b, others) = sides
        if self.states:
            differs = [kind_of(x) != kind_of(y) for x, y in zip(a, b, strict=True)]
            a, b = (
                tuple([self.copy(x, n) if d else x for d, x in zip(differs, held, strict=True)])
                for held, n in ((a, names), (b, others))
            )
        kind = joined(kind_of(a), kind_of(b), differ, self.room)
        found = []
        for block, held in ((first, a), (second, b)):
            with self.builder.inside(block):
                found.append(list(flat(as_kind(self.builder, held, kind))))
        pairs = list(zip(*found, strict=True))
        first.results = tuple([x for x, y in pairs if x is not y])
        second.results = tuple([y for x, y in pairs if x is not y])
        results = iter(self.builder.branch(condition, first, second))
        return rebuilt(kind, iter([x if x is y else next(results) for x, y in pairs]))
