"""Finds, in the text of a program, which values may be computed from derivatives. Constants have no
history to keep, and a sweep whose results are never differentiated needn't be recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeGuard, get_args

from ...lang import program
from ...lang.program.walks import own_nodes, statements
from ..backends.tiers import FEW_SWEEPS
from .nodes import ByKind, Nodes
from .requests import TAPE_REQUESTS, is_request, named_outputs

Starts: TypeAlias = Callable[[Any], bool]


def outputs_of_variables(node: program.Program) -> set[str]:
    """The outputs that may be computed from variables; all where modules may declare some."""
    sources = {
        item.slot.index
        for item in statements(node.body)
        if isinstance(item, program.Import) or _declares_variable(item)
    }
    slots = _computed_from(node, sources, lambda item: False)
    return {
        name
        for name, value in named_outputs(node)
        if node.has_modules or not slots.isdisjoint(_reads(value, lambda item: False)[0])
    }


def _derived_slots(node: program.Program) -> set[int]:
    """The names of the top level that anything computed from a derivative may be assigned to. A
    variable's state isn't assigned: it has no history."""
    return _computed_from(node, set(), _is_request)


def _computed_from(node: program.Program, sources: set[int], starts: Starts) -> set[int]:
    """The names of the top level that what is computed from the `sources`, or from what `starts`,
    may be assigned to; and those."""
    readers: dict[int, set[int]] = {}  # the names that what a name holds may get into
    pending = list(sources)
    value: Any
    for item in statements(node.body):
        if isinstance(item, program.Assign | program.Augment | program.For):
            value = item.iterable if isinstance(item, program.For) else item.value
            assigned = [
                t.slot.index
                for t in own_nodes((item.target,))
                if isinstance(t, program.NameTarget | program.EntryTarget)
            ]
        elif isinstance(item, program.Declare) and item.kind == "const":
            value, assigned = item.value, [item.slot.index]
        else:
            continue
        read, begins = _reads(value, starts)
        for k in read:
            readers.setdefault(k, set()).update(assigned)
        if begins:
            pending += assigned
    found: set[int] = set()
    while pending:
        k = pending.pop()
        if k not in found:
            found.add(k)
            pending += readers.get(k, ())
    return found


def _reads(value: Any, starts: Starts) -> tuple[set[int], bool]:
    """The names that an expression reads, and whether it has a part that `starts`."""
    read: set[int] = set()
    begins = False
    for item in own_nodes((value,)):
        if isinstance(item, program.Read):
            read.add(item.slot.index)
        elif isinstance(item, program.FunctionLiteral | program.ModuleLiteral):
            read.update([outer.index for outer, _ in item.function.captures])
            for parameter in item.function.parameters:
                of_default, default_begins = _reads(parameter.default, starts)
                read |= of_default
                begins = begins or default_begins
        begins = begins or starts(item)
    return read, begins


def _asks(value: Any, derived: set[int]) -> bool:
    """Whether an expression asks for a derivative, or reads a name that has something of one."""
    read, begins = _reads(value, _is_request)
    return begins or not derived.isdisjoint(read)


def _is_request(item: Any) -> bool:
    """Whether a node asks for a derivative."""
    if isinstance(item, program.Member):
        return item.name == "grad"
    op = getattr(item, "op", None)
    return (op is not None and is_request(op)) or (
        isinstance(item, program.MethodCall) and item.name in TAPE_REQUESTS
    )


# ---- programs that don't differentiate -----------------------------------------------------------

_WINDOWS = frozenset((program.Tape, program.Watch, program.Pause))


def asks_for_nothing(nodes: Nodes) -> bool:
    """Whether a program neither asks for a derivative nor says what is recorded, nor has rules for
    one mode only: forward mode then needs no trace, and means the same as reverse mode. Where the
    text doesn't decide it, the answer is no."""
    return (
        program.Import not in nodes.kinds
        and nodes.kinds <= _PLAIN
        and nodes.kinds.isdisjoint(_WINDOWS)
        and not any(is_request(op) or op.reverse_only for op in nodes.ops)
        and not any(call.name in TAPE_REQUESTS for call in nodes.all(program.MethodCall))
        and not any(
            function.opaque or function.rule is not None for function in nodes.all(program.Function)
        )
    )


def has_elements(nodes: Nodes) -> bool:
    """Whether a program reads or writes elements."""
    return not nodes.kinds.isdisjoint((program.Index, program.EntryTarget))


def declared_variables(nodes: Nodes) -> list[program.Declare] | None:
    """The declarations of variables. None where modules declare some, since a module may have any
    number of instances."""
    if any(map(_declares_variable, nodes.inside.get(program.Declare, ()))):
        return None
    return [item for item in nodes.own.get(program.Declare, ()) if _declares_variable(item)]


