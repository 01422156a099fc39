"""Sources, spans and diagnostics: what every error and warning of gradcli is made of, and how it
looks.

A diagnostic is data (`Diagnostic`); `render` is the only place that draws one. The codes and their
explanations stand in `codes.py`. This module imports nothing else of the project, so every room may
use it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

_MAX_QUOTED = 60  # characters of a program's text within a message


@dataclass(frozen=True, eq=False)
class Source:
    """A program's text under the name that messages show: a path, `<expr>` or `<stdin>`; or one of
    the library's."""

    name: str
    text: str
    is_library: bool = False

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its newline."""
        starts = self._line_starts
        if number > len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *[newline.end() for newline in re.finditer("\n", self.text)]]


class Span(NamedTuple):
    """A stretch of a source: characters `start` up to, not including, `end`."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def brief(self) -> str:
        """The text as a message quotes it: on one line, and not too long for one."""
        text = self.source.text[self.start : min(self.end, self.start + 20 * _MAX_QUOTED)]
        return shortened(" ".join(text.split()))

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{printable(self.source.name)}:{line}:{column}"


def shortened(text: str) -> str:
    """A quoted text, cut at the end where it is long."""
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"


class CallSite(NamedTuple):
    """A call that led to an error: which function, and where it was called. A loop leads there,
    too: it has no function, and `turn` says what its names held."""

    function: str
    span: Span
    turn: str = ""

    @property
    def inside(self) -> str:
        return f"in `{printable(self.function)}`" if self.function else f"in the loop{self.turn}"

    def __str__(self) -> str:
        if self.function:
            return f"{self.inside}, called at {self.span}"
        return f"in the loop at {self.span}{printable(self.turn)}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning.

    `code` is `E…` or `W…` from `codes.CODES`; `label` stands behind the caret and gives the actual
    values; `help` is the fix. `reason` is the stable reason code of an unconnected gradient, ""
    elsewhere; `calls` runs from the innermost call outwards; `span` is None where no source line is
    at fault (a bad option, a missing file).
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    help: str = ""
    reason: str = ""
    calls: tuple[CallSite, ...] = ()

    @property
    def severity(self) -> str:
        return "warning" if self.code.startswith("W") else "error"

    @property
    def exit_code(self) -> int:
        """The exit code that this error stands for (see `gradcli explain`); 0 for a warning."""
        return EXIT_CODES.get(self.code) or EXIT_CODES.get(self.code[:2], 0)

    def as_json(self) -> dict[str, Any]:
        """The diagnostic as the JSON formats print it."""
        line, column = self.span.source.position(self.span.start) if self.span else (None, None)
        entry: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "file": self.span.source.name if self.span else None,
            "line": line,
            "column": column,
            "message": self.message if not self.label else f"{self.message}: {self.label}",
            "help": self.help,
        }
        if self.reason:
            entry["reason"] = self.reason
        return entry


# E0 the command line · E1 syntax · E2 names and structure · E3 run time · E4 limits · E5 device ·
# E9 a bug; of E6, what a check or a job finds, only those that stop it
EXIT_CODES = {
    "E0": 2,
    "E1": 3,
    "E2": 3,
    "E3": 3,
    "E4": 4,
    "E5": 5,
    "E609": 2,
    "E613": 2,
    "E614": 4,
    "E9": 70,
}


