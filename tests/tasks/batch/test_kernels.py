"""Rows that machine code computes: what it gives is what the interpreter gives for each row, and
doesn't depend on the rows beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.tiers import INTERPRETED, NATIVE, WRITTEN, only, policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.kernels.region_calls import RegionCall
from gradcli.engine.lowering.programs import lower_program
from gradcli.rows.blocks import Block
from gradcli.tasks.batch.block import Computer
from gradcli.tasks.batch.kernels import Kernels
from gradcli.tasks.batch.plan import Plan
from tests.tasks.batch.one_by_one import OPTIONS, assert_same, parsed

pytestmark = pytest.mark.skipif(
    not policy().compiles or not can_compile(0), reason="there is no machine code here"
)

X = np.array([0.3, -1.7, 2.5, 0.0, -0.0, 1.0, 7.25, 1e-310, np.inf, -np.inf, np.nan, 1e300, 40.0])
LONG = np.linspace(-3.0, 3.0, 600)

PROGRAMS = {
    "a formula": "var x\noutput y = x * exp(-x**2 / 2) + sin(3 * x)",
    "two variables, of which an output has one": (
        "var x\nvar w = 0.7\noutput y = x * w\noutput z = w * 2"
    ),
    "a branch": "var x\nif x > 0 { y = log(x) } else { y = x**2 }\noutput y",
    "a branch without a gradient": "var x\nif x > 0 { y = log(x) } else { y = 1.0 }\noutput y",
    "two of them": (
        "var x\nvar w = 2.0\ny = 1.0\nif x > 0 { y = x }\nz = 1.0\nif x > 1 { z = w }\noutput y, z"
    ),
    "a loop": "var x\ny = x\nfor i in range(7) { y = y * 0.5 + cos(x + i) }\noutput y",
    "a loop that rows leave": (
        "var x\nn = 0\ny = 1.0\nwhile n < 50 and y < abs(x) { y = y * 1.5 + 0.01 * x; n = n + 1 }\n"
        "output y, n"
    ),
    "a loop with `break`": (
        "var x\ny = x\nfor i in range(20) { y = y + 0.1 * sin(y)\nif y > 2 { break } }\noutput y"
    ),
    "loops in loops": (
        "var x\ny = x\nn = 0\nwhile n < abs(x) and n < 9 {\nk = 0\n"
        "while k < n and abs(y) < 20 { y = y + 0.3 * cos(y * k); k = k + 1 }\n"
        "y = y * 1.1\nn = n + 1\n}\noutput y, n"
    ),
    "a loop in the condition of a loop": (
        "fn up(z) { k = 0; while z < 1.5 and k < 9 { z = z + 0.3; k = k + 1 }; return z }\nvar x\ny = 0.5\nn = 0\n"
        "while n < 3 and up(x) > 0 {\nn = n + 1\np = 0.5\nif x > 0 { p = minimum(y, 2 * x) }\n"
        "y = p + 1.0\n}\noutput y"
    ),
    "lists of any length": (
        "var x\nl = [x]\nwhile len(l) < minimum(abs(x) * 5, 20) { l = append(l, l[-1] + 0.3)\n"
        "if l[-1] > 1 { l[0] = l[0] + x } }\ns = 0.0\nfor i, v in enumerate(l) { s = s + i * v * v }\n"
        "output s, len(l)"
    ),
    "a loop in a branch": (
        "var x\ny = x\nif x > 1 {\nfor i in range(6) { y = y * 0.9 + sin(y) }\n}\noutput y"
    ),
    "loops on both sides": (
        "var x\ny = x\nif x > 1 {\nfor i in range(6) { y = y * 0.9 + sin(y) }\n} else {\n"
        "while y < 5 { y = y + 1 + y**2 }\n}\noutput y"
    ),
    "a branch in a loop": (
        "var x\ny = x\nfor i in range(8) {\nif y > 1 { y = y / 2 } else { y = y * y + 0.1 }\n}\n"
        "output y"
    ),
    "loops in a branch in a loop": (
        "var x\ny = x\nfor i in range(5) {\nif y > 1 {\nwhile y > 0.5 and y < 1e4 { y = y * 0.7 }\n} else {\n"
        "for k in range(3) { y = y * y + 0.4 }\n}\n}\noutput y"
    ),
    "`continue`, and `break` from inside": (
        "var x\ny = x\nfor i in range(12) {\nif i % 3 == 1 { continue }\ny = y + 0.1 * exp(-y * y)\n"
        "if y > 2 { break }\n}\noutput y"
    ),
    "`return` from a loop": (
        "fn f(x) {\ny = x\nfor i in range(30) {\nif y > 3 { return y * i }\ny = y + 0.5\n}\n"
        "return y\n}\nvar x\noutput y = f(x)"
    ),
    "a derivative of a loop": (
        "fn f(x) {\ny = x\nwhile abs(y) > 0.3 { y = y * 0.6 * cos(y) }\nreturn y\n}\nvar x\n"
        "output y = grad(f)(x) * x"
    ),
    "a tangent through a loop": (
        "fn f(x) {\ny = x\nwhile abs(y) > 0.3 { y = y * 0.6 * cos(y) }\nreturn y\n}\nvar x\n"
        "output y = jvp(f)(x, 2.0)"
    ),
    "Newton's method": (
        "fn root(a) {\nx = a\nn = 0\n"
        "while abs(x * x - a) > 1e-9 * a and n < 50 { x = (x + a / x) / 2; n = n + 1 }\n"
        "return x\n}\nvar x\noutput y = root(abs(x))"
    ),
    "ints of a loop that overflow": (
        "const n: int64\nvar w = 0.5\nk = 1\nfor i in range(6) { k = k * n + i }\noutput y = k * w"
    ),
    "ints of a loop that divide by zero": (
        "const n: int64\nvar w = 0.5\nk = 0\nfor i in range(4) { k = k + 100 // (n - i) }\n"
        "output y = k * w"
    ),
    "a number of iterations that overflows": (
        "const n: int64\nvar w = 0.5\ny = w\nfor i in range(-n * n * n) { y = y * 0.99 + 0.1 * sin(y) }\n"
        "output y"
    ),
    "ints that overflow on the way to loops": (
        "const n: int64\nvar w = 0.5\ny = w\nk = 1\nfor i in range(6) {\nk = k * n + i\n"
        "if k % 2 == 0 {\nfor j in range(abs(k) % 3) { y = y * 0.9 + sin(y) }\n} else {\n"
        "m = 0\nwhile m < abs(k) % 4 { y = cos(y) * 1.1; m = m + 1 }\n}\n}\noutput y"
    ),
    "an index in a loop": (
        "const n: int64\nvar w = 0.5\nv = [1.0, 2.0, 4.0, 8.0]\ny = w\nk = 0\n"
        "while k < n { y = y * v[k]; k = k + 1 }\noutput y"
    ),
    "an index in a `for`": (
        "const n: int64\nvar w = 0.5\nv = [1.0, 2.0, 4.0, 8.0]\ny = w\n"
        "for k in range(n) { y = y * v[k] }\noutput y"
    ),
    "a function of its own": "fn f(a, b) = a * b + a\nvar x\noutput y = f(f(x, 2), x)",
    "recursion": (
        "fn f(a, n) {\nif n <= 0 { return a }\nreturn a * f(a / 2, n - 1)\n}\nvar x\n"
        "output y = f(x, 4)"
    ),
    "a derivative": "fn f(a) = a**3 * sin(a)\nvar x\noutput y = grad(f)(x)\noutput z = f(x)",
    "ints": "const n: int64\noutput y = n * n % 7\noutput z = n // 3",
    "ints that overflow": "const n: int64\nvar w = 0.5\noutput y = n * n * n\noutput z = n * w",
    "bools": "var x\noutput y = x > 1\noutput z = not (x > 1) or x < -1",
    "a list and a dict": 'var x\noutput y = [x, x**2]\noutput d = {"a": x, "b": 2 * x}',
    "an array": "var x\na = [x, 2.0, x**2] * 1.0\noutput a\noutput s = sum(a * a)",
    "an index that a float gives": (
        "var x\nv = [1.0, 2.0, 3.0]\noutput y = v[int64(abs(x))] * x\noutput k = int64(x) // 2"
    ),
    "floats as ints in a loop": (
        "var x\ny = x\nfor i in range(5) { k = int64(y)\ny = y * 0.5 + k }\noutput y"
    ),
    "an index that some rows have": (
        "const n: int64\nvar w = 2.0\nv = [1.0, 2.0, 3.0]\noutput y = v[n] * w"
    ),
    "an expectation": "var x\nexpect x > 0\noutput y = log(x)",
    "one of some rows": "var x\nif x > 1 { expect x < 30 }\noutput y = x",
    "a table that all rows share": (
        "var x\nt = sin(linspace(0.0, 16.1, 24)) / 3\ns = 0.0\nfor k in range(24) { s = s + t[k] * cos(k) }\n"
        "output y = s * x + sum(t * x)\noutput s"
    ),
    "a table that rows change": (
        "var x\nt = zeros(20) + 0.5\nfor k in range(20) { t[k] = sin(k) }\nt[3] = x\nt[5] = t[5] * x\n"
        "output y = sum(t * t)"
    ),
    "an index of a table": (
        "const n: int64\nvar w = 2.0\nv = sin(arange(20))\noutput y = v[n] * w + logsumexp([w, n])"
    ),
    "an overflow in all rows": (
        "const n: int64\nvar w = 2.0\nk = 1\nfor i in range(70) { k = k * 3 }\noutput y = k * w * n"
    ),
    "an expectation of all rows": (
        "const n: int64\nvar w = 2.0\na = 0.5\nexpect a > 1\noutput y = n * w"
    ),
    "a softmax": (
        "var x\na = softmax([x, 1.0, 2 * x])\noutput y = logsumexp([x, 0.5]) * a[0]\noutput b = a[1]"
    ),
    "what is close": "var x\nexpect x ~= 1 within (atol=9)\noutput y = x",
    "infinities that are close": 'var x\nexpect x*x ~= abs(x)*abs(x), "squares"\noutput y = x',
    "arrays that are close": (
        "var x\nexpect array([x, 1.0]) ~= array([x + 1e-13, 1.0]) within (rtol=0.1)\noutput y = x"
    ),
    "what is close in a function": (
        "fn f(x) {\nfor i in range(3) { expect x ~= 1 within (rtol=i*3.0) }\nreturn x*x\n}\n"
        "var x\noutput y = f(x)"
    ),
    "what is printed": (
        'var x\nv = [1.0, 2.0]\nfn f(x) {\nprint "f", f"at {x:.3f} and {v}", v\nreturn x*x\n}\n'
        "print x, f(x), v[int64(abs(x))]\noutput y = f(x)"
    ),
    "a constant": "var x\noutput y = x + 1\noutput c = 3\noutput v = [1.0, 2.0]",
    "angles and lengths": "var x\noutput y = atan2(x, 2 - x)\noutput r = hypot(x, 3e-4)",
    "kinks": "var x\noutput y = abs(x) + maximum(x, 0.5) + relu(x - 1)",
    "where": "var x\noutput y = where(x > 0, sqrt(x), 0.0)",
    "a hidden pole": "var x\noutput y = where(x == 0, 1.0, sin(x) / x)",
    "functions of the table": (
        "var x\noutput a = tanh(x) + erf(x) + atan(x)\noutput b = log1p(x**2) + expm1(-x**2)"
    ),
}


def kernels_for(text: str, columns: dict[str, Any], **options: Any) -> Kernels:
    node, asked = parsed(text), OPTIONS.with_changes(**options)
    return Kernels(Plan(node.source, asked, columns={name: name for name in columns}), node)


def column_of(text: str) -> dict[str, Any]:
    if "const n" in text:
        return {"n": np.array([1, 5, -3, 10**9, 0, 12, 7], np.int64)}
    return {"x": X}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_those_of_the_interpreter(name: str) -> None:
    text = PROGRAMS[name]
    columns = column_of(text)
    assert kernels_for(text, columns).has(columns)
    with np.errstate(all="ignore"):
        assert_same(parsed(text), columns)


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_in_float32(name: str) -> None:
    text = PROGRAMS[name]
    columns = column_of(text)
    assert kernels_for(text, columns, dtype="float32").has(columns)
    with np.errstate(all="ignore"):
        assert_same(parsed(text), columns, OPTIONS.with_changes(dtype="float32"), rtol=1e-4)


@pytest.mark.parametrize(("n", "mode"), [(4, "forward"), (4, "reverse"), (20, "reverse")])
def test_arrays_of_rows(n: int, mode: str) -> None:
    """Of elements that are held as scalars, and of so many that they are arrays in the kernel."""
    rng = np.random.default_rng(3)
    columns = {"x": rng.normal(size=(43, n)), "m": rng.normal(size=(43, 2, n - 1))}
    text = (
        f"var x: float[{n}]\nvar m: float[2, {n - 1}]\n"
        "output f = sum((x[1:] - x[:-1]**2)**2) * sum(m @ m.T)"
    )
    kernels = kernels_for(text, columns)
    last = {name: np.moveaxis(column, 0, -1) for name, column in columns.items()}
    assert kernels.has(last)
    _, others = kernels.compute(last, 43)
    assert others.size == 0
    assert_same(parsed(text), columns, OPTIONS.with_changes(mode=mode), rtol=1e-11)


WITHOUT_REJECTS = [
    k for k, text in PROGRAMS.items() if not re.search(r"const n|expect|v\[int64", text)
]


@pytest.mark.parametrize("name", WITHOUT_REJECTS)
@pytest.mark.parametrize("cuts", [[1, 2, 3], [255, 256, 257], [512]])
def test_a_row_has_the_same_bits_wherever_it_stands(name: str, cuts: list[int]) -> None:
    text = PROGRAMS[name]
    node = parsed(text)
    x = LONG
    plan = Plan(node.source, OPTIONS, columns={"x": "x"})
    fields, *_ = Computer(plan, node).probe(Block(0, len(x), columns={"x": x}))
    computer = Computer(replace(plan, fields=fields, tile=2**16), node)

    def columns(x: Any) -> dict[str, bytes]:
        outcome = computer.compute(Block(0, len(x), columns={"x": x}))
        assert not outcome.rejects
        found = {}
        for column in outcome.columns:
            absent = np.zeros(len(x), bool) if column.mask is None else column.mask
            found[column.name] = [
                b"" if none else value.tobytes()
                for value, none in zip(column.values, absent, strict=True)
            ]
        return {name: b"|".join(parts) for name, parts in found.items()}

    whole = columns(x)
    for start, stop in zip([0, *cuts], [*cuts, len(x)], strict=True):
        if start < stop <= len(x):
            part = columns(x[start:stop])
            for column, bits in part.items():
                assert bits in whole[column]


@pytest.mark.parametrize(
    "text",
    [
        'var x\nprint f"{x:d}"\noutput y = x',
        "var x\nexpect [x, 1] ~= [x, 2]\noutput y = x",
        "var x\ny = 2.0\nif x > 1 { x = 2 * x }\noutput y = y * x",
        'var x\noutput y = x\noutput s = "text"',
        "var x\noutput y = gammainc(2.0, abs(x))",
        "var x\nv = zeros([int64(abs(x))]) + x\noutput y = sum(v)",
        "var x\noutput y = 1 if x > 0 else 0.5",
    ],
)
def test_the_others_are_the_interpreters(text: str) -> None:
    columns = {"x": np.array([0.5, 1.5, 2.5])}
    assert not kernels_for(text, columns).has(columns)
    with only(WRITTEN):
        assert_same(parsed(text), columns)


def test_regions_that_llvm_would_compile_for_long_are_the_interpreters() -> None:
    columns = {"x": np.array([0.5, 1.5])}
    terms = [f"sin({k} * x) * cos(x / {k})" for k in range(1, 500)]
    few, many = (f"var x\noutput y = {' + '.join(terms[:n])}" for n in (20, 499))
    assert kernels_for(few, columns).has(columns)
    assert not kernels_for(many, columns).has(columns)


def test_columns_of_other_types() -> None:
    text = "var x\noutput y = x / 3"
    for dtype in ("int64", "int32", "float32", "uint8", "float64"):
        columns = {"x": np.array([1, 2, 3, 100], dtype)}
        assert_same(parsed(text), columns)
    kernels = kernels_for(text, {"x": np.array([1.0])})
    given = {"x": np.array([1, 2**53 + 1])}  # of which a float would be another number
    answered, others = kernels.compute(given, 2)
    assert [*answered] == []
    assert others.tolist() == [0, 1]


def test_ints_that_files_hold_as_floats() -> None:
    text = "const n: int64\nvar w = 0.5\noutput y = w * (7 // n) + n"
    whole = {"n": np.array([2.0, -3.0, -0.0, 2.0**40, 1.0])}
    assert_same(parsed(text), whole)
    kernels = kernels_for(text, whole)
    _, others = kernels.compute(whole, 5)
    assert others.tolist() == [2]  # a division by 0
    for odd in (2.5, np.nan, np.inf, 2.0**63):
        _, others = kernels.compute({"n": np.array([1.0, odd])}, 2)
        assert others.tolist() == [0, 1]
        assert_same(parsed(text), {"n": np.array([1.0, odd])})


def test_elements_of_an_array_that_rows_share() -> None:
    """Of which some rows read where there are none."""
    text = (
        "const n: int64\nvar w = 0.5\nconst k: float[20]\ny = w\n"
        "for i in range(3) { y = y + k[n + 5 * i] * y }\noutput y"
    )
    node, shared = parsed(text), {"k": np.linspace(1, 2, 20)}
    plan = Plan(node.source, OPTIONS, columns={"n": "n"}, shared=shared)
    block = Block(0, 60, columns={"n": np.arange(60) - 25})
    fields, *_ = Computer(plan, node).probe(block)
    found = []
    for how in (NATIVE, INTERPRETED):
        with only(how):
            assert Kernels(plan, node).has({"n": block.columns["n"]}) == (how == NATIVE)
            outcome = Computer(replace(plan, fields=fields, tile=2**10), node).compute(block)
        rejected = [(r.row, r.diagnostics[0].message) for r in outcome.rejects]
        found.append((rejected, [c.values for c in outcome.columns]))
    assert found[0][0] == found[1][0] != []
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


def test_rows_of_one_column_that_is_shared() -> None:
    node = parsed("var x\nconst k: float[3]\noutput y = sum(k * x)\noutput d = k[0]")
    shared = {"k": np.array([1.0, 2.0, 3.0])}
    plan = Plan(node.source, OPTIONS, columns={"x": "x"}, shared=shared)
    assert Kernels(plan, node).has({"x": X})
    block = Block(0, 3, columns={"x": np.array([1.0, 2.0, 4.0])})
    fields, *_ = Computer(plan, node).probe(block)
    outcome = Computer(replace(plan, fields=fields, tile=64), node).compute(block)
    values = {column.name: column.values.tolist() for column in outcome.columns}
    assert values["y"] == [6.0, 12.0, 24.0]
    assert values["dy/dx"] == [6.0, 6.0, 6.0]


def test_what_rows_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all blocks of rows, unless it follows from an array."""
    calls: list[list[Any]] = []
    run = RegionCall.run

    def noted(self: RegionCall, numbers: list[Any], calls_: int = 1) -> list[Any]:
        calls.append(numbers)
        return run(self, numbers, calls_)

    monkeypatch.setattr(RegionCall, "run", noted)
    text = "var x\nvar w = 0.5\nconst k: float[20]\noutput y = sum(sin(arange(20) * w)) * x * {}"
    for factor, times in (("1.0", 1), ("k[2]", 3), ("sum(exp(k))", 3)):
        node = parsed(text.format(factor))
        shared = {"k": np.linspace(0.0, 1.0, 20), "w": 0.25}
        kernels = Kernels(Plan(node.source, OPTIONS, columns={"x": "x"}, shared=shared), node)
        calls.clear()
        for _ in range(3):
            answered, others = kernels.compute({"x": X}, len(X))
            assert len([*answered]) == 1
            assert others.size == 0
        assert len(calls) == times


def test_straight_code_has_no_branches() -> None:
    """Otherwise LLVM computes rows one by one."""
    from gradcli.engine.codegen.llvm_rows.group_sizes import GROUP
    from gradcli.engine.codegen.llvm_rows.layout import Layout, Placement
    from gradcli.engine.codegen.llvm_rows.regions import rows_text  # llvmlite

    def branches(output: str) -> int:
        node = parsed(f"const n: int64\nvar x\ny = softmax([x, 2 * x])\noutput {output}")
        lowered = lower_program(node, {"n": 1, "x": 0.5})
        column = Placement(Layout.COLUMN)
        columns = [column] * len(lowered.parameters)
        found = rows_text(lowered.region, lowered.others, columns, [column])
        body = re.search(r'define [^\n]*@"rows"(.*?)^}', found.text, re.M | re.S)
        assert body
        assert found.multiple == GROUP
        return body[1].count("br i1")

    assert branches("y[0] * (n + n * n // 3)") == branches("x + 1")
