"""Derivatives of formulas, one operation after the other, as the interpreter computes them.

Where slopes are infinite, the order in which shares are added up and multiplied decides between a
number, an infinity and nan: `g * a + g * b` isn't `g * (a + b)`. So the strict derivatives of a
whole expression, those for what isn't finite, are those of its operations.

The derivatives of an elementwise op are also ops of their own, each a formula of the partials. Its
own partials come from differentiating that formula, so it can be differentiated to any order like
any op of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ops import OPS
from ...ops.op import Op
from .reading import Formula, applied, forward_formula, per_op, read

ONE, ZERO = Formula("number", 1.0), Formula("number", 0.0)


# ---- of entries ----------------------------------------------------------------------------------


@per_op
def partial_formula(op: Op, operand: int) -> Formula:
    """Returns the partial derivative of an elementwise op by one operand, as a formula of the
    result and the operands.
    """
    n = len(op.signature.operands)
    if op.composed:
        return differentiate(forward_formula(op), n)[operand]
    rule = op.partials[operand]
    assert rule is not None, f"operand {operand} of `{op.name}` is an order"
    return read(rule, ("result", *range(n)))


@per_op
def real_partial_formula(op: Op, operand: int) -> Formula:
    """Returns the partial derivative by a real operand; 0 if it is imaginary, as those of `imag`
    and `angle`.
    """
    partial = partial_formula(op, operand)
    turns = any(node.kind == "number" and type(node.value) is complex for node in partial)
    return Formula("number", 0.0) if turns else partial


@per_op
def rule_reads(op: Op, operands: tuple[int, ...]) -> frozenset[int | str]:
    """Returns the operands, and "result", whose values the partials by `operands` read."""
    return frozenset().union(*(partial_formula(op, k).reads() for k in operands))


def is_mask(partial: Formula) -> bool:
    """Returns whether a formula is 1 where a condition holds, and 0 elsewhere."""
    if partial.kind != "where":
        return False
    _, a, b = partial.arguments
    return a.is_number(1.0) and b.is_number(0.0)


@per_op
def is_bounded(op: Op, operand: int) -> bool:
    """Returns whether the partial by an operand is finite wherever it is defined: a number, or 1 or
    0.
    """
    partial = partial_formula(op, operand)
    return partial.kind == "number" or is_mask(partial)


@per_op
def cotangent_formula(op: Op, k: int) -> Formula:
    """Returns the share of a real operand in the result's cotangent, which is the operand after
    the op's own.
    """
    n = len(op.signature.operands)
    g = Formula("operand", n)
    if not op.composed:
        return strict_product(g, real_partial_formula(op, k))
    return differentiate(forward_formula(op), n, g)[k]


@per_op
def tangent_formula(op: Op, active: tuple[int, ...]) -> Formula:
    """Returns the tangent of the result. Those of the `active` operands, real ones, are the
    operands after the op's own.
    """
    n = len(op.signature.operands)
    tangents = {k: Formula("operand", n + position) for position, k in enumerate(active)}
    if op.composed:
        return pushed(forward_formula(op), tangents)
    total = ZERO
    for k, t in tangents.items():
        total = plus(total, strict_product(t, real_partial_formula(op, k)))
    return total


# ---- of formulas ---------------------------------------------------------------------------------


def pushed(formula: Formula, tangents: Mapping[int, Formula]) -> Formula:
    """Returns the tangent of a formula, given the tangents of operands, by index.

    In each product a tangent of exactly 0 gives 0.
    """
    made: dict[int, Formula] = {}
    for node in formula:
        total = tangents.get(node.value, ZERO) if node.kind == "operand" else ZERO
        if node.kind == "where":
            condition, *sides = node.arguments
            a, b = [made[id(side)] for side in sides]
            total = ZERO if a is ZERO and b is ZERO else applied("where", (condition, a, b))
        else:
            for argument, partial in _partials(node):
                if made[id(argument)] is not ZERO:
                    total = plus(total, strict_product(made[id(argument)], partial))
        made[id(node)] = total
    return made[id(formula)]


def differentiate(formula: Formula, n_operands: int, seed: Formula = ONE) -> list[Formula]:
    """Returns the partials of a formula by its operands, which share common subexpressions.

    With a cotangent of the result, they are the operands' cotangents. In each product a cotangent
    of exactly 0 gives 0, as in a sweep.
    """
    cotangents: dict[int, Formula] = {id(formula): seed}
    found = [ZERO] * n_operands
    for node in reversed(list(formula)):
        g = cotangents.pop(id(node), None)
        if g is None:
            continue
        if node.kind == "operand":
            found[node.value] = plus(found[node.value], g)
            continue
        for argument, share in _shares(node, g):
            if argument.kind != "number" and share is not ZERO:
                old = cotangents.get(id(argument))
                cotangents[id(argument)] = share if old is None else plus(old, share)
    return found


def _shares(node: Formula, g: Formula) -> list[tuple[Formula, Formula]]:
    """Returns the differentiable arguments of a node with their shares of its cotangent."""
    if node.kind == "where":
        condition, a, b = node.arguments
        return [
            (a, applied("where", (condition, g, ZERO))),
            (b, applied("where", (condition, ZERO, g))),
        ]
    return [(argument, strict_product(g, partial)) for argument, partial in _partials(node)]


def _partials(node: Formula) -> list[tuple[Formula, Formula]]:
    """Returns the differentiable arguments of a node that is no choice, with the partials by
    them."""
    if node.kind == "conj":  # of a real number
        return [(node.arguments[0], ONE)]
    if not node.arguments or not (op := OPS[node.kind]).differentiable or op.integers == "bool":
        return []
    places: dict[int | str, Formula] = {"result": node, **dict(enumerate(node.arguments))}
    return [
        (argument, substitute(partial_formula(op, k), places))
        for k, argument in enumerate(node.arguments)
        if argument.kind != "number" and op.partials[k] is not None
    ]


def strict_product(g: Formula, partial: Formula) -> Formula:
    """Returns the strict product of `g` and `partial`, simplified for 1 and -1.

    A partial of 0, as that of `floor`, stays a factor: it determines the sign, and keeps the
    gradient connected with what `g` is made of. ZERO itself stands for no connection.
    """
    if partial is ZERO:
        return ZERO
    if partial.is_number(1.0):
        return g
    if partial.is_number(-1.0):
        return applied("neg", (g,))
    return partial if g is ONE else applied("strict_mul", (g, partial))


def plus(a: Formula, b: Formula) -> Formula:
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    return applied("add", (a, b))


def substitute(formula: Formula, places: dict[int | str, Formula]) -> Formula:
    """Returns the formula with other formulas in place of its operands."""
    found: Formula = formula.evaluate(
        lambda node: places[node.value] if node.kind == "operand" else node, applied
    )
    return found


# ---- as ops: an operand's share of the cotangent of the result, and the tangent of the result ----


def _op(name: str, formula: Formula, places: Sequence[int | str], category: str) -> Op:
    """Returns the op that computes a formula. Its operands are those in these places of it."""

    numbered = range(len(places))

    def partial_by(k: int) -> Callable[..., Any]:
        return lambda *given: partial_formula(op, k).rule(("result", *numbered))(*given)

    op = Op(
        name,
        ", ".join(f"x{k}" for k in numbered),
        "A derivative of an operation as one operation.",
        category=category,
        internal=True,
        forward=formula.rule(places),
        partials=tuple(map(partial_by, numbered)),
        real_only=True,
        composed=True,
    )
    return op


@per_op
def cotangent_op(op: Op, operand: int) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the share of a real operand in a cotangent `g` as an op, and its operands after `g`.

    These are operands of `op` by index, and "result".
    """
    n = len(op.signature.operands)
    share = cotangent_formula(op, operand)
    reads = tuple(sorted(share.reads() - {n}, key=str))
    return _op(f"cotangent of {op.name}", share, (n, *reads), op.category), reads


@per_op
def tangent_op(op: Op, active: tuple[int, ...]) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the tangent of an op of real operands, of which the `active` have tangents, as an op.

    Its operands are these tangents, and then the second result: operands of `op` by index, and
    "result".
    """
    n = len(op.signature.operands)
    tangents = range(n, n + len(active))
    tangent = tangent_formula(op, active)
    reads = tuple(sorted(tangent.reads() - set(tangents), key=str))
    return _op(f"tangent of {op.name}", tangent, (*tangents, *reads), op.category), reads
