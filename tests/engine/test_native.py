"""Native code of formulas on rows: NumPy's results, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.backend import CPU, ieee
from gradcli.engine.backends.tiers import FIRST_USE, WRITTEN, Heat, only
from gradcli.engine.formulas.differentiation import cotangents
from gradcli.engine.kernels import native, native_source
from gradcli.engine.kernels.row_functions import pull_function, value_function
from gradcli.engine.kernels.sum_functions import sum_function
from gradcli.ops.formula import Formula, Key, key_of

with only():  # in all tiers of the tests
    if not native.is_there():
        pytest.skip("llvmlite isn't installed", allow_module_level=True)

HARD = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 5e-324, 1e308, -3.25]
UNARY = ["neg", "abs", "sqrt", "square", "floor", "ceil", "trunc"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum"]
CHOICES = ["lt", "le", "gt", "ge", "eq", "ne"]


def _grown(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    def made(kind: str) -> Callable[..., Formula]:
        return lambda *arguments: Formula(kind, None, arguments)

    unary = st.sampled_from(UNARY).flatmap(lambda kind: st.builds(made(kind), inner))
    binary = st.sampled_from(BINARY).flatmap(lambda kind: st.builds(made(kind), inner, inner))
    conditions = st.sampled_from(CHOICES).flatmap(lambda kind: st.builds(made(kind), inner, inner))
    return unary | binary | st.builds(made("where"), conditions, inner, inner)


OPERANDS = st.integers(0, 2).map(lambda k: Formula("operand", k))
NUMBERS = st.sampled_from(HARD).map(lambda v: Formula("number", v))
DTYPES = st.sampled_from(["float64", "float32"])
FORMULAS = st.recursive(OPERANDS | NUMBERS, _grown, max_leaves=12)


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    yield
    _forget()


def _forget() -> None:
    for function in (value_function, pull_function, sum_function):
        function.cache_clear()


def _both(compute: Callable[[], list[Any]]) -> None:
    """NumPy and native code give the same bits."""
    found = []
    for after in (2**62, 0):
        _forget()
        with only(heat=Heat(operations=after)), ieee():
            found.append(compute())
    for a, b in zip(*found, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


def _rows(seed: int, shape: tuple[int, ...]) -> Any:
    generator = np.random.default_rng(seed)
    return np.where(
        generator.random(shape) < 0.3, generator.choice(HARD, shape), generator.normal(size=shape)
    )


def _is_of_float32(formula: Formula) -> bool:
    """Whether its numbers are float32's: those of programs are rounded before, and operations on
    numbers alone are done."""
    with np.errstate(over="ignore"):
        numbers = [node.value for node in formula if node.kind == "number"]
        are_rounded = np.array_equal(np.float32(numbers), numbers, equal_nan=True)
    return are_rounded and not any(
        n.arguments and all(a.kind == "number" for a in n.arguments) for n in formula
    )


@settings(max_examples=100, deadline=None)
@given(
    formula=FORMULAS, n=st.integers(1, 37), m=st.integers(1, 4), apart=st.booleans(), dtype=DTYPES
)
def test_random_formulas(formula: Formula, n: int, m: int, apart: bool, dtype: str) -> None:
    assume(dtype == "float64" or _is_of_float32(formula))
    with np.errstate(all="ignore"):
        a, b, c = (
            _rows(k, shape).astype(dtype) for k, shape in enumerate([(m + 2, n), (n,), (m, 1)])
        )
        number = a.dtype.type(1.5)
    x = a[1:-1] if apart else a[1:-1].copy()
    key = key_of(formula)
    _both(lambda: value_function(CPU, key, (True, False, False), (0,))((m, n), x, b, c))
    _both(lambda: value_function(CPU, key, (True, True, False), (0, 1))((m, n), x, a[2:], number))


@settings(max_examples=30, deadline=None)
@given(formula=FORMULAS, n=st.integers(1, 37), m=st.integers(1, 4))
def test_cotangents(formula: Formula, n: int, m: int) -> None:
    x, b, key = _rows(0, (m, n)), _rows(1, (n,)), key_of(formula)
    places = {0: x, 1: b, 2: 1.5, "result": _rows(2, (m, n))}
    read = [places[k] for k in cotangents(formula, 3)[0]]
    for g in (np.ones((m, n)), np.float64(1.0)):
        whole = tuple(np.shape(v) == (m, n) for v in (*read, g))
        _both(lambda: pull_function(CPU, key, 3, whole, (0, 1))((m, n), *read, g))  # noqa: B023


def _summed(key: Key, operands: list[Any], indices: list[Any], shape: tuple[int, ...]) -> list[Any]:
    whole = tuple(np.shape(v) == shape for v in operands)
    function = sum_function(CPU, key, whole, tuple(range(len(indices))))
    if function is None:
        return []
    x = np.full((shape[0] + 2, shape[1]), np.nan)  # what was there before doesn't matter
    return [function(shape, operands, [(0, x[index]) for index in indices], [x]), x]


PARTS: dict[str, list[Any]] = {
    "one after the other": [slice(2, None), slice(1, -1), slice(0, -2)],
    "one before the other": [slice(0, -2), slice(1, -1), slice(2, None)],
    "in no order": [slice(1, -1), slice(0, -2), slice(2, None)],
    "two": [slice(0, -2), slice(2, None)],
    "one": [slice(1, -1)],
    "an element": [1],
    "an element and a part": [0, slice(1, -1)],
    "backwards": [slice(-1, 1, -1), slice(0, -2)],
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@settings(max_examples=15, deadline=None)
@given(formula=FORMULAS, n=st.integers(1, 37), m=st.integers(1, 5))
def test_sums(parts: list[Any], formula: Formula, n: int, m: int) -> None:
    x, shape = _rows(3, (m + 2, n)), (m, n)
    operands = [x[index] for index in parts] + [_rows(4, (m, n)), _rows(5, (n,)), 2.5][
        : max(0, 3 - len(parts))
    ]
    key = key_of(formula)
    _both(lambda: _summed(key, operands, parts, shape))


def test_only_what_has_one_right_result_is_native() -> None:
    x = Formula("operand", 0)
    assert native_source.can_read([x * x + 1.0])
    for formula in (
        Formula("exp", None, (x,)),
        x * 1j,
        Formula("where", None, (x, x, x)),
        (x < 1.0) + x,
        x**2.5,
    ):
        assert not native_source.can_read([formula])


def test_native_code_takes_over_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    make = native_source.elementwise_kernel
    monkeypatch.setattr(
        native_source, "elementwise_kernel", lambda *given: calls.append(given) or make(*given)
    )
    _forget()
    x, key = _rows(0, (1, 100)), key_of(Formula("operand", 0) * 3.0)
    for expected in (0, 1, 1):
        with only(heat=Heat(operations=2 * 200)), ieee():
            value_function(CPU, key, (True,), ())((1, 100), x)
        assert len(calls) == expected


def test_without_native_code_numpy_computes() -> None:
    _forget()
    x = np.arange(6.0).reshape(1, 6)
    with only(WRITTEN, FIRST_USE):
        (y,) = value_function(CPU, key_of(Formula("operand", 0) * 3.0), (True,), ())((1, 6), x)
    np.testing.assert_array_equal(y, x * 3)
