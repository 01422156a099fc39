"""Syntax tree to canonical text: `parse(print_module(tree))` is `tree` again. Comments are not kept
yet.

Four spaces a level, one statement a line, parentheses only where the precedence asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from ..platform.recursion import recursion
from . import syntax
from .lexer import RESERVED
from .operators import LEVELS
from .resolve import FRAMES

# Beside the levels of operators: a conditional or a function binds weakest, and what follows an
# operand binds tightest.
_LOOSEST, _NOT, _UNARY, _POWER, _OPERAND = 0, 3, 7, 8, 9
_UNESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f\u2028\u2029]')
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def print_module(tree: syntax.Module) -> str:
    """The canonical text of a program."""
    with recursion(FRAMES):
        return "".join(
            line + "\n" for statement in tree.statements for line in _statement(statement)
        )


def print_expression(node: syntax.Expression) -> str:
    """The canonical text of an expression."""
    with recursion(FRAMES):
        return _expression(node, _LOOSEST)


# ---- expressions ---------------------------------------------------------------------------------


def _expression(node: Any, level: int = _LOOSEST) -> str:
    """The text of `node`, in parentheses where it binds weaker than `level` asks."""
    own, text = _EXPRESSIONS[type(node)](node)
    return f"({text})" if own < level else text


def _list(items: Iterable[Any]) -> str:
    return ", ".join([_expression(item) for item in items])


def _number(node: syntax.Number) -> tuple[int, str]:
    return _OPERAND, node.text


def _string(text: str) -> str:
    return '"' + _UNESCAPED.sub(lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _text(node: syntax.Text) -> tuple[int, str]:
    parts = [
        _string(part)[1:-1].replace("{", "{{").replace("}", "}}")
        if isinstance(part, str)
        else "{" + _expression(part.value) + (f":{part.format}" if part.format else "") + "}"
        for part in node.parts
    ]
    return _OPERAND, f'f"{"".join(parts)}"'


def _comprehension(node: syntax.Comprehension) -> tuple[int, str]:
    texts = [_expression(node.item)]
    for clause in node.clauses:
        names = ", ".join(name.name for name in clause.names)
        texts.append(f"for {names} in {_expression(clause.iterable, 1)}")
        texts += [f"if {_expression(condition, 1)}" for condition in clause.conditions]
    return _OPERAND, f"[{' '.join(texts)}]"


def _dict(node: syntax.DictDisplay) -> tuple[int, str]:
    entries = [f"{_key(entry.key)}: {_expression(entry.value)}" for entry in node.entries]
    return _OPERAND, "{" + ", ".join(entries) + "}"


def _key(key: str) -> str:
    return key if key.isidentifier() and key not in RESERVED else _string(key)


def _member(node: syntax.Member) -> tuple[int, str]:
    object = _expression(node.object, _OPERAND)
    # `3.x` would be a number and a name.
    if isinstance(node.object, syntax.Number):
        object = f"({object})"
    return _OPERAND, f"{object}.{node.name}"


def _arguments(arguments: tuple[syntax.Argument, ...]) -> str:
    texts = [(f"{a.keyword} = " if a.keyword else "") + _expression(a.value) for a in arguments]
    return f"({', '.join(texts)})"


def _call(node: syntax.Call) -> tuple[int, str]:
    return _OPERAND, _expression(node.callee, _OPERAND) + _arguments(node.arguments)


def _index(node: syntax.Index) -> tuple[int, str]:
    return _OPERAND, f"{_expression(node.object, _OPERAND)}[{_list(node.items)}]"


def _slice(node: syntax.Slice) -> tuple[int, str]:
    start, stop, step = (
        "" if bound is None else _expression(bound) for bound in (node.start, node.stop, node.step)
    )
    return _LOOSEST, f"{start}:{stop}" + (f":{step}" if step else "")


def _unary(node: syntax.Unary) -> tuple[int, str]:
    if node.sign == "not":
        return _NOT, f"not {_expression(node.operand, _NOT)}"
    return _UNARY, node.sign + _expression(node.operand, _UNARY)


def _power(node: syntax.Power) -> tuple[int, str]:
    # To the right a sign may stand without parentheses: `2**-x`.
    return _POWER, f"{_expression(node.base, _OPERAND)}**{_expression(node.exponent, _UNARY)}"


def _chain(node: syntax.Arithmetic | syntax.Comparison) -> tuple[int, str]:
    level = LEVELS[node.signs[0]]
    parts = [_expression(node.operands[0], level + 1)]
    for sign, operand in zip(node.signs, node.operands[1:], strict=True):
        parts += [sign, _expression(operand, level + 1)]
    return level, " ".join(parts)


def _logical(node: syntax.Logical) -> tuple[int, str]:
    level = LEVELS[node.sign]
    return level, f" {node.sign} ".join(
        [_expression(operand, level + 1) for operand in node.operands]
    )


def _conditional(node: syntax.Conditional) -> tuple[int, str]:
    then, condition = _expression(node.then, 1), _expression(node.condition, 1)
    return _LOOSEST, f"{then} if {condition} else {_expression(node.otherwise)}"


def _function(node: syntax.Function) -> tuple[int, str]:
    if isinstance(node.body, syntax.Block):
        return _LOOSEST, f"fn{_parameters(node.parameters)} {_block(node.body)}"
    return _LOOSEST, f"fn{_parameters(node.parameters)} = {_expression(node.body)}"


def _parameters(parameters: tuple[syntax.Parameter, ...]) -> str:
    texts = [
        p.name.name + ("" if p.default is None else f" = {_expression(p.default)}")
        for p in parameters
    ]
    return f"({', '.join(texts)})"


_WORDS = {True: "true", False: "false", None: "none"}
_EXPRESSIONS: dict[type, Callable[[Any], tuple[int, str]]] = {
    syntax.Name: lambda node: (_OPERAND, node.name),
    syntax.Number: _number,
    syntax.String: lambda node: (_OPERAND, _string(node.value)),
    syntax.Text: _text,
    syntax.Comprehension: _comprehension,
    syntax.Word: lambda node: (_OPERAND, _WORDS[node.value]),
    syntax.ListDisplay: lambda node: (_OPERAND, f"[{_list(node.items)}]"),
    syntax.DictDisplay: _dict,
    syntax.Member: _member,
    syntax.Call: _call,
    syntax.Index: _index,
    syntax.Slice: _slice,
    syntax.EllipsisItem: lambda node: (_OPERAND, "..."),
    syntax.Unary: _unary,
    syntax.Power: _power,
    syntax.Arithmetic: _chain,
    syntax.Comparison: _chain,
    syntax.Logical: _logical,
    syntax.Conditional: _conditional,
    syntax.Function: _function,
}


# ---- statements ----------------------------------------------------------------------------------


def _statement(node: Any) -> list[str]:
    """The lines of a statement. Those of a function inside an expression are one text, with
    newlines in it."""
    return _STATEMENTS[type(node)](node).split("\n")


def _block(block: syntax.Block) -> str:
    lines = ["    " + line for statement in block.statements for line in _statement(statement)]
    return "\n".join(["{", *lines, "}"]) if lines else "{ }"


def _packed(node: syntax.Expression) -> str:
    """A value beside an assignment sign: a list that was written without brackets stays so."""
    if isinstance(node, syntax.ListDisplay) and node.bare:
        return _list(node.items)
    return _expression(node)


def _declare(node: syntax.Declare) -> str:
    text = f"{node.kind} {node.name.name}"
    if node.type is not None:
        text += f": {node.type.dtype}{_shape(node.type.shape)}"
    if node.value is not None:
        text += f" = {_packed(node.value)}"
    if node.domain is not None:
        text += f" in ({_expression(node.domain.low)}, {_expression(node.domain.high)})"
    return text


def _shape(shape: Any) -> str:
    if shape is None:
        return ""
    return (
        "[...]"
        if shape == "..."
        else f"[{', '.join('_' if size is None else str(size) for size in shape)}]"
    )


def _if(node: syntax.If) -> str:
    parts = [
        f"if {_expression(branch.condition)} {_block(branch.body)}" for branch in node.branches
    ]
    text = " el".join(parts)
    return text if node.otherwise is None else f"{text} else {_block(node.otherwise)}"


def _for(node: syntax.For) -> str:
    names = ", ".join(name.name for name in node.names)
    return f"for {names} in {_expression(node.iterable)} {_block(node.body)}"


def _define(node: syntax.Define) -> str:
    head = f"{'opaque ' if node.opaque else ''}fn {node.name.name}{_parameters(node.parameters)}"
    if not isinstance(node.body, syntax.Block):
        return f"{head} = {_expression(node.body)}"
    rule = node.rule
    tail = "" if rule is None else f" backward {_parameters(rule.parameters)} {_block(rule.body)}"
    return f"{head} {_block(node.body)}{tail}"


def _headed(word: str) -> Callable[[Any], str]:
    """`backward f(dy) { … }` and `module M(n) { … }`."""
    return lambda node: f"{word} {node.name.name}{_parameters(node.parameters)} {_block(node.body)}"


def _output(node: syntax.Output) -> str:
    return (
        f"output {node.name.name} = {_expression(node.items[0])}"
        if node.name
        else f"output {_list(node.items)}"
    )


def _expect(node: syntax.Expect) -> str:
    text = f"expect {_expression(node.value)}"
    if node.close_to is not None:
        text += f" ~= {_expression(node.close_to)}"
    text += f" within {_arguments(node.options)}" if node.options else ""
    return text + ("" if node.message is None else f", {_expression(node.message)}")


def _import(node: syntax.Import) -> str:
    if not node.library:
        return f"import {_string(node.path)} as {node.alias.name}"
    return f"import {node.path}" + (
        "" if node.alias.name == node.path else f" as {node.alias.name}"
    )


def _tape(node: syntax.Tape) -> str:
    options = f" {_arguments(node.options)}" if node.options else ""
    return f"tape {node.name.name}{options} {_block(node.body)}"


_STATEMENTS: dict[type, Callable[[Any], str]] = {
    syntax.Declare: _declare,
    syntax.Assign: lambda node: f"{_packed(node.target)} = {_packed(node.value)}",
    syntax.Augment: lambda node: f"{_expression(node.target)} {node.sign}= {_packed(node.value)}",
    syntax.Update: lambda node: f"{_expression(node.variable)} :{node.sign}= {_packed(node.value)}",
    syntax.Evaluate: lambda node: _expression(node.value),
    syntax.If: _if,
    syntax.While: lambda node: f"while {_expression(node.condition)} {_block(node.body)}",
    syntax.For: _for,
    syntax.Break: lambda node: "break",
    syntax.Continue: lambda node: "continue",
    syntax.Return: lambda node: "return" if node.value is None else f"return {_packed(node.value)}",
    syntax.Define: _define,
    syntax.Backward: _headed("backward"),
    syntax.ModuleDefinition: _headed("module"),
    syntax.Print: lambda node: f"print {_list(node.items)}",
    syntax.Output: _output,
    syntax.Expect: _expect,
    syntax.ExpectError: lambda node: f"expect error {_string(node.message)} {_block(node.body)}",
    syntax.Import: _import,
    syntax.Tape: _tape,
    syntax.Watch: lambda node: f"watch {_list(node.items)}",
    syntax.Pause: lambda node: f"pause {_block(node.body)}",
    syntax.Record: lambda node: f"record {_block(node.body)}",
}
