"""The names of the samples as regions, against the interpreter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.verifier import verify
from gradcli.engine.lowering.held.kinds import Stored
from gradcli.engine.lowering.programs import Lowered, lower_program

from .region_cases import numbers, outputs_of, same

FOLDER = Path(__file__).parents[3] / "samples"
SAMPLES = sorted(FOLDER.glob("*.tg"))


def asking(source: str, names: list[str]) -> gradcli.Program:
    """A program that gives these names as outputs, besides its own."""
    outputs = "".join([f"\noutput held_{name} = {name}" for name in names])
    return gradcli.load(source=source + outputs).with_options(grad=False)


def lowered(program: gradcli.Program) -> Lowered:
    found = lower_program(program._resolved, {})
    verify([found.region, *found.others])
    return found


def compared(source: str) -> list[str]:
    """The top-level names that are compiled, and hold what they hold in the interpreter."""
    names = [name for name in gradcli.load(source=source)._resolved.names if name.isidentifier()]
    found = lowered(asking(source, names))
    known = [name for name in names if f"held_{name}" in found.results]
    if not found.parameters.keys() <= set(known) or re.search(r":[-+*/]?=", source):
        return []  # variables that are updated
    program = asking(source, known)
    found, outputs = lowered(program), program.run().outputs
    states: list[Any] = []
    for name, kind in found.parameters.items():
        held = outputs[f"held_{name}"]
        states += [held] if isinstance(kind, Stored) else numbers(held)
    try:
        given = outputs_of(found, compiled(found.region, found.others)(*states))
    except StepBack:  # whether a gradient is connected depends on the path
        return []
    for name in known:
        wanted = outputs[f"held_{name}"]
        value = given[f"held_{name}"]
        if re.search(
            r"grad\(|jvp\(|vjp\(|gradient\(|jacobian\(|hessian\(|hvp\(", source
        ):  # which adds cotangents in another order
            both = list(numbers(value)), list(numbers(wanted))
            rtol = 1e-11 if "solve(" in source else 1e-13  # which may make differences larger
            np.testing.assert_allclose(*both, rtol=rtol, err_msg=name)
        else:
            assert same(value, wanted), (name, value, wanted)
    return known


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    compared(path.read_text())


def test_names_of_most_samples_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    assert sum(bool(compared(path.read_text())) for path in SAMPLES[::4]) > len(SAMPLES[::4]) / 2
