"""Where values go: the paths that name module instances, such as `net` or `net.layers[0]`.

An instance must know its path before its body runs, because values from outside are given by path
(`--set layer.w=…`). So the closure of an expression of which an instance can come (`may_make`) also
takes the path that its value goes to, and passes it on to what makes up the value: the items of a
list, the arguments of a module, the result of a call.

A name of the top level is its own path. A name of a module's body is a part of the instance. A name
that a function returns is whatever the result of the call goes to; its other names go by the
function's (`train.net`). An instance that goes nowhere has the name of its module. In programs
without modules none of this happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ...lang import program
from ...lang.program.walks import own_nodes
from ..values.boxes import primal
from ..values.kinds import RESULT, List
from .compiler import Closure, Compiler, Path

# an expression that takes the path that its value goes to
Placed: TypeAlias = "Callable[[list[Any], str | None], Any]"

# ---- what names are called -----------------------------------------------------------------------


def module_path(slot: program.Slot) -> Path:
    """The path of a name in a module's body, whose frame holds the path of the instance that is
    being made."""
    return lambda frame: f"{frame[RESULT]}.{slot.name}"


def function_path(node: program.Function) -> Callable[[program.Slot], Path]:
    """The path of a name in a function's body, whose frame holds the path of its result, if that
    has one."""
    returned = _returned_slots(node)

    def path(slot: program.Slot) -> Path:
        own = f"{node.name or 'fn'}.{slot.name}"
        if slot.index not in returned:
            return lambda frame: own
        suffix = returned[slot.index]
        return lambda frame: own if frame[RESULT] is None else frame[RESULT] + suffix

    return path


def _returned_slots(node: program.Function) -> dict[int, str]:
    """The names that a function returns, by slot, and where in its result they are: "", `[1]` or
    `.key`."""
    found: dict[int, str] = {}
    for statement in own_nodes(node.body):
        if isinstance(statement, program.Return):
            for value, suffix in _parts(statement.value):
                if isinstance(value, program.Read):
                    found[value.slot.index] = suffix
    return found


def _parts(value: Any) -> Iterator[tuple[Any, str]]:
    if isinstance(value, program.ListDisplay):
        yield from ((item, f"[{k}]") for k, item in enumerate(value.items))
    elif isinstance(value, program.DictDisplay):
        yield from ((item, f".{key}") for key, item in zip(value.keys, value.values, strict=True))
    else:
        yield value, ""


# ---- expressions that go somewhere ---------------------------------------------------------------


def compile_assigned(c: Compiler, target: program.Target, node: program.Expression) -> Closure:
    """The closure of an assigned value; in `a, b = M(1), M(2)` each part gets the path of its own
    name."""
    if isinstance(target, program.ListTarget):
        if not (
            c.places
            and isinstance(node, program.ListDisplay)
            and len(node.items) == len(target.items)
        ):
            return c.expression(node)
        parts = [compile_assigned(c, *pair) for pair in zip(target.items, node.items, strict=True)]
        return lambda frame: List([part(frame) for part in parts])
    value = c.expression(node)
    if not may_make(c, node):
        return value
    path = _target_path(c, target)
    return lambda frame: value(frame, path(frame))


def _target_path(
    c: Compiler, target: program.NameTarget | program.EntryTarget
) -> Callable[[list[Any]], str | None]:
    """The path of an assignment's target; of an element only if its index may be evaluated
    twice."""
    base = c.path(target.slot)
    if isinstance(target, program.NameTarget):
        return base
    if not all(map(_is_simple, target.path)):
        return lambda frame: None
    steps = [step if isinstance(step, str) else c.value(step[0]) for step in target.path]  # type: ignore[arg-type]
    return lambda frame: (
        base(frame)
        + "".join([_suffix(s if isinstance(s, str) else primal(s(frame))) for s in steps])
    )


def _is_simple(step: str | tuple[program.IndexItem, ...]) -> bool:
    return isinstance(step, str) or (
        len(step) == 1 and isinstance(step[0], program.Read | program.Constant)
    )


def _suffix(key: Any) -> str:
    return f".{key}" if type(key) is str else f"[{key}]"


def compile_result(c: Compiler, node: program.Expression) -> Closure:
    """The closure of a returned value, which gets the path of the call's result."""
    value = c.expression(node)
    return (lambda frame: value(frame, frame[RESULT])) if may_make(c, node) else value


def may_make(c: Compiler, node: Any) -> bool:
    """Whether an instance may come of an expression."""
    return c.places and _may_make(node)


def _may_make(node: Any) -> bool:
    if isinstance(node, program.ListDisplay):
        return any(map(_may_make, node.items))
    if isinstance(node, program.DictDisplay):
        return any(map(_may_make, node.values))
    if isinstance(node, program.Conditional):
        return _may_make(node.then) or _may_make(node.otherwise)
    if isinstance(node, program.Apply):
        return node.op.name == "append" and _may_make(node.operands[1])
    return isinstance(node, program.Call | program.MethodCall)


def compile_part(c: Compiler, node: program.Expression) -> Placed:
    """The closure of any expression, with the path as argument, which is ignored where no instance
    can come of it."""
    closure = c.expression(node)
    return closure if may_make(c, node) else lambda frame, *path: closure(frame)


def inside(path: str | None, suffix: str) -> str | None:
    return None if path is None else path + suffix
