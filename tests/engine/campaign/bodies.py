"""Writes the functions that a program has: a few of one or two numbers, and the function of a row,
in whose statements anything of the language can stand that rows can run together."""

from __future__ import annotations

import re
from random import Random

from .expressions import Expressions
from .values import VALUES

SIMPLE = ["assign"] * 6 + [
    "int",
    "augment",
    "element",
    "vector",
    "none",
    "use",
    "swap",
    "tape",
    "append",
    "closure",
    "values",
]
NESTED = ["if"] * 4 + ["while", "for", "for", "each"]


class Body:
    """`returns`: whether its statements are those of a function. `wide`: whether values of all
    kinds are among them."""

    def __init__(
        self, random: Random, slopes: float = 0.1, returns: bool = True, wide: bool = False
    ) -> None:
        self.returns, self.simple = returns, [*SIMPLE, *["value"] * 9] if wide else SIMPLE
        self.random, self.write = random, Expressions(random, slopes)
        self.lines: list[str] = []
        self.names = 0

    def add(self, text: str, depth: int) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def block(self, depth: int, in_loop: bool, most: int = 3) -> None:
        for _ in range(self.random.randint(1, most)):
            kinds = (
                self.simple
                + (NESTED if depth < 3 else [])
                + (["leave", "leave"] if in_loop else [])
                + (["return"] if depth and self.returns else [])
            )
            getattr(self, f"_{self.random.choice(kinds)}")(depth, in_loop)

    # ---- statements ------------------------------------------------------------------------------

    def _assign(self, depth: int, in_loop: bool) -> None:
        wrap = self.random.choice(["{}", "{}", "sin({})", "tanh({})", "0.5 * ({})"])
        self.add(f"{self.random.choice('st')} = {wrap.format(self.write.float())}", depth)

    def _int(self, depth: int, in_loop: bool) -> None:
        self.add(
            self.random.choice(
                ["k = ({}) % 7", "k += ({}) % 5", "t = {}", "k = abs({}) % 4"]
            ).format(self.write.int()),
            depth,
        )

    def _augment(self, depth: int, in_loop: bool) -> None:
        self.add(
            f"{self.random.choice('st')} {self.random.choice(('+=', '-=', '*='))} {self.write.float(2)}",
            depth,
        )

    def _element(self, depth: int, in_loop: bool) -> None:
        target = self.random.choice(["a[0]", "a[k % 3]", "a[-1]", "a[1:]", "a[a > s]"])
        self.add(f"{target} {self.random.choice(['=', '+='])} {self.write.float(2)}", depth)

    def _vector(self, depth: int, in_loop: bool) -> None:
        self.add(f"a = 1.0 * {self.write.vector(3)}", depth)

    def _none(self, depth: int, in_loop: bool) -> None:
        self.add(f"q = {self.random.choice(['none', self.write.float(1)])}", depth)

    def _use(self, depth: int, in_loop: bool) -> None:
        self.add(
            f"if q != none {{ {self.random.choice('st')} = q * {self.write.float(1)} }}", depth
        )

    def _swap(self, depth: int, in_loop: bool) -> None:
        self.add("s, t = t, s", depth)

    def _tape(self, depth: int, in_loop: bool) -> None:
        tape, p = self.fresh("tape"), self.fresh("p")
        self.add(f"{p} = {self.write.float(1)} * 1.0", depth)
        self.add(f"tape {tape} {{ watch {p}; {p}v = {p} * {self.write.float(2)} }}", depth)
        self.add(f't += {tape}.gradient({p}v, {p}, unconnected = "zero")', depth)

    def _values(self, depth: int, in_loop: bool) -> None:
        """A derivative of values, weighed by a seed."""
        p = self.fresh("v")
        self.add(f"{p} = s * {self.write.float(2)} + s", depth)
        form = self.random.choice(
            [
                'grad({p}, s, seed = {f}, unconnected = "zero")',
                "vjp({p}, s, {f})",
                "jvp({p}, s, {f})",
            ]
        )
        self.add(f"{p}g = {form.format(p=p, f=self.write.float(1))}", depth)
        self.add(f"if {p}g != none {{ t = t + 0.5 * {p}g }}", depth)

    def _append(self, depth: int, in_loop: bool) -> None:
        name = self.fresh("l")
        self.add(f"{name} = [{self.write.float(1)}]", depth)
        self.add(f"{name} = append({name}, {self.write.float(2)})", depth)
        self.add(f"s = s + sum({name}) * 0.5", depth)

    def _closure(self, depth: int, in_loop: bool) -> None:
        name = self.fresh("f")
        self.add(f"{name} = fn(z) = z * {self.write.float(1)} + s", depth)
        self.add(
            self.random.choice(
                ["s = {n}({f})", "t = grad({n})({f})", "a = 1.0 * vmap({n})(a)"]
            ).format(n=name, f=self.write.float(1)),
            depth,
        )

    def _value(self, depth: int, in_loop: bool) -> None:
        name = self.fresh("o")
        for texts in self.random.choice(VALUES):
            text = self.random.choice(texts).replace("{v}", name)
            for place, write in (("{f}", self.write.float), ("{i}", self.write.int)):
                while place in text:
                    text = text.replace(place, write(1), 1)
            self.add(text.replace("{c}", self.write.bool()), depth)

    def _if(self, depth: int, in_loop: bool) -> None:
        self.add(f"if {self.write.bool()} {{", depth)
        self.block(depth + 1, in_loop)
        if self.random.random() < 0.3:
            self.add(f"}} elif {self.write.bool()} {{", depth)
            self.block(depth + 1, in_loop)
        if self.random.random() < 0.5:
            self.add("} else {", depth)
            self.block(depth + 1, in_loop)
        self.add("}", depth)

    def _while(self, depth: int, in_loop: bool) -> None:
        turn = self.fresh("w")
        self.add(f"{turn} = 0", depth)
        self.add(
            f"while {turn} < {self.random.choice(['3', '5', 'abs(n) % 4'])} and {self.write.bool(0)} {{",
            depth,
        )
        self.add(f"{turn} += 1", depth + 1)
        self.block(depth + 1, True)
        self.add("}", depth)

    def _for(self, depth: int, in_loop: bool) -> None:
        bounds = self.random.choice(["3", "abs(n) % 4", "1, 4", "3, 0, -1", "abs(k) % 3"])
        name = self.fresh("i")
        self.add(f"for {name} in range({bounds}) {{", depth)
        self.add(
            f"{self.random.choice(['k = k + {}', 's = s + {} * 0.25', 't = {} * 1.0']).format(name)}",
            depth + 1,
        )
        self.block(depth + 1, True)
        self.add("}", depth)

    def _each(self, depth: int, in_loop: bool) -> None:
        name = self.fresh("e")
        self.add(
            f"for {name} in {self.write.vector(1)} {{ s = sin(s + {name} * {self.write.float(1)}) }}",
            depth,
        )

    def _leave(self, depth: int, in_loop: bool) -> None:
        self.add(f"if {self.write.bool()} {{ {self.random.choice(['break', 'continue'])} }}", depth)

    def _return(self, depth: int, in_loop: bool) -> None:
        self.add(f"if {self.write.bool()} {{ return {self.write.float(2)} }}", depth)


