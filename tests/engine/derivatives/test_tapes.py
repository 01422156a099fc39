"""Tapes: what is on them, what they watch, how often they answer, and why they have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..programs import evaluate, executed, failure, outputs, warnings


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("var x = 3.0; tape t { y = x**2 }; r = t.gradient(y, x)", 6.0),
        ("var x = 3.0; y = x**2; tape t { z = y * 2 }; r = t.gradient(z, x)", None),
        ("var x = 3.0; tape t { y = x**2 }; z = y * 2; r = t.gradient(z, x)", None),
        ("var x = 3.0; tape t { y = x**2; z = y * 2 }; r = t.gradient(z, [x, y])", [12.0, 2.0]),
        ("const c = 3.0; tape t { watch c; y = c**2 }; r = t.gradient(y, c)", 6.0),
        ("c = 3.0; tape t { t.watch(c); y = c**2 }; r = t.gradient(y, c)", 6.0),
        ("const c = 3.0; tape t { y = c**2 }; r = t.gradient(y, c)", None),
        ("frozen s = 3.0; tape t { watch s; y = s**2 }; r = t.gradient(y, s)", 6.0),
        ("var x = 3.0; y = x * 2; tape t { watch y; z = y**2 }; r = t.gradient(z, [y, x])",
            [12.0, None]),
        ("var x = 3.0; tape t (watch_variables = false) { y = x**2 }; r = t.gradient(y, x)", None),
        (
            "var x = 3.0; var w = 2.0; tape t (watch_variables = false) { watch w; y = x * w }; r = t.gradient(y, [x, w])",
            [None, 3.0],
        ),
        ("c = 3.0; tape t { watch c; y = c**2 }; z = c * y; r = grad(z, c)", None),
        ("watch_me = 3.0; watch watch_me; y = watch_me**2; r = grad(y, watch_me)", 6.0),
        ("c = [1.0, 2.0]; tape t { watch c; y = sum(c**2) }; r = t.gradient(y, c)", [2.0, 4.0]),
        ("var x = 2.0; tape a { tape b { y = x**3 }; d = b.gradient(y, x) }; r = [d, a.gradient(d, x), grad(d, x)]", [12.0] * 3),
        ("var x = 2.0; tape t { y = x**3; d = t.gradient(y, x); z = d * x }; r = grad(z, x)", 36.0),
        ("var x = 2.0; tape t { y = x * x; pause { z = y * x }; w = y + z }; r = [t.gradient(w, x), grad(w, x)]", [4.0, 4.0]),
        ("var x = 2.0; pause { tape t { y = x**2 } }; r = [t.gradient(y, x), grad(y, x)]",
            [4.0, None]),
        ("var x = 2.0; tape t (persistent = true) { y = x**2 }; r = [t.gradient(y, x), t.gradient(y, x)]", [4.0, 4.0]),
        ("var x = 2.0; tape t { y = x * [1.0, 2.0] }; r = t.jacobian(y, x)", [1.0, 2.0]),
        ("var x = [1.0, 2.0]; tape t { y = x**2 }; r = t.jacobian(y, x)", [[2.0, 0.0], [0.0, 4.0]]),
        ("var x = [[1.0, 2.0], [3.0, 4.0]]; tape t { y = x**2 }; r = t.batch_jacobian(y, x)",
         [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]),
        ("var x = [1.0, 3.0]; var v = [2.0, 5.0]; r = batch_jacobian(x**2 * v, [x, v])", [[4, 30], [1, 9]]),
        ("var x = 2.0; tape t { y = x**2 }; r = t.gradient(y, x, seed = 3.0)", 12.0),
        ("var x = 2.0; var z = [1.0, 2.0]; tape t { y = x**2 }; r = t.gradient(y, z, unconnected = \"zero\")", [0.0, 0.0]),
        ("var x = 2.0; tape t { y = x**2; t.reset(); z = x**3 }; r = t.gradient(z + 0*y, x)", None),
        ("var x = 2.0; tape t (persistent = true) { y = x**2; t.reset(); z = x**3 }; r = t.gradient([y, z], x)", 12.0),
        ("var x = 2.0; fn f(a) { tape t { y = a**2 }; return t.gradient(y, a) }; r = f(x)", 4.0),
        ("var x = 2.0; fn f() { tape t { y = x**2; fn g() = t.gradient(y, x) }; return g() }; r = f()", 4.0),
        ("var x = 1.0; tape t { y = x; for i in range(3000) { y = y * 1.0 }; z = y * 2; w = z**2 }; r = t.gradient(w, z)", 4.0),
        # a watch counts from where it stands
        ("var x = 3.0; tape t (watch_variables = false) { y = x**2; watch x; z = x**3 }; r = t.gradient([y, z], x)", 27.0),
        ("const c = 3.0; tape a { watch c; tape b { y = c*c; watch c } }; r = [a.gradient(y, c), b.gradient(y, c)]", [6.0, None]),
        (
            "var x = 2.0; tape t (watch_variables = false) { y = x**2; watch y, x; z = y * x }; r = t.gradient(z, [x, y])",
            [4.0, 2.0],
        ),
        # a tape answers for what it watched, watched or not by now; the same target twice counts
        # twice
        ("const c = 3.0; tape t { watch c; y = c**2 }; r = t.gradient([y, c], c)", 7.0),
        ("var x = [1.0, 2.0]; tape t { y = x**2 }; r = t.gradient([y, x, y], x)", [5.0, 9.0]),
        # what differentiates its own derivatives sees them in a pause, too
        ("var x = 2.0; y = x**3; pause { r = [hessian(y, x), hvp(y, x, 1.0), jvp(y, x, 1.0), grad(y, x)] }", [12.0] * 4),
        ("var x = 2.0; pause { tape t { y = x**3; h = hessian(y, x) } }; r = [t.gradient(y, x), grad(y, x)]", [12.0, None]),
        ("var x = 2.0; y = x**4; pause { tape t { h = hessian(y, x) } }; r = [t.gradient(h, x), grad(h, x)]", [48.0, None]),
        ("var x = 2.0; for i in range(3) { tape t { y = x**i; if i == 1 { break } } }; r = t.gradient(y, x)", 1.0),
    ],
)  # fmt: skip
def test_gradients(program: str, expected: Any) -> None:
    (found,) = (outputs(f"{program}; output r")["r"],)
    if isinstance(expected, list) and None in expected:
        assert found == expected
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("var a = 1.0; var b = 2.0; var c = 3.0; tape t { y = b * a }", ["b", "a"]),
        (
            "var a = 1.0; var b = 2.0; tape t (watch_variables = false) { watch b; y = b * a }",
            ["b"],
        ),
        ("a = 1.0; attach_grad(a); tape t { y = a * a }", ["a"]),
        ("var a = 1.0; const c = 2.0; p = 3.0; tape t { watch c, p; y = p * c * a }", ["a"]),
        ("var a = 1.0; tape t { pause { y = a * a } }", []),
        ("var a = 1.0; tape t { y = a * a; t.reset() }", []),
    ],
)
def test_watched_variables(program: str, names: list[str]) -> None:
    source = (
        f"{program}; l = []; for v in t.watched_variables() {{ l = append(l, v.name) }}; output l"
    )
    assert outputs(source)["l"] == names


@pytest.mark.parametrize(
    ("program", "code", "part"),
    [
        (
            "var x = 1.0; tape t { y = x }; a = t.gradient(y, x); b = t.gradient(y, x)",
            "E321",
            "persistent = true",
        ),
        ("var x = 1.0; tape t { y = x }; a = t.gradiant(y, x)", "E309", "gradient"),
        ("var x = 1.0; tape t { y = x }; a = t.gradient(y)", "E308", "sources"),
        ("tape t { watch 3.0 }", "E312", "name"),
        ("d = {a: 1.0}; d.watch(3.0)", "E309", "watch"),
        ("var x = [1.0]; tape t { y = x }; a = t.batch_jacobian(sum(y), x)", "E314", "batch"),
        ("var x = 1.0; tape t (persistent = [true, false]) { y = x }", "E310", "one bool"),
    ],
)
def test_errors(program: str, code: str, part: str) -> None:
    found = failure(program)
    assert found.code == code
    assert part in found.message + found.label + found.help


@pytest.mark.parametrize(
    ("program", "reason", "line"),
    [
        ("var x = 3.0\ny = x**2\ntape t { z = y * 2 }\nr = t.gradient(z, x)", "not_recorded", 2),
        ("var x = 3.0\ntape t { y = x**2 }\nz = y * 2\nr = t.gradient(z, x)", "not_recorded", 3),
        (
            "const c = 3.0\nvar x = 1.0\ntape t (watch_variables = false) { watch c ; y = c * x }\nr = t.gradient(y, x)",
            "not_watched",
            4,
        ),
        (
            "const c = 3.0\ntape a { watch c\ntape b { y = c*c ; watch c } }\nr = b.gradient(y, c)",
            "not_watched",
            3,
        ),
        ("frozen s = 3.0\ntape t { watch s ; y = 2.0 }\nr = t.gradient(y, s)", "never_read", 1),
        (
            "var x = 3.0\ntape t {\n    pause { y = x**2 }\n    z = y * 1.0\n}\nr = t.gradient(z, x)",
            "paused",
            3,
        ),
        ("const x = 3\ntape t { watch x ; y = x * x }\nr = t.gradient(y, x)", "integer", 1),
        ("const c = 3.0\ntape t { y = c * 2 }\nr = t.gradient(y, c)", "constant", 1),
    ],
)
def test_reasons(program: str, reason: str, line: int) -> None:
    (found,) = [d for d in warnings(program, grad=False) if d.reason]
    assert (found.reason, found.span.line if found.span else 0) == (reason, line)


def test_a_tape_each_step_holds_nothing() -> None:
    source = "var x = 1.0; for i in range(3000) {{ tape t {{ y = sin(x) * x }}; g = t.gradient(y, x); x :-= 0.001 * g }}{}"
    run, _ = executed(source.format(""))
    segment = run.trace.segment
    assert segment is not None
    assert len(segment.earlier) == 0
    assert len(run.trace.windows) == 1


def test_windows_close_when_a_block_fails() -> None:
    source = 'var x = 1.0; expect error "overflow" { tape t { pause { y = 9223372036854775807 + 1 } } }; z = x**2; output z'
    assert evaluate(source).gradients["z"]["x"] == 2.0
