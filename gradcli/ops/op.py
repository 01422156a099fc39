"""What the table knows about one function: `Op`, its signature, its rules.

Names used in every rule (the field's own): `m` the language's functions, `x`, `a`, `b` operands,
`y` the result, `g` the cotangent of the result, `t` a tangent, `xp` an array module (NumPy or
CuPy).

Three kinds of entry:

- *elementwise*: a formula. Either `primitive` names the function in the array module (`arcsin`), or
  `forward` is written in the language's own functions, `(m, *operands) -> value`. `partials` holds
  one function an operand, `(m, y, *operands) -> partial`; both modes follow from them. They are
  called with whatever an interpretation computes with (`rule_values.py`): formulas that become
  functions on floats and on arrays, values of the trace, instructions of regions, forms of SymPy,
  texts. So they may use the Python operators and `m`, but no array tricks, no `if` and no shapes.
  What no formula computes has a `kernel` instead of `forward`:
  `(xp, special, *operands)` on vectors of one length, float64 or complex128, with the array
  module's special functions at hand. An operand whose partial is None is an order, a whole number
  that never moves; orders come first, and kernels get them as ints.
- *structural*: `compute(xp, *operands, **options)` on whole arrays; `vjp` holds one function an
  operand, `(m, g, y, *operands, **options) -> cotangent of that operand`; where operands are
  variadic it is one function, `(m, g, y, k, *operands, **options)`. An op of one operand that reads
  a small part of it has `accumulate` instead, `(m, total, g, y, x, **options)`: the operand's
  cotangent so far, a buffer that nobody else holds, with this one's share added in place. Rules see
  operands with Python's operators, `.shape`, `.ndim`, `.size`, `.dtype`. Forward mode reads one of
  three (`tangent.py`). `linear`: the op is linear in all its operands jointly, but for those
  without a rule (indices, conditions), so that it takes tangents as it takes values. `multilinear`:
  it is linear in each operand. `jvp`: one function, `(m, t, y, *operands, **options) -> tangent`,
  where `t` lists the operands' tangents, None for an operand without one; an op of several results
  returns a list. It reads no more values than `vjp` (see `saves`), has the same conventions at
  kinks, and its products are strict: 0 where the tangent or the partial is (`m.strict_mul`).
- any of these: `symbolic`, its SymPy counterpart, `(s, *operands, **options) -> form`, where `s`
  has SymPy's functions, for arrays of forms too. Where it is None, the formula of `forward` is
  read, SymPy's function of the entry's name, or, of structural ones, `compute` on arrays of forms.
  What those don't give has no closed form.
- *engine*: the function needs the interpreter itself (`grad`, `range`, `append`); the table holds
  its signature and its text, the engine its implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a builtin: its name, and its default where it has one."""

    name: str
    default: Any = ...  # `...` means required
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is ...


class BindingError(Exception):
    """A call whose arguments don't fit a signature. `argument` is the index or keyword at fault,
    None when one is missing."""

    def __init__(self, message: str, help: str = "", argument: int | str | None = None) -> None:
        super().__init__(message)
        self.message, self.help, self.argument = message, help, argument


class OpError(Exception):
    """A failure of a `compute`; the engine adds the place. `message` gives actual shapes and
    values."""

    def __init__(self, message: str, help: str = "", label: str = "") -> None:
        super().__init__(message)
        self.message, self.help, self.label = message, help, label


