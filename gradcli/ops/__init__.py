"""The table of everything that programs can call. `OPS` by name, `INFIX` by sign; nobody keeps a
second list.

Each module of this folder holds one heading's entries in a list `OPS`. To add a builtin, add one
entry.
"""

from __future__ import annotations

from . import (
    arithmetic,
    bessel,
    choosing,
    creation,
    derivative,
    determinants,
    einsum,
    elementary,
    exponential,
    factorisations,
    fourier,
    gammas,
    incomplete_beta,
    incomplete_gamma,
    indexing,
    interpolation,
    joining,
    lanes,
    learning,
    linalg,
    logic,
    norms,
    padding,
    picking,
    random,
    reduction,
    running,
    shape,
    signal,
    special,
    spectra,
    systems,
    zeta,
)
from .op import Op

_MODULES = (
    arithmetic,
    choosing,
    elementary,
    special,
    gammas,
    zeta,
    incomplete_gamma,
    incomplete_beta,
    bessel,
    learning,
    logic,
    reduction,
    norms,
    running,
    shape,
    joining,
    padding,
    picking,
    linalg,
    einsum,
    systems,
    determinants,
    factorisations,
    spectra,
    exponential,
    signal,
    fourier,
    interpolation,
    creation,
    random,
    indexing,
    lanes,
    derivative,
)

OPS: dict[str, Op] = {op.name: op for module in _MODULES for op in module.OPS}
BUILTINS: dict[str, Op] = {
    name: op for name, op in OPS.items() if not op.internal
}  # what programs call by name
INFIX: dict[str, Op] = {op.infix: op for op in OPS.values() if op.infix}
ALIASES: dict[str, str] = {alias: op.name for op in OPS.values() for alias in op.aliases}
