"""Kernels for formulas on rows: native functions, written as LLVM text that llvmlite compiles.

Rows are computed together in one wide register, and the remaining ones singly; a loop goes over the
elements of a row. The text is made of formulas alone: it contains nothing of the user's program.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

from ...ops.formula import Formula
from .strided import Kernel, Strided

WIDEST = 64  # bytes in the widest registers; where they are narrower, LLVM splits
TOGETHER = 64  # rows that one loop over elements computes together

# NumPy's letter, LLVM's names, bytes.
_TYPES = {"d": ("double", "f64", 8), "f": ("float", "f32", 4)}
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_FUNCTIONS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_EXTREMES = {"maximum": "oge", "minimum": "ole"}
KINDS = frozenset(
    (
        *_ARITHMETIC,
        *COMPARISONS,
        *_FUNCTIONS,
        *_EXTREMES,
        "neg",
        "square",
        "where",
        "number",
        "operand",
    )
)


def can_read(formulas: Iterable[Formula]) -> bool:
    """Returns whether the formulas compute with floats, by operations with one correct rounding."""
    kinds = {id(node): _kind_of(node) for formula in formulas for node in formula}
    return all(kinds.values())


def _kind_of(node: Formula) -> str:
    """Returns "float" or "bool", or "" for a node that can't be compiled."""
    if node.kind not in KINDS or (node.kind == "number" and isinstance(node.value, complex)):
        return ""
    arguments = [a.kind in COMPARISONS for a in node.arguments]
    if node.kind == "where":
        return "float" if arguments == [True, False, False] else ""
    # The factor is 1 where the comparison holds, and 0 elsewhere.
    if node.kind == "mul" and arguments.count(True) == 1:
        return "float"
    return "" if any(arguments) else "bool" if node.kind in COMPARISONS else "float"


def elementwise_kernel(
    formulas: Sequence[Formula], by_row: tuple[bool, ...], char: str = "d"
) -> Kernel:
    """Compiles the kernel `(n, m, arrays)` of the formulas' values, for `m` elements of each of `n`
    rows.

    The arrays are the results, bools where a formula compares, followed by the operands. `by_row`
    says for each operand whether it differs by row; rows are adjacent in memory. The numbers have
    the type that NumPy calls `char`.
    """
    code = _Code(len(formulas) + len(by_row), char)
    results, operands = code.arrays[: len(formulas)], code.arrays[len(formulas) :]

    def element(i: str) -> None:
        to = [code.at(result, i) for result in results]
        for width, start, stop in code.stretches():

            def store(r: str, reading: _Reading, width: int = width) -> None:
                for address, formula in zip(to, formulas, strict=True):
                    code.store(reading.of(formula), address, r, width, formula.kind in COMPARISONS)

            _each_row(code, start, stop, width, i, operands, by_row, store)

    code.loop("0", "%m", 1, element)
    return code.compiled()


