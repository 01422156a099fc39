"""Functions that call themselves, and their derivatives: as regions they give what the interpreter
gives, of which the derivatives are calls of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.kernels.function_calls import FunctionCall

from ..kernels.hot_and_cold import CALLS_ALONE

POWER = "fn f(x, w, n) { if n == 0 { return w }; return x*f(x, w, n - 1) }"
TREE = "fn f(x, w, n) { if n == 0 { return sin(x) }; return f(x*0.9, w, n - 1)*f(x + w, w, n - 1) + x }"
LOOP = """fn f(x, w, n) {
    if n < 2 { return x }
    s = 0.0
    for i in range(n - 1) { s = s + 0.3*f(x*x + i*w, w, n - 2)*x }
    return s
}"""
IN_TURN = """fn f(x, w, n) {
    fn even(a, k) { if k == 0 { return a }; return odd(a*x + w, k - 1) }
    fn odd(a, k) { if k == 0 { return a*a }; return even(a - w*x, k - 1) }
    return even(x, n)
}"""
UNUSED = "fn f(x, w, n) { if n == 0 { return x }; return 1.5*f(x, w, n - 1) }"
LATE = (
    "fn f(x, w, n) { if n == 0 { return x }; y = f(x, w, n - 1); return y*w if n == 2 else y + x }"
)
CAPTURED = """k = 0.3
fn f(x, w, n) { fn g(y, m) { if m == 0 { return k*y }; return g(y*w, m - 1) + y*k }; return g(x, n) }"""
LISTS = """fn f(x, w, n) {
    fn total(xs) { if len(xs) == 1 { return xs[0]*w }; return xs[0]*total(xs[1:]) + x }
    return total([x, w, x*w, 0.5])
}"""
MINORS = """fn minor(m, col) {
    out = []
    for i in range(1, len(m)) {
        row = []
        for j in range(len(m)) { if j != col { row = append(row, m[i][j]) } }
        out = append(out, row)
    }
    return out
}
fn det(m) {
    if len(m) == 1 { return m[0][0] }
    s = 0.0; sign = 1.0
    for j in range(len(m)) { s = s + sign*m[0][j]*det(minor(m, j)); sign = -sign }
    return s
}
fn f(x, w, n) = det([[2.0, x, 0.5, w], [0.3, 3.0, x*w, 0.7], [0.1, w, 4.0, 0.3], [x, 0.6, 0.7, 5.0]])"""
DEFINITIONS = [POWER, TREE, LOOP, IN_TURN, UNUSED, LATE, CAPTURED, LISTS, MINORS]
NAMES = ["power", "tree", "loop", "in turn", "unused", "late", "captured", "lists", "minors"]

CALLS = [
    "f(x, w, 4)", "grad(f)(x, w, 4)", "grad(f, wrt = [0, 1])(x, w, 4)[1]",
    "jvp(f)(x, 0.5, w, 4)", "jvp(f, wrt = [0, 1])(x, w, 3, v = [w, 0.5])", "vjp(f)(x, w, w, 4)",
    "grad(grad(f))(x, w, 3)", "jvp(grad(f, wrt = 1))(x, w, w, 3)",
]  # fmt: skip


def answers(tier: int, source: str, mode: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with only(tier, CALLS_ALONE):
        answer = gradcli.load(source=source).with_options(mode=mode, of=("s",)).run()
    return answer.outputs, answer.gradients["s"]


FIRST, SECOND = CALLS[:6], CALLS[6:]
CASES = [
    *[(definitions, call, WRITTEN) for definitions in DEFINITIONS for call in FIRST],
    *[(definitions, FIRST[1], NATIVE) for definitions in DEFINITIONS],
    *[(definitions, call, WRITTEN) for definitions in (POWER, LATE) for call in SECOND],
]


@pytest.mark.parametrize(("definitions", "call", "tier"), CASES)
def test_they_give_what_the_interpreter_gives(definitions: str, call: str, tier: int) -> None:
    source = (
        f"var x = 0.7\nvar w = 1.2\n{definitions}\nfor i in range(2) {{ s = {call} }}\noutput s"
    )
    for mode in ("reverse", "forward"):
        (found, gradients), (expected, wanted) = (
            answers(way, source, mode) for way in (tier, INTERPRETED)
        )
        np.testing.assert_allclose(found["s"], expected["s"], rtol=1e-12)
        for name in ("x", "w"):
            a, b = gradients[name], wanted[name]
            assert (a is None) == (b is None), (name, mode)
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("definitions", DEFINITIONS, ids=NAMES)
def test_they_are_compiled(definitions: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    original = FunctionCall.run

    def run(self: FunctionCall, *arguments: Any) -> Any:
        given.append(original(self, *arguments))
        return given[-1]

    monkeypatch.setattr(FunctionCall, "run", run)
    source = f"frozen x = 0.7\nfrozen w = 1.2\n{definitions}\nfn g() {{ y = {call}; return y }}\nfor i in range(2) {{ s = g() }}\noutput s"
    with only(WRITTEN, CALLS_ALONE):
        outputs = gradcli.load(source=source).run().outputs
    assert given[-1] == outputs["s"]


def test_what_nothing_connects_is_none() -> None:
    for definitions, call, connected in [
        (UNUSED, "f(x, w, 4)", False),
        (LATE, "f(x, w, 1)", False),
        (LATE, "f(x, w, 2)", True),
    ]:
        source = (
            f"var x = 0.7\nvar w = 1.2\n{definitions}\nfor i in range(2) {{ s = {call} }}\noutput s"
        )
        for mode in ("reverse", "forward"):
            _, gradients = answers(WRITTEN, source, mode)
            assert (gradients["w"] is not None) == connected


def test_what_calls_itself_too_deep_is_told() -> None:
    source = "var x = 0.7\nfn f(x, n) { if n == 0 { return x }; return x*f(x, n - 1) }\ns = f(x, 3) + f(x, 5000)\noutput s"
    with only(WRITTEN, CALLS_ALONE), pytest.raises(gradcli.GradcliError) as error:
        gradcli.load(source=source).run()
    assert error.value.diagnostics[0].code == "E406"
