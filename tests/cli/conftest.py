"""Running the command line in this process: fast, and with everything that it printed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli import run


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def gradcli(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Runs `gradcli ARGUMENTS` in a scratch folder; arguments are one string for a shell, or
    several."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        words = shlex.split(arguments[0]) if len(arguments) == 1 else list(arguments)
        code = run(words)
        return Result(code, *capfd.readouterr())

    return call
