"""Names of derivatives. On a screen `∂f/∂x`, in files `df/dx`: the same name in plain letters.

    a gradient                              ∂f/∂x       df/dx
    the gradient of the sum of an array     ∂Σy/∂x      dsum(y)/dx
    a Jacobian                              ∂y/∂x       dy/dx
    a Hessian                               ∂²f/∂x²     d2f/dx2
    a mixed block of one                    ∂²f/∂x∂z    d2f/dxdz

What isn't a plain name stands in parentheses: `∂(x + y)/∂x`. JSON has no such names: there a
derivative is at `gradients.f.x`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = r"(?!\d)[\w.]+(?:\[[^\]]*\][\w.]*)*"
_COLUMN = re.compile(rf"d(?:sum\((.+)\)|\((.+)\)|({_PLAIN}))/d(?:\((.+)\)|({_PLAIN}))")


class Derivative(NamedTuple):
    """A first derivative: of which value, or of the sum of its elements, and by what."""

    of: str
    by: str
    summed: bool


def operand(name: str) -> str:
    """A name, or the text of an expression in parentheses."""
    return name if re.fullmatch(_PLAIN, name) else f"({name})"


def on_screen(of: str, by: Sequence[str], summed: bool = False) -> str:
    """The derivative of a value, or of the sum of its elements, by names: `∂²Σy/∂x∂z`."""
    below = "".join(f"∂{operand(name)}{_power(n)}" for name, n in _counted(by))
    return f"∂{_power(len(by))}{'Σ' if summed else ''}{operand(of)}/{below}"


def in_files(of: str, by: Sequence[str], summed: bool = False) -> str:
    """The same in plain letters: `d2sum(y)/dxdz`."""
    below = "".join(f"d{operand(name)}{n if n > 1 else ''}" for name, n in _counted(by))
    above = f"sum({of})" if summed else operand(of)
    return f"d{len(by) if len(by) > 1 else ''}{above}/{below}"


def read_name(name: str) -> Derivative | None:
    """The first derivative that a name in a file means; None where it means none."""
    found = _COLUMN.fullmatch(name)
    if found is None:
        return None
    summed, expression, plain, by, plain_by = found.groups()
    return Derivative(summed or expression or plain, by or plain_by, summed is not None)


def halves(pair: str) -> tuple[str, str]:
    """Both names of a block `x,z` or `x[0,1],z[2]`; of one name that twice."""
    pieces = pair.split(",")
    for k in range(1, len(pieces)):
        first, second = ",".join(pieces[:k]), ",".join(pieces[k:])
        if all(first.count(a) == first.count(b) for a, b in ("()", "[]", "{}")):
            return first, second
    return pair, pair


def is_second(name: str) -> bool:
    """Whether a name in a file means a second derivative."""
    return name.startswith("d2") and "/d" in name


def _counted(names: Sequence[str]) -> list[tuple[str, int]]:
    return [(name, len(list(group))) for name, group in groupby(names)]


def _power(n: int) -> str:
    return "" if n == 1 else str(n).translate(_SUPERSCRIPTS)
