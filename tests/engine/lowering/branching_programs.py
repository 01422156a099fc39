"""Random functions `f(x, w)` with branches in loops, loops in branches, and calls of themselves in
either: what a path needs for its pullback differs from iteration to iteration."""

from __future__ import annotations

from random import Random

VALUES = (
    "{a}*(k - 2)*{b}",     "sin({a})*{b}", "{a}*{b}", "tanh({a} + {b})", "{a} + 0.3*{b}", "exp(-{a}*{a})*{b}", "cos({b}) + {a}*x",
    "sqrt(1.5 + sin({a}))", "{a}*w - {b}",
)  # fmt: skip
CONDITIONS = (
    "k % 2 == 0", "k % 3 == {n}", "s > 0.31", "t < 0.17", "s*t > 0.05", "k > {n} and s < 0.9", "d % 2 == {n}",
    "x > w or t > 0.2",
)  # fmt: skip


class Writer:
    """Writes one function; `calls` is how many calls of itself it may yet have."""

    def __init__(self, seed: int) -> None:
        self.random, self.loops, self.calls = Random(seed), 0, 2

    def function(self) -> str:
        body = "\n".join([*self.block(2, 1), *self.loop(2, 1), *self.block(2, 1)])
        return (
            "fn f(x, w) {\n  fn g(s, d) {\n    t = 0.4*w; k = d\n    if d == 0 { return s*w }\n"
            f"{body}\n    return s + 0.5*t\n  }}\n  return g(x, 2)\n}}"
        )

    def block(self, depth: int, indent: int) -> list[str]:
        return [
            line
            for _ in range(self.random.randint(1, 2))
            for line in self.random.choice(
                (self.assigned, self.branch, self.loop, self.call, self.ints)
            )(depth, indent)
        ]

    def value(self) -> str:
        a, b = self.random.choices(("s", "t", "x", "w", "0.7"), (3, 3, 1, 1, 1), k=2)
        return self.random.choice(VALUES).format(a=a, b=b)

    def assigned(self, depth: int, indent: int) -> list[str]:
        return ["    " * indent + f"{self.random.choice('st')} = {self.value()}"]

    def ints(self, depth: int, indent: int) -> list[str]:
        """A loop that has no derivative."""
        self.loops += 1
        return [
            "    " * indent + f"for i{self.loops} in range(3) {{ k = (k*3 + i{self.loops}) % 7 }}"
        ]

    def call(self, depth: int, indent: int) -> list[str]:
        if not self.calls:
            return self.assigned(depth, indent)
        self.calls -= 1
        return ["    " * indent + f"t = t + 0.4*g({self.value()}, d - 1)"]

    def branch(self, depth: int, indent: int) -> list[str]:
        if not depth:
            return self.assigned(depth, indent)
        condition = self.random.choice(CONDITIONS).format(n=self.random.randint(0, 1))
        lines = [f"if {condition} {{", *self.block(depth - 1, 1)]
        if self.random.random() < 0.6:
            lines += ["} else {", *self.block(depth - 1, 1)]
        return ["    " * indent + line for line in (*lines, "}")]

    def loop(self, depth: int, indent: int) -> list[str]:
        if not depth:
            return self.assigned(depth, indent)
        self.loops += 1
        name = f"i{self.loops}"
        lines = [f"for {name} in range({self.random.choice(('2', '3', 'd + 1', 'k % 3'))}) {{"]
        if self.random.random() < 0.4:
            lines = [
                f"{name} = 0",
                f"while {name} < 3 and {self.random.choice(('s < 3.0', 'abs(t) > 0.01'))} {{",
                f"    {name} += 1",
            ]
        lines += [f"    k = k + {name}", *self.branch(depth - 1, 1), *self.block(depth - 1, 1)]
        return ["    " * indent + line for line in (*lines, "}")]
