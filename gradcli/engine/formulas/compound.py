"""Compound operations: elementwise ops that aren't in the table, composed of those that are.

A hot expression of a program is one (`lowering/fusion.py`), and so is the derivative of an op: the
cotangent of an operand and the tangent of a result are formulas of the partials. A compound op has
its own partials, computed once by differentiating its formula, so it can be differentiated to any
order like any other op, and everything that evaluates formulas (on floats, arrays, the trace,
duals) accepts it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula, key_of
from ...ops.op import Op
from .functions import forward_formula, partial_formula, per_op, real_partial_formula

EXPRESSION = "expression"  # the name of the op of a program's expression
ONE, ZERO, RESULT = Formula("number", 1.0), Formula("number", 0.0), Formula("result")
DERIVATIVE = "derived"  # marks an operation in a formula as a derivative


class _Written:
    """A formula as a key for look-ups, equal to any other with the same structure.

    Nodes that this file distinguishes by identity are distinct here, too.
    """

    __slots__ = ("_hash", "_key", "formula")

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._key = (
            key_of(formula),
            tuple([k for k, node in enumerate(formula) if node is ONE or node is ZERO]),
        )
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is _Written and self._key == other._key


def compound(name: str, formula: Formula, n_operands: int) -> Op:
    """Returns the op of a formula of `n_operands` operands.

    Its category is "derivatives" if a part of the formula is one. Formulas with the same structure
    share their op, so that an expression which is compiled again finds what was computed for it.
    """
    return _of_written(name, _Written(formula), n_operands)


@per_op
def _of_written(name: str, written: _Written, n_operands: int) -> Op:
    return _op(name, written.formula, n_operands, "arithmetic")


def _op(name: str, formula: Formula, n_operands: int, category: str) -> Op:
    derivatives: list[Formula] = []
    category = (
        "derivatives"
        if any(node.value == DERIVATIVE for node in formula if node.arguments)
        else category
    )

    def partial_by(k: int) -> Callable[..., Formula]:
        def partial(m: Any, y: Any, *operands: Any) -> Formula:
            if not derivatives:
                derivatives.extend(
                    by_result(formula, n_operands) or differentiate(formula, n_operands)
                )
            return derivatives[k]

        return partial

    return Op(
        name,
        ", ".join(f"x{k}" for k in range(n_operands)),
        "An expression as one operation.",
        category=category,
        internal=True,
        forward=lambda m, *operands: formula,
        partials=tuple(partial_by(k) for k in range(n_operands)),
        real_only=True,
    )


@per_op
def cotangent_op(op: Op, operand: int) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the op `g * partial`, the share of a real operand in a cotangent, and its operands
    after `g`.

    These are operands of `op` by index, and "result".
    """
    partial = real_partial_formula(op, operand)
    reads = tuple(sorted(partial.reads(), key=str))
    places: dict[int | str, Formula] = {
        read: Formula("operand", k + 1) for k, read in enumerate(reads)
    }
    formula = strict_product(Formula("operand", 0), substitute(partial, places))
    return _op(f"cotangent of {op.name}", formula, 1 + len(reads), op.category), reads


@per_op
def tangent_op(op: Op, active: tuple[int, ...]) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the tangent of an op of real operands, of which the `active` have tangents, as an op.

    Its operands are these tangents, and then the second result: operands of `op` by index, and
    "result".
    """
    partials = [real_partial_formula(op, k) for k in active]
    reads = tuple(sorted(frozenset().union(*(p.reads() for p in partials)), key=str))
    n = len(active)
    places: dict[int | str, Formula] = {
        read: Formula("operand", n + k) for k, read in enumerate(reads)
    }
    total = ZERO
    for k, partial in enumerate(partials):
        total = plus(
            total, scaled("strict_mul", Formula("operand", k), substitute(partial, places))
        )
    return _op(f"tangent of {op.name}", total, n + len(reads), op.category), reads


def tangent_formula(formula: Formula, n_operands: int, active: list[int]) -> Formula:
    """Returns the tangent of a formula whose `active` operands have one, as operands from
    `n_operands` on.
    """
    partials = differentiate(formula, n_operands)
    total = ZERO
    for position, k in enumerate(active):
        total = plus(
            total, scaled("strict_mul", Formula("operand", n_operands + position), partials[k])
        )
    return total


# ---- formulas of formulas ------------------------------------------------------------------------


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


def as_derivative(formula: Formula) -> Formula:
    """Returns the formula marked as a derivative that a program asked for; a number
    becomes a float.
    """
    if formula.kind == "number":
        return as_float(formula)
    return (
        Formula(formula.kind, DERIVATIVE, formula.arguments)
        if formula.arguments
        else Formula("mul", DERIVATIVE, (ONE, formula))
    )


def as_float(formula: Formula) -> Formula:
    """Returns the formula; of an int alone, the float."""
    return (
        Formula("number", float(formula.value))
        if formula.kind == "number" and type(formula.value) is int
        else formula
    )


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


def cotangents(formula: Formula, n_operands: int) -> tuple[tuple[int | str, ...], list[Formula]]:
    """Returns the cotangents of a formula's operands, and what they read.

    These are operands by index, or "result"; the cotangents take them in this order, followed by
    the result's cotangent.
    """
    partials = by_result(formula, n_operands)
    if partials is None:
        return tuple(range(n_operands)), differentiate(
            formula, n_operands, Formula("operand", n_operands)
        )
    y, g = Formula("operand", 0), Formula("operand", 1)
    return ("result",), [strict_product(g, substitute(p, {"result": y})) for p in partials]


@per_op
def cotangents_of(op: Op) -> tuple[tuple[int | str, ...], list[Formula]]:
    """Returns the cotangents of an op's operands, and what they read, as `cotangents` does."""
    return cotangents(forward_formula(op), len(op.signature.operands))


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
    if node.kind == "conj":  # of a real number
        return [(node.arguments[0], g)]
    if not node.arguments or not (op := OPS[node.kind]).differentiable or op.integers == "bool":
        return []
    places: dict[int | str, Formula] = {"result": result, **dict(enumerate(node.arguments))}
    shares = []
    for k, argument in enumerate(node.arguments):
        if argument.kind != "number" and op.partials[k] is not None:
            shares.append((argument, strict_product(g, substitute(partial_formula(op, k), places))))
    return shares


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
