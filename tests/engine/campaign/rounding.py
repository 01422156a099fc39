"""How far rounding moves what a program gives: by the program again, with other last places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from gradcli.engine.backends.tiers import INTERPRETED, only

from .ways import Answer, alone, parsed

TIMES = 12
# Roundings that a way may do in another order. Each moves an answer about as much as the last place
# of a number that the program starts from.
ROUNDINGS = 100
Run = Callable[[str, Mapping[str, Any]], Answer]
_FLOAT = re.compile(r"\b\d+\.\d+\b")


def row(text: str, point: Mapping[str, Any]) -> Answer:
    """The answer of a program of rows."""
    return alone(parsed(text), [dict(point)])[0]


def moved(text: str, point: Mapping[str, Any], expected: Answer, run: Run = row) -> dict[str, Any]:
    """How far from `expected`, by name, the program of a row may be by rounding alone.

    The numbers in its text and the row's own are moved to a neighbour, up or down, some times. Of
    these the lower quarter counts: where a condition is decided by a tie, one side of it.
    """
    random = Random(0)
    answers = [_with_other_places(random, text, point, run) for _ in range(TIMES)]
    slack = {}
    for name, value in expected.values.items():
        found = [_distance(answer.values.get(name), value) for answer in answers]
        if all(distance is not None for distance in found):
            slack[name] = ROUNDINGS * np.sort(np.stack(found), axis=0)[TIMES // 4]
    return slack


def _with_other_places(random: Random, text: str, point: Mapping[str, Any], run: Run) -> Answer:
    def other(number: float) -> float:
        return float(np.nextafter(number, random.choice((-np.inf, np.inf)))) if number else number

    text = _FLOAT.sub(lambda found: repr(other(float(found[0]))), text)
    point = {name: other(v) if type(v) is float else v for name, v in point.items()}
    with only(INTERPRETED):
        return run(text, point)


def _distance(a: Any, b: Any) -> Any:
    """How far apart numbers of one shape are; None for anything else."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or not {a.dtype.kind, b.dtype.kind} <= set("fi"):
        return None
    with np.errstate(invalid="ignore"):  # of infinite numbers it is nan, and allows nothing
        return np.abs(a - b)
