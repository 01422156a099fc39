"""What a sweep does at the call of a function with a derivative rule of its own: it calls the rule.

The rule gets the cotangent of the result, which has its structure, and returns one gradient a
parameter. What it computes is recorded: where the sweep is, so that it can be differentiated again;
and where it isn't, because a rule may ask for derivatives itself, into a segment that is thrown
away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, NoReturn

from ...diagnostics import CallSite, Diagnostic, GradcliError, Span
from ...lang import program
from ...ops import OPS
from ..backends.backend import dtype_name, is_complex, shape_of
from ..operations.apply import apply, to_array
from ..operations.invoke import call_function
from ..operations.iteration import unpacked
from ..operations.rows.separation import for_each_part, separate_group
from ..trace.keeping import KeepingTrace
from ..trace.pullbacks import Pullback, ReverseSweep
from ..trace.run import Run
from ..trace.tape import Segment, Site, Trace, Traced
from ..trace.unregistered import UnregisteredError
from ..values.boxes import level_of, primal, up_to
from ..values.kinds import (
    Cell,
    Code,
    Function,
    List,
    describe,
    leaves,
    map_structure,
    read,
    show_shape,
)
from ..values.lanes import Group, Lanes, common, deepest, spread

POS, REAL, WHERE = OPS["pos"], OPS["real"], OPS["where"]
CASTS = {name: OPS[name] for name in ("float32", "float64")}


# ---- what a record keeps -------------------------------------------------------------------------


class Held:
    """A traced value as a record keeps it: without its segment, which may be the record's own. A
    segment that refers to itself would never be freed."""

    __slots__ = ("number", "primal")

    def __init__(self, primal: Any, number: int) -> None:
        self.primal, self.number = primal, number


def shelve(value: Any, level: int, held: list[Traced]) -> Any:
    """A value as a record of a trace keeps it: variables read, no box of a level above the trace's,
    and what is traced there `Held`, which is also appended to `held`."""

    def put(item: Any) -> Any:
        item = up_to(read(item), level)
        if level_of(item) != level:
            return item
        held.append(item)
        return Held(item[0], item[1])

    return map_structure(put, value)


def unshelve(value: Any, segment: Segment) -> Any:
    """The value again that a record of `segment` keeps."""
    return map_structure(
        lambda v: (v.primal, v.number, segment.holder(v.number)) if type(v) is Held else v, value
    )


def numbered(value: Any, counts: Callable[[Any], bool]) -> Any:
    """The structure of a value, with running numbers from 0 in the places that count and None in
    the others."""
    numbers = iter(range(2**62))
    return map_structure(lambda item: next(numbers) if counts(item) else None, value)


class Captured(NamedTuple):
    """A traced value that a body takes from outside: its name ("" if it has none), and where the
    body uses it."""

    name: str
    use: Span | None


class OwnCall(Pullback):
    """The options of a call's record.

    function    the function that was called
    rule        the code of the rule behind its body, or the cell where `backward NAME` puts one
    kept        what the rule's cells held when the body returned (a `Cell`, where it updates what
                is in it); of an opaque function the arguments
    parameters  the arguments' structures: the numbers of the record's inputs where they are traced,
                elsewhere None
    outputs     the result's structure, likewise; 0 for a result that is a number or an array
    captured    inputs beyond those of the arguments
    body        what the body returned for each of the outputs, where a tangent may be carried
                through it, or all is kept; else None
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
        self.parameters, self.outputs, self.captured, self.body = (
            parameters,
            outputs,
            captured,
            body,
        )

    def pull(
        self,
        sweep: ReverseSweep,
        site: Site,
        operands: Any,
        numbers: tuple[int, ...],
        g: Any,
        y: Any,
        number: int,
    ) -> None:
        """Takes the cotangent `g` of the record `number` to its inputs. Raises GradcliError where
        there is no rule, and where the rule fails or returns what is no gradient."""
        run, segment = sweep.run, sweep.segment
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
                answer = _call(run, rule, [dy, *arguments], site)
            if not sweep.recorded:
                answer = map_structure(lambda value: primal(read(value)), answer)
            found = _Answer(run, self.function, rule.code.node, site, operands).gradients(
                self.parameters, answer, dy
            )
            return {k: _marked(run, site, g) for k, g in found.items()} if sweep.recorded else found

        for rows, found in for_each_part(run, group, ask):
            for k in asked:
                if k in found:
                    sweep.add(numbers[k], sweep.of_rows(found[k], rows, operands[k]))
                    continue
                if rows is not None and run.parts_rows:
                    separate_group(run, rows)  # they have no gradient, and others may
                if isinstance(segment.trace, KeepingTrace):
                    segment.trace.declined[numbers[k]] = site, rule.code.node

    def _through_body(self, sweep: ReverseSweep, g: Any) -> None:
        for part, cotangent in zip(self.body or (), g if type(g) is list else [g], strict=True):
            if type(part) is Held and cotangent is not None:
                sweep.add(part.number, cotangent)

    def _rule(self, segment: Segment) -> tuple[Function | None, list[Any]]:
        """The rule as a function, and what it takes behind the cotangent."""
        if type(self.rule) is Code:
            cells = [
                kept if type(kept) is Cell else Cell([unshelve(kept, segment)])
                for kept in self.kept
            ]
            return Function(self.rule, cells, []), []
        assert isinstance(self.rule, Cell)
        return self.rule[0], [unshelve(kept, segment) for kept in self.kept]

    def _cotangent(self, run: Run, g: Any, y: Any) -> Any:
        """What the rule gets: zeros for a part of the result that nothing depends on, none for one
        that is no float."""
        if self.outputs == 0:
            return g
        return map_structure(
            lambda k: None if k is None else _zeros(run, y[k]) if g[k] is None else g[k],
            self.outputs,
        )

    def _unregistered(
        self, site: Site, calls: tuple[CallSite, ...], beyond: list[Captured]
    ) -> UnregisteredError:
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
    """E317: forward mode has come to an opaque function."""
    help = (
        "forward mode goes through the body; reverse mode asks the rule that is registered "
        '(`mode = "reverse"`)'
    )
    message = f"forward mode can't differentiate `{function.name}`, which is opaque"
    return GradcliError(Diagnostic("E317", message, function.span, help=help, calls=calls))


