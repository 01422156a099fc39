"""A trace read as SymPy expressions: the *form* of each value in terms of symbols for the elements
of variables.

    run = form_run(settings, inputs)
    frame = execute(compile_program(settings, node, keeps_all=True), run)
    forms = Forms(run, sources={"x": run.declared["x"], "w": run.declared["w"]})
    forms.of(value)                # the form of any value of the run, traced or not
    forms.symbols["w"]             # its symbol; an array of symbols `w[0]`, `w[1]`, … for an array
    forms.point                    # the symbols' values, exactly, to evaluate a form at

A form is a SymPy expression (of a bool a SymPy Boolean), a NumPy array of objects for an array of
any rank above 0, a list or dict for lists and dicts. Loops are unrolled along the path that the run
took. Numbers are exact: `number` says how a float is read: `exact`, the decimal that is written
(0.1 is 1/10), or `binary`, the very float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from ...diagnostics import Diagnostic, GradcliError, Span
from ...ops import OPS
from ...ops.op import OpError
from ..ad.own_rules import Held, OwnCall
from ..backends.backend import count, shape_of
from ..trace.run import Run
from ..trace.tape import Segment, Site
from ..values.boxes import primal
from ..values.kinds import List, Variable, is_number, read, show
from ..values.lanes import Lanes
from .algebra import NoFormError, array_of, as_number, counterpart, detached
from .chain import Names
from .exact import exact
from .limits import MAX_FORM, MAX_NUMBER, MAX_TOTAL, Budget, affordable
from .traces import FormTrace

PART = OPS["part"]
_TAKES_BOOLS = frozenset(("where", "any", "all"))


class Forms:
    """The forms of a run's values, in terms of `sources`: variables, or other values of the trace,
    by name.

    symbols   of each source: a symbol, or an array of them
    point     the value of each symbol
    earlier   symbols of states that a variable had before it was updated, by its name
    names     symbols for large parts of forms, where there may be such
    notes     what is only true along the path taken, once for each place
    constants  of how many operations on constants a number is made that still has a form
    Raises GradcliError (E408) for sources of more than MAX_TOTAL elements.
    of        raises GradcliError: E340 at an operation that has no form, E408 where a form outgrows
              `limit` nodes
    """

    def __init__(
        self,
        run: Run,
        sources: Mapping[str, Any],
        number: Callable[[Any], Any] = exact,
        limit: int = MAX_FORM,
        names: Names | None = None,
        constants: int = MAX_NUMBER,
    ) -> None:
        assert isinstance(run.trace, FormTrace)
        self.trace = run.trace
        self.number, self.budget, self.names = number, Budget(limit), names
        self.constants = constants
        self.symbols: dict[str, Any] = {}
        self.point: dict[Any, Any] = {}
        self.earlier: dict[str, list[Any]] = {}
        self.notes: list[Diagnostic] = []
        self._forms: dict[int, Any] = {}
        # of a leaf: since when, its state, the form
        self._states: dict[int, list[tuple[int, Any, Any]]] = {}
        for name, source in sources.items():
            self._introduce(name, source)
        for value, span in self.trace.choices:
            if self.trace.depends(value):
                self._note(
                    span,
                    f"this depends on variables, and is taken at its value here, {show(value)}",
                )

    # ---- sources ---------------------------------------------------------------------------------

    def _introduce(self, name: str, source: Any) -> None:
        """Gives a source its symbols: each state of a variable its own, the last one the plain
        name."""
        value = read(source)
        if type(value) is not tuple:
            if is_number(value):
                self.symbols[name] = self.constant(value)
            return
        if (n_elements := math.prod(shape_of(value[0]))) > MAX_TOTAL:
            span = source.span if type(source) is Variable else None
            raise GradcliError(
                Diagnostic(
                    "E408",
                    f"`{name}` has {n_elements} elements, too many to give each a symbol",
                    span,
                )
            )
        number = source.number if type(source) is Variable else value[1]
        if number >= 0:
            self._forms[number] = self.symbols[name] = self._symbols(name, value[0])
            return
        states = self.trace.states_of[number]
        last = len(states) - 1
        self._states[number] = []
        for k, (since, state) in enumerate(states):
            symbols = self._symbols(name if k == last else f"{name}@{k}", state)
            self._states[number].append((since, state, symbols))
            if k < last:
                self.earlier.setdefault(name, []).append(symbols)
            else:
                self.symbols[name] = symbols

    def _symbols(self, name: str, state: Any) -> Any:
        shape = shape_of(state)
        if not shape:
            return self._symbol(name, state)
        indices = list(np.ndindex(*shape))
        return array_of(
            [
                self._symbol(f"{name}[{','.join(map(str, index))}]", state[index])
                for index in indices
            ],
            shape,
        )

    def _symbol(self, name: str, value: Any) -> Any:
        kind = np.asarray(value).dtype.kind
        if kind == "c":
            parts = self._symbol(f"re({name})", value.real), self._symbol(f"im({name})", value.imag)
            return parts[0] + sympy.I * parts[1]
        if kind == "b":
            return self.number(value)  # a truth is one or the other
        symbol = sympy.Symbol(name, integer=True) if kind in "iu" else sympy.Symbol(name, real=True)
        self.point[symbol] = value
        return symbol

    def constant(self, value: Any) -> Any:
        """The form of an untraced number or array."""
        if not shape_of(value):
            return self.number(value)
        return array_of(map(self.number, value.flat), value.shape)

    # ---- values ----------------------------------------------------------------------------------

    def of(self, value: Any) -> Any:
        """The form of a value of the run; for lists and dicts, a list or dict of forms; for
        anything but numbers, the value itself."""
        value = read(value)
        if type(value) is List:
            return [self.of(item) for item in value]
        if type(value) is dict:
            return {key: self.of(item) for key, item in value.items()}
        while type(value) is not tuple and primal(value) is not value:
            value = value.primal
        if type(value) is not tuple:
            return self.constant(value) if is_number(value) else value
        self._read_up_to(value[1])
        form = self._known(value[1], value[0], self.trace.number)
        return detached(form) if value[1] in self.trace.paused else form

    def _known(self, number: int, operand: Any, at: int) -> Any:
        """The form of an operand of the record `at` that has the number."""
        if number >= 0 or number in self._forms:
            return self._forms[number]
        states = self._states.get(number)
        if states is None:
            return self.constant(self._state(number, operand, at))
        so_far = [(state, form) for since, state, form in reversed(states) if since <= at]
        return next((form for state, form in so_far if state is operand), so_far[0][1])

    def _state(self, number: int, operand: Any, at: int) -> Any:
        """The value of a leaf that isn't a source: what the record kept, or the leaf's state at
        that time."""
        if isinstance(operand, (int, float, complex)) or hasattr(operand, "flat"):
            return operand
        return next(state for since, state in reversed(self.trace.states_of[number]) if since <= at)

    def _read_up_to(self, number: int) -> None:
        """Reads every record that the one with the number depends on, in execution order."""
        needed, pending = set(), [number]
        while pending:
            n = pending.pop()
            if n < 0 or n in needed or n in self._forms:
                continue
            if self.trace.weights.get(n, 0) > self.constants and not isinstance(
                self.trace.results[n], list
            ):
                self._forms[n] = self.constant(self.trace.results[n])
                continue
            needed.add(n)
            pending.extend(self._inputs(n))
        for n in sorted(needed):
            form = self._form(n)
            if self.names is not None:
                form = self.names.shortened(form, self.trace.results[n], self.budget)
            self._forms[n] = form

    def _inputs(self, number: int) -> list[int]:
        record = self.trace.at(number)
        if type(record.b) is OwnCall:
            return [part.number for part in record.b.body or () if type(part) is Held]
        return list(record.inputs)

    # ---- records ---------------------------------------------------------------------------------

    def _form(self, number: int) -> Any:
        record = self.trace.at(number)
        site, numbers, segment, b = record.site, record.inputs, record.segment, record.b
        if type(b) is OwnCall:
            parts = [
                self._known(p.number, p.primal, number) if type(p) is Held else self.of(p)
                for p in b.body or ()
            ]
            self._note(
                site.span,
                f"of `{b.function.name}` the form is that of its body; its rule isn't read",
            )
            return parts[0] if b.outputs == 0 else parts
        options, operands = record.options, list(record.operands)
        if site.op is PART:
            return self._forms[numbers[0]][options["index"]]
        if numbers and not operands:  # cut off by `detach`
            return detached(self._known(numbers[0], None, number))
        for k, n in zip(site.operands, numbers, strict=True):
            form = self._known(n, operands[k], number)
            operands[k] = (
                detached(form)
                if n in self.trace.paused and number not in self.trace.paused
                else form
            )
        y = self.trace.results[number]
        if count(shape_of(y)) > max(self.budget.limit, MAX_TOTAL):
            raise self._too_large(site, segment, number)
        if Lanes in map(type, (y, *operands)):
            raise self._refused(
                segment, number, "what runs on many rows at once has no closed form", site.span
            )
        for k, operand in enumerate(operands):
            if k not in site.operands and operand is not None:
                operands[k] = self.constant(operand)
        try:
            form = self._apply(site, operands, options, y)
        except (NoFormError, OpError) as refused:
            message = f"`{site.op.infix or site.op.name}` has no closed form {refused}".rstrip()
            raise self._refused(segment, number, message, site.span) from None
        except RecursionError:
            raise self._too_large(site, segment, number) from None
        if not self.budget.allows(form):
            raise self._too_large(site, segment, number)
        return form

    def _apply(self, site: Site, operands: list[Any], options: Mapping[str, Any], y: Any) -> Any:
        symbolic = any(_free(operand) for operand in operands)
        form = self._applied(site, operands, options, y, symbolic)
        if symbolic or isinstance(form, list):
            return form
        # A number keeps its exact form while that is short.
        parts = form.flat if isinstance(form, np.ndarray) else [form]
        fits = all(
            part not in (sympy.nan, sympy.zoo) and self.budget.size(part) <= MAX_NUMBER
            for part in parts
        )
        return form if fits else self.constant(y)

    def _applied(
        self, site: Site, operands: list[Any], options: Mapping[str, Any], y: Any, symbolic: bool
    ) -> Any:
        op = site.op
        if not symbolic and (op.category == "random" or not affordable(op, operands)):
            return self.constant(y)
        read = counterpart(op)
        if not symbolic and (read is None or op.category == "making"):
            return self.constant(y)
        if not (op.category in ("shape", "logic") or op.name in _TAKES_BOOLS):
            operands = [operand if operand is None else as_number(operand) for operand in operands]
        if read is None and not op.differentiable:
            return self._value_here(site, y)
        if read is None:
            raise NoFormError("")
        if op.elementwise:
            if symbolic and op.name == "pow" and not affordable(op, operands):
                raise RecursionError
            arrays = any(isinstance(operand, np.ndarray) for operand in operands)
            try:
                form = (
                    np.frompyfunc(read, len(operands), 1)(*operands) if arrays else read(*operands)
                )
            except (
                ValueError
            ):  # SymPy can't tell a number from a complex one, as in `Max(I*cosh(x), 0)`
                raise NoFormError("of operands like these") from None
        else:
            given = {
                key: value for key, value in options.items() if key not in ("inplace", "generator")
            }
            if op.category == "making":
                given.pop("dtype", None)
            try:
                form = read(*[_as_array(operand) for operand in operands], **given)
            except (
                NoFormError,
                TypeError,
                ValueError,
                AttributeError,
            ) as error:  # operands that the counterpart can't take
                if not symbolic:
                    return self.constant(y)
                if op.differentiable:
                    known = isinstance(error, NoFormError) and str(error)
                    raise NoFormError(known or "of operands like these") from None
                return self._value_here(site, y)
        return (
            [self._settled(part) for part in form]
            if isinstance(form, list)
            else self._settled(form)
        )

    def _settled(self, form: Any) -> Any:
        """Converts NumPy's numbers and arrays of rank 0 in a form, and makes its numbers exact."""
        if isinstance(form, np.ndarray) and form.ndim:
            if form.dtype != object:
                return self.constant(form)
            return array_of(map(self._settled, form.flat), form.shape)
        if isinstance(form, np.ndarray):
            form = form[()]
        if not isinstance(form, sympy.Basic):
            return self.number(form)
        floats = form.atoms(sympy.Float)
        return form.xreplace({x: exact(float(x)) for x in floats}) if floats else form

    def _value_here(self, site: Site, y: Any) -> Any:
        """Takes the result of an operation without derivative and form at its value here, with a
        note."""
        self._note(site.span, f"`{site.op.infix or site.op.name}` is taken at its value here")
        return self.constant(y)

    # ---- limits ----------------------------------------------------------------------------------

    def _note(self, span: Span, message: str) -> None:
        note = Diagnostic("W340", message, span)
        if note not in self.notes:
            self.notes.append(note)

    def _too_large(self, site: Site, segment: Segment, number: int) -> GradcliError:
        name = site.op.infix or site.op.name
        message = f"the closed form grows too large in `{name}`"
        label = f"more than {self.budget.limit} symbols and signs"
        help = "fewer iterations or smaller arrays have one"
        return GradcliError(
            Diagnostic("E408", message, site.span, label, help, calls=segment.calls_to(number))
        )

    def _refused(self, segment: Segment, number: int, message: str, span: Span) -> GradcliError:
        return GradcliError(Diagnostic("E340", message, span, calls=segment.calls_to(number)))


def _as_array(operand: Any) -> Any:
    """Converts a form to an array, for structural operations; none stays none."""
    return (
        operand
        if operand is None or isinstance(operand, np.ndarray)
        else np.array(operand, dtype=object)
    )


def _free(form: Any) -> bool:
    """Whether a form depends on a symbol."""
    if isinstance(form, np.ndarray):
        return any(map(_free, form.flat))
    if isinstance(form, list):
        return any(map(_free, form))
    return isinstance(form, sympy.Basic) and bool(form.free_symbols)
