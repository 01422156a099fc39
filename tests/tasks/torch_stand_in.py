"""The few functions of PyTorch that the example of docs/check.md uses, on NumPy, for machines
without PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

float64 = np.float64


def tensor(value: Any, dtype: Any, requires_grad: bool) -> Tensor:
    assert requires_grad
    return Tensor(np.asarray(value, dtype))


class Tensor:
    """An array that remembers what it was made of: (tensor, how a cotangent goes there)."""

    def __init__(self, value: Any, *made_of: tuple[Tensor, Callable[[Any], Any]]) -> None:
        self.value, self.made_of = np.asarray(value), made_of
        self._grad: Any = 0.0

    def __pow__(self, n: int) -> Tensor:
        return Tensor(self.value**n, (self, lambda g: g * n * self.value ** (n - 1)))

    def __mul__(self, other: Tensor) -> Tensor:
        return Tensor(
            self.value * other.value,
            (self, lambda g: g * other.value),
            (other, lambda g: g * self.value),
        )

    def sum(self) -> Tensor:
        return Tensor(self.value.sum(), (self, lambda g: g * np.ones_like(self.value)))

    def backward(self, g: Any = 1.0) -> None:
        self._grad = self._grad + g
        for made, pull in self.made_of:
            made.backward(pull(g))

    @property
    def grad(self) -> Tensor:
        return Tensor(self._grad)

    def tolist(self) -> Any:
        return self.value.tolist()

    def item(self) -> float:
        return float(self.value)
