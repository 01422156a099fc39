"""The loops by `while` that count, as in `while k < n { …; k = k + 1 }`: they go over a range, as
`for` does."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from ....lang import program
from ....lang.program.walks import statements
from .flow import assigned

# The comparisons that hold until a name has reached a bound, by whether it stands on the left: the
# step with which it comes there, and whether it may be equal.
_STEPS = {"lt": (1, False), "le": (1, True), "gt": (-1, False), "ge": (-1, True)}


class Counter(NamedTuple):
    """A name that each iteration of a loop changes by 1 or -1 until it has reached a bound.

    target    the name, as the loop assigns it
    bound     a constant, or a name that the loop doesn't assign
    step      1 or -1
    included  whether there is an iteration for the bound itself
    """

    target: program.NameTarget
    bound: program.Constant | program.Read
    step: int
    included: bool


def counter_of(node: program.While) -> Counter | None:
    """The counter of a loop, if its condition says nothing else, and each iteration that doesn't
    leave the loop changes it once."""
    condition, inner = node.condition, list(statements(node.body))
    if not isinstance(condition, program.Apply) or condition.op.name not in _STEPS:
        return None
    if any(isinstance(each, program.Continue) for each in inner):
        return None
    left, right = condition.operands
    way, included = _STEPS[condition.op.name]
    changed = [slot.index for slot in assigned(inner)]
    for counted, bound, step in ((left, right, way), (right, left, -way)):
        if isinstance(bound, program.Read) and bound.slot.index in changed:
            continue
        if isinstance(counted, program.Read) and isinstance(bound, program.Constant | program.Read):
            targets = [_stepped(each, counted.slot, step) for each in node.body]
            for target in filter(None, targets):
                if changed.count(counted.slot.index) == 1:
                    return Counter(target, bound, step, included)
    return None


def _stepped(node: program.Statement, slot: program.Slot, step: int) -> program.NameTarget | None:
    """The target of a statement that adds a step to the name in a slot; None for any other."""
    if not isinstance(node, program.Assign | program.Augment):
        return None
    op, number = getattr(node, "op", None), cast(Any, node.value)
    if isinstance(number, program.Apply) and op is None and len(number.operands) == 2:
        op, (before, number) = number.op, number.operands
        if not isinstance(before, program.Read) or before.slot != slot:
            return None
    is_int = isinstance(number, program.Constant) and type(number.value) is int
    if op is None or op.name not in ("add", "sub") or not is_int:
        return None
    is_step = (number.value if op.name == "add" else -number.value) == step
    target = node.target if isinstance(node.target, program.NameTarget) else None
    return target if is_step and target is not None and target.slot == slot else None
