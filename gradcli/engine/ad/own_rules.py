"""Calls of functions with their own derivative rule, which a sweep asks for their pullback.

The rule gets the cotangent of the result, in the structure of the result, and returns one gradient
for each parameter. Its work is always recorded, as a rule may ask for derivatives itself: on the
trace if the sweep is recorded, otherwise into a segment that is dropped afterwards.

A record keeps values without references to the segment that it is in: a segment that refers to
itself would never be freed by reference counting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from ...diagnostics import CallSite, Diagnostic, GradcliError, Span
from ...lang import program
from ..backends.backend import shape_of
from ..operations.invoke import call_function
from ..operations.rows.separation import for_each_part, separate_group
from ..trace.keeping import KeepingTrace
from ..trace.pullbacks import Passed, Pullback
from ..trace.run import Run
from ..trace.tape import Segment, Site, Trace, Traced
from ..trace.unregistered import UnregisteredError
from ..values.boxes import level_of, primal, up_to
from ..values.kinds import Cell, Code, Function, List, leaves, map_structure, read
from ..values.lanes import Group, Lanes, common
from .rule_answers import RuleAnswer, marked
from .sweep import Sweep

# ---- what a record keeps -------------------------------------------------------------------------


class Held:
    """A traced value as a record keeps it: without its segment, which may be the record's own."""

    __slots__ = ("number", "primal")

    def __init__(self, primal: Any, number: int) -> None:
        self.primal, self.number = primal, number


def shelve(value: Any, level: int, held: list[Traced]) -> Any:
    """A value in the form that a record of a trace keeps: without variables and without boxes above
    the level of the trace. Values traced at this level become `Held`, and are appended to
    `held`."""

    def put(item: Any) -> Any:
        item = up_to(read(item), level)
        if level_of(item) != level:
            return item
        held.append(item)
        return Held(item[0], item[1])

    return map_structure(put, value)


def unshelve(value: Any, segment: Segment) -> Any:
    """The value that `shelve` made `value` of, for a record of `segment`."""
    return map_structure(
        lambda v: (v.primal, v.number, segment.holder(v.number)) if type(v) is Held else v, value
    )


def numbered(value: Any, counts: Callable[[Any], bool]) -> Any:
    """The structure of a value with running numbers from 0 for the items where `counts` holds, and
    None for the others."""
    numbers = iter(range(2**62))
    return map_structure(lambda item: next(numbers) if counts(item) else None, value)


# ---- the record ----------------------------------------------------------------------------------


class Captured(NamedTuple):
    """A traced value that a body captures from outside: its name ("" if it has none), and where the
    body uses it."""

    name: str
    use: Span | None


class OwnCall(Pullback):
    """The options of the record of such a call.

    function    the function that was called
    rule        the code of the rule after its body, or the cell that `backward NAME` fills
    kept        the values in the rule's cells when the body returned (or the `Cell`, if the rule
                updates it); for an opaque function the arguments
    parameters  the structures of the arguments, with the positions of the record's inputs where
                they are traced, and None elsewhere
    outputs     the structure of the result, likewise; 0 for a result that is a number or an array
    captured    inputs beyond those of the arguments
    body        the values that the body returned, one for each output, if a tangent may be carried
                through them or everything is kept; otherwise None
    """

    __slots__ = ("body", "captured", "function", "kept", "outputs", "parameters", "rule")

    def __init__(
        self,
        function: program.Function,
        rule: Code | Cell,
        kept: list[Any],
        parameters: List,
        outputs: Any,
        captured: list[Captured],
        body: list[Any] | None,
    ) -> None:
        self.function, self.rule, self.kept = function, rule, kept
        self.parameters = parameters
        self.outputs = outputs
        self.captured = captured
        self.body = body

    def pull(self, sweep: Sweep, record: Passed) -> None:
        """Pulls the cotangent of the record back to its inputs. Raises GradcliError where there is
        no rule, and where the rule fails or returns something that is no gradient."""
        run, segment = sweep.run, sweep.segment
        number, site, operands, numbers, g, y = record
        if sweep.bodies and self.body is not None:
            if self.function.opaque:
                raise opaque_error(
                    self.function,
                    (CallSite(self.function.name, site.span), *segment.calls_to(number)),
                )
            self._through_body(sweep, g)
            return
        asked = [k for k, n in enumerate(numbers) if sweep.marked is None or n in sweep.marked]
        if not asked:
            return
        rule, arguments = self._rule(segment)
        first = len(numbers) - len(self.captured)
        beyond = [self.captured[k - first] for k in asked if k >= first]
        if rule is None:
            raise self._unregistered(site, segment.calls_to(number), beyond)
        if beyond:
            raise captured_error(self.function, beyond)
        group, dy = _of_one_group(sweep, self._cotangent(run, g, y))

        def ask() -> dict[int, Any]:
            with _recording(segment.trace, sweep.recorded):
                answer = call_function(run, rule, [dy, *arguments], {}, site)
            if not sweep.recorded:
                answer = map_structure(lambda value: primal(read(value)), answer)
            found = RuleAnswer(run, self.function, rule.code.node, site, operands).gradients(
                self.parameters, answer, dy
            )
            return {k: marked(run, site, g) for k, g in found.items()} if sweep.recorded else found

        for rows, found in for_each_part(run, group, ask):
            for k in asked:
                if k in found:
                    sweep.add(numbers[k], sweep.from_rows(found[k], rows, operands[k]))
                    continue
                if rows is not None and run.parts_rows:
                    separate_group(run, rows)  # other rows may have a gradient
                if isinstance(segment.trace, KeepingTrace):
                    segment.trace.declined[numbers[k]] = site, rule.code.node

    def _through_body(self, sweep: Sweep, g: Any) -> None:
        """Passes the cotangents of the outputs on to the values that the body returned."""
        for part, cotangent in zip(self.body or (), g if type(g) is list else [g], strict=True):
            if type(part) is Held and cotangent is not None:
                sweep.add(part.number, cotangent)

    def _rule(self, segment: Segment) -> tuple[Function | None, list[Any]]:
        """The rule as a function, and its arguments after the cotangent."""
        if type(self.rule) is Code:
            cells = [
                kept if type(kept) is Cell else Cell([unshelve(kept, segment)])
                for kept in self.kept
            ]
            return Function(self.rule, cells, []), []
        assert isinstance(self.rule, Cell)
        return self.rule[0], [unshelve(kept, segment) for kept in self.kept]

    def _cotangent(self, run: Run, g: Any, y: Any) -> Any:
        """The cotangent that the rule gets: zeros for a part of the result without one, none for a
        part that is no float."""
        if self.outputs == 0:
            return g
        return map_structure(
            lambda k: None if k is None else _zeros(run, y[k]) if g[k] is None else g[k],
            self.outputs,
        )

    def _unregistered(
        self, site: Site, calls: tuple[CallSite, ...], beyond: list[Captured]
    ) -> UnregisteredError:
        """The error of a call whose function has no rule."""
        name, parameters = self.function.name, [p.slot.name for p in self.function.parameters]
        dy = "dy" if "dy" not in parameters else "d_result"
        fix = f"state it with `backward {name}({', '.join([dy, *parameters])}) {{ … }}`"
        if beyond:
            names = _names(beyond)
            fix = (
                f"make {names} {'a parameter' if len(beyond) == 1 else 'parameters'} of "
                f"`{name}`, then {fix}"
            )
        return UnregisteredError(
            f"`{name}`", site.span, calls, f"{fix}, or cut the path with `detach(…)`"
        )


