"""Derivatives of formulas, one operation after the other, as the interpreter computes them.

Where slopes are infinite, the order in which shares are added up and multiplied decides between a
number, an infinity and nan: `g * a + g * b` isn't `g * (a + b)`. So the strict derivatives of a
whole expression, those for what isn't finite, are those of its operations.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ops import OPS
from ...ops.formula import Formula
from ...ops.op import Op
from .reading import forward_formula, partial_formula, per_op, real_partial_formula

ONE, ZERO, RESULT = Formula("number", 1.0), Formula("number", 0.0), Formula("result")


@per_op
def cotangent_formula(op: Op, k: int) -> Formula:
    """Returns the share of a real operand in the result's cotangent, which is the operand after
    the op's own.
    """
    n = len(op.signature.operands)
    g = Formula("operand", n)
    if not op.composed:
        return strict_product(g, real_partial_formula(op, k))
    formula = forward_formula(op)
    return differentiate(formula, n, g, _result_of(formula, n))[k]


@per_op
def tangent_formula(op: Op, active: tuple[int, ...]) -> Formula:
    """Returns the tangent of the result. Those of the `active` operands, real ones, are the
    operands after the op's own.
    """
    n = len(op.signature.operands)
    tangents = {k: Formula("operand", n + position) for position, k in enumerate(active)}
    if op.composed:
        formula = forward_formula(op)
        return pushed(formula, tangents, _result_of(formula, n))
    total = ZERO
    for k, t in tangents.items():
        total = plus(total, strict_product(t, real_partial_formula(op, k)))
    return total


def _result_of(formula: Formula, n_operands: int) -> Formula | None:
    """Returns what the derivatives of a formula read in place of its value: RESULT if they need
    nothing else, since then only that is kept; or None.
    """
    return None if by_result(formula, n_operands) is None else RESULT


def pushed(
    formula: Formula, tangents: Mapping[int, Formula], result: Formula | None = None
) -> Formula:
    """Returns the tangent of a formula, given the tangents of operands, by index.

    In each product a tangent of exactly 0 gives 0. `result` replaces the formula's value where a
    partial reads that.
    """
    made: dict[int, Formula] = {}
    for node in formula:
        total = tangents.get(node.value, ZERO) if node.kind == "operand" else ZERO
        if node.kind == "where":
            condition, *sides = node.arguments
            a, b = [made[id(side)] for side in sides]
            total = ZERO if a is ZERO and b is ZERO else Formula("where", None, (condition, a, b))
        else:
            value = node if result is None or node is not formula else result
            for argument, partial in _partials(node, value):
                if made[id(argument)] is not ZERO:
                    total = plus(total, strict_product(made[id(argument)], partial))
        made[id(node)] = total
    return made[id(formula)]


def differentiate(
    formula: Formula, n_operands: int, seed: Formula = ONE, result: Formula | None = None
) -> list[Formula]:
    """Returns the partials of a formula by its operands, which share common subexpressions.

    With a cotangent of the result, they are the operands' cotangents. In each product a cotangent
    of exactly 0 gives 0, as in a sweep. `result` replaces the formula's value where a partial reads
    that.
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
        for argument, share in _shares(
            node, g, node if result is None or node is not formula else result
        ):
            if argument.kind != "number" and share is not ZERO:
                old = cotangents.get(id(argument))
                cotangents[id(argument)] = share if old is None else plus(old, share)
    return found


def _shares(node: Formula, g: Formula, result: Formula) -> list[tuple[Formula, Formula]]:
    """Returns the differentiable arguments of a node with their shares of its cotangent; `result`
    is its value.
    """
    if node.kind == "where":
        condition, a, b = node.arguments
        return [
            (a, Formula("where", None, (condition, g, ZERO))),
            (b, Formula("where", None, (condition, ZERO, g))),
        ]
    return [(argument, strict_product(g, partial)) for argument, partial in _partials(node, result)]


def _partials(node: Formula, result: Formula) -> list[tuple[Formula, Formula]]:
    """Returns the differentiable arguments of a node that is no choice, with the partials by them;
    `result` is its value.
    """
    if node.kind == "conj":  # of a real number
        return [(node.arguments[0], ONE)]
    if not node.arguments or not (op := OPS[node.kind]).differentiable or op.integers == "bool":
        return []
    places: dict[int | str, Formula] = {"result": result, **dict(enumerate(node.arguments))}
    return [
        (argument, substitute(partial_formula(op, k), places))
        for k, argument in enumerate(node.arguments)
        if argument.kind != "number" and op.partials[k] is not None
    ]


def by_result(formula: Formula, n_operands: int) -> list[Formula] | None:
    """Returns the partials of a formula if they need only its result, as those of `relu(x + b)` or
    `exp(-x)`.

    Then no operand has to be kept as a residual. Returns None for any other formula.
    """
    if _reads_of_last(formula) != {"result"}:
        return None
    partials = differentiate(formula, n_operands, result=RESULT)
    return partials if frozenset().union(*(p.reads() for p in partials)) == {"result"} else None


def _reads_of_last(formula: Formula) -> frozenset[int | str]:
    """Returns what the partials of a formula's last operation read: its arguments by index, or
    "result".

    Numbers don't count.
    """
    op = OPS.get(formula.kind) if formula.arguments else None
    if op is None or not op.elementwise:
        return frozenset()
    numbers = {k for k, a in enumerate(formula.arguments) if a.kind == "number"}
    asked = [
        k for k in range(len(formula.arguments)) if k not in numbers and op.partials[k] is not None
    ]
    return frozenset().union(*[partial_formula(op, k).reads() for k in asked]) - numbers


def strict_product(g: Formula, partial: Formula) -> Formula:
    return scaled("strict_mul", g, partial)


def scaled(kind: str, g: Formula, partial: Formula) -> Formula:
    """Returns `g * partial` by the product `kind`, simplified for 1 and -1.

    A partial of 0, as that of `floor`, stays a factor: it determines the sign, and keeps the
    gradient connected with what `g` is made of. ZERO itself stands for no connection.
    """
    if partial is ZERO:
        return ZERO
    if partial.kind == "number" and not isinstance(partial.value, complex):
        if partial.value == 1:
            return g
        if partial.value == -1:
            return Formula("neg", None, (g,))
    if g is ONE:
        return partial
    return Formula(kind, None, (g, partial))


def plus(a: Formula, b: Formula) -> Formula:
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    return Formula("add", None, (a, b))


def substitute(formula: Formula, places: dict[int | str, Formula]) -> Formula:
    """Returns the formula with other formulas in place of its operands, by index, and of its
    "result".
    """
    made: dict[int, Formula] = {}
    for node in formula:
        if node.kind == "operand":
            made[id(node)] = places[node.value]
        elif node.kind == "result":
            made[id(node)] = places["result"]
        elif node.arguments:
            made[id(node)] = Formula(
                node.kind, node.value, tuple([made[id(a)] for a in node.arguments])
            )
        else:
            made[id(node)] = node
    return made[id(formula)]
