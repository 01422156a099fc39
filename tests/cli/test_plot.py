"""`gradcli plot` as it is asked and told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..shell import shell

ROOT = Path(__file__).parents[2]
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen of which everybody knows the size."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "22")


ABS = """\
  ⠒ result
  ┌────────────────────────────────────────────────────────┐
 4┤                                                        │
  │                                           ⣀⣀⣀⣀⠤⠤⠤⠤⠒⠒⠒⠒⠉│
 2┤                                         ○⠉             │
 0┤⣀⣀⣀⡀          ○⣀⣀⡀          ○⠤⠤⠤⠔⠒⠒⠒⠒⠉⠉⠉⠉               │
  │   ⠈⠉⠉⠉⠑⠒⠒⠒⠲⠤⠤○  ⠈⠉⠉⠉⠓⠒⠒⠒⠢⠤⠤○                           │
  └┬─────────────┬─────────────┬────────────┬─────────────┬┘
  -2            -1             0            1             2
  ⠒ ∂result/∂x
  ┌────────────────────────────────────────────────────────┐
 1┤                            ○⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠐⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒│
  │                                                        │
 0┤                                                        │
  │                                                        │
-1┤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤○                           │
  └┬─────────────┬─────────────┬────────────┬─────────────┬┘
  -2            -1             0            1             2
  result: jumps at x = -1, 0, 1
  ∂result/∂x: jump at x = 0
