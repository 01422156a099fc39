"""Random numbers where code is compiled: those that the interpreter draws, wherever it goes on."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.codegen.llvm import draws as llvm_draws
from gradcli.engine.kernels.variable_loop_calls import VariableLoopCall
from gradcli.engine.program_calls import ProgramCall

from ..lowering.region_cases import lowered
from .hot_and_cold import answer, assert_close, expected

HEAD = """const n = 4
var x = 0.7
fn path(x, n) { s = x; for k in range(n) { s = s * exp(0.1 * normal() * x) }; return s }
fn first(x, most) { for k in range(most) { if uniform() < 0.3 { return x * k } }; return x }
fn deep(x, k) { return x if k == 0 else normal() * deep(x, k - 1) }
fn goes(k) = k < 6 and uniform() < 0.8
s = 0.0
"""
BODIES = {
    "a number": "s += x * normal()",
    "an array": "s += sum(x * uniform([2, 3], low = -1.0, high = 2.0))",
    "many numbers": "s += sum((x * normal([40], std = 0.5))**2)",
    "a place that isn't known": "s += sum(normal([3], mean = s, std = x)) + uniform(low = i, high = 9)",
    "ints": "s += x * randint(-2, 5) + sum(randint(0, 3, [4]))",
    "an order": "s += dot(permutation(5), x * arange(5))",
    "a shape that a constant decides": "v = normal([n, n]); s += sum(v @ v) * x",
    "on one path": "if i % 2 == 0 { s += normal() } else { s += x }",
    "on both paths": "if normal() > 0.0 { s += uniform() } else { s += x * normal() * uniform() }",
    "decides how often": "k = 0; while k < 5 { k += 1; if uniform() < 0.4 { break }; s += x }",
    "in a condition": "k = 0; while uniform() < 0.7 and k < 5 { k += 1; s += x }",
    "in one of a loop that is left": "k = 0; while k < 3 or uniform() < 0.7 { k += 1; if normal() > 1.0 { break }; if uniform() > 0.5 { continue }; s += x * k }",
    "in one that is a function": "k = 0; while goes(k) { k = k + 1; s += x * normal() }",
    "in a function": "s += path(x, 3)",
    "in one that is left": "s += first(x, 6) + first(x, 2)",
    "in one that is small and calls itself": "s += deep(x, 2)",
    "in a derivative": "s += grad(path)(x, 3)",
    "in second derivatives": "s += jvp(grad(path))(x, 1.0, 2) + hessian(path)(x, 2)",
    "in one of what goes on by chance": "s += x * grad(first)(x, 4)",
    "in a Jacobian": "s += sum(jacobian(fn(v) = v * normal([2]))(array([x, 1.0])))",
    "in a list": "l = [x * normal() for k in range(3)]; s += l[0] * l[2]",
    "an element": "v = zeros(20); for k in range(20) { v[k] = normal() * x }; s += sum(v)",
    "at random places": "v = arange(20) * x; v[randint(0, 20)] = 1.0; s += v[randint(0, 20)]",
    "in float64": "s += float64(normal()) * x",
}  # fmt: skip
# What is not compiled, and what isn't for some numbers.
OTHERS = {
    "in a list of some": "l = [x for k in range(4) if uniform() < 0.5]; s += len(l)",
    "one that calls itself": "s += deep(x, 9)",
    "rows": "s += sum(vmap(fn(v) = v * normal())(array([x, 1.0, 2.0])))",
    "a permutation of rows": "s += permutation([1.0, 2.0, 3.0])[0] * x",
    "a mean for each": "s += sum(normal([2], mean = array([x, 1.0])))",
    "a wrong deviation": "s += normal(std = 3.0 - i)",
    "no ints": "s += randint(i, 5)",
    "a function of its own": "f = normal; s += f() * x",
    "what is printed": "print normal(); s += x * normal()",
    "what fails": "s += x * normal(); if i == 7 { s += [1, 2][randint(5, 6)] }",
}  # fmt: skip
AFTER = "\nafter = normal()\noutput s, after"


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", [*BODIES, *OTHERS])
def test_loops(name: str, tier: int) -> None:
    source = f"{HEAD}for i in range(9) {{ {({**BODIES, **OTHERS})[name]} }}{AFTER}"
    with only(tier, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-12)


@pytest.mark.parametrize("name", [*BODIES, *OTHERS])
def test_functions(name: str) -> None:
    body = {**BODIES, **OTHERS}[name]
    source = (
        f"{HEAD}fn f(x, i) {{ s = 0.0; {body}; return s }}\n"
        f"for i in range(9) {{ s += f(x, i) }}\ns += f(x, 1){AFTER}"
    )
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert_close(answer(source), expected(source), 1e-12)


@pytest.mark.parametrize("seed", [0, 3, 2**63 - 1, 2**70])
@pytest.mark.parametrize("name", BODIES)
def test_programs_that_run_again(name: str, seed: int) -> None:
    source = f"{HEAD}var w = normal([3])\nfor i in range(9) {{ {BODIES[name]} }}\ns += w[1]{AFTER}"
    program = gradcli.load(source=source).with_options(seed=seed, mode="reverse")
    assert not lowered(source).reasons
    with only(WRITTEN, FIRST_USE):
        runs = [program.run({}) for _ in range(3)]
    for given in runs[1:]:
        assert_close(given.outputs, runs[0].outputs, 1e-12)
        assert_close(given.gradients, runs[0].gradients, 1e-12)


def test_what_is_declared_is_drawn_before_it_is_given() -> None:
    source = "var w = normal([2])\nvar x = 1.0\na = normal()\noutput y = a * x + sum(w)"
    program = gradcli.load(source=source).with_options(mode="reverse")
    with only(WRITTEN, FIRST_USE):
        for given in ({}, {"w": [1.0, 2.0]}, {"x": 3.0}):
            runs = [program.run(given) for _ in range(3)]
            assert_close(runs[2].outputs, runs[0].outputs, 0)
            assert_close(runs[2].gradients, runs[0].gradients, 0)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_a_loop_that_trains(tier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """var w = 0.1 * normal([3])
