"""`hvp(target, sources, v)` of values: in the structure of the sources, against the Hessian written
out."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only

from ..kernels.hot_and_cold import assert_same
from ..programs import evaluate

HEAD = "var w = 0.5; var x = 2.0; var v = [1.0, 2.0]\nf = w*w*x; g = f + sum(v*v)*w\n"
# What is asked, and what it is.
PRODUCTS = {
    "a number": ("hvp(f, w, 3.0)", 12.0),
    "an array": ("hvp(g, v, [1.0, 2.0])", [1.0, 2.0]),
    "a list": ("hvp(f, [w, x], [1.0, 2.0])", [6.0, 1.0]),
    "a list with an array": ("hvp(g, [w, v], [1.0, [1.0, 1.0]])", [10.0, [3.0, 5.0]]),
    "an array for a list": ("hvp(f, [w, x], array([1.0, 2.0]))", [6.0, 1.0]),
    "a dict": ("hvp(f, {a: w, b: x}, {a: 1.0, b: 2.0})", {"a": 6.0, "b": 1.0}),
    "the same twice": ("hvp(f, [w, w], [1.0, 2.0])", [12.0, 12.0]),
    "a linear function": ("hvp(f, x, 1.0)", 0.0),
    "a number times the source": ("hvp(3.0*x, x, 1.0)", 0.0),
    "one that is linear": ("hvp(w**3 + x, [w, x], [1.0, 1.0])", [3.0, 0.0]),
    "differentiated": ("grad(hvp(w**3*x, [w, x], [1.0, 1.0])[0], [w, x])", [15.0, 3.0]),
}


@pytest.mark.parametrize("tier", [INTERPRETED, WRITTEN, NATIVE])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, tier: int) -> None:
    asked, wanted = PRODUCTS[name]
    with only(tier, FIRST_USE):
        found = evaluate(f"{HEAD}output h = {asked}", grad=False)
    assert not found.diagnostics  # that a Hessian is zero needs no word
    assert_same(found.outputs["h"], wanted)


def test_a_source_that_the_target_does_not_depend_on() -> None:
    found = evaluate(f"{HEAD}output h = hvp(f, [w, v], [1.0, [1.0, 1.0]])", grad=False)
    assert found.outputs["h"] == [4.0, None]
    assert [d.code for d in found.diagnostics] == ["W201"]


MISTAKES = {
    "hvp(f, [w, x], [1.0])": "the vector is a list of 1, the source a list of 2",
    "hvp(g, v, [1.0])": "the vector has shape (1,), the source (2,)",
    'hvp(f, w, "a")': 'the vector is the string "a", the source float64 0.5',
}


@pytest.mark.parametrize("asked", MISTAKES)
def test_mistakes(asked: str) -> None:
    with pytest.raises(GradcliError) as raised:
        evaluate(f"{HEAD}output h = {asked}", grad=False)
    assert raised.value.diagnostics[0].message == MISTAKES[asked]
