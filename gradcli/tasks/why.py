"""`why`: what a gradient is made of, or why there is none, in terms of the source.

The program runs once with a trace that keeps everything. Values are followed there, not names:
through functions, modules, containers and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ..diagnostics import GradcliError, Span
from ..engine.analysis.discarded import discarded
from ..engine.backends.backend import shape_of
from ..engine.execution import Run, running
from ..engine.explain import reasons
from ..engine.explain.ancestry import Way
from ..engine.explain.blame import blame_gradient, blame_value
from ..engine.explain.elements import dependents
from ..engine.explain.nonfinite import Maker
from ..engine.explain.reasons import Reason, Reasons, number_on
from ..engine.explain.walks import Edge, Walk, size_of, walks
from ..engine.explain.zeros import cancelled, zero_reason
from ..engine.trace.run import Unconnected
from ..engine.trace.unregistered import UnregisteredError
from ..engine.trace.windows import Window
from ..engine.values.boxes import primal
from ..engine.values.contents import is_finite
from ..engine.values.kinds import Variable, differentiable, leaves, read
from ..lang import program
from .answer import verify_inputs, verify_used
from .chains import Chains, names_of
from .evaluation import Options
from .explanations import Answer, Explanation, Step
from .parts import Part, Question
from .rewritings import advice
from .second_runs import keeping_execution


def explain(
    node: program.Program, inputs: Mapping[str, Any], options: Options, steps: int = 20
) -> Answer:
    """Explains the gradient of each target by each source that `options` name, or else of every
    output by every trainable variable, and those that the program itself asked for in vain; chains
    of more than `steps` are shortened.

    A run-time error is a diagnostic of the answer. Raises GradcliError for inputs and names that
    the program doesn't have.
    """
    verify_inputs(node, inputs, options.ignore_extra)
    answer = Answer(node.source.name, diagnostics=discarded(node))
    execution = keeping_execution(node, inputs, options)
    try:
        with running():
            execution.execute()
            if not options.ignore_extra:
                verify_used(execution, execution.variables)
            asked = Question(execution, options)
            answer.explanations = list(_Why(execution.run, asked, steps).explanations())
    except GradcliError as error:
        if all(d.code.startswith("E0") for d in error.diagnostics):
            raise
        answer.diagnostics += error.diagnostics
    execution.release()
    return answer


class Verdict(NamedTuple):
    """What there is to say of the gradient by the source `number`: its status, why, and the record
    at fault."""

    number: int
    status: str
    reason: Reason | None = None
    at: int | None = None


class _Why:
    """The explanations of one run."""

    def __init__(self, run: Run, asked: Question, steps: int) -> None:
        self.run, self.asked = run, asked
        self.reasons = Reasons(run, asked.answer.node)
        self.ancestry = self.reasons.ancestry
        self.chains = Chains(run, self.ancestry, asked.answer.node, steps)

    @cached_property
    def names(self) -> dict[Span, Span]:
        return names_of(self.asked.answer.node)

    def explanations(self) -> Iterator[Explanation]:
        told = [
            e
            for e in map(self._request, chain.from_iterable(self.run.unconnected.values()))
            if e is not None
        ]
        targets = [
            t for t in self.asked.targets if t.value is not None or not told
        ]  # none is what was asked for in vain
        found = [e for target in targets for e in self._of(target)]
        known = {(e.wrt, e.reason, e.span, e.steps) for e in found}
        yield from (e for e in told if (e.wrt, e.reason, e.span, e.steps) not in known)
        yield from found

    def _request(self, request: Unconnected) -> Explanation | None:
        """A gradient that the program asked for in vain, where it is of what was asked about."""
        asked, source = self.asked, request.source
        number = number_on(source)
        names = [
            s.name
            for s in asked.sources
            if s.value is source or (number is not None and number_on(s.value) == number)
        ]
        if asked.options.wrt and not names:
            return None
        if asked.options.of and all(target.value is not None for target in asked.targets):
            targets = {number_on(v) for target in asked.targets for v in leaves(target.value)}
            if not any(number_on(v) in targets for v in leaves(request.target)):
                return None
        name = source.name if type(source) is Variable else next(iter(names), "")
        reason = self.reasons.find(request.target, source, name, request.window)
        return replace(
            self._unconnected(Part("", request.target), Part(name, source), reason),
            asked=request.span,
        )

    def _of(self, target: Part) -> Iterator[Explanation]:
        """The explanations of one target, by all sources; single elements are asked about by
        themselves."""
        seeds = self._seeds(target)
        sources = list(self._sources())
        whole = [s for s in sources if s.place is None]
        try:
            yield from self._by(target, seeds, whole, None) if whole else ()
            for source in sources:
                if source.place is not None:
                    yield from self._by(target, seeds, [source], self._masks(target, source))
        except UnregisteredError as error:
            yield from self._opaque(target, sources, error)

    def _seeds(self, target: Part) -> list[Any]:
        seeds = self.asked.answer.execution.seeds(target.value)
        if target.place is not None:
            for _, seed in seeds:
                seed[...] = 0.0
                seed[target.place] = 1.0
        return seeds

    def _sources(self) -> Iterator[Part]:
        """The sources. Of a variable that was replaced by a plain value, the variable is one; the
        value that has its name now is another only where it was asked for by that name."""
        replaced = self.run.replaced
        for source in self.asked.sources:
            if source.name in replaced:
                yield Part(source.name, replaced[source.name][0])
            if source.name not in replaced or (
                self.asked.options.wrt and number_on(source.value) is not None
            ):
                yield source

    def _by(
        self, target: Part, seeds: list[Any], sources: list[Part], masks: dict[int, Any] | None
    ) -> Iterator[Explanation]:
        """The explanations of a target by sources that one walk can come to."""
        run, window = self.run, self.run.trace.main
        by = {n: source for source in sources if (n := number_on(source.value)) is not None}
        walked = walks(run, seeds, set(by), window, (), masks)
        found = {
            n: self._judged(target, source, walked[n], n)
            for n, source in by.items()
            if n in walked and n in walked[n].found and differentiable(source.value)
        }
        chains = {
            n: self.chains.picked(self.chains.numbers(walked[n], n), verdict.at)
            for n, verdict in found.items()
        }
        shown = {link.number for chain in chains.values() for link in chain}
        details = walks(run, seeds, set(found), window, shown, masks) if shown else {}
        for source in sources:
            number = number_on(source.value)
            if source.name in run.replaced and source.value is run.replaced[source.name][0]:
                yield self._unconnected(target, source, reasons.replaced(run, source.name))
            elif number is None or number not in found:
                yield self._unconnected(
                    target,
                    source,
                    self._missing(target, source, window),
                )
            else:
                steps = self.chains.connected(
                    details[number], source.value, source.name, chains[number], found[number].at
                )
                yield self._connected(
                    target, source, found[number], steps, walked[number], details[number]
                )

    def _missing(self, target: Part, source: Part, window: Window) -> Reason:
        """Why there is no gradient."""
        return self.reasons.find(target.value, source.value, source.name, window, target.name)

    def _masks(self, target: Part, source: Part) -> dict[int, Any]:
        """What depends on a source, or on one element of it."""
        number = number_on(source.value)
        if number is None:
            return {}
        mask = self.run.backend.xp.zeros(shape_of(primal(read(source.value))), bool)
        mask[() if source.place is None else source.place] = True
        return dependents(self.run, self.ancestry, number, mask, self._way_to(target).linked)

    def _way_to(self, target: Part) -> Way:
        return self.ancestry.way_to(
            n for n in map(number_on, map(read, leaves(target.value))) if n is not None
        )

    def _opaque(
        self, target: Part, sources: list[Part], error: UnregisteredError
    ) -> Iterator[Explanation]:
        """The explanations of a target that a function without a gradient leads to."""
        (told,) = error.diagnostics
        reason = Reason("opaque", told.message, told.span, told.help, told.calls)
        linked = self._way_to(target).linked
        for source in sources:
            through = number_on(source.value) in linked
            found = reason if through else self._missing(target, source, self.run.trace.main)
            yield self._unconnected(target, source, found)

    def _unconnected(self, target: Part, source: Part, reason: Reason) -> Explanation:
        steps, length = self.chains.broken(target.value, source.value, source.name, reason.span)
        origin = self.chains.origin(source.value, source.name)
        return Explanation(
            target.name,
            source.name,
            "none",
            None,
            reason.code,
            reason.text,
            reason.span or origin,
            reason.help,
            reason.calls,
            origin,
            steps,
            length,
            summed=_is_summed(target),
        )

    def _connected(
        self,
        target: Part,
        source: Part,
        verdict: Verdict,
        steps: tuple[Step, ...],
        walked: Walk,
        details: Walk,
    ) -> Explanation:
        """An explanation of a gradient that there is; of the two walks the second has the details
        of what is shown."""
        told = verdict.reason or Reason("", "", None, "")
        number = verdict.number
        gradient = self.asked.answer.execution.host(walked.found[number])
        return Explanation(
            target.name,
            source.name,
            verdict.status,
            gradient if source.place is None else gradient[source.place].item(),
            told.code,
            told.text,
            told.span,
            told.help,
            told.calls,
            self.chains.origin(source.value, source.name),
            steps,
            len(self.chains.numbers(walked, number)) - 1,
            len(details.edges.get(number, ())),
            summed=_is_summed(target),
        )

    def _judged(self, target: Part, source: Part, walked: Walk, number: int) -> Verdict:
        """What there is to say of a gradient, or of one of its elements."""
        place = source.place
        g = walked.found[number] if place is None else walked.found[number][place]
        size = size_of(g)
        if not is_finite(g):
            found = blame_gradient(self.run, self.ancestry, walked, number)
            status = "nan" if size != size else "inf"
            return (
                Verdict(number, status)
                if found is None
                else self._rewritten(number, status, *found)
            )
        if size != 0 or 0 in shape_of(g):
            return Verdict(number, "connected")
        if place is not None and number not in walked.onward and number in self.ancestry.first_use:
            where = self.ancestry.first_use[number]
            return Verdict(
                number, "zero", Reason("not_chosen", "other elements are taken here", where, "")
            )
        verdict = self._zero(target, walked, number)
        if place is not None or verdict.at is None or not self._is_container(verdict.at):
            return verdict
        # Others in it have a cotangent: what becomes of those elements alone that depend on it?
        masks = self._masks(target, source)
        seeds = self._seeds(target)
        alone = walks(self.run, seeds, {number}, self.run.trace.main, (), masks)
        return self._zero(target, alone[number], number)

    def _is_container(self, record: int) -> bool:
        """Whether the elements of a record's value come from several operands."""
        op = self.ancestry.trace.at(record).site.op
        return bool(op.linear) and op.category == "shape"

    def _zero(self, target: Part, walked: Walk, number: int) -> Verdict:
        """Where a gradient became zero: the first operation that has a cotangent and gives nothing,
        or what cancels."""
        at = number
        while at in walked.onward:
            edge = walked.onward[at]
            record = self.ancestry.trace.at(edge.record)
            if edge.share != 0:
                return Verdict(number, "zero", cancelled(record.site.span), edge.record)
            if edge.cotangent != 0:
                found = blame_value(self.run, self.ancestry, record)
                if found is not None:
                    return self._rewritten(number, "zero", *found)
                mask = None if walked.masks is None else walked.masks.get(at)
                moving = walked.dead.get((edge.record, at))
                if moving is not None and (mask is None or shape_of(mask) == moving.shape):
                    mask = moving != 0 if mask is None else mask & (moving != 0)
                return Verdict(
                    number, "zero", zero_reason(self.run, record, at, edge, mask), edge.record
                )
            at = edge.record
        linked = self._way_to(target).linked
        ahead = min((n for n in linked if n >= 0 and at in self.ancestry.inputs(n)), default=-1)
        if walked.masks is not None and ahead >= 0 and ahead not in walked.masks:
            edge, record = Edge(ahead, 1.0, 0.0), self.ancestry.trace.at(ahead)
            return Verdict(number, "zero", zero_reason(self.run, record, at, edge), ahead)
        span = self.ancestry.trace.at(at).site.span if at >= 0 else None
        return Verdict(
            number,
            "zero",
            Reason(
                "not_chosen", "other elements of the target depend on it, not this one", span, ""
            ),
        )

    def _rewritten(self, number: int, status: str, reason: Reason, made: Maker) -> Verdict:
        """What an operation did, with a better formula for the fix, where there is one."""
        help = advice(self.run, self.ancestry, made.record, reason, self.names)
        return Verdict(number, status, reason._replace(help=help), made.number)


def _is_summed(target: Part) -> bool:
    """Whether the gradient of a target is that of the sum of its elements."""
    values = [primal(read(v)) for v in leaves(target.value)]
    return target.place is None and (len(values) != 1 or shape_of(values[0]) != ())
