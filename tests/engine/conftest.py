"""What several tests of the engine ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, only
from gradcli.engine.program_calls import ProgramCall


@pytest.fixture
def hot_at_first_use() -> Iterator[None]:
    """Code is hot when it is first used."""
    with only(heat=FIRST_USE):
        yield


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether kernels of whole programs answered, each time."""
    found: list[bool] = []
    run = ProgramCall.run

    def noted(call: ProgramCall, numbers: list[Any]) -> Any:
        answer = run(call, numbers)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(ProgramCall, "run", noted)
    return found
