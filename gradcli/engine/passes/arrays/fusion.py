"""Fusion: two `each` over the same points become one, which goes through memory once. An element
that the second one reads of the first at the same place needs no memory then, and what both compute
is computed once."""

from __future__ import annotations

from ...ir.instructions import (
    Affine,
    Block,
    Check,
    Each,
    Element,
    Instruction,
    NewArray,
    Product,
    Region,
    Room,
    Value,
    blocks_of,
    every,
)
from ..common_subexpressions import KnownArrays, share
from ..copying import copied, rebuilt, renamed, used
from .each_places import place_key, places_of
from .forwarding import forwarded

FAR = 24  # the last groups, of which an `each` may join one
MOST = 600  # instructions of a body


def has_each(*regions: Region) -> bool:
    """Whether any of the regions has an `each`."""
    return any(isinstance(made, Each) for region in regions for made in every(region.block))


def fuse(region: Region) -> Region:
    """The region with as few `each` as possible."""
    if not has_each(region):
        return region
    block = copied(region.block, {})
    _fuse(block)
    return Region(region.name, block)


def _fuse(block: Block) -> None:
    for made in block.instructions:
        for inner in blocks_of(made):
            _fuse(inner)
    if any(isinstance(made, Each) for made in block.instructions):
        _Graph(block).fuse()


