"""`--mode`: forward mode gives what reverse mode gives, and `auto` knows when to take it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given

from ..programs import evaluate
from .random_programs import RELAXED, Program, points, programs

PROGRAMS = [
    "var x = 3.0; y = x**2",
    "var x = 2.0; var z = 0.5; y = sin(x * z) / z; w = y + x; output y, w",
    "var x = [1.0, 2.0]; y = sum(x**2); z = x * 2; output y, z",
    "var x = [1.0, 2.0]; var w = [[1.0, 2.0], [3.0, 4.0]]; y = sum((w @ x)**2) + sum(w[0] * x)",
    "var x = 1.5; s = 0.0; for i in range(100) { s = s * 0.9 + sin(x * i); if s > 0 { s = s - 0.1 * x } }; y = s",
    "var x = 1.5; fn f(n, x) { return x if n == 0 else f(n - 1, x) * x }; y = f(5, x)",
    "var x = 2.0; a = zeros(3); a[0] = x; a[1] = a[0] * x; a[2] = x**2 + 1; y = sum(a * [1.0, 2.0, 3.0])",
    "var x = 2.0; l = []; for i in range(4) { l = append(l, x**i) }; y = sum(l)",
    "var z = 1.0 + 2.0j; y = abs(z)**2 + real(z * z)",
    "var x = 2.0; frozen s = 1.0; for i in range(3) { s := s * x }; y = s * x",
    "var z = 1.0 + 2.0j; var r = 0.5; y = abs(z * r)",
    "var x = 2.0; x := 3.0; y = x**2",
    "var x = 2.0; var n = 3; y = x * n",
    "var x = 2.0; var unused = 1.0; y = x**2",
    "var x = 2.0; y = detach(x) * x",
    "var x = 2.0; pause { y = x**2 }; z = y * x",
    "var x = 0.0; y = where(x > 0, sqrt(x), 0.0) + relu(log(x)) * 0.0",
    "var x = [4.0, 0.0]; y = sqrt(x[0])",
    "var x = 3.0; y = x**3; g = grad(y, x); z = g * x; output z",
    "var x = 3.0; tape t { y = x**3 }; g = t.gradient(y, x); output y, g",
    "var x = 3.0; fn f(a) = a**3; y = grad(f)(x) * x; output y",
    "var x = 3.0; fn f(a) { b = a**3; return grad(b, a) }; y = f(x) * x; output y",
    "var x = 3.0; y = x**3; print grad(y, x), vjp(y, x, 2.0); z = x * x",
    "var x = 3.0; fn f(a) = a**3; print grad(f)(x), value_and_grad(f)(2 * x); z = x * x",
    "var x = 3.0; fn f(a) = a**3; pause { p = grad(f)(x) + hessian(f)(x) + jacobian(f)(x) }; z = p * x",
    "var w = zeros(0); var x = 2.0; y = w * x",
    "x**2 * y",
]


@pytest.mark.parametrize("source", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_forward_gives_what_reverse_gives(source: str, dtype: str) -> None:
    inputs = {"x": 3.0, "y": 0.5} if source == "x**2 * y" else {}
    answers = {
        mode: evaluate(source, inputs, mode=mode, dtype=dtype)
        for mode in ("forward", "reverse", "auto")
    }
    expected = answers["reverse"]
    for mode in ("forward", "auto"):
        found = answers[mode]
        np.testing.assert_equal(found.outputs, expected.outputs)
        assert found.printed == expected.printed
        assert found.gradients.keys() == expected.gradients.keys()
        for of, row in expected.gradients.items():
            for by, g in row.items():
                if g is None:
                    assert found.gradients[of][by] is None
                else:
                    assert getattr(found.gradients[of][by], "dtype", float) == getattr(
                        g, "dtype", float
                    )
                    np.testing.assert_allclose(
                        found.gradients[of][by], g, rtol=1e-6 if dtype == "float32" else 1e-13
                    )
        assert [d.reason for d in found.diagnostics] == [d.reason for d in expected.diagnostics]


@RELAXED
@given(programs(), points)
def test_random_programs(program: Program, point: tuple[float, np.ndarray]) -> None:
    x, v = point
    forward, reverse = (
        evaluate(program.source + "output y", {"x": x, "v": v}, mode=mode)
        for mode in ("forward", "reverse")
    )
    for by, g in reverse.gradients.get("y", {}).items():
        if g is None:
            assert forward.gradients["y"][by] is None
        else:
            np.testing.assert_allclose(forward.gradients["y"][by], g, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("var x = 1.0; y = x**2", "forward"),
        ("var x = 1.0; var z = 2.0; y = x**2 * z", "forward"),
        ("var a = 1.0; var b = 2.0; var c = 3.0; y = a * b * c", "reverse"),
        ("var x = [1.0, 2.0]; y = sum(x)", "reverse"),
        ("var x = 1.0; y = grad(x**2, x)", "reverse"),
        ("var x = 1.0; pause { y = x**2 }; z = x", "reverse"),
        ("var x = 1.0; a = [x, 2.0]; y = a[0]", "reverse"),
        ("fn f(x) { return x } backward (dy) { return 2 * dy }; var x = 1.0; y = f(x)", "reverse"),
        ("const c = 1.0; y = c**2", "reverse"),
        ("module M() { var w = 2.0 }; a = M(); b = M(); c = M(); y = a.w * b.w * c.w", "reverse"),
    ],
)
def test_auto_takes_forward_for_one_or_two_scalars(source: str, mode: str) -> None:
    assert evaluate(source).mode == mode


def test_prints_and_expectations_are_those_of_one_run() -> None:
    evaluation = evaluate(
        'var x = [1.0, 2.0]; print "once"; expect x[0] == 1.0; y = sum(x**2)', mode="forward"
    )
    assert (evaluation.printed, len(evaluation.expectations)) == (["once"], 1)


def test_forward_mode_keeps_nothing() -> None:
    """A million iterations stay within 20 MB of a thousand."""
    code = """
        import resource, gradcli
        def peak(n):
            loop = f"for i in range({n}) {{ s = s * 0.999 + sin(x * i) * 0.01 }}"
            program = gradcli.load(source=f"var x = 0.5; s = 0.0; {loop}; y = s")
            assert program.with_options(mode="forward").run().gradients["y"]["x"] != 0.0
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        few = peak(1000)
        many = peak(1_000_000)
        print(many - few)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 20
