"""Long lists of traced numbers: what loops and functions put in them, and read, in kernels."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only
from gradcli.engine.kernels import hot_loops
from gradcli.engine.kernels.iterations import Ran

from .hot_and_cold import answer, assert_close, expected

PROGRAMS = {
    "a trajectory": """
        var k = 0.7; xs = [1.0]
        for i in range(80) { xs = append(xs, xs[i] + 0.01*(sin(xs[i]) - k*xs[i])) }
        s = 0.0
        for x in xs { s = s + x*x }
        output s, xs[0], xs[1], xs[80]""",
    "from a function": """
        var k = 0.7
        fn path(k, n) { xs = [1.0]; for i in range(n) { xs = append(xs, k*xs[i]) }; return xs }
        fn loss(k) { s = 0.0; for x in path(k, 100) { s = s + x*x }; return s }
        g = grad(loss)
        output loss(k), g(k), grad(g)(k), path(k, 90)[0], path(k, 90)[2]""",
    "rows": """
        var a = 0.3; var b = 0.2; ps = []
        for i in range(80) { ps = append(ps, [a*i, b + i, 2.0]) }
        s = 0.0
        for p in ps { s = s + p[0]*p[1] - p[2]*p[1] }
        output s, ps[7][2], ps[5][0]""",
    "dicts": """
        var a = 0.3; ps = []
        for i in range(80) { ps = append(ps, {u: a*i, v: 1.0*i}) }
        s = 0.0
        for p in ps { s = s + p.u*p.v }
        output s, ps[9].v, ps[9].u""",
    "changes": """
        var a = 0.3; xs = []
        for i in range(80) { xs = append(xs, 0.0) }
        for i in range(80) { xs[i] = a*i + 0.5*xs[maximum(i - 1, 0)] }
        for i in range(80) { if i % 7 == 3 { xs[i] = 1.0 } }
        output sum(array(xs)), xs[3], xs[4], xs[79]""",
    "items taken away": """
        var a = 0.3; xs = []
        for i in range(80) { xs = append(xs, a*i); if i % 3 == 0 { xs = xs[1:] } }
        output xs[0], xs[10]*xs[20], sum(array(xs))""",
    "a tape": """
        var a = 0.3
        fn f(a) { xs = [a]; for i in range(80) { xs = append(xs, cos(xs[i])*a) }; return xs }
        tape t { y = f(a); z = y[80]*y[70] }
        output z, t.gradient(z, a)""",
    "until it is small": """
        var a = 0.9; xs = [a]
        while xs[len(xs) - 1] > 1e-2 { xs = append(xs, 0.97*xs[len(xs) - 1]) }
        m = 0.0
        for x in xs { if x < 0.05 { break }; m = maximum(m, x*(1 - x)) }
        output m, xs[len(xs) - 1], xs[50]""",
    "an array at last": """
        var v = [0.3, 0.5]; xs = [v[0]]
        for i in range(80) { xs = append(xs, 0.99*xs[i] + 0.01*v[1]) }
        output array(xs)[70]*v[0], mean(array(xs))""",
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize(
    "options",
    [{}, {"mode": "forward"}, {"hessian": True}, {"dtype": "float32"}],
    ids=lambda options: ", ".join(map(str, options)) or "gradient",
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_in_each_tier(name: str, options: dict[str, Any], tier: int) -> None:
    source = PROGRAMS[name]
    with only(tier, FIRST_USE):
        found = answer(source, **options)
    rtol = 1e-5 if options.get("dtype") == "float32" else 1e-10
    assert_close(found, expected(source, **options), rtol, rtol * 1e-4)


def test_a_result_that_nothing_depends_on_has_a_plain_zero() -> None:
    """What the loop computes in `x` and `v` last isn't used: NumPy's zero made a gradient of its
    kind."""
    source = """
        var a = 0.3; x = 1.0; v = 0.0; xs = []
        for i in range(30) { w = a*v - x; xs = append(xs, [x, w]); x = x + 0.1*v; v = v + 0.1*w }
        y = sum(array(xs))"""
    with only(WRITTEN, FIRST_USE):
        found = gradcli.load(source=source).with_options(mode="reverse").run()
    assert type(found.gradients["y"]["a"]) is float


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The iterations that kernels ran, each time."""
    found: list[int] = []
    original = hot_loops.HotLoop.run_iterations

    def run_iterations(self: Any, *given: Any) -> Any:
        ran = original(self, *given)
        found.append(ran.iterations if isinstance(ran, Ran) else 0)
        return ran

    monkeypatch.setattr(hot_loops.HotLoop, "run_iterations", run_iterations)
    return found


