"""Phrases of other languages, and what to write here instead.

`foreign_phrase` is asked wherever the text of a program doesn't fit: it tries `_PHRASES` in order,
each a pattern for a stretch of a line. The first that takes in the place at fault answers. To teach
it another phrase, add a line; `words.py` has single words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..diagnostics import Diagnostic, Source, Span

_WINDOW = 200  # characters of a line on either side of the fault
_TYPES = (
    "double|float|real|int|integer|long|short|unsigned|bool|boolean|logical|complex|char|string|"
    "size_t|double precision"
)


class Phrase(NamedTuple):
    """A phrase: how it looks, what is wrong with it, and what to write, from what it matched."""

    pattern: re.Pattern[str]
    message: str
    help: str | Callable[[re.Match[str]], str]


def _phrase(pattern: str, message: str, help: str | Callable[[re.Match[str]], str] = "") -> Phrase:
    return Phrase(re.compile(pattern), message, help)


def foreign_phrase(source: Source, start: int, end: int) -> Diagnostic | None:
    """The error for a phrase of another language around a place; None where there is none."""
    first = max(source.text.rfind("\n", 0, start) + 1, start - _WINDOW)
    last = source.text.find("\n", end)
    last = min(len(source.text) if last < 0 else last, end + _WINDOW)
    line = source.text[first:last]
    for phrase in _PHRASES:
        for match in phrase.pattern.finditer(line):
            at = match.span("at" if "at" in phrase.pattern.groupindex else 0)
            if match.start() <= start - first <= match.end():
                help = phrase.help if isinstance(phrase.help, str) else phrase.help(match)
                span = Span(source, first + at[0], first + len(line[: at[1]].rstrip()))
                return Diagnostic("E121", phrase.message, span, help=help)
    return None


# ---- what to write -------------------------------------------------------------------------------


def _range(match: re.Match[str]) -> str:
    """`range` over what another language counts through, whose end belongs to it."""
    found = match.groupdict()
    stop = found["b"]
    inclusive = found.get("less") is None or found["less"] == "<="
    if inclusive:
        stop = str(int(stop) + 1) if stop.isdigit() else f"{stop} + 1"
    step = f", {found['by']}" if found.get("by") else ""
    bounds = f"range({found['a']}, {stop}{step})"
    return (
        f"write `for {found['i']} in {bounds} {{ … }}`" if found.get("i") else f"write `{bounds}`"
    )


def _assignment(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if value:
        return f"write `{name} = {value.strip()}`"
    return f"write `{name} = 0.0`; what comes from outside is `var {name}`"


def _matrix(match: re.Match[str]) -> str:
    rows = [", ".join(re.split(r"[\s,]+", row.strip())) for row in match["rows"].split(";")]
    if len(rows) == 1:
        return f"write `[{rows[0]}]`"
    return f"write `[{', '.join([f'[{row}]' for row in rows])}]`"


def _without_call(match: re.Match[str]) -> str:
    return f"write `print {match['items'].strip()}`"


def _dotted(match: re.Match[str]) -> str:
    word = match["word"].lower()
    signs = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}
    return f"write `{signs.get(word, word)}`"


def _converted(match: re.Match[str]) -> str:
    kind = "int64" if match["type"][:3] in ("int", "lon") else "float64"
    return f"write `{kind}({match['value']})`"


# ---- the table -----------------------------------------------------------------------------------

_N = r"[\w.]+?"
_PHRASES = (
    # comments
    _phrase(r"^\s*//.*", "`//` divides", "a comment begins with `#`"),
    _phrase(r"(?P<at>//)\s*[A-Za-z]\w*(\s+\w.*)?$", "`//` divides", "a comment begins with `#`"),
    _phrase(r"/\*.*", "`/*` means nothing here", "a comment begins with `#`"),
    _phrase(r"^\s*%.*", "`%` is the remainder", "a comment begins with `#`"),
    _phrase(
        r"(?P<at>(?<=\s)%)\s+[A-Za-z]\w*(\s+\w.*)?$",
        "`%` is the remainder",
        "a comment begins with `#`",
    ),
    _phrase(
        r"!\s*[A-Za-z][\w\s]*$",
        "`!` means nothing here",
        "a comment begins with `#`; the opposite is `not x`",
    ),
    _phrase(r'""".*', "there are no long strings", "a comment begins with `#`"),
    # loops
    _phrase(
        rf"for\s*\(\s*(?:(?:{_TYPES}|var|let)\s+)?(?P<i>\w+)\s*=\s*(?P<a>{_N})\s*;"
        rf"\s*\w+\s*(?P<less><=?)\s*(?P<b>{_N})\s*;[^)]*\)",
        "`for` goes through a sequence",
        _range,
    ),
    _phrase(
        rf"for\s*\(?\s*(?P<i>\w+)\s*(?:=|in|∈)\s*(?P<a>{_N})\s*(?:\.\.=?|\.\.\.|:)\s*(?P<b>\w+)\b\)?"
        r"(?!\s*:)",
        "`for` goes through a sequence",
        _range,
    ),
    _phrase(
        rf"for\s*\(?\s*(?P<i>\w+)\s*(?:=|in|∈)\s*(?P<a>{_N}):(?P<by>{_N}):(?P<b>\w+)\)?",
        "`for` goes through a sequence",
        _range,
    ),
    _phrase(
        rf"^\s*do\s+(?P<i>\w+)\s*=\s*(?P<a>{_N})\s*,\s*(?P<b>\w+)",
        "`for` goes through a sequence",
        _range,
    ),
    _phrase(
        r"for\s*\((?P<i>\w+) in (?P<xs>[\w.]+)\)",
        "the head of `for` has no parentheses",
        lambda m: f"write `for {m['i']} in {m['xs']} {{ … }}`",
    ),
    _phrase(
        r"\bend\s+\w+\s*$",
        "`end` is not a word of the language",
        "a block stands in braces: `if c { … }`",
    ),
    _phrase(
        r"while\s+.*:\s*$|for\s+.*:\s*$|if\s+.*:\s*$|else\s*:\s*$|def\s+.*:\s*$",
        "a block stands in braces, not after `:`",
        "write `{` … `}`",
    ),
    _phrase(
        r"(?P<at>\b(?P<a>\d+)(?:\.\.=?|:)(?P<b>\d+)\b)",
        "a range is written with `range`",
        lambda m: f"{_range(m)}, or `arange({m['a']}, {int(m['b']) + 1})` for an array",
    ),
    # declarations
    _phrase(
        r"^\s*(?:real|integer|logical|complex|double precision)\s*(?:\([^)]*\))?[\w\s,]*::\s*"
        r"(?P<name>\w+)\s*(?:=\s*(?P<value>.+))?$",
        "values have no declared types",
        _assignment,
    ),
    _phrase(
        rf"(?:^|(?<=;))\s*(?P<at>(?:const\s+|static\s+)?(?:{_TYPES})\s*\*?)\s+(?P<name>\w+)"
        r"\s*(?:=\s*(?P<value>[^;]+))?(?=;|$)",
        "values have no declared types",
        _assignment,
    ),
    _phrase(
        r"(?:^|(?<=;))\s*(?P<name>\w+)\s*(?P<at>::?\s*[A-Za-z_][\w.\[\]{}]*)\s*"
        r"(?:=\s*(?P<value>[^;]+))?(?=;|$)",
        "types stand only in declarations",
        lambda m: (
            f"write `{m['name']} = {m['value'].strip()}`"
            if m["value"]
            else f"write `var {m['name']}: float`"
        ),
    ),
    _phrase(
        rf"^\s*(?:{_TYPES}|void)\s+\w+\s*\([^)]*\)\s*\{{?",
        "a function has no declared type",
        "a function is defined with `fn name(…) { … }`",
    ),
    _phrase(
        r"^\s*function\s+\[?[\w,\s]*\]?\s*=\s*(?P<f>\w+)\s*\(.*",
        "`function` is not a word of the language",
        lambda m: f"write `fn {m['f']}(…) {{ … }}`, with `return`",
    ),
    _phrase(
        r"^\s*@\w[\w.]*(\(.*\))?\s*$",
        "there are no decorators",
        "leave it out: what runs often is compiled",
    ),
    _phrase(r"^\s*implicit\s+none\s*$", "there are no implicit types", "leave it out"),
    _phrase(r"^\s*from\s+[\w.]+\s+import\b.*", "builtins need no import", "leave it out"),
    # functions
    _phrase(
        r"lambda\s+(?P<x>[\w,\s]*):\s*(?P<body>[^,)]*)",
        "`lambda` is not a word of the language",
        lambda m: f"write `fn({m['x'].strip()}) = {m['body'].strip()}`",
    ),
    _phrase(
        r"@\((?P<x>[\w,\s]*)\)\s*(?P<body>[^,)]*)",
        "`@` multiplies matrices",
        lambda m: f"write `fn({m['x'].strip()}) = …`",
    ),
    _phrase(
        r"\\\((?P<x>[\w,\s]*)\)",
        "`\\` means nothing here",
        lambda m: f"write `fn({m['x'].strip()}) = …`",
    ),
    _phrase(
        r"\(?(?P<x>\w+(?:\s*,\s*\w+)*)\)?\s*(?P<at>[-=]>)\s*\w",
        "this is no function",
        lambda m: f"write `fn({m['x']}) = …`",
    ),
    _phrase(
        r"\bfunction\s*\((?P<x>[\w,\s]*)\)",
        "`function` is not a word of the language",
        lambda m: f"write `fn({m['x'].strip()}) = …`",
    ),
    _phrase(
        r"(?P<f>\w+)(?P<at>\.\()",
        "`.(` means nothing here",
        lambda m: f"builtins go element by element: write `{m['f']}(…)`",
    ),
    _phrase(r"\|>\s*(?P<f>\w+)", "`|>` is not an operator", lambda m: f"write `{m['f']}(…)`"),
    # signs
    _phrase(
        r"(?:(?<=\w)|(?<=[\s)\]]))\.[*/^](?!\d)",
        "operators go element by element as they are",
        "write `*`, `/` or `**`; the product of matrices is `@`",
    ),
    _phrase(
        r"(?P<x>\w+)(?P<at>\.?')(?!\w)(?![^']*')",
        "`'` transposes nothing here",
        lambda m: f"write `{m['x']}.T`",
    ),
    _phrase(r"%\*%", "`%*%` is not an operator", "write `@`"),
    _phrase(r"%/%", "`%/%` is not an operator", "write `//`"),
    _phrase(r"%%", "`%%` is not an operator", "write `%`"),
    _phrase(
        r"(?P<a>\w+)\s*(?P<at>\\)\s*(?P<b>\w+)",
        "`\\` is not an operator",
        lambda m: f"write `solve({m['a']}, {m['b']})`",
    ),
    _phrase(
        r"\.(?P<word>and|or|not|eq|ne|gt|lt|ge|le|true|false|AND|OR|NOT|EQ|NE|GT|LT|TRUE|FALSE)\.",
        "this is not an operator",
        _dotted,
    ),
    _phrase(
        r"(?P<d>\w+)(?P<at>\$)(?P<k>\w+)",
        "`$` means nothing here",
        lambda m: f"a member is `{m['d']}.{m['k']}`",
    ),
    _phrase(
        r"(?P<d>\w+)(?P<at>->)(?P<k>\w+)",
        "`->` means nothing here",
        lambda m: f"a member is `{m['d']}.{m['k']}`",
    ),
    _phrase(
        r"\((?P<type>double|float|int|long)\)\s*(?P<value>\w+)",
        "types convert as functions",
        _converted,
    ),
    _phrase(
        r"\.\.\.\s*$",
        "`...` means nothing here",
        "a line goes on after an operator, inside brackets, or after a `\\` at its end",
    ),
    _phrase(
        r"&\s*$",
        "`&` means nothing here",
        "a line goes on after an operator, inside brackets, or after a `\\` at its end",
    ),
    _phrase(
        r"(?P<x>[\w\]\[.]+)\s+(?P<at>not in|in|∈)\s+(?P<xs>\w+)",
        "`in` stands only in `for`",
        lambda m: f"write `any({m['xs']} == {m['x']})`",
    ),
    _phrase(
        r"\b(?P<x>[\w.]+)\s+is\s+(?P<no>not\s+)?(?P<y>\w+)",
        "`is` is not a word of the language",
        lambda m: (
            f"write `{m['x']} {'!=' if m['no'] else '=='} {'none' if m['y'] == 'None' else m['y']}`"
        ),
    ),
    _phrase(
        r"\b(?P<a>\w+)\s*(?P<at>≈)\s*(?P<b>\w+)",
        "`≈` is not an operator",
        lambda m: f"write `expect {m['a']} ~= {m['b']}`",
    ),
    # numbers and lists
    _phrase(
        r"\b(?P<n>\d+\.?\d*|\.\d+)[dD](?P<e>[+-]?\d+)\b",
        "an exponent is written with `e`",
        lambda m: f"write `{m['n']}e{m['e']}`",
    ),
    _phrase(
        r"\b(?P<n>\d+\.?\d*)(?:im|i|I)\b",
        "the imaginary unit is `j`",
        lambda m: f"write `{m['n']}j`",
    ),
    _phrase(
        r"\b(?P<n>\d+\.?\d*)_\w+\b",
        "a number has no suffix for its type",
        lambda m: f"write `{m['n']}`",
    ),
    _phrase(r"\[(?P<rows>[-\w.\s,]*[\w.]\s*;[-\w.\s,;]*)\]", "a matrix is a list of rows", _matrix),
    _phrase(r"\[(?P<rows>\s*-?[\w.]+(?:\s+-?[\w.]+)+\s*)\]", "a list has commas", _matrix),
    _phrase(
        r"\(/(?P<rows>[^/]*)/\)",
        "a list is written in brackets",
        lambda m: f"write `[{m['rows'].strip()}]`",
    ),
    _phrase(
        r"\{(?P<rows>\s*-?[\d.]+\s*(?:,\s*-?[\d.]+\s*)*)\}",
        "braces hold a dict or a block",
        lambda m: f"a list is written `[{m['rows'].strip()}]`",
    ),
    _phrase(
        r"\w(?P<at>\((?::|[\w.]+:[\w.]*)(?:,[^()]*)?\))",
        "parentheses call a function",
        "elements stand in brackets: `x[1:3]`",
    ),
    # texts
    _phrase(
        r"print\s*\((?P<items>[^()]*,.*)\)\s*$",
        "`print` has no parentheses around a list",
        _without_call,
    ),
    _phrase(r"print\s*\*\s*,\s*(?P<items>.*)", "`print` goes without `*`", _without_call),
    _phrase(r'\bprint\s+"[^"]*"\s*%.*', "`%` is the remainder", 'write `print f"x = {x:.3f}"`'),
    _phrase(
        r"write\s*\(\s*\*\s*,.*?\)\s*(?P<items>.*)",
        "`write` is not a word of the language",
        _without_call,
    ),
    _phrase(
        r"\bf(?P<s>'[^']*')",
        "strings stand in double quotes",
        lambda m: f'write `f"{m["s"][1:-1]}"`',
    ),
    _phrase(
        r"(?P<s>'[^']*')", "strings stand in double quotes", lambda m: f'write `"{m["s"][1:-1]}"`'
    ),
    _phrase(r'\b[rRbu]"[^"]*"', "strings have no prefix but `f`", 'write `"…"`'),
    # blocks of other packages
    _phrase(
        r"with\s+(?:torch|tf|jax)?\.?no_grad\(\)\s*:?",
        "`with` is not a word of the language",
        "write `pause { … }`",
    ),
    _phrase(
        r"with\s+(?:tf\.)?GradientTape\([^)]*\)\s*as\s+(?P<t>\w+)\s*:?",
        "`with` is not a word of the language",
        lambda m: f"write `tape {m['t']} {{ … }}`",
    ),
    _phrase(r"\belse\s+if\b", "`else if` is one word here", "write `elif`"),
    _phrase(
        r"(?P<x>\w+)(?:\+\+|--)|(?:\+\+|--)(?P<y>\w+)",
        "there are no `++` and `--`",
        lambda m: f"write `{m['x'] or m['y']} {m[0].strip(m['x'] or m['y'])[0]}= 1`",
    ),
)
