"""The resolved program: what `resolve` makes of the syntax tree and the engine compiles. No strings decide anything here.

Names have become slots of a frame, operators and builtins have become `Op`s, calls of builtins are bound to their
signatures. Every node has the span that errors and trace records point at.

Frames. A frame is a flat row of slots: one for each name of the function (or of the top level). A name that an inner
function captures is a *cell*: its slot holds a box that both frames share. `Function.captures` says which slots of
the enclosing frame are handed to a new function value, and into which of its own slots they go.
"""

from __future__ import annotations

from typing import Any, Literal

from ..diagnostics import Source, Span
from ..frozen import Frozen, field, frozen
from ..ops.op import Op


@frozen(kw_only=True)
class Node(Frozen):
    span: Span = field(compare=False)


@frozen
class Slot(Frozen):
    """Where a name lives in its frame. `cell`: the slot holds a box shared with inner functions."""

    index: int
    name: str
    cell: bool = False


# ---- expressions ---------------------------------------------------------------------------------------------------


@frozen
class Constant(Node):
    """A literal: int, float, complex, bool, str or None. `pi`, `e`, `inf`, `nan` are such literals too."""

    value: Any


@frozen
class Read(Node):
    """The value under a name. `checked`: it may be unassigned on some path, so reading asks."""

    slot: Slot
    checked: bool = False


@frozen
class Builtin(Node):
    """A builtin as a value: `f = sin`, `grad(tanh)`."""

    op: Op


@frozen
class Apply(Node):
    """A builtin or operator applied. `operands` follow the signature (None: its default; a variadic op has them all);
    `options` are the static ones, by name. Operators are here too: `a + b` is Apply(OPS["add"], …)."""

    op: Op
    operands: tuple[Expression | None, ...]
    options: tuple[tuple[str, Expression], ...] = ()


@frozen
class Argument(Frozen):
    """One argument of a dynamic call; `keyword` is "" for a positional one."""

    value: Expression
    keyword: str = ""


@frozen
class Call(Node):
    """A call of a value: a function of the program, a builtin under another name, a module, a transform."""

    callee: Expression
    arguments: tuple[Argument, ...]


@frozen
class MethodCall(Node):
    """`receiver.name(…)`. Dicts, modules and tapes use their own member; any other value is the first argument of
    `function` (a name in scope) or else of the builtin `op`; where both are None there is no such function."""

    receiver: Expression
    name: str
    arguments: tuple[Argument, ...]
    function: Expression | None
    op: Op | None


@frozen
class Member(Node):
    """`object.name` that is not called: `.T`, `.shape`, a key of a dict, a name of an import or module."""

    object: Expression
    name: str


@frozen
class Slice(Node):
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@frozen
class EllipsisItem(Node):
    """`...` inside an index."""


@frozen
class Index(Node):
    """`object[items]`; `none` among the items is a new axis."""

    object: Expression
    items: tuple[IndexItem, ...]


@frozen
class ListDisplay(Node):
    items: tuple[Expression, ...]


@frozen
class DictDisplay(Node):
    keys: tuple[str, ...]
    values: tuple[Expression, ...]


@frozen
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@frozen
class Logical(Node):
    """`and` / `or` over two or more operands, left to right, stopping early."""

    kind: Literal["and", "or"]
    operands: tuple[Expression, ...]


@frozen
class Chain(Node):
    """A chained comparison, `a < b <= c`: each operand is evaluated once, and it stops at the first that fails.
    A single comparison is an `Apply`."""

    operands: tuple[Expression, ...]
    ops: tuple[Op, ...]
    spans: tuple[Span, ...] = field(compare=False)  # of each comparison


@frozen
class FunctionLiteral(Node):
    """`fn(c) = …` as a value, and the value that a `fn` statement binds."""

    function: Function


Expression = (
    Constant | Read | Builtin | Apply | Call | MethodCall | Member | Index | ListDisplay | DictDisplay | Conditional
    | Logical | Chain | FunctionLiteral
)  # fmt: skip
IndexItem = Expression | Slice | EllipsisItem


# ---- functions -----------------------------------------------------------------------------------------------------


@frozen
class FunctionParameter(Frozen):
    slot: Slot
    default: Expression | None  # evaluated in the enclosing frame, when the function value is made
    span: Span = field(compare=False)


@frozen
class Function(Node):
    """A function's code. `name` is "" for an anonymous one. `captures`: (slot in the enclosing frame, own slot), both
    cells. `self_slot` is where the function itself is found when its body calls it by name (no cycle through a cell)."""

    name: str
    parameters: tuple[FunctionParameter, ...]
    body: tuple[Statement, ...]
    n_slots: int
    captures: tuple[tuple[Slot, Slot], ...] = ()
    self_slot: Slot | None = None


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


Statement = (
    Declare | Assign | Augment | Update | Evaluate | If | While | For | Break | Continue | Return | Print | Output
    | Expect | ExpectError | Import | Tape | Watch | Pause
)  # fmt: skip


@frozen
class Program(Node):
    """A resolved program.

    names          every top-level name and its slot, in order of first appearance
    results        what the program is for where no `output` says so: (name, expression read when the program has ended)
    is_expression  an expression file: its free names are `var` declarations without a value at the head of `body`
    """

    source: Source = field(compare=False)
    body: tuple[Statement, ...]
    n_slots: int
    names: dict[str, Slot]
    results: tuple[tuple[str, Expression], ...] = ()
    is_expression: bool = False