def sum_kernel(
    formula: Formula,
    partials: Sequence[Formula],
    by_row: tuple[bool, ...],
    begins: tuple[bool, ...],
    n_totals: int,
) -> Kernel:
    """Compiles the kernel `(n, m, arrays)` of the formula's sum over `m` elements, in order, for
    each of `n` rows.

    The `partials` are added to their places; one that `begins` is stored there instead, before any
    other is added. The arrays are: the sums; the place of each partial; the operands; and for each
    of `n_totals` arrays that hold the places, its address and length, then the first element that a
    partial is added to, and the end of these elements.
    """
    code = _Code(1 + len(partials) + len(by_row) + 2 * n_totals)
    y, places, operands = (
        code.arrays[0],
        code.arrays[1 : 1 + len(partials)],
        code.arrays[1 + len(partials) :],
    )
    totals = list(zip(operands[len(by_row) :: 2], operands[len(by_row) + 1 :: 2], strict=True))
    terms = list(zip([*partials, formula], [*places, y], [*begins, False], strict=True))
    row = code.new("mul i64 %n, 8")

    def some(begin: str, stop: str, width: int) -> None:
        """Sums rows that stay in the cache while the loop goes over their elements."""
        kind = code.type(width)
        end = code.new(f"add i64 {begin}, {TOGETHER}")
        end = code.new(
            f"select i1 {code.new(f'icmp slt i64 {end}, {stop}')}, i64 {end}, i64 {stop}"
        )

        def clear(address: str) -> None:
            code.loop(
                begin, end, width, lambda r: code.store(code.splat(0.0, width), address, r, width)
            )

        def element(i: str) -> None:
            to = [(term, code.at(place, i), begins) for term, place, begins in terms]

            def add(r: str, reading: _Reading) -> None:
                for term, address, begins in to:
                    value = reading.of(term)
                    if not begins:
                        value = code.new(
                            f"fadd {kind} {code.load(address, r, width, True)}, {value}"
                        )
                    code.store(value, address, r, width)

            _each_row(code, begin, end, width, i, operands[: len(by_row)], by_row, add)

        clear(y[0])
        for (total, size), (first, after) in totals:
            for start, end_ in (("0", first), (after, size)):
                code.loop(
                    start,
                    end_,
                    1,
                    partial(lambda i, total: clear(code.at((total, row), i)), total=total),
                )
        code.loop("0", "%m", 1, element)

    for width, start, stop in code.stretches():
        code.loop(start, stop, TOGETHER, partial(some, stop=stop, width=width))
    return code.compiled()


def transpose_kernel(to_rows: bool) -> Kernel:
    """Compiles the kernel `(n, m, arrays)` that copies `m` elements of each of `n` rows and
    transposes them.

    One array has the elements of a row adjacent, with the bytes from one row to the next; the other
    has the rows adjacent. `to_rows` copies from the first to the second.
    """
    code = _Code(2)
    (elements, step), rows = code.arrays

    def some(r: str, width: int) -> None:
        first = [code.new(f"add i64 {r}, {k}") for k in range(width)]
        begins = [code.at((elements, step), row) for row in first]

        def element(i: str) -> None:
            to = code.at(rows, i)
            if to_rows:
                code.store(
                    code.joined([code.load(begin, i, 1, True) for begin in begins]), to, r, width
                )
            else:
                for begin, value in zip(
                    begins, code.parts(code.load(to, r, width, True), width), strict=True
                ):
                    code.store(value, begin, i, 1)

        code.loop("0", "%m", 1, element)

    for width, start, stop in code.stretches():
        code.loop(start, stop, width, partial(some, width=width))
    return code.compiled()


def _each_row(
    code: _Code,
    start: str,
    stop: str,
    width: int,
    i: str,
    operands: Sequence[tuple[str, str]],
    by_row: tuple[bool, ...],
    body: Callable[[str, _Reading], None],
) -> None:
    """Writes a loop over rows, `width` at a time: `body(row, reading)` for the operands' elements
    `i`.
    """
    addresses = [code.at(operand, i) for operand in operands]
    shared = {
        k: code.load(addresses[k], "0", width, False) for k, own in enumerate(by_row) if not own
    }

    def turn(r: str) -> None:
        values = [
            shared[k] if k in shared else code.load(address, r, width, True)
            for k, address in enumerate(addresses)
        ]
        body(r, _Reading(code, width, values))

    code.loop(start, stop, width, turn)


def _type(width: int, of: str) -> str:
    return of if width == 1 else f"<{width} x {of}>"


