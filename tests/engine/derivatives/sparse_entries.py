"""Sparse Jacobians as tests look at them: the places of entries, and the whole matrix."""

from __future__ import annotations

from typing import Any

import numpy as np


def places(found: dict[str, Any]) -> list[tuple[int, int]]:
    return list(zip(found["rows"].tolist(), found["cols"].tolist(), strict=True))


def dense(found: dict[str, Any]) -> np.ndarray:
    matrix = np.zeros(found["shape"])
    matrix[found["rows"], found["cols"]] = found["values"]
    return matrix
