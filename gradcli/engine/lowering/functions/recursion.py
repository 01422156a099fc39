"""Functions that call themselves, in IR: regions that call each other.

A function that is inlined inside itself again and again becomes a region of its own, one for each
combination of kinds of its arguments. A small region that calls no other is inlined all the same.
What the function reads from outside is passed to the region, and so is the depth of the call: the
region steps back where the interpreter would say that calls are too deep. The kind of the result
follows from the paths on which the function doesn't call itself, and then from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....lang import program
from ....lang.program.liveness import Liveness
from ....structs import Struct
from ...ir.builder import Builder
from ...ir.instructions import Block, Call, Check, Region, Value, every, size_of
from ...ir.types import I64
from ...passes.arrays.ownership import returned_parameters
from ...passes.calls import Regions
from ...passes.copying import inlined
from ..held.kinds import Choice, Kind, flat, fresh, has_functions, kind_of, parts_of, rebuilt
from ..held.meeting import as_kind, joined
from ..held.names import (
    Closure,
    Fails,
    Members,
    Name,
    NotCompiled,
    Rows,
    Transform,
    Unknown,
    UnknownInt,
    Unresolved,
)
from .expressions import Expressions

MAX_DEPTH = 2000  # calls inside calls, as in the interpreter
MAX_NESTED = 3  # calls of a function inside itself that are inlined
MAX_REGIONS, MAX_TOTAL = 64, 20_000  # and the size of all of them
SMALL = 128  # instructions


class Recursive(Exception):  # noqa: N818 - an answer, not an error
    """A function turns out to call itself."""


class Specialised(Struct, frozen=False):
    """A function as a region, for arguments of given kinds and names from outside.

    known        ints that it is specialised on, by the positions of arguments
    result       the kind of what it returns; None if that isn't known yet
    is_open      whether it is being lowered
    result_used  whether a call has used `result` meanwhile
    """

    region: Region
    callee: Closure
    arguments: list[Kind]
    outside: dict[Name, Kind]
    known: dict[int, int]
    result: Kind | None = None
    is_open: bool = True
    result_used: bool = False

    def fits(
        self,
        callee: Closure,
        arguments: list[Kind],
        outside: dict[Name, Kind],
        known: dict[int, int],
    ) -> bool:
        same = callee.function is self.callee.function and callee.frame == self.callee.frame
        return same and (arguments, outside, known) == (self.arguments, self.outside, self.known)


class Recursion(Expressions):
    """The lowering of functions that call themselves."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        super().__init__(builder, liveness)
        self.level: Value | None = None  # the depth of the region's call; None in the main region
        self.entering: list[int] = []  # the functions that are being inlined
        self.recursive: set[int] = set()
        self.lowered_size = 0  # of all regions so far
        self.specialised: list[Specialised] = []
        self.deciding: dict[int, set[int]] = {}  # for functions, the arguments that decide shapes
        self.regions, self.named = Regions(), 0  # the finished regions, and the number of names

    def entered(self, callee: Closure, arguments: list[Any]) -> Any:
        function = id(callee.function)
        if function in self.recursive:
            return self.called_region(callee, arguments)
        if self.entering.count(function) == MAX_NESTED:
            self.recursive.add(function)
            raise Recursive
        before, self.names.held, size = self.names.held, dict(self.names.held), self.size
        self.entering.append(function)
        try:
            with self.builder.undoing(Recursive):
                given = super().entered(callee, arguments)
            if not has_functions(given):  # a function may read the names of the call
                changed = self.unassigned
                held = self.names.of(changed)
                self.names.held = before
                self.names.put(changed, held)
            return given
        except Recursive:
            if function not in self.recursive or function in self.entering[:-1]:
                raise
        finally:
            self.entering.pop()
        self.names.held, self.size = before, size
        return self.called_region(callee, arguments)

    def called_region(self, callee: Closure, arguments: list[Any]) -> Any:
        """A call of the function's region, which gets variables as their states."""
        names = self.names_read(callee, arguments)
        given = [*arguments, *self.names.of(names)]
        held = list(map(self.values, given))
        kinds = list(map(kind_of, held))
        n = len(arguments)
        outside = dict(zip(names, kinds[n:], strict=True))
        found = self.specialised_on(held[:n], callee, kinds[:n], outside)
        if found.result is None:
            raise Unresolved
        if isinstance(found.result, Unknown):
            raise NotCompiled(found.result.reason)
        if self.states:
            self.copy_returned(found.region, given)
        operands = [self.next_level(), *flat(*held)]
        if not found.is_open and callee.function.rule is None and _is_small(found.region.block):
            return rebuilt(found.result, iter(self.body_of(found.region, operands)))
        result = fresh(found.result)
        values, name = tuple(flat(result)), found.region.name
        self.builder.add(Call(name, tuple(operands), values, self.builder.span))
        return result

    def specialised_on(
        self, held: Sequence[Any], callee: Closure, arguments: list[Kind], outside: dict[Name, Kind]
    ) -> Specialised:
        """The region of a function for these arguments. It is specialised on those ints among them
        that have to be known for it."""
        deciding = self.deciding.setdefault(id(callee.function), set())
        while True:
            known = {k: n for k in deciding if type(n := self.known_number(held[k])) is int}
            try:
                return self.specialisation(callee, arguments, outside, known)
            except UnknownInt as unknown:
                needed = sorted(unknown.arguments)
                if not needed:
                    raise
                for k in needed:
                    if type(self.known_number(held[k])) is not int:
                        raise UnknownInt(held[k], unknown.reason) from None
                deciding.update(needed)

    def known_number(self, held: Any) -> Any:
        return self.builder.known.get(held) if isinstance(held, Value) else None

    def copy_returned(self, region: Region, given: Sequence[Any]) -> None:
        """Notes the variables passed to a region whose states it may return: the results are
        copies."""
        block, position = region.block, 1  # behind the level
        may_be = returned_parameters(region, block.results)
        types = {value.type for value in block.results}
        for held in given:
            values = list(flat(self.values(held)))
            places = range(position, position := position + len(values))
            if any(block.parameters[k].type in types for k in may_be.intersection(places)):
                self.copy(held, self.names.held)

    def body_of(self, region: Region, operands: Sequence[Value]) -> Sequence[Value]:
        """Adds the instructions of a region that calls no other; returns its results."""
        instructions, results = inlined(region.block, operands)
        self.count(len(instructions))
        self.builder.extend(instructions)
        return results

    def next_level(self) -> Value:
        """The depth of a call from here."""
        if self.level is None:
            return self.builder.constant(self.depth + 1)
        return self.builder.apply("add", [self.level, self.builder.constant(self.depth)])

    def names_read(self, callee: Closure, arguments: Sequence[Any]) -> list[Name]:
        """The names that a function reads from outside, directly or through functions that it
        gets."""
        found: dict[Name, None] = {}
        pending = [callee, *arguments]
        while pending:
            held = pending.pop()
            pending += parts_of(held)
            if isinstance(held, Transform | Rows):
                pending.append(held.function)
            elif isinstance(held, Choice):
                pending += held.among
            new = sorted((_read(held) & self.names.held.keys()) - found.keys())
            found.update(dict.fromkeys(new))
            pending += self.names.of(new)
        return list(found)

    def specialisation(
        self,
        callee: Closure,
        arguments: list[Kind],
        outside: dict[Name, Kind],
        known: dict[int, int],
    ) -> Specialised:
        """The region of a function for these kinds. One that is still being lowered has the kind of
        result that is known so far."""
        for each in self.specialised:
            if each.fits(callee, arguments, outside, known):
                each.result_used = True
                return each
        if len(self.specialised) == MAX_REGIONS or self.lowered_size > MAX_TOTAL:
            raise NotCompiled("this recursion needs too many regions")
        region = Region(self.region_name(callee.function), Block())
        made = Specialised(region, callee, arguments, outside, known)
        self.specialised.append(made)
        others = len(self.specialised)
        try:
            region.block = self.settled(made, others)
            made.is_open = False
            self.regions.add(region)
            self.complete(made)
        except (NotCompiled, Unresolved):
            del self.specialised[others - 1 :]
            raise
        return made

    def complete(self, made: Specialised) -> None:
        """Adds to a region what it has besides its body."""

    def settled(self, made: Specialised, others: int) -> Block:
        """The body of a function, lowered until its calls of itself return the kind that it
        returns."""
        differ = Unknown(
            "a recursive function returns values of different kinds", self.builder.span
        )
        while True:
            made.result_used = False
            block, result = self.lowered_region(
                made, lambda given: Expressions.entered(self, made.callee, given)
            )
            kind = kind_of(result)
            wider = kind if made.result is None else joined(made.result, kind, differ)
            is_same, made.result = wider == made.result, wider
            if is_same or not made.result_used:
                break
            del self.specialised[others:]  # which were lowered with the old kind
        with self.builder.inside(block):
            block.results = tuple(flat(as_kind(self.builder, result, wider)))
        return block

    def lowered_region(
        self, made: Specialised, body_of: Callable[[list[Any]], Any]
    ) -> tuple[Block, Any]:
        """A block with the parameters of a function's region, and the result of `body_of` for the
        arguments in them."""
        outer = self.names.held, self.level, self.entering, self.depth, self.deepest
        size, self.size = self.size, 0
        arguments = [fresh(kind) for kind in made.arguments]
        outside = {name: fresh(kind) for name, kind in made.outside.items()}
        self.names.held, self.level, self.entering = dict(outside), Value(I64), []
        self.depth = self.deepest = 0
        try:
            with self.builder.inside(Block()) as block:
                block.parameters = (self.level, *flat(*arguments, *outside.values()))
                self.given.update(block.parameters)
                with self.builder.inside(Block()) as body:
                    numbers = {k: self.builder.constant(n) for k, n in made.known.items()}
                    given = [numbers.get(k, each) for k, each in enumerate(arguments)]
                    result = body_of(given)
                most = self.builder.constant(MAX_DEPTH + 1 - self.deepest)
                self.builder.add(Check(self.builder.apply("le", [self.level, most])))
                block.instructions += body.instructions
        except Unresolved:  # as long as the result of a region that calls this one is unknown
            open_ones = [each for each in self.specialised if each.is_open and each is not made]
            if any(each.result is None and each.result_used for each in open_ones):
                raise
            raise Fails("this recursion has no end") from None
        except UnknownInt as unknown:
            sources = self.builder.sources(unknown.value)
            own = {k: a for k, a in enumerate(arguments) if isinstance(a, Value) and a in sources}
            unknown.arguments = set(own) if sources == set(own.values()) else set()
            raise
        except RecursionError:
            raise NotCompiled("this recursion needs too many regions") from None
        finally:
            self.names.held, self.level, self.entering, self.depth, self.deepest = outer
            self.size, self.lowered_size = size, self.lowered_size + self.size
        return block, result

    def region_name(self, function: program.Function) -> str:
        name = function.name if function.name.isascii() and function.name else "function"
        self.named += 1
        return f"{name}_{self.named}"


def _is_small(block: Block) -> bool:
    """Whether a block calls no region, and is about as quick as a call of it."""
    return size_of(block) <= SMALL and not any(isinstance(made, Call) for made in every(block))


def _read(held: Any) -> set[Name]:
    """The names that a function reads from outside, or that an import has."""
    if isinstance(held, Members):
        return {Name(held.frame, slot.index) for slot in held.slots.values()}
    if isinstance(held, Closure):
        captured = [Name(held.frame, slot.index) for slot, _ in held.function.captures]
        return {*captured, *held.defaults}
    return set()
