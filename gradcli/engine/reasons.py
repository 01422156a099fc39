"""Why a gradient is unconnected: from the trace of a run that keeps everything (`KeepingTrace`).

The answer is a stable reason code, the place where the chain from source to target breaks, and the fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..diagnostics import CallSite, Diagnostic, Span
from ..lang import program
from .backends import is_inexact
from .derivatives import ones_like
from .keeping import KeepingTrace, carries
from .reverse import sweep
from .run import Run
from .tape import STRIDE, Segment, Site, primal
from .values import Variable, describe, leaves, read
from .windows import Window, inputs_of


class Reason(NamedTuple):
    """A reason code, what it says of this case, where the chain breaks, what to write instead, and, inside a function, the
    calls that led there."""

    code: str
    text: str
    span: Span | None
    help: str
    calls: tuple[CallSite, ...] = ()


def explain(
    run: Run,
    node: program.Program,
    target: Any,
    target_name: str,
    source: Any,
    source_name: str,
    span: Span | None,
    window: Window,
) -> Diagnostic:
    """The warning about one unconnected gradient; `span` is where it was asked for, if in the program, and `window` the
    tape that was asked."""
    reason = find(run, node, target, source, source_name, window)
    code = "W202" if reason.code in ("integer", "string") and not _is_differentiable(source) else "W201"
    if reason.code == "replaced":
        code = "W203"
    of = f" of `{target_name}`" if target_name else ""
    by = f" with respect to `{source_name}`" if source_name else ""
    return Diagnostic(
        code, f"no gradient{of}{by}: {reason.text}", reason.span or span, "", reason.help, reason.code, reason.calls
    )


def find(run: Run, node: program.Program, target: Any, source: Any, name: str, window: Window) -> Reason:
    """The reason why `target` has no gradient with respect to `source`, both values of a run that kept everything."""
    trace = run.trace
    assert isinstance(trace, KeepingTrace)
    number = source.number if type(source) is Variable else source[1] if type(source) is tuple else None
    attached = type(source) is Variable and source.req != ""
    kind = _of_kind(source, name, watched=attached or number in window.watch)
    if kind is not None:
        return kind
    called = f"`{name}`" if name else "the source"
    if number is None:
        return Reason("constant", f"{called} is {describe(source)}, a plain value", None, "declare it with `var`, or `watch` it")
    if type(source) is tuple and number not in trace.active:
        return Reason("constant", f"{called} depends on no variable", None, "declare what it is made of with `var`")
    reached = _Reached(trace, number)
    targets = {v[1] for v in map(read, leaves(target)) if type(v) is tuple}
    broken = reached.breaks_before(targets)
    if broken is not None:
        return broken
    if type(source) is Variable and source.name in run.replaced:
        return replaced(run, source.name)
    if targets & reached.numbers:
        return _declined(run, reached, number, target, window) or _not_in(window, reached, number, targets, called)
    decided = next(((value, where) for value, where in trace.conditions if value[1] in reached.numbers), None)
    if reached.first_use is None and decided is None:
        declared = source.span if type(source) is Variable else None
        place = _unexecuted_read(node, name, declared, trace.executed)
        if place is not None:
            return Reason("branch_not_taken", f"{called} is only used on a path that wasn't taken", place, "")
        return Reason("never_read", f"the value of {called} is never read", declared, "")
    if decided is not None:
        help = "a condition is not differentiable; use `where`, or a smooth function such as `sigmoid`, to let it weigh in"
        return Reason("condition_only", f"{called} only decides which path is taken", decided[1], help)
    return Reason("not_on_path", f"{called} is used, but the target doesn't depend on it", reached.first_use, "")


def broken(trace: KeepingTrace, source: int, target: int) -> Reason | None:
    """Where the chain from one number of the trace to another breaks; None where it doesn't, or there is none."""
    return _Reached(trace, source).breaks_before({target})


