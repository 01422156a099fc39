"""`check --format html`: a page to look at, keep, print and send: what came of each gradient, why,
and where in the program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from ..diagnostics import shorten_calls
from ..naming import operand
from .check_html_style import STYLE
from .check_rows import (
    Row,
    decision_said,
    held,
    methods_of,
    remarks,
    rows,
    slopes_said,
    valid_said,
)
from .checks import METHODS, accused, failures, proved, summary
from .listing import Note, excerpt, listing
from .page import document, tag
from .small_plot import small_plot
from .style import Style

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic, Source, Span
    from ..tasks.check.results import Check, Kink

_KINDS = {
    "verified": "good",
    "kink": "doubt",
    "allowed": "doubt",
    "undecided": "doubt",
    "nonfinite": "bad",
    "wrong": "bad",
    "agree": "good",
    "disagree": "bad",
    "inconclusive": "doubt",
    "skipped": "faint",
}
_MARKS = {"good": "✓", "bad": "✗", "doubt": "?"}


def render(checks: Sequence[Check], style: Style) -> str:
    counts = summary(checks)
    names = ", ".join(check.file for check in checks[:3]) + ("…" if len(checks) > 3 else "")
    main = tag(
        "main",
        tag("h1", "Gradient check"),
        tag("p", proved(checks)),
        tag("p", tag("strong", counts, class_=_kind_of(checks))),
        _contents(checks) if len(checks) > 1 else None,
        *(_file(check, k) for k, check in enumerate(checks, 1)),
    )
    return document(f"Gradient check: {counts} – {names}".rstrip(" –"), STYLE, main)


def _kind_of(checks: Sequence[Check]) -> str:
    return "bad" if any(check.exit_code for check in checks) else "good"


def _contents(checks: Sequence[Check]) -> Element:
    lines = []
    for k, check in enumerate(checks, 1):
        kind = _kind_of([check])
        lines.append(
            tag(
                "tr",
                tag("td", _badge(kind, ""), " ", tag("a", check.file, href=f"#file-{k}")),
                tag("td", summary([check])),
            )
        )
    head = tag("thead", tag("tr", tag("th", "Program"), tag("th", "Result")))
    return tag("table", head, tag("tbody", *lines))


def _badge(kind: str, text: str) -> Element:
    return tag("span", f"{_MARKS.get(kind, '')} {text}".strip(), class_=kind)


def _file(check: Check, number: int) -> Element:
    said = [*remarks(check), *([held(check)] if check.expectations else [])]
    problems = [*check.diagnostics, *failures(check)]
    return tag(
        "section",
        tag("h2", check.file),
        tag("p", summary([check]), class_=_kind_of([check])),
        *map(_problem, problems),
        *_gradients(rows(check)),
        tag("ul", *(tag("li", line) for line in said)) if said else None,
        *_kinks(check.kinks),
        *_path(check),
        id=f"file-{number}",
    )


# ---- what failed ---------------------------------------------------------------------------------


def _problem(problem: Diagnostic) -> Element:
    kind = "bad" if problem.severity == "error" else "doubt"
    calls = [str(call) for call in shorten_calls(problem.calls)]
    return tag(
        "div",
        tag(
            "p", tag("strong", f"{problem.severity} {problem.code}: ", class_=kind), problem.message
        ),
        *([tag("p", tag("code", str(problem.span)), class_="faint")] if problem.span else []),
        excerpt(problem.span) if problem.span else None,
        tag("p", problem.label) if problem.label else None,
        tag("p", tag("strong", "Help: "), problem.help) if problem.help else None,
        *(tag("p", call, class_="faint") for call in calls),
        class_=f"problem {problem.severity}",
    )


# ---- gradients -----------------------------------------------------------------------------------


def _gradients(rows: list[Row]) -> Iterator[Element]:
    if not rows:
        return
    methods = methods_of(rows)
    heads = ["Gradient", "Verdict", "Reverse mode", *(METHODS[m].capitalize() for m in methods)]
    heads = [head.replace("Sympy", "SymPy") for head in heads]
    lines = []
    for row in rows:
        kind = _KINDS[row.verdict]
        cells = [
            tag("td", row.cell(m), data_label=head, class_=_number(row, m))
            for m, head in zip(methods, heads[3:], strict=True)
        ]
        lines.append(
            tag(
                "tr",
                tag("th", tag("code", row.label), scope="row"),
                tag("td", _badge(kind, _words(row)), data_label="Verdict"),
                tag("td", row.ours, data_label="Reverse mode", class_="number"),
                *cells,
            )
        )
    yield tag("h3", "Gradients")
    head = tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads)))
    yield tag("table", head, tag("tbody", *lines))


def _words(row: Row) -> str:
    return f"{row.proof} verified" if row.proof.endswith("digits") else row.proof or row.verdict


def _number(row: Row, method: str) -> str:
    return f"number {_KINDS.get(row.verdict_of(method), '')}".rstrip()


# ---- kinks ---------------------------------------------------------------------------------------


def _kinks(kinks: Sequence[Kink]) -> Iterator[Element]:
    """A plot for each variable that a kink is met along, with the operations that make it."""
    if not kinks:
        return
    together = groupby(kinks, key=lambda kink: (kink.output, kink.variable))
    yield tag("h3", "Kinks")
    yield tag("div", *(_kink(list(found)) for _, found in together), class_="plots")


def _kink(kinks: Sequence[Kink]) -> Element:
    first = kinks[0]
    places = "; ".join(f"`{k.operation}` in line {k.span.line} (at {k.operand})" for k in kinks)
    return tag(
        "figure",
        small_plot(first.curve, first.output, first.variable),
        tag("figcaption", f"{operand(first.output)} has a kink: {places}. {slopes_said(first)}."),
    )


# ---- the path ------------------------------------------------------------------------------------


def _path(check: Check) -> Iterator[Element]:
    """The programs with what was computed, and what there is to say line by line."""
    computed: dict[Source, dict[int, int]] = defaultdict(dict)
    for span, times in check.path.computed.items():
        lines = computed[span.source]
        lines[span.line] = max(times, lines.get(span.line, 0))
    notes: dict[Source, dict[int, list[Note]]] = defaultdict(lambda: defaultdict(list))
    for span, note in _notes(check):
        notes[span.source][span.line].append(note)
    sources = [s for s in {**notes, **computed} if s in notes or not s.is_library]
    if not sources:
        return
    yield tag("h3", "Path")
    yield tag("p", "A bar marks lines whose operations the outputs depend on.", class_="faint")
    for source in sorted(sources, key=lambda s: s.name != check.file):
        if source.name != check.file:
            yield tag("p", tag("code", source.name))
        yield listing(source, notes.get(source, {}), computed.get(source, {}))
    if valid := list(valid_said(check.path)):
        yield tag("ul", *(tag("li", line) for line in valid))


def _notes(check: Check) -> Iterator[tuple[Span, Note]]:
    for blamed in check.blamed:
        yield blamed.span, Note(accused(blamed), "bad")
    for e in check.expectations:
        if e.diagnostic is not None and e.diagnostic.span is not None:
            yield e.diagnostic.span, Note(e.message, "bad")
    for kink in check.kinks:
        yield kink.span, Note(f"kink of `{kink.operation}`: {slopes_said(kink)}", "doubt")
    for branch in check.path.branches:
        yield branch.span, Note(f"`{branch.span.brief}` {decision_said(branch)}")
