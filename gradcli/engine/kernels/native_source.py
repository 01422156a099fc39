"""Kernels for formulas on rows: native functions, written as LLVM text that llvmlite compiles.

Rows are computed together in one wide register, and the remaining ones singly; a loop goes over the
elements of a row. The text is made of formulas alone: it contains nothing of the user's program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...ops.formula import Formula
from .kernel_text import KernelText, vector_type
from .strided import Kernel

TOGETHER = 64  # rows that one loop over elements computes together

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
    code = KernelText(len(formulas) + len(by_row), char)
    results, operands = code.arrays[: len(formulas)], code.arrays[len(formulas) :]

    def element(i: str) -> None:
        to = [code.at(result, i) for result in results]
        for width, start, stop in code.stretches():

            def store(r: str, lowering: _FormulaLowering, width: int = width) -> None:
                for address, formula in zip(to, formulas, strict=True):
                    code.store(lowering.of(formula), address, r, width, formula.kind in COMPARISONS)

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
    code = KernelText(1 + len(partials) + len(by_row) + 2 * n_totals)
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

            def add(r: str, lowering: _FormulaLowering) -> None:
                for term, address, begins in to:
                    value = lowering.of(term)
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
    code = KernelText(2)
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
    code: KernelText,
    start: str,
    stop: str,
    width: int,
    i: str,
    operands: Sequence[tuple[str, str]],
    by_row: tuple[bool, ...],
    body: Callable[[str, _FormulaLowering], None],
) -> None:
    """Writes a loop over rows, `width` at a time: `body(row, lowering)` for the operands' elements
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
        body(r, _FormulaLowering(code, width, values))

    code.loop(start, stop, width, turn)


class _FormulaLowering:
    """The lowering of formulas of given operands to lines of a kernel; common subexpressions are
    computed once.
    """

    def __init__(self, code: KernelText, width: int, operands: list[str]) -> None:
        self._code, self._width, self._operands = code, width, operands
        self._known: dict[int, str] = {}

    def of(self, formula: Formula) -> str:
        for node in formula:
            if id(node) not in self._known:
                self._known[id(node)] = self._node(node)
        return self._known[id(formula)]

    def _factor(self, node: Formula) -> str:
        value, code = self._known[id(node)], self._code
        bits = vector_type(self._width, "i1")
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
                f"select {vector_type(self._width, 'i1')} {a}, {kind} {rest[0]}, {kind} {rest[1]}"
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
        chosen = code.new(f"or {vector_type(self._width, 'i1')} {first}, {is_nan}")
        return code.new(
            f"select {vector_type(self._width, 'i1')} {chosen}, {kind} {a}, {kind} {rest[0]}"
        )
