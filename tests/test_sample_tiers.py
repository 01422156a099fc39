"""Every sample gives the same in all tiers: values to the last bit, and derivatives, and what is
made of them, to rounding."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from tests.engine.campaign.comparing import difference
from tests.engine.campaign.ways import Answer, answer

SAMPLES = Path(__file__).parent.parent / "samples"
PATHS = sorted(SAMPLES.rglob("*.tg"))
ASKS = re.compile(
    r"\b(grad|value_and_grad|jacobian|hessian|hvp|vjp|jvp|value_and_jvp|gradient|batch_jacobian|backward)\b"
)


def _found(path: Path, tier: int) -> tuple[Answer, list[str], list[str]]:
    """What a sample gives, prints and is warned of."""
    with only(tier, FIRST_USE):
        evaluation = gradcli.load(path).run()
    assert [(e.line, e.message) for e in evaluation.expectations if not e.passed] == []
    return answer(evaluation), evaluation.printed, [d.code for d in evaluation.diagnostics]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_all_tiers_give_the_same(path: Path) -> None:
    expected, printed, codes = _found(path, INTERPRETED)
    asks = ASKS.search(path.read_text(encoding="utf-8"))
    for tier in (WRITTEN, NATIVE):
        found, *told = _found(path, tier)
        assert difference(expected, found, exact=True) == ""
        assert told == [printed, codes]
        for name in () if asks else (name for name in expected.values if "/" not in name):
            np.testing.assert_array_equal(found.values[name], expected.values[name])
