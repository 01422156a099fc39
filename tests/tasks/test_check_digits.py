"""`check --against` compares as many digits as were printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import Source
from gradcli.report import render_checks
from gradcli.report.checks import found as words
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.given.comparing import compare
from gradcli.tasks.check.given.reading import read_json
from gradcli.tasks.check.point import Point
from gradcli.tasks.check.program import Program
from gradcli.tasks.check.results import CheckOptions
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from ..engine.derivatives.random_programs import RELAXED
from .against import findings, written

FORMATS = ["%.3g", "%.4g", "%.6g", "%.9g", "%.12g", "%.17g", "%.2f", "%.5f", "%.3e", "%.8e", "%r"]
numbers = st.floats(1e-2, 1e4).map(lambda size: round(size, 12)) | st.floats(-1e4, -1e-2)


@settings(RELAXED, max_examples=60)
@given(
    st.lists(numbers, min_size=3, max_size=12, unique=True), st.sampled_from(FORMATS), st.booleans()
)
def test_right_gradients_pass_however_they_are_printed(
    values: list[float], format: str, single: bool
) -> None:
    given_as = [float(np.float32(v)) if single else v for v in values]
    assert is_close(values, [format % v for v in given_as])


@settings(RELAXED, max_examples=60)
@given(
    st.lists(numbers, min_size=3, max_size=12, unique=True),
    st.sampled_from(["%.3g", "%.5f", "%.9g", "%.3e"]),
    st.data(),
)
def test_one_element_off_by_a_digit_more_than_its_last_fails(
    values: list[float], format: str, data: Any
) -> None:
    texts = [format % v for v in values]
    assert is_close(values, texts)
    k = data.draw(st.integers(0, len(texts) - 1))
    mantissa, e, exponent = texts[k].partition("e")
    unit = 10.0 ** -len(mantissa.partition(".")[2])
    texts[k] = f"{float(mantissa) + 10 * unit:.{len(mantissa.partition('.')[2])}f}{e}{exponent}"
    assert not is_close(values, texts)


def is_close(values: list[float], texts: list[str]) -> bool:
    """Whether a gradient of these values passes that is given as these texts."""
    given = read_json(f'{{"x": [{", ".join(texts)}]}}', "g.json", "model.tg")
    program = parse_program(
        Source("model.tg", f"var x = {[float(v) for v in values]}\noutput f = 0.5 * sum(x * x)")
    )
    point = Point(Program(program, Options(mode="reverse")), {})
    (found,) = compare(point, given, CheckOptions())
    return found.verdict == "agree"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ('{"x": [0.1, 0.3]}', 1),
        ('{"x": [0.12, 0.34]}', 2),
        ('{"x": [0.1234, 0.345]}', 4),  # `%g` drops zeros
        ('{"x": [0.123, 0.345]}', 3),
        ('{"x": [1.23e-01, 3.45e-01]}', 3),
        ('{"x": [0.12345, 0.34500]}', 5),
        ('{"x": [0.12345000000000000, 0.345]}', None),
    ],
)
def test_how_many_digits_are_compared_is_told(
    tmp_path: Path, text: str, digits: int | None
) -> None:
    program = parse_program(
        Source("model.tg", "var x = [0.12345, 0.345]\noutput f = 0.5 * sum(x * x)")
    )
    found = check(
        program,
        {},
        CheckOptions(methods=("complex",), against=str(written(tmp_path / "g.json", text))),
    )
    if digits == 1:
        assert [f.verdict for f in found.findings] == ["agree", "agree"]
    (gradient,) = json.loads(render_checks("json", [found]))["gradients"]
    (given,) = [m for m in gradient["methods"] if m["method"] == "against"]
    assert given["digits"] == digits
    shown = f"✓ {digits} digit{'' if digits == 1 else 's'}" if digits else "✓ 0 ulps"
    assert shown in render_checks("text", [found])


def test_the_fewest_digits_of_numbers_with_as_many_places(tmp_path: Path) -> None:
    program = parse_program(
        Source("model.tg", "var x = [0.01234, 123.4]\noutput f = 0.5 * sum(x * x)")
    )
    assert (
        findings(written(tmp_path / "g.json", '{"x": [0.012, 123.400]}'), program)["f/x"].written
        == 2
    )


def test_single_precision_is_compared_as_such(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=np.array([9.00001, 36.0001], "float32"), k=np.float32(9.0))
    assert findings(tmp_path / "g.npz")["f/x"].verdict == "agree"
    np.savez(tmp_path / "g.npz", x=np.array([9.00001, 36.0001], "float32").astype(float), k=9.0)
    assert findings(tmp_path / "g.npz")["f/x"].verdict == "agree"
    np.savez(tmp_path / "g.npz", x=np.array([9.00001, 36.0001]), k=9.0)
    assert findings(tmp_path / "g.npz")["f/x"].verdict == "disagree"
    assert findings(tmp_path / "g.npz", rtol=1e-5)["f/x"].verdict == "agree"


def test_simple_numbers_are_meant_exactly(tmp_path: Path) -> None:
    """`9.0` and `36.5` are no roundings of other numbers, and all float32 there is can hold
    them."""
    program = parse_program(
        Source("model.tg", "var x = [9.04, 36.53]\noutput f = 0.5 * sum(x * x)")
    )
    for path in (written(tmp_path / "g.json", {"x": [9.0, 36.5]}), tmp_path / "g.npz"):
        np.savez(tmp_path / "g.npz", x=np.array([9.0, 36.5]))
        assert findings(path, program)["f/x"].verdict == "disagree"


def test_beside_a_zero_the_distance_is_told(tmp_path: Path) -> None:
    program = parse_program(Source("model.tg", "var x = [0.0, 1.0]\noutput f = 0.5 * sum(x * x)"))
    found = findings(written(tmp_path / "g.json", {"x": [1e-9, 1.0]}), program)["f/x"]
    assert found.verdict == "disagree"
    assert "1e-09, 1e-09 apart" in words([found])
