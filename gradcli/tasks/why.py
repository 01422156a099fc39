"""`why`: what a gradient is made of, or why there is none, in terms of the source.

The program runs once with a trace that keeps everything. Values are followed there, not names: through functions, modules,
containers and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ..collector import collector_paused
from ..diagnostics import GradcliError, Span
from ..engine import reasons
from ..engine.backends import ieee, shape_of
from ..engine.blame import blame_gradient, blame_value
from ..engine.boxes import primal
from ..engine.derivatives import differentiable, ones_like, verify_target
from ..engine.evaluator import compile_program, deep_stack, execute, release
from ..engine.modules import named_variables
from ..engine.nonfinite import Maker, is_finite
from ..engine.reasons import Reason, Reasons, number_on
from ..engine.run import Run, Unconnected
from ..engine.unregistered import UnregisteredError
from ..engine.values import Variable, leaves, plain, read
from ..engine.walks import Walk, size_of, walk
from ..engine.windows import Window
from ..engine.zeros import cancelled, zero_reason
from ..lang import program
from .chains import Chains, names_of
from .evaluate import Answer as Asked
from .evaluate import host, verify_inputs, verify_used
from .evaluation import Options
from .explanations import Answer, Explanation, Step
from .rewritings import advice
from .second_runs import keeping_run


def explain(node: program.Program, inputs: Mapping[str, Any], options: Options, steps: int = 20) -> Answer:
    """Explains the gradient of each target by each source that `options` name, or else of every output by every trainable
    variable, and those that the program itself asked for in vain; chains of more than `steps` are shortened.

    A run-time error is a diagnostic of the answer. Raises GradcliError for inputs and names that the program doesn't have.
    """
    verify_inputs(node, inputs, options.ignore_extra)
    answer = Answer(node.source.name)
    run = keeping_run(inputs, options)
    frame: list[Any] = []
    try:
        frame = execute(compile_program(run.settings, node, keeps_all=True), run)
        variables = named_variables(run, node, frame)
        if not options.ignore_extra:
            verify_used(node, run, variables)
        with collector_paused(), ieee(), deep_stack():
            answer.explanations = list(_Why(run, Asked(node, run, frame, variables, options), steps).explanations())
    except GradcliError as error:
        if all(d.code.startswith("E0") for d in error.diagnostics):
            raise
        answer.diagnostics += error.diagnostics
    release(run, frame)
    return answer


class Verdict(NamedTuple):
    """What there is to say of the gradient by the source `number`: its status, why, and the record at fault."""

    number: int
    status: str
    reason: Reason | None = None
    at: int | None = None


class _Why:
    """The explanations of one run."""

    def __init__(self, run: Run, asked: Asked, steps: int) -> None:
        self.run, self.asked = run, asked
        self.reasons = Reasons(run, asked.node)
        self.ancestry = self.reasons.ancestry
        self.chains = Chains(run, self.ancestry, asked.node, steps)

    @cached_property
    def names(self) -> dict[Span, Span]:
        return names_of(self.asked.node)

    def explanations(self) -> Iterator[Explanation]:
        told = [e for e in map(self._request, chain.from_iterable(self.run.unconnected.values())) if e is not None]
        yield from told
        for of, target in self.asked.targets.items():
            if target is None and told:
                continue  # it is what the program asked for in vain
            yield from self._of(of, target)

    def _request(self, request: Unconnected) -> Explanation | None:
        """A gradient that the program asked for in vain, where it is of what was asked about."""
        options, source = self.asked.options, request.source
        number = number_on(source)
        chosen = list(self.asked.sources.items())
        names = [name for name, s in chosen if s is source or (number is not None and number_on(s) == number)]
        if options.wrt and not names:
            return None
        if options.of:
            targets = {number_on(v) for t in self.asked.targets.values() for v in leaves(t)}
            if not any(number_on(v) in targets for v in leaves(request.target)) and None not in self.asked.targets.values():
                return None
        name = source.name if type(source) is Variable else next(iter(names), "")
        reason = self.reasons.find(request.target, source, name, request.window)
        return replace(self._unconnected("", name, request.target, source, reason), asked=request.span)

    def _of(self, of: str, target: Any) -> Iterator[Explanation]:
        """The explanations of one target, by all sources."""
        run, window = self.run, self.run.trace.main
        seeds = [(t, ones_like(run, t)) for t in verify_target(run, target, None)]
        pairs = list(self._sources())
        by = {n: source for _, source in pairs if (n := number_on(source)) is not None}
        wanted = set(by)
        try:
            walked = self._walk(seeds, wanted, window)
        except UnregisteredError as error:
            yield from self._opaque(of, target, pairs, error)
            return
        found = {n: self._judged(walked[n], n) for n in wanted if n in walked and n in walked[n].found and differentiable(by[n])}
        chains = {n: self.chains.picked(self.chains.numbers(walked[n], n), fault.at) for n, fault in found.items()}
        shown = {link.number for chain in chains.values() for link in chain}
        details = self._walk(seeds, set(found), window, shown) if shown else {}
        for name, source in pairs:
            number = number_on(source)
            if name in run.replaced and source is run.replaced[name][0]:
                yield self._unconnected(of, name, target, source, reasons.replaced(run, name))
            elif number is None or number not in found:
                yield self._unconnected(of, name, target, source, self.reasons.find(target, source, name, window))
            else:
                steps = self.chains.connected(details[number], source, name, chains[number], found[number].at)
                yield self._connected(of, name, source, found[number], steps, walked[number], details[number])

    def _sources(self) -> Iterator[tuple[str, Any]]:
        """The sources by name. Of a variable that was replaced by a plain value, the variable is one; the value that has its
        name now is another only where it was asked for by that name."""
        for name, source in self.asked.sources.items():
            if name in self.run.replaced:
                yield name, self.run.replaced[name][0]
            if name not in self.run.replaced or (self.asked.options.wrt and number_on(source) is not None):
                yield name, source

    def _walk(self, seeds: list[Any], wanted: set[int], window: Window, asked: set[int] | None = None) -> dict[int, Walk]:
        """By source the walk that came to it."""
        late = wanted & window.late.keys()
        found: dict[int, Walk] = {}
        for part in ([wanted - late] if wanted - late else []) + [{n} for n in late]:
            walked = walk(self.run, seeds, part, window, asked or ())
            if walked is not None:
                found.update(dict.fromkeys(part, walked))
        return found

    def _opaque(self, of: str, target: Any, pairs: list[tuple[str, Any]], error: UnregisteredError) -> Iterator[Explanation]:
        """The explanations of a target that a function without a gradient leads to."""
        (told,) = error.diagnostics
        reason = Reason("opaque", told.message, told.span, told.help, told.calls)
        linked = self.ancestry.way_to(n for n in map(number_on, map(read, leaves(target))) if n is not None).linked
        for name, source in pairs:
            through = number_on(source) in linked
            found = reason if through else self.reasons.find(target, source, name, self.run.trace.main)
            yield self._unconnected(of, name, target, source, found)

    def _unconnected(self, of: str, name: str, target: Any, source: Any, reason: Reason) -> Explanation:
        steps, length = self.chains.broken(target, source, name, reason.span)
        origin = self.chains.origin(source, name)
        return Explanation(
            of, name, "none", None, reason.code, reason.text, reason.span or origin, reason.help, reason.calls,
            origin, steps, length, summed=_is_summed(target),
        )  # fmt: skip

    def _connected(
        self, of: str, name: str, source: Any, verdict: Verdict, steps: tuple[Step, ...], walked: Walk, details: Walk
    ) -> Explanation:
        """An explanation of a gradient that there is; of the two walks the second has the details of what is shown."""
        told = verdict.reason or Reason("", "", None, "")
        number = verdict.number
        gradient = host(self.run.backend.to_host, plain(walked.found[number]))
        return Explanation(
            of, name, verdict.status, gradient, told.code, told.text, told.span, told.help, told.calls,
            self.chains.origin(source, name), steps, len(self.chains.numbers(walked, number)) - 1,
            len(details.edges.get(number, ())),
            summed=_is_summed(self.asked.targets[of]),
        )  # fmt: skip

    def _judged(self, walked: Walk, number: int) -> Verdict:
        """What there is to say of a gradient."""
        g = walked.found[number]
        size = size_of(g)
        if not is_finite(g):
            found = blame_gradient(self.run, self.ancestry, walked, number)
            status = "nan" if size != size else "inf"
            return Verdict(number, status) if found is None else self._rewritten(number, status, *found)
        return self._zero(walked, number) if size == 0 else Verdict(number, "connected")

    def _zero(self, walked: Walk, number: int) -> Verdict:
        """Where a gradient became zero: the first operation that has a cotangent and gives nothing, or what cancels."""
        at = number
        while at in walked.onward:
            edge = walked.onward[at]
            record = self.ancestry.record(edge.record)
            if edge.share != 0:
                return Verdict(number, "zero", cancelled(record.site.span), edge.record)
            if edge.cotangent != 0:
                found = blame_value(self.run, self.ancestry, record)
                if found is not None:
                    return self._rewritten(number, "zero", *found)
                return Verdict(number, "zero", zero_reason(self.run, record, at, edge), edge.record)
            at = edge.record
        return Verdict(number, "zero")

    def _rewritten(self, number: int, status: str, reason: Reason, made: Maker) -> Verdict:
        """What an operation did, with a better formula for the fix, where there is one."""
        help = advice(self.run, self.ancestry, made.record, reason, self.names)
        return Verdict(number, status, reason._replace(help=help), made.number)


def _is_summed(target: Any) -> bool:
    """Whether the gradient of a target is that of the sum of its elements."""
    values = [primal(read(v)) for v in leaves(target)]
    return len(values) != 1 or shape_of(values[0]) != ()
