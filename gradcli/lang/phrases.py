"""The phrases of other languages: how each looks, and what to write here instead. Those of numbers
stand in number_phrases.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..ops.elsewhere import meant
from .number_phrases import NUMBERS

_TYPES = (
    "double|float|real|int|integer|long|short|unsigned|bool|boolean|logical|complex|char|string|"
    "size_t|double precision"
)


class Phrase(NamedTuple):
    """A phrase: how it looks, what is wrong with it, and what to write, from what it matched."""

    pattern: re.Pattern[str]
    message: str
    help: str | Callable[[re.Match[str]], str]


# ---- what to write -------------------------------------------------------------------------------


def _range(match: re.Match[str]) -> str:
    """`range` over what another language counts through, whose end belongs to it."""
    found = match.groupdict()
    stop = found["b"]
    if found.get("less") != "<":
        stop = str(int(stop) + 1) if stop.isdigit() else f"{stop} + 1"
    step = f", {found['by']}" if found.get("by") else ""
    bounds = f"range({found['a']}, {stop}{step})"
    if found.get("i"):
        return f"write `for {found['i']} in {bounds} {{ … }}`"
    return f"write `{bounds}`, or `arange({found['a']}, {stop}{step})` for an array"


def _assignment(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if value:
        return f"write `{name} = {value.strip()}`"
    zero = "0" if re.search("int|long|short|size", match[0]) else "0.0"
    return f"write `{name} = {zero}`; what comes from outside is `var {name}`"


def _annotated(match: re.Match[str]) -> str:
    if match["value"]:
        return f"write `{match['name']} = {match['value'].strip()}`"
    return f"write `var {match['name']}: float`"


def _matrix(match: re.Match[str]) -> str:
    rows = [", ".join(re.split(r"[\s,]+", row.strip())) for row in match["rows"].split(";")]
    if len(rows) == 1:
        return f"write `[{rows[0]}]`"
    return f"write `[{', '.join([f'[{row}]' for row in rows])}]`"


def _without_call(match: re.Match[str]) -> str:
    items = re.sub(r",\s*(?:sep|end|file|flush)\s*=[^,]*", "", match["items"])
    return f"write `print {items.strip()}`"


def _dotted(match: re.Match[str]) -> str:
    word = match["word"].lower()
    signs = {"eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}
    return f"write `{signs.get(word, word)}`"


def _converted(match: re.Match[str]) -> str:
    kind = "int64" if match["type"] in ("int", "long") else "float64"
    return f"write `{kind}({match['value']})`"


def _compared(match: re.Match[str]) -> str:
    sign, other = "!=" if match["no"] else "==", match["y"]
    return f"write `{match['x']} {sign} {'none' if other == 'None' else other}`"


def _among(match: re.Match[str]) -> str:
    x, xs, no = match["x"], match["xs"], "not " * match["at"].startswith("not")
    if x.startswith('"'):
        return f"write `{no}any([each == {x} for each in {xs}])`"
    return f"write `{no}any({xs} == {x})`"


def _qualified(match: re.Match[str]) -> str:
    return meant(match["f"], called=True) or f"write `{match['f']}`"


def _in_place(match: re.Match[str]) -> str:
    known = meant(match["f"], called=True)
    return f"{known} Values don't change in place: write `x = f(x)`".strip()


# ---- the table -----------------------------------------------------------------------------------

_COMMENT = "a comment begins with `#`"
_BLOCK = "a block stands in braces: `if c { … }`"
_FN = "a function is defined with `fn name(…) { … }`"
_GOES_ON = "a line goes on after an operator, inside brackets, or after a `\\` at its end"
_SEQUENCE = "`for` goes through a sequence"
_NO_TYPES = "values have no declared types"
_BRACES = "braces hold a dict or a block"
_A = r"[\w.]+?"  # a bound
_NAME = r"[A-Za-z_]\w*"
_FOR = rf"\bfor\s*\(?\s*(?P<i>\w+)\s*(?:=|in|∈)\s*(?P<a>{_A})"
_START = r"(?:^|(?<=;))\s*"
_QUALIFIERS = r"(?:(?:const|static|unsigned|long)\s+)*"
_ANNOTATION = r"(?:float|int|str|bool|complex|list|dict|np\.\w+|jnp\.\w+|torch\.\w+|[A-Z][\w.]*)"


def _function(body: str) -> Callable[[re.Match[str]], str]:
    """Writes a function without a name, whose parameters are the group `x`."""

    def written(match: re.Match[str]) -> str:
        value = re.sub(r"\.?\^", "**", match.expand(body).strip())
        if value.count("(") != value.count(")"):  # the pattern ends within it
            value = "…"
        return f"write `fn({match['x'].strip()}) = {value}`"

    return written


_TABLE: tuple[tuple[str, str, str | Callable[[re.Match[str]], str]], ...] = (
    # comments
    (r"^\s*//.*", "`//` divides", _COMMENT),
    (r"(?P<at>//)\s*[A-Za-z]\w*(\s+\w.*)?$", "`//` divides", _COMMENT),
    (r"/\*.*", "`/*` means nothing here", _COMMENT),
    (r"^\s*%(?!\w+%).*", "`%` is the remainder", _COMMENT),
    (r"(?P<at>(?<=\s)%)\s+[A-Za-z]\w*(\s+\w.*)?$", "`%` is the remainder", _COMMENT),
    (r"!\s+[A-Za-z][\w\s]*$", "`!` means nothing here", _COMMENT),
    (r'""".*', "there are no long strings", _COMMENT),
    # imports
    (r"^\s*from\s+[\w.]+\s+import\b.*", "builtins need no import", "leave it out"),
    (r"^\s*import\s+\w+\.[\w.]+.*", "builtins need no import", "leave it out"),
    # loops and blocks
    (
        rf"\bfor\s*\(\s*(?:(?:{_TYPES}|var|let)\s+)?(?P<i>\w+)\s*=\s*(?P<a>{_A})\s*;"
        rf"\s*\w+\s*(?P<less><=?)\s*(?P<b>{_A})\s*;[^)]*\)",
        _SEQUENCE,
        _range,
    ),
    (rf"{_FOR}:(?P<by>{_A}):(?P<b>\w+)\)?", _SEQUENCE, _range),
    (rf"{_FOR}\s*(?:\.\.=?|\.\.\.|:)\s*(?P<b>\w+)\b\)?", _SEQUENCE, _range),
    (rf"^\s*do\s+(?P<i>\w+)\s*=\s*(?P<a>{_A})\s*,\s*(?P<b>\w+)", _SEQUENCE, _range),
    (
        r"\bfor\s*\((?P<i>\w+) in (?P<xs>[\w.]+)\)",
        "the head of `for` has no parentheses",
        lambda m: f"write `for {m['i']} in {m['xs']} {{ … }}`",
    ),
    (
        rf"^\s*def\s+(?P<f>{_NAME})\s*\((?P<x>[^()]*)\).*",
        "`def` is not a word of the language",
        lambda m: f"write `fn {m['f']}({m['x']}) {{ … }}`",
    ),
    (r"^\s*(?:switch|match|case)\b.*", "there is no `switch`", "write `if c { … } elif d { … }`"),
    (r"\w\s*(?P<at>(?<==)\s*if\b)", "`if` stands behind its value", "write `a if c else b`"),
    (r"=\s*(?P<at>if\b)", "`if` stands behind its value", "write `a if c else b`"),
    (r"^\s*(?:if|while)\s*\(.*\)\s*(?=[A-Za-z_])(?!(?:and|or|if)\b)", "a block is missing", _BLOCK),
    (r"^\s*(?:if|while)\b[^{}(),]*(?P<at>,)\s*[A-Za-z].*", "a block is missing", _BLOCK),
    (
        r"[\[(,]\s*(?P<at>end)\b(?=\s*[-\]),])",
        "`end` is not a word of the language",
        "the last element is `x[-1]`",
    ),
    (r"^\s*end\b.*$", "`end` is not a word of the language", _BLOCK),
    (r"\belse\s+if\b", "`else if` is one word here", "write `elif`"),
    (
        r"^\s*@\w[\w.]*(\(.*\))?\s*$",
        "there are no decorators",
        "leave it out: what runs often is compiled",
    ),
    (
        r"\bwith\s+(?:\w+\.)?(?:no_grad|inference_mode)\(\)\s*:?",
        "`with` is not a word of the language",
        "write `pause { … }`",
    ),
    (
        r"\bwith\s+(?:\w+\.)?GradientTape\([^)]*\)\s*as\s+(?P<t>\w+)\s*:?",
        "`with` is not a word of the language",
        lambda m: f"write `tape {m['t']} {{ … }}`",
    ),
    (r"^\s*with\s+open\b.*", "programs read no files", "declare `var x`, and give `--set x=@FILE`"),
    (
        r"^\s*try\s*:.*",
        "`try` is not a word of the language",
        'write `expect error "…" { … }` where a failure is expected',
    ),
    # declarations
    (
        r"^\s*(?:real|integer|logical|complex|double precision)\s*(?:\([^)]*\))?[\w\s,]*::\s*"
        r"(?P<name>\w+)\s*(?:=\s*(?P<value>.+))?$",
        _NO_TYPES,
        _assignment,
    ),
    (
        rf"{_START}(?P<at>{_QUALIFIERS}(?:{_TYPES})\s*\*?)\s+(?P<name>{_NAME})"
        r"\s*(?:=\s*(?P<value>[^;]+))?(?=;|$)",
        _NO_TYPES,
        _assignment,
    ),
    (
        rf"{_START}(?P<name>{_NAME})\s*(?P<at>::?\s*{_ANNOTATION}(?:\[.*?\])?)\s*"
        r"(?:=\s*(?P<value>[^;]+))?(?=;|$)",
        "types stand only in declarations",
        _annotated,
    ),
    (rf"^\s*(?:{_TYPES}|void)\s+\w+\s*\([^)]*\)\s*\{{?", "a function has no declared type", _FN),
    (
        r"^\s*function\s+\[?[\w,\s]*\]?\s*=\s*(?P<f>\w+)\s*\(.*",
        "`function` is not a word of the language",
        lambda m: f"write `fn {m['f']}(…) {{ … }}`, with `return`",
    ),
    (r"^\s*implicit\s+none\s*$", "there are no implicit types", "leave it out"),
    (
        r"^\s*(?:clear|close|clc|hold|figure|format)\s+\w+\s*$",
        "there are no commands",
        "leave it out",
    ),
    (
        r"^\s*load\s+[\w.]+\s*$",
        "programs read no files",
        "declare `var x`, and give `--set x=@FILE`",
    ),
    # functions
    (
        r"\blambda\s+(?P<x>[\w,\s]*):\s*(?P<body>[^,)]*)",
        "`lambda` is not a word of the language",
        _function(r"\g<body>"),
    ),
    (r"@\((?P<x>[\w,\s]*)\)\s*(?P<body>[^,)]*)", "`@` multiplies matrices", _function(r"\g<body>")),
    (
        r"\\\((?P<x>[\w,\s]*)\)\s*(?P<body>[^,)]*)",
        "`\\` means nothing here",
        _function(r"\g<body>"),
    ),
    (
        r"^\s*(?P<d>\w+)(?P<at>->)(?P<k>\w+)\s*=",
        "`->` means nothing here",
        lambda m: f"a member is `{m['d']}.{m['k']}`",
    ),
    (
        r"^\s*(?P<value>(?:-?[\d.]|\w+\(|\w+\s*[-+*/]\s*\w)[^;]*?)\s*(?P<at>->>?)"
        rf"\s*(?P<x>{_NAME})\s*$",
        "the name stands on the left",
        lambda m: f"write `{m['x']} = {m['value']}`",
    ),
    (
        r"\(?(?P<x>\w+(?:\s*,\s*\w+)*)\)?\s*(?:->|=>)\s*(?P<body>\w[^,)]*)",
        "an arrow makes no function",
        _function(r"\g<body>"),
    ),
    (
        r"\bfunction\s*\((?P<x>[\w,\s]*)\)\s*",
        "`function` is not a word of the language",
        _function("…"),
    ),
    (
        r"(?P<f>\w+)(?P<at>\.\()",
        "`.(` means nothing here",
        lambda m: f"builtins go element by element: write `{m['f']}(…)`",
    ),
    (r"\|>\s*(?P<f>\w+)", "`|>` is not an operator", lambda m: f"write `{m['f']}(…)`"),
    (rf"\b(?P<f>{_NAME})(?P<at>!)\(", "a name has no `!`", _in_place),
    # signs
    (
        r"(?:\b[A-Za-z_]\w*|[)\]]|(?:\d|(?<=\s))(?=\.[*/^](?!\d)))(?P<at>\.[*/^])",
        "operators go element by element as they are",
        "write `*`, `/` or `**`; the product of matrices is `@`",
    ),
    (
        r"(?P<x>\w+)(?P<at>\.?')(?!\w)(?![^']*')",
        "`'` transposes nothing here",
        lambda m: f"write `{m['x']}.T`",
    ),
    (r"%\*%", "`%*%` is not an operator", "write `@`"),
    (r"%/%", "`%/%` is not an operator", "write `//`"),
    (r"%%", "`%%` is not an operator", "write `%`"),
    (
        r"(?P<x>[\w.]+)\s*(?P<at>%in%)\s*(?P<xs>[\w.]+)",
        "`%in%` is not an operator",
        lambda m: f"write `any({m['xs']} == {m['x']})`",
    ),
    (
        r"(?P<at>\\)\s*(?=[\w\[(])",
        "`\\` is not an operator",
        "a system of equations is solved by `solve(a, b)`",
    ),
    (
        r"\.(?P<word>(?i:and|or|not|eq|ne|gt|lt|ge|le|true|false))\.\s*",
        "this is not an operator",
        _dotted,
    ),
    (
        r"(?:=|\bif\b|\bwhile\b)[^={};]*?(?P<at>/=)",
        "`/=` divides and assigns",
        "what isn't equal is `a != b`",
    ),
    (
        r"^\s*(?P<x>\w+)\s*(?P<at><-)\s*(?P<value>[^;]+)",
        "`<-` compares with a negative value",
        lambda m: f"write `{m['x']} = {m['value'].strip()}`",
    ),
    (
        r"^\s*(?P<x>\w+)\s*(?P<at><<-)\s*(?P<value>[^;]+)",
        "`<<-` is not an operator",
        lambda m: f"write `{m['x']} = {m['value'].strip()}`, or `:=` to update a variable",
    ),
    (
        rf"^\s*(?P<at>(?P<x>{_NAME})\s*:=)(?=\s*(?P<value>[^;\s][^;]*))",
        "`:=` updates a variable",
        lambda m: f"write `{m['x']} = {m['value'].strip()}`; `:=` updates a variable",
    ),
    (
        r"(?P<d>\w+)(?P<at>\$)(?P<k>\w+)",
        "`$` means nothing here",
        lambda m: f"a member is `{m['d']}.{m['k']}`",
    ),
    (
        r"\((?P<type>double|float|int|long)\)\s*(?P<value>\w+)",
        "types convert as functions",
        _converted,
    ),
    (r"\.\.\.\s*$", "`...` means nothing here", _GOES_ON),
    (r"&\s*$", "`&` means nothing here", _GOES_ON),
    (
        r"(?<!\bfor\s)(?<!,\s)(?<![\w.,])(?P<x>\"[^\"]*\"|[\w.]+)\s+(?P<at>not\s+in|in|∈)\s+"
        r"(?P<xs>[\w.]+(?:\([^()]*\)(?!\s*:))?|\[[^\]]*\])",
        "`in` stands only in `for`",
        _among,
    ),
    (
        r"\b(?P<x>[\w.]+)\s+is\s+(?P<no>not\s+)?(?P<y>\w+)",
        "`is` is not a word of the language",
        _compared,
    ),
    (
        r"(?P<a>[\w.]+)\s*(?P<at>≈)\s*(?P<b>[\w.]+)",
        "`≈` is not an operator",
        lambda m: f"write `expect {m['a']} ~= {m['b']}`",
    ),
    (
        r"(?P<x>\w+)\s*(?P<sign>\+\+|--)(?!\s*\w)",
        "there are no `++` and `--`",
        lambda m: f"write `{m['x']} {m['sign'][0]}= 1`",
    ),
    # elements
    (
        r"\w(?P<at>\((?:(?::|[\w.]+:[\w.]*)(?:,[^()]*)?|[\w.]+\s*,\s*[\w.]*:[^()]*)\))",
        "parentheses call a function",
        "elements stand in brackets: `x[1:3]`",
    ),
    (r"(?P<x>\w+)(?P<at>\{\d+\})", _BRACES, lambda m: f"an element is `{m['x']}[i]`"),
    (rf"\b{_NAME}::(?P<f>{_NAME})(?:<[^>]*>\s*\w+)?", "`::` means nothing here", _qualified),
    # numbers and lists
    (
        r"(?P<at>(?<![\w.])(?P<a>-?[\d.]+):(?P<by>-?[\d.]+):(?P<b>-?[\d.]+))",
        "a range is written with `arange`",
        lambda m: f"write `arange({m['a']}, {m['b']}, {m['by']})`, which leaves out its end",
    ),
    (r"(?P<at>\b(?P<a>\d+)(?:\.\.=?|:)(?P<b>\d+)\b)", "a range is written with `range`", _range),
    *NUMBERS,
    (r"\[(?P<rows>[-\w.\s,]*[\w.]\s*;[-\w.\s,;]*)\]", "a matrix is a list of rows", _matrix),
    (r"\[(?P<rows>\s*-?[\w.]+(?:\s+-?[\w.]+)+\s*)\]", "a list has commas", _matrix),
    (
        r"\(/(?P<rows>[^/]*)/\)",
        "a list is written in brackets",
        lambda m: f"write `[{m['rows'].strip()}]`",
    ),
    (
        r"\{(?P<rows>\s*-?[\d.]+\s*(?:,\s*-?[\d.]+\s*)*)\}",
        _BRACES,
        lambda m: f"a list is written `[{m['rows'].strip()}]`",
    ),
    # texts
    (
        r"\bprint\s*\((?P<items>[^()]*,.*)\)\s*$",
        "`print` has no parentheses around a list",
        _without_call,
    ),
    (r"\bprint\s*\*\s*,\s*(?P<items>.*)", "`print` goes without `*`", _without_call),
    (
        r"\bwrite\s*\(\s*\*\s*,.*?\)\s*(?P<items>.*)",
        "`write` is not a word of the language",
        _without_call,
    ),
    (
        r"(?P<f>\bf)?'(?P<s>[^'\"]*)'",
        "strings stand in double quotes",
        lambda m: f'write `{m["f"] or ""}"{m["s"]}"`',
    ),
    (r'\b[rRbBuU]"[^"]*"', "a string has no prefix but `f`", 'write `"…"`'),
)
PHRASES = [Phrase(re.compile(pattern), message, help) for pattern, message, help in _TABLE]
