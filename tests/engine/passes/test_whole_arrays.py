"""Functions that only Python has, on arrays: one call for all elements, and not one for each."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN
from gradcli.engine.formulas.functions import is_called
from gradcli.engine.ir.instructions import Each, Operation, Structural, every
from gradcli.engine.ir.types import F64
from gradcli.engine.kernels.region_calls import RegionCall
from gradcli.ops import OPS

from ..kernels.hot_and_cold import assert_same_in
from ..lowering.region_cases import lowered
from ..lowering.region_ops import SCALAR_OPS, operation

HEAD = "var x = linspace(0.3, 0.9, 40)\nvar a = 1.5\n"
FUNCTIONS = {
    "lgamma": "lgamma(x + a) - lgamma(a) * x",
    "gamma": "gamma(2 * x)",
    "digamma": "digamma(x * a) ** 2",
    "beta": "beta(x, a)",
    "lbeta": "lbeta(x, x * a)",
    "zeta": "zeta(x + 1.5, a)",
    "gammainc": "gammainc(a, x) * gammainc(x, a)",
    "betainc": "betainc(a, 2.0, x)",
    "erfinv": "erfinv(x) + sin(erfinv(x * x))",
    "ndtri": "ndtri(x)",
    "i0": "i0(x) * i1(x * a)",
    "of rows": "sum(lgamma(expand_dims(x, 1) + reshape(x[:4], [1, 4])), axis = 1)",
    "of what another one gives": "lgamma(1 + gamma(x + lgamma(x + 2)))",
    "on some paths": "where(x > 0.5, lgamma(x), x)",
    "at indices": "take(digamma(x), [0, 3, 3, 5, 9, 9, 9, 1]) * x[:8]",
}


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_give_the_same(name: str, tier: int) -> None:
    source = (
        f"{HEAD}fn f(x, a) = sum({FUNCTIONS[name]})\ns = 0.0\n"
        "for i in range(3) { s += f(x + i * 0.01, a) }\n"
        "output f(x, a), grad(f, wrt = [0, 1])(x, a), jvp(f)(x, x, a), s"
    )
    assert_same_in(tier, source)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_point_calls_python(name: str) -> None:
    found = lowered(f"{HEAD}fn f(x, a) = sum({FUNCTIONS[name]})\noutput f(x, a), grad(f)(x, a)")
    assert not found.reasons
    made = [
        inner
        for region in RegionCall(found.region, found.regions).expanded
        for inner in every(region.block)
    ]
    assert any(isinstance(each, Structural) and each.op.compute is None for each in made)
    for each in made:
        if isinstance(each, Each):
            body = each.body.instructions
            assert not any(isinstance(one, Operation) and is_called(one.op) for one in body)


def test_they_are_those_that_machine_code_calls() -> None:
    pytest.importorskip("llvmlite")
    from gradcli.engine.codegen.llvm.kernels import kernel_text

    called = {name for name in SCALAR_OPS if kernel_text(operation(name, F64)).called}
    assert called == {name for name in SCALAR_OPS if is_called(OPS[name])}
