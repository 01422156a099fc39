"""What is known at a place of a program that is being written: with errors, and in the middle of a
word."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import gradcli
from gradcli.diagnostics import GradcliError, Source
from gradcli.editor.completion import completions
from gradcli.editor.definition import definition
from gradcli.editor.document import Document
from gradcli.editor.hover import hover
from gradcli.editor.problems import problems
from gradcli.ops import BUILTINS
from gradcli.ops.members import ATTRIBUTES, TAPE_MEMBERS
from gradcli.tasks.programs import parse_program

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.tg"))


def at(marked: str, name: str = "<editor>") -> tuple[Document, int]:
    """A document, and where `|` stands in it."""
    return Document(name, marked.replace("|", "", 1)), marked.index("|")


def shown(marked: str) -> str:
    """What is shown about the name at the mark, without the fence."""
    found = hover(*at(marked))
    return "" if found is None else found.markdown


def words(marked: str) -> list[str]:
    return [item.word for item in completions(*at(marked))]


def defined(marked: str) -> tuple[int, int] | None:
    """Line and column of the definition of the name at the mark."""
    found = definition(*at(marked))
    return None if found is None else (found.line, found.column)


# ---- hover ---------------------------------------------------------------------------------------


def test_a_builtin_has_its_signature_and_derivative() -> None:
    text = shown("var x = 1.0\ny = ta|nh(x)")
    assert text.startswith("```gradcli\ntanh(x)\n```\n")
    assert "- ∂/∂x: `" in text
    assert "- accuracy: " in text
    assert shown("var x = 1.0\ny = x.s|um()").startswith("```gradcli\nsum(")


@pytest.mark.parametrize("name", BUILTINS)
def test_each_builtin_says_something(name: str) -> None:
    assert f"\n{name}(" in shown(f"|{name}") or f"   {name}(" in shown(f"|{name}")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("# Adds.\n# Slowly.\nfn f(a,  b = 2.0) = a + b\ny = f|(1.0)", "# Adds.\n# Slowly.\nfn f(a, b = 2.0)"),
        ("fn f(a) { # why\n return a }\nf|(1.0)", "fn f(a)  # why"),
        ("opaque fn f(\n  a\n) { return a }\nf|(1.0)", "opaque fn f( a )"),
        ("module M(n) { var w = n }\nm = M|(2)", "module M(n)"),
        ("var x: float[3] = [1., 2., 3.] # a start\ny = x|", "var x: float[3] = [1., 2., 3.]  # a start"),
        ("s = \"# none\"\nprint s|", "s = \"# none\""),
        ("a, b = 1.0, 2.0\nc = b|", "a, b = 1.0, 2.0"),
        ("x = 1.0\nx = x + 1\nx += 2\ny = x|", "x = 1.0\n# and assigned in 2 other places"),
        ("fn f(a = 3.0) = a|", "a = 3.0  # a parameter"),
        ("for i, v in enumerate([1, 2]) { print v| }", "for i, v in enumerate([1, 2])"),
        ("tape t (persistent = true) { }\nt|.reset()", "tape t (persistent = true)"),
        ("sin = 3.0\nsin|", "sin = 3.0"),
    ],
)  # fmt: skip
def test_a_name_of_the_program_has_its_declaration(marked: str, expected: str) -> None:
    assert shown(marked) == f"```gradcli\n{expected}\n```"


@pytest.mark.parametrize("marked", ["y = 3|.0", "# tanh|(x)", "|", "y = unknown|", 'print "tan|h"'])
def test_there_may_be_nothing_to_say(marked: str) -> None:
    assert shown(marked) == ""


def test_text_of_a_program_is_only_code() -> None:
    """A comment can't end the block that it is shown in."""
    text = shown("# ```` ![](http://elsewhere/x.png)\nfn f(a) = a\nf|(1.0)")
    assert text.startswith("`````gradcli\n# ````")
    assert text.endswith("\n`````")


# ---- definitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("var x = 1.0\ny = x|", (1, 5)),
        ("x = 1.0\nx = 2.0\ny = |x", (1, 1)),
        ("fn f(a) = a\ny = f|(1.0)", (1, 4)),
        ("fn f(a, b = 1.0) = a + b|", (1, 9)),
        ("a = 1.0\nfn f(a = a|) = a", (1, 1)),
        ("a = 1.0\nfn f(a| = a) = a", (2, 6)),
        ("a = 1.0\nfn f() {\n  a = 2.0\n  fn g() = a|\n}", (3, 3)),
        ("for i, v in enumerate([1]) { print v| }", (1, 8)),
        ("y = [v|**2 for v in [1, 2] if v > 1]", (1, 15)),
        ("y = [v for u, v in zip([1], [2]) if v| > 1]", (1, 15)),
        ("p, [q, r] = 1.0, [2.0, 3.0]\nr|", (1, 8)),
        ("module M(n) { var w = n| }", (1, 10)),
        ("tape t { }\nt|.reset()", (1, 6)),
        ("fn f(x) { x**2 } backward (dy) { dy * x| }", (1, 6)),
        ("opaque fn f(x) = x\nbackward f|(dy, x) { dy }", (1, 11)),
        ("αβ = 1.0\ny = α|β", (1, 1)),
        ("import nn\nm = nn|.Dense(2)", (1, 8)),
        ("y = si|n(1.0)", None),
    ],
)
def test_a_name_leads_to_where_it_is_bound(marked: str, expected: tuple[int, int] | None) -> None:
    assert defined(marked) == expected


