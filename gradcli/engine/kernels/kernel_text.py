"""The LLVM text of a kernel, line by line, and its compilation by llvmlite."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable, Sequence

from ..codegen.machine import assembled
from .strided import Kernel, Strided

WIDEST = 64  # bytes in the widest registers; where they are narrower, LLVM splits


# NumPy's letter, LLVM's names, bytes.
_TYPES = {"d": ("double", "f64", 8), "f": ("float", "f32", 4)}


def vector_type(width: int, of: str) -> str:
    return of if width == 1 else f"<{width} x {of}>"


class KernelText:
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
        return vector_type(width, self._float)

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
        places = f"{vector_type(width, 'i32')} zeroinitializer"
        return self.new(
            f"shufflevector {self.type(width)} {one}, {self.type(width)} poison, {places}"
        )

    def store(self, value: str, address: str, r: str, width: int, is_bool: bool = False) -> None:
        kind, size = ("i8", 1) if is_bool else (self._float, self._size)
        if is_bool:
            value = self.new(
                f"zext {vector_type(width, 'i1')} {value} to {vector_type(width, 'i8')}"
            )
        pointer = self._pointer(address, r, size)
        self._lines.append(
            f"  store {vector_type(width, kind)} {value}, ptr {pointer}, align {size}"
        )

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
        engine, address = assembled(text + "\n" + "\n".join(self._lines) + "\n  ret void\n}\n")
        function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)

        def kernel(n: int, m: int, arrays: Sequence[Strided]) -> None:
            table = array("q", [part for strided in arrays for part in strided])
            function(n, m, table.buffer_info()[0])

        kernel.engine = engine  # type: ignore[attr-defined] # it owns the code
        return kernel
