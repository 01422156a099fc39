"""The fast path of reverse mode for functions of floats whose records are all in one segment.

Most small functions that transforms differentiate are of this kind. The result is that of `Sweep`
(`plain_sweep.py`) to the last bit; where a record needs more than floats it is None, and the caller
falls back to `Sweep`.
"""

from __future__ import annotations

from ..trace.tape import Segment
from ..trace.windows import STRIDE


def sweep_floats(segment: Segment, target: int, cotangent: float) -> dict[int, float] | None:
    """The cotangents of all values outside the segment that its records read, for the cotangent of
    the record `target`. None where a record is not on floats only, has no pullback yet, or where a
    product may need its strict form.

    Records that don't lead to a source are passed as well: on floats that can't fail, and their
    cotangents are ignored.
    """
    cotangents: dict[int, float] = {target: cotangent}
    pop = cotangents.pop
    records = segment.records
    number = segment.first + len(records) // STRIDE
    if number != target + 1:
        if target < segment.first:  # the target is a leaf
            return cotangents if cotangent - cotangent == 0.0 else None
        records, number = records[: (target - segment.first + 1) * STRIDE], target + 1
    flat = reversed(records)
    for y, b, a, in1, in0, site in zip(flat, flat, flat, flat, flat, flat, strict=True):
        number -= 1
        g = pop(number, None)
        if g is None:
            continue
        pull = site.pull
        if pull is None or type(y) is not float:
            return None
        if site.inline_operands:
            c = pull(g, y, a, b)
        elif site.scalar:
            c = pull(g, y, *a)
        else:
            return None
        if type(in0) is tuple:
            for n, d in zip(in0, c, strict=True):
                cotangents[n] = cotangents[n] + d if n in cotangents else d
        elif in1 is None:
            cotangents[in0] = cotangents[in0] + c if in0 in cotangents else c
        else:
            c, d = c
            cotangents[in0] = cotangents[in0] + c if in0 in cotangents else c
            cotangents[in1] = cotangents[in1] + d if in1 in cotangents else d
    for c in cotangents.values():
        if c - c != 0.0:
            return None
    return cotangents
