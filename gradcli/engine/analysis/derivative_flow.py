"""Finds, in the text of a program, which values may be computed from derivatives. Constants have no
history to keep, and a sweep whose results are never differentiated needn't be recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

from ...lang import program
from ...lang.program.walks import PARTS, own_nodes
from .requests import TAPE_REQUESTS, is_request, named_outputs

Starts: TypeAlias = Callable[[Any], bool]


def outputs_of_variables(node: program.Program) -> set[str]:
    """The outputs that may be computed from variables; all where modules may declare some."""
    sources = {
        item.slot.index
        for item in own_nodes(node.body)
        if isinstance(item, program.Import) or _declares_variable(item)
    }
    slots = _computed_from(node, sources, lambda item: False)
    return {
        name
        for name, value in named_outputs(node)
        if node.has_modules or _reads(value, slots, lambda item: False)
    }


def _derived_slots(node: program.Program) -> set[int]:
    """The names of the top level that anything computed from a derivative may be assigned to. A
    variable's state isn't assigned: it has no history."""
    return _computed_from(node, set(), _is_request)


def _computed_from(node: program.Program, found: set[int], starts: Starts) -> set[int]:
    """The names of the top level that what is computed from those in `found`, or from what
    `starts`, may be assigned to; and those."""
    assigned: list[tuple[set[int], Any]] = []
    for item in own_nodes(node.body):
        if isinstance(item, program.Assign | program.Augment | program.For):
            slots = {
                t.slot.index
                for t in own_nodes((item.target,))
                if isinstance(t, program.NameTarget | program.EntryTarget)
            }
            assigned.append((slots, item.iterable if isinstance(item, program.For) else item.value))
        elif isinstance(item, program.Declare) and item.kind == "const":
            assigned.append(({item.slot.index}, item.value))
    while more := {
        k
        for slots, value in assigned
        for k in slots
        if k not in found and _reads(value, found, starts)
    }:
        found |= more
    return found


def _reads(value: Any, slots: set[int], starts: Starts) -> bool:
    """Whether an expression has a part that `starts`, or reads one of these names."""
    for item in own_nodes((value,)):
        if isinstance(item, program.Read) and item.slot.index in slots:
            return True
        if isinstance(item, program.FunctionLiteral | program.ModuleLiteral):
            defaults = [parameter.default for parameter in item.function.parameters]
            captured = any(outer.index in slots for outer, _ in item.function.captures)
            if captured or any(_reads(d, slots, starts) for d in defaults):
                return True
        if starts(item):
            return True
    return False


def _asks(value: Any, derived: set[int]) -> bool:
    """Whether an expression asks for a derivative, or reads a name that has something of one."""
    return _reads(value, derived, _is_request)


def _is_request(item: Any) -> bool:
    """Whether a node asks for a derivative."""
    if isinstance(item, program.Member):
        return item.name == "grad"
    op = getattr(item, "op", None)
    return (op is not None and is_request(op)) or (
        isinstance(item, program.MethodCall) and item.name in TAPE_REQUESTS
    )


# ---- programs that don't differentiate -----------------------------------------------------------

_AT_POINTS = frozenset(("grad", "value_and_grad", "vjp", "jvp", "value_and_jvp"))
_WINDOWS = program.Tape | program.Watch | program.Pause | program.Import


def asks_for_nothing(node: program.Program) -> bool:
    """Whether a program neither asks for a derivative nor says what is recorded, nor has rules for
    one mode only: forward mode then needs no trace, and means the same as reverse mode. Where the
    text doesn't decide it, the answer is no."""
    return _asks_for(node, frozenset())


def asks_of_functions(node: program.Program) -> bool:
    """Whether a program asks for no more than first derivatives of functions, at one point each, in
    any nesting."""
    return _asks_for(node, _AT_POINTS)


def _asks_for(node: program.Program, transforms: frozenset[str]) -> bool:
    """Whether a program asks for no other derivatives than these."""
    for item, _ in _everything(node.body):
        op = getattr(item, "op", None)
        allowed = op is not None and op.transforms and op.name in transforms
        if (
            not (_IS_PLAIN[type(item)] or allowed)
            or isinstance(item, _WINDOWS)
            or (op is not None and not allowed and (is_request(op) or op.reverse_only))
        ):
            return False
        if isinstance(item, program.MethodCall) and item.name in TAPE_REQUESTS:
            return False
        if isinstance(item, program.Function) and (item.opaque or item.rule is not None):
            return False
    return True


def has_elements(node: program.Program) -> bool:
    """Whether a program reads or writes elements."""
    return any(
        isinstance(item, program.Index | program.EntryTarget) for item, _ in _everything(node.body)
    )


