"""An int that meets a float is that float, and ints among themselves stay ints of 64 bits, whatever
way a program is run.

Each operation of the table that keeps ints, or compares, on numbers where it would show: beyond
2**53, at zeros of both signs, at the ends of 64 bits.
"""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ..programs import failure, outputs

BIG = 2**53 + 1  # the first int that no float is
ONE = [
    (v,)
    for v in (
        0,
        1,
        -1,
        3,
        BIG,
        2**62,
        -(2**63),
        2**63 - 1,
        True,
        0.0,
        -0.0,
        2.5,
        -3.0,
        math.inf,
        math.nan,
    )
]
TWO = [
    (0, 1.0), (0, -1.0), (3, 2.0), (3037000500, 2.0), (2, -1.0), (2, -1), (BIG, 2.0**53),
    (2.0**53, BIG), (BIG, 1), (BIG, 1.0),
    (BIG, 3), (BIG, BIG - 1), (2**62, 2.0), (True, 2.0), (2.0, True), (True, 3), (3, 0.0), (-7, 2),
    (-7, 2.0), (7, -2.0),
    (2**63 - 1, 1.0), (-(2**63), 1.0), (10, 19), (10, 20.0), (0, 0.0), (1, math.inf), (2, math.nan),
    (-1, 0.5), (5, 2.5),
]  # fmt: skip
WRAPPED = [
    "{}",
    "-({})",
    "({}) * 1.0",
    "1 * ({}) / 1",
    "({}) * 0 * 1.0",
    "({}) == 9007199254740992",
    "({}) * 1.0 < 9007199254740993",
]
OPERATIONS = [
    op
    for op in OPS.values()
    if op.elementwise and not op.internal and op.integers != "float" and op.name != "clip"
]
OPERATIONS += [
    OPS["div"],
    OPS["sigmoid"],
    OPS["expit"],
    OPS["sqrt"],
    OPS["atan2"],
    OPS["logaddexp"],
]


def _text(op: Op) -> str:
    a, b = "a", "b"
    if not op.infix:
        return f"{op.name}({', '.join([a, b][: len(op.signature.operands)])})"
    sign = op.infix.removeprefix("unary ")
    return f"({a} {sign} {b})" if len(op.signature.operands) == 2 else f"({sign} {a})"


def _literal(value: Any) -> str:
    if type(value) is bool:
        return str(value).lower()
    if value == -(2**63) and type(value) is int:
        return "(-9223372036854775807 - 1)"
    return f"({value!r})"


def _call(names: list[str], expression: str) -> str:
    return f"fn f({', '.join(names)}) {{ return {expression} }}\n"


def _single(names: list[str], given: list[str], expression: str) -> str:
    return f"{_call(names, expression)}y = f({', '.join(given)})"


def _hot_call(names: list[str], given: list[str], expression: str) -> str:
    return f"{_call(names, expression)}{_bound(names, given)}for i in range(50) {{ y = f({', '.join(names)}) }}\noutput y"


def _hot_expression(names: list[str], given: list[str], expression: str) -> str:
    return f"{_bound(names, given)}for i in range(50) {{ y = {expression} }}\noutput y"


def _long_loop(names: list[str], given: list[str], expression: str) -> str:
    return f"{_bound(names, given)}for i in range(2100) {{ y = {expression} }}\noutput y"


def _hot_loop(names: list[str], given: list[str], expression: str) -> str:
    head = f"fn f({', '.join(names)}) {{ k = 0; y = 0; while k < 2 {{ y = {expression}; k += 1 }}; return y }}\n"
    return (
        f"{head}{_bound(names, given)}for i in range(50) {{ y = f({', '.join(names)}) }}\noutput y"
    )


def _rows(names: list[str], given: list[str], expression: str) -> str:
    return f"{_call(names, expression)}y = vmap(f)({', '.join(f'[{g}, {g}]' for g in given)})[1]"


def _array(names: list[str], given: list[str], expression: str) -> str:
    return f"{_call(names, expression)}y = f({', '.join(f'array([{g}, {g}])' for g in given)})[1]"


def _hot_array(names: list[str], given: list[str], expression: str) -> str:
    bound = _bound(names, [f"array([{g}, {g}])" for g in given])
    return f"{bound}for i in range(50) {{ y = {expression} }}\noutput y[1]"


