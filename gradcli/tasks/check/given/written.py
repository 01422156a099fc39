"""How precisely numbers were written down: by the digits of decimal text, or as float32.

A number from `%.3g` or `%.5f` stands for all that round to it. Text drops zeros at its end (`%g`,
and the shortest text that reads back as a float64), so one number doesn't tell: the longest of a
file does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ....engine.backends.backend import CPU

EXACT_DIGITS = 15  # of a number that is as good as a float64
FEW_DIGITS = 7  # with no more, a number says nothing about the precision that it was computed in
EPS_SINGLE, LARGEST_SINGLE = 2.0**-23, 3.4e38
WHOLE = 64  # times a number is whole where the number was likely meant exactly: 9.0, 36.5


class Written(float):
    """A float with the text that it was read from."""

    text: str

    def __new__(cls, text: str) -> Written:
        number = super().__new__(cls, text)
        number.text = text
        return number


class Format(NamedTuple):
    """How the numbers of a file were written.

    decimals  digits behind the point, where each number has so many; else None
    digits    significant digits of the longest number
    single    whether all were float32
    """

    decimals: int | None
    digits: int
    single: bool

    def half_unit(self, number: Written) -> float:
        """Half a unit in the last place of a number: how far it may be from what it was written
        for. One that stands beside the gradients may have more digits than they."""
        text = _bare(number)
        digits = max(self.digits, _significant(text))
        if digits >= EXACT_DIGITS:
            return 0.0
        if self.decimals is not None and "e" not in text:
            return float(0.5 * 10.0 ** -max(self.decimals, len(text.partition(".")[2])))
        if not number:
            return 0.0
        return float(0.5 * 10.0 ** (_exponent(number.text) + 1 - digits))


EXACT = Format(None, EXACT_DIGITS, False)


def format_of(numbers: Iterable[Written]) -> Format:
    """How these numbers, all of a file, were written."""
    texts = [_bare(n) for n in numbers if n - n == 0]
    mantissas = [text.partition("e")[0] for text in texts]
    places = {len(mantissa.partition(".")[2]) for mantissa in mantissas}
    powers = {"e" in text for text in texts}
    is_even = len(places) == len(powers) == 1 and places != {0}  # `%.5f`, `%.3e`
    keeps_zeros = any("." in mantissa and mantissa.endswith("0") for mantissa in mantissas)
    if not texts or _is_exact(texts):
        return EXACT
    digits, single = max(map(_significant, texts)), all(map(_was_single, texts))
    if keeps_zeros and not is_even:  # `1.0` beside `0.25`: the shortest text that reads back
        return EXACT._replace(single=single and digits > FEW_DIGITS)
    return Format(places.pop() if is_even and powers == {False} else None, digits, single)


def was_single(values: Any) -> bool:
    """Whether an array holds numbers that were float32, though its type is another."""
    finite = values[CPU.xp.isfinite(values)]
    with CPU.xp.errstate(over="ignore"):
        reads_back = finite == finite.astype("float32")
    return bool(reads_back.all()) and bool((finite * WHOLE % 1 != 0).any())


def _is_exact(texts: list[str]) -> bool:
    """Whether all numbers are simple ones in the shortest text that reads back: `9.0`, `36.5`.
    Without a point they may come from `%.3g`, so they aren't."""
    return all(
        "." in text and text == repr(float(text)) and float(text) * WHOLE % 1 == 0 for text in texts
    )


def _bare(number: Written) -> str:
    """The text of a number without its sign."""
    return number.text.strip().lower().lstrip("+-")


def _significant(text: str) -> int:
    mantissa = text.partition("e")[0]
    return max(1, len(mantissa.replace(".", "").lstrip("0")))


def _exponent(text: str) -> int:
    """The exponent of the first significant digit."""
    return int(f"{abs(float(text)):.16e}".partition("e")[2])


def _was_single(text: str) -> bool:
    """Whether text is what a float32 is written as, with as many digits as it has."""
    digits, value = _significant(text), float(text)
    if abs(value) > LARGEST_SINGLE:
        return False
    nearest = float(CPU.xp.float32(value))
    return nearest == value or float(f"{nearest:.{digits - 1}e}") == value
