"""Every reason why a gradient is missing: its code, the line where the chain breaks, the fix."""

from __future__ import annotations

import pytest

from gradcli.codes import REASONS
from gradcli.engine.explain import reasons

from ..programs import warnings

# A program, the code, the line of the diagnostic (0: none), and what the message or the fix says.
# Outputs are asked for automatically; where the gradient is asked for in the program, `grad` stands
# in it.
CASES = [
    ("var x = 1.0\nvar y = 2.0\noutput y**2", "never_read", 1, "never read"),
    ("var x = 1.0\nvar y = 2.0\nz = y**2\ng = grad(z, x)\noutput 3", "never_read", 1, "never read"),
    ('var x = 1.0\ny = 1.0 * len(f"{x}")', "value_unused", 2, "is read"),
    ("var x = [1.0]\ny = 1.0 * len(x)", "value_unused", 2, "length"),
    ("var x = [1.0]\ny = 1.0 * x.ndim", "value_unused", 2, "shape"),
    ("var x = 1.0\ny = append([x], 1.0)[1]", "value_unused", 2, "is read"),
    ("var x = 1.0\nd = {a: 0.0}\nd.a = x\nd.a = 3.0\ny = d.a * 2", "value_unused", 3, "is read"),
    ("var x = 1.0\nfn f(a, b) = b * 2\ny = f(x, 3.0)", "value_unused", 3, "is read"),
    ("var x = 1.0\nfn f() { z = x; return 2.0 }\ny = f()", "value_unused", 2, "is read"),
    ("var x = 1.0\nfn f(x) = 2 * x\ny = f(3.0)", "never_read", 1, "never read"),
    ("var y = 2.0\nconst c = 1.0\ng = grad(y * c, c)\noutput 3", "constant", 2, "var c"),
    ("var y = 2.0\np = 1.0\ng = grad(y * p, p)\noutput 3", "constant", 3, "var"),
    ("var y = 2.0\np = 1.0 + 2.0\nq = p * 3.0\ng = grad(y * q, q)\noutput 3", "constant", 4, "var"),
    ("var x = 2\nz = x * 3.0", "integer", 1, "2.0"),
    ("var x = [1, 2]\nz = sum(x * 3.0)", "integer", 1, "floats"),
    ("var x = true\nz = x * 3.0", "integer", 1, "2.0"),
    ("var x = 2.7\ny = int64(x)\nz = y * 3.0", "integer", 2, "int"),
    ("var x = 2.7\nz = argmax(x * [1.0, 2.0]) * 1.5", "integer", 2, "argmax"),
    ('var s = "a"\nvar x = 1.0\ng = grad(x, s)\noutput 3', "string", 1, "string"),
    ("frozen s = 1.0\nvar x = 1.0\ng = grad(x * s, s)\noutput 3", "frozen", 1, "var s"),
    ("var x = 2.0\ny = detach(x**2)\nz = y * 3", "detached", 2, "detach"),
    ("var x = 2.0\ny = x**2\nz = stop_gradient(y)**2", "detached", 3, "stop_gradient"),
    (
        "var x = 2.0\ng = grad(x**3, x)\nh = grad(detach(g) * 2.0, x)\noutput 3",
        "detached",
        3,
        "detach",
    ),
    (
        "var x = 2.0\ng = grad(x**3, x)\nh = grad(int64(g) * 2.0, x)\noutput 3",
        "integer",
        3,
        "int64",
    ),
    ("var x = 2.0\nx = x + 1\ny = x**2", "replaced", 2, "x :="),
    ("var x = 2.0\nx += 1\ny = x**2", "replaced", 2, "x :="),
    ("var a = 3.0\nvar b = 0.0\nb := a * 2\ny = b**2", "state", 3, "state"),
    ("var a = 3.0\nfrozen b = 0.0\nb :+= a\ny = b**2", "state", 3, "state"),
    (
        "var x = 1.0\nvar v = 2.0\nif x > 0.0 { y = v } else { y = -v }\nz = y * 2",
        "condition_only",
        3,
        "path",
    ),
    ("var x = 1.0\nvar v = 2.0\nz = v if x > 0.0 else -v", "condition_only", 3, "path"),
    (
        "var x = 1.0\nvar v = 2.0\nn = 0\nwhile n < x { n += 1 }\nz = v * n",
        "condition_only",
        4,
        "path",
    ),
    ("var x = 1.0\nz = 1.0 * (x > 0.0)", "condition_only", 2, "bool"),
    (
        "var x = 1.0\nvar v = 2.0\nif v > 3.0 { y = x } else { y = v }\nz = y * 2",
        "branch_not_taken",
        3,
        "path",
    ),
    (
        "var x = 1.0\nvar v = 2.0\ny = v\nfor i in range(0) { y = y * x }\nz = y * 2",
        "branch_not_taken",
        4,
        "path",
    ),
    ("var x = 1.0\nvar v = 2.0\na = [v, v * 2]\nz = a[int64(x)] * 2", "index_only", 4, "elements"),
    ("var x = 1.0\nvar v = [1.0, 2.0]\nz = sum(v[int64(x):])", "index_only", 3, "elements"),
    ("var n = 3.0\nvar v = 2.0\nz = sum(ones(int64(n))) * v", "index_only", 3, "how many"),
    (
        "var n = 3.0\nvar v = 2.0\nz = v\nfor i in range(int64(n)) { z = z * v }\ny = z",
        "index_only",
        4,
        "how many",
    ),
    ("var x = 1.0\nvar v = 2.0\na = x * 2\nz = v * 2", "not_on_path", 3, "depend"),
    ("var x = 1.0\nvar v = 2.0\nz = v * 2\nexpect x > 0.0", "not_on_path", 4, "depend"),
]


