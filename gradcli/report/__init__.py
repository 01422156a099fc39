"""How answers look: one file a format, each with a function `render(evaluations, style)`.

A format's file is imported when it is asked for. What several formats need is in `values.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..diagnostics import printable
from .style import PLAIN
from .style import Style as Style

if TYPE_CHECKING:
    from ..tasks.batch.summary import Summary
    from ..tasks.check.results import Check
    from ..tasks.evaluation import Evaluation
    from ..tidy.findings import Linted

FORMATS = {
    "text": "aligned lines, for people",
    "json": "one object, or an array of them for several files",
    "jsonl": "one object a line, a line a file",
    "csv": "rows file,output,wrt,index,value",
    "npz": "NumPy arrays under `f`, `df/dx`, `d2f/dx2`",
    "parquet": "the rows of csv, with numbers as numbers",
}
CHECK_FORMATS = {
    "text": "a table, for people",
    "json": "one object, or an array of them for several files",
    "junit": "JUnit's XML, a test case a gradient",
    "github": "annotations for GitHub's workflows",
    "sarif": "SARIF 2.1.0",
    "html": "a page by itself, to look at, keep and print",
}


LINT_FORMATS = {
    "text": "each finding with its line, for people",
    "json": "one object, or an array of them for several files",
    "junit": "JUnit's XML, a test case a finding",
    "github": "annotations for GitHub's workflows",
    "sarif": "SARIF 2.1.0",
}


def render(format: str, evaluations: Sequence[Evaluation], style: Style = PLAIN) -> str | bytes:
    """The answer in one of FORMATS."""
    module = importlib.import_module(f".{format}", __name__)
    return cast("str | bytes", module.render(evaluations, style))


def render_checks(format: str, checks: Sequence[Check], style: Style = PLAIN) -> str:
    """The answer of `check` in one of CHECK_FORMATS."""
    module = importlib.import_module(f".check_{format}", __name__)
    return cast("str", module.render(checks, style))


def render_lint(format: str, linted: Sequence[Linted], style: Style = PLAIN) -> str:
    """The answer of `lint` in one of LINT_FORMATS."""
    from .lint import RENDERERS

    return RENDERERS[format](linted, style)


def summary_of_checks(checks: Sequence[Check]) -> tuple[str, str]:
    """What share was proved, and how many passed and failed: `12 passed, 0 failed, 1 skipped`."""
    from .checks import proved, summary

    return proved(checks), summary(checks)


def statistics(evaluation: Evaluation) -> list[str]:
    """What `--verbose` says about a run: what was computed, and how long it took."""
    gradients = sum(map(len, evaluation.gradients.values()))
    line = (
        f"{printable(evaluation.file)}: {_count(len(evaluation.outputs), 'output')}, "
        f"{_count(gradients, 'gradient')}"
    )
    if gradients:
        line += f" in {evaluation.mode} mode"
    for noun, table in (("Jacobian", evaluation.jacobians), ("Hessian", evaluation.hessians)):
        if table:
            line += f", {_count(sum(map(len, table.values())), noun)}"
    passed = sum(e.passed for e in evaluation.expectations)
    if evaluation.expectations:
        line += f", {passed} of {_count(len(evaluation.expectations), 'expectation')} held"
    times = sorted(evaluation.timings)
    if len(times) == 1:
        line += f"; {duration(times[0])}"
    elif times:
        line += (
            f"; {len(times)} runs, best {duration(times[0])}, median "
            f"{duration(times[len(times) // 2])}"
        )
    return [line]


def duration(seconds: float) -> str:
    """`12.3 µs`, `4.56 ms`, `7.89 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def batch_line(summary: Summary, rejects: str) -> str:
    """What came of a batch, for people, in one line."""
    from .batch import line

    return line(summary, rejects)


def batch_answer(file: str, values: Mapping[str, Any], format: str, style: Style = PLAIN) -> str:
    """A reduction as text or JSON, as `eval` tells an answer."""
    from .batch import as_evaluation

    return cast("str", render(format, [as_evaluation(file, values)], style))


def batch_json(summary: Summary) -> str:
    """The same as JSON."""
    from .batch import as_json

    return as_json(summary)


def batch_statistics(summary: Summary) -> str:
    """What `--verbose` says about a batch."""
    from .batch import statistics

    return statistics(summary)
