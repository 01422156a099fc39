"""Hot calls of functions with loops whose trip count is an int of the caller: `fn f(x, n) { for i
in range(n) { … }; return x }`.

Such a call is specialised to the ints that its names hold: its loops are unrolled (`unrolling.py`),
and the result is used as long as the names hold these ints.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...lang import program
from ...lang.program.walks import own_nodes
from ..analysis.inlined_derivatives import BranchError, NotInlinedError
from ..analysis.inlining import Known
from ..backends.tiers import policy
from ..compilation.compiler import Closure
from ..operations.apply import apply
from ..values.kinds import FRAME_HEAD, Variable
from .branches import by_path
from .fusion import MAX_VARIANTS, fuse, fuse_list
from .plan import Leaf, Plan
from .planning import collect, plans_of_list


def by_ints(node: program.Call, known: dict[int, Known], cold: Closure) -> Closure:
    """The closure of a call, specialised to ints once it is hot; until then `cold`."""
    slots = _slots(node, known)
    leaves = [Leaf("cell" if slot.cell else "slot", slot.index + FRAME_HEAD) for slot in slots]
    variants: dict[tuple[int | None, ...], Closure | None] = {}
    hot_after, count = policy().heat.evaluations, 0

    def call(frame: list[Any]) -> Any:
        nonlocal count
        if count < hot_after or frame[0].group is not None:
            count += 1
            return cold(frame)
        held = tuple([_held(leaf.of(frame)) for leaf in leaves])
        if held not in variants:
            if len(variants) == MAX_VARIANTS:
                count = 0  # the ints seem to differ each time
                return cold(frame)
            pairs = [(slot, k) for slot, k in zip(slots, held, strict=True) if k is not None]
            ints = {slot.index: Known(program.Constant(k, span=node.span)) for slot, k in pairs}
            variants[held] = _read(node, known | ints, cold)
        return (variants[held] or cold)(frame)

    return call if leaves else cold


def _held(value: Any) -> int | None:
    if type(value) is Variable:
        value = value.box
    return value if type(value) is int else None


def _read(node: program.Call, known: dict[int, Known], cold: Closure) -> Closure | None:
    """The closure of a call whose ints are known; None where nothing is gained."""
    found = Plan([], [])
    try:
        collect(node, found, None, known, None, 0)
    except BranchError:
        return by_path(node, known, cold)
    except NotInlinedError:
        with suppress(NotInlinedError):
            several = plans_of_list(node, known)
            return fuse_list(several, cold, apply) if several is not None else None
        return None
    return fuse(found, cold, apply) if found.leaves else None


def _slots(node: program.Call, known: dict[int, Known]) -> list[program.Slot]:
    """The slots of the frame that the call may read, except those of known functions."""
    found: dict[int, program.Slot] = {}
    passed: set[int] = set()
    pending: list[Any] = [node]
    while pending:
        for part in own_nodes([pending.pop()]):
            read = [part.slot] if isinstance(part, program.Read) and not part.checked else []
            if isinstance(part, program.FunctionLiteral):
                read = [outer for outer, _ in part.function.captures]
            while read:
                slot = read.pop()
                if slot.index not in known:
                    found[slot.index] = slot
                elif slot.index not in passed and known[slot.index].home is None:
                    passed.add(slot.index)
                    value = known[slot.index].value
                    if isinstance(value, program.Function):
                        read += [outer for outer, _ in value.captures]
                    else:
                        pending.append(value)
    return list(found.values())
