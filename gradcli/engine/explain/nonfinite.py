"""The origin of a nan or an infinity: a search back over the ancestry, past operations that only
propagated it.

An operation is the maker if its result isn't finite and its operands are. Operands that it discards
don't count: an elementwise operation is examined where its result isn't finite, `where` on the side
that it took, and linear operations such as `x[i]` in the elements that they take.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

from ...ops import OPS
from ..ad.own_rules import Held, OwnCall
from ..backends.backend import broadcast_shapes, is_inexact, shape_of
from ..trace.recording import Blank
from ..trace.records import Record
from ..trace.run import Run
from ..values.boxes import primal
from ..values.contents import is_finite
from ..values.lanes import Lanes
from .ancestry import Ancestry
from .walks import shares

PART, WHERE = OPS["part"], OPS["where"]
LARGE = 10_000  # elements; in longer arrays all elements are assumed to matter


class Maker(NamedTuple):
    """The operation or leaf that made the first value that isn't finite.

    number   the number of its record on the trace, or of a leaf that isn't finite to begin with
    record   the record; None for a leaf
    operand  the index of an operand that is a non-finite plain number; None if the record made it
             itself
    place    the index of a non-finite element of an array
    """

    number: int
    record: Record | None
    operand: int | None = None
    place: tuple[int, ...] = ()


def maker(run: Run, ancestry: Ancestry, roots: list[int]) -> Maker | None:
    """Returns the first operation that makes a nan or an infinity which reaches one of the `roots`.

    The roots are numbers of non-finite values. If no operation made it, it is a leaf or a plain
    number that isn't finite. None if nothing is found.
    """
    search = _Search(run, ancestry)
    for number in roots:
        search.push(number, None)
    return search.first()


def maker_at(run: Run, ancestry: Ancestry, record: Record, places: Any) -> Maker | None:
    """Returns the maker of what isn't finite in some `places` of a record's value, or in what it is
    computed from.

    `places` is a mask (None for everywhere). None if all of that is finite.
    """
    search = _Search(run, ancestry)
    search.push(record.number, places)
    found = search.first()
    if found is not None:
        return found
    numbers = dict(record.traced_operands())
    for k, wanted in search.ways(record, places):
        operand = record.operands[k]
        if k in numbers and (value := search.known(operand, numbers[k])) is not None:
            bad = search.bad_in(value, wanted)
            if _any(bad):
                search.push(numbers[k], bad if shape_of(bad) else None)
        elif k not in numbers and not _lacks(operand) and _any(search.bad_in(operand, wanted)):
            return search.made(record, k, places)
    return search.first()


class _Search:
    def __init__(self, run: Run, ancestry: Ancestry) -> None:
        self.run, self.ancestry = run, ancestry
        # By number, the elements that matter: a mask, or None for all.
        self.interest: dict[int, Any] = {}
        self.pending: list[int] = []
        self.found: list[Maker] = []

    def push(self, number: int, mask: Any) -> None:
        if number in self.interest:
            known = self.interest[number]
            self.interest[number] = None if known is None or mask is None else known | mask
        else:
            self.interest[number] = mask
            heapq.heappush(self.pending, -number)

    def first(self) -> Maker | None:
        """Finds the maker among the records, newest first, so that all uses of a value have marked
        their elements.
        """
        while self.pending:
            number = -heapq.heappop(self.pending)
            if number < 0:
                self._leaf(number)
            else:
                self._record(self.ancestry.trace.at(number))
        return min(
            self.found,
            key=lambda m: (m.record is None, m.operand is not None, m.number),
            default=None,
        )

    def _leaf(self, number: int) -> None:
        made = [
            t for t, _, _ in self.ancestry.trace.states.get(number, ()) if not is_finite(primal(t))
        ]
        if not made:
            self.found.append(Maker(number, None))
        elif made[0][1] not in self.interest:
            self.push(made[0][1], None)

    def _record(self, record: Record) -> None:
        bad = None if type(record.y) is Blank else _nonfinite(self.run, record.y)
        mask = self.interest[record.number]
        places = (
            bad if mask is None or bad is None or shape_of(mask) != shape_of(bad) else bad & mask
        )
        if bad is not None and not _any(places):
            return
        if type(record.b) is OwnCall and (
            inside := [
                p for p in record.b.body or () if type(p) is Held and not is_finite(p.primal)
            ]
        ):
            for part in inside:  # it was made in the body of the function
                self.push(part.number, None)
            return
        if record.site.op is PART:
            self.push(record.inputs[0], None)
            return
        numbers = dict(record.traced_operands())
        plain, passed = None, False
        for k, wanted in self.ways(record, places):
            operand = record.operands[k]
            if k not in numbers:
                if not _lacks(operand) and _any(self.bad_in(operand, wanted)):
                    plain = k
                continue
            operand = self.known(operand, numbers[k])
            if operand is None:
                passed = passed or numbers[k] >= 0  # what made it is known
            elif not _any(wanted := self.bad_in(operand, wanted)):
                continue
            else:
                passed = True
            self.push(numbers[k], wanted if shape_of(wanted) else None)
        if not passed and bad is not None:
            self.found.append(self.made(record, plain, places))

    def made(self, record: Record, plain: int | None, places: Any) -> Maker:
        """Returns the maker for a record, or for its operand `plain`, a plain number."""
        witness = None if plain is None else self.ancestry.trace.witness_of(record.operands[plain])
        if witness is not None:
            place = first_place(self.run, _nonfinite(self.run, witness.y))
            return Maker(witness.number, witness, None, place)
        return Maker(record.number, record, plain, first_place(self.run, places))

    def known(self, operand: Any, number: int) -> Any:
        """Returns an operand, as its record or the record that made it kept it; None where neither
        did.
        """
        if _lacks(operand) and number >= 0:
            operand = self.ancestry.trace.at(number).y
        return None if _lacks(operand) else operand

    def ways(self, record: Record, places: Any) -> list[tuple[int, Any]]:
        """Returns the operands that the places of the result are computed from, with the elements
        that matter.

        The elements are a mask, or None for all.
        """
        op, operands = record.site.op, record.operands
        if type(record.b) is OwnCall:
            return [(k, None) for k in range(len(operands))]
        if op.elementwise or op is WHERE:
            shape = broadcast_shapes(
                [shape_of(v) if not _lacks(v) else v.shape for v in operands if v is not None]
            )
            if op is WHERE:
                condition = primal(operands[0])
                if not shape_of(condition) and not _lacks(condition):
                    return [(1 if condition else 2, places)]
                if not _lacks(condition) and shape_of(places) == shape_of(condition) == shape:
                    return [(1, places & condition), (2, places & ~condition)]
            same = [
                shape is not None and shape == (v.shape if _lacks(v) else shape_of(v))
                for v in operands
            ]
            return [
                (k, places if fits and shape_of(places) == shape else None)
                for k, fits in enumerate(same)
            ]
        if op.linear and shape_of(places) is not None and not _too_long(record):
            return self._linear(record, places)
        return [(k, None) for k, v in enumerate(operands) if v is not None]

    def _linear(self, record: Record, places: Any) -> list[tuple[int, Any]]:
        """Returns the elements of the operands that the places of a linear operation's result are
        sums of.

        A cotangent of ones in these places is pulled back to exactly those elements.
        """
        if places is None or type(record.y) is list:
            return [(k, None) for k in range(len(record.operands))]
        g = places.astype(record.y.dtype) if shape_of(places) else 1.0
        found = shares(self.run, record, g)
        moving = dict(record.traced_operands())
        return [
            (k, found[moving[k]] != 0 if k in moving and moving[k] in found else None)
            for k in range(len(record.operands))
        ]

    def bad_in(self, operand: Any, wanted: Any) -> Any:
        bad = _nonfinite(self.run, operand)
        return bad & wanted if wanted is not None and shape_of(wanted) == shape_of(bad) else bad


def _nonfinite(run: Run, value: Any) -> Any:
    """Returns a mask of the elements that aren't finite; a bool for a number and for several
    arrays.
    """
    if (
        type(value) in (list, float, Lanes, int, bool)
        or not shape_of(value)
        or not is_inexact(value)
    ):
        return not is_finite(value)
    return ~run.backend.xp.isfinite(value)


def _lacks(value: Any) -> bool:
    return type(value) is Blank


def _any(mask: Any) -> bool:
    return bool(mask.any()) if hasattr(mask, "any") else bool(mask)


def _too_long(record: Record) -> bool:
    return any(getattr(v, "size", 1) > LARGE for v in (record.y, *record.operands))


def first_place(run: Run, mask: Any) -> tuple[int, ...]:
    """Returns the first place in a mask; () if there is none, or it isn't an array."""
    if not shape_of(mask) or not mask.any():
        return ()
    first = run.backend.xp.argwhere(mask)[0]
    return tuple([int(k) for k in run.backend.to_host(first)])
