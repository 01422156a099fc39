"""Names, items and results that are none on some paths, and a value on others."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN

from ..kernels.hot_and_cold import assert_same_in
from .region_cases import lowered

HEAD = "var x = 0.4\ns = 0.0\nb = none\n"
PROGRAMS = {
    "what a function may not find": "fn f(t) { if t > 0.5 { return none }; return t * t }\n"
    "for i in range(20) { r = f(x * i * 0.3); if r != none { s += r } }\noutput s, f(x)",
    "a function without a return": "fn f(t) { if t > 0.5 { return t } }\nr = f(x * 2)\noutput 0.0 if none == r else r",
    "the best so far": "for i in range(12) { v = sin(x * i); if v > 0.3 and (b == none or v > b.v) { b = {v: v, at: [v, 2 * v], k: i} } }\n"
    "output b.v, b.at, b.at[1] * x, b.k",
    "in a list": "l = [none, x, none]\nl[0] = x * x if x > 0.3 else none\nfor v in l { if v == none { continue }; s += v }\noutput s",
    "in a dict that a loop changes": "c = {last: none, n: 0}\nfor i in range(9) { if i % 3 == 1 { if c.last != none { s += c.last * i }; c.last = sin(x * i) }; c.n = c.n + 1 }\noutput s, c.n",
    "a default": "fn f(t, scale = none) = t if scale == none else t * scale\nk = none\nif x > 0.3 { k = 3.0 }\noutput f(x), f(x, k), f(x, scale = none if x > 0 else x)",
    "a search that calls itself": "fn f(lo, hi) { if hi - lo < 0.1 { return none }; m = (lo + hi) / 2; if abs(m - x) < 0.02 { return m * x }\n"
    "l = f(lo, m); return f(m, hi) if l == none else l }\nr = f(0.0, 1.0)\noutput 7.0 if r == none else r",
    "a list, an array": "a = none\nfor i in range(9) { if x * i > 1 { a = [x, i]; b = array([1.0, x]) * i } }\noutput a[0] + a[1] + sum(b)",
    "a large array": "for i in range(9) { if x * i > 1 { b = ones(40) * x * i } }\noutput sum(b), b[3] if b != none else 0.0",
    "unpacked": "for i in range(9) { if x * i > 1 { b = [x, i] } }\np, q = b\noutput p * q",
    "an int, a string, a bool": "w = none\nc = none\nfor i in range(9) { if x * i > 1 { b = i; w = \"up\"; c = i > 4 } }\noutput b * x, x if w == \"up\" else s, x if c else s",
    "it becomes none again": "for i in range(9) { if b == none { b = x * i } else { s += b; b = none } }\noutput s, 1.0 if b == none else b",
    "a function": "g = none\nif x > 0.3 { g = fn(t) = t * x }\noutput g(2.0) if g != none else 0.0",
    "through a derivative": "fn f(t) { r = none; for i in range(9) { if t * i > 1 { r = t * t * i; break } }; return 0.0 if r == none else r }\noutput f(x), grad(f)(x), grad(grad(f))(x), grad(f)(0.01)",
    "never a value": "for i in range(9) { if x > 9 { b = x } }\noutput b == none, x",
}  # fmt: skip
# What the interpreter runs: errors, and what is none in the end.
REST = {
    "an output": "if x > 9 { b = x }\noutput b, x",
    "arithmetic": "if x > 9 { b = x }\noutput b + x",
    "an index": "if x > 9 { b = [x] }\noutput b[0]",
    "a call": "if x > 9 { b = fn(t) = t * x }\noutput b(x)",
    "a linked list": "for i in range(9) { b = {v: x * i, next: b} }\nwhile b != none { s += b.v; b = b.next }\noutput s",
    "a tree": "fn put(t, v) { if t == none { return {v: v, l: none, r: none} }; if v < t.v { return {v: t.v, l: put(t.l, v), r: t.r} }\n"
    "return {v: t.v, l: t.l, r: put(t.r, v)} }\nfn total(t, k) { if t == none { return 0.0 }; return k * t.v + total(t.l, k + 1) + total(t.r, k + 1) }\n"
    "for i in range(9) { b = put(b, sin(x * i * i)) }\noutput total(b, 1)",
    "a list as an array": "if x > 9 { b = x }\noutput sum([b, x])",
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*PROGRAMS, *REST])
def test_they_give_the_same(name: str, tier: int) -> None:
    assert_same_in(tier, HEAD + (PROGRAMS | REST)[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(HEAD + PROGRAMS[name]).reasons


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_in_a_frame(tier: int) -> None:
    """Loops and calls that are compiled by themselves, as one statement isn't compiled."""
    body = "for i in range(40) { v = sin(x * i); if v > 0.3 and (b == none or v > b) { b = v }\nif i % 9 == 8 { print b } }"
    function = "fn f(t) { if t > 0.5 { return none }; return t * t }\nfor i in range(9) { print f(x * i * 0.2) }"
    assert_same_in(tier, f"{HEAD}{body}\n{function}\noutput b, f(x), f(0.7)")
