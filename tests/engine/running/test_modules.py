"""Modules: what an instance is, what its variables are called, and what may be given for them from
outside."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.values.kinds import Instance, Variable

from ..programs import evaluate, executed, failure, outputs, value, warnings
from .module_programs import LINE

DENSE = """
module Dense(n_in, n_out) {
    var w: float[n_in, n_out] = cos(arange(n_in * n_out)).reshape([n_in, n_out])
    var b = zeros(n_out)
    frozen calls = 0
    double = 2 * n_in
    fn call(x) { calls :+= 1; return x @ w + b }
    fn twice(x) = call(call(x))
}
"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("m = Line(3.0); r = m(2.0)", 7.0),
        ("m = Line(3.0, b = 0.0); r = m.call(2.0)", 6.0),
        ("m = Line(b = 0.0, a = 2.0); r = [m.a, m.b, m.w + 0]", [2.0, 0.0, 2.0]),
        ("r = Line(3.0)(2.0)", 7.0),
        ("ms = [Line(1.0), Line(2.0)]; r = ms[1](ms[0](1.0))", 5.0),
        ("d = {m: Line(2.0)}; r = d.m(1.0) + d[\"m\"].w", 5.0),
        ("m = Line(3.0); n = m; n.w := 1.0; r = m(1.0)", 2.0),
        ("m = Line(3.0); m.w :+= 1.0; m.w :-= 0.5; r = m.w + 0", 3.5),
        ("m = Line([1.0, 2.0]); m.w[0] := 5.0; r = m.w + 0", [5.0, 2.0]),
        ("m = Line(3.0); x = m.w; x := 7.0; r = m(1.0)", 8.0),
        ("m = Line(2.0); r = grad(m(3.0), m.w)", 3.0),
        ("m = Line(2.0); tape t { y = m(3.0)**2 }; r = t.gradient(y, m.trainable_variables)",
            [42.0]),
        ("m = Line(2.0); tape t (watch_variables = false) { watch m.w; y = m(3.0) }; r = t.gradient(y, m.w)", 3.0),
        ("m = Line(2.0); tape t { y = m(3.0) }; r = t.watched_variables()[0].name", "m.w"),
        ("m = Line(2.0); r = hessian(m(3.0)**2, m.w)", 18.0),
        ("m = Line(2.0); r = [grad(m)(3.0), jvp(m)(3.0, 10.0)]", [2.0, 20.0]),
        ("m = Line(2.0); f = m.call; r = f(1.0)", 3.0),
        ("fn f(g) = g(2.0); r = f(Line(3.0))", 7.0),
        ("m = Line; r = m(2.0)(1.0)", 3.0),
        # not the builtin, whose results are no functions
        ("fn outer(a) = Line(a); m = outer(2.0); r = m(1.0)", 3.0),
        ("const m = Line(2.0); r = m(1.0)", 3.0),
        ("const ms = [Line(2.0), Line(3.0)]; r = ms[1](1.0)", 4.0),
        # a closure of the body sees the variable; a parameter may become one
        ("module M(w) { var w = 2*w; fn call() = 10*w }; m = M(1.0); m.w :+= 1.0; r = m()", 30.0),
        # names of the enclosing scopes are captured, in functions too
        ("k = 5.0; module M() { fn call() = k }; m = M(); k = 6.0; r = m()", 6.0),
        ("fn f(k) { module M() { var w = k; fn call(x) = k*w*x }; return M() }; r = f(3.0)(2.0)",
            18.0),
        ("module M() { module Inner(a) { var v = a }; one = Inner(1.0); two = Inner(2.0) }; r = M().two.v + 0", 2.0),
        # a name with two meanings: the module's own wins
        ("module M() { name = 3; variables = 4 }; m = M(); r = [m.name, m.variables]", [3, 4]),
        ("m = Line(2.0); r = m.name", "m"),
        ("module M(c) { if c { var w = 1.0 } else { w = 2.0 } }; r = M(false).w + M(true).w", 3.0),
        ("module M(n) { s = 0; for i in range(n) { s += i } }; r = M(4).s", 6),
        ("module M() { expect 1 == 1; print \"made\" }; m = M(); r = 1", 1),
        ("module R(n) { var w = 1.0*n; rest = R(n - 1) if n > 0 else none }; r = R(3).rest.rest.w + 0", 1.0),
        # mutual recursion inside
        ("module M() { fn even(n) = n == 0 or odd(n - 1); fn odd(n) = n != 0 and even(n - 1) }; r = M().even(10)", True),
    ],
)  # fmt: skip
def test_values(program: str, expected: Any) -> None:
    np.testing.assert_array_equal(value(f"{LINE}{program}\noutput r"), expected)


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("m = Line(1.0)", ["m.w"]),
        ("a, b = Line(1.0), Line(2.0)", ["a.w", "b.w"]),
        ("[a, [b, c]] = [Line(1.0), [Line(2.0), Line(3.0)]]", ["a.w", "b.w", "c.w"]),
        ("ms = [Line(1.0), [Line(2.0)], 3.0]", ["ms[0].w", "ms[1][0].w"]),
        ("d = {one: Line(1.0), two: [Line(2.0)]}", ["d.one.w", "d.two[0].w"]),
        ("ms = []; for i in range(2) { ms = append(ms, Line(1.0)) }", ["ms[0].w", "ms[1].w"]),
        ("ms = [].append(Line(1.0)); ms = ms.append(Line(2.0))", ["ms[0].w", "ms[1].w"]),
        ("ms = [none, none]; for i in range(2) { ms[i] = Line(1.0) }", ["ms[0].w", "ms[1].w"]),
        ('d = {}; d.one = Line(1.0); k = "two"; d[k] = Line(2.0)', ["d.one.w", "d.two.w"]),
        ("m = Line(1.0) if 2 > 1 else Line(2.0)", ["m.w"]),
        ("const m = Line(1.0)", ["m.w"]),
        (
            "module Net() { l1 = Line(1.0); l2 = [Line(2.0)] }; net = Net()",
            ["net.l1.w", "net.l2[0].w"],
        ),
        ("module Wrap(inner) { var v = 1.0 }; m = Wrap(Line(1.0))", ["m.inner.w", "m.v"]),
        (
            "module Wrap(inner) { var v = 1.0 }; m = Wrap(inner = [Line(1.0)])",
            ["m.inner[0].w", "m.v"],
        ),
        ("module Wrap(inner) { var v = 1.0 }; l = Line(1.0); m = Wrap(l)", ["l.w", "m.v"]),
        # what a function returns goes where the call's result goes
        ("fn make(a) = Line(a); m = make(1.0)", ["m.w"]),
        ("fn make(a) { inner = Line(a); return inner }; m = make(1.0)", ["m.w"]),
        (
            "fn make(a) { p = Line(a); q = Line(a); return [q, p] }; ms = make(1.0)",
            ["ms[0].w", "ms[1].w"],
        ),
        ("fn make(a) { p = Line(a); return {key: p} }; d = make(1.0)", ["d.key.w"]),
        ("fn make(a) { if a > 0 { return Line(a) }; return none }; m = make(1.0)", ["m.w"]),
        (
            "fn make(a) { return Line(a) }; fn outer() = [make(1.0), make(2.0)]; ms = outer()",
            ["ms[0].w", "ms[1].w"],
        ),
        ("make = fn(a) = Line(a); m = make(1.0)", ["m.w"]),
        ("module M() { fn make() = Line(1.0); l = make() }; m = M()", ["m.l.w"]),
    ],
)
def test_a_variable_is_called_by_its_path(program: str, names: list[str]) -> None:
    """In the report, and from outside."""
    evaluation = evaluate(f"{LINE}{program}\nvar x = 1.0\noutput y = x**2", unconnected="zero")
    assert list(evaluation.gradients["y"]) == [*names, "x"]
    given = {name: 10.0 + k for k, name in enumerate(names)}
    sums = evaluate(f"{LINE}{program}\noutput y = {' + '.join(names)}", given)
    assert sums.outputs["y"] == sum(given.values())


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("r = Line(1.0).w.name", "Line.w"),
        ("fn f() { local = Line(1.0); return local.w.name }; r = f()", "f.local.w"),
        ("f = fn() { local = Line(1.0); return local.w.name }; r = f()", "fn.local.w"),
        ("fn f(m) = m.w.name; r = f(Line(1.0))", "Line.w"),
        ("module Wrap(inner) { }; r = Wrap(Line(1.0)).inner.w.name", "Line.w"),
        ("module Wrap(inner) { }; fn f(m) = m.inner.w.name; r = f(Wrap(Line(1.0)))", "Line.w"),
    ],
)
def test_an_instance_that_the_top_level_cannot_name(program: str, name: str) -> None:
    assert value(f"{LINE}{program}\noutput r") == name


