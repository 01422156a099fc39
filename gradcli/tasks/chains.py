"""The chain from a source to a target, operation by operation, as the program's own text says
it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ..diagnostics import Span, shortened
from ..engine.backends.backend import is_complex, is_inexact, shape_of
from ..engine.execution import Run
from ..engine.explain.ancestry import Ancestry
from ..engine.explain.reasons import number_on
from ..engine.explain.walks import Walk, partial_by
from ..engine.trace.recording import Blank
from ..engine.values.boxes import primal
from ..engine.values.contents import is_finite, plain
from ..engine.values.kinds import Variable, leaves, read
from ..lang import program
from ..ops import OPS
from .explanations import Step, Summary

IDENTITY = OPS["pos"]


class Link(NamedTuple):
    """A number of a chain that is shown, the one before it, and how many weren't shown in
    between."""

    number: int
    before: int
    skipped: int


class Chains:
    """The chains of one run; each shows at most `most` operations, the first and the last ones."""

    def __init__(self, run: Run, ancestry: Ancestry, node: program.Program, most: int) -> None:
        self.run, self.ancestry, self.most = run, ancestry, most
        self.statements = {value: statement for value, statement, _ in _assignments(node)}
        self.assigned = {
            s.target.slot.name: s.value.span
            for s in node.body
            if isinstance(s, program.Assign) and isinstance(s.target, program.NameTarget)
        }

    def origin(self, source: Any, name: str) -> Span | None:
        """Where a source came from: its declaration, the operation that made it, or the assignment
        of a plain value."""
        if type(source) is Variable:
            return source.span
        number = number_on(source)
        if number is None or number < 0:
            return self.assigned.get(name)
        return self.ancestry.trace.at(number).site.span

    # ---- connected -------------------------------------------------------------------------------

    def numbers(self, walked: Walk, source: int) -> list[int]:
        """The chain that gives most of a gradient, by the numbers of its records."""
        numbers = [source]
        while numbers[-1] in walked.onward:
            numbers.append(walked.onward[numbers[-1]].record)
        return numbers

    def picked(self, numbers: list[int], fault: int | None) -> list[Link]:
        """What is shown of a chain: the first and the last links, and those around a number at
        fault."""
        n, few = len(numbers), max(1, self.most // (2 if fault is None else 4))
        middle = n if fault is None or fault not in numbers else numbers.index(fault)
        places = sorted(
            {
                *range(min(few + 1, n)),
                *range(max(0, n - few), n),
                *range(max(0, middle - few), min(n, middle + few)),
            }
        )
        return [
            Link(numbers[k], numbers[max(k - 1, 0)], k - shown - 1)
            for shown, k in pairwise([-1, *places])
        ]

    def connected(
        self, details: Walk, source: Any, name: str, chain: list[Link], fault: int | None
    ) -> tuple[Step, ...]:
        """The steps of a chain: the source, and the operations that lead to the target."""
        steps = [self._source(source, name, self.brief(details.kept.get(chain[0].number)))]
        for n, before, skipped in chain[1:]:
            partial = partial_by(self.run, self.ancestry.trace.at(n), before)
            gradient = self.brief(details.kept.get(n))
            steps.append(
                self._step(
                    n,
                    partial if partial is None else self.brief(partial * 1.0),
                    gradient,
                    n == fault,
                    skipped,
                )
            )
        return tuple(steps)

    # ---- unconnected -----------------------------------------------------------------------------

    def broken(
        self, target: Any, source: Any, name: str, breaks: Span | None
    ) -> tuple[tuple[Step, ...], int]:
        """The operations from a source to a target that it has no gradient of, through everything
        that cuts, and how many there are."""
        number = number_on(source)
        steps = [self._source(source, name, None)]
        if number is None:
            return tuple(steps), 0
        onward = self.ancestry.way_to(
            n for n in map(number_on, map(read, leaves(target))) if n is not None
        ).onward
        numbers, seen = [number], {number}
        while numbers[-1] in onward and onward[numbers[-1]] not in seen:
            numbers.append(onward[numbers[-1]])
            seen.add(numbers[-1])
        places = {n: self._placed(n, seen) for n in numbers[1:]}
        fault = next((n for n, (span, _) in places.items() if self._is_at(span, breaks)), None)
        for n, _, skipped in self.picked(numbers, fault)[1:]:
            span, value = places[n]
            if n < 0:
                steps.append(
                    Step(
                        self.text(span),
                        ":=",
                        span,
                        self.brief(value),
                        breaks=n == fault,
                        skipped=skipped,
                    )
                )
            else:
                steps.append(self._step(n, None, None, n == fault, skipped))
        if (
            fault is None and breaks is not None and breaks != steps[0].span
        ):  # beside the chain: a condition, a rule
            line = breaks.source.line(breaks.line).strip()
            steps.append(Step(shortened(line), "", breaks, breaks=True))
        return tuple(steps), len(numbers) - 1

    def _is_at(self, span: Span, breaks: Span | None) -> bool:
        """Whether a link is at the place of a break: it may be that of the name which its value
        goes to."""
        whole = self.statements.get(span, span)
        return breaks is not None and (
            span == breaks or (whole.source is breaks.source and whole.start == breaks.start)
        )

    def _placed(self, n: int, seen: set[int]) -> tuple[Span, Any]:
        """Where a link of a chain is, a record or a state of a variable, and the value that it
        has."""
        if n >= 0:
            record = self.ancestry.trace.at(n)
            return record.site.span, record.y
        states = self.ancestry.trace.states[n]
        traced, span, _ = next((s for s in states if s[0][1] in seen), states[0])
        return span, traced

    # ---- steps -----------------------------------------------------------------------------------

    def _source(self, source: Any, name: str, gradient: Any) -> Step:
        span, value = self.origin(source, name), self.brief(read(source))
        return Step(self.text(span) if span else "", "", span, value, None, gradient)

    def _step(self, number: int, partial: Any, gradient: Any, breaks: bool, skipped: int) -> Step:
        record = self.ancestry.trace.at(number)
        site = record.site
        text = self.text(site.span)
        if site.of is not None and site.op is IDENTITY:
            text = f"{text}, an argument"
        elif site.of is not None:
            text = f"{text}, in the derivative of `{site.of.infix or site.of.name}`"
        return Step(
            text,
            site.op.name,
            site.span,
            self.brief(record.y),
            partial,
            gradient,
            breaks,
            skipped,
            record.calls,
        )

    def text(self, span: Span) -> str:
        """The program's text at a place, on one line; of the value of an assignment all of that."""
        return self.statements.get(span, span).brief

    def brief(self, value: Any) -> Any:
        """A number as it is, an array in a few numbers; None for anything else."""
        value = primal(value)
        value = getattr(value, "array", value)
        if value is None or type(value) in (Blank, list):
            return None
        if not shape_of(value):
            value = plain(value)
            return (
                value.item()
                if hasattr(value, "item")
                else value
                if type(value) in (float, int, bool, complex, str)
                else None
            )
        if not value.size or is_complex(value):
            return Summary(value.shape, 0.0, 0.0, 0, 0 if is_finite(value) else 1)
        bad = int((~self.run.backend.xp.isfinite(value)).sum()) if is_inexact(value) else 0
        return Summary(
            value.shape, float(value.min()), float(value.max()), int((value == 0).sum()), bad
        )


def names_of(node: program.Program) -> dict[Span, Span]:
    """The places of values that are assigned to names, with those of the names."""
    return {value: target for value, _, target in _assignments(node) if target is not None}


def _assignments(node: program.Program) -> Iterator[tuple[Span, Span, Span | None]]:
    """The assignments of a program, of its functions and of what it imports: the place of the
    value, of all of it, and of the name that it goes to."""
    pending: list[Any] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, program.Assign | program.Declare) and item.value is not None:
            target = item.target if isinstance(item, program.Assign) else None
            yield (
                item.value.span,
                item.span,
                target.span if isinstance(target, program.NameTarget) else None,
            )
        if isinstance(item, program.Node | program.Argument):
            pending.extend(getattr(item, name) for name in item.FIELDS)
        elif isinstance(item, tuple) and not isinstance(item, Span):
            pending.extend(item)
