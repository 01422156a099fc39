"""`%load_ext gradcli`: a notebook that is really run, and what its cells show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli import GradcliError
from gradcli.notebook.completing import words_at
from gradcli.notebook.request import parse_request
from gradcli.notebook.variables import inputs_of, values_of
from gradcli.report.evaluation_html import evaluation_html
from gradcli.tasks.evaluation import Evaluation

MODEL = """%%gradcli result --set x=data --set w=start --get loss --get slope=dloss/dw
var w = 1.0
var x: float[3]
loss = sum((w - x)**2)
print "in the program", w
expect loss > 0
output loss"""
# Interrupts the next cell once its program runs.
ARM = """import threading, _thread, sys, os, time
def interrupt(main):
    inside = os.sep + os.path.join("gradcli", "engine") + os.sep
    while True:
        frame = sys._current_frames()[main]
        while frame is not None and inside not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None:
            return _thread.interrupt_main()
        time.sleep(0.01)
threading.Thread(target=interrupt, args=[threading.get_ident()]).start()"""
COMPLETE = """from IPython.core.completer import provisionalcompleter
def complete(text):
    with provisionalcompleter():
        return [c.text for c in get_ipython().Completer.completions(text, len(text))]
print(complete("%%gradcli --jac"), complete("%%gradcli\\nvar long_name = 1.0\\ny = logsu"))
print(complete("%%gradcli\\nvar long_name = 1.0\\ny = long_"), complete("logsu"))"""
CELLS = {
    "load": "%load_ext gradcli\nimport numpy as np\ndata, start = np.array([1.0, 2.0, 3.0]), 0.5",
    "model": MODEL,
    "python": "print(loss, slope, result.gradients['loss']['x'].tolist())",
    "again": "_",
    "error": "%%gradcli --set x=data\nvar x: float[3]\nprint 'before'\ny = x[7]".replace("'", '"'),
    "syntax": "%%gradcli\nx = 2.0\ny = = 3",
    "unknown": "%%gradcli --set x=dat\nvar x: float[3]\ny = sum(x)",
    "option": "%%gradcli --jacobean\n1 + 1",
    "expectation": "%%gradcli kept\nvar x = 2.0\ny = x**2\n\nexpect y == 5.0",
    "kept": "kept.outputs['y']",
    "program": "%%gradcli --program f\nx**2 * sin(y)",
    "run": "f.run(x=3.0, y=0.5).gradients",
    "warning": "%%gradcli\nvar x = 2.0\ny = detach(x) * 2",
    "quiet": "%%gradcli --quiet\n1 + 1",
    "hostile": '%%gradcli\n{"<script>alert(1)</script>": 1.0}',
    "arm": ARM,
    "interrupt": "%%gradcli\ni = 0\nwhile true { i = 1 - i }",
    "after": "%%gradcli\n6 * 7",
    "complete": COMPLETE,
    "unload": "%unload_ext gradcli\n'gradcli' in get_ipython().magics_manager.magics['cell']",
}
PAGE = (Path(__file__).parent.parent / "docs" / "notebook.md").read_text(encoding="utf-8")
SHOWN = textwrap.dedent("\n".join(re.findall(r"^(?: {4}.*)?$", PAGE, re.M))).strip()
CELLS["page"] = SHOWN[SHOWN.index("%%gradcli") : SHOWN.index("result.outputs")].strip()
VALUES = re.findall(r"^(\S.*?) +# (.*)$", SHOWN, re.M)
CELLS["page in Python"] = "\n".join(f"print(({expression}))" for expression, _ in VALUES)
CELLS["unload"] = CELLS.pop("unload")  # the last one

RUN = """import json, sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook()
notebook.cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
NotebookClient(notebook, allow_errors=True, timeout=120).execute()
json.dump([cell.outputs for cell in notebook.cells], sys.stdout)"""

needs_a_kernel = pytest.mark.skipif(
    not all(map(find_spec, ("nbclient", "ipykernel"))),
    reason="nbclient and ipykernel run notebooks; the extra `test` has them",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The outputs of each cell of a notebook."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(list(CELLS.values())),
        cwd=tmp_path_factory.mktemp("notebook"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(CELLS, json.loads(done.stdout), strict=True))


def text(outputs: list[dict[str, Any]]) -> str:
    """What a cell prints and shows as plain text."""
    parts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join("".join(part).strip("\n") for part in parts)


def error(outputs: list[dict[str, Any]]) -> str:
    """The error that a cell ends with, as a notebook shows it, without colours."""
    assert outputs[-1]["output_type"] == "error"
    shown = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(outputs[-1]["traceback"]))
    assert "Traceback" not in shown
    return shown


@needs_a_kernel
def test_a_notebook_runs_programs(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert outputs["load"] == []
    assert text(outputs["model"]).splitlines() == [
        "in the program 0.5",
        "loss        8.75",
        "∂loss/∂w    -9.0",
        "∂loss/∂x    [1. 3. 5.]",
    ]
    html = outputs["model"][-1]["data"]["text/html"]
    assert "<code>∂loss/∂w</code>" in html
    assert "1 of 1 expectations held" in html
    assert text(outputs["python"]) == "8.75 -9.0 [1.0, 3.0, 5.0]"
    assert text(outputs["run"]) == "{'result': {'x': 2.876553231625218, 'y': 7.898243057013355}}"
    assert outputs["program"] == outputs["quiet"] == []
    assert "W201" in outputs["warning"][-1]["data"]["text/html"]
    assert "&lt;script&gt;" in outputs["hostile"][-1]["data"]["text/html"]
    assert "<script" not in outputs["hostile"][-1]["data"]["text/html"]


@needs_a_kernel
def test_the_page_tells_the_truth(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert len(VALUES) == 3
    assert text(outputs["page in Python"]).splitlines() == [value for _, value in VALUES]


@needs_a_kernel
def test_errors_have_the_lines_of_the_cell(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert text(outputs["error"][:1]) == "before"
    assert "error[E303]" in error(outputs["error"])
    assert "--> <cell>:4:5" in error(outputs["error"])
    assert "--> <cell>:3:5" in error(outputs["syntax"])
    assert "did you mean `data`?" in error(outputs["unknown"])
    assert "unrecognized arguments: --jacobean" in error(outputs["option"])
    assert "--> <cell>:5:8" in error(outputs["expectation"])
    assert "y        4.0" in text(outputs["expectation"][:-1])
    assert text(outputs["kept"]) == "4.0"


@needs_a_kernel
def test_an_interrupt_ends_the_program(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert error(outputs["interrupt"]) == "the program was interrupted"
    assert "42" in text(outputs["after"])


@needs_a_kernel
def test_a_notebook_completes(outputs: dict[str, list[dict[str, Any]]]) -> None:
    assert text(outputs["complete"]).splitlines() == [
        "['--jacobian'] ['logsumexp']",
        "['long_name'] []",
    ]
    assert text(outputs["unload"]) == "False"


# ---- without a kernel ----------------------------------------------------------------------------


def test_inputs_are_variables_or_constants(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1, 2]")
    layer = type("Layer", (), {"weight": [1.0]})
    names = {"a": 2.0, "layer": layer, "params": {"w": 3.0}, "pi": 3}
    sets = [
        "a",
        "b=a",
        "c=[1, 2*pi]",
        "d=layer.weight",
        "e=params.w",
        "f=pi",
        f"g=@{tmp_path}/x.json",
    ]
    found = inputs_of(sets, names)
    assert found.pop("c")[1] == pytest.approx(2 * np.pi)
    assert found == {"a": 2.0, "b": 2.0, "d": [1.0], "e": 3.0, "f": 3, "g": [1, 2]}
    assert inputs_of(["t=true", "p=pi"], {}) == {"t": True, "p": np.pi}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=dta", "there is no Python variable `dta`"),
        ("x", "there is no Python variable `x`"),
        ("x=data.shap", "Python's `data.shap` has no `shap`"),
        ("x=f(2)", "f"),
        ("=3", "NAME=VALUE"),
    ],
)
def test_what_is_no_input(text: str, message: str) -> None:
    with pytest.raises(GradcliError, match=re.escape(message)):
        inputs_of([text], {"data": 1.0})


def test_what_python_gets() -> None:
    found = Evaluation("", {"y": 4.0}, {"y": {"x": 2.0}}, {"y": {"x": 2.5}}, {"y": {"x": 3.0}})
    found.summed.append("y")
    gets = ["y", "g=dsum(y)/dx", "j=dy/dx", "h=d2sum(y)/dx2"]
    assert values_of(gets, found) == {
        "y": 4.0,
        "g": 2.0,
        "j": 2.5,
        "h": 3.0,
    }
    for text in ("z", "dy/dx", "g=dy/dz"):
        with pytest.raises(GradcliError, match="E001"):
            values_of([text], found)


@pytest.mark.parametrize(
    "line", ["a b", "3x", "--program 3", "--mode sideways", "--set 'x", "--help"]
)
def test_what_is_no_first_line(line: str) -> None:
    with pytest.raises(GradcliError, match="E001"):
        parse_request(line)


def test_options_are_those_of_a_run() -> None:
    request = parse_request("r --of y,z --of w --wrt x --no-grad --hessian-blocks --seed 3")
    assert (request.name, request.options.of, request.options.wrt) == ("r", ("y", "z", "w"), ("x",))
    options = request.options
    assert (options.grad, options.hessian_blocks, options.seed) == (False, True, 3)


def test_words_are_for_programs() -> None:
    assert "--set" in words_at("%%gradcli --s", 0)
    assert {"logsumexp", "while", "abc"} <= set(words_at("%%gradcli\nabc = 1\ny = a", 2))
    assert words_at("x = 3\ny = a", 1) == []


class Balanced(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_tables_are_html_whatever_they_hold() -> None:
    forms = {"<y>": {"value": "x & 1", "gradients": {"x": "<1>"}}}
    found = Evaluation("", {"<y>": np.eye(3)}, {"<y>": {"x": None}}, closed_forms=forms)
    html = evaluation_html(found)
    Balanced(html)
    assert html.count("<br>") == 2
    assert "&lt;y&gt;" in html
    assert "= x &amp; 1" in html
    Balanced(evaluation_html(Evaluation("")))
