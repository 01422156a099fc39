"""Programs that are regions, and those that step back; how to lower and compare them."""

from __future__ import annotations

import math
import re
from typing import Any

import gradcli
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.verifier import verify
from gradcli.engine.regions.programs import Lowered, lower_program

HEAD = "var x = 1.5\nvar n = 4\n"
PROGRAMS = {
    "a formula": "output x**2 * sin(x) / 3 + n",
    "ints stay ints": "k = n * 3 - 7 // 2\noutput k, k % 3, -k, n**2",
    "ints beside floats": "output n + x, n / 2, n * 1.0, maximum(n, x)",
    "bools": "a = x > 1\noutput a, not a, a and n > 5, a or x < 0, 1 < n <= 4",
    "a condition": "y = x if n > 3 else -x\noutput y",
    "a branch": "if x > 1 { a = 1.0; b = 2 } elif n > 2 { a = 2.0; b = 3 } else { a = x; b = 0 }\noutput a, b",
    "a function": "fn f(a, b = 2.0) = a * b\noutput f(x), f(b = 3.0, a = x), f(x, x)",
    "a closure": "fn f(a) { fn g(b) = a * b + x; return g }\noutput f(2.0)(3.0)",
    "functions as values": "fn twice(g, a) = g(g(a))\noutput twice(sin, x), twice(fn(t) = t * x, 2.0)",
    "early returns": "fn f(a) { if a > 1 { return 1.0 }; if a > 0 { b = a } else { return -1.0 }; return b }\n"
    "output f(x), f(0.5), f(-0.5)",
    "while": "t = x\nwhile t < 100.0 { t = t * 1.5 }\noutput t",
    "for": "s = 0.0\nfor i in range(n) { s += x * i }\noutput s",
    "for, downwards": "s = 0\nfor i in range(10, 0, -3) { s += i }\noutput s",
    "for, over nothing": "s = 1.0\nfor i in range(3, 3) { s = 0.0 }\noutput s",
    "break and continue": "s = 0.0\nk = 0\nwhile true { k += 1; if k == 3 { continue }; s += k * 1.0; if s > 20 { break } }\n"
    "output s, k",
    "loops in loops": "s = 0.0\nfor i in range(4) { for j in range(i) { s += i * x - j } }\noutput s",
    "lists": "a, b = [x, 2.0]\nb, a = a, b\nc = [a, [b, n]]\ns = 0.0\nfor v in [a, b] { s += v }\noutput a, b, c[1][0], len(c), s",
    "a name that a loop carries": "i = 7\nfor i in range(3) { }\noutput i",
    "infinities": "output 1.0 / 0.0, -1.0 / 0.0, log(0.0), inf - inf, sqrt(-1.0)",
    "where": "output where(x > 1, x, 2.0), where(n > 10, n, 1)",
}


STEPS_BACK = {
    "output n * 9223372036854775807": "E305",
    "output n // (n - 4)": "E306",
    "output n ** 40": "E305",
    "k = 1\nfor i in range(70) { k = k * 2 }\noutput k": "E305",
}


def lowered(source: str) -> Lowered:
    """The region of a program, verified; its text parses to the same text."""
    found = lower_program(gradcli.load(source=source)._resolved, {})
    verify([found.region])
    written = text([found.region])
    again = parse(written)
    verify(again)
    assert text(again) == re.sub(r" @ \d+:\d+", "", written)
    return found


def states(source: str, names: list[str]) -> list[Any]:
    """The states of variables as the program declares them."""
    declared = dict(re.findall(r"^(?:var|frozen) (\w+) = ([-\w.]+)$", source, re.M))
    return [float(v) if re.search(r"[.e]", v) else int(v) for v in (declared[n] for n in names)]


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return bool(a == b)
