"""Functions that other packages register: in every mode like a builtin, refused with what is wrong,
found by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import Source
from gradcli.ops import OPS
from gradcli.ops.registry import REGISTERED, replaced
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program
from gradcli.tasks.symbolic import ClosedForms, closed_forms


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    before = dict(OPS)
    yield
    for name in list(REGISTERED):
        gradcli.unregister(name)
    assert before == OPS


def register_softsign(**facts: Any) -> None:
    facts = {
        "partials": [lambda m, y, x: 1 / (1 + m.abs(x)) ** 2],
        "domain": [(0.1, np.inf)],
        **facts,
    }
    gradcli.register(
        "softsign", "x", "A sigmoid without exponentials.", lambda x: x / (1 + np.abs(x)), **facts
    )


def register_weighted(**facts: Any) -> None:
    """`weighted(x, w; power = 1)`: sum(x**power * w), as a function of whole arrays."""

    def vjp_x(m: Any, g: Any, y: Any, x: Any, w: Any, power: int) -> Any:
        return g * power * x ** (power - 1) * w

    facts = {"vjp": [vjp_x, lambda m, g, y, x, w, power: g * x**power], **facts}
    gradcli.register(
        "weighted", "x, w; power = 1", "A sum.", lambda x, w, power: np.sum(x**power * w), **facts
    )


def run(source: str, **options: Any) -> Any:
    return gradcli.load(source=source).with_options(**options).run()


SLOPE, BEND = 1 / 9, -2 / 27  # of softsign at 2


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
@pytest.mark.parametrize("x", ["2.0", "[2.0, -2.0]"])
def test_an_elementwise_function_is_differentiated_in_every_mode(mode: str, x: str) -> None:
    register_softsign()
    evaluation = run(f"var x = {x}; y = sum(softsign(x) + x.softsign())", mode=mode)
    assert evaluation.outputs["y"] == pytest.approx(4 / 3 if x == "2.0" else 0.0)
    assert np.allclose(evaluation.gradients["y"]["x"], 2 * SLOPE)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("grad(grad(softsign))(x)", BEND),
        ("jvp(grad(softsign))(x, 1.0)", BEND),
        ("grad(fn(x) = jvp(softsign)(x, 1.0))(x)", BEND),
        ("jvp(softsign)(x, 2.0)", 2 * SLOPE),
        ("hvp(fn(x) = sum(softsign(x)))(x * [1.0, -1.0], [1.0, 1.0])", [BEND, -BEND]),
        ("hessian(softsign)(x)", BEND),
        ("grad(softsign(x) * softsign(x), x)", 2 * SLOPE * 2 / 3),
    ],
)
def test_it_is_differentiated_again(expression: str, expected: Any) -> None:
    register_softsign()
    assert np.allclose(run(f"var x = 2.0; y = {expression}", grad=False).outputs["y"], expected)


def test_a_function_of_arrays() -> None:
    register_weighted()
    source = "var x = [1.0, 2.0]; var w = [3.0, 4.0]; y = weighted(x, w, power = 2); h = hvp(y, x, [1.0, 1.0]); output y, h"
    evaluation = run(source)
    assert evaluation.outputs["y"] == 19.0
    assert evaluation.outputs["h"].tolist() == [6.0, 8.0]
    assert evaluation.gradients["y"]["x"].tolist() == [6.0, 16.0]
    assert evaluation.gradients["y"]["w"].tolist() == [1.0, 4.0]


def test_forward_mode_asks_for_its_own_rule() -> None:
    """Without one, what chooses a mode takes reverse, and forward mode says so."""
    register_weighted()
    source = "var x = 3.0; y = weighted(x, 2.0, power = 2)"
    assert run(source).gradients["y"]["x"] == 12.0
    with pytest.raises(
        gradcli.GradcliError, match=r"E317.*forward mode can't differentiate `weighted`"
    ):
        run(source, mode="forward")

    def jvp(m: Any, t: Any, y: Any, x: Any, w: Any, power: int) -> Any:
        return sum(
            m.sum(d)
            for d in (t[0] and t[0] * power * x ** (power - 1) * w, t[1] and t[1] * x**power)
            if d is not None
        )

    register_weighted(jvp=jvp, replace=True)
    assert run(source, mode="forward").gradients["y"]["x"] == 12.0


def test_linear_functions_need_no_forward_rule() -> None:
    gradcli.register(
        "backwards",
        "x",
        "The elements in reverse.",
        lambda x: x[::-1],
        vjp=[lambda m, g, y, x: m.backwards(g)],
        linear=True,
    )
    evaluation = run(
        "var x = [1.0, 2.0]; y = sum(backwards(x) * [3.0, 4.0]); j = jvp(backwards(x), x, [1.0, 0.0]); output y, j"
    )
    assert evaluation.gradients["y"]["x"].tolist() == [4.0, 3.0]
    assert evaluation.outputs["j"].tolist() == [0.0, 1.0]
    assert run("var x = [1.0, 2.0]; y = backwards(x)[0]", mode="forward").gradients["y"][
        "x"
    ].tolist() == [0.0, 1.0]


def test_any_number_of_operands() -> None:
    gradcli.register(
        "total",
        "*parts",
        "The sum of all.",
        lambda *parts: sum(parts),
        vjp=lambda m, g, y, k, *parts: g * (k + 1),
        linear=True,
    )  # a wrong rule, to see that it knows which operand is meant
    evaluation = run("var a = 1.0; var b = 2.0; y = total(a, b, 3.0); output y", mode="reverse")
    assert (evaluation.outputs["y"], evaluation.gradients["y"]) == (6.0, {"a": 1.0, "b": 2.0})


def test_without_derivatives() -> None:
    gradcli.register("blind", "x", "Twice x.", lambda x: 2 * x)
    gradcli.register("level", "x", "The next whole number below.", np.floor, differentiable=False)
    with pytest.raises(gradcli.GradcliError, match="`blind` has no gradient registered"):
        run("var x = 1.5; y = blind(x)")
    assert run("var x = 1.5; y = x * level(x)").gradients["y"]["x"] == 1.0


def test_orders_come_first() -> None:
    register = {
        "forward": lambda n, x: x**n,
        "partials": [None, lambda m, y, n, x: n * m.monomial(n - 1, x)],
    }
    gradcli.register("monomial", "n, x", "x to the power n.", **register)
    source = "var x = 2.0; y = monomial(3, x); g = grad(y, x); h = grad(g, x); output g, h"
    assert run(source, grad=False).outputs == {"g": 12.0, "h": 12.0}


def test_its_closed_form_is_what_it_says() -> None:
    def forms() -> ClosedForms:
        program = parse_program(Source("<source>", "var x = 2.0; y = 3 * softsign(x); output y"))
        return closed_forms(program, {}, Options())

    register_softsign()
    (diagnostic,) = forms().diagnostics
    assert diagnostic.message == "`softsign` has no closed form"
    register_softsign(symbolic=lambda s, x: x / (1 + s.Abs(x)), replace=True)
    found = forms()
    assert str(found.values["y"]) == "3*x/(Abs(x) + 1)"
    assert float(found.derivatives["y"]["x",].subs(found.point)) == pytest.approx(3 * SLOPE)


@pytest.mark.parametrize("x", ["2.0", "[1.0, 2.0]"])
@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda x: "one", "it returned a Python `str`, not a number or an array"),
        (lambda x: [1.0], "it returned a Python `list`, not a number or an array"),
        (lambda x: None, "it returned None, not a number or an array"),
        (np.sum, "it goes element by element, and returned shape"),
        (lambda x: np.multiply(x, 2, out=x), "ValueError: output array is read-only"),
    ],
)
def test_what_an_elementwise_function_must_return(forward: Any, message: str, x: str) -> None:
    gradcli.register("failing", "x", "Fails.", forward, partials=[lambda m, y, x: 1.0])
    with pytest.raises(gradcli.GradcliError, match=f"`failing` failed: {message}"):
        gradcli.load(source=f"var x = {x}; y = failing(x)").run()


def test_a_result_shares_no_memory_with_operands() -> None:
    gradcli.register("turned", "x", "Turned.", lambda x: x.T, vjp=[lambda m, g, y, x: g.T])
    program = gradcli.load(
        source="x = [[1.0, 2.0], [3.0, 4.0]] * 1.0; y = turned(x); y[0, 0] = 9.0; output x"
    )
    assert program.run().outputs["x"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("x", ["2.0", "[1.0, 2.0]"])
def test_what_it_raises_is_told_where_it_was_called(x: str) -> None:
    def failing(x: Any) -> Any:
        raise KeyError("no table")

    register_softsign()
    gradcli.register("failing", "x", "Fails.", failing, partials=[lambda m, y, x: 1.0])
    gradcli.register("fails_back", "x", "Fails.", np.sum, vjp=[lambda m, g, y, x: failing(x)])
    for call in ("failing(x)", "fails_back(x)"):
        with pytest.raises(gradcli.GradcliError, match="failed: KeyError: 'no table'") as caught:
            run(f"var x = {x}; y = 1.0 + {call}", mode="reverse")
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "E320"
        assert diagnostic.span is not None
        assert diagnostic.span.text == call


def _unary(*rules: Any, **facts: Any) -> dict[str, Any]:
    return {
        "signature": "x",
        "summary": "A test.",
        "forward": np.sin,
        **({"partials": rules} if rules else {}),
        **facts,
    }


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("sin", _unary(), "there is a builtin of this name"),
    ("pi", _unary(), "another meaning"),
    ("while", _unary(), "another meaning"),
    ("two words", _unary(), "it is no name"),
    ("\ufb01t", _unary(), "it is no name"),  # a ligature: programs compare names in NFKC
    ("f", _unary(summary=" "), "a summary"),
    ("f", _unary(forward=None), "forward is None, and should be a function"),
    ("f", _unary(3.0), "partials.0. is 3.0, and should be a function"),
    ("f", _unary(signature="x y"), "'x y', which is no name"),
    ("f", _unary(signature="x, x"), "two parameters of one name"),
    ("f", _unary(signature="x = one"), "can't be read"),
    ("f", _unary(signature="x,,"), "can't be read: a parameter has no name"),
    ("f", _unary(signature="x; , n = 1"), "can't be read: a parameter has no name"),
    ("f", _unary(signature="x; = 1"), "a parameter '', which is no name"),
    ("f", _unary(signature="x, *"), "can't be read: `[*]` stands before the name"),
    ("f", _unary(signature="; n = 1"), "no operands"),
    (
        "f",
        _unary(signature="x, y", partials=[lambda m, y, x: 1]),
        "`partials` has 1 functions, and the operands are x, y",
    ),
    ("f", _unary(signature="*xs", partials=[lambda m, y, x: 1]), "a fixed number of operands"),
    ("f", _unary(None), "one has to move"),
    ("f", _unary(lambda m, y, x: 1 if x > 0 else 2), "`m.where.condition, a, b.` chooses"),
    ("f", _unary(lambda m, y, x: np.cos(x)), "the partial with respect to x is no formula"),
    ("f", _unary(lambda m, x: x), "the partial with respect to x is no formula: TypeError"),
    ("f", _unary(lambda m, y, x: m.coss(x)), "`m.coss`, which isn't there; did you mean"),
    ("f", _unary(lambda m, y, x: m.sum(x)), "`m.sum`, which isn't elementwise"),
    ("f", _unary(lambda m, y, x: m.atan2(x)), "`m.atan2` with 1 arguments"),
    ("f", _unary(lambda m, y, x: x * np.ones(2)), "which isn't a number"),
    ("f", _unary(lambda m, y, x: x, vjp=[lambda m, g, y, x: g]), "are for others"),
    ("f", _unary(vjp=lambda m, g, y, x: g), "`vjp` is a list"),
    ("f", _unary(vjp=[]), "`vjp` has 0 functions"),
    ("f", _unary(signature="*xs", vjp=[lambda m, g, y, k, x: g]), "`vjp` is one function"),
    ("f", _unary(jvp=lambda m, t, y, x: t), "reverse mode has none"),
    ("f", _unary(lambda m, y, x: x, differentiable=False), "is said to have none"),
    ("f", _unary(domain=[(0, 1), (0, 1)]), "`domain` has 2 intervals"),
    ("f", _unary(domain=[(1, 0)]), "an interval is"),
    ("f", _unary(vjp=[lambda m, g, y, x: g], saves=["z"]), "`saves` names 'z'"),
]


@pytest.mark.parametrize(
    ("name", "facts", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_refused(name: str, facts: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        gradcli.register(name, **facts)
    assert not REGISTERED


def test_nothing_is_replaced_silently() -> None:
    register_softsign()
    with pytest.raises(ValueError, match="it is registered already; `replace = True`"):
        register_softsign()
    before = gradcli.load(source="var x = 2.0; y = softsign(x)")
    register_softsign(partials=[lambda m, y, x: 7.0 * x], replace=True)
    assert run("var x = 2.0; y = softsign(x)").gradients["y"]["x"] == 14.0
    assert before.run().gradients["y"]["x"] == pytest.approx(
        SLOPE
    )  # what was loaded keeps what it found
    with pytest.raises(ValueError, match="`sin` is a builtin"):
        gradcli.unregister("sin")
    gradcli.unregister("softsign")
    with pytest.raises(ValueError, match="no function `softsign` is registered"):
        gradcli.unregister("softsign")
    with pytest.raises(gradcli.GradcliError, match="E200"):
        run("var x = 2.0; y = softsign(x)")


# ---- wrong rules, planted ------------------------------------------------------------------------

WRONG = [
    ("sin", {"partials": (lambda m, y, x: 2 * m.cos(x),)}, "sin(x)", 2.0),
    ("mul", {"partials": (lambda m, y, a, b: 2 * b, lambda m, y, a, b: 2 * a)}, "3.0 * x", 2.0),
    ("sum", {"vjp": (lambda m, g, y, x, axis, keepdims: 2 * g + m.zeros_like(x),), "linear": False,
             "jvp": lambda m, t, y, x, axis, keepdims: 2 * m.sum(t[0])}, "sum([x, 3.0 * x])", 2.0),
    ("stack", {"vjp": lambda m, g, y, k, *xs, axis: 2 * g[k], "linear": False,
               "jvp": lambda m, t, y, *xs,
               axis: 2 * m.stack(*[0 * x if s is None else s for s, x in zip(t, xs, strict=True)])},
     "sum([x, 3.0 * x])", 2.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rules", "expression", "factor"), WRONG, ids=[case[0] for case in WRONG]
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_planted_rule_holds_in_every_mode_until_it_is_taken_back(
    mode: str, name: str, rules: dict[str, Any], expression: str, factor: float
) -> None:
    program = gradcli.load(source=f"var x = 0.5; y = {expression}").with_options(mode=mode)
    asks = f"fn f(x) = {expression}\na = grad(f)(0.5)\nb = jvp(f)(0.5, 1.0)\noutput a, b"
    second = gradcli.load(source=asks).with_options(grad=False)
    right, both = program.run().gradients["y"]["x"], second.run().outputs
    with replaced(name, **rules):
        assert program.run().gradients["y"]["x"] == pytest.approx(factor * right)
        assert second.run().outputs == {
            key: pytest.approx(factor * value) for key, value in both.items()
        }
    assert program.run().gradients["y"]["x"] == right
    assert second.run().outputs == both


def test_only_rules_can_be_replaced() -> None:
    with (
        pytest.raises(TypeError, match="'compute' is no rule of an entry"),
        replaced("sin", compute=None),
    ):
        pass


# ---- other packages ------------------------------------------------------------------------------

PLUGIN = """
import gradcli
def functions():
    print("asked")
    gradcli.register("thrice", "x", "Three times x.", lambda x: 3 * x, partials=[lambda m, y, x: 3.0])
