"""The nodes of expressions, and of functions without a name."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from ...diagnostics import Span
from ..tree import node
from .nodes import Node


@node
class Name(Node):
    """A name that is read, or bound."""

    name: str


@node
class Number(Node):
    """A number. `text` is how it was written; `type` tells 3 from 3.0."""

    value: int | float | complex
    type: Literal["int", "float", "complex"]
    text: str = field(compare=False)


@node
class String(Node):
    """A string, without its quotes."""

    value: str


@node
class Word(Node):
    """`true`, `false` or `none`."""

    value: bool | None


@node
class ListDisplay(Node):
    """`[a, b]`. `bare`: written without brackets, beside an assignment sign or after `return`."""

    items: tuple[Expression, ...]
    bare: bool = field(default=False, compare=False)


@node
class Entry(Node):
    """`key: value` in a dict."""

    key: str
    value: Expression


@node
class DictDisplay(Node):
    """`{key: value}`."""

    entries: tuple[Entry, ...]


@node
class Member(Node):
    """`object.name`."""

    object: Expression
    name: str
    name_span: Span = field(compare=False, repr=False)


@node
class Argument(Node):
    """One argument of a call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


@node
class Call(Node):
    """`callee(arguments)`."""

    callee: Expression
    arguments: tuple[Argument, ...]


@node
class Slice(Node):
    """`start:stop:step` in an index."""

    start: Expression | None
    stop: Expression | None
    step: Expression | None


@node
class EllipsisItem(Node):
    """`...` in an index."""


@node
class Index(Node):
    """`object[items]`."""

    object: Expression
    items: tuple[IndexItem, ...]


@node
class Unary(Node):
    """`-x`, `+x` and `not x`."""

    sign: Literal["+", "-", "not"]
    operand: Expression


@node
class Power(Node):
    """`base ** exponent`."""

    base: Expression
    exponent: Expression


@node
class Arithmetic(Node):
    """A chain of signs of one precedence, left to right: `a + b - c`, or `a * b @ c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@node
class Comparison(Node):
    """`a < b <= c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@node
class Logical(Node):
    """`a and b and c`, or with `or`."""

    sign: Literal["and", "or"]
    operands: tuple[Expression, ...]


@node
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@node
class Parameter(Node):
    """A parameter of a function or a module."""

    name: Name
    default: Expression | None = None


@node
class Block(Node):
    """`{ … }`."""

    statements: tuple[Any, ...]  # which are made of expressions in turn


@node
class Function(Node):
    """An anonymous function: `fn(c) = EXPR` or `fn(c) { … }`."""

    parameters: tuple[Parameter, ...]
    body: Expression | Block


Expression = (
    Name
    | Number
    | String
    | Word
    | ListDisplay
    | DictDisplay
    | Member
    | Call
    | Index
    | Unary
    | Power
    | Arithmetic
    | Comparison
    | Logical
    | Conditional
    | Function
)
IndexItem = Expression | Slice | EllipsisItem
