"""Rows on a GPU by kernels of CUDA C, on the stand-in for one, which compiles them as C++."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.cli import run
from gradcli.diagnostics import Source
from gradcli.tasks.batch.kernels import Ways
from gradcli.tasks.programs import parse_program
from tests.engine.codegen.cuda_builds import needs_compiler
from tests.engine.devices import standin, standin_cuda

from .device_rows import FAILING, ON_GPU
from .one_by_one import OPTIONS, together

pytestmark = needs_compiler
HEAD = "var x\nvar v\nconst k = 3\n"
PROGRAMS = {
    "straight": "output sum(tanh(v * x)), sin(x) * v[1], x > 0",
    "loops": "s = x\nfor i in range(k) { s = s * 0.5 + sin(s) }\nwhile s > 0.1 { s = s * 0.7 }\noutput s",
    "paths without a gradient": "y = 1.5\nif x > 0 { y = x * x } else { if x < -1 { y = sum(v) } }\noutput y",
    "functions": "fn f(a) { if a > 1 { return a }; return exp(a) * sum(v) }\ng = grad(f)\noutput f(x) + g(x) * x, jvp(f)(x, 2.0)",
    "large arrays": "m = outer(v, arange(30) * x)\noutput logsumexp(m), sum(m @ m.T), sum(max(m, axis = 1) * v)",
    "what rows share": "t = sin(arange(24) * 0.7)\nu = exp(t[3]) * k\nfor i in range(k) { t[i] = u * i }\noutput sum(t * x), u * x, t[int64(abs(x))] * v[0], u",
    "elements": "a = zeros([20])\nfor i in range(20) { a[i] = x * i; a[i] = a[i] + a[i - 1] * 0.5 }\noutput sum(a), a[3]",
    "ints": "n = int64(x * 10)\nfor i in range(k) { n = n * 3 - i }\noutput n, n % 7, x * n",
    "strict zeros": "output where(x > 0, sqrt(x) * v[0], x), log(abs(v[1])) * where(x > 1, sqrt(x - 1), 2.0)",
    "long loops": "s = x\nfor i in range(900) { s = sin(s) + v[i % 4] * 0.01 }\noutput s",
}  # fmt: skip


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with standin.installed(monkeypatch, compiles=True):
        yield


def columns(rows: int) -> dict[str, Any]:
    random = np.random.default_rng(rows)
    return {"x": random.uniform(-2, 2, rows), "v": random.normal(size=(rows, 4))}


def both(source: str, given: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    node = parse_program(Source("p.tg", HEAD + source))
    return tuple(together(node, given, own.with_changes(**options)) for own in (OPTIONS, ON_GPU))


@pytest.mark.parametrize(
    ("name", "mode"), [*[(name, "reverse") for name in PROGRAMS], ("loops", "forward")]
)
def test_rows_are_those_of_the_cpu(name: str, mode: str) -> None:
    here, there = both(PROGRAMS[name], columns(300), mode=mode)
    assert there.ways == here.ways
    assert there.ways.compiled == 300
    assert [column.name for column in there.columns] == [column.name for column in here.columns]
    for found, column in zip(there.columns, here.columns, strict=True):
        np.testing.assert_allclose(found.values, column.values, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_in_float32(name: str) -> None:
    """Arithmetic has the bits of the CPU's. Its vector functions differ in the last ones."""
    here, there = both(PROGRAMS[name], columns(300), dtype="float32")
    assert there.ways == here.ways
    for found, column in zip(there.columns, here.columns, strict=True):
        assert found.values.dtype == column.values.dtype
        np.testing.assert_allclose(found.values, column.values, rtol=2e-4, atol=1e-5)


def test_rows_that_step_back_are_the_interpreters() -> None:
    here, there = both(f"{FAILING[6:]}", columns(200), grad=True)
    assert there.ways == here.ways
    assert 0 < there.ways.stepped_back < 200
    assert [each.row for each in there.rejects] == [each.row for each in here.rejects]
    np.testing.assert_allclose(there.columns[0].values, here.columns[0].values)


def test_a_stack_gets_more_room() -> None:
    """At first it has some hundred words, and a row here needs thousands; a row that needs more
    than there can be steps back."""
    source = "n = int64(x)\ns = v[0]\nfor i in range(n) { s = sin(s) * 1.01 }\noutput s"
    given = columns(40)
    given["x"] = np.arange(40) % 4 * 3000.0
    here, there = both(source, given)
    assert there.ways == here.ways
    assert there.ways.compiled == 40
    for found, column in zip(there.columns, here.columns, strict=True):
        np.testing.assert_allclose(found.values, column.values, rtol=1e-11, atol=1e-13)


def test_without_a_compiler_the_interpreter_computes_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(standin_cuda.RawKernel, "compiles", False)
    _, there = both(PROGRAMS["loops"], columns(20))
    assert there.ways == Ways(interpreted=20, reason="CUDA's compiler doesn't take this program")


def test_two_devices_give_the_bytes_of_one(tmp_path: Path) -> None:
    given = columns(500)
    np.savez(tmp_path / "rows.npz", **given)
    (tmp_path / "p.tg").write_text(HEAD + PROGRAMS["loops"])
    found = []
    for device in ("cuda", "cuda:all"):
        out, report = tmp_path / "out.csv", tmp_path / "report.json"
        wanted = ["--rows", tmp_path / "rows.npz", "-o", out, "--report", report]
        asked = ["--device", device, "--block-rows", "100", "-q"]
        assert run(["batch", *map(str, [tmp_path / "p.tg", *wanted]), *asked]) == 0
        found.append(out.read_bytes())
        told = json.loads(report.read_text())
        assert told["compiled"] == 500
    assert found[0] == found[1]


def test_what_rows_share_is_copied_once(tmp_path: Path) -> None:
    """Once for each thread, however many blocks there are."""
    np.savez(tmp_path / "rows.npz", **columns(500))
    np.save(tmp_path / "w.npy", np.linspace(0.0, 1.0, 40))
    (tmp_path / "p.tg").write_text("var x\nvar v\nconst w\noutput sum(w * x) + v[0]")
    copied = {}
    for size in ("250", "50"):
        standin_cuda.copies.clear()
        out = ["--rows", tmp_path / "rows.npz", "-o", tmp_path / f"{size}.csv"]
        asked = ["--set", f"w=@{tmp_path / 'w.npy'}", "--device", "cuda", "--block-rows", size]
        assert run(["batch", *map(str, [tmp_path / "p.tg", *out, *asked]), "-q"]) == 0
        copied[size] = [each for each in standin_cuda.copies if each.shape == (40,)]
    assert 0 < len(copied["50"]) <= 2 * len({each.thread for each in copied["50"]})
