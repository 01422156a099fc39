"""How `why` answers: as text, the chain as a table with the operation at fault marked; and as
JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import printable, shorten_calls
from .fitting import fit, shortened, widths_of, wrapped
from .json import dumps
from .style import Style
from .summaries import BAD, DIM, NAME, brief, number, one_line, painter, place, where
from .values import plain

if TYPE_CHECKING:
    from ..tasks.explanations import Answer, Explanation, Step

FORMATS = ("text", "json")
_MARGIN = "    "  # of a table, with the mark in it


def render(format: str, answers: Sequence[Answer], style: Style) -> str:
    """The answers in one of FORMATS."""
    return text(answers, style) if format == "text" else json(answers)


# ---- text ----------------------------------------------------------------------------------------


def text(answers: Sequence[Answer], style: Style) -> str:
    parts = []
    for answer in answers:
        blocks = [
            "".join(line + "\n" for line in _lines(e, answer.file, style))
            for e in answer.explanations
        ]
        if len(answers) > 1:
            blocks.insert(0, f"{printable(answer.file)}:\n")
        if not blocks and not any(d.severity == "error" for d in answer.diagnostics):
            blocks = [
                (
                    "nothing to explain: no output has a gradient unasked; name what to "
                    "differentiate with --of and --wrt\n"
                )
            ]
        parts.append("\n".join(blocks))
    return "\n".join(part for part in parts if part)


def _lines(e: Explanation, file: str, style: Style) -> Iterator[str]:
    paint = painter(style)
    of = printable(_of(e)) or (f"what line {e.asked.line} asks for" if e.asked else "the target")
    wrt = printable(e.wrt) or "its source"
    value = "none" if e.status == "none" else one_line(e.gradient, style)
    told = f" ({e.reason})" if e.reason else ""
    title = f"{of} with respect to {wrt}"
    bad = BAD if e.reason else ""
    if style.width is None or len(f"{title}: {value}{told}") <= style.width:
        yield f"{paint(NAME, title)}: {paint(bad, value)}{told}"
    else:
        yield from (paint(NAME, line) for line in wrapped(f"{title}:", style.width))
        yield from (paint(bad, line) for line in wrapped(value + told, style.width, "    ", ""))
    if e.message:
        yield from wrapped(printable(e.message), style.width, "  ", "")
    if e.span is not None:
        yield f"  --> {e.span}"
    for call in shorten_calls(e.calls):
        yield from wrapped(str(call), style.width, "      ")
    if e.origin is not None and e.origin != e.span:
        told = f"{printable(e.wrt) or 'the source'} comes from {e.origin}"
        yield from wrapped(told, style.width, "  ")
    if e.steps:
        yield ""
        yield from _table(e, file, style, paint)
    if e.ways > 1:
        name = printable(e.wrt) or "the source"
        told = f"this is the way that gives most; {name} is read in {e.ways} places"
        yield from wrapped(told, style.width, "  ")
    if e.help:
        yield from wrapped(f"fix: {printable(e.help)}", style.width, "  ")
    if e.reason:
        told = f"`gradcli explain {e.reason}` tells more"
        yield from (paint(DIM, line) for line in wrapped(told, style.width, "  "))


def _of(e: Explanation) -> str:
    return f"Σ{e.of}" if e.of and e.summed else e.of


def _table(e: Explanation, file: str, style: Style, paint: Any) -> Iterator[str]:
    """A line a step: where, what, its value, the partial, and the gradient by it."""
    connected = e.status != "none"
    rows = [
        [
            "line",
            "operation",
            "value",
            *(["partial", f"∂{printable(_of(e))}/∂it"] if connected else []),
        ]
    ]
    marks = [""]
    for step in e.steps:
        if step.skipped:
            rows.append([f"… {step.skipped} more operations …"])
            marks.append("")
        numbers = [step.value, step.partial, step.gradient] if connected else [step.value]
        rows.append(
            [place(step.span, file), printable(step.text), *[brief(v, style) for v in numbers]]
        )
        marks.append(">" if step.breaks else "")
    whole = [row for row in rows if len(row) > 1]
    fitted = fit(whole, None if style.width is None else style.width - len(_MARGIN), (1,))
    if fitted is None:
        yield from _stacked(rows, marks, style, paint)
        return
    widths, cells_of = widths_of(fitted), iter(fitted)
    for mark, row in zip(marks, rows, strict=True):
        if len(row) == 1:
            yield f"  {' ' * (widths[0] + 4)}{row[0]}"
            continue
        cells = next(cells_of)
        cells = [
            cells[0].rjust(widths[0]),
            *[cell.ljust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)],
        ]
        line = f"  {mark or ' '} {'  '.join(cells)}".rstrip()
        yield paint(BAD, line) if mark else paint(DIM, line) if row is rows[0] else line


def _stacked(
    rows: Sequence[Sequence[str]], marks: Sequence[str], style: Style, paint: Any
) -> Iterator[str]:
    """The same with two lines a step: the operation, and below it its numbers with what they
    are."""
    head, *steps = rows
    for mark, row in zip(marks[1:], steps, strict=True):
        if len(row) == 1:
            yield from wrapped(row[0], style.width, _MARGIN)
            continue
        line = shortened(f"  {mark or ' '} {row[0]}  {row[1]}", style.width or len(row[1]))
        yield paint(BAD, line) if mark else line
        said = ", ".join(
            f"{name} {cell}" for name, cell in zip(head[2:], row[2:], strict=True) if cell
        )
        yield from wrapped(said, style.width, _MARGIN + "  ", "")


# ---- JSON ----------------------------------------------------------------------------------------


def json(answers: Sequence[Answer]) -> str:
    """One object, or an array of them for several files; an explanation a line."""
    objects = [_answer(answer) for answer in answers]
    return (objects[0] if len(objects) == 1 else "[" + ",\n".join(objects) + "]") + "\n"


def _answer(answer: Answer) -> str:
    explanations = ",\n  ".join(dumps(_as_object(e)) for e in answer.explanations)
    diagnostics = dumps([d.as_json() for d in answer.diagnostics])
    return (
        f'{{"file": {dumps(answer.file)},\n "explanations": [{explanations}],\n "diagnostics": '
        f"{diagnostics}}}"
    )


def _as_object(e: Explanation) -> dict[str, Any]:
    return {
        "of": e.of,
        "wrt": e.wrt,
        "status": e.status,
        "gradient": plain(e.gradient),
        "reason": e.reason or None,
        "message": e.message,
        **where(e.span),
        "help": e.help,
        "calls": [{"function": call.function, **where(call.span)} for call in e.calls],
        "origin": where(e.origin) if e.origin else None,
        "asked": where(e.asked) if e.asked else None,
        "ways": e.ways,
        "length": e.length,
        "steps": [_step(step) for step in e.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "text": step.text,
        "op": step.op,
        **where(step.span),
        "value": number(step.value),
        "partial": number(step.partial),
        "gradient": number(step.gradient),
        "breaks": step.breaks,
        "skipped": step.skipped,
    }
