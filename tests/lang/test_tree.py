"""Nodes are compared, hashed and printed by what they say, not by where they stand."""

from __future__ import annotations

from gradcli.diagnostics import Source, Span
from gradcli.lang import program, syntax
from gradcli.lang.parser import parse
from gradcli.lang.tree import Tree


def parsed(text: str) -> syntax.Node:
    return parse(Source("test", text))


def test_nodes_are_equal_where_they_say_the_same() -> None:
    one, other = parsed("y = a + 2.0*b"), parsed("y   =  a + (2.00 * b)")
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, parsed("y = a - 2.0*b")}) == 2


def test_nodes_of_different_kinds_differ() -> None:
    span = Span(Source("test", "x"), 0, 1)
    assert syntax.Name("x", span=span) != syntax.String("x", span=span)
    assert syntax.Name("x", span=span) == syntax.Name(
        "x", span=Span(Source("other", " x"), 1, 2), depth=3
    )


def test_a_node_prints_what_it_says() -> None:
    assert repr(program.Slot(3, "x")) == "Slot(index=3, name='x', cell=False)"
    assert "span" not in repr(parsed("y = x"))


def test_every_node_has_slots_and_knows_its_fields() -> None:
    kinds = {
        kind
        for room in (syntax, program)
        for kind in vars(room).values()
        if isinstance(kind, type) and kind is not Tree
    }
    trees = {kind for kind in kinds if issubclass(kind, Tree)}
    assert len(trees) > 90
    for kind in trees:
        assert kind.__dictoffset__ == 0
        assert not {"span", "depth"} & {*kind.FIELDS}
    assert syntax.Member.FIELDS == ("object", "name", "name_span")
    assert program.For.FIELDS == ("target", "iterable", "body")
