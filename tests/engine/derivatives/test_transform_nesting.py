"""Transforms inside transforms, in every combination of modes: perturbations are never confused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.tiers import FIRST_USE, HEAT, Heat, only

from ..programs import outputs, value
from .random_programs import RELAXED, Program, points, programs

# The derivative of a function of one number, `f`, at `x`, in either mode; and by some other ways
# that mean the same.
MODES = {"reverse": "grad({f})({x})", "forward": "jvp({f})({x}, 1.0)"}
WAYS = MODES | {
    "jacobian": "jacobian({f})({x})",
    "by columns": 'jacobian({f}, mode = "forward")({x})',
    "value_and_grad": "value_and_grad({f})({x})[1]",
    "value_and_jvp": "value_and_jvp({f})({x}, 1.0)[1]",
    "vjp": "vjp({f})({x}, 1.0)",
    "method": "({f}).grad()({x})",
}


def nested(ways: tuple[str, ...], body: str) -> str:
    """`body` of x, differentiated once for each way, the innermost last; as a function of x
    again."""
    for way in reversed(ways):
        body = way.format(f=f"fn(x) = {body}", x="x")
    return body


pairs = list(itertools.product(MODES.values(), repeat=2))
triples = list(itertools.product(MODES.values(), repeat=3))

# ---- the classical cases -------------------------------------------------------------------------

# {0} and {1} make derivatives, the outer and the inner one. By Siskind and Pearlmutter, and by
# Manzyuk and others.
CONFUSION = [
    ("{0:fn(x) = x * {1:fn(y) = x + y|1.0}|1.0}", 1.0),
    ("{0:fn(x) = x * {1:fn(y) = x * y|2.0}|3.0}", 6.0),
    ("{0:fn(x) = x * {1:fn(y) = x * y|x}|3.0}", 6.0),
    ("{0:fn(x) = x * {1:fn(y) = x * y**2|x}|3.0}", 54.0),
    ("{0:fn(x) = {1:fn(y) = x * y|x} * x|3.0}", 6.0),
    ("{0:fn(x) = {1:fn(x) = x**3|x} + x|2.0}", 13.0),  # the inner name hides the outer one
    ("{0:fn(x) = {1:fn(y) = x|x}|3.0}", 0.0),
    ("{0:fn(x) = {1:fn(y) = detach(x) * y|2.0} * x|3.0}", 3.0),
    ("{0:fn(x) = f({1:fn(y) = f(x, y)|x}, x)|2.0}", 64.0),  # of 2x² · x², for f(a, b) = a * b**2
    ("{0:fn(x) = f(x, x) + {1:fn(x) = f(x, x)|x}|2.0}", 12.0 + 12.0),
    # a variable beside them, whose value is an argument too
    ("{0:fn(x) = {1:fn(y) = x * w * y|w}|3.0}", 5.0),
    ("{0:fn(x) = {1:fn(y) = x * w * y|x}|w}", 5.0),
    ("{0:fn(a) = {1:fn(b) = w * a * b + w**2|w}|w}", 5.0),
    # Manzyuk's: a derivative of a function that returns functions is one of what these give
    ("{0:fn(x) = shift(x)(fn(y) = y**2)(3.0)|1.0}", 8.0),
    ("{0:fn(x) = shift(x)(fn(y) = {1:fn(z) = z**3|y})(3.0)|1.0}", 24.0),
    ("{0:fn(x) = shift(x)(shift(x)(fn(y) = y**2))(3.0)|1.0}", 2 * 5 * 2.0),
    ("{0:fn(x) = (fn(g) = {1:g|2.0})(fn(y) = x * y**2)|3.0}", 4.0),
    ("{0:fn(x) = twice(fn(y) = {1:fn(z) = x * z**2|y})(1.0)|3.0}", 24.0),  # 2x(2x y)
    ("{0:fn(x) = [x, {1:fn(y) = x * y**2|x}][1]|3.0}", 12.0),
    ("{0:fn(x) = {{a: {1:fn(y) = x * y**2|x}}}.a|3.0}", 12.0),
]  # fmt: skip
PRELUDE = """
var w = 5.0
fn f(a, b) = a * b**2
fn shift(v) = fn(g) = fn(y) = g(v + y)
fn twice(g) = fn(y) = g(g(y))
"""


def _with_modes(case: str, modes: tuple[str, ...]) -> str:
    """The case with its derivatives written out: `{k:function|point}`."""
    for k, mode in reversed(list(enumerate(modes))):
        while (start := case.find(f"{{{k}:")) >= 0:
            depth, bar, end = 0, -1, start
            for end in range(start, len(case)):
                depth += {"{": 1, "}": -1}.get(case[end], 0)
                if case[end] == "|" and depth == 1:
                    bar = end
                if depth == 0:
                    break
            inner = mode.format(f=case[start + 3 : bar], x=case[bar + 1 : end])
            case = case[:start] + inner + case[end + 1 :]
    return case.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(("case", "expected"), CONFUSION)
@pytest.mark.parametrize("ask", ["", "fn unused(y, x) = grad(y, x)\n"], ids=["duals", "trace"])
def test_perturbations_are_not_confused(case: str, expected: float, ask: str) -> None:
    for modes in itertools.product(WAYS.values(), repeat=2) if not ask else pairs:
        assert value(f"{ask}{PRELUDE}d = {_with_modes(case, modes)}\noutput d") == pytest.approx(
            expected, rel=1e-14
        ), modes


def test_a_captured_argument_is_another_at_every_call() -> None:
    source = """
