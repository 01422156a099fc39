"""Dependence of elements: which elements of later values depend on one element of an array.

Elementwise operations pass a mask on unchanged; linear operations and products sum it with weights
of 1. In any other operation, every element is assumed to depend on every other.
"""

from __future__ import annotations

from typing import Any

from ..ad.own_rules import OwnCall
from ..backends.backend import shape_of
from ..trace.recording import Blank
from ..trace.records import Record
from ..trace.run import Run
from ..values.lanes import Lanes
from .ancestry import Ancestry

LARGE = 10_000  # elements of an operand or result beyond which an operation isn't asked


def dependents(
    run: Run, ancestry: Ancestry, source: int, mask: Any, linked: set[int]
) -> dict[int, Any]:
    """Returns by number the elements that depend on those in a mask of the source, on the way to a
    target.

    They are a mask, or true for a number. A number that doesn't depend on them is missing.
    """
    masks: dict[int, Any] = {source: mask}
    for number in sorted(n for n in linked if n >= 0 and n > source):
        record = ancestry.trace.at(number)
        given = {k: masks[m] for k, m in record.traced_operands() if m in masks}
        if given and (found := _through(run, record, given)) is not None:
            masks[number] = found
    return masks


def _through(run: Run, record: Record, given: dict[int, Any]) -> Any:
    """Returns the mask of a record's result for those of some of its operands; None where nothing
    depends on them.
    """
    xp, y, op = run.backend.xp, record.y, record.site.op
    shape = y.shape if type(y) is Blank else shape_of(y)
    if not shape or type(y) in (list, Lanes) or type(record.b) is OwnCall:
        return True if not _misses(run, record, given) else None
    found = None
    if op.elementwise:
        for mask in given.values():
            mask = xp.broadcast_to(xp.asarray(mask), shape)
            found = mask if found is None else found | mask
    elif _is_asked(record):
        found = _summed(run, record, given) != 0
    if found is None or shape_of(found) != shape:
        return xp.ones(shape, bool)
    return found if found.any() else None


def _misses(run: Run, record: Record, given: dict[int, Any]) -> bool:
    """Returns whether a number, such as an element or a partial sum, is computed from elements
    outside the masks.
    """
    if type(record.y) in (list, Lanes) or not _is_asked(record):
        return False
    return not bool(_summed(run, record, given))


def _is_asked(record: Record) -> bool:
    op = record.site.op
    if not (op.linear or op.multilinear) or op.compute is None or op.category == "signal":
        return False  # signals have weights of both signs, which cancel
    kept = all(type(v) is not Blank or op.moves_with(k) for k, v in enumerate(record.operands))
    return kept and max(getattr(v, "size", 1) for v in (record.y, *record.operands)) <= LARGE


def _summed(run: Run, record: Record, given: dict[int, Any]) -> Any:
    """Applies a linear operation to masks, as numbers; of a product, with ones in the other
    operands.
    """
    xp, op = run.backend.xp, record.site.op
    options = dict(record.options)
    options.pop("inplace", None)
    operands = []
    for k, operand in enumerate(record.operands):
        shape = operand.shape if type(operand) is Blank else shape_of(operand)
        if k in given:
            operands.append(xp.asarray(given[k], "float64"))
        elif operand is None or not op.moves_with(k):
            operands.append(operand)
        else:
            operands.append(xp.zeros(shape) if op.linear else xp.ones(shape))
    assert op.compute is not None
    return abs(op.compute(xp, *operands, **options))
