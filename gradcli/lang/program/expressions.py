"""The nodes of expressions, and of functions and modules, which are values."""

from __future__ import annotations

from typing import Any, Literal

from ...diagnostics import Span
from ...ops.op import Op
from ...structs import field
from ..tree import Tree
from .nodes import Node, Slot


class Constant(Node):
    """A literal: int, float, complex, bool, str or None. `pi`, `e`, `inf`, `nan` are such literals
    too."""

    value: Any


class Read(Node):
    """The value under a name. `checked`: it may be unassigned on some path, so reading asks."""

    slot: Slot
    checked: bool = False


class Builtin(Node):
    """A builtin as a value: `f = sin`, `grad(tanh)`."""

    op: Op


class Apply(Node):
    """A builtin or operator applied. `operands` follow the signature (None: its default; a variadic
    op has them all); `options` are the static ones, by name. Operators are here too: `a + b` is
    Apply(OPS["add"], …)."""

    op: Op
    operands: tuple[Expression | None, ...]
    options: tuple[tuple[str, Expression], ...] = ()


class Argument(Tree):
    """One argument of a dynamic call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


class Call(Node):
    """A call of a value: a function of the program, a builtin under another name, a module, a
    transform."""

    callee: Expression
    arguments: tuple[Argument, ...]


class MethodCall(Node):
    """`receiver.name(…)`. Dicts, modules and tapes use their own member; any other value is the
    first argument of `function` (a name in scope) or else of the builtin `op`; where both are None
    there is no such function."""

    receiver: Expression
    name: str
    arguments: tuple[Argument, ...]
    function: Expression | None
    op: Op | None


class Member(Node):
    """`object.name` that is not called: `.T`, `.shape`, a key of a dict, a name of an import or
    module."""

    object: Expression
    name: str


class Slice(Node):
    """`start:stop:step` in an index."""

    start: Expression | None
    stop: Expression | None
    step: Expression | None


class EllipsisItem(Node):
    """`...` inside an index."""


class Index(Node):
    """`object[items]`; `none` among the items is a new axis."""

    object: Expression
    items: tuple[IndexItem, ...]


class ListDisplay(Node):
    """`[a, b]`."""

    items: tuple[Expression, ...]


class DictDisplay(Node):
    """`{key: value}`."""

    keys: tuple[str, ...]
    values: tuple[Expression, ...]


class Field(Node):
    """`{value:format}` in a text; `format` is "" where there is none."""

    value: Expression
    format: str


class Text(Node):
    """`f"x = {x:.3f}"`: strings, and fields for values, in order."""

    parts: tuple[str | Field, ...]


class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


class Logical(Node):
    """`and` / `or` over two or more operands, left to right, stopping early."""

    kind: Literal["and", "or"]
    operands: tuple[Expression, ...]


class Chain(Node):
    """A chained comparison, `a < b <= c`: each operand is evaluated once, and it stops at the first
    that fails. A single comparison is an `Apply`."""

    operands: tuple[Expression, ...]
    ops: tuple[Op, ...]
    spans: tuple[Span, ...] = field(compare=False)  # of each comparison


class FunctionLiteral(Node):
    """`fn(c) = …` as a value, and the value that a `fn` statement binds."""

    function: Function


class ModuleLiteral(Node):
    """The value that a `module` statement binds: calling it runs the body of `function` and gives
    an instance, whose `members` are the names of the body, parameters included, in order."""

    function: Function
    members: tuple[Slot, ...]


Expression = (
    Constant
    | Read
    | Builtin
    | Apply
    | Call
    | MethodCall
    | Member
    | Index
    | ListDisplay
    | DictDisplay
    | Text
    | Conditional
    | Logical
    | Chain
    | FunctionLiteral
    | ModuleLiteral
)
IndexItem = Expression | Slice | EllipsisItem


# ---- functions -----------------------------------------------------------------------------------


class FunctionParameter(Tree):
    """A parameter of a function or a module."""

    slot: Slot
    default: Expression | None  # evaluated in the enclosing frame, when the function value is made
    span: Span = field(compare=False)


class Function(Node):
    """A function's code. `name` is "" for an anonymous one. `captures`: (slot in the enclosing
    frame, own slot), both cells. `self_slot` is where the function itself is found when its body
    calls it by name (no cycle through a cell). `rule` is its own derivative rule, a function inside
    this one's frame; an `opaque` one may be given a rule later."""

    name: str
    parameters: tuple[FunctionParameter, ...]
    body: tuple[Any, ...]  # of statements, which are made of expressions in turn
    n_slots: int
    captures: tuple[tuple[Slot, Slot], ...] = ()
    self_slot: Slot | None = None
    rule: Function | None = None
    opaque: bool = False
