"""Regions against the interpreter: the same bits, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcli
from gradcli.engine.codegen.python.regions import compiled
from gradcli.engine.ir.verifier import verify
from gradcli.engine.lowering.programs import lower_program

from .region_cases import HEAD, PROGRAMS, STEPS_BACK, compare, lowered, outputs_of, same
from .region_programs import Writer


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_regions_give_the_bits_of_the_interpreter(source: str) -> None:
    assert compare(HEAD + source) == "same"


@pytest.mark.parametrize(("source", "code"), STEPS_BACK.items())
def test_what_is_out_of_the_ordinary_steps_back(source: str, code: str) -> None:
    assert compare(HEAD + source) == code


REASONS = {
    "print x": (3, "`print` is not compiled"),
    "k = 0\nfor i in range(n) { k = [k] }\noutput k": (4, "a name changes its kind in this loop"),
    "a = 1\nif x > 1 { a = [x] }\noutput a": (
        4,
        "the paths that meet here hold values of different kinds",
    ),
    "v = [x, x, x, x, x, x, x, x, x, x, x, x]\ns = 0.0\n"
    "for a in v { for b in v { for c in v { for d in v { s += a } } } }\noutput s": (
        5,
        "this makes the region too large",
    ),
    "output sin": (3, "this output is no number, and no list of these"),
    "fn f(a) { return a * x } backward (dy) { return dy }\noutput f(2.0)": (
        4,
        "a rule of a function that captures variables is not compiled",
    ),
    "opaque fn f(a) { return a }\noutput f(x)": (4, "an opaque function is not compiled"),
    "output grad(x**2, n)": (3, "a gradient that isn't connected is not compiled"),
    "output n ** n": (3, "an int that isn't known here is not compiled"),
    "z = 1j\noutput z": (3, "complex numbers are not compiled"),
    "x := [2.0]\noutput x": (3, "a new state of another shape is not compiled"),
    "y = x if n > 2 else 1.0\nx := 2.0\noutput y": (
        4,
        "a value that is a variable on only one path is not compiled",
    ),
    "output rfft([x, 2.0])": (3, "`rfft` of these operands: complex numbers are not compiled"),
}


@pytest.mark.parametrize(("source", "wanted"), REASONS.items())
def test_what_is_in_no_region_says_why(source: str, wanted: tuple[int, str]) -> None:
    reasons = lowered(HEAD + source).reasons
    assert wanted in [(r.span.line, r.reason) for r in reasons if r.span is not None]
    assert lowered(HEAD + source).results == {}


def test_a_long_chain_is_lowered_without_recursion() -> None:
    assert compare(f"{HEAD}output {' + '.join(['x'] * 3000)}\n") == "same"


IMPORTED = """c = 2.5
var w = 1.25
const k = 3
v = [1.0, w]
fn f(a, b = c) = a * b + w
fn g(a) { s = 0; for i in range(k) { s += f(a, i) }; return s }
fn h(a, d) = a if d == 0 else h(f(a), d - 1)
print "a"
t = fft([[1.0, 2.0]])
output w
"""
MAIN = """import "library.tg" as lib
var x = 1.5
fn own(a, d) = lib.f(a) if d == 0 else own(a + 1, d - 1)
output a = lib.f(x)
output b = lib.f(x, b = 3) + lib.g(x) * lib.c
output c = [lib.w * x, lib.k, lib.v[1]]
output d = lib.h(x, 3) + own(x, 2)
"""


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "library.tg").write_text(IMPORTED)
    (tmp_path / "main.tg").write_text(MAIN)
    program = gradcli.load(tmp_path / "main.tg")
    found = lower_program(program._resolved, {})
    verify([found.region, *found.others])
    assert found.reasons == []
    states = {"x": 1.5, "lib.w": 1.25, "lib.k": 3}
    results = compiled(found.region, found.others)(*[states[name] for name in found.parameters])
    outputs, wanted = outputs_of(found, results), program.with_options(grad=False).run().outputs
    assert all(same(outputs[name], wanted[name]) for name in wanted)


def test_what_isnt_compiled_of_an_import_says_so_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "library.tg").write_text(IMPORTED)
    (tmp_path / "main.tg").write_text('import "library.tg" as lib\noutput lib.t[0, 0]\n')
    found = lower_program(gradcli.load(tmp_path / "main.tg")._resolved, {})
    [reason] = found.reasons
    assert reason.reason == "`fft` of these operands: complex numbers are not compiled"
    assert reason.span is not None
    assert (reason.span.source.name, reason.span.line) == (str(tmp_path / "library.tg"), 9)


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    compare(Writer(seed).program())


def test_random_programs_are_regions() -> None:
    """Most of them are compiled, so that they are compared at all."""
    outcomes = [compare(Writer(seed).program()) for seed in range(100)]
    assert outcomes.count("same") > 30