def test_names_are_reported_in_the_order_of_the_program() -> None:
    program = "var a = 1.0; m = Dense(1, 1); var z = 2.0; n = m; y = sum(m([a*z]))"
    assert list(evaluate(DENSE + program).gradients["y"]) == ["a", "m.w", "m.b", "z"]


def test_two_instances_that_had_the_same_name_are_told_apart() -> None:
    gradients = evaluate(
        f"{LINE}m = Line(2.0); old = m; m = Line(3.0); y = old(10.0) + m(100.0)"
    ).gradients["y"]
    assert gradients == {"m.w": 100.0, "old.w": 10.0}


def test_an_imported_module_and_an_imported_instance(tmp_path: Path) -> None:
    (tmp_path / "lib.tg").write_text(f"{LINE}layer = Line(2.0)\nfn make() = Line(4.0)\n")
    main = tmp_path / "main.tg"
    main.write_text(
        'import "lib.tg" as lib\nown = lib.Line(3.0)\nmade = lib.make()\ny = lib.layer(1.0) * own(1.0) * made(1.0)\n'
    )
    evaluation = gradcli.load(main).run()
    assert evaluation.outputs["y"] == 3.0 * 4.0 * 5.0
    assert evaluation.gradients["y"] == {"lib.layer.w": 20.0, "own.w": 15.0, "made.w": 12.0}
    given = gradcli.load(main).run({"lib.layer.w": 0.0, "own.w": 1.0, "made.w": 2.0})
    assert given.outputs["y"] == 1.0 * 2.0 * 3.0


