"""The sparsity of what `vmap` computes: a row depends on what it reads, not on other rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, only, policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.kernels.mapped.regions import MappedRegion

from ..derivatives.sparse_entries import dense, places
from ..programs import outputs

GIVEN = {
    "a": np.array([[2.0, 1.0, -1.0], [0.5, 3.0, 2.0], [-1.0, 0.25, 1.5], [1.25, -2.0, 0.75]]),
    "w": np.array([0.75, 2.0, -0.5, 1.5]),
}
EACH = [(k, 3 * k + j) for k in range(4) for j in range(3)]
SINGLE = [(k, k) for k in range(4)]


@pytest.fixture(autouse=True, params=[{}, {"heat": FIRST_USE}], ids=["cold", "hot"])
def _heat(request: pytest.FixtureRequest) -> Iterator[None]:
    """In the interpreter, and with kernels where these tell what each element depends on."""
    with only(**request.param):
        yield


# The function of a row of `a` and a number of `w`; what each result depends on in `a`, and in `w`.
STRUCTURES = [
    ("fn f(x, w) = x[0]*w", [(k, 3 * k) for k in range(4)], SINGLE),
    ("fn f(x, w) = norm(x)*w", EACH, SINGLE),
    ("fn f(x, w) = x*w", [(k, k) for k in range(12)], [(k, k // 3) for k in range(12)]),
    (
        "fn f(x, w) = array([w*x[0], x[1]**2])",
        sorted([(2 * k + j, 3 * k + j) for k in range(4) for j in (0, 1)]),
        [(2 * k, k) for k in range(4)],
    ),
    ("fn f(x, w) { if x[0] > w { return x[1]*w }\n return w }", [(0, 1)], SINGLE),
    (
        "fn f(x, w) { y = x; while norm(y) > 1.0 { y = 0.7*y }\n return y[0] + w }",
        [(k, 3 * k) for k in range(4)],
        SINGLE,
    ),
    (
        "fn f(x, w) { z = w; for k in range(3) { if x[k] > 1.0 { z = z*x[k] } }\n return z }",
        [(0, 0), (1, 4), (1, 5), (2, 8), (3, 9)],
        SINGLE,
    ),
    ("fn f(x, w) = where(x > 1.0, x, w)[2]", [(k, 3 * k + 2) for k in range(4)], SINGLE),
    ("fn f(x, w) = a[1, 2]*w + x[1]", sorted([(k, 3 * k + 1) for k in range(4)] + [(k, 5) for k in range(4)]), SINGLE),
    ("fn f(x, w) = sum(vmap(fn(u) = u*w)(x[1:]))", [(k, 3 * k + j) for k in range(4) for j in (1, 2)], SINGLE),
    ("fn f(x, w) = vmap(fn(u) = u*w)(x)", [(k, k) for k in range(12)], [(k, k // 3) for k in range(12)]),
    (
        "fn f(x, w) { y = zeros(2); y[1] = w; y[0] = x[2]; return y }",
        [(2 * k, 3 * k + 2) for k in range(4)],
        [(2 * k + 1, k) for k in range(4)],
    ),
    ("fn f(x, w) { k = 1 if w > 0.0 else 2; return x[k]*w }", [(0, 1), (1, 4), (2, 8), (3, 10)], SINGLE),
    ("fn f(x, w) = cumsum(x)[1]*w", [(k, 3 * k + j) for k in range(4) for j in (0, 1)], SINGLE),
]  # fmt: skip
FUNCTIONS = [function for function, _, _ in STRUCTURES]


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
@pytest.mark.parametrize(("function", "of_a", "of_w"), STRUCTURES, ids=FUNCTIONS)
def test_structures(
    function: str, of_a: list[tuple[int, int]], of_w: list[tuple[int, int]], mode: str
) -> None:
    source = f"var a: float[n, 3]; var w: float[n]\n{function}\ny = vmap(f)(a, w)\n"
    asked = f's = jacobian(y, [a, w], sparse = true, mode = "{mode}"); j = jacobian(y, [a, w])'
    found = outputs(f"{source}{asked}\noutput s, j", GIVEN)
    for sparse, whole, expected in zip(found["s"], found["j"], (of_a, of_w), strict=True):
        listed = places(sparse)
        assert set(expected) <= set(listed)
        assert listed == expected or "cumsum" in function  # along an axis of a row: all of it
        np.testing.assert_array_equal(dense(sparse), whole.reshape(sparse["shape"]))
    _from_outside(f"{source}output y", "jacobian", mode, found["s"])


def _from_outside(source: str, kind: str, mode: str, expected: list[dict[str, Any]]) -> None:
    """What is asked by an option is what the program itself asks for."""
    program = gradcli.load(source=source).with_options(
        grad=False, sparse=True, mode=mode, **{kind: True}
    )
    (row,) = getattr(program.run(GIVEN), f"{kind}s").values()
    for name, wanted in zip("aw", expected, strict=True):
        np.testing.assert_allclose(dense(row[name]), dense(wanted), rtol=1e-15)
        # A kernel tells that a running sum depends on no later element.
        assert places(row[name]) == places(wanted) or "cumsum" in source


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives(function: str) -> None:
    source = (
        f"var a: float[n, 3]; var w: float[n]\n{function}\nl = sum(vmap(f)(a, w)**2)\n"
        "s = hessian(l, [a, w], sparse = true); h = hessian(l, [a, w])\noutput s, h"
    )
    found = outputs(source, GIVEN)
    for sparse, whole in zip(found["s"], found["h"], strict=True):
        whole = whole.reshape(sparse["shape"])
        np.testing.assert_allclose(dense(sparse), whole, rtol=1e-12, atol=1e-13)
        rows = np.array(sparse["rows"]) // (len(whole) // 4)
        columns = np.array(sparse["cols"]) // (len(whole) // 4)
        assert "a[1, 2]" in function or np.array_equal(rows, columns)  # blocks on the diagonal
    source = f"var a: float[n, 3]; var w: float[n]\n{function}\noutput l = sum(vmap(f)(a, w)**2)"
    program = gradcli.load(source=source).with_options(grad=False, hessian=True, sparse=True)
    (blocks,) = program.run(GIVEN).hessians.values()
    for name, inside in zip("aw", found["s"], strict=True):
        np.testing.assert_allclose(dense(blocks[name]), dense(inside), rtol=1e-12, atol=1e-13)
        assert set(places(blocks[name])) <= set(places(inside))  # kernels may tell more


@pytest.mark.skipif(
    not policy().compiles or not can_compile(0), reason="there is no machine code here"
)
def test_kernels_tell_what_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, reads = [], MappedRegion.reads

    def told(self: MappedRegion, *given: Any) -> Any:
        asked.append(reads(self, *given))
        return asked[-1]

    monkeypatch.setattr(MappedRegion, "reads", told)
    straight = "fn f(x, w) = array([w*x[0], x[1]**2])"
    paths = "fn f(x, w) { if x[0] > w { return x[1]*w }\n return w }"
    for function in (straight, paths):
        source = f"var a: float[n, 3]; var w: float[n]\n{function}\noutput y = vmap(f)(a, w)"
        program = gradcli.load(source=source).with_options(grad=False, jacobian=True, sparse=True)
        with only(heat=FIRST_USE):
            (row,) = program.run(GIVEN).jacobians.values()
        assert row["a"]["values"].size
    of_a, of_w = asked  # none of what has paths: that isn't one record
    assert [part.tolist() for part in of_a] == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4, 6, 7, 9, 10]]
    assert [part.tolist() for part in of_w] == [[0, 2, 4, 6], [0, 1, 2, 3]]


def test_rows_that_part_in_another_way_have_another_structure() -> None:
    source = (
        "var a: float[n, 3]\nfn f(x) { if x[0] > 1.0 { return x[1] }\n return x[2] }\n"
        "s = jacobian(vmap(f)(a), a, sparse = true)\noutput s"
    )
    program = gradcli.load(source=source).with_options(grad=False)
    for first, expected in (([2.0, 0.0], [(0, 1), (1, 5)]), ([0.0, 2.0], [(0, 2), (1, 4)])):
        given = np.ones((2, 3))
        given[:, 0] = first
        assert places(program.run({"a": given}).outputs["s"]) == expected


def test_indices_that_differ_between_rows() -> None:
    source = (
        "var a: float[n, 3]; frozen k: int64[m]\nfn f(i) = a[i, 1]**2 + a[0, 0]\n"
        "s = jacobian(vmap(f)(k), a, sparse = true)\noutput s"
    )
    program = gradcli.load(source=source).with_options(grad=False)
    for k in ([2, 0, 3], [1, 1, 0]):
        found = program.run({"a": GIVEN["a"], "k": np.array(k)}).outputs["s"]
        assert places(found) == sorted(
            [(row, at) for row, i in enumerate(k) for at in (0, 3 * i + 1)]
        )
