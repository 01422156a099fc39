"""Programs of kinds that kernels run, the shortest of each, and how much lowering may take."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, HEAT, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.builder import Builder, TooLong
from gradcli.engine.ir.instructions import Block
from gradcli.engine.kernels.frame_entries import Observed
from gradcli.engine.kernels.loop_calls import LoopCalls
from gradcli.engine.kernels.variants import TRIED_AGAIN, Variants

from ..kernels.hot_and_cold import answer, assert_same, expected, run_again
from .region_cases import lowered

REGIONS = {
    "powers by what a loop counts": "fn f(n) { s = 0; for i in range(n) { for j in range(8) { s += i // 2**j % 2 } }; return s }\n"
    "output f(9), x * f(7)",
    "powers that may be fractions": "fn f(x) { s = 0.0; for j in range(-3, 20) { s += x * 2**j + 3**(j - 8) }; return s }\n"
    "output f(x), grad(f)(x)",
    "a negative base": "s = 0; k = 0; while k < 9 { s += (-3)**k; k += 1 }\noutput s",
    "derivatives by dicts": "fn f(p) = p.a**2 * p.b[0]\ng = grad(f)({a: x, b: [x, 1.0]})\noutput g.a, g.b[0]",
    "a long list as an array": "fn f(x) = sum(array([sin(x * k) for k in range(80)])**2)\noutput f(x), grad(f)(x)",
    "constants that are no numbers": 'const links = {a: ["b", "c"], b: ["c"], c: ["a"]}\n'
    "const names = [\"c\", \"a\"]\nconst f = fn(a) = a * x\nconst no = none\nrank = {a: x, b: 2.0, c: 1.0}\n"
    "for _ in range(9) { for k in links { for to in links[k] { rank[to] += 0.1 * rank[k] } } }\n"
    "output f(rank[names[0]]), rank, 1.0 if no == none else x",
}  # fmt: skip
LOOPS = {
    "names that are read no more": "fn f(x) { s = 0.0\n"
    "for i in range(20) { h = fn(z) = z * x; s += h(i) }\nreturn s }\noutput f(x)",
    "a loss with a loop": "fn loss(a, b) { s = 0.0; for k in range(5) { s += (a * k - b)**2 }; return s }\n"
    "for i in range(20) { g, h = grad(loss, wrt = [0, 1])(x, y); x :-= 0.001 * g; y :-= 0.001 * h }\n"
    "output x * y",
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*REGIONS, *LOOPS])
def test_they_give_the_same(name: str, tier: int) -> None:
    source = f"var x = 0.7\nvar y = 1.5\n{(REGIONS | LOOPS)[name]}"
    with only(tier, FIRST_USE):
        assert_same(answer(source), expected(source))


@pytest.mark.parametrize("name", REGIONS)
def test_regions_have_all_of_them(name: str) -> None:
    assert not lowered(f"var x = 0.7\n{REGIONS[name]}").reasons


def test_a_constant_list_of_variables_or_texts_stays_a_list() -> None:
    source = (
        "var x = 2.0; var z = [1.0, 2.0]\nconst a = [x, 1.0]; const b = [z, [0.0, 1.0]]\n"
        'const c = [2 * x, 1.0]; const d = [zeros(2), z]; const f = [z[0], 1.0]; const s = ["t"]\n'
        "output a, b, c, d, f, len(s)"
    )
    with only(INTERPRETED):
        wanted = [type(value) for value in run_again(source)[0].values()]
    with only(WRITTEN, FIRST_USE):
        assert [type(value) for value in run_again(source)[0].values()] == wanted
    assert not lowered(source).reasons


@pytest.mark.parametrize("name", LOOPS)
def test_kernels_run_their_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    run = LoopCalls.run
    monkeypatch.setattr(LoopCalls, "run", lambda *given: ran.append(run(*given)) or ran[-1])
    with only(WRITTEN, FIRST_USE._replace(work=10**12)):  # loops alone
        answer(f"var x = 0.7\nvar y = 1.5\n{LOOPS[name]}")
    assert any(each is not None and not isinstance(each, int) for each in ran)


def test_a_builder_adds_no_more_than_it_may() -> None:
    builder = Builder(Block(), most=2)
    builder.constant(1.0)
    with builder.undoing(ValueError):
        builder.constant(2.0)
    with pytest.raises(TooLong):
        builder.constant(3.0)


def test_lowering_that_takes_too_long_is_tried_again_after_more_work() -> None:
    tried: list[int | None] = []

    def make(observed: Observed, more: Any, most: int | None) -> Any:
        tried.append(most)
        raise TooLong

    variants = Variants[Any](make)
    nothing: Any = Observed({}, [], False, frozenset(), frozenset(), [], [], None)  # type: ignore[arg-type]
    least = HEAT.work_each * 100
    assert variants.of(nothing, (), least) == TRIED_AGAIN * least
    assert variants.of(nothing, "other entries", least + 1) == TRIED_AGAIN * least
    assert variants.of(nothing, (), TRIED_AGAIN * least) == TRIED_AGAIN**2 * least
    assert tried == [100, 100 * TRIED_AGAIN]
