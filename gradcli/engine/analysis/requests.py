"""Finds the outputs that are derivatives requested by the program: `g = grad(y, x)`, a part of one,
a list of them, a name for one. They get no gradient unasked. Every other output does, whatever
derivatives went into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ...lang import program
from ...lang.program.walks import statements
from ...ops.op import Op

# The kind of an expression: a derivative; a function that returns one; a list of a value and a
# derivative; a function that returns such a list.
Kind = Literal["", "derivative", "function", "pair", "function of pairs"]

TAPE_REQUESTS = frozenset(("gradient", "jacobian", "batch_jacobian"))
_RESULTS: Mapping[Kind, Kind] = {"function": "derivative", "function of pairs": "pair"}
_PAIRS = frozenset(("value_and_grad", "value_and_jvp"))


def is_request(op: Op) -> bool:
    """Whether an op asks for a derivative."""
    return op.category == "derivatives" and op.name not in ("detach", "stop_gradient")


def named_outputs(node: program.Program) -> list[tuple[str, Any]]:
    """The names and expressions of all outputs that a program may have."""
    return [
        *node.results,
        *(
            pair
            for item in statements(node.body)
            if isinstance(item, program.Output)
            for pair in item.items
        ),
    ]


def requested_outputs(node: program.Program) -> set[str]:
    """The outputs that are requests for derivatives, wherever they are given."""
    outputs = named_outputs(node)
    kinds = _Kinds(node)
    others = {name for name, value in outputs if kinds.of(value) not in ("derivative", "pair")}
    return {name for name, _ in outputs} - others


class _Kinds:
    """The kinds of the expressions of a program's top level."""

    def __init__(self, node: program.Program) -> None:
        self._node = node
        self._assigned: dict[int, list[tuple[Any, tuple[int, ...]]]] | None = None
        self._open: set[int] = set()

    def of(self, item: Any) -> Kind:
        match item:
            case program.Read():
                return self._of_name(item.slot.index)
            case program.Apply() if is_request(item.op):
                return self._of_op(item.op, item.operands[0])
            case program.MethodCall() if (
                item.function is None and item.op is not None and is_request(item.op)
            ):
                keywords = [argument.keyword for argument in item.arguments]
                return self._of_op(
                    item.op.called_with(1 + keywords.count(""), keywords), item.receiver
                )
            case program.MethodCall() if item.function is None and item.name in TAPE_REQUESTS:
                return "derivative"
            case program.Call():
                return _RESULTS.get(self.of(item.callee), "")
            case program.Member():
                return "derivative" if item.name == "grad" else self._part(self.of(item.object), ())
            case program.Index():
                return self._part(self.of(item.object), item.items)
            case program.ListDisplay() if item.items:
                return self._alike(item.items)
            case program.DictDisplay() if item.values:
                return self._alike(item.values)
            case program.Conditional():
                return self._alike((item.then, item.otherwise))
        return ""

    def _of_op(self, op: Op, operand: Any) -> Kind:
        if op.name == "vmap":
            kind = self.of(operand)
            return kind if kind in _RESULTS else ""
        if not op.transforms:
            return "derivative"
        return "function of pairs" if op.name in _PAIRS else "function"

    def _alike(self, items: tuple[Any, ...]) -> Kind:
        kinds = {self.of(item) for item in items}
        return kinds.pop() if len(kinds) == 1 else ""

    def _part(self, kind: Kind, items: tuple[Any, ...]) -> Kind:
        if kind == "pair" and len(items) == 1 and isinstance(items[0], program.Constant):
            return "derivative" if items[0].value == 1 else ""
        return kind if kind == "derivative" else ""

    def _of_name(self, slot: int) -> Kind:
        """The common kind of everything that a name is assigned to."""
        if slot in self._open:
            return ""
        if self._assigned is None:
            self._assigned = {}
            for k, value, path in _assignments(self._node):
                self._assigned.setdefault(k, []).append((value, path))
        self._open.add(slot)
        kinds = {self._at(value, path) for value, path in self._assigned.get(slot, [])}
        self._open.discard(slot)
        return kinds.pop() if len(kinds) == 1 else ""

    def _at(self, value: Any, path: tuple[int, ...]) -> Kind:
        """The kind of the part of a value that is assigned to a part of a target; of any part,
        where an index is negative."""
        while path and isinstance(value, program.ListDisplay) and 0 <= path[0] < len(value.items):
            value, path = value.items[path[0]], path[1:]
        kind = "" if value is None else self.of(value)
        if kind == "pair" and path:
            kind = "derivative" if path[0] == 1 else ""
        return kind if not path or kind == "derivative" else ""


def _assignments(node: program.Program) -> Iterator[tuple[int, Any, tuple[int, ...]]]:
    """The names of the top level, the value that each is assigned to, and the path into that value;
    None for a value that no expression gives."""
    for item in statements(node.body):
        if isinstance(item, program.Assign):
            yield from _targets(item.target, item.value, ())
        elif isinstance(item, program.For):
            yield from _targets(item.target, item.iterable, (-1,))
        elif isinstance(item, program.Augment):
            yield item.target.slot.index, None, ()
        elif isinstance(item, program.Declare):
            yield item.slot.index, item.value if item.kind == "const" else None, ()


def _targets(
    target: program.Target, value: Any, path: tuple[int, ...]
) -> Iterator[tuple[int, Any, tuple[int, ...]]]:
    if isinstance(target, program.ListTarget):
        for k, item in enumerate(target.items):
            yield from _targets(item, value, (*path, k))
    else:
        yield target.slot.index, value if isinstance(target, program.NameTarget) else None, path
