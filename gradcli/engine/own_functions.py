"""Calls of functions that have a derivative rule of their own: `fn f(…) { … } backward (dy) { … }`, and `opaque fn`.

A call is one record. The body runs recorded, as any other, so that its names are functions of the parameters when the rule
is differentiated in its turn. Then that record is appended, whose inputs are the traced numbers in the arguments, and the
value of the call is the record's: a sweep that comes to it asks the rule (`own_rules.py`) and never sees the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lang import program
from ..ops import OPS
from ..ops.op import Op
from .backends import is_inexact
from .compiler import Closure, Compiler
from .own_rules import Captured, OwnCall, captured_error, numbered, shelve
from .run import Run
from .tape import STRIDE, Segment, Traced, blank, leaf_numbers, primal
from .values import FRAME_HEAD, UNSET, Code, List, leaves, map_structure, read
from .windows import inputs_of

PART = OPS["part"]


class OwnFunction:
    """What is known of such a function before it is called.

    op        what its records are called
    rule      the code of the rule behind its body; None for an opaque function
    captures  where in the frame the cells are that the rule captures, and whether it gets the cell itself: it does for a
              variable that it updates, otherwise it sees what the name held when the function returned
    slot      where in an opaque function's frame the cell is that `backward NAME` puts a rule into
    """

    def __init__(self, code: Code, rule: Code | None) -> None:
        self.code, self.body, self.rule = code, code.body, rule
        self.op = Op(code.name, "*arguments", "A function of the program.", internal=True, engine=True)
        self.captures: list[tuple[int, bool]] = []
        self.slot = 0
        if rule is not None:
            updated = _updated(rule.node)
            self.captures = [(outer.index + FRAME_HEAD, own.index in updated) for outer, own in rule.node.captures]
        else:
            self.slot = len(code.template)
            code.template.append(UNSET)
            code.captured.append(self.slot)

    def call(self, frame: list[Any]) -> Any:
        """The value of the function for the arguments in `frame`, by their kinds: a record's where a number among them is
        traced, or where the result depends on a traced one from outside; else what the body gives."""
        run = frame[0]
        trace = run.trace
        arguments = [map_structure(read, frame[k][0] if cell else frame[k]) for _, k, cell in self.code.parameters]
        inputs = [value for argument in arguments for value in leaves(argument) if type(value) is tuple]
        start, newest_leaf = trace.number, -next(leaf_numbers)
        result = self.body(frame)
        traced = [value for value in map(read, leaves(result)) if type(value) is tuple]
        if not inputs and not traced:
            return result
        outside = _outside(traced, {number for _, number, _ in inputs}, start, newest_leaf)
        if trace.segment is None or not (inputs or outside):  # paused: what comes out is plain, as of any operation
            return map_structure(lambda value: primal(read(value)), result)
        captured = [Captured(self._name(run, frame, value[1]), use) for value, use in outside]
        if captured and not trace.keeps_all and (self.rule is not None or frame[self.slot][0] is not None):
            raise captured_error(self.code.node, captured)
        return self._recorded(run, frame, arguments, [*inputs, *(value for value, _ in outside)], captured, result)

    def _recorded(
        self, run: Run, frame: list[Any], arguments: list[Any], inputs: list[Traced], captured: list[Captured], result: Any
    ) -> Any:
        """Appends the record of a call; returns its value, which has the structure of `result`."""
        trace = run.trace
        primals = [primal(value) for value in map(read, leaves(result)) if _is_carried(value)]
        if not primals:
            return result
        held: list[Traced] = []
        if self.rule is not None:
            kept = [frame[k] if itself else shelve(frame[k][0], held) for k, itself in self.captures]
        else:
            kept = [shelve(argument, held) for argument in arguments]
        parameters = numbered(List(arguments), lambda value: type(value) is tuple)
        outputs = numbered(result, lambda value: _is_carried(read(value)))
        call = OwnCall(self.code.node, self.rule or frame[self.slot], kept, parameters, outputs, captured)
        called, _, outer = trace.calls
        trace.enter(outer)  # the record stands where the call does
        site = called.derived(self.op)
        site.of = None  # it is the program's own, no derivative
        site = site.on(tuple(range(len(inputs))))
        saved, blanks = tuple([blank(value) for value, _, _ in inputs]), [blank(p) for p in primals]
        whole = trace.record(site, inputs, saved, call, *((blanks[0], primals[0]) if outputs == 0 else (blanks, primals)))
        for _, number, segment in held:
            if number >= 0:
                whole[2].reads(segment)  # so that its holder is found again
        if outputs == 0:
            return whole
        part = site.derived(PART).on((0,))
        part.of = None
        parts = iter([trace.record(part, [whole], (len(primals),), {"index": k}, blanks[k], p) for k, p in enumerate(primals)])
        return map_structure(lambda value: next(parts) if _is_carried(read(value)) else value, result)

    def _name(self, run: Run, frame: list[Any], number: int) -> str:
        """What a traced value from outside is called; "" where the function knows no name for it."""
        for variable in run.declared:
            if variable.number == number:
                return str(variable.name)
        for _, own in self.code.node.captures:
            value = read(frame[own.index + FRAME_HEAD][0])
            if type(value) is tuple and value[1] == number:
                return own.name
        return ""


def with_rule(code: Code, rule: Code | None) -> Closure:
    """The body of a function whose rule has the code `rule`; of an opaque one where that is None."""
    return OwnFunction(code, rule).call


def compile_backward(c: Compiler, node: program.Backward) -> Callable[[list[Any]], None]:
    """`backward f(dy, …) { … }`: puts the rule where the calls of this function value find it."""
    from .calls import compile_function
    from .expressions import compile_expression

    function, rule = compile_expression(c, node.function), compile_function(c, node.rule)

    def register(frame: list[Any]) -> None:
        function(frame).cells[-1][0] = rule(frame)

    return register


def _is_carried(value: Any) -> bool:
    """Whether a part of a result has a cotangent, or, in a trace that keeps everything, a history."""
    return primal(value) is not value or is_inexact(value)


def _outside(results: list[Traced], known: set[int], start: int, newest_leaf: int) -> list[tuple[Traced, Any]]:
    """The traced values from outside that the results of a body depend on, but for the arguments (`known`), and where the
    body uses each; its own records begin at `start`, its own leaves come after `newest_leaf`."""
    found: list[tuple[Traced, Any]] = []
    seen = set(known)
    pending: list[tuple[int, Segment, Any]] = [(number, segment, None) for _, number, segment in results]
    while pending:
        number, segment, use = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        if newest_leaf < number < start:
            found.append(((None, number, segment), use))
        elif number >= start:
            at = (number - segment.first) * STRIDE
            site, in0, in1 = segment.records[at : at + 3]
            pending += [(i, segment.holder(i), site.span) for i in inputs_of(in0, in1) if i not in seen]
    return found


def _updated(rule: program.Function) -> set[int]:
    """The slots of a rule that hold variables which it updates with `:=`."""
    found: set[int] = set()
    pending: list[Any] = list(rule.body)
    while pending:
        node = pending.pop()
        if isinstance(node, program.Update):
            variable = node.variable
            while isinstance(variable, program.Index | program.Member):
                variable = variable.object
            if isinstance(variable, program.Read):
                found.add(variable.slot.index)
        if isinstance(node, program.Statement):
            pending.extend(getattr(node, name) for name in node.FIELDS if name != "span")
        elif type(node) is tuple:
            pending.extend(node)
    return found
