"""What was hot in an earlier process is compiled early in the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcli.diagnostics import Source, Span
from gradcli.engine.codegen import cache
from gradcli.engine.kernels.function_calls import FunctionCalls
from gradcli.engine.kernels.hot_loops import HotLoop
from gradcli.engine.kernels.notes import Note
from gradcli.engine.values.kinds import UNSET

from ..programs import evaluate

LOOP = """frozen n = 0
frozen x = 0.5
s = 0.0
i = 0
while i < n { s = s + sin(x + i); i = i + 1 }
output s
"""
CALLS = """frozen n = 0
frozen x = 0.5
fn f(x) { y = x; for i in range(20) { y = y*0.9 + sin(x*i) }; return y }
s = 0.0
for j in range(n) { s = s + f(j*x); print(s) if s > 1e9 else none }
output s
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    cache._folder.cache_clear()
    return tmp_path / "cache"


def tries(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, source: str, n: int) -> int:
    """How many times a program with so many iterations turns to the kernels of a place."""
    made = []
    original = getattr(place, name)
    with monkeypatch.context() as patch:
        patch.setattr(place, name, lambda *args: made.append(1) or original(*args))
        evaluate(source, {"n": n})
    return len(made)


def test_a_loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(n: int, source: str = LOOP) -> int:
        return tries(monkeypatch, HotLoop, "run_iterations", source, n)

    assert run(900) == 0
    assert run(4000) == 1
    assert run(900) == 1
    assert run(100) == 0
    assert run(900, LOOP.replace("sin", "cos")) == 0


def test_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(n: int, source: str = CALLS) -> int:
        return tries(monkeypatch, FunctionCalls, "run", source, n)

    assert run(50) == 0
    hot = run(200)
    assert 0 < hot < 200
    assert 0 < run(50) < 50
    assert run(200) > hot
    assert run(5) == 0
    assert run(50, CALLS.replace("sin", "cos")) == 0


def test_what_is_not_compiled_any_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that isn't compiled in this process waits for its work as before."""
    tries(monkeypatch, FunctionCalls, "run", CALLS, 200)
    monkeypatch.setattr(FunctionCalls, "run", lambda *args: UNSET)
    assert tries(monkeypatch, FunctionCalls, "run", CALLS, 80) == 1


def test_a_note_says_how_much_work_has_paid(folder: Path) -> None:
    """What needs more, as a derivative nested deeper does, isn't compiled early."""
    span = Span(Source("x.tg", "y = f(x)"), 0, 1)
    assert Note(span).work == 0
    Note(span).leave(500)
    assert Note(span).work == 500
    assert Note(span, "grad").work == 0
    first = Note(span)
    assert first.work == 500
    first.leave(800)  # much the same
    assert Note(span).work == 500
    first.leave(1200)
    assert Note(span).work == 1200
    first.ignore()
    assert first.work == 0
    assert Note(span).work == 1200
