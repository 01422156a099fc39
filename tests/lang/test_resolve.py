"""What names become, which errors are found, and what a program is for."""

from __future__ import annotations

import pytest

from gradcli.lang import program
from gradcli.ops import INFIX, OPS
from tests.lang.resolving import codes, nodes, reads, resolved

# ---- assignment on every path --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        ("x = 1; y = x", False),
        ("if true { x = 1 }; y = x", True),
        ("if true { x = 1 } else { x = 2 }; y = x", False),
        ("if true { x = 1 } elif false { x = 2 }; y = x", True),
        ("if true { x = 1 } elif false { x = 2 } else { x = 3 }; y = x", False),
        ("for i in range(3) { x = 1 }; y = x", True),
        ("for i in range(3) { x = 1; y = x }", False),
        ("for i in range(3) { if i > 0 { y = x }; x = 1 }", True),
        ("while false { x = 1 }; y = x", True),
        ("fn f() { if true { return 1 } else { x = 2 }; return x }", False),
        ("fn f() { while true { if true { break } else { x = 1 }; y = x }; return 0 }", False),
        ("[x, z] = [1, 2]; y = x", False),
        ("x = 1; fn f() = x; y = f()", False),
        ("fn f() = x; x = 1; y = f()", True),
        ("fn f() { fn g() = x; x = 1; return g() }", True),
        ('expect error "" { x = 1 / none }; y = x', True),
        ("for x in range(3) { y = x }", False),
        ("for x in range(3) { }; y = x", True),
    ],
)
def test_checked_reads(text: str, checked: bool) -> None:
    assert next(c for name, c in reads(text) if name == "x") is checked


@pytest.mark.parametrize(
    "text",
    [
        "y = x; x = 1",
        "x = x + 1",
        "x += 1",
        "fn f() { y = x; x = 1; return y }",
        "x = 1; fn f() { x += 1; return x }",
        "for i in range(3) { y = z }; z = 1",
    ],
)
def test_read_before_any_assignment(text: str) -> None:
    assert codes(text) == ["E201"]


# ---- scopes --------------------------------------------------------------------------------------


def test_captured_names_are_cells_that_are_handed_on() -> None:
    tree = resolved("a = 1\nfn f() { fn g() = a; return g() }\ny = f()")
    assert tree.names["a"].cell
    assert not tree.names["y"].cell
    f, g = nodes(tree.body, program.Function)
    assert [(outer.name, outer.index, own.cell) for outer, own in f.captures] == [
        ("a", tree.names["a"].index, True)
    ]
    assert g.captures[0][0] == f.captures[0][1]


def test_a_function_finds_itself_without_a_cell() -> None:
    tree = resolved("fn f(n) = 1 if n == 0 else n * f(n - 1)\ny = f(3)")
    (f,) = nodes(tree.body, program.Function)
    assert f.captures == ()
    assert f.self_slot is not None
    assert not tree.names["f"].cell


def test_a_rule_is_a_function_inside_its_function() -> None:
    tree = resolved(
        "k = 2\nfn f(x, n) { t = x; return t } backward (dy) { u = dy * t; return [u * x * k, none] }\ny = f(1, 2)"
    )
    f = next(nodes(tree.body, program.Function))
    assert f.rule is not None
    assert [parameter.slot.name for parameter in f.rule.parameters] == ["dy"]
    assert {outer.name for outer, _ in f.rule.captures} == {"x", "t", "k"}
    assert [parameter.slot.cell for parameter in f.parameters] == [True, False]
    assert [outer.name for outer, _ in f.captures] == ["k"]


@pytest.mark.parametrize(
    "text",
    [
        "opaque fn f(x) = x; if true { backward f(dy, x) { return dy } } else { backward f(dy, x) { return -dy } }",
        "opaque fn f(image, k = 2.0) = image; backward f(g, a, b) { return [g, none] }",
        "fn g() { opaque fn f(x) = x; backward f(dy, x) { return dy }; return f }; opaque fn f(x) = x; "
        "backward f(dy, x) { return dy }",
        "opaque fn f(x) = x; fn register() { backward f(dy, x) { return dy } }; register()",
        "opaque fn f(x) = x; backward f(dy, x) { if x > 0 { return dy } else { return none } }",
        "opaque = 1.0; backward = opaque; backward += 1",
    ],
)
def test_rules_that_fit(text: str) -> None:
    assert codes(text) == []