def _not_in(window: Window, reached: _Reached, source: int, targets: set[int], called: str) -> Reason:
    """Why a chain that the trace has doesn't count in a window: the source isn't watched, or a link lies outside."""
    tape = f"the tape `{window.name}`" if window.name else "the main tape"
    if source < 0 and not window.sees_leaf(source):
        return Reason("not_watched", f"{tape} doesn't watch {called}", None, "`watch` it in the block of the tape")
    needed = set(targets)
    chain = []
    for site, inputs, number, segment in reversed(list(records(reached.trace))):
        if number in needed and number in reached.numbers:
            needed.update(inputs)
            chain.append((number, site, segment))
    for number, site, segment in reversed(chain):
        if not window.covers(number):
            when = "before" if number < window.first_number() else "after"
            text = f"this was computed {when} {tape} was recording"
            help = "compute it in the block of the tape"
            return Reason("not_recorded", text, site.span, help, segment.calls_to(number))
        if number < window.late.get(source, 0):
            text = f"this was computed before {tape} watched {called}"
            return Reason("not_watched", text, site.span, "`watch` it first", segment.calls_to(number))
    return Reason("not_watched", f"{tape} doesn't watch what {called} is made of", None, "`watch` it in the block of the tape")


def _declined(run: Run, reached: _Reached, source: int, target: Any, window: Window) -> Reason | None:
    """The reason where a function's own rule returned none: another sweep asks the rules again."""
    trace = reached.trace
    trace.declined.clear()
    values = [v for v in map(read, leaves(target)) if type(v) is tuple and v[1] in trace.active]
    sweep(run, [(v, ones_like(run, v)) for v in values], {source}, recorded=False, window=window)
    for number, (site, rule) in sorted(trace.declined.items()):
        if number in reached.numbers:
            text = f"the rule of `{site.op.name}` returned none for what depends on it"
            return Reason("rule_gives_none", text, rule.span, "return a gradient in its place, of zeros if need be")
    return None


def replaced(run: Run, name: str) -> Reason:
    """The reason of a variable whose name was given a plain value by `=`."""
    _, place = run.replaced[name]
    text = f"`{name}` was replaced by a plain value"
    return Reason("replaced", text, place, f"update the variable with `{name} := …`, or give the new value another name")


def _of_kind(source: Any, name: str, watched: bool) -> Reason | None:
    """The reason that lies in what the source is, if any; one that is `watched` may have a gradient whatever it is."""
    called = f"`{name}`" if name else "the source"
    value = primal(read(source))
    where = source.span if type(source) is Variable else None
    if type(value) is str:
        return Reason("string", f"{called} is a string", where, "strings are not differentiable")
    if not is_inexact(value):
        help = f"write `{value}.0`" if type(value) is int else "write floats, such as `2.0`"
        return Reason("integer", f"{called} is {describe(value)}, and only floats are differentiable", where, help)
    if type(source) is Variable and source.kind == "const" and not watched:
        return Reason("constant", f"{called} is a constant", where, f"declare it with `var {name} = …`")
    if type(source) is Variable and source.kind == "frozen" and not watched:
        return Reason("frozen", f"{called} is frozen", where, f"declare it with `var {name} = …`")
    return None


def _is_differentiable(source: Any) -> bool:
    return is_inexact(primal(read(source)))


# How a value became the state of a variable, which is where gradients stop.
_STATES = {
    "update": (
        "it went into the state of a variable",
        "gradients stop at a variable's state; compute with a plain name (`=`) where they should flow on",
    ),
    "attach": ("`attach_grad` made it a leaf", "gradients stop where one is attached; leave it out where they should flow on"),
}


