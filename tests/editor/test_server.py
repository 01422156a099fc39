"""`gradcli lsp`, asked by a client in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradcli.cli import run
from gradcli.diagnostics import Source
from gradcli.lang.imports import LIBRARY
from gradcli.tidy.formatting import format_source

from .client import SECONDS, Editor

pytest.importorskip("pygls", reason="pygls isn't installed")

ROOT = Path(__file__).parents[2]
URI = "file:///nowhere/a.tg"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with Editor() as opened:
        yield opened


def briefly(problems: list[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Code, line and columns of each."""
    return [
        (
            p["code"],
            p["range"]["start"]["line"],
            p["range"]["start"]["character"],
            p["range"]["end"]["character"],
        )
        for p in problems
    ]


def test_what_it_can(editor: Editor) -> None:
    provided = {name for name, value in editor.capabilities.items() if value}
    assert {
        "hoverProvider",
        "definitionProvider",
        "completionProvider",
        "documentFormattingProvider",
        "textDocumentSync",
    } <= provided


def test_problems_come_as_the_text_changes(editor: Editor) -> None:
    assert briefly(editor.open(URI, "var x = 3.0\ny = x +* 2\n")) == [("E101", 1, 6, 7)]
    editor.change(URI, "var x = 3.0\ny = z**2\nw = q\n")
    found = editor.problems(URI)
    assert briefly(found) == [("E200", 1, 4, 5), ("E200", 2, 4, 5)]
    assert found[0]["source"] == "gradcli"
    assert {p["severity"] for p in found} == {1}
    editor.change(URI, "var x = 3.0\nunused = 1.0\ny = x**2\nprint y == 9.0\noutput y\n")
    found = editor.problems(URI)
    assert briefly(found) == [("W401", 1, 0, 6), ("W405", 3, 6, 14)]
    assert [(p["severity"], p.get("tags")) for p in found] == [(2, [1]), (2, None)]
    editor.change(URI, "var x = 3.0\ny = x**2\n")
    assert editor.problems(URI) == []


def test_a_burst_of_changes_is_answered_by_its_last(editor: Editor) -> None:
    editor.open(URI, "x = 1.0\n")
    for k in range(30):
        editor.change(URI, f"var x = 3.0\ny = x + unknown{k}\n")
    (found,) = editor.problems(URI)
    assert "unknown29" in found["message"]


def test_the_help_stands_in_the_message(editor: Editor) -> None:
    (found,) = editor.open(URI, "y = sigmiod(3.0)\n")
    assert found["message"].endswith("\nhelp: did you mean `sigmoid`?")


def test_hover_definition_completion(editor: Editor) -> None:
    editor.open(URI, "# Squares.\nfn f(a) = a**2\nvar x = 3.0\ny = f(x) + tanh(x)\n")
    hover = editor.ask_at("hover", URI, 3, 12)
    assert hover["range"] == {
        "start": {"line": 3, "character": 11},
        "end": {"line": 3, "character": 15},
    }
    assert "∂/∂x" in hover["contents"]["value"]
    assert "# Squares.\nfn f(a)" in editor.ask_at("hover", URI, 3, 4)["contents"]["value"]
    assert editor.ask_at("hover", URI, 3, 9) is None
    found = editor.ask_at("definition", URI, 3, 6)
    assert (found["uri"], found["range"]["start"]) == (URI, {"line": 2, "character": 4})
    assert editor.ask_at("definition", URI, 3, 12) is None
    labels = {item["label"] for item in editor.ask_at("completion", URI, 3, 4)["items"]}
    assert {"f", "x", "tanh", "while"} <= labels


def test_a_definition_is_in_the_document_as_the_editor_calls_it(editor: Editor) -> None:
    for uri in ("untitled:Untitled-1", "file:///c%3A/a.tg"):
        editor.open(uri, "var x = 3.0\ny = x + zz\n")
        assert editor.ask_at("definition", uri, 1, 4)["uri"] == uri