def test_a_function_that_is_rebound_is_captured() -> None:
    tree = resolved("fn f(n) = f(n)\nf = 3")
    (f,) = nodes(tree.body, program.Function)
    assert f.self_slot is None
    assert tree.names["f"].cell


def test_parameters_come_first_and_defaults_belong_outside() -> None:
    tree = resolved("k = 2\nfn f(a, b = k) { c = a; return c + b }\ny = f(1)")
    (f,) = nodes(tree.body, program.Function)
    assert [parameter.slot.index for parameter in f.parameters] == [0, 1]
    assert f.n_slots == 3
    assert f.captures == ()
    assert f.parameters[1].default == program.Read(tree.names["k"], span=f.span)


def test_names_in_order_of_appearance() -> None:
    assert list(resolved("fn f() = 1\nvar x = 1\nfor i in range(2) { z = i }\na = 2").names) == [
        "f",
        "x",
        "i",
        "z",
        "a",
    ]


# ---- builtins and calls --------------------------------------------------------------------------


def test_a_builtin_keeps_its_name_until_it_is_assigned() -> None:
    tree = resolved("x = [1.0, 2.0]\nmean = mean(x)\nsum = x.sum()\ny = mean + x.mean()")
    assert [apply.op.name for apply in nodes(tree.body, program.Apply)] == ["mean", "add"]
    (total, average) = nodes(tree.body, program.MethodCall)
    assert (total.op, total.function) == (OPS["sum"], None)
    assert (average.op, average.function) == (OPS["mean"], None)


def test_methods_prefer_functions_of_the_program() -> None:
    (call,) = nodes(resolved("fn sum(x) = 1\ny = [1].sum()").body, program.MethodCall)
    assert isinstance(call.function, program.Read)


def test_unknown_methods_wait_for_the_run() -> None:
    (call,) = nodes(resolved("d = {go: fn(x) = x}\ny = d.go(2)").body, program.MethodCall)
    assert (call.function, call.op) == (None, None)


def test_operands_and_options_of_a_builtin() -> None:
    (call,) = nodes(resolved("y = sum([1.0], keepdims = true)").body, program.Apply)
    assert len(call.operands) == 1
    assert [name for name, _ in call.options] == ["keepdims"]


def test_operators_become_ops() -> None:
    tree = resolved("a = 1\ny = -a + a**2 @ a\nz = not a < 2\nb = a < 1 < 2\nc = a and b or z")
    names = [apply.op.name for apply in nodes(tree.body, program.Apply)]
    assert names == [INFIX[s].name for s in ("+", "unary -", "@", "**", "not", "<")]
    (chained,) = nodes(tree.body, program.Chain)
    assert chained.ops == (INFIX["<"], INFIX["<"])
    assert [node.kind for node in nodes(tree.body, program.Logical)] == ["or", "and"]


def test_constants_may_be_rebound() -> None:
    assert [c.value for c in nodes(resolved("y = pi").body, program.Constant)] == [
        pytest.approx(3.14159265)
    ]
    assert reads("e = 2\ny = e") == [("e", False)]


# ---- assignments ---------------------------------------------------------------------------------


def test_paths_of_entries() -> None:
    tree = resolved('d = {a: [1]}\nd.a[0] = 2\nd["a"] = 3\nd.a[0, 1:] += 4')
    paths = [target.path for target in nodes(tree.body, program.EntryTarget)]
    assert [[step if isinstance(step, str) else "index" for step in path] for path in paths] == [
        ["a", "index"],
        ["a"],
        ["a", "index"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "var x = 1.0\nx := 2.0",
        "var x = 1.0\nz = x\nz := 2.0",
        "fn step(w, g) { w :-= g }",
        "vs = [1]\nfor v in vs { v := 2 }",
        "var x = 1.0\nfn f() { x := 2.0 }",
        "layer = {w: 1}\nlayer.w :+= 2",
        "var x = [1.0]\nx[0] := 2.0",
        "a = [1.0]\na[0] = 2.0",
        "fn f(a) { a[0] = 1.0; return a }",
    ],
)
def test_what_may_be_assigned(text: str) -> None:
    assert codes(text) == []


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = 1; y = 2", ["y"]),
        ("x = 1; x * 2", ["result"]),
        ("x = 1; print x; expect x == 1; for i in range(2) { z = i }; var w = 1", ["x"]),
        ("a, b = 1, 2", ["a", "b"]),
        ("a = [1]; a[0] = 2", ["a"]),
        ("x = 1; x += 1", ["x"]),
        ("if true { y = 1 } else { y = 2 }", ["y"]),
        ("x = 0; if true { y = 1 } else { z = 2 }", ["x"]),
        ("x = 0; if true { y = 1 }", ["x"]),
        (
            "x = 0; if true { y = 1; print y } elif false { y = 2 } else { if x > 0 { y = 3 } else { y = 4 } }",
            ["y"],
        ),
        ("x = 1; output x; y = 2", []),
        ("x = 1; if x > 0 { output x }; y = 2", []),
        ('print "only"; expect true', []),
        ("", []),
    ],
)
def test_results(text: str, names: list[str]) -> None:
    assert [name for name, _ in resolved(text).results] == names


