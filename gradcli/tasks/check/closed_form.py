"""SymPy's derivative of the closed form, with 50 digits: its own `diff`, never the table's rules.

Forms that grow long are taken apart, and their derivatives multiplied in numbers: no program makes
SymPy differentiate, or simplify, what would take it long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ...diagnostics import Diagnostic, GradcliError
from ...engine.backends.backend import is_complex, is_inexact, shape_of
from ...engine.values.boxes import primal
from ...engine.values.kinds import Variable, leaves, read
from .directions import Direction
from .point import Case, Point

MANY_STEPS = 300  # of a path, whose form would take long to differentiate
MANY_RECORDS = 10_000  # of a run, which is gone once more
MANY_SYMBOLS = 60
MAX_NODES = 1_500
LONG = 30  # nodes: a longer form has a name in those that it is a part of
MUCH_WORK = 20_000  # nodes of forms times symbols that they are differentiated by
DIGITS = 50


class SkippedError(Exception):
    """A method doesn't apply; the message says why."""


def slope(case: Case, direction: Direction) -> float:
    """The derivative along a direction, rounded to a float. Raises SkippedError where there is no
    closed form."""
    origin = _origin(case)
    chain = _chain(origin, direction.variable)
    return _number(chain, forms_of(origin.point), _values(case, origin), [direction])


def second(case: Case, first: Direction, lasts: Sequence[Direction]) -> float:
    """The second derivative along a direction, and then along all of some."""
    origin = _origin(case)
    chain, forms = _chain(origin, first.variable), forms_of(origin.point)
    for direction in (first, *lasts):
        if direction.variable in forms.earlier:
            raise SkippedError(f"`{direction.variable}` has had several states")
        if is_complex(direction.vector) or is_complex(
            primal(read(case.point.answer.sources[direction.variable]))
        ):
            raise SkippedError(f"`{direction.variable}` is complex")
    return _number(chain, forms, _values(case, origin), [first], lasts)


def _origin(case: Case) -> Case:
    """The case whose closed forms are those of this one: at the point that leads its path, if its
    forms hold along that."""
    leader = case.leader
    if leader is None:
        return case
    forms = forms_of(leader.point)
    has_numbers = forms.notes or forms.earlier  # of that point
    return leader if not has_numbers and case.moved <= _movable(case, forms) else case.apart()


def _movable(case: Case, forms: Any) -> set[str]:
    """The variables that closed forms have symbols for."""
    sources = case.point.answer.sources.items()
    return {s.name for key, s in sources if type(s) is Variable and key in forms.symbols}


def _values(case: Case, origin: Case) -> Mapping[Any, Any]:
    """The values of the symbols in closed forms."""
    from ...engine.symbolic.chain import parts_of

    forms = forms_of(origin.point)
    known = dict(forms.point)
    for name, source in case.point.answer.sources.items() if case is not origin else ():
        if type(source) is Variable and source.name in case.moved:
            known.update(parts_of(forms.symbols[name], case.state(name)))
    return known


def _number(
    chain: Any,
    forms: Any,
    point: Mapping[Any, Any],
    first: Sequence[Direction],
    lasts: Sequence[Direction] | None = None,
) -> float:
    """A derivative at a point. Raises SkippedError where SymPy has no number for it, as for the
    derivatives of `zeta`."""
    from ...engine.symbolic.chain import UnknownError

    along = _rates(forms, first), None if lasts is None else _rates(forms, lasts)
    try:
        if chain.work(*along, forms.budget, MUCH_WORK) > MUCH_WORK:
            raise SkippedError("the closed form is too large to differentiate")
        return complex(chain.slope(point, *along, DIGITS)).real
    except UnknownError:
        raise SkippedError("SymPy can't work its derivative out") from None


def _rates(forms: Any, directions: Sequence[Direction]) -> dict[Any, Any]:
    """How fast symbols move along directions; a variable that was updated moves in all its
    states."""
    from ...engine.symbolic.chain import rates_of

    found: dict[Any, Any] = {}
    for name, vector, *_ in directions:
        for symbols in (forms.symbols[name], *forms.earlier.get(name, [])):
            found |= rates_of(symbols, vector)
    return found


def _chain(case: Case, variable: str) -> Any:
    """The form of an output, to be differentiated by a variable."""
    source = primal(read(case.point.answer.sources[variable]))
    if shape_of(source) and source.size > MANY_SYMBOLS:
        raise SkippedError(f"`{variable}` has {source.size} elements, too many for a closed form")
    if case.chain is None:
        case.chain = _made(case)
    if isinstance(case.chain, str):
        raise SkippedError(case.chain)
    return case.chain


def _made(case: Case) -> Any:
    """The same; or why there is none."""
    try:
        if len(case.history.steps) > MANY_STEPS:
            return f"the path is too long for a closed form: {len(case.history.steps)} operations"
        if (n_records := case.point.kept[0].trace.number) > MANY_RECORDS:
            return f"the run is too long for closed forms: {n_records} operations"
        forms, answer = _forms(case.point)
        from ...engine.symbolic.calculus import total
        from ...engine.symbolic.chain import Chain
        from ...engine.symbolic.exact import binary

        parts = zip(leaves(answer.targets[case.output]), case.weights, strict=True)
        floats = [(part, weight) for part, weight in parts if is_inexact(primal(read(part)))]
        weighed = [forms.of(part) * _exactly(weight, binary) for part, weight in floats]
        return Chain(total(weighed), forms.names.definitions)
    except SkippedError as reason:
        return str(reason)
    except GradcliError as error:
        return _said(error.diagnostics[0])


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
        from ...engine.symbolic.chain import Names
        from ...engine.symbolic.exact import binary
        from ...engine.symbolic.forms import Forms
        from ...engine.symbolic.traces import form_execution

        program = point.program
        execution = form_execution(program.keeping, point.inputs, names=point.answer.sources)
        try:
            answer = program.answer(execution.execute(), point.answer.targets)
            # Numbers that the program computes of constants are rounded for every method.
            forms = Forms(execution.run, answer.sources, binary, MAX_NODES, Names(LONG), 0)
            point.forms = forms, answer
        except GradcliError as error:
            point.forms = _said(error.diagnostics[0])
    if isinstance(point.forms, str):
        raise SkippedError(point.forms)
    return point.forms


def _said(diagnostic: Diagnostic) -> str:
    place = f" (line {diagnostic.span.line})" if diagnostic.span else ""
    return diagnostic.message + place
