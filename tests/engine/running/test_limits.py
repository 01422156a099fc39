"""Programs that want too much are refused before they take it."""

from __future__ import annotations

import pytest

from ..programs import failure, outputs, value


@pytest.mark.parametrize(
    "program",
    [
        "zeros([1000000, 1000000])",
        "ones(10**14)",
        "full([10**7, 10**7], 1.0)",
        "eye(10**7)",
        "arange(10**14)",
        "linspace(0.0, 1.0, 10**14)",
        "normal([10**7, 10**7])",
        "permutation(10**14)",
        "x = zeros(10**7); outer(x, x)",
        "x = zeros(10**7); x.reshape([-1, 1]) + x",
        "x = zeros(10**7); x.reshape([-1, 1]) < x",
        "x = zeros(10**7); where(x.reshape([-1, 1]) > 0, x, 1.0)",
        "x = zeros(10**7); x.reshape([-1, 1]) @ x.reshape([1, -1])",
        'x = zeros(10**7); einsum("i,j->ij", x, x)',
        "x = zeros(10**7); kron(x, x)",
        "tile(zeros(1000), 10**12)",
        "repeat(zeros(1000), 10**12)",
        "broadcast_to(zeros(10), [10**13, 10])",
        "one_hot(arange(10), 10**13)",
        "diag(zeros(10**7))",
        "pad(zeros(10), 10**13)",
        "var x = zeros(10**7); jacobian(x**2, x)",
        "var x = zeros(10**7); hessian(sum(x**2), x)",
        "var x = zeros(10**7); y = x[0] * x.reshape([-1, 1]) * x",
    ],
)
def test_an_allocation_that_cannot_fit_is_refused(program: str) -> None:
    error = failure(program, max_memory=2**32)
    assert error.code == "E405"
    assert error.span is not None
    assert error.exit_code == 4


def test_max_memory_is_about_single_allocations() -> None:
    assert value("y = sum(ones(10**6))", max_memory=2**24) == 10**6
    assert failure("y = sum(ones(10**7))", max_memory=2**24).code == "E405"


@pytest.mark.parametrize(
    "program", ["while true { }", "while true { x = 1 }", "i = 0; while i < 1000 { i += 1 }"]
)
def test_max_steps(program: str) -> None:
    error = failure(program, max_steps=100)
    assert error.code == "E403"
    assert "100" in error.message


def test_max_steps_counts_statements_executed() -> None:
    program = "fn f(x) { y = x; return y }\na = f(1)\nb = f(2)\noutput a"
    steps = next(n for n in range(20) if _runs(program, n))
    assert 4 <= steps <= 10
    assert outputs("for i in range(10) { x = i }; output x", max_steps=12) == {"x": 9}


def _runs(program: str, max_steps: int) -> bool:
    try:
        outputs(program, max_steps=max_steps)
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    "program",
    [
        "fn f(n) { return f(n + 1) }\ny = f(0)",
        "fn f(n) = f(n + 1) + 1\ny = f(0)",
        "fn f(n) = g(n)\nfn g(n) = f(n)\ny = f(0)",
        "var x = 1.0\nfn f(v) = v * f(v * 0.5)\ny = f(x)",
        "fn f(n) { for i in range(2) { if true { return [f(n)] } } }\ny = f(0)",
    ],
)
def test_recursion_without_end_is_an_error(program: str) -> None:
    error = failure(program)
    assert error.code == "E406"
    assert error.exit_code == 4


def test_deep_recursion_works() -> None:
    found = outputs(
        "var x = 1.001\nfn f(n) = 1.0 if n == 0 else x * f(n - 1)\ny = f(1500)\ng = grad(y, x)\noutput y, g"
    )
    assert found["y"] == pytest.approx(1.001**1500)
    assert found["g"] == pytest.approx(1500 * 1.001**1499)


def test_depth_starts_again_after_an_expected_error() -> None:
    source = 'fn f(n) = f(n + 1)\nfn g(n) = 0 if n == 0 else 1 + g(n - 1)\nexpect error "deep" { f(0) }\ny = g(1900)'
    assert value(source) == 1900


def test_a_limit_from_outside_is_told_with_the_statement_that_it_struck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gradcli.engine.calls import builtins

    def strike(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setitem(builtins.IMPLEMENTATIONS, "append", strike)
    found = failure("l = []\nfor i in range(3) {\n    l = append(l, i)\n}", tracks=True)
    assert (found.code, found.span.line if found.span else 0) == ("E405", 3)


@pytest.mark.parametrize(
    ("text", "derivative"),
    [
        ("y = " + " + ".join(["x"] * 100_000), 100_000.0),
        ("fn f(a) = " + " + ".join(["a"] * 3000) + "\ny = f(x)", 3000.0),
        ("y = sum([" + "x, " * 20_000 + "])", 20_000.0),
        ("y = x\n" + "y = y * x\n" * 3000, 3001.0),
    ],
    ids=["sum", "function", "list", "lines"],
)
def test_long_programs_run(text: str, derivative: float) -> None:
    found = outputs(f"var x = 1.0\n{text}\ng = grad(y, x)\noutput g")
    assert found["g"] == pytest.approx(derivative)
