"""Calls read as formulas: what `f(x, y)` computes, or `grad(f)(x)`, where that can be known without running it.

It can where a name is bound to one function for good (`inlining.py`), and that computes its value from numbers by
elementwise operations, one statement after the other. A derivative of such a function is that of its formula, and a formula
again. A hot expression (`fusion.py`) takes what is read as one operation; what can't be read is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..diagnostics import Span
from ..lang import program
from ..ops.formula import Formula
from ..ops.op import Op
from .compound import ONE, ZERO, compound, differentiate, plus, scaled, substitute
from .inlining import Known
from .scalars import FAST

MAX_NODES = 200  # of a formula: writing the function of a longer one takes long
READ = "reading"  # the name of the ops that readings become


class NotPlainError(Exception):
    """What was to be read isn't made of operations on numbers alone."""


class Reading(NamedTuple):
    """A call as formulas of the `operands`, which are expressions of the frame: of one number, or of a list of them."""

    formulas: list[Formula]
    listed: bool
    operands: list[program.Expression]

    def ops(self) -> list[Op]:
        """The formulas as operations on all of the operands: what a formula doesn't read, the function may."""
        if any(sum(1 for _ in formula) > MAX_NODES for formula in self.formulas):
            raise NotPlainError
        return [compound(READ, formula, len(self.operands)) for formula in self.formulas]


def read_call(node: program.Call, known: dict[int, Known]) -> Reading:
    """The call as formulas. Raises NotPlainError where it can't be read."""
    frame = _Frame(known, node.span)
    value = frame.call(node)
    operands = [(k, operand) for k, operand in enumerate(frame.operands) if operand is not None]
    places: dict[int | str, Formula] = {k: Formula("operand", j) for j, (k, _) in enumerate(operands)}
    formulas = [substitute(formula, places) for formula in (value if isinstance(value, list) else [value])]
    return Reading(formulas, isinstance(value, list), [operand for _, operand in operands])


def is_readable(node: program.Expression, known: dict[int, Known]) -> bool:
    """Whether it is a call of what may be read, told by a look at what is called."""
    if not isinstance(node, program.Call):
        return False
    callee = node.callee
    if isinstance(callee, program.Read):
        return not callee.checked and callee.slot.index in known
    return isinstance(callee, program.Apply) and callee.op.transforms


def is_operation(node: program.Expression) -> bool:
    """Whether a node is an elementwise operation on one or two operands, of those that there are functions on floats of."""
    if not isinstance(node, program.Apply) or not node.op.elementwise or node.options or None in node.operands:
        return False
    if node.op.integers == "bool" or not node.op.differentiable:
        return False
    return len(node.operands) == 1 or (len(node.operands) == 2 and node.op.name in FAST)


Value = Formula | list[Formula]
Callee = Callable[[list[Formula], dict[str, Value]], Value]  # of the arguments, and of those by keyword


