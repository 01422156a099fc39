"""The program that grows at a prompt."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.tasks.evaluation import Options
from gradcli.tasks.session import Session, is_open


@pytest.fixture
def session() -> Session:
    return Session("<repl>", {}, Options())


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ("2 + 3", [("", 5)]),
        ("y = 2.0 * 3", [("y", 6.0)]),
        ("[a, b] = [1, 2]", [("a", 1), ("b", 2)]),
        ("var x = 3.0", []),
        ("fn f(x) = x", []),
        ("a = 1\na += 2", [("a", 3)]),
        ("if true { c = 1 } else { c = 2 }", [("c", 1)]),
        ("while false { 1 }", []),
        ("none", [("", None)]),
        ("output w = 2.0", []),
    ],
)
def test_values_of_an_entry(session: Session, entry: str, values: list[object]) -> None:
    assert session.enter(entry).values == values
    assert session.enter("var other = 1.0\noutput other").values == []
    assert session.enter("other").values == [("", 1.0)]  # although `output` says what is one


def test_only_what_is_new_is_told(session: Session) -> None:
    assert session.enter("var x = 2.0\nprint x\nexpect x == 3.0").printed == ["2.0"]
    told = session.enter("print x + 1")
    assert (told.printed, told.expectations) == (["3.0"], [])
    told = session.enter("g = grad(detach(x), x)")
    assert [d.code for d in told.diagnostics] == ["W201"]
    assert session.enter("x").diagnostics == []
    told = session.enter("h = grad(2.0, x)")
    assert [d.message.split(":")[0] for d in told.diagnostics] == [
        "no gradient with respect to `x`"
    ]


def test_a_lone_expression_has_no_free_names(session: Session) -> None:
    with pytest.raises(GradcliError, match="unknown name `nothing`"):
        session.enter("nothing + 1")


@pytest.mark.parametrize("entry", ["y = = 2", "y = nothing", "y = [1][7]", "x = 5.0; y = [1][7]"])
def test_an_entry_that_fails_changes_nothing(session: Session, entry: str) -> None:
    session.enter("var x = 2.0\nprint x")
    before = session.text
    with pytest.raises(GradcliError):
        session.enter(entry)
    assert session.text == before
    told = session.enter("x")
    assert (told.values, told.printed) == ([("", 2.0)], [])


def test_undo(session: Session) -> None:
    for entry in ("var x = 2.0\nprint x", "x = 3.0\nprint x"):
        session.enter(entry)
    assert session.undo().startswith("x = 3.0")
    told = session.enter("print x * 10")
    assert told.printed == ["20.0"]
    session.undo()
    session.undo()
    assert (session.text, session.names) == ("", [])
    with pytest.raises(GradcliError, match="nothing to undo"):
        session.undo()


def test_questions(session: Session) -> None:
    session.enter("var x = 3.0")
    session.enter("x")  # whose value is shown, and not thrown away
    session.enter("y = x**2")
    found = session.gradients(("y",), ("x",))
    assert (found.gradients, found.outputs, found.diagnostics) == ({"y": {"x": 6.0}}, {}, [])
    assert session.gradients((), ()).gradients == {"y": {"x": 6.0}}
    why = session.why(("y",), ("x",))
    assert (why.explanations[0].gradient, why.diagnostics) == (6.0, [])
    check = session.check()
    assert (check.exit_code, check.diagnostics) == (0, [])
    session.enter("y + 1")
    assert session.gradients((), ()).gradients == {"result": {"x": 6.0}}


def test_an_input_may_be_declared_later() -> None:
    session = Session("<repl>", {"x": 4.0}, Options())
    session.enter("1 + 1")
    session.enter("var x")
    assert session.enter("x").values == [("", 4.0)]
    assert session.gradients(("x",), ("x",)).gradients == {"x": {"x": 1.0}}


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("x = 1", False),
        ("fn f(x) {", True),
        ("fn f(x) {\n\n", True),
        ("fn f(x) {\n return x\n}", False),
        ("y = [1,\n2", True),
        ('s = "("', False),
        ("x = 1 # (", False),
        ("y = 1 +", True),
        ("y = 1 + # more", True),
        ("y = 1 +\n", False),
        ("y = true and", True),
        ("x = 1)", False),
    ],
)
def test_more_lines_belong_to_an_entry(text: str, more: bool) -> None:
    assert is_open(text) is more