def _declares_variable(item: Any) -> TypeGuard[program.Declare]:
    return isinstance(item, program.Declare) and item.kind == "var"


def is_scalar(item: program.Declare, inputs: Mapping[str, Any]) -> bool:
    """Whether a variable is a scalar, as far as the text and the values from outside show."""
    if item.type is not None and item.type.shape is not None:
        return False
    if item.slot.name in inputs:
        return type(inputs[item.slot.name]) in (int, float)
    return isinstance(item.value, program.Constant) and type(item.value.value) is float


def has_few_elements(declared: program.Declare) -> bool:
    """Whether a variable has few elements, as far as the text shows. A value from outside may have
    more: that takes time, for what depends on what isn't asked then."""
    if declared.type is not None and declared.type.shape is not None:
        return False
    given = declared.value
    items = given.items if isinstance(given, program.ListDisplay) else (given,)
    return len(items) <= FEW_SWEEPS and all(map(_is_number, items))


def _is_number(item: Any) -> bool:
    """Whether an expression is a number, such as `-0.5` or `pi/4`."""
    if isinstance(item, program.Apply) and item.op.elementwise:
        return all(map(_is_number, item.operands))
    return isinstance(item, program.Constant)


# ---- programs that differentiate once ------------------------------------------------------------

# What can stand in such a program. Anything else may do more with a derivative than compute with
# it.
_PLAIN = frozenset(
    (
        program.Declare,
        program.Assign,
        program.Augment,
        program.Update,
        program.Evaluate,
        program.If,
        program.While,
        program.For,
        program.Break,
        program.Continue,
        program.Return,
        program.Print,
        program.Output,
        program.Expect,
        program.Tape,
        program.Watch,
        program.Pause,
        program.Import,
        program.Program,
        program.Function,
        program.FunctionParameter,
        program.Argument,
        program.TypeSpec,
        program.Domain,
        program.Slice,
        program.EllipsisItem,
        *get_args(program.Target),
        *get_args(program.Expression),
    )
)

# Requests that differentiate nothing that they computed themselves, or record that whatever the
# program does.
_FIRST = frozenset(("grad", "vjp", "value_and_grad", "jacobian", "batch_jacobian", "hessian"))


def differentiates_once(nodes: Nodes, targets: Collection[str] | None = None) -> bool:
    """Whether nothing that a derivative gave is ever differentiated again, so that no sweep needs
    to be recorded.

    `targets` are the outputs and names that derivatives are asked of from outside; None for all
    outputs. Where the text doesn't decide it, the answer is no. A loop of gradient descent is a
    yes: its gradients go into the states of variables, which have no history.
    """
    asked = [item for item in nodes.own.get(program.Apply, ()) if is_request(item.op)]
    of_tapes = [
        item
        for item in nodes.own.get(program.MethodCall, ())
        if item.name in TAPE_REQUESTS and (item.op is None or not is_request(item.op))
    ]
    anywhere = sum(map(_is_request, nodes.with_ops()))  # in functions, too, and ops as values
    if len(asked) + len(of_tapes) < anywhere or not _all_first(nodes, asked):
        return False
    node = nodes.program
    differentiated = [
        value for name, value in named_outputs(node) if targets is None or name in targets
    ]
    differentiated += [item.operands[0] for item in asked]
    for item in of_tapes:
        differentiated += [
            argument.value for argument in item.arguments if argument.keyword in ("", "target")
        ][:1]
    derived = _derived_slots(node)
    slots = [node.names[name].index for name in targets or () if name in node.names]
    return derived.isdisjoint(slots) and not any(_asks(value, derived) for value in differentiated)


def _all_first(nodes: Nodes, asked: list[program.Apply]) -> bool:
    """Whether all that is asked, and all that may do more with a derivative than compute with it,
    is known to differentiate once."""
    called = _called_where_made(nodes.own)
    return (
        nodes.kinds <= _PLAIN
        and not any(op.engine and op.category not in ("derivatives", "lists") for op in nodes.ops)
        and all(
            item.op.name in _FIRST and (not item.op.transforms or id(item) in called)
            for item in asked
        )
    )


def _called_where_made(own: ByKind) -> set[int]:
    """The identities of the transforms that the top level only calls, directly or under a name used
    for nothing else. Any other might get into a function that is differentiated."""
    callees = {id(item.callee) for item in own.get(program.Call, ())}
    named = {
        id(item.value): item.target.slot.index
        for item in own.get(program.Assign, ())
        if isinstance(item.target, program.NameTarget) and not item.target.slot.cell
    }
    passed = {item.slot.index for item in own.get(program.Read, ()) if id(item) not in callees}
    return callees | {k for k, slot in named.items() if slot not in passed}
