"""Values of other packages as inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli import GradcliError, Tape, Variable
from gradcli.tasks.foreign import plain

VECTOR = gradcli.load(source="var x: float[2]\ny = sum(x**2)")
NUMBER = gradcli.load(source="var x = 2.0\ny = x**2")


class Length(float):
    """A number of somebody's own."""


class Jax:
    """As arrays of JAX: with a dtype of NumPy's, and read by `__array__`."""

    def __init__(self, values: Any) -> None:
        self.array = np.array(values, dtype="float32")
        self.dtype, self.shape = self.array.dtype, self.array.shape

    def __array__(self) -> Any:
        return self.array


class Tensor:
    """As tensors of PyTorch: with a dtype of its own, and not to be read while on a tape."""

    dtype = "torch.float32"

    def __init__(self, values: Any, recorded: bool = True) -> None:
        self.values, self.recorded = values, recorded

    def detach(self) -> Tensor:
        return Tensor(self.values, False)

    def cpu(self) -> Tensor:
        return self

    def __array__(self) -> Any:
        assert not self.recorded
        return np.array(self.values)


@pytest.mark.parametrize(
    "value",
    [
        Jax([1.0, 2.0]),
        Tensor([1.0, 2.0]),
        (1.0, 2.0),
        [Tensor(1.0), Tensor(2.0)],
        (Jax(1.0), 2.0),
        Variable([1.0, 2.0]),
        np.array([1.0, 2.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_vectors(value: Any) -> None:
    assert VECTOR.run(x=value).gradients["y"]["x"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "value", [Jax(3.0), Tensor(3.0), Variable(3.0), np.float32(3.0), Length(3.0), 3.0]
)
def test_numbers(value: Any) -> None:
    assert NUMBER.run(x=value).gradients["y"]["x"] == 6.0


def test_a_value_of_a_tape_is_its_number() -> None:
    with Tape() as t:
        x = t.watch(1.5)
        assert NUMBER.run(x=x * 2).outputs["y"] == 9.0


def test_what_is_plain_stays_what_it_is() -> None:
    array, text = np.array([1.0]), "text"
    for value in (array, text, 3, None):
        assert plain(value) is value
    assert plain([[1, 2], (3, 4)]) == [[1, 2], [3, 4]]
    assert plain(()) == []


@pytest.mark.parametrize("value", [object(), {1, 2}, {"a": 1.0}, [{1}], range(3)])
def test_what_is_no_value_is_an_error_of_the_inputs(value: Any) -> None:
    with pytest.raises(GradcliError, match="E005"):
        NUMBER.run(x=value)


ANY = gradcli.load(source="var x; y = x * 2")
UNSIGNED = np.array([2**63], "uint64")
LONG_COMPLEX = np.array([1 + 2j], np.clongdouble)


@pytest.mark.parametrize("value", [UNSIGNED, UNSIGNED[0], [2**63], 2**63, [UNSIGNED[0]]])
def test_an_integer_that_no_int64_holds_is_refused(value: Any) -> None:
    with pytest.raises(GradcliError, match="doesn't fit into 64 bits"):
        ANY.run(x=value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "value", [np.array([1 + 2j], "complex64"), LONG_COMPLEX, LONG_COMPLEX[0], np.complex64(1 + 2j)]
)
def test_complex_numbers_of_other_widths_keep_both_parts(value: Any) -> None:
    given = ANY.run(x=value).outputs["y"]
    assert np.asarray(given).dtype == complex
    assert given == 2 + 4j


@pytest.mark.parametrize("value", [np.array([1.5], "longdouble"), np.longdouble(1.5)])
def test_floats_of_other_widths_become_float64(value: Any) -> None:
    assert ANY.run(x=value).outputs["y"] == 3.0


def test_a_masked_array_is_taken_where_all_elements_have_values() -> None:
    whole, part = np.ma.array([1.0, 2.0]), np.ma.array([1.0, 2.0], mask=[True, False])
    assert VECTOR.run(x=whole).outputs["y"] == 5.0
    with pytest.raises(GradcliError, match="masked array: 1 of its 2 elements have no value"):
        VECTOR.run(x=part)


@pytest.mark.parametrize("output", ["x", "x[::-1]", "x[1:]", "{a: [x]}", "x.reshape(2, 1).T"])
@pytest.mark.parametrize("declared", ["var x: float[2]", "var x", "var x = [0.0, 0.0]"])
def test_an_input_that_comes_out_again_is_another_array(declared: str, output: str) -> None:
    program, given = gradcli.load(source=f"{declared}\noutput y = {output}"), np.ones(2)
    for _ in range(3):
        told = program.run(x=given).outputs["y"]
        before = str(told)
        given[:] = 5.0
        assert str(told) == before
        part = told["a"][0] if isinstance(told, dict) else told
        part[...] = 7.0
        assert given.tolist() == [5.0, 5.0]
        given[:] = 1.0