class Signature:
    """`"x, y=1; axis=none"`: operands (arrays, differentiable) before the `;`, options (static)
    after it.

    Options that come before the operands stand before a `:` (`"subscripts: *arrays"`), operands
    that come after the options after a second `;`. `*xs` is a variadic operand (any number of
    arrays, or one list of them); a last option `*shape` takes one list or any number of values;
    options after a bare `*` are by keyword only. Defaults are numbers, `inf`, `none`, `true`,
    `false` or quoted strings. Raises ValueError for text that can't be read as that.
    """

    def __init__(self, text: str, hint: str = "") -> None:
        leading, _, rest = text.rpartition(":")
        operands, _, rest = rest.partition(";")
        options, _, last = rest.partition(";")
        self.text = ", ".join(
            p.strip() for p in text.replace(";", ",").replace(":", ",").split(",") if p.strip()
        )
        self.hint = hint
        self.leading = [_parameter(part) for part in _parts(leading)]
        self.operands: list[Parameter] = []
        self.options: list[Parameter] = [*self.leading]
        self.variadic = ""
        self.rest = ""  # the option that takes what is left of the positional arguments
        for part in _parts(operands):
            if part == "*":
                raise ValueError("`*` stands before the name of an operand")
            if part.startswith("*"):
                self.variadic = part[1:]
            else:
                self.operands.append(_parameter(part))
        self._last = len(self.operands)  # where the operands begin that come after the options
        self.operands += [_parameter(part) for part in _parts(last)]
        keyword_only = False
        for part in _parts(options):
            if part == "*":
                keyword_only = True
                continue
            self.options.append(_parameter(part.lstrip("*"), keyword_only))
            if part.startswith("*"):
                self.rest = self.options[-1].name

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the options that have one."""
        return {p.name: p.default for p in self.options if not p.required}

    @property
    def parameters(self) -> list[Parameter]:
        options = self.options[len(self.leading) :]
        return [*self.leading, *self.operands[: self._last], *options, *self.operands[self._last :]]

    def bound(
        self,
        name: str,
        given: Sequence[Any],
        named: Mapping[str, Any],
        together: Callable[[list[Any]], Any] = tuple,
    ) -> tuple[list[Any], dict[str, Any]]:
        """The operands, with defaults for those that aren't given, and the options that are given.
        `together` makes one value of several arguments for one option. Raises BindingError."""
        slots, options = _bind(self, name, len(given), tuple(named))

        def argument(place: int | str | tuple[int, ...]) -> Any:
            if isinstance(place, tuple):  # `x.reshape(2, 3)`
                return together([given[k] for k in place])
            return given[place] if isinstance(place, int) else named[place]

        operands = [
            self.operands[k].default if place is None else argument(place)
            for k, place in enumerate(slots)
        ]
        return operands, {name: argument(place) for name, place in options.items()}

    def bind(
        self, name: str, positional: int, keywords: Sequence[str]
    ) -> tuple[list[int | str | None], dict[str, int | str | tuple[int, ...]]]:
        """Assigns the arguments to the parameters.

        Returns, for each operand in order, the index of a positional argument, a keyword, or None
        (its default); and for each option given, the same, or a tuple of indices where the option
        takes several as one list. With a variadic operand the list holds all positional arguments.
        Raises BindingError when the call doesn't fit.
        """
        signature = f"its signature is {name}({self.text})"
        by_position = (
            self.leading if self.variadic else [p for p in self.parameters if not p.keyword_only]
        )
        given: dict[str, int | str | tuple[int, ...]] = {
            p.name: k for k, p in enumerate(by_position[:positional])
        }
        beyond = range(len(by_position), positional)
        slots: list[int | str | None] = []
        if self.variadic:
            slots = [self.variadic] if self.variadic in keywords else list(beyond)
            if not slots:
                raise BindingError(
                    f"`{name}` needs at least one argument, `{self.variadic}`", signature
                )
        elif beyond and self.rest:
            given[self.rest] = (beyond[0] - 1, *beyond)
        elif beyond:
            hidden = [p for p in self.parameters if p.keyword_only]
            help = (
                f"`{hidden[0].name}` goes by keyword: `{hidden[0].name} = …`"
                if hidden
                else signature
            )
            raise BindingError(
                (
                    f"`{name}` takes {_count(len(by_position), 'positional argument')}, "
                    f"{positional} given"
                ),
                f"{help}; {self.hint}" if self.hint else help,
                len(by_position),
            )
        known = [p.name for p in self.parameters] + ([self.variadic] if self.variadic else [])
        for keyword in keywords:
            if keyword not in known:
                raise BindingError(f"`{name}` has no parameter `{keyword}`", signature, keyword)
            if keyword in given:
                raise BindingError(
                    f"`{name}` got `{keyword}` twice, by position and by keyword", "", keyword
                )
            given[keyword] = keyword
        missing = [p.name for p in self.parameters if p.required and p.name not in given]
        if missing:
            raise BindingError(
                f"`{name}` needs {' and '.join(f'`{n}`' for n in missing)}", signature
            )
        if not self.variadic:
            slots = [_single(given.get(p.name)) for p in self.operands]
        return slots, {p.name: given[p.name] for p in self.options if p.name in given}


@lru_cache(maxsize=256)
def _bind(signature: Signature, name: str, positional: int, keywords: tuple[str, ...]) -> Any:
    return signature.bind(name, positional, keywords)


def _single(where: int | str | tuple[int, ...] | None) -> int | str | None:
    assert not isinstance(where, tuple)
    return where


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


_WORDS = {"none": None, "true": True, "false": False, "inf": float("inf"), "-inf": -float("inf")}


def _parts(text: str) -> list[str]:
    """What stands between the commas; nothing of a text that is blank."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if "" in parts:
        raise ValueError("a parameter has no name")
    return parts


def _parameter(text: str, keyword_only: bool = False) -> Parameter:
    name, _, default = (part.strip() for part in text.partition("="))
    if not default:
        return Parameter(name, ..., keyword_only)
    if default in _WORDS:
        value: Any = _WORDS[default]
    elif default.startswith('"'):
        value = default.strip('"')
    else:
        value = float(default) if any(c in default for c in ".e") else int(default)
    return Parameter(name, value, keyword_only)


