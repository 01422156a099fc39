"""Array modules behind one class: NumPy, and CuPy by a subclass (`cuda.py`).

Nothing is imported before an array exists: a program on scalars runs without NumPy. This is the
only place where the engine imports NumPy; everything else asks the `Backend`.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache, cached_property, partial
from typing import Any, Self

from ...ops.op import Op
from ...platform.memory import keep_freed_memory
from .array_edges import first_of_zeros, log1p, power
from .host_memory import free_host_memory

# Elements of a product that OpenBLAS computes in one thread, without waiting for others.
ALONE = 10_000
_EXTREMES = frozenset(("maximum", "minimum"))
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
# What arrays of dtypes that the language doesn't have become, by the characters of their dtypes.
_SETTLED = {
    **dict.fromkeys("bhiqBHILQ", "int64"),
    "e": "float32",
    "g": "float64",
    "G": "complex128",
}


class Backend:
    """An array module with what the engine needs beyond the array API.

    `chunk` is the number of elements that a kernel of the table gets at a time: kernels take many
    times the memory of their operands.
    """

    # The type of its arrays, once the module is loaded: before that there are none.
    ndarray: Any = None

    def __init__(self, name: str, module: str, special: str, chunk: int) -> None:
        self.name, self._module, self._special, self.chunk = name, module, special, chunk
        self._functions: dict[Op, Callable[..., Any]] = {}

    @cached_property
    def xp(self) -> Any:
        """The array module, imported at first use."""
        module = _module(self._module)
        self.ndarray = module.ndarray
        return module

    @property
    def special(self) -> Any:
        """The module of special functions, imported at first use (after NumPy, whose errors are
        values here).
        """
        assert self.xp
        return _module(self._special)

    def function(self, op: Op) -> Callable[..., Any]:
        """The array function of an elementwise op that is a primitive of the array module."""
        function = self._functions.get(op)
        if function is None:
            name = op.primitive or op.name
            if op.name == "pow":
                function = partial(power, self.xp)
            elif op.name == "log1p":
                function = partial(log1p, self.xp)
            elif ":" in name:
                function = getattr(self.special, name.partition(":")[2])
            else:
                function = getattr(self.xp, name)
                if name in _EXTREMES and self.name == "cpu":
                    function = first_of_zeros(self.xp, function)
            self._functions[op] = function
        return function

    def kernel(self, text: str, name: str) -> Any:
        """A function of CUDA C, called with a grid, a block and its arguments. None where there is
        no such function."""
        return None

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """Returns `a` where the condition holds, else `b`; for CuPy the condition mustn't be a
        Python bool.
        """
        return self.xp.where(
            condition if hasattr(condition, "dtype") else self.xp.asarray(condition), a, b
        )

    def scalar(self, value: Any) -> Any:
        """Returns a number as functions on arrays accept it.

        It is NumPy's scalar, whose operators have IEEE results. CuPy has none, and its functions on
        whole arrays take no numbers, so there it is an array of rank 0.
        """
        if self.name != "cpu":
            return self.xp.asarray(value)
        return self.xp.float64(value) if type(value) is float else self.xp.asarray(value)[()]

    def exact(self, value: Any) -> Any:
        """Returns an array of ints as a NumPy array of Python ints, which don't overflow."""
        return CPU.xp.asarray(self.to_host(value)).astype(object)

    def settle(self, value: Any, to_float32: bool = False) -> Any:
        """Returns an array result as the language represents it: rank 0 becomes a Python scalar,
        except float32.

        `to_float32` converts float64 to float32.
        """
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            return value
        if to_float32 and dtype_name(value) == "float64":
            value = value.astype("float32")
            kind = type(value)
        if getattr(value, "ndim", 0):
            settled = _SETTLED.get(value.dtype.char)
            return value.astype(settled) if settled else value
        if hasattr(value, "dtype"):
            if value.dtype.char in "gG":  # whose `item` gives no number of Python
                value = value.astype(_SETTLED[value.dtype.char])
            if value.dtype.char == "f":
                return self.xp.float32(value.item()) if kind is not self.xp.float32 else value
            return value.item()
        return value

    def operand(self, value: Any) -> Any:
        """Returns a value as rules on arrays accept it: never a Python scalar, whose operators
        raise where IEEE has a result.
        """
        return self.scalar(value) if is_scalar(value) else value

    def is_finite(self, value: Any) -> bool:
        """Returns whether a number, or every element of an array, is finite; false also if their
        squares overflow.
        """
        value = getattr(value, "array", value)
        total = value
        if shape_of(value):
            flat = value.reshape(-1) if value.size <= ALONE and value.flags.c_contiguous else None
            # `dot` takes as little as half the time.
            total = value.sum() if flat is None else self.xp.dot(flat, flat)
        return bool(total - total == 0)

    # ---- devices other than the host override these ----------------------------------------------

    def active(self) -> AbstractContextManager[None]:
        """Returns a context in which the calling thread computes on this device, apart from other
        threads.
        """
        return nullcontext()

    def to_device(self, value: Any) -> Any:
        """Returns a NumPy array in the device's memory."""
        return value

    def to_host(self, value: Any) -> Any:
        """Returns an array in NumPy's memory; anything else as it is."""
        return value

    def all_to_host(self, values: Sequence[Any]) -> list[Any]:
        """Returns the arrays in NumPy's memory, waiting once for all of them. They are
        read-only.
        """
        return list(values)

    def free_memory(self) -> int:
        """Returns the bytes that arrays may still take on the device."""
        return free_host_memory()

    def limit_memory(self, size: int | None) -> None:
        """Limits the bytes that arrays may take on the device; None for no limit.

        The host's limit is the process's.
        """


