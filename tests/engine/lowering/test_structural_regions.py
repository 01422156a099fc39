"""Structural entries of the table in regions: the interpreter's code, with derivatives of every
order by the table's rules. What isn't compiled has a reason here."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.api import load
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.ops import OPS, registry
from gradcli.ops.einsum import Step, steps_of
from gradcli.ops.op import Op

from ..kernels.hot_and_cold import assert_same, run_again
from .region_cases import lowered

# What `f` makes of x, a matrix of 3 by 3, by entries: one or more numbers and arrays.
ENTRIES = {
    "where": "where(x > 0.5, x, x * x)",
    "softmax": "softmax(x)",
    "log_softmax": "log_softmax(x, axis = 0)",
    "logsumexp": "logsumexp(x)",
    "cross_entropy": "cross_entropy(x, [0, 2, 1]) * cross_entropy(x, softmax(x * 2))",
    "one_hot": "x * one_hot([1, 0, 2], 3)",
    "sum": "sum(x, axis = [0, 1])",
    "mean": "mean(x, axis = 1)",
    "var": "var(x, axis = 0)",
    "std": "std(x)",
    "min": "min(x, axis = [0, 1])",
    "max": "max(x, axis = 1)",
    "median": "median(x) * median(x, axis = 1)",
    "argmin": "x * argmin(x)",
    "argmax": "x * argmax(tile(x, [3, 3]), axis = 0)[:3]",
    "any": "x * any(x)",
    "all": "where(all(x, axis = 0), x, 2 * x)",
    "count_nonzero": "x * count_nonzero(x)",
    "norm": "norm(x, ord = 1) * norm(x[0], ord = 3)",
    "prod": "prod(x) + prod(x, axis = 1)",
    "cumsum": "cumsum(x, axis = 1)",
    "cumprod": "cumprod(x) * cumprod(x[0], axis = 0)[1]",
    "reshape": "reshape(x, [9])",
    "ravel": "ravel(x)",
    "transpose": "transpose(x) @ x",
    "swapaxes": "swapaxes(x, 0, 1)",
    "moveaxis": "moveaxis(x, 0, 1)",
    "expand_dims": "expand_dims(x, 0)",
    "squeeze": "squeeze(x[:1])",
    "flip": "flip(x)",
    "roll": "roll(x, 4)",
    "broadcast_to": "broadcast_to(x, [5, 3, 3])",
    "diag": "diag(ravel(x))",
    "tril": "tril(x)",
    "triu": "triu(tile(x, [4, 4]))",
    "concatenate": "concatenate([x, x @ x], axis = 1)",
    "stack": "stack([x, x * x], axis = 1)",
    "split": "split(x, 3)[1]",
    "tile": "tile(x, [2, 1])",
    "repeat": "repeat(x, [1, 0, 2], axis = 0)",
    "pad": 'pad(x, 1, mode = "edge")',
    "sort": "sort(x) * sort(tile(x, [1, 7]), axis = 0)[0, 2]",
    "argsort": "argsort(x, axis = 0) * x",
    "take": "take(x, [2, 0, 0])",
    "gather": "gather(x, [[0], [1], [2]])",
    "scatter_add": "scatter_add(x, [0, 0, 2], x * x)",
    "matmul": "x @ x",
    "dot": "dot(x, x[0])",
    "inner": "inner(x, x[1])",
    "outer": "outer(x[0], x[1])",
    "cross": "cross(x, x[0])",
    "kron": "kron(x, x)",
    "trace": "trace(x) * trace(x, offset = 1)",
    "einsum": 'einsum("ij,kj->ik", x, x)',
    "inv": "inv(x)",
    "solve": "solve(x, [1.0, 2.0, x[0, 0]]) @ solve(x.T, x @ x)",
    "solve_triangular": "solve_triangular(x, x[0], lower = true)",
    "lstsq": "lstsq(x, x[1])",
    "det": "det(x)",
    "logdet": "logdet(x)",
    "cholesky": "cholesky(x @ x.T + eye(3))",
    "qr": "qr(x)[0], qr(x)[1]",
    "eigh": "eigh(x + x.T)[0], eigh(x + x.T)[1] ** 2",
    "svd": "svd(x)[1], svd(x[:2])[0] ** 2",
    "expm": "expm(x * 0.3)",
    "conv": "conv(reshape(x, [1, 1, 3, 3]), reshape(x[:2, :2], [1, 1, 2, 2]), padding = 1)",
    "convolve": "convolve(x[0], x[1])",
    "correlate": "correlate(ravel(x), x[0])",
    "interp": "interp(x, [0.0, 0.5, 1.0, 3.0], [1.0, x[0, 0], 3.0, x[1, 1]])",
    "zeros": "zeros([3]) + x",
    "ones": "ones([3]) + x",
    "full": "full([3], x[0, 0])",
    "eye": "eye(3, k = 1) * x",
    "arange": "arange(3) * x",
    "linspace": "linspace(x[0, 0], 2.0, 5)",
    "zeros_like": "zeros_like(x) + x",
    "ones_like": "ones_like(x) + x",
    "float64": "float64([1, 2, 3]) * x",
    "int64": "int64(x * 3) * x",
}  # fmt: skip
MORE = [
    "solve(tile(x, [2, 2]) + eye(6), ravel(tile(x[:2], 2))[:6])", "inv(tile(x, [2, 2]) + eye(6))", "det(x[:1, :1])",
    "pad(x, [1, 2], value = x[0, 0])", 'pad(x, 1, mode = "wrap")', "qr(tile(x, [2, 1]))[0], qr(x[:2])[1]",
    "cholesky(tile(x, [1, 3])[:, :5] @ tile(x, [1, 3])[:, :5].T + eye(3))", "lstsq(tile(x, [2, 1]), ravel(x[:2]))",
    "sort(ravel(x)) * argsort(ravel(x))", "convolve(ravel(x), x[0], mode = \"same\")", "median(tile(x, [3, 3]), axis = 0)",
    "jacobian(fn(v) = solve(x, v * v))(x[0])", "expm(tile(x * 0.1, [2, 2]))", 'einsum("ij->j", x * x)', "norm(x, ord = inf, axis = 1) + norm(x[0], ord = inf)",
    "logdet(x) * 1.0 if x[0, 0] > 0 else det(x)",
    'einsum("ij->ji", x) * einsum("ii->i", x)', 'einsum("ij,ij->", x, x * x)', 'einsum("i,j,k->ijk", x[0], x[1], x[2])',
    'einsum("ij,jk,kl->il", x, x, x)', 'einsum("...j,jk->...k", tile(x, [6, 2, 1]), x)', 'einsum("ij,...->...ij", x, x[0])',
    'einsum("kij,kj->ki", tile(x, [5, 1, 1]), tile(x, [2, 1])[:5])',
    'einsum("kij,kj->ki", tile(x, [4, 20, 11])[:, :50], tile(x, [4, 11])[:4] * x[0, 0])[1:2]',
    'einsum("i,j,k->", ravel(tile(x, [2, 2])), ravel(tile(x, [2, 2])), ravel(tile(x, [2, 2]))) * 1e-3',
    'einsum("ij,ij,k->k", tile(x, [5, 5]), tile(x, [5, 5]), ravel(x)) * 1e-3', 'einsum("ii,jj,k->", tile(x, [4, 4]), tile(x, [4, 4]), ravel(x)) * 1e-3',
    'einsum("bn,knm,bm->bk", tile(x, [4, 4]), tile(x, [5, 4, 4]), tile(x, [4, 4])) * 1e-3',
    "any(tile(x, [9, 9]) > 0.5, axis = 1) * x[0, 0]", "all(reshape(tile(x, [9, 9]), [243, 3]) > 0.1, axis = 1, keepdims = true) * x[0, 0]",
    "matmul(tile(x, [4, 1, 1]), x)", "matmul(x, tile(x, [2, 1, 1]))", "tile(x, [2, 2, 1, 1]) @ x[0]",
    "tile(x, [2, 1, 1]) @ tile(x, [2, 1, 5])", "dot(tile(x, [2, 1, 1]), tile(x, [2, 1, 1]))",
]  # fmt: skip
REFUSED = {
    "conj": "a real number is its own conjugate",
    "cast": "there are no numbers of this type",
    "float32": "there are no numbers of this type",
    "complex128": "complex numbers",
    "fft": "complex numbers",
    "ifft": "complex numbers",
    "rfft": "complex numbers",
    "irfft": "complex numbers, in its derivative",
}


def program(expression: str) -> str:
    """A program that asks for values, gradients and second derivatives of both modes."""
    return (
        f"fn f(x) {{ s = 0.0; for y in [{expression}] {{ s = s + sum(y * y * 0.5) + sum(sin(y)) }}; return s }}\n"
        "var m = [[0.7, 0.2, -0.3], [0.4, 1.9, 0.6], [0.1, -0.8, 1.3]]\n"
        "v = m * 1.0\noutput f(v), sum(sin(grad(f)(v))), jvp(f)(v, v * v)\n"
    )


def test_each_entry_is_compiled_or_has_a_reason() -> None:
    structural = {op.name for op in OPS.values() if op.compute and not op.internal}
    drawn = {op.name for op in OPS.values() if op.category == "random"}
    assert ENTRIES.keys() | REFUSED.keys() | drawn == structural
    assert ENTRIES.keys().isdisjoint(REFUSED)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("expression", [*ENTRIES.values(), *MORE])
def test_derivatives(expression: str, tier: int, answered: list[bool]) -> None:
    with only(INTERPRETED):
        expected = run_again(program(expression))
    with only(tier, FIRST_USE):
        assert_same(run_again(program(expression)), expected)
    assert answered[-1:] == [True]


@pytest.mark.parametrize("expression", [*ENTRIES.values(), *MORE])
def test_texts_can_be_read_again(expression: str) -> None:
    assert lowered(program(expression)).reasons == []


# Programs and what the interpreter says of them: outputs, gradients with `none`, and messages.
PROGRAMS = {
    "a singular matrix in a loop": "var a = 1.0\ns = 0.0\n"
    "for i in range(5) { s += sum(solve([[a, 1.0], [1.0, i - 1.0]], [1.0, a])) }\noutput s",
    "a singular matrix that nothing needs": "var a = 1.0\nq = inv([[a, a], [a, a]])\noutput a * 2",
    "a matrix that isn't positive definite": "var a = 1.0\noutput cholesky([[a, 2.0], [2.0, a]])[0, 0]",
    "a path": "var a = 2.0\nvar b = 3.0\n"
    "if a > 1 { q = solve([[a, 1.0], [1.0, 3.0]], [1.0, 2.0]) } else { q = array([b, b]) }\noutput sum(q)",
    "a path that no iteration takes": "var a = 2.0\nvar b = 3.0\nq = [1.0, 2.0] * 1\n"
    "for i in range(3) { if i > 5 { q = solve([[b, 1.0], [1.0, 3.0]], q) } else { q = sort(q * a) } }\noutput sum(q)",
    "ties": "var x = [1.0, 1.0, 2.0]\noutput sum(sort(x) * [1.0, 2.0, 3.0]), median(x), prod(x * 0), sum(cumprod(x - 1))",
    "zeros in products": "var x = [0.0, 2.0, 0.0]\noutput prod(x), prod(x[:2]), sum(grad(fn(v) = prod(v))(x) * x)",
    "ints": "var x = 2.0\nk = [3, 4, 5]\noutput prod(k), prod(k) * x, cumprod(k)[2] * x, sum(argsort(k)) * x",
    "an int that outgrows 64 bits": "var x = 2.0\noutput prod([2**62, 4, 1]) * x",
    "a label that is no class": "var x = [[0.1, 0.2]]\noutput cross_entropy(x, [2])[0]",
    "Newton's method": "var p = 1.2\nfn f(v) = array([v[0]**2 + v[1]**2 - p, v[0] * v[1] - 0.25])\nv = array([1.0, 0.3])\n"
    "for i in range(6) { v = v - solve(jacobian(f)(v), f(v)) }\noutput sum(v), v",
    "Hessians": "var p = [1.2, 0.4, 0.3, 2.0]\nfn f(v) = logdet(reshape(v, [2, 2])) + det(reshape(v * v, [2, 2]))\n"
    "output sum(hessian(f)(p)**2)",
    "a function that calls itself": "var p = 0.5\nfn f(a, k) { if k == 0 { return a }; return f(solve(a + eye(2), a), k - 1) }\n"
    "output sum(f([[p, 0.1], [0.2, p]], 3))",
    "matrices of many elements": "var s = 0.3\nm = sin(reshape(arange(36), [6, 6]) * s) + eye(6) * 3\nL = cholesky(m @ m.T)\n"
    "output sum(solve_triangular(L, m[0], lower = true)), sum(log(diag(L))), logdet(m), sum(sort(ravel(m)) * sin(arange(36)))",
    "a loss of classes": "var w = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.0]]\nx = [[1.0, 2.0], [0.5, -1.0], [2.0, 1.0]]\n"
    "fn loss(w) = mean(cross_entropy(x @ w, [0, 2, 1]))\nv = w - grad(loss)(w)\noutput loss(v), loss(w)",
    "training": "var w = [[0.1, 0.2], [0.3, 0.9]]\nvar s = 1.0\n"
    "for i in range(5) { l = sum(inv(w)**2) * s; w := w - 0.01 * grad(l, w) }\noutput sum(w), l",
}  # fmt: skip


def answers(source: str, mode: str) -> Any:
    try:
        program = load(source=source).with_options(mode=mode)
        found = [program.run() for _ in range(3)]
    except GradcliError as error:
        return [(each.code, each.message, each.span) for each in error.diagnostics]
    return tuple([(each.outputs, each.gradients) for each in found])


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str, mode: str) -> None:
    with only(INTERPRETED):
        expected = answers(source, mode)
    for tier in (WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            found = answers(source, mode)
        if isinstance(expected, list):
            assert str(found) == str(expected)
        else:
            assert_same(found, expected)


def test_functions_of_other_packages_are_the_interpreters() -> None:
    calls: list[Any] = []

    def twice(xp: Any, x: Any) -> Any:
        calls.append(x)
        return x * 2

    registry.add(Op("twice_of", "x", "Twice x.", compute=twice, linear=True))
    try:
        [reason] = lowered("var x = [1.0, 2.0]\noutput twice_of(x)").reasons
    finally:
        registry.remove("twice_of")
    assert "another package" in reason.reason
    assert not calls


def test_einsum_takes_all_at_once_where_two_need_too_much_room() -> None:
    terms = ["pqr", "pst", "qsu", "rtu"]  # the product of any two has four labels
    assert steps_of(terms, "", dict.fromkeys("pqrstu", 70)) is None
    first, second, third = steps_of(terms, "", dict.fromkeys("pqrstu", 30)) or []
    assert first == Step((1, 0), "qrst")
    assert third == Step((1, 0), "")
    assert set(second.labels) in ({"r", "t", "u"}, {"q", "s", "u"})
