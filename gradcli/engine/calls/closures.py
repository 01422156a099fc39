"""Calls as closures: of values, of builtins in place, of builtins that need the engine, and of
methods. Those of which an instance may come also take the path of their result (`paths.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lang import program
from ...ops import BUILTINS, OPS, registry
from ...ops.elsewhere import suggestion
from ..analysis.requests import TAPE_REQUESTS
from ..compilation.compiler import Closure, Compiler
from ..compilation.conditions import deciding
from ..compilation.paths import compile_part, inside, may_make
from ..operations.access import VIEWS, dict_view, member
from ..operations.apply import apply
from ..operations.invoke import CALL
from ..trace.tape import Site
from ..transforms import tape_members
from ..values.kinds import UNSET, Function, Instance, List, Namespace, Tape, Transform, read
from . import builtins
from .calling import caller, run_op

# ---- calls ---------------------------------------------------------------------------------------


def compile_call(c: Compiler, node: program.Call) -> Closure:
    """The closure of a call; it also takes the path that the result goes to: `(frame, path)`."""
    callee = c.expression(node.callee)
    site, make = Site(CALL, node.span), caller(c, node.span)
    if _make_instances(c, node.arguments):
        placed = _placed_arguments(c, node.arguments)

        def call_placed(frame: list[Any], path: str | None = None) -> Any:
            function = callee(frame)
            return make(frame[0], function, *placed(frame, function, [], path), site, path)

        return call_placed
    positional, keywords = _plain_arguments(c, node.arguments)

    def call(frame: list[Any], path: str | None = None) -> Any:
        function = callee(frame)
        arguments = [a(frame) for a in positional]
        given = {name: value(frame) for name, value in keywords} if keywords else {}
        return make(frame[0], function, arguments, given, site, path)

    return call


# ---- arguments -----------------------------------------------------------------------------------

_APPEND = OPS["append"]


def _plain_arguments(
    c: Compiler, arguments: tuple[program.Argument, ...]
) -> tuple[list[Closure], list[tuple[str, Closure]]]:
    positional = [c.expression(a.value) for a in arguments if not a.keyword]
    return positional, [(a.keyword, c.expression(a.value)) for a in arguments if a.keyword]


def _make_instances(c: Compiler, arguments: tuple[program.Argument, ...]) -> bool:
    return any([may_make(c, a.value) for a in arguments])  # noqa: C419


def _placed_arguments(
    c: Compiler, arguments: tuple[program.Argument, ...]
) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """The closure of the arguments of a call after the `first` ones; those of a module get the
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


# ---- builtins in place ---------------------------------------------------------------------------


def compile_structural(
    c: Compiler, node: program.Apply, site: Site, operands: list[Closure | None]
) -> Closure:
    """The closure of a call of a structural builtin whose arguments the resolver has bound."""
    op = node.op
    c.rules = c.rules or op.reverse_only
    given = [(name, deciding(c, c.expression(value), value.span)) for name, value in node.options]
    parameters = op.signature.operands
    fixed = [
        _default(parameters[k].default) if operand is None else operand
        for k, operand in enumerate(operands)
    ]
    if op.engine or op.signature.variadic:
        return lambda frame: run_op(
            frame[0],
            site,
            [operand(frame) for operand in fixed],
            {name: value(frame) for name, value in given},
        )
    base = op.signature.defaults

    def call(frame: list[Any]) -> Any:
        values = tuple([operand(frame) for operand in fixed])
        if not given:
            return apply(frame[0], site, values, base)
        found = [(name, value(frame)) for name, value in given]
        return apply(frame[0], site, values, base | builtins.plain_options(frame[0], site, found))

    return call


def _default(value: Any) -> Closure:
    return lambda frame: value


def compile_engine_call(c: Compiler, node: program.Apply) -> Closure:
    """The closure of a call of an engine builtin, whose operands come as they are, variables
    unread."""
    if node.op.transforms and all(_is_constant(value) for _, value in node.options):
        return _compile_transform(c, node)
    implementation = builtins.implementation(node.op)
    if c.in_function and builtins.asks_of_values(node.op):
        c.asks = True
    site = Site(node.op, node.span)
    defaults = [p.default for p in node.op.signature.operands]
    operands = [None if o is None else c.expression(o) for o in node.operands]
    defaults += [None] * (len(operands) - len(defaults))
    given = [(name, c.expression(value)) for name, value in node.options]
    base = node.op.signature.defaults

    def call(frame: list[Any]) -> Any:
        options = base | {name: value(frame) for name, value in given}
        values = [
            default if o is None else o(frame)
            for o, default in zip(operands, defaults, strict=True)
        ]
        return implementation(frame[0], site, values, options)

    return call


