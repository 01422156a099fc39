"""Values and gradients that there are in some rows only: what each row gives alone, and the error
of one that uses none."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.diagnostics import GradcliError

from ..programs import evaluate, value
from .ways import VALUE, verify_every_way

MADE = "s = u; if u > 15.0 { s = u * w }; "  # of `w` in some rows only
ROWS = {
    "a gradient that is tested": MADE + "g = grad(s, w); return 0.5 if g == none else g * u",
    "a gradient that is used": MADE + "g = grad(s, w); return g * u",
    "a gradient in a branch of its own": MADE + "if u > 15.0 { return grad(s, w) * 2 }; return u",
    "a gradient in another branch": MADE + "if u > 5.0 { g = grad(s, w); return u if g == none else g * u }; return u",
    "a gradient by its own number": "s = 1.0; if u > 15.0 { s = u * w }; g = grad(s, u); return w if g == none else g",
    "a list of gradients": MADE + "g = grad(s, [u, w]); return g[0] if g[1] == none else g[1] * u",
    "zeros instead": MADE + 'return grad(s, w, unconnected = "zero") + u',
    "a vjp": MADE + "g = vjp(s, w, u); return 0.5 if g == none else g * u",
    "a jvp": MADE + "return jvp(s, w, u) * u",
    "an hvp": "s = u; if u > 15.0 { s = u * w * w }; g = hvp(s, w, u); return 0.5 if g == none else g * u",
    "a jacobian": MADE + "g = jacobian(s, w); return 0.5 if g == none else g * u",
    "a hessian": "s = u; if u > 15.0 { s = u * w * w }; g = hessian(s, w); return 0.5 if g == none else g * u",
    "a tape": "s = u; tape t { t.watch(w); if u > 15.0 { s = u * w } }; g = t.gradient(s, w); return u if g == none else g * u",
    "by an intermediate": "x = u * 2; s = 1.0; if u > 15.0 { s = x * w }; g = grad(s, x); return u if g == none else g * u",
    "by a literal": "if u > 15.0 { x = u * 2 } else { x = 3.0 }; g = grad(x * w, x); return u if g == none else g * u",
    "of a literal": "if u > 15.0 { x = u * 2 } else { x = 3.0 }; g = grad(x * 2.0, u); return u if g == none else g * u",
    "a rule that gives none": "fn h(a) { return a * a } backward (dy) { if a > 15.0 { return none }; return dy }; "
                              "g = grad(h(u), u); return u if g == none else g",
    "a derivative that depends on it in some rows": "return grad(fn(q) { if q > u { return q * q }; return q * w * w })(0.6)",
    "rows in rows": "return sum(vmap(fn(k) { s = 1.0; if k * 12 < u { s = w * k }; g = grad(s, w); "
                    "return 0.5 if g == none else g * k })([1.0, 2.0, 3.0]))",
    "rows in rows that use it":
        "return sum(vmap(fn(k) { s = 1.0; if k * 12 < u { s = w * k }; return grad(s, w) * k })([1.0, 2.0]))",
    "a value": "s = none; if u > 15.0 { s = u * w }; return 0.5 * u if s == none else s",
    "a value that is used": "s = none; if u > 15.0 { s = u * w }; return s * 2",
    "a function without a value":
        "fn f(a) { if a > 15 { return a * w } else { return none } }; s = f(u); return u if s == none else s",
    "none in a list": "s = [none, u]; if u > 15.0 { s = [u * w, u] }; return s[1] if s[0] == none else s[0]",
    "a name that some rows have": "if u > 15 { t = u * w }; if u > 15 { return t }; return u",
    "names that fewer rows have":
        "if u > 15 { t = u * w; if u > 30 { v = t * t } }; if u > 30 { return v + t }; if u > 15 { return t }; return u",
    "a name that a row lacks": "if u > 15 { t = u * w }; if u > 5 { return t }; return u",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    rows = (10.0, 20.0, 40.0, -5.0, 0.5)
    verify_every_way(f"fn row(u, w) {{ {ROWS[name]} }}", rows, asked=VALUE, kinds=["var"])


OVERWRITTEN = {
    "in a branch of a branch": "s = abs(u); if u > 5 { if u < 15 { s = w } }; return s",
    "in a branch after a branch": "s = abs(u); if u > 15 { s = s * w }; s = sin(s); if u > 0 { if u < 30 { s = w } }; return s",
    "by names that are swapped": "s = u * w; t = s**2; if u > 15 { s, t = t, s }; if u < 30 { t = w }; return t",
    "in a loop that rows leave": "s = u * u; for k in range(4) { if k * 12 > u { s = w; break }; s = s * 0.5 }; return s",
    "in a loop that rows go on in": "s = u; for k in range(3) { s = s * s; if k * 12 > u { continue }; s = s * w }; "
                                    "if u > 15 { if u < 30 { s = w } }; return s",
    "what some rows have": "if u > 5 { t = u * u; if u > 15 { t = t * w } }; s = u; if u > 30 { s = t }; "
                           "if u < 0 { s = w }; return s",
    "what sorts of rows have": "s = u * u; t = sum(ones(2 + int64(u) % 3)) * s; if u > 0 { if u < 30 { t = w } }; return t",
    "before rows inside": "p = u * u; s = sum(vmap(fn(q) { if q * u > 30 { return w }; return q * p })([1.0, 2.0])); return s",
    "what rows inside leave": "p = u * u; s = sum(vmap(fn(q) { s = q * p; if q * u > 30 { s = w }; return s })([1.0, 2.0])); "
                              "if u > 30 { s = 2.0 }; return s",
    "in a conditional expression": "s = u * u; t = (s * w if u > 15 else s) * s; if u > 0 { if u < 30 { t = w } }; return t",
}  # fmt: skip
DERIVED = {
    "by_row": "grad(row)(u, w)",
    "by_shared": "grad(row, wrt = 1)(u, w)",
    "of_values": "grad(u * row(u, w), u) * w",
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_derivatives_of_what_some_rows_overwrite(name: str) -> None:
    """Where a row's derivative is made of nothing, neither that has a derivative."""
    rows = (10.0, 20.0, 40.0, -5.0)
    verify_every_way(f"fn row(u, w) {{ {OVERWRITTEN[name]} }}", rows, asked=DERIVED, kinds=["var"])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("vmap(fn(u) = none)([1.0, 2.0])", [None, None]),
        ("vmap(fn(u) = u if u > 1 else none)([1.0, 2.0, 3.0])", [None, 2.0, 3.0]),
        ("vmap(fn(u) = [u, u] if u > 1 else [none, u])([1.0, 2.0])", [[None, 2.0], [1.0, 2.0]]),
        (
            "vmap(fn(u) = {a: u * ones(2) if u > 1 else none})([1.0, 2.0])",
            {"a": [None, [2.0, 2.0]]},
        ),
        ("vmap(fn(u) = [u, [u, u]] if u > 1 else none)([1.0, 2.0])", [None, [2.0, [2.0, 2.0]]]),
        (
            "vmap(fn(u) = [u, [u, none]] if u > 1 else [u, none])([1.0, 2.0])",
            [[1.0, 2.0], [None, [2.0, None]]],
        ),
        (
            "vmap(fn(u) = [u, u] if u > 2 else [none, u] if u > 1 else none)([1.0, 2.0, 3.0])",
            [None, [None, 2.0], [3.0, 3.0]],
        ),
        (
            "vmap(fn(u) = {a: u, b: [u]} if u > 1 else none)([1.0, 2.0])",
            [None, {"a": 2.0, "b": [2.0]}],
        ),
        (
            "vmap(fn(u) = vmap(fn(v) = [u, v] if v > 1 else none)([1.0, u]))([20.0, 40.0])",
            [[None, None], [[20.0, 40.0], [20.0, 40.0]]],
        ),
        ("grad(fn(w) = vmap(fn(u) = [w, u * w] if u > 1 else none)([1.0, 2.0])[1][1])(3.0)", 2.0),
        (
            "vmap(fn(u) = vmap(fn(v) = none if u * v > 30 else u)([1.0, u]))([20.0, 40.0])",
            [[20.0, None], [None, None]],
        ),
        ("grad(fn(w) = vmap(fn(u) = u * w if u > 1 else none)([1.0, 2.0])[1])(3.0)", 2.0),
    ],
)
def test_none_is_listed(expression: str, expected: Any) -> None:
    """Rows of which some give none are a list: an item is what the row gives alone."""
    assert _plain(value(f"y = {expression}; output y")) == expected


def test_what_rows_told_before_they_part_is_told_once() -> None:
    source = 'fn row(u) { print "once"; expect u > 0; return sum(ones(int64(u))) }; output y = vmap(row)([1.0, 2.0])'
    evaluation = evaluate(source)
    assert (len(evaluation.printed), len(evaluation.expectations)) == (
        2,
        2,
    )  # for each sort of rows


@pytest.mark.parametrize(("rows", "told"), [([1.25], "1.25"), ([1.25, 2.0], "in each of 2 rows")])
def test_a_lone_row_is_told_by_its_value(rows: list[float], told: str) -> None:
    with pytest.raises(GradcliError, match=rf"the vector is none, the argument float64 {told}"):
        value(f"fn row(u) = jvp(sin)(u, none); output vmap(row)({rows})")


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _plain(part) for key, part in found.items()}
    if isinstance(found, list):
        return [_plain(part) for part in found]
    return found.tolist() if hasattr(found, "tolist") else found
