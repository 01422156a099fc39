"""Loops that count the indices of few elements are lowered iteration by iteration: each index is
known then. Where that would be much code, they stay loops."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.ir.instructions import size_of
from gradcli.engine.lowering import programs
from gradcli.engine.lowering.programs import lower_program

from ..kernels.hot_and_cold import answer, assert_close, expected

HEAD = "var x = 0.6; var y = 1.3; v = [x, 2.0, y]; m = array([[x, 0.1, y], [0.3, x, 0.2], [y, 1.0, 0.5]])\n"
ONE_BY_ONE = {
    "a sum": "s = 0.0; for i in range(3) { s = s + v[i]*sin(v[i]) }",
    "backwards": "s = 0.0; for i in range(2, -1, -1) { s = s*x + v[i] }",
    "steps": "s = 0.0; for i in range(0, 3, 2) { s = s + v[i]*i }",
    "an int of it": "s = 0.0; for i in range(6) { s = s + v[i // 2]*v[(i + 1) % 3] }",
    "a product": "w = zeros(3); for i in range(3) { for j in range(3) { w[i] = w[i] + m[i, j]*v[j] } }; s = w[0]*w[2]",
    "rows": "s = 0.0; for i in range(3) { s = s + sum(m[i]*m[i][2]) }",
    "a triangle": "w = m; for i in range(3) { for j in range(i) { w[i, j] = w[i, j]*w[j, j] + x } }; s = w.sum()",
    "a triangle that shrinks": "w = v; for k in range(2) { for i in range(2 - k) { w[i] = w[i]*x + w[i + 1] } }; s = w[0]",
    "in a function": "fn dot(a, b) { t = 0.0; for i in range(len(a)) { t += a[i]*b[i] }; return t }; s = dot(v, m[0]) + dot([x, y], [y, 2.0])",
    "a return": "fn first(a, b) { for i in range(3) { if a[i] > b { return a[i]*i }\n }\n return b }; s = first(v, 1.5) + first(v, 9.0)",
    "a break": "s = 0.0; for i in range(3) { if v[i] > 1.9 { break }; s = s + v[i] }",
    "a continue": "s = 0.0; for i in range(3) { if i == 1 { continue }; s = s + v[i]*v[i] }",
    "lists that change": "l = [x, y, x]; for i in range(3) { l[i] = l[i]*l[(i + 1) % 3] }; s = l[0] + l[2]",
    "a while": "s = 0.0; i = 0; while i < len(v) { s = s + v[i]*i; i = i + 1 }",
    "whiles in whiles": "w = m; i = 0; while i < 3 { j = 0; while j < i { w[i, j] = w[j, j]*v[i]; j += 1 }; i += 1 }; s = w.sum()",
    "a while that continues": "s = 0.0; i = -1; while i < 2 { i += 1; if i == 1 { continue }; s = s + v[i] }",
    "a list that becomes shorter": "l = [x, 2.0, y, x, 0.5, y, 1.0, x]; while len(l) > 1 { l = [l[2*i] + x*l[2*i + 1] for i in range(len(l) // 2)] }; s = l[0]",
    "lists of several lengths": "l = [x, 2.0, y, x]; d = []; while len(l) > 1 { d = append(d, [x*a for a in l]); l = l[1:] }; s = sum(d[0]) + d[2][1]",
    "an int that is carried": "s = 0.0; k = 2; for i in range(3) { s = s*x + v[k]; k = (k + 2) % 3 }",
    "ints that are clipped": "l = [[x], [x, y], [y, 2.0, x]]; s = 0.0; for i in range(3) { for j in range(-1, 2) { k = clip(i + j, 0, 2); s = s*0.5 + sum(l[k])*l[abs(j)][0] + l[square(j)][0]*l[1 + sign(j)][0] } }",
    "many paths in all iterations": "s = 0.0; for i in range(3) { for j in range(3) { for k in range(3) { if v[i]*v[j] > v[k] { continue }; if v[i] > 7*m[j, k] { continue }; if m[i, k] > 9.0 { continue }; s = s + v[i]*m[j, k] } } }",
    "a gradient": "fn f(a) { t = 1.0; for i in range(3) { t = t*a[i] + a[2 - i] }; return t }; s = grad(f)(v).sum()",
}  # fmt: skip
LOOPS = {
    "many elements": "w = linspace(x, y, 20); s = 0.0; for i in range(20) { s = s + w[i]*i }",
    "many iterations": "s = 0.0; for i in range(40) { s = s*0.5 + v[i % 3] }",
    "conditions of the data": "s = 0.0; i = 0; while s < 9.0 { s = s + v[i % 3]; i += 1 }",
    "many turns of a while": "s = 0.0; i = 0; while i < 40 { s = s*0.5 + v[i % 3]; i += 1 }",
    "a while that is left": "s = 0.0; i = 0; while i < 3 { if v[i] > 1.9 { break }; s = s + v[i]; i += 1 }",
    "no index": "s = x; for i in range(3) { s = s*y + i }",
    "much code": "s = x; for i in range(16) { for j in range(16) { for k in range(3) { s = s*0.9 + sin(v[k])*v[(i + j) % 3] } } }",
    "an index of the data": "s = 0.0; for i in range(40) { k = int64(s*s) % 3; s = s*0.5 + v[k] }",
}  # fmt: skip


def loops_in(source: str) -> int:
    """How many loops the region of a program has, all of which is in it."""
    lowered = lower_program(gradcli.load(source=source)._resolved, {})
    assert not lowered.reasons
    return lowered.text.count("= for ") + lowered.text.count("= while ")


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_no_loop_is_left(name: str) -> None:
    assert loops_in(f"{HEAD}{ONE_BY_ONE[name]}\noutput s") == 0


@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay(name: str) -> None:
    assert loops_in(f"{HEAD}{LOOPS[name]}\noutput s") > 0


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", ONE_BY_ONE | LOOPS)
def test_they_give_the_same(name: str, tier: int) -> None:
    body = (ONE_BY_ONE | LOOPS)[name]
    source = (
        f"fn go(x, y) {{ {HEAD.split(';', 2)[2].strip()}; {body}; return s }}\nvar x = 0.6; var y = 1.3\n"
        "t = 0.0; for n in range(5) { t = t + go(x + 0.1*n, y) }\n"
        "output t; output grad(t, x), grad(grad(t, x), y), grad(go)(x, y)"
    )
    with only(tier, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-11)


def test_a_function_for_few_elements_and_for_many() -> None:
    """What is lowered one by one for few stays a loop where it is called with many."""
    source = """fn dot(a, b) { t = 0.0; for i in range(len(a)) { t += a[i]*b[i] }; return t }
