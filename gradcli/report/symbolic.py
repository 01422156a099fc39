"""The answers of `symbolic`: lines `f = …` and `∂f/∂x = …`, code, or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import printable
from ..naming import on_screen, operand
from .json import document
from .text import show_form

if TYPE_CHECKING:
    from ..tasks.forms import Symbolic

FORMATS = ("text", "json")


def render(format: str, answers: Sequence[Symbolic]) -> str:
    """The answers in one of FORMATS."""
    if format == "json":
        return document(map(as_object, answers))
    parts = []
    for answer in answers:
        text = answer.code or "".join(_rows(answer))
        parts.append(
            f"{printable(answer.file)}:\n{text}"
            if len(answers) > 1 and text and not answer.code
            else text
        )
    return "\n".join(part for part in parts if part)


def as_object(answer: Symbolic) -> dict[str, Any]:
    """The answer as JSON has it. Derivatives of a higher order than the first are under names such
    as `x,z`."""
    forms = {}
    for of, value in answer.values.items():
        rows = answer.derivatives.get(of, {})
        forms[of] = {
            "value": value,
            "gradients": {by[0]: form for by, form in rows.items() if len(by) == 1},
        }
        if any(len(by) > 1 for by in rows):
            forms[of]["derivatives"] = {
                ",".join(by): form for by, form in rows.items() if len(by) > 1
            }
    entry: dict[str, Any] = {"file": answer.file, "to": answer.to, "closed_forms": forms}
    if answer.code:
        entry["code"] = answer.code
    return {**entry, "diagnostics": [d.as_json() for d in answer.diagnostics]}


def _rows(answer: Symbolic) -> Iterator[str]:
    for of, value in answer.values.items():
        yield _row(answer.to, printable(operand(of)), value)
        for by, form in answer.derivatives.get(of, {}).items():
            yield _row(answer.to, printable(on_screen(of, by, of in answer.summed)), form)


def _row(to: str, label: str, form: Any) -> str:
    if to == "pretty":
        return (
            f"{label} =\n"
            + "".join(f"    {line}".rstrip() + "\n" for line in str(form).split("\n"))
            + "\n"
        )
    return f"{label} = {show_form(form)}\n"
