"""`trace` as a function: what was recorded, folded, and what cotangents a sweep gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.tasks.evaluation import Options
from gradcli.tasks.trace import trace
from gradcli.tasks.traced import Entry, Loop, Operation, Traced, shown


def traced(source: str, unfold: bool = False, **options: object) -> Traced:
    node = gradcli.load(source=source)._resolved
    return trace(node, {}, Options(**options), unfold)  # type: ignore[arg-type]


def operations(found: Traced) -> list[Operation]:
    return list(shown(found.entries))


def loop(entry: Entry) -> Loop:
    assert isinstance(entry, Loop)
    return entry


def test_values_partials_and_cotangents() -> None:
    found = traced("var x = 3.0; var y = 2.0; z = x**2 * y")
    power, product = operations(found)
    assert (power.op, power.value, power.partials, power.cotangent) == ("pow", 9.0, (6.0,), 2.0)
    assert (product.value, product.partials, product.cotangent) == (18.0, (2.0, 9.0), 1.0)
    assert product.operands == (power.number, found.sources[1].number)
    assert [(s.name, s.cotangent) for s in found.sources] == [("x", 12.0), ("y", 9.0)]
    assert found.targets == {"z": [product.number]}
    assert (found.operations, found.size) == (2, 16)


PROGRAMS = [
    "x = x0; for i in range(3) { x = sin(x) * w }; y = x",
    "y = sum(array([x0, 2 * x0, w]) ** 2)",
    "fn f(z) { return z * w if z > 0 else w / z }; y = f(x0) + f(-x0)",
    "y = x0; while y < 50 { y = y * 2 + w }",
    "a = exp(x0 / 9); b = a * w; y = b + a * b - log(b)",
]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PROGRAMS), st.floats(0.5, 3), st.floats(0.5, 3))
def test_cotangents_of_the_sources_are_the_gradients(source: str, x: float, w: float) -> None:
    source = f"var x0 = {x!r}; var w = {w!r}; {source}"
    gradients = gradcli.load(source=source).run().gradients["y"]
    for unfold in (False, True):
        found = traced(source, unfold, of=("y",))
        assert {s.name: s.cotangent for s in found.sources} == pytest.approx(gradients)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PROGRAMS[:1] + PROGRAMS[3:]), st.floats(0.5, 3))
def test_a_cotangent_is_that_of_what_reads_it_times_the_partials(source: str, x: float) -> None:
    found = traced(f"var x0 = {x!r}; var w = 2.0; {source}", unfold=True, of=("y",))
    total: dict[int, float] = {found.targets["y"][0]: 1.0}
    for operation in reversed(operations(found)):
        if operation.cotangent is None:
            continue
        assert operation.cotangent == pytest.approx(total[operation.number], rel=1e-12)
        for n, partial in zip(operation.inputs, operation.partials, strict=True):
            total[n] = total.get(n, 0.0) + partial * operation.cotangent


def test_only_what_lies_between() -> None:
    source = "var x = 3.0; var w = 2.0; a = x**2; b = a + w; c = a * w; y = b * c"
    assert [o.op for o in operations(traced(source, of=("b",)))] == ["pow", "add"]
    assert [o.op for o in operations(traced(source, wrt=("w",)))] == ["add", "mul", "mul"]
    between = traced(source, of=("b",), wrt=("x",))
    assert [(o.op, o.cotangent) for o in operations(between)] == [("pow", 1.0), ("add", 1.0)]
    assert [s.name for s in between.sources] == ["x", "w"]


# ---- loops ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "iterations", "count"),
    [
        ("for i in range(7) { s = s + x * i }", 7, 14),
        ("for i in range(7) { s = s * 2.0 }; s = s + x", 0, 1),  # on constants: nothing is recorded
        ("i = 0; while i < 5 { s = s + x; i = i + 1 }", 5, 5),
        ("for i in range(9) { if i == 4 { break }; s = s + x }", 5, 4),
        ("for i in range(9) { if i % 2 == 0 { continue }; s = s + x }", 9, 4),
        ("fn f(z) { for i in range(3) { z = z * x }; return z }; s = f(x)", 3, 3),
    ],
)
def test_a_loop_is_folded(source: str, iterations: int, count: int) -> None:
    found = traced(f"var x = 2.0; s = 0.0; {source}; y = s + 0.0")
    loops = [entry for entry in found.entries if isinstance(entry, Loop)]
    assert [(e.iterations, e.operations) for e in loops] == (
        [(iterations, count)] * bool(iterations)
    )
    unfolded = traced(f"var x = 2.0; s = 0.0; {source}; y = s + 0.0", unfold=True)
    assert all(isinstance(entry, Operation) for entry in unfolded.entries)
    assert unfolded.operations == found.operations == len(unfolded.entries)


def test_loops_in_loops() -> None:
    source = (
        "var x = 2.0; s = x; for i in range(4) { for j in range(i + 1) { s = s * x }; s = s + 1 }"
    )
    (outer,) = map(loop, traced(source).entries)
    assert (outer.text, outer.iterations, outer.operations) == ("for i in range(4)", 4, 14)
    inner, after = outer.body
    assert (loop(inner).iterations, loop(inner).operations) == (4, 4)
    assert isinstance(after, Operation)
    assert after.op == "add"


def test_calls_of_one_function_are_loops_apart() -> None:
    source = "fn f(z) { for i in range(3) { z = z * x }; return z }; y = f(1.0) + f(2.0)"
    found = traced(f"var x = 2.0; {source}")
    assert [loop(e).iterations for e in found.entries[:-1]] == [3, 3]


def test_what_reads_an_earlier_iteration_says_so() -> None:
    found = traced("var x = 2.0; s = x; for i in range(4) { s = s * x }; y = s")
    (last,) = loop(found.entries[0]).body
    assert isinstance(last, Operation)
    assert found.earlier == {last.number - 1: last.number}


def test_what_a_while_decides_on_is_in_the_loop() -> None:
    found = traced("var x = 9.0; s = x; while s > 1 { s = s / 2 }; y = s")
    assert [e.op for e in (found.entries[0], found.entries[2]) if isinstance(e, Operation)] == [
        "gt",
        "gt",
    ]
    folded = loop(found.entries[1])
    assert [o.op for o in folded.body if isinstance(o, Operation)] == ["gt", "div"]
    assert folded.iterations == 4


# ---- other values --------------------------------------------------------------------------------


def test_arrays_have_shapes_and_bytes() -> None:
    product, total = operations(traced("var x = ones([3, 4]); y = sum(x * 2)"))
    assert (product.shape, product.size) == ((3, 4), 96)
    assert (total.shape, total.size, total.partials) == ((), 8, (None,))
    assert (product.cotangent.low, product.cotangent.shape) == (1.0, (3, 4))


def test_long_operands_are_cut() -> None:
    (product, *_) = operations(traced("var x = 2.0; y = sum(vmap(fn(a) = a * x)(arange(500) / 7))"))
    assert all(isinstance(o, int) or ("\n" not in o and len(o) <= 60) for o in product.operands)


def test_what_has_no_gradient_is_listed_without_one() -> None:
    found = traced("var x = 2.0; a = detach(x**2); b = floor(x) > 1; y = a * 3 + x")
    by_op = {o.op: o for o in operations(found)}
    assert not by_op["gt"].active
    assert by_op["pow"].cotangent is None
    assert by_op["add"].cotangent == 1.0


def test_derivatives_in_the_program_are_recorded_too() -> None:
    found = operations(traced("var x = 2.0; y = x**3; g = grad(y, x); z = g**2; output z"))
    assert {o.of for o in found} >= {"", "pow"}


def test_an_error_leaves_what_came_before_it() -> None:
    found = traced("var x = 2.0; y = log(x); z = [1, 2][5] * y")
    assert [o.op for o in operations(found)] == ["log"]
    assert [d.code for d in found.diagnostics] == ["E303"]
    assert found.exit_code == 3


def test_an_opaque_function_ends_the_sweep() -> None:
    found = traced("opaque fn f(z) { return z * 2 }; var x = 2.0; y = f(x) + 1")
    assert found.exit_code == 0
    assert operations(found)[-1].op == "add"


def test_rows_of_a_function_with_a_rule_of_its_own() -> None:
    rule = "fn f(v) { return v * 2.0 } backward (dy) { return dy * 2.0 }"
    found = traced(f"{rule}; var x = [3.0, 1.0]; output y = vmap(f)(x)")
    assert [(s.name, s.cotangent.shape) for s in found.sources] == [("x", (2,))]
    assert [o.value for o in operations(found) if o.op == "f"] == [None]


def test_cotangents_of_rows_that_are_added_up() -> None:
    """Those of an element, which a sweep adds up in place."""
    source = """var w = [[0.5, 1.0], [0.2, 0.3]]; var u = [[0.3], [0.7]]
x = [[0.5, 1.0], [1.5, -1.0], [0.1, 0.2]]
fn net(v) = (tanh(v @ w) @ u)[0]
y = vmap(net)(x)
d = vmap(grad(net))(x)
output loss = sum(d) + sum(y)"""
    wanted = gradcli.load(source=source).run().gradients["loss"]
    for source_ in traced(source).sources:
        found = source_.cotangent
        assert (found.low, found.high) == (wanted[source_.name].min(), wanted[source_.name].max())
