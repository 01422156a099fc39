"""Numbers and arrays that tapes record: `Value` and `Variable`, and the operations on them.

Operations are those of the table, through `apply` as in programs. What a tape records is a `Value`;
any other result is a plain number or a NumPy array. Each thread has a trace of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from ..engine.backends.backend import CPU, INT_MAX, INT_MIN, UNMASK, dtype_name, masked, shape_of
from ..engine.calls.calling import call_op
from ..engine.compilation.declarations import cast
from ..engine.formulas.scalars import FAST
from ..engine.operations.access import read_index
from ..engine.operations.apply import apply
from ..engine.operations.list_arrays import plain_array, verify_unsigned
from ..engine.trace.tape import Site
from ..engine.trace.variables import attach
from ..engine.values import kinds as values
from ..engine.values.boxes import primal
from ..engine.values.kinds import List, describe, read, show_shape
from ..ops import OPS, registry
from ..ops.op import Op
from .names import builtin, of_numpy, suggestion
from .session import NOWHERE, fail, in_the_engine, session

_ORDER = ["bool", "int64", "float32", "float64", "complex128"]
_NO_OPTIONS: Mapping[str, Any] = {}
_sites: dict[Op, Site] = {}  # of operations on floats, which keep the functions that compute them
registry.on_change(_sites.clear)


# ---- values --------------------------------------------------------------------------------------

Unary: TypeAlias = Callable[[Any], Any]
Binary: TypeAlias = Callable[[Any, Any], Any]


def _unary(name: str) -> Unary:
    op = OPS[name]
    return lambda self: call(op, (self,), _NO_OPTIONS)


def _binary(name: str) -> Binary:
    op = OPS[name]
    return lambda self, other: call(op, (self, other), _NO_OPTIONS)


def _swapped(name: str) -> Binary:
    op = OPS[name]
    return lambda self, other: call(op, (other, self), _NO_OPTIONS)


def _assigning(name: str) -> Binary:
    """The operator that gives a variable another state: it stays the same variable."""
    op = OPS[name]

    def assign(self: Variable, other: Any) -> Variable:
        self.assign(call(op, (self.value, _plain(other)), _NO_OPTIONS))
        return self

    return assign


class Array:
    """What `Value` and `Variable` share: a number or an array with NumPy's operators, methods and
    functions, which tapes record. Every builtin is a method, too: `x.sum(axis = 0)`."""

    __slots__ = ()

    @property
    def _box(self) -> Any:
        """The value as the engine has it."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """The plain number, or a NumPy array that can't be written to."""
        value = primal(self._box)
        if not shape_of(value):
            return value
        view = value.view()
        view.flags.writeable = False
        return view

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(primal(self._box))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(getattr(primal(self._box), "size", 1))

    @property
    def dtype(self) -> str:
        """ "float64", "float32", "complex128", "int64" or "bool"."""
        return dtype_name(primal(self._box))

    @property
    def T(self) -> Any:  # noqa: N802 (the name that NumPy gives it)
        return call(OPS["transpose"], (self,), {})

    __neg__, __pos__, __abs__ = _unary("neg"), _unary("pos"), _unary("abs")
    __add__, __radd__ = _binary("add"), _swapped("add")
    __sub__, __rsub__ = _binary("sub"), _swapped("sub")
    __mul__, __rmul__ = _binary("mul"), _swapped("mul")
    __truediv__, __rtruediv__ = _binary("div"), _swapped("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _swapped("floordiv")
    __mod__, __rmod__ = _binary("mod"), _swapped("mod")
    __pow__, __rpow__ = _binary("pow"), _swapped("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _swapped("matmul")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")
    __hash__ = object.__hash__  # comparing them gives numbers

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        plain = tuple([i if isinstance(i, slice) or i is ... else _plain(i) for i in items])
        with in_the_engine():
            return outward(read_index(session.run, Site(OPS["getitem"], NOWHERE), self._box, plain))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __float__(self) -> float:
        return float(primal(self._box))

    def __int__(self) -> int:
        return int(primal(self._box))

    def __format__(self, text: str) -> str:
        return format(primal(self._box), text) if text else str(self)

    def __bool__(self) -> bool:
        return bool(primal(self._box))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (op := builtin(name)) is None:
            raise AttributeError(f"no function {name!r}{suggestion(name)}")
        return lambda *arguments, **options: call(op, (self, *arguments), options)

    # NumPy's functions on these are the table's: `np.sin(x)` is recorded.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return call(
            of_numpy(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"),
            inputs,
            keywords,
        )

    def __array_function__(
        self, function: Any, types: Any, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        return call(of_numpy(function.__name__), arguments, keywords)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        fail(
            "E308",
            "a NumPy array of it would have no history",
            "take `x.value`, which is one, where no gradient is wanted",
        )


class Value(Array):
    """A number or an array that a tape recorded; made by operations, and by `Tape.watch`. It never
    changes."""

    __slots__ = ("_traced",)

    def __init__(self, traced: Any) -> None:
        self._traced = traced

    @property
    def _box(self) -> Any:
        return self._traced

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Value stands on its thread's trace; what can be copied and pickled is its `.value`"
        )

    def __repr__(self) -> str:
        return f"Value({primal(self._traced)!r})"


class Variable(Array):
    """A number or an array that can be given another state, and that tapes watch by themselves
    while it is trainable.

    value      a number, a NumPy array or a nested list of numbers; ints become floats where it is
               trainable
    name       what messages call it

    Raises GradcliError (E312) for what isn't numbers.
    """

    __slots__ = ("__weakref__", "_inner")

    def __init__(self, value: Any, name: str = "variable", trainable: bool = True) -> None:
        state = as_float(state_of(value)) if trainable else state_of(value)
        self._inner = values.Variable(name, "var" if trainable else "frozen", NOWHERE, state)
        attach(session.run, self._inner)
        session.variables[self._inner] = self

    @property
    def _box(self) -> Any:
        return self._inner.box

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def trainable(self) -> bool:
        return self._inner.trainable

    def assign(self, value: Any) -> None:
        """Gives it another state, of the same shape and dtype. What was computed before keeps the
        old one.

        Raises GradcliError (E313) for a state that doesn't fit.
        """
        old, new = self._inner.state, state_of(value)
        if shape_of(new) != shape_of(old):
            shapes = f"{show_shape(shape_of(old))}, and the new state {show_shape(shape_of(new))}"
            fail(
                "E313",
                f"`{self.name}` has shape {shapes}",
                "a variable keeps its shape; make another",
            )
        if (
            _ORDER.index(dtype_name(new)) > _ORDER.index(dtype_name(old))
            and dtype_name(new) == "complex128"
        ):
            fail(
                "E313",
                f"`{self.name}` is {dtype_name(old)}, and the new state {describe(new)}",
                "take its real part",
            )
        self._inner.state = (
            cast(session.run, new, dtype_name(old)) if dtype_name(new) != dtype_name(old) else new
        )
        attach(session.run, self._inner)

    __iadd__, __isub__, __imul__, __itruediv__ = map(_assigning, ("add", "sub", "mul", "div"))
    __ifloordiv__, __imod__, __ipow__, __imatmul__ = map(
        _assigning, ("floordiv", "mod", "pow", "matmul")
    )

    def __reduce__(self) -> Any:
        return Variable, (self.value, self.name, self.trainable)

    def __repr__(self) -> str:
        return f"Variable({self._inner.state!r}, name={self.name!r})"


# ---- in and out of the engine --------------------------------------------------------------------


def inward(value: Any) -> Any:
    """A value of Python as the engine has it: variables are its own variables. Raises GradcliError
    (E301) for what isn't numbers, strings, None or lists, tuples and dicts of these."""
    kind = type(value)
    if kind is float or kind is bool or kind is complex or kind is str or value is None:
        return value
    if kind is int:
        if not INT_MIN <= value <= INT_MAX:
            fail("E305", f"{value} doesn't fit into 64 bits", "write a float, such as `1e20`")
        return value
    if kind is Value:
        if value._traced[2].trace is not session.run.trace:
            fail(
                "E314", "this value belongs to another thread", "pass `x.value`, and watch it there"
            )
        return value._traced
    if kind is Variable:
        leaf = value._inner.origin
        if leaf is not None and leaf.trace is not session.run.trace:
            fail(
                "E314",
                f"`{value.name}` belongs to another thread",
                "make a variable in each thread",
            )
        return value._inner
    if isinstance(value, list | tuple):
        return List([inward(item) for item in value])
    if isinstance(value, dict):
        return {str(key): inward(item) for key, item in value.items()}
    if hasattr(value, "dtype"):
        return _settled(value)
    fail("E301", f"a {kind.__name__} is no number", "give numbers, NumPy arrays, or lists of them")


def _settled(value: Any) -> Any:
    """An array, or what NumPy takes for one; a copy while a tape records, which may keep it: so
    whoever writes into his own changes nothing."""
    if masked(value):
        fail("E301", f"the array is masked: {masked(value)}", UNMASK)
    array = CPU.xp.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if session.run.trace.segment is not None:
        array = array.copy()
    if array.dtype.kind not in "biufc":
        fail("E301", f"the dtype of the array is {array.dtype}", "arrays hold numbers only")
    verify_unsigned(array, lambda message, help: fail("E301", message, help))
    if array.dtype.kind == "c":  # the one complex type
        array = array.astype("complex128", copy=False)
    return CPU.settle(array)


def outward(value: Any) -> Any:
    """A value of the engine as Python gets it."""
    if type(value) is tuple:
        return Value(value)
    if type(value) is List:
        return [outward(item) for item in value]
    return {key: outward(item) for key, item in value.items()} if type(value) is dict else value


def _plain(value: Any) -> Any:
    """The number or array that a value holds, without its history."""
    inner = primal(read(inward(value)))
    if type(inner) is List:
        return plain_array(session.run, inner, lambda message, help: fail("E302", message, help))
    return inner


def as_float(state: Any) -> Any:
    """What is differentiated: ints become floats."""
    return cast(session.run, state, "float64") if dtype_name(state) in ("int64", "bool") else state


def state_of(value: Any) -> Any:
    """A state of its own for a variable, or for a value that is watched: nobody else can write to
    it."""
    state = _plain(value)
    if not values.is_number(state):
        fail(
            "E312",
            f"the state of a variable can't be {describe(state)}",
            "give a number, an array, or a list of numbers",
        )
    return state.copy() if shape_of(state) else state


# ---- operations ----------------------------------------------------------------------------------


def call(op: Op, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """An operation of the table on values of Python; the result is a `Value` where a tape records
    it.

    Raises GradcliError for operands that don't fit.
    """
    run = session.run
    operands = [inward(a) for a in arguments]
    if op.name in FAST and op.differentiable and not options and _are_traced_floats(operands):
        site = _sites.get(op) or _sites.setdefault(op, Site(op, NOWHERE))
        return outward(apply(run, site, tuple(map(read, operands))))
    with in_the_engine():
        return outward(
            call_op(
                run, op, operands, {name: inward(value) for name, value in options.items()}, NOWHERE
            )
        )


def _are_traced_floats(operands: list[Any]) -> bool:
    """Whether all operands are floats or ints, and one at least is on the trace."""
    traced = False
    for operand in operands:
        value = read(operand)
        if type(value) is tuple and type(value[0]) is float:
            traced = True
        elif type(value) is not float and type(value) is not int:
            return False
    return traced
