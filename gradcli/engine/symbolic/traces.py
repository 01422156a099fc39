"""The trace of a run that will be read as formulas: everything on it, constants too, and conditions
that can be forced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span
from ..compilation.compiled import Compiled
from ..execution import Execution
from ..trace.keeping import KeepingTrace
from ..trace.tape import Leaf, Site, Traced
from ..values.lanes import Lanes

MAX_RECORDS = 100_000  # operations of a run


class FormTrace(KeepingTrace):
    """Also records operations on nothing but constants, so that `sqrt(2)` is one of the forms and
    not 1.4142….

    script     which way the first conditions go that depend on a variable; the later ones go as
               their values say
    outcomes   all such conditions in the order in which they were asked: (condition, where, which
               way it went)
    states     of each leaf, the states that it has had: (number of the next record, state)
    results    what each record gave
    roots      the numbers of the leaves that will be symbols: of trainable variables, and of those
               in `names`
    dependent  the numbers of what depends on these, differentiably or not
    weights    of every other record, from how many operations on constants it was made
    """

    __slots__ = (
        "dependent", "names", "outcomes", "results", "roots", "script", "states_of", "weights",
    )  # fmt: skip
    keeps_constants = True
    rows_one_by_one = MAX_RECORDS

    def __init__(self, script: Sequence[bool] = (), names: Collection[str] = ()) -> None:
        self.script, self.names = script, names
        self.outcomes: list[tuple[Traced, Span, bool]] = []
        self.states_of: dict[int, list[tuple[int, Any]]] = {}
        self.results: dict[int, Any] = {}
        self.roots: set[int] = set()
        self.dependent: set[int] = set()
        self.weights: dict[int, int] = {}
        super().__init__()

    def leaf(self, primal: Any, number: int | None = None, origin: Leaf | None = None) -> Traced:
        traced = super().leaf(primal, number, origin)
        self.states_of.setdefault(traced[1], []).append((self.number, primal))
        owner = origin.owner() if origin is not None and origin.owner is not None else None
        if owner is not None and (owner.trainable or owner.name in self.names):
            self.roots.add(traced[1])
        return traced

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        if self.number >= MAX_RECORDS or self.room <= 0:
            label = f"more than {MAX_RECORDS} operations" if self.room > 0 else "too many numbers"
            raise GradcliError(
                Diagnostic("E408", "the run is too long for a closed form", site.span, label)
            )
        traced = super().record(site, inputs, a, b, kept, y)
        self.results[traced[1]] = y
        if any(map(self.depends, inputs)):
            self.dependent.add(traced[1])
        else:
            self.weights[traced[1]] = 1 + sum(self.weights.get(i[1], 0) for i in inputs)
        return traced

    def depends(self, traced: Traced) -> bool:
        """Whether a value depends on a source of symbols."""
        return traced[1] in self.dependent or traced[1] in self.roots

    def decide(self, condition: Traced, span: Span) -> bool | None:
        super().decide(condition, span)
        value = condition[0]
        if not self.depends(condition) or type(value) is Lanes or getattr(value, "size", 1) != 1:
            return None
        outcome = (
            self.script[len(self.outcomes)]
            if len(self.outcomes) < len(self.script)
            else bool(value)
        )
        self.outcomes.append((condition, span, outcome))
        return outcome


def form_execution(
    compiled: Compiled,
    inputs: Mapping[str, Any],
    script: Sequence[bool] = (),
    names: Collection[str] = (),
) -> Execution:
    """An execution whose trace can be read as forms, in terms of the trainable variables and of
    what else is in `names`. The program must be compiled with `keeps_all=True`."""
    execution = Execution(compiled, inputs)
    execution.run.trace = FormTrace(script, names)
    return execution