def _of_one_group(sweep: ReverseSweep, dy: Any) -> tuple[Group | None, Any]:
    """The rows that a cotangent has, and it with all its parts of these rows; None where it is the
    same for all rows."""
    inner = [primal(part) for part in leaves(dy)]
    groups: list[Group | None] = [part.group for part in inner if type(part) is Lanes]
    if not groups:
        return None, dy
    group = reduce(common, groups)
    return group, map_structure(
        lambda part: sweep.lift(part, group) if type(primal(part)) is Lanes else part, dy
    )


def _call(run: Run, rule: Function, arguments: list[Any], site: Site) -> Any:
    return call_function(run, rule, arguments, {}, site)


def _zeros(run: Run, like: Any) -> Any:
    return run.backend.xp.zeros(like.shape, like.dtype) if shape_of(like) else run.real(0.0)


@contextmanager
def _recording(trace: Trace, recorded: bool) -> Iterator[None]:
    """For a rule in a sweep that isn't recorded: what is recorded meanwhile is as if it had never
    been."""
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
        for found, last, n in ranges:  # a `pause` in the rule has ended them, and begun others
            found[n - len(last) :] = last


# ---- what a rule returns -------------------------------------------------------------------------


class _Answer:
    """Reads what a rule returned: `operands` are the record's inputs, by shape and dtype."""

    def __init__(
        self,
        run: Run,
        function: program.Function,
        rule: program.Function,
        site: Site,
        operands: Any,
    ) -> None:
        self.run, self.function, self.rule, self.site, self.operands = (
            run,
            function,
            rule,
            site,
            operands,
        )

    def gradients(self, parameters: List, answer: Any, dy: Any) -> dict[int, Any]:
        """The gradients by the numbers of the record's inputs, without those that are none; each
        has its input's shape and dtype. Raises GradcliError (E322) where the answer isn't one
        gradient a parameter."""
        names = [p.slot.name for p in self.function.parameters]
        answer = read(answer)
        if len(names) == 1 and not self._is_wrapped(parameters[0], answer):
            answer = List([answer])
        if type(answer) is not List or len(answer) != len(names):
            given = (
                describe(answer) if type(answer) is not List else _count(len(answer), "gradient")
            )
            self._fail(
                (
                    f"returned {given}, and `{self.function.name}` has "
                    f"{_count(len(names), 'parameter')}"
                ),
                help=(
                    "return a list of one gradient a parameter, "
                    f"[{', '.join(f'd_{n}' for n in names)}]; `none` is no gradient"
                ),
            )
        return {
            k: _strict(self.run, self.site, dy, self._fitted(name, g, self.operands[k]))
            for part, each, of in zip(parameters, answer, names, strict=True)
            for k, g, name in self._paired(part, each, of)
        }

    def _is_wrapped(self, part: Any, answer: Any) -> bool:
        """Whether the answer of a rule for one parameter is a list of one gradient, and not a
        gradient that is a list."""
        if type(answer) is not List or len(answer) != 1:
            return False
        inner = read(answer[0])
        if type(part) is List:
            return type(inner) is List and not (len(part) == 1 and type(part[0]) is List)
        return (
            type(part) is not int
            or inner is None
            or shape_of(primal(inner)) == shape_of(self.operands[part])
        )

    def _paired(self, part: Any, g: Any, name: str) -> Iterator[tuple[int, Any, str]]:
        """Each input in an argument, with its gradient and what it is called."""
        g = read(g)
        if g is None or part is None:
            return
        if type(part) is List:
            g = List(unpacked(self.run, self.site, g)) if shape_of(primal(g)) else g
            if type(g) is not List or len(g) != len(part):
                self._fail(f"returned {describe(g)} for `{name}`, which is a list of {len(part)}")
            for k, (inner, each) in enumerate(zip(part, g, strict=True)):
                yield from self._paired(inner, each, f"{name}[{k}]")
        elif type(part) is dict:
            if type(g) is not dict or g.keys() != part.keys():
                self._fail(
                    f"returned {describe(g)} for `{name}`, which is a dict of {', '.join(part)}"
                )
            for key, inner in part.items():
                yield from self._paired(inner, g[key], f"{name}.{key}")
        else:
            yield part, g, name

    def _fitted(self, name: str, g: Any, like: Any) -> Any:
        """A gradient as its input has it: of its shape, which it must have, and its dtype; real for
        a real one."""
        run, site = self.run, self.site
        g = to_array(run, site, g) if type(g) is List else g
        value, shape = primal(g), shape_of(like)
        if not hasattr(value, "dtype") and type(value) not in (float, int, complex):
            self._fail(
                f"returned {describe(value)} for `{name}`",
                help="a gradient is a number or an array",
            )
        if shape_of(value) != shape:
            self._fail(
                (
                    f"returned a gradient of shape {show_shape(shape_of(value))} for `{name}`, "
                    f"whose shape is {show_shape(shape)}"
                ),
                help=(
                    "a gradient has the shape of its parameter: `sum` over the axes along which "
                    "the body repeats it"
                ),
            )
        if is_complex(value) and not is_complex(like):
            g = apply(run, site.derived(REAL), (g,))
        if (dtype := dtype_name(like)) in CASTS and dtype_name(primal(g)) != dtype:
            g = apply(run, site.derived(CASTS[dtype]), (g,))
        return g

    def _fail(self, message: str, help: str = "") -> NoReturn:
        returns = [node for node in self.rule.body if isinstance(node, program.Return)]
        span = returns[0].span if len(returns) == 1 else self.rule.span
        calls = (CallSite(self.rule.name, self.site.span),)
        raise GradcliError(
            Diagnostic(
                "E322",
                f"the rule of `{self.function.name}` {message}",
                span,
                help=help,
                calls=calls,
            )
        )