def opaque_error(function: program.Function, calls: tuple[CallSite, ...] = ()) -> GradcliError:
    """E317: forward mode reached the call of an opaque function."""
    help = (
        "forward mode goes through the body; reverse mode asks the rule that is registered "
        '(`mode = "reverse"`)'
    )
    message = f"forward mode can't differentiate `{function.name}`, which is opaque"
    return GradcliError(Diagnostic("E317", message, function.span, help=help, calls=calls))


def _of_one_group(sweep: Sweep, dy: Any) -> tuple[Group | None, Any]:
    """The group of rows that a cotangent has in common, and the cotangent with all its parts lifted
    to this group. The group is None for a cotangent that all rows share."""
    inner = [primal(part) for part in leaves(dy)]
    groups: list[Group | None] = [part.group for part in inner if type(part) is Lanes]
    if not groups:
        return None, dy
    group = reduce(common, groups)
    return group, map_structure(
        lambda part: sweep.lift(part, group) if type(primal(part)) is Lanes else part, dy
    )


def _zeros(run: Run, like: Any) -> Any:
    return run.backend.xp.zeros(like.shape, like.dtype) if shape_of(like) else run.real(0.0)


@contextmanager
def _recording(trace: Trace, recorded: bool) -> Iterator[None]:
    """A context for calling a rule: unless the sweep is recorded, drops afterwards what the rule
    recorded."""
    if recorded or trace.segment is None or trace.keeps_all:
        yield
        return
    before = trace.segment, trace.number, trace.limit
    ranges = [(window.ranges, window.ranges[-1:], len(window.ranges)) for window in trace.windows]
    trace.advance()
    try:
        yield
    finally:
        trace.segment, trace.number, trace.limit = before
        # a `pause` in the rule may have ended ranges and begun others
        for found, last, n in ranges:
            found[n - len(last) :] = last


# ---- captured values -----------------------------------------------------------------------------


def captured_error(function: program.Function, captured: list[Captured]) -> GradcliError:
    """E323: the result of a body depends on traced values from outside, for which its rule can't
    return a gradient."""
    found = []
    for name, use in captured:
        what = f"`{name}`" if name else "a variable from outside"
        help = (
            f"make {what if name else 'it'} a parameter of `{function.name}`, or cut the path "
            f"with `detach({name or '…'})`"
        )
        message = f"the rule of `{function.name}` can't return a gradient for {what}"
        label = f"{what} is no parameter, and the result depends on it"
        found.append(Diagnostic("E323", message, use or function.span, label, help))
    return GradcliError(*found)


def _names(captured: list[Captured]) -> str:
    return " and ".join(f"`{c.name}`" if c.name else "what is captured" for c in captured)