def test_names_of_imported_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.tg").write_text(
        "# Other things.\n\nvar w = 2.0\n# Twice.\nfn g(a) = 2 * a\n"
    )
    main = str(tmp_path / "main.tg")
    head = 'import "sub/other.tg" as o\n'
    found = definition(*at(head + "y = o.g|(2.0)", main))
    assert found is not None
    assert (found.source.name, found.line) == (str(tmp_path / "sub" / "other.tg"), 5)
    about = hover(*at(head + "y = o.g|(2.0)", main))
    assert about is not None
    assert "# Twice.\nfn g(a)" in about.markdown
    of_file = hover(*at('import "sub/oth|er.tg" as o\n', main))
    assert of_file is not None
    assert "# Other things." in of_file.markdown
    assert [item.word for item in completions(*at(head + "y = o.|", main))] == ["w", "g"]


# ---- completion ----------------------------------------------------------------------------------


def test_names_in_scope_come_first() -> None:
    found = words("var x = 1.0\nfn f(aa) {\n  bb = 2.0\n  r|\n}\ncc = 3.0\nfn g(dd) = dd")
    assert found[:6] == ["aa", "bb", "x", "f", "cc", "g"]
    assert "dd" not in found
    assert {"tanh", "pi", "while", "return", "output"} <= set(found)
    assert len(found) == len(set(found)) or found.count("var") == 2  # a builtin, and a keyword


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("import |", ["nn"]),
        ("import n|", ["nn"]),
        ("x = 1.0; import |", ["nn"]),
        ("# a commen|t", []),
        ('print "te|xt"', []),
        ('print "te|', []),
        ("tape t { }\nt.|", list(TAPE_MEMBERS)),
        ("import nowhere\nnowhere.|", []),
    ],
)
def test_what_the_line_says(marked: str, expected: list[str]) -> None:
    assert words(marked) == expected


@pytest.mark.parametrize("name", TAPE_MEMBERS)
def test_tapes_have_these_members(name: str) -> None:
    """They are asked for in vain, with too many arguments, but they are there."""
    source = f"var x = 1.0\ntape t {{ y = x }}\nz = t.{name}(nothing = 1)\noutput y"
    with pytest.raises(GradcliError) as error:
        gradcli.load(source=source).run()
    assert "has no member" not in str(error.value)


def test_types() -> None:
    assert "float32" in words("var x: |")
    assert "float32" in words("const c : fl|")
    assert "tanh" not in words("var x: |")
    assert "tanh" in words("d = {var: |")


def test_members_of_values() -> None:
    found = words("var x = [1.0]\ny = x.|")
    assert set(ATTRIBUTES) < set(found)
    assert {"sum", "reshape"} <= set(found)
    assert "while" not in found
    assert "sum" in words("y = f(x).|\nfn f(a) = a\nx = 1.0")
    assert "while" in words("y = 3.|")  # the point of a number
    assert {"Dense", "LayerNorm"} <= set(words("import nn\nm = nn.|"))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        "y = x +\n",
        "y = (x\n",
        "if x > 0 {\n",
        "y = f(x,\nz = 2.0\n",
        'print "a\n',
        "}\n",
        "y = x.\n",
        "fn\n",
    ],
)
def test_a_line_with_an_error_hides_nothing_else(broken: str) -> None:
    marked = f"var x = 1.0\nfn f(a) = a\n{broken}w = f|(x)\n"
    assert defined(marked) == (2, 4)
    assert {"x", "f"} <= set(words(marked))
    assert problems(at(marked)[0])[0].diagnostic.severity == "error"


def test_the_end_of_the_text() -> None:
    assert "x" in words("var x = 1.0\ny = x + |")
    assert "x" in words("var x = 1.0\n\nfn f(a) {\n  b = a\n  c = |")


@pytest.mark.parametrize("path", SAMPLES[::6], ids=lambda path: path.name)
def test_any_place_of_any_text_can_be_asked(path: Path) -> None:
    """A program with a stretch missing is what an editor has most of the time."""
    text = path.read_text(encoding="utf-8")
    rng = random.Random(path.name)
    for _ in range(20):
        cut = rng.randrange(len(text))
        broken = text[:cut] + text[cut + rng.randrange(30) :]
        document = Document(str(path), broken)
        problems(document)
        for offset in [cut, *(rng.randrange(len(broken) + 1) for _ in range(20))]:
            found = hover(document, offset)
            assert found is None or found.span.start <= offset <= found.span.end
            definition(document, offset)
            completions(document, offset)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_problems_are_those_of_the_command(path: Path) -> None:
    """A right program has no errors, and an error is the one that `eval` reports."""
    text = path.read_text(encoding="utf-8")
    assert not [p for p in problems(Document(str(path), text)) if p.diagnostic.severity == "error"]
    broken = Source(str(path), text + "\ny = nowhere_to_be_found + alas\n")
    with pytest.raises(GradcliError) as raised:
        parse_program(broken)
    found = [problem.diagnostic for problem in problems(Document(broken.name, broken.text))]
    assert [d.message for d in found] == [d.message for d in raised.value.diagnostics]
