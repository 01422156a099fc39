"""Functions with derivative rules of their own, where code is compiled: as without that."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import answer, assert_same, expected
from .region_cases import lowered

# Rules that aren't the derivative of their body show who was asked.
TWICE = "fn twice(x) { return 2 * x } backward (dy) { return 10 * dy }"
MIXED = "fn mixed(a, b) { return a * b } backward (dy) { return [dy * b, 3 * dy * a] }"
LOCAL = (
    "fn local(a) { s = sin(a)\n if a > 1.0 { c = 2 * s; return c * a }\n c = cos(a)\n return c * s }"
    " backward (dy) { return dy * c * (s + 1) }"
)
VECTOR = "fn vector(v) { return v / sum(v) } backward (dy) { n = sum(v); return dy / n + v }"
SUMMED = "fn summed(v, k) { return sum(v**2) * k } backward (dy) { return [2 * dy * v * k, none] }"
PAIR = "fn pair(a) { return [a, a * a] } backward (dy) { return dy[0] + 5 * dy[1] * a }"
RECORD = "fn record(p) { return p.a * p.b } backward (dy) { return {a: dy * p.b, b: 2 * dy * p.a} }"
LISTED = "fn listed(p) { return p[0] * p[1] } backward (dy) { return [[dy * p[1], 2 * dy * p[0]]] }"
STEP = "fn step(x) { return 1.0 if x > 0 else 0.0 } backward (dy) { return dy }"
ROOT = (
    "fn next(z, a) = cos(a * z) + 0.1 * a\n"
    "fn fixed(a) { z = 0.5; n = 0\n while n < 50 { z = next(z, a); n += 1 }\n return z }"
    " backward (dz) { z = fixed(a)\n"
    " return dz * grad(next, wrt = 1)(z, a) / (1 - grad(next)(z, a)) }"
)
FALLS = (
    "fn falls(x, n) { return x if n == 1 else x * falls(x, n - 1) } "
    "backward (dy) { return [n * dy, none] }"
)
STEEP = "fn steep(a) { return sqrt(a) } backward (dy) { return 0.5 * dy / sqrt(a) }"
OVER = "fn over(a) { return a * a } backward (dy) { return dy * log(a) }"

# Functions, and an expression of `u` by them, which is summed in a loop.
SUMS = {
    "a number": (TWICE, "twice(u * u)"),
    "of what it gives": (TWICE, "twice(twice(u)) * u"),
    "of a builtin": (TWICE, "sin(twice(cos(u)))"),
    "two arguments": (MIXED, "mixed(u, u + 1)"),
    "the same argument twice": (MIXED, "mixed(u, u)"),
    "a constant argument": (MIXED, "mixed(3.0, u) + mixed(u, 2)"),
    "names at each return": (LOCAL, "local(u)"),
    "small arrays": (VECTOR, "sum(vector([u, u * u, 2.0]) * [1.0, 2.0, 3.0])"),
    "large arrays": (VECTOR, "sum(vector(u * linspace(1.0, 2.0, 40))**3)"),
    "none": (SUMMED, "summed([u, 2.0], u)"),
    "an int": (SUMMED, "summed([u, 2.0], 3)"),
    "a list as the result": (PAIR, "pair(u)[0] + pair(u)[1] * u"),
    "a part of a result": (PAIR, "pair(u)[1]"),
    "a dict": (RECORD, "record({a: u, b: u + 1})"),
    "a list as the argument": (LISTED, "listed([u, sin(u)])"),
    "a constant with a gradient": (STEP, "step(u - 1) * u"),
    "a rule that calls its function and asks for derivatives": (ROOT, "fixed(u)"),
    "recursion": (FALLS, "falls(u, 4)"),
    "a rule in a function": (
        f"fn outer(a, k) {{ {TWICE.replace('10', 'k')}; return twice(a) * a }}",
        "outer(u, 4.0)",
    ),
    "a function that is passed": (f"{TWICE}; fn apply(f, x) = f(f(x))", "apply(twice, u)"),
    "an infinite share of what has no weight": (OVER, "over(u - u) * (u - u)"),
    "an infinite share that nothing depends on": (STEEP, "where(u > 9.0, steep(u - 3.0), u)"),
    "in a loop": (TWICE, "loop(u)"),
    "a rule with a name that one path assigns": (
        "fn f(a) { return a * a } backward (dy) { k = 0; if dy > 0 { g = 2.0; k = 1 }; return dy * g * a + k }",
        "f(u)",
    ),
    "a rule that asks what asked for it": (
        "fn f(a) { return a * a } backward (dy) { return dy * g(a, 1) }\n"
        "fn g(a, n) { return a if n == 0 else g(0.1 * f(a), n - 1) + a }",
        "g(u, 2)",
    ),
}
LOOP = "fn loop(x) { s = x; for k in range(5) { s = sin(twice(s)) + x }; return s }"


def summed(functions: str, expression: str) -> str:
    loop = LOOP if "loop(" in expression else ""
    return (
        f"{functions}\n{loop}\nvar x = 0.7\nfn total(x) {{ s = 0.0\n"
        f" for i in range(4) {{ u = x + 0.3 * i; s += {expression} }}\n return s }}\n"
    )


ASKED = (
    "total(x)",
    "grad(total)(x)",
    "grad(grad(total))(x)",
    "jvp(total)(x, 2.0)",
    "jvp(grad(total))(x, 1.5)",
    "grad(fn(x) = jvp(total)(x, 2.0))(x)",
    "hvp(total)(x, 2.0)",
    "hessian(total)(x)",
    "jacobian(total)(x)",
    "jacobian(fn(x) = [total(x), x])(x)",
    "jacobian(fn(v) = total(v[0] * v[1]))([x, 2.0])",
    "grad(total(x), x)",
)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str, tier: int) -> None:
    source = summed(*SUMS[name]) + "\n".join([f"output {each}" for each in ASKED])
    with only(tier, FIRST_USE):
        assert_same(answer(source), expected(source))


MAY_FAIL = ("a rule with a name that one path assigns", "a rule that asks what asked for it")


@pytest.mark.parametrize("name", [name for name in SUMS if name not in MAY_FAIL])
def test_all_is_compiled(name: str) -> None:
    functions, expression = SUMS[name]
    assert not lowered(summed(functions, expression) + "output grad(total)(x)").reasons


# Loops at the top level, with requests for derivatives of values.
LOOPS = {
    "grad": "for i in range(4) { s += grad(twice(x * i) * x, x) }",
    "jvp": "for i in range(4) { s += jvp(twice(x * i), x, 2.0) }",
    "a tape": "for i in range(4) { tape t { y = twice(x) * x }; s += t.gradient(y, x) }",
    "twice": "for i in range(4) { g = grad(twice(x)**3, x); s += grad(g, x) }",
    "an update": "for i in range(4) { x :-= 0.01 * grad(twice(x)**2, x) }; s = x * x",
}


@pytest.mark.parametrize("name", LOOPS)
def test_requests(name: str) -> None:
    source = f"{TWICE}\nvar x = 0.7\ns = 0.0\n{LOOPS[name]}\noutput s"
    with only(heat=FIRST_USE):
        assert_same(answer(source), expected(source))


# What the interpreter has to say.
MISTAKES = {
    "a captured variable": "var k = 2.0\nfn f(a) { return a * k } backward (dy) { return dy }",
    "too many gradients": "fn f(a) { return a } backward (dy) { return [dy, dy] }",
    "another shape": "fn f(a) { return a } backward (dy) { return [[dy, dy], dy] }",
    "an array for a number": "fn f(a) { return a } backward (dy) { return array([dy, 1.0]) }",
    "no number": 'fn f(a) { return a } backward (dy) { return "dy" }',
    "an error in a rule": "fn f(a) { return a } backward (dy) { return dy * [1.0, 2.0][int64(a) + 7] }",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    functions = MISTAKES[name]
    source = f"var x = 0.7\n{functions}\nfn g(x) {{ s = 0.0; for i in range(3) {{ s += f(x) }}; return s }}\n"
    for asked in ("g(x)", "grad(g(x), x)", "grad(g)(x)"):
        with only(heat=FIRST_USE):
            assert answer(source + f"output {asked}") == expected(source + f"output {asked}")


# What a function with a rule has from outside: what it depends on is an error, of a place in its
# body; what decides a path, and what isn't connected, is none.
CAPTURES = {
    "by a path": "fn side(z) { if w > 1.0 { return z }\n return 1.5*z }\nfn f(z) { return side(z) }",
    "in a call": "fn line(z) = 1.5*z + w\nfn f(z) { return line(z) }",
    "in a closure": "fn f(z) { line = fn(y) = y*w\n return line(z) + line(1) }",
    "in a loop": "fn f(z) { a = z; for i in range(3) { a = a*w }; return a }",
    "by an argument of a call": "fn line(y) = 2*y\nfn f(z) { return line(z) + line(w) }",
    "by a tangent that isn't connected": (
        "fn far(a, n = 2) { if n == 0 { return w }; return far(a, n - 1) }\n"
        "fn f(z) { return 1.5*z + jvp(far)(z, z) }"
    ),
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", CAPTURES)
def test_captured_variables(name: str, mode: str, tier: int) -> None:
    function = f"{CAPTURES[name]} backward (dy) {{ return 1.5*dy }}"
    for asked in ("f(x)", "f(x + w)"):
        source = f"var x = 0.5; var w = 0.3\n{function}\noutput y = {asked}"
        with only(tier, FIRST_USE):
            found = answer(source, mode=mode)
        assert found == expected(source, mode=mode)
        assert ("E323" in found) == (name in tuple(CAPTURES)[1:5])
