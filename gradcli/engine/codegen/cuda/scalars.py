"""Operations of the table on scalars as expressions of CUDA C.

Arithmetic has the bits of the other back ends. Functions that those call in the C library are
CUDA's functions of that name, within the ulps that CUDA's documentation states; of numbers in
float32 they are computed in float64, and rounded once. Arithmetic on ints returns `BACK` where 64
bits don't hold the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ....ops import OPS
from ...ir.types import BOOL, F32, F64, I64, Type, element_of, rounded
from ..scalars import COMPARISONS, EXACT, LIBRARY, NotNative

_INFIX = ("add", "sub", "mul", "div")

DONE, BACK, SHORT = range(3)  # how a row ends; `PREAMBLE` has the same numbers

# The beginning of every kernel's text. The functions on ints return whether they have a result.
PREAMBLE = """\
typedef double f64;
typedef float f32;
typedef long long i64;
typedef unsigned long long u64;
enum { DONE, BACK, SHORT };
#define F64_INF __longlong_as_double(0x7ff0000000000000LL)
#define F64_NAN __longlong_as_double(0x7ff8000000000000LL)
#define I64_MIN (-9223372036854775807LL - 1)
__device__ inline bool int_add(i64 a, i64 b, i64 &found) {
    found = (i64)((u64)a + (u64)b);
    return ((a ^ found) & (b ^ found)) >= 0;
}
__device__ inline bool int_sub(i64 a, i64 b, i64 &found) {
    found = (i64)((u64)a - (u64)b);
    return ((a ^ b) & (a ^ found)) >= 0;
}
__device__ inline bool int_mul(i64 a, i64 b, i64 &found) {
    found = (i64)((u64)a * (u64)b);
    return __mul64hi(a, b) == found >> 63;
}
__device__ inline bool int_fmod(i64 a, i64 b, i64 &found) {
    found = b == 0 || b == -1 ? 0 : a % b;
    return b != 0;
}
__device__ inline bool int_mod(i64 a, i64 b, i64 &found) {
    bool has = int_fmod(a, b, found);
    if (found != 0 && (found ^ b) < 0) found += b;
    return has;
}
__device__ inline bool int_floordiv(i64 a, i64 b, i64 &found) {
    i64 rest;
    if (b == 0 || (b == -1 && a == I64_MIN)) return false;
    int_fmod(a, b, rest);
    found = a / b - (rest != 0 && (rest ^ b) < 0);
    return true;
}
"""


class Term(NamedTuple):
    """A name or a literal of the text, the type of its value, and the number if it is a literal."""

    text: str
    kind: Type
    number: Any = None


class Lines:
    """Text that grows line by line, with indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = self._named = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self) -> str:
        """A new name."""
        self._named += 1
        return f"v{self._named}"

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Lines in braces."""
        self.add(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")

    def defined(self, expression: str, kind: Type) -> Term:
        """A new name for the value of an expression."""
        name = self.name()
        self.add(f"const {kind} {name} = {expression};")
        return Term(name, kind)


def literal(value: float | int | bool, kind: Type) -> Term:
    """A number or a bool as CUDA C writes it."""
    if kind == BOOL:
        return Term(str(bool(value)).lower(), BOOL, bool(value))
    if kind == I64:
        number = int(value)
        text = "I64_MIN" if number == -(2**63) else f"{number}LL"
        return Term(f"({text})" if number < 0 else text, I64, number)
    number = rounded(float(value), element_of(kind))
    text = "F64_NAN" if number != number else repr(number).replace("inf", "F64_INF")
    text = f"(f32){text}" if kind == F32 else text
    return Term(f"({text})" if text[0] in "(-" else text, kind, number)


class Cuda:
    """CUDA C as a machine."""

    ints, bools, doubles = I64, BOOL, F64

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def type_of(self, kind: Type) -> Type:
        return kind

    def literal(self, number: Any, kind: Type) -> Term:
        return literal(number, kind)

    def known(self, value: Term) -> Any:
        return value.number

    def cast(self, value: Term, to: Type) -> Term:
        if value.kind == to:
            return value
        if value.number is not None:
            return literal(value.number, to)
        if to == F32 and value.kind == I64:
            value = self.cast(value, F64)
        text = f"{value.text} != 0" if to == BOOL else f"({to}){value.text}"
        return self.lines.defined(text, to)

    def choice(self, condition: Term, a: Term, b: Term) -> Term:
        return self.lines.defined(f"{condition.text} ? {a.text} : {b.text}", a.kind)

    def compared(self, name: str, a: Term, b: Term) -> Term:
        return self.lines.defined(f"{a.text} {COMPARISONS[name]} {b.text}", BOOL)

    def checked(self, name: str, a: Term, b: Term) -> Term:
        found = self.lines.name()
        self.lines.add(f"i64 {found};")
        self.lines.add(f"if (!int_{name}({a.text}, {b.text}, {found})) return BACK;")
        return Term(found, I64)

    def instruction(self, name: str, values: Sequence[Term], kind: Type) -> Term | None:
        texts = [value.text for value in values]
        if name == "neg":
            return self.lines.defined(f"-{texts[0]}", kind)
        if name in _INFIX:
            return self.lines.defined(f"{texts[0]} {OPS[name].infix} {texts[1]}", kind)
        if name not in EXACT and name != "fmod":
            return None
        function = EXACT.get(name, name) + "f" * (kind == F32)
        return self.lines.defined(f"{function}({', '.join(texts)})", kind)

    def function(self, name: str, values: Sequence[Term]) -> Term:
        if name not in LIBRARY:
            raise NotNative(f"`{name}` is Python's")
        texts = [value.text for value in values]
        return self.lines.defined(f"{name}({', '.join(texts)})", F64)
