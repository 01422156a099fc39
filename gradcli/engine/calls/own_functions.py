"""Calls of functions that have a derivative rule of their own: `fn f(…) { … } backward (dy) { … }`,
and `opaque fn`.

A call is one record. The body runs recorded, as any other, so that its names are functions of the
parameters when the rule is differentiated in its turn. Then that record is appended, whose inputs
are the traced numbers in the arguments, and the value of the call is the record's: a sweep that
comes to it asks the rule (`own_rules.py`) and never sees the body.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...lang import program
from ...lang.program.walks import statements
from ...ops import OPS
from ...ops.op import Op
from ..ad.own_rules import Captured, OwnCall, captured_error, numbered, opaque_error, shelve
from ..backends.backend import is_inexact
from ..compilation.compiler import Closure
from ..trace.recording import blank
from ..trace.records import record_in
from ..trace.run import Run
from ..trace.tape import Segment, Site, Trace, Traced, leaf_numbers
from ..values.boxes import Dual, level_of, levels_of, primal, up_to
from ..values.contents import contents
from ..values.kinds import FRAME_HEAD, UNSET, Code, List, Variable, leaves, map_structure, read
from ..values.lanes import Lanes, spread

PART = OPS["part"]


class OwnFunction:
    """What is known of a function with its own rule before it is called.

    op        what its records are called
    rule      the code of the rule behind its body; None for an opaque function
    captures  where in the frame the cells are that the rule captures, and whether it gets the cell
              itself: it does for a variable that it updates, otherwise it sees what the name held
              when the function returned
    slot      where in an opaque function's frame the cell is that `backward NAME` puts a rule into
    """

    def __init__(self, code: Code, rule: Code | None) -> None:
        self.code, self.body, self.rule = code, code.body, rule
        self.op = Op(
            code.name, "*arguments", "A function of the program.", internal=True, engine=True
        )
        self.captures: list[tuple[int, bool]] = []
        self.slot = 0
        if rule is not None:
            updated = _updated(rule.node)
            self.captures = [
                (outer.index + FRAME_HEAD, own.index in updated)
                for outer, own in rule.node.captures
            ]
        else:
            self.slot = len(code.template)
            code.template.append(UNSET)
            code.captured.append(self.slot)

    def call(self, frame: list[Any]) -> Any:
        """The value of the function for the arguments in `frame`."""
        run = frame[0]
        arguments = List(
            [
                map_structure(read, frame[k][0] if cell else frame[k])
                for _, k, cell in self.code.parameters
            ]
        )
        call = _Call(self, run, frame, arguments)
        before, run.captures = run.captures, call.captures
        try:
            result = self.body(frame)
        finally:
            run.captures = before
        return call.boxed(result)


class _Call:
    """One call of a function with its own rule. The body runs once, on the arguments with all their
    boxes; its result is then boxed anew, from the lowest level up: at a reverse level as the value
    of a record, at a forward level with the tangent that the body carried."""

    __slots__ = ("arguments", "frame", "function", "newest_leaf", "run", "since")

    def __init__(self, function: OwnFunction, run: Run, frame: list[Any], arguments: List) -> None:
        self.function, self.run, self.frame, self.arguments = function, run, frame, arguments
        self.newest_leaf = -next(leaf_numbers)
        self.since: dict[Trace, int] = {}  # where the body's records begin
        trace: Trace | None = run.trace
        while trace is not None:
            self.since[trace] = trace.number
            trace = trace.below

    def captures(self, value: Traced) -> bool:
        """Whether the body has a traced value from outside that is no argument."""
        _, number, segment = value
        is_outside = self.newest_leaf < number < self.since.get(segment.trace, 0)
        return is_outside and number not in self._given(segment.trace.level)

    def _given(self, level: int) -> set[int]:
        """The numbers of the arguments that are traced at a level."""
        boxed = [up_to(v, level) for v in leaves(self.arguments)]
        return {v[1] for v in boxed if level_of(v) == level}

    def boxed(self, result: Any) -> Any:
        """Boxes what the body returned as the value of the call."""
        given = [*leaves(self.arguments), *map(read, leaves(result))]
        levels = {level for value in given for level in levels_of(value)}
        if not levels:
            return result
        result = map_structure(read, result)
        outputs = numbered(
            result,
            lambda v: is_inexact(primal(v)) or (self.run.trace.keeps_all and primal(v) is not v),
        )
        value = self._with_rows(map_structure(primal, result))
        if all(k is None for k in leaves(outputs)):
            return result
        called, _, outer = self.run.trace.calls
        self.run.trace.enter(outer)  # the records stand where the call does
        site = called.in_derivative(self.function.op)
        site.of = None  # the program's own, and no derivative
        for level in sorted(levels):
            box = next(v for v in (up_to(v, level) for v in given) if level_of(v) == level)
            at, arguments = result, self.arguments
            if level < max(levels):
                below = partial(up_to, level=level)
                at, arguments = (map_structure(below, whole) for whole in (at, arguments))
            if type(box) is Dual:
                value = self._along(level, at, value)
            else:
                value = self._recorded(box[2].trace, site, arguments, at, outputs, value)
        return value

    def _with_rows(self, value: Any) -> Any:
        """Spreads the result over the rows that run, where an argument or what the rule reads has
        rows, because each row has its own gradients."""
        run = self.run
        given = [*self.arguments, *[self.frame[k][0] for k, _ in self.function.captures]]
        if run.group is None or not any(
            type(primal(read(v))) is Lanes for part in given for v in leaves(part)
        ):
            return value
        xp, group = run.backend.xp, run.group
        return map_structure(
            lambda v: spread(xp, v, group) if is_inexact(v) and type(v) is not Lanes else v, value
        )

    def _along(self, level: int, result: Any, value: Any) -> Any:
        """Gives the value the tangents that the body carried at a forward level."""
        if level <= self.run.paused:
            return value
        node = self.function.code.node
        if node.opaque:
            raise opaque_error(node)
        tangents = iter([v.tangent if level_of(v) == level else None for v in leaves(result)])
        return map_structure(
            lambda v: v if (t := next(tangents)) is None else Dual(v, t, level), value
        )

    def _recorded(
        self, trace: Trace, site: Site, arguments: List, result: Any, outputs: Any, value: Any
    ) -> Any:
        """Makes the value that of a record on `trace`; leaves it as it is if that is paused, or no
        input is on it."""
        function, frame, level = self.function, self.frame, trace.level
        inputs = [v for v in leaves(arguments) if level_of(v) == level]
        if trace.segment is None:
            return value
        known = {number for _, number, _ in inputs}
        traced = [v for v in leaves(result) if level_of(v) == level]
        outside = _outside(traced, known, self.since[trace], self.newest_leaf)
        if not (inputs or outside):
            return value
        captured = [Captured(self._name(v[1], level), use) for v, use in outside]
        if (
            captured
            and not trace.keeps_all
            and (function.rule is not None or frame[function.slot][0] is not None)
        ):
            raise captured_error(function.code.node, captured)
        inputs += [v for v, _ in outside]
        held: list[Traced] = []
        if function.rule is not None:
            kept = [
                frame[k] if itself else shelve(frame[k][0], level, held)
                for k, itself in function.captures
            ]
        else:
            kept = [shelve(argument, level, held) for argument in arguments]
        parameters = numbered(arguments, lambda v: level_of(v) == level)
        body = None
        if self.run.bodies or trace.keeps_all:
            body = [
                shelve(v, level, held)
                for v, k in zip(leaves(result), leaves(outputs), strict=True)
                if k is not None
            ]
        call = OwnCall(
            function.code.node,
            function.rule or frame[function.slot],
            kept,
            parameters,
            outputs,
            captured,
            body,
        )
        parts = [v for v, k in zip(leaves(value), leaves(outputs), strict=True) if k is not None]
        whole, value = _record(
            trace, site.on(tuple(range(len(inputs)))), inputs, call, parts, value
        )
        for _, number, segment in held:
            if number >= 0:
                whole[2].reads(segment)  # so that its holder is found again
        return value

    def _name(self, number: int, level: int) -> str:
        """What a traced value from outside is called; "" where the function knows no name for
        it."""
        for variable in self.run.declared.values():
            if variable.number == number:
                return str(variable.name)
        for _, own in self.function.code.node.captures:
            captured = self.frame[own.index + FRAME_HEAD][0]
            for path, part in contents(captured, own.name):
                if type(part) is Variable and part.number == number:
                    return path
            value = up_to(read(captured), level)
            if level_of(value) == level and value[1] == number:
                return own.name
        return ""


def _record(
    trace: Trace, site: Site, inputs: list[Traced], call: OwnCall, parts: list[Any], value: Any
) -> tuple[Traced, Any]:
    """Appends the record of a call, and one for each part of a result that is a list or dict;
    returns the first's value, and the result of these `parts`."""
    saved = tuple([blank(primal(v[0])) for v in inputs])
    blanks = [blank(primal(part)) for part in parts]
    if call.outputs == 0:
        whole = trace.record(site, inputs, saved, call, blanks[0], parts[0])
        return whole, whole
    whole = trace.record(site, inputs, saved, call, blanks, parts)
    part_site = site.in_derivative(PART).on((0,))
    part_site.of = site.of
    n = len(parts)
    records = [
        trace.record(part_site, [whole], (n,), {"index": k}, blanks[k], part)
        for k, part in enumerate(parts)
    ]
    rest, numbers = iter(records), iter(list(leaves(call.outputs)))
    return whole, map_structure(lambda v: v if next(numbers) is None else next(rest), value)


