"""The nodes of statements, and a whole source."""

from __future__ import annotations

from typing import Literal

from .expressions import Argument, Block, Expression, Function, Name, Parameter
from .nodes import Node


class TypeSpec(Node):
    """`float[n, 2]`. A size is a number, a name, or None for `_`; `shape` is None for a scalar,
    "..." for any shape."""

    dtype: str
    shape: tuple[int | str | None, ...] | Literal["..."] | None = None


class Domain(Node):
    """`in (low, high)`."""

    low: Expression
    high: Expression


class Declare(Node):
    """`var name: type = value in domain`, and with `frozen` or `const`."""

    kind: Literal["var", "frozen", "const"]
    name: Name
    type: TypeSpec | None = None
    value: Expression | None = None
    domain: Domain | None = None


class Assign(Node):
    """`target = value`; the target is a name, an element, a member, or a list of these."""

    target: Expression
    value: Expression


class Augment(Node):
    """`target += value`; `sign` is the operator without its `=`."""

    target: Expression
    sign: str
    value: Expression


class Update(Node):
    """`variable := value`; `sign` is "", "+" or "-"."""

    variable: Expression
    sign: str
    value: Expression


class Evaluate(Node):
    """An expression as a statement."""

    value: Expression


class Branch(Node):
    """A condition of an `if`, and what runs where it is true."""

    condition: Expression
    body: Block


class If(Node):
    """`if … elif … else`."""

    branches: tuple[Branch, ...]
    otherwise: Block | None = None


class While(Node):
    """`while condition { … }`."""

    condition: Expression
    body: Block


class For(Node):
    """`for names in iterable { … }`."""

    names: tuple[Name, ...]
    iterable: Expression
    body: Block


class Break(Node):
    """`break`."""


class Continue(Node):
    """`continue`."""


class Return(Node):
    """`return value`."""

    value: Expression | None = None


class Rule(Node):
    """`backward (dy) { … }` after a function's body."""

    parameters: tuple[Parameter, ...]
    body: Block


class Define(Node):
    """`fn f(x) = EXPR`, `fn f(x) { … }` with or without a `backward` rule, and `opaque fn`."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Expression | Block
    rule: Rule | None = None
    opaque: bool = False


class Backward(Node):
    """`backward f(dy, x) { … }`: registers the rule of an opaque function."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


class Print(Node):
    """`print a, b`."""

    items: tuple[Expression, ...]


class Output(Node):
    """`output a, b`, or with a `name` `output z = EXPR`."""

    items: tuple[Expression, ...]
    name: Name | None = None


class Expect(Node):
    """`expect value`, or `expect value ~= close_to within (…)`; `, message` says what failed."""

    value: Expression
    close_to: Expression | None = None
    options: tuple[Argument, ...] = ()
    message: Expression | None = None


class ExpectError(Node):
    """`expect error "message" { … }`."""

    message: str
    body: Block


class Import(Node):
    """`import "file.tg" as alias`, or of the library `import nn as alias`."""

    path: str
    library: bool
    alias: Name


class Tape(Node):
    """`tape t (options) { … }`."""

    name: Name
    options: tuple[Argument, ...]
    body: Block


class Watch(Node):
    """`watch a, b`."""

    items: tuple[Expression, ...]


class Pause(Node):
    """`pause { … }`."""

    body: Block


class Record(Node):
    """`record { … }`."""

    body: Block


class ModuleDefinition(Node):
    """`module M(a, b) { … }`."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Block


Statement = (
    Declare
    | Assign
    | Augment
    | Update
    | Evaluate
    | If
    | While
    | For
    | Break
    | Continue
    | Return
    | Define
    | Backward
    | Print
    | Output
    | Expect
    | ExpectError
    | Import
    | Tape
    | Watch
    | Pause
    | Record
    | ModuleDefinition
)


Scoped = (
    Function | Define | Rule | Backward | ModuleDefinition
)  # what has parameters, a body, and so names of its own


class Module(Node):
    """A whole source. It is an expression file when it is one expression and nothing else."""

    statements: tuple[Statement, ...]

    @property
    def is_expression(self) -> bool:
        return len(self.statements) == 1 and isinstance(self.statements[0], Evaluate)
