"""Reasons why a gradient is unconnected, read from the trace of a run that keeps everything
(`KeepingTrace`).

A reason is a stable code, the place where the chain from source to target breaks, and the fix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...diagnostics import CallSite, Diagnostic, Span
from ...lang import program
from ..ad.reverse import sweep
from ..ad.targets import ones_like
from ..backends.backend import is_inexact
from ..trace.keeping import KeepingTrace, carries
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import Variable, describe, differentiable, leaves, read
from .ancestry import Ancestry
from .text_reads import Reads, is_in, places_of


class Reason(NamedTuple):
    """The reason for one result: a code, its text, where the chain breaks, the fix, and the
    enclosing calls.
    """

    code: str
    text: str
    span: Span | None
    help: str
    calls: tuple[CallSite, ...] = ()


class Reasons:
    """The reasons of one run that kept everything."""

    def __init__(self, run: Run, node: program.Program) -> None:
        assert isinstance(run.trace, KeepingTrace)
        self.run, self.trace = run, run.trace
        self.ancestry = Ancestry(run.trace)
        self.node, self.reads = node, Reads(node, run.executed)
        self._deciding: dict[str, tuple[dict[int, Span], dict[int, Span]]] = {}

    def explain(
        self,
        target: Any,
        target_name: str,
        source: Any,
        source_name: str,
        span: Span | None,
        window: Window,
    ) -> Diagnostic:
        """Returns the warning about one unconnected gradient.

        `span` is the program's request for it, if there is one, and `window` the tape that was
        asked.
        """
        reason = self.find(target, source, source_name, window, target_name)
        code = (
            "W202"
            if reason.code in ("integer", "string") and not differentiable(source)
            else "W201"
        )
        if reason.code == "replaced":
            code = "W203"
        of = f" of `{target_name}`" if target_name else ""
        by = f" with respect to `{source_name}`" if source_name else ""
        message = f"no gradient{of}{by}: {reason.text}"
        return Diagnostic(
            code, message, reason.span or span, "", reason.help, reason.code, reason.calls
        )

    def find(self, target: Any, source: Any, name: str, window: Window, of: str = "") -> Reason:
        """Returns the reason why `target` has no gradient with respect to `source`, both values of
        the run; `of` is the name of the target.
        """
        number = number_on(source)
        attached = type(source) is Variable and source.req != ""
        kind = of_kind(source, name, watched=attached or number in window.watch)
        if kind is not None:
            return kind
        called = f"`{name}`" if name else "the source"
        if number is None:
            help = "declare it with `var`, or `watch` it"
            return Reason("constant", f"{called} is {describe(source)}, a plain value", None, help)
        if type(source) is tuple and number not in self.trace.active:
            return Reason(
                "constant",
                f"{called} depends on no variable",
                None,
                "declare what it is made of with `var`",
            )
        targets = {v[1] for v in map(read, leaves(target)) if type(v) is tuple}
        broken = break_between(self.ancestry, number, targets)
        if broken is not None:
            return broken
        if type(source) is Variable and source.name in self.run.replaced:
            return replaced(self.run, source.name)
        if number in self.ancestry.way_to(targets).linked:
            return self._declined(number, target, window) or self._not_in(
                window, number, targets, called
            )
        return self._only_decides(number, called, of) or self._unused(source, number, name, called)

    def _only_decides(self, number: int, called: str, of: str) -> Reason | None:
        """Returns the reason where a source only decides which path, or which elements, are taken
        on the way to the target `of`."""
        conditions, choices = self._behind(of)
        decided = conditions.get(number)
        if decided is not None:
            help = (
                "a condition is not differentiable; use `where`, or a smooth function such as "
                "`sigmoid`, to let it weigh in"
            )
            return Reason(
                "condition_only", f"{called} only decides which path is taken", decided, help
            )
        index_use = choices.get(number)
        if index_use is not None:
            help = (
                "an index or a size is not differentiable; weigh the elements with something "
                "smooth, such as `softmax`"
            )
            return Reason(
                "index_only",
                f"{called} only decides which elements are taken, or how many",
                index_use,
                help,
            )
        return None

    def _unused(self, source: Any, number: int, name: str, called: str) -> Reason:
        """Returns the reason where the target isn't computed from a source: whether anything is
        computed from it, or reads it."""
        used = self.ancestry.first_use.get(number)
        if used is not None:
            help = "check the names: what the target is made of comes from elsewhere"
            return Reason(
                "not_on_path", f"{called} is used, but the target doesn't depend on it", used, help
            )
        declared = source.span if type(source) is Variable else None
        place = self.reads.skipped(name, declared)
        if place is not None:
            help = "at inputs that take the other path there is a gradient"
            return Reason(
                "branch_not_taken",
                f"{called} is only used on a path that wasn't taken",
                place,
                help,
            )
        place = self.reads.executed(declared)
        if place is not None:
            return Reason(
                "value_unused",
                f"{called} is read, but nothing computes with its value",
                place,
                "compute with the value itself: a length, a shape or a text has no derivative",
            )
        return Reason(
            "never_read",
            f"the value of {called} is never read",
            declared,
            "use it, or leave it out",
        )

    def _behind(self, of: str) -> tuple[dict[int, Span], dict[int, Span]]:
        """Maps each number to the first condition, and to the first index, shape or count, that
        something computed from it decided on the way to a target of that name.
        """
        if of not in self._deciding:
            places = places_of(self.node, of)
            conditions, choices = (
                self.ancestry.behind(
                    uses if places is None else [use for use in uses if is_in(use, places)]
                )
                for uses in (self.trace.conditions, self.trace.choices)
            )
            self._deciding[of] = conditions, choices
        return self._deciding[of]

    def _not_in(self, window: Window, source: int, targets: set[int], called: str) -> Reason:
        """Returns why a chain on the trace doesn't count in a window: its source isn't watched, or
        a link is outside.
        """
        tape = f"the tape `{window.name}`" if window.name else "the main tape"
        if source < 0 and not window.sees_leaf(source):
            return Reason(
                "not_watched",
                f"{tape} doesn't watch {called}",
                None,
                "`watch` it in the block of the tape",
            )
        reached = {source}
        for number in sorted(n for n in self.ancestry.way_to(targets).linked if n >= 0):
            record = self.trace.at(number)
            if reached.isdisjoint(record.inputs):
                continue
            reached.add(number)
            if not window.covers(number):
                when = "before" if number < window.first_number() else "after"
                text = f"this was computed {when} {tape} was recording"
                help = "compute it in the block of the tape"
                return Reason("not_recorded", text, record.site.span, help, record.calls)
            if number < window.late.get(source, 0):
                text = f"this was computed before {tape} watched {called}"
                help = "`watch` it first"
                return Reason("not_watched", text, record.site.span, help, record.calls)
        help = "`watch` it in the block of the tape"
        return Reason("not_watched", f"{tape} doesn't watch what {called} is made of", None, help)

    def _declined(self, source: int, target: Any, window: Window) -> Reason | None:
        """Returns the reason where a custom rule returned none, which another sweep finds by
        calling the rules again.
        """
        trace, run = self.trace, self.run
        trace.declined.clear()
        values = [v for v in map(read, leaves(target)) if type(v) is tuple and v[1] in trace.active]
        sweep(
            run, [(v, ones_like(run, v)) for v in values], {source}, recorded=False, window=window
        )
        for number, (site, rule) in sorted(trace.declined.items()):
            if number == source or source in self.ancestry.way_to({number}).onward:
                text = f"the rule of `{site.op.name}` returned none for what depends on it"
                return Reason(
                    "rule_gives_none",
                    text,
                    rule.span,
                    "return a gradient in its place, of zeros if need be",
                )
        return None


def number_on(source: Any) -> int | None:
    """Returns the number that a source has on a trace that keeps everything; None for a plain
    value.
    """
    return (
        source.number if type(source) is Variable else source[1] if type(source) is tuple else None
    )


def replaced(run: Run, name: str) -> Reason:
    """Returns the reason for a variable whose name was bound to a plain value by `=`."""
    _, place = run.replaced[name]
    text = f"`{name}` was replaced by a plain value"
    return Reason(
        "replaced",
        text,
        place,
        f"update the variable with `{name} := …`, or give the new value another name",
    )


def of_kind(source: Any, name: str, watched: bool) -> Reason | None:
    """Returns the reason that follows from the kind of the source, if any; a `watched` one may be
    of any kind.
    """
    called = f"`{name}`" if name else "the source"
    value = primal(read(source))
    where = source.span if type(source) is Variable else None
    if type(value) is str:
        return Reason("string", f"{called} is a string", where, "strings are not differentiable")
    if not is_inexact(value):
        help = f"write `{value}.0`" if type(value) is int else "write floats, such as `2.0`"
        return Reason(
            "integer",
            f"{called} is {describe(value)}, and only floats are differentiable",
            where,
            help,
        )
    if type(source) is Variable and source.kind == "const" and not watched:
        return Reason(
            "constant", f"{called} is a constant", where, f"declare it with `var {name} = …`"
        )
    if type(source) is Variable and source.kind == "frozen" and not watched:
        return Reason("frozen", f"{called} is frozen", where, f"declare it with `var {name} = …`")
    return None


# How a value became the state of a variable, which is where gradients stop.
_STATES = {
    "update": (
        "it went into the state of a variable",
        (
            "gradients stop at a variable's state; compute with a plain name (`=`) where they "
            "should flow on"
        ),
    ),
    "attach": (
        "`attach_grad` made it a leaf",
        "gradients stop where one is attached; leave it out where they should flow on",
    ),
}


def break_between(ancestry: Ancestry, source: int, targets: Iterable[int]) -> Reason | None:
    """Returns where the chain from one number of the trace to others breaks; None if it is intact
    or absent.
    """
    trace, (linked, onward) = ancestry.trace, ancestry.way_to(targets)
    if source in linked:
        return None
    at = source
    while at in onward:
        before, at = at, onward[at]
        if at < 0:
            span, how = next(
                (span, how) for traced, span, how in trace.states[at] if traced[1] == before
            )
            text, help = _STATES[how]
            return Reason("state", text, span, help)
        if at not in trace.active:
            record = ancestry.trace.at(at)
            return _break_at(record.site, at in trace.paused)._replace(calls=record.calls)
    return None


def _break_at(site: Site, paused: bool) -> Reason:
    op = site.op
    if paused:
        return Reason(
            "paused",
            "this was computed inside `pause`",
            site.span,
            "move it out of the block to have it recorded",
        )
    if op.name in ("detach", "stop_gradient"):
        return Reason(
            "detached",
            f"the chain is cut by `{op.name}`",
            site.span,
            f"leave out `{op.name}` to let gradients through",
        )
    if carries(op, 1.0):
        text = f"`{op.infix or op.name}` gives ints here, and only floats are differentiable"
        return Reason("integer", text, site.span, "compute with floats: write `2.0` instead of `2`")
    if op.integers == "bool" or op.category == "logic":
        text = f"`{op.infix or op.name}` gives a bool, which has no gradient"
        return Reason(
            "condition_only",
            text,
            site.span,
            "use something smooth in its place, such as `sigmoid`",
        )
    text = f"`{op.infix or op.name}` gives ints, which have no gradient"
    return Reason("integer", text, site.span, "keep floats: `floor`, `round` and `trunc` do")
