"""What people write who come from another language, and exactly what they are told.

A file of `mistakes/` holds those of one language: programs, each line after `$ `, and below each
the message. `GRADCLI_UPDATE_GOLDENS=1` writes the messages anew; read the difference before you
keep it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

import gradcli
from gradcli.diagnostics import did_you_mean
from gradcli.lang.lexer import RESERVED, SOFT
from gradcli.vocabulary import WORDS

FILES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
UPDATES = bool(os.environ.get("GRADCLI_UPDATE_GOLDENS"))


class Mistake(NamedTuple):
    program: str
    message: str


def mistakes(path: Path) -> list[Mistake]:
    found = []
    for entry in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = entry.split("\n")
        program = [line[2:] for line in lines if line.startswith("$ ")]
        message = [line for line in lines if not line.startswith("$ ")]
        found.append(Mistake("\n".join(program), "\n".join(message)))
    return found


def told(program: str) -> str:
    """What is said of a program that is wrong."""
    try:
        evaluation = gradcli.load(source=program).run()
    except gradcli.GradcliError as error:
        return str(error).replace("<source>", "t.tg")
    return f"no error: {evaluation.outputs}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages(path: Path) -> None:
    entries = mistakes(path)
    answers = [told(entry.program) for entry in entries]
    if UPDATES:
        texts = [
            "\n".join([*(f"$ {line}" for line in entry.program.split("\n")), answer])
            for entry, answer in zip(entries, answers, strict=True)
        ]
        path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    for entry, answer in zip(mistakes(path), answers, strict=True):
        assert answer == entry.message


def test_there_are_two_hundred_and_each_has_a_fix() -> None:
    entries = [entry for path in FILES for entry in mistakes(path)]
    assert len({entry.program for entry in entries}) == len(entries) >= 200
    assert [entry.program for entry in entries if "help: " not in entry.message] == []


def test_every_word_of_the_language_is_described() -> None:
    assert {*WORDS} == {*RESERVED, *SOFT, "error", "within", "as"}


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("sgima", ["sigma", "gamma"], "sigma"),  # swapped
        ("gradeint", ["gradient"], "gradient"),
        ("softmx", ["softmax", "softplus"], "softmax"),  # left out
        ("logSumExp", ["logsumexp"], "logsumexp"),  # written otherwise
        ("log_sum_exp", ["logsumexp"], "logsumexp"),
        ("X", ["x", "y"], "x"),
        ("load", ["logaddexp", "log"], ""),  # another word
        ("for", ["floor"], ""),
        ("print", ["randint"], ""),
        ("if", ["ifft"], ""),
        ("y", ["x"], ""),
        ("ln", ["len"], ""),
        ("total", ["tan", "tail"], ""),
        ("m[0].w", ["m.w"], "m.w"),  # an index too many, or too few
        ("m.w", ["n", "m[0].w"], "m[0].w"),
        ("l[2].w", ["l[0].v", "l[0].w", "l[1].w"], "l[0].w"),
        ("l[12].ww", ["l[0].w", "l[12].w"], "l[12].w"),
        ("m[0].weights", ["m.w"], ""),
    ],
)
def test_suggestions_are_what_a_person_would_guess(name: str, known: list[str], meant: str) -> None:
    assert did_you_mean(name, known) == (f"did you mean `{meant}`?" if meant else "")


def test_names_of_packages_may_be_inputs() -> None:
    """What is given from outside, or doesn't stand before a member, is an input."""
    assert gradcli.load(source="random * 2").run(random=3.0).outputs == {"result": 6.0}
    assert gradcli.load(source="F + stats").run(F=1.0, stats=2.0).outputs == {"result": 3.0}