var x = 0.6
few = array([x, 1.0, 2.0])
many = linspace(x, 1.0, 40)
output dot(few, few), dot(many, many), dot(few, 2.0*few)"""
    assert loops_in(source) == 1
    with only(NATIVE, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-12)


def test_gradients_pull_back_what_leads_to_them() -> None:
    """Not the loops and the earlier gradients that stand before them."""

    def size(iterations: int) -> int:
        source = (
            "var x = 0.5\ny = x; if x > 0.2 { i = 0; while i < 3 { i += 1; y = y*x } }\ns = 0.0\n"
            f"for i in range({iterations}) {{ s = s + i*detach(grad(x*x, x)) }}\noutput s, y"
        )
        lowered = lower_program(gradcli.load(source=source)._resolved, {})
        assert not lowered.reasons
        return size_of(lowered.original.block)

    assert size(16) - size(8) == size(8) - size(0)


ROOT = Path(__file__).parents[3]
NESTED = "var x = 0.5\ny = x*x\nfor i in range(%s) { y = y*x + 0.01*grad(y*y, x) }\noutput y"


def test_a_program_may_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient of each gradient before it has twice as many instructions."""
    assert f"more than {programs.MOST:,} instructions" in (
        ROOT / "docs" / "architecture.md"
    ).read_text(encoding="utf-8")
    monkeypatch.setattr(programs, "MOST", 2**10)
    short, long = [lower_program(gradcli.load(source=NESTED % n)._resolved, {}) for n in (2, 6)]
    assert not short.reasons
    [reason] = long.reasons
    assert reason.reason == "more than 1024 instructions are not compiled"
    assert reason.span is not None
    assert reason.span.line == 3
    assert not long.results
