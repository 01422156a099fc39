"""Functions that machine code calls: those of the C library, and Python's where that has none.

A kernel holds the interpreter's lock, so that it may call Python, which costs what it costs there.
The functions are handed to it in a table: its code is the same in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .machine import has_function

DOUBLE, INT, BIT, BYTE = ir.DoubleType(), ir.IntType(64), ir.IntType(1), ir.IntType(8)
STATUS = ir.IntType(32)
ADDRESS = BYTE.as_pointer()
# The functions that `math` has from the C library, which returns what IEEE 754 asks for where
# `math` raises. (`hypot`, `gamma` and `lgamma` are Python's own.)
LIBRARY = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "pow", "erf", "erfc",
}  # fmt: skip


def step_back_if(builder: Any, condition: Any, step_back: Any) -> None:
    """Branches to a block that leaves the kernel, which is seldom."""
    after = builder.append_basic_block()
    builder.cbranch(condition, step_back, after).set_weights([1, 99])
    builder.position_at_end(after)


def declared(module: Any, name: str, kind: Any) -> Any:
    """A function from outside."""
    return module.globals.get(name) or ir.Function(module, kind, name)


class Calls:
    """Emits calls on doubles where a builder stands."""

    def __init__(self, builder: Any, step_back: Any, table: Any) -> None:
        """`table` is the address of the Python functions."""
        self.builder, self.step_back, self.table = builder, step_back, table
        self.called: list[str] = []  # the ops whose functions are in the table

    def call(self, name: str, values: Sequence[Any]) -> Any:
        """The function of an op that no formula says more about."""
        if name in LIBRARY and has_function(name):
            kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(values))
            function = declared(self.builder.module, name, kind)
            function.attributes.add("nobuiltin")  # LLVM's own knowledge may give other bits
            return self.builder.call(function, values)
        return self._python(name, values)

    def _python(self, name: str, values: Sequence[Any]) -> Any:
        """What a Python function of floats gives. What it raises ends the kernel."""
        make = self.builder
        if name not in self.called:
            self.called.append(name)
        k = ir.Constant(INT, self.called.index(name))
        callee = make.load(make.gep(self.table, [k], inbounds=True))
        with make.goto_entry_block():
            result = make.alloca(DOUBLE)
        raised = make.call(self._caller(len(values)), [result, callee, *values])
        step_back_if(make, make.icmp_signed("!=", raised, STATUS(0)), self.step_back)
        return make.load(result)

    def _caller(self, arity: int) -> Any:
        """The function that calls a Python function of so many floats, and gives 0 unless that
        raises."""
        module, name = self.builder.module, f"call_{arity}"
        if name in module.globals:
            return module.globals[name]
        kind = ir.FunctionType(STATUS, [DOUBLE.as_pointer(), ADDRESS, *[DOUBLE] * arity])
        caller = ir.Function(module, kind, name)
        caller.linkage = "internal"
        caller.attributes.add("noinline")
        result, callee, *values = caller.args
        letters = ir.Constant(ir.ArrayType(BYTE, arity + 1), bytearray(b"d" * arity + b"\0"))
        types = ir.GlobalVariable(module, letters.type, f"types_{arity}")
        types.initializer, types.global_constant, types.linkage = letters, True, "internal"
        make = ir.IRBuilder(caller.append_basic_block())
        raised, returned = (make.append_basic_block() for _ in range(2))
        kind = ir.FunctionType(ADDRESS, [ADDRESS, ADDRESS], var_arg=True)
        python = declared(module, "PyObject_CallFunction", kind)
        found = make.call(python, [callee, make.bitcast(types, ADDRESS), *values])
        make.cbranch(make.icmp_unsigned("==", found, ir.Constant(ADDRESS, None)), raised, returned)
        make.position_at_end(raised)
        make.ret(STATUS(1))
        make.position_at_end(returned)
        as_double = ir.FunctionType(DOUBLE, [ADDRESS])
        make.store(make.call(declared(module, "PyFloat_AsDouble", as_double), [found]), result)
        release = ir.FunctionType(ir.VoidType(), [ADDRESS])
        make.call(declared(module, "Py_DecRef", release), [found])
        make.ret(STATUS(0))
        return caller
