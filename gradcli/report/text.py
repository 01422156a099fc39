"""`--format text`: what was printed, then outputs and their derivatives, aligned.

    f          24.2
    ∂f/∂x      [-215.6  -88.]
    ∂²f/∂x²    [[1330.  480.]
                [ 480.  200.]]

Labels are the names of the program. Of an array y, `∂y/∂x` is the Jacobian, `∂Σy/∂x` the gradient
of the sum, and `∂²Σy/∂x∂z` a mixed block of its Hessian.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import printable, printable_lines
from ..naming import halves, on_screen
from .fitting import wrapped
from .style import PLAIN, Style
from .values import MAX_DEPTH, is_array, is_sparse, nonfinite

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation

_GAP = 4  # spaces between the label column and the values
_WIDTH = 100  # of a line of an array, label included
_LEAST = 20  # of an array alone
_MANY = 100  # numbers: longer lists and arrays are shortened, but for --full
_EDGE = 3
_NAME, _OFF = "\x1b[1;36m", "\x1b[0m"


def plain_text(evaluation: Evaluation) -> str:
    """The values and derivatives of one evaluation, without what it printed."""
    return "\n".join(_table(list(rows_of(evaluation)), PLAIN))


def render(evaluations: Sequence[Evaluation], style: Style) -> str:
    parts = []
    for evaluation in evaluations:
        lines = [printable_lines(line) for line in evaluation.printed]
        lines += _table(list(rows_of(evaluation)), style)
        if len(evaluations) > 1:
            lines.insert(0, f"{printable(evaluation.file)}:")
        parts.append("".join(line + "\n" for line in lines))
    return "\n".join(part for part in parts if part)


def rows_of(evaluation: Evaluation) -> Iterator[tuple[str, Any]]:
    """Each output, and behind it its derivatives; behind a number its closed form, which has no
    label."""
    tables = evaluation.gradients, evaluation.jacobians, evaluation.hessians
    for output in dict.fromkeys(
        [*evaluation.outputs, *(output for table in tables for output in table)]
    ):
        forms = evaluation.closed_forms.get(output, {"gradients": {}})
        if output in evaluation.outputs:
            yield output, evaluation.outputs[output]
        if "value" in forms:
            yield "", forms["value"]
        summed = output in evaluation.summed
        gradients, jacobians, hessians = (table.get(output, {}) for table in tables)
        for name, value in gradients.items():
            yield on_screen(output, (name,), summed), value
            if forms["gradients"].get(name) is not None:
                yield "", forms["gradients"][name]
        for name, value in jacobians.items():
            if summed or name not in gradients:  # the Jacobian of a scalar is its gradient
                yield on_screen(output, (name,)), value
        for name, value in hessians.items():
            yield on_screen(output, halves(name), summed), value


def _table(rows: Sequence[tuple[str, Any]], style: Style) -> list[str]:
    rows = [(printable(label), value) for label, value in rows]
    column = max((len(label) for label, _ in rows), default=0) + _GAP
    room = style.width or column + _LEAST
    is_narrow = room < column + _LEAST  # so that values may stand below their labels
    column = _GAP if is_narrow else column
    lines: list[str] = []
    for label, value in rows:
        if not label:
            lines[-1] += f"    = {show_form(value)}"
            continue
        found = _lines(value, style, column)
        padded = f"{label}{' ' * _GAP}" if is_narrow else label.ljust(column)
        if is_narrow and (len(found) > 1 or len(padded) + len(found[0]) > room):
            found = ["", *found]
        lines.append((f"{_NAME}{padded}{_OFF}" if style.color else padded) + found[0])
        lines += [" " * column + line for line in found[1:]]
    return [line.rstrip() for line in lines]


def _lines(value: Any, style: Style, column: int) -> list[str]:
    """A value in lines beside a label that takes so many columns."""
    width = min(_WIDTH, style.width or _WIDTH) - column
    text = show(value, style.precision, width, full=style.full)
    if style.width is None or not isinstance(value, (list, tuple, dict)):
        return text.split("\n")
    return list(wrapped(text, max(width, _LEAST), hanging=" "))


# ---- values --------------------------------------------------------------------------------------


def show(
    value: Any,
    precision: int | None = None,
    width: int = _WIDTH,
    depth: int = 0,
    full: bool = False,
) -> str:
    """A value for people; inside a list or dict (`depth` of them) strings have quotes and arrays
    stay on one line. What is long is shortened with `…`, unless it is wanted in full."""
    if is_array(value):
        if value.shape:
            text = _array(value, precision, width, full)
            return re.sub(r"\s*\n\s*", " ", text) if depth else text
        value = value[()] if hasattr(value, "ndim") else value
        return number(value.item(), precision, str(value))
    if is_sparse(value) and not depth:
        return _entries(value, precision, full)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        entries = [
            f"{printable(str(key))}: {show(item, precision, width, depth + 1, full)}"
            for key, item in value.items()
        ]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, (list, tuple)):
        items = list(value)
        if len(items) > _MANY and not full:
            items = [*items[:_EDGE], ..., *items[-_EDGE:]]
        shown = [show(item, precision, width, depth + 1, full) for item in items]
        return f"[{', '.join(shown)}]"
    if isinstance(value, str):
        return f'"{printable(value)}"' if depth else printable(value)
    if value is None or value is ...:
        return "none" if value is None else "…"
    return number(value, precision)


def _entries(matrix: Any, precision: int | None, full: bool) -> str:
    """A sparse matrix: how large it is, and each entry with its row and column."""
    places = [
        f"({row}, {column})" for row, column in zip(matrix["rows"], matrix["cols"], strict=True)
    ]
    lines = [
        f"{place}  {show(item, precision)}"
        for place, item in zip(places, matrix["values"], strict=True)
    ]
    if len(lines) > _MANY and not full:
        lines = [*lines[:_EDGE], "…", *lines[-_EDGE:]]
    rows, columns = matrix["shape"]
    noun = "entry" if len(places) == 1 else "entries"
    return "\n".join([f"{rows} x {columns}, {len(places)} {noun}", *lines])


def number(value: Any, precision: int | None = None, shortest: str = "") -> str:
    """A bool, int, float or complex number. `shortest` is the shortest text that reads back as the
    same number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        imaginary = number(value.imag, precision)
        return (
            number(value.real, precision)
            + ("" if imaginary.startswith("-") else "+")
            + imaginary
            + "j"
        )
    if not isinstance(value, float):
        return str(value)
    if value - value != 0:
        return nonfinite(value)
    if precision is not None:
        return f"{value:.{precision}g}"
    shortest = shortest or repr(value)
    rounded = f"{value:.8e}" if "e" in shortest else f"{value:.8f}"
    if (
        0 < abs(value) < 1 and "e" not in shortest
    ):  # eight digits that mean something, not eight places
        rounded = f"{value:.8g}"
    if "e" in rounded:
        mantissa, exponent = rounded.split("e")
        rounded = mantissa.rstrip("0").rstrip(".") + "e" + exponent if "." in mantissa else rounded
    else:
        rounded = rounded.rstrip("0") if "." in rounded else rounded + "."
        rounded += "0" if rounded.endswith(".") else ""
    return rounded if len(rounded) < len(shortest) else shortest


