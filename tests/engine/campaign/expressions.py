"""Writes expressions of the names that a body has: floats `s t x u`, ints `k n`, an array `a`, and
`q`, a number or none."""

from __future__ import annotations

from random import Random

FLOATS = ("s", "t", "x", "u", "s", "t", "x", "u", "0.5", "-1.25", "2.0", "0.0", "3")
INTS = ("k", "n", "k", "n", "0", "1", "2", "3", "-1")
UNARY = (
    "sin({})",
    "tanh({})",
    "exp(-abs({}))",
    "sqrt(abs({}))",
    "-({})",
    "abs({})",
    "relu({})",
    "square({})",
    "({})**2",
    "floor({})",
)
UNARY += (
    "log(1 + abs({}))",
    "1 / (1 + ({})**2)",
    "sign({})",
    "sigmoid({})",
    "cbrt({})",
    "({}) * 1.0",
    "({}) / 1",
    "detach({})",
)
BINARY = (
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / (2 + cos({})))",
    "minimum({}, {})",
    "maximum({}, {})",
    "hypot({}, {})",
)
BINARY += (
    "atan2({}, {})",
    "clip({}, -1, abs({}))",
    "where({} > 0, {}, 0.5)",
    "({} % (1 + abs({})))",
    "xlogy(abs({}), 1 + abs({}))",
)
INT_BINARY = (
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} // (1 + abs({})))",
    "({} % (2 + abs({})))",
    "maximum({}, {})",
)
MIXED = (
    "({f} * {i})",
    "({f} + {i})",
    "({i} / 2)",
    "({i} * 1.0)",
    "(1.5 ** ({i} % 4))",
    "(({f})**({i} % 3))",
    "({i} - {f})",
)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
ONE, TWO = (
    ("poly", "ruled", "branchy", "lib.soft", "lib.capped", "lib.ruled"),
    ("pair", "loopy", "ruled2"),
)
SLOPES = (
    "grad({h})({f})", "value_and_grad({h})({f})[1]", "jvp({h})({f}, {g})", "vjp({h})({f}, {g})",
    "hvp({h})({f}, {g})",
    "grad(grad({h}))({f})", "jvp(grad({h}))({f}, {g})", "grad(fn(z) = {h}(z) * {f} + z * z)({g})",
    "hessian({h})({f})",
    "grad({p})({f}, {g})", "grad({p}, wrt = 1)({f}, {g})", "sum(vmap(grad({h}))(a))",
    "sum(vmap({h})(a))", "jacobian({h})({f})",
    "sum(jacobian(fn(b) = {h}(b[0]) * b)(a) * {f})",
    "sum(grad(fn(b) = sum(b * {f}) * {h}(b[1]))(a))",
)  # fmt: skip
VECTORS = (
    "array([{f}, {f}, {f}])",
    "({v} * {f})",
    "({v} + {v})",
    "cumsum({v})",
    "where({v} > {f}, {v}, {f})",
    "{v}[::-1]",
    "vmap({h})({v})",
    "maximum({v}, {f})",
    "({v})**2",
    "array([1, 2, 3])",
    "sin({v})",
    "({v} * n)",
    "{v}[[2, 0, 0]]",
    "vmap(grad({h}))({v})",
    "sort({v})",
    "grad(fn(b) = sum(b * b * {f}))({v})",
    "concatenate([{v}[1:], {v}[:1]])",
)


class Expressions:
    """`slopes`: how often an expression asks for a derivative."""

    def __init__(self, random: Random, slopes: float) -> None:
        self.random, self.slopes = random, slopes
        self.known = list(FLOATS)

    def pick(self, items: tuple[str, ...] | list[str]) -> str:
        return self.random.choice(items)

    def float(self, depth: int = 3) -> str:
        chance = self.random.random()
        if depth <= 0 or chance < 0.25:
            return self.pick(self.known)
        if chance < 0.45:
            return self.pick(UNARY).format(self.float(depth - 1))
        if chance < 0.65:
            return self.pick(BINARY).format(self.float(depth - 1), self.float(depth - 1))
        if chance < 0.75:
            return self.pick(MIXED).format(f=self.float(depth - 1), i=self.int(1))
        if chance < 0.75 + self.slopes:
            return self.slope(depth - 1)
        return self._other(depth - 1)

    def slope(self, depth: int) -> str:
        form, of = self.pick(SLOPES), {"h": self.pick(ONE), "p": self.pick(TWO)}
        return form.format(f=self.float(depth - 1), g=self.float(depth - 1), **of)

    def _other(self, depth: int) -> str:
        form = self.pick(["choice", "element", "call", "call", "pair", "sum", "none", "list", "nn"])
        if form == "choice":
            return f"({self.float(depth)} if {self.bool()} else {self.float(depth)})"
        if form == "element":
            return f"a[{self.pick(['0', '1', '-1', 'k % 3', 'abs(n) % 3'])}]"
        if form == "call":
            return f"{self.pick(ONE)}({self.float(depth)})"
        if form == "pair":
            return f"{self.pick(TWO)}({self.float(depth)}, {self.float(depth)})"
        if form == "none":
            return f"(0.25 if q == none else {self.float(depth)})"
        if form == "list":
            return f"[{self.float(depth)}, {self.float(depth)}, 1.5][abs({self.int(1)}) % 3]"
        if form == "nn":
            return f"nn.huber({self.float(depth)}, {self.float(depth)})"
        return f"{self.pick(['sum', 'max', 'mean', 'prod', 'norm', 'std'])}({self.vector(depth)})"

    def int(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.pick(INTS)
        return self.pick(INT_BINARY).format(self.int(depth - 1), self.int(depth - 1))

    def bool(self, depth: int = 1) -> str:
        form = self.random.random()
        if depth and form < 0.2:
            return f"({self.bool(0)} {self.pick(['and', 'or'])} {self.bool(0)})"
        if depth and form < 0.3:
            return f"not ({self.bool(0)})"
        if form < 0.4:
            return f"-0.5 < {self.float(1)} <= {self.float(0)}"
        if form < 0.6:
            return f"{self.int(1)} {self.pick(COMPARISONS)} {self.int(1)}"
        if form < 0.7:
            return f"{self.int(1)} {self.pick(COMPARISONS[:4])} {self.float(1)}"
        return f"{self.float(1)} {self.pick(COMPARISONS[:4])} {self.pick(['0.1374', '-0.2918', '0.7731', '1', 'u', '0'])}"

    def vector(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.35:
            return "a"
        form = self.pick(VECTORS)
        while "{v}" in form:
            form = form.replace("{v}", self.vector(depth - 1), 1)
        while "{f}" in form:
            form = form.replace("{f}", self.float(depth - 1), 1)
        return form.replace("{h}", self.pick(ONE))
