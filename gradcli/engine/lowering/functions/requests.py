"""Derivatives of values in IR: `grad(y, x)`, `t.gradient(y, x)`.

Such a request is the pullback of the instructions that lowering has added since the tape began:
with the region, or with an iteration. The sources are variables; the pullback ends at the states
that they had at that beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....lang import program
from ....ops.op import BindingError, Op, Signature
from ....structs import Entity
from ...ir.instructions import Block, Branch, Call, Check, For, Instruction, Value, While, every
from ...ir.scalars import RESTATED, WHERE
from ...ir.types import STACK, has_tangents
from ...passes.copying import used
from ...passes.derivatives.activity import varied
from ...passes.derivatives.tangents import Derivative, Derivatives
from ...passes.derivatives.vjp import pull_back
from ...passes.rules import NoRule
from ..builtins.reductions import Options
from ..held.branching import Scope
from ..held.kinds import Array, flat, kind_of, leaves, plain, rebuilt, with_parts, without_variable
from ..held.names import Name, NotCompiled, Variable
from .states import States, shape_and_type

_JOINING = (Branch, For, While, Call)  # whose results may be values from before them
_KEEPING = (For, While, Call)  # whose pullbacks need a stack
_GRADIENT = Signature('target, sources; unconnected="none", seed=none')


class Window(Entity, frozen=False):
    """A tape: the instructions that it records, and the states of variables before them.

    scope       the region or the iteration where the tape is
    block       the block with the instructions
    before      the last instruction before them, in a list; an empty list if there is none
    began       the states of variables before them
    automatic   whether trainable variables are watched
    watched     the variables that are watched by `watch`
    persistent  whether it can be asked more than once, and `spent`, whether it was asked
    is_open     whether its block is still being lowered
    """

    scope: Scope
    block: Block
    before: Sequence[Instruction]
    began: Mapping[Name, Any]
    automatic: bool
    persistent: bool
    watched: list[Name]
    instructions: list[Instruction]
    is_open: bool = True
    spent: bool = False


class Requests(States):
    """The lowering of tapes, and of derivatives of values.

    once    whether no derivative here is differentiated again: then derivatives depend on nothing
    paused  whether a `pause` is being lowered
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.once, self.paused = False, False
        self.windows: list[Window] = []  # the tapes that are open
        # The instructions to which requests gave a stack, each with the pullback that pops it.
        self.stacked_up: list[tuple[list[Instruction], list[Instruction]]] = []

    def all(self, statements: Sequence[Any]) -> None:
        raise NotImplementedError

    # ---- tapes -----------------------------------------------------------------------------------

    def tape(self, node: program.Tape) -> None:
        """`tape t { … }`: its name holds the tape from the start."""
        if self.paused:
            raise NotCompiled("a tape in a `pause` is not compiled")
        options = {name: self.known_bool(value) for name, value in node.options}
        block, began = self.builder.block, self.state_now()
        automatic = options.get("watch_variables", True)
        persistent = options.get("persistent", False)
        before = block.instructions[-1:]
        window = Window(self.scopes[-1], block, before, began, automatic, persistent, [], [])
        self.names.held[Name(self.frame, node.slot.index)] = window
        self.windows.append(window)
        try:
            self.all(node.body)
        finally:
            self.windows.pop()
        window.instructions, window.is_open = _since(block, before), False

    def pause(self, node: program.Pause) -> None:
        """`pause { … }`: after the block, what it computed depends on nothing."""
        outer, self.paused = self.paused, True
        block, kept = self.builder.block, self.surviving(node, self.liveness.after(node))
        before = block.instructions[-1:]
        try:
            self.all(node.body)
        finally:
            self.paused = outer
        made = {value: each for each in _since(block, before) for value in each.results}
        for name, held in zip(kept, self.names.of(kept), strict=True):
            computed = [v for v in flat(held) if v in made and has_tangents(v.type)]
            if not computed:
                continue
            if type(held) is tuple or any(isinstance(made[v], _JOINING) for v in computed):
                raise NotCompiled("this result of a `pause` is not compiled")
            self.names.held[name] = self.detached(held)
        self.forget_others(node, kept)

    def known_bool(self, node: Any) -> bool:
        with self.at(node.span):
            known = self.builder.known.get(self.expression(node))
            if type(known) is not bool:
                raise NotCompiled("an option of a tape that isn't known is not compiled")
            return known

    def watch(self, node: program.Watch) -> None:
        """`watch x`: a watched number becomes a variable, whose state depends on nothing."""
        if node.tape is None and not self.windows:
            raise NotCompiled("`watch` for the main tape is not compiled")
        window = self.windows[-1] if node.tape is None else self.expression(node.tape)
        if not isinstance(window, Window) or not window.is_open:
            raise NotCompiled("`watch` is compiled in the block of its tape")
        for item, slot in node.items:
            held = self.expression(item)
            if not isinstance(held, Variable):
                held = self.watched(held, slot)
                window.began = {**window.began, held.state: self.value(held)}
            elif window.block.instructions[-1:] != window.before:
                raise NotCompiled("a variable that is watched late is not compiled")
            window.watched.append(held.state)

    def watched(self, held: Any, slot: program.Slot | None) -> Variable:
        """The variable that a watched constant becomes. Its name holds the variable from now on."""
        held = self.as_array(held) if type(held) is tuple else held
        numbers = list(flat(held)) if isinstance(held, Value | Array) else []
        if slot is None or not numbers or any(v not in self.builder.known for v in numbers):
            raise NotCompiled("`watch` is compiled only for known values")
        if not all(has_tangents(value.type) for value in numbers):
            raise NotCompiled("`watch` is compiled only for floats")
        zero = self.builder.constant(0.0)
        new = [self.builder.operation(RESTATED, [zero, value]) for value in numbers]
        made = self.variable(rebuilt(plain(kind_of(held)), iter(new)), trainable=False)
        self.names.held[Name(self.frame, slot.index)] = made
        return made

    def member_call(self, receiver: Any, node: program.MethodCall) -> Any:
        """`t.gradient(y, x)`, or a call of a method of something else."""
        if not isinstance(receiver, Window):
            return super().member_call(receiver, node)
        given, named = self.given_to(node)
        try:
            operands, options = _GRADIENT.bound("gradient", given, named)
        except BindingError:
            operands, options = [], {}
        if node.name != "gradient" or not operands:
            raise NotCompiled(f"this `.{node.name}` of a tape is not compiled")
        if receiver.is_open or (receiver.spent and not receiver.persistent):
            raise NotCompiled("this tape can't be asked here")
        receiver.spent = True
        target, sources = operands
        return self.gradients(target, sources, options, receiver)

    # ---- requests --------------------------------------------------------------------------------

    def apply(self, op: Op, operands: Sequence[Any], options: Options | None = None) -> Any:
        if op.name == "grad" and not op.transforms:
            return self.gradients(operands[0], operands[1], options or {})
        if op.name in ("detach", "stop_gradient"):
            return self.detached(operands[0])
        return super().apply(op, operands, options)

    def detached(self, held: Any) -> Any:
        """A number or an array, as one that depends on nothing."""
        held = self.values(held)
        held = self.as_array(held) if type(held) is tuple else held
        _, kind = shape_and_type(held)
        if not has_tangents(kind):
            return held
        return self.apply(RESTATED, [self.builder.constant(0.0), without_variable(held)])

    def gradients(
        self, target: Any, sources: Any, options: Options, window: Window | None = None
    ) -> Any:
        """The gradients of a target's sum, in the structure of the sources. All of them must be
        connected: the interpreter tells why one isn't."""
        if self.paused:
            raise NotCompiled("a gradient of a value in a `pause` is not compiled")
        seed = options.get("seed")
        target = self.values(target)
        ends = [value for value in flat(target) if has_tangents(value.type)]
        if not ends:
            raise NotCompiled("a gradient is compiled only for floats")
        seeds = self.seeds(target, self.values(seed))
        variables = list(leaves(sources))
        if not all(isinstance(each, Variable) for each in variables):
            raise NotCompiled("a gradient is compiled only by variables")
        found = self.pulled_back(list(zip(ends, seeds, strict=True)), variables, window)

        def answer(source: Any) -> Any:
            if isinstance(source, Variable):
                gradient = self.gradient_by(self.value(source), next(states), found)
                return self.detached(gradient) if self.once else gradient
            return with_parts(source, answer)

        began = self.scopes[-1].began if window is None else window.began
        states = iter([list(flat(began[each.state])) for each in variables])
        return answer(sources)

    def pulled_back(
        self,
        seeds: Sequence[tuple[Value, Value]],
        variables: Sequence[Variable],
        window: Window | None,
    ) -> Derivatives:
        """Adds a pullback; returns the cotangents of the states at the beginning of the window."""
        scope = self.scopes[-1]
        if scope.path[-1] is not self.builder.block or (window and window.scope is not scope):
            raise NotCompiled("a gradient of a value from another block is not compiled")
        began = scope.began if window is None else window.began
        for each in variables:
            watched = each.trainable if window is None or window.automatic else False
            if each.state not in began or not (
                watched or (window is not None and each.state in window.watched)
            ):
                raise NotCompiled("a gradient by a variable that isn't watched is not compiled")
        sources = [value for each in variables for value in flat(began[each.state])]
        made = scope.instructions if window is None else window.instructions
        there = {id(each) for each in made}
        for kept, pullback in self.stacked_up:
            is_here = any(id(each) in there for each in kept)
            if is_here and any(id(each) not in there for each in pullback):
                raise NotCompiled("code that another tape differentiates, too, is not compiled")
        if not self.once and self.pulls_back_before(scope, made, sources):
            raise NotCompiled("a gradient in a branch, through a loop before it, is not compiled")
        others = self.earlier_values(scope, made, variables, began) if window is None else set()
        try:
            before, after, found = pull_back(made, seeds, {*sources, *others}, self.regions)
        except NoRule as reason:
            raise NotCompiled(str(reason)) from None
        if not others.isdisjoint(found):
            raise NotCompiled("a gradient through an earlier iteration is not compiled")
        block = scope.path[0] if window is None else window.block
        place = next(
            (k for k, each in enumerate(block.instructions) if made and each is made[0]), 0
        )
        self.stacked_up.append(([m for m in made if any(map(_is_stack, m.results))], after))
        block.instructions[place:place] = before
        self.builder.extend(after)
        return found

    def pulls_back_before(
        self, scope: Scope, made: Sequence[Instruction], sources: Iterable[Value]
    ) -> bool:
        """Whether this is one side of a branch, and the pullback goes through a loop or a call
        before the branch. On the other side nothing would pop what these push; so a gradient of
        this gradient isn't compiled."""
        here = {id(each) for each in scope.path[-1].instructions}
        before = [each for each in made if id(each) not in here]
        keep = [each for each in before if any(isinstance(m, _KEEPING) for m in every(_of(each)))]
        moving = varied(Block((), list(made)), sources) if keep else set()
        return any(not moving.isdisjoint(each.results) for each in keep)

    def earlier_values(
        self,
        scope: Scope,
        made: Sequence[Instruction],
        variables: Sequence[Variable],
        began: Mapping[Name, Any],
    ) -> set[Value]:
        """The values from before this iteration that instructions use, and that may depend on one
        of the variables in another way than through states."""
        outside: set[Value] = set()
        for outer in self.scopes[:-1]:
            states = [v for each in variables for v in flat(outer.began.get(each.state))]
            moving = {*states, *outer.carried, *outside}
            outside |= varied(Block((), outer.instructions), moving)
        outside.update(scope.carried)
        outside.difference_update(flat(*began.values()))
        return {v for v in used([Block((), list(made))]) if v in outside and has_tangents(v.type)}

    def gradient_by(self, held: Any, began: Sequence[Value], found: Derivatives) -> Any:
        """The gradient by a variable, from the cotangents of the values that its state began
        with."""
        parts = [found.get(value) for value in began]
        there = [part for part in parts if part is not None]
        if not there:
            raise NotCompiled("a gradient that isn't connected is not compiled")
        if all(part.connected is not None for part in there):
            flags = [part.connected for part in there if part.connected is not None]
            connected = flags[0]
            for flag in flags[1:]:
                connected = self.builder.operation(
                    WHERE, [connected, self.builder.constant(True), flag]
                )
            self.builder.add(Check(connected))
        values = [self.of_part(part, value) for part, value in zip(parts, began, strict=True)]
        return rebuilt(plain(kind_of(held)), iter(values))

    def of_part(self, part: Derivative | None, value: Value) -> Value:
        if part is None:
            return self.builder.zero(value.type)
        if part.connected is None:
            return part.value
        return self.or_zero(part.value, part.connected)


def _of(made: Instruction) -> Block:
    return Block((), [made])


def _is_stack(value: Value) -> bool:
    return value.type == STACK


def _since(block: Block, before: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of a block after the one in `before`; all if there is none."""
    start = len(block.instructions)
    while start and block.instructions[start - 1 : start] != [*before]:
        start -= 1
    return block.instructions[start:]
