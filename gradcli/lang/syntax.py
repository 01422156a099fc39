"""The syntax tree: what the text says, one frozen record a construct, each with its span.

Spans are left out of comparisons, so two spellings of one program are equal. Long chains are flat (`a + b + c` is one
`Arithmetic`), so that nothing that walks the tree needs a deep stack. `depth` is the height of the tree below a node;
the parser refuses more than `MAX_DEPTH`. Comparing, hashing and printing nodes recurse: do it only where the depth is
known to be small.
"""

from __future__ import annotations

from typing import Literal

from ..diagnostics import Span
from ..frozen import Frozen, field, frozen

MAX_DEPTH = 400


@frozen(kw_only=True)
class Node(Frozen):
    span: Span = field(compare=False, repr=False)
    depth: int = field(default=1, compare=False, repr=False)


# ---- expressions ---------------------------------------------------------------------------------------------------


@frozen
class Name(Node):
    name: str


@frozen
class Number(Node):
    """A number. `text` is how it was written; `type` tells 3 from 3.0."""

    value: int | float | complex
    type: Literal["int", "float", "complex"]
    text: str = field(compare=False)


@frozen
class String(Node):
    value: str


@frozen
class Word(Node):
    """`true`, `false` or `none`."""

    value: bool | None


@frozen
class ListDisplay(Node):
    """`[a, b]`. `bare`: written without brackets, beside an assignment sign or after `return`."""

    items: tuple[Expression, ...]
    bare: bool = field(default=False, compare=False)


@frozen
class Entry(Node):
    key: str
    value: Expression


@frozen
class DictDisplay(Node):
    entries: tuple[Entry, ...]


@frozen
class Member(Node):
    """`object.name`."""

    object: Expression
    name: str
    name_span: Span = field(compare=False, repr=False)


@frozen
class Argument(Node):
    """One argument of a call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


@frozen
class Call(Node):
    callee: Expression
    arguments: tuple[Argument, ...]


@frozen
class Slice(Node):
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@frozen
class EllipsisItem(Node):
    """`...` in an index."""


@frozen
class Index(Node):
    object: Expression
    items: tuple[IndexItem, ...]


@frozen
class Unary(Node):
    sign: Literal["+", "-", "not"]
    operand: Expression


@frozen
class Power(Node):
    base: Expression
    exponent: Expression


@frozen
class Arithmetic(Node):
    """A chain of signs of one precedence, left to right: `a + b - c`, or `a * b @ c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@frozen
class Comparison(Node):
    """`a < b <= c`."""

    operands: tuple[Expression, ...]
    signs: tuple[str, ...]


@frozen
class Logical(Node):
    sign: Literal["and", "or"]
    operands: tuple[Expression, ...]


@frozen
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@frozen
class Parameter(Node):
    name: Name
    default: Expression | None = None


@frozen
class Block(Node):
    """`{ … }`."""

    statements: tuple[Statement, ...]


@frozen
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


@frozen
class TypeSpec(Node):
    """`float[n, 2]`. A size is a number, a name, or None for `_`; `shape` is None for a scalar, "..." for any shape."""

    dtype: str
    shape: tuple[int | str | None, ...] | Literal["..."] | None = None


@frozen
class Domain(Node):
    """`in (low, high)`."""

    low: Expression
    high: Expression


@frozen
class Declare(Node):
    kind: Literal["var", "frozen", "const"]
    name: Name
    type: TypeSpec | None = None
    value: Expression | None = None
    domain: Domain | None = None


@frozen
class Assign(Node):
    """`target = value`; the target is a name, an element, a member, or a list of these."""

    target: Expression
    value: Expression


@frozen
class Augment(Node):
    """`target += value`; `sign` is the operator without its `=`."""

    target: Expression
    sign: str
    value: Expression


@frozen
class Update(Node):
    """`variable := value`; `sign` is "", "+" or "-"."""

    variable: Expression
    sign: str
    value: Expression


@frozen
class Evaluate(Node):
    """An expression as a statement."""

    value: Expression


@frozen
class Branch(Node):
    condition: Expression
    body: Block


@frozen
class If(Node):
    branches: tuple[Branch, ...]
    otherwise: Block | None = None


@frozen
class While(Node):
    condition: Expression
    body: Block


@frozen
class For(Node):
    names: tuple[Name, ...]
    iterable: Expression
    body: Block


@frozen
class Break(Node):
    pass


@frozen
class Continue(Node):
    pass


@frozen
class Return(Node):
    value: Expression | None = None


@frozen
class Rule(Node):
    """`backward (dy) { … }` after a function's body."""

    parameters: tuple[Parameter, ...]
    body: Block


@frozen
class Define(Node):
    """`fn f(x) = EXPR`, `fn f(x) { … }` with or without a `backward` rule, and `opaque fn`."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Expression | Block
    rule: Rule | None = None
    opaque: bool = False


@frozen
class Backward(Node):
    """`backward f(dy, x) { … }`: registers the rule of an opaque function."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


@frozen
class Print(Node):
    items: tuple[Expression, ...]


@frozen
class Output(Node):
    """`output a, b`, or with a `name` `output z = EXPR`."""

    items: tuple[Expression, ...]
    name: Name | None = None


@frozen
class Expect(Node):
    """`expect value`, or `expect value ~= close_to within (…)`."""

    value: Expression
    close_to: Expression | None = None
    options: tuple[Argument, ...] = ()


@frozen
class ExpectError(Node):
    message: str
    body: Block


@frozen
class Import(Node):
    """`import "file.tg" as alias`, or of the library `import nn as alias`."""

    path: str
    library: bool
    alias: Name


@frozen
class Tape(Node):
    name: Name
    options: tuple[Argument, ...]
    body: Block


@frozen
class Watch(Node):
    items: tuple[Expression, ...]


@frozen
class Pause(Node):
    body: Block


@frozen
class Record(Node):
    body: Block


@frozen
class ModuleDefinition(Node):
    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


Statement = (
    Declare | Assign | Augment | Update | Evaluate | If | While | For | Break | Continue | Return | Define | Backward
    | Print | Output | Expect | ExpectError | Import | Tape | Watch | Pause | Record | ModuleDefinition
)  # fmt: skip


Scoped = Function | Define | Rule | Backward | ModuleDefinition  # what has parameters, a body, and so names of its own


@frozen
class Module(Node):
    """A whole source. It is an expression file when it is one expression and nothing else."""

    statements: tuple[Statement, ...]

    @property
    def is_expression(self) -> bool:
        return len(self.statements) == 1 and isinstance(self.statements[0], Evaluate)