def test_an_imported_file(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "other.tg").write_text("var w = 2.0\nfn g(a) = a * w\n")
    uri = (tmp_path / "main.tg").as_uri()
    assert editor.open(uri, 'import "other.tg" as o\nimport nn\ny = o.g(3.0) + sum(nn.relu6)\n')
    found = editor.ask_at("definition", uri, 2, 6)
    assert found["uri"] == (tmp_path / "other.tg").as_uri()
    assert found["range"]["start"] == {"line": 1, "character": 3}
    assert editor.ask_at("definition", uri, 0, 10)["uri"] == (tmp_path / "other.tg").as_uri()
    assert editor.ask_at("definition", uri, 1, 8)["uri"] == (LIBRARY / "nn.tg").as_uri()

    (tmp_path / "other.tg").write_text("var w = 2.0\nfn g(a) = a * v\n")
    editor.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
    (problem,) = [p for p in editor.problems(uri) if p["code"] == "E200"]
    assert problem["range"]["start"]["line"] == 0  # at the import
    (origin,) = problem["relatedInformation"]
    assert origin["location"]["uri"] == (tmp_path / "other.tg").as_uri()
    assert origin["location"]["range"]["start"] == {"line": 1, "character": 14}


def test_formatting(editor: Editor) -> None:
    text = "y=3*2\n\n\n\nz = y\n"
    editor.open(URI, text)
    (edit,) = editor.format(URI)
    assert edit["range"] == {
        "start": {"line": 0, "character": 0},
        "end": {"line": 5, "character": 0},
    }
    assert edit["newText"] == format_source(Source("a.tg", text))
    editor.change(URI, edit["newText"])
    assert editor.format(URI) == []
    editor.change(URI, "y = (\n")
    assert editor.format(URI) is None


def test_quick_fixes(editor: Editor) -> None:
    text = "var x = 1e-9\ny = log(1 + x)\nz = exp(x) - 1\noutput y, z\n"
    assert [p["code"] for p in editor.open(URI, text)] == ["W412", "W413"]
    (fix,) = editor.fixes(URI, 2)
    assert (fix["title"], fix["kind"]) == ("Write `expm1(x)`", "quickfix")
    assert [p["code"] for p in fix["diagnostics"]] == ["W413"]
    (edit,) = fix["edit"]["changes"][URI]
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert (start["line"], end["line"]) == (2, 2)
    lines = text.split("\n")
    lines[2] = lines[2][: start["character"]] + edit["newText"] + lines[2][end["character"] :]
    editor.change(URI, "\n".join(lines))
    assert [p["code"] for p in editor.problems(URI)] == ["W412"]
    assert editor.fixes(URI, 2) == []
    assert editor.fixes(URI, 0) == []


CHATTY = """
import gradcli

def register():
    print("this package talks")
    gradcli.register("chatty", "x", "Talks.", lambda x: x, partials=(lambda m, y, x: 1.0,))
"""


