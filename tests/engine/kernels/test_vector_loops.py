"""Long loops on small arrays and lists: kernels give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import INTERPRETED, WRITTEN, Heat, only
from gradcli.engine.kernels.loop_calls import LoopCalls

from ..programs import evaluate

HEAD = """var x = array([0.7, -0.4, 1.2]); var w = 0.3; frozen c = array([1, 2, 3])
var m = array([[1.0, 0.5], [0.2, 0.9]])
"""
LOOPS = [
    "v = x*w; for i in range(7) { v = v*w + x }; s = sum(v)",
    "v = x*1.0; for i in range(7) { v[i % 3] = v[i % 3]*w + x[0] }; s = sum(v*v)",
    "v = x*1.0; for i in range(7) { v = v; w2 = x; s = v[0]*w }; s = s + w2[1]",
    "v = [x[0], w, 2.0]; for i in range(6) { v = [v[1], v[2], v[0]*w] }; s = v[0] + v[1]*v[2]",
    "a = m*1.0; for i in range(4) { a = a*m + w }; s = sum(a)",
    "a = m*1.0; s = 0.0; for i in range(4) { a[i % 2, 1] = a[0, 0]*w; s = s + a[1, 1] }",
    "fn f(p) = sum(p*p*w) + p[0]*p[1]*x[2]; v = x*1.0; for i in range(5) { v = v - 0.1*grad(f)(v) }; s = sum(v)",
    "s = 0.0; for i in range(3) { s = s + c[i]*x[i] }",
    "k = c*2; for i in range(5) { k = k + c*i }; s = sum(k*x)",
    "s = x[0]; y = c; for i in range(6) { y = x; s = s*w }; s = s + y[1]",
    "v = zeros([3]); for i in range(9) { v = v + x*i; if v[0] > 4.0 { v = v - x } }; s = norm(v)",
    "v = x*1.0; n = 0; while sum(v) < 40.0 and n < 30 { v = v*1.3 + w; n += 1 }; s = v[2]*n",
    "v = x > 0.5; s = 0.0; for i in range(6) { if v[i % 3] { s = s + w*x[i % 3] } }",
    "v = x*1.0; for i in range(5) { v = where(v > 0.0, v*w, v) }; s = sum(v)",
    "v = x*1.0; u = x*2.0; for i in range(5) { r = v; v = u*w; u = r }; s = sum(u - v*x)",
    "n = 3; p = [x*w, x, x*0.5]; for i in range(5) { p = [p[j]*w + (p[j - 1] if j != 1 else p[2]) for j in range(n)] }; s = sum(p[0]*p[1] + p[2])",
    "n = 3; fn all_but(p, i, n) { a = [0.0, 0.0, 0.0]; for j in range(n) { if j != i { a = a + p[j] } }; return a }; p = [x, x*w, x*2.0]; for t in range(5) { p = [all_but(p, i, n)*0.4 for i in range(n)] }; s = sum(p[0] - p[1]*p[2])",
    "v = ones([2, 2]); for i in range(4) { v = v * w + m }; s = v[0, 1] * v[1, 0]",
    "s = 0.0; v = x*1.0; for i in range(40) { v[0] = v[0]*0.9; v[i] = 1.0 }; s = v[0]",
]  # fmt: skip
SOON = Heat(iterations=2, least_iterations=1, work_each=0, instructions=0, instructions_first=0)


def answers(source: str, **options: Any) -> Any:
    """What a program gives, or what is said of why it doesn't."""
    try:
        found = evaluate(source, **options)
    except GradcliError as error:
        return [(d.code, d.message, str(d.span)) for d in error.diagnostics]
    return found.outputs["s"], found.gradients.get("s", {}), str(found.diagnostics)


def assert_close(found: Any, expected: Any) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize(
    "options", [{"mode": "reverse"}, {"mode": "forward"}, {"grad": False}], ids=str
)
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_on_arrays(loop: str, options: dict[str, Any]) -> None:
    source = f"{HEAD}{loop}\noutput s"
    with only(INTERPRETED):
        expected = answers(source, **options)
    with only(WRITTEN, SOON):
        found = answers(source, **options)
    if type(expected) is list:
        assert found == expected
        return
    assert_close(found[0], expected[0])
    assert found[1].keys() == expected[1].keys()
    for name in expected[1]:
        assert_close(found[1][name], expected[1][name])
    assert found[2] == expected[2]


def test_most_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[bool] = []
    original = LoopCalls.run

    def run(self: Any, *given: Any) -> Any:
        ended = original(self, *given)
        done.append(ended is not None)
        return ended

    monkeypatch.setattr(LoopCalls, "run", run)
    with only(WRITTEN, SOON):
        for loop in LOOPS:
            answers(f"{HEAD}{loop}\noutput s")
    assert sum(done) > 0.7 * len(done)
