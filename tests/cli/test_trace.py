"""`gradcli trace` as it is asked and told."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Run = Callable[..., Any]

LOOP = "var x = 2.0\ns = x\nfor i in range(3) {\n  s = s / 2 + 1 / s\n}\ny = s * x\n"


@pytest.fixture(autouse=True)
def file(tmp_path: Path) -> None:
    (tmp_path / "p.tg").write_text(LOOP, encoding="utf-8")


TABLE = """\
    line  operation             value    partials   cotangent  bytes  source
 x     1                        2                   1.4143            var x = 2.0
       3  for i in range(3): 3 iterations, 9 operations, 72 bytes; the last one:
%6     4  │ div(earlier %8, 2)  0.70833  0.5        2              8  s / 2
%7     4  │ div(1, earlier %8)  0.70588  -0.49827   2              8  1 / s
%8     4  │ add(%6, %7)         1.4142   1, 1       2              8  s = s / 2 + 1 / s
%9     6  mul(%8, x)            2.8284   2, 1.4142  1              8  y = s * x
10 operations, 80 bytes
"""

DOT = """\
digraph trace {
  label="p.tg";
  node [fontname="monospace"];
  v1 [label="x = 2", shape=ellipse];
  subgraph cluster_loop1 {
    label="for i in range(3) × 3";
    n6 [label="div 2\\n0.70833\\nline 4", shape=box];
    n7 [label="div 1\\n0.70588\\nline 4", shape=box];
    n8 [label="add\\n1.4142\\nline 4", shape=box];
  }
  n9 [label="mul\\ny = 2.8284\\nline 6", shape=box, peripheries=2];
  n8 -> n6 [label="0.5", style=dashed, constraint=false];
  n8 -> n7 [label="-0.49827", style=dashed, constraint=false];
  n6 -> n8 [label="1"];
  n7 -> n8 [label="1"];
  n8 -> n9 [label="2"];
  v1 -> n9 [label="1.4142"];
}
"""

MERMAID = """\
flowchart TB
  v1(["x = 2"])
  subgraph loop1["for i in range(3) × 3"]
    n6["div 2<br>0.70833<br>line 4"]
    n7["div 1<br>0.70588<br>line 4"]
    n8["add<br>1.4142<br>line 4"]
  end
  n9[["mul<br>y = 2.8284<br>line 6"]]
  n8 -.->|"0.5"| n6
  n8 -.->|"-0.49827"| n7
  n6 -->|"1"| n8
  n7 -->|"1"| n8
  n8 -->|"2"| n9
  v1 -->|"1.4142"| n9
"""


def test_text(gradcli: Run) -> None:
    result = gradcli("trace p.tg --precision 5")
    assert (result.code, result.err) == (0, "")
    assert result.out == TABLE


def test_a_long_list_is_shortened(gradcli: Run, tmp_path: Path) -> None:
    items = ", ".join(f"x * {k}.5" for k in range(3000))
    (tmp_path / "long.tg").write_text(f"var x = 2.0\ny = sum([{items}])\n")
    lines = gradcli("trace long.tg").out.splitlines()
    assert len(lines) == 3005
    assert max(map(len, lines)) < 300


def test_eval_shows_the_same(gradcli: Run) -> None:
    assert gradcli("eval p.tg --show trace").out == gradcli("trace p.tg").out
    failed = gradcli("eval -e 'var x = 2.0; y = log(x); z = [1][5]' --show trace")
    assert failed.code == 3
    assert "log(x)" in failed.out
    assert "E303" in failed.err


def test_json(gradcli: Run) -> None:
    result = gradcli("trace p.tg --format json")
    assert result.out.endswith("}\n")
    found = result.json
    assert found["file"] == "p.tg"
    assert [s["name"] for s in found["sources"]] == ["x"]
    loop, product = found["operations"]
    assert (loop["loop"], loop["line"], loop["iterations"], loop["count"]) == (
        "for i in range(3)", 3, 3, 9
    )  # fmt: skip
    assert [o["op"] for o in loop["last"]] == ["div", "div", "add"]
    assert (product["op"], product["call"], product["line"], product["text"]) == (
        "mul", "mul(%8, x)", 6, "y = s * x"
    )  # fmt: skip
    assert product["partials"][0] == 2.0
    assert (product["cotangent"], product["shape"], product["bytes"]) == (1.0, [], 8)
    assert found["earlier"] == {"5": 8}
    assert (found["targets"], found["count"], found["bytes"]) == ({"y": [9]}, 10, 80)
    unfolded = gradcli("trace p.tg --format json --unfold").json
    assert [o["number"] for o in unfolded["operations"]] == list(range(10))
    both = gradcli("trace p.tg p.tg --format json").json
    assert both == [found, found]


def test_graphs(gradcli: Run) -> None:
    assert gradcli("trace p.tg --format dot --precision 5").out == DOT
    assert gradcli("trace p.tg --format mermaid --precision 5").out == MERMAID


def test_labels_of_graphs_are_escaped(gradcli: Run) -> None:
    text = 'var x = 2.0; d = {"a\\"b": x}; y = d["a\\"b"] * x; output y'
    dot = gradcli("trace", "-e", text, "--format", "dot").out
    for line in dot.splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0, line
    assert "#60;expr#62;" not in gradcli("trace", "-e", text, "--format", "mermaid").out


FAKE_DOT = """\
#!{python}
import sys
text = sys.stdin.read()
if sys.argv[1:] != ["-Tsvg"] or not text.startswith("digraph trace {{"):
    sys.exit("wrong")
