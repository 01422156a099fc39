"""Other devices than the CPU, on a stand-in that refuses to mix arrays of the host and of the
device (standin.py)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.backend import ieee
from gradcli.engine.operations.rules import Value, array_language
from gradcli.engine.trace.run import Run
from gradcli.engine.values.boxes import primal
from gradcli.engine.values.kinds import List
from gradcli.ops.op import Op
from gradcli.ops.tangent import push

from ...ops.exact import REAL, points
from ...ops.structural_calls import CALLS, Call, directions, subsets
from ...ops.structural_calls import IDS as CALL_IDS
from ...ops.structural_cases import CASES, IDS
from ...ops.sweeps import Session, weighed
from . import standin
from .device_session import DeviceSession, to_device

SAMPLES = sorted((Path(__file__).parents[3] / "samples").rglob("*.tg"))


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`cuda` is the stand-in."""
    with standin.installed(monkeypatch), ieee():
        yield


# ---- the table -----------------------------------------------------------------------------------


def results(session: Session, function: Callable[..., Any]) -> list[Any]:
    """The value, the gradients, and the gradients of those."""
    y = function(session.m, *session.operands)
    target = weighed(session.m, y)
    first = session.gradients(target, recorded=True)
    second = weighed(session.m, [Value(g, session.m) for g in first])
    parts = [part.v for part in y] if type(y) is list else [y.v]
    found = [*parts, *session.gradients(target), *(session.gradients(second) if first else [])]
    return [primal(v) for v in found]


def compare(function: Callable[..., Any], values: Any) -> None:
    here, there = results(Session(*values), function), results(DeviceSession(*values), function)
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        agree(a, b)


def agree(here: Any, there: Any) -> None:
    """Equal values, arrays in their own kind of memory, scalars Python's in both."""
    if type(here) is List:
        for a, b in zip(here.items, there.items, strict=True):
            agree(primal(a), primal(b))
    elif isinstance(here, np.ndarray):
        assert type(there) is standin.ndarray
        assert there.dtype == here.dtype
        np.testing.assert_array_equal(there.get(), here)
    else:
        assert type(there) is type(here)
        np.testing.assert_equal(there, here)


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_elementwise(op: Op) -> None:
    at = points(op)
    n = op.partials.count(None)
    orders = at[0][:n]
    columns = [
        np.array(column)
        for column in zip(*(point[n:] for point in at if point[:n] == orders), strict=True)
    ]
    compare(lambda m, *xs: m.call(op.name, (*orders, *xs)), columns)
    for k, column in enumerate(columns if len(columns) > 1 else ()):  # a number beside arrays
        compare(
            lambda m, *xs: m.call(op.name, (*orders, *xs)),
            [*columns[:k], float(column[0]), *columns[k + 1 :]],
        )


