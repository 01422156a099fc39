"""SymPy's derivative of the closed form, with 50 digits: its own `diff`, never the table's
rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...engine.backends.backend import is_complex, is_inexact, shape_of
from ...engine.replay.value_trace import ValueTrace
from ...engine.values.boxes import primal
from ...engine.values.kinds import leaves, read
from .directions import Direction
from .point import Case, Point

MANY_STEPS = 300  # of a path, whose form would take long to differentiate
MANY_RECORDS = 10_000  # of a run, which is gone once more
MANY_SYMBOLS = 60
MAX_NODES = 1_500
MAX_DEPTH = 60  # of functions of functions
MANY_SECONDS = 50  # second derivatives
MUCH_WORK = 5_000  # nodes of a form times symbols
DIGITS = 50


class SkippedError(Exception):
    """A method doesn't apply: says why."""


def slope(case: Case, direction: Direction) -> float:
    """The derivative along a direction, rounded to a float. Raises SkippedError where there is no
    closed form."""
    origin = case.origin
    slopes = _gradient(origin, direction.variable)
    vector = direction.vector
    pairs = zip(slopes.flat, vector.flat, strict=True) if shape_of(vector) else [(slopes, vector)]
    total = 0.0
    point = case.symbols(forms_of(origin.point))
    for form, v in pairs:
        if v:
            total += (_number(form, point).conjugate() * v).real
    return total


def second(case: Case, first: Direction, lasts: Sequence[Direction]) -> float:
    """The second derivative along a direction, and then along all of some."""
    slopes = _gradient(case, first.variable)
    from ...engine.symbolic.calculus import depth, derivative

    forms = forms_of(case.point)
    for direction in (first, *lasts):
        if direction.variable in forms.earlier:
            raise SkippedError(f"`{direction.variable}` has had several states")
        if is_complex(direction.vector) or is_complex(
            primal(read(case.point.answer.sources[direction.variable]))
        ):
            raise SkippedError(f"`{direction.variable}` is complex")
    rows = _moved(slopes, first.vector)
    columns = [
        pair
        for direction in lasts
        for pair in _moved(forms.symbols[direction.variable], direction.vector)
    ]
    if len(rows) * len(columns) > MANY_SECONDS:
        raise SkippedError(
            f"{len(rows) * len(columns)} second derivatives of a closed form are too many"
        )
    if max((depth(slope) for slope, _ in rows), default=0) > MAX_DEPTH / 2:
        raise SkippedError("functions nest too deep in the closed form to differentiate it twice")
    terms = (
        _number(derivative(slope, symbol), forms.point).real * v * w
        for slope, v in rows
        for symbol, w in columns
    )
    return sum(terms, 0.0)


def _number(form: Any, point: Any) -> complex:
    """A form at a point. Raises SkippedError where SymPy has no number for it, as for the
    derivatives of `zeta`."""
    from ...engine.symbolic.calculus import evaluate, is_known

    if not is_known(form):
        raise SkippedError("SymPy can't work its derivative out")
    return complex(evaluate(form, point, DIGITS))


def _moved(forms: Any, vector: Any) -> list[tuple[Any, float]]:
    """The forms of the elements that a direction moves, and how far."""
    if not shape_of(vector):
        return [(forms, float(vector))]
    return [(form, float(v)) for form, v in zip(forms.flat, vector.flat, strict=True) if v]


def _gradient(case: Case, variable: str) -> Any:
    """The forms of the gradient of an output by a variable."""
    if variable not in case.forms:
        case.forms[variable] = _differentiated(case, variable)
    found = case.forms[variable]
    if isinstance(found, str):
        raise SkippedError(found)
    return found


def _differentiated(case: Case, variable: str) -> Any:
    """The same; or why there is none."""
    try:
        if len(case.history.steps) > MANY_STEPS:
            return f"the path is too long for a closed form: {len(case.history.steps)} operations"
        trace = case.point.kept[0].trace
        assert isinstance(trace, ValueTrace)
        if (n_records := trace.number + trace.passed) > MANY_RECORDS:
            return f"the run is too long for closed forms: {n_records} operations"
        source = primal(read(case.point.answer.sources[variable]))
        if shape_of(source) and source.size > MANY_SYMBOLS:
            return f"`{variable}` has {source.size} elements, too many for a closed form"
        forms, answer = _forms(case.point)
        from ...engine.symbolic.calculus import depth, gradient
        from ...engine.symbolic.exact import binary

        parts = zip(leaves(answer.targets[case.output]), case.weights, strict=True)
        floats = [(part, weight) for part, weight in parts if is_inexact(primal(read(part)))]
        weighed = [forms.of(part) * _exactly(weight, binary) for part, weight in floats]
        work = sum(map(forms.budget.size, _scalars(weighed))) * (
            source.size if shape_of(source) else 1
        )
        if work > MUCH_WORK:
            return f"the closed form is too large to differentiate by {_elements(source)}"
        if max(map(depth, _scalars(weighed)), default=0) > MAX_DEPTH:
            return "functions nest too deep in the closed form to differentiate it"
        used = set().union(*(form.free_symbols for form in _scalars(weighed)))
        earlier = [
            e
            for e in forms.earlier.get(variable, [])
            if not used.isdisjoint(e.flat if shape_of(e) else [e])
        ]
        return gradient(weighed, forms.symbols[variable], earlier)
    except SkippedError as reason:
        return str(reason)
    except GradcliError as error:
        return _said(error.diagnostics[0])


def _scalars(parts: list[Any]) -> Iterator[Any]:
    for part in parts:
        yield from part.flat if shape_of(part) else [part]


def _elements(source: Any) -> str:
    return f"{source.size} elements" if shape_of(source) else "one variable"


def _exactly(weight: Any, binary: Any) -> Any:
    if not shape_of(weight):
        return binary(weight)
    made = weight.astype(object)
    made.flat = [binary(w) for w in weight.flat]
    return made


def forms_of(point: Point) -> Any:
    """The closed forms of a program on the path that it takes at a point. Raises SkippedError where
    there are none."""
    return _forms(point)[0]


def _forms(point: Point) -> Any:
    """The forms of a run and what it answers. Raises SkippedError."""
    if point.forms is None and find_spec("sympy") is None:
        point.forms = "SymPy isn't installed"
    if point.forms is None:
        from ...engine.symbolic.exact import binary
        from ...engine.symbolic.forms import Forms
        from ...engine.symbolic.traces import form_execution

        program = point.program
        execution = form_execution(program.keeping, point.inputs, names=point.answer.sources)
        try:
            answer = program.answer(execution.execute(), point.answer.targets)
            point.forms = Forms(execution.run, answer.sources, binary, MAX_NODES), answer
        except GradcliError as error:
            point.forms = _said(error.diagnostics[0])
    if isinstance(point.forms, str):
        raise SkippedError(point.forms)
    return point.forms


def _said(diagnostic: Diagnostic) -> str:
    place = f" (line {diagnostic.span.line})" if diagnostic.span else ""
    return diagnostic.message + place
