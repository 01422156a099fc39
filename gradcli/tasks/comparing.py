"""`diff`: two versions of a program on the same inputs, value by value and gradient by gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.analysis.declared import declared_names
from ..engine.backends.backend import is_inexact
from ..engine.execution import Execution, running
from ..lang import program
from .answer import Answer, no_variable, prepare, undeclared, unknown_input, unused
from .comparison import Compared, Comparison, Only, Tolerance, Worst
from .distances import distances
from .domains import Domain, declared_domains, failed_at, no_points, random_points
from .evaluation import Evaluation, Options


def compare(
    old: program.Program,
    new: program.Program,
    inputs: Mapping[str, Any],
    options: Options,
    points: int = 0,
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Compares the outputs and gradients of two programs at the values that they declare or are
    given, and at random points of their domains. Each program gets the inputs that it declares.

    A run-time error is a diagnostic of the answer. Raises GradcliError for inputs that neither
    program declares, and for names that one of them doesn't have.
    """
    versions = _Version(old, options), _Version(new, options)
    found = Comparison(old.source.name, new.source.name)
    if not options.ignore_extra:
        _verify_declared(versions, inputs)
    answers = [version.run(inputs, found) for version in versions]
    if None in answers:
        return found
    table = _Table(found, tolerance or Tolerance(), *(a for a in answers if a is not None))
    if not options.ignore_extra:
        _verify_used(table.old, table.new)
    table.add()
    if points:
        _compare_at_points(versions, inputs, points, table)
    return found


class _Answer:
    """What one version answers at one point."""

    def __init__(self, answer: Answer, given: Iterable[str]) -> None:
        evaluation = Evaluation("")
        answer.fill(evaluation)
        self.outputs, self.gradients = evaluation.outputs, evaluation.gradients
        self.summed = evaluation.summed
        self.variables = list(answer.sources)
        taken = {*answer.run.inputs} - {*unused(answer.execution)}
        self.unused = [name for name in given if name not in taken]
        self.known = [variable.name for variable in answer.variables.values()]


class _Version:
    """One of the two programs, compiled for any number of runs."""

    def __init__(self, node: program.Program, options: Options) -> None:
        self.node, self.options, self.name = node, options, node.source.name
        self.failed = False
        self.compiled = prepare(node, options, alone=True)

    def run(
        self,
        inputs: Mapping[str, Any],
        found: Comparison,
        number: int = 0,
        drawn: Mapping[str, Any] | None = None,
    ) -> _Answer | None:
        """The answer for these inputs, and for those `drawn` at the random point of that number;
        None where the program fails, which then is a diagnostic."""
        try:
            given = {**inputs, **(drawn or {})}
            execution = Execution(self.compiled, self.declared(given))
            answer = Answer(execution.execute(), self.options)
            with running():
                answer.compute(None)
            told = _Answer(answer, given)
            execution.release()
            return told
        except GradcliError as error:
            if error.exit_code == 4:
                raise  # the limit is that of both versions
            errors = [self._named(d) for d in error.diagnostics]
            if all(d.code.startswith("E0") for d in errors):
                raise GradcliError(*errors) from None
            if not self.failed:  # of many points the first one tells enough
                self.failed = True
                found.diagnostics += (
                    [failed_at(errors[0], number, drawn or {})] if number else errors
                )
            return None

    def _named(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic that says which program it is about."""
        if diagnostic.span is not None:
            return diagnostic
        return replace(diagnostic, message=f"{self.name}: {diagnostic.message}")

    def declared(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs that the program may have."""
        missing = {*undeclared(self.node, inputs)}
        return {name: value for name, value in inputs.items() if name not in missing}

    def domains(self, inputs: Mapping[str, Any]) -> list[Domain]:
        return declared_domains(self.compiled, self.declared(inputs))

    @cached_property
    def names(self) -> list[str]:
        return declared_names(self.node)


def _verify_declared(versions: Sequence[_Version], inputs: Mapping[str, Any]) -> None:
    """Raises GradcliError (E003) for inputs that no version declares."""
    old, new = (undeclared(version.node, inputs) for version in versions)
    if unknown := [name for name in old if name in new]:
        known = list(dict.fromkeys(name for version in versions for name in version.names))
        raise GradcliError(
            *[unknown_input(name, known, "neither program declares") for name in unknown]
        )


def _verify_used(old: _Answer, new: _Answer) -> None:
    """Raises GradcliError (E003) for values given by the path of a variable that no instance of
    either version had."""
    if both := [name for name in old.unused if name in new.unused]:
        known = list(dict.fromkeys([*old.known, *new.known]))
        raise GradcliError(
            *[no_variable(name, known, "neither program has a variable") for name in both]
        )


class _Table:
    """The values and gradients that both versions have, and what was found of each so far."""

    def __init__(self, found: Comparison, tolerance: Tolerance, old: _Answer, new: _Answer) -> None:
        self.found, self.tolerance = found, tolerance
        self.old, self.new = old, new
        found.only_old = _missing(old, new)
        found.only_new = _missing(new, old)
        variables = _common(old.variables, new.variables)
        for of in _common(old.outputs, new.outputs):
            found.compared.append(Compared(of))
            gradients = {**old.gradients.get(of, {}), **new.gradients.get(of, {})}
            found.compared += [
                Compared(of, wrt, of in old.summed) for wrt in variables if wrt in gradients
            ]

    def add(self, number: int = 0, drawn: Mapping[str, Any] | None = None) -> None:
        """Compares the two answers, which are for the random point of that number."""
        for row in self.found.compared:
            old, new = (
                answer.gradients.get(row.of, {}).get(row.wrt)
                if row.wrt
                else answer.outputs.get(row.of)
                for answer in (self.old, self.new)
            )
            for elements, differing, worst in distances(old, new, self.tolerance):
                row.elements += elements
                is_worse = row.worst is None or _rank(differing, worst) > _rank(
                    row.differing, row.worst
                )
                row.differing += differing
                if is_worse:
                    row.worst = replace(worst, point=number, inputs=drawn or {})


def _rank(differing: int, worst: Worst) -> tuple[bool, float]:
    """By which the worst of several elements is the largest: what differs more than the tolerance
    allows goes before what doesn't, and what has no distance before what has one."""
    apart = worst.ulps if worst.ulps is not None else float("inf") if differing else -1.0
    return differing > 0, apart


def _missing(here: _Answer, there: _Answer) -> Only:
    return Only(
        [name for name in here.outputs if name not in there.outputs],
        [name for name in here.variables if name not in there.variables],
    )


def _common(old: Iterable[str], new: Iterable[str]) -> list[str]:
    names = {*new}
    return [name for name in old if name in names]


def _compare_at_points(
    versions: Sequence[_Version], inputs: Mapping[str, Any], n: int, table: _Table
) -> None:
    """Compares two versions at random points of their domains, the same for both."""
    domains: dict[str, Domain] = {}
    for version in versions:
        for d in version.domains(inputs):
            other = domains.get(d.name, d)
            low, high = max(d.low, other.low), min(d.high, other.high)
            domains[d.name] = d._replace(state=other.state, low=low, high=high)
    if not any(is_inexact(d.state) for d in domains.values()):
        table.found.notes.append(no_points([*domains.values()]))
        return
    seed = versions[0].options.seed
    for number, drawn in enumerate(random_points([*domains.values()], n, seed), 1):
        old, new = (version.run(inputs, table.found, number, drawn) for version in versions)
        if old is not None and new is not None:
            table.old, table.new = old, new
            table.add(number, drawn)
            table.found.points += 1
