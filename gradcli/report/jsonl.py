"""`--format jsonl`: the object of `--format json` on one line, a line a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .json import as_object, dumps
from .style import Style

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation


def render(evaluations: Sequence[Evaluation], style: Style) -> str:
    return "".join(dumps(as_object(e)) + "\n" for e in evaluations)
