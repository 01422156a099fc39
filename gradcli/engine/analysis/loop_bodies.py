"""Functions with loops that can't be unrolled, as small programs of formulas: `while y < 20.0 { y =
2.0*y + x }`.

Each statement becomes a step: the formulas of the names that it changes. Consecutive statements are
one step, which gives several names new values at once. A called function with loops becomes a loop
of one turn, which ends where the function returns. `loop_source.py` generates the functions of such
a program.
"""

from __future__ import annotations

from ...lang import program
from ...lang.program.walks import own_nodes
from ...ops.formula import Formula
from .frames import TRUE, Frame, Home, Scope, is_simple
from .inlined_derivatives import Inliner, NotInlinedError
from .inlining import Known
from .loop_parts import Branch, Exit, Loop, Looped, Part, Step


def inline_looped(
    node: program.Call,
    function: program.Expression | None,
    arguments: list[program.Expression],
    vector: program.Expression | None,
    known: dict[int, Known],
) -> Looped:
    """Inlines the function with loops that `node` calls with these arguments. Raises
    NotInlinedError where that is impossible."""
    inliner = Inliner(branches=False, chooses=True)
    frame = Frame(inliner, known, node.span)
    literal, home = _literal(function, frame)
    given = [
        frame.number(argument) for argument in (*arguments, *([] if vector is None else [vector]))
    ]
    scope = _Body(inliner, literal, home, len(arguments))
    weight = None if vector is None else inliner.operand(None).value
    body = scope.parts(literal.body)
    operands = [(k, operand) for k, operand in enumerate(inliner.operands) if operand is not None]
    begin = Step((*scope.parameters, *([] if weight is None else [weight])), tuple(given))
    return Looped(
        operands, begin, scope.parameters, weight, scope.result.value, len(inliner.operands), body
    )


def _literal(node: program.Expression | None, frame: Frame) -> tuple[program.Function, Home]:
    """The function that is called, and the frame that what it captures is from."""
    if isinstance(node, program.FunctionLiteral):
        return node.function, frame
    if (
        isinstance(node, program.Read)
        and not node.checked
        and (found := _held(node.slot, frame)) is not None
    ):
        return found
    raise NotInlinedError


def _held(slot: program.Slot, frame: Home) -> tuple[program.Function, Home] | None:
    """The function that a name of a frame holds for good, and the frame that what it captures is
    from."""
    value, home = frame.known.get(slot.index, (None, None))
    return (
        (value, frame if home is None else Home(frame.inliner, home))
        if isinstance(value, program.Function)
        else None
    )


