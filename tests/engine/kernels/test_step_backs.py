"""Kernels that step back, at every instruction: the interpreter runs the program as if there were
no kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.codegen.kernel import PlainFirst
from gradcli.engine.ir.instructions import Block, Check, Constant, Region, Value, blocks_of
from gradcli.engine.ir.types import BOOL
from gradcli.engine.kernels import region_calls
from gradcli.engine.passes.copying import copied

from .hot_and_cold import answer, assert_close, expected

PROGRAMS = {
    "numbers": "var x = 0.6; var y = 1.3; s = x; for i in range(4) { s = sin(s)*y + i }\noutput s, grad(s, x)",
    "a condition": "var x = 0.6; n = 0; s = x; while s < 9.0 { n += 1; if n % 2 == 0 { s = s + x } else { s = s*1.5 } }\noutput s, n",
    "elements": "var x = 0.6; a = zeros(20); b = a; for i in range(20) { a[i] = x*i; if i == 5 { b = a } }\noutput a.sum(), b",
    "arrays": "var v = linspace(0.0, 1.0, 20); w = v*2.0; for i in range(3) { w = w*v + 0.1*w[0] }\noutput w, w.sum()",
    "a list": "var x = 0.6; fn f(a) { l = [a]; for i in range(5) { l = append(l, l[-1]*x + i) }; return l }\noutput f(0.3), f(x)[2], f(0.1)",
    "a call": "var x = 0.6; fn f(a, b) { s = a; for i in range(3) { s = s*b + x }; return [s, a] }\noutput f(0.3, 0.2), f(x, 0.4), f(x, x)[0]",
    "recursion": "var x = 0.6; fn f(a, n) { if n == 0 { return a }; return f(a*x, n - 1) + f(a + x, n - 1) }\noutput f(x, 3), f(1.0, 2)",
    "a derivative": "var x = 0.6; fn f(a) = a**3*x; s = 0.0; for i in range(3) { s = s + grad(f)(s + i) }\noutput s",
    "training": "var w = 0.5; for i in range(6) { loss = (w*2.0 - 1.5)**2; w :-= 0.1*grad(loss, w) }\noutput w, loss",
    "an error": "var x = 0.6; s = x; a = [1.0, 2.0, 3.0]; for i in range(5) { s = s*a[i] }\noutput s",
    "a print": "var x = 0.6; s = x; for i in range(6) { s = s*x; if i == 3 { print i, s } }\noutput s",
}  # fmt: skip


def places(block: Block) -> Iterator[tuple[Block, int]]:
    """Where an instruction can be added to a block and to those inside it."""
    for k, made in enumerate(block.instructions):
        yield block, k
        for inner in blocks_of(made):
            yield from places(inner)


class Faults:
    """Makes the kernels of a run step back at one of all their instructions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.seen = -1, 0

        def kernel(*regions: Region, **options: Any) -> PlainFirst:
            return PlainFirst(*map(self.changed, regions), **options)

        monkeypatch.setattr(region_calls, "PlainFirst", kernel)

    def changed(self, region: Region) -> Region:
        found = Region(region.name, copied(region.block, {}))
        for block, k in list(places(found.block)):
            if self.seen == self.at:
                never = Value(BOOL)
                block.instructions[k:k] = [Constant(False, never), Check(never)]
            self.seen += 1
        return found


@pytest.mark.parametrize(("tier", "every"), [(WRITTEN, 1), (NATIVE, 23)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_instruction(
    name: str, tier: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PROGRAMS[name]
    wanted, faults = expected(source), Faults(monkeypatch)
    with only(tier, FIRST_USE):
        assert_close(answer(source), wanted, 1e-12)
        total = faults.seen
        assert total > 10
        for faults.at in range(0, total, every):
            faults.seen = 0
            assert_close(answer(source), wanted, 1e-12)
