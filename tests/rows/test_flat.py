"""Names of flat columns: which belong together, and when they are whole."""

from __future__ import annotations

import pytest

from gradcli.rows.flat import grouped, layout


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (["id", "x.0", "x.1", "y"], ("id", "x", "y")),
        (["x.1", "y", "x.0"], ("x", "y")),
        (["x.0", "x.2"], ("x.0", "x.2")),
        (["x.1"], ("x.1",)),
        (["x.0", "x.1", "x"], ("x.0", "x.1", "x")),
        (["w.0.0", "w.0.1", "w.1.0", "w.1.1"], ("w",)),
        (["w.0.0", "w.0.1", "w.1.0"], ("w.0.0", "w.0.1", "w.1.0")),
        (["w.0", "w.0.1"], ("w.0", "w.0.1")),
        (["z.re", "z.im"], ("z",)),
        (["z.re"], ("z.re",)),
        (["z.re", "z.im", "z.0"], ("z.re", "z.im", "z.0")),
        (["z.0.re", "z.0.im", "z.1.re", "z.1.im"], ("z",)),
        (["layer.w.0", "layer.w.1", "layer.b"], ("layer.w", "layer.b")),
        (["x.00", "x.01", "x.", ".0", ""], ("x.00", "x.01", "x.", ".0", "")),
        (["x.0", "x.4000000000"], ("x.0", "x.4000000000")),
        (["a\nb.0", "a\nb.1"], ("a\nb",)),
        (["x" + ".0" * 33, "y." + "1" * 5000], ("x.0", "y." + "1" * 5000)),
    ],
)
def test_names(columns: list[str], names: tuple[str, ...]) -> None:
    assert grouped(tuple(columns)) == names


def test_layouts() -> None:
    columns = ("w.1.0", "w.0.0", "z.im", "z.re", "w.0.1", "w.1.1")
    assert layout("w", columns) == (["w.0.0", "w.0.1", "w.1.0", "w.1.1"], (2, 2), False)
    assert layout("z", columns) == (["z.re", "z.im"], (), True)
    assert layout("z.re", columns) == (["z.re"], (), False)
    assert layout("y", columns) is None
