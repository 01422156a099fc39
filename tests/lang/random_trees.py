"""Random syntax trees: of every node, in every place where the grammar has it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gradcli.diagnostics import Source, Span
from gradcli.lang import syntax

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
        make(syntax.Text, texts(inner)),
        make(syntax.Comprehension, inner, several(clauses(inner), 1)),
        make(syntax.Conditional, inner, inner, inner),
        make(syntax.Function, parameters(inner), inner | blocks(inner)),
    )


def texts(inner: Any) -> Any:
    """Parts of a text: strings never side by side, and no quotes or braces in a field."""
    fields = make(syntax.Field, plain_names | numbers, st.sampled_from(["", ".3f", "8.2e", "+d"]))
    some = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
    return st.lists(fields | some, max_size=4).map(
        lambda parts: tuple(
            part
            for k, part in enumerate(parts)
            if not (k and isinstance(part, str) and isinstance(parts[k - 1], str))
        )
    )


def clauses(inner: Any) -> Any:
    return make(syntax.Clause, several(names, 1, 2), inner, several(inner, 0, 2))


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
