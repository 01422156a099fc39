"""`--format json`: one object, or an array of objects where there are several files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .style import Style
from .values import plain, shape_and_dtype

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation


def render(evaluations: Sequence[Evaluation], style: Style) -> str:
    return document(map(as_object, evaluations))


def as_object(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as the JSON formats print it."""
    entry: dict[str, Any] = {
        "file": evaluation.file,
        "outputs": {name: _output(value) for name, value in evaluation.outputs.items()},
        "gradients": _tables(evaluation.gradients),
        "jacobians": _tables(evaluation.jacobians),
        "hessians": _tables(evaluation.hessians),
        "closed_forms": evaluation.closed_forms,
        "printed": evaluation.printed,
        "printed_values": [plain(values) for values in evaluation.printed_values],
        "expectations": [
            {"line": e.line, "passed": e.passed, "message": e.message}
            for e in evaluation.expectations
        ],
        "diagnostics": [d.as_json() for d in evaluation.diagnostics],
    }
    if evaluation.notes:
        entry["notes"] = evaluation.notes
    if len(evaluation.timings) > 1:
        entry["timings"] = evaluation.timings
    return entry


def document(entries: Iterable[Mapping[str, Any]]) -> str:
    """One object, or an array of several. Each key has a line: that is readable, and a long array
    stays on its line."""
    objects = [
        "{" + ",\n ".join(f"{dumps(key)}: {dumps(value)}" for key, value in entry.items()) + "}"
        for entry in entries
    ]
    return (objects[0] if len(objects) == 1 else "[" + ",\n".join(objects) + "]") + "\n"


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _output(value: Any) -> dict[str, Any]:
    facts = shape_and_dtype(value)
    return (
        {"value": plain(value), "shape": facts[0], "dtype": facts[1]}
        if facts
        else {"value": plain(value)}
    )


def _tables(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        output: {name: plain(value) for name, value in row.items()}
        for output, row in tables.items()
    }
