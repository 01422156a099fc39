"""Functions that machine code calls: those of the C library, and Python's where it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...passes.derivatives.recording import TOGETHER
from ..scalar_ops import LIBRARY
from .assembly import address_of
from .frame import (
    ADDRESS,
    DOUBLE,
    NULL,
    STATUS,
    Frame,
    Pure,
    PythonFunctions,
    declared,
    own_function,
    python,
    text_of,
)


class Calls:
    """Emits calls on doubles."""

    def __init__(
        self, frame: Frame, called: PythonFunctions, vectors: Callable[..., Any] | None = None
    ) -> None:
        """`called` are the Python functions that the kernel holds. `vectors` returns functions that
        have versions for several numbers at once, if such may be used."""
        self.frame, self.builder, self.called = frame, frame.builder, called
        self.vectors = vectors

    def call(self, name: str, values: Sequence[Any]) -> Any:
        """The function of an op that has no formula in other ops."""
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
