"""The frame of a kernel: how Python calls it, what it calls of Python, and how it is left.

A kernel is a function of Python's C interface ("fastcall"), so calling it costs no more than
calling a builtin. It holds the interpreter's lock. Its `self` is a tuple: the class StepBack, and
the Python functions that it calls. So its code is the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from llvmlite import ir

from ...backends.tiers import NO_LIMIT
from .assembly import offer

DOUBLE, FLOAT = REALS = ir.DoubleType(), ir.FloatType()
INT, BIT, BYTE = ir.IntType(64), ir.IntType(1), ir.IntType(8)
STATUS = ir.IntType(32)
DONE, STEPPED_BACK, RAISED = range(3)  # how a function ends, which is its status
ADDRESS, NOTHING = BYTE.as_pointer(), ir.VoidType()
NULL = ADDRESS(None)
# Functions of Python's C interface: results, and parameters.
_INTERFACE: dict[str, tuple[Any, list[Any]]] = {
    "PyBool_FromLong": (ADDRESS, [INT]),
    "PyErr_BadArgument": (STATUS, []),
    "PyErr_CheckSignals": (STATUS, []),
    "PyErr_Occurred": (ADDRESS, []),
    "PyErr_SetNone": (NOTHING, [ADDRESS]),
    "PyEval_RestoreThread": (NOTHING, [ADDRESS]),
    "PyEval_SaveThread": (ADDRESS, []),
    "PyGILState_Ensure": (STATUS, []),
    "PyGILState_Release": (NOTHING, [STATUS]),
    "PyFloat_AsDouble": (DOUBLE, [ADDRESS]),
    "PyLong_AsLongLong": (INT, [ADDRESS]),
    "PyMem_RawFree": (NOTHING, [ADDRESS]),
    "PyMem_RawRealloc": (ADDRESS, [ADDRESS, INT]),
    "PyObject_CallFunction": (ADDRESS, [ADDRESS, ADDRESS]),
    "PyObject_IsTrue": (STATUS, [ADDRESS]),
    "PyTuple_GetItem": (ADDRESS, [ADDRESS, INT]),
    "Py_BuildValue": (ADDRESS, [ADDRESS]),
    "Py_DecRef": (NOTHING, [ADDRESS]),
}
_VARIADIC = {"PyObject_CallFunction", "Py_BuildValue"}


def python(builder: Any, name: str, *values: Any) -> Any:
    """Emits a call of Python's C interface."""
    offer(name)
    result, parameters = _INTERFACE[name]
    kind = ir.FunctionType(result, parameters, var_arg=name in _VARIADIC)
    return builder.call(declared(builder.module, name, kind), values)


def passed(builder: Any, value: Any) -> Any:
    """A number as C passes it to a function of any numbers."""
    return builder.fpext(value, DOUBLE) if value.type == FLOAT else value


def declared(module: Any, name: str, kind: Any) -> Any:
    """A function from outside."""
    return module.globals.get(name) or ir.Function(module, kind, name)


class Described(ir.Function):  # type: ignore[misc]
    """A function with attributes that llvmlite doesn't know."""

    said: str

    def descr_prototype(self, buf: list[str]) -> None:
        super().descr_prototype(buf)
        buf[-1] = f"{buf[-1].rstrip()} {self.said}\n"


class Pure(Described):
    """A function without effects."""

    said = "nounwind willreturn memory(none)"


def own_function(
    module: Any,
    name: str,
    gives: Any,
    takes: Sequence[Any],
    body: Callable[..., Any],
    noinline: bool = False,
) -> Any:
    """A function of a module, which is made once. `body` gets a builder and the parameters, emits
    the code, and returns the result. `noinline`: LLVM doesn't inline it."""
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(gives, takes), name)
    function.linkage = "internal"
    if noinline:
        function.attributes.add("noinline")
    make = ir.IRBuilder(function.append_basic_block())
    found = body(make, *function.args)
    if gives == NOTHING:
        make.ret_void()
    else:
        make.ret(found)
    return function


