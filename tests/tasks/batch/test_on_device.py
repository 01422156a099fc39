"""Batches on one GPU, on the stand-in for it: the same answers, with one copy to the device for
what a tile is given and one back for what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.tasks.programs import parse_program, read_source
from tests.engine.devices import standin, standin_cuda
from tests.tasks.batch.one_by_one import OPTIONS, parsed, together

from .device_rows import ON_GPU, ROWS, STRAIGHT, copied, data
from .row_programs import PROGRAMS, SAMPLES, X, columns_for


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with standin.installed(monkeypatch):
        yield


def verify_same(node: Any, columns: dict[str, Any], **options: Any) -> None:
    here = together(node, columns, OPTIONS.with_changes(**options))
    there = together(node, columns, ON_GPU.with_changes(**options))
    assert [column.name for column in there.columns] == [column.name for column in here.columns]
    for a, b in zip(here.columns, there.columns, strict=True):
        assert type(b.values) is np.ndarray
        np.testing.assert_array_equal(b.mask, a.mask)
        if a.values.dtype == object:
            assert list(b.values) == list(a.values)
        else:
            assert b.values.dtype == a.values.dtype
            np.testing.assert_allclose(b.values, a.values, rtol=1e-9, atol=1e-300, err_msg=a.name)
    assert [(r.row, r.diagnostics[0].message) for r in there.rejects] == [
        (r.row, r.diagnostics[0].message) for r in here.rejects
    ]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_programs(name: str, dtype: str) -> None:
    text = PROGRAMS[name].replace("; ", "\n")
    columns = {"n": [1, 2, -3, 10**9, 0]} if "const n" in text else {"x": X}
    verify_same(parsed(text), columns, max_steps=500, dtype=dtype)


@pytest.mark.parametrize("path", SAMPLES[::4], ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    node = parse_program(read_source(str(path)))
    verify_same(
        node, columns_for(node) or {"nothing": np.zeros(2)}, ignore_extra=True, max_steps=2_000
    )


BRANCHING = "var x\ni = 0\ny = x * 2\nif x > 0 { y = log(x) } else { while y < -0.5 and i < 9 { y = y / 2; i += 1 } }\noutput y"


def test_a_tile_comes_and_goes_once() -> None:
    """Two columns and a value that all rows share go in; an answer comes out for each output and
    each gradient."""
    node = parsed(STRAIGHT)
    columns, shared = data(), {"w": np.array([0.5, 1.0, -1.0, 2.0])}
    outcome = together(node, columns, ON_GPU, shared=shared)
    assert outcome.tiles == 1
    assert len(outcome.columns) == 6
    assert copied() == {
        "in": 3,
        "out": 6,
        "one": 4,
    }  # and whether each of the four gradients is finite
    assert sorted(copy.shape for copy in standin_cuda.copies if copy.kind == "in") == [
        (4,),
        (4, ROWS),
        (ROWS,),
    ]


def test_rows_part_on_the_device() -> None:
    """The host asks for a few numbers by which to go on, and which rows took which branch, a bit
    for each."""
    outcome = together(parsed(BRANCHING), {"x": data()["x"]}, ON_GPU)
    assert (outcome.tiles, outcome.runs) == (1, 1)
    found = copied()
    assert found["in"] == 1
    assert 0 < found["one"] < 100
    out = [copy.shape for copy in standin_cuda.copies if copy.kind == "out"]
    assert [shape for shape in out if shape != (ROWS // 8,)] == [(ROWS,), (ROWS,)]


def test_copies_are_on_the_stream_of_the_thread() -> None:
    together(parsed(BRANCHING), {"x": data()["x"]}, ON_GPU)
    (stream,) = {copy.stream for copy in standin_cuda.copies}
    assert stream.non_blocking