fn outer(x) {
    fn inner(y) = x * y**2
    d = [grad(inner), fn(y) = jvp(inner)(y, 1.0)]
    return d[0](x) * d[1](2.0 * x)          # 2x² · 4x²
}
output grad(outer)(1.5), jvp(outer)(1.5, 1.0)
"""
    assert list(outputs(source).values()) == pytest.approx([32 * 1.5**3] * 2)


# ---- against closed forms, two and three deep ----------------------------------------------------

FUNCTIONS: dict[str, tuple[str, Any]] = {
    "power": ("x**5", lambda x: x**5),
    "composed": ("exp(sin(x)) / (1 + x**2)", lambda x: mpmath.exp(mpmath.sin(x)) / (1 + x**2)),
    "logarithm": ("log(1 + x**2) * tanh(x)", lambda x: mpmath.log(1 + x**2) * mpmath.tanh(x)),
    "of networks": ("sigmoid(x) * softplus(3 * x)",
        lambda x: mpmath.log(1 + mpmath.exp(3 * x)) / (1 + mpmath.exp(-x))),
    "x to the x": ("x**x", lambda x: x**x),
    "branches": ("where(x > 0.5, x**3 * sin(x), 1 / (x - x))", lambda x: x**3 * mpmath.sin(x)),
    "arrays": ("sum(sin([1.0, 2.0, 3.0] * x) @ [[x], [x**2], [1.0]])",
               lambda x: mpmath.sin(x) * x + mpmath.sin(2 * x) * x**2 + mpmath.sin(3 * x)),
    "complex numbers": ("sum(real(flip([x, x**2] * (1 + 2j)) * [x + 1j, 2j]))",
        lambda x: x**3 - 2 * x**2 - 4 * x),
    "parts of real numbers": ("sum(x**3 * imag([x, 2 * x]) + x**2 * angle(x)) + imag(x) + sin(angle(x)) + real(x)**4",
                              lambda x: x**4),
    "a loop": ("loop(x)", lambda x: sum(x**k / mpmath.factorial(k) for k in range(6))),
    "elements": ("elements(x)", lambda x: x**6 + x**3),
    "recursion": ("power(4, x)", lambda x: x**4),
}  # fmt: skip
HELPERS = """
fn loop(x) { s = 0.0; t = 1.0; for k in range(6) { s = s + t; t = t * x / (k + 1) }; return s }
fn elements(x) {
    a = zeros(3); a[0] = x
    for i in range(2) { a[i + 1] = a[i] * x**(i + 1); a[0] = a[0] * x }
    return a[2] * a[1] + a[0]
}
fn power(n, x) = 1.0 if n == 0 else x * power(n - 1, x)
"""


def exact(function: Any, x: float, order: int) -> float:
    with mpmath.workdps(60):
        return float(mpmath.diff(function, mpmath.mpf(x), order))


@pytest.mark.parametrize(("body", "function"), FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("heat", [HEAT, FIRST_USE], ids=["cold", "hot"])
def test_closed_forms(body: str, function: Any, heat: Heat) -> None:
    for depth in (1, 2, 3):
        expected = exact(function, 0.7, depth)
        for ways in itertools.product(MODES.values(), repeat=depth):
            with only(heat=heat):
                found = value(f"{HELPERS}x = 0.7\nd = {nested(ways, body)}\noutput d")
            assert found == pytest.approx(expected, rel=1e-11), (depth, ways)


def test_the_other_ways_two_deep() -> None:
    body, function = FUNCTIONS["composed"]
    for ways in itertools.product(WAYS.values(), repeat=2):
        assert value(f"x = 0.7\nd = {nested(ways, body)}\noutput d") == pytest.approx(
            exact(function, 0.7, 2), rel=1e-12
        ), ways


@pytest.mark.parametrize(
    "way", ["hessian({f})({x})", "hvp({f})({x}, 1.0)", 'hessian({f}, mode = "forward")({x})']
)
@pytest.mark.parametrize("other", MODES.values(), ids=MODES)
def test_second_derivatives_nest_too(way: str, other: str) -> None:
    body, function = FUNCTIONS["composed"]
    for ways in ((way, other), (other, way)):
        assert value(f"x = 0.7\nd = {nested(ways, body)}\noutput d") == pytest.approx(
            exact(function, 0.7, 3), rel=1e-11
        )
    assert value(f"x = 0.7\nd = {nested((way, way), body)}\noutput d") == pytest.approx(
        exact(function, 0.7, 4), rel=1e-10
    )


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_deep(mode: str) -> None:
    """Eight derivatives of exp(2x), each of the one before."""
    source = f"fn d(n) = (fn(x) = exp(2*x)) if n == 0 else (fn(x) = {mode.format(f='d(n - 1)', x='x')})\noutput d(8)(0.0)"
    assert value(source) == pytest.approx(256.0, rel=1e-12)


# ---- loops that the data end ---------------------------------------------------------------------

# sqrt by Newton's method, to a tolerance: how often the loop runs depends on its argument.
ROOT = "fn root(a) { r = a; while abs(r * r - a) > 1e-13 * a { r = 0.5 * (r + a / r) }; return 0.5 * (r + a / r) }\n"


@pytest.mark.parametrize(
    "modes", pairs, ids=lambda m: "-".join(k for p in m for k, v in MODES.items() if v == p)
)
@pytest.mark.parametrize("heat", [HEAT, FIRST_USE], ids=["cold", "hot"])
def test_a_while_inside_inside(modes: tuple[str, str], heat: Heat) -> None:
    """d/dx x · d/dy root(x y), with another loop around that the value of the inner derivative
    ends."""
    inner = modes[1].format(f="fn(y) = root(x * y)", x="2.0")
    source = f"""{ROOT}
