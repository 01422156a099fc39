"""What the text of a program tells about its derivatives: whether any will be differentiated
again."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.engine.ad import derivatives
from gradcli.engine.analysis.facts import Facts
from gradcli.tasks import evaluate as tasks
from gradcli.tasks.answer import prepare
from gradcli.tasks.evaluation import Options

from ..programs import evaluate

DESCENT = "var w = 1.0; var b = 0.5\nfor k in range(3) { loss = (w*2.0 + b - 3.0)**2; %s }\noutput loss = (w*2.0 + b - 3.0)**2"
ONCE = {
    "no derivative": "var x = 3.0; output x**2",
    "printed": "var x = 3.0; y = x**2; print grad(y, x); output y",
    "expected": "var x = 3.0; y = x**2; expect grad(y, x) ~= 6.0; output y",
    "descent": DESCENT % "g = grad(loss, {w: w, b: b}); w :-= 0.1*g.w; b :-= 0.1*g.b",
    "list of variables": DESCENT % "for v, g in zip([w, b], grad(loss, [w, b])) { v :-= 0.1*g }",
    "momentum": "frozen m = 0.0\n" + DESCENT % "m := 0.9*m + grad(loss, w); w :-= 0.1*m",
    "a tape": DESCENT % "tape t { near = (w*2.0 + b - 3.0)**2 }; w :-= 0.1*t.gradient(near, w)",
    "a transform": "fn f(w) = (w*2.0 - 3.0)**2\nvar w = 1.0\nfor k in range(3) { w :-= 0.1*grad(f)(w) }\noutput f(w)",
    "a named transform": "fn f(w) = (w - 3.0)**2\nd = grad(f)\nvar w = 1.0\nfor k in range(3) { w :-= 0.1*d(w) }\noutput f(w)",
    "value and gradient": "fn f(w) = w**2\nvar w = 1.0\nfor k in range(3) { v, g = value_and_grad(f)(w); w :-= g }\noutput f(w)",
}
ONCE |= {
    "Newton": "var w = 2.0\nfor k in range(3) { f = w**4; g = grad(f, w); w :-= g / hessian(f, w) }\noutput w",
    "Jacobians": "var x = [3.0, 1.0]; y = x**2 * x[0]; print jacobian(y, x), jacobian(y, x, sparse = true); output sum(y)",
    "a batch": "var x = [[3.0], [1.0]]; y = x**2; print batch_jacobian(y, x); output sum(y)",
    "transforms": "fn f(x) = x**3 * x[0]\nvar x = [3.0, 1.0]; print jacobian(f)(x), hessian(fn(x) = sum(f(x)))(x); output sum(x)",
}
AGAIN = {
    "nested": "var x = 3.0; y = x**3; print grad(grad(y, x), x); output y",
    "through a name": "var x = 3.0; y = x**3; g = grad(y, x); print grad(g, x); output y",
    "through a sum": "var x = 3.0; y = x**3; s = 0.0; s += grad(y, x); print grad(s*x, x); output y",
    "through a loop": "var x = 3.0; y = x**3; for g in grad(y, [x]) { z = g*x }; print grad(z, x); output y",
    "through a constant": "var x = 3.0; y = x**3; const g = grad(y, x); print grad(g*x, x); output y",
    "through an entry": "var x = 3.0; y = x**3; d = {a: 0.0}; d.a = grad(y, x); print grad(d.a, x); output y",
    "through a captured name": "var x = 3.0; y = x**3; g = grad(y, x)\nfn f(a) = a*g\nprint grad(f(x), x); output y",
    "through a default": "var x = 3.0; y = x**3; g = grad(y, x)\nfn f(a, b = g) = a*b\nprint grad(f(x), x); output y",
    "unrolled descent": "var x = 3.0; z = x\nfor k in range(3) { z = z - 0.1*grad(z**2, z) }\noutput z",
    "as an output": "var x = 3.0; y = x**3; output grad(y, x)",
    "in an output": "var x = 3.0; y = x**3; g = grad(y, x); output y + g",
    "in the last statement": "var x = 3.0; y = x**3; z = x*grad(y, x)",
    "second order": "var x = 3.0; y = x**3; print hvp(y, x, 1.0); output y",
    "of a Jacobian": "var x = [3.0]; y = x**3; j = jacobian(y, x); print jacobian(j, x); output y",
    "of a transform's Hessian": "fn f(x) = x**3\nvar x = 3.0; h = hessian(f)(x); print grad(h, x); output f(x)",
    "in a function": "fn d(y, x) = grad(y, x)\nvar x = 3.0; y = x**3; print d(y, x); output y",
    "as a value": "var x = 3.0; y = x**3; d = [grad]; print d[0](y, x); output y",
    "as a method": "var x = 3.0; y = x**3; print y.grad(x); output y",
    "on a tape": "var x = 3.0; tape a { tape t { y = x**3 }; g = t.gradient(y, x) }; print a.gradient(g, x); output y",
    "transform of a transform": "fn f(x) = x**3\nvar x = 3.0; print grad(grad(f))(x); output f(x)",
    "transform passed": "fn f(x) = x**3\nfn h(d, x) = d(x)*x\nvar x = 3.0; print grad(h, wrt = 1)(grad(f), x); output x",
    "transform passed by name": "fn f(x) = x**3\nd = grad(f)\nfn h(d, x) = d(x)*x\nvar x = 3.0; print grad(h, wrt = 1)(d, x)",
    "transform captured": "fn f(x) = x**3\nd = grad(f)\nfn h(x) = d(x)*x\nvar x = 3.0; print grad(h)(x); output x",
    "transform in a list": "fn f(x) = x**3\nd = [grad(f)]\nvar x = 3.0; print d[0](x); output x",
}  # fmt: skip


def _once(source: str, *targets: str) -> bool:
    return Facts(gradcli.load(source=source)._resolved).differentiates_once(targets or None)


@pytest.mark.parametrize("source", ONCE.values(), ids=ONCE)
def test_what_differentiates_once(source: str) -> None:
    assert _once(source)
    node, options = gradcli.load(source=source)._resolved, Options()
    compiled = prepare(node, options)
    found = tasks.evaluate(node, {}, options, compiled)
    compiled.once = False
    recorded = tasks.evaluate(node, {}, options, compiled)
    assert found.printed == recorded.printed
    np.testing.assert_equal(
        [found.outputs, found.gradients], [recorded.outputs, recorded.gradients]
    )


@pytest.mark.parametrize("source", AGAIN.values(), ids=AGAIN)
def test_what_may_differentiate_again(source: str) -> None:
    assert not _once(source)


def test_targets_from_outside_count() -> None:
    source = "var x = 3.0; y = x**3; g = grad(y, x); print g; output y"
    assert _once(source)
    assert not _once(source, "g")
    assert evaluate(source, of=("g",)).gradients == {"g": {"x": 18.0}}


def test_an_output_that_is_a_derivative_gets_none_unasked() -> None:
    source = "var x = 3.0; y = x**3; output y; output grad(y, x)"
    node = gradcli.load(source=source)._resolved
    assert prepare(node, Options(), alone=True).once
    assert not prepare(node, Options()).once
    assert not prepare(node, Options(of=("grad(y, x)",)), alone=True).once
    assert evaluate(source, of=("grad(y, x)",)).gradients == {"grad(y, x)": {"x": 18.0}}


def test_a_descent_records_no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    sweep = derivatives.sweep
    monkeypatch.setattr(derivatives, "sweep", lambda *a, **k: asked.append(a[3]) or sweep(*a, **k))
    evaluate(ONCE["descent"])
    assert asked == [False] * 4


def test_a_seed_that_depends_on_variables() -> None:
    source = (
        "var x = [1.0, 2.0]; var u = [3.0, 4.0]; y = x**2; print grad(y, x, seed = u*u); output y"
    )
    assert _once(source)
    assert evaluate(source).printed == [str(np.array([18.0, 64.0]))]


def test_long_chains_of_names() -> None:
    """A name at a time, and not all names for each: that would take minutes."""
    names = range(1, 20_000)
    chain = "\n".join(f"a{k} = a{k - 1} + 1" for k in names)
    facts = Facts(gradcli.load(source=f"var x = 3.0\na0 = int64(x)\n{chain}")._resolved)
    assert facts.of_variables == {f"a{names[-1]}"}
    assert not _once(f"var x = 3.0\na0 = grad(x**2, x)\n{chain}", f"a{names[-1]}")
