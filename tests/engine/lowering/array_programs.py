"""Programs on lists and small arrays, as regions: written ones, and random ones."""

from __future__ import annotations

from random import Random

HEAD = """\
var v = [1.5, -2.0, 0.25]
frozen w = [4, -3, 2]
frozen a = [[1.0, -0.5, 3.0], [0.125, 2.5, -1.0]]
frozen k = 1
frozen x = 0.75
"""
PROGRAMS = {
    "elementwise": "output v * 2, v + w, -v / x, v ** 2, w // 2, w % 3, w ** 3, w / 2, a * v, a - x, sqrt(abs(a))",
    "lists are arrays in arithmetic": "output [x, 2] * 3, [1, 2] + [3, 4], [[x, 1], [2, 3]] * [1, 2], 2 * [1, 2]",
    "elementwise choices": "output v > 1, where(v > 1, v, w), maximum(v, 0), minimum(w, 2), not (k > 2), clip(v, -1, 1), relu(v)",
    "shapes that are broadcast": "output a * [[2.0], [3.0]], [[1], [2]] + w",
    "elements": "output v[0], v[-1], w[2], a[1], a[1, 2], a[1][2], a[-1, -3], [v, w][1][0], [[1, 2], x][0][1]",
    "computed elements": "output v[k], v[-k], w[k - 3], a[k], a[k, k], a[0, k + 1], a[k][k - 1], [x, 2.5, v[0]][k], [1, x][k], v[len(v) - 1]",
    "parts": "output v[1:], v[:-1], v[::2], a[:, 1], a[1:], a[:, k], [1, x, 3][1:], [1, x, 3][::-1], a[0, :2]",
    "parts of columns": "b = a[:, 1:]\noutput b, a[:, ::2] * v[0], sum(a[:, :2]), sum(b, axis = 0), a[1:, :1]",
    "parts without elements": "output concatenate(v[:0], w[:0], v), concatenate(w[3:], w), len(a[:, 3:][0]), "
    "concatenate([a[:, :0], a, a[:, 1:]], axis = 1), concatenate([a[2:], a * x]), concatenate([], [k, 1]), v[:0], a[2:]",
    "arithmetic without elements": "output sum(v[3:]), sum(maximum(v[3:] * 2 + w[1], x) / 0.0), dot(v[3:], exp(-a[0, 3:])), inner(v[:0], v[5:]) + x",
    "written elements": "u = zeros(3)\nu[0] = x\nu[k] = 3\nu[-1] += v[k]\nu[k + 1] *= 2\nc = w * 1\nc[k] = 7\noutput u, c, v",
    "written rows": "b = a * 1\nb[0] = 1\nb[k] = [1, 2, x]\nb[k, 0] = -1\nb[0][k] += 10\nb[0, 1:] = x\noutput a, b",
    "written parts": "u = [1.0, 2.0, 3.0] * 1\nu[1:] = 5\nu[:2] = [x, x]\noutput u",
    "written entries of lists": "l = [1, [x, 2]]\nl[0] = x\nl[1][k] = 5\nm = [1, 2, 3]\nm[k] = x\noutput l, m",
    "elements in loops": "s = 0\nc = w * 1\nfor i in range(3) { s += v[i] * c[2 - i]; c[i] += i }\noutput s, c",
    "a table that is filled": "f = zeros(8)\nf[0] = 1\nf[1] = x\nfor i in range(2, 8) { f[i] = f[i - 1] + f[i - 2] }\noutput f, f[7]",
    "rows in loops": "s = zeros(3)\nfor row in a { s += row * x }\nfor i, c in enumerate(v) { s[i] -= c }\nfor p, q in zip(v, w) { s[0] += p * q }\noutput s",
    "a loop over an array that ends early": "s = 0.0\nfor c in v { if c < 0 { break }; s += c }\noutput s",
    "sums": "output sum(v), sum(w), sum(a), sum(v > 0), sum(a, axis = 0), sum(a, axis = 1), v.sum(), mean(v), mean(a, axis = -1), mean(w)",
    "sums of many": "u = ones(43)\nfor i in range(43) { u[i] = v[i % 3] / (i + 1) }\noutput sum(u), sum(u[1:]), sum(u[:17]), sum(u[::3]), mean(u), norm(u)",
    "norms": "output norm(v), norm(w), norm(a), norm(a, axis = 1), norm(v * 0)",
    "sizes": "output len(v), len(a), len([1, [2]]), a.shape, a.size, a.ndim, v.shape[0] * x",
    "any and all": "output any(v > 1), all(v > 1), any(a < 0, axis = 0), 5 if all(w > -9) else x",
    "made": "n = 2\noutput zeros(2), ones([n, 2]), full([n], x), full(2, 3), array([1, 2]), array([1, x]), ones(n + 1)",
    "arrays of bools": "c = v > 0\noutput c + 1, c + c, c * c, c - c, -c, c / 2, abs(c), maximum(c, c), square(c), c == true, mean(c), cumsum(c), not c",
    "rounding": "output v // 0.7, v % 0.7, fmod(v, 0.7), round(v * 0.5), trunc(v), w // 2.5, w % -2, fmod(w, 3), floor(w / 2), clip(w, 0, 2.5)",
    "of ranges": "output sum(array(range(100, 0, -2)) * x), sum(x * array(range(300))), array(range(3)) * x",
    "made of others": "output arange(4), arange(2, 9, 3), arange(3, 0, -1) * x, zeros_like(v), ones_like(w), cumsum(v), cumsum(w), "
    "float64(w), float64(k), int64(w > 2), int64(k), stack(v, w), stack([x, 2]), stack([v, w])[1], concatenate(v, [x]), concatenate([a, [v]])",
    "longer lists": "l = append([1], x)\nl = append(l, 3)\noutput l, len(l)",
    "unpacked": "p, q, r = v\n[s, t] = a\noutput p + q * r, s, t[0]",
    "a function of vectors": "fn f(p, q) { d = p - q; return sqrt(sum(d * d)) }\noutput f(v, w), f(v, a[0]), f([1, 2], [x, 0])",
    "a parameter that is written": "fn f(p) { p[0] = x; return p }\noutput f(v), v",
    "arrays that meet": "u = v * 1\nif x > 1 { u = u * 2 } else { u[k] = 9 }\nfor i in range(k) { u = u + w }\noutput u if k > 5 else u * 2",
    "functions": "output sin(v), v ** 3, w ** 0.5, w ** -1, 2 ** v, 2.0 ** w, full(10, x)",
    "backwards": "m = outer(v, w)\noutput v[::-1], sum(v[::-1] * w), w[-1::-2] * 2, sum(m[::-1, ::-1]), sum(m[1:, ::-2], axis = 1), mean(m[::-1], axis = 0)",
    "products": "output v @ v, v @ w, max(v), sum(ones([3, 9]), axis = 0)",
    "a search": "p = v\nfor i in range(20) { g = 2 * (p - w); p = p - 0.125 * g; if norm(g) < 0.5 { break } }\noutput p, i",
}  # fmt: skip
STEPS_BACK = {
    "output v[k + 2]": "E303",
    "output v[-k - 3]": "E303",
    "output [x, 2.0][k * 2]": "E303",
    "v2 = v * 1\nv2[k + 2] = 1.0\noutput v2": "E303",
    "output w * 4611686018427387904": "E305",
    "output w // (k - 1)": "E306",
    "output norm(v * 1e-200)": "steps back",
}
REASONS = {
    "output sum(w[3:])": "`sum` of an array without elements is not compiled",
    "output a[2:] * 2": "`mul` of an array without elements is not compiled",
    "output concatenate(a, v)": "these arrays don't fit",
    "output v[k:]": "an int that isn't known here is not compiled",
    "output v[5]": "this index is out of range",
    "output v[v > 1]": "an index that is no int and no slice is not compiled",
    "output zeros(k)": "an int that isn't known here is not compiled",
    "u = [1, 2] * 1\nu[0] = 1.5\noutput u": "a float doesn't fit into an array of ints",
    "output sum([[1, [2]], 3])": "the rows of a list differ in length",
    "u = v\nu[0] = 1.0\noutput u": "this array is a variable, or may be",
    "u = v\nif x > 1 { u = v * 2 }\nu[0] = 1.0\noutput u": "this array is a variable, or may be",
    "output v + [1, 2]": "the shapes of these arrays don't fit",
    "output [1, 2] == [1, x]": "a comparison of lists is not compiled",
    "output x[0]": "only lists and arrays have elements here",
    "output arange(0)": "an array of no elements is not compiled",
    "output arange(0, 1, 0)": "an array of no elements is not compiled",
    "output arange(x)": "an int is needed here",
    "output stack(v, w, axis = 2)": "`axis =` is not compiled",
}  # fmt: skip


