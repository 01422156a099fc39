"""Regions against the interpreter: the same bits, or the reason why there is none."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python import StepBack, compiled
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.verifier import verify
from gradcli.engine.regions.programs import Lowered, lower_program

from .region_programs import Writer


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


def compare(source: str) -> str:
    """Whether a program is a region whose bits are those of the interpreter: "same", or why not."""
    found = lowered(source)
    if found.reasons:
        return found.reasons[0].reason
    try:
        outputs = gradcli.load(source=source).with_options(grad=False).run().outputs
    except GradcliError as error:
        with pytest.raises(StepBack):
            compiled(found.region)(*states(source, found.parameters))
        return error.diagnostics[0].code
    results = compiled(found.region)(*states(source, found.parameters))
    given = dict(zip(found.results, results, strict=True))
    assert all(same(given[name], outputs[name]) for name in found.results), (given, outputs)
    assert given.keys() == outputs.keys()
    return "same"


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


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_regions_give_the_bits_of_the_interpreter(source: str) -> None:
    assert compare(HEAD + source) == "same"


STEPS_BACK = {
    "output n * 9223372036854775807": "E305",
    "output n // (n - 4)": "E306",
    "output n ** 40": "E305",
    "k = 1\nfor i in range(70) { k = k * 2 }\noutput k": "E305",
}


@pytest.mark.parametrize(("source", "code"), STEPS_BACK.items())
def test_what_is_out_of_the_ordinary_steps_back(source: str, code: str) -> None:
    assert compare(HEAD + source) == code


REASONS = {
    "output [x, 2.0] * 2": (3, "arrays are not compiled"),
    "print x": (3, "`print` is not compiled"),
    "a = 1\nif x > 1 { a = 2.0 }\noutput a": (
        4,
        "a name has no value, or one of another type, on one side of a branch",
    ),
    "k = 0\nfor i in range(3) { k = k + x }\noutput k": (4, "a name changes its type in this loop"),
    "for i in range(3) { k = i }\noutput k": (
        3,
        "a name that a loop begins may have no value after it",
    ),
    "fn f(a) = f(a - 1) if a > 0 else 0.0\noutput f(x)": (3, "recursion is not compiled"),
    "fn f(a) { return a } backward (dy) { return dy }\noutput f(x)": (
        4,
        "a function with a rule of its own is not compiled",
    ),
    "output grad(x**2, x)": (3, "`grad` is not compiled"),
    "output n ** n": (3, "an int to a power that isn't known is not compiled"),
    "v = [x, x]\noutput v[n]": (4, "an element at an index that isn't known is not compiled"),
    "z = 1j\noutput z": (3, "complex numbers are not compiled"),
    "x := 2.0\noutput x": (3, "`:=` is not compiled"),
    "fn f() { x := 2.0; return x }\na = f()\noutput x": (
        1,
        "functions may update this variable with `:=`",
    ),
    "v = [x, x]\nv.append(2.0)\noutput v[0]": (4, "`append` is not compiled"),
}


@pytest.mark.parametrize(("source", "wanted"), REASONS.items())
def test_what_is_in_no_region_says_why(source: str, wanted: tuple[int, str]) -> None:
    reasons = lowered(HEAD + source).reasons
    assert wanted in [(r.span.line, r.reason) for r in reasons if r.span is not None]
    assert lowered(HEAD + source).results == []


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    compare(Writer(seed).program())


def test_random_programs_are_regions() -> None:
    """Most of them are compiled, so that they are compared at all."""
    outcomes = [compare(Writer(seed).program()) for seed in range(100)]
    assert outcomes.count("same") > 30
