"""What is changed of a process: nothing for good in one that imports gradcli, and nothing at all
where the user says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gradcli.platform.ownership import VARIABLE

STATE = """
import gc, json, os, sys
def state():
    return {"threshold": gc.get_threshold(), "enabled": gc.isenabled(), "frozen": gc.get_freeze_count() > 0,
            "recursion": sys.getrecursionlimit(), "environment": dict(os.environ), "path": list(sys.path)}
def tell(value):
    print(json.dumps(value))
"""


def told_by(code: str, **variables: str) -> list[dict[str, Any]]:
    """What a fresh process tells, a line each."""
    environment = {
        name: value for name, value in os.environ.items() if name != VARIABLE
    } | variables
    done = subprocess.run(
        [sys.executable, "-c", STATE + code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


USES = [
    "gradcli.load(source='var x = [1.0, 2.0]; y = sum(x / 0.0)').run()",
    "gradcli.load(source='var x = 2.0; y = x**2').run(); gradcli.load(source='output erf([1.0])').run()",
    "gradcli.Variable([1.0, 2.0])",
    "gradcli.Variable([1.0, 2.0]) / 0.0",
    "from gradcli import numpy as gnp; gnp.sum([1.0, 2.0])",
    "from gradcli.cli import run; run(['eval', '-e', 'sum([x, 1.0])', '--set', 'x=3'])",
    "from gradcli.cli import run; run(['check', '-e', 'sum([x, 1.0])', '--set', 'x=3'])",
]


@pytest.mark.parametrize("numpy_first", [False, True])
@pytest.mark.parametrize("use", USES)
def test_a_process_that_imports_gradcli_stays_as_it_was(use: str, numpy_first: bool) -> None:
    first = "import numpy" if numpy_first else ""
    before, after, errors = told_by(
        f"{first}\ntell(state())\nimport gradcli\n{use}\ntell(state())\nimport numpy\ntell(numpy.geterr())"
    )
    assert after == before
    assert errors == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


RUN = """
import gradcli
def inside(x):
    tell(state())
    return x
gradcli.register("inside", "x", "Tells how the process is.", inside, partials=(lambda m, y, x: 1.0 + 0.0 * x,))
gradcli.load(source="x = 2.0; output inside(x)").with_options(grad=False).run()
tell(state())
"""


def test_while_a_program_runs_the_collector_pauses_and_functions_may_call_deeper() -> None:
    *inside, after = told_by(RUN)
    assert inside
    for state in inside:
        assert not state["enabled"]
        assert state["recursion"] > 10_000
    assert after["enabled"]
    assert after["recursion"] == 1000


def test_the_user_may_refuse_it() -> None:
    *inside, after = told_by(RUN, **{VARIABLE: "0"})
    assert inside
    assert all(state == after for state in inside)


COMMAND = """
import gradcli.cli as cli
sys.argv[1:] = ["eval", "-e", "sum([x, 1.0])", "--set", "x=3"]
before = state()
try:
    cli.main()
finally:
    now = state()
    tell({name: now[name] != value for name, value in before.items()})
"""


def test_the_command_arranges_its_own_process() -> None:
    (changed,) = told_by(COMMAND)
    assert {name for name in changed if changed[name]} == {
        "threshold",
        "frozen",
        "environment",
        "path",
    }


def test_the_user_may_refuse_all_but_the_search_path() -> None:
    (changed,) = told_by(COMMAND, **{VARIABLE: "0"})
    assert {name for name in changed if changed[name]} == {"environment", "path"}  # PYTHONSAFEPATH


CALLS = "fn f(n) { if n < 1 { return 1.0 }; return f(n - 1) }; y = f(1500)"
PARENTHESES = f"var x = 1.0; y = {'(x*' * 195}x{')' * 195}"
NESTED = f"""
import gradcli
for source in {[CALLS, PARENTHESES]}:
    try:
        told = gradcli.load(source=source).run().diagnostics
    except gradcli.GradcliError as error:
        told = error.diagnostics
    tell({{"codes": [d.code for d in told]}})
"""


def test_what_is_nested_too_deeply_for_an_unchanged_process_is_an_error() -> None:
    assert told_by(NESTED) == [{"codes": []}, {"codes": []}]
    # Parentheses fit into it as deep as the language has them; calls don't.
    assert told_by(NESTED, **{VARIABLE: "0"}) == [{"codes": ["E406"]}, {"codes": []}]


STAYS = """
import gc
from gradcli.diagnostics import Source
from gradcli.lang.parser import parse
from gradcli.platform.arranging import arrange
from gradcli.platform.collector import keep_for_good
def ages():
    tree = parse(Source("<expr>", "y = x"))
    return {"old": [o is tree for o in gc.get_objects(2)].count(True), "frozen": gc.get_freeze_count() > 0}
tell(ages())
arrange()
tell(ages())
keep_for_good()
tell(ages())
"""


def test_a_program_is_old_at_once_in_a_process_of_the_command() -> None:
    """The collector needn't search it. Elsewhere that would make what is the user's old, too; and
    after `keep_for_good` it would undo that."""
    assert told_by(STAYS) == [
        {"old": 0, "frozen": False},
        {"old": 1, "frozen": False},
        {"old": 0, "frozen": True},
    ]