def test_outputs_are_called_by_their_text() -> None:
    tree = resolved("x = 1\noutput x, x  *\t2, (x + 1)\noutput z = x + 1")
    assert [name for node in nodes(tree.body, program.Output) for name, _ in node.items] == [
        "x",
        "x * 2",
        "(x + 1)",
        "z",
    ]


# ---- expression files ----------------------------------------------------------------------------


def test_free_names_are_inputs() -> None:
    tree = resolved("x**2 + sin(x*y) + e + pi")
    assert tree.is_expression
    assert [(node.kind, node.slot.name) for node in nodes(tree.body, program.Declare)] == [
        ("var", "x"),
        ("var", "y"),
    ]
    assert [name for name, _ in tree.results] == ["result"]


def test_given_names_win_over_constants_and_builtins() -> None:
    tree = resolved("e * tanh + tanh(2.0)", given=frozenset(["e", "tanh"]))
    assert list(tree.names) == ["e", "tanh"]
    assert OPS["tanh"] in [apply.op for apply in nodes(tree.body, program.Apply)]


def test_free_names_inside_functions() -> None:
    tree = resolved("(fn(z) = z * k)(x)")
    assert list(tree.names) == ["k", "x"]
    assert tree.names["k"].cell


def test_names_that_are_called_are_no_inputs() -> None:
    assert codes("made_up(x)") == ["E200"]


# ---- expected errors -----------------------------------------------------------------------------


def test_what_the_resolver_finds_is_the_failure() -> None:
    (node,) = nodes(
        resolved('expect error "unknown" { y = nowhere_to_be_found }').body, program.ExpectError
    )
    assert "unknown name `nowhere_to_be_found`" in node.found
    assert node.body == ()


def test_a_block_without_errors_is_run() -> None:
    (node,) = nodes(resolved('expect error "x" { y = 1 }').body, program.ExpectError)
    assert node.found == ""
    assert len(node.body) == 1


# ---- modules -------------------------------------------------------------------------------------


def test_a_module_is_a_function_with_members() -> None:
    tree = resolved(
        "k = 1\nmodule M(n, m = k) { var w = n; for i in range(m) { w2 = M }; fn f() = w }\nx = M(2)"
    )
    (module,) = nodes(tree.body, program.ModuleLiteral)
    assert tree.has_modules
    assert [slot.name for slot in module.members] == ["n", "m", "w", "i", "w2", "f"]
    assert [slot.name for slot in module.members if slot.cell] == ["w"], (
        "what the functions of the body capture"
    )
    assert [p.slot.name for p in module.function.parameters] == ["n", "m"]
    assert module.function.self_slot is not None, "it finds itself without a cycle"
    assert not resolved("y = 1").has_modules


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("module M() { var w = 1; frozen s = 2; const c = 3; if true { var v = 1 } else { var v = 2 } }", []),
        ("var w = 1\nmodule M() { var w = 1 }\nmodule N() { var w = 1 }", []),
        ("fn f() { module M(a) { var w = a }; return M(1) }", []),
        ("module M() { module N() { var w = 1 } }", []),
        ("module M() { for i in range(2) { break } }", []),
        ("for i in range(2) { module M() { break } }", ["E204"]),
        ("module M() { const c = 1; c = 2 }", ["E207"]),
        ("module M() { x = 1.0; fn f() { x := 2.0 } }", ["E208"]),
        ("module M() { a = [1]; fn f() { a[0] = 2 } }", ["E209"]),
        ("fn f() { var w = 1 }", ["E210"]),
        ("module M() { fn f() { const w = 1 } }", ["E210"]),
        ("module M() { expect error \"here\" { output 1 } }", []),
        ("module M() { }\nM = 2\ny = M(1)", []),
        ("M = 2\ny = M(1)", ["E217"]),
    ],
)  # fmt: skip
def test_what_may_stand_in_a_module(text: str, found: list[str]) -> None:
    assert codes(text) == found
