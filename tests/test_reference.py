"""docs/builtins.md and docs/codes.md are made from the table of builtins and from the codes. To
renew them: `python tests/test_reference.py`."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from gradcli.codes import CODES, REASONS, Code
from gradcli.ops import BUILTINS, INFIX
from gradcli.ops.description import call, derivatives, facts
from gradcli.ops.op import Op
from gradcli.tasks.second_runs import EXPLAIN_STEPS

DOCS = Path(__file__).parents[1] / "docs"
RENEWED = "Made by tests/test_reference.py from"

FAMILIES = {
    "E0": "The command line",
    "E1": "Syntax",
    "E2": "Names and structure",
    "E3": "Run time",
    "E4": "Limits",
    "E5": "Devices",
    "E6": "Expectations, checks and jobs",
    "E9": "Bugs",
    "W0": "Warnings about inputs",
    "W2": "Warnings about gradients and values",
    "W3": "Warnings about closed forms",
    "W4": "Findings of lint",
}


def escaped(text: str) -> str:
    """Text of which Markdown takes nothing for markup but what is in backquotes."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        [p if p.startswith("`") else re.sub(r"([*_<>\[\]|\\])", r"\\\1", p) for p in parts]
    )


# ---- builtins ------------------------------------------------------------------------------------


def builtins() -> str:
    """The page of builtins, under the headings of `gradcli ops`."""
    lines = [
        "# Builtins",
        "",
        f"{RENEWED} the table that runs them.",
        "",
        "What `gradcli ops NAME` prints about each. In a derivative, `y` is the result. *Smooth for* says between which operands",
        "the tests compare derivatives with other methods, and *accuracy* how far a value and its derivatives may be off, in units",
        "in the last place: of the result, or of an operand where that moves it more.",
    ]
    operators = {op.name: op for op in (*BUILTINS.values(), *INFIX.values())}.values()
    by_category: dict[str, list[Op]] = {}
    for op in operators:
        if not op.internal or op.infix:
            by_category.setdefault(op.category, []).append(op)
    for category, ops in by_category.items():
        lines += ["", f"## {category[:1].upper()}{category[1:]}"]
        for op in ops:
            lines += ["", *builtin(op)]
    return "\n".join(lines) + "\n"


def builtin(op: Op) -> list[str]:
    formulas = derivatives(op).values()
    sign = f"`{op.infix}`, " if op.infix else ""
    lines = [f"### {op.name}", "", f"{sign}`{call(op)}`", "", escaped(op.summary), ""]
    for label, text in facts(op):
        is_code = text in formulas or label == "smooth for"
        said = f"`{text}`" if is_code else escaped(text.split(": of the result")[0])
        lines.append(f"- {label}: {said}")
    return lines


# ---- codes ---------------------------------------------------------------------------------------


def codes() -> str:
    """The page of codes, in families, and the reasons behind them."""
    lines = [
        "# Errors, warnings and reasons",
        "",
        f"{RENEWED} what `gradcli explain CODE` prints.",
        "",
        "An error begins with E and ends what it is about; a warning begins with W, and the work goes on. A reason says why a",
        "gradient is none, zero or nan; [Why a gradient is none, zero or nan](why.md) shows each at work.",
    ]
    numbered = [name for name in CODES if name not in REASONS]
    for family, names in groupby(numbered, key=lambda name: name[:2]):
        lines += ["", f"## {FAMILIES[family]} ({family})"]
        for name in names:
            lines += ["", *code(name, CODES[name])]
    lines += ["", "## Reasons"]
    for name in (name for name in CODES if name in REASONS):
        lines += ["", *code(name, CODES[name])]
    return "\n".join(lines) + "\n"


def code(name: str, entry: Code) -> list[str]:
    lines = [f"### {name}: {escaped(entry.title)}", "", escaped(entry.text), ""]
    if entry.example:
        language = "sh" if entry.example.startswith("$ ") else "tg"
        example = entry.example.removeprefix("$ ")
        lines += [f"```{language}", *example.split("\n"), "```", ""]
    return [*lines, f"Fix: {escaped(entry.fix)}"]


PAGES = {"builtins.md": builtins, "codes.md": codes}


def test_the_language_says_how_far_reasons_are_looked_for() -> None:
    assert f"within {EXPLAIN_STEPS:,} statements" in (DOCS / "language.md").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


def test_they_have_everything() -> None:
    headings = set(re.findall(r"^### ([\w]+)", builtins() + codes(), re.M))
    assert BUILTINS.keys() <= headings
    assert CODES.keys() <= headings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x**0 at `a*b`", r"x\*\*0 at `a*b`"),
        ("[tool] a_b <c>", r"\[tool\] a\_b \<c\>"),
        ("two\nlines", "two lines"),
    ],
)
def test_text_is_no_markup(text: str, expected: str) -> None:
    assert escaped(text) == expected


if __name__ == "__main__":
    for page, made in PAGES.items():
        (DOCS / page).write_text(made(), encoding="utf-8")
