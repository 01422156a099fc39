"""Loops that change variables or ask for derivatives of values: as kernels they give what the
interpreter gives, and leave what it leaves."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradcli
from gradcli.engine.analysis.facts import Facts
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.execution import Execution, compile_program
from gradcli.engine.kernels import loop_calls
from gradcli.engine.kernels.frame_entries import slots_of
from gradcli.engine.kernels.variable_loop_calls import VariableLoopCall
from gradcli.engine.lowering.variable_loops import slots_into
from gradcli.engine.trace.run import Settings
from gradcli.engine.trace.tape import Segment

from .hot_and_cold import answer, assert_close, expected
from .training_loop_programs import ARRAYS, OTHERS, SCALARS
from .training_programs import KeepingWriter

# Gradients that are sums over iterations, which a region adds in another order.
ROUNDED = ("a sum of losses with its history",)
OPTIONS: list[dict[str, Any]] = [
    {"mode": "forward"},
    {"wrt": ("x",)},
    {"hessian": True},
    {"jacobian": True},
    {"grad": False},
]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The iterations that kernels ran, each time."""
    found: list[int] = []
    run = VariableLoopCall.run

    def noted(self: VariableLoopCall, *given: Any) -> Any:
        result = run(self, *given)
        found.append(result[0].iterations)
        return result

    monkeypatch.setattr(VariableLoopCall, "run", noted)
    return found


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name: str, tier: int, ran: list[int]) -> None:
    with only(tier, FIRST_USE):
        found = answer(SCALARS[name])
    assert sum(ran) >= 8
    assert_close(found, expected(SCALARS[name]), 1e-14 if name in ROUNDED else 0)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name: str, tier: int, ran: list[int]) -> None:
    with only(tier, FIRST_USE):
        found = answer(ARRAYS[name])
    assert sum(ran) >= 15
    assert_close(found, expected(ARRAYS[name]), 1e-12)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, tier: int) -> None:
    with only(tier, FIRST_USE):
        found = answer(OTHERS[name])
    assert_close(found, expected(OTHERS[name]), 1e-14)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 7, 8, 12])
def test_what_steps_keep_is_differentiated(seed: int, ran: list[int]) -> None:
    source = KeepingWriter(seed).program()
    with only(WRITTEN, FIRST_USE):
        found = answer(source)
    assert sum(ran) >= 8
    assert_close(found, expected(source), 1e-10)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("source", [*SCALARS.values(), *OTHERS.values()])
def test_what_else_is_asked(source: str, options: dict[str, Any]) -> None:
    if "var x" not in source and "wrt" in options:
        return
    with only(WRITTEN, FIRST_USE):
        found = answer(source, **options)
    assert_close(found, expected(source, **options), 1e-13)


@pytest.mark.parametrize("name", [*SCALARS, *ARRAYS])
def test_some_iterations_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_calls, "SOME", 3)
    source = {**SCALARS, **ARRAYS}[name]
    with only(WRITTEN, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-12)


@pytest.mark.parametrize("start", ["0.0", "1e200", "inf", "nan", "-1e-300"])
@pytest.mark.parametrize("name", [name for name in SCALARS if "var x = 3.0" in SCALARS[name]])
def test_special_values(name: str, start: str) -> None:
    source = SCALARS[name].replace("var x = 3.0", f"var x = {start}")
    with only(WRITTEN, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-13)


@pytest.mark.parametrize("name", ["the loss after the loop", "momentum that is differentiated"])
def test_the_trace_does_not_grow(name: str) -> None:
    """As many records are left after a thousand times the steps."""

    def left(steps: int) -> int:
        source = SCALARS[name].replace("range(20)", f"range({steps})").replace("30", f"{steps}")
        with only(WRITTEN, FIRST_USE):
            node = gradcli.load(source=source)._resolved
            compiled = compile_program(Settings(), node)
            compiled.by_variables = True
            execution = Execution(compiled, {}).execute()
        segments = [each for each in gc.get_objects() if type(each) is Segment]
        return sum(len(s) for s in segments if s.trace is execution.run.trace)

    assert left(20_000) <= left(20) + 10


def test_a_loop_that_trains_is_soon_compiled(ran: list[int]) -> None:
    """What a request takes is work, so that a few iterations show that a loop is worth a kernel."""
    source = ARRAYS["a line"].replace("range(50)", "range(2000)").replace("0.1*g", "0.001*g")
    with only(NATIVE):
        found = answer(source)
    assert sum(ran) > 1900
    assert_close(found, expected(source), 1e-12)


