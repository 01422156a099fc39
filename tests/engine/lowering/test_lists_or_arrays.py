"""Names, items and results that are a list of numbers on some paths, and an array on others."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN

from ..kernels.hot_and_cold import assert_same_in
from .region_cases import lowered

HEAD = "var x = 0.4\nvar m = [1.0, 2.0]\ns = 0.0\nq = [x, 0.2]\n"
# In the end, `q` may be either.
WAYS = {
    "a step that may be refused": "for i in range(9) { v = array(q) * 1.1 + 0.1; if sin(x * i) > 0.1 { q = v } }",
    "in the last branch only": "if x > 0.3 { q = q + 1.0 }",
    "the other way round": "q = q * 2\nif x > 0.3 { q = [x, x * x] }",
    "a variable": "if x > 0.3 { q = m }",
    "a function": "fn f(t) { if t > 0.5 { return [t, t * t] }; return zeros(2) + t }\nq = f(x)",
    "a conditional": "q = q if x > 0.5 else array(q)",
    "none, a list or an array": "q = none\nfor i in range(9) { if i == 3 { q = [x, x] }; if x * i > 2 { q = m * x } }",
    "neither is reached": "for i in range(9) { if x > 9 { q = array(q) } }",
    "in a dict": "d = {p: q, k: 1}\nfor i in range(5) { if x * i > 1 { d.p = array(d.p) * x }; d.k = d.k + 1 }\nq = d.p",
    "in a list": "l = [q, [1.0, x]]\nfor i in range(5) { if x * i > 1 { l[0] = array(l[0]) * x } }\nq, r = l",
}  # fmt: skip
READ = {
    "as it is": "output q",
    "elements": "output q[0], q[-1] * x, q[1:], q[:1], len(q)",
    "an index that is not known": "output q[int64(x > 0.1)]",
    "arithmetic": "output 2 * q + [1.0, x], q @ q, sum(q), norm(q), max(q), q + q",
    "unpacked": "a, b = q\noutput a * b",
    "a loop": "for v in q { s += v * x }\nfor k, v in enumerate(q) { s += k * v }\nfor a, b in zip(q, m) { s += a * b }\noutput s",
    "an argument": "fn g(p) { if p[0] > 0.1 { p = p + x }; return p[0] * p[1] }\noutput g(q)",
    "changed": "q[0] = x * 3\nq[1] += x\noutput q, sum(q)",
    "an item": "l = [q, q]\nl = append(l, q)\noutput sum(l[1]), l[2][0], array(l)",
    "derivatives": "fn f(p) = p[0]**2 * p[1]\noutput grad(f)(q), jacobian(fn(p) = p * p)(q), hessian(f)(q), jvp(f)(q, [1.0, 2.0])",
}  # fmt: skip
LARGE = {
    "many": "w = [x * i for i in range(30)]\nfor i in range(9) { if i % 4 == 2 { w = array(w) * x } }\noutput w[3], sum(w), w * 2, w[k]",
    "many, by an argument": "fn f(w) = sum(w * w) + w[3]\nw = [x * i for i in range(30)]\nif x > 0.3 { w = array(w) * x }\noutput f(w), grad(f)(w)",
    "ints": "w = [1, 2]\nif x > 0.3 { w = array(w) * 2 }\noutput w, w[0] * x, w // 2",
    "rows": "w = [[x, 1.0], [2.0, x]]\nif x > 0.3 { w = array(w) * 2 }\noutput w, w[0], w[0][1], w[1, 0], w @ m",
}  # fmt: skip
PROGRAMS = {f"{a}: {b}": f"{WAYS[a]}\n{READ[b]}" for a in WAYS for b in READ} | {
    name: f"k = int64(x > 0.1)\n{body}" for name, body in LARGE.items()
}
# Those that the interpreter runs in part: a variable must not be changed in place, and a list of
# values that may be none is no array.
IN_PART = {"a variable: changed", "none, a list or an array: an item", "many, by an argument"}
# What the interpreter runs: what a list and an array do differently, and other shapes.
REST = {
    "appended": "if x > 0.3 { q = array(q) }\nq = append(q, x)\noutput q",
    "appended to the list": "if x > 0.5 { q = array(q) }\nq = append(q, x)\noutput q",
    "compared": "if x > 0.3 { q = array(q) }\noutput q == [x, 0.2]",
    "compared as a list": "if x > 0.5 { q = array(q) }\noutput q == [x, 0.2]",
    "other lengths": "if x > 0.3 { q = zeros(3) }\noutput q",
    "many or few": "if x > 0.3 { q = [x * i for i in range(80)] }\nfor i in range(80) { q[i] = x }\noutput q",
    "many or few, in an array": "if x > 0.3 { q = zeros(80) }\noutput q",
    "ints and floats": "q = [1, 2]\nif x > 0.3 { q = q * x }\noutput q",
    "an int in a list of floats": "if x > 0.5 { q = array(q) }\nq[0] = 3\noutput q[0] // 2, q",
    "an int in an array of floats": "if x > 0.3 { q = array(q) }\nq[0] = 3\noutput q[0] // 2, q",
    "a row of either": "w = [[x, 1.0], [2.0, x]]\nif x > 0.3 { w = array(w) }\nfor r in w { s += r[0] }\noutput s",
    "a variable that is changed": "if x > 0.3 { q = m }\nm := [5.0, 6.0]\noutput q, m",
    "gone": "if x > 0.3 { q = array(q) }\noutput q[5]",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*PROGRAMS, *REST])
def test_they_give_the_same(name: str, tier: int) -> None:
    assert_same_in(tier, HEAD + (PROGRAMS | REST)[name])


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - IN_PART))
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(HEAD + PROGRAMS[name]).reasons


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_in_a_frame(tier: int) -> None:
    """A loop that is compiled by itself, as one statement isn't compiled."""
    source = "for i in range(40) { v = array(q) * 1.01 + 0.1; if sin(x * i) > 0.1 { q = v }\nif i % 9 == 8 { print q } }\noutput q"
    assert_same_in(tier, HEAD + source)