print("<svg>" + str(text.count("->")) + "</svg>")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_svg_is_drawn_by_graphviz(
    gradcli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "dot").write_text(FAKE_DOT.format(python=sys.executable))
    (tmp_path / "dot").chmod(0o755)
    assert gradcli("trace p.tg --format svg").out == "<svg>6</svg>\n"
    assert "draws one program" in gradcli("trace p.tg p.tg --format svg").err
    (tmp_path / "dot").write_text(f"#!{sys.executable}\nraise SystemExit('no memory')\n")
    broken = gradcli("trace p.tg --format svg")
    assert broken.code == 2
    assert "Graphviz can't draw the graph: no memory" in broken.err


LOOPING = "var x = 2.0; s = x; for i in range(5) { s = s / 2 + 1 / s }; y = s * x; z = sin(s)"


@pytest.mark.parametrize("text", [LOOPING, "var x = 1.0; var a = 2.0; y = 2 * x; z = a**3"])
def test_svg_is_laid_out_without_graphviz(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    pytest.importorskip("grandalf")
    monkeypatch.setenv("PATH", str(tmp_path))
    out = gradcli("trace", "-e", text, "--format", "svg").out
    picture = ElementTree.fromstring(out)
    space = "{http://www.w3.org/2000/svg}"
    dot = gradcli("trace", "-e", text, "--format", "dot").out
    arrows = list(picture.iter(f"{space}polyline"))
    assert len(arrows) == dot.count(" -> ")
    assert len([a for a in arrows if a.get("stroke-dasharray")]) == dot.count("style=dashed")
    boxes = list(picture.iterfind(f"{space}g/{space}rect"))
    assert len(boxes) == dot.count("shape=")
    places = [[float(b.attrib[k]) for k in ("x", "y", "width", "height")] for b in boxes]
    for x, y, w, h in places:
        assert x >= 0
        assert y >= 0
        assert x + w <= float(picture.attrib["width"])
        assert y + h <= float(picture.attrib["height"])
    for (x0, y0, w0, h0), (x1, y1, w1, h1) in combinations(places, 2):  # none covers another
        assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0


def test_svg_without_anything_to_draw_it_or_of_too_much(
    gradcli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("grandalf")
    monkeypatch.setenv("PATH", str(tmp_path))
    large = "var x = 1.0; " + "x = sin(x); " * 400
    assert "choose a part by --of and --wrt" in gradcli("trace", "-e", large, "--format", "svg").err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    missing = gradcli("trace p.tg --format svg")
    assert missing.code == 2
    assert "install Graphviz, or grandalf" in missing.err


def test_what_is_between(gradcli: Run) -> None:
    out = gradcli("trace -e 'var x = 3.0; a = x**2; b = a + 1; y = a * b' --of b --wrt x").out
    assert "pow(x, 2)" in out
    assert "mul" not in out
    assert out.endswith("2 operations, 16 bytes\n")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("-e", "var x = 1.0; y = x * 2", "--of", "z"), 2, "E003"),
        (("-e", "var x = 1.0; y = x * 2", "--set", "z=1"), 2, "E003"),
        (("-e", "var x = 1.0; y = x *"), 3, "E1"),
        (("-e", "var x = [1.0]; y = x[3]"), 3, "E303"),
        (("nowhere.tg",), 2, "E002"),
        (("-e", "i = 0; while true { i = i + 1 }", "--max-steps", "100"), 4, "E403"),
        ((), 2, "E001"),
    ],
)
@pytest.mark.parametrize("format", ["text", "json", "dot", "mermaid"])
def test_what_is_wrong(
    gradcli: Run, arguments: tuple[str, ...], code: int, says: str, format: str
) -> None:
    result = gradcli("trace", *arguments, "--format", format)
    assert (result.code, says in result.err) == (code, True)
    if format == "json":
        assert says in result.json["diagnostics"][0]["code"]
    else:
        assert result.out == ""
