"""`why`: what a gradient is made of, or why there is none, in terms of the source.

The program runs once with a trace that keeps everything. Values are followed there, not names: through functions, modules,
containers and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ..collector import collector_paused
from ..diagnostics import GradcliError
from ..engine import reasons
from ..engine.backends import ieee
from ..engine.blame import blame_gradient, blame_value
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
from .explanations import Answer, Explanation
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


class _Why:
    """The explanations of one run."""

    def __init__(self, run: Run, asked: Asked, steps: int) -> None:
        self.run, self.asked = run, asked
        self.reasons = Reasons(run, asked.node)
        self.ancestry = self.reasons.ancestry
        self.chains = Chains(run, self.ancestry, asked.node, steps)

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
        wanted = {n for _, source in pairs if (n := number_on(source)) is not None}
        try:
            walked = self._walk(seeds, wanted, window)
        except UnregisteredError as error:
            yield from self._opaque(of, target, pairs, error)
            return
        shown = {n for s in wanted for n in self.chains.shown(walked.get(s), s)}
        details = self._walk(seeds, wanted, window, shown) if shown else {}
        for name, source in pairs:
            number = number_on(source)
            found = None if number is None else walked.get(number)
            g = None if number is None or found is None else found.found.get(number)
            if name in run.replaced and source is run.replaced[name][0]:
                yield self._unconnected(of, name, target, source, reasons.replaced(run, name))
            elif number is None or found is None or g is None or not differentiable(source):
                yield self._unconnected(of, name, target, source, self.reasons.find(target, source, name, window))
            else:
                yield self._connected(of, name, source, number, g, found, details[number])

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
        steps, length = self.chains.broken(target, source, reason.span)
        return Explanation(
            of, name, "none", None, reason.code, reason.text, reason.span, reason.help, reason.calls,
            self.chains.origin(source), steps, length,
        )  # fmt: skip

    def _connected(self, of: str, name: str, source: Any, number: int, g: Any, walked: Walk, details: Walk) -> Explanation:
        """An explanation of a gradient that there is."""
        size, reason = size_of(g), None
        if not is_finite(g):
            status = "nan" if size != size else "inf"
            found = blame_gradient(self.run, self.ancestry, walked, number)
            if found is not None:
                reason, made = found
                reason = self._rewritten(reason, made)
        elif size == 0:
            status, reason = "zero", self._zero(walked, details, number, name)
        else:
            status = "connected"
        steps, length = self.chains.connected(walked, details, source, number, reason.span if reason else None)
        told = reason or Reason("", "", None, "")
        return Explanation(
            of, name, status, host(self.run.backend.to_host, plain(g)), told.code, told.text, told.span, told.help, told.calls,
            self.chains.origin(source), steps, length, len(details.edges.get(number, ())),
        )  # fmt: skip

    def _zero(self, walked: Walk, details: Walk, source: int, name: str) -> Reason | None:
        """Where a gradient became zero: the first operation that has a cotangent and gives nothing, or what cancels."""
        at = source
        while at in walked.onward:
            edge = walked.onward[at]
            if edge.share != 0:
                edges = details.edges.get(at, ())
                span = self.ancestry.record(edge.record).site.span
                return cancelled(span, len(edges), f"`{name}`" if at == source else "a value on the way")
            if edge.cotangent != 0:
                record = self.ancestry.record(edge.record)
                found = blame_value(self.run, self.ancestry, record)
                return self._rewritten(*found) if found else zero_reason(self.run, record, at, edge)
            at = edge.record
        return None

    def _rewritten(self, reason: Reason, made: Maker) -> Reason:
        """A reason with a better formula for its fix, where there is one."""
        return reason._replace(help=advice(self.run, self.ancestry, made.record, reason, names_of(self.asked.node)))
