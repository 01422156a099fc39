"""The TextMate grammar is made from the language, and colours programs as the lexer reads them."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gradcli
from gradcli.diagnostics import Source
from gradcli.lang.lexer import LETTER, RESERVED, STATEMENTS, Lexer

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"


@cache
def maker() -> Any:
    """editors/textmate.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("textmate", ROOT / "editors" / "textmate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_language_gives() -> None:
    """`python editors/textmate.py` renews it."""
    assert maker().FILE.read_text(encoding="utf-8") == maker().text()


def test_each_word_of_the_grammar_has_a_scope() -> None:
    lark = maker().LARK.read_text(encoding="utf-8")
    words = maker().words_of_the_grammar(lark)
    assert {"if", "var", "within", "tape", "opaque"} <= words
    assert words == maker().SCOPE_OF_WORD.keys()
    with pytest.raises(KeyError, match="unless"):
        maker().grammar(lark + '\nunless: "unless" expression block\n')


# ---- with the tokenizer of VS Code ---------------------------------------------------------------

PROGRAMS = [
    *sorted((ROOT / "samples").rglob("*.tg")),
    *sorted((Path(gradcli.__file__).parent / "library").glob("*.tg")),
]
WORDS = RESERVED | STATEMENTS | {"error", "within", "as"}
CASES = [
    "var x: float[3] = 1.0; print = 3; print print",
    "output = f(x)\noutput y, printer",
    "y = x.var() + var(x) + x.print",
    "f(\n  print,\n  fn(a) {\n    print a; var = 2.0\n    var b = a\n  }\n)",
    "d = {print: 1, var: 2.0}; e = {\n  record: 3\n}",
    "record { y = x }; record = 3.0\nrecord.y",
    'import nn; import "a.tg" as b; import = 2',
    'expect error "tape" { tape t { } }; expect a ~= b within (rtol = 1e-6)\nexpect error == 3',
    "opaque fn f(x) = x**2\nopaque = 1\nfn g(x) { x } backward (dy) { dy }\nbackward g(dy, x) { }",
    's = "a \\" # no comment" # a comment: var x = 3',
    "x = 1_000 + 0 if c else .5e-3 - 2j * 3.",
    "α = 2.0; βx3 = α**2; if2 = ifx",
    "watch x; t.watch(x); watch(x)\n:",
    "pause { } ; module M(n) { var w = n }\nmodule.x",
    "a :+= 1; b //= 2; c ~= 3; d[..., none] = x if y else z",
    "if a { b } elif c { d } else { var e = 1 }",
]


def scopes(texts: list[str]) -> list[dict[tuple[int, int], list[str]]]:
    """For each text the scopes at each line and column, as VS Code's tokenizer finds them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node isn't installed")
    script = Path(__file__).with_name("tokenize.js")
    asked = json.dumps({"grammar": str(maker().FILE), "texts": texts})
    done = subprocess.run([node, str(script)], input=asked, capture_output=True, text=True)
    if "Cannot find module 'vscode-" in done.stderr:
        pytest.skip("vscode-textmate and vscode-oniguruma aren't in NODE_PATH")
    assert done.returncode == 0, done.stderr
    return [
        {
            (line, column): names
            for line, start, end, names in tokens
            for column in range(start, end)
        }
        for tokens in json.loads(done.stdout)
    ]


def expected(kind: str, text: str) -> str:
    """A pattern for the scopes of a token of the lexer."""
    if kind in ("NUMBER", "STRING", "TEXT"):
        return r"constant\.numeric" if kind == "NUMBER" else r"string\.quoted"
    if kind in WORDS or kind in ("DECLARE", "NOT") or text in ("and", "or"):
        return rf"{re.escape(maker().SCOPE_OF_WORD[text])}\.gradcli"
    if kind == "NAME":
        return r"variable|entity\.name|support\.(function|type)|constant\.language"
    if kind in ("SIGN", "OPERATOR", "ELLIPSIS"):
        return r"keyword\.operator\.arithmetic"
    if kind in ("AUGMENT", "UPDATE", "="):
        return r"keyword\.operator\.assignment"
    return ""


def differences(text: str, found: dict[tuple[int, int], list[str]]) -> list[str]:
    """Where the scopes aren't those of the lexer's tokens."""
    source = Source("t.tg", text)
    wrong = []
    for kind, word, start, _ in Lexer(source):
        line, column = source.position(start)
        units = len(source.line(line)[: column - 1].encode("utf-16-le")) // 2
        names = found.get((line - 1, units), [])
        pattern = expected(kind, word)
        inner = names[-1] if names else ""
        if pattern and not any(re.match(pattern, name) for name in names[1:] if "meta" not in name):
            wrong.append(f"{line}:{column}: `{word}` is {kind}, and coloured as {inner}")
    return wrong


def test_programs_are_coloured_as_they_are_read() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PROGRAMS]
    assert len(texts) > 100
    for path, text, found in zip(PROGRAMS, texts, scopes(texts), strict=True):
        assert differences(text, found) == [], path.name


@pytest.mark.parametrize("text", CASES)
def test_words_that_are_keywords_only_in_places(text: str) -> None:
    (found,) = scopes([text])
    assert differences(text, found) == []


def test_what_themes_colour() -> None:
    text = 'var w: float = tanh(v) # why\nfn cost(x) = "a\\tb\\q"\nm = nn.Dense(2)'
    (found,) = scopes([text])
    assert found[0, 4][-1] == "variable.other.declaration.gradcli"
    assert found[0, 7][-1] == "support.type.gradcli"
    assert found[0, 15][-1] == "support.function.builtin.gradcli"
    assert found[0, 20][-1] == "variable.other.gradcli"
    assert found[0, 24][-1] == "comment.line.number-sign.gradcli"
    assert found[1, 3][-1] == "entity.name.function.gradcli"
    assert found[1, 15][-1] == "constant.character.escape.gradcli"
    assert found[1, 18][-1] == "invalid.illegal.escape.gradcli"
    assert found[2, 7][-1] == "entity.name.function.call.gradcli"


# ---- without it ----------------------------------------------------------------------------------


def patterns(node: Any) -> list[str]:
    """All regular expressions of a grammar."""
    if isinstance(node, list):
        return [found for item in node for found in patterns(item)]
    if not isinstance(node, dict):
        return []
    own = [node[key] for key in ("match", "begin", "end") if key in node]
    return own + [found for value in node.values() for found in patterns(value)]


def test_its_patterns_compile_and_match() -> None:
    found = patterns(json.loads(maker().FILE.read_text(encoding="utf-8")))
    assert len(found) > 30
    compiled = [re.compile(pattern) for pattern in found]

    def first(text: str, group: str) -> bool:
        return any((m := p.match(text)) and group in m.groups() for p in compiled)

    assert first("var x = 3", "var")
    assert first("tanh(x)", "tanh")
    assert first("1e-3", "1e-3")
    assert not first("varx = 3", "var")


# ---- the extension -------------------------------------------------------------------------------


def test_the_extension_names_files_that_it_has() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    contributed = manifest["contributes"]
    (language,), (grammar,) = contributed["languages"], contributed["grammars"]
    assert language["id"] == grammar["language"]
    assert language["extensions"] == [".tg"]
    assert grammar["scopeName"] == "source.gradcli"
    for name in (language["configuration"], grammar["path"], manifest["main"]):
        assert (EXTENSION / name).is_file()
    assert EXTENSION / grammar["path"] == maker().FILE
    assert manifest["version"] == gradcli.__version__


def test_the_configuration_is_of_the_language() -> None:
    """Brackets, the sign of comments, and what a double click selects."""
    path = EXTENSION / "language-configuration.json"
    configuration = json.loads(path.read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "#"}
    assert configuration["brackets"] == [["{", "}"], ["[", "]"], ["(", ")"]]
    word = re.compile(configuration["wordPattern"])
    assert [m[0] for m in word.finditer("αx_2 = tanh(w.b)")] == ["αx_2", "tanh", "w", "b"]
    assert re.fullmatch(LETTER, "α")
    indent = re.compile(configuration["indentationRules"]["increaseIndentPattern"])
    outdent = re.compile(configuration["indentationRules"]["decreaseIndentPattern"])
    assert indent.match("while x > 0 {  # until it is small")
    assert not indent.match("if a { b }")
    assert outdent.match("  } else {")
