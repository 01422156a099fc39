"""Operations of the table on scalars as LLVM instructions, with the bits of the scalar functions.

Most are one instruction, or a call of the function of the C library that Python's `math` calls;
the others are formulas of these, or calls of Python. Arithmetic on ints steps back where 64 bits
don't hold the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...ops import OPS
from ...ops.rule_values import evaluate
from ..backends.backend import INT_MIN
from ..ir.types import F32, F64, rounded
from .llvm_calls import Calls
from .llvm_frame import BIT, DOUBLE, FLOAT, INT, REALS, Frame
from .scalar_ops import COMPARISONS, EXACT, ON_FLOATS, ON_INTS, NotNative

_INSTRUCTIONS = {
    "add": "fadd",
    "sub": "fsub",
    "mul": "fmul",
    "div": "fdiv",
    "fmod": "frem",
    "neg": "fneg",
}


class Scalars:
    """Emits operations on scalars."""

    def __init__(self, frame: Frame, calls: Calls) -> None:
        self.frame, self.builder, self.calls = frame, frame.builder, calls

    def step_back_if(self, condition: Any) -> None:
        self.frame.step_back_if(condition)

    def converted(self, value: Any, to: Any) -> Any:
        """A value, or a number of a formula, as one of another type."""
        if isinstance(value, complex):
            raise NotNative("complex numbers have no machine code")
        if isinstance(value, bool | int | float):
            return number(to, value)
        if value.type == to:
            return value
        if to == BIT:
            return self.apply("ne", [value, 0], value.type)
        if value.type == BIT:
            return (self.builder.uitofp if to in REALS else self.builder.zext)(value, to)
        if FLOAT in (value.type, to):
            return self._in_other_width(value, to)
        return self._whole(value) if value.type == DOUBLE else self.builder.sitofp(value, to)

    def _in_other_width(self, value: Any, to: Any) -> Any:
        """A number, in float32 before or after, by way of a double."""
        if isinstance(value, ir.Constant):
            return number(to, value.constant)
        if value.type == FLOAT:
            return self.converted(self.builder.fpext(value, DOUBLE), to)
        return self.builder.fptrunc(self.converted(value, DOUBLE), FLOAT)

    def _whole(self, value: Any) -> Any:
        """A float without its fraction as an int, which it has been found to fit into."""
        make = self.builder
        if self.frame.is_masked:
            low = make.fcmp_ordered(">=", value, ir.Constant(DOUBLE, -(2.0**63)))
            high = make.fcmp_ordered("<", value, ir.Constant(DOUBLE, 2.0**63))
            value = make.select(make.and_(low, high), value, ir.Constant(DOUBLE, 0.0))
        return make.fptosi(value, INT)

    def apply(self, name: str, operands: Sequence[Any], kind: Any) -> Any:
        """An op computed in doubles, in float32 or in ints, as `kind` says."""
        if name == "where":
            condition, *sides = operands
            chosen = [self.converted(value, kind) for value in sides]
            return self.builder.select(self.converted(condition, BIT), *chosen)
        values = [self.converted(value, kind) for value in operands]
        if name in COMPARISONS:
            compared = (
                self.builder.icmp_signed
                if kind == INT
                else self.builder.fcmp_unordered
                if name == "ne"
                else self.builder.fcmp_ordered
            )
            return compared(COMPARISONS[name], *values)
        return self._on_ints(name, values) if kind == INT else self._on_floats(name, values, kind)

    def _by_rule(self, rule: Callable[..., Any], values: Sequence[Any], kind: Any) -> Any:
        return evaluate(rule, values, lambda name, operands: self.apply(name, operands, kind))

    def _on_floats(self, name: str, values: list[Any], kind: Any) -> Any:
        if name in _INSTRUCTIONS:
            return getattr(self.builder, _INSTRUCTIONS[name])(*values)
        if name in EXACT:
            full = f"llvm.{EXACT[name]}"
            function = self.builder.module.declare_intrinsic(
                full, [kind], ir.FunctionType(kind, [kind] * len(values))
            )
            return self.builder.call(function, values)
        if name in ON_FLOATS:
            return self._by_rule(ON_FLOATS[name], values, kind)
        forward = OPS[name].forward
        if forward is None:  # those of float32 are computed in doubles, and rounded once
            found = self.calls.call(name, [self.converted(value, DOUBLE) for value in values])
            return self.converted(found, kind)
        return self._by_rule(forward, values, kind)

    def _on_ints(self, name: str, values: list[Any]) -> Any:
        if name in ("add", "sub", "mul"):
            return self._checked(name, *values)
        if name in ("floordiv", "mod", "fmod"):
            return self._divided(name, *values)
        if name == "pow" and isinstance(values[1], ir.Constant) and values[1].constant >= 0:
            return self._power(values[0], values[1].constant)
        if name in ON_INTS:
            return self._by_rule(ON_INTS[name], values, INT)
        raise NotNative(f"`{name}` of ints has no machine code")

    def _checked(self, name: str, a: Any, b: Any) -> Any:
        """A sum, difference or product that 64 bits hold."""
        make = self.builder
        if self.frame.is_masked and name != "mul":  # without a call, for several numbers at once
            result = make.add(a, b) if name == "add" else make.sub(a, b)
            other = b if name == "add" else make.not_(b)
            signs = make.and_(make.xor(a, result), make.xor(other, result))
            self.step_back_if(make.icmp_signed("<", signs, ir.Constant(INT, 0)))
            return result
        found = getattr(self.builder, f"s{name}_with_overflow")(a, b)
        self.step_back_if(self.builder.extract_value(found, 1))
        return self.builder.extract_value(found, 0)

    def _power(self, base: Any, exponent: int) -> Any:
        """A power by squaring. What overflows on the way divides the result."""
        result = ir.Constant(INT, 1)
        while exponent:
            if exponent & 1:
                result = self._checked("mul", result, base)
            exponent >>= 1
            if exponent:
                base = self._checked("mul", base, base)
        return result

    def _divided(self, name: str, a: Any, b: Any) -> Any:
        """A quotient rounded down, its remainder, or that of the quotient rounded to 0 (`fmod`)."""
        make = self.builder
        zero, minus_one = ir.Constant(INT, 0), ir.Constant(INT, -1)
        is_zero = make.icmp_signed("==", b, zero)
        self.step_back_if(is_zero)
        if self.frame.is_masked:
            b = make.select(is_zero, ir.Constant(INT, 1), b)
        negates = make.icmp_signed("==", b, minus_one)
        if name == "floordiv":
            least = make.icmp_signed("==", a, ir.Constant(INT, INT_MIN))
            self.step_back_if(make.and_(least, negates))
            if self.frame.is_masked:
                a = make.select(make.and_(least, negates), zero, a)
        # The processor refuses the remainder of the least int by -1, which is 0 as that by 1.
        rest = make.srem(a, make.select(negates, ir.Constant(INT, 1), b))
        if name == "fmod":
            return rest
        against = make.icmp_signed("<", make.xor(rest, b), zero)
        off = make.and_(make.icmp_signed("!=", rest, zero), against)
        if name == "mod":
            return make.add(rest, make.select(off, b, zero))
        return make.sub(make.sdiv(a, b), make.zext(off, INT))


def number(kind: Any, value: Any) -> Any:
    """A number as a constant of a type."""
    if kind not in REALS:
        return ir.Constant(kind, int(value))
    return ir.Constant(kind, rounded(float(value), F32 if kind == FLOAT else F64))
