"""Printing is the inverse of parsing: for random trees, and for programs as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from gradcli.diagnostics import Source
from gradcli.lang import syntax
from gradcli.lang.dump import dump
from gradcli.lang.lexer import RESERVED
from gradcli.lang.parser import parse
from gradcli.lang.printer import print_module
from gradcli.lang.resolve import resolve

from .random_trees import modules


@settings(max_examples=150, deadline=None)
@given(modules)
def test_parsing_what_was_printed_gives_the_tree_again(tree: syntax.Module) -> None:
    text = print_module(tree)
    again = parse(Source("t.tg", text))
    assert again == tree
    assert print_module(again) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("y=a+b*c**-d", "y = a + b * c**-d\n"),
        ("y = ((a + b)) * (c)", "y = (a + b) * c\n"),
        ("y = a - (b - c)", "y = a - (b - c)\n"),
        ("y = (a + b) + c", "y = (a + b) + c\n"),
        ("y = (-x)**2", "y = (-x)**2\n"),
        ("y = (a ** b) ** c", "y = (a**b)**c\n"),
        ("a,b=b,a", "a, b = b, a\n"),
        (
            "if x>0{y=1}elif x<0{y=2}else{y=3}",
            "if x > 0 {\n    y = 1\n} elif x < 0 {\n    y = 2\n} else {\n    y = 3\n}\n",
        ),
        ("f = fn(x){return x}", "f = fn(x) {\n    return x\n}\n"),
        ('d={"a":1,"b c":2,"if":3}', 'd = {a: 1, "b c": 2, "if": 3}\n'),
        ("x = 1_000 ; y = 1e-3", "x = 1_000\ny = 1e-3\n"),
        ("x[ 1 : , : : 2 ] = 0", "x[1:, ::2] = 0\n"),
        ("(2.0).sqrt()", "(2.0).sqrt()\n"),
        ("while true { }", "while true { }\n"),
        ("var  x :float[ n,_ ]=1 in (0,1)", "var x: float[n, _] = 1 in (0, 1)\n"),
        ("", ""),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert print_module(parse(Source("t.tg", text))) == canonical


def test_listings_show_every_node() -> None:
    source = Source("t.tg", "x = 1\nfn f(a) = a + x\ny = f(2)[0]")
    tree = parse(source)
    assert dump(tree).splitlines()[:4] == [
        "Module",
        "  statements:",
        "    Assign",
        "      target: Name name='x'",
    ]
    listing = dump(resolve(tree, source))
    assert "Apply op=add" in listing
    assert "x@0*" in listing, "a captured name's slot is a cell"


def test_reserved_words_are_no_keys() -> None:
    assert all(
        print_module(parse(Source("t.tg", f'd = {{"{word}": 1}}'))) == f'd = {{"{word}": 1}}\n'
        for word in RESERVED
    )
