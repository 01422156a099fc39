"""The page that `check --format html` writes, read as browsers read it."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gradcli.diagnostics import Diagnostic, Source, Span
from gradcli.report import render_checks
from gradcli.report.small_plot import small_plot
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import Check, CheckOptions
from gradcli.tasks.programs import parse_program

WRONG = """fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }
fn g(x) {
    return f(x)
}
var x = 2.0
y = g(x)
if x > 1.0 { z = y * 2 } else { z = sin(y) }
expect y == 5.0
output z"""
KINK = """var x = [0.0, 1.0]
s = 0.0
for i in range(2) { s = s + abs(x[i]) }
output s"""
LONG = (
    "var x = 2.0\ny = x\n"
    + "# nothing\n" * 300
    + "if y > 1.0 { z = y**2 } else { z = y }\noutput z\n"
)
EVIL = "</style><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;\"</pre>\x1b[2J\u202e"
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The elements of a page: each with its name, attributes and text, in order; those that are
    open at any place close as they should."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for k in self.open:
            self.elements[k][2].append(data)

    def texts(self, tag: str, class_: str = "") -> list[str]:
        return [
            "".join(text)
            for name, attributes, text in self.elements
            if name == tag and set(class_.split()) <= set((attributes.get("class") or "").split())
        ]


def checked(name: str, text: str, **options: Any) -> Check:
    methods = ("forward", "complex", "differences", "taylor")
    return check(parse_program(Source(name, text)), {}, CheckOptions(methods=methods, **options))


def evil() -> Check:
    """A check in which all that comes from elsewhere is markup."""
    found = checked(
        "evil.tg", f"var x = 0.0\ny = abs(x) # {EVIL[:-5]}\nif x < 1.0 {{ z = y }}\noutput y"
    )
    found.file = EVIL
    source = Source(EVIL, EVIL)
    problem = Diagnostic("E301", EVIL, Span(source, 0, len(EVIL)), label=EVIL, help=EVIL)
    found.diagnostics.append(problem)
    found.notes.append(EVIL)
    for finding in found.findings:
        finding.output = finding.variable = finding.reason = EVIL
    return found


ALL = [checked("wrong.tg", WRONG), checked("kink.tg", KINK), checked("long.tg", LONG), evil()]


@pytest.mark.parametrize("checks", [[], *([c] for c in ALL), ALL], ids=len)
def test_the_page_stands_by_itself(checks: list[Check]) -> None:
    text = render_checks("html", checks)
    page = Page(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    names = {name for name, _, _ in page.elements}
    assert names & {"script", "link", "img", "iframe", "object", "base", "form"} == set()
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) == len(checks)
    for _, attributes, _ in page.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "style")]
        assert (attributes.get("href") or "#file-1").removeprefix("#") in [*ids, "file-1"]
    (style,) = page.texts("style")
    assert "url(" not in style
    assert "@import" not in style


def test_text_is_escaped_wherever_it_comes_from() -> None:
    text = render_checks("html", [ALL[-1]])
    page = Page(text)
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    shown = EVIL.replace("\x1b", "␛").replace("\u202e", "\\u202e")
    assert page.texts("h2") == [shown]
    problem = page.texts("div", "problem error")[-1]
    assert problem.count(shown) == 5  # message, place, excerpt, label and help


def test_it_says_what_failed_and_where() -> None:
    page = Page(render_checks("html", [ALL[0]]))
    expectation, wrong = page.texts("div", "problem error")
    assert "expected `y == 5.0`" in expectation
    assert "∂z/∂x is wrong: reverse mode gives 12" in wrong
    assert "the rule of `f` gives 1.5 times what the operation itself says" in wrong
    assert "in `g`, called at wrong.tg:6:5" in wrong
    assert page.texts("mark") == ["y == 5.0", "f(x)"]
    assert [text for text in page.texts("td") if text][:2] == ["✗ wrong", "12"]


def test_it_shows_the_path_in_the_program() -> None:
    page = Page(render_checks("html", [ALL[0]]))
    computed = [int(re.match(r"\d+", text)[0]) for text in page.texts("li", "computed")]  # type: ignore[index]
    assert computed == [1, 3, 7]
    notes = page.texts("span", "note")
    assert "`x > 1.0` held; flips when x moves by 1" in notes
    assert [note for note in notes if note.startswith("the rule of `f`")]


def test_lines_of_loops_are_counted_and_long_programs_are_cut() -> None:
    assert Page(render_checks("html", [ALL[1]])).texts("span", "times") == ["×2"]
    numbers = Page(render_checks("html", [ALL[2]])).texts("span", "no")
    assert numbers == ["⋮", "301", "302", "303", "304"]


def test_a_kink_has_a_plot_of_the_function_around_it() -> None:
    (kink,) = ALL[1].kinks
    steps = [step for step, _ in kink.curve]
    assert steps == sorted(steps)
    assert steps == [-step for step in reversed(steps)]
    assert [value for _, value in kink.curve] == pytest.approx([1 + abs(step) for step in steps])
    page = Page(render_checks("html", [ALL[1]]))
    (line,) = [attributes for name, attributes, _ in page.elements if name == "polyline"]
    points = [tuple(map(float, p.split(","))) for p in (line["points"] or "").split()]
    assert len(points) == len(kink.curve)
    assert page.texts("text") == ["s from 1 to 1.05", "x[0] − 0.05", "x[0]", "x[0] + 0.05"]
    heights = [y for _, y in points]
    assert max(heights) == heights[len(heights) // 2]  # downwards
    assert "∂s/∂x[0] is -1 to the left, 1 to the right" in page.texts("figcaption")[0]


JUMP = "var x = 1.0\nif x >= 1.0 { y = 3.0 * x } else { y = x }"
ROOT = "var x = 0.0\ny = sqrt(abs(x))"
ALONE = "var x = 1.0\nif x == 1.0 { y = 3.0 * x } else { y = x }"


@pytest.mark.parametrize(("program", "lines"), [(JUMP, [9, 9]), (ROOT, [17]), (ALONE, [9, 1, 9])])
def test_no_line_joins_what_is_not_connected(program: str, lines: list[int]) -> None:
    page = Page(render_checks("html", [checked("a.tg", program)]))
    found = [
        attributes["points"] or "" for tag, attributes, _ in page.elements if tag == "polyline"
    ]
    assert sorted(len(points.split()) for points in found) == sorted(lines)


def test_plots_have_gaps_where_there_is_no_value() -> None:
    curve = [(-2.0, math.nan), (-1.0, math.nan), (0.0, 0.0), (1.0, 1.0), (2.0, math.inf)]
    plot = small_plot(curve, "y", "x")
    assert plot is not None
    (line,) = plot.findall("polyline")
    assert len((line.get("points") or "").split()) == 2
    assert small_plot([(-1.0, math.nan), (0.0, 1.0), (1.0, math.inf)], "y", "x") is None
    assert small_plot([(-1.0, 3.0), (0.0, 3.0), (1.0, 3.0)], "y", "x") is not None
    assert small_plot([(-1.0, -1e308), (0.0, 3.0), (1.0, 1e308)], "y", "x") is None


CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
MEASURE = """<!DOCTYPE html><iframe srcdoc="{page}" width="{width}" height="900"></iframe>
<pre id="found"></pre><script>
onload = () => {{
  const inner = document.querySelector("iframe").contentDocument, root = inner.documentElement;
  const style = name => getComputedStyle(inner.querySelector(name));
  document.querySelector("#found").textContent = JSON.stringify({{
    width: root.clientWidth, content: root.scrollWidth,
    scripts: inner.scripts.length, head: style("thead").display,
    plots: [...inner.querySelectorAll("polyline")].map(p => p.getBBox().width),
  }});
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open pages in")
@pytest.mark.parametrize(("width", "head"), [(360, "none"), (1200, "table-header-group")])
def test_a_browser_shows_it_on_a_phone_and_on_a_desk(width: int, head: str, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page = escape(render_checks("html", ALL))
    outer = tmp_path / "outer.html"
    outer.write_text(MEASURE.format(page=page, width=width), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", profile]
    done = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", outer.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = json.loads("".join(re.findall(r'<pre id="found">(.*?)</pre>', done.stdout)))
    assert found["content"] == found["width"]  # nothing sticks out
    assert found["scripts"] == 0
    assert found["head"] == head
    assert len(found["plots"]) == 2
    assert all(width > 100 for width in found["plots"])