@pytest.mark.parametrize(("program", "code", "line", "says"), CASES)
def test_reason(program: str, code: str, line: int, says: str) -> None:
    found = {w.reason: w for w in warnings(program)}
    assert code in found, f"the reasons are {list(found)}"
    warning = found[code]
    assert warning.span is not None
    assert warning.span.line == line
    assert says in f"{warning.message} {warning.help}"
    assert warning.code == {"integer": warning.code, "string": "W202", "replaced": "W203"}.get(
        code, "W201"
    )
    assert code in REASONS


# The same break, behind renaming, functions, loops and containers.
@pytest.mark.parametrize(
    ("cut", "code"),
    [
        ("detach({})", "detached"),
        ("float64(int64({}))", "integer"),
        ("1.0 * ({} > 0.5)", "condition_only"),
    ],
)
@pytest.mark.parametrize(
    "way",
    [
        "y = {}\nz = y * 2",
        "y = {}\na = y\nb = a\nz = b * 2",
        "fn f(a) {{ t = a * 2; return t + 1 }}\nz = f({})",
        "fn f(a) = {}\nz = f(x) * 2",
        "y = {}\nfor i in range(5) {{ y = y * 1.5 }}\nz = y",
        "y = {}\nl = [1.0, y]\nz = sum(l)",
        "y = {}\nd = {{k: [y, 2.0]}}\nz = d.k[0] * 2",
        "y = {}\na = zeros(3)\na[1] = y\nz = sum(a)",
        "y = {}\nz = dot([1.0, 2.0], [y, y])",
        "w = 3.0\ny = w * {}\nz = y if y < 100.0 else w",
    ],
)
def test_the_chain_is_followed_through(way: str, cut: str, code: str) -> None:
    program = "var x = 2.0\n" + way.format(cut.format("a" if "f(a) = {}" in way else "x"))
    line = next(k for k, text in enumerate(program.split("\n"), 1) if cut.partition("{")[0] in text)
    (warning,) = warnings(program)
    assert (warning.reason, warning.span and warning.span.line) == (code, line)


DECIDED = """var x = 2.0
var v = 1.0
n = 0
while n < x { n += 1 }
p = v * n
i = int64(x)
q = [1.0, 2.0, 3.0][i] * v
a = 0.0
for k in range(3) { if k > x - 1.0 { break }; a = a + v }
fn h(a) { if a > 1 { return v }; return 2*v }
b = h(x)
c = h(3.0)
d = h
e = d(x - 0.5) + c
"""


@pytest.mark.parametrize(
    ("output", "code", "line"),
    [
        ("p", "condition_only", 4),
        ("q", "index_only", 7),
        ("a", "condition_only", 9),
        ("b", "condition_only", 10),
        ("c", "not_on_path", 4),
        ("d(v) + c", "not_on_path", 4),
        ("e", "condition_only", 10),
        ("v * 3", "not_on_path", 4),
        ("v if x > 0 else c", "condition_only", 15),
    ],
)
def test_what_decides_another_output_is_no_reason(output: str, code: str, line: int) -> None:
    (found,) = [d for d in warnings(f"{DECIDED}output {output}") if "`x`" in d.message]
    assert (found.reason, found.span and found.span.line) == (code, line)


def test_a_gradient_that_exists_brings_no_warning() -> None:
    assert warnings("var x = 2.0\ny = x + detach(x**2)\nz = y * int64(x)") == []


def test_one_warning_a_pair() -> None:
    found = warnings(
        "var x = 1.0\nvar v = 2.0\nfor i in range(5) { g = grad(v**2, x) }\noutput v**2"
    )
    assert [(w.reason, w.span and w.span.line) for w in found] == [
        ("never_read", 1)
    ] * 2  # the program's, and the automatic one


def test_an_assignment_in_a_function_replaces_nothing() -> None:
    assert warnings("var x = 1.0\nfn f(x) { x = x * 2; x += 1; return x }\ny = f(x)") == []


def test_unconnected_can_be_an_error() -> None:
    import gradcli

    with pytest.raises(gradcli.GradcliError) as raised:
        gradcli.load(source="var x = 1.0\nvar y = 2.0\noutput y**2").with_options(
            unconnected="error"
        ).run()
    assert [d.code for d in raised.value.diagnostics] == ["E318"]


def test_a_break_inside_functions_is_told_with_the_calls_that_led_there() -> None:
    source = "var x = 2.0\nfn inner(a) = detach(a) * 2\nfn outer(b) = inner(b + 1)\ny = outer(x)"
    (found,) = warnings(source)
    assert (found.reason, found.span.line if found.span else 0) == ("detached", 2)
    assert [(call.function, call.span.line) for call in found.calls] == [("inner", 3), ("outer", 4)]


def test_a_loop_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    explain = reasons.Reasons.explain
    monkeypatch.setattr(reasons.Reasons, "explain", lambda *a: asked.append(a) or explain(*a))
    loop = "for i in range(1000) { g = grad(x * x, [z, u, 2.0]); if i == 500 { h = grad(x, z) } }"
    found = warnings(f"var x = 1.5; var z = 1.0; var u = 1.0\n{loop}\noutput x", grad=False)
    assert (len(found), len(asked)) == (3, 31)  # the reasons of both requests by `z` are one
