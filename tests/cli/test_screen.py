"""What stands on a screen fits it: no word is broken, tables turn or are shortened, and long
vectors have a `…`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gradcli.cli.progress import picture
from gradcli.report.fitting import fit, shortened, wrapped
from gradcli.tasks.batch.summary import Summary

from ..shell import shell
from ..terminal import Terminal

pytest.importorskip("pyte")

LONG = """var price = 3.0 in (1, 5)
const quantity_of_goods = 2.0
fn discounted(p, q) { return p * q / (1 + 0.05 * p) ** 2 }
position = discounted(price, quantity_of_goods) * 2 + sqrt(price) - price ** 3 / 7 + sin(price) * cos(price)
other = relu(price - 3) + abs(price) * 2
output position, other
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.tg").write_text(LONG)
    return tmp_path


def words_in_a_pipe(folder: Path, *arguments: str) -> set[str]:
    """The words that the command prints where nobody watches, on both streams."""
    command = [sys.executable, "-m", "gradcli", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return {*done.stdout.split(), *done.stderr.split()}


def on_screen(folder: Path, width: int, *arguments: str) -> list[str]:
    """The lines of a terminal of this width when the command is done."""
    terminal = Terminal(folder, "-m", "gradcli", *arguments, width=width, height=200)
    terminal.end()
    return terminal.lines


COMMANDS = [
    "check m.tg",
    "why m.tg",
    "why m.tg --of position --wrt price",
    "trace m.tg",
    "check m.tg --points 5 --order 2",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_broken(folder: Path, command: str) -> None:
    """Each word on a screen is one that stands in a pipe, too, or is shortened to what fits."""
    words = command.split()
    known = words_in_a_pipe(folder, *words) | {"reverse", "forward", "complex", "diff.", "Taylor"}
    for width in (120, 80, 60, 40):
        lines = on_screen(folder, width, *words)
        assert all(len(line) <= width for line in lines), width
        for word in " ".join(lines).split():
            word = word.rstrip(",")
            cut = word.removesuffix("…")
            whole = word in known or f"{word}," in known
            shorter = cut != word and any(k.startswith(cut) for k in known)
            assert whole or shorter, (width, word)


MESSAGES = [
    "eval -e x --set x=abc",
    "eval -e 'a=zeros([3,2])@ones([3]); b=a'",
    "eval m.tg --set price=1 --set amount=2",
    "eval -e 'var price = 3.0; vega = grad(price**2, price)'",
    "eval -e 'expect 1.0 + 2.0 > 100.0, \"the sum of the two is far too small for that\"'",
    "batch -e 'price + quantity_of_goods' --rows q.csv",
]


@pytest.mark.parametrize("command", MESSAGES)
def test_messages_break_between_words(folder: Path, command: str) -> None:
    (folder / "q.csv").write_text("price,quantity,symbol\n1,2,A\n")
    words = shlex.split(command)
    known = words_in_a_pipe(folder, *words)
    for width in (80, 60, 40):
        lines = on_screen(folder, width, *words)
        assert max(map(len, lines)) <= width
        told = [line for line in lines if not re.match(r" *\d+ \|", line)]  # but for the program's
        assert {word for word in " ".join(told).split() if word.strip("^")} <= known, width


def test_methods_stand_one_below_the_other_where_they_must(folder: Path) -> None:
    lines = on_screen(folder, 40, "check", "m.tg")
    assert "  ∂position/∂price" in lines
    assert any(re.fullmatch(r"    complex step  ✓ \d+ ulps?", line) for line in lines)
    wide = on_screen(folder, 160, "check", "m.tg")
    assert any(re.search("forward mode +complex step +differences", line) for line in wide)
    assert any(
        re.search("reverse +forward +complex +diff.", line)
        for line in on_screen(folder, 94, "check", "m.tg")
    )


def test_long_vectors(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    command = "gradcli eval -q --no-grad -e 'y = [array(range(1000)) * 1.0]; output y[0]'"
    short = shell(command, tmp_path / "work", tmp_path)
    assert short == "y[0]    [  0.   1.   2. … 997. 998. 999.]\n"
    full = shell(f"{command} --full", tmp_path / "work", tmp_path)
    assert [float(x) for x in re.findall(r"\d+\.", full)] == list(range(1000))
    assert "…" not in shell(f"{command} --format json", tmp_path / "work", tmp_path)


def test_lists_break_between_their_numbers(folder: Path) -> None:
    lines = on_screen(
        folder, 40, "eval", "--no-grad", "-e", "[1.5, 22.5, 3.25, 4.75, 5.5, 6.5, 7.5, 8.5, 9.5]"
    )
    assert lines == ["result    [1.5, 22.5, 3.25, 4.75, 5.5,", "           6.5, 7.5, 8.5, 9.5]"]


def test_values_stand_below_labels_that_leave_no_room(folder: Path) -> None:
    program = (
        "var weights_of_the_layer = [1.0, 2.0, 3.0, 4.0]; loss_of_it = sum(weights_of_the_layer**2)"
    )
    words = ["eval", "--of", "loss_of_it", "-e", f"{program}; z = 1.5; output loss_of_it, z"]
    label, value = "∂loss_of_it/∂weights_of_the_layer", "[2. 4. 6. 8.]"
    below = ["loss_of_it    30.0", label, f"    {value}", "z    1.5"]
    assert on_screen(folder, 40, *words) == below
    assert on_screen(folder, 60, *words)[1] == f"{label}    {value}"


SOME = Summary("o.csv", rows=123_456, failed=7)


@pytest.mark.parametrize(
    ("width", "fields"),
    [
        (100, " 12% 123,456 rows 12,346 rows/s 7 failed 1:11 left"),
        (50, " 12% 123,456 rows 7 failed 1:11 left"),
        (40, " 12% 123,456 rows 1:11 left"),
        (28, " 12% 123,456 rows"),
        (16, " 12%"),
    ],
)
def test_progress_drops_fields(width: int, fields: str) -> None:
    shown = picture(SOME, 1_000_000, 10.0, width, color=False)
    assert len(shown) < width
    assert shown.endswith(fields)
    assert not shown.removesuffix(fields).strip("━─╺ ")


def test_progress_moves_where_nobody_knows_the_total() -> None:
    shown = {picture(SOME, None, seconds / 10, 40, color=False) for seconds in range(100, 110)}
    assert len(shown) == 10
    assert all("123,456 rows" in line and len(line) < 40 for line in shown)


def test_fitting() -> None:
    assert list(wrapped("a few words", 8)) == ["a few", "    words"]
    assert shortened("words", 4) == "wor…"
    rows = [["1", "a long operation", "2.5"]]
    assert fit(rows, 20, (1,)) == [["1", "a long oper…", "2.5"]]
    assert fit(rows, 12, (1,)) is None
    assert fit(rows, None, (1,)) == rows