class GradcliError(Exception):
    """A failure with its diagnostics, most important first; what the Python door raises."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics: list[Diagnostic] = list(diagnostics)

    @property
    def exit_code(self) -> int:
        return max((d.exit_code for d in self.diagnostics), default=70)

    def at(self, span: Span) -> GradcliError:
        """Has the diagnostics that say no place say this one; returns the error."""
        self.diagnostics[:] = [d if d.span else replace(d, span=span) for d in self.diagnostics]
        return self

    def __str__(self) -> str:
        return "\n".join(render(d) for d in self.diagnostics)


_INDEX = r"\[\d+\]"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """``did you mean `x`?`` for the candidate that a person would take `name` for, or "" where none
    is that close. Of paths such as `l[0].w`, those that differ by indices alone
    are close, too."""
    known = [*candidates]
    return _closest(name, known) or (
        _closest(name, known, _INDEX) if any("[" in path for path in [name, *known]) else ""
    )


def _closest(name: str, candidates: Sequence[str], without: str = r"\Z") -> str:
    plain = _plain(name, without)
    best, distance = "", len(plain) // 3 + 1  # so many slips or more are another word
    for candidate in candidates:
        if candidate.startswith("_"):
            continue
        if _plain(candidate, without) == plain:
            return f"did you mean `{candidate}`?"
        if abs(len(candidate) - len(name)) < distance:
            slips = _slips(plain, _plain(candidate, without), distance)
            if slips < distance:
                best, distance = candidate, slips
    return f"did you mean `{best}`?" if best else ""


def _plain(name: str, without: str) -> str:
    return re.sub(without, "", name).lower().replace("_", "").replace("-", "")


def _slips(a: str, b: str, limit: int) -> int:
    """How many letters left out, added, changed or swapped with the next make `b` of `a`; `limit`
    where there are more."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, c in enumerate(a, 1):
        above, row = row, [i]
        for j, d in enumerate(b, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (c != d))
            if i > 1 and j > 1 and c == b[j - 2] and d == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) >= limit:
            return limit
        before = above
    return row[-1]


# ---- drawing -------------------------------------------------------------------------------------

_STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "bold": "\x1b[1m",
    "frame": "\x1b[1;34m",
    "off": "\x1b[0m",
}
_MAX_LINE = 160  # longer source lines are shown as a window around the caret
_MAX_CALLS = 8


def said(diagnostic: Diagnostic) -> str:
    """What a diagnostic says in words, without the lines of the program that it shows."""
    calls = [
        call if isinstance(call, str) else call.inside for call in shorten_calls(diagnostic.calls)
    ]
    headline = f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    return "\n".join([headline, diagnostic.label, diagnostic.help, *calls])


def render(diagnostic: Diagnostic, color: bool = False, width: int | None = None) -> str:
    """Draws one diagnostic: headline, place, source line with a caret span, help, and the calls
    that led there; on a screen of that `width`."""
    paint = _painter(color)
    severity = f"{diagnostic.severity}[{diagnostic.code}]"
    message = _fitted(f": {printable(diagnostic.message)}", width, len(severity), 4)
    lines = [paint(diagnostic.severity, severity) + paint("bold", message)]
    gutter = 1
    if diagnostic.span is not None:
        excerpt, gutter = _excerpt(diagnostic, paint, width)
        lines += excerpt
    elif diagnostic.label:
        lines.append(f"  {_fitted(printable(diagnostic.label), width, 2, 2)}")
    begin = " " * gutter + paint("frame", " = ")
    if diagnostic.help:
        help = _fitted(printable(diagnostic.help), width, gutter + 9, gutter + 3)
        lines.append(begin + paint("bold", "help: ") + help)
    for call in shorten_calls(diagnostic.calls):
        lines.append(begin + _fitted(str(call), width, gutter + 3, gutter + 3))
    return "\n".join(lines)


def _fitted(text: str, width: int | None, taken: int, indent: int) -> str:
    """A text in lines that end between words: the first has so many columns `taken`."""
    if width is None or taken + len(text) <= width:
        return text
    import textwrap

    whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    begun = "\0" * taken + text  # no blanks, where a line might end
    lines = textwrap.wrap(begun, width, subsequent_indent=" " * indent, **whole)
    return "\n".join(lines)[taken:]


def _painter(color: bool) -> Any:
    if not color:
        return lambda style, text: text
    return lambda style, text: f"{_STYLES[style]}{text}{_STYLES['off']}"


COMPREHENSION = "[…]"  # the function that a comprehension is, which nobody called by a name