"""


def test_text(gradcli: Run) -> None:
    result = gradcli("plot -e 'abs(x) + floor(x)' --over x=-2:2")
    assert (result.code, result.err) == (0, "")
    assert result.out == ABS


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_same_plot_has_the_same_text(tmp_path: Path, seed: str) -> None:
    """Whatever order sets have in a process."""
    source = ROOT / "samples" / "rosenbrock.tg"
    command = f"PYTHONHASHSEED={seed} gradcli plot {source} --over 'x[0]=-2:2' --order 1"
    first = f"PYTHONHASHSEED=0 {command.split(' ', 1)[1]}"
    assert shell(command, tmp_path, tmp_path) == shell(first, tmp_path, tmp_path)


@pytest.mark.parametrize("columns", [24, 40, 80, 200])
@pytest.mark.parametrize(
    "arguments",
    [
        ("x**2 / (x - 1)", "--over", "x=-2:2", "--order", "2"),
        ("a * exp(x) * 1e-9", "--over", "x=-2:2", "--for", "a=1,2,3"),
        ("x * y", "--over", "x=-2:2", "--over", "y=0:1e6"),
    ],
)
def test_it_keeps_to_the_width(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch, columns: int, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = gradcli("plot", "-e", *arguments).out.splitlines()
    assert max(map(len, lines)) == min(columns, 160)
    assert "\x1b" not in "".join(lines)


def test_colour_tells_curves_apart_where_there_is_some(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "plot -e 'a * x' --over x=0:1 --for a=1,2"
    colored = gradcli(f"{command} --color always").out
    assert "\x1b[38;5;1m" in colored
    assert "+" not in colored
    assert "+ result, a = 2" in gradcli(command).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in gradcli(command).out


def test_numbers_have_digits_enough(gradcli: Run) -> None:
    out = gradcli("plot -e 'floor(x)' --over x=1e12:1e12+3 --order 0").out
    assert "jumps at x = 1000000000001, 1000000000002\n" in out


def test_marks_are_said_in_words(gradcli: Run) -> None:
    out = gradcli("plot -e 'abs(x) + 1 / (x - 1) + floor(2 * x)' --over x=-0.4:1.4").out
    assert "  result: pole at x = 1\n" in out
    assert "  result: jumps at x = 0, 0.5\n" in out
    assert "  ∂result/∂x: jumps at x = 0, 0.5\n" not in out
    many = gradcli("plot -e 'floor(x)' --over x=-10.5:10.5").out
    assert "jumps at x = -10, -9, -8, -7, -6, -5 and 15 more\n" in many


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")],
)
def test_pictures(gradcli: Run, tmp_path: Path, ending: str, begins: bytes) -> None:
    for over in ("--over x=-1:2", "--over x=-1:2 --over y=-1:2"):
        pictures = []
        for name in ("a", "b"):
            done = gradcli(f"plot -e 'abs(x) / (x - y)' {over} --set y=1 -o {name}.{ending}")
            assert (done.code, done.out, done.err) == (0, "", "")
            pictures.append((tmp_path / f"{name}.{ending}").read_bytes())
        assert pictures[0].startswith(begins)
        assert pictures[0] == pictures[1]


def test_a_picture_has_its_labels(gradcli: Run, tmp_path: Path) -> None:
    gradcli("plot -e 'x**2' --over x=-1:1 --order 2 -o a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    for label in ("result", "∂result/∂x", "∂²result/∂x²"):
        assert f">{label}<" in text


def test_a_page_has_the_picture_and_says_what_is_not_smooth(gradcli: Run, tmp_path: Path) -> None:
    gradcli("plot -e 'abs(x) + 1 / (x - 1)' --over x=-3:3 -o a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<svg ") == page.count("</svg>") == 1
    assert "svg:" not in page  # names have no prefix, which HTML wouldn't know
    assert "<li>result: kink at x = 0</li>" in page
    assert "<li>∂result/∂x: jump at x = 0</li>" in page
    assert "<script" not in page


def test_text_in_a_file(gradcli: Run, tmp_path: Path) -> None:
    shown = gradcli("plot -e 'x**2' --over x=-1:1").out
    gradcli("plot -e 'x**2' --over x=-1:1 -o a.txt --color always")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == shown


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("-e x", 2, "add `--over x=-3:3`"),
        ("-e x --over x", 2, "write `--over x=-3:3`"),
        ("-e x*a --over x=0:1 --for a", 2, "write `--for a=0.5,1,2`"),
        ("-e x*a --over x=0:1", 2, "give it with `--set a="),
        ("-e x*a --over x=0:1 --for x=1", 2, "name another input"),
        ("-e x --over x=0:1 -o a.jpg", 2, "the endings are .png, .svg, .pdf"),
        ("-e x --over x=0:1 -o nowhere/a.png", 2, "there is no folder `nowhere`"),
        ("-e x*y --over x=0:1 --over y=0:1 --order 2", 2, "leave out --order"),
        ("-e x --over x=0:1 --of z", 2, "the program has no value `z`"),
        ("-e 'x +' --over x=0:1", 3, "error[E1"),
        ("-e 'zeros(2) @ ones(3) * x' --over x=0:1", 3, "error[E3"),
        ("nowhere.tg --over x=0:1", 2, "E002"),
        ("-e 'i = 0; while true { i = i + 1 }; var x = 1.0' --over x=0:1 --max-steps 9", 4, "E403"),
    ],
)
def test_what_is_wrong(gradcli: Run, arguments: str, code: int, says: str) -> None:
    result = gradcli(f"plot {arguments}")
    assert (result.code, result.out) == (code, "")
    assert says in result.err


@pytest.mark.parametrize(("package", "options"), [("plotext", ""), ("matplotlib", "-o a.png")])
def test_a_missing_package_is_named_with_its_extra(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch, package: str, options: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    result = gradcli(f"plot -e x --over x=0:1 {options}")
    assert result.code == 2
    assert f"needs {package}" in result.err
    assert "pip install 'gradcli[plot]'" in result.err


def test_what_is_left_out_is_said(gradcli: Run) -> None:
    text = "var x = 1.0; y = x**2; z = x * [1.0, 2.0]; n = 3.0; output y; output z; output n"
    result = gradcli("plot", "-e", text, "--over", "x=0:1")
    assert "note: `z` isn't shown: it is an array of shape (2,)" in result.err
    assert "note: `n` has no derivative with respect to `x`" in result.err
    assert gradcli("plot", "-e", text, "--over", "x=0:1", "-q").err == ""


# ---- columns of data -----------------------------------------------------------------------------


@pytest.fixture
def rows(gradcli: Run, tmp_path: Path) -> Path:
    """What a batch gives for x from -2 to 2, by turns with two values of a."""
    lines = [f"{i / 50 - 2},{i % 2 + 1}\n" for i in range(201)]
    (tmp_path / "in.csv").write_text("x,a\n" + "".join(lines))
    assert gradcli("batch -e 'abs(x) * a' --rows in.csv -o out.csv --keep x,a -q").code == 0
    return tmp_path / "out.csv"


def test_columns_of_a_batch_are_points_over_another(gradcli: Run, rows: Path) -> None:
    out = gradcli("plot out.csv --over x --for a=1,2 --of result,dresult/dx -v")
    assert (out.code, out.err) == (0, "201 points evaluated\n")
    assert "result, a = 1  + result, a = 2" in out.out
    assert "∂result/∂x, a = 1  + ∂result/∂x, a = 2" in out.out
    drawn = gradcli("plot out.csv --over x=0:1 --of result -o a.svg")
    assert drawn.code == 0
    assert (rows.parent / "a.svg").read_text("utf-8").count("<use ") > 40  # a dot for each row


def test_all_columns_are_drawn_but_those_that_say_which_row(gradcli: Run, rows: Path) -> None:
    out = gradcli("plot out.csv --over x --for a=1 --order 0").out
    assert "result, a = 1" in out
    assert "∂result/∂x" not in out
    assert "dresult/da, a = 1" in out


def test_rows_without_a_value_are_counted(gradcli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,\n3,nan\n4,2\n")
    out = gradcli("plot a.csv --over x")
    assert (out.code, out.err) == (0, "note: `y` has no value in 2 of 4 rows\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("out.csv", "add `--over NAME`"),
        ("out.csv --over x --over a", "over one column"),
        ("out.csv --over z", "there is no column `z`"),
        ("out.csv --over x --of resalt", "did you mean `result`?"),
        ("out.csv --over x=1", "write `--over x=-3:3`"),
        ("out.csv --over x --set a=1", "--set doesn't go with a plot of data"),
        ("nothing.csv --over x", "no such file"),
        ("out.csv --over x --for a=7", "nothing to plot"),
    ],
)
def test_what_is_wrong_with_columns(gradcli: Run, rows: Path, arguments: str, says: str) -> None:
    done = gradcli(f"plot {arguments}")
    assert (done.code, says in done.err) == (2, True), done.err
