"""The paths of a program: each outcome of a condition that depends on a variable, forced in turn,
and joined as Piecewise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from ...diagnostics import Diagnostic, GradcliError, Span
from .calculus import each

MAX_PATHS = 16
# that one condition may decide on one path: of n that are asked anew each time, there are 2**n
# paths
MAX_TIMES = 4


class Outcome(NamedTuple):
    """A condition that was decided on a path: its form, where it stands, and which way it went."""

    condition: Any
    span: Span
    holds: bool


class Path(NamedTuple):
    """One way through a program: the outcomes in order, the forms of the values by name, and the
    error it ended with."""

    outcomes: list[Outcome]
    values: dict[str, Any]
    failure: Diagnostic | None = None


class NotJoinedError(Exception):
    """The paths of a program can't be joined into one form: why, and the condition at which that
    shows."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


def joined(
    first: Path, walk: Callable[[Sequence[bool]], Path]
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Joins the forms of all paths into one, and adds notes about the paths that have none. `first`
    is the path that the values of the variables take, and `walk` takes another one, by a script of
    outcomes.

    Raises NotJoinedError where there are more than MAX_PATHS, or where they don't fit together.
    """
    explorer = _Explorer(walk)
    values = explorer.branch(first, 0)
    assert values is not None
    return values, explorer.notes


def verify_bounded(spans: Iterable[Span]) -> None:
    """Raises NotJoinedError where one condition decides again and again on a path: so does that of
    a loop."""
    counts = Counter(spans)
    for span, count in counts.items():
        if count > MAX_TIMES:
            raise NotJoinedError("how often its loop runs depends on variables", span)


class _Explorer:
    def __init__(self, walk: Callable[[Sequence[bool]], Path]) -> None:
        self.walk = walk
        self.n_paths = 1
        self.notes: list[Diagnostic] = []

    def branch(self, path: Path, depth: int) -> dict[str, Any] | None:
        """The values of all paths that begin with the first `depth` outcomes of this one; None
        where all end in errors."""
        if depth == len(path.outcomes):
            if path.failure is not None:
                self.notes.append(path.failure)
                return None
            return path.values
        outcome = path.outcomes[depth]
        here = self.branch(path, depth + 1)
        before = path.outcomes[:depth]
        if _is_decided(outcome, before):
            return here
        self.n_paths += 1
        if self.n_paths > MAX_PATHS:
            raise NotJoinedError(
                f"more than {MAX_PATHS} paths lead through the program", outcome.span
            )
        try:
            other = self.walk([*(o.holds for o in before), not outcome.holds])
        except GradcliError as error:
            raise NotJoinedError(
                f"the other path stops: {error.diagnostics[0].message}", outcome.span
            ) from None
        there = self.branch(other, depth + 1)
        return _joined_at(outcome, here, there)


def _is_decided(outcome: Outcome, before: list[Outcome]) -> bool:
    """Whether the earlier outcomes decide this condition."""
    if outcome.condition in (sympy.true, sympy.false):
        return True
    return any(o.condition in (outcome.condition, sympy.Not(outcome.condition)) for o in before)


def _joined_at(
    outcome: Outcome, here: Mapping[str, Any] | None, there: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Joins the values on both sides of a condition."""
    condition = outcome.condition if outcome.holds else sympy.Not(outcome.condition)
    if here is None or there is None:
        side, values = (condition, here) if there is None else (sympy.Not(condition), there)
        if values is None:
            return None
        return {
            name: each(lambda form: sympy.Piecewise((form, side)), form)
            for name, form in values.items()
        }
    then, otherwise = (here, there) if outcome.holds else (there, here)
    if then.keys() != otherwise.keys():
        raise NotJoinedError("the outputs depend on the path", outcome.span)
    return {name: _both(outcome, then[name], otherwise[name]) for name in then}


def _both(outcome: Outcome, then: Any, otherwise: Any) -> Any:
    if _structure(then) != _structure(otherwise):
        raise NotJoinedError("shapes depend on the path", outcome.span)

    def join(a: Any, b: Any) -> Any:
        if not isinstance(a, sympy.Basic) or a == b:
            return a
        rest = b.args if isinstance(b, sympy.Piecewise) else ((b, True),)
        return sympy.Piecewise((a, outcome.condition), *rest)

    return each(join, then, otherwise)


def _structure(form: Any) -> Any:
    """What two forms must have in common to be joined: shapes, keys, and what isn't a form."""
    if isinstance(form, list):
        return [_structure(part) for part in form]
    if isinstance(form, dict):
        return {key: _structure(part) for key, part in form.items()}
    return (
        getattr(form, "shape", ())
        if isinstance(form, sympy.Basic) or hasattr(form, "dtype")
        else form
    )