BY_VARIABLES = [
    "g = grad(x*y, x)",
    "g = grad(x*y, [x, {a: y, b: x}])",
    "g = (x*y).grad(x)",
    "tape t { z = x*y }; g = t.gradient(z, x)",
    "tape t { z = x*y }; g = t.gradient(z, sources = [x, y])",
    "g = grad(fn(a) = a*x)(2.0)",
    "fn f() = grad(x*y, y); g = f()",
    "g = hvp(x*y, x, 1.0)",
    "g = jacobian(fn(a) = a*y)(x)",
    "g = grad(grad(x*y, x), y)",
    "module M() { var w = 2.0; fn call(a) = a*w }; m = M(); g = grad(m(x), m.w)",
    "module M() { var w = 2.0; fn call(a) = a*w }; m = M(); g = grad(m(x), m.trainable_variables)",
    "g = hessian(x*y, x)",
    "var v = [1.0, -0.5*pi, 2/3]; g = jacobian([x, y], [x, v])",
]
BY_OTHERS = [
    "z = 2.0*x; g = grad(z*y, z)",
    "fn f(a) = grad(a*y, a); g = f(x)",
    "y = 2.0*x; g = grad(y*x, y)",
    "v = [x, y]; g = grad(x*y, v)",
    "for y in [x] { g = grad(x*y, y) }",
    "g = jvp(x*y, x, 1.0)",
    "tape t { z = x*y }; g = [1.0 for v in t.watched_variables()]",
    "g = hessian(x*y, x, sparse = true)",
    'g = jacobian([x, y], x, mode = "forward")',
    "var v = ones(9); g = hessian(sum(x*v), v)",
    "var v = [x, 1.0]; g = jacobian(x*v, v)",
    "tape t { z = x*y }; g = t.jacobian(z, x)",
    "d = {w: 2.0*x}; g = grad(d.w*y, d.w)",
    "d = {w: 2.0*x}; module M() { var w = 2.0; fn call(a) = a*w }; g = grad(d.w*y, d.w)",
    "module M() { var v = 2.0; w = 2.0*v; fn call(a) = a*w }; m = M(); g = grad(m(x), m.w)",
    "d = grad; g = d(x*y, x)",
    "attach_grad(x); record { z = x*y }; backward(z); g = x.grad",
]


@pytest.mark.parametrize("statements", [*BY_VARIABLES, *BY_OTHERS])
def test_what_gradients_are_by(statements: str) -> None:
    node = gradcli.load(source=f"var x = 1.0; var y = 2.0; {statements}; output g")._resolved
    assert Facts(node).asks_by_variables == (statements in BY_VARIABLES)


@pytest.mark.parametrize(
    ("body", "into"),
    [
        ("a = b; c = a", "b"),
        ("if b > 0.0 { a = 1.0 }; c = a", "a b"),
        ("tape t { a = b }; c = a", "b"),
        ("pause { a = b }; c = t", "b t"),
        ("if b > 0.0 { break }; a = b; c = 1.0", "a b c"),
        ("a = a + 1.0; for k in range(3) { c = a }", "a c"),
    ],
)
def test_what_an_iteration_reads(body: str, into: str) -> None:
    """What an iteration reads of earlier ones, or leaves as it is, where all is read after it."""
    source = f"a = 0.0; b = 1.0; c = 2.0; t = 1.0; for i in range(3) {{ {body} }}"
    node = gradcli.load(source=source)._resolved
    loop = node.body[-1]
    slots = [slot for name, slot in node.names.items() if name in "abct"]
    found = slots_into(loop, [s for s in slots if s.index in {r.index for r in slots_of(loop)}])
    assert {name for name, slot in node.names.items() if slot.index in found} == set(into.split())


@pytest.mark.parametrize("tier", [INTERPRETED, NATIVE])
@pytest.mark.parametrize("value", ["x", "[x, 2.0]", "{a: [x]}"])
def test_an_output_is_what_a_variable_was(value: str, tier: int) -> None:
    source = f"var x = 1.0; v = {value}; output v; x := 3.0; output y = 2.0*x"
    with only(tier, FIRST_USE):
        program = gradcli.load(source=source)
        found = [program.run().outputs for _ in range(3)]
    expected = gradcli.load(source=f"output v = {value.replace('x', '1.0')}").run().outputs["v"]
    assert [str(each["v"]) for each in found] == [str(expected)] * 3
    assert [each["y"] for each in found] == [6.0] * 3
