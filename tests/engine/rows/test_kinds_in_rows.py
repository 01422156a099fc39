"""A name that is an int in some rows and a float in others: what each row gives alone, and its
error."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from tests.tasks.batch.one_by_one import assert_same, parsed

from .ways import ROWS as NUMBERS
from .ways import VALUE, verify_every_way

MADE = "t = 3; if u > 15.0 { t = u }; "
ROWS = {
    "floor division": "return t // 2",
    "a remainder of what was computed": "return (2 * t - 1) % 4 + (-t)**2",
    "division by an int that is 0": "z = 0; if u > 15.0 { z = 0.5 }; return 7 // z",
    "division of ints": "return t / 2",
    "a power": "return t**t if u < 30 else t**2",
    "a range": "s = 0.0; if u < 15 { for k in range(t) { s += u } }; return s",
    "an index": "return [u, w, 2.0, 4.0][t] if u < 15 else t",
    "a slope": "return grad(fn(z) = z * z)(t)",
    "a slope that is used": "g = grad(fn(z) = z * z)(t); return 1.0 if g == none else g * u",
    "a slope of values": "g = grad(t * w, t); return 1.0 if g == none else g * u",
    "in an array": "return sum(array([t, 2]) // 2)",
    "beside floats": "return t * w + array([t, u])[0]",
    "ints that floats don't hold": "t = 9007199254740993; if u > 15.0 { t = u }; return t // 2",
    "ints that grow": "for k in range(4) { t = t * (100003 if u < 15 else 2) }; return t // 1000",
    "ints in both, of other rows": "s = 0; if u < 30 { s = w }; return (t + s) // 2",
    "by a keyword": "g = grad(fn(z) = z * z)(z = t); return 1.0 if g == none else g * u",
    "in rows of rows": "return sum(vmap(fn(z) = z * (t // 2))(array([1, 2])))",
    "of rows of rows": "a = vmap(fn(z) = t + z)(array([1, 2])); return a[0] // 3",
    "chosen": "return where(u > 30.0, t, 2) // 3",
    "its dtype": "return 1.0 if t.dtype == \"int64\" else u",
    "by a conditional expression": "s = 0 if u > 15.0 else w; return (s + 1) * 2 - abs(s)",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    verify_every_way(f"fn row(u, w) {{ {MADE}{ROWS[name]} }}", asked=VALUE, kinds=["var"])


FAILING = {
    "E303": "return array([u, w, 2.0, 4.0])[t]",
    "E311": "s = 0.0; for k in range(t) { s += u }; return s",
    "E312": "a = array([1, 2]); a[0] = t; return a[0] // 2",
    "E312 of a float in all rows": "a = array([3, 2]); if u > 15.0 { a = 1.5 * a }; a[0] = u; return a[0]",
    "E312 of a float that is added": "a = array([3, 2]); if u > 15.0 { a = 1.5 * a }; a[1:] += 0.5; return a[1]",
    "E312 by a mask": "a = array([3, 2]); if u > 15.0 { a = 1.5 * a }; a[a > 2] = w; return a[1]",
    "E312 of a slope": "a = array([3, 2]); if u > 15.0 { a = 1.5 * a }; a[0] = grad(fn(z) = z * w)(u); return sum(a)",
}


@pytest.mark.parametrize("name", FAILING)
def test_floats_fail_where_ints_are_wanted(name: str) -> None:
    row, code = f"fn row(u, w) {{ {MADE}{FAILING[name]} }}", name.split()[0]
    assert_same(parsed(f"{row}\nvar u\nvar w = 0.75\noutput y = row(u, w)"), {"u": list(NUMBERS)})
    with pytest.raises(GradcliError) as caught:
        gradcli.load(
            source=f"{row}\nvmap(row, in_axes = [0, none])(array({list(NUMBERS)}), 0.75)"
        ).run({})
    assert caught.value.diagnostics[0].code == code
