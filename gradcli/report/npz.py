"""`--format npz`: NumPy arrays under the names of outputs and derivatives (`f`, `df/dx`,
`d2f/dx2`), with the file before a colon where there are several.

Lists and dicts are stored by their items (`output.0`, `output.w`); what has no
number is left out.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..safe_files import member_name
from .style import Style
from .values import derivatives

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation


def render(evaluations: Sequence[Evaluation], style: Style) -> bytes:
    if not any(True for e in evaluations for _ in _entries(e)):
        return b""
    data = io.BytesIO()
    # Written by hand: np.savez takes names as keywords, and an output may be called `file`.
    with zipfile.ZipFile(data, "w") as archive:
        for evaluation in evaluations:
            prefix = f"{evaluation.file}:" if len(evaluations) > 1 else ""
            for name, value in _entries(evaluation):
                for path, array in _arrays(prefix + name, value):
                    with archive.open(f"{member_name(path)}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
    return data.getvalue()


def _entries(evaluation: Evaluation) -> Iterator[tuple[str, Any]]:
    yield from evaluation.outputs.items()
    yield from {found.name: found.value for found in derivatives(evaluation)}.items()


def _arrays(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _arrays(f"{path}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            yield from _arrays(f"{path}.{k}", item)
    elif value is not None:
        array = np.asarray(value)
        if array.dtype.kind != "O":
            yield path, array
