"""`diff`: two versions of a program on the same inputs, value by value and gradient by gradient."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ..diagnostics import Diagnostic, GradcliError
from ..engine.analysis.declared import declared_names
from ..engine.backends.backend import CPU, is_inexact, shape_of
from ..engine.execution import Execution, running
from ..engine.values.kinds import show_shape
from ..lang import program
from .answer import Answer, no_variable, prepare, undeclared, unknown_input, unused
from .comparison import Compared, Comparison, Only, Tolerance, Worst
from .domains import Domain, declared_domains, failed_at, no_points, random_points
from .evaluation import Evaluation, Options

# ---- how far two values are apart: numbers, arrays, strings, and lists and dicts -----------------


class Distance(NamedTuple):
    """How many elements two values have, how many of them differ, and the one that does most."""

    elements: int
    differing: int
    worst: Worst


def distances(old: Any, new: Any, tolerance: Tolerance, place: str = "") -> Iterator[Distance]:
    """The distance of two values; of lists and dicts, that of each entry."""
    if type(old) is list and type(new) is list and len(old) == len(new):
        for k, pair in enumerate(zip(old, new, strict=True)):
            yield from distances(*pair, tolerance, f"{place}[{k}]")
    elif type(old) is dict and type(new) is dict and old.keys() == new.keys():
        for key in old:
            yield from distances(
                old[key], new[key], tolerance, f"{place}[{json.dumps(key, ensure_ascii=False)}]"
            )
    elif _is_numeric(old) and _is_numeric(new) and shape_of(old) == shape_of(new):
        yield from _of_numbers(old, new, tolerance, place)
    else:
        kinds = _kind(old), _kind(new)
        differs = kinds[0] != kinds[1] or old != new
        what = f"{kinds[0]} became {kinds[1]}" if kinds[0] != kinds[1] else ""
        yield Distance(1, int(differs), Worst(place, old, new, None, what=what))


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number, or an array of numbers."""
    dtype = getattr(value, "dtype", None)
    return dtype.kind in "iufc" if dtype is not None else type(value) in (int, float, complex)


def _kind(value: Any) -> str:
    """What a value is, apart from which one."""
    if _is_numeric(value):
        shape = shape_of(value)
        return f"an array of shape {show_shape(shape)}" if shape else "a number"
    if type(value) is list:
        return f"a list of {len(value)}"
    if type(value) is dict:
        return "a dict with the keys " + ", ".join(map(json.dumps, value)) if value else "a dict"
    if value is None:
        return "none"
    return "a string" if type(value) is str else "a bool" if type(value) is bool else "bools"


def _of_numbers(old: Any, new: Any, tolerance: Tolerance, place: str) -> Iterator[Distance]:
    xp = CPU.xp
    a, b = xp.asarray(old), xp.asarray(new)
    if not a.size:
        return
    with xp.errstate(all="ignore"):
        apart = _ulps(a, b)
        differs = apart > tolerance.ulps
        if tolerance.rtol or tolerance.atol:
            near = tolerance.atol + tolerance.rtol * xp.maximum(abs(a), abs(b))
            differs &= ~((abs(a - b) <= near) & xp.isfinite(a) & xp.isfinite(b))
    k = int(xp.argmax(xp.where(differs, apart, -1.0) if differs.any() else apart))
    index = xp.unravel_index(k, a.shape)
    ulps = float(apart[index])
    at = f"{place}[{', '.join(str(int(i)) for i in index)}]" if index else place
    yield Distance(
        a.size,
        int(differs.sum()),
        Worst(at, a[index].item(), b[index].item(), ulps if math.isinf(ulps) else int(ulps)),
    )


def _ulps(a: Any, b: Any) -> Any:
    """How many floats lie between two, elementwise: 0 for equal ones, and for two that are nan; inf
    where only one is finite."""
    xp = CPU.xp
    if "c" in (a.dtype.kind, b.dtype.kind):
        return xp.maximum(_ulps(a.real, b.real), _ulps(a.imag, b.imag))
    common = xp.result_type(a, b)
    a, b = a.astype(common), b.astype(common)
    low, high = (pick(_ordinal(a), _ordinal(b)) for pick in (xp.minimum, xp.maximum))
    # the difference of two int64 needs one bit more: that of uint64 is right modulo 2**64
    apart = (high.astype(xp.uint64) - low.astype(xp.uint64)).astype(xp.float64)
    finite = xp.isfinite(a) & xp.isfinite(b)
    same = (a == b) | (xp.isnan(a) & xp.isnan(b))
    return xp.where(same, 0.0, xp.where(finite, apart, xp.inf))


def _ordinal(array: Any) -> Any:
    """Consecutive ints for consecutive floats; an int is its own."""
    xp = CPU.xp
    if array.dtype.kind != "f":
        return array.astype(xp.int64)
    bits = array.view(f"i{array.dtype.itemsize}")
    return xp.where(bits < 0, xp.iinfo(bits.dtype).min - bits, bits).astype(xp.int64)


# ---- two versions --------------------------------------------------------------------------------


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
