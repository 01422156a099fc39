"""The nodes of statements and of assignment targets, and the program itself."""

from __future__ import annotations

from typing import Any, Literal

from ...diagnostics import Source
from ...frozen import field, frozen
from ...ops.op import Op
from .expressions import Expression, Function, IndexItem
from .nodes import Node, Slot

# ---- assignment targets ----------------------------------------------------------------------------------------------


@frozen
class NameTarget(Node):
    slot: Slot


@frozen
class EntryTarget(Node):
    """`a[i]`, `d.k`, `a[i][j].k` on a local name: `path` holds the indices and keys from the name outwards.
    A str step is a key (`.k` and `["k"]` alike); a tuple step is an index."""

    slot: Slot
    path: tuple[str | tuple[IndexItem, ...], ...]


@frozen
class ListTarget(Node):
    """`a, b = …` and `[a, [b, c]] = …`."""

    items: tuple[Target, ...]


Target = NameTarget | EntryTarget | ListTarget


# ---- statements ------------------------------------------------------------------------------------------------------


@frozen
class TypeSpec(Node):
    """`float[n, 2]`: a dtype name, and sizes (int, a name, or None for `_`); shape None is a scalar, `...` any shape."""

    dtype: str
    shape: tuple[int | str | None, ...] | Any | None


@frozen
class Domain(Node):
    """`in (low, high)`: the open interval that random points and plots use."""

    low: Expression
    high: Expression


@frozen
class Declare(Node):
    kind: Literal["var", "frozen", "const"]
    slot: Slot
    value: Expression | None
    type: TypeSpec | None
    domain: Domain | None


@frozen
class Assign(Node):
    target: Target
    value: Expression


@frozen
class Augment(Node):
    """`target op= value`; the target's indices are evaluated once."""

    target: NameTarget | EntryTarget
    op: Op
    value: Expression


@frozen
class Update(Node):
    """`variable := value`, or `:+=` and `:-=` with `op`. Of an `Index` into a variable (`x[i] := v`) one element is updated."""

    variable: Expression
    value: Expression
    op: Op | None = None


@frozen
class Evaluate(Node):
    value: Expression


@frozen
class If(Node):
    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@frozen
class While(Node):
    condition: Expression
    body: tuple[Statement, ...]


@frozen
class For(Node):
    """`for target in iterable`. `for v, g in zip(a, b)` has a ListTarget."""

    target: Target
    iterable: Expression
    body: tuple[Statement, ...]


@frozen
class Break(Node): ...


@frozen
class Continue(Node): ...


@frozen
class Return(Node):
    value: Expression | None


@frozen
class Print(Node):
    items: tuple[Expression, ...]


@frozen
class Output(Node):
    """`output a, name = b`: (name or the expression's text, expression)."""

    items: tuple[tuple[str, Expression], ...]


@frozen
class Expect(Node):
    """`expect condition`, or with `close_to` `expect condition ~= close_to within (…)`."""

    value: Expression
    close_to: Expression | None = None
    options: tuple[tuple[str, Expression], ...] = ()  # rtol, atol


@frozen
class ExpectError(Node):
    """`expect error "…" { … }`. `found` holds what the resolver found in the block, which counts as its failure."""

    message: str
    body: tuple[Statement, ...]
    found: str = ""


@frozen
class Import(Node):
    """`import "other.tg" as other`: runs `program` once, and binds its top-level names as members of `slot`."""

    slot: Slot
    program: Program


@frozen
class Tape(Node):
    """`tape t (…) { … }`: opens a window for the block; `options` are `persistent` and `watch_variables`."""

    slot: Slot
    options: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]


@frozen
class Watch(Node):
    """`watch a, b`, or `t.watch(a)` with `tape`. A name comes with its slot, where what it holds becomes watched."""

    items: tuple[tuple[Expression, Slot | None], ...]
    tape: Expression | None = None


@frozen
class Pause(Node):
    body: tuple[Statement, ...]


@frozen
class Record(Node):
    """`record { … }`: `backward` may walk what is computed in the block."""

    body: tuple[Statement, ...]


@frozen
class Attach(Node):
    """`attach_grad(value, req = …)`. A name comes with its slot, which holds a variable from then on."""

    value: Expression
    slot: Slot | None
    req: Expression | None


@frozen
class Backward(Node):
    """`backward f(dy, …) { … }`: registers the rule of the opaque function that `function` reads."""

    function: Expression
    rule: Function


Statement = (
    Declare | Assign | Augment | Update | Evaluate | If | While | For | Break | Continue | Return | Print | Output
    | Expect | ExpectError | Import | Tape | Watch | Pause | Record | Attach | Backward
)  # fmt: skip


@frozen
class Program(Node):
    """A resolved program.

    names          every top-level name and its slot, in order of first appearance
    results        what the program is for where no `output` says so: (name, expression read when the program has ended)
    is_expression  an expression file: its free names are `var` declarations without a value at the head of `body`
    has_modules    whether it, or anything that it imports, defines a module
    """

    source: Source = field(compare=False)
    body: tuple[Statement, ...]
    n_slots: int
    names: dict[str, Slot]
    results: tuple[tuple[str, Expression], ...] = ()
    is_expression: bool = False
    has_modules: bool = False
