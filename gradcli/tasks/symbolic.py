"""`symbolic`, and `eval --closed-form`: the closed forms of outputs and derivatives, read from runs
of the program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..engine.execution import Compiled, compile_program, running
from ..engine.symbolic import calculus, printing
from ..engine.symbolic.algebra import as_condition, attached, is_form
from ..engine.symbolic.code import Part
from ..engine.symbolic.code import program as program_text
from ..engine.symbolic.forms import Forms
from ..engine.symbolic.languages import LANGUAGES
from ..engine.symbolic.paths import NotJoinedError, Outcome, Path, joined, verify_bounded
from ..engine.symbolic.simplifier import Simplifier
from ..engine.symbolic.traces import form_execution
from ..engine.values.kinds import differentiable
from ..lang import program
from ..naming import on_screen
from .answer import Answer, verify_inputs
from .evaluation import Options
from .forms import Symbolic
from .omissions import finiteness, without_floats
from .probes import probes
from .second_runs import explain

MAX_WORK = 20_000  # nodes to differentiate, for each symbol
MAX_DERIVATIVES = 1_000  # elements of all derivatives of one output
MAX_STEPS = 1_000_000  # statements of one run


@dataclass(slots=True)
class ClosedForms:
    """The forms of one program, as SymPy expressions, arrays of them, and lists and dicts of these.

    values       by output
    derivatives  by output and then by what: `("x",)` the gradient by x, `("x", "z")` the derivative
                 by x and z
    sources      the symbols of the variables, by name
    point        the value of each symbol
    summed       outputs that aren't scalars: their derivatives are those of the sum
    idle         by output the variables that don't occur in its form, unless they were asked for by
                 name
    diagnostics  why an output has no form, what holds only along the path taken, what isn't
                 simplified
    notes        which outputs are not differentiated unasked
    """

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    derivatives: dict[str, dict[tuple[str, ...], Any]] = field(default_factory=dict)
    sources: dict[str, Any] = field(default_factory=dict)
    point: dict[Any, Any] = field(default_factory=dict)
    summed: set[str] = field(default_factory=set)
    idle: dict[str, set[str]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return max([0, *(d.exit_code for d in self.diagnostics)])


def closed_forms(
    node: program.Program, inputs: Mapping[str, Any], options: Options, order: int = 1
) -> ClosedForms:
    """The closed forms of the outputs (or of `options.of`), and of their derivatives up to an
    order.

    Inputs that aren't given are probed. Raises GradcliError for inputs that don't fit, and where
    the program fails.
    """
    verify_inputs(node, inputs, options.ignore_extra)
    return _Reading(node, inputs, options, order).answer()


class _Reading:
    """The runs of one program that its forms are read from."""

    def __init__(
        self, node: program.Program, inputs: Mapping[str, Any], options: Options, order: int
    ) -> None:
        steps = min(MAX_STEPS, options.max_steps or MAX_STEPS)
        self.node, self.options, self.order = node, options.with_changes(max_steps=steps), order
        self.probed = probes(node, inputs)
        self.inputs = {**inputs, **self.probed}
        self.names = {*self.probed, *options.wrt}
        self.compiled: Compiled = compile_program(self.options.settings, node, keeps_all=True)
        self.forms: Forms
        self.asked: Answer
        self.failed: dict[str, Diagnostic] = {}

    def answer(self) -> ClosedForms:
        first = self.walk(())
        forms, asked = self.forms, self.asked
        found = ClosedForms(
            self.node.source.name,
            dict(first.values),
            sources=dict(forms.symbols),
            point=forms.point,
        )
        found.diagnostics += self.failed.values()
        found.diagnostics += forms.notes
        if forms.trace.outcomes:
            try:
                if forms.earlier:
                    raise NotJoinedError(
                        "variables are updated along the path", forms.trace.outcomes[0][1]
                    )
                found.values, notes = joined(
                    first._replace(outcomes=self.outcomes(forms)), self.walk
                )
                for note in dict.fromkeys(notes):
                    message = f"there is no form where this fails: {note.message}"
                    found.diagnostics.append(
                        Diagnostic("W341", message, note.span, calls=note.calls)
                    )
            except NotJoinedError as error:
                point = ", ".join(
                    f"{name} = {value:g}"
                    for name, value in self.probed.items()
                    if isinstance(value, float)
                )
                taken = f"the path at {point}" if point else "the path taken"
                message = f"the closed form is that of {taken}: {error.reason}"
                help = "give the values of another point with --set" if point else ""
                found.diagnostics.append(Diagnostic("W341", message, error.span, "", help))
        for of in asked.targets:
            if of in found.values:
                self.differentiate(
                    found,
                    of,
                    forms,
                    [x for x, source in asked.sources.items() if differentiable(source)],
                )
        for of, form in found.values.items():
            found.values[of] = calculus.each(_settled, form)
        found.diagnostics += self.compiled.facts.discarded
        if self.order:
            asked.find_ints()
            found.diagnostics += (
                explain(self.node, self.inputs, self.options, asked, False) if asked.ints else []
            )
            found.diagnostics += [warning for _, warning in without_floats(asked.sources)]
            found.notes = asked.notes()
        found.diagnostics += finiteness(_nonfinite(found))
        return found

    def walk(self, script: Sequence[bool]) -> Path:
        """One run of the program, the first conditions decided by the script."""
        execution = form_execution(self.compiled, self.inputs, script, self.names)
        run = execution.run
        try:
            asked = Answer(execution.execute(), self.options)
        except GradcliError as error:
            if not script:
                raise
            forms = Forms(run, _sources(run.declared, {}))
            return Path(self.outcomes(forms), {}, error.diagnostics[0])
        forms = Forms(run, _sources({**run.declared, **asked.variables}, asked.sources, self.names))
        outcomes = self.outcomes(forms) if script else []
        values: dict[str, Any] = {}
        with running():
            for name, value in {**asked.outputs, **asked.targets}.items():
                if self.options.of and name not in self.options.of:
                    continue
                try:
                    values[name] = forms.of(value)
                except GradcliError as error:
                    if script:
                        raise
                    self.failed[name] = error.diagnostics[0]
        if not script:
            self.forms, self.asked = forms, asked
        return Path(outcomes, values)

    def outcomes(self, forms: Forms) -> list[Outcome]:
        """The conditions that decided a path. Raises NotJoinedError for those of a loop, and where
        one has no form."""
        verify_bounded(span for _, span, _ in forms.trace.outcomes)
        found = []
        with running():
            for condition, span, holds in forms.trace.outcomes:
                try:
                    found.append(Outcome(as_condition(forms.of(condition)), span, holds))
                except GradcliError as error:
                    raise NotJoinedError(
                        f"this condition has no form: {error.diagnostics[0].message}", span
                    ) from None
        return found

    # ---- derivatives -----------------------------------------------------------------------------

    def differentiate(self, found: ClosedForms, of: str, forms: Forms, by: list[str]) -> None:
        """The derivatives of an output by all combinations of the sources, up to the order."""
        whole = calculus.total(found.values[of])
        if found.values[of] is not whole:
            found.summed.add(of)
        if not self.options.wrt:
            found.idle[of] = {
                x
                for x in by
                if not calculus.occurs(whole, [forms.symbols[x], *forms.earlier.get(x, ())])
            }
        sizes = {x: len(calculus.flat(forms.symbols[x])) for x in by}
        combinations = [
            c for n in range(1, self.order + 1) for c in combinations_with_replacement(by, n)
        ]
        n_elements = sum(math.prod(sizes[x] for x in c) for c in combinations)
        if n_elements > MAX_DERIVATIVES or n_elements * forms.budget.size(whole) > MAX_WORK:
            message = f"the derivatives of `{of}` grow too large: {n_elements} of them"
            found.diagnostics.append(
                Diagnostic("E408", message, help="--wrt names the variables that matter")
            )
            return
        rows: dict[tuple[str, ...], Any] = {(): whole}
        for combination in combinations:
            *before, x = combination
            rows[combination] = calculus.gradients(
                rows[tuple(before)], forms.symbols[x], forms.earlier.get(x, ())
            )
        del rows[()]
        found.derivatives[of] = {c: calculus.each(_settled, form) for c, form in rows.items()}


def _sources(
    variables: Mapping[str, Any],
    asked: Mapping[str, Any],
    names: set[str] | frozenset[str] = frozenset(),
) -> Any:
    """What the forms are in terms of: the trainable variables, and what else was asked for or had
    to be probed."""
    found = {name: v for name, v in variables.items() if v.kind == "var" or name in names}
    return {
        **found,
        **{name: v for name, v in asked.items() if not any(v is other for other in found.values())},
    }


def _nonfinite(found: ClosedForms) -> list[str]:
    """The values and derivatives that are infinite or undefined whatever the variables are, in
    words."""
    names = [f"`{of}`" for of, form in found.values.items() if not calculus.is_finite(form)]
    for of, rows in found.derivatives.items():
        bad = [by for by, form in rows.items() if not calculus.is_finite(form)]
        names += [on_screen(of, by) for by in bad if len(by) == 1]
        names += [f"higher derivatives of `{of}`"] if any(len(by) > 1 for by in bad) else []
    return names


def _settled(form: Any) -> Any:
    return attached(form) if is_form(form) else form


# ---- simplified, and written ---------------------------------------------------------------------


def simplify(found: ClosedForms, simplifier: Simplifier, seconds: float) -> None:
    """Puts simpler forms in the place of those that have one. What takes longer than `seconds` in
    all stays as it is, and a diagnostic says so."""
    everything = [found.values, found.derivatives]
    forms = list(dict.fromkeys(form for table in everything for form in calculus.flat_forms(table)))
    with running():
        simpler = simplifier.simplified(forms, found.point, seconds)
        places = {form: new for form, new in zip(forms, simpler, strict=True) if new is not None}
        found.values = _replaced(found.values, places)
        found.derivatives = {of: _replaced(row, places) for of, row in found.derivatives.items()}
    if None in simpler:
        unfinished = f"{simpler.count(None)} of {len(forms)} forms"
        message = (
            f"simplification was cut off after {seconds:.3g} seconds: {unfinished} are as they "
            "were derived"
        )
        found.diagnostics.append(
            Diagnostic("W342", message, help="raise --timeout, or write --no-simplify")
        )


def _replaced(table: Mapping[Any, Any], places: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        name: calculus.each(lambda item: places.get(item, item) if is_form(item) else item, form)
        for name, form in table.items()
    }


def written(found: ClosedForms, to: str) -> Symbolic:
    """The forms in one of `TO`. What the language has no words for is left out, and a diagnostic
    says so; and so are the derivatives by variables that don't occur."""
    rows = {
        of: {by: form for by, form in row.items() if found.idle.get(of, set()).isdisjoint(by)}
        for of, row in found.derivatives.items()
    }
    found = replace(found, derivatives=rows)
    answer = Symbolic(
        found.file, to, summed=found.summed, diagnostics=list(found.diagnostics), notes=found.notes
    )
    with running():
        write = {"pretty": printing.pretty, "latex": printing.latex}.get(to, printing.text)
        answer.values = {of: write(form) for of, form in found.values.items()}
        answer.derivatives = {
            of: {by: write(f) for by, f in row.items()} for of, row in found.derivatives.items()
        }
        if to in LANGUAGES:
            answer.code = _code(found, to, answer.diagnostics)
    return answer


def _code(found: ClosedForms, to: str, diagnostics: list[Diagnostic]) -> str:
    """A module of functions."""
    parts: list[Part] = []
    for of, value in found.values.items():
        own = [
            Part(f"{of}{path}", f"the value of {of}{path}", form, of)
            for path, form in _leaves(value)
        ]
        for by, form in found.derivatives.get(of, {}).items():
            order = "" if len(by) == 1 else str(len(by))
            whole = "the sum of " if of in found.summed else ""
            title = f"the derivative of {whole}{of} with respect to {' and '.join(by)}"
            own.append(Part(f"d{order}{of}_d{'_d'.join(by)}", title, form, of))
        parts += own
    program = program_text(to, parts, found.sources)
    for part, lacking in program.omitted:
        diagnostics.append(Diagnostic("E340", f"{to} lacks {lacking}, which {part.title} needs"))
    return program.text


def _leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """The numbers and arrays in an output, with the ends of their names."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, f"{path}_{key}")]
    if isinstance(value, list):
        return [leaf for k, item in enumerate(value) for leaf in _leaves(item, f"{path}_{k}")]
    return [(path, value)] if is_form(value) or hasattr(value, "dtype") else []