def _in_one_turn(parts: list[Part], inside: bool = False) -> list[Part]:
    """Converts the parts of a function to the only turn of a loop, which ends where the function
    returns. Raises NotInlinedError for a return `inside` another loop."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Loop):
            found.append(part._replace(body=_in_one_turn(part.body, inside=True)))
        elif isinstance(part, Branch):
            found.append(
                part._replace(
                    then=_in_one_turn(part.then, inside),
                    otherwise=_in_one_turn(part.otherwise, inside),
                )
            )
        elif isinstance(part, Exit) and part.word == "return":
            if inside:
                raise NotInlinedError
            found.append(Exit("break"))
        else:
            found.append(part)
    return found


class _Statements(Scope):
    """The names of a frame. `values` has what each holds in terms of the numbers as they were when
    the step at hand began, and `changed` those that are no longer what they were."""

    def __init__(self, inliner: Inliner) -> None:
        Scope.__init__(
            self, inliner, {}, {}
        )  # by name, as what is beside this in a class begins in another way
        self.result = inliner.operand(None)
        self.changed: dict[int, Formula] = {}  # by number
        self._numbers: dict[int, Formula] = {}  # by slot
        self._before: list[Part] | None = (
            None  # what is done before the statement at hand, where anything can be
        )

    def held(self, slot: program.Slot) -> tuple[program.Function, Home] | None:
        """The function that a name holds for good, and the frame that what it captures is from;
        None for any other name."""
        return None

    def name(self, slot: program.Slot) -> Formula:
        """The number that a name is. Raises NotInlinedError where functions inside may see it
        change."""
        if slot.cell or slot.index in self.functions:
            raise NotInlinedError
        return self.numbered(slot)

    def numbered(self, slot: program.Slot) -> Formula:
        """The number that an expression gives, wherever it is read from."""
        if slot.index not in self._numbers:
            self._numbers[slot.index] = self.values[slot.index] = self.inliner.operand(None)
        return self._numbers[slot.index]

    def assign(self, target: program.Target, value: Formula) -> None:
        if not isinstance(target, program.NameTarget):
            raise NotInlinedError
        number = self.name(target.slot)
        self.values[target.slot.index] = self.changed[number.value] = value

    def number(self, node: program.Expression) -> Formula:
        if isinstance(node, program.Read) and node.checked:
            raise NotInlinedError
        if isinstance(node, program.Conditional):  # what isn't chosen isn't called
            outside, self._before = self._before, None
            chosen = super().number(node)
            self._before = outside
            return chosen
        before = self._before
        if before is None or not isinstance(node, program.Call):
            return super().number(node)
        begun = len(before)
        try:
            return super().number(node)
        except NotInlinedError:
            del before[begun:]
            return self.called(node, before)

    def called(self, node: program.Call, before: list[Part]) -> Formula:
        """What a function with loops of its own gives, which is called before the statement at
        hand."""
        callee = node.callee
        held = self.held(callee.slot) if isinstance(callee, program.Read) else None
        if held is None:
            raise NotInlinedError
        if any(argument.keyword for argument in node.arguments):
            raise NotInlinedError
        given = [self.number(argument.value) for argument in node.arguments]
        scope = _Body(self.inliner, *held, len(given))
        before.append(Step(tuple(scope.parameters), tuple(given)))
        before.append(Loop(TRUE, None, (), [*_in_one_turn(scope.parts(scope.body)), Exit("raise")]))
        return scope.result

    # ---- statements ------------------------------------------------------------------------------

    def step(self) -> list[Part]:
        """What was assigned since the last step, as one, if anything was."""
        changed, self.changed = self.changed, {}
        self.values.update(self._numbers)
        return [Step(tuple(changed), tuple(changed.values()))] if changed else []

    def parts(self, body: tuple[program.Statement, ...]) -> list[Part]:
        found: list[Part] = []
        for statement in body:
            self._before = None
            if isinstance(statement, program.Assign | program.Augment | program.Return):
                if any(isinstance(node, program.Call) for node in own_nodes([statement])):
                    found += self.step()  # which calls begin from
                self._before = found
            if isinstance(statement, program.Assign):
                self.assign(statement.target, self.number(statement.value))
            elif isinstance(statement, program.Augment) and isinstance(
                statement.target, program.NameTarget
            ):
                if not is_simple(statement.op):
                    raise NotInlinedError
                current = self.number(program.Read(statement.target.slot, span=statement.span))
                self.assign(
                    statement.target,
                    self.operation(statement.op, current, self.number(statement.value)),
                )
            elif isinstance(statement, program.Return) and statement.value is not None:
                self.changed = {self.result.value: self.number(statement.value)}
                return [*found, *self.step(), Exit("return")]
            elif isinstance(statement, program.Break | program.Continue):
                return [
                    *found,
                    *self.step(),
                    Exit("break" if isinstance(statement, program.Break) else "continue"),
                ]
            elif isinstance(statement, program.If):
                found += self.step() + self.branches(statement.branches, statement.otherwise)
            elif isinstance(statement, program.While):
                found += [
                    *self.step(),
                    Loop(self.condition(statement.condition), None, (), self.parts(statement.body)),
                ]
            elif isinstance(statement, program.For):
                found += [*self.step(), self.range(statement)]
            else:
                raise NotInlinedError
        return [*found, *self.step()]

    def branches(
        self,
        branches: tuple[tuple[program.Expression, tuple[program.Statement, ...]], ...],
        otherwise: tuple[program.Statement, ...],
    ) -> list[Part]:
        if not branches:
            return self.parts(otherwise)
        (condition, then), *others = branches
        return [
            Branch(
                self.condition(condition), self.parts(then), self.branches(tuple(others), otherwise)
            )
        ]

    def range(self, node: program.For) -> Part:
        iterable = node.iterable
        if (
            not isinstance(iterable, program.Apply)
            or iterable.op.name != "range"
            or not isinstance(node.target, program.NameTarget)
        ):
            raise NotInlinedError
        bounds = tuple(
            [self.number(operand) for operand in iterable.operands if operand is not None]
        )
        return Loop(TRUE, self.name(node.target.slot).value, bounds, self.parts(node.body))


class _Body(_Statements):
    """The names of a function."""

    def __init__(
        self, inliner: Inliner, function: program.Function, home: Home, given: int
    ) -> None:
        super().__init__(inliner)
        if (
            function.rule is not None
            or function.opaque
            or function.self_slot is not None
            or given != len(function.parameters)
        ):
            raise NotInlinedError
        self.body = function.body
        self._called: dict[int, tuple[program.Function, Home]] = {}  # functions, by slot
        self.parameters: list[int] = [
            self.name(parameter.slot).value for parameter in function.parameters
        ]
        for outer, own in function.captures:
            callee = home.callee(outer)
            if callee is None:
                self.values[own.index] = home.read(outer)
            else:
                self.functions[own.index] = callee
                if (held := _held(outer, home)) is not None:
                    self._called[own.index] = held

    def held(self, slot: program.Slot) -> tuple[program.Function, Home] | None:
        return self._called.get(slot.index)
