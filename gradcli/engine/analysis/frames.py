"""Frames of inlined functions: the formulas that their names and expressions stand for."""

from __future__ import annotations

from collections.abc import Iterator

from ...diagnostics import Span
from ...lang import program
from ...ops.formula import Formula
from ...ops.op import Op
from ..formulas.scalars import FAST
from ..values.kinds import BREAK, CONTINUE
from .inlined_derivatives import DERIVATIVES, Callee, Inliner, NotInlinedError, Value, is_int
from .inlining import Known
from .unrolling import items, on_ints

COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
TURNING = frozenset(
    ("imag", "angle")
)  # whose partials are imaginary, also on floats: a formula would multiply them


def is_operation(node: program.Expression) -> bool:
    """Whether a node is an elementwise operation on one or two operands, of those that there are
    functions on floats of."""
    if (
        not isinstance(node, program.Apply)
        or node.options
        or None in node.operands
        or not is_simple(node.op)
    ):
        return False
    return len(node.operands) == 1 or (len(node.operands) == 2 and node.op.name in FAST)


def is_simple(op: Op) -> bool:
    return op.elementwise and op.differentiable and op.integers != "bool" and op.name not in TURNING


class Scope:
    """The names of a function that is being inlined: the formulas of its numbers, and its
    functions."""

    def __init__(
        self, inliner: Inliner, values: dict[int, Formula], functions: dict[int, Callee]
    ) -> None:
        self.inliner, self.values, self.functions = inliner, values, functions

    def number(self, node: program.Expression) -> Formula:
        self.inliner.count()
        if isinstance(node, program.Constant) and type(node.value) in (float, int):
            return Formula("number", node.value)
        if isinstance(node, program.Read):
            return self.read(node.slot)
        if isinstance(node, program.Call) and isinstance(value := self.call(node), Formula):
            return value
        if isinstance(node, program.Conditional):
            return self.number(node.then if self.holds(node.condition) else node.otherwise)
        if isinstance(node, program.Apply) and is_operation(node):
            return self.operation(
                node.op, *[self.number(operand) for operand in node.operands if operand is not None]
            )
        raise NotInlinedError

    def operation(self, op: Op, *operands: Formula) -> Formula:
        return (
            on_ints(op, operands)
            if all(map(is_int, operands))
            else Formula(op.name, None, operands)
        )

    def holds(self, node: program.Expression) -> bool:
        """Whether a condition on known ints holds."""
        if isinstance(node, program.Logical):
            stop = node.kind == "or"
            return (
                stop if any(self.holds(operand) is stop for operand in node.operands) else not stop
            )
        if isinstance(node, program.Chain):
            a = self.number(node.operands[0])
            for op, operand in zip(node.ops, node.operands[1:], strict=True):
                b = self.number(operand)
                if not self.compare(op, a, b):
                    return False
                a = b
            return True
        if not isinstance(node, program.Apply) or node.options:
            raise NotInlinedError
        if node.op.name == "logical_not" and node.operands[0] is not None:
            return not self.holds(node.operands[0])
        return self.compare(
            node.op, *[self.number(operand) for operand in node.operands if operand is not None]
        )

    def compare(self, op: Op, *operands: Formula) -> bool:
        if op.name not in COMPARISONS or not all(map(is_int, operands)):
            raise NotInlinedError
        return bool(FAST[op.name](*[operand.value for operand in operands]))

    def call(self, node: program.Call) -> Value:
        arguments = [self.number(a.value) for a in node.arguments if not a.keyword]
        keywords: dict[str, Value] = {}
        for argument in node.arguments:
            if argument.keyword:
                items = (
                    argument.value.items
                    if isinstance(argument.value, program.ListDisplay)
                    else None
                )
                keywords[argument.keyword] = (
                    self.number(argument.value)
                    if items is None
                    else [self.number(i) for i in items]
                )
        return self.function(node.callee)(arguments, keywords)

    def read(self, slot: program.Slot) -> Formula:
        if slot.index not in self.values:
            raise NotInlinedError
        return self.values[slot.index]

    def function(self, node: program.Expression | None) -> Callee:
        if (
            isinstance(node, program.Read)
            and not node.checked
            and (found := self.callee(node.slot)) is not None
        ):
            return found
        if isinstance(node, program.FunctionLiteral):
            return self.literal(node.function)
        if isinstance(node, program.Apply) and node.op.name in DERIVATIVES and node.op.transforms:
            options = dict(node.options)
            wrt = options.pop("wrt", None)
            items = wrt.items if isinstance(wrt, program.ListDisplay) else (wrt,)
            positions = [0 if item is None else position_of(item) for item in items]
            if not options and positions and len(set(positions)) == len(positions):
                listed = isinstance(wrt, program.ListDisplay)
                return DERIVATIVES[node.op.name](
                    self.inliner, self.function(node.operands[0]), positions, listed
                )
        raise NotInlinedError

    def callee(self, slot: program.Slot) -> Callee | None:
        return self.functions.get(slot.index)

    def literal(self, function: program.Function) -> Callee:
        """The callee that a function literal is."""

        def call(arguments: list[Formula], keywords: dict[str, Value]) -> Formula:
            self.inliner.count()
            if (
                function.rule is not None
                or function.opaque
                or function.self_slot is not None
                or keywords
            ):
                raise NotInlinedError
            if len(arguments) != len(function.parameters):
                raise NotInlinedError
            values = {
                p.slot.index: argument
                for p, argument in zip(function.parameters, arguments, strict=True)
            }
            functions: dict[int, Callee] = {}
            for outer, own in function.captures:
                callee = self.callee(outer)
                if callee is None:
                    values[own.index] = self.read(outer)
                else:
                    functions[own.index] = callee
            value = Scope(self.inliner, values, functions).returned(function.body)
            if value is None:
                raise NotInlinedError
            return value

        return call

    def returned(self, body: tuple[program.Statement, ...]) -> Formula | None:
        """What the statements return; None where they end without."""
        completion = self.completed(body)
        return completion if isinstance(completion, Formula) else None

    def completed(self, body: tuple[program.Statement, ...]) -> Formula | int | None:
        """What the statements of a loop's body give, or BREAK or CONTINUE where they end so."""
        for statement in body:
            completion: Formula | int | None = None
            if isinstance(statement, program.Return) and statement.value is not None:
                return self.number(statement.value)
            if isinstance(statement, program.Break | program.Continue):
                return BREAK if isinstance(statement, program.Break) else CONTINUE
            if isinstance(statement, program.If):
                taken = next(
                    (part for condition, part in statement.branches if self.holds(condition)),
                    statement.otherwise,
                )
                completion = self.completed(taken)
            elif isinstance(statement, program.While | program.For):
                completion = self.loop(statement)
            elif isinstance(statement, program.Assign):
                self.assign(statement.target, self.number(statement.value))
            elif isinstance(statement, program.Augment) and isinstance(
                statement.target, program.NameTarget
            ):
                if not is_simple(statement.op):
                    raise NotInlinedError
                current = self.read(statement.target.slot)
                self.assign(
                    statement.target,
                    self.operation(statement.op, current, self.number(statement.value)),
                )
            else:
                raise NotInlinedError
            if completion is not None:
                return completion
        return None

    def loop(self, node: program.While | program.For) -> Formula | None:
        """What a loop returns, turn by turn; None where it ends without."""
        for _ in self.turns(node):
            self.inliner.count()
            completion = self.completed(node.body)
            if isinstance(completion, Formula):
                return completion
            if completion == BREAK:
                break
        return None

    def turns(self, node: program.While | program.For) -> Iterator[None]:
        """Steps through a loop: each step begins the next turn."""
        if isinstance(node, program.For):
            for item in items(node.iterable, self.number):
                self.assign(node.target, item)
                yield
            return
        while self.holds(node.condition):
            yield

    def assign(self, target: program.Target, value: Formula) -> None:
        if (
            not isinstance(target, program.NameTarget)
            or target.slot.cell
            or target.slot.index in self.functions
        ):
            raise NotInlinedError
        self.values[target.slot.index] = value


