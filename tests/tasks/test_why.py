"""`why`: every reason is found, in its line, whatever the value went through; and a gradient that is fine shows its chain."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.codes import CODES, REASONS
from gradcli.diagnostics import Source
from gradcli.tasks.evaluation import Options
from gradcli.tasks.explanations import Explanation
from gradcli.tasks.programs import parse_program
from gradcli.tasks.why import explain


def explanations(source: str, steps: int = 20, inputs: dict[str, Any] | None = None, **options: Any) -> list[Explanation]:
    answer = explain(parse_program(Source("<source>", source)), inputs or {}, Options(**options), steps)
    assert answer.diagnostics == []
    return answer.explanations


def one(source: str, **options: Any) -> Explanation:
    (only,) = explanations(source, **options)
    return only


@pytest.mark.parametrize("reason", sorted(reason for reason in REASONS if CODES[reason].example))
def test_the_example_of_a_reason_has_it(reason: str) -> None:
    found = explanations(CODES[reason].example)
    assert reason in [e.reason for e in found]
    told = next(e for e in found if e.reason == reason)
    assert told.message
    assert told.help or reason in ("never_read", "not_on_path", "branch_not_taken", "integer", "condition_only")


def test_every_reason_but_the_unknown_has_an_example() -> None:
    assert {reason for reason in REASONS if not CODES[reason].example} == {"unknown"}
