"""The reducer: what is left of a program is all that its failure needs."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from gradcli.diagnostics import GradcliError

from . import small_ways
from .reducing import candidates, reduced
from .small import SmallWriter
from .small_ways import WAYS, Expected, Told, by_parts, differences, read, smallest

PROGRAM = """var x = 4.25
frozen c = -1.0
fn f(a, b = 2.0) {
    y = a * b + sin(x)
    while y < 90.0 { y = y * 3.5; if y > c { continue } }
    for i in range(3) { y += i * a }
    return y
}
l = [x, 2.0, tanh(c * 7.5)]
z = f(l[0], b = 17.25) - {p: x, q: 5}.p
if z > 0 { print z } else { z = 0.5 if x > 1 else c }
output z, [z, f(2.0)]
"""


def _has(pattern: str, text: str) -> bool:
    try:
        read(text)
    except GradcliError:
        return False
    return re.search(pattern, text) is not None


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        (r"while", "while 1 { }\n"),
        (r"for i in range\(", "for i in range(0) { }\n"),
        (r"tanh\(.*\*", "l = tanh(1 * 1)\n"),
        (r"else", "z = 1 if 1 else 1\n"),
        (r"17\.25", "z = 17.25\n"),
        (r"q: ", "z = {q: 1}\n"),
    ],
)
def test_only_what_fails_is_left(pattern: str, left: str) -> None:
    found = reduced(PROGRAM, lambda text: _has(pattern, text))
    assert found == left


def test_what_is_tried_is_a_program_mostly() -> None:
    """Deletions that leave something that can't be read would be in vain."""
    texts = list(candidates(PROGRAM))
    assert sum(_has("", text) for text in texts) > len(texts) / 2


def test_a_disagreement_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a way that gets each `tanh` wrong whose operand is below 0.5."""

    def wrong(node: object, options: object, expected: Expected) -> Told:
        text = node.source.text.replace("tanh(", "-tanh(")  # type: ignore[attr-defined]
        return by_parts(read(text), options)._replace(words=expected().words)  # type: ignore[arg-type]

    way = WAYS[0]._replace(run=wrong)
    seeds = (seed for seed in range(99) if "tanh(" in SmallWriter(seed).program())
    text = next(t for t in (SmallWriter(s).program() for s in seeds) if _differs(t, way))
    small = smallest(text, way)
    assert _differs(small, way)
    assert "tanh(" in small
    assert len(small) < 60 < len(text)


def _differs(text: str, way: small_ways.Way) -> bool:
    return bool([*differences(text, [way], Counter())])