@dataclass(frozen=True, eq=False)  # an op is itself and no other, and is looked up by identity
class Op:
    """One function of the language (see the head of this module for the three kinds).

    name       how programs call it; operators have names too (`add` for `+`)
    params     its signature, as `Signature` reads it
    summary    one sentence
    category   the heading that `gradcli ops` and the docs put it under
    infix      the operator's sign, if it is one
    internal   not callable by name; exists because derivatives need it
    domain     per operand, the open interval where the function is smooth and tests sample it; ()
               is everywhere
    ulps       of an elementwise op: how far a value, a first and a second derivative may be off, in
               units in the last place of the result; or of an operand, where that moves the result
               more
    note       the convention at kinks and edges, in words
    hint       what to write instead, for calls with too many arguments
    """

    name: str
    params: str
    summary: str
    category: str = ""
    infix: str = ""
    internal: bool = False
    # elementwise
    primitive: str = ""
    forward: Callable[..., Any] | None = None
    kernel: Callable[..., Any] | None = None
    partials: tuple[Callable[..., Any] | None, ...] = ()
    # at a complex operand, where the others hold for real ones only
    complex_partials: tuple[Callable[..., Any], ...] = ()
    integers: str = (
        "float"  # what int operands give: "float", "keep" (stay int, overflow checked) or "bool"
    )
    # structural
    compute: Callable[..., Any] | None = None
    vjp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None
    accumulate: Callable[..., Any] | None = None  # instead of `vjp`, see there
    linear: bool = False
    multilinear: bool = False
    jvp: Callable[..., Any] | None = None
    # operands (by name) and "result" whose values the rules read; the others keep their shape only
    saves: tuple[str, ...] = ()
    result_shape: Callable[..., tuple[int, ...]] | None = (
        None  # (*operand shapes, **options); where it can outgrow its operands
    )
    rows: Callable[..., Any] | None = (
        None  # how `compute` runs on many rows at once (rows.py); None for row by row
    )
    rows_total: Callable[..., Any] | None = (
        None  # the cotangent of an operand that all rows share, summed over them (rows.py)
    )
    # closed forms
    symbolic: Callable[..., Any] | None = None  # see the head of this module
    # engine
    engine: bool = False
    of_function: Op | None = (
        None  # of a derivative of values: its form that takes a function, and is one
    )
    transforms: bool = False  # whether this is such a form
    # facts
    differentiable: bool = True
    # whether the partials hold for real operands only, so that a complex one has no gradient
    # (kernels: no value)
    real_only: bool = False
    composed: bool = False  # whether it stands for the operations of its formula, with their rules
    domain: tuple[tuple[float, float], ...] = ()
    ulps: tuple[int, int, int] = (4, 8, 16)
    note: str = ""
    hint: str = ""
    aliases: tuple[str, ...] = field(
        default=()
    )  # NumPy's other spellings, named in did-you-mean messages, not callable

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.params, self.hint)

    def called_with(self, positional: int, keywords: Sequence[str]) -> Op:
        """The entry that a call means: a derivative that is given nothing but a function is a
        transform."""
        operands = {p.name for p in self.signature.operands}
        is_transform = (
            self.of_function is not None and positional == 1 and operands.isdisjoint(keywords)
        )
        return self.of_function if is_transform and self.of_function is not None else self

    @cached_property
    def elementwise(self) -> bool:
        return self.compute is None and not self.engine

    @cached_property
    def of_complex(self) -> Op | None:
        """The same op with the partials for a complex operand, where it has others for that."""
        if not self.complex_partials:
            return None
        return replace(self, partials=self.complex_partials, complex_partials=())

    @cached_property
    def passes_floats(self) -> bool:
        """Whether the op is elementwise and differentiable, and maps floats to floats."""
        return self.elementwise and self.differentiable and self.integers != "bool"

    @cached_property
    def reverse_only(self) -> bool:
        """Whether the op has no rule for forward mode, though it may have one for reverse mode."""
        forwards = (
            self.elementwise
            or self.engine
            or self.linear
            or self.multilinear
            or self.jvp is not None
        )
        return self.differentiable and not forwards

    @cached_property
    def narrows(self) -> bool:
        """Whether the op maps ints to floats of the run's dtype."""
        return self.integers == "float" and self.category != "casting"

    @cached_property
    def counts_bools(self) -> bool:
        """Whether the op treats bools as 0 and 1, as arithmetic does, and comparing, selecting or
        moving doesn't."""
        if self.elementwise:
            return self.integers != "bool"
        return self.category in ("linear algebra", "signal") or self.name == "scatter_add"

    def moves_with(self, k: int) -> bool:
        """Whether a structural op has a derivative by operand `k`: by indices and conditions there
        is none."""
        if self.vjp is None or callable(self.vjp):
            return self.differentiable
        return self.vjp[k] is not None

    def __repr__(self) -> str:
        return f"<Op {self.name}({self.signature.text})>"
