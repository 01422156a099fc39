"""Lists of many rows of one form, which regions read: the edges of a graph, measurements with
names."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.ir.instructions import size_of

from ..kernels.hot_and_cold import assert_same_in, run_again
from .region_cases import compare, lowered

N = 90
ROWS = [(k % 11, (7 * k) % 13, 0.25 + k / 8) for k in range(N)]
HEAD = f"""var x = 0.3
edges = [{", ".join(f"[{a}, {b}, {w}]" for a, b, w in ROWS)}]
named = [{", ".join(f"{{from: {a}, to: {b}, at: [{w}, {w + 1}]}}" for a, b, w in ROWS)}]
ints = [{", ".join(str(a) for a, _, _ in ROWS)}]
d = zeros(13)
s = 0.0
"""
PROGRAMS = {
    "rows of ints and floats": "for e in edges { d[e[1]] = d[e[1]] * 0.5 + sin(d[e[0]] + x * e[2]) }\noutput d",
    "rows that are unpacked": "for a, b, w in edges { d[b] += x * w * a }\noutput d",
    "dicts": "for e in named { d[e.to] = d[e.to] * 0.5 + x * e.at[0] - e.at[1] * d[e.from] }\noutput d",
    "numbers": "for k in ints { s = s * 0.9 + sin(x * k) }\noutput s",
    "side by side": "for k, e in zip(ints, edges) { s += x * k * e[2] }\nfor k, e in enumerate(named) { s += x * k * e.at[1] }\noutput s",
    "in a function": "fn f(rows, x) { s = 0.0; for t in range(3) { for e in rows { s = s * 0.9 + sin(x * e[2]) * e[0] } }; return s }\noutput f(edges, x)",
    "a row at an index": "fn f(x) { s = 0.0; for k in range(400) { e = edges[k * 7 % 90]; s += x * e[2] * edges[-1][1] + named[k % 90].at[1] }; return s }\noutput f(x)",
    "how many": "fn f(rows) = len(rows) * x\nfor k in range(len(edges)) { s += x * edges[k][2] }\noutput s, f(named)",
    "an int beside that decides a shape": "fn f(n, rows, x) { a = zeros(n); for e in rows { a[e[0] % n] += x * e[2] }; return sum(a * a) }\nfor k in range(3) { s += f(5, edges, x) }\noutput s",
    "a loop that is left": "for e in edges { if e[2] > 9.0 { break }; s += x * e[2] }\noutput s",
}  # fmt: skip
# What the interpreter runs: rows of several forms, with what isn't known, or that change.
OTHERS = {
    "rows of other lengths": "edges = append(edges, [1, 2])\nfor e in edges { s += x * e[1] }\noutput s",
    "an int among floats": "edges[3] = [1, 2, 3]\nfor e in edges { s += x * e[2] }\noutput s, edges[3]",
    "a row that depends on a variable": "edges[3] = [1, 2, x]\nfor e in edges { s += e[2]**2 }\noutput s, edges[3], edges[4]",
    "words": 'w = [[e[0], "a" if e[0] > 3 else "b"] for e in edges]\nfor e in w { s += x if e[1] == "a" else 1.0 }\noutput s',
    "a row that is changed": "for k in range(90) { edges[k] = [1, 2, x * k] }\nfor e in edges { s += e[2] }\noutput s, edges[5]",
    "lists too deep for an entry": "v = [[[[[[[[[]]]]]]]]]\nfor k in range(9) { s += x * k * len(v) }\noutput s",
    "no such row": "fn f(x) { s = 0.0; for k in range(92) { s += x * edges[k][2] }; return s }\noutput f(x)",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_they_give_the_same(name: str, tier: int) -> None:
    assert_same_in(tier, HEAD + (PROGRAMS | OTHERS)[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(HEAD + PROGRAMS[name]).reasons


def test_an_index_beyond_the_rows() -> None:
    with only(heat=FIRST_USE), pytest.raises(GradcliError, match="90"):
        run_again(HEAD + OTHERS["no such row"])


LONG_BODY = """fn f(a) { for k in range(20) { if a > 5 { break }; a = a * 1.5 + sin(k * a) }; return a }
for o in some {
    s = s * 0.9 + f(x * o.at) + f(s - o.at) * x + f(f(o.at) * s)
}
output s
"""
# Items of lists for which a loop with a long body goes on, and whether they are in a table.
ITEMS = {
    "of known numbers": ("{at: 0.1 * i, n: i}", True),
    "of numbers that follow": ("{at: sin(0.2 * i)}", True),
    "in lists": ("{at: i / 7, more: [i, {n: 2 * i}]}", True),
    "that depend on a variable": ("{at: x * i}", False),
    "of several forms": ("{at: i if i < 3 else 0.5}", False),
}


def loop_over(item: str, n: int) -> str:
    return f"var x = 0.3\ns = 0.0\nsome = [{item} for i in range({n})]\n{LONG_BODY}"


@pytest.mark.parametrize("name", ITEMS)
def test_short_lists_and_long_bodies(name: str) -> None:
    item, in_table = ITEMS[name]
    assert compare(loop_over(item, 20)) == "same"
    sizes = [size_of(lowered(loop_over(item, n)).region.block) for n in (20, 30)]
    assert (sizes[1] - sizes[0] < 300) == in_table


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_short_lists_in_tables(tier: int) -> None:
    assert_same_in(tier, loop_over("{at: sin(0.2 * i)}", 20))


# A long loop body that makes a list of arrays, or of dicts; a loop that reads it backwards.
MADE = """fn f(a) {{ t = a; for k in range(3) {{ t = t * 0.5 + sin(t + k) * cos(x * t) / (1 + t * t) }}; return t }}
var x = 0.3
m = array([[x, 0.2], [0.1, 0.5]])
l = []
for i in range({n}) {{ g = solve(m + eye(2), f(m)); m = f(m) - f(f(g)) * 0.3; l = append(l, {item}) }}
s = m[0, 0]
for i in range({n}) {{ h = l[{n} - 1 - i]; s = s * 0.9 + {read} }}
{rest}
output s
"""
ARRAYS, DICTS = ("g[0] * 2.0", "h[0] * h[1]"), ("{g: g, n: g[0, 1] * i}", "h.g[0, 1] * h.n")
RESTS = {
    "as an array": "s += sum(array(l[:8])**2) + len(l)",
    "of all": "s += sum(stack(l)[-1])",
    "longer": "l = append(l, l[0] * 2.0); for k in range(3) { l = append(l, l[-1] + k) }; s += sum(l[-1]) * len(l)",
    "as many again": "for k in range(70) { l = append(l, l[k] * 0.5) }; s += sum(l[-1]) * len(l)",
    "changed": "l[3] = l[4] * x; s += l[3][1] + l[-2][0]",
    "backwards": "s += sum(l[::-2][1])",
    "some of them": "l = l[4:]; while len(l) > 3 { l = l[:-1] }; s += sum(l[-1])",
    "beside itself": "for a, b in zip(l, l[1:]) { s += sum(a * b) }; for k, a in enumerate(l) { s += k * a[0] }",
    "of a function": "fn c(l) = sum(l[0] * l[1]) + len(l); s += c(l) + sum(grad(c)(l)[1])",
    "part by part": "s += sum(vmap(fn(a) = a[0] * a[1] + a[-1])(l))",
    "in a dict": "d = {l: l, n: 2}; d.l = append(d.l, l[0]); s += sum(d.l[-1]) * len(d.l)",
    "as an output": "output l; output d = {l: l[:3], n: 1}",
}  # fmt: skip


def made(n: int, form: tuple[str, str] = ARRAYS, rest: str = "") -> str:
    item, read = form
    return MADE.format(n=n, item=item, read=read, rest=rest)


@pytest.mark.parametrize("rest", RESTS)
def test_lists_that_short_loops_with_long_bodies_make(rest: str) -> None:
    source = made(20, rest=RESTS[rest])
    assert not lowered(source).reasons
    assert_same_in(WRITTEN, source)


@pytest.mark.parametrize("form", [ARRAYS, DICTS])
def test_their_loops_stay_loops(form: tuple[str, str]) -> None:
    sizes = [size_of(lowered(made(n, form)).region.block) for n in (20, 40)]
    assert sizes[0] == sizes[1]
    assert_same_in(NATIVE, made(20, form))
