"""Lists and dicts that a run nests too deep: the error says where it was."""

from __future__ import annotations

import pytest

from ..programs import failure

DEEP = """\
var x = 2.0
l = [x]
for i in range(300) { l = [l] }
d = {"k": l}
fn f(v) = v == v
"""


@pytest.mark.parametrize(
    ("program", "line", "text"),
    [
        ("print l\noutput x", 6, "print l"),
        ("m = l == l\noutput x", 6, "m = l == l"),
        ("m = x\nif x > 1 { n = d == d; m = 1 }\noutput m", 7, "n = d == d"),
        ("for i in range(3) {\n  print d\n}\noutput x", 7, "print d"),
        ("while true { for k in [1] { y = grad(x, l) } }\noutput x", 6, "y = grad(x, l)"),
        ("fn g(v) { m = v; return m == v }\ny = g(l)", 6, "return m == v"),
        ("y = f(l)\noutput x", 6, "y = f(l)"),
        ('y = f"{l}"\noutput x', 6, 'y = f"{l}"'),
        ("output x, l", 6, "l"),
        ("if x > 1 { output m = d }", 6, "d"),
        ("m = [l]\nm = [m]", 7, "m = [m]"),
    ],
)
def test_the_place_of_what_nests_too_deep(program: str, line: int, text: str) -> None:
    error = failure(DEEP + program)
    assert error.code == "E407"
    assert error.span is not None
    assert (error.span.line, error.span.text) == (line, text)
