"""`vmap(f)` as a kernel on rows: what it gives is what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, HEAT, INTERPRETED, only, policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.engine.kernels.mapped.calls import MappedCalls
from gradcli.engine.kernels.mapped.regions import MappedRegion
from gradcli.engine.values.boxes import UNBOXED, level_of
from gradcli.engine.values.kinds import UNSET

pytestmark = pytest.mark.skipif(
    not policy().compiles or not can_compile(0), reason="there is no machine code here"
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=300)
V = RNG.normal(size=(300, 4))
W = RNG.normal(size=(300, 20))
N = np.arange(-150, 150)
NAMES = "abcdeghi"

PROGRAMS = {
    "a formula": ("output vmap(fn(x) = x * exp(-x**2) + 1)(X)", {"X": X}),
    "a branch and a loop": (
        "fn f(x) {\ny = x\nwhile abs(y) > 0.1 { y = y / 2 }\nif x > 0 { return y }\n"
        "return -y\n}\noutput vmap(f)(X)",
        {"X": X},
    ),
    "vectors": ("output vmap(fn(v) = sum((v[1:] - v[:-1]**2)**2))(V)", {"V": V}),
    "long vectors": ("output vmap(fn(v) = sum(v * v) / 2 + v[19])(W)", {"W": W}),
    "arrays as results": ("output vmap(fn(v) = 2 * v + 1)(V)", {"V": V}),
    "long arrays as results": ("output vmap(fn(v) = 2 * v + 1)(W)", {"W": W}),
    "a list": ("output vmap(fn(v) = [v[0], v * 2])(V)", {"V": V}),
    "a dict": ('output vmap(fn(x) = {"a": x, "b": 1.0})(X)', {"X": X}),
    "a gradient": ("fn f(v) = sum(sin(v) * v[0])\noutput vmap(grad(f))(V)", {"V": V}),
    "value and gradient": (
        "fn f(v) = sum(v**3)\nboth = vmap(value_and_grad(f))(V)\noutput both[0], both[1]",
        {"V": V},
    ),
    "two arguments": ("output vmap(fn(x, v) = x * sum(v))(X, V)", {"X": X, "V": V}),
    "an argument that rows share": (
        "output vmap(fn(x, v) = x * v, in_axes=[0, none])(X, 3.0)",
        {"X": X},
    ),
    "an array that rows share": (
        "output vmap(fn(x, v) = x * sum(v), in_axes=[0, none])(X, V[0])",
        {"X": X, "V": V},
    ),
    "another axis": ("output vmap(fn(v) = sum(v), in_axes=1)(V)", {"V": V}),
    "what it captured": ("k = 2.5\nu = V[0]\noutput vmap(fn(v) = k * (v @ u))(V)", {"V": V}),
    "ints": ("output vmap(fn(n) = n * n % 7)(N)", {"N": N}),
    "bools": ("output vmap(fn(x) = x > 0)(X)", {"X": X}),
    "one row": ("output vmap(fn(v) = sum(v))(V[:1])", {"V": V}),
    "matrices": ("output vmap(fn(m) = m @ m.T + m[0, 0])(M)", {"M": RNG.normal(size=(300, 3, 3))}),
    "arrays of ints": ("output vmap(fn(n) = n * 2 + n[0])(K)", {"K": N.reshape(60, 5)}),
    "arrays of bools": ("output vmap(fn(v) = where(v > 0.1, v, -v) > v[0])(V)", {"V": V}),
    "arrays of float32": ("output vmap(fn(v) = v * float32(2) + v[1])(float32(V))", {"V": V}),
    "results of which some are known": ("output vmap(grad(fn(v) = v[0]**2 + v[2]))(V)", {"V": V}),
    "vectors in a loop": (
        "fn f(v) { s = v; while sum(s * s) > 0.5 { s = 0.5 * s }; return s }\noutput vmap(f)(V)",
        {"V": V},
    ),
    "long vectors in a loop": (
        "fn f(v) { s = v[3]; while abs(s) > 0.1 { s = 0.5 * s + 0.01 * v[17] }; return s }\n"
        "output vmap(f)(W)",
        {"W": W},
    ),
    "rows of many small arrays": (
        f"fn f({', '.join(NAMES)}) = {' + '.join([f'{n} * {n}[0]' for n in NAMES])}\n"
        f"output vmap(f)({', '.join(NAMES)})",
        {name: RNG.normal(size=(600, 12)) for name in NAMES},
    ),
}
for width in (1, 2, 3, 5, 7, 8, 11, 16):
    PROGRAMS[f"vectors of {width}"] = (
        "output vmap(value_and_grad(fn(v) = sum(sin(v) * v[0])))(V)",
        {"V": RNG.normal(size=(301, width))},
    )


HOT_AND_COLD: tuple[dict[str, Any], ...] = ({"heat": FIRST_USE}, {"tier": INTERPRETED})


def both(text: str, inputs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The outputs and the gradients by kernels, and by the interpreter."""
    declared = "".join(
        f"const {name}: {'int64' if value.dtype == int else 'float'}"
        f"[{', '.join(map(str, value.shape))}]\n"
        for name, value in inputs.items()
    )
    found = []
    for how in HOT_AND_COLD:
        with only(**how):
            done = gradcli.load(source=declared + text).run(inputs)
        found.append([*done.outputs.values(), done.gradients])
    return found[0], found[1]


