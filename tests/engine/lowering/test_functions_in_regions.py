"""Functions that differ between paths and iterations, where code is compiled: as without that."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN

from ..kernels.hot_and_cold import assert_same_in
from .region_cases import compare, lowered

HEAD = """var x = 0.7
frozen n = 20.0
fn twice(t) = 2 * t
fn power(t, k = 3) = t ** k * x
fn later(t) { if t > 1 { return t }; return later(t * 1.5 + 0.1) }
named = {twice: twice, power: power, root: sqrt}
listed = [twice, power, fn(t) = t - x]
s = 0.5
f = twice
"""
PROGRAMS = {
    "from a dict": "for i in range(20) { key = 'power' if i * x > 3 else 'twice' if i > 2 else 'root'; s = s * 0.5 + named[key](s) }",
    "from a list": "for i in range(20) { k = 0 if i * x < 3 else 2; s = s * 0.5 + listed[k](s) }",
    "by a condition": "s = (twice if x > 1 else power)(n)",
    "in a name": "if x > 1 { f = power }\ns = f(n)\ng = f if n > 3 else sin\ns += g(s)",
    "kept by a loop": "for i in range(20) { s = s * 0.5 + f(s); if s > 1 { f = power } else { f = sin } }",
    "given to a function": "fn apply(h, t) = h(h(t))\ns = apply(f if x > 1 else power, n) + apply(twice, x)",
    "given to a recursive one": "fn many(h, k, t) { if k < 1 { return t }; return many(h, k - 1, h(t)) }\ns = many(sin if x > 1 else cos, n, x)",
    "returned": "fn of(t) { if t > 1 { return sin }; return fn(u) = u * t }\ns = of(x)(n) + of(n)(x)",
    "that capture what changes": "k = 1.0\nif x < 1 { k = 3.0; f = fn(t) = k * t } else { f = fn(t) = k - t }\nk += x\ns = f(n)",
    "that call themselves": "s = (later if x > 0.5 else twice)(x)",
    "or none": "g = none\nif x < 1 { g = f if n > 3 else power }\nif g != none { s = g(x) }",
    "with names of arguments": "s = (power if x < 1 else fn(t, k) = t * k)(n, k = 2)",
}  # fmt: skip
OTHERS = {
    "of one text": "for i in range(200) { s = s * 0.5 + f(s); f = fn(t) = t * i * 0.01 }",
    "differentiated": "for i in range(200) { s = s * 0.5 + grad(twice if i > 3 else power)(s) }",
    "with default values of a path": "f = (fn(t, k = x) = t * k) if x < 1 else (fn(t, k = 2.0) = t - k)\ns = f(n)",
    "compared": "f = sin if x > 1 else cos\ns = 1.0 if f == cos else 2.0",
    "mapped": "s = sum(vmap(twice if x > 1 else power)([x, n]))",
}  # fmt: skip
SOURCES = {name: text.replace("'", '"') for name, text in (PROGRAMS | OTHERS).items()}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", SOURCES)
def test_they_give_the_same(name: str, tier: int) -> None:
    body = SOURCES[name].replace("\n", "; ")
    assert_same_in(tier, f"{HEAD}{SOURCES[name]}\noutput s")
    assert_same_in(
        tier,
        f"{HEAD}fn all(x) {{ s = 0.5; f = twice; {body}; return s }}\noutput all(x), grad(all)(x)",
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_have_all_of_them(name: str) -> None:
    assert compare(f"{HEAD}{SOURCES[name]}\noutput s") == "same"


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_compiled(name: str) -> None:
    assert lowered(f"{HEAD}{SOURCES[name]}\noutput s").reasons
