"""Operations of the table on scalars as LLVM instructions, with the bits of the scalar functions.

Most are one instruction, or a call of the function of the C library that Python's `math` calls.
Others are formulas of these, or calls of Python. Arithmetic on ints steps back where 64 bits don't
hold the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...backends.backend import INT_MIN
from ...ir.types import F32, F64, Type, rounded
from ...passes.derivatives.recording import TOGETHER
from ..scalars import COMPARISONS, EXACT, LIBRARY
from .assembly import address_of
from .frame import (
    ADDRESS,
    BIT,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    REALS,
    STATUS,
    Frame,
    Pure,
    PythonFunctions,
    declared,
    own_function,
    python,
    text_of,
)
from .types import llvm_type

_INSTRUCTIONS = {
    "add": "fadd",
    "sub": "fsub",
    "mul": "fmul",
    "div": "fdiv",
    "fmod": "frem",
    "neg": "fneg",
}


class Machine:
    """LLVM as a machine, at the place of a frame."""

    ints, bools, doubles = INT, BIT, DOUBLE

    def __init__(
        self, frame: Frame, called: PythonFunctions, vectors: Callable[..., Any] | None
    ) -> None:
        """`called` are the Python functions that the kernel holds. `vectors` returns functions that
        have versions for several numbers at once, if such may be used."""
        self.frame, self.builder = frame, frame.builder
        self.called, self.vectors = called, vectors

    def type_of(self, kind: Type) -> Any:
        return llvm_type(kind)

    def literal(self, number: Any, kind: Any) -> Any:
        if kind not in REALS:
            return ir.Constant(kind, int(number))
        return ir.Constant(kind, rounded(float(number), F32 if kind == FLOAT else F64))

    def known(self, value: Any) -> Any:
        return value.constant if isinstance(value, ir.Constant) else None

    def cast(self, value: Any, to: Any) -> Any:
        if value.type == to:
            return value
        if to == BIT:
            return self.compared("ne", value, self.literal(0, value.type))
        if value.type == BIT:
            return (self.builder.uitofp if to in REALS else self.builder.zext)(value, to)
        if FLOAT in (value.type, to):
            return self._in_other_width(value, to)
        return self._whole(value) if value.type == DOUBLE else self.builder.sitofp(value, to)

    def _in_other_width(self, value: Any, to: Any) -> Any:
        """A number that is in float32 before or after, converted by way of a double."""
        if isinstance(value, ir.Constant):
            return self.literal(value.constant, to)
        if value.type == FLOAT:
            return self.cast(self.builder.fpext(value, DOUBLE), to)
        return self.builder.fptrunc(self.cast(value, DOUBLE), FLOAT)

    def _whole(self, value: Any) -> Any:
        """A float without fraction as an int, into which it is known to fit."""
        make = self.builder
        if self.frame.is_masked:
            low = make.fcmp_ordered(">=", value, DOUBLE(-(2.0**63)))
            high = make.fcmp_ordered("<", value, DOUBLE(2.0**63))
            value = make.select(make.and_(low, high), value, DOUBLE(0.0))
        return make.fptosi(value, INT)

    def choice(self, condition: Any, a: Any, b: Any) -> Any:
        return self.builder.select(condition, a, b)

    def compared(self, name: str, a: Any, b: Any) -> Any:
        make = self.builder
        on_floats = make.fcmp_unordered if name == "ne" else make.fcmp_ordered
        return (make.icmp_signed if a.type == INT else on_floats)(COMPARISONS[name], a, b)

    def instruction(self, name: str, values: Sequence[Any], kind: Any) -> Any:
        if name in _INSTRUCTIONS:
            return getattr(self.builder, _INSTRUCTIONS[name])(*values)
        if name not in EXACT:
            return None
        function = self.builder.module.declare_intrinsic(
            f"llvm.{EXACT[name]}", [kind], ir.FunctionType(kind, [kind] * len(values))
        )
        return self.builder.call(function, values)

    def checked(self, name: str, a: Any, b: Any) -> Any:
        make = self.builder
        if name in ("floordiv", "mod", "fmod"):
            return self._divided(name, a, b)
        if self.frame.is_masked and name != "mul":  # without a call, for several numbers at once
            result = make.add(a, b) if name == "add" else make.sub(a, b)
            other = b if name == "add" else make.not_(b)
            signs = make.and_(make.xor(a, result), make.xor(other, result))
            self.frame.step_back_if(make.icmp_signed("<", signs, INT(0)))
            return result
        found = getattr(self.builder, f"s{name}_with_overflow")(a, b)
        self.frame.step_back_if(self.builder.extract_value(found, 1))
        return self.builder.extract_value(found, 0)

    def _divided(self, name: str, a: Any, b: Any) -> Any:
        """A quotient rounded down, its remainder, or the remainder of the quotient rounded to 0
        (`fmod`)."""
        make = self.builder
        zero, minus_one = INT(0), INT(-1)
        is_zero = make.icmp_signed("==", b, zero)
        self.frame.step_back_if(is_zero)
        if self.frame.is_masked:
            b = make.select(is_zero, INT(1), b)
        negates = make.icmp_signed("==", b, minus_one)
        if name == "floordiv":
            least = make.icmp_signed("==", a, INT(INT_MIN))
            self.frame.step_back_if(make.and_(least, negates))
            if self.frame.is_masked:
                a = make.select(make.and_(least, negates), zero, a)
        # The processor refuses the remainder of the least int by -1. It is 0, like that by 1.
        rest = make.srem(a, make.select(negates, INT(1), b))
        if name == "fmod":
            return rest
        against = make.icmp_signed("<", make.xor(rest, b), zero)
        off = make.and_(make.icmp_signed("!=", rest, zero), against)
        if name == "mod":
            return make.add(rest, make.select(off, b, zero))
        return make.sub(make.sdiv(a, b), make.zext(off, INT))

    # ---- functions -------------------------------------------------------------------------------

    def function(self, name: str, values: Sequence[Any]) -> Any:
        """The function of an op that has no formula in other ops: that of the C library, or
        Python's."""
        if self.vectors and (found := self.vectors(self.builder.module, name, len(values))):
            return self.builder.call(found, values)
        if name in LIBRARY and address_of(name):
            kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(values))
            module = self.builder.module
            if name in TOGETHER:  # LLVM calls `sincos` for both, which gives the same bits
                return self.builder.call(
                    module.globals.get(name) or Pure(module, kind, name), values
                )
            function = declared(module, name, kind)
            function.attributes.add("nobuiltin")  # LLVM's own knowledge may give other bits
            return self.builder.call(function, values)
        return self._python(name, values)

    def _python(self, name: str, values: Sequence[Any]) -> Any:
        """The result of a Python function of floats. An exception that it raises ends the
        kernel."""
        make, callee = self.builder, self.called.callee(self.frame, name)
        result = self.frame.variable(DOUBLE(0.0))
        raised = make.call(self._caller(len(values)), [result, callee, *values])
        self.frame.leave_if(make.icmp_signed("!=", raised, STATUS(0)), self.frame.raised)
        return make.load(result)

    def _caller(self, arity: int) -> Any:
        """The function that calls a Python function of `arity` floats. It returns a status, 0
        unless that raises."""

        def body(make: Any, result: Any, callee: Any, *values: Any) -> Any:
            types = text_of(make, "d" * arity)
            found = python(make, "PyObject_CallFunction", callee, types, *values)
            with make.if_then(make.icmp_unsigned("==", found, NULL), likely=False):
                make.ret(STATUS(1))
            make.store(python(make, "PyFloat_AsDouble", found), result)
            python(make, "Py_DecRef", found)
            return STATUS(0)

        module, takes = self.builder.module, [DOUBLE.as_pointer(), ADDRESS, *[DOUBLE] * arity]
        return own_function(module, f"call_{arity}", STATUS, takes, body, noinline=True)
