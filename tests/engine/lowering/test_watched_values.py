"""Values that a tape watches, in regions: a number that was computed becomes a variable."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import assert_same, expected, run_again
from .region_cases import lowered

HEAD = "var k = 2.0\ns = 0.0\nq = 0.5\n"
COMPILED = {
    "a force": "fn v(z) = 0.5 * k * z**2 + 0.1 * z**4\nfn force(z) { tape t { watch z; u = v(z) }; return -t.gradient(u, z) }\n"
    "p = 0.0\nfor i in range(40) { p += 0.05 * force(q); q += 0.05 * p }\noutput q, p",
    "of nothing": "for i in range(40) { t = 0.1 * i; tape a { watch t; tape b { watch t; y = k * t**3 }\n"
    "d = b.gradient(y, t) }\ns += (d - y)**2 + a.gradient(d, t) }\noutput s",
    "carried": "for i in range(40) { tape t { watch q; y = k * q**3 }\n"
    "if i % 3 == 0 { q = q - 0.01 * t.gradient(y, q) } }\noutput q",
    "on some paths": "for i in range(40) { x = 0.1 * i; if i % 3 == 0 { x = x * k }\n"
    "tape t { watch x; y = k * x**2 }\ns += t.gradient(y, x) * x }\noutput s",
    "beside a variable": "for i in range(40) { x = q * k; tape t { watch x; y = k * x**2 }\n"
    "a, b = t.gradient(y, [x, k]); s += a + b * x }\noutput s",
    "an array": "p = array([0.1, 0.2, 0.4])\nfor i in range(40) { tape t { watch p; y = sum(k * p**2) * p[0] }\n"
    "p = p + 0.01 * t.gradient(y, p) }\noutput p",
}  # fmt: skip
# There the other name is the variable as well if the value was recorded, and else it isn't.
OTHER_NAMES = {
    "recorded": "for i in range(40) { x = k * i; z = x; tape t { watch x; y = x * z }\ns += t.gradient(y, x) }\noutput s",
    "plain": "for i in range(40) { x = 0.1 * i; z = x; tape t { watch x; y = k * x * z }\ns += t.gradient(y, x) }\noutput s",
    "of a closure": "fn f(z) { tape t { watch z; y = k * z * q }; return t.gradient(y, z) }\n"
    "for i in range(40) { s += f(q); q = 0.9 * q + 0.1 * k }\noutput s",
    "watched late": "for i in range(40) { x = k * i; tape t { y = x**2; watch x; y += x**3 }\ns += t.gradient(y, x) }\noutput s",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*COMPILED, *OTHER_NAMES])
def test_they_give_the_same(name: str, tier: int) -> None:
    source = HEAD + (COMPILED | OTHER_NAMES)[name]
    with only(tier, FIRST_USE):
        assert_same(run_again(source), expected(source)[1:3])


@pytest.mark.parametrize("name", COMPILED)
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(HEAD + COMPILED[name]).reasons


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_watched_value_has_one_name(name: str) -> None:
    reason, *_ = lowered(HEAD + OTHER_NAMES[name]).reasons
    assert reason.reason == "a watched value that has another name is not compiled"
