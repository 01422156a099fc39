"""Loops and calls on traced numbers run as kernels wherever a program asks for derivatives by
variables: of values and of functions, and again. Jacobians by many elements ask what each element
depends on, which no record of a region tells: there the interpreter records each operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.codegen.step_back import StepBack
from gradcli.engine.kernels.region_calls import RegionCall
from gradcli.engine.passes.rules import NoRule
from gradcli.engine.values.boxes import UNBOXED, level_of

from .hot_and_cold import answer, assert_close, expected

HEAD = "var x = 0.6; var y = 1.3; var v = [0.5, -0.2, 0.9]; var u = ones(9); const c = 0.3\n"
LOOPS = {
    "scalars": "a = 1.0; for i in range(9) { a = a*sin(x*y) + 0.1*i }; z = a*y",
    "a condition": "a = x; while a < 8.0 { a = a*1.5 + y*y }; z = a*x",
    "an early end": "a = x; for i in range(20) { a = a + y*y; if a > 9.0 { break } }; z = a*x",
    "loops in a loop": "a = x; for i in range(4) { b = x; while b < 2.0 { b = b + y }; a = a + b*v[0] }; z = a*y",
    "an array": "a = v; for i in range(6) { a = sin(a)*x + y }; z = a.sum()*x",
    "a product": "m = [[x, 1.0], [0.2, y]]; a = v[:2]; for i in range(5) { a = m @ a }; z = a[0]*a[1]",
    "elements": "a = zeros(4); for i in range(4) { a[i] = x*i + y }; z = (a*a).sum()",
    "a function": "fn f(a, b) { s = a; for i in range(3) { s = s*b + x }; return s }\nz = 0.0; for i in range(9) { z = z + f(y, x*i) }",
    "one side alone": "a = 0.0; for i in range(9) { if i > 20 { a = a + v[1] } else { a = a + x } }; z = a*a*y",
    "strings": "fn f(n, a) = a*y if n == \"b\" else sin(a); a = x; for i in range(6) { for n in [\"a\", \"b\"] { a = f(n, a) } }; z = a*x",
    "axes": "m = [v, v*x, v*y]; for i in range(6) { m = m*0.5 + (m[..., 0]*y)[:, none] }; z = m[none, 1:, ...].sum()",
    "a network": "w = zeros([9, 12]) + y; for i in range(4) { w = w - 0.1*tanh(w @ w.T * x + 0.1) @ w }; z = w.sum()",
    "no variable": "a = 0.0; for i in range(9) { a = a + c }; z = a*x*y",
}  # fmt: skip
REQUESTS = {
    "gradients": "output grad(z, [x, y])",
    "again": "output grad(grad(z, x), y)",
    "three times": "output grad(grad(grad(z, x), y), x)",
    "products": "output vjp([z, x*z], x, [1.0, 2.0]); output hvp(z, v, [1.0, 0.0, 2.0])",
    "products of several": "output hvp(z, [x, v], [2.0, [1.0, 0.0, 2.0]])",
    "of functions": "output grad(fn(q) = q*z)(x), jacobian(fn(q) = q*v*z)(x)",
    "nothing connects": "output grad(z, c)",
    "a later tape": "tape t { q = z*x }; output t.gradient(q, x)",
    "a Hessian": "output hessian(z, v)",
    "of scalars": "output hessian(z, [x, y])",
    "a Jacobian": "output jacobian([z, z*x, z*v[1]], v)",
    "more rows than columns": "output jacobian(z*linspace(x, 2.0, 12), y)",
}
WINDOWS = {
    "a tape": "tape t { %s }\noutput t.gradient(z, [x, y])",
    "a tape that is kept": "tape t (persistent = true) { %s }\noutput t.gradient(z, x); output t.gradient(z, v)",
    "tapes in tapes": "tape s { tape t { %s }; g = t.gradient(z, x) }\noutput s.gradient(g, y)",
    "what is watched": "tape t { watch c; %s; q = z*c }\noutput t.gradient(q, c)",
    "a pause": "pause { %s }\noutput q = z*x; output grad(q, x)",
    "both": "%s\npause { w = z*x }\noutput w*y; output grad(z, x)",
}  # fmt: skip
OTHERS = {
    "a sparse Hessian": "output hessian(z, v, sparse = true)",
    "a sparse Jacobian": "output jacobian([z, x], v, sparse = true)",
    "by many elements": "output jacobian(z*u, u)",
    "by what is in between": "q = z*x; output grad(q*z, q)",
}
PROGRAMS = {
    **{
        f"{a}, {b}": f"{LOOPS[a]}\noutput z; {(REQUESTS | OTHERS)[b]}"
        for a in LOOPS
        for b in REQUESTS | OTHERS
    },
    **{f"{a} in {b}": WINDOWS[b] % LOOPS[a].replace("\n", "; ") for a in LOOPS for b in WINDOWS},
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_asked(name: str, tier: int) -> None:
    if tier == NATIVE and "scalars" not in name and "an array" not in name:
        return  # the same regions, by another back end
    source = HEAD + PROGRAMS[name]
    with only(tier, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-11)


@pytest.mark.parametrize("options", [{"hessian": True}, {"jacobian": True}, {"mode": "forward"}])
@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_asked_from_outside(loop: str, options: dict[str, Any]) -> None:
    source = f"{HEAD}{LOOPS[loop]}\noutput z; output w = [z, x*z]"
    with only(WRITTEN, FIRST_USE):
        found = answer(source, **options)
    assert_close(found, expected(source, **options), 1e-11)


def levels_of_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The levels of what regions are called with from now on."""
    levels: list[int] = []
    apply = RegionCall.apply

    def noted(self: RegionCall, run: Any, site: Any, values: list[Any], calls: int = 1) -> Any:
        levels.append(max(map(level_of, values)))
        return apply(self, run, site, values, calls)

    monkeypatch.setattr(RegionCall, "apply", noted)
    return levels


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("loop", [loop for loop in LOOPS if loop != "no variable"])
def test_kernels_run_on_traced_numbers(
    loop: str, request_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = levels_of_calls(monkeypatch)
    with only(WRITTEN, FIRST_USE):
        answer(f"{HEAD}{LOOPS[loop]}\noutput z; {REQUESTS[request_]}")
    assert max(levels) > UNBOXED


@pytest.mark.parametrize(
    "loop", ["while false { a = a*y }", "for i in range(9) { if i > 20 { a = a*y } }"]
)
def test_a_name_that_may_be_a_variable(loop: str) -> None:
    """After iterations that change nothing, the name is the variable itself."""
    source = f"{HEAD}b = 0.0; for k in range(5) {{ a = x; {loop}; b = b + a }}\noutput grad(a*b, a)"
    with only(WRITTEN, FIRST_USE):
        found = answer(source)
    assert_close(found, expected(source), 1e-13)


BODY = "a = v; for i in range(9) { a = sin(a)*x }; return a"
FUNCTIONS = f"""fn h(v) {{ {BODY} }}
fn g(v) = h(v).sum()
fn tall(q) = h(v*q)[0]*linspace(0.0, 1.0, 12)*q
fn both(p, q) = h(v*q)*p
"""


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize(
    ("call", "is_one"),
    [
        ("jacobian(h)(v)", True),
        ("hessian(g)(v)", True),
        ("batch_jacobian(h)(v)", True),
        ("jacobian(tall)(x)", True),  # forward, as there are fewer columns
        ("jacobian(both, wrt = [0, 1])(x, y)", True),
        ("hessian(fn(p, q) = both(p, q).sum(), wrt = [0, 1])(x, y)", True),
        ("grad(fn(q) = jacobian(tall)(q).sum())(y)", True),
        ("jacobian(grad(g))(v)", True),
        ("jacobian(h)(u)", False),
        ("jacobian(h, sparse = true)(v)", False),
        ("hessian(g, sparse = true)(v)", False),
    ],
)
def test_what_a_jacobian_records(
    call: str, is_one: bool, is_recorded: bool, tier: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = levels_of_calls(monkeypatch)
    given = f"{call}.values" if "sparse" in call else call
    asked = f"output grad(sum({given}), x)" if is_recorded else f"output {call}"
    source = HEAD + FUNCTIONS + asked
    with only(tier, FIRST_USE):
        found = answer(source)
    assert (max(levels, default=UNBOXED) > UNBOXED) == is_one
    assert_close(found, expected(source), 1e-13)


@pytest.mark.parametrize(
    "options", [{}, {"jacobian": True}, {"hessian": True}, {"jacobian": True, "mode": "forward"}]
)
def test_values_from_outside_that_have_more_elements(options: dict[str, Any]) -> None:
    """Which elements depend on which isn't known then, so all may."""
    source = f"{HEAD}{LOOPS['an array']}\noutput z; output w = v*z; output hessian(z, v), jacobian(v*z, v)"
    given = {"v": np.linspace(0.1, 1.0, 12)}
    with only(WRITTEN, FIRST_USE):
        found = answer(source, given, **options)
    with only(INTERPRETED):
        assert_close(found, answer(source, given, **options), 1e-11, 1e-13)


TALL = f"{HEAD}{FUNCTIONS}output jacobian(tall)(x)"


def test_a_tall_jacobian_without_tangents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region may have a pullback alone: then rows are computed one after another."""

    def refused(*given: Any) -> Any:
        raise NoRule("there are no tangents")

    monkeypatch.setattr("gradcli.engine.kernels.region_calls.jvp", refused)
    levels = levels_of_calls(monkeypatch)
    with only(WRITTEN, FIRST_USE):
        found = answer(TALL)
    assert max(levels) > UNBOXED
    assert_close(found, expected(TALL), 1e-13)


def test_tangents_that_find_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def stepped_back(*given: Any) -> Any:
        raise StepBack

    monkeypatch.setattr(RegionCall, "pushed", stepped_back)
    with only(WRITTEN, FIRST_USE):
        assert "E405" in answer(TALL)