class _Scope:
    """The names of a function that is being read: the formulas of its numbers, and its functions."""

    def __init__(self, frame: _Frame, values: dict[int, Formula], functions: dict[int, Callee]) -> None:
        self.frame, self.values, self.functions = frame, values, functions

    def number(self, node: program.Expression) -> Formula:
        self.frame.count += 1
        if self.frame.count > MAX_NODES:
            raise NotPlainError
        if isinstance(node, program.Constant) and type(node.value) in (float, int):
            return Formula("number", node.value)
        if isinstance(node, program.Read) and not node.checked:
            return self.read(node.slot)
        if isinstance(node, program.Call) and isinstance(value := self.call(node), Formula):
            return value
        if isinstance(node, program.Apply) and is_operation(node):
            operands = tuple([self.number(operand) for operand in node.operands if operand is not None])
            if not all(map(_is_int, operands)):  # ints have operations of their own
                return Formula(node.op.name, None, operands)
        raise NotPlainError

    def call(self, node: program.Call) -> Value:
        arguments = [self.number(a.value) for a in node.arguments if not a.keyword]
        keywords: dict[str, Value] = {}
        for argument in node.arguments:
            if argument.keyword:
                items = argument.value.items if isinstance(argument.value, program.ListDisplay) else None
                keywords[argument.keyword] = self.number(argument.value) if items is None else [self.number(i) for i in items]
        return self.function(node.callee)(arguments, keywords)

    def read(self, slot: program.Slot) -> Formula:
        if slot.index not in self.values:
            raise NotPlainError
        return self.values[slot.index]

    def function(self, node: program.Expression | None) -> Callee:
        if isinstance(node, program.Read) and not node.checked and (found := self.callee(node.slot)) is not None:
            return found
        if isinstance(node, program.FunctionLiteral):
            return self.literal(node.function)
        if isinstance(node, program.Apply) and node.op.name in _DERIVATIVES and node.op.transforms:
            options = dict(node.options)
            wrt = options.pop("wrt", None)
            items = wrt.items if isinstance(wrt, program.ListDisplay) else (wrt,)
            positions = [0 if item is None else _position(item) for item in items]
            if not options and positions and len(set(positions)) == len(positions):
                listed = isinstance(wrt, program.ListDisplay)
                return _DERIVATIVES[node.op.name](self.frame, self.function(node.operands[0]), positions, listed)
        raise NotPlainError

    def callee(self, slot: program.Slot) -> Callee | None:
        return self.functions.get(slot.index)

    def literal(self, function: program.Function) -> Callee:
        """A function that is written here."""

        def call(arguments: list[Formula], keywords: dict[str, Value]) -> Formula:
            self.frame.count += 1
            if function.rule is not None or function.opaque or function.self_slot is not None or keywords:
                raise NotPlainError
            if self.frame.count > MAX_NODES or len(arguments) != len(function.parameters):
                raise NotPlainError
            values = {p.slot.index: argument for p, argument in zip(function.parameters, arguments, strict=True)}
            functions: dict[int, Callee] = {}
            for outer, own in function.captures:
                callee = self.callee(outer)
                if callee is None:
                    values[own.index] = self.read(outer)
                else:
                    functions[own.index] = callee
            return _Scope(self.frame, values, functions).returned(function.body)

        return call

    def returned(self, body: tuple[program.Statement, ...]) -> Formula:
        *assignments, last = body
        for statement in assignments:
            if not isinstance(statement, program.Assign) or not isinstance(statement.target, program.NameTarget):
                raise NotPlainError
            slot = statement.target.slot
            if slot.cell or slot.index in self.functions:
                raise NotPlainError
            self.values[slot.index] = self.number(statement.value)
        if not isinstance(last, program.Return) or last.value is None:
            raise NotPlainError
        return self.number(last.value)


class _Home(_Scope):
    """The frame that a captured function is from: of its names only the functions are known."""

    def __init__(self, frame: _Frame, known: dict[int, Known]) -> None:
        super().__init__(frame, {}, {})
        self.known = known

    def callee(self, slot: program.Slot) -> Callee | None:
        if slot.index not in self.known:
            return None
        value, home = self.known[slot.index]
        scope = self if home is None else _Home(self.frame, home)
        return scope.function(value) if isinstance(value, program.Apply) else scope.literal(value)


