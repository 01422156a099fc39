"""Operations of the table on scalars as expressions of CUDA C.

Arithmetic is that of the other back ends, bit for bit; what they call of the C library is CUDA's
function of that name, within the ulps that CUDA's documentation states. Arithmetic on ints returns
`BACK` where 64 bits don't hold the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...ops import OPS
from ...ops.formula import Formula
from ..formulas.reading import forward_formula
from ..ir.types import BOOL, F64, I64, Type
from .scalar_ops import COMPARISONS, EXACT, LIBRARY, ON_FLOATS, ON_INTS, POWERS, NotNative

_INFIX = ("add", "sub", "mul", "div")
_CHECKED = ("add", "sub", "mul", "floordiv", "mod", "fmod")  # ints, by functions of `PREAMBLE`

DONE, BACK, SHORT = range(3)  # how a row ends: of `PREAMBLE`, too

# What every kernel's text begins with. The functions on ints return whether they have a result.
PREAMBLE = """\
typedef double f64;
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
    """A name or a literal of the text, and the type of its value."""

    text: str
    kind: Type


class Lines:
    """Text that grows line by line."""

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


def literal(value: float | int | bool) -> Term:
    """A number or a bool as CUDA C writes it."""
    if isinstance(value, bool):
        return Term(str(value).lower(), BOOL)
    if isinstance(value, int):
        text = "I64_MIN" if value == -(2**63) else f"{value}LL"
        return Term(f"({text})" if value < 0 else text, I64)
    if value != value:
        return Term("F64_NAN", F64)
    text = repr(float(value)).replace("inf", "F64_INF")
    return Term(f"({text})" if text.startswith("-") else text, F64)


class Scalars:
    """Writes operations on scalars."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def converted(self, value: Any, to: Type) -> Term:
        """A term, or a number of a formula, as one of another type."""
        if isinstance(value, complex):
            raise NotNative("complex numbers have no machine code")
        if isinstance(value, bool | int | float):
            return literal(float(value) if to == F64 else int(value) if to == I64 else bool(value))
        if value.kind == to:
            return value  # type: ignore[no-any-return]
        text = f"{value.text} != 0" if to == BOOL else f"({to}){value.text}"
        return self.lines.defined(text, to)

    def apply(self, name: str, operands: Sequence[Any], kind: Type) -> Term:
        """An op computed in floats or in ints, as `kind` says."""
        if name == "where":
            condition, a, b = operands
            sides = [self.converted(value, kind).text for value in (a, b)]
            text = f"{self.converted(condition, BOOL).text} ? {' : '.join(sides)}"
            return self.lines.defined(text, kind)
        values = [self.converted(value, kind) for value in operands]
        texts = [value.text for value in values]
        if name in COMPARISONS:
            return self.lines.defined(f"{texts[0]} {COMPARISONS[name]} {texts[1]}", BOOL)
        formula = (ON_INTS if kind == I64 else ON_FLOATS).get(name)
        if formula is not None:
            return self._formula(formula, values, kind)
        return self._on_ints(name, texts) if kind == I64 else self._on_floats(name, values, texts)

    def _formula(self, formula: Formula, values: Sequence[Term], kind: Type) -> Term:
        found = formula.evaluate(values, None, lambda name, given: self.apply(name, given, kind))
        return found if isinstance(found, Term) else self.converted(found, kind)

    def _on_floats(self, name: str, values: list[Term], texts: list[str]) -> Term:
        if name == "neg":
            return self.lines.defined(f"-{texts[0]}", F64)
        if name in _INFIX:
            return self.lines.defined(f"{texts[0]} {OPS[name].infix} {texts[1]}", F64)
        if name == "pow" and texts[1] in map(repr, POWERS):
            return self.lines.defined(" * ".join(texts[:1] * int(float(texts[1]))), F64)
        if name in EXACT or name in LIBRARY or name == "fmod":
            return self.lines.defined(f"{EXACT.get(name, name)}({', '.join(texts)})", F64)
        if OPS[name].forward is None:
            raise NotNative(f"`{name}` is Python's")
        return self._formula(forward_formula(OPS[name]), values, F64)

    def _on_ints(self, name: str, texts: list[str]) -> Term:
        if name in _CHECKED:
            return self._checked(name, *texts)
        if name == "pow" and texts[1].removesuffix("LL").isdecimal():
            return self._power(texts[0], int(texts[1].removesuffix("LL")))
        raise NotNative(f"`{name}` of ints has no machine code")

    def _checked(self, name: str, a: str, b: str) -> Term:
        """What an op gives of ints, where it has a result of 64 bits."""
        found = self.lines.name()
        self.lines.add(f"i64 {found};")
        self.lines.add(f"if (!int_{name}({a}, {b}, {found})) return BACK;")
        return Term(found, I64)

    def _power(self, base: str, exponent: int) -> Term:
        """A power by squaring. What overflows on the way divides the result."""
        result = literal(1)
        while exponent:
            if exponent & 1:
                result = self._checked("mul", result.text, base)
            exponent >>= 1
            if exponent:
                base = self._checked("mul", base, base).text
        return result