def test_a_loop_of_traced_numbers_is_compiled(done: list[int]) -> None:
    with only(NATIVE, FIRST_USE):
        answer(PROGRAMS["a trajectory"])
    assert sum(done) >= 2 * 79


@pytest.mark.parametrize(
    ("body", "is_compiled"),
    [
        ("for i in range(20) { s = s + xs[i + k] }", False),  # too few for so many operands
        ("for i in range(300) { xs = xs[1:]; xs = append(xs, 0.9*xs[14] + a) }", True),
    ],
)
def test_a_loop_is_compiled_where_it_pays(body: str, is_compiled: bool, done: list[int]) -> None:
    source = f"""
        var a = 0.7; xs = [a]; s = 0.0; k = 3
        for i in range(300) {{ xs = append(xs, a*i) }}
        if s == 0.0 {{ {body} }}
        output s + xs[3]"""
    with only(NATIVE, FIRST_USE):
        answer(source)
    assert done[0] >= 299
    assert any(done[1:]) == is_compiled


@pytest.mark.parametrize(
    ("body", "connected"),
    [
        ("xs = [1.0]; for i in range(100) { xs = append(xs, x*i) }", lambda k: k > 0),
        ("xs = [x]; for i in range(100) { xs = append(xs, 1.0*i) }", lambda k: k == 0),
        (
            "xs = []; for i in range(101) { xs = append(xs, 0.0) }\n"
            "for i in range(101) { if i % 3 == 0 { xs[i] = x*i } }",
            lambda k: k % 3 == 0,
        ),
        (
            "xs = []; for i in range(101) { xs = append(xs, x*i) }\n"
            "for i in range(101) { if i % 3 == 0 { xs[i] = 1.0 } }",
            lambda k: k % 3 != 0,
        ),
        (
            "ys = [1.0]; for i in range(100) { ys = append(ys, x*i) }\n"
            "xs = ys[50:]; for y in ys[:50] { xs = append(xs, y) }",
            lambda k: k != 51,
        ),
    ],
)
@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_each_number_is_connected_by_itself(body: str, connected: Any, tier: int) -> None:
    source = f"""
        var x = 2.0
        fn f(x, k) {{ {body}; return xs[k] }}
        found = []
        for k in range(101) {{
            tape t {{ y = f(x, k) }}
            found = append(found, t.gradient(y, x) == none)
        }}
        output found"""
    with only(tier, FIRST_USE):
        _, outputs, *_ = answer(source, grad=False)
    assert outputs["found"] == [not connected(k) for k in range(101)]


@pytest.mark.parametrize(
    "whole",
    [
        "sum(sort(xs))",
        "dot(xs, xs)",
        "sum(array(xs)*2.0)",
        "sum(stack([xs, xs]))",
        "sum(cumsum(xs))",
    ],
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
def test_an_array_of_a_list_is_connected_if_a_number_is(whole: str, mode: str, tier: int) -> None:
    source = f"""
        var x = 2.0
        fn f(x, k) {{
            xs = []; for i in range(100) {{ xs = append(xs, 1.0) }}
            for i in range(100) {{ if i < k {{ xs[i] = x*i }} }}
            return {whole}
        }}
        none_of_them = f(x, 0); some = f(x, 3)
        output none_of_them, some"""
    with only(tier, FIRST_USE):
        _, _, gradients, *_ = answer(source, mode=mode)
    assert gradients["none_of_them"]["x"] is None
    assert gradients["some"]["x"] is not None