def test_what_a_package_prints_disturbs_nothing(tmp_path: Path) -> None:
    (tmp_path / "talking.py").write_text(CHATTY)
    info = tmp_path / "talking-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: talking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gradcli.ops]\ntalking = talking:register\n")
    with Editor(packages=tmp_path) as editor:
        assert editor.open(URI, "var x = 1.0\ny = chatty(x)\n") == []
        labels = {item["label"] for item in editor.ask_at("completion", URI, 1, 4)["items"]}
        assert "chatty" in labels
        assert editor.close() == (0, "this package talks\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_are_counted_as_the_editor_does(encoding: str) -> None:
    text = 'print "𝛼é", zz, nope\nzz = 1.0\n'
    column = len('print "𝛼é", zz, '.encode(f"{encoding}-le" if encoding != "utf-8" else encoding))
    column //= int(encoding[4:]) // 8
    with Editor(general={"positionEncodings": [encoding]}) as editor:
        assert editor.capabilities["positionEncoding"] == encoding
        found = editor.open(URI, text)
        assert ("E200", 0, column, column + 4) in briefly(found)
        hover = editor.ask_at("hover", URI, 0, column - 3)
        assert "zz = 1.0" in hover["contents"]["value"]


def test_nothing_runs(editor: Editor, tmp_path: Path) -> None:
    """Neither a program that would never end, nor a file of the folder."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('this ran')")
    with Editor(folder=tmp_path) as other:
        problems = other.open((tmp_path / "a.tg").as_uri(), 'while true { print "ran" }\n')
        assert [p for p in problems if p["severity"] == 1] == []
        assert other.ask_at("hover", (tmp_path / "a.tg").as_uri(), 0, 16) is None


@pytest.mark.parametrize("name", ["missing.tg", "latin.tg", "."])
def test_of_a_file_that_cannot_be_read_nothing_is_known(
    editor: Editor, tmp_path: Path, name: str
) -> None:
    (tmp_path / "latin.tg").write_bytes(b"x = 1.0  # \xe9\n")
    uri = (tmp_path / name).as_uri()
    assert editor.ask_at("hover", uri, 0, 0) is None
    assert editor.ask_at("definition", uri, 3, 7) is None


def test_an_import_stays_below_the_folder(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "secret.tg").write_text("var key = 42.0\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    uri = (inside / "a.tg").as_uri()
    problems = editor.open(uri, 'import "../secret.tg" as s\ny = s.key\n')
    assert [p["code"] for p in problems] == ["E220"]
    assert editor.ask_at("hover", uri, 1, 7) is None
    assert editor.ask_at("definition", uri, 0, 12) is None


def test_settings_of_lint(tmp_path: Path) -> None:
    (tmp_path / "gradcli.toml").write_text('[lsp]\nignore = "W401"\n')
    with Editor(folder=tmp_path) as editor:
        assert editor.open(URI, "unused = 1.0\ny = 2.0\n") == []
    with Editor("--no-config", "--select", "W405", folder=tmp_path) as editor:
        assert editor.open(URI, "unused = 1.0\ny = 2.0\n") == []


def test_it_forgets_what_is_closed(editor: Editor) -> None:
    editor.open(URI, "y = q\n")
    editor.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert editor.open(URI, "y = 2.0\n") == []


def test_it_ends_with_its_editor() -> None:
    editor = Editor()
    assert editor.server.stdin is not None
    editor.server.stdin.close()
    assert editor.server.wait(SECONDS) == 1  # nobody said `shutdown`
    editor.kill()


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("gradcli.cli.lsp.find_spec", lambda name: None)
    assert run(["lsp"]) == 2
    assert "pip install 'gradcli[lsp]'" in capsys.readouterr().err


STUBS = {
    "vscode": "exports.workspace = { getConfiguration: () => ({ get: () => 'gradcli' }) };",
    "vscode-languageclient": "exports.TransportKind = { stdio: 0 };"
    "exports.LanguageClient = class {"
    "  constructor(...given) { this.given = given; }"
    "  start() { console.log(JSON.stringify(this.given)); }"
    "};",
}


def test_the_extension_starts_this_server(tmp_path: Path) -> None:
    """With stand-ins for the modules of VS Code: what it would start is a command of gradcli."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node isn't installed")
    for name, text in STUBS.items():
        folder = tmp_path / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / ("node.js" if "client" in name else "index.js")).write_text(text)
    shutil.copy(ROOT / "editors" / "vscode" / "extension.js", tmp_path / "extension.js")
    code = "const e = require('./extension.js'); e.activate(); e.deactivate;"
    done = subprocess.run([node, "-e", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, _, server, options = json.loads(done.stdout)
    assert (name, server["command"]) == ("gradcli", "gradcli")
    assert options["documentSelector"] == [{"language": "gradcli"}]
    assert server["args"] == ["lsp"]
    with Editor("--stdio") as editor:  # which the client adds
        assert editor.open(URI, "y = 2.0\n") == []
