"""Python's variables: their values as inputs of a program, and its values as theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from ..report.values import derivatives
from ..tasks.evaluation import Evaluation
from ..tasks.inputs import read_inputs

_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*")


def inputs_of(sets: Iterable[str], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that `--set` gives: `x=value`, where the value is a Python variable, an attribute
    or an entry of one (`model.weight`), or else what it is on the command line: a constant
    expression, or `@FILE`. `x` alone is the variable of that name. Raises GradcliError."""
    found: dict[str, Any] = {}
    for text in sets:
        name, sign, value = (part.strip() for part in text.partition("="))
        value = value if sign else name
        if _PATH.fullmatch(value) and value.split(".")[0] in namespace:
            found[name] = _look_up(value, namespace)
            continue
        try:
            found |= read_inputs([f"{name}={value}"])
        except GradcliError:
            if _PATH.fullmatch(value):
                raise _unknown(text, value.split(".")[0], namespace) from None
            raise
    return found


def _look_up(path: str, namespace: Mapping[str, Any]) -> Any:
    """The object at `model.weight`: entries of mappings, attributes of other objects."""
    found: Any = namespace
    for part in path.split("."):
        try:
            found = found[part] if isinstance(found, Mapping) else getattr(found, part)
        except (KeyError, AttributeError):
            message = f"--set: Python's `{path}` has no `{part}`"
            raise GradcliError(Diagnostic("E001", message)) from None
    return found


def _unknown(text: str, name: str, namespace: Mapping[str, Any]) -> GradcliError:
    help = did_you_mean(name, namespace) or f"assign it in Python: `{name} = …`"
    message = f"--set {text}: there is no Python variable `{name}`"
    return GradcliError(Diagnostic("E001", message, help=help))


def values_of(gets: Iterable[str], evaluation: Evaluation) -> dict[str, Any]:
    """What the Python variables of `--get` get: `y` the output of that name, `g=dy/dx` the
    gradient of `y` with respect to `x`, `g=y` another name for the output. Raises GradcliError."""
    found = {}
    for text in gets:
        name, sign, what = (part.strip() for part in text.partition("="))
        what = what if sign else name
        if not name.isidentifier():
            message = f"--get {text}: `{name}` can't be the name of a Python variable"
            raise GradcliError(Diagnostic("E001", message, help=f"write `--get g={what}`"))
        known = _all_values(evaluation)
        if what not in known:
            help = did_you_mean(what, known) or f"there are {', '.join(known) or 'none'}"
            message = f"--get {text}: the program gives no `{what}`"
            raise GradcliError(Diagnostic("E001", message, help=help))
        found[name] = known[what]
    return found


def _all_values(evaluation: Evaluation) -> dict[str, Any]:
    """Outputs, and derivatives under the names that they have in files: `dy/dx`, `d2y/dx2`."""
    found = {derivative.name: derivative.value for derivative in derivatives(evaluation)}
    return {**evaluation.outputs, **found}
