"""The nodes of statements and of assignment targets, and the program itself."""

from __future__ import annotations

from typing import Any, Literal

from ...diagnostics import Source
from ...ops.op import Op
from ...structs import field
from .expressions import Expression, Function, IndexItem
from .nodes import Node, Slot

# ---- assignment targets --------------------------------------------------------------------------


class NameTarget(Node):
    """`name = …`."""

    slot: Slot


class EntryTarget(Node):
    """`a[i]`, `d.k`, `a[i][j].k` on a local name: `path` holds the indices and keys from the name
    outwards. A str step is a key (`.k` and `["k"]` alike); a tuple step is an index."""

    slot: Slot
    path: tuple[str | tuple[IndexItem, ...], ...]


class ListTarget(Node):
    """`a, b = …` and `[a, [b, c]] = …`."""

    items: tuple[Target, ...]


Target = NameTarget | EntryTarget | ListTarget


# ---- statements ----------------------------------------------------------------------------------


class TypeSpec(Node):
    """`float[n, 2]`: a dtype name, and sizes (int, a name, or None for `_`); shape None is a
    scalar, `...` any shape."""

    dtype: str
    shape: tuple[int | str | None, ...] | Any | None


class Domain(Node):
    """`in (low, high)`: the open interval that random points and plots use."""

    low: Expression
    high: Expression


class Declare(Node):
    """`var x: type = value in domain`, and with `frozen` or `const`. `meant` says what else the
    text around a free name of an expression may be meant as."""

    kind: Literal["var", "frozen", "const"]
    slot: Slot
    value: Expression | None
    type: TypeSpec | None
    domain: Domain | None
    meant: str = ""


class Assign(Node):
    """`target = value`."""

    target: Target
    value: Expression


class Augment(Node):
    """`target op= value`; the target's indices are evaluated once."""

    target: NameTarget | EntryTarget
    op: Op
    value: Expression


class Update(Node):
    """`variable := value`, or `:+=` and `:-=` with `op`. Of an `Index` into a variable (`x[i] :=
    v`) one element is updated."""

    variable: Expression
    value: Expression
    op: Op | None = None


class Evaluate(Node):
    """An expression as a statement."""

    value: Expression


class If(Node):
    """`if … elif … else`: the conditions in order, each with what runs where it is true."""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


class While(Node):
    """`while condition { … }`."""

    condition: Expression
    body: tuple[Statement, ...]


class For(Node):
    """`for target in iterable`. `for v, g in zip(a, b)` has a ListTarget."""

    target: Target
    iterable: Expression
    body: tuple[Statement, ...]


class Break(Node):
    """`break`."""


class Continue(Node):
    """`continue`."""


class Return(Node):
    """`return value`."""

    value: Expression | None


class Print(Node):
    """`print a, b`."""

    items: tuple[Expression, ...]


class Output(Node):
    """`output a, name = b`: (name or the expression's text, expression)."""

    items: tuple[tuple[str, Expression], ...]


RTOL, ATOL = 1e-9, 1e-12  # the tolerances of `~=` where none are given


class Expect(Node):
    """`expect condition`, or with `close_to` `expect condition ~= close_to within (…)`."""

    value: Expression
    close_to: Expression | None = None
    options: tuple[tuple[str, Expression], ...] = ()  # rtol, atol
    message: Expression | None = None


class ExpectError(Node):
    """`expect error "…" { … }`. `found` holds what the resolver found in the block, which counts as
    its failure."""

    message: str
    body: tuple[Statement, ...]
    found: str = ""


class Import(Node):
    """`import "other.tg" as other`: runs `program` once, and binds its top-level names as members
    of `slot`."""

    slot: Slot
    program: Program


class Tape(Node):
    """`tape t (…) { … }`: opens a window for the block; `options` are `persistent` and
    `watch_variables`."""

    slot: Slot
    options: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]


class Watch(Node):
    """`watch a, b`, or `t.watch(a)` with `tape`. A name comes with its slot, where what it holds
    becomes watched."""

    items: tuple[tuple[Expression, Slot | None], ...]
    tape: Expression | None = None


class Pause(Node):
    """`pause { … }`: nothing is recorded in the block."""

    body: tuple[Statement, ...]


class Record(Node):
    """`record { … }`: `backward` may walk what is computed in the block."""

    body: tuple[Statement, ...]


class Attach(Node):
    """`attach_grad(value, req = …)`. A name comes with its slot, which holds a variable from then
    on."""

    value: Expression
    slot: Slot | None
    req: Expression | None


class Backward(Node):
    """`backward f(dy, …) { … }`: registers the rule of the opaque function that `function`
    reads."""

    function: Expression
    rule: Function


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
    | Print
    | Output
    | Expect
    | ExpectError
    | Import
    | Tape
    | Watch
    | Pause
    | Record
    | Attach
    | Backward
)


class Program(Node):
    """A resolved program.

    names          every top-level name and its slot, in order of first appearance
    results        what the program is for where no `output` says so: (name, expression read when
                   the program has ended)
    is_expression  an expression file: its free names are `var` declarations without a value at the
                   head of `body`
    has_modules    whether it, or anything that it imports, defines a module
    """

    source: Source = field(compare=False)
    body: tuple[Statement, ...]
    n_slots: int
    names: dict[str, Slot]
    results: tuple[tuple[str, Expression], ...] = ()
    is_expression: bool = False
    has_modules: bool = False
