"""Every sample that has closed forms: at the point of the sample they give what `eval` gives,
values and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

from gradcli.diagnostics import GradcliError
from gradcli.engine.symbolic import calculus, limits, traces
from gradcli.tasks import symbolic
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program, read_source

ALL = sorted((Path(__file__).parent.parent / "samples").glob("*.tg"))
SAMPLES = [
    path for path in ALL if "import nn" not in path.read_text(encoding="utf-8")
]  # networks have no short forms
MOST = 6  # elements of one value that are compared


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is short: the rest is as right, and takes SymPy minutes."""
    monkeypatch.setattr(limits, "MAX_WORK", 6_000)
    monkeypatch.setattr(symbolic, "MAX_WORK", 2_000)
    monkeypatch.setattr(traces, "MAX_RECORDS", 3_000)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_forms_of_a_sample(path: Path) -> None:
    node = parse_program(read_source(str(path)))
    try:
        found = symbolic.closed_forms(node, {}, Options())
    except GradcliError as error:
        found = symbolic.ClosedForms(str(path), diagnostics=error.diagnostics)
    assert {d.code for d in found.diagnostics} <= {"E340", "E408", "W202", "W340", "W341"}
    if not found.values:
        return
    evaluation = evaluate(node, {}, Options())
    own_rules = any("its rule isn't read" in d.message for d in found.diagnostics)
    for of, form in found.values.items():
        compare(found, form, evaluation.outputs[of])
        for (by,), gradient in () if own_rules else found.derivatives.get(of, {}).items():
            if evaluation.gradients[of][by] is not None:
                compare(found, gradient, evaluation.gradients[of][by])


def compare(found: symbolic.ClosedForms, form: Any, value: Any) -> None:
    for part, expected in list(zip(calculus.flat(form), elements(value), strict=True))[:MOST]:
        if not isinstance(part, sympy.Basic):
            assert part == expected
            continue
        at_point = calculus.evaluate(part, found.point, 20)
        got = bool(at_point) if at_point in (sympy.true, sympy.false) else complex(at_point)
        assert got == expected or abs(got - expected) <= 1e-9 * abs(expected) + 1e-12, part


def elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [e for part in value for e in elements(part)]
        if isinstance(value, list | np.ndarray)
        else [value]
    )


def test_enough_samples_have_forms() -> None:
    short = ("closed_forms", "closed_forms_paths", "implicit_root", "rosenbrock")
    for name in short:
        node = parse_program(read_source(str(ALL[0].with_name(f"{name}.tg"))))
        found = symbolic.closed_forms(node, {}, Options())
        assert found.values.keys() == evaluate(node, {}, Options()).outputs.keys()
        assert found.diagnostics == []
