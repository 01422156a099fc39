"""How `diff` answers: as text, a line a value and a gradient; and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..diagnostics import printable
from ..naming import on_screen
from .json import document
from .style import Style
from .text import show
from .values import plain

if TYPE_CHECKING:
    from ..tasks.comparison import Compared, Comparison, Worst

_BAD, _NAME, _OFF = "\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"
_EXACT = 10**6  # ulps: a larger distance is rounded
_LONG = 60  # characters of a value


def render(format: str, found: Comparison, style: Style) -> str:
    """The answer as "text" or "json"."""
    if format == "json":
        return document([_as_object(found)])
    return "".join(line + "\n" for line in _lines(found, style))


# ---- text ----------------------------------------------------------------------------------------


def _lines(found: Comparison, style: Style) -> Iterator[str]:
    labels = [printable(_label(row)) for row in found.compared]
    width = max(map(len, labels), default=0) + 4
    for label, row in zip(labels, found.compared, strict=True):
        name = f"{_NAME}{label}{_OFF}" if style.color else label
        said = _said(row)
        if not row.is_equal and style.color:
            said = f"{_BAD}{said}{_OFF}"
        yield name + " " * (width - len(label)) + said
    for file, only, which in zip((found.old, found.new), found.only, ("OLD", "NEW"), strict=True):
        for kind, names in (("output", only.outputs), ("variable", only.variables)):
            for name in names:
                yield f"only {which} ({printable(file)}) has the {kind} `{printable(name)}`"
    if found.compared or found.differences:
        yield _summary(found)


def _label(row: Compared) -> str:
    return on_screen(row.of, (row.wrt,), row.summed) if row.wrt else row.of


def _said(row: Compared) -> str:
    worst = row.worst
    if worst is None or (row.is_equal and not worst.ulps):
        return "equal"
    if row.is_equal:
        return f"within tolerance, at most {_ulps(worst)}{_at(worst)}"
    apart = worst.what or f"{_show(worst.old)} became {_show(worst.new)}"
    if worst.ulps is not None:
        apart += f", {_ulps(worst)}"
    place = _at(worst)
    if row.elements > 1:
        most = ", most" if place else ""
        return f"{row.differing} of {row.elements} elements differ{most}{place}: {apart}"
    return f"{place.lstrip()}: {apart}" if place else apart


def _at(worst: Worst) -> str:
    """Where an element is."""
    place = f" at {printable(worst.place)}" if worst.place else ""
    if worst.point:
        named = [f"{printable(name)} = {_show(v)}" for name, v in worst.inputs.items()]
        place += f" at point {worst.point} ({', '.join(named[:3])}{', …' * (len(named) > 3)})"
    return place


def _ulps(worst: Worst) -> str:
    ulps = worst.ulps or 0
    if math.isinf(ulps):
        return "not both finite"
    return "1 ulp" if ulps == 1 else f"{ulps if ulps < _EXACT else format(ulps, '.2g')} ulps"


def _show(value: Any) -> str:
    """A value with all its digits, in one line."""
    text = repr(value) if type(value) is float else show(value, depth=1)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _summary(found: Comparison) -> str:
    equal = sum(row.is_equal for row in found.compared)
    points = (
        f" at the declared values and {found.points} random point{'s' * (found.points != 1)}"
        if found.points
        else ""
    )
    differ = found.differences
    return f"{equal} equal, {differ} differ{'s' * (differ == 1)}{points}"


# ---- JSON ----------------------------------------------------------------------------------------


def _as_object(found: Comparison) -> dict[str, Any]:
    return {
        "old": found.old,
        "new": found.new,
        "equal": not found.exit_code,
        "points": found.points,
        "compared": [_row(row) for row in found.compared],
        "only_old": {"outputs": found.only_old.outputs, "variables": found.only_old.variables},
        "only_new": {"outputs": found.only_new.outputs, "variables": found.only_new.variables},
        "notes": found.notes,
        "diagnostics": [d.as_json() for d in found.diagnostics],
    }


def _row(row: Compared) -> dict[str, Any]:
    return {
        "of": row.of,
        "wrt": row.wrt or None,
        "equal": row.is_equal,
        "elements": row.elements,
        "differing": row.differing,
        "worst": _worst(row.worst) if row.worst is not None else None,
    }


def _worst(worst: Worst) -> dict[str, Any]:
    return {
        "place": worst.place,
        "old": plain(worst.old),
        "new": plain(worst.new),
        "ulps": plain(worst.ulps),
        "point": worst.point,
        "inputs": plain(dict(worst.inputs)),
        "message": worst.what,
    }
