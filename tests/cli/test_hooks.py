"""The hooks for pre-commit run as commands on files, and fail where they should."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TEXT = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
HOOKS = dict(re.findall(r"^- id: (\S+)$.*?^  entry: ([^\n]+)$", TEXT, re.M | re.S))
GOOD = "var x = 2.0\ny = x**2\nexpect y ~= 4.0\noutput y\n"
BAD = {
    "gradcli-check": "var x = 2.0\ny = x**2\nexpect y ~= 5.0\noutput y\n",
    "gradcli-fmt": "y=(1\n",
    "gradcli-lint": "e = 2.0\noutput e\n",
}


def test_every_hook_is_tested() -> None:
    assert HOOKS.keys() == BAD.keys()


@pytest.mark.parametrize("hook", BAD)
def test_hook(gradcli: Run, tmp_path: Path, hook: str) -> None:
    (tmp_path / "good.tg").write_text(GOOD)
    (tmp_path / "bad.tg").write_text(BAD[hook])
    words = shlex.split(HOOKS[hook])[1:]
    assert gradcli(*words, "good.tg").code == 0
    assert gradcli(*words, "good.tg", "bad.tg").code in (1, 3)
