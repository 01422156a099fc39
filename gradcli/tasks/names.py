"""The names of a program that a command line can be about, from its text alone: nothing is run, and
what is imported isn't read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diagnostics import GradcliError, Source
from ..lang.parser import parse
from ..lang.scopes import Scope, Scopes

_DECLARED = {"var", "frozen", "const"}
_COMPUTED = {"assign", "augment"}


@dataclass(frozen=True, slots=True)
class Names:
    """The inputs of a program, by what they are (`var`, `frozen`, `const` or `input`); and the
    other names at its top level that have values."""

    inputs: dict[str, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)


def names_of(source: Source) -> Names:
    """The names in the text of a program; none where it can't be parsed."""
    try:
        tree = parse(source)
    except GradcliError:
        return Names()
    scopes = Scopes(tree)
    inputs, values = {}, []
    for name, binding in scopes.top.bindings.items():
        if declared := binding.kinds & _DECLARED:
            inputs[name] = min(declared)
        elif binding.kinds & _COMPUTED:
            values.append(name)
    if tree.is_expression:
        inputs |= dict.fromkeys(_free(scopes), "input")
        values.append("result")
    return Names(inputs, values)


def _free(scopes: Scopes) -> list[str]:
    """The free names of an expression."""
    from ..lang.constants import CONSTANTS  # it takes the table of builtins, which takes long
    from ..ops import BUILTINS

    found: dict[str, int] = {}
    every: list[Scope] = [scopes.top, *scopes.functions.values()]
    for scope in every:
        for name, at in scope.uses.items():
            if scope.find(name) is None and name not in BUILTINS and name not in CONSTANTS:
                found[name] = min(at, found.get(name, at))
    return sorted(found, key=lambda name: found[name])
