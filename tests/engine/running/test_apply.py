"""What `apply` does first, for floats, gives the bits and the records of what it does for all
values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.execution import Execution, compile_program
from gradcli.engine.operations import apply
from gradcli.engine.replay.value_trace import ValueTrace
from gradcli.engine.symbolic.traces import FormTrace
from gradcli.engine.trace.keeping import KeepingTrace
from gradcli.engine.trace.recording import Blank
from gradcli.engine.trace.tape import Trace, reachable
from gradcli.engine.trace.windows import STRIDE
from gradcli.tasks.evaluation import Options

from ..programs import evaluate

PROGRAMS = [
    "y = (3 - 2*x)*x - w/x + 1",
    "y = x + w - w*x/2.0 + exp(x) - 1.0 + (x - w) - x",
    "y = sin(x)**2 + x**3 + x**k + abs(w) + maximum(x, w) + atan2(x, w) + where(x > 1.0, x, w) + clip(x, 0.5, 1.0)",
    "y = x[1:]*x[:-1] + x[::-1][1:] - x[3] + m[1, :3] + m[-1][1:]",
    "y = m[:, 1]*m[:, 0] + m[1:, 2:].sum() + x[2:2].sum()",
    "y = m*x + x*m[0] + m - 1.0",
    "y = float32(x)*2 + float32(w)/3.0",
    "y = x * (1 + 2j) + w; y = real(y)*imag(y)",
    "y = x * int64([1, 2, 3, 4]) + (x > 0.5)*w",
    "y = -x + +w",
    "pause { u = x*x + 1.0 }; y = u*x",
    "tape t { u = x*w; v = u*u }; y = t.gradient(v, x)*x",
    "y = grad(fn(z) = sum(z*z*w + sin(z)))(x) + jvp(fn(z) = z[1:]*z[:-1], wrt = [0])(x, v = [w]).sum()*x",
    "y = vmap(fn(r) = r*x + sum(r[1:]*w[:3]))(m)",
    "a = x*1.0; a[1] = w[0]; y = a*a + x",
    "u = zeros([0]); y = u*u + u[:0]; y = x + sum(y)",
    "y = x*nan + w/0.0 + 0.0*log(x - x)",
    "s = 2.5; u = s*k - s**k/3 + maximum(s, 2) + where(s > 1, s, k); y = u*x",
    "s = x[1]; u = s*k - s**k/3 + sin(s)*w[2] + clip(s, 0, 1) + atan2(s, 2); y = u + s*(k - 3)",
    "s = x[0]; u = s*0.0/0.0 + 1.0/(s - s) + log(-s) + exp(1000.0*s); y = u*x",
    "y = jvp(fn(z) = z*z/k + sin(z)**k - 2*z)(x[1], v = 0.5)*x + jvp(fn(z) = log(z) + 0.0*log(z - z))(x[2], v = 1.0)",
    "y = grad(fn(z) = jvp(fn(u) = u**3*z + atan2(u, z))(z, v = z*2))(x[1])*w",
    "y = jvp(grad(fn(z) = z**3*x[2] + exp(z)/z))(x[1], v = 0.3) + jvp(jvp(fn(z) = z**3), wrt = 0)(x[1], 1.0, v = 1.0)",
]
FAILING = [
    "y = x*m[:, :3]",
    "y = x[1:] + x",
    "y = x[9]",
    "y = m[1:, 7]",
    "y = x[0, 1]",
    'y = x * "a"',
    "y = x[1.5:]",
]
HEAD = "var x = linspace(0.3, 1.7, 4); var w = linspace(-1.0, 2.0, 4); var m = reshape(linspace(0.1, 3.0, 12), [3, 4]); k = 2\n"


@contextmanager
def the_long_way() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "apply_to_floats", lambda *given: None)
        yield


def answers(source: str, **options: Any) -> Any:
    try:
        found = evaluate(HEAD + source + "; output y", **options)
    except GradcliError as error:
        return [(d.code, d.message, d.label, d.help) for d in error.diagnostics]
    return [found.outputs, found.gradients, found.hessians]


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict | list):
        assert len(found) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_same(found[key], expected[key])
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected or (found != found and expected != expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("source", [*PROGRAMS, *FAILING])
def test_the_same_to_the_last_bit(source: str, dtype: str) -> None:
    options = {"dtype": dtype, "hessian": "grad" not in source and "real" not in source}
    found = answers(source, **options)
    with the_long_way():
        assert_same(found, answers(source, **options))


def records(source: str, trace: Trace | None = None) -> list[Any]:
    """What a program leaves on the trace; without the numbers in arrays, unless all of them are
    kept."""
    node = gradcli.load(source=HEAD + source)._resolved
    keeps_all = trace is not None and trace.keeps_all
    execution = Execution(compile_program(Options().settings, node, keeps_all=keeps_all), {})
    if trace is not None:
        execution.run.trace = trace
    frame = execution.execute().frame
    found: list[Any] = []
    for segment in reachable([v[2] for v in frame if type(v) is tuple], 0):
        found += map(_shown, _flat(segment.records))
        assert len(segment.records) % STRIDE == 0
    return [v for v in found if type(v) is not int or v >= 0]  # without leaves


def _shown(v: Any) -> Any:
    if isinstance(v, np.ndarray):
        return v.dtype, repr(v.tolist())
    return (
        repr(v)
        if type(v) is float
        else (v.shape, v.dtype)
        if type(v) is Blank
        else getattr(getattr(v, "op", v), "name", v)
    )


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list) and not (value and type(value[0]) is slice):
            yield from _flat(value)
        else:
            yield value if not isinstance(value, dict) else sorted(map(repr, value.items()))


@pytest.mark.parametrize("kind", [Trace, KeepingTrace, ValueTrace, FormTrace])
@pytest.mark.parametrize(
    "source", [s for s in PROGRAMS if not any(word in s for word in ("tape", "grad", "vmap"))]
)
def test_the_same_records(source: str, kind: type[Trace]) -> None:
    found = records(source, kind())
    with the_long_way():
        expected = records(source, kind())
    assert found == expected


def test_nans_of_plain_numbers_are_witnessed() -> None:
    trace = KeepingTrace()
    records("s = 0.0; t = s/s; u = zeros(2); v = u/u; y = x + t", trace)
    assert [maker.site.op.name for _, maker in trace.witnessed] == ["div", "div"]
