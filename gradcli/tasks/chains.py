"""The chain from a source to a target, operation by operation, as the program's own text says it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..diagnostics import Span
from ..engine.ancestry import Ancestry
from ..engine.backends import is_complex, is_inexact, shape_of
from ..engine.boxes import primal
from ..engine.nonfinite import is_finite
from ..engine.reasons import number_on
from ..engine.run import Run
from ..engine.tape import Blank
from ..engine.values import Variable, leaves, plain, read
from ..engine.walks import Walk, partial_by
from ..lang import program
from .explanations import Step, Summary

LONGEST = 60  # characters of a step's text


class Chains:
    """The chains of one run; each shows at most `most` operations, the first and the last ones."""

    def __init__(self, run: Run, ancestry: Ancestry, node: program.Program, most: int) -> None:
        self.run, self.ancestry, self.most = run, ancestry, most
        self.statements = {value: statement for value, statement, _ in _assignments(node)}

    def origin(self, source: Any) -> Span | None:
        """Where a source came from: its declaration, or the operation that made it."""
        if type(source) is Variable:
            return source.span
        number = number_on(source)
        return self.ancestry.record(number).site.span if number is not None and number >= 0 else None

    # ---- connected ---------------------------------------------------------------------------------------------------

    def shown(self, walked: Walk | None, source: int) -> list[int]:
        """The numbers of what is shown of a chain."""
        if walked is None or source not in walked.found:
            return []
        return [number for number, _ in self._picked(self._numbers(walked, source))]

    def _numbers(self, walked: Walk, source: int) -> list[int]:
        numbers = [source]
        while numbers[-1] in walked.onward:
            numbers.append(walked.onward[numbers[-1]].record)
        return numbers

    def _picked(self, numbers: list[int]) -> Iterator[tuple[int, int]]:
        """The positions of a chain that are shown, as numbers, with how many were left out before each."""
        head = self.most - self.most // 2
        tail = max(len(numbers) - self.most // 2, head + 1)
        for k, number in enumerate(numbers):
            if k <= head or k >= tail:
                yield number, (tail - head - 1 if k == tail else 0)

    def connected(
        self, walked: Walk, details: Walk, source: Any, number: int, breaks: Span | None
    ) -> tuple[tuple[Step, ...], int]:
        """The operations from a source on that give most of its gradient, and how many there are."""
        numbers = self._numbers(walked, number)
        steps: list[Step] = []
        before = {n: m for m, n in pairwise(numbers)}
        for n, skipped in self._picked(numbers):
            gradient = self.brief(details.kept.get(n))
            if n == number:
                steps.append(self._source(source, gradient))
                continue
            record = self.ancestry.record(n)
            partial = partial_by(self.run, record, before[n])
            partial = None if partial is None else self.brief(partial * 1.0)
            broken = breaks is not None and record.site.span == breaks and not any(s.breaks for s in steps)
            steps.append(self._step(n, partial, gradient, broken, skipped))
        return tuple(steps), len(numbers) - 1

    # ---- unconnected -------------------------------------------------------------------------------------------------

    def broken(self, target: Any, source: Any, breaks: Span | None) -> tuple[tuple[Step, ...], int]:
        """The operations from a source to a target that it has no gradient of, through everything that cuts."""
        number = number_on(source)
        steps = [self._source(source, None)]
        if number is None:
            return tuple(steps), 0
        onward = self.ancestry.way_to(n for n in map(number_on, map(read, leaves(target))) if n is not None).onward
        numbers, seen = [number], {number}
        while numbers[-1] in onward and onward[numbers[-1]] not in seen:
            numbers.append(onward[numbers[-1]])
            seen.add(numbers[-1])
        for k, (n, skipped) in enumerate(self._picked(numbers)):
            if k == 0:
                continue
            if n >= 0:
                broken = breaks is not None and self.ancestry.record(n).site.span == breaks and not any(s.breaks for s in steps)
                steps.append(self._step(n, None, None, broken, skipped))
                continue
            states = self.ancestry.trace.states[n]
            traced, span, _ = next((s for s in states if s[0][1] in seen), states[0])
            steps.append(Step(self.text(span), ":=", span, self.brief(traced), breaks=span == breaks, skipped=skipped))
        return tuple(steps), len(numbers) - 1

    # ---- steps -------------------------------------------------------------------------------------------------------

    def _source(self, source: Any, gradient: Any) -> Step:
        span, value = self.origin(source), self.brief(read(source))
        return Step(self.text(span) if span else "", "", span, value, None, gradient)

    def _step(self, number: int, partial: Any, gradient: Any, breaks: bool, skipped: int) -> Step:
        record = self.ancestry.record(number)
        site = record.site
        text = self.text(site.span)
        if site.of is not None:
            text = f"{text}, in the derivative of `{site.of.infix or site.of.name}`"
        return Step(text, site.op.name, site.span, self.brief(record.y), partial, gradient, breaks, skipped, record.calls)

    def text(self, span: Span) -> str:
        """The program's text at a place, on one line; of the value of an assignment all of that."""
        span = self.statements.get(span, span)
        text = " ".join(span.text.split())
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    def brief(self, value: Any) -> Any:
        """A number as it is, an array in a few numbers; None for anything else."""
        value = primal(value)
        if value is None or type(value) in (Blank, list):
            return None
        value = getattr(value, "array", value)
        if not shape_of(value):
            value = plain(value)
            return value.item() if hasattr(value, "item") else value if type(value) in (float, int, bool, complex, str) else None
        if not value.size or is_complex(value):
            return Summary(value.shape, 0.0, 0.0, 0, 0 if is_finite(value) else 1)
        bad = int((~self.run.backend.xp.isfinite(value)).sum()) if is_inexact(value) else 0
        return Summary(value.shape, float(value.min()), float(value.max()), int((value == 0).sum()), bad)


def names_of(node: program.Program) -> dict[Span, Span]:
    """The places of values that are assigned to names, with those of the names."""
    return {value: target for value, _, target in _assignments(node) if target is not None}


def _assignments(node: program.Program) -> Iterator[tuple[Span, Span, Span | None]]:
    """The assignments of a program, of its functions and of what it imports: the place of the value, of all of it, and of
    the name that it goes to."""
    pending: list[Any] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, program.Assign | program.Declare) and item.value is not None:
            target = item.target if isinstance(item, program.Assign) else None
            yield item.value.span, item.span, target.span if isinstance(target, program.NameTarget) else None
        if isinstance(item, program.Node | program.Argument):
            pending.extend(getattr(item, name) for name in item.FIELDS if name != "span")
        elif isinstance(item, tuple) and not isinstance(item, Span):
            pending.extend(item)
