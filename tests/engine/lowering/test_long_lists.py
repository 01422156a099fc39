"""Lists of many numbers, which regions hold in memory: changed, made by loops, and given back."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import assert_same, expected, run_again
from .region_cases import lowered

HEAD = """var x = 0.7
const n = 12
fn table(n) = [[x * i + j for j in range(n)] for i in range(n)]
m = table(n)
l = [x * i for i in range(80)]
s = 0.0
"""
PROGRAMS = {
    "a number of a row": "for i in range(n) { for j in range(n - i) { m[i][j] = m[j][i] * x } }\noutput m[3][2], m",
    "a number added to": "for i in range(1, n) { for j in range(i) { m[i][j] -= x * m[i - 1][j]; m[-i][j] += 1.0 } }\noutput m",
    "rows": "for i in range(n) { m[i] = [x * i * v for v in m[i // 2]] }\noutput m[7], m[-1][2]",
    "rows that change places": "for i in range(n) { j = i * 5 % n; m[i], m[j] = m[j], m[i] }\noutput m",
    "a number at an index that a loop finds": "for i in range(n) { k = i\n"
    "for j in range(i, n) { if sin(m[j][i]) > sin(m[k][i]) { k = j } }\nm[k][i] = x }\noutput m",
    "a list of one axis": "for i in range(200) { l[i * 7 % 80] += x; s += l[i % 80]**2 }\noutput s, l",
    "changes in a function": "fn f(t) { for i in range(n) { for j in range(n) { t[i][j] *= t[j][i] } }; return t }\n"
    "t = f(m)\noutput t[2][3], m[2][3], sum([r[0] for r in t])",
    "changes in one branch": "for i in range(n) { if i > 3 { for j in range(n) { m[j][i] = x } } else { s += m[i][0] } }\noutput s, m",
    "points": "p = [[x * i, 1.0] for i in range(90)]; v = [[0.0, x] for i in range(90)]\n"
    "for t in range(3) { for i in range(90) { v[i] = [v[i][0] + p[i - 1][1], v[i][1] * x] }\n"
    "p = [[a[0] + b[0], a[1] + b[1]] for a, b in zip(p, v)] }\noutput p[4], v[5], len(p)",
    "rows of rows": "q = [[[x, 1.0], [2.0, i * x]] for i in range(70)]\n"
    "for i in range(70) { q[i][1][0] = q[i - 1][0][1] + i; s += q[i][0][0] }\noutput s, q[3], q[-1][1][0]",
    "rows that become more": "q = [[1.0, x]]\nfor i in range(100) { q = append(q, [q[-1][0] + x, q[i][1] * 0.9]) }\noutput q[50], len(q)",
    "a long list that becomes longer": "m = append(m, [x for i in range(n)])\nfor r in m { s += r[1] }\noutput s, len(m)",
    "several items at once": "q = [i * j * x for i in range(90) for j in range(3)]\n"
    "r = [x]; for i in range(70) { r = append(append(r, x * i), 1.0) }\noutput q[7], r[-2], len(r)",
    "a large table": "q = [[x * i - j for j in range(66)] for i in range(5)]\n"
    "for i in range(5) { q[i][i * 47 % 66] = q[i - 1][i]; q[-1] = q[i] }\noutput q[3][4], sum(q[-1]), len(q[2])",
    "many long rows": "q = [[x for j in range(66)]]\n"
    "for i in range(20) { q = append(q, [v * 0.9 + i for v in q[i]]) }\noutput q[-1][5], len(q), sum(array(q))",
    "an array of a table": "t = array(table(n))\nfor i in range(n) { t[i][i] += x; t[i][i - 1] *= 2.0 }\noutput sum(t @ t)",
    "a ring": "q = [sin(x * i) for i in range(24)]\n"
    "for t in range(9) { for i in range(24) { q[i] = 0.5 * q[i] + 0.5 * tanh(x * q[(i - 1) % 24] + q[(i + 1) % 24]) } }\n"
    "output q[5], sum(q)",
    "arrays as an array": "h = []\nv = array([x, 1.0, 0.5])\nfor i in range(100) { v = v + 0.1 * array([v[1], -v[0], x * v[2]]); h = append(h, v) }\n"
    "q = stack(h)\noutput sum(q[:, 1]**2), mean(h, axis = 0), max(h), array(h)[40] - 2.0 * q[3], dot(h[:, 0], h[:, 2]), len(h)",
    "a list and then arrays": "y = [x, 1.0, 0.5]; h = [y]\nfor k in range(100) { y = y + 0.01 * [y[1], -y[0], x * y[2]]; h = append(h, y) }\n"
    "q = stack(h)\nfor p in h { s += p[0] * p[2] }\noutput s, h[0], h[40], h[0][1], h[-1][1], sum(q[:, 1]), h[0] + h[1], h[n][2] * h[-n][0], len(h[2]), mean(h, axis = 0)",
    "a list and then arrays, as long as a condition holds": "y = [x, 1.0, 0.5]; h = [y]\nwhile norm(y) < 9.0 { y = y * 1.01 + 0.01 * [y[1], -y[0], x * y[2]]; h = append(h, y) }\n"
    "for p, q in zip(h, h[1:]) { s += dot(p, q) }\noutput s, h[0], h[0][1], h[-1], len(h)",
    "arrays and then a list": "h = []\nfor k in range(90) { h = append(h, [x, 2.0, x * k] if k > 70 else x * ones(3)) }\noutput h[3], h[80], h[80][1], h[70][1] * h[71][2], array(h)[75]",
    "arrays that a short loop appends": "h = []\nfor i in range(30) { h = append(h, array([x * i, x, 1.0])) }\noutput sum(h), var(h, axis = 0), concatenate([array(h), stack(h)])[50]",
    "rows of numbers of two types": "h = [[x * i, i, 2] for i in range(40)]\noutput h @ [1.0, x, 2.0], transpose(h)[1], exp(-h)[3], zeros_like(h)[7]",
    "a `while` that counts": "h = []\nk = 0\nwhile k < 90 { h = append(h, [x * k, x + k]); k = k + 1 }\nc = h - mean(h, axis = 0)\noutput transpose(c) @ c / (k - 1)",
    "ints": "c = [[i, i * j] for i in range(90) for j in [1, 2]]\nfor i in range(90) { c[i * 7 % 180][1] += i }\noutput c[7], x",
}  # fmt: skip
# Lists of fewer numbers, made by loops that would be too much code iteration by iteration.
FEWER = {
    "a history of training": "p = [x, 0.3]\nv = [0.0, 0.0]\nfn loss(p) = (1 - p[0])**2 + 5 * (p[1] - p[0]**2)**2 + sin(p[0] * p[1])\n"
    "h = []\nfor t in range(1, 40) { g = grad(loss)(p); for k in [0, 1] { v[k] = 0.9 * v[k] + g[k]; p[k] -= 0.01 * v[k] / (1 - 0.9**t) }; h = append(h, loss(p)) }\n"
    "output h[-1], min(h), h[3], p, len(h)",
    "a statistic of each sample": "u = uniform([20, 8])\nfn middle(d) { d = sort(d); w = 0.0; t = 0.0; for k in range(8) { q = sigmoid(x * k); w += q; t += q * d[k] }; return t / w }\n"
    "h = []\nfor b in range(20) { r = []; for v in u[b] { r = append(r, v * x + sin(v)) }; h = append(h, middle(r)) }\nh = sort(h)\noutput h[1], h[18], std(h)",
    "points and ints": "p = [1.0, x]\nh = []\nc = []\nfor i in range(30) { for k in range(4) { p = [p[0] + 0.1 * sin(p[1] * i) * exp(-p[0]**2), p[1] - 0.1 * cos(p[0] + k) * log(2 + p[1]**2)]; p = [p[1], p[0] * x + tanh(p[1])] }\n"
    "h = append(h, p); c = append(c, i * i) }\noutput h[7], sum([a * b for a, b in h]), sum(c) * x, c[-1]",
}  # fmt: skip
# What the interpreter runs: the list is no longer one of numbers of one type, or of one length.
MIXED = {
    "an int": "for i in range(n) { m[i][i - 1] = 3 }\noutput m",
    "an array": "for i in range(n) { m[i] = array([x for i in range(n)]) }\noutput m[3] + x",
    "a number in place of a row": "for i in range(n) { m[i] = x }\noutput m",
    "a row of another length": "for i in range(n) { m[i] = [x, i * x] }\noutput m[2]",
    "an item that depends on nothing": "for i in range(80) { l[i * 7 % 80] = 1.0 }\noutput l[3]",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*PROGRAMS, *FEWER, *MIXED])
def test_they_give_the_same(name: str, tier: int) -> None:
    source = HEAD + (PROGRAMS | FEWER | MIXED)[name]
    with only(tier, FIRST_USE):
        assert_same(run_again(source), expected(source)[1:3])


@pytest.mark.parametrize("name", [*PROGRAMS, *FEWER])
def test_regions_have_all_of_them(name: str) -> None:
    source = HEAD + (PROGRAMS | FEWER)[name]
    assert not lowered(source).reasons


def test_their_code_is_short() -> None:
    """The size of the code doesn't follow from that of the lists."""

    def size(n: int) -> int:
        body = PROGRAMS["a number added to"]
        return len(lowered(f"{HEAD.replace('12', str(n))}{body}").region.block.instructions)

    assert size(60) == size(20)


def test_a_place_that_is_not_known_takes_no_branches() -> None:
    """Nothing chooses between the numbers one by one, which would be much code on rows."""
    assert " if " not in lowered(HEAD + PROGRAMS["a ring"]).text


@pytest.mark.parametrize("name", FEWER)
def test_loops_that_make_shorter_lists_stay_loops(name: str) -> None:
    assert lowered(HEAD + FEWER[name]).text.count("\n") < 2000
