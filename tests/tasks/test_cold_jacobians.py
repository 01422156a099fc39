"""Jacobians and Hessians of a single run whose sweeps would take long: kernels answer as the
interpreter does."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli
from gradcli.engine.backends.tiers import HEAT, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.jacobian import jacobians
from gradcli.engine.jacobian.seeds import Sweeps
from gradcli.tasks import evaluate
from gradcli.tasks.answer import Matrices
from gradcli.tasks.matrices import by_kernels

from .jacobian_programs import CASES, REQUESTS, answer, assert_same

AT_ONCE = HEAT._replace(sweeps=0, sweeps_each=0)
# What kernels never compute: it isn't compiled, or isn't finite, or is an error.
NEVER = {"what is detached"}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Matrices | None]:
    """What kernels computed, run by run."""
    found: list[Matrices | None] = []

    def noted(*given: Any) -> Matrices | None:
        found.append(by_kernels(*given))
        return found[-1]

    monkeypatch.setattr(evaluate, "by_kernels", noted)
    return found


@pytest.mark.parametrize("request_", ["jacobian", "sparse", "blocks", "all", "forward hessian"])
@pytest.mark.parametrize("name", CASES)
def test_kernels_answer_as_the_interpreter(
    name: str, request_: str, computed: list[Matrices | None]
) -> None:
    source, points, exact, _ = CASES[name]
    program = gradcli.load(source=source).with_options(**REQUESTS[request_])
    with only(INTERPRETED):
        expected = [answer(program, point) for point in points]
    assert computed.count(None) == len(computed)
    del computed[:]
    with only(WRITTEN, AT_ONCE):
        found = [answer(program, point) for point in points]
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b, exact)
    assert any(computed) == (name not in NEVER)


def test_what_is_no_part_of_the_request_needs_no_region(computed: list[Matrices | None]) -> None:
    source = (
        'var x: float[3]\nprint "x", x\nexpect x[0] > 0.0\ns = "a text"\ny = x*x\noutput y*x[1]'
    )
    program = gradcli.load(source=source).with_options(jacobian=True)
    point = {"x": [1.0, 2.0, 3.0]}
    with only(INTERPRETED):
        expected = answer(program, point)
    with only(WRITTEN, AT_ONCE):
        assert_same(answer(program, point), expected, exact=True)
    assert computed[-1] is not None


def test_long_sweeps_are_replaced(
    computed: list[Matrices | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "var p: float[12]\nu = 1.0\nr = zeros(60)\n"
        "for k in range({n}) {{ u = u + 0.01*(p[k % 12]*u - p[0]*u*u + p[1]); r[k % 60] = u }}\noutput r"
    )
    swept: list[int] = []
    original = Sweeps.all
    monkeypatch.setattr(
        Sweeps, "all", lambda self, *given: swept.append(given[2]) or original(self, *given)
    )
    point = {"p": [0.1 * k for k in range(12)]}
    with only(NATIVE):
        for n, long in ((100, False), (6000, True)):
            gradcli.load(source=source.format(n=n)).with_options(jacobian=True).run(point)
            assert (computed[-1] is not None) == long
    assert swept == [12]


def test_sweeps_stay_where_making_kernels_takes_longer(computed: list[Matrices | None]) -> None:
    """Long sweeps of a long program: for each instruction there is little to sweep over."""
    lines = [f"u = u + 0.01*(p[{k % 12}]*u - p[0]*u*u + sin(p[1]*u))" for k in range(60)]
    body = "\n".join(lines)
    source = f"var p: float[12]\nu = 1.0\nfor k in range(20) {{\n{body}\n}}\noutput u"
    with only(WRITTEN):
        gradcli.load(source=source).with_options(hessian=True).run(
            {"p": [0.1 * k for k in range(12)]}
        )
    assert computed == [None]


def test_plans_of_hessians_keep_what_these_begin_with(
    computed: list[Matrices | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no kernel answers, the interpreter doesn't record the gradients again."""
    begun: list[Any] = []
    original = jacobians.first_derivatives

    def noted(*given: Any) -> Any:
        begun.append(given[1])
        return original(*given)

    monkeypatch.setattr(jacobians, "first_derivatives", noted)
    source = (
        "var x: float[3]\ny = x[0]\nfor k in range(900) { y = y*0.9 + sin(x[1]*k)*x[2] }\noutput y"
    )
    with only(WRITTEN, HEAT._replace(sweeps=10**9, iterations=10**9)):
        monkeypatch.setattr("gradcli.tasks.matrices.LONG", 0)
        gradcli.load(source=source).with_options(hessian=True).run({"x": [1.0, 2.0, 3.0]})
    assert computed == [None]
    assert len(begun) == 1
