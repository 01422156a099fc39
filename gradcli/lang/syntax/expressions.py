"""The nodes of expressions, and of functions without a name."""

from __future__ import annotations

from typing import Any, Literal

from ...diagnostics import Span
from ...structs import field
from .nodes import Node


class Name(Node):
    """A name that is read, or bound."""

    name: str


class Number(Node):
    """A number. `text` is how it was written; `type` tells 3 from 3.0."""

    value: int | float | complex
    type: Literal["int", "float", "complex"]
    text: str = field(compare=False)


class String(Node):
    """A string, without its quotes."""

    value: str


class Field(Node):
    """`{value:format}` in a text; `format` is "" where there is none."""

    value: Expression
    format: str = ""


class Text(Node):
    """`f"x = {x:.3f}"`: strings, and fields for values, in order."""

    parts: tuple[str | Field, ...]


class Word(Node):
    """`true`, `false` or `none`."""

    value: bool | None


class ListDisplay(Node):
    """`[a, b]`. `bare`: written without brackets, beside an assignment sign or after `return`."""

    items: tuple[Expression, ...]
    bare: bool = field(default=False, compare=False)


class Clause(Node):
    """`for names in iterable if condition …` in a comprehension."""

    names: tuple[Name, ...]
    iterable: Expression
    conditions: tuple[Expression, ...] = ()


class Comprehension(Node):
    """`[item for names in iterable if condition]`."""

    item: Expression
    clauses: tuple[Clause, ...]


class Entry(Node):
    """`key: value` in a dict."""

    key: str
    value: Expression


class DictDisplay(Node):
    """`{key: value}`."""

    entries: tuple[Entry, ...]


class Member(Node):
    """`object.name`."""

    object: Expression
    name: str
    name_span: Span = field(compare=False, repr=False)


class Argument(Node):
    """One argument of a call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


class Call(Node):
    """`callee(arguments)`."""

    callee: Expression
    arguments: tuple[Argument, ...]


class Slice(Node):
    """`start:stop:step` in an index."""

    start: Expression | None
    stop: Expression | None
    step: Expression | None


class EllipsisItem(Node):
    """`...` in an index."""


class Index(Node):
    """`object[items]`."""

    object: Expression
    items: tuple[IndexItem, ...]


class Unary(Node):
    """`-x`, `+x` and `not x`."""

    sign: Literal["+", "-", "not"]
    operand: Expression


class Power(Node):
    """`base ** exponent`."""

    base: Expression
    exponent: Expression


class Arithmetic(Node):
    """A chain of signs of one precedence, left to right: `a + b - c`, or `a * b @ c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


class Comparison(Node):
    """`a < b <= c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


class Logical(Node):
    """`a and b and c`, or with `or`."""

    sign: Literal["and", "or"]
    operands: tuple[Expression, ...]


class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


class Parameter(Node):
    """A parameter of a function or a module."""

    name: Name
    default: Expression | None = None


class Block(Node):
    """`{ … }`."""

    statements: tuple[Any, ...]  # which are made of expressions in turn


class Function(Node):
    """An anonymous function: `fn(c) = EXPR` or `fn(c) { … }`."""

    parameters: tuple[Parameter, ...]
    body: Expression | Block


Expression = (
    Name
    | Number
    | String
    | Text
    | Word
    | ListDisplay
    | Comprehension
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
