"""Hot calls of functions with branches: whatever path they take, and however they are
differentiated, they give what a call gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.tiers import FIRST_USE, only

from ..derivatives.random_programs import RELAXED
from ..kernels.hot_and_cold import WAYS, assert_same
from ..programs import evaluate
from ..running.random_bodies import conditions, expressions

NAMES = ["x", "w", "a", "b"]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> str:
    statements = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(
                ["assign", "augment", "if", "loop", "return"] if depth else ["assign", "return"]
            )
        )
        name, value = draw(st.sampled_from(["a", "b"])), draw(expressions(NAMES))
        if kind == "if":
            branches = f"if {draw(conditions(NAMES))} {{ {draw(blocks(depth - 1))} }}"
            statements.append(
                branches + draw(st.sampled_from(["", f" else {{ {draw(blocks(depth - 1))} }}"]))
            )
        elif kind == "loop":
            head = draw(
                st.sampled_from(
                    ["for i in range(2)", "for i in range(3, 0, -1)", "for i in [0.5, x]"]
                )
            )
            ends = [
                "",
                "",
                f"; if {draw(conditions(NAMES))} {{ break }}",
                f"; {draw(blocks(depth - 1))}",
            ]
            skips = draw(
                st.sampled_from(["", "", f"if {draw(conditions(NAMES))} {{ continue }}; "])
            )
            statements.append(
                f"{head} {{ {skips}{name} = {name}*0.5 + {value}*i{draw(st.sampled_from(ends))} }}"
            )
        else:
            statements.append(
                {
                    "assign": f"{name} = {value}",
                    "augment": f"{name} += {value}",
                    "return": f"return {value}",
                }[kind]
            )
            if kind == "return":
                break
    return "; ".join(statements)


CALLS = [
    "f({}, w)", "grad(f)({}, w)", "grad(f, wrt = 1)({}, w)",
    "jvp(f, wrt = [0, 1])({}, w, v = [w, 0.5])", "grad(grad(f))({}, w)",
    "sum(grad(f, wrt = [1, 0])({}, w))", "value_and_grad(f)({}, w)[0]",
    "grad(fn(z) = f(z, w)*grad(f)(w, z))({})",
]  # fmt: skip


@settings(RELAXED, max_examples=15)
@given(blocks(), st.sampled_from(CALLS), st.sampled_from(["var", "frozen"]))
def test_random_functions(body: str, call: str, kind: str) -> None:
    calls = " + ".join(call.format(x) for x in ("x", "(x - 1.3)", "(-x*w)"))
    source = f"""{kind} x = 0.7; {kind} w = 0.4
fn f(x, w) {{ a = x*w; b = x - w; {body}; return a*b + x }}
fn d(x, w) {{ s = 0.0; for i in range(3) {{ s = s + ({calls}) }}; return s }}
output d(x, w), grad(d)(x, w), jvp(d)(x, 1.0, w)"""
    found, expected = (answers(tier, source) for tier in WAYS)
    assert_same(found, expected)


def answers(tier: int, source: str) -> Any:
    with only(tier, FIRST_USE):
        evaluation = evaluate(source)
    return "", evaluation.outputs, evaluation.gradients
