"""An evaluation as a table in HTML, for notebooks: in their own style, light or dark."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from ..diagnostics import render
from .page import fragment, tag
from .text import rows_of, show, show_form

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation

_LEFT = "text-align: left"


def evaluation_html(evaluation: Evaluation) -> str:
    """A row an output or derivative, and below them what there is to say."""
    rows: list[Element] = []
    for label, value in rows_of(evaluation):
        if label:
            head = tag("th", tag("code", label), style=_LEFT)
            rows.append(tag("tr", head, tag("td", _lines(show(value)), style=_LEFT)))
        else:  # a closed form, of what the row above has
            rows[-1][-1].append(_lines(f"= {show_form(value)}"))
    said = [*evaluation.notes]
    if evaluation.expectations:
        held = sum(e.passed for e in evaluation.expectations)
        said.insert(0, f"{held} of {len(evaluation.expectations)} expectations held")
    return fragment(
        tag(
            "div",
            tag("table", tag("tbody", *rows)) if rows else None,
            *(tag("p", line) for line in said),
            *(_lines(render(diagnostic)) for diagnostic in evaluation.diagnostics),
        )
    )


def _lines(text: str) -> Element:
    return tag("pre", *_broken(text), style="margin: 0")


def _broken(text: str) -> list[Element | str]:
    first, *more = text.split("\n")
    return [first, *(part for line in more for part in (tag("br"), line))]