# ---- the variables of an instance ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (
            "module M() { var b = 1.0; frozen s = 0.0; const c = 2.0; var a = 3.0; k = 4.0 }",
            ["m.b", "m.a"],
        ),
        ("module M() { var a = 1.0; l = Line(1.0); var b = 1.0 }", ["m.a", "m.l.w", "m.b"]),
        ("module M() { l = [Line(1.0), {k: Line(2.0)}] }", ["m.l[0].w", "m.l[1].k.w"]),
        ("module M() { l = Line(1.0); again = l; both = [l, l] }", ["m.l.w"]),
        ("var x = 1.0; module M() { shared = x; fn call() = x }", ["x"]),
        ("var x = 1.0; module M() { fn call() = x }", []),
        ("module M() { var a = 1.0; a = a * 2 }", []),
    ],
)
def test_trainable_variables(program: str, names: list[str]) -> None:
    found = value(
        f"{LINE}{program}; m = M(); r = []\nfor v in m.trainable_variables {{ r = append(r, v.name) }}\noutput r"
    )
    assert found == names


def test_variables_has_the_frozen_ones_too() -> None:
    program = "m = Dense(1, 1); r = []; for v in m.variables { r = append(r, v.name) }\noutput r"
    assert value(DENSE + program) == ["m.w", "m.b", "m.calls"]


def test_shared_containers_are_walked_once() -> None:
    deep = "l = [Line(1.0)]; for k in range(100) { l = [l, l] }; module M(parts) { }; m = M(l)"
    assert value(f"{LINE}{deep}\noutput len(m.trainable_variables)") == 1


def test_an_instance_as_an_output_is_its_state() -> None:
    program = "var x = 1.0; module Net(other) { l = [Line(1.0)]; frozen s = 2; f = fn(x) = x }; net = Net([x])\noutput net"
    assert outputs(LINE + program)["net"] == {"l[0].w": 1.0, "s": 2}, (
        "a variable of somebody else is no part of it"
    )


