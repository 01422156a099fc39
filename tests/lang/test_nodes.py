"""Every kind of syntax node has its case in the resolver and the printer."""

from __future__ import annotations

from typing import get_args

import pytest

from gradcli.diagnostics import Source
from gradcli.lang import printer, syntax
from gradcli.lang.parser import parse
from gradcli.lang.resolve import Resolver

EXPRESSIONS = get_args(syntax.Expression)
STATEMENTS = get_args(syntax.Statement)
# Parts of other nodes, which the cases of those deal with.
PARTS = {
    syntax.Argument,
    syntax.Block,
    syntax.Branch,
    syntax.Clause,
    syntax.Domain,
    syntax.EllipsisItem,
    syntax.Entry,
    syntax.Field,
    syntax.Module,
    syntax.Parameter,
    syntax.Rule,
    syntax.Slice,
    syntax.TypeSpec,
}


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    source = Source("t.tg", "")
    return Resolver(parse(source), source, None, frozenset(), False)


def test_the_lists_are_complete() -> None:
    nodes = {
        value
        for value in vars(syntax).values()
        if isinstance(value, type) and issubclass(value, syntax.Node)
    }
    assert {*EXPRESSIONS, *STATEMENTS, *PARTS} == nodes - {syntax.Node}


@pytest.mark.parametrize("kind", EXPRESSIONS, ids=lambda kind: kind.__name__)
def test_expression_has_its_cases(kind: type, resolver: Resolver) -> None:
    assert kind in resolver.cases
    assert kind in printer._EXPRESSIONS


@pytest.mark.parametrize("kind", STATEMENTS, ids=lambda kind: kind.__name__)
def test_statement_has_its_cases(kind: type, resolver: Resolver) -> None:
    assert kind in resolver._statements
    assert kind in printer._STATEMENTS