fn g(x) {{
    s = 0.0; n = 0
    while s < 3.0 {{ s = s + x * {inner}; n = n + 1 }}
    return s
}}
output {modes[0].format(f="g", x="1.7")}, g(1.7)
"""
    one = 1.7 * math.sqrt(1.7 / 2.0) / 2  # x · x / (2 √(2x))
    rounds = math.ceil(3.0 / one)
    derivative, found = outputs(source).values()
    assert found == pytest.approx(rounds * one, rel=1e-12)
    assert derivative == pytest.approx(
        rounds * 1.5 * math.sqrt(1.7) / (2 * math.sqrt(2.0)), rel=1e-11
    )


@pytest.mark.parametrize(
    "modes", triples, ids=lambda m: "-".join(k for p in m for k, v in MODES.items() if v == p)
)
def test_a_while_three_deep(modes: tuple[str, str, str]) -> None:
    source = f"{ROOT}x = 1.7\nd = {nested(modes, 'x * root(x) + root(root(x))')}\noutput d"
    expected = exact(lambda x: x ** mpmath.mpf(1.5) + x ** mpmath.mpf(0.25), 1.7, 3)
    assert value(source) == pytest.approx(expected, rel=1e-9)


# ---- random programs as functions ----------------------------------------------------------------


def as_function(program: Program) -> str:
    """The program as a function `f(x, v)` of its inputs."""
    lines = [line for line in program.source.splitlines() if not line.startswith("var ")]
    return "fn f(x, v) {\n" + "\n".join(f"    {line}" for line in lines) + "\n    return y\n}\n"


@settings(RELAXED, max_examples=60)
@given(
    st.sampled_from(["scalar", "vector"]).flatmap(programs), points, st.booleans(), st.booleans()
)
def test_tangents_and_cotangents_agree(
    program: Program, point: tuple[float, np.ndarray], asks: bool, hot: bool
) -> None:
    """⟨u, J t⟩ = ⟨uᵀ J, t⟩ for the transforms in both modes, and both are the complex step's; with
    tangents as duals and over the trace, compiled and not."""
    x, v = point
    ask = "fn asks(y, x) = grad(y, x)\n" if asks else ""
    source = f"""{ask}{as_function(program)}