def test_a_training_loop() -> None:
    """Gradient descent by the list of variables finds the least-squares line."""
    found = outputs(
        """
const xs = [0.0, 1.0, 2.0, 3.0]
const ys = [1.0, 2.9, 5.2, 6.8]
module Line() { var w = 0.0; var b = 0.0; fn call(x) = w*x + b }
m = Line()
for step in range(500) {
    vs = m.trainable_variables
    for v, g in zip(vs, grad(mean((m(xs) - ys)**2), vs)) { v :-= 0.1*g }
}
output w = m.w
output b = m.b
"""
    )
    np.testing.assert_allclose([found["w"], found["b"]], [1.97, 1.02], rtol=1e-9)


# ---- from outside --------------------------------------------------------------------------------


def test_a_variable_without_a_value_comes_from_outside() -> None:
    program = (
        "module M() { var w; var b: float[2]; k = 2*w; fn call() = sum(k * b) }\nm = M()\ny = m()"
    )
    assert value(program, {"m.w": 3, "m.b": [1, 2]}) == 18.0
    missing = failure(program, {"m.b": [1, 2]})
    assert (missing.code, missing.message) == ("E004", "`m.w` has no value")
    assert "--set m.w=…" in missing.help
    assert [call.function for call in missing.calls] == ["M"]


def test_values_from_outside_are_there_while_the_body_runs() -> None:
    program = "module M(n) { const size = n; frozen s = 0.0; var w = ones(size); total = sum(w) }\nm = M(2)\noutput m.total"
    assert value(program) == 2.0
    assert value(program, {"m.size": 5}) == 5.0
    assert value(program, {"m.w": [1, 2, 3]}) == 6.0


def test_the_state_of_a_program_goes_in_as_it_came_out() -> None:
    program = "module Net() { l = [Line(1.0), Line(2.0)] }\nnet = Net()\n"
    state = outputs(f"{LINE}{program}net.l[1].w := 5.0\noutput net")["net"]
    again = outputs(f"{LINE}{program}output net", {f"net.{path}": v for path, v in state.items()})[
        "net"
    ]
    assert again == state == {"l[0].w": 1.0, "l[1].w": 5.0}


@pytest.mark.parametrize(
    ("given", "message", "help"),
    [
        ("m.v", "the program has no variable `m.v`", "did you mean `m.w`?"),
        (
            "m.weights",
            "the program has no variable `m.weights`",
            "its variables are `m.w`; --ignore-extra skips others",
        ),
        ("m[0].w", "the program has no variable `m[0].w`", "did you mean `m.w`?"),
        ("mm.w", "the program declares no `mm.w`", "did you mean `m.w`?"),
        ("m", "the program declares no `m`", "it declares nothing; --ignore-extra skips others"),
    ],
)
def test_a_path_that_nothing_has(given: str, message: str, help: str) -> None:
    error = failure(f"{LINE}m = Line(1.0)\ny = m(2.0)", {given: 1.0})
    assert (error.code, error.message, error.help) == ("E003", message, help)
    assert value(f"{LINE}m = Line(1.0)\ny = m(2.0)", {given: 1.0}, ignore_extra=True) == 3.0


def test_sizes_are_the_parameters_and_agree_within_an_instance() -> None:
    program = f"{DENSE}a = Dense(2, 1)\nb = Dense(3, 2)\noutput sum(a.w) + sum(b.w)"
    value(program)
    assert failure(program, {"b.w": [[1.0, 2.0]]}).code == "E005"
    assert (
        failure("module M() { var a: float[n] = ones(2); var b: float[n] = ones(3) }\nm = M()").code
        == "E313"
    )