def _array(value: Any, precision: int | None, width: int, full: bool) -> str:
    """As NumPy prints it, without the blank that it leaves for digits behind a last point."""
    import numpy as np

    threshold = sys.maxsize if full else _MANY
    options: dict[str, Any] = {"max_line_width": max(width, _LEAST), "separator": " "}
    options |= {"threshold": threshold, "edgeitems": _EDGE}
    if precision is not None:
        longest = 0

        def measure(x: Any) -> str:
            nonlocal longest
            text = number(x.item(), precision)
            longest = max(longest, len(text))
            return text

        np.array2string(value, formatter={"all": measure}, threshold=threshold)
        options["formatter"] = {"all": lambda x: number(x.item(), precision).rjust(longest)}
    text = np.array2string(value, **options)
    if value.dtype.kind == "b":
        text = text.replace(" True", " true").replace("[True", "[true").replace("False", "false")
    if value.size > threshold:
        text = text.replace("...", "…")
    return re.sub(r" +\]", "]", text)


def show_form(form: Any) -> str:
    """A closed form, or those in nested lists, in one line."""
    if isinstance(form, list):
        return f"[{', '.join(map(show_form, form))}]"
    if isinstance(form, dict):
        return (
            "{"
            + ", ".join(f"{printable(str(key))}: {show_form(item)}" for key, item in form.items())
            + "}"
        )
    return "none" if form is None else printable(str(form))
