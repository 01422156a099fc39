"""Where values go: the paths that name module instances, such as `net` or `net.layers[0]`.

An instance must know its path before its body runs, because values from outside are given by path (`--set layer.w=…`). So
an expression whose value goes somewhere is compiled with `compile_placed`: its closure is told where, and hands that on
to what makes up the value: the items of a list, the arguments of a module, the result of a call.

A name of the top level is its own path. A name of a module's body is a part of the instance. A name that a function
returns is whatever the result of the call goes to; its other names go by the function's (`train.net`). An instance that
goes nowhere has the name of its module. In programs without modules none of this happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ..lang import program
from ..ops import OPS
from . import calls, tapes
from .compiler import Closure, Compiler, Path, own_nodes
from .divergence import MERGE, choose
from .expressions import compile_condition, compile_expression, compile_value
from .tape import Site, primal
from .values import RESULT, Function, List, Tape

Placed: TypeAlias = "Callable[[list[Any], str | None], Any]"  # an expression, told where its value goes

# ---- what names are called -------------------------------------------------------------------------------------------


def module_path(slot: program.Slot) -> Path:
    """Of a name in a module's body, whose frame holds the path of the instance that is being made."""
    return lambda frame: f"{frame[RESULT]}.{slot.name}"


def function_path(node: program.Function) -> Callable[[program.Slot], Path]:
    """Of the names in a function's body, whose frame holds the path that its result goes to, if that has one."""
    returned = _returned_slots(node)

    def path(slot: program.Slot) -> Path:
        own = f"{node.name or 'fn'}.{slot.name}"
        if slot.index not in returned:
            return lambda frame: own
        suffix = returned[slot.index]
        return lambda frame: own if frame[RESULT] is None else frame[RESULT] + suffix

    return path


def _returned_slots(node: program.Function) -> dict[int, str]:
    """The names that a function returns, by slot, and where in its result they are: "", `[1]` or `.key`."""
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


# ---- expressions that go somewhere -----------------------------------------------------------------------------------


def compile_assigned(c: Compiler, target: program.Target, node: program.Expression) -> Closure:
    """The value of an assignment; of `a, b = M(1), M(2)` each part goes to its own name."""
    if isinstance(target, program.ListTarget):
        if not (c.places and isinstance(node, program.ListDisplay) and len(node.items) == len(target.items)):
            return compile_expression(c, node)
        parts = [compile_assigned(c, *pair) for pair in zip(target.items, node.items, strict=True)]
        return lambda frame: List([part(frame) for part in parts])
    placed = compile_placed(c, node)
    if placed is None:
        return compile_expression(c, node)
    path = _target_path(c, target)
    return lambda frame: placed(frame, path(frame))


def _target_path(c: Compiler, target: program.NameTarget | program.EntryTarget) -> Callable[[list[Any]], str | None]:
    """What an assignment's target is called; of an element only where its index may be evaluated twice."""
    base = c.path(target.slot)
    if isinstance(target, program.NameTarget):
        return base
    if not all(map(_is_simple, target.path)):
        return lambda frame: None
    steps = [step if isinstance(step, str) else compile_value(c, step[0]) for step in target.path]  # type: ignore[arg-type]
    return lambda frame: base(frame) + "".join([_suffix(s if isinstance(s, str) else primal(s(frame))) for s in steps])


def _is_simple(step: str | tuple[program.IndexItem, ...]) -> bool:
    return isinstance(step, str) or (len(step) == 1 and isinstance(step[0], program.Read | program.Constant))


def _suffix(key: Any) -> str:
    return f".{key}" if type(key) is str else f"[{key}]"


def compile_result(c: Compiler, node: program.Expression) -> Closure:
    """What a function returns: it goes where the result of the call goes."""
    placed = compile_placed(c, node)
    return compile_expression(c, node) if placed is None else lambda frame: placed(frame, frame[RESULT])


def compile_placed(c: Compiler, node: program.Expression | None) -> Placed | None:
    """The closure of an expression that is told where its value goes; None where no instance can come of it."""
    if not (c.places and _may_make(node)):
        return None
    return _PLACED[type(node)](c, node)


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
    """The same, of any expression: one that no instance can come of doesn't mind where it goes."""
    placed = compile_placed(c, node)
    if placed is not None:
        return placed
    plain = compile_expression(c, node)
    return lambda frame, path: plain(frame)


