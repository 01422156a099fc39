"""Random functions of a row whose control flow depends on the row: for rows together against rows
alone."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

NUMBERS = (
    "s",
    "t",
    "x",
    "w",
    "x + w",
    "0.5",
    "s * x",
    "sin(s + t)",
    "abs(t) + 0.1",
    "s - t",
    "1.5 * t",
    "w * w",
)
CONDITIONS = (
    "x > 0",
    "s < t",
    "x > w",
    "s > 0.3 and x < 1",
    "x < -0.5 or t > s",
    "-0.5 < x < 0.7",
    "not (s > 1)",
    "k % 2 == 0",
)
MOST_TURNS = 6


class Writer:
    """Writes the body of `fn f(x, w)`: `s` and `t` are always assigned, `k` counts, `a` is an
    array, `p` and `q` a list's."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.loops = 0

    def number(self, depth: int = 0) -> str:
        pick = self.random.random()
        if pick < 0.55 or depth > 1:
            return self.random.choice(NUMBERS)
        if pick < 0.7:
            return f"({self.number(depth + 1)} if {self.condition()} else {self.number(depth + 1)})"
        if pick < 0.8:
            return f"a[{self.random.choice(('0', '1', 'k % 3', '-1'))}]"
        if pick < 0.9:
            return f"helper({self.number(depth + 1)}, w)"
        return f"({self.number(depth + 1)}) * ({self.number(depth + 1)}) * 0.5"

    def condition(self) -> str:
        return self.random.choice(CONDITIONS)

    def write(self, text: str, depth: int) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        kinds = ["assign"] * 5 + ["element", "augment", "list", "log"]
        if depth < 3:
            kinds += ["if"] * 4 + ["while", "for", "for"]
        if in_loop:
            kinds += ["break", "continue"]
        kinds += ["return"] if depth else []
        getattr(self, f"_{self.random.choice(kinds)}")(depth, in_loop)

    def _assign(self, depth: int, in_loop: bool) -> None:
        self.write(f"{self.random.choice('st')} = {self.number()}", depth)

    def _element(self, depth: int, in_loop: bool) -> None:
        self.write(f"a[{self.random.choice(('0', '2', 'k % 3'))}] = {self.number()}", depth)

    def _augment(self, depth: int, in_loop: bool) -> None:
        self.write(
            f"{self.random.choice('st')} {self.random.choice(('+=', '-='))} {self.number()}", depth
        )

    def _list(self, depth: int, in_loop: bool) -> None:
        self.write(f"s, t = [{self.number()}, {self.number()}]", depth)

    def _log(self, depth: int, in_loop: bool) -> None:
        """What only some rows may compute: the others would have a nan."""
        self.write("if s > 0 { t = t + log(s) * 0.1 } else { t = t - sqrt(-s) * 0.1 }", depth)

    def _if(self, depth: int, in_loop: bool) -> None:
        self.write(f"if {self.condition()} {{", depth)
        self.block(depth + 1, in_loop)
        for _ in range(self.random.randint(0, 1)):
            self.write(f"}} elif {self.condition()} {{", depth)
            self.block(depth + 1, in_loop)
        if self.random.random() < 0.5:
            self.write("} else {", depth)
            self.block(depth + 1, in_loop)
        self.write("}", depth)

    def _while(self, depth: int, in_loop: bool) -> None:
        self.loops += 1
        counter = f"n{self.loops}"
        self.write(f"{counter} = 0", depth)
        self.write(f"while {counter} < {MOST_TURNS} and abs(s) < 2 {{", depth)
        self.write(f"{counter} += 1", depth + 1)
        self.write(f"k = k + {counter}", depth + 1)
        self.block(depth + 1, True)
        self.write("}", depth)

    def _for(self, depth: int, in_loop: bool) -> None:
        bound = self.random.choice(("3", "rounds(x)", "1, rounds(x) + 1", "rounds(x), 0, -1"))
        self.loops += 1
        self.write(f"for i{self.loops} in range({bound}) {{", depth)
        self.write(f"k = k + i{self.loops}", depth + 1)
        self.block(depth + 1, True)
        self.write("}", depth)

    def _break(self, depth: int, in_loop: bool) -> None:
        self.write(f"if {self.condition()} {{ break }}", depth)

    def _continue(self, depth: int, in_loop: bool) -> None:
        self.write(f"if {self.condition()} {{ continue }}", depth)

    def _return(self, depth: int, in_loop: bool) -> None:
        self.write(f"if {self.condition()} {{ return {self.number()} }}", depth)


HEAD = """fn rounds(x) { if x > 0.8 { return 3 }; return 2 if x > 0 else 1 }
fn helper(z, w) { if z > 0.5 { return z * w }; y = z; while y > -1 { y = y - 0.6 }; return y }
fn f(x, w) {
    s = x * w
    t = x + 0.25
    k = 0
    a = [x, w, 0.5]
    a = array(a)
"""
TAIL = "    return s + 0.5 * t + 0.1 * sum(a)\n}\n"


def program(random: Random) -> str:
    """The text of a function `f(x, w)` of a row and what all rows share, and of those that it
    calls."""
    writer = Writer(random)
    for _ in range(random.randint(2, 5)):
        writer.statement(0, False)
    return HEAD + "\n".join(writer.lines) + "\n" + TAIL


programs: Any = st.integers(0, 2**32).map(lambda seed: program(Random(seed)))
