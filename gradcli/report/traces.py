"""How `trace` answers: as text, an operation a line, as JSON, and as graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..diagnostics import printable, shortened
from ..tasks.traced import Entry, Loop, Operation, Traced
from .fitting import fit, widths_of
from .json import dumps
from .style import Style
from .summaries import DIM, NAME, brief, number, painter, place, where
from .trace_graphs import dot, mermaid
from .trace_svg import svg

HEAD = ("", "line", "operation", "value", "partials", "cotangent", "bytes", "source")
BYTES = 6
_ELASTIC = (7, 2)  # columns that become shorter on a narrow screen: source, operation
_LEAST_WANTED = (7, BYTES, 4, 1, 5)  # and those that a narrower one doesn't show, these first
_INDENT = "│ "


def render(format: str, answers: Sequence[Traced], style: Style) -> str:
    """The answers as "text", "json", "dot", "mermaid" or "svg"; what failed before it recorded
    anything is in the JSON only."""
    if format == "json":
        objects = [_answer(traced) for traced in answers]
        return (objects[0] if len(objects) == 1 else "[" + ",\n".join(objects) + "]") + "\n"
    answers = [t for t in answers if t.entries or t.exit_code == 0]
    draw = {"dot": dot, "mermaid": mermaid, "svg": svg}.get(format)
    if draw is not None:
        return "".join(draw(traced, style) for traced in answers)
    return text(answers, style)


# ---- text ----------------------------------------------------------------------------------------


def text(answers: Sequence[Traced], style: Style) -> str:
    """A table for each program, with its loops folded, and how much there is in all."""
    parts = []
    for traced in answers:
        lines = [f"{printable(traced.file)}:"] if len(answers) > 1 else []
        lines += _table(traced, style)
        parts.append("".join(line + "\n" for line in lines))
    return "\n".join(parts)


def _table(traced: Traced, style: Style) -> Iterator[str]:
    paint = painter(style)
    rows: list[tuple[list[str], str]] = [([*HEAD], DIM)]
    for source in traced.sources:
        shown = [brief(v, style) for v in (source.value, source.cotangent)]
        cells = [
            printable(source.name),
            place(source.span, traced.file),
            "",
            shown[0],
            "",
            shown[1],
            "",
            printable(source.span.brief if source.span else ""),
        ]
        rows.append((cells, NAME))
    rows += _rows(traced, traced.entries, style, "")
    whole = [row for row, _ in rows if len(row) > 2]
    columns, fitted = _fitted(whole, style.width)
    widths, cells_of = widths_of(fitted), iter(fitted)
    for row, code in rows:
        if len(row) == 2:  # a loop
            yield f"{' ' * widths[0]}  {row[0].rjust(widths[1])}  {paint(DIM, row[1])}"
            continue
        cells = [
            cell.rjust(width) if k in (0, 1, BYTES) else cell.ljust(width)
            for k, cell, width in zip(columns, next(cells_of), widths, strict=True)
        ]
        yield paint(code, "  ".join(cells).rstrip())
    yield paint(DIM, _count(traced.operations, "operation", traced.size))


def _fitted(rows: list[list[str]], width: int | None) -> tuple[list[int], list[list[str]]]:
    """The columns that have room, and the rows with these: shorter first, then without some."""
    columns = list(range(len(HEAD)))
    for omitted in (None, *_LEAST_WANTED):
        columns = [k for k in columns if k != omitted]
        picked = [[row[k] for k in columns] for row in rows]
        elastic = [columns.index(k) for k in _ELASTIC if k in columns]
        if (fitted := fit(picked, width, elastic)) is not None:
            return columns, fitted
    return columns, picked


def _rows(
    traced: Traced, entries: Sequence[Entry], style: Style, indent: str
) -> Iterator[tuple[list[str], str]]:
    for entry in entries:
        if isinstance(entry, Loop):
            count = _count(entry.operations, "operation", entry.size)
            times = "1 iteration" if entry.iterations == 1 else f"{entry.iterations:,} iterations"
            told = f"{indent}{printable(entry.text)}: {times}, {count}; the last one:"
            yield [place(entry.span, traced.file), told], ""
            yield from _rows(traced, entry.body, style, indent + _INDENT)
            continue
        partials = ", ".join(brief(p, style) or "·" for p in entry.partials)
        yield (
            [
                f"%{entry.number}",
                place(entry.span, traced.file),
                indent + shortened(call(traced, entry)),
                brief(entry.value, style) if entry.shape is not None else "several results",
                shortened(partials) if entry.active else "",
                brief(entry.cotangent, style),
                f"{entry.size:,}",
                printable(entry.text),
            ],
            "" if entry.active else DIM,
        )


def call(traced: Traced, entry: Operation) -> str:
    """An operation as a call: `mul(%3, x)`, with what it is a derivative of."""
    names = {source.number: source.name for source in traced.sources}
    operands = [
        operand if isinstance(operand, str) else _name(traced, names, operand)
        for operand in entry.operands
    ]
    of = f" in the derivative of {entry.of}" if entry.of else ""
    return printable(f"{entry.op}({', '.join(operands)}){of}")


def _name(traced: Traced, names: dict[int, str], n: int) -> str:
    if n in traced.earlier:
        return f"earlier %{traced.earlier[n]}"
    return names.get(n) or (f"%{n}" if n >= 0 else f"v{-n}")


def _count(n: int, noun: str, size: int) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}, {size:,} bytes"


# ---- JSON ----------------------------------------------------------------------------------------


def _answer(traced: Traced) -> str:
    """One object, with an operation a line."""
    operations = ",\n  ".join(dumps(_as_object(traced, entry)) for entry in traced.entries)
    sources = [
        {
            "number": s.number,
            "name": s.name,
            **where(s.span),
            "value": number(s.value),
            "cotangent": number(s.cotangent),
        }
        for s in traced.sources
    ]
    rest = {
        "targets": traced.targets,
        "earlier": {str(n): m for n, m in traced.earlier.items()},
        "count": traced.operations,
        "bytes": traced.size,
        "diagnostics": [d.as_json() for d in traced.diagnostics],
    }
    return (
        f'{{"file": {dumps(traced.file)},\n "sources": {dumps(sources)},\n '
        f'"operations": [{operations}],\n {dumps(rest)[1:-1]}}}'
    )


def _as_object(traced: Traced, entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Loop):
        return {
            "loop": entry.text,
            **where(entry.span),
            "iterations": entry.iterations,
            "count": entry.operations,
            "bytes": entry.size,
            "last": [_as_object(traced, inner) for inner in entry.body],
        }
    return {
        "number": entry.number,
        "op": entry.op,
        "of": entry.of or None,
        "call": call(traced, entry),
        "inputs": list(entry.inputs),
        **where(entry.span),
        "calls": [{"function": call.function, **where(call.span)} for call in entry.calls],
        "text": entry.text,
        "value": number(entry.value),
        "shape": None if entry.shape is None else list(entry.shape),
        "bytes": entry.size,
        "partials": [number(partial) for partial in entry.partials],
        "cotangent": number(entry.cotangent),
        "active": entry.active,
    }
