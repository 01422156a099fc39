"""`gradcli diff`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.tasks.comparing import distances
from gradcli.tasks.comparison import Tolerance

Run = Callable[..., Any]
X = "var x = [1.0, 2.0, 3.0] in (0, 4)\n"


@pytest.fixture
def diff(gradcli: Run, tmp_path: Path) -> Run:
    """Compares two texts, in files."""

    def call(old: str, new: str, *options: str) -> Any:
        (tmp_path / "old.tg").write_text(old)
        (tmp_path / "new.tg").write_text(new)
        return gradcli("diff", "old.tg", "new.tg", *options)

    return call


# ---- what is told --------------------------------------------------------------------------------


def test_what_is_the_same(diff: Run) -> None:
    done = diff(X + "y = sum(x * x)", X + "y = sum(x**2)")
    assert (done.code, done.err) == (0, "")
    assert done.out == "y        equal\n∂y/∂x    equal\n2 equal, 0 differ\n"


def test_the_worst_element_with_its_distance(diff: Run) -> None:
    done = diff(X + "y = x * 2", X + "y = x * [2.0, 2.0000000000000004, 2.000000000000004]")
    assert done.code == 1
    assert done.out.splitlines() == [
        "y         2 of 3 elements differ, most at [2]: 6.0 became 6.000000000000012, 14 ulps",
        "∂Σy/∂x    2 of 3 elements differ, most at [2]: 2.0 became 2.000000000000004, 9 ulps",
        "0 equal, 2 differ",
    ]


def test_outputs_and_variables_of_one_version(diff: Run) -> None:
    done = diff(
        "var x = 2.0\nvar a = 1.0\ny = x\nz = x\noutput y\noutput z",
        "var x = 2.0\nvar b = 1.0\ny = x\nw = x\noutput y\noutput w",
    )
    assert done.code == 1
    assert done.out.splitlines()[2:] == [
        "only OLD (old.tg) has the output `z`",
        "only OLD (old.tg) has the variable `a`",
        "only NEW (new.tg) has the output `w`",
        "only NEW (new.tg) has the variable `b`",
        "2 equal, 4 differ",
    ]


def test_a_gradient_that_is_lost(diff: Run) -> None:
    done = diff("var x = 2.0\ny = x**2", "var x = 2.0\ny = detach(x)**2")
    assert done.code == 1
    assert done.out.splitlines()[:2] == ["y        equal", "∂y/∂x    a number became none"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[x, 1.0]", "[x]", "a list of 2 became a list of 1"),
        ("[x, [1.0, 2.0]]", "[x, [1.0, 3.0]]", "at [1][1]: 2.0 became 3.0"),
        ('{"a": x}', '{"b": x}', 'the keys "a" became a dict with the keys "b"'),
        ('{"a": x}', '{"a": 2*x}', 'at ["a"]: 2.0 became 4.0'),
        ("array([x, x])", "x", "an array of shape (2,) became a number"),
        ("array([x])", "array([[x]])", "shape (1,) became an array of shape (1, 1)"),
        ('"a"', '"b"', '"a" became "b"'),
        ("true", "1", "a bool became a number"),
        ("x", "x / 0", "2.0 became inf, not both finite"),
        ("2", "5", "2 became 5, 3 ulps"),
    ],
)
def test_values_of_every_kind(diff: Run, old: str, new: str, said: str) -> None:
    done = diff(f"var x = 2.0\noutput y = {old}", f"var x = 2.0\noutput y = {new}", "--no-grad")
    assert done.code == 1
    assert said in done.out
    same = diff(f"var x = 2.0\noutput y = {old}", f"var x = 2.0\noutput y = {old}", "--no-grad")
    assert same.code == 0


def test_tolerances(diff: Run) -> None:
    old, new = "var x = 3.0\ny = x", "var x = 3.0\ny = x * 1.00001"
    apart = diff(old, new, "--format", "json").json["compared"][0]["worst"]["ulps"]
    for option, enough in (("ulps", apart), ("rtol", 1.1e-5), ("atol", 3.1e-5)):
        assert diff(old, new, "--no-grad", f"--{option}", str(enough)).code == 0
        less = enough - 1 if option == "ulps" else enough / 2
        assert diff(old, new, "--no-grad", f"--{option}", str(less)).code == 1
    assert diff("var x = 0\ny = x / x", "var x = 0\ny = 1 / x", "--rtol", "1e9").code == 1


# ---- on which inputs -----------------------------------------------------------------------------


def test_both_get_the_inputs_they_declare(diff: Run) -> None:
    old, new = "var x\nvar k\ny = k * x", "var x\ny = 3 * x"
    done = diff(old, new, "--set", "x=5", "--set", "k=3", "--format", "json").json
    assert [row["equal"] for row in done["compared"]] == [True, True]
    assert done["only_old"]["variables"] == ["k"]
    wrong = diff(old, new, "--set", "x=5", "--set", "k=3", "--set", "n=3")
    assert wrong.code == 2
    assert "error[E003]: neither program declares `n`" in wrong.err
    assert (
        diff(old, new, "--set", "x=5", "--set", "n=3", "--set", "k=3", "--ignore-extra").code == 1
    )


def test_paths_of_variables(diff: Run) -> None:
    old = "module M(a) { var w = a; fn call(x) = w * x }\nm = M(1.0)\ny = m(2.0)"
    new = old.replace("w = a; fn call(x) = w * x", "v = a; fn call(x) = v * x")
    assert diff(old, old, "--set", "m.w=5").code == 0
    assert "only NEW (new.tg) has the variable `m.v`" in diff(old, new, "--set", "m.w=1").out
    wrong = diff(old, new, "--set", "m.u=5")
    assert (wrong.code, "neither program has a variable `m.u`" in wrong.err) == (2, True)
    wrong = diff(old, "y = 2.0", "--set", "m.u=5")
    assert (wrong.code, "neither program has a variable `m.u`" in wrong.err) == (2, True)


def test_random_points(diff: Run) -> None:
    old = "var x = 1.0 in (0, 9)\ny = x"
    new = "var x = 1.0 in (-5, 4)\ny = x if x < 2 else 2 * x"
    found = diff(old, new, "--points", "40", "--format", "json").json
    assert found["points"] == 40
    value = found["compared"][0]
    worst = value["worst"]
    assert (value["elements"], worst["place"], worst["new"]) == (41, "", 2 * worst["old"])
    assert 2 <= worst["inputs"]["x"] == worst["old"] < 4  # in the domains of both
    assert f"at point {worst['point']} (x = " in diff(old, new, "--points", "40").out
    again = diff(old, new, "--points", "40", "--seed", "1", "--format", "json").json
    assert again["compared"][0]["worst"]["inputs"] != worst["inputs"]


def test_domains_without_a_common_point(diff: Run) -> None:
    done = diff("var x = 1.0 in (0, 2)\ny = x", "var x = 4.0 in (3, 5)\ny = x", "--points", "2")
    assert done.code == 2
    assert "the domain of `x` has no points: (3.0, 2.0)" in done.err


def test_no_domain(diff: Run) -> None:
    done = diff("var x = 1.0\ny = x", "var x = 1.0\ny = x", "--points", "2")
    assert (done.code, done.err.startswith("note: no random points")) == (0, True)


# ---- errors --------------------------------------------------------------------------------------


def test_a_program_that_fails(diff: Run) -> None:
    good, bad = "var x = 1.0 in (0, 9)\ny = x", "var x = 1.0 in (0, 9)\na = [x]\ny = a[x > 1.5]"
    done = diff(good, bad.replace("x > 1.5", "3"), "--format", "json")
    assert done.code == 3
    assert done.json["diagnostics"][0]["file"] == "new.tg"
    assert not done.json["equal"]
    bad = "var x = 1.0 in (0, 9)\na = [x]\ny = a[0] if x < 1.5 else a[3]"
    done = diff(good, bad, "--points", "30")
    assert done.code == 3
    assert len(re.findall(r"error\[E3\d\d\]: at point \d+ \(x = ", done.err)) == 1
    assert done.out.startswith("y        equal\n")


def test_both_programs_are_wrong(diff: Run) -> None:
    done = diff("y = = 2", "y = 1 +")
    assert done.code == 3
    assert "old.tg:1:5" in done.err
    assert "new.tg:1:7" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("diff a.tg", "1 program, where two are compared"),
        ("diff a.tg b.tg -e x", "3 programs, where two are compared"),
        ("diff - -", "standard input is named twice"),
        ("diff nowhere.tg -e 2.0", "cannot read `nowhere.tg`"),
        ("diff -e x -e x", "error[E004]"),
        ("diff -e x*2 -e x --set x=2 --of y", "<expr>: the program has no value `y`"),
    ],
)
def test_wrong_command_lines(gradcli: Run, arguments: str, said: str) -> None:
    done = gradcli(arguments)
    assert done.code == 2
    assert said in done.err


def test_an_answer_in_a_file(diff: Run, tmp_path: Path) -> None:
    done = diff("var x = 1.0\ny = x", "var x = 1.0\ny = 2*x", "--format", "json", "-o", "out.json")
    assert (done.code, done.out) == (1, "")
    assert json.loads((tmp_path / "out.json").read_text())["compared"][0]["worst"]["new"] == 2.0
    assert diff("var x = 1.0\ny = x", "y = 2.0", "-o", "old.tg").code == 2


# ---- distances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ulps_count_the_floats_between(dtype: str) -> None:
    """From any float to the one that NumPy says is some steps away, across zero too."""
    kind = np.dtype(dtype).type
    tiny = np.finfo(kind).smallest_subnormal
    for start in (1.0, -1.0, 1e-30, 3 * float(tiny), -2 * float(tiny), 0.0, 1e30):
        value = np.array(start, kind)
        moved = value
        for steps in range(6):
            for a, b in ((value, moved), (moved, value)):
                ((_, differing, worst),) = distances(a, b, Tolerance())
                assert (worst.ulps, differing) == (steps, int(steps > 0)), (start, steps)
            moved = np.nextafter(moved, kind(np.inf))


@pytest.mark.parametrize(
    ("old", "new", "ulps"),
    [
        (math.nan, math.nan, 0),
        (math.nan, 1.0, math.inf),
        (math.inf, -math.inf, math.inf),
        (math.inf, math.inf, 0),
        (0.0, -0.0, 0),
        (2, 2.0, 0),
        (-(2**63), 2**63 - 1, 2**64),
        (1 + 2j, 1 + 2.0000000000000004j, 1),
    ],
)
def test_distances_of_single_numbers(old: Any, new: Any, ulps: float) -> None:
    ((_, differing, worst),) = distances(old, new, Tolerance())
    assert (worst.ulps, differing) == (ulps, int(ulps > 0))
