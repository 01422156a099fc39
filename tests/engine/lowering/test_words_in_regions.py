"""Strings that differ between paths and iterations, where code is compiled: as without that."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import answer, assert_same, expected
from .region_cases import lowered

HEAD = """var x = 0.7
fn next(w) { if w == "red" { return "green" }; return "blue" if w == "green" else "red" }
costs = {red: 1.0, green: 0.5, blue: x}
s = 0.0
w = "red"
v = "blue"
"""
LOOPS = {
    "one after another": "for i in range(20) { s += i * x * (1.0 if w == 'red' else 0.5); w = next(w) }",
    "another in some": "for i in range(20) { if i % 3 == 1 { w = 'green' }; if w != 'red' { s += x } }",
    "two of them": "for i in range(20) { if w == v { s += x * i }; v = w; w = next(next(w)) if i % 4 == 0 else w }",
    "that differ": "for i in range(20) { if w != v { s += x * i }; v = next(v); if i % 2 == 0 { w = next(w) } }",
    "a key of a dict": "for i in range(20) { s += costs[w] * i * x; w = next(w) }",
    "in a condition": "i = 0; while w != 'blue' or i < 10 { i += 1; s += x; w = next(w) }",
    "in a list": "l = ['red', 'green']; for i in range(20) { l = [next(l[1]), l[0]]; if l[0] == 'red' { s += x * i } }\nw = l[1]",
    "in a dict": "d = {w: w, n: 0}; for i in range(20) { d = {w: next(d.w), n: d.n + 1}; if d.w == 'red' { s += x } }",
    "none of them": "for i in range(20) { if w == 'white' { s += 1.0 }; if w == 2 { s += 2.0 }; s += x; w = next(w) }",
    "until one of them": "for i in range(20) { if w == 'blue' { break }; s += x; w = next(w) }",
    "a change at a key": "t = {red: 1, green: x, blue: 0.0}; for i in range(20) { t[w] += x * i; w = next(w) }; s += t.red * t.blue",
    "changes below a key": "t = {red: [x, {n: 0}], blue: [1.0, {n: 1}]}; for i in range(20) { if w != 'green' { t[w][1].n += i; t[w][0] *= x }; w = next(w) }; s += t.red[0] * t.blue[1].n",
    "changes at all keys": "t = [{a: x, b: 2.0}, {a: 1.0, b: x}]; for i in range(20) { for k in [0, 1] { for key in ['a', 'b'] { t[k][key] *= x } }; t[0]['a'] += 1.0 }; s += t[0].a * t[1].b",
    "a new key": "for i in range(20) { t = {a: x}; for key in ['a', 'b'] { t[key] = x * i }; s += t.b + len(t) }",
    "the keys": "t = {a: x, b: 2.0}; for i in range(20) { for key in t { t[key] *= x }; s += sum([t[key] for key in t.keys()]) }",
    "keys and others": "t = {a: x, b: 2.0}; for i in range(20) { for k, key in enumerate(t) { s += k * t[key] }; for key, c in zip(t, [x, 3.0]) { t[key] += c } }",
    "keys and numbers": "t = {a: x, b: 2.0}; l = array([x, 3.0]); for i in range(20) { for key, c in zip(t, l) { t[key] += c; s += c } }",
    "items and values": "t = {a: x, b: 2.0, keys: 1.0}; for i in range(20) { for key, c in t.items() { if key == 'a' { s += c } }; s += sum(t.values()) + t.keys }",
    "keys with numbers in them": "t = {p0: x, p1: 2.0}; for i in range(20) { for k in [0, 1] { t[f'p{k}'] *= x; s += t[f'p{k:d}'] } }",
    "new keys with words in them": "t = {}; for k in range(3) { for key in ['a', 'b'] { t[f'{key}{key:>3}|{k:+03d}|{k:.1f}'] = x * k } }; s = sum(t.values()) + len(t); w = t.keys()[5]",
    "chosen by a number": "for i in range(20) { w = 'red' if sin(i * x) > 0 else 'green'; s += x if w == 'red' else -1.0 }",
}  # fmt: skip
SOURCES = {name: text.replace("'", '"') for name, text in LOOPS.items()}


def told(source: str, tier: int) -> Any:
    with only(tier, FIRST_USE):
        return answer(source)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", SOURCES)
def test_loops(name: str, tier: int) -> None:
    source = f"{HEAD}{SOURCES[name]}\nprint w, v\noutput s"
    assert_same(told(source, tier), expected(source))


@pytest.mark.parametrize("name", SOURCES)
def test_functions(name: str) -> None:
    body = SOURCES[name].replace("\n", "; ")
    source = (
        f'{HEAD}fn f(x) {{ s = 0.0; w = "red"; v = "blue"; {body}; return [s, w] }}\n'
        "fn g(x) = f(x)[0]\nr = f(x)\nprint r[1]\noutput r[0], grad(g)(x), hessian(g)(x)"
    )
    assert_same(told(source, WRITTEN), expected(source))


@pytest.mark.parametrize("name", SOURCES)
def test_all_is_compiled(name: str) -> None:
    assert not lowered(f"{HEAD}{SOURCES[name]}\noutput s").reasons


@pytest.mark.parametrize("change", ["s += t[w]", "t[w] = x", "t[w] += 1.0"])
def test_a_key_that_may_be_missing(change: str) -> None:
    source = (
        f"{HEAD}t = {{red: x, green: 2.0, blue: 1.0}}\n"
        f'for i in range(9) {{ {change}; w = "white" if i == 5 else next(w) }}\noutput s, t'
    )
    assert told(source, WRITTEN) == expected(source)