def compile_append(c: Compiler, node: program.Apply) -> Closure:
    """The closure of an `append` to a list, of a value of which an instance may come."""
    assert node.operands[0] is not None
    assert node.operands[1] is not None
    items, value = c.expression(node.operands[0]), compile_part(c, node.operands[1])
    site = Site(node.op, node.span)

    def append(frame: list[Any], path: str | None = None) -> Any:
        old = items(frame)
        new = value(frame, _argument_path(node.op, [old], path, 1))
        return run_op(frame[0], site, [old, new], {})

    return append


def _is_constant(node: program.Expression) -> bool:
    return isinstance(node, program.Constant) or (
        isinstance(node, program.ListDisplay) and all(map(_is_constant, node.items))
    )


def _compile_transform(c: Compiler, node: program.Apply) -> Closure:
    """The closure of a transform such as `grad(f, wrt = [0, 1])`, whose options are evaluated
    once."""
    assert node.operands[0] is not None
    function = c.expression(node.operands[0])
    given = [(name, c.expression(value)) for name, value in node.options]
    site, kind = Site(node.op, node.span), node.op.name
    options: dict[str, Any] | None = None
    last: Transform | None = None  # of a function that captures nothing, and so keeps nothing alive

    def call(frame: list[Any]) -> Transform:
        nonlocal options, last
        if options is None:
            chosen = {name: value(frame) for name, value in given}
            options = builtins.transform_options(
                frame[0], site, node.op.signature.defaults | chosen
            )
        value = function(frame)
        if last is not None and last.function is value:
            return last
        if type(value) is Function:
            made = Transform(kind, value, **options)
            last = made if value.captures_nothing() else None
            return made
        return builtins.transform(frame[0], site, value, options)

    return call


# ---- method calls --------------------------------------------------------------------------------


def compile_method_call(c: Compiler, node: program.MethodCall) -> Closure:
    receiver, method = c.expression(node.receiver), _compile_method(c, node)
    site, name, make = Site(CALL, node.span), node.name, caller(c, node.span)
    if _make_instances(c, node.arguments):
        placed = _placed_arguments(c, node.arguments)

        def call_placed(frame: list[Any], path: str | None = None) -> Any:
            run, value = frame[0], receiver(frame)
            if type(value) is Tape:
                return tape_members.call(run, value, name, *placed(frame, None, [], None), site)
            callee, first = method(frame, value)
            return make(run, callee, *placed(frame, callee, first, path), site, path)

        return call_placed
    positional, keywords = _plain_arguments(c, node.arguments)

    def call(frame: list[Any], path: str | None = None) -> Any:
        run = frame[0]
        value = receiver(frame)
        arguments = [a(frame) for a in positional]
        given = {keyword: argument(frame) for keyword, argument in keywords}
        if type(value) is Tape:
            return tape_members.call(run, value, name, arguments, given, site)
        if type(held := read(value)) is dict:  # of a variable, too
            value = held
        if name in VIEWS and type(value) is dict and name not in value:
            return dict_view(run, value, name, [*arguments, *given], site.span)
        callee, first = method(frame, value)
        return make(run, callee, [*first, *arguments], given, site, path)

    return call


def _compile_method(
    c: Compiler, node: program.MethodCall
) -> Callable[[list[Any], Any], tuple[Any, list[Any]]]:
    """What `value.name(…)` calls, and with what before the arguments: a member of a dict, an import
    or an instance with nothing, a function or builtin with the value. Raises GradcliError (E309)
    where there is none."""
    if c.in_function and (
        node.name in TAPE_REQUESTS or (node.op is not None and builtins.asks_of_values(node.op))
    ):
        c.asks = True
    c.rules = c.rules or (node.op is not None and node.op.reverse_only)
    function = None if node.function is None else c.expression(node.function)
    name = node.name

    def method(frame: list[Any], value: Any) -> tuple[Any, list[Any]]:
        run = frame[0]
        if type(value) in (dict, Namespace, Instance):
            return member(run, value, name, node.span), []
        callee = function(frame) if function is not None else UNSET
        if callee is UNSET:
            callee = node.op or registry.find(name)
        if callee is None:
            run.fail(
                "E309",
                f"there is no function `{name}`",
                node.span,
                help=suggestion(name, BUILTINS, called=True),
            )
        return callee, [value]

    return method
