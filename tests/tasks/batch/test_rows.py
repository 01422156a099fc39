"""A block of rows gives what its rows give, one by one: on all samples, on random programs, and where rows fail."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gradcli.diagnostics import GradcliError, Source
from gradcli.engine.compilation.declarations import declarations
from gradcli.tasks.constants import constant
from gradcli.tasks.programs import parse_program, read_source
from tests.engine.divergent_programs import programs
from tests.tasks.batch.one_by_one import OPTIONS, assert_same, parsed, together

SAMPLES = [
    path
    for path in sorted((Path(__file__).parents[3] / "samples").rglob("*.tg"))
    if re.search(r"(?m)^ *var ", path.read_text(encoding="utf-8"))
]
ROWS = 5
STEPS = 3_000  # enough for the beginning of the samples that train


def columns_for(node: Any) -> dict[str, Any]:
    """Rows around the values that the program gives its variables, which are the first row."""
    columns = {}
    random = np.random.default_rng(0)
    for declared in declarations(node.body):
        try:
            value = np.asarray(constant(declared.value.span.text, declared.slot.name))
        except GradcliError:
            continue  # computed from other names
        if declared.kind == "var" and value.dtype.kind == "f":
            factors = np.concatenate([[1.0], random.uniform(-1.5, 1.5, ROWS - 1)])
            columns[declared.slot.name] = factors.reshape(-1, *[1] * value.ndim) * value
    return columns


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path: Path) -> None:
    source = read_source(str(path))
    columns = columns_for(parse_program(source))
    if not columns:
        pytest.skip("it has no variables that rows could set")
    for text in (source.text, re.sub(r"(?m)^ *expect (?!error).*$", "", source.text)):  # whose rows mostly fail; which go on
        node = parse_program(Source(source.name, text))
        assert_same(node, columns, OPTIONS.with_changes(max_steps=STEPS), rtol=1e-9)


X = [0.7, -1.3, 0.001, 2.5, -0.2, 1.0]
PROGRAMS = {
    "a gradient that some rows lack": "var x; if x > 0 { y = x**2 } else { y = 3.0 }; output y",
    "a gradient that one of two sources lacks": "var x; var w = 2.0; if x > 0 { y = x } else { y = w }; output y",
    "connected through one of two branches in a loop":
        "var x; s = 0.0; i = 0; while i < 4 { if x > i { s += x } else { s += 1 }; i += 1 }; output s",
    "a variable replaced in some rows": "var x; if x > 0 { x = 4.0 }; y = x * 2; output y",
    "a declaration in some rows": "var x; y = x; if x > 0 { var w = 2.0; y = x * w }; output y",
    "an output of some rows": "var x; if x > 0 { output y = x } else { output z = x * 2 }",
    "an expectation": "var x; expect x > 0; y = log(x); output y",
    "an expectation of arrays": "var x; expect [x, 1.0] ~= [0.7, x / 0.7]; output x * 2",
    "an expected error": "var x; v = [1.0, 2.0]; expect error \"range\" { y = v[int64(x * 2)] }; output x * 2",
    "an index": "var x; v = [1.0, 2.0]; y = v[int64(x)] * x; output y",
    "an integer overflow": "const n: int64; y = n * 4000000000 * 4000000000; output y",
    "a shape": "var x; y = sum(ones(int64(abs(x) * 3)) * x); output y",
    "turns": "var x; i = 0; s = 0.0; while i < x { i += 1; s += x / i }; output s",
    "a limit of steps": "var x; i = 0; while x < 2 { i += 1; x := x * 0.9 if i > 9 and x < 0.5 else x + 0.1 }; output y = x",
    "a state": "var x; if x > 0 { x := x * 2 }; y = x**2; output y",
    "random numbers": "var x; y = x * uniform([]) if x > 0 else x; output y + uniform([])",
    "a list and a dict": "var x; y = [x * 2, 3.0]; z = {a: x**2, b: \"text\"}; output y, z",
    "a derivative": "var x; fn f(t) { if t > 0 { return t**3 } else { return t } }; output g = grad(f)(x)",
    "a derivative in some rows": "var x; y = x**2; if x > 0 { y = grad(x**3, x) * 2 }; output y",
    "a tape": "var x; tape t { t.watch(x); if x > 0 { y = x**2 } else { y = 1.0 } }; output g = t.gradient(y, x)",
    "an attached gradient": "var x; attach_grad(x); record { y = x**2 }; if x > 0 { backward(y) }; output g = x.grad",
    "recursion":
        "fn p(x, n) { if n < 1 { return 1.0 } else { return x * p(x, n - 1) } }; var x; y = p(x, int64(abs(x) * 2)); output y",
    "what rows share, and a cotangent of two sides": "var x; var w = 0.7; t = w * w; v = x * 2; q = v * v; u = t + v; r = 0.0; "
                                                     "if x > 0 { r = u * 3 } else { r = u * 5 }; output y = r * r + q",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text = PROGRAMS[name].replace("; ", "\n")
    node = parsed(text)
    column = "n" if "const n" in text else "x"
    values = [1, 2, -3, 10**9, 0] if column == "n" else X
    assert_same(node, {column: values}, OPTIONS.with_changes(max_steps=500))


@settings(max_examples=25, deadline=None)
@given(programs)
def test_random_programs(text: str) -> None:
    random = Random(text)
    node = parsed(f"{text}\nvar x\nvar w = 0.7\noutput y = f(x, w)")
    assert_same(node, {"x": [random.uniform(-2, 2) for _ in range(12)]}, rtol=1e-9)


def test_rows_that_fail_leave_the_others_alone() -> None:
    """Of a thousand rows some fail in the middle of a function, and one runs for ever."""
    node = parsed("var x\nv = [1.0, 2.0]\ni = 0\nwhile x == 77.0 { i += 1 }\ny = v[int64(x) % 7]\noutput y")
    outcome = together(node, {"x": np.arange(1000.0)}, OPTIONS.with_changes(max_steps=300))
    failed = {reject.row for reject in outcome.rejects}
    assert failed == {k for k in range(1000) if k % 7 > 1 or k == 77}
    by_row = {reject.row: reject.diagnostics[0] for reject in outcome.rejects}
    assert by_row[77].code == "E403"
    assert by_row[2].message == "index 2 is out of range for a list of 2"
    assert len(outcome.columns[0].values) == 1000 - len(failed)


def test_how_often_a_program_runs() -> None:
    """Once for rows that differ in what they do; once for each sort of rows that can't stay together."""
    together_ = together(parsed("var x\nif x > 0 { y = x } else { y = -x }\noutput y"), {"x": X})
    assert (together_.runs, together_.tiles) == (1, 1)
    apart = together(parsed("var x\ny = sum(ones(1 + int64(x > 0)) * x)\noutput y"), {"x": X})
    assert (apart.runs, apart.tiles) == (3, 1)