class Home(Scope):
    """The frame that a captured function is from: of its names only the functions are known."""

    def __init__(self, inliner: Inliner, known: dict[int, Known]) -> None:
        super().__init__(inliner, {}, {})
        self.known = known

    def callee(self, slot: program.Slot) -> Callee | None:
        if slot.index not in self.known:
            return None
        value, home = self.known[slot.index]
        if isinstance(value, program.Constant):
            return None
        scope = self if home is None else Home(self.inliner, home)
        return scope.function(value) if isinstance(value, program.Apply) else scope.literal(value)


class Frame(Home):
    """The frame that the call is in. What isn't a constant is an operand, which is evaluated
    there."""

    def __init__(self, inliner: Inliner, known: dict[int, Known], span: Span) -> None:
        super().__init__(inliner, known)
        self.span = span

    def number(self, node: program.Expression) -> Formula:
        if isinstance(node, program.Constant) and type(node.value) in (float, int):
            return Formula("number", node.value)
        if isinstance(node, program.Read) and not node.checked:
            return self.read(node.slot)
        return self.inliner.operand(node)

    def read(self, slot: program.Slot) -> Formula:
        if slot.index not in self.values:
            if slot.index in self.known and isinstance(
                held := self.known[slot.index].value, program.Constant
            ):
                return Formula("number", held.value)
            self.values[slot.index] = self.inliner.operand(program.Read(slot, span=self.span))
        return self.values[slot.index]


class Body(Frame):
    """The frame of a function whose own body is inlined. Names that it doesn't assign are the
    operands."""

    def number(self, node: program.Expression) -> Formula:
        return Scope.number(self, node)


def position_of(node: program.Expression) -> int:
    """The position of an argument in an option of a transform. Raises NotInlinedError unless it is
    a literal."""
    if isinstance(node, program.Constant) and type(node.value) is int and node.value >= 0:
        return node.value
    raise NotInlinedError
