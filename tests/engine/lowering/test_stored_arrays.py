"""Loops and functions that read and write the elements of long arrays: regions, in both kinds of
code, give what the interpreter gives."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.kernels import function_calls, loop_calls
from gradcli.engine.lowering.held.names import NotCompiled

from ..kernels.hot_and_cold import CALLS_ALONE, answer, assert_same
from .region_cases import lowered

HEAD = """\
var x = 0.7
var v = linspace(0.1, 1.0, 100)
t = linspace(-2.0, 2.0, 90)
m = reshape(linspace(0.0, 1.0, 320), [80, 4])
w = v * 1
"""
PROGRAMS = {
    "a loss over data": "s = 0.0\nfor i in range(90) { p = x + t[i] * v[0]; s += (p - sin(t[i]))**2 }\noutput s / len(t)",
    "from the end": "s = 0.0\nk = 0\nwhile k < 99 { a = v[k] * x if v[k] < 0.5 else v[k + 1] + x; s += sin(a) * v[-1 - k]; k += 1 }\noutput s",
    "a recurrence": "u = zeros([99])\nu[0] = x\nfor i in range(1, 99) { u[i] = u[i - 1] * 0.99 + sin(u[i - 1]) * v[i] }\noutput u[98], sum(u), u",
    "heat": "fn heat(u, n) { for k in range(n) { c = u; for i in range(1, 99) { c[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) }; u = c }; return u }\n"
    "u = zeros([100])\nu[50] = x\nu[20] = x**2\nr = heat(u, 12)\noutput r[45] * r[22], r, grad(fn(y) = heat(u, 2)[51] * y)(x)",
    "rows of a matrix": "fn f(i, q) { r = m[i]; return q * r[0] + r[1] * r[2] - exp(-q * r[3]) }\ns = 0.0\nfor i in range(80) { s += f(i, x); s += m[i, 2] * x + sum(m[i, 1:]) }\noutput s",
    "rows that are written": "a = m * 1\nfor i in range(1, 80) { a[i] = a[i - 1] * x + 0.1; a[i, 0] += 1; a[i, 1:3] = [x, 2]; a[i, -1] = 1 }\noutput a, a[79, 2]",
    "over items": "s = 0.0\nfor a in v { if a > 0.9 { break }; s = s * x + a }\nfor r in m { s += r[0] * r[3] * x }\noutput s",
    "ints": "c = int64(zeros([80]))\ns = 0.0\nfor i in range(300) { k = (i * 37 + 11) % 80; c[k] += 1; s += c[k] * x**2 }\nn = 0\nfor a in c { n += a }\noutput s + n, c",
    "a search in a grid": "fn best(f, g) { b = f(g[0]); at = 0; for i in range(1, len(g)) { a = f(g[i]); if a < b { b = a; at = i } }; return [b, g[at]] }\n"
    "r = [0.0, 0.0]\nfor k in range(9) { r = best(fn(a) = (a - x * k)**2 + a, t) }\noutput r[0] + r[1]",
    "a gradient by an array": "fn f(v) { s = 0.0; for i in range(len(v) - 1) { s += 100.0 * (v[i + 1] - v[i]**2)**2 + (1.0 - v[i])**2 }; return s }\n"
    "g = grad(f)(v)\ns = 0.0\nfor i in range(100) { s += g[i] * cos(1.0 * i) }\noutput s, f(v), jvp(f)(v, w)",
    "second derivatives": "fn f(v) { s = 1.0; for i in range(99) { s += v[i]**2 * v[i + 1] * x }; return s }\n"
    "output sum(jvp(grad(f))(v, w)), sum(grad(fn(z) = grad(f)(z)[7] * z[3])(v))",
    "two arrays that change places": "a = zeros([70])\nb = ones([70])\nfor k in range(40) { a[k % 7] = b[k] * x + a[3]; c = a; a = b; b = c }\noutput a[2] + b[3] * 3.0 + a[6]",
    "a copy that goes its own way": "a = ones([70])\nb = a\nfor k in range(30) { a[k] = x * k; if k % 3 == 0 { b = a }; b[k + 1] += 1.0 }\noutput a, b, sum(b)",
    "on one path only": "a = zeros([80])\nfor k in range(60) { if v[k] > 0.3 { a[k] = v[k] * x } elif k == 5 { a = ones([80]) } }\noutput a, a[40]",
    "made in an iteration": "s = 0.0\nfor k in range(10) { a = zeros([66]); a[k] = x; a[65] = 2.0; for j in range(1, 66) { a[j] += a[j - 1] * 0.5 }; s += a[64] * a[65] }\noutput s",
    "shapes": "fn f(a) = a.shape[0] * a.size + a.ndim + len(a)\ns = 0\nfor k in range(5) { s += f(m) + f(v) * k }\noutput s * x",
    "functions of arrays": "fn f(a, k) { a[k] = x; return a }\nfn g(a, k) = a[k] + f(a, k)[k]\ns = 0.0\nfor k in range(70) { s += g(w, k) * g(v, 0) }\noutput s",
    "captured": "fn f(k) = t[k] * x if k > 3 else v[k]\ns = 0.0\nfor k in range(90) { s += f(k) }\noutput s, grad(fn(z) { s = 0.0; for k in range(90) { s += z * t[k] }; return s })(x)",
    "recursive": "fn f(a, k) = a[k] * x if k == 0 else f(a, k - 1) * 0.9 + a[k]\noutput f(v, 60), grad(f)(w, 50)[3]",
    "an index that is out of range": "s = 0.0\nfor k in range(120) { s += v[k] * x }\noutput s",
    "a place that is out of range": "for k in range(120) { w[-k - 1] = x }\noutput w",
    "a float in an array of ints": "c = int64(v > 0.3)\nfor k in range(70) { c[k] = x }\noutput c",
    "like another": "a = zeros_like(v)\nb = ones_like(int64(v))\nfor k in range(70) { a[k] = x * k; b[k] += k }\noutput a, b",
    "never connected": "a = zeros([70])\nfor k in range(70) { a[k] = t[k] }\noutput a, a[5], detach(v)[3]",
    "vectors as one": "fn f(y) = -y * y * 0.5 + sin(y) * x\nfor k in range(20) { a = f(v); b = f(v + a / 2); v = v + (a + 2 * b) / 30 }\noutput sum(v * v), v, norm(v - w), mean(v[1:] - v[:-1])",
    "broadcast": "a = m * x + [1, 2, 3, 4] * x\nb = (reshape(w, [100, 1]) - reshape(t, [1, 90]))\nfor k in range(9) { a = a * [0.5, x, 1.0, 0.1] - m[k] * v[k]; a = a + m[:, 0:1] }\nfor k in range(3) { b = b * x; s = sum(b[k]) }\noutput a, s",
    "comparisons": "for k in range(9) { w = where(w > v * x, w * 0.9, w + v**2 / 3); n = sum(w > 0.5) }\noutput sum(w), n, any(w[:20] > 0.6), maximum(w, x)[:3]",
    "functions of many": "fn f(z) = sum(exp(-z**2) * log1p(abs(z)) + tanh(z)**3 - z**-2.0 + 2**z)\ns = 0.0\nfor k in range(5) { s += f(v + k) * x }\noutput s, grad(f)(v)[3], jvp(grad(f))(v, w)[5]",
    "functions of few": "fn f(z) { r = exp(z) * [1, 2, 3]; return sum(r / (1 + r)) }\ns = 0.0\nfor k in range(9) { s += f([x, v[k], 0.3]) }\noutput s, grad(f)([x, 1.0, 2.0])",
    "products": "fn f(z) { h = tanh(m.T @ z[:80] + [0, 0.1, 0.2, 0.3]); return m @ h }\ns = 0.0\nfor k in range(4) { s += sum(f(v * x)**2); s += dot(v, w) * x + sum(outer(m[k], [1, 2]) @ [x, 1]) }\n"
    "output s, grad(fn(z) = sum(f(z)))(v), m.T @ m * x",
    "small products": "r = [[x, 1.0], [0.5, 2.0]]\np = [1.0, x]\nfor k in range(9) { p = r @ p / norm(p); q = r.T @ r @ p }\noutput p, q, p @ q",
    "sums along axes": "for k in range(3) { a = m * x**k; b = sum(a, axis = 1); c = mean(a * a, axis = 0); d = norm(a, axis = 1) }\noutput b, c, d, sum(b * d) + sum(c)",
    "parts that are written": "for k in range(5) { w[10:60] = v[20:70] * x; w[0:100:5] = w[1:21] + 1; m[3] = [1, 2, 3, x]; m[10:40] = m[20:50] * 2; m[k, 1:3] = 7 }\noutput w, m, sum(w) * sum(m)",
    "a gradient by an expression": "fn f(z) = sum(100 * (z[1:] - z[:-1]**2)**2 + (1 - z[:-1])**2)\noutput grad(f)(v), jvp(grad(f))(v, w), grad(fn(z) = sum(grad(f)(z) * w))(v)",
    "a long sum": "a = linspace(0.0, 1.0, 1000)\nfor k in range(5) { a = a * x + 0.1; s = sum(a * a) }\noutput s, mean(a[100:900])",
    "ints in arrays": "c = arange(40) * 3\nfor k in range(4) { c = c * 2 - c // 5 + c % 7; n = sum(c) }\noutput n * x, c, sum(c / 7)",
    "other shapes": "for k in range(4) { a = reshape(v, [20, 5]) * x; b = ravel(a.T)[3:]; c = reshape([1, x, 3, 4], [2, 2]).T; d = sum(a.T @ a) }\noutput a, b, c, d",
    "sizes that are known": "n = 30\nd = len(v) - 1\nfn f(z, k) { u = zeros([n]); u[0] = z; for i in range(1, n) { u[i] = u[i - 1] * v[i] + 0.1 }; return sum(u[0:k]**(k - 1)) + sum(v[:d]) }\n"
    "s = 0.0\nfor k in range(30) { s += f(x, 3) }\nfor k in range(20) { s += f(x, 2 + k % 2) }\noutput s, grad(f)(x, 4)",
    "extremes": "s = 0.0\nfor k in range(8) { a = v * x - w; s += max(a) * min(a[3:9]) + max([x, 0.2, x]); b = max(m * x, axis = 1); c = min([1, 2, k]) }\noutput s, b, c, max(where(v > 0.5, x, 0.1))",
    "softmax": "s = 0.0\nfor k in range(8) { p = softmax(v * x); q = log_softmax([x, 2 * x, k]); s += logsumexp(w * x) + sum(p * w) + q[1]; r = logsumexp(m * x, axis = 1) }\n"
    "output s, p, q, r, grad(fn(z) = logsumexp(z * v))(w), jvp(grad(fn(z) = softmax(z)[2]))(v, w)",
    "matrices of a known size": "p = eye(2)\nfor k in range(9) { p = [[x, 1.0], [0.5, 0.1]] @ p + 0.1 * eye(2) }\noutput p, sum(p)",
    "bools": "a = v > 0.5\nfor k in range(9) { b = v * x > w; n = sum(b); a = where(b, v > 0.7, a); c = any(b[:30]) and all(b[90:]) }\noutput a, b, n * x, c",
    "lists that become longer": "fn f(z) { p = [1.0, z]; for i in range(2, 90) { p = append(p, p[i - 1] * 0.5 + p[-2] * z * 0.3 + len(p)) }; return p }\n"
    "fn g(n, z) = [z * k * k for k in range(n)]\nq = [k * k for k in range(99)]\nr = []\nfor k in range(80) { r = append(r, q[k] * 0.5) }\n"
    "output sum(f(x)), f(x)[80], sum(g(70, x)), r, sum(r) * x, grad(fn(z) = sum(f(z)) + g(80, z)[70])(x)",
    "one after another": "fn f(z) = (3 - 2 * z) * z - concatenate([[0.0], z[:-1]]) - 2 * concatenate([z[1:], [1]])\nfor k in range(4) { a = concatenate([m[:9] * x, m[k:k + 2], [[1, 2, 3, k]]]); b = concatenate(v > x, arange(20)); c = concatenate([f(w)[:5], v[:4]]) }\n"
    "output f(v), sum(f(v)), a, sum(a), b, c, grad(fn(z) = sum(f(z)**2))(v), jvp(f)(v, w), jvp(grad(fn(z) = sum(f(z)**2)))(v, w)",
    "connected as a whole": "a = zeros([70])\nfor k in range(9) { a[k] = x }\noutput a[60]",
}  # fmt: skip
NOT_COMPILED = {"a float in an array of ints"}
TIERS = [(WRITTEN, FIRST_USE), (NATIVE, FIRST_USE), (WRITTEN, CALLS_ALONE)]


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why something wasn't compiled, as tests go on."""
    found: list[str] = []
    for module, name in ((function_calls, "lower_call"), (loop_calls, "lower_loop")):
        lower = getattr(module, name)

        def noted(*given: Any, lower: Any = lower, **named: Any) -> Any:
            try:
                return lower(*given, **named)
            except NotCompiled as reason:
                found.append(reason.reason)
                raise

        monkeypatch.setattr(module, name, noted)
    return found


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, mode: str, reasons: list[str]) -> None:
    """Forward mode is by the number alone: the interpreter runs once for each element."""
    source = HEAD + PROGRAMS[name]
    if mode == "forward":
        source = source.replace("var v =", "v =")
    with only(INTERPRETED):
        expected = answer(source, mode=mode)
    for tier, heat in TIERS:
        with only(tier, heat):
            assert_same(answer(source, mode=mode), expected)
    if name not in NOT_COMPILED:
        assert not [reason for reason in reasons if "elements" in reason]