x = {x}
v = array({v.tolist()})
t = jvp(f, wrt = [0, 1])(x, v, v = [0.3, [-1.1, 0.7, 0.4]])
g = grad(f, wrt = [0, 1])(x, v)
j = jacobian(f, wrt = [0, 1], mode = "forward")(x, v)
k = jacobian(f, wrt = [0, 1], mode = "reverse")(x, v)
output y = f(x, v)
output t, g, j, k
"""
    with only(heat=FIRST_USE if hot else HEAT):
        found = outputs(source)
    jacobian = [
        np.reshape(block, (-1, np.size(block) // np.size(found["y"]))) for block in found["j"]
    ]
    size = max(1.0, *(np.abs(block).max() for block in jacobian))
    close = {"rtol": 1e-9, "atol": 1e-9 * size}
    for a, b in zip(found["j"], found["k"], strict=True):
        np.testing.assert_allclose(a, b, **close)
    np.testing.assert_allclose(
        np.ravel(found["t"]), jacobian[0] @ [0.3] + jacobian[1] @ [-1.1, 0.7, 0.4], **close
    )
    for g, block, twin in zip(found["g"], jacobian, program.gradients(x, v), strict=True):
        np.testing.assert_allclose(np.ravel(g), block.sum(axis=0), **close)
        np.testing.assert_allclose(g, twin, rtol=1e-7, atol=1e-7 * size)


@settings(RELAXED, max_examples=40)
@given(programs(), points, st.booleans(), st.booleans())
def test_hessians_agree(
    program: Program, point: tuple[float, np.ndarray], asks: bool, hot: bool
) -> None:
    """Every way to the Hessian gives the same, which is symmetric; and so does every product with a
    vector."""
    if (
        "detach" in program.source
    ):  # what is detached has no derivative, so the Hessian isn't that of a function
        return
    x, v = point
    ask = "fn asks(y, x) = grad(y, x)\n" if asks else ""
    source = f"""{ask}{as_function(program)}
x = {x}
v = array({v.tolist()})
u = [-1.1, 0.7, 0.4]
h = hessian(f, wrt = 1)(x, v)
columns = hessian(f, wrt = 1, mode = "forward")(x, v)
product = hvp(f, wrt = 1)(x, v, v = u)
forward_reverse = jvp(grad(f, wrt = 1), wrt = 1)(x, v, v = u)
reverse_forward = grad(fn(v) = jvp(f, wrt = 1)(x, v, v = u))(v)
forward_forward = jvp(fn(v) = jvp(f, wrt = 1)(x, v, v = u))(v, u)
output h, columns, product, forward_reverse, reverse_forward, forward_forward
"""
    with only(heat=FIRST_USE if hot else HEAT):
        found = outputs(source)
    h, u = found["h"], np.array([-1.1, 0.7, 0.4])
    close = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, np.abs(h).max())}
    np.testing.assert_allclose(h, h.T, **close)
    np.testing.assert_allclose(found["columns"], h, **close)
    for name in ("product", "forward_reverse", "reverse_forward"):
        np.testing.assert_allclose(found[name], h @ u, **close)
    np.testing.assert_allclose(found["forward_forward"], u @ h @ u, **close)
