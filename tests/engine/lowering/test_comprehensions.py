"""Lists made from others: what a comprehension is worth, in every way that a program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.ir.types import ArrayType

from ..programs import evaluate, failure, flat, outputs, value
from .region_cases import lowered

LOOP = "r = []; for v in xs {{ if {condition} {{ r = append(r, {item}) }} }}; return r"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[i * i for i in range(4)]", [0, 1, 4, 9]),
        ("[i for i in range(6) if i % 2 == 0 if i > 0]", [2, 4]),
        ("[10 * i + j for i in range(3) for j in range(i) if i + j != 1]", [20, 21]),
        ("[a + b for a, b in zip([1, 2], [10, 20])]", [11, 22]),
        ("[k * a for k, a in enumerate([5, 6])]", [0, 6]),
        ("[sum(row) for row in array([[1.0, 2.0], [3.0, 4.0]])]", [3.0, 7.0]),
        ("[k for k in {a: 1, b: 2}]", ["a", "b"]),
        ("[k for k in {a: 1, b: 2}.keys()]", ["a", "b"]),
        ("[v for v in {a: 1, b: 2}.values()]", [1, 2]),
        ("[[k, v] for k, v in {a: 1, b: 2}.items()]", [["a", 1], ["b", 2]]),
        ("[[j for j in range(i)] for i in range(3)]", [[], [0], [0, 1]]),
        ("[f(2) for f in [fn(x) = x + i for i in range(3)]]", [4, 4, 4]),  # one name, as in Python
        ("[1 if i > 0 else 2 for i in range(2)]", [2, 1]),
        ("[i for i in []]", []),
        ("[(i if i > 1 else 0) for i in range(3)]", [0, 0, 2]),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(f"y = {text}") == expected


def test_names_are_its_own_and_the_first_sequence_is_evaluated_outside() -> None:
    found = outputs("x = [1, 2]\ny = [x + 1 for x in x]\nz = [y for y in range(2)]\noutput x, y, z")
    assert found == {"x": [1, 2], "y": [2, 3], "z": [0, 1]}
    assert failure("y = [v for v in [1]]\nz = v").code == "E200"


@pytest.mark.parametrize("condition", ["true", "v > 1.5", "v > a", "v * a > 2 and v < 3.5"])
@pytest.mark.parametrize("item", ["v * a", "[v, a**2]", "sin(v) if v > 2 else a"])
def test_it_is_the_loop(condition: str, item: str) -> None:
    """Values and derivatives, alone, in rows, and in both modes, are those of the loop."""
    loop = LOOP.format(condition=condition, item=item)
    programs = [
        f"var a = 1.25\nconst xs = [1.0, 2.0, 3.0, 4.0]\nfn f(a) {{ {body} }}\n"
        "fn total(a) { t = 0.0; for r in f(a) { t = t + sum([r]) }; return t }\n"
        "y = total(a)\ng = grad(y, a)\nj = jvp(total)(a, 1.0)\nh = grad(grad(total))(a)\n"
        "v = vmap(total)([0.5, 1.25, 3.5])\nw = vmap(grad(total))([0.5, 1.25, 3.5])\n"
        "output y, g, j, h, v, w"
        for body in (loop, f"return [{item} for v in xs if {condition}]")
    ]
    found = [flat(outputs(program)) for program in programs]
    for a, b in zip(*found, strict=True):
        assert a == b or np.allclose(a, b, rtol=1e-14)


def test_a_batch_is_the_single_runs() -> None:
    program = gradcli.load(source="var a; y = sum([v * a for v in [1.0, 2.0, 3.0] if v > a])")
    rows = [0.5, 1.5, 2.5, 0.5, 2.25]
    single = [program.run(a=a) for a in rows]
    together = evaluate(
        "var as = [0.5, 1.5, 2.5, 0.5, 2.25]\n"
        "fn f(a) = sum([v * a for v in [1.0, 2.0, 3.0] if v > a])\n"
        "y = vmap(f)(as)\ng = vmap(grad(f))(as)\noutput y, g"
    ).outputs
    assert together["y"].tolist() == [run.outputs["y"] for run in single]
    assert together["g"].tolist() == [run.gradients["y"]["a"] for run in single]


def test_in_long_loops_it_is_what_it_is_in_short_ones() -> None:
    """Compiled or not: what regions don't lower is the interpreter's."""
    body = "s = s + sum([x * j for j in range(i % 4) if j != 1]) / (i + 1)"
    source = "var x = 1.5\ns = 0.0\nfor i in range({n}) {{ {body} }}\ng = grad(s, x)\noutput s, g"
    expected = sum(1.5 * sum(j for j in range(i % 4) if j != 1) / (i + 1) for i in range(3000))
    found = outputs(source.format(n=3000, body=body))
    assert found["s"] == pytest.approx(expected, rel=1e-12)
    assert found["g"] == pytest.approx(expected / 1.5, rel=1e-12)


def test_an_error_inside_says_where() -> None:
    error = str(failure("y = [7 // k for k in [1, 0]]"))
    found = failure("fn f(xs) = [7 // k for k in xs]\ny = f([1, 0])")
    assert found.label == "7 // 0"
    calls = [str(call) for call in found.calls]
    assert "where k is 0" in error
    assert any("in the loop" in call and "where k is 0" in call for call in calls)
    assert any("in `f`" in call for call in calls)


def test_a_dict_may_have_keys_with_these_names() -> None:
    assert value("d = {items: fn() = 3}\ny = d.items()") == 3
    assert failure("d = {a: 1}\ny = d.items(2)").code == "E308"
    assert failure("d = {a: 1}\ny = d.itmes()").code == "E309"


def test_lists_that_a_counter_decides_have_known_lengths() -> None:
    """The minors of a matrix: a function for each size, of numbers and not of tables."""
    program = lowered("""
var a = reshape(sin(arange(64)), [8, 8])
fn determinant(a) {
    if len(a) == 1 { return a[0][0] }
    total = 0.0; sign = 1.0
    for k in range(len(a)) {
        total += sign * a[0][k] * determinant([[row[j] for j in range(len(row)) if j != k] for row in a[1:]])
        sign = -sign
    }
    return total
}
output determinant([[a[i, j] for j in range(8)] for i in range(8)])
""")
    assert not program.reasons
    called = program.regions.called_by(program.original)
    assert called
    parameters = [value for region in called for value in region.block.parameters]
    assert not any(isinstance(value.type, ArrayType) for value in parameters)