class _Frame(_Home):
    """The frame that the call is in. What isn't a constant is an operand, which is evaluated there."""

    def __init__(self, known: dict[int, Known], span: Span) -> None:
        super().__init__(self, known)
        self.span = span
        self.operands: list[program.Expression | None] = []  # None for what a derivative is taken by
        self.count = 0  # of nodes and calls that were read

    def number(self, node: program.Expression) -> Formula:
        if isinstance(node, program.Constant) and type(node.value) in (float, int):
            return Formula("number", node.value)
        if isinstance(node, program.Read) and not node.checked:
            return self.read(node.slot)
        return self.operand(node)

    def read(self, slot: program.Slot) -> Formula:
        if slot.index not in self.values:
            self.values[slot.index] = self.operand(program.Read(slot, span=self.span))
        return self.values[slot.index]

    def operand(self, node: program.Expression | None) -> Formula:
        self.operands.append(node)
        return Formula("operand", len(self.operands) - 1)


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _differentiated(
    frame: _Frame, function: Callee, positions: list[int], arguments: list[Formula]
) -> tuple[Formula, list[Formula]]:
    """The value of a function, and its partials by the arguments at the positions."""
    if max(positions) >= len(arguments) or any(_is_int(arguments[k]) for k in positions):
        raise NotPlainError
    by = {k: frame.operand(None) for k in positions}
    value = function([by.get(k, argument) for k, argument in enumerate(arguments)], {})
    if isinstance(value, list) or value.kind == "number":
        raise NotPlainError
    n = len(frame.operands)
    places: dict[int | str, Formula] = {k: Formula("operand", k) for k in range(n)}
    places.update({operand.value: arguments[k] for k, operand in by.items()})
    found = differentiate(value, n)
    return substitute(value, places), [substitute(found[by[k].value], places) for k in positions]


def _grad(frame: _Frame, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords:
            raise NotPlainError
        _, partials = _differentiated(frame, function, positions, arguments)
        return partials if listed else partials[0]

    return call


def _value_and_grad(frame: _Frame, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords or listed:
            raise NotPlainError
        value, (partial,) = _differentiated(frame, function, positions, arguments)
        return [value, partial]

    return call


def _vjp(frame: _Frame, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, u = _apart(arguments, keywords, "u", positions, listed)
        if isinstance(u, list):
            raise NotPlainError
        _, partials = _differentiated(frame, function, positions, arguments)
        shares = [scaled("strict_mul", _weight(u), partial) for partial in partials]
        return shares if listed else shares[0]

    return call


def _value_and_jvp(frame: _Frame, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, vector = _apart(arguments, keywords, "v", positions, listed)
        vectors = vector if isinstance(vector, list) else [vector]
        value, partials = _differentiated(frame, function, positions, arguments)
        if len(vectors) != len(partials) or isinstance(vector, list) != listed:
            raise NotPlainError
        still = [v.kind == "number" and v.value == 0 for v in vectors]
        moving = frozenset().union(*[p.reads() for p, rests in zip(partials, still, strict=True) if not rests])
        total = ZERO
        for v, partial, rests in zip(vectors, partials, still, strict=True):
            if not rests or not partial.reads() <= moving:  # what is 0 still depends on what it is computed from
                total = plus(total, scaled("strict_mul", _weight(v), partial))
        return [value, total]

    return call


def _jvp(frame: _Frame, function: Callee, positions: list[int], listed: bool) -> Callee:
    both = _value_and_jvp(frame, function, positions, listed)

    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        _, tangent = both(arguments, keywords)
        return tangent

    return call


def _apart(
    arguments: list[Formula], keywords: dict[str, Value], name: str, positions: list[int], listed: bool
) -> tuple[list[Formula], Value]:
    """The arguments, and the vector, which is the second of them or comes by its keyword."""
    if keywords.keys() == {name}:
        return arguments, keywords[name]
    if keywords or listed or positions != [0] or len(arguments) < 2:
        raise NotPlainError
    return [arguments[0], *arguments[2:]], arguments[1]


def _weight(vector: Formula) -> Formula:
    return ONE if vector.kind == "number" and vector.value == 1 else vector


_DERIVATIVES = {
    "grad": _grad,
    "value_and_grad": _value_and_grad,
    "vjp": _vjp,
    "jvp": _jvp,
    "value_and_jvp": _value_and_jvp,
}


def _position(node: program.Expression) -> int:
    if isinstance(node, program.Constant) and type(node.value) is int and node.value >= 0:
        return node.value
    raise NotPlainError


def _is_int(formula: Formula) -> bool:
    return formula.kind == "number" and type(formula.value) is int
