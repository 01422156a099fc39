"""`vmap(f)` as a kernel on rows: what it gives is what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, only, policy
from gradcli.engine.codegen.machine import can_compile
from gradcli.engine.lowering.mapped_calls import MappedCalls
from gradcli.engine.lowering.plan import MISS

pytestmark = pytest.mark.skipif(
    not policy().compiles or not can_compile(0), reason="there is no machine code here"
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=300)
V = RNG.normal(size=(300, 4))
W = RNG.normal(size=(300, 20))
N = np.arange(-150, 150)

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
}


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
    else:
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
    assert all(answer is not MISS for answer in answers)
    assert_alike(compiled, interpreted)


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


@pytest.mark.parametrize(
    "text",
    [
        "var w = 2.0\noutput y = sum(vmap(fn(x) = x * w**2)(X))",
        "output y = grad(fn(w) = sum(vmap(fn(x) = sin(x * w))(X)))(0.7)",
        "output y = sum(vmap(fn(x) = sum(vmap(fn(z) = z * x)(X)))(X))",
    ],
)
def test_traced_and_nested_ones_are_the_interpreters(text: str) -> None:
    assert_alike(*both(text, {"X": X}))