class _Code:
    """The LLVM text of a kernel, line by line."""

    def __init__(self, n_arrays: int, char: str = "d") -> None:
        self._float, self._suffix, self._size = _TYPES[char]
        self._lanes = WIDEST // self._size
        self._lines: list[str] = []
        self._names = 0
        self._block = "entry"
        self._declared: set[str] = set()
        self.arrays: list[tuple[str, str]] = []  # the address of each, and its step
        for k in range(n_arrays):
            where, step = [
                self.new(f"getelementptr i64, ptr %table, i64 {2 * k + part}") for part in (0, 1)
            ]
            self.arrays.append(
                (self.new(f"load i64, ptr {where}"), self.new(f"load i64, ptr {step}"))
            )
        self._whole = self.new(f"and i64 %n, {-self._lanes}")

    def new(self, expression: str) -> str:
        self._names += 1
        self._lines.append(f"  %v{self._names} = {expression}")
        return f"%v{self._names}"

    def stretches(self) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        """Returns the rows that are computed together, and the remaining ones: how many at a time,
        from, to.
        """
        return (self._lanes, "0", self._whole), (1, self._whole, "%n")

    def type(self, width: int) -> str:
        """Returns the type of a vector of floats."""
        return _type(width, self._float)

    def splat(self, value: float, width: int) -> str:
        """Returns a vector with one number in each element."""
        # LLVM text writes a float of 32 bits as the equal one of 64.
        rounded = value if self._size == 8 else ctypes.c_float(value).value
        text = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        return text if width == 1 else "<" + ", ".join([f"{self._float} {text}"] * width) + ">"

    def at(self, array: tuple[str, str], i: str) -> str:
        """Returns the address of element `i`."""
        return self.new(f"add i64 {array[0]}, {self.new(f'mul i64 {i}, {array[1]}')}")

    def load(self, address: str, r: str, width: int, by_row: bool) -> str:
        if by_row:
            return self.new(
                f"load {self.type(width)}, ptr {self._pointer(address, r, self._size)}, align "
                f"{self._size}"
            )
        value = self.new(
            f"load {self._float}, ptr {self._pointer(address, '0', self._size)}, align {self._size}"
        )
        if width == 1:
            return value
        one = self.new(f"insertelement {self.type(width)} poison, {self._float} {value}, i64 0")
        places = f"{_type(width, 'i32')} zeroinitializer"
        return self.new(
            f"shufflevector {self.type(width)} {one}, {self.type(width)} poison, {places}"
        )

    def store(self, value: str, address: str, r: str, width: int, is_bool: bool = False) -> None:
        kind, size = ("i8", 1) if is_bool else (self._float, self._size)
        if is_bool:
            value = self.new(f"zext {_type(width, 'i1')} {value} to {_type(width, 'i8')}")
        pointer = self._pointer(address, r, size)
        self._lines.append(f"  store {_type(width, kind)} {value}, ptr {pointer}, align {size}")

    def joined(self, values: list[str]) -> str:
        """Returns several numbers as one vector."""
        if len(values) == 1:
            return values[0]
        kind, joined = self.type(len(values)), "poison"
        for k, value in enumerate(values):
            joined = self.new(f"insertelement {kind} {joined}, {self._float} {value}, i64 {k}")
        return joined

    def parts(self, value: str, width: int) -> list[str]:
        """Returns the elements of a vector."""
        kind = self.type(width)
        return (
            [value]
            if width == 1
            else [self.new(f"extractelement {kind} {value}, i64 {k}") for k in range(width)]
        )

    def _pointer(self, address: str, r: str, size: int) -> str:
        offset = self.new(f"mul i64 {r}, {size}")
        return self.new(f"inttoptr i64 {self.new(f'add i64 {address}, {offset}')} to ptr")

    def call(self, name: str, width: int, argument: str) -> str:
        kind = self.type(width)
        function = f"@llvm.{name}.{'' if width == 1 else f'v{width}'}{self._suffix}"
        self._declared.add(f"declare {kind} {function}({kind})")
        return self.new(f"call {kind} {function}({kind} {argument})")

    def loop(self, start: str, stop: str, step: int, body: Callable[[str], None]) -> None:
        """Writes a loop over an index."""
        self._names += 1
        k = self._names
        self._lines.append(f"  br label %head{k}\nhead{k}:")
        self._lines.append(f"  %i{k} = phi i64 [{start}, %{self._block}], [%next{k}, %last{k}]")
        self._lines.append(f"  %more{k} = icmp slt i64 %i{k}, {stop}")
        self._lines.append(f"  br i1 %more{k}, label %body{k}, label %end{k}\nbody{k}:")
        self._block = f"body{k}"
        body(f"%i{k}")
        self._lines.append(
            f"  br label %last{k}\nlast{k}:\n  %next{k} = add i64 %i{k}, {step}\n  br label "
            f"%head{k}\nend{k}:"
        )
        self._block = f"end{k}"

    def compiled(self) -> Kernel:
        text = "\n".join(
            [*sorted(self._declared), "define void @kernel(i64 %n, i64 %m, ptr %table) {", "entry:"]
        )
        engine, address = _assembled(text + "\n" + "\n".join(self._lines) + "\n  ret void\n}\n")
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)

        def kernel(n: int, m: int, arrays: Sequence[Strided]) -> None:
            table = array("q", [part for strided in arrays for part in strided])
            function(n, m, table.buffer_info()[0])

        kernel.engine = engine  # type: ignore[attr-defined] # it owns the code
        return kernel


