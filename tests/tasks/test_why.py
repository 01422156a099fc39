"""`why`: every reason is found, in its line, whatever the value went through; and a gradient that is fine shows its chain."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.codes import CODES, REASONS
from gradcli.diagnostics import Source
from gradcli.tasks.evaluation import Options
from gradcli.tasks.explanations import Explanation
from gradcli.tasks.programs import parse_program
from gradcli.tasks.why import explain


def explanations(source: str, steps: int = 20, inputs: dict[str, Any] | None = None, **options: Any) -> list[Explanation]:
    answer = explain(parse_program(Source("<source>", source)), inputs or {}, Options(**options), steps)
    assert answer.diagnostics == []
    return answer.explanations


def one(source: str, **options: Any) -> Explanation:
    (only,) = explanations(source, **options)
    return only


@pytest.mark.parametrize("reason", sorted(reason for reason in REASONS if CODES[reason].example))
def test_the_example_of_a_reason_has_it(reason: str) -> None:
    found = explanations(CODES[reason].example)
    assert reason in [e.reason for e in found]
    told = next(e for e in found if e.reason == reason)
    assert told.message
    assert told.help or reason in ("never_read", "not_on_path", "branch_not_taken", "integer", "condition_only")


def test_every_reason_but_the_unknown_has_an_example() -> None:
    assert {reason for reason in REASONS if not CODES[reason].example} == {"unknown"}


# ---- values are followed, not names ----------------------------------------------------------------------------------

# What breaks a gradient, or makes it zero or infinite, of something that is positive.
CUTS = {
    "detached": "detach({})",
    "integer": "float64(int64({} * 10.0))",
    "condition_only": "1.0 * ({} > 0.5)",
    "dead_relu": "relu(-{})",
    "saturated": "tanh({} * 1e4)",
    "flat": "floor({} + 0.3)",
    "clipped": "clip({}, -2.0, 0.01)",
    "not_chosen": "where({0} > 0, 1.0, {0})",
    "zero_factor": "({} * 0.0)",
    "cancelled": "({0} - {0})",
    "infinite_slope": "sqrt({0} * 1e-320 * 1e-10)",
    "nonfinite_value": "log({0} * 0.0)",
}
WAYS = {
    "a name": "y = {}\nz = y * 2",
    "other names": "y = {}\na = y\nb = a\nz = b * 2",
    "a function": "fn f(a) {{ t = a * 2; return t + 1 }}\nz = f({})",
    "inside a function": "fn f(a) = {}\nz = f(x) * 2",
    "inside a function of a function": "fn f(a) {{ return {} }}\nfn g(h, v) = h(v * 1)\nz = g(f, x) * 2",
    "a loop": "y = {}\nfor i in range(5) {{ y = y * 1.5 }}\nz = y",
    "inside a loop": "z = 0.0\nfor i in range(3) {{ z = z + {} }}",
    "a list": "y = {}\nl = [1.0, y]\nz = sum(l)",
    "a dict": "y = {}\nd = {{k: [y, 2.0]}}\nz = d.k[0] * 2",
    "an element": "y = {}\na = zeros(3)\na[1] = y\nz = sum(a)",
    "an array": "y = {}\nz = dot([1.0, 2.0], [y, y])",
    "a module": "module M() {{\n fn call(a) {{ return {} }}\n}}\nm = M()\nz = m(x) * 2",
    "a closure": "y = {}\nfn f() = y * 2\nz = f()",
    "an anonymous function": "f = fn(a) = {}\nz = f(x) * 2",
    "a conditional": "y = {}\nz = y * 2 if x > 0 else x",
    "a while": "y = {}\nn = 0\nwhile n < 3 {{ y = y * 1.1; n += 1 }}\nz = y",
    "unpacking": "a, b = [1.0, {}]\nz = a + b",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", CUTS)
def test_a_value_is_followed_through(reason: str, way: str) -> None:
    inside = "a" if "fn f(a) = {}" in WAYS[way] or "return {}" in WAYS[way] or "fn(a) = {}" in WAYS[way] else "x"
    source = "var x = 0.7\n" + WAYS[way].format(CUTS[reason].format(inside))
    line = next(k for k, text in enumerate(source.split("\n"), 1) if CUTS[reason].format(inside) in text)
    told = one(source, of=("z",), wrt=("x",))
    assert (told.reason, told.span and told.span.line, told.origin and told.origin.line) == (reason, line, 1)
    assert told.steps[0].text == "var x = 0.7"
    if reason != "nonfinite_value":
        assert [step.span and step.span.line for step in told.steps if step.breaks] == [line]