class Writer:
    """Random programs of loops over two arrays `a` and `b`, and numbers `s` and `x`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def place(self) -> str:
        return self.pick("i", "-i - 1", "i // 2", "(i * 7) % 66", "3", "j", "65 - i % 60")

    def number(self, depth: int = 0) -> str:
        if depth > 2 or self.random.random() < 0.4:
            array, place = self.pick("a", "b", "v"), self.place()
            return self.pick(f"{array}[{place}]", "x", "s", "0.5", f"{array}[{place}]")
        left, right = self.number(depth + 1), self.number(depth + 1)
        return self.pick(
            f"({left} * 0.7 + {right} * 0.3)", f"sin({left})", f"({left} - {right}) * 0.5",
            f"({left} if {right} > 0.2 else {right})", f"f({self.pick('a', 'b')}, {right}, i)",
        )  # fmt: skip

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        array = self.pick("a", "b")
        if kind < 0.45:
            return f"{array}[{self.place()}] = {self.number()}"
        if kind < 0.6:
            return f"s = {self.number()}"
        if kind < 0.7:
            return self.pick(
                "c = a; a = b; b = c",
                "a = b",
                f"{array} = zeros([66])",
                "b = w * 1",
                "a = a * 0.5 + b * x",
                "b[3:40] = a[20:57] * x - 0.2",
                "s = mean(a * b[::-1] if i > 9 else v)",
                "a = where(a > b, tanh(a), s * w)",
                "s = norm(b[1:] - a[:-1]) / 9",
                "b = reshape(reshape(a, [6, 11]).T, [66]) * 0.7",
                "s = (a @ b) * 0.01",
            )
        if kind < 0.85 and depth < 2:
            return (
                f"if {self.number()} > 0.3 {{ {self.block(depth)} }} else {{ {self.block(depth)} }}"
            )
        if depth < 2:
            return f"for j in range(i % 5) {{ {self.block(depth + 1)} }}"
        return f"s += {self.number()}"

    def block(self, depth: int) -> str:
        return "\n".join([self.statement(depth + 1) for _ in range(self.random.randint(1, 3))])

    def program(self) -> str:
        body = "\n".join([self.statement(0) for _ in range(self.random.randint(2, 4))])
        return (
            "var x = 0.7\nvar v = linspace(0.1, 1.0, 66)\nw = linspace(1.0, 0.0, 66)\n"
            "fn f(a, q, k) { a[k % 3] = q * 0.5; return a[k % 4] + a[5] }\n"
            "a = w * 1\nb = v * 1\ns = x\nj = 0\n"
            f"for i in range(24) {{\n{body}\n}}\n"
            "output s\noutput y = a[7] * b[2] + b[20]\noutput sum(a) + x\n"
        )


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("seed", range(1, 9))
def test_random_programs(seed: int, mode: str) -> None:
    source = Writer(seed).program()
    with only(INTERPRETED):
        expected = answer(source, mode=mode)
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert_same(answer(source, mode=mode), expected)


@pytest.mark.parametrize("seed", range(1, 5))
def test_second_derivatives_of_random_programs(seed: int) -> None:
    """Of forward over reverse and reverse over reverse, against the interpreter."""
    head, rest = Writer(seed).program().split("a = w * 1\n")
    body = rest.split("output")[0]
    source = (
        f"{head}fn g(x, w) {{\na = w * 1\n{body}\nreturn s + a[7] * b[2]\n}}\n"
        "h = grad(g, wrt = [0, 1])\noutput jvp(fn(x) = h(x, w)[0])(x, 1.0)\n"
        "output sum(grad(fn(x) = h(x, w)[0] * 2.0)(x))\noutput h(x, w)[1][7]\n"
    )
    with only(INTERPRETED):
        expected = answer(source, mode="reverse")
    with only(NATIVE, FIRST_USE):
        assert_same(answer(source, mode="reverse"), expected)


def test_long_arrays_of_variables_are_parameters() -> None:
    found = lowered("var v = zeros([70])\ns = 0.0\nfor a in v { s += a }\noutput s")
    assert [str(value.type) for value in found.region.block.parameters] == ["f64[70]"]
    assert not found.reasons