def helper(random: Random, head: str, names: list[str], slopes: float = 0.0) -> str:
    """A short function of these names; the others of an expression stand for numbers."""
    write = Expressions(random, slopes)
    write.known = [*names, *names, "0.5", "-1.5", "2"]
    others = _OTHERS.difference(names)
    plain = [
        text
        for text in (write.float(2) for _ in range(50))
        if others.isdisjoint(re.findall(r"\w+", text))
    ]
    a, b = (plain + names * 2)[:2]
    return head.format(a=a, b=b)


_OTHERS = frozenset(
    [
        "s",
        "t",
        "x",
        "u",
        "k",
        "n",
        "a",
        "q",
        "w",
        "fn",
        "lib",
        "nn",
        "poly",
        "pair",
        "ruled",
        "ruled2",
        "loopy",
        "branchy",
    ]
)


def helpers(random: Random) -> str:
    """The functions that expressions call: with formulas, branches, loops, and rules of their own,
    right or not."""
    one, two = ["z"], ["z", "w"]
    by_w = random.choice(["none", "dy * z"])
    loop = "while y < 1.5 and c < 4 {{ y = y + abs({a}) * 0.5 + 0.3; c += 1 }}"
    return "\n".join([
        helper(random, "fn poly(z) = z * {a} + {b}", one),
        helper(random,
            "fn ruled(z) {{ return z * {a} }} backward (dy) {{ return dy * ({b}) + dy * 0.5 * z }}",
            one),
        helper(random, "fn branchy(z) {{ if z > 0.4 {{ return {a} }}; return {b} }}", one),
        helper(random, "fn pair(z, w) = {a} * w + {b}", two),
        helper(random,
            "fn ruled2(z, w) {{ return {a} + z * w }} backward (dy) {{ return [dy * ({b}), " + by_w + "] }}", two),
        helper(random, "fn loopy(z, w) {{ c = 0; y = z; " + loop + "; return y * w }}", two),
    ])  # fmt: skip


def function(random: Random, slopes: float = 0.1, wide: bool = False) -> str:
    """`fn row(x, u, n)`, of two floats and an int."""
    body = Body(random, slopes, wide=wide)
    for line in ("s = x * u", "t = x + 0.25", "k = n", "q = none", "a = array([x, u, 0.5])"):
        body.add(line, 0)
    body.block(0, False, 6)
    body.add(
        random.choice(
            [
                "return s",
                "return s + t",
                "return s * t + 0.1 * sum(a)",
                "return s if q == none else q * t",
                "return t * k",
            ]
        ),
        0,
    )
    return "fn row(x, u, n) {\n" + "\n".join(body.lines) + "\n}"