def ieee() -> AbstractContextManager[Any]:
    """Makes floating-point errors values inside, never warnings; the caller's own policy is
    restored.
    """
    threading = sys.modules.get("threading")
    if "numpy" in sys.modules or (threading is not None and threading.active_count() > 1):
        # Another thread may import it in the meantime.
        policy: AbstractContextManager[Any] = _module("numpy").errstate(all="ignore")
        return policy
    return _WithoutNumpy()


class _WithoutNumpy(ExitStack):
    """The policy of a run that hasn't imported NumPy. A program on scalars never does; `_module`
    sets the policy if this one does."""

    def __enter__(self) -> Self:
        _without_numpy.append(self)
        return super().__enter__()

    def __exit__(self, *details: Any) -> None:
        _without_numpy.remove(self)
        super().__exit__(*details)


_without_numpy: list[ExitStack] = []  # the policies of nested runs


@cache
def _module(name: str) -> Any:
    module = importlib.import_module(name)
    if name == "numpy":
        keep_freed_memory()
        for policy in _without_numpy:
            policy.enter_context(module.errstate(all="ignore"))
    return module


CPU = Backend("cpu", "numpy", "scipy.special", chunk=16_384)


# ---- dtypes and shapes ---------------------------------------------------------------------------


def shape_of(value: Any) -> tuple[int, ...]:
    return getattr(value, "shape", ())


UNMASK = "`.filled(0.0)` gives masked elements a value, `.compressed()` leaves them out"


def masked(value: Any) -> str:
    """How many elements of one of NumPy's masked arrays have no value, in words; "" where all have
    one."""
    mask = getattr(value, "mask", None)
    count = 0 if mask is None else int(CPU.xp.count_nonzero(mask))
    return f"{count} of its {value.size} elements have no value" if count else ""


_NAMES = {"d": "float64", "f": "float32", "l": "int64", "?": "bool", "D": "complex128"}


def dtype_name(value: Any) -> str:
    """Returns the name of a value's dtype, also for Python scalars."""
    kind = type(value)
    if kind is float:
        return "float64"
    if kind is bool:
        return "bool"
    if kind is int:
        return "int64"
    if kind is complex:
        return "complex128"
    dtype = getattr(value, "dtype", None)
    # The look-up is ten times as fast.
    return kind.__name__ if dtype is None else _NAMES.get(dtype.char) or str(dtype)


_INEXACT = frozenset((float, complex))


def is_inexact(value: Any) -> bool:
    """Returns whether the value is a float or complex scalar or array, which can be
    differentiated.
    """
    return type(value) in _INEXACT or (hasattr(value, "dtype") and value.dtype.kind in "fc")


def is_complex(value: Any) -> bool:
    return type(value) is complex or (hasattr(value, "dtype") and value.dtype.kind == "c")


def is_scalar(value: Any) -> bool:
    """Returns whether the value is a number of rank 0."""
    return type(value) in (float, int, bool, complex) or (
        hasattr(value, "dtype") and not value.shape
    )


def broadcast_shapes(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Returns the shape that the shapes broadcast to, or None where they don't."""
    if len(shapes) == 2:
        long, short = shapes if len(shapes[0]) >= len(shapes[1]) else reversed(shapes)
        if long[len(long) - len(short) :] == short:
            return long
    result: list[int] = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        offset = len(result) - len(shape)
        for k, n in enumerate(shape):
            if n != 1:
                if result[offset + k] not in (1, n):
                    return None
                result[offset + k] = n
    return tuple(result)


def sum_to(c: Any, shape: tuple[int, ...]) -> Any:
    """Sums away the axes that broadcasting added or stretched."""
    if extra := c.ndim - len(shape):
        c = c.sum(axis=tuple(range(extra)))
    stretched = tuple([k for k, n in enumerate(shape) if n == 1 and c.shape[k] != 1])
    return c.sum(axis=stretched, keepdims=True) if stretched else c


def checked_int(value: int) -> int:
    """Returns the int if it fits into 64 bits. Raises OverflowError."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError


def count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def generator_of(seed: int, draw: int) -> Any:
    """The generator of a draw, by its number: with the seed, that is all the state that there is.
    It is NumPy's on every device, so that a seed gives the same numbers everywhere."""
    random = CPU.xp.random
    return random.Generator(random.Philox([seed, draw]))