def _bound(names: list[str], given: list[str]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in zip(names, given, strict=True))


SCALAR_WAYS = {
    "hot call": _hot_call,
    "hot expression": _hot_expression,
    "long loop": _long_loop,
    "hot loop": _hot_loop,
}
ARRAY_WAYS = {"rows": _rows, "array": _array, "hot array": _hot_array}


def _found(source: str) -> Any:
    """The one output, its type with it; or the code of the error."""
    try:
        (y,) = gradcli.load(source=source).with_options(grad=False).run().outputs.values()
    except gradcli.GradcliError as error:
        return error.diagnostics[0].code
    y = y.item() if isinstance(y, np.generic | np.ndarray) else y
    return (
        ("float", struct.pack("d", y) if y == y else "nan")
        if type(y) is float
        else (type(y).__name__, y)
    )


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
@pytest.mark.parametrize("ways", [SCALAR_WAYS, ARRAY_WAYS], ids=["scalars", "arrays"])
def test_an_operation_means_the_same_cold_hot_and_in_rows(op: Op, ways: dict[str, Any]) -> None:
    n = len(op.signature.operands)
    names = ["a", "b"][:n]
    random = Random(op.name)
    points = random.sample(ONE if n == 1 else TWO, 15)
    for k, point in enumerate(points):
        given = [_literal(v) for v in point]
        expression = random.choice(WRAPPED).format(_text(op))
        alone = _found(_single(names, given, expression))
        for way, write in ways.items():
            if way != "long loop" or k % 3 == 0:
                assert _found(write(names, given, expression)) == alone, (
                    f"{expression} of {point}, {way}"
                )


def test_a_power_of_ints_by_a_float_is_a_float() -> None:
    found = outputs(
        "a = array([3037000500, 2]) ** 2.0; b = array([2, 4]) ** -1.0; c = array([9]) ** 0.5; output a, b, c"
    )
    np.testing.assert_array_equal(found["a"], [3037000500.0**2, 4.0])
    np.testing.assert_array_equal(found["b"], [0.5, 0.25])
    np.testing.assert_array_equal(found["c"], [3.0])
    assert failure("array([3037000500, 2]) ** 2").code == failure("3037000500 ** 2").code


@pytest.mark.parametrize("turns", [3, 3000])
def test_zeros_of_ints_have_a_sign_once_they_are_floats(turns: int) -> None:
    """However old a loop is; and a number of floats isn't one of ints, where 64 bits would end."""
    found = outputs(
        f"n = 0; k = 9007199254740993; p = 1; for i in range({turns}) {{ "
        "z = n * 1.0; w = n / 1; angle = atan2(-z, -1.0); turned = 1 / -w; same = k * 1.0 == 9007199254740992; "
        "p = p * 1.0 * 4611686018427387904 / 4611686018427387903; big = k * 1.0 * k * k }\noutput angle, turned, same, big, p"
    )
    assert found["angle"] == -math.pi
    assert found["turned"] == -math.inf
    assert found["same"] is True
    assert found["big"] == 9007199254740992.0**3
    assert type(found["p"]) is float


def test_an_int_is_compared_with_a_float_as_a_float() -> None:
    """As NumPy does it, with numbers as with arrays; ints among themselves are exact."""
    for a, b in (
        ("9007199254740993", "9007199254740992.0"),
        ("array([9007199254740993])", "9007199254740992.0"),
    ):
        assert outputs(f"output y = all({a} == {b})")["y"]
        assert not outputs(f"output y = all({a} == 9007199254740992)")["y"]


@pytest.mark.parametrize(
    "asked",
    ["grad(f)(x) * n", "n * grad(f)(x)", "vjp(f)(x, 1) * n", "grad(f)(x)", "grad(f)(x) + n"],
)
def test_a_derivative_that_is_a_number_makes_floats_of_ints(asked: str) -> None:
    text = (
        f"fn row(x, u, n) {{ f = fn(z) = z + u; return {asked} }}\n"
        "var x = 1.3\nfor i in range(5) { y = row(x * 0.5, 0.3, i) }\ny = row(x, 0.2, 5)\noutput y"
    )
    for tier in (INTERPRETED, WRITTEN, NATIVE):
        with only(tier, FIRST_USE):
            assert type(gradcli.load(source=text).run({}).outputs["y"]) is float
