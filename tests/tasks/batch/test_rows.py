"""A block of rows gives what its rows give, one by one: on all samples, on random programs, and
where rows fail."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

from gradcli.diagnostics import Source
from gradcli.engine.backends.tiers import WRITTEN, only
from gradcli.tasks.programs import parse_program, read_source
from tests.engine.rows.divergent_programs import program, programs
from tests.tasks.batch.one_by_one import OPTIONS, assert_same, parsed, together

from .row_programs import PROGRAMS, SAMPLES, X, columns_for

STEPS = 3_000  # enough for the beginning of the samples that train


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path: Path) -> None:
    source = read_source(str(path))
    columns = columns_for(parse_program(source))
    if not columns:
        pytest.skip("it has no variables that rows could set")
    for text in (
        source.text,
        re.sub(r"(?m)^ *expect (?!error).*$", "", source.text),
    ):  # whose rows mostly fail; which go on
        node = parse_program(Source(source.name, text))
        assert_same(node, columns, OPTIONS.with_changes(max_steps=STEPS), rtol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text = PROGRAMS[name].replace("; ", "\n")
    node = parsed(text)
    column = "n" if "const n" in text else "x"
    values = [1, 2, -3, 10**9, 0] if column == "n" else X
    assert_same(node, {column: values}, OPTIONS.with_changes(max_steps=500))


@settings(max_examples=12, deadline=None)
@given(programs)
def test_random_programs(text: str) -> None:
    random = Random(text)
    node = parsed(f"{text}\nvar x\nvar w = 0.7\noutput y = f(x, w)")
    assert_same(node, {"x": [random.uniform(-2, 2) for _ in range(12)]}, rtol=1e-9)


@pytest.mark.parametrize("seed", [36416952, 341852])
def test_rows_that_return_from_branches_with_loops(seed: int) -> None:
    """What the sides of branches keep for their pullbacks is each row's own, also where one side
    has no pullback."""
    text = program(Random(seed))
    random = Random(text)
    node = parsed(f"{text}\nvar x\nvar w = 0.7\noutput y = f(x, w)")
    assert_same(node, {"x": [random.uniform(-2, 2) for _ in range(12)]}, rtol=1e-9)


def test_rows_that_fail_leave_the_others_alone() -> None:
    """Of a thousand rows some fail in the middle of a function, and one runs for ever."""
    node = parsed(
        "var x\nv = [1.0, 2.0]\ni = 0\nwhile x == 77.0 { i += 1 }\ny = v[int64(x) % 7]\noutput y"
    )
    outcome = together(node, {"x": np.arange(1000.0)}, OPTIONS.with_changes(max_steps=300))
    failed = {reject.row for reject in outcome.rejects}
    assert failed == {k for k in range(1000) if k % 7 > 1 or k == 77}
    by_row = {reject.row: reject.diagnostics[0] for reject in outcome.rejects}
    assert by_row[77].code == "E403"
    assert by_row[2].message == "index 2 is out of range for a list of 2"
    assert len(outcome.columns[0].values) == 1000 - len(failed)


def test_how_often_a_program_runs() -> None:
    """Once for rows that differ in what they do; once for each sort of rows that can't stay
    together."""
    with only(WRITTEN):
        both = together(parsed("var x\nif x > 0 { y = x } else { y = -x }\noutput y"), {"x": X})
    assert (both.runs, both.tiles) == (1, 1)
    apart = together(parsed("var x\ny = sum(ones(1 + int64(x > 0)) * x)\noutput y"), {"x": X})
    assert (apart.runs, apart.tiles) == (3, 1)
