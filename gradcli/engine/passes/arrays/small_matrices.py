"""Linear algebra on small matrices as operations on their elements: inverses, solutions, factors
and determinants. The code of the table, for matrices of any size, takes microseconds to call.

Elimination has partial pivoting, as LAPACK's (Golub and Van Loan, Matrix Computations, 3.4). Where
digits cancel, and the matrix may be singular, the region steps back, so that the interpreter's code
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar, TypeAlias

from ...ir.instructions import Check, Structural, Value
from ...ir.scalars import WHERE
from ...ir.types import F64, ArrayType, Type
from .written_entries import Writer

MOST = 4  # rows and columns
LEAST = 2.0**-26  # of a pivot, for the largest element that its row had

Matrix: TypeAlias = list[list[Value]]


class SmallMatrices(Writer):
    """Writes linear algebra on small matrices. A vector is a matrix of one column."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        return all(map(_is_small, kinds))

    def result(self, made: Structural) -> Value:
        given = map(self.matrix, made.operands)
        found = self.entries[made.op.name](self, *given, **dict(made.options))
        if isinstance(found, Value):
            return found
        return self.array([number for row in found for number in row])

    def matrix(self, value: Value) -> Matrix:
        """The elements of a matrix or a vector."""
        rows, columns = (*value.array_type.shape, 1)[:2]
        element, place = self.builder.element, self.builder.constant
        return [
            [element(value, place(columns * i + k)) for k in range(columns)] for i in range(rows)
        ]

    def sum(self, numbers: Iterable[Value]) -> Value:
        return reduce(lambda a, b: self.op("add", a, b), numbers)

    def product(self, numbers: Iterable[Value]) -> Value:
        return reduce(lambda a, b: self.op("mul", a, b), numbers)

    def less(self, total: Value, row: Sequence[Value], column: Sequence[Value]) -> Value:
        """A number less the products of two sequences."""
        for pair in zip(row, column, strict=True):
            total = self.op("sub", total, self.op("mul", *pair))
        return total

    def largest(self, row: Sequence[Value]) -> Value:
        """The largest absolute value."""
        return reduce(lambda a, b: self.op("maximum", a, b), [self.op("abs", v) for v in row])

    def verify(self, left: Value, size: Value) -> None:
        """Steps back unless what is left of a number has digits of the `size` that it had."""
        least = self.op("mul", size, self.number(LEAST))
        self.builder.add(Check(self.op("gt", left, least)))

    # ---- elimination -----------------------------------------------------------------------------

    def eliminate(self, rows: Matrix) -> Value:
        """Makes the first columns an upper triangle. Returns the sign of the row exchanges."""
        n = len(rows)
        sizes, sign = [self.largest(row[:n]) for row in rows], self.number(1.0)
        for k in range(n):
            for i in range(k + 1, n):
                larger = self.op("gt", self.op("abs", rows[i][k]), self.op("abs", rows[k][k]))
                rows[k], rows[i] = self.swapped(larger, rows[k], rows[i])
                [sizes[k]], [sizes[i]] = self.swapped(larger, [sizes[k]], [sizes[i]])
                sign = self.builder.operation(WHERE, [larger, self.op("neg", sign), sign])
            self.verify(self.op("abs", rows[k][k]), sizes[k])
            for row in rows[k + 1 :]:
                factor = self.op("div", row[k], rows[k][k])
                for j in range(k + 1, len(row)):
                    row[j] = self.less(row[j], [factor], [rows[k][j]])
        return sign

    def substituted(self, rows: Matrix) -> Matrix:
        """The solution, from an upper triangle and right-hand sides beside it."""
        n, found = len(rows), Matrix()
        for i in reversed(range(n)):
            row, columns = rows[i], list(zip(*found, strict=True)) or [()] * len(rows[i][n:])
            totals = [
                self.less(v, row[i + 1 : n], c) for v, c in zip(row[n:], columns, strict=True)
            ]
            found.insert(0, [self.op("div", total, row[i]) for total in totals])
        return found

    def solution(self, a: Matrix, b: Matrix) -> Matrix:
        rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
        self.eliminate(rows)
        return self.substituted(rows)

    def triangular_solution(self, a: Matrix, b: Matrix, lower: bool) -> Matrix:
        if lower:  # turned by half, it is an upper one
            a, b = [row[::-1] for row in a[::-1]], b[::-1]
        for i, row in enumerate(a):
            self.verify(self.op("abs", row[i]), self.largest(row[i:]))
        found = self.substituted([[*left, *right] for left, right in zip(a, b, strict=True)])
        return found[::-1] if lower else found

    def inverse(self, a: Matrix) -> Matrix:
        numbers = [self.number(0.0), self.number(1.0)]
        return self.solution(a, [[numbers[i == k] for k in range(len(a))] for i in range(len(a))])

    def cholesky(self, a: Matrix) -> Matrix:
        """The lower triangle, of the symmetric part."""
        half, zero = self.number(0.5), self.number(0.0)
        lower = [[zero] * len(a) for _ in a]
        for i in range(len(a)):
            for k in range(i + 1):
                both = self.op("mul", half, self.op("add", a[i][k], a[k][i]))
                rest = self.less(both, lower[i][:k], lower[k][:k])
                if k < i:
                    lower[i][k] = self.op("div", rest, lower[k][k])
                    continue
                self.verify(rest, self.op("abs", both))
                lower[i][i] = self.op("sqrt", rest)
        return lower

    # ---- determinants ----------------------------------------------------------------------------

    def determinant(self, a: Matrix) -> Value:
        sign = self.eliminate(rows := list(map(list, a)))
        return self.product([sign, *[row[k] for k, row in enumerate(rows)]])

    def log_determinant(self, a: Matrix) -> Value:
        self.eliminate(rows := list(map(list, a)))
        return self.sum([self.op("log", self.op("abs", row[k])) for k, row in enumerate(rows)])

    def cofactors(self, a: Matrix) -> Matrix:
        return self.of_minors(a, self.minor)

    def cofactors_along(self, a: Matrix, t: Matrix) -> Matrix:
        """How the cofactors change where the elements change by `t`."""
        pairs = [list(zip(*rows, strict=True)) for rows in zip(a, t, strict=True)]
        return self.of_minors(pairs, self.change)

    def of_minors(self, a: list[list[Any]], of: Callable[[Any], Value]) -> Matrix:
        """A function of what is left without a row and a column, with the sign of their place."""
        places = range(len(a))
        return [[self.signed(i + k, of(_without(a, i, k))) for k in places] for i in places]

    def minor(self, a: Matrix) -> Value:
        """The determinant as a polynomial: by its first row (Laplace)."""
        if not a:
            return self.number(1.0)
        parts = [self.op("mul", a[0][k], self.minor(_without(a, 0, k))) for k in range(len(a))]
        return self.alternating(parts)

    def change(self, pairs: list[list[tuple[Value, Value]]]) -> Value:
        """How the determinant of the first parts changes along the second ones."""
        if not pairs:
            return self.number(0.0)
        parts = []
        for k, (number, along) in enumerate(pairs[0]):
            rest = _without(pairs, 0, k)
            minor = self.minor([[first for first, _ in row] for row in rest])
            products = [(along, minor), (number, self.change(rest))]
            parts.append(self.sum(self.op("mul", *pair) for pair in products))
        return self.alternating(parts)

    def alternating(self, parts: Sequence[Value]) -> Value:
        return self.sum([self.signed(k, part) for k, part in enumerate(parts)])

    def signed(self, k: int, number: Value) -> Value:
        return self.op("neg", number) if k % 2 else number

    entries: ClassVar[dict[str, Callable[..., Any]]] = {
        "inv": inverse,
        "solve": solution,
        "solve_triangular": triangular_solution,
        "cholesky": cholesky,
        "det": determinant,
        "logdet": log_determinant,
        "cofactors": cofactors,
        "cofactors_along": cofactors_along,
    }


def _is_small(kind: Type) -> bool:
    """Whether values of a type are small matrices, or vectors, of float64."""
    return (
        isinstance(kind, ArrayType)
        and kind.element == F64
        and len(kind.shape) <= 2
        and max(kind.shape) <= MOST
    )


def _without(a: list[list[Any]], i: int, k: int) -> list[list[Any]]:
    """A matrix without a row and a column."""
    return [row[:k] + row[k + 1 :] for row in a[:i] + a[i + 1 :]]