def shorten_calls(calls: Sequence[CallSite]) -> list[CallSite | str]:
    """The calls and loops that led somewhere, or the first and last of them with a line that counts
    the others."""
    found = [call for call in calls if call.function != COMPREHENSION]
    if len(found) <= _MAX_CALLS:
        return [*found]
    half = _MAX_CALLS // 2
    return [*found[:half], f"… {len(found) - 2 * half} more calls …", *found[-half:]]


# Control characters but for the tab, marks that turn the direction of a line or can't be seen, and
# halves of characters.
_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
_LINE = re.compile(f"[\n{_INVISIBLE}]")
_LINES = re.compile(f"[{_INVISIBLE}]")
_COLORED = re.compile(f"(?!\x1b\\[[0-9;]*m)[{_INVISIBLE}]")
# What build services take for commands in a log: GitHub `::` where a line begins, it and Azure
# `##[` and `##vso[` anywhere.
_COMMAND = re.compile(r"^(\s*)::|##(?=\[|vso\[)", re.MULTILINE)


def printable(text: str) -> str:
    """Text of somebody else's on one line of ours: with a visible counterpart of all that would
    drive a terminal, break the line, or be a command to whoever reads the log."""
    return _tamed(_LINE, text)


def printable_lines(text: str, color: bool = False, commands: bool = False) -> str:
    """The same of an answer with lines of its own, with `color` with colours of its own, and with
    `commands` with such, too. A string of JSON is the same string afterwards."""
    return _tamed(_COLORED if color else _LINES, text, commands)


def _tamed(invisible: re.Pattern[str], text: str, commands: bool = False) -> str:
    if not text.isprintable():
        text = invisible.sub(lambda found: _visible(found[0]), text)
    if not commands and ("::" in text or "##" in text):
        text = _COMMAND.sub(
            lambda found: found[0].replace("::", "\\u003a:").replace("##", "#\\u0023"), text
        )
    return text


def _visible(c: str) -> str:
    """`␛` for the escape character; for what has no picture what JSON writes for it: backslash, u,
    202e."""
    code = ord(c)
    if code < 0x20:
        return chr(0x2400 + code)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _excerpt(diagnostic: Diagnostic, paint: Any, screen: int | None) -> tuple[list[str], int]:
    span, label = diagnostic.span, printable(diagnostic.label)
    assert span is not None
    number, column = span.source.position(span.start)
    raw = span.source.line(number)
    text, start = printable(raw), len(printable(raw[: column - 1]))
    width = max(1, len(printable(raw[: column - 1 + span.end - span.start])) - start)
    gutter = len(str(number)) + 1
    room = _MAX_LINE if screen is None else max(screen - gutter - 5, 20)
    if len(text) > room:
        cut = max(0, start - room // 2)
        shown = text[cut : cut + room]
        text = "…" * bool(cut) + shown + "…" * (cut + room < len(text))
        start += bool(cut) - cut
        width = min(width, max(1, len(text) - start))
    blank = " " * gutter + paint("frame", " |")
    # Tabs are copied, so that the caret lines up whatever the terminal makes of them.
    pad = "".join("\t" if c == "\t" else " " for c in text[:start])
    told = [f"{pad}{'^' * width}{f' {label}' if label else ''}"]
    if screen is not None and len(told[0]) > room:
        told = [pad + "^" * width, *_fitted(label, room, 0, 0).split("\n")]
    return [
        " " * gutter + paint("frame", "--> ") + str(span),
        blank,
        paint("frame", f"{number:>{gutter}} |") + f" {text}".rstrip(),
        *[f"{blank} {paint(diagnostic.severity, line)}" for line in told if line],
    ], gutter


@dataclass(slots=True)
class Report:
    """Collects diagnostics where several are wanted at once (all errors of the resolver, all
    warnings of a run)."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, message: str, span: Span | None = None, **details: Any) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, **details))

    def raise_errors(self) -> None:
        """Raises all collected errors, in source order."""
        errors = [d for d in self.diagnostics if d.severity == "error"]
        if errors:
            raise GradcliError(*sorted(errors, key=lambda d: d.span.start if d.span else -1))