def broken():
    raise RuntimeError("no licence")
"""


def installed(folder: Path, entry: str) -> dict[str, str]:
    """The environment of a process that sees a package with such an entry point."""
    (folder / "thricely.py").write_text(PLUGIN)
    (folder / "thricely-1.0.dist-info").mkdir()
    (folder / "thricely-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: thricely\nVersion: 1.0\n"
    )
    (folder / "thricely-1.0.dist-info" / "entry_points.txt").write_text(
        f"[gradcli.ops]\nthricely = thricely:{entry}\n"
    )
    return {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{Path(gradcli.__file__).parent.parent}",
    }


def command(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradcli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "expression", ["thrice(x)", "x.thrice()", "sum([x]) + (fn(f) = f(2*x))(thrice) - 4*x"]
)
def test_a_package_is_asked_when_a_function_is_unknown(tmp_path: Path, expression: str) -> None:
    environment = installed(tmp_path, "functions")
    program = f"var x = 2.0; y = {expression}; output y"
    done = command(environment, "eval", "-e", program)
    assert done.stdout.splitlines()[0] == "asked"
    assert "dy/dx" in done.stdout.replace("∂", "d"), done
    assert "3" in done.stdout
    assert done.returncode == 0
    assert (
        command(environment, "eval", "-e", "x**2 + sin(x)", "--set", "x=3").stdout.count("asked")
        == 0
    )


def test_gradcli_ops_lists_what_packages_add(tmp_path: Path) -> None:
    environment = installed(tmp_path, "functions")
    assert "Three times x." in command(environment, "ops").stdout
    assert "Three times x." in command(environment, "ops", "thrice").stdout


def test_a_package_that_fails_is_named(tmp_path: Path) -> None:
    environment = installed(tmp_path, "broken")
    message = (
        "error[E008]: the package `thricely` can't add its functions: RuntimeError: no licence"
    )
    done = command(environment, "eval", "-e", "y = thrice(2.0)")
    assert message in done.stderr
    assert "unknown function `thrice`" in done.stderr
    assert done.returncode == 3
    listed = command(environment, "ops")
    assert message in listed.stderr
    assert "tanh" in listed.stdout
    assert command(environment, "eval", "-e", "y = sin(2.0)").stderr == ""
