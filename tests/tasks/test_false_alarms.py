"""Right gradients aren't reported as wrong, be they ever so badly conditioned; and what gives that
room lets no mistake pass."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import CheckOptions
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from .false_alarms import alarms, checked
from .right_programs import Program, programs

# How well a derivative can be known is measured where rounding moves it: by the complex step, or in
# forward mode where an operation takes no complex numbers, or the program computes with complex
# ones itself.
ILL = [
    "var y = -1.85\nq = erfinv(1.0 - 1e-8 * (1.5 + sin(y)))",
    "var x = 0.78\na = zeta(2.5, 1.5 + x)\nq = i0(a) * tanh(((x * a) - (x * a) * (1.0 - 1e-9)) * 1e6)",
    "var x = 0.6\na = gamma(1.5 + sin(x))\nq = exp(tanh((a - a * (1.0 - 1e-9)) * 1e6))",
    "var x = -0.75\nvar u = [0.46, -0.25, -1.35]\n"
    "q = x + 0.1 * det([[1.0 - 5e-7, 1.0, 0.0], [1.0, 1.00002, tanh(lgamma(1e6 + x) * 1e-6) * 1e-6],"
    " [0.0, tanh(u[1] * u[-1]), 4.0]])",
    "var x = 0.6\na = sum(real(fft([x, sin(x), x**2])))\nq = exp(tanh((a - a * (1.0 - 1e-9)) * 1e6))",
]

LOST = (
    [  # digits that the complex step of one operation has lost: where it cancels, near a zero of sinc's slope
        f"var x = {value}\nq = sinc(x) * 1e4 + ((x + 1e8) - 1e8)"
        for value in (1.1e-8, 6.3403e-5, 2.7e-4)
    ]
    + [
        "var x = 1.0977698374679647\nq = sinc(erfc(3.0 + 2.0 * expit(erfc(3.0 + 2.0 * expit(x)))))**2",
    ]
)

TINY = [  # numbers beside which what the complex step adds vanishes
    "var y = 0.8\nq = log(1e-300 * (1.5 + sin(y))) + y",
    "var y = 0.8\nq = sum(log(1e-290 * ([1.5, 2.5] + sin(y)))) + y",
    "var y = 0.8\nq = log(exp(-690.0 - y**2)) + y**2",
]


# It compares values that differ in their last digits: a tiny step takes another path.
SEARCH = """const max_iter = 400
fn rosen(p) = 100 * (p[1] - p[0]**2)**2 + (1 - p[0])**2
fn minimise(f, start, step = 0.5, tol = 1e-14) {
    n = len(start)
    pts = [start]
    for i in range(n) {
        p = start
        p[i] = p[i] + step
        pts = append(pts, p)
    }
    vals = [f(p) for p in pts]
    iters = 0
    while iters < max_iter {
        order = argsort(vals)
        pts = [pts[k] for k in order]
        vals = [vals[k] for k in order]
        if vals[n] - vals[0] < tol { break }
        c = zeros(n)
        for p in pts[:-1] { c = c + p / n }
        xr = c + (c - pts[n])
        fr = f(xr)
        if fr < vals[0] {
            xe = c + 2 * (c - pts[n])
            fe = f(xe)
            if fe < fr { pts[n] = xe; vals[n] = fe } else { pts[n] = xr; vals[n] = fr }
        } elif fr < vals[n - 1] {
            pts[n] = xr
            vals[n] = fr
        } else {
            xc = c + 0.5 * (pts[n] - c)
            fc = f(xc)
            if fc < vals[n] { pts[n] = xc; vals[n] = fc }
            else {
                for i in range(1, n + 1) {
                    pts[i] = pts[0] + 0.5 * (pts[i] - pts[0])
                    vals[i] = f(pts[i])
                }
            }
        }
        iters += 1
    }
    return vals[0]
}
var a0 = -1.2
q = minimise(rosen, array([a0, 1.0]))
"""

KINDS = {
    "a simplex search": SEARCH,
    "an attached gradient": "var x = 2.0\nu = array(3.0)\nattach_grad(u)\nrecord { l = u**2 * x }\nbackward(l)\nq = u.grad * x",
    "that of a variable": "var x = 2.0\nattach_grad(x)\nrecord { l = x**3 }\nbackward(l)\nq = x.grad * x",
    "one that is differentiated": "var x = 2.0\nattach_grad(x)\nrecord { l = x**3 }\nbackward(l, create = true)\nq = x.grad * x",
    "one that is added to": 'var x = 2.0\nu = array(3.0)\nattach_grad(u, req = "add")\nrecord { l = u**2 * x }\nbackward(l, retain = true)\nbackward(l)\nq = u.grad * x',
    "an inner gradient by an array": "var w = [0.1, 0.2]\nr = [1.0, 2.0]\nq = sum(grad(fn(p) = sum(p*r)**2)(w)**2)",
    "log1p near 0": "var x = 1e-9\nq = log1p(x) / x",
    "complex log1p near 0": "var z = 1e-3 + 1e-3j\nq = real(log1p(z) / z)",
    "softplus far below 0": "var x = -40.0\nq = softplus(x) * sigmoid(x)",
    "logaddexp far below 0": "var x = -30.0\nq = logaddexp(x, 0.0)**2",
    "a mean": "var v = [1.0, 2.0]\nq = mean(v**2)",
    "float32": "var x = float32(0.1)\nq = x + x + x",
    "a loop in float32": "var x = float32(0.1)\nq = x\nfor i in range(10) { q = q*1.01 + x }",
    "float32 in between": "var x = 0.3\nq = float64(sin(float32(x)) * float32(x))**2",
}  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_values(name: str, order: int) -> None:
    found = checked(Program(f"{KINDS[name]}\noutput q", 0, order), True)
    assert alarms(found) == []
    assert found.exit_code == 0


@pytest.mark.parametrize("sympy", [True, False])
@pytest.mark.parametrize("text", ILL[:1] + TINY)
def test_second_derivatives(text: str, sympy: bool) -> None:
    assert alarms(checked(Program(f"{text}\noutput q", 0, 2), sympy)) == []


@pytest.mark.parametrize("sympy", [True, False])
@pytest.mark.parametrize("text", ILL + LOST + TINY)
def test_badly_conditioned_gradients(text: str, sympy: bool) -> None:
    found = checked(Program(f"{text}\noutput q", 0, 1), sympy)
    assert alarms(found) == []
    assert found.exit_code == 0


@pytest.mark.parametrize(
    "inner", ["(exp(1e-5 * x) - 1.0) * 1e5", "((x + 1e6) - 1e6)", "(1.0 - cos(1e-3 * x)) * 1e5"]
)
@pytest.mark.parametrize(
    "outer",
    [
        "gammainc(30.0 + tanh({0}), 25.0 + y)",
        "sin({0} * y)",
        "betainc(2.5, 3.5, expit(sin({0}) + y))",
    ],
)
def test_second_derivatives_with_digits_lost_before_the_other_variable(
    inner: str, outer: str
) -> None:
    """Rounding of what depends on one variable alone moves the second derivative by both."""
    text = f"var x = 1.5151255092382967\nvar y = 0.3838049540829682\noutput q = y + {outer.format(inner)}"
    assert alarms(checked(Program(text, 0, 2), True)) == []


@pytest.mark.parametrize("size", ["1e6", "1e8"])
@pytest.mark.parametrize("y", ["0.3", "0.51234", "1.7"])
def test_second_derivatives_of_what_turns_often(y: str, size: str) -> None:
    """The usual steps of a second difference are many periods long."""
    text = f"var x = 0.7\nvar y = {y}\noutput q = sin(x + {size} - {size} * y)"
    found = checked(Program(text, 0, 2), True)
    assert {result.verdict for result in found.results} == {"verified"}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("form", ["zeta(x)", "1.0 / (x - 1.0)"])
def test_beside_a_pole(form: str, sign: float) -> None:
    """Up to a few last places from it."""
    for k in range(3, 16):
        text = f"var x = {1.0 + sign * 10.0**-k!r}\noutput q = {form}"
        assert alarms(checked(Program(text, 0, 2), True)) == [], text


UNDERFLOW = [  # of the value, of a derivative, and of what is multiplied by large numbers later on
    ("var x = 0.7\nq = exp(-200.0 * x)", "float32"),
    ("var x = 0.298\nq = betainc(300.0, 0.3, x)", "float32"),
    ("var x = 1.2\nq = gammainc(40.0, 0.01 * x)", "float32"),
    ("var x = 1.2\nq = erfc(9.0 + x)", "float32"),
    ("var x = 1e-30\nq = x**2 * 1e8", "float32"),
    ("var x = 1e-23\nq = x**2", "float32"),
    ("var x = 0.5\nq = 1e-30 * sin(x) * 1e-15", "float32"),
    ("var x = 0.5\nq = 1e-30 * sin(x) * 1e-15 * 1e30", "float32"),
    ("var x = 1e-200\nq = x**2 * 1e100", "float64"),
    ("var x = 1e-310\nq = x**2 + x", "float64"),
    ("var x = 0.5\nq = 1e-300 * sin(x) * 1e-20 * 1e300", "float64"),
]


@pytest.mark.parametrize(("text", "dtype"), UNDERFLOW)
def test_underflow(text: str, dtype: str) -> None:
    for order in (1, 2):
        options = CheckOptions(run=Options(dtype=dtype), order=order)
        node = parse_program(Source("<test>", f"{text}\noutput q"))
        assert alarms(check(node, {}, options)) == []


@pytest.mark.parametrize("sympy", [True, False])
def test_random_programs(sympy: bool) -> None:
    for program in programs(seed=3, count=6, statements=1):
        assert alarms(checked(program, sympy)) == [], program.text


@pytest.mark.parametrize("wrong", ["1.001", "(1.0 + 4e-9)"])
def test_a_mistake_in_a_function_beside_it_is_found(wrong: str) -> None:
    """Only where rounding moves the derivative as far, it can't be told."""
    rule = f"fn h(a) {{ return sin(a) * a }} backward (dy) {{ return dy * (cos(a) * a + sin(a)) * {wrong} }}"
    found = checked(
        Program(f"{rule}\nvar x = 0.7\nq = h(x) + erfinv(0.3 * x) + i0(x)\noutput q", 0, 1), True
    )
    assert alarms(found)