def _inside(path: str | None, suffix: str) -> str | None:
    return None if path is None else path + suffix


def _list(c: Compiler, node: program.ListDisplay) -> Placed:
    items = [(compile_part(c, item), f"[{k}]") for k, item in enumerate(node.items)]
    return lambda frame, path: List([item(frame, _inside(path, suffix)) for item, suffix in items])


def _dict(c: Compiler, node: program.DictDisplay) -> Placed:
    entries = [(key, compile_part(c, value)) for key, value in zip(node.keys, node.values, strict=True)]
    return lambda frame, path: {key: value(frame, _inside(path, f".{key}")) for key, value in entries}


def _conditional(c: Compiler, node: program.Conditional) -> Placed:
    condition, then, otherwise = compile_condition(c, node.condition), compile_part(c, node.then), compile_part(c, node.otherwise)
    site = Site(MERGE, node.span)

    def conditional(frame: list[Any], path: str | None) -> Any:
        holds = condition(frame)
        if holds is True or holds is False:
            return then(frame, path) if holds else otherwise(frame, path)
        return choose(frame, holds, lambda frame: then(frame, path), lambda frame: otherwise(frame, path), site)

    return conditional


def _append(c: Compiler, node: Any) -> Placed:
    site = Site(node.op, node.span)
    items, value = compile_expression(c, node.operands[0]), compile_part(c, node.operands[1])

    def append(frame: list[Any], path: str | None) -> Any:
        old = items(frame)
        return calls.run_op(frame[0], site, [old, value(frame, _argument_path(site.op, [old], path, 1))], {})

    return append


def _call(c: Compiler, node: program.Call) -> Placed:
    if not any(_may_make(a.value) for a in node.arguments):
        return calls.compile_call(c, node)
    callee, arguments, site = compile_expression(c, node.callee), _arguments(c, node.arguments), Site(calls.CALL, node.span)

    def call(frame: list[Any], path: str | None) -> Any:
        function = callee(frame)
        return calls.call_value(frame[0], function, *arguments(frame, function, [], path), site, path)

    return call


def _method_call(c: Compiler, node: program.MethodCall) -> Placed:
    if not any(_may_make(a.value) for a in node.arguments):
        return calls.compile_method_call(c, node)
    receiver, arguments, site = compile_expression(c, node.receiver), _arguments(c, node.arguments), Site(calls.CALL, node.span)
    method = calls.compile_method(c, node)

    def call(frame: list[Any], path: str | None) -> Any:
        value = receiver(frame)
        if type(value) is Tape:
            return tapes.call(frame[0], value, node.name, *arguments(frame, None, [], None), site)
        function, first = method(frame, value)
        return calls.call_value(frame[0], function, *arguments(frame, function, first, path), site, path)

    return call


def _arguments(c: Compiler, arguments: tuple[program.Argument, ...]) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """The arguments of a call, behind the `first` ones: those of a module go to the names of its parameters."""
    parts = [(a.keyword, compile_part(c, a.value)) for a in arguments]

    def evaluate(frame: list[Any], callee: Any, first: list[Any], path: str | None) -> tuple[list[Any], dict[str, Any]]:
        given, keywords = list(first), {}
        for keyword, part in parts:
            value = part(frame, _argument_path(callee, first, path, keyword or len(given)))
            if keyword:
                keywords[keyword] = value
            else:
                given.append(value)
        return given, keywords

    return evaluate


def _argument_path(callee: Any, first: list[Any], path: str | None, key: int | str) -> str | None:
    """Where an argument goes, by position or keyword: a module keeps it under the parameter's name, `append` as last item."""
    if type(callee) is Function and callee.code.members is not None:
        parameters = [name for name, _, _ in callee.code.parameters]
        name = key if isinstance(key, str) else parameters[key] if key < len(parameters) else None
        return _inside(path, f".{name}")
    if callee is _APPEND and first and type(first[0]) is List:
        return _inside(path, f"[{len(first[0])}]")
    return None


_APPEND = OPS["append"]
_PLACED: dict[type, Callable[[Compiler, Any], Placed]] = {
    program.ListDisplay: _list,
    program.DictDisplay: _dict,
    program.Conditional: _conditional,
    program.Apply: _append,
    program.Call: _call,
    program.MethodCall: _method_call,
}
