"""Arithmetic: the operators, and the elementwise functions that round, compare and choose."""

from __future__ import annotations

from .op import Op

INF = float("inf")
REAL = (-INF, INF)


def _zero(m, y, *operands):  # type: ignore[no-untyped-def]
    return 0.0


def _op(name: str, params: str, summary: str, **facts) -> Op:  # type: ignore[no-untyped-def]
    return Op(name, params, summary, category="arithmetic", **facts)


def _choose_larger(m, x, other):  # type: ignore[no-untyped-def]
    """1 where x is larger, 1/2 at a tie, 0 elsewhere: the partial of `maximum`."""
    return m.where(x > other, 1.0, m.where(x == other, 0.5, 0.0))


OPS = [
    # ---- operators -------------------------------------------------------------------------------------------------
    _op("add", "a, b", "The sum of two values.", infix="+", integers="keep", partials=(
        lambda m, y, a, b: 1.0,
        lambda m, y, a, b: 1.0)),
    _op("sub", "a, b", "The difference of two values.", infix="-", primitive="subtract", integers="keep", partials=(
        lambda m, y, a, b: 1.0,
        lambda m, y, a, b: -1.0)),
    _op("mul", "a, b", "The product of two values.", infix="*", primitive="multiply", integers="keep", partials=(
        lambda m, y, a, b: b,
        lambda m, y, a, b: a)),
    _op("div", "a, b", "The quotient of two values; ints give a float, division by zero inf or nan.",
        infix="/", primitive="true_divide", domain=(REAL, (0.1, INF)), partials=(
        lambda m, y, a, b: 1.0 / b,
        lambda m, y, a, b: -y / b)),
    _op("floordiv", "a, b", "The quotient rounded down.", infix="//", primitive="floor_divide", integers="keep",
        domain=(REAL, (0.1, INF)), note="derivative 0, connected", partials=(_zero, _zero)),
    _op("mod", "a, b", "The remainder, with the sign of b, as in Python.", infix="%", primitive="remainder", integers="keep",
        domain=(REAL, (0.1, INF)), note="at a multiple of b the derivative is that of the right-hand side", partials=(
        lambda m, y, a, b: 1.0,
        lambda m, y, a, b: -m.floordiv(a, b))),
    _op("pow", "a, b", "a to the power b; an int to a negative int power is a float.", infix="**", primitive="power",
        integers="keep", domain=((0.1, INF), REAL), note="x**0 at 0 has derivative 0", partials=(
        lambda m, y, a, b: m.where(b == 0, 0.0, b * a ** (b - 1)),
        lambda m, y, a, b: m.where(a == 0, m.where(b > 0, 0.0, -INF), y * m.log(a)))),
    _op("neg", "x", "The value with its sign turned.", infix="unary -", primitive="negative", integers="keep",
        partials=(lambda m, y, x: -1.0,)),
    _op("pos", "x", "The value itself.", infix="unary +", primitive="positive", integers="keep",
        partials=(lambda m, y, x: 1.0,)),
]  # fmt: skip
