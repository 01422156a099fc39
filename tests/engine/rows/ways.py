"""The rows of a program in every way: each by the interpreter alone, all in `vmap`, all in a batch.
All must give the same.

Programs have a function `row(u, w)` of a row's own number and of one that all rows share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.tasks.evaluation import Evaluation, Options
from tests.tasks.batch.one_by_one import OPTIONS, alone, assert_same, parsed

ROWS = (10.0, 20.0, 40.0, -5.0)
VALUE = {"y": "row(u, w)"}
DERIVATIVES = {
    "by_row": "grad(row)(u, w)",
    "by_shared": "grad(row, wrt = 1)(u, w)",
    "weighed": "vjp(row)(u, u, w)",
    "along": "jvp(row)(u, 1.0, w)",
    "second": "hvp(row)(u, w, w)",
}


def verify_every_way(
    functions: str,
    rows: Sequence[float] = ROWS,
    asked: Mapping[str, str] = VALUE | DERIVATIVES,
    rtol: float = 1e-12,
    kinds: Sequence[str] = ("var", "frozen"),
) -> None:
    """Compares what is `asked` of a row, as expressions of `row`, `u` and `w`, and the gradients by
    `u` and by `w`; or errors. `kinds` are those of the declaration of `u`."""
    one = (
        functions
        + "\nvar u\nvar w = 0.75"
        + "".join(f"\noutput {name} = {text}" for name, text in asked.items())
    )
    options = OPTIONS.with_changes(of=list(asked))  # also of what holds derivatives
    for kind in kinds:
        text = one.replace("var u", f"{kind} u")
        node, columns = parsed(text), {"u": list(rows)}
        each = [alone(node, columns, k, options) for k in range(len(rows))]
        assert_same(node, columns, options, rtol, each)
        _verify_vmap(text, rows, each, options, rtol)


def _verify_vmap(
    one: str, rows: Sequence[float], each: list[dict[str, Any] | str], options: Options, rtol: float
) -> None:
    """Compares `each` of the rows of a program of `u` and `w`, which was run alone, with the same
    in `vmap`."""
    failed = [row for row in each if isinstance(row, str)]
    functions, *lines = re.sub(r"(?m)^(var|frozen) u$", rf"\1 us = {list(rows)}", one).split(
        "\noutput "
    )
    calls = [
        f"\noutput {name} = vmap(fn(u) = {text})(us)"
        for name, text in (line.split(" = ", 1) for line in lines)
    ]
    found = _run(functions + "".join(calls), options)
    if failed or isinstance(found, str):
        assert failed, f"only the rows together fail: {found}"
        assert isinstance(found, str), f"only a row alone fails: {failed[0]}"
        assert failed[0] in found, (failed[0], found)
        return
    columns = {
        name: np.array([_number(row.get(name)) for row in each if isinstance(row, dict)])
        for name in each[0]
    }
    for name, value in found.outputs.items():
        np.testing.assert_allclose(value, columns[name], rtol=rtol, atol=1e-300, err_msg=name)
        for by, expected in (("us", columns.get(f"d{name}/du")), ("w", columns.get(f"d{name}/dw"))):
            if expected is not None and by in found.gradients[name]:
                expected = expected.sum(axis=0) if by == "w" else expected
                got = _number(found.gradients[name][by])
                np.testing.assert_allclose(
                    got, expected, rtol=rtol, atol=1e-300, err_msg=f"d{name}/d{by}"
                )


def _run(text: str, options: Options) -> Evaluation | str:
    """What a program gives; its message where it fails."""
    try:
        return gradcli.load(source=text).with_options(of=options.of).run({})
    except GradcliError as error:
        return error.diagnostics[0].message


def _number(value: Any) -> Any:
    """A gradient as a number: 0 in the rows where there is none."""
    return 0.0 if value is None else value
