"""Calls of builtins in IR. Ops on numbers and small arrays are instructions, and so are builtins
with a meaning of their own; other builtins on whole arrays run the interpreter's code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from ....ops.op import BindingError, Op
from ...backends.backend import CPU
from ...ir.instructions import Check, Value
from ...ir.scalars import on_scalars
from ...ir.structural import Refused, operands_of
from ...ir.types import (
    BOOL,
    F32,
    F64,
    I64,
    OF_DTYPE,
    ArrayType,
    Scalar,
    element_of,
    has_floats,
    is_float,
)
from ..held.kinds import Array, ListOrArray, Mixed, OrNone, Stored, Table, Word
from ..held.names import NotCompiled, UnknownInt
from ..held.ranges import Ints, Range, Zipped
from ..values.arrays import MAX_ELEMENTS
from ..values.stored import Pending
from .creation import Creation
from .moving import MOVES
from .reductions import Options


class Builtins(Creation):
    """The lowering of builtins."""

    def apply(self, op: Op, operands: Sequence[Any], options: Options | None = None) -> Any:
        """The result of a builtin, from what its operands hold. Options may be missing."""
        if op.name in ("eq", "ne") and any(held is None for held in operands):
            return self.same_none(op, operands[0] if operands[1] is None else operands[1])
        read = self.value if op.name in _OF_LISTS else self.values
        operands = [
            held if op.name == "append" and k else self.in_one_form(op, read(held))
            for k, held in enumerate(operands)
        ]
        if op.name not in _LAZY and not on_scalars(op):
            operands = [self.whole(held) for held in operands]
        if op.name not in _OF_NOTHING and any(
            isinstance(v, Array | Stored | Pending) and 0 in v.shape for v in operands
        ):
            return self.of_nothing(op, operands, not options)
        chosen = options or {}
        if op.compute is None or on_scalars(op):
            return self.in_own_way(op, operands, chosen)
        for name, held in chosen.items():
            is_flag = type(op.signature.defaults.get(name)) is bool
            if is_flag and getattr(held, "type", None) is not BOOL:
                raise NotCompiled(f"`{name}` is not true or false")
        if op.name not in _OWN and op.name not in MOVES:
            return self.by_interpreter(op, operands, chosen)
        try:
            with self.builder.undoing(NotCompiled):
                return self.in_own_way(op, operands, chosen)
        except UnknownInt:
            raise
        except NotCompiled:
            with suppress(NotCompiled), self.builder.undoing(NotCompiled):
                return self.by_interpreter(op, operands, chosen)
            raise

    def of_nothing(self, op: Op, operands: Sequence[Any], is_plain: bool) -> Any:
        """An elementwise function, or the sum of products, of vectors of floats without elements,
        if it is known what they depend on. `is_plain`: without options."""
        real, is_sum = self.builder.real, op.name in _SUMS
        sources = [held.source if isinstance(held, Array) else held for held in operands]
        known = [v for v in sources if isinstance(v, Value) and v.type in (real, I64)]
        vectors = [held for held in operands if isinstance(held, Array)]
        if (
            not is_plain
            or not (len(vectors) == len(operands) if is_sum else on_scalars(op) and op.partials)
            or any(held.shape != (0,) or held.type != real for held in vectors)
            or len(known) < len(sources)
        ):
            raise NotCompiled(f"`{op.name}` of an array without elements is not compiled")
        found = self.connected(self.builder.zero(real), known)
        return found if is_sum else Array((0,), (), real, source=found)

    def in_one_form(self, op: Op, held: Any) -> Any:
        """An operand that isn't none, as a list or as an array where it may be either."""
        held = self.present(held)
        if isinstance(held, Table) and op.name not in ("len", "zip", "enumerate"):
            return self.in_items(held)
        if not isinstance(held, ListOrArray):
            return held
        if op.name in ("append", "eq", "ne"):
            reason = f"`{op.infix or op.name}` of a list that may be an array is not compiled"
            raise NotCompiled(reason)
        of_items = op.name in _OF_LISTS or op.name == "len"
        return self.items_of(held) if of_items else self.as_array(held)

    def in_own_way(self, op: Op, operands: Sequence[Any], options: Options) -> Any:
        """A builtin as instructions of its own."""
        if own := _OWN.get(op.name):
            return own(self, operands, options)
        if op.name in MOVES:
            return self.moved(op, operands, options)
        if op.name in ("eq", "ne") and any(isinstance(v, Word) for v in operands):
            return self.same_word(op, operands[0], operands[1])
        if op.name in ("eq", "ne") and any(type(v) is str for v in operands):
            a, b = operands
            return self.builder.constant((type(a) is type(b) and a == b) == (op.name == "eq"))
        if options:
            raise NotCompiled(f"`{op.name}` with options is not compiled")
        if not on_scalars(op) or not any(
            isinstance(v, tuple | Array | Stored | Pending) for v in operands
        ):
            return self.scalar(op, operands)
        if op.name in ("eq", "ne") and all(type(v) is tuple for v in operands):
            raise NotCompiled("a comparison of lists is not compiled")
        return self.elementwise(op, operands)

    def bound_call(self, op: Op, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """A call of a builtin as a value, with its arguments bound to its signature."""
        try:
            operands, options = op.signature.bound(op.name, given, named)
        except BindingError:
            raise NotCompiled(f"this call of `{op.name}` is not compiled") from None
        return self.apply(op, list(map(self.as_constant, operands)), options)

    def as_constant(self, held: Any) -> Any:
        """A number of Python, as defaults are, as a constant; anything else as it is."""
        return self.builder.constant(held) if type(held) in (float, int, bool) else held

    def same_none(self, op: Op, held: Any) -> Value:
        """Whether something is none, or isn't if the op is `ne`."""
        held = self.or_none(held)
        if isinstance(held, OrNone):
            found = self.builder.apply("logical_not", [held.there])
            self.missing[found] = held.there
            return held.there if op.name == "ne" else found
        return self.builder.constant((held is None) == (op.name == "eq"))

    def same_word(self, op: Op, a: Any, b: Any) -> Value:
        """Whether two strings, at least one of them a `Word`, are equal, or differ if the op is
        `ne`."""
        word, other = (a, b) if isinstance(a, Word) else (b, a)
        words = other.among if isinstance(other, Word) else (other,)
        found = self.builder.constant(op.name == "ne")
        for k, each in enumerate(words):
            if each in word.among:
                place = self.builder.constant(word.among.index(each))
                same = self.builder.apply(op.name, [word.place, place])
                is_this = self.builder.constant(True)
                if isinstance(other, Word):
                    is_this = self.builder.apply("eq", [other.place, self.builder.constant(k)])
                found = self.builder.apply("where", [is_this, same, found])
        return found

    # ---- lists -----------------------------------------------------------------------------------

    def length(self, operands: Sequence[Any], options: Options) -> Value:
        held = self.sequence(operands[0])
        return self.count_of(held)

    def append(self, operands: Sequence[Any], options: Options) -> Any:
        held, number = operands
        if isinstance(held, Table):
            return self.appended(held, number)
        if isinstance(held, Stored) and held.listed and held.shape[0] <= MAX_ELEMENTS:
            held = tuple(self.rows(held))
        if type(held) is not tuple:
            raise NotCompiled("`append` is compiled only for lists")
        return (*held, number)

    def list_as_array(self, operands: Sequence[Any], options: Options) -> Any:
        [held] = operands
        if isinstance(held, Stored):
            return self.elements(held) if held.listed else held
        if isinstance(held, Ints) and (numbers := held.range.numbers(self.builder)):
            return self.counted(numbers)
        return self.any_array(held)

    def zip(self, operands: Sequence[Any], options: Options) -> Any:
        parts = list(map(self.as_table, map(self.sequence, operands)))
        if any(isinstance(held, Stored | Ints | Zipped | Table) for held in parts):
            return Zipped(tuple(parts))
        return tuple(zip(*[self.rows(held) for held in parts], strict=False))

    def enumerate(self, operands: Sequence[Any], options: Options) -> Any:
        held = self.as_table(self.sequence(operands[0]))
        if isinstance(held, Stored | Zipped | Table):
            zero, one = map(self.builder.constant, (0, 1))
            return Zipped((Ints(Range(zero, one, self.count_of(held))), held))
        rows = self.rows(held)
        return tuple([(self.builder.constant(k), row) for k, row in enumerate(rows)])

    # ---- arrays ----------------------------------------------------------------------------------

    def cast(self, operands: Sequence[Any], options: Options) -> Any:
        """A number or an array as another type, given by its name."""
        kind = OF_DTYPE.get(options["dtype"]) if type(options.get("dtype")) is str else None
        if kind is None or kind == BOOL:
            raise NotCompiled("a cast to this type is not compiled")
        return self.converted(operands[0], kind)

    def converted(self, held: Any, kind: Scalar) -> Any:
        """A number or an array of another type."""
        if not has_floats(self.builder.real, kind):
            raise NotCompiled("float64 in a run in float32 is not compiled")
        held = self.elements(held) if isinstance(held, Stored) else self.as_array(held)
        if not is_float(kind) and isinstance(held, Mixed):
            raise NotCompiled("a conversion to int of a number that may be a float is not compiled")
        if isinstance(held, Pending):
            return self.mapped(lambda item: self.cast_number(item, kind), [held])
        if not isinstance(held, Array):
            return self.cast_number(held, kind)
        items = [self.cast_number(item, kind) for item in held.items]
        return Array(held.shape, tuple(items), kind)

    def cast_number(self, held: Any, kind: Scalar) -> Any:
        """A number as another type. Steps back where an int can't hold a float."""
        if kind == I64 and isinstance(held, Value) and is_float(held.type):
            builder = self.builder
            for name, limit in (("ge", -(2.0**63)), ("lt", 2.0**63)):
                builder.add(Check(builder.apply(name, [held, builder.constant(limit)])))
            return builder.cast(held, I64)
        return self.as_type(held, kind)

    def stack(self, operands: Sequence[Any], options: Options) -> Array | Stored | Pending:
        self.only(options, [])
        return self.any_array(operands[0] if self.is_single(operands) else tuple(operands))

    def concatenate(self, operands: Sequence[Any], options: Options) -> Array | Stored:
        self.only(options, ["axis"])
        given = list(map(self.any_array, self.parts_of(operands)))
        axis = self.known_int(options["axis"]) if "axis" in options else 0
        if any(isinstance(part, Stored | Pending) for part in given):
            return self.concatenated([self.operand(part) for part in given], axis)
        parts = [self.some_array(part) for part in given]
        items = [item for part in parts for item in part.items]
        rest = iter(range(len(items)))
        places = [_shaped(islice(rest, len(part.items)), part.shape) for part in parts]
        try:
            joined = CPU.xp.concatenate(places, axis)
        except ValueError:
            raise NotCompiled("these arrays don't fit") from None
        kind = self.joined_type({part.type for part in parts})
        self.count(len(items))
        items = [self.as_type(items[k], kind) for k in joined.ravel().tolist()]
        found = self.array(tuple(joined.shape), items)
        sources = [part.source for part in parts if part.source is not None]
        items = [self.connected(item, sources) for item in found.items]
        return self.tied(Array(found.shape, tuple(items), kind))

    # ---- by the interpreter's code ---------------------------------------------------------------

    def by_interpreter(self, op: Op, operands: Sequence[Any], options: Options) -> Any:
        """The result of a structural entry: an array, a number, or a list of these."""
        if op.category == "making" and self.builder.real != F64:
            raise NotCompiled(f"this call of `{op.name}` is not compiled in float32")
        if op.signature.variadic and not op.signature.leading:
            operands = self.parts_of(operands)
        values = [self.in_one(held) for held in operands_of(op, operands)]
        chosen = {name: self.fixed(value) for name, value in options.items()}
        self.count()
        try:
            found = self.builder.structural(op, values, chosen)
        except Refused as reason:
            raise NotCompiled(f"`{op.name}` of these operands: {reason}") from None
        if not all(has_floats(self.builder.real, element_of(v.type)) for v in found):
            raise NotCompiled(f"`{op.name}` gives float64 in a run in float32")
        held = [
            self.few_apart(Stored(value)) if isinstance(value.type, ArrayType) else value
            for value in found
        ]
        return held[0] if len(held) == 1 else tuple(held)

    def parts_of(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The operands; for a single list or array, its items."""
        return tuple(self.rows(operands[0]) if self.is_single(operands) else operands)

    def is_single(self, operands: Sequence[Any]) -> bool:
        """Whether the operands are a single list or array, whose items are meant."""
        return len(operands) == 1 and isinstance(operands[0], tuple | Array | Stored | Table)

    def in_one(self, held: Any) -> Value:
        """A number, or an array as one value."""
        if isinstance(held, Pending):
            return self.made(held)
        if not isinstance(held, Value | Stored):
            held = self.as_array(held)
        found = self.in_memory(held)
        value = found.value if isinstance(found, Stored) else found
        if not isinstance(value, Value) or value.type == BOOL:
            raise NotCompiled(
                "a bool, or a number that may be an int or a float, is no operand here"
            )
        return value

    def fixed(self, held: Any) -> Any:
        """The value of an option, which must be known."""
        if isinstance(held, tuple):
            return tuple([self.fixed(item) for item in held])
        if isinstance(held, Array) and len(held.shape) == 1:
            return self.fixed(held.items)
        if not isinstance(held, Value):
            if held is None or type(held) is str:
                return held
            raise NotCompiled("this option is not compiled")
        known = self.builder.known.get(held)
        return self.known_int(held) if known is None else known


def _shaped(places: Iterable[int], shape: tuple[int, ...]) -> Any:
    return CPU.xp.array([*places], int).reshape(shape)


_Lowering = Callable[[Builtins, Sequence[Any], Options], Any]

# The builtins that methods of their names lower, and then the others that aren't elementwise.
_BY_NAME: dict[str, _Lowering] = {
    name: getattr(Builtins, name)
    for name in (
        "append", "zip", "enumerate", "range", "full", "arange", "eye", "linspace", "cast",
        "stack", "concatenate", "transpose", "reshape", "ravel", "sum", "cumsum", "prod", "cumprod",
        "mean", "var", "std", "norm", "count_nonzero", "logsumexp", "softmax", "log_softmax",
        "dot", "matmul", "einsum", "outer", "inner", "trace", "cross",
    )
}  # fmt: skip
_OWN: dict[str, _Lowering] = _BY_NAME | {
    "len": Builtins.length,
    "array": Builtins.list_as_array,
    "zeros": lambda b, x, options: b.filled(b.builder.constant(0.0), options["shape"]),
    "ones": lambda b, x, options: b.filled(b.builder.constant(1.0), options["shape"]),
    "zeros_like": lambda b, x, options: b.like(x[0], 0),
    "ones_like": lambda b, x, options: b.like(x[0], 1),
    "float64": lambda b, x, options: b.converted(x[0], F64),
    "float32": lambda b, x, options: b.converted(x[0], F32),
    "int64": lambda b, x, options: b.converted(x[0], I64),
    "any": lambda b, x, options: b.truth(x[0], options, True),
    "all": lambda b, x, options: b.truth(x[0], options, False),
    "max": lambda b, x, options: b.extremes("maximum", x[0], options),
    "min": lambda b, x, options: b.extremes("minimum", x[0], options),
    "argmax": lambda b, x, options: b.position("gt", x[0], options),
    "argmin": lambda b, x, options: b.position("lt", x[0], options),
}
# Builtins that make lists of the items of lists, where variables stay variables.
_OF_LISTS = frozenset(("append", "zip", "enumerate"))
# Builtins that take arrays without elements.
_OF_NOTHING = frozenset(("len", "append", "concatenate", "zip", "enumerate"))
# Those that add up elements, or products.
_SUMS = frozenset(("sum", "dot", "inner", "matmul"))
# Builtins that read an array place by place.
_LAZY = {
    "sum", "mean", "norm", "max", "min", "logsumexp", "softmax", "log_softmax", "matmul", "dot",
    "einsum", "transpose", "outer", "inner",
}  # fmt: skip