def count_up(builder: Any, end: Any, step: int, body: Callable[[Any], object]) -> None:
    """Emits a loop from 0 up to an end."""
    before, (head, inside, after) = builder.block, [builder.append_basic_block() for _ in range(3)]
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(INT)
    index.add_incoming(INT(0), before)
    builder.cbranch(builder.icmp_signed("<", index, end), inside, after)
    builder.position_at_end(inside)
    body(index)
    index.add_incoming(builder.add(index, INT(step)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def text_of(builder: Any, text: str) -> Any:
    """The address of a constant text."""
    name = f"text_{text}"
    if name not in builder.module.globals:
        value = ir.Constant(ir.ArrayType(BYTE, len(text) + 1), bytearray(f"{text}\0".encode()))
        made = ir.GlobalVariable(builder.module, value.type, name)
        made.initializer, made.global_constant, made.linkage = value, True, "internal"
    return builder.bitcast(builder.module.globals[name], ADDRESS)


class PythonFunctions(list[Any]):
    """The Python functions that a kernel holds, each once: of numbers, by the names of their ops,
    and of arrays."""

    def callee(self, frame: Frame, function: Any) -> Any:
        """Emits the loading of a function, which is added."""
        if function not in self:
            self.append(function)
        place = INT(1 + self.index(function))
        return python(frame.builder, "PyTuple_GetItem", frame.held, place)


class Frame:
    """A function of machine code, and the builder's place in it.

    held       the address of the kernel's `self`
    bottom     the position of the C stack when the kernel was called, as an int
    arrays     the place of the address of the first array in the kernel's list
    each_module      the module of the functions of its `each`, which LLVM optimises
    is_masked  whether code goes on where it steps back; its results are thrown away
    step_back  the block that leaves with StepBack
    raised     the block that leaves with the exception that Python has set
    """

    held: Any
    bottom: Any
    arrays: Any
    is_masked = False

    def __init__(self, function: Any, each_module: Any = None) -> None:
        """`each_module` is the function's own module, if it isn't given."""
        self.each_module = each_module or function.module
        function.attributes.add("nounwind")
        start, self.step_back, self.raised = (function.append_basic_block() for _ in range(3))
        self.builder = ir.IRBuilder(start)
        self._ending: Any = None  # the block that leaves as a called function has ended
        self._ends: Any = None  # the status of that function

    def here(self) -> Any:
        """The current position of the C stack."""
        return self.builder.ptrtoint(self.builder.alloca(BYTE), INT)

    def variable(self, value: Any) -> Any:
        """A variable with its first value, a constant. LLVM puts it in a register."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(value.type)
            self.builder.store(value, place)
        return place

    def step_back_if(self, condition: Any) -> None:
        """Steps back where a condition holds."""
        self.leave_if(condition, self.step_back)

    def safe(self, place: Any) -> Any:
        """A place in an array, made valid where code goes on after a failed check."""
        return place

    def leave_as(self, status: Any) -> None:
        """Leaves in the way in which a called function has ended, unless that is done."""
        make = self.builder
        if self.is_masked:
            self.leave_if(make.icmp_signed("==", status, STATUS(RAISED)), self.raised)
            self.step_back_if(make.icmp_signed("==", status, STATUS(STEPPED_BACK)))
            return
        if self._ending is None:
            self._ending = make.append_basic_block()
            with make.goto_block(self._ending):
                self._ends = make.phi(STATUS)
                has_raised = make.icmp_signed("==", self._ends, STATUS(RAISED))
                make.cbranch(has_raised, self.raised, self.step_back)
        self._ends.add_incoming(status, make.block)
        self.leave_if(make.icmp_signed("!=", status, STATUS(DONE)), self._ending)

    def give(self, values: Sequence[Any], release: Callable[[], None] = lambda: None) -> None:
        """Ends a function of machine code with its status and results; where it leaves, after
        `release`, with the status alone."""
        make = self.builder
        found = nothing = ir.Constant(make.function.function_type.return_type, ir.Undefined)
        for k, value in enumerate(values):
            found = make.insert_value(found, value, k)
        make.ret(found)
        for block, end in ((self.step_back, STEPPED_BACK), (self.raised, RAISED)):
            make.position_at_end(block)
            release()
            make.ret(make.insert_value(nothing, STATUS(end), 0))

    def leave_if(self, condition: Any, block: Any) -> None:
        """Branches to a block that leaves the kernel. That is rare."""
        after = self.builder.append_basic_block()
        self.builder.cbranch(condition, block, after).set_weights([1, 99])
        self.builder.position_at_end(after)


class KernelFrame(Frame):
    """The function that Python calls."""

    def __init__(self, module: Any, each_module: Any = None) -> None:
        kind = ir.FunctionType(ADDRESS, [ADDRESS, ADDRESS.as_pointer(), INT])
        function = ir.Function(module, kind, "kernel")
        super().__init__(function, each_module)
        self.held, self._arguments, self._count = function.args
        self.bottom = self.here()
        self.arrays = self.variable(NULL)

    # ---- in --------------------------------------------------------------------------------------

    def parameters(self, types: Sequence[Any]) -> list[Any]:
        """The values of the parameters."""
        values: list[Any] = []
        for number, kinds in groupby(types, _unboxed_type):
            values += self._unboxed(len(values), number, [*kinds])
        return values

    def limit(self, n: int) -> Any:
        """The limit of memory in bytes, an int that may be given after `n` parameters."""
        make, given = self.builder, INT(n)
        limit = self.variable(INT(NO_LIMIT))
        with make.if_then(make.icmp_signed("!=", self._count, given), likely=False):
            more = INT(n + 1)
            with make.if_then(make.icmp_signed("!=", self._count, more), likely=False):
                python(make, "PyErr_BadArgument")
                self.leave_if(BIT(1), self.raised)
            make.store(self._unboxed(n, INT, [INT])[0], limit)
        return make.load(limit)

    def _unboxed(self, first: int, number: Any, kinds: Sequence[Any]) -> list[Any]:
        """The arguments from the one at `first` on, all of which are unboxed as the type `number`,
        by a loop: that is less code than to do it one by one."""
        make, count = self.builder, INT(len(kinds))
        with make.goto_entry_block():
            numbers = make.alloca(number, count)
        arguments = make.gep(self._arguments, [INT(first)])
        self.leave_as(make.call(_unboxing(make.module, number), [arguments, count, numbers]))
        places = [make.gep(numbers, [INT(k)]) for k in range(len(kinds))]
        return [
            self._of_kind(make.load(place), kind) for place, kind in zip(places, kinds, strict=True)
        ]

    def _of_kind(self, number: Any, kind: Any) -> Any:
        """An unboxed number as a value of a kind."""
        make = self.builder
        if kind == BIT:
            return make.icmp_signed("!=", number, STATUS(0))
        if isinstance(kind, ir.PointerType):
            return make.inttoptr(number, kind)
        return make.fptrunc(number, FLOAT) if kind == FLOAT else number

    # ---- out -------------------------------------------------------------------------------------

    def done(self, results: Sequence[Any], release: Callable[[], None]) -> None:
        """Ends the kernel with a tuple of results, and emits the blocks that leave it. `release`
        emits the clean-up at every end."""
        make = self.builder
        letters = {DOUBLE: "d", FLOAT: "d", INT: "L", BIT: "N"}
        types = text_of(make, f"({''.join([letters[value.type] for value in results])})")
        values = [
            python(make, "PyBool_FromLong", make.zext(v, INT)) if v.type == BIT else passed(make, v)
            for v in results
        ]
        found = python(make, "Py_BuildValue", types, *values)
        release()
        make.ret(found)
        make.position_at_end(self.step_back)
        kind = python(make, "PyTuple_GetItem", self.held, INT(0))
        python(make, "PyErr_SetNone", kind)
        make.branch(self.raised)
        make.position_at_end(self.raised)
        release()
        make.ret(NULL)


def _unboxed_type(kind: Any) -> Any:
    """The type that an argument of a kind is unboxed as."""
    if kind == BIT:
        return STATUS
    return DOUBLE if kind in REALS else INT


def _unboxing(module: Any, kind: Any) -> Any:
    """The function that unboxes some arguments. It stores the numbers, and returns its status."""
    names = {DOUBLE: "PyFloat_AsDouble", INT: "PyLong_AsLongLong", STATUS: "PyObject_IsTrue"}

    def body(make: Any, arguments: Any, count: Any, numbers: Any) -> Any:
        equals = make.fcmp_ordered if kind == DOUBLE else make.icmp_signed

        def one(k: Any) -> None:
            value = python(make, names[kind], make.load(make.gep(arguments, [k])))
            make.store(value, make.gep(numbers, [k]))
            with make.if_then(equals("==", value, ir.Constant(kind, -1)), likely=False):
                is_error = make.icmp_unsigned("!=", python(make, "PyErr_Occurred"), NULL)
                with make.if_then(is_error):
                    make.ret(STATUS(RAISED))

        count_up(make, count, 1, one)
        return STATUS(DONE)

    takes = [ADDRESS.as_pointer(), INT, kind.as_pointer()]
    return own_function(module, f"unboxed_{kind}", STATUS, takes, body, noinline=True)
