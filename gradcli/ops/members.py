"""The members that values have by themselves."""

from __future__ import annotations

ATTRIBUTES = ("T", "shape", "size", "ndim", "dtype", "name", "grad")  # of numbers and arrays
TAPE_MEMBERS = ("gradient", "jacobian", "batch_jacobian", "watch", "watched_variables", "reset")