def assert_alike(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = [*a.values()], [*b.values()]
    if isinstance(a, list):
        for one, other in zip(a, b, strict=True):
            assert_alike(one, other)
    elif a is not None:
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_in_the_interpreter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = []
    run = MappedCalls.run

    def noted(*given: Any) -> Any:
        answers.append(run(*given))
        return answers[-1]

    monkeypatch.setattr(MappedCalls, "run", noted)
    compiled, interpreted = both(*PROGRAMS[name])
    assert answers
    assert all(answer is not UNSET for answer in answers)
    assert_alike(compiled, interpreted)


@pytest.mark.parametrize(("turns", "is_compiled"), [(1, False), (200, True)])
def test_turns_of_a_loop_that_are_known_are_work(
    turns: int, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = []
    run = MappedCalls.run
    monkeypatch.setattr(MappedCalls, "run", lambda *given: answers.append(run(*given)) or UNSET)
    source = f"const X: float[n]\nfn f(x) {{ y = x; for k in range({turns}) {{ y = sin(y*x) }}; return y }}\n"
    with only(heat=HEAT._replace(elements=1, operations=100_000)):
        gradcli.load(source=f"{source}output vmap(f)(X)").run({"X": X})
    assert [answer is not UNSET for answer in answers] == [is_compiled]


@pytest.mark.parametrize(
    "text",
    [
        "v = [1.0, 2.0]\noutput vmap(fn(n) = v[n] * 1.0)(N)",
        "output vmap(fn(n) = n * n * n * 1000000000000000)(N)",
        "output vmap(fn(n) = n)(N, N)",
        'output vmap(fn(n) = "text")(N)',
    ],
)
def test_errors_are_those_of_the_interpreter(text: str) -> None:
    messages = []
    for how in HOT_AND_COLD:
        program = gradcli.load(source=f"const N: int64[300]\n{text}")
        with only(**how), pytest.raises(GradcliError) as error:
            program.run({"N": N})
        messages.append(str(error.value))
    assert messages[0] == messages[1]


TRACED = {
    "by a variable that rows share": "var w = 2.0\noutput y = sum(vmap(fn(x) = x * w**2)(X))",
    "by a vector that rows share": (
        "var w = [0.3, -0.2, 0.5, 1.0]\noutput y = mean(vmap(fn(v) = tanh(v @ w))(V))"
    ),
    "by an array of many elements that rows share": (
        "var c = reshape(sin(range(80)), [20, 4])\n"
        "fn nearest(v) = min(sum((c - v)**2, axis = 1))\noutput y = sum(vmap(nearest)(V))"
    ),
    "a product with a Hessian by such an array": (
        "const c = reshape(sin(range(80)), [20, 4])\nfn f(v, c) = min(sum((c - v)**2, axis = 1))**2\n"
        "fn cost(c) = sum(vmap(f, in_axes = [0, none])(V, c))\noutput y = hvp(cost)(c, cos(c))"
    ),
    "by what the function captured": (
        "output y = grad(fn(w) = sum(vmap(fn(x) = sin(x * w))(X)))(0.7)"
    ),
    "by the rows": "output y = grad(fn(x) = sum(vmap(fn(a) = a**3 * exp(-a))(x)))(X)",
    "by rows of vectors": "output y = grad(fn(x) = sum(vmap(fn(v) = v[0] * sum(v**2))(x)))(V)",
    "by rows of long vectors": "output y = grad(fn(x) = sum(vmap(fn(v) = sum(v**3))(x)))(W)",
    "results that are vectors": (
        "output y = grad(fn(x) = sum(vmap(fn(v) = sin(v) * v[1])(x) * V))(V)"
    ),
    "another axis": "output y = grad(fn(x) = sum(vmap(fn(v) = sum(v**2), in_axes=1)(x)**2))(V)",
    "several results": (
        "fn f(w) {\na, b = vmap(fn(x) = [x * w, x + w**2])(X)\nreturn sum(a * b)\n}\n"
        "output y = grad(f)(1.5)"
    ),
    "a result that isn't asked for": (
        "fn f(w) {\na, b = vmap(fn(x) = [x * w, x])(X)\nreturn sum(a)\n}\noutput y = grad(f)(1.5)"
    ),
    "branches": (
        "fn f(x, w) = x * w if x > 0 else (w**2 if x > -1 else x)\n"
        "output grad(fn(w) = sum(vmap(f, in_axes=[0, none])(X, w)))(0.7)\n"
        "output z = grad(fn(x) = sum(vmap(f, in_axes=[0, none])(x, 2.0)))(X)"
    ),
    "loops": (
        "fn f(x, w) {\ny = x\nwhile abs(y) > 0.1 { y = y / (2 + w**2) }\nreturn y * w\n}\n"
        "output grad(fn(w) = sum(vmap(f, in_axes=[0, none])(X, w)))(0.7)\n"
        "output z = grad(fn(x) = sum(vmap(f, in_axes=[0, none])(x, 0.3)))(X)"
    ),
    "early ends": (
        "fn f(x, w) {\ns = 0.0\nfor k in range(20) {\nif k > 8 * x { return s }\n"
        "s = s + sin(w * k * x)\nif s > 3 { break }\n}\nreturn 2 * s\n}\n"
        "output grad(fn(w) = sum(vmap(f, in_axes=[0, none])(X, w)))(0.7)"
    ),
    "rows none of which is connected": (
        "var w = 2.0\noutput y = sum(vmap(fn(x) = x * w if x > 100 else x)(X))"
    ),
    "rows some of which are connected": (
        "var w = 2.0\nvar x = [1.0, -2.0]\noutput y = sum(vmap(fn(x) = x * w if x > 0 else 1.0)(x))"
    ),
    "tangents of the rows": ("output y = jvp(fn(x) = vmap(fn(a) = a**3)(x))(X, cos(X))"),
    "tangents of what rows share": ("output jvp(fn(w) = vmap(fn(x) = sin(x * w))(X))(0.7, 2.0)"),
    "a gradient of gradients": (
        "fn loss(w) = sum(vmap(fn(x) = sin(x * w))(X))\n"
        "output grad(grad(loss))(0.7), grad(grad(grad(loss)))(0.7)"
    ),
    "a product with a Hessian": (
        "fn loss(x) = sum(vmap(fn(v) = v[0] * sum(v**3))(x))\n"
        "output jvp(grad(loss))(V, cos(V)), grad(fn(x) = sum(grad(loss)(x)**2))(V)"
    ),
    "the tangent of a gradient": (
        "fn loss(w) = sum(vmap(fn(x) = exp(-w * x**2))(X))\n"
        "output jvp(grad(loss))(0.3, 1.0), grad(fn(w) = jvp(loss)(w, 1.0))(0.3)"
    ),
    "gradients in rows in a gradient": (
        "fn f(x, w) = sin(x * w) * x\n"
        "fn total(w) = sum(vmap(fn(x) = grad(f)(x, w))(X)**2)\n"
        "output grad(total)(0.7), grad(grad(total))(0.7)"
    ),
    "rows in rows": (
        "var w = 0.7\nconst c = sin(range(20))\n"
        "output y = sum(vmap(fn(x) = sum(vmap(fn(b) = exp(x * b) * w)(c)))(X))"
    ),
    "ints beside floats": "var w = 2.0\noutput y = sum(vmap(fn(n) = n * w)(N))",
}


@pytest.mark.parametrize("name", TRACED)
def test_traced_ones_are_as_in_the_interpreter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    apply = MappedRegion.apply

    def noted(self: Any, run: Any, site: Any, values: list[Any], calls: int = 1) -> Any:
        levels.append(max(map(level_of, values)))
        return apply(self, run, site, values, calls)

    monkeypatch.setattr(MappedRegion, "apply", noted)
    used = {k: v for k, v in {"X": X, "V": V, "W": W, "N": N}.items() if k in TRACED[name]}
    compiled, interpreted = both(TRACED[name], used)
    assert max(levels) > UNBOXED
    assert_alike(compiled, interpreted)


def test_a_row_has_the_bits_that_it_has_alone() -> None:
    text = "output grad(fn(x) = sum(vmap(fn(v) = sin(v[0]) * exp(v[1]) + v[2] ** 2.5)(x)))(V)"
    v = abs(V)
    whole, _ = both(text, {"V": v})
    for rows in (slice(0, 1), slice(7, 40), slice(299, 300)):
        some, _ = both(text, {"V": v[rows]})
        assert np.array_equal(some[0], whole[0][rows])


@pytest.mark.parametrize(
    "text",
    [
        "output y = sum(vmap(fn(x) = sum(vmap(fn(z) = z * x)(X)))(X))",
        "fn loss(w) = mean(vmap(fn(v) = tanh(v @ w)**2)(V))\n"
        "output y = hessian(loss)([0.1, 0.2, -0.3, 0.5])",
        "var w = [0.1, 0.2, 0.3, 0.4]\ntape t {\ny = sum(vmap(fn(v) = sin(v @ w))(V))\n}\n"
        "output t.gradient(y, w)",
    ],
)
def test_what_only_the_interpreter_does_stays_there(text: str) -> None:
    assert_alike(*both(text, {"X": X, "V": V}))