class _Reading:
    """The lowering of formulas of given operands to lines of a kernel; common subexpressions are
    computed once.
    """

    def __init__(self, code: _Code, width: int, operands: list[str]) -> None:
        self._code, self._width, self._operands = code, width, operands
        self._known: dict[int, str] = {}

    def of(self, formula: Formula) -> str:
        for node in formula:
            if id(node) not in self._known:
                self._known[id(node)] = self._node(node)
        return self._known[id(formula)]

    def _factor(self, node: Formula) -> str:
        value, code = self._known[id(node)], self._code
        bits = _type(self._width, "i1")
        return (
            code.new(f"uitofp {bits} {value} to {code.type(self._width)}")
            if node.kind in COMPARISONS
            else value
        )

    def _node(self, node: Formula) -> str:
        if node.kind == "operand":
            return self._operands[int(node.value)]
        if node.kind == "number":
            return self._code.splat(float(node.value), self._width)
        code, kind = self._code, self._code.type(self._width)
        a, *rest = (
            self._factor(argument) if node.kind == "mul" else self._known[id(argument)]
            for argument in node.arguments
        )
        if node.kind == "where":
            return code.new(
                f"select {_type(self._width, 'i1')} {a}, {kind} {rest[0]}, {kind} {rest[1]}"
            )
        if node.kind == "neg":
            return code.new(f"fneg {kind} {a}")
        if node.kind == "square":
            return code.new(f"fmul {kind} {a}, {a}")
        if node.kind in _FUNCTIONS:
            return code.call(_FUNCTIONS[node.kind], self._width, a)
        if node.kind in _ARITHMETIC:
            return code.new(f"{_ARITHMETIC[node.kind]} {kind} {a}, {rest[0]}")
        if node.kind in COMPARISONS:
            return code.new(f"fcmp {COMPARISONS[node.kind]} {kind} {a}, {rest[0]}")
        # The first where it is as extreme or a nan, else the second, which may be one.
        first = code.new(f"fcmp {_EXTREMES[node.kind]} {kind} {a}, {rest[0]}")
        is_nan = code.new(f"fcmp uno {kind} {a}, {a}")
        chosen = code.new(f"or {_type(self._width, 'i1')} {first}, {is_nan}")
        return code.new(f"select {_type(self._width, 'i1')} {chosen}, {kind} {a}, {kind} {rest[0]}")


@cache
def _target() -> tuple[Any, dict[str, Any]]:
    from llvmlite import binding

    for part in ("target", "asmprinter"):
        getattr(binding, f"initialize_native_{part}")()
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # where LLVM knows no way to ask; the name of the processor says enough
        features = ""
    return binding.Target.from_default_triple(), {
        "cpu": binding.get_host_cpu_name(),
        "features": features,
        "opt": 3,
    }


def _assembled(text: str) -> tuple[Any, int]:
    from llvmlite import binding

    target, options = _target()
    module = binding.parse_assembly(text)
    # The engine takes over the module.
    engine = binding.create_mcjit_compiler(module, target.create_target_machine(**options))
    engine.finalize_object()
    return engine, engine.get_function_address("kernel")