def declared_variables(node: program.Program) -> list[program.Declare] | None:
    """The declarations of variables; None where modules have some, of which there may be any
    number."""
    found = []
    for item, inner in _everything(node.body):
        if _declares_variable(item):
            if inner:
                return None
            found.append(item)
    return found


def _declares_variable(item: Any) -> TypeGuard[program.Declare]:
    return isinstance(item, program.Declare) and item.kind == "var"


def is_scalar(item: program.Declare, inputs: Mapping[str, Any]) -> bool:
    """Whether a variable is a scalar, as far as the text and the values from outside show."""
    if item.type is not None and item.type.shape is not None:
        return False
    if item.slot.name in inputs:
        return type(inputs[item.slot.name]) in (int, float)
    return isinstance(item.value, program.Constant) and type(item.value.value) is float


# ---- programs that differentiate once ------------------------------------------------------------

# What can stand in such a program. Anything else may do more with a derivative than compute with
# it.
_PLAIN = (
    program.Declare
    | program.Assign
    | program.Augment
    | program.Update
    | program.Evaluate
    | program.If
    | program.While
    | program.For
    | program.Break
    | program.Continue
    | program.Return
    | program.Print
    | program.Output
    | program.Expect
    | program.Tape
    | program.Watch
    | program.Pause
    | program.Import
    | program.Program
    | program.Function
    | program.FunctionParameter
    | program.Argument
    | program.TypeSpec
    | program.Domain
    | program.Slice
    | program.EllipsisItem
    | program.Target
    | program.Expression
)


class _Plain(dict[type, bool]):
    """Whether a class of nodes is one of `_PLAIN`, cached by class: trees have many nodes."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, _PLAIN)
        return self[kind]


_IS_PLAIN = _Plain()


# Requests that differentiate nothing that they computed themselves, or record that whatever the
# program does.
_FIRST = frozenset(("grad", "vjp", "value_and_grad", "jacobian", "batch_jacobian", "hessian"))


def differentiates_once(node: program.Program, targets: Iterable[str] = ()) -> bool:
    """Whether nothing that a derivative gave is ever differentiated again, so that no sweep needs
    to be recorded.

    `targets` are names that gradients are asked of from outside, beside the outputs. Where the text
    doesn't decide it, the answer is no. A loop of gradient descent is a yes: its gradients go into
    the states of variables, which have no history.
    """
    derived = _derived_slots(node)
    differentiated = [value for _, value in named_outputs(node)]
    nodes = list(_everything(node.body))
    called = _called_where_made(nodes)
    for item, inner in nodes:
        op = getattr(item, "op", None)
        if not _IS_PLAIN[type(item)] or (
            op is not None and op.engine and op.category not in ("derivatives", "lists")
        ):
            return False
        if isinstance(item, program.Apply) and is_request(item.op):
            if (
                inner
                or item.op.name not in _FIRST
                or (item.op.transforms and id(item) not in called)
            ):
                return False
            differentiated.append(item.operands[0])
        elif op is not None and is_request(op):
            return False  # the function itself, as a value
        elif isinstance(item, program.MethodCall) and item.name in TAPE_REQUESTS:
            if inner:
                return False
            differentiated += [
                argument.value for argument in item.arguments if argument.keyword in ("", "target")
            ][:1]
    slots = [node.names[name].index for name in targets if name in node.names]
    return derived.isdisjoint(slots) and not any(_asks(value, derived) for value in differentiated)


def _called_where_made(nodes: list[tuple[Any, bool]]) -> set[int]:
    """The identities of the transforms that the top level only calls, directly or under a name used
    for nothing else. Any other might get into a function that is differentiated."""
    callees = {
        id(item.callee) for item, inner in nodes if isinstance(item, program.Call) and not inner
    }
    named = {
        id(item.value): item.target.slot.index
        for item, inner in nodes
        if isinstance(item, program.Assign)
        and isinstance(item.target, program.NameTarget)
        and not (inner or item.target.slot.cell)
    }
    passed = {
        item.slot.index
        for item, inner in nodes
        if isinstance(item, program.Read) and not inner and id(item) not in callees
    }
    return callees | {k for k, slot in named.items() if slot not in passed}


def _everything(nodes: Any) -> Iterator[tuple[Any, bool]]:
    """Yields every node below, each with whether it is inside a function or an imported program."""
    pending: list[tuple[Any, bool]] = [(item, False) for item in nodes]
    while pending:
        item, inner = pending.pop()
        kind = type(item)
        if kind is tuple:
            pending.extend([(part, inner) for part in item])
        elif (parts := PARTS[kind]) is not None:
            yield item, inner
            inner = inner or kind is program.Function or kind is program.Program
            pending.extend([(part, inner) for part in parts(item)])
