"""Closed forms as code: what Python, NumPy, C, Rust and Fortran compute with it is what `eval`
computes."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradcli.diagnostics import Source
from gradcli.engine.symbolic.calculus import flat
from gradcli.ops import OPS
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Evaluation, Options
from gradcli.tasks.programs import parse_program
from gradcli.tasks.symbolic import ClosedForms, closed_forms, written

from ..domain_points import points

# Names that are keywords or functions in one language or another, letters beyond ASCII, and two
# that differ by case only.
PLAIN = """
var x = 0.7; var X = [1.5, 2.5]; var α = 0.3; var lambda = 2.0; var double = 0.1; var exp_ = 1.25; var fn_1 = -0.4
var w = [[1.0, 2.0], [3.0, 4.0]]; var end = 1.5; var gamma_ = 0.2; var math = 0.4
f = x**2*sin(double)/3 + sqrt(α)*X[1]**lambda + sum(X) - sigmoid(x)*0.1 + relu(x - 2/3) + maximum(x, α) + pi/x**2 + 1e20*gamma_
value = w @ X * x + exp(exp_) - e
out = x**end if x > 0 and end < 2 else log(fn_1)
do = floor(3*x) + ceil(end) + abs(fn_1) * sign(fn_1) + minimum(end, atan2(x, end)) + (0.0 if x == 1 else -x) - 1/(-math)
both = [x, x * X]
output f, value, out, do, both
"""
SPECIAL = "var x = 0.7; var a = 1.5; y = a * erf(x) + erfc(a)"
MORE = (
    "var x = 0.7; var a = 1.5; y = gamma(a) + lgamma(a) + digamma(a) + i0(x) "
    "+ betainc(2.0, 3.0, x) + gammainc(2.0, x) + erfinv(x) + ndtri(x / 2)"
)
# What a language's printer may take for ints, for a quotient of ints, for a literal without a type,
# or for another name.
HARD = """
var x = 0.7; var y = 0.3; var hypot = 0.4; var t0 = 1.5; var n = [2.0, 0.25]; var z = 0.6; var e1 = 0.2
var a_name_that_is_much_longer_than_the_sixty_three_letters_that_fortran_allows_its_names_to_have = 2.0
a = (1/3)**x + 2**x + x**(1/3) + x**-2 - x**2 + (x + 1)**-0.5 + x**1e-5 + (-2/3)*x + y/x/t0 - x/(y*t0)
b = exp(1/3)*x + sin(where(x > 0, 1.0, 2.0))*x + sqrt(x + where(x > 0.5, 1.0, 2.0)) + exp(0.1)*abs(-3.0)**x + cos(2)*x
c = sign(x)/(2*sign(-y)) + where((x > y or x < 0.1) and not (y > 2), 1.0, 0.0)/where(x < y, 2.0, 4.0)
round = a_name_that_is_much_longer_than_the_sixty_three_letters_that_fortran_allows_its_names_to_have*t0*exp(x*t0)/(1 + exp(x*t0))
j0 = maximum(maximum(x, y), t0) + minimum(minimum(x, y), t0)*floor(3e10*x) + ceil(-3e10*x)*floor(-y)
gamma = 5000000000*x + 123456789012345678*y*1e-17 + 1e-20*x + 1e5*y + e*x + pi*sin(pi*y)
log = tanh(x)**-2 + hypot**2/sinh(z) - 1/cosh(hypot*z)**3 + (x*hypot - z)**2/(x*hypot - z + 1)
s = n/sum(n*exp(x*n)) + exp(x*n)
real = cos(x)*abs(relu(x/y))
sum_ = e1*log10(x)
output a, b, c, round, j0, gamma, log, s, real, sum_
"""


def table() -> str:
    """A program with every function of the table that goes element by element. (Of `angle` the
    derivative alone has words.)"""
    lines = []
    ops = [
        op
        for op in OPS.values()
        if op.passes_floats and not op.internal and not op.infix and op.name != "angle"
    ]
    for op in ops:
        operands = [f"{op.name}_{k}" for k, _ in enumerate(op.signature.operands)]
        lines += [
            f"var {name} = {value!r}" for name, value in zip(operands, points(op)[0], strict=True)
        ]
        lines.append(f"of_{op.name} = {op.name}({', '.join(operands)})")
    return "\n".join([*lines, "output " + ", ".join(f"of_{op.name}" for op in ops)])


TABLE = table()


class Case(NamedTuple):
    """One function of the generated code: its name there, its arguments, what it should give."""

    name: str
    arguments: list[Any]
    expected: Any


@cache
def answers(text: str) -> tuple[Evaluation, ClosedForms]:
    node = parse_program(Source("<expr>", text))
    return evaluate(node, {}, Options()), closed_forms(node, {}, Options())


def cases(text: str, to: str) -> tuple[str, list[Case]]:
    """The code of a program, and its functions in order."""
    evaluation, forms = answers(text)
    answer = written(forms, to)
    omitted = [d.message.rpartition("which ")[2] for d in answer.diagnostics if d.code == "E340"]
    assert text == TABLE or not answer.diagnostics
    expected = [
        found for title, *found in quantities(evaluation, forms) if f"{title} needs" not in omitted
    ]
    names = re.findall(PATTERNS[to], answer.code, re.M)
    assert len(names) == len(expected)
    return answer.code, [
        Case(name, arguments, value)
        for name, (arguments, value) in zip(names, expected, strict=True)
    ]


PATTERNS = {
    "python": r"^def (\w+)\(", "numpy": r"^def (\w+)\(", "c": r"^(?:double|void) (\w+)\(",
    "rust": r"^pub fn (\w+)\(",
    "fortran": r"^  pure function (?:&\s+)?(\w+)\(", "julia": r"^function (\w+)\(",
}  # fmt: skip


def quantities(evaluation: Any, forms: ClosedForms) -> Iterator[tuple[str, list[Any], Any]]:
    """What the functions of the code are, the arguments that they take and what they give, in
    order."""
    for of, value in forms.values.items():
        rows = {
            by: form for by, form in forms.derivatives[of].items() if by[0] not in forms.idle[of]
        }
        free = set().union(
            *(form.free_symbols for part in (value, *rows.values()) for form in flat(part))
        )
        used = [
            symbols for symbols in forms.sources.values() if any(s in free for s in flat(symbols))
        ]
        arguments = [number(symbols, forms) for symbols in used]
        outputs = evaluation.outputs[of]
        for part in outputs if isinstance(outputs, list) else [outputs]:
            yield f"the value of {of}", arguments, part
        for by in rows:
            gradient = evaluation.gradients[of][by[0]]
            value = (
                np.zeros(np.shape(forms.sources[by[0]])) if gradient is None else gradient
            )  # only the other path reads it
            yield f"the derivative of {of} with respect to {by[0]}", arguments, value


def number(symbols: Any, forms: ClosedForms) -> Any:
    if not hasattr(symbols, "shape"):
        return float(forms.point[symbols])
    return np.array([forms.point[s] for s in symbols.flat]).reshape(symbols.shape)


def verify(found: list[Case], call: Callable[[Case], Any]) -> None:
    for case in found:
        tolerance = (
            1e-9 if "of_" in case.name else 1e-13
        )  # forms such as log(1 + x), for log1p, lose digits
        np.testing.assert_allclose(
            call(case), case.expected, rtol=tolerance, atol=1e-15, err_msg=case.name
        )


def as_lists(arguments: list[Any]) -> list[Any]:
    return [a.tolist() if hasattr(a, "tolist") else a for a in arguments]


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ("python", PLAIN),
        ("python", SPECIAL),
        ("python", HARD),
        ("numpy", PLAIN),
        ("numpy", SPECIAL),
        ("numpy", MORE),
        ("numpy", HARD),
        ("python", TABLE),
        ("numpy", TABLE),
    ],
)
def test_python(to: str, text: str) -> None:
    code, found = cases(text, to)
    module: dict[str, Any] = {}
    exec(
        compile(code, "<generated>", "exec"), module
    )  # written by this program, from this program's tests
    with np.errstate(all="ignore"):  # NumPy computes both sides of a choice
        verify(
            found,
            lambda case: module[case.name](
                *(as_lists(case.arguments) if to == "python" else case.arguments)
            ),
        )


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("text", [PLAIN, SPECIAL, HARD, TABLE])
def test_c(text: str, tmp_path: Path) -> None:
    code, found = cases(text, "c")
    (tmp_path / "forms.c").write_text(code, encoding="ascii")
    compile_with(
        "gcc",
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        "forms.so",
        "forms.c",
        "-lm",
        folder=tmp_path,
    )
    library = ctypes.CDLL(str(tmp_path / "forms.so"))

    def call(case: Case) -> Any:
        function, shape = getattr(library, case.name), np.shape(case.expected)
        arguments: list[Any] = [
            ctypes.c_double(a) if isinstance(a, float) else a.ctypes.data_as(ctypes.c_void_p)
            for a in case.arguments
        ]
        if not shape:
            function.restype = ctypes.c_double
            return function(*arguments)
        out = np.zeros(shape)
        function(*arguments, out.ctypes.data_as(ctypes.c_void_p))
        return out

    verify(found, call)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler")
@pytest.mark.parametrize("text", [PLAIN, HARD, TABLE])
def test_rust(text: str, tmp_path: Path) -> None:
    code, found = cases(text, "rust")

    def literal(value: Any) -> str:
        return f"&{json.dumps(value.tolist())}" if hasattr(value, "shape") else repr(value)

    calls = "".join(
        f'    println!("{{:?}}", {case.name}({", ".join(map(literal, case.arguments))}));\n'
        for case in found
    )  # numbers and brackets, as JSON has them
    (tmp_path / "forms.rs").write_text(
        f"#![allow(warnings)]\n{code}\nfn main() {{\n{calls}}}\n", encoding="utf-8"
    )
    compile_with("rustc", "-o", "forms", "forms.rs", folder=tmp_path)
    lines = subprocess.run(
        [tmp_path / "forms"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    answers = dict(zip((case.name for case in found), map(json.loads, lines), strict=True))
    verify(found, lambda case: answers[case.name])


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="no Fortran compiler")
@pytest.mark.parametrize("text", [PLAIN, SPECIAL, HARD, TABLE])
def test_fortran(text: str, tmp_path: Path) -> None:
    code, found = cases(text, "fortran")

    def literal(value: Any) -> str:
        if isinstance(value, float):
            return f"{value!r}_dp"
        flat_values = f"[{', '.join(f'{v!r}_dp' for v in value.ravel(order='F').tolist())}]"
        return flat_values if value.ndim < 2 else f"reshape({flat_values}, {list(value.shape)})"

    calls = "".join(
        f"  print *, {case.name}({', '.join(map(literal, case.arguments))})\n" for case in found
    )
    main = f"program main\n  use closed_forms\n  use, intrinsic :: iso_fortran_env, only: dp => real64\n{calls}end program\n"
    (tmp_path / "forms.f90").write_text(f"{code}\n{main}", encoding="ascii")
    compile_with("gfortran", "-ffree-line-length-none", "-o", "forms", "forms.f90", folder=tmp_path)
    lines = subprocess.run(
        [tmp_path / "forms"], capture_output=True, text=True, check=True
    ).stdout.split()
    numbers = iter(map(float, lines))

    def printed(case: Case) -> Any:
        return np.array([next(numbers) for _ in range(np.size(case.expected))]).reshape(
            np.shape(case.expected), order="F"
        )

    verify(found, printed)


def test_fortran_keeps_to_its_rules() -> None:
    code, found = cases(PLAIN, "fortran")
    assert code.isascii()
    assert max(map(len, code.splitlines())) <= 132
    names = [case.name.casefold() for case in found]
    assert len(set(names)) == len(names)
    for head in re.findall(r"pure function (\w+)\(([^)]*)\)", code):
        words = [head[0], *head[1].split(", "), "value", "dp"]
        assert len({word.casefold() for word in words}) == len(words), head
        assert not {"do", "end", "out"} & set(words)
    assert re.search(r"real\(dp\), intent\(in\) :: X_\(2\)", code)
    assert code.count("pure function") == code.count("end function")


def test_julia() -> None:
    code, _ = cases(PLAIN, "julia")
    assert "function f(x, X, α, lambda, double, gamma_, math)" not in code
    assert "function f(x, X, α, lambda, double, gamma_)" in code
    assert "X[2]^lambda*sqrt(α)" in code
    assert "end_" in code
    assert cases(SPECIAL, "julia")[0].startswith("using SpecialFunctions\n")


@pytest.mark.parametrize(
    ("to", "word"),
    [("c", "polygamma"), ("rust", "erf"), ("python", "besseli"), ("fortran", "polygamma")],
)
def test_what_a_language_has_no_word_for_is_left_out(to: str, word: str) -> None:
    text = "var x = 0.7; y = erf(x); z = gamma(x) * x; v = i0(x); u = x**2; output y, z, v, u"
    answer = written(closed_forms(parse_program(Source("<expr>", text)), {}, Options()), to)
    assert {d.code for d in answer.diagnostics} == {"E340"}
    assert any(word in d.message for d in answer.diagnostics)
    names = re.findall(PATTERNS[to], answer.code, re.M)
    assert {"u", "du_dx"} <= set(names) < {"y", "dy_dx", "z", "dz_dx", "v", "dv_dx", "u", "du_dx"}


def compile_with(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def functions(to: str, text: str) -> str:
    return written(closed_forms(parse_program(Source("<expr>", text)), {}, Options()), to).code


@pytest.mark.parametrize("to", ["python", "numpy"])
def test_parts_of_complex_variables_are_read_from_them(to: str) -> None:
    module: dict[str, Any] = {}
    exec(functions(to, "var z = complex128(1.0); w = z * z * 1j; f = real(w); output f"), module)
    assert module["f"](2.0 - 3.0j) == (1j * (2.0 - 3.0j) ** 2).real
    assert functions("c", "var z = complex128(1.0); f = real(z * z)") == ""


def test_what_occurs_twice_is_computed_once() -> None:
    code = functions(
        "c", "var x = 0.7; var t0 = 2.0; f = exp(x * t0) / (1 + exp(x * t0)); output f"
    )
    assert "const double t0_ = exp(t0*x);\n    return t0_/(t0_ + 1.0);" in code


def test_branches_are_not_computed_before_they_are_chosen() -> None:
    module: dict[str, Any] = {}
    exec(
        functions("python", "var x = 2.0; f = where(x > 0, log(x) + log(x)**2, 0.0); output f"),
        module,
    )
    assert module["f"](-1.0) == 0


def test_julia_has_orders_that_are_ints() -> None:
    code = functions(
        "julia", "var x = 0.7; var y = 0.3; f = digamma(x) + betainc(2.0, 3.0, x) + atan2(x, y)"
    )
    for call in ("polygamma(0, x)", "polygamma(1, x)", "beta_inc(2.0, 3.0, x)[1]", "atan(x, y)"):
        assert call in code
