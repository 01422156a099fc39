"""`gradcli why` and `eval --debug-nan` as they are asked and told. To renew the page: `python
tests/cli/test_why.py`."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli import run
from gradcli.reason_codes import REASONS

Run = Callable[..., Any]
PAGE = Path(__file__).parents[2] / "docs" / "why.md"

DETACHED = "var x = 2.0\na = x**2\nb = detach(a)\ny = b * 3\noutput y\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "p.tg").write_text(text, encoding="utf-8")
        return "p.tg"

    return write


def test_text(gradcli: Run, file: Callable[[str], str]) -> None:
    result = gradcli("why", file(DETACHED), "--of", "y", "--wrt", "x")
    assert result.code == 0
    assert result.err == ""
    assert result.out == (
        "y with respect to x: none (detached)\n"
        "  the chain is cut by `detach`\n"
        "  --> p.tg:3:5\n"
        "  x comes from p.tg:1:1\n"
        "\n"
        "    line  operation      value\n"
        "       1  var x = 2.0    2.0\n"
        "       2  a = x**2       4.0\n"
        "  >    3  b = detach(a)  4.0\n"
        "       4  y = b * 3      12.0\n"
        "  fix: leave out `detach` to let gradients through\n"
        "  `gradcli explain detached` tells more\n"
    )


def test_text_of_a_gradient_that_is_fine(gradcli: Run) -> None:
    result = gradcli("why", "-e", "a = sin(x); y = a * x", "--set", "x=0", "--of", "y")
    assert (result.code, result.out) == (3, "")  # no expression file, so `x` is unknown
    result = gradcli("why", "-e", "var x = [1.0, 2.0]; y = sum(x**2) + x[0]", "--precision", "3")
    assert result.out.splitlines()[:2] == [
        "y with respect to x: [3 4]",
        "  x comes from <expr>:1:1",
    ]
    assert "this is the way that gives most; x is read in 2 places" in result.out


def test_json(gradcli: Run, file: Callable[[str], str]) -> None:
    found = gradcli("why", file(DETACHED), "--format", "json").json
    assert (found["file"], found["diagnostics"]) == ("p.tg", [])
    (told,) = found["explanations"]
    assert {key: told[key] for key in ("of", "wrt", "status", "gradient", "reason", "line",
        "column")} == {
        "of": "y", "wrt": "x", "status": "none", "gradient": None, "reason": "detached", "line": 3,
        "column": 5
    }  # fmt: skip
    assert told["origin"] == {"file": "p.tg", "line": 1, "column": 1}
    assert [(step["line"], step["op"], step["breaks"]) for step in told["steps"]] == [
        (1, "", False), (2, "pow", False), (3, "detach", True), (4, "mul", False)
    ]  # fmt: skip


def test_json_has_numbers_of_any_kind(gradcli: Run) -> None:
    found = gradcli("why", "-e", "var x = [0.0, 4.0]; y = sum(sqrt(x))", "--format", "json").json[
        "explanations"
    ][0]
    assert (found["status"], found["gradient"]) == ("inf", ["inf", 0.25])
    assert found["steps"][1]["partial"] == {
        "shape": [2],
        "min": 0.25,
        "max": "inf",
        "zeros": 0,
        "nonfinite": 1,
    }


def test_several_files_and_inputs(gradcli: Run, file: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "q.tg").write_text("var x: float\ny = relu(x)", encoding="utf-8")
    (tmp_path / "in.json").write_text('{"x": -3}', encoding="utf-8")
    found = gradcli(
        "why", file("var x = 1.0; y = x * 2"), "q.tg", "--inputs", "in.json", "--format", "json"
    )
    assert [e["reason"] for answer in found.json for e in answer["explanations"]] == [
        None,
        "dead_relu",
    ]
    assert gradcli("why q.tg --set x=2").out.startswith("y with respect to x: 1.0\n")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("-e", "var x = 1.0; y = x * 2", "--of", "z"), 2, "E003"),
        (("-e", "var x = 1.0; y = x * 2", "--wrt", "x[3]"), 2, "E003"),
        (("-e", "var x = 1.0; y = x * 2", "--set", "z=1"), 2, "E003"),
        (("-e", "var x = 1.0; y = x *"), 3, "E1"),
        (("-e", "var x = 1.0; y = x[3]"), 3, "E303"),
        (("-e", "var x = 1.0; y = x * 1j", "--of", "y"), 3, "E314"),
        (("nowhere.tg",), 2, "E002"),
        (("-e", "i = 0; while true { i = i + 1 }", "--max-steps", "100"), 4, "E403"),
        ((), 2, "E001"),
    ],
)
def test_what_is_wrong(gradcli: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    result = gradcli("why", *arguments)
    assert (result.code, says in result.err) == (code, True)
    json = gradcli("why", *arguments, "--format", "json")
    assert (json.code, says in json.json["diagnostics"][0]["code"]) == (code, True)


def test_nothing_to_explain_is_said(gradcli: Run) -> None:
    assert "--of" in gradcli("why", "-e", "y = 3").out


def test_debug_nan(gradcli: Run, file: Callable[[str], str]) -> None:
    path = file("var x = -1.0\nb = x * 2\ny = log(b)\noutput y\n")
    result = gradcli("eval", path, "--debug-nan", "--format", "json")
    assert result.code == 3
    assert result.json["outputs"]["y"]["value"] == "nan"
    (found,) = result.json["diagnostics"]
    assert (found["code"], found["line"], found["reason"]) == ("E324", 3, "nonfinite_value")
    assert "error[E324]: `log(b)` is nan (`log` of -2.0), which reaches `y`" in result.err
    assert gradcli("eval", path).code == 0
    assert gradcli("eval", path, "--debug-nan", "--set", "x=1").code == 0


# ---- the page of reasons -------------------------------------------------------------------------


def page() -> str:
    """Every reason with its example, and what `why` says of it."""
    parts = [_HEAD]
    for reason, entry in REASONS.items():
        parts.append(f"## {reason}: {entry.title}\n\n{entry.text}\n\n{entry.fix}\n")
        if entry.example:
            parts.append(
                f"```text\n{entry.example}\n```\n\n```text\n{_told(entry.example, reason)}\n```\n"
            )
    return "\n".join(parts)


_HEAD = """# Why a gradient is none, zero or nan

`gradcli why FILE --of y --wrt x` follows the values of a program from `x` to `y`. Where the gradient is as it should be, it
shows the operations on the way, with the partial derivative at each. Otherwise it marks the operation at fault, and gives
one of these reasons. `gradcli eval --debug-nan` finds what made a nan or an infinity.

Made by tests/cli/test_why.py, which runs the examples.
"""


def _told(source: str, reason: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["why", "-e", source]) == 0
    blocks = re.split(r"\n\n(?=\S)", out.getvalue().rstrip("\n"))
    (told, *_) = [block for block in blocks if f"({reason})" in block.split("\n")[0]]
    return "\n".join(line for line in told.split("\n") if "gradcli explain" not in line)


def test_the_page_is_what_the_examples_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