class ArrayWriter:
    """Writes one random program; what it writes of vectors has three elements."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.vectors = ["v", "w", "a[0]", "a[k]"]
        self.numbers = ["x", "k", "v[0]", "w[k]", "a[1, k]"]
        self.own: list[str] = []

    def program(self) -> str:
        lines = ["u0 = v * 1", "s0 = 0"]
        self.vectors.append("u0")
        self.numbers.append("s0")
        self.own = ["u0"]
        for n in range(self.random.randint(2, 6)):
            lines += self.statement(n)
        return HEAD + "\n".join([*lines, f"output s0, {', '.join(self.own)}"]) + "\n"

    def statement(self, n: int) -> list[str]:
        kind = self.random.choice(["vector", "element", "number", "loop", "if", "rows"])
        own, one = self.random.choice(self.own), self.index()
        if kind == "vector":
            line = f"u{n + 1} = {self.vector(2)} * 1.0"
            self.own.append(f"u{n + 1}")
            self.vectors.append(f"u{n + 1}")
            return [line]
        change = f"{own}[{one}] {self.random.choice(['', '+', '*'])}= {self.number(2)}"
        if kind == "element":
            return [change]
        if kind == "number":
            return [f"s0 {self.random.choice('+-*')}= {self.number(2)}"]
        if kind == "loop":
            head = f"for i in range({self.random.randint(0, 3)})"
            return [f"{head} {{ {own}[i] = {self.number(2)}; s0 += {own}[{one}] }}"]
        if kind == "rows":
            return [f"for r in {self.vector(1)} {{ s0 += r; {change} }}"]
        return [
            f"if {self.number(1)} > {self.number(1)} {{ {change} }} else {{ s0 = {self.number(1)} }}"
        ]

    def index(self) -> str:
        return self.random.choice(["0", "1", "2", "-1", "k", "k + 1", "-k", "k - 2"])

    def vector(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.random.choice(self.vectors)
        if kind < 0.4:
            return f"[{self.number(0)}, {self.number(0)}, {self.number(0)}]"
        if kind < 0.5:
            return f"{self.random.choice(['abs', 'floor', 'sign', 'square'])}({self.vector(depth - 1)})"
        if kind < 0.6:
            return f"where({self.vector(depth - 1)} > {self.number(0)}, {self.vector(depth - 1)}, {self.number(0)})"
        other = self.random.choice([self.vector, self.number])(depth - 1)
        return f"({self.vector(depth - 1)} {self.random.choice('+-*/')} {other})"

    def number(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.random.choice([*self.numbers, "2", "0.5", "-3"])
        if kind < 0.5:
            return f"{self.random.choice(['sum', 'norm', 'mean'])}({self.vector(depth - 1)})"
        if kind < 0.7:
            return f"({self.vector(depth - 1)})[{self.index()}]"
        return f"({self.number(depth - 1)} {self.random.choice('+-*/')} {self.number(depth - 1)})"