const data = normal([20, 3])
for step in range(30) {
    rows = randint(0, 20, [5])
    loss = mean((data[rows] @ w - 1.0 + 0.1 * normal([5]))**2)
    w :-= 0.1 * grad(loss, w)
}  # fmt: skip
after = normal()
output loss, after, sum(w)"""
    ran, run = list[int](), VariableLoopCall.run

    def noted(self: VariableLoopCall, *given: Any) -> Any:
        result = run(self, *given)
        ran.append(result[0].iterations)
        return result

    monkeypatch.setattr(VariableLoopCall, "run", noted)
    with only(tier, FIRST_USE):
        found = answer(source)
    assert sum(ran) >= 20
    assert_close(found, expected(source), 1e-12)


class Writer:
    """Writes programs that draw here and there."""

    def __init__(self, seed: int) -> None:
        self.random, self.depth, self.named = Random(seed), 0, 0

    def program(self) -> str:
        return f"{HEAD}for i in range(8) {{ {self.statements()} }}{AFTER}"

    def statements(self) -> str:
        return "; ".join([self.statement() for _ in range(self.random.randint(1, 3))])

    def statement(self) -> str:
        if self.depth == 3:
            return f"s += {self.number()}"
        self.depth += 1
        try:
            return self.random.choice([self.branch, self.loop, self.search, self.sum])()
        finally:
            self.depth -= 1

    def number(self) -> str:
        draws = ["normal()", "uniform() * x", "x * randint(0, 3)", "sum(normal([2]))", "x"]
        return self.random.choice([*draws, "path(x, 2)", "first(x, 3)", "grad(path)(x, 1)"])

    def sum(self) -> str:
        return f"s = 0.5 * s + {self.number()} * {self.number()}"

    def branch(self) -> str:
        condition = self.random.choice(["uniform() < 0.5", "i % 2 == 0", "s > x"])
        return f"if {condition} {{ {self.statements()} }} else {{ {self.statements()} }}"

    def loop(self) -> str:
        self.named += 1
        return f"for k{self.named} in range({self.random.randint(0, 5)}) {{ {self.statements()} }}"

    def search(self) -> str:
        self.named += 1
        k = f"k{self.named}"
        if self.random.random() < 0.3:
            return f"{k} = 0; while {k} < 3 and uniform() < 0.6 {{ {k} += 1; {self.statements()} }}"
        leaves = f"if uniform() < 0.3 {{ break }}; {self.statements()}"
        return f"{k} = 0; while {k} < 4 {{ {k} += 1; {leaves} }}"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    source = Writer(seed).program()
    for tier in (WRITTEN, NATIVE) if seed % 4 == 0 else (WRITTEN,):
        with only(tier, FIRST_USE):
            assert_close(answer(source), expected(source), 1e-11)
    node = gradcli.load(source=source)._resolved
    call = ProgramCall(node, {}, ["s"], ["x"], forward=False)
    found = call.run(call.numbers({}) or [])
    told = expected(source)
    assert found is not None
    assert_close(found.outputs, told[1], 1e-11)
    assert_close(found.gradients["s"]["x"], told[2]["s"]["x"], 1e-11)


SPREADS = """n = 60
a = zeros(n); b = zeros(n); c = 0 * arange(n)
for i in range(n) {
    a[i] = normal(mean = 1.5, std = 3)
    b[i] = uniform(low = -2, high = 0.5)
    c[i] = randint(-3, 4)
}
d = normal([3, 50])
f = uniform([7])
g = randint(0, 4294967296, [40])
h = randint(-9000000000000000000, 9000000000000000000, [40])
k = randint(5, 6, [3])
output a, b, c, d, f, g, h, k"""


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**32, 2**63 - 1])
def test_bits(seed: int, dtype: str, there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code has the generator of the interpreter; and calls that where it finds none of
    NumPy's functions."""
    if not there:
        monkeypatch.setattr(llvm_draws, "offer_random", lambda name: False)
    node = gradcli.load(source=SPREADS)._resolved
    with only(NATIVE, FIRST_USE):
        call = ProgramCall(node, {}, [], [], False, dtype=dtype, seed=seed)
        found = call.run([])
    with only(INTERPRETED):
        wanted = gradcli.load(source=SPREADS).with_options(seed=seed, dtype=dtype).run()
    assert found is not None
    for name, value in wanted.outputs.items():
        assert found.outputs[name].dtype == value.dtype
        np.testing.assert_array_equal(found.outputs[name], value)
