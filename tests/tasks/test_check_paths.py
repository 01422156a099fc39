"""Random points on several paths: those on one are checked together, with the closed forms of the
first."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.report.checks import problem_of
from gradcli.tasks.check import paths, points
from gradcli.tasks.check.results import METHODS, Check

from .checks import run
from .together import are_together, found_at_points, verdicts

ALL: dict[str, Any] = {"methods": tuple(METHODS)}

# Programs, and how many paths the declared point and twenty others take.
PROGRAMS = {
    "newton, with a break": (
        """var a = 2.0 in (0.1, 9.0)
        x = 1.0
        while true { step = (x**2 - a) / (2.0*x); x = x - step; if abs(step) < 1e-6 { break } }
        y = x""",
        3,
    ),
    "a while": ("var x = 1.5 in (1.1, 3.0); s = x; while s < 20.0 { s = s * x }; y = s", 11),
    "a function that returns early": (
        "fn f(t) { if t < 0.0 { return sin(t) }; if t > 2.0 { return t }; return t**2 }\n"
        "var x = 0.5 in (-1.0, 3.0); y = f(x) * exp(x)",
        3,
    ),
    "conditions on two variables": (
        "var x = 0.5 in (0.0, 1.0); var z = 0.2 in (0.0, 1.0)\n"
        "if x > z { y = x*z } else { if x + z > 1.0 { y = x**2 } else { y = log(1.0 + z) * x } }",
        3,
    ),
    "small arrays": (
        "var v = [1.0, 2.0] in (0.1, 3.0)\n"
        "fn norm2(w) { if w[0] > w[1] { return sum(w**2) }; return w[0] * w[1] }\n"
        "output y = norm2(v); output w = v * norm2(v)",
        2,
    ),
    "a gradient on one path alone": (
        "var x = 0.5 in (-1.0, 1.0); var k = 2.0; y = x**2; if x > 0.0 { y = y * k }",
        2,
    ),
    "a loop of fixed length": (
        "var x = 0.5 in (0.1, 1.0); s = x; for i in range(5) { s = s*0.9 + sin(s*x) }; y = s",
        1,
    ),
}


@pytest.mark.parametrize("text", [text for text, _ in PROGRAMS.values()], ids=PROGRAMS)
def test_points_on_several_paths_find_what_points_one_by_one_do(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, how = found_at_points(text, monkeypatch, points=20, **ALL)
    alone, _ = found_at_points(text, monkeypatch, apart=True, points=20, **ALL)
    assert verdicts(found) == verdicts(alone)
    assert places(found) == places(alone)
    # which element is told of may be a matter of its last bit
    pairs = zip(found.findings, alone.findings, strict=True)
    same = [(f.ours, g.ours) for f, g in pairs if f.where == g.where]
    assert len(same) > 0.9 * len(found.findings)
    assert [ours for ours, _ in same] == pytest.approx([ours for _, ours in same])
    assert are_together(how)


def places(found: Check) -> list[tuple[int, int]]:
    return [(f.point, f.span.start) for f in found.findings if f.span is not None]


def made(text: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Check, int]:
    """A check at twenty points, and how many closed forms of outputs it makes."""
    from gradcli.engine.symbolic import chain

    forms: list[Any] = []

    class Chain(chain.Chain):
        def __init__(self, form: Any, definitions: Any) -> None:
            forms.append(form)
            super().__init__(form, definitions)

    monkeypatch.setattr(chain, "Chain", Chain)
    found = run(text, points=20, **{**ALL, **options})
    monkeypatch.undo()
    return found, len(forms)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_closed_forms_are_made_once_for_each_path(
    name: str, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, n_paths = PROGRAMS[name]
    found, n_made = made(text, monkeypatch, order=order)
    outputs = {f.output for f in found.findings}
    assert n_made == n_paths * len(outputs)
    assert {f.verdict for f in found.findings if f.method == "sympy"} == {"agree"}


@pytest.mark.parametrize(
    ("text", "n_made"),
    [
        ("var x = 0.5 in (-1.0, 1.0); y = x * log(abs(x) + 1.0); expect x < 2.0", 1),
        ("var x = 0.5 in (-1.0, 1.0); frozen s = 2.0 in (1.0, 3.0); y = s * x**2", 21),
        ("var x = 2.5 in (0.5, 9.0); a = [1.0, 2.0, 4.0]; y = x * a[int64(x) // 4]", 21),
        ("var x = 0.5 in (0.1, 1.0); x :-= 0.1; y = x**2", 21),
    ],
    ids=[
        "of one path",
        "with a frozen number in them",
        "with an element that was chosen",
        "of two states",
    ],
)
def test_closed_forms_with_numbers_of_a_point_are_of_that_alone(
    text: str, n_made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(text, monkeypatch)[1] == n_made


RARE = "var x = 0.5 in (0.0, 1.0); y = x**2; "
WRONG = "fn bad(t) { return t**3 } backward (dy) { return dy * 3.1 * t**2 }\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (WRONG + RARE + "if x > 0.9 { y = bad(x) }", "E602"),
        (RARE + "expect not (x > 0.9)", "E601"),
        (RARE + "a = [1.0]; if x > 0.9 { y = x * a[int64(x * 10.0)] }; output y", "E612"),
        (RARE + "if x > 0.9 { y = x * log(0.9 - x) }", "E610"),
    ],
    ids=["a wrong rule", "an expectation", "an error", "a nan"],
)
def test_what_fails_on_a_rare_path_is_reported_with_its_point(text: str, code: str) -> None:
    assert run(text, **ALL).exit_code == 0
    found = run(text, points=20, **ALL)
    assert found.exit_code != 0
    number = 1 + next(k for k, point in enumerate(found.points) if point["x"] > 0.9)
    problems = [p for r in found.results if (p := problem_of(found, r)) is not None]
    problems += [*found.diagnostics, *(e.diagnostic for e in found.expectations if e.diagnostic)]
    assert (problems[0].code, f"at point {number} " in problems[0].message) == (code, True)


def test_paths_without_a_leader_are_checked_point_by_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text, n_paths = PROGRAMS["a while"]
    wanted = verdicts(run(text, points=20, **ALL))
    monkeypatch.setattr(paths, "MANY", 0)
    found, n_made = made(text, monkeypatch)
    assert verdicts(found) == wanted
    assert n_made > n_paths


@pytest.mark.parametrize(("room", "together"), [(2**23, True), (2**9, False)])
def test_points_that_have_no_room_in_one_run_are_checked_one_by_one(
    room: int, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "MUCH", room)
    text, _ = PROGRAMS["a loop of fixed length"]
    assert are_together(found_at_points(text, monkeypatch)[1]) is together
