"""`vmap` inside code that is compiled: a loop that gives what the interpreter's rows give."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.ir.instructions import Each
from gradcli.engine.program_calls import ProgramCall

from ..kernels.hot_and_cold import answer, assert_same, expected
from .region_cases import lowered

HEAD = """var x = 0.7
var v = [0.3, -0.4, 0.9]
many = linspace(0.0, 1.0, 300)
var m = [[1.0, 2.0], [0.5, -1.0], [0.2, 0.1]]
fn root(a) { y = 1.0; for k in range(20) { d = (y**2 - a**2 - 1.0) / (2.0 * y); y -= d; if abs(d) < 1e-9 { break } }; return y }
"""
BODIES = {
    "numbers": "s += sum(vmap(fn(a) = sin(a * x))(v))",
    "rows": "s += sum(vmap(fn(r) = r * sum(r) * x)(m))",
    "rows that give more": "s += sum(vmap(fn(r) = outer(r, [r[0], x, r[1]]))(m))",
    "a list": "a, b = vmap(fn(r) = [sum(r), x * r])(m); s += sum(a) * sum(b)",
    "a dict": "d = vmap(fn(a) = {sine: sin(a), x: x})(v); s += dot(d.sine, d.x)",
    "one of them": "s += vmap(fn(a) = a**2 * x)(v)[i % 3]",
    "loops": "s += sum(vmap(root)(v * x))",
    "branches": "s += sum(vmap(fn(a) = a * x if a > 0 else exp(a))(v * (i - 1)))",
    "several arguments": "s += sum(vmap(fn(a, r) = a * r[0] + r[1])(v, m))",
    "what rows share": "s += sum(vmap(fn(a, b) = a * b[0] + b[1] * x, in_axes = [0, none])(v, v))",
    "many rows": "s += sum(vmap(fn(a) = a * sin(a * x))(linspace(0.0, 1.0, 100)))",
    "many rows that give several numbers": "a, b = vmap(value_and_grad(fn(a) = a * sin(a * x)))(many); s += dot(a, b)",
    "many rows that share numbers": "s += mean(vmap(fn(r, b) = softplus(r[0] * b[0] - r[1] * b[1] / x), in_axes = [0, none])(reshape(many, [150, 2]), v))",
    "many rows, by what they are": "s += dot(grad(fn(a) = sum(vmap(fn(r) = r[0]**2 * r[1])(reshape(a, [150, 2]))))(many * x), many)",
    "many ints": "s += x * sum(vmap(fn(k) = k * k + i)(arange(300)))",
    "many rows in single precision": "s += x * sum(float64(vmap(fn(a) = a * sqrt(a + 1))(float32(many))))",
    "many rows and a second derivative": "s += grad(grad(fn(a) = sum(vmap(fn(b) = exp(b * a))(many))))(x)",
    "many rows and a slope along": "s += jvp(fn(a) = sum(vmap(fn(b) = sin(b * a))(many)))(x, 1.0)",
    "derivatives": "s += sum(vmap(grad(root))(v)) + sum(vmap(grad(fn(r) = x * prod(r)))(m))",
    "a derivative of it": "s += grad(fn(a) = sum(vmap(fn(b) = b * a**2)(v * a)))(x)",
    "a matrix of derivatives": "s += sum(jacobian(vmap(fn(a) = a**3 * x))(v))",
    "of a map": "s += sum(vmap(vmap(fn(a) = a * x))(m))",
    "inside itself": "s += sum(vmap(fn(r) = vmap(fn(a) = a * x + r[0])(r))(m))",
    "a list of numbers": "s += sum(vmap(fn(a) = a * x)([0.5, x, 2.0]))",
    "ints": "s += x * sum(vmap(fn(k) = k * k + i)(arange(4)))",
    "a builtin": "s += sum(vmap(exp)(v) * x)",
    "a list of lists and arrays": "s += vmap(fn(r) = r * x)([[0.1, x], [0.3, 0.4], m[0]])[1, 2]",
    "a dict and lists in it": "s += sum(vmap(fn(d) = d.a * x + prod(d.b))({a: v, b: [m[:, 1], v]}))",
    "a function that is kept": "f = vmap(fn(a) = a * x); s += sum(f(v)) * sum(f(v * 2.0))",
}
OTHERS = {
    "draws": "s += sum(vmap(fn(a) = a * normal() * x)(v)) + normal()",
    "another axis": "s += sum(vmap(fn(c) = c[0] * c[1] * x, in_axes = 1)(m))",
    "rows that differ in number": "s += sum(vmap(fn(a, r) = a * r[0])(v * 1.0, m[0:2 + i // 3]))",
    "as many axes as arguments": "s += sum(vmap(fn(a) = a, in_axes = [0, 0])(v))",
    "what fails": "s += sum(vmap(fn(k) = x * [1, 2, 3, 4][k + i // 5])(arange(4)))",
    "a number": "s += vmap(fn(a) = a * x)(x)",
    "no rows": "s += sum(vmap(fn(a) = a * x)(v[3:]))",
    "what is true": "s += x * sum(vmap(fn(a) = a > 0.5)(v))",
    "an int or a float": "s += x * sum(vmap(fn(a) = 1 if a > 0 else a)(v))",
    "many ints that overflow": "s += x * sum(vmap(fn(k) = 2**(k + 2 * i))(arange(50)))",
    "many rows, one of which fails": "s += x * sum(vmap(fn(k) = [1, 2, 3][k // 70 * i // 3])(arange(300)))",
    "what is printed": "vmap(fn(a) { print a; return a })(v); s += x",
}  # fmt: skip


@pytest.mark.parametrize("name", [*BODIES, *OTHERS])
def test_loops(name: str) -> None:
    source = f"{HEAD}s = 0.0\nfor i in range(8) {{ {({**BODIES, **OTHERS})[name]} }}\noutput s"
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert_same(answer(source), expected(source))


@pytest.mark.parametrize("name", BODIES)
def test_programs(name: str) -> None:
    source = f"{HEAD}s = 0.0\nfor i in range(3) {{ {BODIES[name]} }}\noutput s"
    assert not lowered(source).reasons
    call = ProgramCall(gradcli.load(source=source)._resolved, {}, ["s"], ["x", "v", "m"], False)
    found, told = call.run(call.numbers({}) or []), expected(source, mode="reverse")
    assert found is not None
    assert_same(found.outputs, told[1])
    assert_same(found.gradients, told[2])


@pytest.mark.parametrize("body", ["root(a * x)", "a if a > x else x", "v * a"])
def test_many_rows_with_paths_or_arrays_are_left_to_a_kernel_of_their_own(body: str) -> None:
    found = lowered(f"{HEAD}output s = vmap(fn(a) = {body})(many)")
    assert [r.reason for r in found.reasons] == ["`vmap` over many rows is not compiled here"]


def test_many_straight_rows_are_one_loop_over_arrays() -> None:
    found = lowered(f"{HEAD}output s = vmap(fn(a) = [a * x, sin(a)])(many)")
    assert not found.reasons
    made = [made for made in found.original.block.instructions if isinstance(made, Each)][-1]
    assert made.shape == (300,)
    assert made.ways == ("put", "put")
