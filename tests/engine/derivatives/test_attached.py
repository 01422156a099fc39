"""Attached gradients: `attach_grad`, `record`, `backward`, `x.grad`, with the meaning that MXNet's
autograd gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradcli
from gradcli.engine.execution import Execution, compile_program
from gradcli.tasks.evaluation import Options

from ..programs import evaluate, failure, outputs, value, warnings
from .random_programs import RELAXED, Program, points, programs

# ---- what gradients are --------------------------------------------------------------------------

# Each begins with x = 3.0 attached; `r` is what is looked at.
SCALARS = [
    ("r = x.grad", 0.0),
    ("record { y = x**2 }; backward(y); r = x.grad", 6.0),
    ("record { y = x**2 }; y.backward(); r = x.grad", 6.0),
    ("record { y = x**2 }; r = backward(y)", None),
    ("b = backward; record { y = x**2 }; b(y); r = x.grad", 6.0),
    # written over, added to, kept
    ("record { y = x**2 }; backward(y); record { y = 5 * x }; backward(y); r = x.grad", 5.0),
    ('attach_grad(x, req = "add"); for i in range(3) { record { y = x**2 }; backward(y) }; r = x.grad', 18.0),
    ('x.attach_grad("add"); record { y = x**2 }; backward(y); attach_grad(x); r = x.grad', 0.0),
    ('attach_grad(x, "null"); w = 2.0; attach_grad(w); record { y = w * x }; backward(y); r = [x.grad, w.grad]', [None, 3.0]),
    ("w = 2.0; attach_grad(w); record { y = x * w }; backward(y); record { z = x**2 }; backward(z); r = [x.grad, w.grad]",
     [6.0, 3.0]),
    # what is recorded: any number of blocks, nothing else
    ("record { h = x**2 }; record { y = h * x }; backward(y); r = x.grad", 27.0),
    ("h = x**2; record { y = h * x }; backward(y); r = x.grad", 9.0),
    ("record { record { h = x**2 }; y = h * x }; backward(y); r = x.grad", 27.0),
    ("record { pause { h = x**2 }; y = h * x }; backward(y); r = x.grad", 9.0),
    ("pause { record { y = x**2 } }; backward(y); r = [x.grad, grad(y, x)]", [6.0, None]),
    ("record { y = x**2 }; r = [grad(y, x), x.grad]", [6.0, 0.0]),
    ("tape t { record { y = x**2 } }; backward(y); r = [t.gradient(y, x), x.grad]", [6.0, 6.0]),
    ("record { tape t { y = x**2 } }; backward(y); r = [t.gradient(y, x), x.grad]", [6.0, 6.0]),
    ("record { const c = 2.0; tape t { watch c; y = c * x } }; backward(y); r = [t.gradient(y, c), x.grad]", [3.0, 2.0]),
    ("tape t { record { c = 2.0; watch c; y = c * x } }; backward(y); r = [t.gradient(y, c), x.grad]", [3.0, 2.0]),
    ("fn f(a) { record { y = a * x }; return y }; y = f(x); backward(y); r = x.grad", 6.0),
    ("fn f(a) { record { return a**2 } }; y = f(x); backward(y); r = x.grad", 6.0),
    ("for i in range(5) { record { y = x**i; if i == 2 { break } } }; backward(y); r = x.grad",
        6.0),
    ('expect error "overflow" { record { z = 9223372036854775807 + 1 } }; y = x**2; r = x.grad',
        0.0),
    ("record { }; record { y = x**2 }; record { }; backward(y); r = x.grad", 6.0),
    # what is attached to
    ("var v = 2.0; attach_grad(v); record { y = v * x }; backward(y); r = [v.grad, grad(y, v), v.name]", [3.0, 3.0, "v"]),
    ("var v = 2.0; record { y = v * x }; backward(y); r = [x.grad, grad(y, v)]", [2.0, 3.0]),
    ("frozen s = 2.0; attach_grad(s); record { y = s * x }; backward(y); r = [s.grad, grad(y, s)]",
        [3.0, 3.0]),
    ("const c = 2.0; attach_grad(c); record { y = c * x }; backward(y); r = [c.grad, grad(y, c)]",
        [3.0, 3.0]),
    ("record { h = x**2; attach_grad(h); y = 5 * h }; backward(y); r = [h.grad, x.grad, grad(y, h)]", [5.0, 0.0, 5.0]),
    ("record { h = x**2; k = h; attach_grad(h); y = h * k }; backward(y); r = [h.grad, x.grad]",
        [9.0, 54.0]),
    ("record { y = x**2 }; attach_grad(y); r = [grad(y * 2, x, unconnected = \"zero\"), y + 1]",
        [0.0, 10.0]),
    ("z = x; record { y = z * x }; backward(y); r = [z.grad, x.grad]", [6.0, 6.0]),
    ("l = [x, 2.0]; record { y = l[0] * l[1] }; backward(y); r = l[0].grad", 2.0),
    ("var v = 2.0; l = [x, v]; attach_grad(l); record { y = v * x }; backward(y); r = [x.grad, v.grad]", [2.0, 3.0]),
    ("var v = 2.0; d = {a: x, b: v}; attach_grad(d); record { y = v * d.a }; backward(y); r = [d.a.grad, d.b.grad]", [2.0, 3.0]),
    ("for v in [x] { attach_grad(v); record { y = v**2 }; backward(y) }; r = x.grad", 6.0),
    ("module M() { var w = 2.0; var s = [1.0, 2.0] }; m = M(); attach_grad(m.trainable_variables); "
     "record { y = x * m.w }; backward(y); r = m.w.grad", 3.0),
    ("f = attach_grad; record { y = x**2 }; backward(y); f(x); r = x.grad", 0.0),
    ("fn f() { a = 2.0; attach_grad(a); record { y = a * x }; backward(y); return a.grad }; r = [f(), x.grad]", [3.0, 2.0]),
    ("fn f() { attach_grad(x); return 0 }; record { y = x**2 }; backward(y); f(); r = x.grad", 0.0),
    ("c = 2.0; fn f() { attach_grad(c); return 0 }; f(); record { y = c * x }; backward(y); r = c.grad", 3.0),
    ("fn f(a) = a.grad; record { y = x**2 }; backward(y); r = f(x)", 6.0),
    # states
    ("record { y = x**2 }; x := 5.0; backward(y); r = [x.grad, x + 0]", [6.0, 5.0]),
    ("x := 5.0; record { y = x**2 }; backward(y); x := 1.0; r = x.grad", 10.0),
    ("for i in range(3) { record { y = x**2 }; backward(y); x :-= 0.5 * x.grad }; r = [x.grad, x + 0]", [0.0, 0.0]),
    ("for i in range(2) { record { y = x**2 }; backward(y); x = x - 0.25 * x.grad; attach_grad(x) }; r = x + 0", 0.75),
    # consumption
    ("record { y = x**2 }; backward(y, retain = true); backward(y); r = x.grad", 6.0),
    ("record { h = x**2; a = 2 * h; b = x**3 }; backward(a); backward(b); r = x.grad", 27.0),
    ("record { y = x**2 }; backward(y); r = [grad(y, x), grad(grad(y, x), x)]", [6.0, 2.0]),
    ("record { y = x**2 }; backward(y); record { z = y * x }; r = grad(z, x)", 27.0),
    ("record { y = x**2 }; backward(y); record { z = detach(y) * x }; backward(z); r = x.grad",
        9.0),
    ("record { h = x**2; y = 2 * h }; backward(y); attach_grad(h); record { z = h * x }; backward(z); r = [x.grad, h.grad]",
     [9.0, 3.0]),
    # heads
    ("record { y = x**2 }; backward(y, head = 10.0); r = x.grad", 60.0),
    ("record { y = x**2 }; y.backward(10); r = x.grad", 60.0),
    ("record { y = x**2; z = x**3 }; backward([y, z]); r = x.grad", 33.0),
    ("record { y = x**2; z = x**3 }; backward({a: y, b: z}, head = {a: 1.0, b: 10.0}); r = x.grad",
        276.0),
    ("record { y = x**2 }; backward([y, y]); r = x.grad", 12.0),
    ("record { y = x**2; z = 2 * y }; backward([y, z]); r = x.grad", 18.0),
    # the way back itself
    ("record { y = x**3; backward(y, create = true); z = x.grad**2 }; backward(z); r = x.grad",
        2 * 27 * 18.0),
    ("record { y = x**3 }; backward(y, create = true); record { z = x.grad**2 }; backward(z); r = x.grad", 2 * 27 * 18.0),
    ("record { y = x**3 }; backward(y, create = true); backward(x.grad); r = x.grad", 18.0),
    ("record { y = x**4 }; backward(y, create = true); backward(x.grad, create = true); backward(x.grad); r = x.grad", 72.0),
    ("record { y = x**3 }; backward(y, create = true); backward(y); r = x.grad", 27.0),
    ("record { y = x**3 }; backward(y, create = true); r = grad(x.grad, x)", 18.0),
    ("record { y = x**3 }; backward(y); r = grad(x.grad, x, unconnected = \"zero\")", 0.0),
    ("pause { record { y = x**3 }; backward(y, create = true) }; backward(x.grad); r = x.grad",
        18.0),
    ('attach_grad(x, "add"); record { y = x**3 }; for i in range(2) { backward(y, create = true) }; r = grad(x.grad, x)', 36.0),
    ("w = 2.0; attach_grad(w); record { y = x**2 * w }; backward(y, create = true, head = w); r = grad(x.grad, w)", 24.0),
    ("record { g = grad(x**3, x) }; backward(g); r = x.grad", 18.0),
]  # fmt: skip


@pytest.mark.parametrize(("program", "expected"), SCALARS)
def test_scalars(program: str, expected: Any) -> None:
    assert value(f"x = 3.0; attach_grad(x); {program}; output r") == expected


@pytest.mark.parametrize(("program", "expected"), SCALARS)
def test_a_run_that_keeps_everything_goes_the_same_way(program: str, expected: Any) -> None:
    settings = Options().settings
    node = gradcli.load(source=f"x = 3.0; attach_grad(x); {program}; output r")._resolved
    run = Execution(compile_program(settings, node, keeps_all=True), {}).execute().run
    assert [e.message for e in run.expectations if not e.passed] == []
    assert run.trace.recorders == 0
    assert len(run.trace.windows) == 1


def test_a_function_of_that_name_is_the_programs_own() -> None:
    assert (
        value("fn attach_grad(a) = a + 1; x = 3.0; attach_grad(x); output 1 + attach_grad(x)")
        == 5.0
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = arange(4.0); attach_grad(x); r = x.grad", [0.0, 0.0, 0.0, 0.0]),
        ("x = [1.0, 2.0]; attach_grad(x); record { y = x * x }; backward(y); r = x.grad",
            [2.0, 4.0]),
        ("x = [[1, 2.5], [3, 4]]; attach_grad(x); record { y = x[1] * 2 }; backward(y); r = x.grad",
            [[0.0, 0.0], [2.0, 2.0]]),
        ("x = [1.0, 2.0]; attach_grad(x); record { y = x * x }; backward(y, head = [10.0, 1]); r = x.grad", [20.0, 4.0]),
        ("var v = [1.0, 2.0]; x = [v[0], 5.0]; attach_grad(x); record { y = sum(x**2) }; backward(y); r = x.grad", [2.0, 10.0]),
        ("x = zeros(3); attach_grad(x); record { x[1] := 4.0; y = sum(x**2) }; backward(y); r = x.grad", [0.0, 8.0, 0.0]),
        ("x = ones(2); attach_grad(x); record { y = x * 2 }; backward(y); g = x.grad; g[0] = 9.0; r = x.grad", [2.0, 2.0]),
        ("a = ones(2); b = ones(2); attach_grad(a); attach_grad(b); record { y = a + b }; backward(y); g = a.grad; g[0] = 9.0; "
         "r = b.grad", [1.0, 1.0]),
        ('x = ones(2); attach_grad(x, "add"); h = [1.0, 2.0]; for i in range(2) { record { y = x * 1.0 }; backward(y, h) }; '
         "r = [x.grad[0], x.grad[1], h[0], h[1]]", [2.0, 4.0, 1.0, 2.0]),
        ("z = [1.0 + 2j]; attach_grad(z); record { y = sum(abs(z)**2) }; backward(y); r = real(z.grad * -1j)", [4.0]),
    ],
)  # fmt: skip
def test_arrays(program: str, expected: Any) -> None:
    found = value(f"{program}; output r")
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        ("x = 3.0", "float64"),
        ("x = float32(3.0)", "float32"),
        ("x = float32([3.0])", "float32"),
        ("x = 3 + 0j", "complex128"),
    ],
)
def test_a_gradient_has_the_dtype_of_its_variable(source: str, dtype: str) -> None:
    program = f"{source}; attach_grad(x); a = x.grad.dtype; record {{ y = real(x * x) }}; backward(y); output a, b = x.grad.dtype"
    found = outputs(program.replace(", b = ", "; output b = "))
    assert found == {"a": dtype, "b": dtype}


def test_under_float32_everything_is() -> None:
    found = outputs(
        "x = 3.0; attach_grad(x); a = x.grad; record { y = x**2 }; backward(y); b = x.grad; output a, b",
        dtype="float32",
    )
    assert [type(v) for v in found.values()] == [np.float32, np.float32]
    assert list(found.values()) == [0.0, 6.0]


# ---- against `grad`, on random programs ----------------------------------------------------------


@RELAXED
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points, st.data())
def test_backward_fills_what_grad_gives(
    program: Program, point: tuple[float, np.ndarray], data: st.DataObject
) -> None:
    """However the program is divided into `record` blocks."""
    x, v = point
    lines = [*program.source.split("\n"), "y = 1.0 * y"]
    heads = [k for k in range(2, len(lines)) if lines[k] and lines[k][0] not in " }"]
    cut = data.draw(st.sampled_from(heads))
    source = "\n".join(
        [
            *lines[:2],
            "attach_grad(x); attach_grad(v)",
            "record {",
            *lines[2:cut],
            "}",
            "record {",
            *lines[cut:],
            "}",
        ]
    )
    found = outputs(f"{source}\noutput g = grad(y, [x, v])", {"x": x, "v": v})["g"]
    if all(g is None for g in found):
        assert failure(f"{source}\nbackward(y)", {"x": x, "v": v}).code == "E325"
        return
    way_back = (
        f'{source}\nbackward(y)\nexpect error "retain" {{ backward(y) }}\noutput x.grad, v.grad'
    )
    for expected, filled in zip(found, outputs(way_back, {"x": x, "v": v}).values(), strict=True):
        np.testing.assert_allclose(
            filled, 0.0 * filled if expected is None else expected, rtol=1e-12, atol=1e-14
        )


# ---- inside functions that are differentiated ----------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("fn f(a) { b = a; attach_grad(b); record { y = b**3 }; backward(y); return b.grad * a }; r = grad(f)(2.0)", 12.0),
        ("fn f(a) { b = a; attach_grad(b); record { y = b**3 }; backward(y); return b.grad * a }; r = jvp(f)(2.0, 1.0)", 12.0),
        ("fn f(a) { record { y = a * x * x }; backward(y); return x.grad * a }; r = grad(f)(3.0)",
            12.0),
        ("fn f(a) { record { y = a * x * x }; backward(y, create = true); return x.grad * a }; r = grad(f)(3.0)", 24.0),
        ("fn f(a) { record { z = x**2 }; backward(z); return x.grad * a }; r = jvp(f)(2.0, 1.0)",
            4.0),
        ("fn f(a) { record { z = x**3 }; backward(z, create = true); return x.grad * a }; g = grad(f)(2.0); "
         "z = x**2; r = [g, grad(x.grad, x), grad(z, x)]", [12.0, 12.0, 4.0]),
        ("fn f(a) { z = x**3; backward(z, create = true); return x.grad * a }; record { g = grad(f)(2.0) }; "
         "z = x**2; w = z**2; r = [g, grad(x.grad, x), grad(w, x)]", [12.0, 12.0, 32.0]),
    ],
)  # fmt: skip
def test_under_transforms(program: str, expected: Any) -> None:
    assert value(f"x = 2.0; attach_grad(x); {program}; output r") == expected


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_automatic_gradients_take_what_was_filled_as_constant_unless_created(mode: str) -> None:
    source = """
