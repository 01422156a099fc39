"""Expressions that pass the path of their value on to its parts: see `paths.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...ops import OPS
from ..compilation.compiler import Compiler
from ..compilation.conditions import compile_condition
from ..compilation.paths import Placed, compile_part, inside, may_make
from ..lanes.divergence import choose
from ..lanes.merging import MERGE
from ..operations.invoke import CALL
from ..trace.tape import Site
from ..transforms import tape_members
from ..values.kinds import Function, List, Tape
from .calling import call_value, run_op
from .closures import compile_call, compile_method, compile_method_call


def _list(c: Compiler, node: program.ListDisplay) -> Placed:
    items = [(compile_part(c, item), f"[{k}]") for k, item in enumerate(node.items)]
    return lambda frame, path: List([item(frame, inside(path, suffix)) for item, suffix in items])


def _dict(c: Compiler, node: program.DictDisplay) -> Placed:
    entries = [
        (key, compile_part(c, value)) for key, value in zip(node.keys, node.values, strict=True)
    ]
    return lambda frame, path: {
        key: value(frame, inside(path, f".{key}")) for key, value in entries
    }


def _conditional(c: Compiler, node: program.Conditional) -> Placed:
    condition = compile_condition(c, node.condition)
    then = compile_part(c, node.then)
    otherwise = compile_part(c, node.otherwise)
    site = Site(MERGE, node.span)

    def conditional(frame: list[Any], path: str | None) -> Any:
        holds = condition(frame)
        if holds is True or holds is False:
            return then(frame, path) if holds else otherwise(frame, path)
        return choose(
            frame,
            holds,
            lambda frame: then(frame, path),
            lambda frame: otherwise(frame, path),
            site,
        )

    return conditional


def _append(c: Compiler, node: Any) -> Placed:
    site = Site(node.op, node.span)
    items, value = c.expression(node.operands[0]), compile_part(c, node.operands[1])

    def append(frame: list[Any], path: str | None) -> Any:
        old = items(frame)
        return run_op(
            frame[0], site, [old, value(frame, _argument_path(site.op, [old], path, 1))], {}
        )

    return append


def _call(c: Compiler, node: program.Call) -> Placed:
    if not any(may_make(a.value) for a in node.arguments):
        return compile_call(c, node)
    callee = c.expression(node.callee)
    arguments = _arguments(c, node.arguments)
    site = Site(CALL, node.span)

    def call(frame: list[Any], path: str | None) -> Any:
        function = callee(frame)
        return call_value(frame[0], function, *arguments(frame, function, [], path), site, path)

    return call


def _method_call(c: Compiler, node: program.MethodCall) -> Placed:
    if not any(may_make(a.value) for a in node.arguments):
        return compile_method_call(c, node)
    receiver = c.expression(node.receiver)
    arguments = _arguments(c, node.arguments)
    site = Site(CALL, node.span)
    method = compile_method(c, node)

    def call(frame: list[Any], path: str | None) -> Any:
        value = receiver(frame)
        if type(value) is Tape:
            return tape_members.call(
                frame[0], value, node.name, *arguments(frame, None, [], None), site
            )
        function, first = method(frame, value)
        return call_value(frame[0], function, *arguments(frame, function, first, path), site, path)

    return call


def _arguments(
    c: Compiler, arguments: tuple[program.Argument, ...]
) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """The closures of the arguments of a call after the first `first`; those of a module get the
    paths of its parameters."""
    parts = [(a.keyword, compile_part(c, a.value)) for a in arguments]

    def evaluate(
        frame: list[Any], callee: Any, first: list[Any], path: str | None
    ) -> tuple[list[Any], dict[str, Any]]:
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
    """The path that an argument gets, by position or keyword: a module keeps it under the
    parameter's name, `append` as last item."""
    if type(callee) is Function and callee.code.members is not None:
        parameters = [name for name, _, _ in callee.code.parameters]
        name = key if isinstance(key, str) else parameters[key] if key < len(parameters) else None
        return inside(path, f".{name}")
    if callee is _APPEND and first and type(first[0]) is List:
        return inside(path, f"[{len(first[0])}]")
    return None


_APPEND = OPS["append"]
PLACED: dict[type, Callable[[Compiler, Any], Placed]] = {
    program.ListDisplay: _list,
    program.DictDisplay: _dict,
    program.Conditional: _conditional,
    program.Apply: _append,
    program.Call: _call,
    program.MethodCall: _method_call,
}
