"""The trace of a run that will be read as formulas: everything on it, constants too, and conditions that can be forced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import Span
from ..keeping import KeepingTrace
from ..run import Run, Settings
from ..tape import Leaf, Site, Traced


class FormTrace(KeepingTrace):
    """Also records operations on nothing but constants, so that `sqrt(2)` is one of the forms and not 1.4142….

    script     which way the first conditions go that depend on a variable; the later ones go as their values say
    outcomes   all such conditions in the order in which they were asked: (condition, where, which way it went)
    states     of each leaf, the states that it has had: (number of the next record, state)
    results    what each record gave
    dependent  the numbers of what depends on a trainable variable, differentiably or not
    """

    __slots__ = ("dependent", "outcomes", "results", "script", "states_of")
    keeps_constants = True

    def __init__(self, script: Sequence[bool] = ()) -> None:
        self.script = script
        self.outcomes: list[tuple[Traced, Span, bool]] = []
        self.states_of: dict[int, list[tuple[int, Any]]] = {}
        self.results: dict[int, Any] = {}
        self.dependent: set[int] = set()
        super().__init__()

    def leaf(self, primal: Any, number: int | None = None, origin: Leaf | None = None) -> Traced:
        traced = super().leaf(primal, number, origin)
        self.states_of.setdefault(traced[1], []).append((self.number, primal))
        return traced

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        traced = super().record(site, inputs, a, b, kept, y)
        self.results[traced[1]] = y
        if any(i[1] in self.dependent or i[1] in self.variables for i in inputs):
            self.dependent.add(traced[1])
        return traced

    def decide(self, condition: Traced, span: Span) -> bool | None:
        super().decide(condition, span)
        value = condition[0]
        if condition[1] not in self.dependent and condition[1] not in self.variables:
            return None
        if getattr(value, "size", 1) != 1:
            return None  # an error says so
        outcome = self.script[len(self.outcomes)] if len(self.outcomes) < len(self.script) else bool(value)
        self.outcomes.append((condition, span, outcome))
        return outcome


def form_run(settings: Settings, inputs: Mapping[str, Any], script: Sequence[bool] = ()) -> Run:
    """A run whose trace can be read as forms. The program must be compiled with `keeps_all=True`."""
    run = Run(settings, inputs, keeps_all=True)
    run.trace = FormTrace(script)
    return run
