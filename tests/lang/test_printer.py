"""Printing is the inverse of parsing: for random trees, and for programs as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import Source, Span
from gradcli.lang import syntax
from gradcli.lang.dump import dump
from gradcli.lang.lexer import RESERVED
from gradcli.lang.parser import parse
from gradcli.lang.printer import print_module
from gradcli.lang.resolve import resolve

SPAN = Span(Source("t.tg", ""), 0, 0)


def make(kind: Any, *strategies: Any, **fields: Any) -> Any:
    return st.builds(lambda *parts, **more: kind(*parts, span=SPAN, **more), *strategies, **fields)


def several(strategy: Any, least: int = 0, most: int = 3) -> Any:
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


words = st.sampled_from(
    [
        "x",
        "y",
        "alpha",
        "β",
        "var",
        "print",
        "output",
        "record",
        "as",
        "within",
        "error",
        "e",
        "backward",
    ]
)
plain_words = st.sampled_from(
    ["x", "y", "alpha", "β"]
)  # as the first word of a statement, none of the soft keywords
names = make(syntax.Name, words)
plain_names = make(syntax.Name, plain_words)
numbers = st.one_of(
    make(lambda v, span: syntax.Number(v, "int", str(v), span=span), st.integers(0, 2**63 - 1)),
    make(
        lambda v, span: syntax.Number(v, "float", repr(v), span=span),
        st.floats(min_value=0, allow_infinity=False, allow_nan=False),
    ),
)
strings = make(syntax.String, st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
atoms = st.one_of(names, numbers, strings, make(syntax.Word, st.sampled_from([True, False, None])))


def chain(kind: Any, signs: list[str], operand: Any) -> Any:
    def pair(first: Any, rest: list[tuple[str, Any]], span: Span) -> Any:
        return kind(
            (first, *(node for _, node in rest)), tuple(sign for sign, _ in rest), span=span
        )

    return make(
        pair, operand, st.lists(st.tuples(st.sampled_from(signs), operand), min_size=1, max_size=3)
    )


def larger(inner: Any) -> Any:
    slices = make(syntax.Slice, st.none() | inner, st.none() | inner, st.none() | inner)
    items = several(st.one_of(inner, slices, make(syntax.EllipsisItem)), 1)
    entries = several(make(syntax.Entry, words | st.sampled_from(["if", "a b", ""]), inner))
    return st.one_of(
        make(syntax.ListDisplay, several(inner)),
        make(syntax.DictDisplay, entries),
        make(lambda o, n, span: syntax.Member(o, n, span, span=span), inner, words),
        make(syntax.Call, inner, arguments(inner)),
        make(syntax.Index, inner, items),
        make(syntax.Unary, st.sampled_from(["+", "-", "not"]), inner),
        make(syntax.Power, inner, inner),
        chain(syntax.Arithmetic, ["+", "-"], inner),
        chain(syntax.Arithmetic, ["*", "/", "//", "%", "@"], inner),
        chain(syntax.Comparison, ["==", "!=", "<", "<=", ">", ">="], inner),
        make(syntax.Logical, st.sampled_from(["and", "or"]), several(inner, 2)),
        make(syntax.Conditional, inner, inner, inner),
        make(syntax.Function, parameters(inner), inner | blocks(inner)),
    )


def arguments(inner: Any) -> Any:
    positional = several(make(syntax.Argument, inner), 0, 2)
    keywords = st.lists(st.tuples(words, inner), max_size=2, unique_by=lambda pair: pair[0]).map(
        lambda pairs: tuple(syntax.Argument(value, word, span=SPAN) for word, value in pairs)
    )
    return st.tuples(positional, keywords).map(lambda pair: (*pair[0], *pair[1]))


def parameters(inner: Any) -> Any:
    required = several(make(syntax.Parameter, names), 0, 2)
    optional = several(make(syntax.Parameter, names, inner), 0, 2)
    return st.tuples(required, optional).map(lambda pair: (*pair[0], *pair[1]))


def simple(inner: Any) -> Any:
    places = st.one_of(
        plain_names,
        make(lambda o, n, span: syntax.Member(o, n, span, span=span), plain_names, words),
        make(syntax.Index, plain_names, several(inner, 1)),
    )
    types = make(
        syntax.TypeSpec,
        st.sampled_from(["float", "int64"]),
        st.none() | st.just("...") | several(st.none() | plain_words | st.integers(0, 9), 1),
    )
    return st.one_of(
        make(syntax.Assign, places | make(syntax.ListDisplay, several(places, 1)), inner),
        make(
            syntax.Augment,
            places,
            st.sampled_from(["+", "-", "*", "/", "//", "%", "@", "**"]),
            inner,
        ),
        make(syntax.Update, places, st.sampled_from(["", "+", "-"]), inner),
        make(
            syntax.Declare,
            st.sampled_from(["var", "frozen", "const"]),
            names,
            st.none() | types,
            st.none() | inner,
            st.none() | make(syntax.Domain, inner, inner),
        ),
        make(syntax.Break),
        make(syntax.Return, st.none() | inner),
        make(syntax.Output, several(inner, 1)),
        make(lambda v, n, span: syntax.Output((v,), n, span=span), inner, names),
        make(syntax.Expect, inner, inner, st.just(()) | arguments(inner).filter(bool)),
        make(syntax.Print, several(inner, 1)),
        make(syntax.Watch, several(inner, 1)),
        make(syntax.Import, st.just("nn"), st.just(True), names),
        make(syntax.Import, st.just("a.tg"), st.just(False), names),
    )


def blocks(inner: Any) -> Any:
    return make(syntax.Block, several(simple(inner), 0, 2))


expressions = st.recursive(atoms, larger, max_leaves=12)


def compound(inner: Any) -> Any:
    body = blocks(inner)
    return st.one_of(
        make(syntax.If, several(make(syntax.Branch, inner, body), 1, 2), st.none() | body),
        make(syntax.While, inner, body),
        make(syntax.For, several(names, 1, 2), inner, body),
        make(syntax.Define, names, parameters(inner), inner | body),
        make(
            syntax.Define,
            names,
            parameters(inner),
            body,
            make(syntax.Rule, parameters(inner), body),
        ),
        make(
            lambda n, p, b, span: syntax.Define(n, p, b, opaque=True, span=span),
            names,
            parameters(inner),
            inner | body,
        ),
        make(syntax.Backward, names, parameters(inner), body),
        make(syntax.ModuleDefinition, names, parameters(inner), body),
        make(syntax.ExpectError, st.text('abc"\\', max_size=5), body),
        make(syntax.Tape, names, st.just(()) | arguments(inner).filter(bool), body),
        make(syntax.Pause, body),
        make(syntax.Record, body),
    )


statements = st.one_of(simple(expressions), compound(expressions))
modules = make(syntax.Module, several(statements))


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
