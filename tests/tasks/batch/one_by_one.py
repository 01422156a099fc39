"""What a batch must give: the program run once for each row, by the interpreter alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcli.diagnostics import GradcliError, Source
from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.lang import program
from gradcli.naming import in_files
from gradcli.rows.blocks import Block
from gradcli.tasks.batch.block import Computer, Outcome
from gradcli.tasks.batch.layout import laid_out
from gradcli.tasks.batch.plan import Plan
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Evaluation, Options
from gradcli.tasks.programs import parse_program

OPTIONS = Options(mode="reverse")


def together(
    node: program.Program, columns: Mapping[str, Any], options: Options = OPTIONS, **plan: Any
) -> Outcome:
    """The rows as one block."""
    block = Block(
        0,
        len(next(iter(columns.values()))),
        columns={name: np.asarray(v) for name, v in columns.items()},
    )
    made = Plan(node.source, options, columns={name: name for name in columns}, **plan)
    fields, tile, _ = Computer(
        replace(made, options=options.with_changes(device="cpu")), node
    ).probe(block)
    return Computer(replace(made, fields=fields, tile=tile), node).compute(block)


def alone(
    node: program.Program, columns: Mapping[str, Any], row: int, options: Options = OPTIONS
) -> dict[str, Any] | str:
    """What the interpreter alone gives for a row, by the name of the column; the message where it
    fails."""
    inputs = {name: np.asarray(v)[row] for name, v in columns.items()}
    inputs = {name: v if v.ndim else v.item() for name, v in inputs.items()}
    try:
        with only(INTERPRETED):
            evaluation = evaluate(node, inputs, options)
    except GradcliError as error:
        return error.diagnostics[0].message
    errors = [d.message for d in evaluation.diagnostics if d.severity == "error"]
    failed = [e.message for e in evaluation.expectations if not e.passed]
    return (errors + failed)[0] if errors or failed else dict(flat(evaluation))


def flat(evaluation: Evaluation) -> Any:
    for name, value in evaluation.outputs.items():
        yield from _parts(name, value)
    for of, gradients in evaluation.gradients.items():
        for by, value in gradients.items():
            yield from _parts(in_files(of, (by,), of in evaluation.summed), value)


def _parts(name: str, value: Any) -> Any:
    if isinstance(value, list):
        try:
            array = np.array(value)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind in "biufc" and value:
            yield name, array
            return
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(f"{name}.{key}", part)
    else:
        yield name, value


def assert_same(
    node: program.Program,
    columns: Mapping[str, Any],
    options: Options = OPTIONS,
    rtol: float = 1e-12,
    each: Sequence[dict[str, Any] | str] | None = None,
) -> Outcome:
    """Compares a block with its rows, one by one; returns the outcome. `each`: what the rows give
    alone, if it is known."""
    outcome = together(node, columns, options)
    failed = {reject.row: reject.diagnostics[0].message for reject in outcome.rejects}
    k = 0
    for row in range(outcome.size):
        wanted = alone(node, columns, row, options) if each is None else each[row]
        if isinstance(wanted, str):
            assert failed.get(row) == wanted
            continue
        wanted = laid_out(wanted, [column.name for column in outcome.columns])
        if row in failed and "first rows" in failed[row]:
            continue  # a shape of its own, which has no place among the columns
        assert row not in failed, failed[row]
        for column in outcome.columns:
            value = wanted.pop(column.name, None)
            absent = column.mask is not None and column.mask[k]
            assert (value is None) == bool(absent), (column.name, row, value)
            if isinstance(value, str):
                assert column.values[k] == value
            elif value is not None:
                np.testing.assert_allclose(
                    column.values[k],
                    value,
                    rtol=rtol,
                    atol=1e-300,
                    err_msg=f"{column.name}, row {row}",
                )
        assert not {name for name, value in wanted.items() if value is not None}
        k += 1
    return outcome


def parsed(text: str, name: str = "<t>") -> program.Program:
    return parse_program(Source(name, text))
