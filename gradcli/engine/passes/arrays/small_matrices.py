"""Linear algebra on small matrices as operations on their elements: inverses, solutions, factors
and determinants. The code of the table, for matrices of any size, takes microseconds to call.

Elimination has partial pivoting, as LAPACK's (Golub and Van Loan, Matrix Computations, 3.4). Where
digits cancel, and the matrix may be singular, the region steps back, so that the interpreter's code
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar, TypeAlias

from ...ir.instructions import Check, Structural, Value
from ...ir.types import F64, ArrayType, Type
from .written_entries import Writer

MOST = 4  # rows and columns
LEAST = 2.0**-26  # of a pivot, for the largest element that its row had

Matrix: TypeAlias = list[list[Any]]  # of numbers of formulas


class SmallMatrices(Writer):
    """Writes linear algebra on small matrices. A vector is a matrix of one column."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        return all(map(_is_small, kinds))

    def result(self, made: Structural) -> Value:
        given = map(self.matrix, made.operands)
        found = self.entries[made.op.name](self, *given, **dict(made.options))
        if isinstance(found, list):
            return self.array([number for row in found for number in row])
        return self.m.value(found)

    def matrix(self, value: Value) -> Matrix:
        """The elements of a matrix or a vector."""
        rows, columns = (*value.array_type.shape, 1)[:2]
        return [[self.element(value, columns * i + k) for k in range(columns)] for i in range(rows)]

    def known(self, number: float) -> Any:
        return self.m.number(self.builder.constant(number))

    def less(self, total: Any, row: Sequence[Any], column: Sequence[Any]) -> Any:
        """A number less the products of two sequences."""
        for a, b in zip(row, column, strict=True):
            total = total - a * b
        return total

    def largest(self, row: Sequence[Any]) -> Any:
        """The largest absolute value."""
        return reduce(self.m.maximum, map(self.m.abs, row))

    def verify(self, left: Any, size: Any) -> None:
        """Steps back unless what is left of a number has digits of the `size` that it had."""
        self.builder.add(Check(self.m.value(left > size * LEAST)))

    # ---- elimination -----------------------------------------------------------------------------

    def eliminate(self, rows: Matrix) -> Any:
        """Makes the first columns an upper triangle. Returns the sign of the row exchanges."""
        m, n = self.m, len(rows)
        sizes, sign = [self.largest(row[:n]) for row in rows], self.known(1.0)
        for k in range(n):
            for i in range(k + 1, n):
                larger = m.abs(rows[i][k]) > m.abs(rows[k][k])
                rows[k], rows[i] = self.swapped(larger, rows[k], rows[i])
                [sizes[k]], [sizes[i]] = self.swapped(larger, [sizes[k]], [sizes[i]])
                sign = m.where(larger, -sign, sign)
            self.verify(m.abs(rows[k][k]), sizes[k])
            for row in rows[k + 1 :]:
                factor = row[k] / rows[k][k]
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
            found.insert(0, [total / row[i] for total in totals])
        return found

    def solution(self, a: Matrix, b: Matrix) -> Matrix:
        rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
        self.eliminate(rows)
        return self.substituted(rows)

    def triangular_solution(self, a: Matrix, b: Matrix, lower: bool) -> Matrix:
        if lower:  # turned by half, it is an upper one
            a, b = [row[::-1] for row in a[::-1]], b[::-1]
        for i, row in enumerate(a):
            self.verify(self.m.abs(row[i]), self.largest(row[i:]))
        found = self.substituted([[*left, *right] for left, right in zip(a, b, strict=True)])
        return found[::-1] if lower else found

    def inverse(self, a: Matrix) -> Matrix:
        numbers = [self.known(0.0), self.known(1.0)]
        return self.solution(a, [[numbers[i == k] for k in range(len(a))] for i in range(len(a))])

    def cholesky(self, a: Matrix) -> Matrix:
        """The lower triangle, of the symmetric part."""
        lower = [[self.known(0.0)] * len(a) for _ in a]
        for i in range(len(a)):
            for k in range(i + 1):
                both = 0.5 * (a[i][k] + a[k][i])
                rest = self.less(both, lower[i][:k], lower[k][:k])
                if k < i:
                    lower[i][k] = rest / lower[k][k]
                    continue
                self.verify(rest, self.m.abs(both))
                lower[i][i] = self.m.sqrt(rest)
        return lower

    # ---- determinants ----------------------------------------------------------------------------

    def determinant(self, a: Matrix) -> Any:
        sign = self.eliminate(rows := list(map(list, a)))
        return reduce(mul, [row[k] for k, row in enumerate(rows)], sign)

    def log_determinant(self, a: Matrix) -> Any:
        self.eliminate(rows := list(map(list, a)))
        return reduce(add, [self.m.log(self.m.abs(row[k])) for k, row in enumerate(rows)])

    def cofactors(self, a: Matrix) -> Matrix:
        return self.of_minors(a, self.minor)

    def cofactors_along(self, a: Matrix, t: Matrix) -> Matrix:
        """How the cofactors change where the elements change by `t`."""
        pairs = [list(zip(*rows, strict=True)) for rows in zip(a, t, strict=True)]
        return self.of_minors(pairs, self.change)

    def of_minors(self, a: list[list[Any]], of: Callable[[Any], Any]) -> Matrix:
        """A function of what is left without a row and a column, with the sign of their place."""
        places = range(len(a))
        return [[_signed(i + k, of(_without(a, i, k))) for k in places] for i in places]

    def minor(self, a: Matrix) -> Any:
        """The determinant as a polynomial: by its first row (Laplace)."""
        if not a:
            return self.known(1.0)
        return self.alternating([a[0][k] * self.minor(_without(a, 0, k)) for k in range(len(a))])

    def change(self, pairs: list[list[tuple[Any, Any]]]) -> Any:
        """How the determinant of the first parts changes along the second ones."""
        if not pairs:
            return self.known(0.0)
        parts = []
        for k, (number, along) in enumerate(pairs[0]):
            rest = _without(pairs, 0, k)
            minor = self.minor([[first for first, _ in row] for row in rest])
            change = self.change(rest)
            parts.append(along * minor + number * change)
        return self.alternating(parts)

    def alternating(self, parts: Sequence[Any]) -> Any:
        return reduce(add, [_signed(k, part) for k, part in enumerate(parts)])

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


def _signed(k: int, number: Any) -> Any:
    return -number if k % 2 else number


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
