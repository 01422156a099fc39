"""Interpolation at one point and elements at indices, written out as operations on elements."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.ir.instructions import Structural, blocks_of

from ..kernels.hot_and_cold import answer, assert_same, expected
from ..lowering.region_cases import lowered

HEAD = """var x = 0.7
var p = [0.0, 1.0, 2.0, 2.0, 2.5]
var v = [1.0, 3.0, 2.0, -1.0, 5.0]
const many = arange(40.0) / 8
const square = sin(reshape(many, [8, 5]))
"""
FUNCTIONS = {
    "a line": "interp(x, p, v)",
    "at points, and beside them": "sum([interp(t * x / x, p, v) * (k + x) for k, t in enumerate([-1.0, 0.0, 1.0, 2.0, 2.25, 2.5, 9.0])])",
    "one point": "interp(x, [1.0], [x * v[0]]) + interp(x + 1, [1.0], [v[1]])",
    "ints in lines": "interp(x * 3, [0, 1, 2], [3, 1, 2]) + interp(2, [0, 1, 5], [x, 2, 3])",
    "many points": "interp(x * 4, many, sin(many * x))",
    "infinite values": "interp(x, [0.0, 1.0, 2.0], [inf, x, inf]) + interp(1.0, [0.0, 1.0, 2.0], [inf, x, inf])",
    "an element": "take(v, int64(x * 4)) * x + take(many * x, int64(x * 30) - 40, axis = 0)",
    "the only one": "take([x], int64(x)) * x",
    "rows": "sum(take(square * x, [int64(x * 4), 0, -1], axis = 0) * v)",
    "a row": "sum(take(square * x, int64(x * 4) - 8, axis = 0) * v)",
    "columns": "sum(take(square * x, [[2, -1], [int64(x * 4), 2]], axis = 1) ** 2)",
    "of all in one line": "sum(take(square * x, [int64(x * 30), -1, int64(x * 30)]) ** 2)",
    "one of each row": "sum(gather(square * x, [[int64(x * 4), 1], [2, -1], [0, 0], [3, 4]]) ** 2)",
    "one of each column": "sum(gather(square * x, [[int64(x * 4), 1, -1, 0, 1]], axis = 0) * v)",
    "sums at indices": "sum(scatter_add(v * x, [0, -1, int64(x * 4), 0], v[:4] * x) ** 2)",
    "sums of rows": "sum(scatter_add(square * x, [[0, -1], [1, 0]], reshape(many[:20], [2, 2, 5]) * x) ** 2)",
    "a sum at an index": "sum(scatter_add(v * x, int64(x * 4), x) ** 2) + sum(scatter_add(square, -1, v * x) ** 2)",
    "ints at indices": "sum(take([3, 1, 2, 0, 4], [int64(x * 4), 0]) * x) + sum(scatter_add(arange(5), [1, 1, -1], [2, 3, 4]) * v)",
}
REFUSED = {
    "points that descend": "interp(x, [1.0, 0.5], [x, 2.0])",
    "an index out of range": "take(v, int64(x * 9))",
    "a row out of range": "sum(take(square, [0, -1 - int64(x * 12)], axis = 0)) * x",
    "an index of a row out of range": "sum(gather(square * x, [[int64(x * 9)]]))",
    "a place of a sum out of range": "sum(scatter_add(v, [0, int64(x * 9)], x))",
    "nan": "interp(x, p, [nan, x, x, x, x]) + interp(nan, p, v)",
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*FUNCTIONS, *REFUSED])
def test_they_give_the_same(name: str, tier: int) -> None:
    source = (
        f"{HEAD}fn f(x, v) = {(FUNCTIONS | REFUSED)[name]}\ns = 0.0\n"
        "for i in range(20) { s += f(x + i * 0.05, v) }\n"
        "output f(x, v), grad(f, wrt = [0, 1])(x, v), hessian(f)(x, v), jvp(grad(f))(x, 1.0, v), s"
    )
    with only(tier, FIRST_USE):
        assert_same(answer(source), expected(source))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_called(name: str) -> None:
    found = lowered(f"{HEAD}fn f(x) = {FUNCTIONS[name]}\noutput f(x), grad(f)(x)")
    assert not found.reasons
    waiting = [region.block for region in (found.region, *found.others)]
    while waiting:
        block = waiting.pop()
        assert not any(isinstance(made, Structural) for made in block.instructions)
        waiting += [inner for made in block.instructions for inner in blocks_of(made)]
