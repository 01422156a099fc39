"""Rows that have arrays of their own: groups of rows compute these together, with the bits that
each row has by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, only, policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.codegen.llvm_rows import regions as llvm_rows
from gradcli.engine.codegen.llvm_rows.kernels import RowsKernel
from gradcli.engine.ir.instructions import Block, Constant, Element, NewArray, Region, Value
from gradcli.engine.ir.types import F64, I64, ArrayType

pytestmark = pytest.mark.skipif(
    not policy().compiles or not can_compile(0), reason="there is no machine code here"
)

ROWS = 77  # not a multiple of a group's
RNG = np.random.default_rng(11)
GIVEN = {
    "x": RNG.normal(size=(ROWS, 10)),
    "long": RNG.normal(size=(ROWS, 100)),
    "s": RNG.normal(size=ROWS),
    "k": np.arange(ROWS) % 100,
}
HEAD = """
const x: float[n, 10]; const long: float[n, 100]; const s: float[n]; const k: int64[n]
var m = sin(arange(300.0)).reshape(30, 10)
var q = cos(arange(100.0)) + 1.5
"""
BODIES = {
    **{
        f"a sum of {n}": f"return sum(sin(long[:{n}] * s) * q[:{n}]) + max(long[:{n}] - q[:{n}])"
        for n in (67, 71, 72, 100)
    },
    **{
        f"sums of lines of {n}": f"return sum(sum((m[:, :{n}] - x[:{n}]) ** 2, axis = 1) ** 2)"
        for n in (3, 7, 8, 9, 10)
    },
    "sums of long lines": "a = outer(q, x[:3]) + s\nreturn sum(max(a, axis = 0)) + sum(sum(a.T, axis = 1))",
    "the nearest": "d = sum((m - x) ** 2, axis = 1)\nreturn min(d)",
    "a product": "return sum(tanh(m @ x)) * s",
    "a product by labels": 'return sum(einsum("ij,j->i", m, x) ** 2) + einsum("ij,j->", m, x)',
    "the second of two": "a = m @ x\nb = m[::2] @ x\nreturn sum(b) + a[3] * b[1]",
    "an element that a row chooses": "a = exp(q * 0.1) * s\nreturn a[k] + long[k]",
    "an element that is changed": "a = q * s\na[k] = 2.0 * s\na[3] = s\nreturn sum(a * a)",
    "what isn't changed": "a = q * s\nb = a\nb[k] = 0.0\nreturn sum(a * b)",
    "an array that is given": "return long * s + q",
    "an array that is filled": "a = full([100], s)\na[k] = 1.0\nreturn a",
    "two arrays": "return [long * s, q - s]",
    "a branch": "if s > 0.2 { a = m @ x; return sum(a * a) }\nreturn sum(q * s)",
    "a branch in a loop": "t = 0.0\nfor j in range(5) { if s > 0.1 * j { t = t + sum(sin(m @ x * j)) } }\nreturn t",
    "a loop that rows leave": "t = abs(s) + 0.1\nwhile t < 3.0 { a = q * t; t = t + 0.1 + sum(a) * 0.01 }\nreturn t",
    "ints": "a = arange(100) * k\nreturn sum(a[:70]) + a[k]",
    "a carried array": "a = q * s\nfor j in range(6) { a = a + 0.1 * sin(a * j) * x[j] }\nreturn sum(a * q)",
    "a carried array that rows leave": "a = q * s\nwhile a[3] < 0.5 + s { a = a * 0.9 + 0.2 * (a[::-1] + abs(a)) + 0.1 }\nreturn a",
    "two that change places": "a = q * s; b = q + s\nfor j in range(3) { a, b = b, a * 0.5 + b[k] }\nreturn sum(a * b)",
    "an array of either branch": "if s > 0.1 { a = q * s } else { a = long }\nreturn sum(a * long) + a[k]",
    "branches in a loop": "a = long * 1.0\nfor j in range(4) { if a[j] > s { a = a * 0.5 + q } else { a[k] = s } }\nreturn sum(a * a)",
    "classical steps": "fn slope(y) = -y + sin(q * y)\ny = long * 0.1\nfor j in range(5) {\na = slope(y); b = slope(y + 0.05 * a)\ny = y + 0.1 * b\n}\nreturn sum(y * y)",
    "a running sum": "return sum(cumsum(long * s) * q)",
    "a logarithm of sums": "return logsumexp(long * s + q)",
    "loops of as many iterations for all": "a = q * s\nfor j in range(6) { for i in range(6 - j) { a[i] = 0.5 * (a[i + 1] + a[i]) + abs(s) ** i } }\nreturn a[0]",
    "such loops where some rows are": "a = q * s\nfor j in range(5) { if s > 0.2 * j { for i in range(j + 1) { a[i + j] = a[i] * sin(s + i) } } }\nreturn sum(a)",
    "such loops in one that rows leave": "a = q * s; t = abs(s) + 0.1\nwhile t < 3.0 { for j in range(3) { for i in range(j + 1) { a[i + 1] = a[i] * 0.5 + t } }; t = t + 0.3 + a[2] ** 2 }\nreturn t",
    "no iteration": "a = q * s\nfor j in range(3) { for i in range(j - 5) { a[i] = a[i + 200] } }\nreturn sum(a)",
    "places that no row reads": "a = q * s\nfor j in range(3) { if k > 1000 { for i in range(j + 1) { a[i] = a[i + 200] } } }\nreturn sum(a)",
    "a table": "t = 0.0\nfor j in range(4) { for i in range(j * 10) { t = t + q[2 * i + j] * sin(s * i) } }\nreturn t",
    "neighbours with ends": "u = q * s\nfor t in range(4) {\nw = zeros(100)\nfor i in range(100) {\nif i == 0 { w[i] = u[0] } elif i == 99 { w[i] = u[i - 1] * 0.5 } else { w[i] = u[i] + 0.1 * (u[i - 1] - u[i + 1]) }\n}\nu = w\n}\nreturn sum(u * u)",
    "an array that a branch may leave": "a = q * s\nfor i in range(50) { if s > 0.02 * i { if i % 3 == 0 { a[i] = a[i + 1] * s } } }\nreturn sum(a * a)",
    "one of two arrays": "a = q * s; b = q + s\nfor i in range(20) { if s > 0.05 * i { a[i] = b[i] } else { b[i] = a[i + 1] } }\nreturn sum(a * b)",
    "an array as it was": "a = q * s\nt = 0.0\nfor i in range(20) { old = a; if s > 0.05 * i { a[i] = a[i + 1] + 1.0 }; t = t + old[i] * a[i] }\nreturn t",
    "branches by the iteration": "a = q * s; t = s\nfor j in range(6) { if j > 2 { for i in range(j) { a[i] = a[i + 1] * t; t = t + a[i] } } else { t = t * 0.5; if s > 0.3 { a[j] = t } } }\nreturn sum(a) + t",
    "where": "return sum(where(long > s, long * q, q))",
}
ALONE = {"two that change places"}  # what rows compute one by one


def run(text: str, **how: Any) -> list[Any]:
    with only(**how):
        done = gradcli.load(source=text).run(GIVEN)
    rows = [*done.gradients.values()]
    return [*done.outputs.values(), *[part for row in rows for part in row.values()]]


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is None:
            continue
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


def mapped(body: str) -> str:
    return f"{HEAD}fn f(x, long, s, k) {{\n{body}\n}}\noutput vmap(f)(x, long, s, k)"


@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mapped(BODIES[name])
    fits, asked = llvm_rows.fits_groups, []
    monkeypatch.setattr(
        llvm_rows, "fits_groups", lambda *given: asked.append(fits(*given)) or asked[-1]
    )
    found = run(text, heat=FIRST_USE)
    assert_same(found, run(text, tier=INTERPRETED))
    assert any(asked) == (name not in ALONE)


WRONG = ["for i in range(j + 1) { a[i] = a[i + 98] }", "a[j] = 4611686018427387904 * (j + 1) * s"]


@pytest.mark.parametrize("least", ["s", "9.0"])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_for_all_that_get_there(wrong: str, least: str) -> None:
    """Where some rows get there, the interpreter tells; where none does, all is well."""
    body = f"a = q * s\nfor j in range(3) {{ if {least} < 0.4 {{ {wrong} }} }}\nreturn sum(a)"

    def answer(**how: Any) -> Any:
        try:
            return run(mapped(body), **how)
        except GradcliError as error:
            return str(error)

    found, wanted = answer(heat=FIRST_USE), answer(tier=INTERPRETED)
    assert isinstance(found, str) == (least == "s")
    if least == "s":
        assert found == wanted
    else:
        assert_same(found, wanted)


@pytest.mark.parametrize("name", BODIES)
def test_derivatives_of_rows(name: str) -> None:
    text = (
        f"{HEAD}fn f(x, long, s, k) {{\n{BODIES[name]}\n}}\n"
        "fn total(x, long, s) = sum([sum(p) for p in vmap(f)(x, long, s, k)])\n"
        "output grad(total, wrt = [0, 1, 2])(x, long, s)[0]\n"
    )
    if name == "two arrays":
        text = text.replace("[sum(p) for p", "[sum(p[0]) * sum(p[1]) for p")
    assert_same(run(text, heat=FIRST_USE), run(text, tier=INTERPRETED))


@pytest.mark.parametrize("name", BODIES)
def test_a_row_has_its_bits_wherever_it_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mapped(BODIES[name]).replace("var ", "const ")
    places = RNG.permutation(ROWS)
    with only(heat=FIRST_USE):
        program = gradcli.load(source=text)
        (whole,) = program.run(GIVEN).outputs.values()
        (other,) = program.run(
            {key: value[places][5:] for key, value in GIVEN.items()}
        ).outputs.values()
    for a, b in zip(whole, other, strict=True) if name == "two arrays" else [(whole, other)]:
        np.testing.assert_array_equal(a[places][5:], b)


def test_sums_are_without_rows_for_which_there_is_no_memory() -> None:
    x = Value(F64)
    room = Value(ArrayType(F64, (100,)))
    filled = NewArray(x, room)
    place, read = Value(I64), Value(F64)
    block = Block((x,), [filled, Constant(7, place), Element(room, place, read)], (read, read))
    kernel = RowsKernel(Region("f", block), [], [True], [], [1])
    for memory, total in ((None, 2850.0), (2**10, 0.0)):
        (_, summed), stepped_back = kernel.run(76, [np.arange(76.0)], memory)
        assert (float(summed), bool(stepped_back.any())) == (total, memory is not None)


@pytest.mark.parametrize(
    "body",
    [
        "a = q * s\nreturn a[2 * k]",
        "return long[k + 60]",
        "a = arange(100) * k * 10**15\nb = a * a[k]\nreturn sum(b)",
    ],
)
def test_rows_that_step_back(body: str) -> None:
    messages = []
    for how in ({"heat": FIRST_USE}, {"tier": INTERPRETED}):
        with pytest.raises(GradcliError) as error:
            run(mapped(body), **how)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
