"""Indices that are arrays of ints or lists of them, where code is compiled: as NumPy has them."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import answer, assert_same, expected
from .region_cases import lowered

HEAD = """var a = 0.5
idx = int64(arange(20) * 3 % 20)
jdx = int64(arange(20) * 7 % 20)
few = [a, 2 * a, 3.0]
fixed = [true, false, true, false, false]
free = []
for k in range(5) { if not fixed[k] { free = append(free, k) } }
x = a * arange(20.0)
m = outer(x, arange(20.0) + 1)
c = reshape(a * arange(8000.0), 20, 20, 20)
"""
PARTS = (
    "x[idx]",
    "x[[3, 1, -1]]",
    "x[[[1, 2], [3, 4]]]",
    "x[reshape(idx, 4, 5)]",
    "array(few)[[2, 0, 0]]",
    "array(few)[idx[:4] % 3]",
    "m[idx]",
    "m[:, idx]",
    "m[idx, jdx]",
    "m[idx, 3]",
    "m[2, [1, 0]]",
    "m[[0, 1], [2, 3]]",
    "m[[0, 1]][:, [2, 3]]",
    "m[idx][jdx][2:, idx]",
    "c[1, idx, 2]",
    "c[:, [1, 2], [3, 4]]",
    "c[idx, jdx, idx]",
    "c[idx, 1:4, 2]",  # apart from each other: their axes come first
    "c[0, :, idx]",
    "c[idx, [[1], [2]]]",  # of several shapes
    "c[..., [1, 2]]",
    "m[free][:, free]",
    "x[[k for k in range(9) if not k % 3 == 0]]",
)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("part", PARTS)
def test_parts(part: str, tier: int) -> None:
    source = (
        f"{HEAD}fn f(a) {{ few = [a, 2 * a, 3.0]; x = a * arange(20.0); m = outer(x, x + 1)\n"
        f"c = reshape(a * arange(8000.0), 20, 20, 20)\np = {part}\nreturn sum(p**2) + p.shape[0] }}\n"
        f"output {part}, f(a), grad(f)(a), jvp(grad(f))(a, 1.0)"
    )
    with only(tier, FIRST_USE):
        assert_same(answer(source), expected(source))


@pytest.mark.parametrize(
    "part", [*PARTS[-2:], "m[idx]", "m[[0, 1]][:, [2, 3]]", "m[idx][idx]", "c[idx][:, 1]"]
)
def test_regions_have_parts_and_parts_of_these(part: str) -> None:
    assert not lowered(f"{HEAD}output {part}").reasons


@pytest.mark.parametrize("part", ["x[[3, 20]]", "m[idx, [1, 2]]", "x[[0.5]]", "m[[0], [0], [0]]"])
def test_mistakes(part: str) -> None:
    source = f"{HEAD}fn f(x, m) = sum({part})\noutput f(x, m)"
    with only(heat=FIRST_USE):
        assert answer(source) == expected(source)
