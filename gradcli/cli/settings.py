"""What a settings file may set: what can't harm whoever runs gradcli in a folder that somebody else
filled.

Options that stand here choose how answers look, or make a command stricter. Not here: whatever
names an address, a command, or a file to read or write; takes more of the machine; hides a warning;
or lets `check` pass over something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

ROUNDING = 2.0**-52  # of a float64: no method of `check` tells numbers apart that are nearer
POINTS = 10_000  # of a curve of `plot`, unless --points says otherwise
SECONDS = 10  # of `symbolic`, unless --timeout says otherwise


class Rule(NamedTuple):
    """Which values a setting may have, and why no other."""

    holds: Callable[[Any], bool]
    otherwise: str


def _any_of(keys: str) -> dict[str, Rule]:
    return dict.fromkeys(keys.split(), Rule(lambda value: True, ""))


def _at_most(limit: float, otherwise: str) -> Rule:
    return Rule(lambda value: isinstance(value, int | float) and value <= limit, otherwise)


_LOOK = _any_of("format color")
_LIMITS = _any_of("max-steps max-memory timeout")  # there are none, so that these only lower them
_RUN = _any_of("of wrt dtype device seed")

# By command, and by option without its dashes.
ALLOWED: dict[str, dict[str, Rule]] = {
    "eval": {
        **_LOOK,
        **_LIMITS,
        **_RUN,
        **_any_of(
            "precision full verbose no-grad jacobian hessian hessian-blocks sparse mode "
            "unconnected closed-form debug-nan"
        ),
    },
    # Neither what is checked, nor where: a limit ends single methods, and --dtype float32 is
    # content with fewer digits.
    "check": {
        **_LOOK,
        **_any_of("verbose points order"),
        "strict": Rule(lambda value: value is True, "a file can only make `check` stricter"),
        "inconclusive": Rule(
            lambda value: value == "fail", "a file can only make `check` stricter"
        ),
        "rtol": _at_most(ROUNDING, "a file can't make tolerances looser than they are"),
        "atol": _at_most(0, "a file can't make tolerances looser than they are"),
    },
    # Nor what `diff` takes for equal.
    "diff": {**_LOOK, **_LIMITS, **_any_of("points")},
    "batch": {
        **_LIMITS,
        **_RUN,
        **_any_of("color verbose no-grad rows-format out-format compression nan on-error"),
    },
    "symbolic": {
        **_LOOK,
        **_any_of("of wrt seed verbose order simplify to max-steps max-memory"),
        "timeout": _at_most(SECONDS, f"a file can't raise it above {SECONDS} seconds"),
    },
    "why": {**_LOOK, **_LIMITS, **_RUN, **_any_of("precision steps")},
    "trace": {**_LOOK, **_LIMITS, **_RUN, **_any_of("precision unfold")},
    "plot": {
        **_LIMITS,
        **_any_of("color verbose over for of order dtype device seed"),
        "points": _at_most(POINTS, f"a file can't raise it above {POINTS:,}"),
    },
    "repl": {**_any_of("color precision dtype device seed max-steps max-memory")},
    "fmt": _any_of("color check diff"),
    "lint": {**_LOOK, **_any_of("select ignore")},
    "lsp": _any_of("select ignore stdio"),
    "ops": _LOOK,
    "explain": _any_of("color"),
}