def _marked(run: Run, site: Site, g: Any) -> Any:
    """What a rule gave, with a record by which `check` knows it. Where all is kept, a plain number
    has one, too: that it depends on nothing recorded is a statement about its derivative."""
    if primal(g) is g and run.trace.keeps_all:
        g = run.trace.leaf(g, origin=run.trace.leaves)
    return apply(run, site.derived(POS), (g,)) if primal(g) is not g else g


def _strict(run: Run, site: Site, dy: Any, c: Any) -> Any:
    """0 · inf = 0 here too: where nothing depends on the result, a gradient that isn't finite is
    zero. Element by element for a result of the same shape, else where all of the cotangent is
    zero."""
    backend, value = run.backend, primal(c)
    if backend.is_finite(value):
        return c
    parts = [primal(part) for part in leaves(dy) if part is not None]
    group = deepest((value, *parts))
    whole, *cotangents = [
        backend.operand(v) if group is None else spread(backend.xp, v, group).array
        for v in (value, *parts)
    ]
    idle = [part == 0 for part in cotangents]
    if len(idle) > 1 or idle[0].shape != whole.shape:
        rows = int(group is not None)  # the last axis
        idle = [part.all(axis=tuple(range(part.ndim - rows))) for part in idle]
    unused = reduce(and_, idle, ~backend.xp.isfinite(whole))
    return apply(
        run,
        site.derived(WHERE),
        (backend.settle(unused) if group is None else Lanes(unused, group), 0.0, c),
    )


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


# ---- what no rule can return ---------------------------------------------------------------------


def captured_error(function: program.Function, captured: list[Captured]) -> GradcliError:
    """E323: a body's result depends on traced values from outside, for which its rule has no
    gradient to return."""
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