class _Reached:
    """Everything that depends on a source, gradients or not, through states too."""

    def __init__(self, trace: KeepingTrace, source: int) -> None:
        self.trace = trace
        self.numbers = {source}
        self.first_use: Span | None = None
        self.breaks: dict[int, Reason] = {}  # the first break on the way to a number
        states = [(number, *state) for number, made in trace.states.items() for state in made]
        while True:
            self._through_records()
            # A state that was made of something reached carries it on to every read of its variable.
            carried = [s for s in states if s[1][1] in self.numbers and s[0] not in self.numbers]
            if not carried:
                break
            for number, traced, span, how in carried:
                self.numbers.add(number)
                text, help = _STATES[how]
                self.breaks[number] = self.breaks.get(traced[1], Reason("state", text, span, help))

    def _through_records(self) -> None:
        for site, inputs, number, segment in records(self.trace):
            hit = [i for i in inputs if i in self.numbers]
            if not hit or number in self.numbers:
                continue
            self.numbers.add(number)
            self.first_use = self.first_use or site.span
            clean = any(i not in self.breaks for i in hit)
            if number in self.trace.active and clean:
                continue
            paused = number in self.trace.paused
            reason = _break_at(site, paused)._replace(calls=segment.calls_to(number))
            self.breaks[number] = reason if clean else next(self.breaks[i] for i in hit)

    def breaks_before(self, targets: set[int]) -> Reason | None:
        """Where the chain to one of the targets breaks; None if there is no chain at all."""
        for target in sorted(targets & self.numbers):
            if target in self.breaks:
                return self.breaks[target]
        return None


def _break_at(site: Site, paused: bool) -> Reason:
    op = site.op
    if paused:
        return Reason("paused", "this was computed inside `pause`", site.span, "move it out of the block to have it recorded")
    if op.name in ("detach", "stop_gradient"):
        return Reason(
            "detached", f"the chain is cut by `{op.name}`", site.span, f"leave out `{op.name}` to let gradients through"
        )
    if carries(op, 1.0):
        return Reason("integer", f"`{op.infix or op.name}` gives ints here, and only floats are differentiable", site.span, "")
    if op.integers == "bool" or op.category == "logic":
        return Reason("condition_only", f"`{op.infix or op.name}` gives a bool, which has no gradient", site.span, "")
    text = f"`{op.infix or op.name}` gives ints, which have no gradient"
    return Reason("integer", text, site.span, "keep floats: `floor`, `round` and `trunc` do")


def records(trace: KeepingTrace) -> Iterator[tuple[Site, tuple[int, ...], int, Segment]]:
    """Every record in execution order: its site, the numbers of its inputs, its own, and its segment."""
    for segment in trace.segments:
        flat = segment.records
        for k in range(len(segment)):
            site, in0, in1 = flat[k * STRIDE : k * STRIDE + 3]
            yield site, inputs_of(in0, in1), segment.first + k, segment


def _unexecuted_read(node: Any, path: str, declared: Span | None, executed: set[int]) -> Span | None:
    """Where a variable is read in a statement that wasn't executed: by its name, as a member, or in the module that
    declares it."""
    of, _, name = path.rpartition(".")
    pending: list[tuple[Any, bool, bool]] = [(node.body, True, not of)]  # whether it ran, whether the bare name is the variable
    while pending:
        item, ran, bare = pending.pop()
        if isinstance(item, program.Read):
            if bare and item.slot.name == name and not ran:
                return item.span
        elif isinstance(item, program.Node | program.Argument):
            if isinstance(item, program.Statement):
                ran = id(item) in executed
            if isinstance(item, program.Member) and of and item.name == name and not ran:
                return item.span
            if isinstance(item, program.ModuleLiteral):
                bare = declared is not None and _contains(item.span, declared)
            pending += [(getattr(item, field), ran, bare) for field in item.FIELDS if field != "span"]
        elif isinstance(item, tuple) and not isinstance(item, Span):
            pending += [(child, ran, bare) for child in reversed(item)]
    return None


def _contains(outer: Span, inner: Span) -> bool:
    return outer.source is inner.source and outer.start <= inner.start and inner.end <= outer.end
