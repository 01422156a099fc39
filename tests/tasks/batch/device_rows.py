"""Programs and rows for batches on GPUs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tests.engine.devices import standin_cuda
from tests.tasks.batch.one_by_one import OPTIONS

ON_GPU = OPTIONS.with_changes(device="cuda")
ROWS = 3000
STRAIGHT = "var x\nvar v\nconst w\ny = sum(tanh(v * x) * w)\nz = sin(x) * v\noutput y, z"
FAILING = "var x\na = [1.0, 2.0]\nexpect x < 1.9\ny = a[int64(x > 0) * 2 - int64(x > 0.001)] * x\noutput y"


def data(rows: int = ROWS) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {"x": random.uniform(-2, 2, rows), "v": random.normal(size=(rows, 4))}


def copied() -> Counter[str]:
    return Counter(copy.kind for copy in standin_cuda.copies)
