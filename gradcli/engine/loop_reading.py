"""Functions with loops that end when they end, read as small programs of formulas: `while y < 20.0 { y = 2.0*y + x }`.

What can't be read turn by turn (`readings.py`), since how many turns there are is found out on the way, can still be read once,
each statement as what it does to the names of the function. Statements that follow each other are one step, which gives
several names new values at once. `loop_source.py` writes the functions of it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ..lang import program
from ..ops.formula import Formula
from .inlining import Known
from .read_derivatives import NotPlainError, Reader
from .readings import TRUE, Frame, Home, Scope, is_simple


class Step(NamedTuple):
    """New values for the numbers `targets`, all from what the numbers were before."""

    targets: tuple[int, ...]
    formulas: tuple[Formula, ...]


class Branch(NamedTuple):
    condition: Formula
    then: list[Part]
    otherwise: list[Part]


class Loop(NamedTuple):
    """Turns while the condition holds; or, with a `counter`, one for each int that the `bounds` of a range say."""

    condition: Formula
    counter: int | None
    bounds: tuple[Formula, ...]
    body: list[Part]


class Exit(NamedTuple):
    """`break` or `continue`; or "return", of what the step before made the result."""

    word: str


Part: TypeAlias = "Step | Branch | Loop | Exit"


class Looped(NamedTuple):
    """A function with loops, as it is called at a place: numbers are told apart by index, formulas have them as operands.

    operands    the expressions of the frame that the call starts from, with their numbers
    begin       what the function's parameters are, of these
    parameters  the numbers that are the parameters
    vector      the number of what a derivative is weighed by, or taken along, which `begin` sets too; None for none
    result      the number that is what it returns
    size        how many numbers there are
    """

    operands: list[tuple[int, program.Expression]]
    begin: Step
    parameters: list[int]
    vector: int | None
    result: int
    size: int
    body: list[Part]


def read_looped(
    node: program.Call,
    function: program.Expression | None,
    arguments: list[program.Expression],
    vector: program.Expression | None,
    known: dict[int, Known],
) -> Looped:
    """What `node` calls, as a call of a function with these arguments. Raises NotPlainError where it can't be read."""
    reader = Reader(branches=False, chooses=True)
    frame = Frame(reader, known, node.span)
    literal, home = _literal(function, frame)
    if literal.rule is not None or literal.opaque or literal.self_slot is not None or len(arguments) != len(literal.parameters):
        raise NotPlainError
    given = [frame.number(argument) for argument in (*arguments, *([] if vector is None else [vector]))]
    scope = _Body(reader)
    numbers = [scope.name(parameter.slot) for parameter in literal.parameters]
    parameters = [number.value for number in numbers]
    weight = None if vector is None else reader.operand(None).value
    for outer, own in literal.captures:
        callee = home.callee(outer)
        if callee is None:
            scope.values[own.index] = home.read(outer)
        else:
            scope.functions[own.index] = callee
    body = scope.parts(literal.body)
    operands = [(k, operand) for k, operand in enumerate(reader.operands) if operand is not None]
    begin = Step((*parameters, *([] if weight is None else [weight])), tuple(given))
    return Looped(operands, begin, parameters, weight, scope.result.value, len(reader.operands), body)


def _literal(node: program.Expression | None, frame: Frame) -> tuple[program.Function, Home]:
    """The function that is called, and the frame that what it captures is from."""
    if isinstance(node, program.FunctionLiteral):
        return node.function, frame
    if isinstance(node, program.Read) and not node.checked and node.slot.index in frame.known:
        value, home = frame.known[node.slot.index]
        if isinstance(value, program.Function):
            return value, frame if home is None else Home(frame.reader, home)
    raise NotPlainError


class _Body(Scope):
    """The names of the function. `values` has what each holds in terms of the numbers as they were when the step at hand began,
    and `changed` those that are no longer what they were."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, {}, {})
        self.result = reader.operand(None)
        self.changed: dict[int, Formula] = {}  # by number
        self._numbers: dict[int, Formula] = {}  # by slot

    def name(self, slot: program.Slot) -> Formula:
        """The number that a name is. Raises NotPlainError where functions inside may see it change."""
        if slot.cell or slot.index in self.functions:
            raise NotPlainError
        if slot.index not in self._numbers:
            self._numbers[slot.index] = self.values[slot.index] = self.reader.operand(None)
        return self._numbers[slot.index]

    def assign(self, target: program.Target, value: Formula) -> None:
        if not isinstance(target, program.NameTarget):
            raise NotPlainError
        number = self.name(target.slot)
        self.values[target.slot.index] = self.changed[number.value] = value

    def number(self, node: program.Expression) -> Formula:
        if isinstance(node, program.Read) and node.checked:
            raise NotPlainError
        return super().number(node)

    # ---- statements --------------------------------------------------------------------------------------------------

    def step(self) -> list[Part]:
        """What was assigned since the last step, as one, if anything was."""
        changed, self.changed = self.changed, {}
        self.values.update(self._numbers)
        return [Step(tuple(changed), tuple(changed.values()))] if changed else []

    def parts(self, body: tuple[program.Statement, ...]) -> list[Part]:
        found: list[Part] = []
        for statement in body:
            if isinstance(statement, program.Assign):
                self.assign(statement.target, self.number(statement.value))
            elif isinstance(statement, program.Augment) and isinstance(statement.target, program.NameTarget):
                if not is_simple(statement.op):
                    raise NotPlainError
                current = self.number(program.Read(statement.target.slot, span=statement.span))
                self.assign(statement.target, self.operation(statement.op, current, self.number(statement.value)))
            elif isinstance(statement, program.Return) and statement.value is not None:
                self.changed = {self.result.value: self.number(statement.value)}
                return [*found, *self.step(), Exit("return")]
            elif isinstance(statement, program.Break | program.Continue):
                return [*found, *self.step(), Exit("break" if isinstance(statement, program.Break) else "continue")]
            elif isinstance(statement, program.If):
                found += self.step() + self.branches(statement.branches, statement.otherwise)
            elif isinstance(statement, program.While):
                found += [*self.step(), Loop(self.condition(statement.condition), None, (), self.parts(statement.body))]
            elif isinstance(statement, program.For):
                found += [*self.step(), self.range(statement)]
            else:
                raise NotPlainError
        return [*found, *self.step()]

    def branches(
        self,
        branches: tuple[tuple[program.Expression, tuple[program.Statement, ...]], ...],
        otherwise: tuple[program.Statement, ...],
    ) -> list[Part]:
        if not branches:
            return self.parts(otherwise)
        (condition, then), *others = branches
        return [Branch(self.condition(condition), self.parts(then), self.branches(tuple(others), otherwise))]

    def range(self, node: program.For) -> Part:
        iterable = node.iterable
        if (
            not isinstance(iterable, program.Apply)
            or iterable.op.name != "range"
            or not isinstance(node.target, program.NameTarget)
        ):
            raise NotPlainError
        bounds = tuple([self.number(operand) for operand in iterable.operands if operand is not None])
        return Loop(TRUE, self.name(node.target.slot).value, bounds, self.parts(node.body))
