"""`fmt` changes nothing but the looks: the program, its comments, and what is laid out already stay
as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import Source
from gradcli.lang import syntax
from gradcli.lang.imports import Importer
from gradcli.lang.parser import parse
from gradcli.lang.printer import print_module
from gradcli.lang.resolve import resolve
from gradcli.tidy.formatting import WIDTH, format_source
from gradcli.tidy.lexemes import lexemes

from ..engine.derivatives.random_programs import programs
from ..lang.random_trees import modules
from .scattering import scattered

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = sorted(SAMPLES.rglob("*.tg"))


def formatted(text: str) -> str:
    return format_source(Source("t.tg", text))


def comments(text: str) -> list[str]:
    """The words of the comments, in their order."""
    found = [comment for token in lexemes(Source("t.tg", text)) for comment in token.comments]
    return [comment.text.lstrip("# ") for comment in found]


def resolved(path: Path, text: str) -> Any:
    source = Source(str(path), text)
    return resolve(parse(source), source, Importer(path).load)


def verify(text: str) -> None:
    """What holds of every program."""
    after = formatted(text)
    assert parse(Source("t.tg", after)) == parse(Source("t.tg", text))
    assert comments(after) == comments(text)
    assert formatted(after) == after


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_samples_stay_what_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    verify(text)
    assert resolved(path, formatted(text)) == resolved(path, text)
    assert resolved(path, text + "\nlast = 1.0\n") != resolved(path, text)


@settings(max_examples=300)
@given(st.sampled_from(FILES).flatmap(lambda path: scattered(path.read_text(encoding="utf-8"))))
def test_comments_may_stand_anywhere(text: str) -> None:
    verify(text)


@settings(max_examples=150)
@given(programs())
def test_random_programs_stay_what_they_are(program: Any) -> None:
    text = program.source
    verify(text)
    path = Path("t.tg")
    assert resolved(path, formatted(text)) == resolved(path, text)


@settings(max_examples=150)
@given(modules)
def test_random_trees_stay_what_they_are(tree: syntax.Module) -> None:
    text = print_module(tree)
    verify(text)
    assert parse(Source("t.tg", formatted(text))) == tree


@settings(max_examples=100)
@given(modules.flatmap(lambda tree: scattered(print_module(tree))))
def test_every_statement_may_be_scattered(text: str) -> None:
    verify(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_the_printer_and_the_style_agree(path: Path) -> None:
    """Where no line is too long, what the printer writes is laid out already."""
    tree = parse(Source(str(path), path.read_text(encoding="utf-8")))
    lines = print_module(tree).splitlines()
    short = all(len(line) <= WIDTH for line in lines)
    after = formatted(print_module(tree)).splitlines()
    assert not short or after == lines
