"""A program of the campaign, run in all ways: where they disagree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only

from .comparing import Allowed, difference
from .programs import Written, program
from .rounding import moved
from .ways import Answer, alone, by_rows, evaluated, mapped, parsed

SOON = FIRST_USE._replace(iterations=2, least_iterations=2)
HOT = {WRITTEN: "hot", NATIVE: "native"}


class Disagreement(NamedTuple):
    way: str
    point: dict[str, Any]
    what: str
    text: str


_SLOPES = re.compile("grad|jacobian|hessian|hvp|vjp|jvp")  # whose results values may depend on


def compared(seed: int, counts: Counter[str], wide: bool = False) -> Iterator[Disagreement]:
    """The disagreements of the program of a seed, at most one for each way; `counts` gets what was
    run. `wide`: of values of all kinds."""
    written = program(Random(seed), wide)
    with only(INTERPRETED):
        try:
            node = parsed(written.alone or written.text)
        except GradcliError:
            counts["programs that can't be read"] += 1
            return
        single = alone(node, written.points)
    counts["rows"] += len(single)
    counts["rows with an error"] += sum(1 for answer in single if answer.error)
    counts[f"programs of {written.kind}"] += 1
    for way, answers in _ways(written, node):
        for point, expected, found in zip(
            written.points, _allowed(single, way), answers, strict=False
        ):
            if what := _difference(written, way, point, expected, found, counts):
                counts["disagreements"] += 1
                yield Disagreement(way, point, what, written.text)
                break


def _difference(
    written: Written,
    way: str,
    point: dict[str, Any],
    expected: Answer,
    found: Answer,
    counts: Counter[str],
) -> str:
    exact, slopes = way in HOT.values(), _SLOPES.search(written.text) is not None
    what = difference(expected, found, exact, not slopes)
    if not what or expected.error or found.error:
        return what
    slack = moved(written.alone or written.text, point, expected)
    nans = "anywhere" if way == "eval, forward" else "infinite" if slopes else ""
    if difference(expected, found, exact, not slopes, Allowed(slack, nans)):
        return what
    counts["answers apart by rounding or infinite slopes"] += 1
    return ""


def _ways(written: Written, node: Any) -> Iterator[tuple[str, list[Answer]]]:
    for tier, way in HOT.items():
        with only(tier, SOON):
            yield way, alone(node, written.points, 2)
    for mode in ("auto",) if _has_own_rules(written) else ("auto", "forward"):
        yield f"eval, {mode}", evaluated(node, written.points[:1], mode)
    whole = parsed(written.text) if written.alone else None
    for tier, heated in ({INTERPRETED: ""} | HOT).items():
        with only(tier, SOON):
            yield f"rows {heated}".strip(), by_rows(node, written.points)
            if whole is not None:
                yield f"vmap {heated}".strip(), mapped(whole, len(written.points))


def _has_own_rules(written: Written) -> bool:
    """Whether functions with rules of their own are called, of which forward mode runs the
    bodies."""
    return (
        any(len(re.findall(rf"\b{name}\b", written.text)) > 1 for name in ("ruled", "ruled2"))
        or "lib.ruled" in written.text
    )


def _allowed(single: list[Answer], way: str) -> list[Answer]:
    """What the rows must give: in `vmap` the error of the first that has one, as it is one value
    for all."""
    if not way.startswith("vmap"):
        return single
    failing = [answer for answer in single if answer.error]
    values = [
        Answer({name: v for name, v in answer.values.items() if name.startswith("result")})
        for answer in single
    ]
    return [failing[0]] * len(single) if failing else values
