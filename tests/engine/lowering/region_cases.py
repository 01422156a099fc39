"""Programs that are regions, and those that step back; how to lower and compare them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.codegen.python.regions import StepBack, compiled
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.types import F64, Scalar
from gradcli.engine.ir.verifier import verify
from gradcli.engine.lowering.held.kinds import Array, Kind, ListOrArray, Mixed, Record, Stored, flat
from gradcli.engine.lowering.programs import Lowered, lower_program

HEAD = "var x = 1.5\nvar n = 4\n"
PROGRAMS = {
    "a formula": "output x**2 * sin(x) / 3 + n",
    "ints stay ints": "k = n * 3 - 7 // 2\noutput k, k % 3, -k, n**2",
    "powers of ints": "output n**2, n**0, n**-1, 2**-3, n**0.5, n**x",
    "signs of a long series": "s = 0.0\nfor k in range(100) { s += (-1)**k / (k + x) }\noutput s, 2**62, (-2)**63",
    "powers that branches count": "k = 0\nfor i in range(9) { if x * i > 3 { k += 1 } }\noutput (-1)**k, 2**(k - 9), n**k, true**k, (-2)**(k + 57), 3**(k + 33)",
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
    "an int that becomes a float": "s = 0\nfor i in range(n) { s += x * i }\noutput s",
    "an int that stays one in no iteration": "s = 0\nfor i in range(n - 4) { s += x }\noutput s, s + 1, s / 2, s // 2",
    "an int that becomes a float in the second iteration": "a = 0\nb = 0\nwhile b < 3 { b = a; a = a + x }\noutput a, b",
    "an int that becomes a float in loops in loops": "s = 0\nfor i in range(n) { for j in range(i) { s += x } }\noutput s",
    "an int that becomes a float on some paths": "s = 0\nfor i in range(n) { if i == 2 { s += x } }\noutput s * 2, s",
    "a float that becomes an int": "s = 1.5\nk = 0\nwhile k < n { s = k; k += 1 }\noutput s",
    "ints and floats that take turns": "s = 0\nfor i in range(n) { s = i if s > 0.5 else 1.5 }\noutput s",
    "an int or a float": "a = 1\nif x > 1 { a = 2.0 }\noutput a, a // 2, a / 2, a * 3, sin(a), a == 2, -a, a + x, where(x > 1, a, n)",
    "two ints or floats": "a = 7 if x > 1 else 7.0\nb = 2.0 if x > 1 else 2\nc = a\noutput a // b, a % c, a * a, a + c > 3",
    "an int or a float that a function returns": "fn f(a) { if a > 1 { return 1 }; return 0.5 }\noutput f(x) * n, f(-x) * n",
    "a list that becomes an array": "p = [x, 1]\nfor i in range(n) { p = p * 2 }\noutput p",
    "lists in dicts that become arrays": "p = [{a: [x, 1]}, {a: [2.0, x]}]\nfor i in range(n) { for q in [0, 1] { p[q].a = array(p[q].a) * 2 } }\noutput p",
    "a name that begins as none": "b = none\nfor i in range(n) { if b == none { b = x } else { b = b + i } }\noutput b",
    "a list of ints and floats": "v = [0, 0]\nfor i in range(n) { a, b = v; v = [a + x, b + i] }\noutput v",
    "a name that a loop begins": "for i in range(n) { k = i * x }\noutput k, i",
    "a name that a branch begins": "if x > 1 { k = x }\noutput k",
    "return in a loop": "fn f(a) { for i in range(10) { a *= 1.5; if a > n { return a + i } }; return -1 }\noutput f(x), f(0.01)",
    "return in loops in loops": "fn f(a) { for i in range(n) { for j in range(i) { if i * j > a { return [i, j] } } }; return [0, 0] }\n"
    "output f(3), f(n), f(x)",
    "return in a loop without end": "fn f(a) { k = 0; while true { k += 1; a = a / 2; if a < 0.1 { return k } } }\noutput f(x)",
    "return in a loop over a list": "fn f(v) { for a in v { if a > 1 { return a }; if a < 0 { break } }; return 0.0 }\n"
    "output f([0.5, x, 2.0]), f([0.5, -1.0, 2.0])",
    "break in a for loop": "s = 0.0\nfor i in range(100) { s += x; if s > n { break }; s += i }\noutput s, i",
    "continue in a for loop": "s = 0\nfor i in range(n) { if i == 2 { continue }; s += i; if s > 90 { break }; s *= 2 }\noutput s",
    "strings": 'fn f(a, mode = "fast") { if mode == "fast" { return a } elif mode != "slow" { return 0.5 }; return a * a }\n'
    'm = "slow"\noutput f(x), f(mode = m, a = x), f(x, mode = "?"), m == "slow", m == none, x == none',
    "a parameter by its name": "fn f(a, b = n, c = 2) = a - b * c\noutput f(x), f(x, c = 3), f(b = 1, a = x), f(c = x, b = 2, a = 1)",
    "dicts": 'd = {a: x, b: [1, n], c: {e: 3.0}, f: fn(t) = t * x}\nd.a = d.a * 2\nd["b"][1] = 5\nd.c.e += n\nd.g = 1\n'
    'output d.a, d["b"], d.c.e, d.f(2), d.g, d.c',
    "dicts that are carried": "p = {a: x, n: 0}\nfor i in range(n) { p.a *= 1.5; p.n += i; if p.a > 4 { q = {a: i, n: 2} } else { q = p } }\noutput p, q",
    "infinities": "output 1.0 / 0.0, -1.0 / 0.0, log(0.0), inf - inf, sqrt(-1.0)",
    "where": "output where(x > 1, x, 2.0), where(n > 10, n, 1)",
}


# Programs of x, y and n whose derivatives need what each iteration computes.
LOOPS = {
    "a residual of each iteration": "s = x\nfor i in range(n) { s = s * y + sin(s) * i }\noutput s",
    "no iteration": "s = x\nfor i in range(n - 9) { s = s * y }\noutput s",
    "a loop in a loop": "s = x\nfor i in range(n) { for j in range(i) { s = s * y + x } }\noutput s",
    "while": "s = x\nwhile s < 50.0 { s = s * s + x }\noutput s",
    "a loop in a branch": "s = x\nif n > 2 { for i in range(n) { s = s * s * y } } else { s = y }\noutput s",
    "a branch in a loop": "s = x\nfor i in range(n) { if s > 2.0 { s = s - x } else { s = s * s } }\noutput s",
    "a loop in a branch in a loop": "s = x\nfor i in range(n) { if i % 2 == 0 { for j in range(i) { s = s * y } } else { t = s; s = t * t } }\noutput s",
    "break": "s = x\nwhile true { s = s * 1.5; if s > 20.0 { break } }\noutput s * y",
    "connected from some iteration": "s = 1.0\nfor i in range(n) { if i == 2 { s = s * x } else { s = s * s } }\noutput s",
    "never connected": "s = 1.0\nfor i in range(n) { if i > 9 { s = x * y } }\noutput s",
    "swapped": "s = x\nt = y\nfor i in range(n) { r = s; s = t; t = r }\noutput s, t",
    "twice the same": "s = x\nfor i in range(n) { s = s * s + s }\noutput s + s",
    "infinite slopes": "s = x - 1.5\nfor i in range(n) { s = sqrt(s) * y }\noutput s",
    "of a constant": "output 2.0",
    "elements of an array, which depends on all": "v = [x, 2.0] * 1\nc = v[1]\noutput c, v[0] * y",
    "vectors": "p = [x, y]\nfor i in range(n) { p = p - 0.1 * [p[0] * p[1], sum(p * p)] }\na = p[0]\noutput a, p[1]",
    "elements that are written": "u = zeros(3)\nu[0] = y\nb = u[2]\nfor i in range(2) { u[i + 1] = u[i] * x }\nu[1] += 1.0\na = u[0]\nc = u[2]\noutput a, b, c, sum(u)",
}  # fmt: skip
# Functions that call themselves.
RECURSIVE = {
    "an int": "fn f(k) = 1 if k < 2 else k * f(k - 1)\noutput f(n), f(10)",
    "a float": "fn f(a) = f(a - 1) + x if a > 0 else 0.0\noutput f(x), f(500.5)",
    "an int or a float": "fn f(a, k) { if k == 0 { return 1 }; h = f(a, k // 2); return h * h * a if k % 2 == 1 else h * h }\n"
    "output f(x, n), f(x, 0), f(3, 5)",
    "twice": "fn f(k) { if k < 2 { return k }; return f(k - 1) + f(k - 2) }\noutput f(n) * x",
    "in a loop": "fn f(k) { s = 1; for i in range(k) { s += f(i) }; return s }\noutput f(n)",
    "of each other": "fn even(k) = true if k == 0 else odd(k - 1)\nfn odd(k) = false if k == 0 else even(k - 1)\n"
    "output even(n), odd(n), even(7)",
    "with functions and names from outside": "c = x * 2\nfn h(a) = sin(a) * c\n"
    "fn f(a, k, g) { if k == 0 { return g(a) }; s = 0; for i in range(2) { s += f(a + i, k - 1, g) }; return s }\n"
    "output f(x, 3, h), f(x, 2, fn(t) = t * x)",
    "with lists": "fn f(a, d) { if d == 0 { return [a, 1] }; u, v = f(a / 2, d - 1); return [u + v, v * 2] }\noutput f(x, 5)",
    "with arrays": "fn f(p, k) { if k == 0 or norm(p) < 0.01 { return p }; return f(p * 0.5 - [x, 0.1], k - 1) }\n"
    "output f(array([x, 2.0]), n)",
    "with a default": "fn f(k, step = x) = 0.0 if k < 1 else step + f(k - 1, step * 2) + f(k - 2)\noutput f(n)",
    "inside a function": "fn f(a) { fn g(k) = a if k == 0 else g(k - 1) * a; return g(n) }\noutput f(x), f(2)",
    "a function that gets itself": "fn twice(g, a) = g(g(a))\noutput twice(fn(t) = twice(fn(u) = u * x, t), 2.0)",
}  # fmt: skip
STEPS_BACK = {
    "output n * 9223372036854775807": "E305",
    "output n // (n - 4)": "E306",
    "output n ** 40": "E305",
    "for i in range(n - 4) { k = i }\noutput k": "E307",
    "if x > 2 { k = x }\noutput k": "E307",
    "k = 1\nfor i in range(70) { k = k * 2 }\noutput k": "E305",
}


def lowered(source: str) -> Lowered:
    """The region of a program, verified; its text parses to the same text."""
    found = lower_program(gradcli.load(source=source)._resolved, {})
    verify([found.region, *found.others])
    written = found.text
    again = parse(written)
    verify(again)
    assert text(again) == re.sub(r" @ \d+:\d+", "", written)
    return found


def outputs_of(found: Lowered, numbers: Iterable[Any]) -> dict[str, Any]:
    """The outputs, of the numbers that the region gives."""
    rest = iter(numbers)
    return {name: _in_python(kind, rest) for name, kind in found.results.items()}


def _in_python(kind: Kind, numbers: Iterator[Any]) -> Any:
    """What a program gets of a kind and the next of these numbers; an array as nested lists."""
    if isinstance(kind, Array):
        kind = _nested(kind.shape, kind.type)
    if isinstance(kind, Record):
        items = [_in_python(item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, tuple):
        return [_in_python(item, numbers) for item in kind]
    if isinstance(kind, Mixed):
        is_int, whole, real = next(numbers), next(numbers), next(numbers)
        return whole if is_int else real
    if isinstance(kind, Stored):
        return next(numbers).tolist()
    if isinstance(kind, ListOrArray):
        next(numbers)
        return _in_python(kind.array, numbers)
    return next(numbers)


def _nested(shape: tuple[int, ...], item: Scalar) -> Kind:
    return (_nested(shape[1:], item),) * shape[0] if shape else item


def states(source: str, names: Iterable[str]) -> list[Any]:
    """The states of variables as the program declares them, one number after another."""
    declared = dict(re.findall(r"^(?:var|frozen) (\w+) = ([-\w., \[\]]+)$", source, re.M))
    return [number for name in names for number in numbers(ast.literal_eval(declared[name]))]


def numbers(value: Any) -> Iterator[Any]:
    """The numbers in lists, dicts and arrays, in order."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if hasattr(value, "__iter__"):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    else:
        yield value


def floats(found: Lowered) -> Iterator[tuple[int, str]]:
    """The outputs that are one float: where it is among the results of the region, and its name."""
    position = 0
    for name, kind in found.results.items():
        if kind == F64:
            yield position, name
        position += len(list(flat(kind)))


def same(a: Any, b: Any) -> bool:
    if hasattr(b, "tolist"):
        b = b.tolist()
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if type(a) is list:
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
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
            compiled(found.region, found.others)(*states(source, found.parameters))
        return error.diagnostics[0].code
    try:
        results = compiled(found.region, found.others)(*states(source, found.parameters))
    except StepBack:
        return "steps back"
    given = outputs_of(found, results)
    assert all(same(given[name], outputs[name]) for name in found.results), (given, outputs)
    assert given.keys() == outputs.keys()
    return "same"
