"""The ways in which a program can be run for a row: alone, hot, among other rows, and by `vmap`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.api import Program
from gradcli.diagnostics import Diagnostic, GradcliError, Source
from gradcli.engine.compilation.compiled import Compiled
from gradcli.engine.execution import Execution
from gradcli.engine.row_runs import Answered, Failed, RowRuns
from gradcli.engine.values.lanes import Lanes
from gradcli.lang import program
from gradcli.naming import read_name
from gradcli.tasks.answer import prepare
from gradcli.tasks.batch.answers import ask
from gradcli.tasks.batch.kernels import Kernels
from gradcli.tasks.batch.plan import Plan
from gradcli.tasks.evaluation import Evaluation, Options
from gradcli.tasks.programs import parse_program

NAME = str(Path(__file__).with_name("program.tg"))  # no file, but what it imports lies beside it
OPTIONS = Options(mode="reverse")


class Answer(NamedTuple):
    """What a row gives: numbers, arrays, text and none by the name of a column, or its error: code,
    message and place."""

    values: dict[str, Any]
    error: str = ""


def parsed(text: str) -> program.Program:
    return parse_program(Source(NAME, text))


def alone(node: program.Program, points: list[dict[str, Any]], times: int = 1) -> list[Answer]:
    """Each point by itself, so many times by the same compiled program: the last answers."""
    compiled = prepare(node, OPTIONS, alone=True)
    for _ in range(times):
        answers = [_alone(node, compiled, _given(node, point)) for point in points]
    return answers


def _given(node: program.Program, point: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in point.items() if name in node.names}


def _alone(node: program.Program, compiled: Compiled, point: dict[str, Any]) -> Answer:
    try:
        found = ask(OPTIONS, Execution(compiled, point).execute())
        return Answer({_plain(name): value for name, value in found.items()})
    except Exception as error:  # whatever it is, it is what this way gives
        return Answer({}, _error(error))


def _error(error: Exception) -> str:
    if isinstance(error, GradcliError):
        return _told(error.diagnostics[0])
    return f"E900 ({type(error).__name__}: {str(error)[:60]})"


def _told(diagnostic: Diagnostic) -> str:
    """What an error says of a row, without which row it is."""
    message = _ROW.sub("", diagnostic.message)
    span = diagnostic.span
    place = span.source.text[span.start : span.end] if span is not None else ""
    return f"{diagnostic.code} {message} ({diagnostic.label}) at `{place}`"


_ROW = re.compile(r", in row \d+ of `vmap`")


def evaluated(node: program.Program, points: list[dict[str, Any]], mode: str) -> list[Answer]:
    """Each point by `eval`, in this mode."""
    runnable = Program(node, Options(mode=mode))
    answers = []
    for point in points:
        try:
            evaluation = runnable.run(_given(node, point))
        except Exception as error:
            answers.append(Answer({}, _error(error)))
            continue
        answers.append(answer(evaluation))
    return answers


def answer(evaluation: Evaluation) -> Answer:
    """What an evaluation gave, by the names of columns."""
    named = dict(evaluation.outputs)
    named.update(
        {f"d{of}/d{by}": v for of, row in evaluation.gradients.items() for by, v in row.items()}
    )
    return Answer(
        {key: part for name, value in named.items() for key, part in flattened(name, value).items()}
    )


def flattened(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        shapes = {
            np.shape(v) if not isinstance(v, list | dict) and v is not None else None for v in value
        }
        if len(shapes) == 1 and None not in shapes:
            return {name: np.stack([np.asarray(v) for v in value])}
        value = dict(enumerate(value))
    if isinstance(value, dict):
        return {
            key: part
            for inner, v in value.items()
            for key, part in flattened(f"{name}.{inner}", v).items()
        }
    return {name: value}


def by_rows(node: program.Program, points: list[dict[str, Any]]) -> list[Answer]:
    """All points as rows of data."""
    try:
        return _by_rows(node, points)
    except Exception as error:
        return [Answer({}, _error(error))] * len(points)


def _by_rows(node: program.Program, points: list[dict[str, Any]]) -> list[Answer]:
    columns = {
        name: np.array([point[name] for point in points]) for name in _given(node, points[0])
    }
    kernels = Kernels(Plan(node.source, OPTIONS), node)
    compiled = prepare(node, OPTIONS)
    runs = RowRuns(compiled, {}, columns, partial(ask, OPTIONS), kernels.compute)
    answers: dict[int, Answer] = {}
    for found in runs.answers(len(points)):
        rows = found.rows.tolist()
        if isinstance(found, Failed):
            told = [Answer({}, _told(first)) for first, *_ in found.diagnostics]
            answers.update(zip(rows, told, strict=True))
            continue
        for k, row in enumerate(rows):
            if found.good is None or found.good[k]:
                answers[row] = Answer(
                    {_plain(name): _of_row(found, value, k) for name, value in found.answer.items()}
                )
    return [answers[k] for k in range(len(points))]


def _plain(name: str) -> str:
    """The name of a column; a derivative of a sum of elements is called as one of the array."""
    found = read_name(name)
    return name if found is None else f"d{found.of}/d{found.by}"


def _of_row(found: Answered, value: Any, k: int) -> Any:
    if type(value) is not Lanes:
        return value
    return value.array[..., 0 if value.array.shape[-1] == 1 else k]


def mapped(node: program.Program, size: int) -> list[Answer]:
    """What `vmap` gives for each row."""
    try:
        (value,) = Program(node, Options(grad=False)).run({}).outputs.values()
    except Exception as error:
        return [Answer({}, _error(error))] * size
    return [Answer(flattened("result", _taken(value, k))) for k in range(size)]


def _taken(value: Any, k: int) -> Any:
    """The part of a row."""
    if isinstance(value, dict):
        return {key: _taken(part, k) for key, part in value.items()}
    return (
        [_taken(part, k) for part in value]
        if isinstance(value, list)
        else None
        if value is None
        else value[k]
    )
