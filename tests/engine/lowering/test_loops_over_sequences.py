"""Loops over rows of arrays, `zip` and `enumerate`, where code is compiled: as without that."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.kernels.loop_calls import LoopCalls

from ..kernels.hot_and_cold import answer, assert_same, expected
from .region_cases import lowered

HEAD = """var w = 1.3
frozen k = 2.0
xs = linspace(0.0, 1.0, 40)
ys = sin(3 * xs)
zs = w * xs
m = outer(xs, [1.0, 2.0, 3.0])
v = outer(xs, [1.0, w, 3.0])
l = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
pairs = [[0.5 * i, 1.0 - i] for i in range(40)]
table = [[1.0 * i * j for j in range(18)] for i in range(20)]
counts = [[i, i * i, 3] for i in range(40)]
ragged = [[1.0 * j for j in range(i)] for i in range(1, 20)]
s = 0.0
"""
LOOPS = {
    "zip": "for x, y in zip(xs, ys) { s += (w * x - y)**2 }",
    "zip of what is traced": "for x, z in zip(xs, zs) { s += sin(z) * x }",
    "enumerate": "for i, x in enumerate(xs) { s += w * x * i }",
    "enumerate of what is traced": "for i, z in enumerate(zs) { s += z * i }",
    "enumerate of a zip": "for i, p in enumerate(zip(xs, ys)) { u, z = p; s += w * u * z + i }",
    "zip of an enumerate": "for p, y in zip(enumerate(xs), ys) { s += w * p[0] * p[1] * y }",
    "rows": "for r in m { s += dot(r, r) * w }",
    "rows of what is traced": "for r in v { s += dot(r, r) }",
    "rows beside elements": "for r, x in zip(v, xs) { s += r[1] * x }",
    "elements of what is traced": "for z in zs { s += z**2 }",
    "a list": "for x in l { s += w * x }",
    "a list beside an array": "for a, x in zip(l, xs) { s += w * a * x }",
    "a range beside an array": "for i, x in zip(range(3, 60, 2), xs) { s += w * i * x }",
    "few beside many": "for a, x in zip([1.0, 2.0], xs) { s += w * a * x }",
    "the end of a loop": "for i, x in enumerate(xs) { if w * x > 0.9 { break }; s += i * w }",
    "some are left out": "for x, y in zip(xs, ys) { if x < 0.3 { continue }; s += w * y }",
    "what names hold after it": "for i, x in enumerate(xs) { y = x * w }\ns = y * i + x",
    "a list that becomes longer": "a = []; for x, y in zip(xs, ys) { a = append(a, w * x * y) }\ns = sum(a)",
    "an update": "for x, y in zip(xs, ys) { w :-= 0.01 * grad((w * x - y)**2, w) }\ns = w**2",
    "lists": "for a, b in pairs { s += w * a * b }",
    "lists beside numbers": "for r, x in zip(pairs, xs) { s += w * r[0] * x }",
    "long lists": "for r in table { s += w * r[3] + sum(r) }",
    "lists of ints": "for r in counts { s += w * (r[1] // 2 + r[0] % 3) }",
    "lists of other lengths": "for r in ragged { s += w * r[0] + len(r) }",
    "items of lists in lists": "for i in range(20) { s += w * pairs[i][1] * pairs[-1][0] * table[i][-1] }",
    "parts of lists": "for i in range(18) { s += w * sum(table[i][2:9]) + sum(table[3:9][i % 3]) }",
    "an array of lists": "for i in range(18) { s += w * sum(array(pairs) @ [1.0, i]) }",
    "a copy of a list": "for i in range(18) { r = pairs[i]; r[0] = 2 * w; s += r[0] * pairs[i][0] }",
    "what isn't numbers": 'for a, x in zip(["u", "v"], xs) { if a == "u" { s += w * x } }',
    "ints beside floats": "for a, x in zip([1, 2.5, 3, 4], xs) { s += w * a * x }",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str, tier: int) -> None:
    source = f"{HEAD}{LOOPS[name]}\noutput s"
    with only(tier, FIRST_USE):
        assert_same(answer(source), expected(source))


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_parts_of_lists_are_lists(tier: int) -> None:
    source = (
        f"{HEAD}fn parts(i) = [pairs[i], table[i], table[i][1:4], table[i:i + 2][1], l[2:5]]\n"
        "for i in range(18) { p = parts(i); s += w * p[0][1] }\noutput s, p, counts[7]"
    )
    with only(tier, FIRST_USE):
        assert repr(answer(source)) == repr(expected(source))


@pytest.mark.parametrize("name", [name for name in LOOPS if name != "an update"])
def test_loops_in_functions(name: str) -> None:
    body = LOOPS[name].replace("\n", "; ")
    source = f"{HEAD}fn f(w) {{ s = 0.0; zs = w * xs; {body}; return s }}\n"
    for asked in ("f(w)", "grad(f)(w)", "jvp(grad(f))(w, 1.5)"):
        with only(WRITTEN, FIRST_USE):
            assert_same(answer(source + f"output {asked}"), expected(source + f"output {asked}"))


# Few items, items that aren't numbers or have many kinds, and lists of which each number would have
# to be recorded.
INTERPRETED = ("few", "isn't numbers", "ints beside floats", "becomes longer", "other lengths")
COMPILED = [name for name in LOOPS if not any(word in name for word in INTERPRETED)]


@pytest.mark.parametrize("name", COMPILED)
def test_kernels_run_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    run = LoopCalls.run
    monkeypatch.setattr(LoopCalls, "run", lambda *given: ran.append(run(*given)) or ran[-1])

    def kernels(source: str) -> int:
        ran.clear()
        with only(WRITTEN, FIRST_USE):
            answer(source)
        return len([each for each in ran if each is not None and not isinstance(each, int)])

    assert kernels(f"{HEAD}{LOOPS[name]}\noutput s") > kernels(f"{HEAD}output s")


def test_long_sequences_are_loops_of_a_region() -> None:
    source = f"{HEAD}{LOOPS['zip']}\n{LOOPS['enumerate of a zip']}\noutput s"
    region = lowered(source)
    assert not region.reasons
    assert region.text.count(" for ") == 2 + 2  # `pairs` and `table` are made by loops


# What the interpreter has to say, with the items that the loop was at.
MISTAKES = {
    "an index": "for i, x in enumerate(xs) { s += l[i] }",
    "a shape": "for r, x in zip(m, xs) { s = s + dot(r, [x, w]) }",
    "an int": "for i, x in enumerate(xs) { n = 2**60 * i }",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    source = f"{HEAD}{MISTAKES[name]}\noutput s"
    with only(heat=FIRST_USE):
        assert answer(source) == expected(source)