def _outside(
    results: list[Traced], known: set[int], since: int, newest_leaf: int
) -> list[tuple[Traced, Any]]:
    """The traced values from outside, other than the arguments (`known`), that the results of a
    body depend on, and where the body uses each. The records of the body begin at `since`, its
    leaves after `newest_leaf`."""
    found: list[tuple[Traced, Any]] = []
    seen = set(known)
    pending: list[tuple[int, Segment, Any]] = [
        (number, segment, None) for _, number, segment in results
    ]
    while pending:
        number, segment, use = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        if newest_leaf < number < since:
            found.append(((None, number, segment), use))
        elif number >= since:
            record = record_in(segment, number)
            use = record.site.span
            pending += [(i, segment.holder(i), use) for i in record.inputs if i not in seen]
    return found


def _updated(rule: program.Function) -> set[int]:
    """The slots of a rule that hold variables which it updates with `:=`."""
    found: set[int] = set()
    for node in statements(rule.body):
        if isinstance(node, program.Update):
            variable = node.variable
            while isinstance(variable, program.Index | program.Member):
                variable = variable.object
            if isinstance(variable, program.Read):
                found.add(variable.slot.index)
    return found


def with_rule(code: Code, rule: Code | None) -> Closure:
    """The body of a function whose rule has the code `rule`; of an opaque function where that is
    None."""
    return OwnFunction(code, rule).call