# ---- gradients asked for by name -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrt", "names"),
    [
        ("net", ["net.l1.w", "net.l1.b", "net.l2[0].w"]),
        ("net.l1", ["net.l1.w", "net.l1.b"]),
        ("net.l2", ["net.l2[0].w"]),
        ("net.l1.b", ["net.l1.b"]),
        (["net.l2[0].w", "x"], ["net.l2[0].w", "x"]),
    ],
)
def test_wrt(wrt: Any, names: list[str]) -> None:
    program = f"{LINE}{DENSE}module Net() {{ l1 = Dense(1, 1); l2 = [Line(2.0)] }}\nnet = Net()\nvar x = 1.0\n"
    evaluation = evaluate(program + "y = sum(net.l2[0](net.l1([x])))", wrt=wrt)
    assert list(evaluation.gradients["y"]) == names
    assert all(g is not None for g in evaluation.gradients["y"].values())


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("m = M(); y = m.s * 2.0; g = grad(y, m.s)", "frozen"),
        ("m = M(); y = m.w * m.b; output y", "never_read"),
        ("m = M(); x = 1.0; if x > 2 { x = m.b }; y = m.w * x; output y", "branch_not_taken"),
        ("m = M(); y = m.get(m.w > 2.0); output y", "branch_not_taken"),
        ("m = M(); x = m.b * 2.0; m.w := x; y = m.w * 1.0; g = grad(y, m.b)", "state"),
    ],
)
def test_why_there_is_no_gradient(program: str, reason: str) -> None:
    module = "module M() { var w = 1.0; var b = 1.0; frozen s = 1.0; fn get(c) { if c { return b }; return w }; var z = 1.0 }\n"
    assert warnings(module + program)[0].reason == reason


def test_a_variable_that_its_module_replaces_is_told() -> None:
    evaluation = evaluate(
        "module M() { var w = 1.0; w = 2 * w; fn call(x) = w * x }\nm = M()\ny = m(3.0)"
    )
    assert evaluation.gradients["y"] == {"m.w": None}
    (warning,) = evaluation.diagnostics
    assert (warning.code, warning.reason) == ("W203", "replaced")


@pytest.mark.parametrize(
    "module",
    [
        "M() { fn call(z) = z * g }",
        "M(a = g) { fn call(z) = z * a }",
        "M() { k = g; fn call(z) = z * k }",
    ],
)
def test_a_derivative_that_goes_through_a_module_can_be_differentiated(module: str) -> None:
    program = f"var x = 3.0\ng = grad(x**3, x)\nmodule {module}\nm = M()\ny = m(2.0)\n"
    assert evaluate(program + "output y", of="y", wrt="x").gradients == {"y": {"x": 36.0}}
    assert value(program + "output grad(y, x)") == 36.0


# ---- memory --------------------------------------------------------------------------------------


def test_instances_that_nobody_holds_are_gone() -> None:
    """With the collector off, as while a program runs: nothing of an instance refers to itself."""
    loop = """
module Net() { l = Dense(2, 2); more = [Dense(2, 2)]; fn call(x) = more[0](l.twice(x)) }
fn once(k) { net = Net(); y = sum(net([[1.0, 2.0]])); return grad(y, net.trainable_variables)[0] }
for k in range(200) {
    g = once(k)
    net = Net()
    tape t { y = sum(net([[1.0, 2.0]])) }
    h = t.gradient(y, net.trainable_variables)
}
"""
    gc.collect()
    others = [o for o in gc.get_objects() if type(o) in (Variable, Instance)]  # of other tests
    run, frame = executed(DENSE + loop)
    new = [
        o
        for o in gc.get_objects()
        if type(o) in (Variable, Instance) and not any(o is other for other in others)
    ]
    variables = [o for o in new if type(o) is Variable]
    instances = [o for o in new if type(o) is Instance]
    assert len(variables) == 6
    assert len(instances) == 3
    assert len(run.trace.watched) < 100
    assert len(run.trace.variables) < 100
    assert frame is not None


def test_a_leaf_counts_for_as_long_as_something_computed_from_it() -> None:
    """The instance is gone when the tape is asked, and what was computed from its variables is
    still a source."""
    program = "fn f() { m = Line(2.0); return m(3.0) }\ntape t { h = f(); y = h**2 }\noutput t.gradient(y, h)"
    assert value(LINE + program) == 14.0


def test_a_required_variable_is_an_error_from_outside() -> None:
    with pytest.raises(GradcliError) as raised:
        gradcli.load(source="module M() { var w }\nm = M()\ny = m.w").run()
    assert raised.value.diagnostics[0].exit_code == 2
