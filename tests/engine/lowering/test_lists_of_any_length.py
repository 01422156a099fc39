"""Lists whose number of items isn't known before the program runs: stacks, queues, histories,
events."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli import load
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.printer import text
from gradcli.engine.kernels.loop_calls import LoopCall
from gradcli.engine.lowering.held.columns import ROOM

from ..kernels.hot_and_cold import answer, assert_close, assert_same, assert_same_in, expected
from .region_cases import lowered

HEAD = "var x = 0.3\nl = []\ns = 0.0\nk = 0\n"
# Each makes a list `l`, whose items are read in one of the ways below.
LISTS = {
    "under a condition": "for i in range(90) { if sin(i + x) > 0.2 { l = append(l, sin(x * i)) } }",
    "as long as a condition holds": "y = 1.0\nwhile y > 0.01 { y = y * (1.0 - 0.1 * x); l = append(l, y) }",
    "until a break": "while true { k = k + 1; l = append(l, x * k); if x * k > 9.0 { break } }",
    "one item, then several": "l = [x]\nwhile len(l) < 40 { l = append(l, l[-1] * 1.1); if len(l) % 3 == 0 { l = append(l, x) } }",
    "in inner loops": "for i in range(9) { for j in range(i) { if (i + j) % 2 == 0 { l = append(l, x * i + j) } } }",
    "from a function": "fn up(n, x) { m = []; for i in range(n) { if i % 3 != 1 { m = append(m, x * i) } }; return m }\nl = up(30, x)",
    "a stack": "l = [x, 2 * x]\nwhile len(l) < 30 { t = l[-1]; l = l[:-1]; l = append(l, t * 1.1); l = append(l, t + 0.1) }",
    "its first items": "while len(l) < 30 { l = append(l, x + len(l)) }\nl = l[:7]",
    "two of them": "m = []\nfor i in range(40) { if i % 3 == 0 { l = append(l, x * i) } else { m = append(m, x + i) } }\nfor v in m { if v > 20.0 { l = append(l, v) } }",
    "a copy that stays as it was": "while len(l) < 9 { l = append(l, x * len(l)) }\nm = l\nwhile len(m) < 20 { m = append(m, m[-1] + x); m[2] = m[-1] }\ns = m[2]",
    "its last items": "while len(l) < 30 { l = append(l, x + len(l)) }\nl = l[4:-2]",
    "a window": "for i in range(60) { if i % 3 > 0 { l = append(l, x * i); if len(l) > 5 { l = l[-5:] } } }",
    "a queue": "l = [x, 2 * x]\nwhile len(l) < 30 { t = l[0]; l = l[1:]; l = append(l, t * 1.1); l = append(l, t + 0.1) }",
    "a window, and what left it": "for i in range(60) { if i % 3 > 0 { l = append(l, x * i); if len(l) > 5 { m = l; l = l[2:]; s = s + m[0] * len(m) } } }",
    "made of another": "m = []\nwhile len(m) < 30 { m = append(m, x + len(m)) }\nl = [v * v for v in m if v > 3.0]",
    "replaced items": "while len(l) < 30 { l = append(l, x + len(l)) }\nfor i in range(len(l)) { l[i] = l[i] * l[len(l) - 1 - i] }",
    "begun anew": "for i in range(50) { l = append(l, x * i); if i % 20 == 19 { l = [] } }",
    "of a known list": "l = [x, 0.1, 0.2]\nfor v in [0.3, 0.4, 0.5, 0.1] { if v > l[-1] { l = append(l, v * x) } }",
}  # fmt: skip
ITEMS = {
    "each": "for v in l { s = s * 0.9 + v * v }\noutput s, len(l)",
    "numbered": "for i, v in enumerate(l) { s = s + i * v }\noutput s",
    "side by side": "for a, b in zip(l, l) { s = s + a * b }\noutput s",
    "by an index": "for i in range(len(l)) { s = s + l[i] * l[-1 - i] }\noutput s",
    "the last": "output l[-1]",
}
# Each makes a list, of few items or of many, and reduces it.
REDUCED = {
    f"{op} of {n}": f"for i in range({n}) {{ if sin(i + x) > 0.2 {{ l = append(l, sin(x * i + 1.0)) }} }}\noutput {op}(l)"
    for op in ("sum", "mean", "max", "min", "norm", "logsumexp")
    for n in (3, 40, 900)
} | {
    "sum of ints": "p = []\nfor i in range(90) { if i % 7 < 3 { p = append(p, i) } }\noutput x * sum(p), x * max(p), x * mean(p)",
    "sum of squares of a part": "for i in range(300) { if i % 7 < 3 { l = append(l, x * i) } }\nl = l[:-9]\noutput sum(l) / len(l), norm(l)",
    "in a loop": "while len(l) < 40 { l = append(l, x + len(l)); if len(l) % 3 == 1 { s = s + sum(l) * max(l) } }\noutput s",
    "any": "b = []\nfor i in range(90) { if i % 7 < 3 { b = append(b, sin(x * i) > 0.9) } }\noutput x * (1.0 if any(b) else 2.0), x * (1.0 if all(b) else 2.0)",
}  # fmt: skip
# Each makes a list of things other than floats.
OTHERS = {
    "ints": "n = 2\np = []\nwhile n < 200 { ok = true; for q in p { if n % q == 0 { ok = false; break } }; if ok { p = append(p, n) }; n = n + 1 }\nfor q in p { s = s + x / q }\noutput s, len(p)",
    "bools": "b = []\nfor i in range(40) { if i % 3 > 0 { b = append(b, sin(x * i) > 0.1) } }\nfor v in b { if v { s = s + x } }\noutput s",
    "rows": "for i in range(60) { if i % 7 < 3 { l = append(l, [x * i, sin(x + i)]) } }\nfor a, b in l { s = s + a * b }\noutput s, l[-1][1]",
    "rows of ints and floats": "for i in range(60) { if i % 7 < 3 { l = append(l, [i, sin(x + i)]) } }\nfor a, b in l { s = s + a * b }\noutput s",
    "dicts": "for i in range(60) { if i % 7 < 3 { l = append(l, {at: i, v: [x, x * i]}) } }\nfor e in l { s = s + e.v[1] * e.at }\noutput s, l[2].v[0]",
    "arrays": "u = array([1.0, x])\nwhile norm(u) < 9.0 { u = u * 1.1 + 0.01; l = append(l, u) }\nfor v in l { s = s + v[0] * v[1] }\noutput s",
    "large arrays": "u = ones(40) * x\nwhile sum(u) < 90.0 { u = u * 1.1 + 0.01; l = append(l, u) }\nfor v in l { s = s + v[3] * sum(v) }\noutput s",
    "a part of an item": "while len(l) < 20 { l = append(l, [x, len(l)]) }\nfor i in range(20) { l[i][0] = l[i][0] * i }\nfor a, b in l { s = s + a * b }\noutput s",
    "a queue": "q = [1]\nh = 0\nwhile h < len(q) { n = q[h]; h = h + 1; s = s + sin(x * n); if n < 50 { q = append(q, 2 * n); q = append(q, 2 * n + 1) } }\noutput s",
    "taken from the front": "q = [x]\nwhile len(q) > 0 and k < 60 { h = q[0]; q = q[1:]; k = k + 1; s = s + h; if h < 5.0 { q = append(q, h * 1.5 + 0.1); if k % 3 == 0 { q = append(q, h + 1.0) } } }\noutput s, k",
    "the last rows": "u = array([x, 1.0])\nfor i in range(30) { u = u * 1.1; if i % 4 != 1 { l = append(l, {at: i, u: u, v: [x, x * i]}); if len(l) > 5 { l = l[1:] } } }\nfor e in l { s = s + e.at * e.u[0] + e.v[1] }\noutput s, l[0].u",
    "nothing left": "while len(l) < 9 { l = append(l, x + len(l)) }\nm = l[20:]\nn = l[5:2]\nfor v in m { s = s + v }\nfor v in n { s = s + v }\noutput s, len(m), len(n), x",
    "lists of another's length": "for i in range(30) { a = []; for v in l { a = append(a, v * 2.0) }; for v in a { s = s + v }; if i * x > 2.0 { l = append(l, x * i) } }\noutput s",
    "the last two of a stack": "for v in [x, 0.1, 0.7, x * x, 0.2] { l = append(l, [v, 1]); while len(l) > 1 and l[-2][0] > l[-1][0] { a = l[-2]; b = l[-1]; n = a[1] + b[1]; l = append(l[:-2], [(a[0] * a[1] + b[0] * b[1]) / n, n]) } }\n"
    "for a, b in l { s = s + a * a * b }\noutput s, len(l)",
    "a convex hull": "p = []\nfor i in range(30) { p = append(p, [i * 0.1, sin(i * i + x)]) }\nfor c in p { while len(l) >= 2 and (l[-1][0] - l[-2][0]) * (c[1] - l[-2][1]) <= (l[-1][1] - l[-2][1]) * (c[0] - l[-2][0]) { l = l[:-1] }; l = append(l, c) }\n"
    "for a, b in l { s = s + a * b }\noutput s, len(l)",
    "too much code one by one": "w = ones([6, 4]) * 0.3\nh = zeros(4) + x\nfor t in range(40) { z = sigmoid(concatenate([h, [x, 1.0 * t]]) @ w)\n"
    "r = tanh(concatenate([z * h, [1.0, x]]) @ w)\nu = sigmoid(concatenate([r, [x, x * t]]) @ w)\nh = u * h + (1 - u) * r\nl = append(l, h) }\n"
    "for v in l { s = s + sum(v) }\noutput s, l[-1], len(l)",
    "an argument": "fn total(m, x) { r = 0.0; for v in m { r = r + v * x }; return r }\nwhile len(l) < 30 { l = append(l, x + len(l)) }\noutput total(l, x)",
    "with a derivative of its own": "fn f(p) { m = []; v = p; while v < 9.0 { v = v * 1.3 + p; m = append(m, v) }; r = 0.0; for e in m { r = r + sin(e) }; return r }\noutput f(x), grad(f)(x), grad(grad(f))(x)",
}  # fmt: skip
# What the interpreter runs, at least in part.
REST = {
    "ints and floats": "for i in range(40) { l = append(l, i); if i % 3 == 0 { l = append(l, x * i) } }\noutput l[4], l[-1]",
    "numbers and lists": "while len(l) < 20 { if len(l) % 2 == 0 { l = append(l, x) } else { l = append(l, [x]) } }\noutput l[2], l[3]",
    "more items than there is room for": f"while len(l) < {ROOM + 9} {{ l = append(l, x + len(l)) }}\noutput l[-1], len(l)",
    "as an array": "while len(l) < 30 { l = append(l, x + len(l)) }\noutput sum(array(l) * array(l))",
    "the others": "while len(l) < 30 { l = append(l, x + len(l)) }\noutput l[2:]",
    "a sum of nothing": "for i in range(40) { if x * i > 99.0 { l = append(l, x * i) } }\noutput sum(l)",
    "a mean of nothing": "for i in range(40) { if x * i > 99.0 { l = append(l, x * i) } }\noutput mean(l)",
    "a variance": "while len(l) < 30 { l = append(l, x * len(l)) }\noutput var(l), std(l), softmax(l)[3]",
    "along an axis": "while len(l) < 30 { l = append(l, [x, x * len(l)]) }\noutput sum(l, axis = 0)",
    "no such item": "while len(l) < 30 { l = append(l, x + len(l)) }\noutput l[30]",
    "an empty stack": "l = [x]\nwhile true { t = l[-1]; l = l[:-1]; s = s + t }\noutput s",
}  # fmt: skip
PROGRAMS = {f"{a}: {b}": f"{LISTS[a]}\n{ITEMS[b]}" for a in LISTS for b in ITEMS} | OTHERS | REDUCED


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*PROGRAMS, *REST])
def test_they_give_the_same(name: str, tier: int) -> None:
    assert_same_in(tier, HEAD + (PROGRAMS | REST)[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(HEAD + PROGRAMS[name]).reasons


def test_a_window_moves_its_items_alone() -> None:
    """Not all for which the list has room."""
    window = "if x * i > 0.5 { l = append(l, [x, x * i]); if len(l) > 5 { l = l[1:] } }"
    text = lowered(f"{HEAD}for i in range(60) {{ {window} }}\noutput l[0][1], len(l)").text
    assert f"[{ROOM}, 2]" in text
    assert f": {ROOM}" not in text


@pytest.mark.parametrize("name", ["rows", "sum of 40", "mean of 900", "norm of 900"])
def test_in_float32(name: str) -> None:
    program = load(source=HEAD + PROGRAMS[name]).with_options(dtype="float32")
    with only(INTERPRETED):
        wanted = program.run()
    with only(NATIVE, FIRST_USE):
        found = [program.run() for _ in range(3)][-1]
    assert_close((found.outputs, found.gradients), (wanted.outputs, wanted.gradients), 1e-5)


# Loops of a frame, on numbers that depend on no variable, which go on where a list is full.
LONG = {
    "one item now and then": "while k < 9000 { k = k + 1; if k % 3 > 0 { l = append(l, sin(k * 0.1)) } }",
    "several in an iteration": "while k < 9000 { k = k + 1; for j in range(k % 7) { l = append(l, sin(k * 0.1 + j)) } }",
    "rows": "while k < 9000 { k = k + 1; if k % 3 > 0 { l = append(l, [k, sin(k * 0.1), k % 2 == 0]) } }",
    "dicts of arrays": "u = array([1.0, 2.0])\nwhile k < 3000 { k = k + 1; u = u * 0.99; if k % 3 > 0 { l = append(l, {at: k, u: u}) } }",
}  # fmt: skip
FRAME = "l = []\nk = 0\n"


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", LONG)
def test_loops_of_a_frame_go_on_with_more_room(
    name: str, tier: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterations = _iterations(monkeypatch)
    source = f"{FRAME}{LONG[name]}\noutput l[-1], l[1], l[len(l) // 2], len(l)"
    with only(tier, FIRST_USE):
        found = answer(source)
    assert_same(found, expected(source))
    assert sum(iterations) > 2900


def test_a_list_of_a_length_that_a_loop_counts_has_room_for_the_longest() -> None:
    """As the levels of a binomial tree have: many steps are a loop, and no level has more room than
    the first."""
    sizes = []
    for n in (60, 200):
        found = lowered(
            f"var x = 0.3; v = [x*i for i in range({n} + 1)]\n"
            f"for j in range({n} - 1, -1, -1) {{ v = [0.5*(v[i] + v[i + 1]) for i in range(j + 1)] }}\n"
            "output v[0]"
        )
        assert not found.reasons
        region = text([found.region])
        assert str(ROOM) not in region
        sizes.append(len(region.splitlines()))
    assert max(sizes) < 1000


def test_short_loops_on_long_lists_are_the_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """To copy a list costs more than some iterations; a loop that ran none is tried again, too."""
    iterations = _iterations(monkeypatch)
    inner = "j = 0\nwhile j < k % 3 { j = j + 1; l = append(l, k + 0.5) }"
    source = f"{FRAME}while k < 9000 {{\nk = k + 1\n{inner}\nif k % 4000 == 0 {{ print k }}\n}}\noutput len(l), l[-1]"
    with only(NATIVE, FIRST_USE):
        found = answer(source)
    assert_same(found, expected(source))
    assert 0 < len(iterations) < 4000


def _iterations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which kernels of loops add the number of iterations that they run."""
    found: list[int] = []
    run = LoopCall.run

    def noted(call: LoopCall, *given: Any) -> Any:
        ran, new = run(call, *given)
        found.append(ran.iterations)
        return ran, new

    monkeypatch.setattr(LoopCall, "run", noted)
    return found
