"""What `diff` answers: plain dataclasses, shared with the reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Which numbers count as equal: those within any of these distances. An ulp is the distance of
    a float from the next one; between ints it is 1."""

    ulps: int = 0
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Worst:
    """The element of a value that differs most.

    place    where it is: "" for a number, `[1]`, `["key"][0, 2]`
    old, new   the element in both versions; where these have no elements in common, the values
    ulps     its distance; inf where one is not finite, None where ulps don't apply
    point    the number of the random point, 0 for the declared values
    inputs   the random values there
    what     why there is no distance: the shapes, or what the values are
    """

    place: str
    old: Any
    new: Any
    ulps: float | None
    point: int = 0
    inputs: Mapping[str, Any] = field(default_factory=dict)
    what: str = ""


@dataclass(slots=True)
class Compared:
    """The values of one output, or its gradients by one variable (`wrt`), at all points: how many
    elements there were, and how many of them differ by more than the tolerance. `summed`: the
    gradient is that of the sum of the output's elements."""

    of: str
    wrt: str = ""
    summed: bool = False
    elements: int = 0
    differing: int = 0
    worst: Worst | None = None

    @property
    def is_equal(self) -> bool:
        return not self.differing


@dataclass(slots=True)
class Only:
    """The outputs and trainable variables that only one version has."""

    outputs: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """The answer: what was compared at the declared values and at `points` random ones."""

    old: str
    new: str
    points: int = 0
    compared: list[Compared] = field(default_factory=list)
    only_old: Only = field(default_factory=Only)
    only_new: Only = field(default_factory=Only)
    notes: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def differences(self) -> int:
        """How many values and gradients differ, and outputs and variables only one version has."""
        alone = sum(len(only.outputs) + len(only.variables) for only in self.only)
        return alone + sum(not c.is_equal for c in self.compared)

    @property
    def only(self) -> tuple[Only, Only]:
        return self.only_old, self.only_new

    @property
    def exit_code(self) -> int:
        """0 where all is equal, 1 where anything differs, or the highest code of an error."""
        return max([int(self.differences > 0), *(d.exit_code for d in self.diagnostics)])