class _Graph:
    """The instructions of a block, by their positions, and which of them depend on which.

    before      the instructions that each one depends on directly
    all_before  those that it depends on directly or not, as bits
    group       for an instruction that was fused with an earlier one, or computes the same arrays,
                the position of that one; for others their own
    arrays      those that are computed so far
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.made: list[Instruction | None] = []
        self.before: list[set[int]] = []
        self.all_before: list[int] = []
        self.group: list[int] = []
        self.defined: dict[Value, int] = {}
        self.checks: set[int] = set()
        self.names: dict[Value, Value] = {}  # for results that are left out, the values used
        self.arrays = KnownArrays(self.start)

    def fuse(self) -> None:
        groups: list[int] = []
        for k, given in enumerate(self.block.instructions):
            made = self.without_known(k, self.add(k, given))
            if not isinstance(made, Each):
                continue
            for g in groups[: -FAR - 1 : -1]:
                first = self.made[g]
                assert isinstance(first, Each)
                if (found := self.joined(g, first, k, made)) is not None:
                    self.join(g, k, found)
                    break
            else:
                groups.append(k)
                self.made[k] = self.once(made)
        self.sort()
        self.block.results = renamed(self.block.results, self.names)

    def add(self, k: int, made: Instruction) -> Instruction:
        """Adds an instruction as the `k`th one. It reads the originals of copied arrays."""
        if self.names.keys() & {*made.operands, *used(blocks_of(made))}:
            inner = [copied(block, dict(self.names)) for block in blocks_of(made)]
            made = rebuilt(made, renamed(made.operands, self.names), made.results, inner)
        if isinstance(made, Each | Product):
            made = forwarded(made, self.source)
        needed = {*made.operands, *used(blocks_of(made))}
        before = {self.group[self.defined[value]] for value in needed if value in self.defined}
        if _chooses(made):
            before |= {self.group[n] for n in self.checks}
        if isinstance(made, Check) or any(isinstance(m, Check) for m in _inner(made)):
            self.checks.add(k)
        self.defined.update(dict.fromkeys(made.results, k))
        self.made.append(made)
        self.group.append(k)
        self.before.append(before)
        self.all_before.append(0)
        for n in before:
            self.all_before[k] |= 1 << n | self.all_before[n]
        return made

    def without_known(self, k: int, made: Instruction) -> Instruction | None:
        """The `k`th instruction without the arrays that earlier ones compute, too; None if there
        are no others."""
        known = self.arrays.known(made)
        for own, other in known.items():
            self.rename(own, other)
        kept = [n for n, value in enumerate(made.results) if value not in known]
        if known and not kept:
            first = self.defined[next(iter(known.values()))]
            self.group[k], self.made[k] = self.group[first], None
            return None
        if known and isinstance(made, Each):
            self.made[k] = made = made.only(kept, made.body)
        return made

    def source(self, value: Value) -> Instruction | None:
        """The instruction that defines a value, if it is in this block."""
        k = self.defined.get(value)
        return None if k is None else self.made[self.group[k]]

    def once(self, made: Each) -> Each:
        """An `each` without results that are the same as others of it."""
        share(made.body)
        kept, seen = list[int](), dict[object, Value]()
        given = made.given
        for k, first in enumerate(made.initial):
            key = (made.ways[k], given[k], self.start(first))
            if key in seen:
                self.rename(made.results[k], seen[key])
            else:
                seen[key] = made.results[k]
                kept.append(k)
        return made if len(kept) == len(given) else made.only(kept, made.body)

    def rename(self, value: Value, other: Value) -> None:
        """Notes that a result is another value."""
        other = self.names.get(other, other)
        self.names = {v: other if n is value else n for v, n in self.names.items()}
        self.names[value] = other

    def start(self, value: Value) -> object:
        """A key for a first value of an `each`: equal for equal values."""
        made = self.source(value)
        if isinstance(made, Room):
            return value.type
        return (value.type, made.number) if isinstance(made, NewArray) else value

    def joined(self, g: int, first: Each, k: int, second: Each) -> Each | None:
        """Two `each` as one, unless something between them, or their size, forbids it."""
        if first.shape != second.shape or (direct := self.is_free(g, k)) is None:
            return None
        if len(first.body.instructions) + len(second.body.instructions) > MOST:
            return None
        return fused(first, second, direct)

    def is_free(self, g: int, k: int) -> bool | None:
        """Whether the `k`th instruction depends on a group directly. None if it also depends on the
        group through others."""
        direct = {self.group[n] for n in self.before[k]}
        if any(self.all_before[n] >> g & 1 for n in direct - {g}):
            return None
        return g in direct

    def join(self, g: int, k: int, found: Each) -> None:
        """Puts the fused `each` in the place of the first one."""
        self.group[k], self.made[k] = g, None
        self.made[g] = self.once(found)
        self.before[g] = {self.group[n] for n in self.before[g] | self.before[k]} - {g}
        both = self.all_before[g] | self.all_before[k]
        for n, own in enumerate(self.all_before):
            if own >> g & 1:
                self.all_before[n] = own | both
        self.all_before[g] = both & ~(1 << g)

    def sort(self) -> None:
        """Orders the instructions so that each comes after those that it depends on."""
        done: set[int] = set()
        ordered: list[Instruction] = []
        for start in range(len(self.made)):
            waiting = [self.group[start]]
            while waiting:
                k = waiting[-1]
                open_ones = {self.group[n] for n in self.before[k]} - done - {k}
                if k in done or not open_ones:
                    made = self.made[waiting.pop()]
                    if k not in done and made is not None:
                        ordered.append(made)
                    done.add(k)
                else:
                    waiting += sorted(open_ones, reverse=True)
        self.block.instructions = ordered


def _inner(made: Instruction) -> list[Instruction]:
    return [inner for block in blocks_of(made) for inner in every(block)]


def _chooses(made: Instruction) -> bool:
    """Whether an instruction may read at a place that is valid only after a check."""
    indices = {value for block in blocks_of(made) for value in block.parameters}
    own = [made] if isinstance(made, Element) else []
    reads = [inner for inner in (*own, *_inner(made)) if isinstance(inner, Element)]
    sums = [inner for inner in _inner(made) if isinstance(inner, Affine)]
    outer = any(not indices.issuperset(inner.operands) for inner in sums)
    known = indices.union([inner.result for inner in sums])
    return outer or any(each.place not in known for each in reads)


def fused(first: Each, second: Each, depends: bool) -> Each | None:
    """Two `each` over the same points as one. `depends`: whether the second one reads results of
    the first. None where it needs more of them than the element at the same point."""
    names = dict(zip(second.body.parameters, first.body.parameters, strict=True))
    more = copied(Block((), second.body.instructions, second.body.results), names)
    body = Block(first.body.parameters, [*first.body.instructions])
    if depends:
        if set(first.results).intersection(second.initial):
            return None
        kinds = zip(first.ways, first.given, strict=True)
        results = dict(zip(first.results, kinds, strict=True))
        places = places_of((*body.instructions, *more.instructions))
        known: dict[Value, Value] = {}
        for made in more.instructions:
            if not set(made.operands).intersection(results):
                continue
            if not isinstance(made, Element) or made.place in results:
                return None
            way, (number, place) = results[made.array]
            if way != "put" or place_key(made.place, places) != place_key(place, places):
                return None
            known[made.result] = number
        if set(more.results).intersection(results):
            return None
        kept = [made for made in more.instructions if not set(made.results) & known.keys()]
        more = copied(Block((), kept, more.results), known)
    body.instructions += more.instructions
    body.results = (*first.body.results, *more.results)
    share(body)
    return Each(
        first.shape,
        (*first.initial, *second.initial),
        (*first.ways, *second.ways),
        body,
        (*first.results, *second.results),
    )
