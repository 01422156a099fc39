"""Functions with a derivative rule of their own, where rows run together."""

from __future__ import annotations

import re

import pytest

from tests.tasks.batch.one_by_one import OPTIONS, assert_same, parsed

from ..programs import failure, value
from .ways import verify_every_way

INFINITE = "fn h(a) { return a * a } backward (dy) { return dy * log(a) }\n"
PROGRAMS = {
    "a rule that is infinite in a row": (
        INFINITE + "fn row(u, w) { return h(u) * w }",
        [0.0, 1.0, 2.0],
    ),
    "an infinite share of what has no weight": (
        INFINITE + "fn row(u, w) { return h(u) * (u - 1.0) }",
        [0.0, 1.0, 2.0],
    ),
    "an infinite share that nothing depends on": (
        INFINITE + "fn row(u, w) { return where(u > 0.5, h(u), w) }",
        [0.0, 1.0, 2.0],
    ),
    "an infinite share of another shape": (
        "fn h(a) { return [a, a**2] } backward (dy) { return dy[0] * log(a) + dy[1] }\n"
        "fn row(u, w) { v = h(u); return where(u > 0.5, v[0] * w, u) }",
        [0.0, 1.0, 2.0],
    ),
    "a tangent along a tangent in some rows": (
        "fn h(a) { return a**3 } backward (dy) { return dy * (3 * a * a + 1.0) }\n"
        "fn row(u, w) { if u > 0.5 { return jvp(fn(z) = jvp(grad(h))(w * u, z))(u, w) }; return u }",
        [0.0, 1.0, 2.0],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    functions, rows = PROGRAMS[name]
    verify_every_way(functions, rows)


# Functions, and an expression of a row by them, where `X` is the row's number. Rules that aren't
# the derivative of their body show who was asked.
RULES = {
    "a factor": ("fn h(a) { return a * a } backward (dy) { return 3 * dy * a }", "h(X)"),
    "what rows share": ("fn h(a) { return a * a } backward (dy) { return 3 * dy * a }", "h(w) * X"),
    "a row's and what rows share": (
        "fn h(a, b) { return a * b } backward (dy) { return [3 * dy * b, 2 * dy * a] }",
        "h(X, w)",
    ),
    "twice a row's": (
        "fn h(a, b) { return a * b } backward (dy) { return [3 * dy * b, 2 * dy * a] }",
        "h(X, u)",
    ),
    "none": ("fn h(a, b) { return a * b } backward (dy) { return [none, 2 * dy * a] }", "h(X, w)"),
    "none in some rows": (
        "fn h(a) { return a * a } backward (dy) { if a > 25 { return none }; return dy * a }",
        "h(X)",
    ),
    "a constant": (
        "fn h(a) { return 1.0 if a > 0 else 0.0 } backward (dy) { return dy }",
        "h(X) * u",
    ),
    "its argument": ("fn h(a) { return a } backward (dy) { return 3 * dy }", "h(X)"),
    "branches": (
        "fn h(a) { if a > 20 { return a * a }; return a } backward (dy) { if a > 25 { return 3 * dy * a }; return dy }",
        "h(X)",
    ),
    "a local name": (
        "fn h(a) { if a > 20 { k = 2.0 } else { k = a }; return a * k } backward (dy) { return 3 * dy * k }",
        "h(X)",
    ),
    "a name of a row": (
        "fn h(a, b) { fn i(c) { return c * 2 } backward (dy) { return dy * b }; b = detach(b); return i(a) }",
        "h(w, X)",
    ),
    "a list": (
        "fn h(a) { return [a, a**2] } backward (dy) { return dy[0] * a + dy[1] }",
        "h(X)[0] * h(X)[1]",
    ),
    "a part of a list": (
        "fn h(a) { return [a, a**2] } backward (dy) { return dy[0] * a + 3 * dy[1] }",
        "h(X)[1]",
    ),
    "a list of arguments": (
        "fn h(l) { return l[0] * l[1] } backward (dy) { return [3 * dy * l[1], dy * l[0]] }",
        "h([X, w])",
    ),
    "a dict": (
        "fn h(p) { return p.a * p.b } backward (dy) { return {a: dy * p.b, b: 2 * dy * p.a} }",
        "h({a: X, b: w})",
    ),
    "an array": (
        "fn h(v) { return v**2 } backward (dy) { return 3 * dy * v }",
        "sum(h(array([X, w, 1.0])))",
    ),
    "an array that rows share": (
        "fn h(v) { return v**2 } backward (dy) { return 3 * dy * v }",
        "sum(h(array([w, 1.0])) * X)",
    ),
    "a mask": (
        "fn h(v) { return sum(v**2) } backward (dy) { return dy * v * sum(v[v > 12]) }",
        "h(array([X, w, 13.0]))",
    ),
    "a shape": (
        "fn h(a) { return a**2 } backward (dy) { return dy * a * sum(ones(1 + int64(a > 15))) }",
        "h(X)",
    ),
    "a loop": (
        "fn h(a) { return a**2 } backward (dy) { n = 1.0; while n < a { n = n * 2 }; return dy * n }",
        "h(X)",
    ),
    "a transform": (
        "fn h(a) { return a**3 } backward (dy) { return dy * grad(fn(t) = t**3)(a) }",
        "h(X)",
    ),
    "rows": (
        "fn h(a) { return a**3 } backward (dy) { return dy * sum(vmap(fn(t) = t * a)([1.0, 2.0])) }",
        "h(X)",
    ),
    "a rule": (
        "fn inner(a) { return a**2 } backward (dy) { return 5 * dy * a }\n"
        "fn h(a) { return inner(a) } backward (dy) { return dy * grad(inner)(a) }",
        "h(X)",
    ),
    "an opaque function": (
        "opaque fn h(a) { return a * a }\nbackward h(dy, a) { return 3 * dy * a }",
        "h(X)",
    ),
}
WAYS = {
    "all rows": "return EXPR",
    "a branch": "if u > 15.0 { return EXPR }; return 0.5 * u",
    "branches in branches": "if u > 15.0 { if u < 30.0 { return 0.25 * w * u }; s = EXPR } else { s = EXPR * 2 }; return s * u",
    "a shape": "k = sum(ones(1 + int64(u > 15.0))); return EXPR * k",
    "a while loop": "s = 0.0; n = abs(u); while n > 8.0 { s = s + EXPR; n = n * 0.5 }; return s",
    "rows in rows": "return sum(vmap(fn(k) = EXPR)([1.0, 2.0, 3.0]))",
    "some rows in rows": "return sum(vmap(fn(k) = EXPR * k if k * 12 < u else 1.5 * u)([1.0, 2.0, 3.0]))",
}
TRANSFORMS = {
    "y": "ROW(u, w)",
    "by_row": "grad(ROW)(u, w)",
    "by_shared": "grad(ROW, wrt = 1)(u, w)",
    "weighed": "vjp(ROW)(u, u, w)",
    "second": "hvp(ROW)(u, w, w)",
    "along": "jvp(ROW)(u, 1.0, w)",
}


@pytest.mark.parametrize("way", WAYS)
def test_rules(way: str) -> None:
    functions, asked = "", {}
    for k, (name, (rule, text)) in enumerate(RULES.items()):
        rule, text = (re.sub(r"\bh\(", f"h{k}(", part) for part in (rule, text))
        body = WAYS[way].replace("EXPR", text.replace("X", "k * u" if "in rows" in way else "u"))
        functions += f"{rule}\nfn row{k}(u, w) {{ {body} }}\n"
        for of, transform in TRANSFORMS.items():
            if not (of == "along" and "opaque" in name):  # forward mode goes through bodies
                asked[f"{of}_{name.replace(' ', '_')}"] = transform.replace("ROW", f"row{k}")
    verify_every_way(
        functions,
        asked={name.replace("'", ""): text for name, text in asked.items()},
        kinds=["var"],
    )


@pytest.mark.parametrize("change", ["s + 1.0", "s + a", "2.0"])
@pytest.mark.parametrize("asked", ["grad(y, u)", "grad(y * y, u)"])
def test_a_rule_that_changes_a_state_changes_that_of_its_rows(change: str, asked: str) -> None:
    rule = f"fn h(a) {{ return a * a }} backward (dy) {{ s := {change}; return dy * 2.0 * a }}\n"
    text = f"var u\nvar s = 0.0\n{rule}y = u\nif u > 15.0 {{ y = h(u) }}\noutput g = {asked}\noutput z = s + u"
    assert_same(parsed(text), {"u": [10.0, 20.0, 40.0, -5.0]}, OPTIONS.with_changes(of=["g"]))


def test_the_error_of_a_row_whose_tangent_is_moved_along() -> None:
    text = (
        "var scale = 0.75\nfn h(z) { return z * scale } backward (dy) { return dy * scale }\n"
        "fn row(x, u) { if u < 3 { return jvp(grad(h))(u, x) }; return x }\n"
        "output y = vmap(fn(x, u) = jvp(grad(row))(x, u, u))([1.0, 2.0, 3.0], [4.0, 5.0, -2.5])"
    )
    assert failure(text).code == "E323"


INNER = {
    "in a rule": (
        "fn h(a) { return a * a } backward (dy) { return dy * sum(vmap(fn(q) = q * a)([1.0, 1.0])) }",
        "grad(h)(u)",
    ),
    "in a row": ("fn h(a) = a * sum(vmap(fn(q) = q * a)([1.0, 1.0]))", "h(u)"),
}
REST = {
    "a range": "for k in range(int64(u / 10.0) + 1) { x = x + 0.1 * vjp(x * u, u, 0.5) }",
    "a branch": "if u > 20.0 { x = x + 0.1 * vjp(x * u, u, x) }",
}


@pytest.mark.parametrize("rest", REST.values(), ids=REST)
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_rows_inside_rows_before_some_of_these_ask(inner: tuple[str, str], rest: str) -> None:
    functions, x = inner
    functions += f"\nfn row(u) {{ x = {x}; {rest}; return x }}\n"
    rows = [10.0, 25.0, 35.0]
    together = value(f"{functions}output y = vmap(grad(row))({rows})")
    assert together.tolist() == pytest.approx(
        [value(f"{functions}output y = grad(row)({u})") for u in rows], rel=1e-12
    )
