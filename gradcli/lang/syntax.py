"""The syntax tree: what the text says, one frozen dataclass a construct, each with its span.

Spans are left out of comparisons, so two spellings of one program are equal. Long chains are flat (`a + b + c` is one
`Arithmetic`), so that nothing that walks the tree needs a deep stack. `depth` is the height of the tree below a node;
the parser refuses more than `MAX_DEPTH`. Comparing, hashing and printing nodes recurse: do it only where the depth is
known to be small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..diagnostics import Span

MAX_DEPTH = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span = field(compare=False, repr=False)
    depth: int = field(default=1, compare=False, repr=False)


# ---- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number. `text` is how it was written; `type` tells 3 from 3.0."""

    value: int | float | complex
    type: Literal["int", "float", "complex"]
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class String(Node):
    value: str


@dataclass(frozen=True, slots=True)
class Word(Node):
    """`true`, `false` or `none`."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class ListDisplay(Node):
    """`[a, b]`. `bare`: written without brackets, beside an assignment sign or after `return`."""

    items: tuple[Expression, ...]
    bare: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Entry(Node):
    key: str
    value: Expression


@dataclass(frozen=True, slots=True)
class DictDisplay(Node):
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`object.name`."""

    object: Expression
    name: str
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class Call(Node):
    callee: Expression
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Slice(Node):
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@dataclass(frozen=True, slots=True)
class EllipsisItem(Node):
    """`...` in an index."""


@dataclass(frozen=True, slots=True)
class Index(Node):
    object: Expression
    items: tuple[IndexItem, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    sign: Literal["+", "-", "not"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Power(Node):
    base: Expression
    exponent: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """A chain of signs of one precedence, left to right: `a + b - c`, or `a * b @ c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`a < b <= c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logical(Node):
    sign: Literal["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    name: Name
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Block(Node):
    """`{ … }`."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Function(Node):
    """An anonymous function: `fn(c) = EXPR` or `fn(c) { … }`."""

    parameters: tuple[Parameter, ...]
    body: Expression | Block


Expression = (
    Name | Number | String | Word | ListDisplay | DictDisplay | Member | Call | Index | Unary | Power | Arithmetic
    | Comparison | Logical | Conditional | Function
)  # fmt: skip
IndexItem = Expression | Slice | EllipsisItem


# ---- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeSpec(Node):
    """`float[n, 2]`. A size is a number, a name, or None for `_`; `shape` is None for a scalar, "..." for any shape."""

    dtype: str
    shape: tuple[int | str | None, ...] | Literal["..."] | None = None


@dataclass(frozen=True, slots=True)
class Domain(Node):
    """`in (low, high)`."""

    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class Declare(Node):
    kind: Literal["var", "frozen", "const"]
    name: Name
    type: TypeSpec | None = None
    value: Expression | None = None
    domain: Domain | None = None


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target = value`; the target is a name, an element, a member, or a list of these."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Augment(Node):
    """`target += value`; `sign` is the operator without its `=`."""

    target: Expression
    sign: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Update(Node):
    """`variable := value`; `sign` is "", "+" or "-"."""

    variable: Expression
    sign: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Branch(Node):
    condition: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class If(Node):
    branches: tuple[Branch, ...]
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class While(Node):
    condition: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class For(Node):
    names: tuple[Name, ...]
    iterable: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class Break(Node):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Node):
    pass


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Rule(Node):
    """`backward (dy) { … }` after a function's body."""

    parameters: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Define(Node):
    """`fn f(x) = EXPR`, `fn f(x) { … }` with or without a `backward` rule, and `opaque fn`."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Expression | Block
    rule: Rule | None = None
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Backward(Node):
    """`backward f(dy, x) { … }`: registers the rule of an opaque function."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Print(Node):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Output(Node):
    """`output a, b`, or with a `name` `output z = EXPR`."""

    items: tuple[Expression, ...]
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Expect(Node):
    """`expect value`, or `expect value ~= close_to within (…)`."""

    value: Expression
    close_to: Expression | None = None
    options: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectError(Node):
    message: str
    body: Block


@dataclass(frozen=True, slots=True)
class Import(Node):
    """`import "file.tg" as alias`, or of the library `import nn as alias`."""

    path: str
    library: bool
    alias: Name


@dataclass(frozen=True, slots=True)
class Tape(Node):
    name: Name
    options: tuple[Argument, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Watch(Node):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Pause(Node):
    body: Block


@dataclass(frozen=True, slots=True)
class Record(Node):
    body: Block


@dataclass(frozen=True, slots=True)
class ModuleDefinition(Node):
    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


Statement = (
    Declare | Assign | Augment | Update | Evaluate | If | While | For | Break | Continue | Return | Define | Backward
    | Print | Output | Expect | ExpectError | Import | Tape | Watch | Pause | Record | ModuleDefinition
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Module(Node):
    """A whole source. It is an expression file when it is one expression and nothing else."""

    statements: tuple[Statement, ...]

    @property
    def is_expression(self) -> bool:
        return len(self.statements) == 1 and isinstance(self.statements[0], Evaluate)
