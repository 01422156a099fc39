"""Several programs at once, a thread each: what a run changes is its own, and what runs share may
be shared."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.threads import in_order, on_threads
from gradcli.engine.backends.tiers import Heat, only
from gradcli.engine.formulas import functions as formulas

pytestmark = pytest.mark.filterwarnings("error")

X = np.random.default_rng(5).normal(size=(40, 3))
HEAD = "const X: float[n, m]\n"
PROGRAMS = [
    "fn f(x) = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)\noutput vmap(value_and_grad(f))(X)",
    "fn f(x) { a = x[0]; while abs(a * a - 2) > 1e-9 { a = a - (a * a - 2) / (2 * a) }; return a * x[1] }\n"
    "output vmap(value_and_grad(f))(X)",
    "fn g(x, y) { a = exp(x) * y; b = a + sqrt(x**2 + y**2); return erf(b) * a }\nfn f(x) = g(x[0], x[1]) - log(1 + x[2]**2)\n"
    "output vmap(value_and_grad(f))(X), vmap(hessian(f))(X)",
    "var w = [0.5, 1.0, 2.0]\nfn f(x) { if x[0] > 0 { return sum(x * w) }; return prod(x + w) }\n"
    "s = sum(vmap(f)(X)); output s, grad(s, w)",
    # deep calls
    "fn f(n) { if n < 1 { return 0.0 }; return f(n - 1) * 0.5 + X[0, 0] }\noutput f(1500), sum(X)",
    "s = 0.0; x = X[0, 0]\nfor k in range(300) { s = s * 0.99 + sin(x * k) * 0.1; if s > 0.5 { s = s - 0.1 * x } }\noutput s",
]


def _outputs(source: str) -> list[Any]:
    return _flat(list(gradcli.load(source=HEAD + source).run(X=X).outputs.values()))


def _flat(value: Any) -> list[Any]:
    return (
        [part for item in value for part in _flat(item)]
        if isinstance(value, list)
        else [np.asarray(value)]
    )


def _at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    """The answers of all tasks, in threads that begin together and change over as often as they
    can."""
    gate, often = threading.Barrier(len(tasks)), sys.getswitchinterval()

    def begin(task: Callable[[], Any]) -> Any:
        gate.wait()
        return task()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(tasks)) as pool:
            return list(pool.map(begin, tasks))
    finally:
        sys.setswitchinterval(often)


@pytest.fixture(autouse=True)
def _hot_at_first_use() -> Iterator[None]:
    with only(heat=Heat(elements=1)):
        yield


def _forget() -> None:
    """Lets every thread make for itself what is kept of the table."""
    formulas.array_function.cache_clear()
    formulas.scalar_pull.cache_clear()


def _assert_same(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("turn", range(3))
def test_different_programs_in_threads(turn: int) -> None:
    limit = sys.getrecursionlimit()
    expected = [_outputs(source) for source in PROGRAMS]
    chosen = [(turn + k) % len(PROGRAMS) for k in range(4)]
    _forget()

    def several(k: int) -> list[Any]:
        return [_outputs(PROGRAMS[k]) for _ in range(3)]

    found = _at_once([lambda k=k: several(k) for k in chosen])  # type: ignore[misc]
    for k, answers in zip(chosen, found, strict=True):
        for answer in answers:
            _assert_same(answer, expected[k])
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("source", PROGRAMS)
def test_one_program_in_threads(source: str) -> None:
    expected = _outputs(source)
    program = gradcli.load(source=HEAD + source)
    _forget()
    for found in _at_once([lambda: program.run(X=X)] * 4):
        _assert_same(_flat(list(found.outputs.values())), expected)


SLOW = """import threading
asked = []
def register_all():
    threading.Event().wait(0.05)
    asked.append(True)
"""
ASKING = """import threading
from gradcli.ops.registry import failures, load_packages
gate, found = threading.Barrier(4), []
def ask():
    gate.wait()
    load_packages()
    import slow
    found.append(len(slow.asked))
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(found, failures())
"""


def test_packages_are_asked_once(tmp_path: Path) -> None:
    """A thread that comes second waits until all packages have added what they have."""
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "slow-1.0.dist-info").mkdir()
    (tmp_path / "slow-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n"
    )
    (tmp_path / "slow-1.0.dist-info" / "entry_points.txt").write_text(
        "[gradcli.ops]\nslow = slow:register_all\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(gradcli.__file__).parent.parent}",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKING], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[1, 1, 1, 1] []\n", "")


# ---- several threads for one program -------------------------------------------------------------

ROWS = np.random.default_rng(7).uniform(0.5, 1.5, 150_000)  # three blocks of them
MAPPED = {
    "a loop": "fn f(p) { s = 0.3; while abs(s*s - p) > 1e-9 { s = 0.5*(s + p/s) }; return s*w }",
    "computed indices": "fn f(p) { k = int64(20*p - 9); return [w, p, 2*p, p**2][k % 4] }",
}


@pytest.mark.parametrize("function", MAPPED.values(), ids=MAPPED)
def test_blocks_on_threads_give_the_same_bits(function: str) -> None:
    source = f"frozen x: float[n]; var w = 0.7\n{function}\ny = vmap(f)(x); g = grad(sum(y), w)\noutput y, g"
    answers = []
    for threads in (1, 2, 3):
        program = gradcli.load(source=source).with_options(grad=False, threads=threads)
        with only(heat=Heat(elements=1, operations=0)):
            answers.append([np.asarray(v).tobytes() for v in program.run(x=ROWS).outputs.values()])
    assert answers[0] == answers[1] == answers[2]


def test_a_failing_row_has_its_message_on_threads() -> None:
    source = "frozen x: float[n]\nfn f(p) = [p, 2*p][int64(p)]\noutput vmap(f)(x)"
    rows = np.where(np.arange(len(ROWS)) == 140_000, 2.0, 1.0)
    messages = []
    for threads in (1, 2):
        program = gradcli.load(source=source).with_options(threads=threads)
        with (
            only(heat=Heat(elements=1, operations=0)),
            pytest.raises(gradcli.GradcliError) as error,
        ):
            program.run(x=rows)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "index 2 is out of range" in messages[0]


def test_answers_come_in_order_and_the_first_failure_is_raised() -> None:
    def each(k: int) -> int:
        if k in (5, 7):
            raise ValueError(k)
        with on_threads(4):
            assert list(in_order(lambda j: j, range(3))) == [0, 1, 2]
        return k

    with on_threads(3):
        answers = in_order(each, range(9))
        assert [next(answers) for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError, match="5"):
            next(answers)