var x = 3.0; attach_grad(x)
record { y = x**2 }
backward(y, retain = true)
a = x.grad * x
backward(y, create = true)
b = x.grad * x
output y, a, b
"""
    evaluation = evaluate(source, mode=mode, of=("y", "a", "b"))
    assert evaluation.gradients == {"y": {"x": 6.0}, "a": {"x": 6.0}, "b": {"x": 12.0}}


# ---- why -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "reason", "line", "says"),
    [
        (
            "x = 3.0\nattach_grad(x)\nrecord {\n    y = detach(x) * 2\n    z = y + x\n}\ng = grad(y, x)",
            "detached",
            4,
            "detach",
        ),
        ("x = 3.0\nattach_grad(x)\npause { y = x**2 }\ng = grad(y, x)", "paused", 3, "pause"),
        (
            "x = 3.0\nattach_grad(x)\ny = x**2\nattach_grad(y)\nz = y * 2\ng = grad(z, x)",
            "state",
            4,
            "made it a leaf",
        ),
        (
            "frozen s = 3.0\nattach_grad(s)\nvar x = 1.0\ng = grad(x * 2, s)",
            "never_read",
            1,
            "never read",
        ),
    ],
)
def test_reasons(program: str, reason: str, line: int, says: str) -> None:
    (found,) = [d for d in warnings(program, grad=False) if d.reason]
    assert (found.reason, found.span.line if found.span else 0) == (reason, line)
    assert says in found.message + found.help


def test_what_backward_filled_is_no_target_of_automatic_gradients() -> None:
    evaluation = evaluate(
        "var x = 3.0; attach_grad(x); record { y = x**2 }; backward(y); g = x.grad; output y, g"
    )
    assert evaluation.gradients == {"y": {"x": 6.0}}
    assert evaluation.diagnostics == []


@pytest.mark.parametrize(
    "last",
    [
        "record { y = x**2 }",
        "record { y = x**2 }\nbackward(y)",
        "record { y = x**2 }\ny.backward()",
    ],
)
def test_the_value_of_a_program_that_ends_so(last: str) -> None:
    assert outputs(f"x = 3.0\nx.attach_grad()\n{last}") == {"y": 9.0}
