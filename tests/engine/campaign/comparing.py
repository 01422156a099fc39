"""What two answers differ in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .ways import Answer

RTOL = 1e-9  # far more than rounding makes of a few hundred operations, far less than any mistake


class Allowed(NamedTuple):
    """What two answers may differ by, as docs/language.md says it.

    slack   how far rounding moves numbers, by name
    nans    where either may be nan: "anywhere", as the modes add infinite slopes in other orders;
            "infinite" where the other isn't finite, as derivatives of derivatives do; "" nowhere
    """

    slack: Mapping[str, Any] = {}
    nans: str = ""


STRICTLY = Allowed()


def difference(
    expected: Answer,
    found: Answer,
    exact: bool = False,
    signs: bool = True,
    allowed: Allowed = STRICTLY,
) -> str:
    """In a few words, "" for none. `exact`: ints and floats are told apart. `signs`: and the zeros
    of both signs, but in gradients, where a share of 0 may be left out of a sum. A missing column
    is one of none: an int beside floats has no gradient.
    """
    if expected.error or found.error:
        return (
            ""
            if expected.error == found.error
            else f"error {found.error or 'none'}, and {expected.error or 'none'}"
        )
    numbers = [_numbers(value) for value in expected.values.values()]
    size = max(
        [1.0, *[float(np.abs(v[np.isfinite(v)]).max(initial=0)) for v in numbers if v is not None]]
    )
    for name in {**expected.values, **found.values}:
        a, b = expected.values.get(name), found.values.get(name)
        exact_zeros, slack = signs and not name.startswith("d"), allowed.slack.get(name, 0.0)
        wrong = _apart(a, b, size, exact, exact_zeros, slack, allowed.nans)
        if wrong:
            return f"{name} {wrong}: {b!r}, and {a!r}"
    return ""


def _numbers(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return None
    array = np.asarray(value)
    return array.astype(float) if array.dtype.kind in "bif" else None


def _apart(
    expected: Any, found: Any, size: float, exact: bool, signs: bool, slack: Any, nans: str
) -> str:
    if expected is None or found is None:
        return "" if expected is found else "none"
    if isinstance(expected, str):
        return "" if expected == found else "text"
    a, b = np.asarray(expected), np.asarray(found)
    if a.shape != b.shape:
        return f"shape {b.shape}, and {a.shape}"
    if exact and a.dtype != b.dtype:
        return f"type {b.dtype}, and {a.dtype}"
    if a.dtype.kind not in "bifc":
        return "" if (a == b).all() else "text"
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = (np.stack([v.real, v.imag]) for v in (a, b))
    a, b = a.astype(float), b.astype(float)
    if not _close(a, b, RTOL * 1e-3 * size, slack, nans).all():
        return "value"
    zeros = (a == 0) & (b == 0)
    if signs and (np.signbit(a) != np.signbit(b))[zeros].any():
        return "sign of zero"
    return ""


def _close(a: Any, b: Any, atol: float, slack: Any, nans: str) -> Any:
    close = np.isclose(a, b, rtol=RTOL, atol=atol, equal_nan=True)
    undecided = np.isnan(a) | np.isnan(b)
    if nans == "anywhere":
        return close | undecided
    if nans == "infinite":
        close |= undecided & ~np.isfinite(a) & ~np.isfinite(b)
    with np.errstate(invalid="ignore"):
        return close | (np.abs(a - b) <= slack)
