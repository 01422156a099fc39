"""Each tier goes as far as it says, and no further; what runs is seen from outside, in a process of
its own."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gradcli.engine.backends.tiers import (
    FIRST_USE,
    HEAT,
    INTERPRETED,
    NATIVE,
    WRITTEN,
    Policy,
    only,
    policy,
)

PROGRAM = """var x = 0.5
fn f(a) { y = a; while y < 4.0 { y = y*1.5 + a }; return y }
s = 0.0
for i in range(300000) { s = s*0.5 + sin(x)*i }
for i in range(60) { s = s + grad(f)(0.3) + f(0.4)*x }
v = linspace(0.0, 1.0, 70000)*x
for i in range(300) { v = v*0.5 + v*v*0.25 - x }
output s
output t = sum(v)"""

# What was written is named where Python compiles it; llvmlite is only there for native code.
CODE = """import sys
written = set()
sys.addaudithook(lambda event, given: written.add(given[1]) if event == "compile" and isinstance(given[1], str) else None)
from gradcli import load
print(load(source=sys.argv[1]).run().outputs["s"])
print("regions" if "<region loop>" in written else "", "native" if "llvmlite.binding" in sys.modules else "")
"""


def _in_a_process(tier: str) -> tuple[float, set[str]]:
    command = [sys.executable, "-c", CODE, PROGRAM]
    done = subprocess.run(
        command,
        env={**os.environ, "GRADCLI_TIER": tier},
        capture_output=True,
        text=True,
        check=True,
    )
    value, written = done.stdout.splitlines()
    return float(value), set(written.split())


def test_each_tier_goes_as_far_as_it_says() -> None:
    with ThreadPoolExecutor(3) as pool:
        (zero, written_0), (one, written_1), (two, written_2) = pool.map(_in_a_process, "012")
    assert zero == pytest.approx(one, rel=1e-13)
    assert one == two
    assert written_0 == set()
    assert written_1 == {"regions"}
    pytest.importorskip("llvmlite")
    assert written_2 == written_1 | {"native"}


@pytest.mark.parametrize("text", ["3", "two", "-1", " 1"])
@pytest.mark.parametrize("arguments", [["1.0 + 2.0"], ["x", "--set", "x=2"]])
def test_what_is_no_tier_is_an_error(text: str, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "gradcli", "eval", "-e", *arguments]
    done = subprocess.run(
        command, env={**os.environ, "GRADCLI_TIER": text}, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("", 2)
    assert f"error[E001]: GRADCLI_TIER: there is no tier `{text}`" in done.stderr
    assert "Traceback" not in done.stderr


def test_only_holds_inside_and_nests() -> None:
    outside = policy()
    with only(INTERPRETED):
        with only(WRITTEN, FIRST_USE):
            assert policy() == Policy(WRITTEN, FIRST_USE)
        assert policy() == Policy(INTERPRETED, HEAT)
        with pytest.raises(ZeroDivisionError), only(NATIVE):
            1 / 0  # noqa: B018
        assert not policy().writes
    assert policy() == outside


CHECKS = """import sys
from gradcli.engine.backends.tiers import FIRST_USE, WRITTEN, only
from gradcli import load
with only(WRITTEN, FIRST_USE):
    print(load(source=sys.argv[1]).run().outputs["y"].sum())
"""


def test_text_checks_all_points_in_a_new_process() -> None:
    """The text has no builtins, and NumPy imports what some of its methods need when it first
    calls them."""
    program = "fn f(a) { return int64(a * 1.5) }\nfor k in range(4) { y = f(arange(20)) }\noutput y"
    done = subprocess.run(
        [sys.executable, "-c", CHECKS, program], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == "280\n"