@pytest.mark.parametrize(("name", "k"), IDS)
def test_structural(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    compare(function, values)


@pytest.mark.parametrize("call", CALLS, ids=CALL_IDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tangents(call: Call, dtype: str) -> None:
    op, operands, options = call
    if dtype == "float32":
        operands = [
            x.astype(dtype) if getattr(x, "dtype", None) == "float64" else x for x in operands
        ]

    def through_apply(session: Session, t: list[Any]) -> Any:
        m, move = session.m, to_device if type(session) is DeviceSession else lambda v: v
        values = [Value(move(x), m) for x in operands]
        y = m.call(op.name, tuple(values), options)
        return push(
            m, op, [None if s is None else Value(move(s), m) for s in t], y, values, move(options)
        )

    def on_arrays(run: Run, move: Callable[[Any], Any], t: list[Any]) -> Any:
        m, values = (
            array_language(run.backend, dtype),
            [run.backend.operand(move(x)) for x in operands],
        )
        y = getattr(m, op.name)(*values, **move(options))
        return push(
            m,
            op,
            [None if s is None else run.backend.operand(move(s)) for s in t],
            y,
            values,
            move(options),
        )

    here, there = Session(), DeviceSession()
    for moving in subsets(op, operands):
        t = directions(operands, moving)
        pairs = [(through_apply(here, t), through_apply(there, t))]
        pairs.append((on_arrays(here.run, lambda v: v, t), on_arrays(there.run, to_device, t)))
        for a, b in pairs:
            for p, q in zip(a, b, strict=True) if type(a) is list else [(a, b)]:
                p, q = (p.v, q.v) if type(p) is Value else (np.asarray(p), q)
                agree(primal(p), primal(q))


# ---- whole programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample(path: Path) -> None:
    """A sample keeps its expectations on the device, and answers with arrays of the host, the same
    as from the CPU."""
    program = gradcli.load(path)
    here, there = program.run(), program.with_options(device="cuda").run()
    assert [(e.line, e.message) for e in there.expectations if not e.passed] == []
    assert there.printed == here.printed
    np.testing.assert_equal(there.outputs, here.outputs)
    np.testing.assert_equal(there.gradients, here.gradients)
    assert kinds(there.outputs) == kinds(here.outputs)
    assert kinds(there.gradients) == kinds(here.gradients)


def kinds(value: Any) -> Any:
    """The types in a nesting of dicts and lists."""
    if isinstance(value, dict):
        return {k: kinds(v) for k, v in value.items()}
    return [kinds(v) for v in value] if isinstance(value, list) else type(value)


PROGRAMS = {
    "elements": "var x = [1.0, 2.0, 3.0]; s = 0.0; for i in range(3) { s = s + x[i]**2 * x[-1] }; output s",
    "elements written": "var x = [1.0, 2.0]; a = zeros(3); b = a; a[1:] = x; a[0] = a[1]*a[2]; a[:2] *= x; output sum(a*a + b)",
    "elements of lists": "var x = [1.0, 2.0]; a = array([x[0]*x[1], 3.0, x[1]]); output [[a[0]], a]",
    "an index that is an array": "var x = [1.0, 2.0, 3.0]; output x[[2, 0, 2]] * x[x > 1.0][0]",
    "rows": "var w = [[1.0, 2.0], [3.0, 4.0]]; s = 0.0; for row in w { s = s + row[0]*row[1] }; output s",
    "conditions": "var x = [1.0, -2.0]; if any(x < 0) { y = where(x < 0, -x, x**3) } else { y = x }; output y if x[0] > 0 else x",
    "ints": "var x = [1.0, 2.0]; n = [3, 4]; output sum(n)*sum(x**n) + prod(n) % 5 + (n // 2)[1]",
    "an int overflow": "n = [4000000000, 3]; expect error `overflow` { m = n * n }; output n * 2",
    "large ints": "n = [3037000499, 3]; output n * n",
    "float32 elements": "var x = float32([1.0, 2.0]); output x[0] * sum(x)",
    "updates": "var w = [1.0, 2.0]; for i in range(3) { w :-= 0.1*grad(sum(w**2), w); w[0] := 0.5 }; output sum(w**2)",
    "structure": "var x = ones(20) * 0.3; y = x[1:] * x[:-1]**2; f = sum(y**2); output jacobian(y, x); output hessian(f, x)",
    "entries": "var x = ones(9); y = take(x, [3, 3, 0]) * x[:3]; j = jacobian(y, x, sparse = true); "
    "output grad(sum(j.values**2), x)",
    "batches": "var x = ones([4, 3]); y = x**2 * x[:, :1]; output batch_jacobian(y, x), jacobian(cumsum(x, axis = 1), x)",
    "second order": "var x = [1.0, 2.0]; f = sum(exp(x)*x[0]); output hessian(f, x); output jacobian(x*x, x)",
    "random": "var x = 2.0; v = array([1.0, 2.0]); output x*normal([3]); output permutation(v); output randint(0, 9)",
    "special": "var x = [0.1, 2.0]; output gelu(x) + erf(x)",
    "complex": "var x = [0.1, 2.0]; z = x + 2j; output abs(z)*real(z**2)",
    "printing": 'var x = [1.0, 2.0]; print(x); print([x, x[0]]); print("{x}"); output x.T',
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_program(name: str, dtype: str) -> None:
    program = gradcli.load(
        source=PROGRAMS[name].replace("`", '"').replace("; ", "\n")
    ).with_options(dtype=dtype)
    program = program.with_options(jacobian=True, hessian_blocks=name != "complex")
    here, there = program.run(), program.with_options(device="cuda").run()
    assert there.expectations == here.expectations
    assert there.printed == here.printed
    for table in ("outputs", "gradients", "jacobians", "hessians"):
        np.testing.assert_equal(getattr(there, table), getattr(here, table))
        assert kinds(getattr(there, table)) == kinds(getattr(here, table))


def test_inputs_are_moved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[Any] = []
    from_host = standin.array

    def watched(value: Any, dtype: Any = None) -> Any:
        moved.extend([value] if isinstance(value, np.ndarray) else [])
        return from_host(value, dtype)

    monkeypatch.setattr(standin, "array", watched)
    source = "var w: float[n, m]\nconst x: float[n]\ns = 0.0\nfor i in range(5) { s = s + sum(tanh(x @ w)**2) }\noutput s"
    w, x = np.ones((3, 2)), np.array([0.1, 0.2, 0.3])
    evaluation = gradcli.load(source=source).with_options(device="cuda").run(w=w, x=x)
    assert len(moved) == 2
    assert moved[0] is w
    assert moved[1] is x
    assert type(evaluation.gradients["s"]["w"]) is np.ndarray


def failures(source: str) -> list[Any]:
    """The diagnostics on the CPU and on the device."""
    program = gradcli.load(source=source.replace("; ", "\n"))
    messages = []
    for name in ("cpu", "cuda"):
        with pytest.raises(GradcliError) as caught:
            program.with_options(device=name).run()
        messages.append(caught.value.diagnostics)
    return messages


@pytest.mark.parametrize(
    "statement",
    ["y = x[[0, 3]]", "y = x[3]", "a = x; a[[0, 3]] = 1.0", "y = x[:, 0]", "y = x[[true]]"],
)
def test_an_index_out_of_range_is_an_error_there_too(statement: str) -> None:
    here, there = failures(f"const x = [1.0, 2.0, 3.0]; {statement}")
    assert here == there
    assert here[0].code == "E303"


@pytest.mark.parametrize(
    "call",
    [
        "inv(x)",
        "solve(x, ones(2))",
        "solve_triangular(0 * x, ones(2))",
        "cholesky(-x)",
        "logdet(x)",
    ],
)
def test_a_matrix_that_has_none_is_an_error_there_too(call: str) -> None:
    here, there = failures(f"var x = [[1.0, 2.0], [2.0, 4.0]]; y = sum({call})")
    assert here == there
    assert here[0].code == "E304"


# ---- without a device ----------------------------------------------------------------------------


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # which makes importing it fail
    with pytest.raises(GradcliError) as caught:
        gradcli.load(source="x = 1.0").with_options(device="cuda").run()
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.exit_code) == ("E501", 5)
    assert "CuPy isn't installed" in diagnostic.message


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(GradcliError, match="no device `cuda:7`: there are 2"):
        gradcli.load(source="x = 1.0").with_options(device="cuda:7").run()


def test_without_cupy_on_the_command_line() -> None:
    hidden = (
        "import sys; sys.modules['cupy'] = None; from gradcli.cli import main; sys.exit(main())"
    )
    command = [
        sys.executable,
        "-c",
        hidden,
        "eval",
        "-e",
        "x**2",
        "--set",
        "x=3",
        "--device",
        "cuda",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 5)
    assert "no device `cuda`: CuPy isn't installed" in done.stderr
    assert "gradcli[gpu]" in done.stderr
