"""Names of derivatives: one name, with ∂ on a screen and in plain letters in files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcli.naming import Derivative, halves, in_files, on_screen, read_name

PAGE = Path(__file__).parents[1] / "docs" / "answers.md"
NAMES = [
    (("f", ("x",)), "∂f/∂x", "df/dx"),
    (("y", ("x",), True), "∂Σy/∂x", "dsum(y)/dx"),
    (("f", ("x", "x")), "∂²f/∂x²", "d2f/dx2"),
    (("f", ("x", "z")), "∂²f/∂x∂z", "d2f/dxdz"),
    (("net.w[0]", ("a.b",)), "∂net.w[0]/∂a.b", "dnet.w[0]/da.b"),
    (("x + y", ("x",)), "∂(x + y)/∂x", "d(x + y)/dx"),
    (("a/dx", ("f(x, y)",), True), "∂Σ(a/dx)/∂(f(x, y))", "dsum(a/dx)/d(f(x, y))"),
]


@pytest.mark.parametrize(("what", "screen", "file"), NAMES, ids=[name for *_, name in NAMES])
def test_a_name(what: tuple[str, tuple[str, ...], bool], screen: str, file: str) -> None:
    assert (on_screen(*what), in_files(*what)) == (screen, file)
    if len(what[1]) == 1:
        assert read_name(file) == Derivative(what[0], what[1][0], len(what) > 2)
    else:
        assert read_name(file) is None


@pytest.mark.parametrize("name", ["f", "dx", "d", "d/dx", "dose", "d f/dx", "f/x"])
def test_what_is_no_derivative(name: str) -> None:
    assert read_name(name) is None


def test_halves() -> None:
    assert halves("x,z[1,2]") == ("x", "z[1,2]")
    assert halves("max(x, y)") == ("max(x, y)", "max(x, y)")


def test_the_page_has_the_names() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^\|.*?\| `(\S*∂\S*)` \| `(\S*)` \|", text, re.M)
    known = {(screen, file) for _, screen, file in NAMES}
    assert set(shown) <= known | {("∂y/∂x", "dy/dx")}
    assert len(shown) == 5
