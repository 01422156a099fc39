"""Programs on arrays of many elements, and values for their variables."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

HEAD = """\
var x = zeros([7, 40])
var y = zeros([40])
var u = zeros([300])
var s = 1.0
var e = zeros([3, 7, 40])
"""
PROGRAMS = {
    "one pass": "z = mean(sin(u) * exp(-u * u) + log(1.0 + u * u) * s)",
    "broadcast": "z = sum((x - y) * s + reshape(y, [40, 1])[:7] * x)",
    "along the last axis": "z = sum(sum(x * y, axis = 1)**2) + sum(mean(x, axis = -1))",
    "along the first axis": "z = sum(sum(x * s, axis = 0) * y) + sum(mean(e, axis = 0) * x)",
    "along a middle axis": "z = sum(sum(e * x, axis = 1)**2) * s",
    "extremes": "z = sum(max(x, axis = 1)) + sum(min(x * y, axis = 0)) + max(u) * s - min(e)",
    "ties": "a = maximum(x, 0.3)\nz = sum(min(a, axis = 1)) + sum(max(x * 0.0, axis = 0)) + min(a)",
    "logsumexp": "z = sum(logsumexp(x * s, axis = 1)) + logsumexp(u) + sum(logsumexp(e, axis = 1))",
    "softmax": "p = softmax(x, axis = 1)\nq = log_softmax(x * s, axis = 0)\nz = sum(p * q) + sum(softmax(e) * x)",
    "norms": "z = norm(u) * s + sum(norm(x, axis = 1)) + norm(x * y)",
    "products": "z = sum((x @ y) * s) + sum((x.T @ x)**2) + dot(u, u) + sum(x @ x.T) + sum(outer(y, y))",
    "large products": "a = reshape(e, [21, 40])\nb = a.T @ a\nz = sum((b @ b) * s) + sum(a @ b) + sum(b @ y) + sum((b.T @ a.T) @ a)",
    "pairs of matrices": "a = reshape(concatenate([u, u, u, u, u, u, u, u]), [4, 15, 40])\nb = a @ swapaxes(a * s, 1, 2)\nz = sum((swapaxes(a, 1, 2) @ b) * 0.1) + sum(sin(b @ a)) + sum(exp(-0.01 * swapaxes(b, 1, 2)))",
    "pairs of matrices with small products": "a = reshape(outer(ones([80]), u), [2, 1, 12000])\nc = a @ swapaxes(a, 1, 2)\nz = sum(c * c) * s + c[1, 0, 0]",
    "a net": "h = maximum(x @ reshape(u[:280], [40, 7]) + y[:7], 0.0)\nz = -mean(sum(log_softmax(tanh(h @ x) + y) * x, axis = 1)) * s",
    "a mixture": "d = (reshape(x, [7, 1, 40]) - e[0]) * exp(-y)\nz = sum(logsumexp(sum(-0.5 * d * d - y, axis = 2) + y[:7], axis = 1))",
    "parts": "z = sum(x[1:, 2:] * x[:-1, :-2]) + sum(u[::2] * u[1::2]) * s + sum(u[::-1] * u) + sum(x[2] * x[:, 3:4])",
    "stencils": "v = u\nfor k in range(3) { v = v + 0.1 * (concat(v) if false else v) }\nz = sum((u[2:] - 2.0 * u[1:-1] + u[:-2])**2)".replace("concat(v) if false else v", "v * s"),
    "written parts": "v = u * 1.0\nv[1:-1] = (u[2:] + u[:-2]) * s\nv[::3] = 0.5\nw = x * 1\nw[2] = y\nw[:, 1] = s\nz = sum(v * v) + sum(w * w)",
    "heat": "v = u\nfor k in range(9) { c = v * 1.0; c[1:-1] = v[1:-1] + 0.1 * s * (v[2:] - 2.0 * v[1:-1] + v[:-2]); v = c }\nz = sum(v * v)",
    "chosen": "z = sum(where(x > y, x * s, y - x)) + sum(where(u > 0.2, 1.0, u)) + sum(abs(e)) + sum(where(x > 0, sqrt(abs(x)), 0.0))",
    "ints and bools": "n = sum(u > 0.1)\nm = int64(x * 10)\nz = sum(x * m) + n * s + sum(m) + max(m) - min(m) + sum(sum(x > y, axis = 1) * x[:, 0]) + sum(e) + sum(u) + sum(y)",
    "gathered": "i = int64(abs(u) * 60) % 40\nz = sum(y[i] * u) * s + sum(x[:, i] * u) + sum(x[i % 7] * y) + sum(e)",
    "running sums": "z = sum(cumsum(u) * u) * s + sum(cumsum(y)**2)",
    "views": "z = sum(x.T * reshape(y, [40, 1])) + sum(ravel(e) * s) + sum(x.T[3] * x.T[4]) + sum(sum(x.T, axis = 1) * y)",
    "twice": "fn f(v) = sum(sin(v) * v * s)\ng = grad(f)(u)\nz = sum(g * g) + f(u) + jvp(f)(u, u) + sum(grad(fn(v) = sum(grad(f)(v) * u))(u))",
    "unconnected": "z = sum(y * y)\nw = sum(x * 0.5)",
    "on one path": "a = u\nif s > 0.5 { a = u * s } else { a = u - y[0] }\nz = sum(a * a) + (sum(x * y) if s < 2.0 else 0.0) + sum(e)",
    "in a loop": "v = u\nw = 0.0\nfor k in range(6) { v = sin(v * s) + u * 0.1; w = w + sum(v * v) }\nz = w + sum(v)",
    "steps": "fn f(v) = tanh(x @ v) @ x - v * s\nv = y\nfor k in range(5) { a = f(v); b = f(v + 0.05 * a); v = v + 0.1 * b }\nz = sum(v * v)",
    "a while": "v = u\nk = 0\nwhile sum(v * v) > 0.5 and k < 30 { v = v * 0.9 * s; k = k + 1 }\nz = sum(v) + sum(x * y) + sum(e)",
    "slow functions": "z = sum(lgamma(abs(u) + 1.0)) + sum(erf(x)) * s + sum(y**3) + sum(abs(y)**1.5) + sum(2.0**x)",
}  # fmt: skip
SECOND = "\nfn loss(v) { u = v\n%s\nreturn z }"


def inputs(seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    shapes = {"x": (7, 40), "y": (40,), "u": (300,), "e": (3, 7, 40)}
    found: dict[str, Any] = {name: random.normal(size=n) * 0.6 for name, n in shapes.items()}
    return {**found, "s": 0.8}


EDGES = [0.0, -0.0, 5e-324, -3e-310, 1e308, -1e308, 1.0, -1.0, 0.5, 2.0]


class Writer:
    """Random expressions of arrays: of a shape that is told by the first letter of a name."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def matrix(self, depth: int = 0) -> str:
        if depth > 3 or self.random.random() < 0.2:
            return self.random.choice(["x", "x", "y", "s", "e[1]", "x[:, ::-1]", "m"])
        a, b = self.matrix(depth + 1), self.matrix(depth + 1)
        return self.random.choice(
            [f"({a} + {b})", f"({a} - {b}) * 0.5", f"({a} * {b})", f"sin({a})", f"tanh({a})",
             f"where({a} > {b}, {a}, {b})", f"exp(-({a})**2)", f"maximum({a}, {b})",
             f"({a}) / (1.5 + abs({b}))", f"sum({a} + x, axis = 0)", f"mean({a} * x, axis = 1)[2]",
             f"max({a} + x, axis = 0)", f"softmax({a} + x, axis = 1)", f"(x @ y)[3] * {a}"]
        )  # fmt: skip

    def program(self) -> str:
        lines = ["m = x * s", f"m = m + {self.matrix(2)}"]
        for _ in range(self.random.randint(1, 3)):
            lines.append(f"m = m * 0.5 + {self.matrix()}")
        if self.random.random() < 0.4:
            lines[-1] = f"for k in range(3) {{ {lines[-1]} }}"
        return "\n".join([HEAD, *lines, "z = sum(m * m) * 0.1 + sum(m[2] * y)", "output z, m"])
